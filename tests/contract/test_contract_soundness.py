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
        "$.tools.forbidden[1]: forbidden tool `wire` is offered by nobody, so no attempt can fail "
        "by it",
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
        "$.expected: each part of the final state can be reached, but never all of them at once",
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
        "$.tools.required[0]: required tool `write` always fails: no state meets its preconditions",
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
    (
        {
            "expected": {"arguments": {"check": {"of": "a"}}},
            "simulate": {"check": {"responses": {"match": [{"arguments": {}, "error": "no"}]}}},
        },
        "$.expected.arguments.check: `check` has no response to these arguments",
    ),
    ({"expected": {"absent": ["labels"]}}, "$.expected.absent[0]: `labels` does not exist"),
    ({"expected": {"absent": ["money"]}}, "$.expected.absent[0]: every state that an attempt can"),
    (
        {"simulate": {"check": {"responses": {"match": [{**CASE, "when": {"lable": 1}}]}}}},
        "$.simulator.tools.check.responses.match[0].when.lable: `lable` does not exist",
    ),
    (
        {"simulate": {"check": {"responses": {"match": [{"arguments": {}, "value_at": "x"}]}}}},
        "$.simulator.tools.check.responses.match[0].value_at: `x` does not exist",
    ),
    (
        {"simulate": {"check": {"responses": {"value_at": "x"}}}},
        "$.simulator.tools.check.responses.value_at: `x` does not exist",
    ),
    (
        {
            "simulate": {
                "write": {
                    **TOOLS["write"],
                    "effects": [{"when": {"money": "gone"}, "merge": {"label": "made"}}],
                }
            }
        },
        "$.expected.state.label: neither the initial state nor any effect",
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


BUDGETS = {
    "max_steps": 10_000,
    "max_timeouts": 10_000,
    "max_cost_usd": 10_000,
    "max_latency_ms": 7 * 24 * 3_600_000,
}


@pytest.mark.parametrize("name", BUDGETS)
@pytest.mark.parametrize("world", [True, False])
def test_a_budget_that_no_attempt_comes_near_is_refused(name: str, world: bool) -> None:
    one = contract() if world else {**contract(), "simulator": None}
    assert problems({**one, "budget": {name: BUDGETS[name]}}) == []
    for limit in (BUDGETS[name] + 1, 10**9):
        (found,) = problems({**one, "budget": {name: limit}})
        assert f"episodes/e-1.json: $.budget.{name}: no attempt comes near this budget" in found


IDLE = {"required": [], "forbidden": ["pay"]}
START = {"state": {"label": "none"}}


def idle(expected: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A contract that wants no call; its expectations are these alone."""
    return {**contract(tools=IDLE), "writes": [], "expected": expected, **changes}


@pytest.mark.parametrize(
    ("expected", "where"),
    [
        (START, "$.expected.state"),
        ({"final_state": "open"}, "$.expected.final_state"),
        ({}, "$.tools.required"),
        ({"message_excludes": ["paid"]}, "$.tools.required"),
        ({"trajectory": [{"tool": "check"}]}, "$.tools.required"),
        ({"arguments": {"check": {"id": 1}}}, "$.tools.required"),
    ],
)
def test_a_contract_that_doing_nothing_meets_is_refused(
    expected: dict[str, Any], where: str
) -> None:
    one = idle(expected)
    if "final_state" in expected:
        one["simulator"] = {**one["simulator"], "final_state": "outcome"}
    (found,) = problems(one)
    assert f"episodes/e-1.json: {where}: " in found
    assert "an attempt that does nothing passes" in found


@pytest.mark.parametrize(
    ("expected", "tools", "refused"),
    [
        ({"message_excludes": ["paid"]}, {}, True),
        ({"state": {"outcome": "open"}}, {}, True),
        ({}, {"forbidden": ["pay"]}, True),
        ({}, {"allowed": []}, False),
        ({"state": {"outcome": "sent"}}, {}, False),
        ({"message_contains": ["sent"]}, {}, False),
    ],
)
def test_a_contract_without_a_world_that_doing_nothing_meets_is_refused(
    expected: dict[str, Any], tools: dict[str, Any], refused: bool
) -> None:
    one = {
        "schema": "reviewer/episode@1",
        "episode_id": "e-1",
        "initial_state": {"outcome": "open"},
        "tools": tools,
        "expected": expected,
    }
    found = [text for text in problems(one) if "an attempt that does nothing passes" in text]
    assert bool(found) is refused


@pytest.mark.parametrize(
    "one",
    [
        idle(START, tags=["red-team"]),
        idle(START, category="negative"),
        idle({**START, "message_contains": ["no label"]}),
        idle({**START, "claims": [{"says": ["no label"]}]}),
        idle({**START, "trajectory": [{"tool": "check"}], "trajectory_match": "superset"}),
        idle({"state": {"label": "made"}}),
        {**contract(tools={"required": ["check"]}), "expected": START, "writes": []},
    ],
)
def test_a_contract_that_asks_for_something_or_is_there_to_refuse_is_not(
    one: dict[str, Any],
) -> None:
    assert problems(one) == []


ANY_OBJECT = {"type": "object"}


def described(text: str, parameter: str = "") -> bytes:
    """A toolset in which `pay` is described like this."""
    properties = {"to": {"type": "string", "description": parameter}}
    tools = []
    for name, behavior in TOOLS.items():
        told = {"name": name, "description": "A tool.", "parameters": ANY_OBJECT}
        if name == "pay":
            told |= {"description": text, "parameters": {**ANY_OBJECT, "properties": properties}}
        tools.append({**told, "simulator": behavior})
    return packed({"schema": "reviewer/toolset@1", "tools": tools})


TELLING = [
    "Not this agent's to call.",
    "Pays money back. Not for you.",
    "FORBIDDEN: pays money back.",
    "Pays money back; must not be called here.",
    "Do not use. Pays money back.",
    "Never call this.",
    "Pays money back (off-limits).",
]


@pytest.mark.parametrize("text", TELLING)
def test_a_description_that_tells_which_tool_is_forbidden_is_refused(text: str) -> None:
    one = {**contract(), "simulator": None}
    (found,) = problems(one, toolset_json=described(text))
    assert found.startswith("toolset.json: $.tools[2].description: `")
    assert found.endswith(
        "` reveals which tool an episode forbids: describe only what the tool does, as its real "
        "environment would"
    )
    (found,) = problems(one, toolset_json=described("Pays money back.", text))
    assert found.startswith("toolset.json: $.tools[2].parameters.properties.to.description: `")
    (found,) = problems(contract(simulate={"pay": {**TOOLS["pay"], "description": text}}))
    assert ".json: $.simulator.tools.pay.description: `" in found


def test_a_neutral_description_is_not_and_neither_is_one_that_nobody_forbids() -> None:
    one = {**contract(), "simulator": None}
    for text in ("Pays the price of an order back.", "Pays. It cannot be undone."):
        assert problems(one, toolset_json=described(text, "The account, not the card.")) == []
    free = {**contract(tools={"forbidden": []}), "simulator": None}
    assert problems(free, toolset_json=described("Do not use twice.")) == []


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
        "forbidden tool `wire` is offered by nobody, so no attempt can fail by it: "
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
