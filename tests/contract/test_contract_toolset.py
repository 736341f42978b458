"""toolset.json: its shape, and what it and the episodes beside it may not say of each other."""

from typing import Any

import pytest
from contract_examples import episode, files, packed, suite

from reviewer.suite.border import json_schema
from reviewer.suite.check import SuiteCheck, check_suite
from reviewer.suite.errors import ContractError
from reviewer.suite.values import load_trusted, load_trusted_toolset

FIXED: dict[str, Any] = {"responses": {"fixed": "ok"}}


def listed(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"About {name}.",
        "parameters": {"type": "object"},
        "simulator": FIXED,
        **changes,
    }


WHOLE = [
    listed("look"),
    listed("write", simulator={**FIXED, "effects": [{"merge": {"status": "done"}}]}),
    listed("verify"),
    listed("pay"),
]


def checked(
    tools: list[Any], *episodes: dict[str, Any], head: dict[str, Any] | None = None, **more: Any
) -> SuiteCheck:
    raw = {"schema": "reviewer/toolset@1", "tools": tools, **more}
    items = episodes or (episode(simulator={"final_state": "status"}),)
    return check_suite({**files(*items, head=head), "toolset.json": packed(raw)})


def problems(found: SuiteCheck) -> list[str]:
    return [str(problem) for problem in found.problems]


def test_a_toolset_is_read_and_is_behind_episodes_that_simulate_nothing() -> None:
    found = checked(WHOLE)
    assert problems(found) == []
    assert found.toolset is not None
    assert [tool.name for tool in found.toolset.tools] == ["look", "write", "verify", "pay"]


def test_a_trusted_toolset_is_the_one_that_was_checked() -> None:
    content = {**files(), "toolset.json": packed({"schema": "reviewer/toolset@1", "tools": WHOLE})}
    assert load_trusted_toolset(content) == check_suite(content).toolset
    assert load_trusted_toolset(files()) is None


@pytest.mark.parametrize(
    ("tools", "more", "words"),
    [
        ([], {}, "toolset.json: $.tools: list should have at least 1 item"),
        ([listed("a"), listed("a")], {}, "toolset.json: $.tools: lists `a` twice"),
        ([listed("a", description="")], {}, "$.tools[0].description: string should have at least"),
        ([{"name": "a", "parameters": {"type": "object"}}], {}, "$.tools[0].description: is miss"),
        ([listed("a", parameters={})], {}, "$.tools[0].parameters: must be a JSON Schema of an"),
        ([listed("a", forbidden=True)], {}, "$.tools[0].forbidden: unknown key `forbidden`"),
        ([listed("a", simulator={})], {}, "$.tools[0].simulator.responses: is missing"),
        ([listed("a")], {"toolkit": "shop:Shop"}, "toolset.json: $: has a toolkit, so its tools"),
        ([listed("a")], {"toolkits": "a:B"}, "unknown key `toolkits` (did you mean `toolkit`?)"),
    ],
)
def test_a_faulty_toolset_is_refused_by_its_place(
    tools: list[Any], more: dict[str, Any], words: str
) -> None:
    found = problems(checked(tools, **more))
    assert any(words in problem for problem in found), found


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"simulator": {"tools": {"sudo": FIXED}}},
            "$.simulator.tools.sudo: is not in toolset.json, which lists every tool",
        ),
        (
            {"simulator": {"tools": {"pay": {**FIXED, "description": "Not yours to call."}}}},
            "$.simulator.tools.pay.description: differs from toolset.json",
        ),
        (
            {
                "simulator": {
                    "tools": {"pay": {**FIXED, "parameters": {"type": "object", "title": "x"}}}
                }
            },
            "$.simulator.tools.pay.parameters: differs from toolset.json",
        ),
        (
            {"tools": {"forbidden": ["pay"], "absent": ["pay"]}},
            "$.tools.absent[0]: absent tool `pay` is also forbidden: no agent could try to call it",
        ),
        (
            {"tools": {"required": ["look"], "absent": ["look"]}},
            "$.tools.required[0]: required tool `look` is absent from the session",
        ),
        (
            {"tools": {"absent": ["verify"]}},
            "$.writes[0].verified_by: verifying tool `verify` is absent from the session",
        ),
        ({"tools": {"absent": ["sudo"]}}, "$.tools.absent[0]: `sudo` is not a tool of this suite"),
        (
            {"tools": {"required": ["sudo"]}},
            "$.tools.required[0]: required tool `sudo` is not simulated",
        ),
        ({"on_forbidden": "allow"}, "$.on_forbidden: should be 'deny' or 'simulate'"),
    ],
)
def test_an_episode_that_does_not_fit_its_toolset_is_refused(
    changes: dict[str, Any], words: str
) -> None:
    found = problems(checked(WHOLE, episode(**changes)))
    assert any(words in problem for problem in found), found


