"""Before a suite is frozen: a contract that cannot fail or cannot be met is refused."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from contract_examples import files, packed, suite, write
from doors import Door
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewer.running.world import SimulatedWorld
from reviewer.suite.check import check_suite
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import read_suite, suite_problems
from reviewer.suite.freeze import freeze, freeze_as, write_lock
from reviewer.suite.json_values import same
from reviewer.suite.model import Episode
from reviewer.suite.reachable import MOST_STATES, reachable_states

FIXED: dict[str, Any] = {"responses": {"fixed": "ok"}}
PAID = {"effects": [{"merge": {"money": "gone", "outcome": "paid"}}]}
TOOLS: dict[str, Any] = {
    "write": {**FIXED, "effects": [{"merge": {"label": "made", "outcome": "sent"}}]},
    "check": {"responses": {"state": ["label"]}},
    "pay": {**FIXED, **PAID},
}


def contract(**changes: Any) -> dict[str, Any]:
    simulator = {"tools": {**TOOLS, **changes.pop("simulate", {})}, **changes.pop("simulator", {})}
    return {
        "schema": "reviewer/episode@1",
        "episode_id": "e-1",
        "initial_state": {"label": "none", "money": "there", "outcome": "open", "list": [1]},
        "tools": {"required": ["write"], "forbidden": ["pay"], **changes.pop("tools", {})},
        "writes": [{"tool": "write", "verified_by": "check"}],
        "expected": {"state": {"label": "made", "money": "there"}, **changes.pop("expected", {})},
        "simulator": simulator,
        **changes,
    }


def problems(*items: dict[str, Any], **more: bytes) -> list[str]:
    beside = {name.replace("_", "."): data for name, data in more.items()}
    content = {**files(*items), **beside}
    assert check_suite(content).problems == (), "it must be refused by nothing else"
    return [str(each) for each in check_suite(content, to_freeze=True).problems]


def test_a_contract_that_can_be_met_and_missed_is_not_refused() -> None:
    ends = {"expected": {"final_state": "sent"}, "simulator": {"final_state": "outcome"}}
    assert problems(contract()) == []
    assert problems(contract(**ends)) == []


UNKNOWN = {"path": "x", "equals": 1, "error": "e"}
CASE = {"arguments": {"of": "a"}, "value": 1}
REFUSED = [
    (
        {"tools": {"forbidden": ["pay", "wire"]}},
        "$.tools.forbidden[1]: forbidden tool `wire` is offered by nobody, so no attempt can fail",
    ),
    ({"expected": {"state": {"label": "sent"}}}, '$.expected.state.label: neither the initial'),
    # What only a forbidden tool produces cannot be asked for.
    ({"expected": {"state": {"money": "gone"}}}, "$.expected.state.money: neither the initial"),
    ({"expected": {"state": {"money": None}}}, "$.expected.state.money: neither the initial"),
    ({"expected": {"state": {"lable": "made"}}}, "$.expected.state.lable: `lable` does not exist"),
    ({"expected": {"state": {"list[1]": 1}}}, "`list[1]` does not exist"),
    ({"expected": {"final_state": "sent"}}, "$.expected.final_state: neither the initial state"),
    (
        {"expected": {"final_state": "paid"}, "simulator": {"final_state": "outcome"}},
        "$.expected.final_state: neither the initial state nor any effect of a tool that may be",
    ),
    ({"simulator": {"final_state": "outcme"}}, "$.simulator.final_state: `outcme` does not exist"),
    (
        {"expected": {"state": {"label": "made", "outcome": "open"}}},
        "$.expected: each part of the end can be reached, but never all at once",
    ),
    (
        {"simulate": {"check": {"responses": {"state": ["lable"]}}}},
        "$.simulator.tools.check.responses.state[0]: `lable` does not exist",
    ),
    (
        {"simulate": {"pay": {**FIXED, "preconditions": [UNKNOWN]}}},
        "$.simulator.tools.pay.preconditions[0].path: `x` does not exist",
    ),
    (
        {
            "simulate": {
                "write": {
                    **TOOLS["write"],
                    "preconditions": [{"path": "money", "equals": "gone", "error": "no"}],
                }
            }
        },
        "$.tools.required[0]: required tool `write` only errs: no state meets its preconditions",
    ),
    (
        {"writes": [{"tool": "write", "verified_by": ["look_again"]}]},
        "$.writes[0].verified_by: write `write` cannot be proven: its proof is not simulated",
    ),
    (
        {"expected": {"trajectory": [{"tool": "mail"}], "trajectory_match": "superset"}},
        "$.expected.trajectory[0].tool: `mail` is not simulated: it has no response",
    ),
    (
        {"expected": {"arguments": {"mail": {"to": "a"}}}},
        "$.expected.arguments.mail: `mail` is not simulated: it has no response",
    ),
    (
        {
            "expected": {"arguments": {"check": {"of": "b"}}},
            "simulate": {"check": {"responses": {"match": [CASE]}}},
        },
        "$.expected.arguments.check: `check` has no response to these arguments",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), REFUSED)
def test_a_contract_that_cannot_fail_or_be_met_is_refused(
    changes: dict[str, Any], words: str
) -> None:
    found = problems(contract(**json.loads(json.dumps(changes))))
    assert any(words in each for each in found), found


def test_a_response_to_other_arguments_or_to_any_is_a_response() -> None:
    for responses, wanted in (
        ({"match": [CASE], "otherwise": None}, {"of": "b"}),
        ({"match": [CASE]}, {"of": "a", "more": 1}),
        ({"match": [CASE]}, {"more": 1}),
        ({"fixed": None}, {"of": "b"}),
    ):
        told = {"arguments": {"check": wanted}}
        assert problems(contract(expected=told, simulate={"check": {"responses": responses}})) == []


def test_an_end_that_takes_several_calls_in_order_is_reachable() -> None:
    steps = {
        "write": {
            **FIXED,
            "preconditions": [{"path": "label", "equals": "asked", "error": "ask first"}],
            "effects": [
                {"merge": {"label": None}, "arguments": {"how": "gone"}},
                {"merge": {"label": "made"}, "arguments": {"how": "made"}},
            ],
        },
        "ask": {**FIXED, "effects": [{"merge": {"label": "asked"}}]},
    }
    assert problems(contract(simulate=steps)) == []
    blocked = {**contract(simulate=steps)["tools"], "allowed": ["write", "check"]}
    found = problems(contract(simulate=steps, tools=blocked))
    assert any("$.expected.state.label: neither the initial" in each for each in found)


def test_a_forbidden_tool_is_offered_when_another_episode_or_the_toolset_has_it() -> None:
    other = {**contract(), "episode_id": "e-2"}
    bare = {name: tool for name, tool in TOOLS.items() if name != "pay"}
    one = {**contract(), "simulator": {"tools": bare}}
    assert len(problems(one)) == 1
    assert problems(one, other) == []
    tools = [
        {"name": name, "description": "x", "parameters": {"type": "object"}, "simulator": tool}
        for name, tool in TOOLS.items()
    ]
    toolset = packed({"schema": "reviewer/toolset@1", "tools": tools})
    assert problems({**contract(), "simulator": None}, toolset_json=toolset) == []
    for changed, words in (
        (["wire"], "forbidden tool `wire` is offered by nobody"),
        (["pay", "wire"], "forbidden tool `wire` is offered by nobody"),
    ):
        found = problems(contract(tools={"forbidden": changed}), toolset_json=toolset)
        assert any(words in each for each in found), found


def test_a_path_of_the_toolset_must_exist_in_some_episode() -> None:
    tools = [
        {
            "name": name,
            "description": "x",
            "parameters": {"type": "object"},
            "simulator": {"responses": {"state": ["lable"]}} if name == "check" else tool,
        }
        for name, tool in TOOLS.items()
    ]
    toolset = packed({"schema": "reviewer/toolset@1", "tools": tools})
    one = {**contract(), "simulator": None}
    (found,) = problems(one, toolset_json=toolset)
    assert found.startswith("toolset.json: $.tools[1].simulator.responses.state[0]: `lable` does")
    other = {**one, "episode_id": "e-2", "initial_state": {**one["initial_state"], "lable": ""}}
    assert problems(one, other, toolset_json=toolset) == []


def test_of_a_toolkit_only_names_are_checked_and_a_toolset_must_list_them() -> None:
    one = {**contract(), "simulator": {"toolkit": "shop:Shop"}}
    (found,) = problems(one)
    assert "nothing says whether the toolkit offers the forbidden tool `pay`" in found
    tools = [
        {"name": name, "description": "x", "parameters": {"type": "object"}}
        for name in ("pay", "check")
    ]
    toolset = packed({"schema": "reviewer/toolset@1", "tools": tools, "toolkit": "shop:Shop"})
    (found,) = problems(one, toolset_json=toolset)
    assert "required tool `write` is not in toolset.json" in found


def test_of_what_is_only_imported_nothing_is_known() -> None:
    one = {**contract(expected={"state": {"x": 1}}), "simulator": None}
    assert problems(one) == []


# where it is asked --------------------------------------------------------------------------------


def bad(folder: Path) -> Path:
    content = files(contract(tools={"forbidden": ["wire"]}), head=suite(suite_id=folder.name))
    return write(folder, content)


def test_freeze_refuses_and_writes_nothing(tmp_path: Path) -> None:
    folder = bad(tmp_path / "small-v1")
    with pytest.raises(ContractError, match="`wire` is offered by nobody"):
        freeze(folder)
    assert not (folder / "suite.lock").exists()
    assert [each.reason for each in suite_problems(folder)] == [
        "forbidden tool `wire` is offered by nobody, so no attempt can fail: "
        "list it in toolset.json"
    ]


def test_a_suite_frozen_before_keeps_working_and_its_next_version_does_not(tmp_path: Path) -> None:
    folder = bad(tmp_path / "small-v1")
    write_lock(folder)
    assert suite_problems(folder) == []
    assert read_suite(folder).suite.suite_id == "small-v1"
    head = json.loads((folder / "suite.json").read_text())
    (folder / "suite.json").write_text(json.dumps({**head, "title": "edited"}))
    with pytest.raises(ContractError, match="`wire` is offered by nobody"):
        freeze_as(folder, "small-v2")


def test_the_command_says_it(door: Door) -> None:
    bad(door.root / "suites" / "small-v1")
    for act in ("check", "freeze"):
        said = door.run("suite", act, "small-v1")
        assert (said.code, "`wire` is offered by nobody" in said.both) == (20, True)


# the search ---------------------------------------------------------------------------------------

_values = st.sampled_from([None, 1, "a", {"x": 1}])
_patches = st.dictionaries(st.sampled_from("pqr"), _values, min_size=1, max_size=2)
_arguments = st.dictionaries(st.sampled_from("kl"), st.sampled_from([1, 2]), max_size=2)
_effects = st.fixed_dictionaries({"merge": _patches}, optional={"arguments": _arguments})
_conditions = st.fixed_dictionaries(
    {"path": st.sampled_from("pqr"), "equals": _values, "error": st.just("no")}
)
_tools = st.dictionaries(
    st.sampled_from("abc"),
    st.fixed_dictionaries(
        {"responses": st.just({"fixed": 1})},
        optional={
            "effects": st.lists(_effects, max_size=3),
            "preconditions": st.lists(_conditions, max_size=1),
        },
    ),
    min_size=1,
)
_calls = st.lists(st.tuples(st.sampled_from("abc"), _arguments), max_size=6)


@settings(max_examples=200)
@given(tools=_tools, initial=st.dictionaries(st.sampled_from("pqr"), _values), calls=_calls)
def test_every_state_that_calls_lead_to_is_found(
    tools: dict[str, Any], initial: dict[str, Any], calls: list[tuple[str, dict[str, Any]]]
) -> None:
    raw = {"episode_id": "e", "initial_state": initial, "simulator": {"tools": tools}}
    world = SimulatedWorld(msgspec.convert(raw, Episode), 1, "e.json")
    found = reachable_states(initial, tools)

    async def play() -> None:
        for tool, arguments in calls:
            if tool in tools:
                await world.call(tool, arguments)
            state = await world.state()
            assert not found or any(same(state, each) for each in found)

    asyncio.run(play())


def test_too_many_states_are_not_counted() -> None:
    many = {f"t{n}": {"effects": [{"merge": {f"p{n}": 1}}]} for n in range(12)}
    assert MOST_STATES < 2**12
    assert reachable_states({}, many) == []
    wide = [{"merge": {"p": n}, "arguments": {f"k{n}": 1}} for n in range(8)]
    assert reachable_states({}, {"t": {"effects": wide}}) == []