def test_the_text_of_the_toolset_may_be_repeated() -> None:
    told = {**FIXED, "description": "About pay.", "parameters": {"type": "object"}}
    assert problems(checked(WHOLE, episode(simulator={"tools": {"pay": told}}))) == []


def test_an_offered_tool_that_nothing_simulates_is_refused_unless_it_is_absent() -> None:
    tools = [*WHOLE, listed("mail", simulator=None)]
    (found,) = problems(checked(tools))
    assert found.endswith("has no `mail`, which toolset.json offers without a simulator")
    rule = {**episode()["tools"], "absent": ["mail"]}
    assert problems(checked(tools, episode(tools=rule))) == []


def test_a_toolset_without_simulators_describes_what_is_only_imported() -> None:
    tools = [listed(name, simulator=None) for name in ("look", "write", "verify", "pay")]
    assert problems(checked(tools)) == []


def test_a_toolkit_behind_the_toolset_leaves_nothing_to_simulate() -> None:
    tools = [listed(name, simulator=None) for name in ("look", "write", "verify", "pay")]
    assert problems(checked(tools, toolkit="shop:Shop")) == []
    (found,) = problems(
        checked(tools, episode(simulator={"tools": {"look": FIXED}}), toolkit="shop:Shop")
    )
    assert "toolset.json has a toolkit behind its tools: remove these" in found


def test_only_a_toolset_lets_a_simulator_have_no_tools() -> None:
    bare = files(episode(simulator={"final_state": "status"}))
    (found,) = problems(check_suite(bare))
    assert found.endswith("$.simulator: must have either tools or a toolkit")


def test_an_absent_tool_without_a_toolset_is_one_that_an_episode_simulates() -> None:
    tools = dict.fromkeys(("look", "write", "verify", "mail"), FIXED)
    one = episode("e-1", simulator={"tools": tools})
    for absent, count in (("mail", 0), ("sudo", 1)):
        rule = {**episode()["tools"], "absent": [absent]}
        two = episode("e-2", tools=rule, simulator={"tools": tools})
        assert len(check_suite(files(one, two)).problems) == count


def test_on_forbidden_may_be_the_suites_default() -> None:
    head = suite(defaults={"on_forbidden": "simulate"})
    found = checked(WHOLE, episode(), episode("e-2", on_forbidden="deny"), head=head)
    assert found.suite is not None
    assert [one.carries_out_all for one in found.suite.episodes] == [True, False]


def test_what_episodes_may_say_now_is_not_in_the_bytes_of_those_that_do_not() -> None:
    import msgspec

    body = msgspec.json.encode(load_trusted(files()))
    assert b"absent" not in body
    assert b"on_forbidden" not in body


def test_the_schema_describes_every_member() -> None:
    schema = json_schema("toolset")
    shapes = [schema, *schema["$defs"].values()]
    for shape in shapes:
        for name, member in shape.get("properties", {}).items():
            assert member.get("description"), (shape.get("title"), name)


def test_an_unreadable_toolset_is_named_and_no_episode_is_blamed() -> None:
    found = check_suite({**files(), "toolset.json": b"{"})
    assert [problem.file for problem in found.problems] == ["toolset.json"]
    with pytest.raises(ContractError):
        load_trusted_toolset({**files(), "toolset.json": b"{"})
