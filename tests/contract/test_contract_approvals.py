"""An episode's answers to calls that need an approval: which rule answers, which are refused."""

from typing import Any

import msgspec
import pytest
from contract_examples import episode, files
from hypothesis import given
from hypothesis import strategies as st

from reviewer.suite.approvals import (
    approval_problems,
    asks_a_person,
    fitting_rule,
    flag_decides,
)
from reviewer.suite.check import check_suite
from reviewer.suite.model import Episode

TOOLS = {"allowed": ["look", "pay", "ship"], "approvals": ["pay", "ship"]}


def rule(answer: str = "allow", tool: str = "pay", **more: Any) -> dict[str, Any]:
    return {"tool": tool, "answer": answer, **more}


def made(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return episode(writes=[], **{"tools": TOOLS, "approvals": list(rules), **more})


def value(*rules: dict[str, Any], **more: Any) -> Episode:
    return msgspec.convert(made(*rules, **more), Episode, strict=False)


def problems(*rules: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    found = check_suite(files(made(*rules, **more))).problems
    return [(one.path, one.reason) for one in found]


ONE, TWO = {"amount": 1}, {"amount": 2}


def test_the_first_rule_that_fits_answers() -> None:
    of = value(rule("deny", arguments={**ONE, "to": "x"}), rule("person", arguments=ONE))
    for arguments, number in (
        ({"amount": 1, "to": "x", "why": "free"}, 1),
        ({"amount": 1.0}, 2),
        ({"amount": True}, None),
        ({"amount": 2}, None),
        ({}, None),
        ([1], None),
    ):
        found = fitting_rule(of, "pay", arguments)
        assert (None if found is None else found.number) == number
    assert fitting_rule(of, "ship", {"amount": 1}) is None
    assert asks_a_person(of)


def test_a_flag_decides_only_what_has_no_rule() -> None:
    assert flag_decides([value(rule())])  # ship has none
    assert not flag_decides([value(rule(), rule(tool="ship"))])
    assert not flag_decides([msgspec.convert(episode(writes=[]), Episode)])


@pytest.mark.parametrize(
    ("rules", "place", "said"),
    [
        ([rule(tool="look")], "$.approvals[0].tool", "`look` needs no approval"),
        ([rule("allow"), rule("deny")], "$.approvals[1]", "answers the same calls with allow"),
        ([rule("allow"), rule("allow")], "$.approvals[1]", "never applies"),
        ([rule("allow"), rule("deny", arguments=ONE)], "$.approvals[1]", "never applies"),
        (
            [rule("allow", arguments=ONE), rule("deny", arguments={"amount": 1.0})],
            "$.approvals[1]",
            "$.approvals[0] answers the same calls with allow, this rule with deny",
        ),
        (
            [rule("allow", arguments=ONE), rule("deny", arguments={"to": "x"})],
            "$.approvals[1]",
            "one call can fit both",
        ),
        ([rule("person", delay_ms=5)], "$.approvals[0]", "leave out delay_ms"),
        ([rule("allow", arguments={})], "$.approvals[0].arguments", "names no argument"),
        ([rule("maybe")], "$.approvals[0].answer", "allow"),
        ([rule(delay_ms=-1)], "$.approvals[0].delay_ms", "greater than or equal to 0"),
        ([rule(until="noon")], "$.approvals[0].until", "unknown key"),
    ],
)
def test_what_is_refused(rules: list[dict[str, Any]], place: str, said: str) -> None:
    (found,) = problems(*rules)
    assert found[0] == place
    assert said in found[1]


@pytest.mark.parametrize(
    "rules",
    [
        [rule("allow", arguments=ONE), rule("deny", arguments=TWO)],
        [rule("allow", arguments=ONE), rule("deny")],
        [rule("allow", arguments=ONE), rule("allow", arguments={"to": "x"}), rule("person")],
        [
            rule("deny", arguments={**ONE, "to": "x"}),
            rule("allow", arguments=ONE),
            rule("deny", arguments={"to": "x"}),
        ],
        [rule("allow"), rule("deny", "ship", delay_ms=5)],
    ],
)
def test_what_can_be_met_is_taken(rules: list[dict[str, Any]]) -> None:
    assert problems(*rules) == []


def test_a_required_tool_that_is_never_allowed_is_refused() -> None:
    tools = {**TOOLS, "required": ["pay"]}
    never = [rule("deny", arguments=ONE), rule("deny")]
    (found,) = problems(*never, tools=tools)
    assert found[0] == "$.tools.required[0]"
    assert problems(*never[:1], rule("person"), tools=tools) == []


SCHEMA = {
    "type": "object",
    "properties": {"amount": {"type": "number", "maximum": 100}, "to": {"enum": ["x", "y"]}},
    "required": ["amount", "to"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"amount": 5}, None),
        ({"to": "x"}, None),
        ({"amount": 500}, "500 is greater than the maximum of 100"),
        ({"amount": "5"}, "is not of type 'number'"),
        ({"to": "z"}, "is not one of"),
        ({"sum": 5}, "has no argument `sum`"),
    ],
)
def test_a_rule_that_no_call_of_the_simulated_tool_can_fit_is_refused(
    arguments: dict[str, Any], said: str | None
) -> None:
    tool = {"parameters": SCHEMA, "responses": {"fixed": None}}
    simulator = {"tools": {"look": {"responses": {"fixed": None}}, "pay": tool}}
    found = problems(rule(arguments=arguments), simulator=simulator)
    if said is None:
        assert found == []
    else:
        ((place, reason),) = found
        assert place == "$.approvals[0]"
        assert said in reason
    ((place, reason),) = problems(rule(tool="ship"), simulator=simulator)
    assert (place, "is not simulated" in reason) == ("$.approvals[0]", True)


def test_an_episode_without_rules_is_stored_as_before() -> None:
    plain = msgspec.convert(episode(writes=[]), Episode)
    assert b"approvals" not in msgspec.json.encode(plain).partition(b'"writes"')[2]
    assert plain.approval_rules == ()


ARGUMENTS = st.dictionaries(st.sampled_from("abc"), st.integers(1, 2), min_size=1)
RULES = st.lists(
    st.builds(
        rule,
        st.sampled_from(["allow", "deny", "person"]),
        st.sampled_from(["pay", "ship"]),
        arguments=st.none() | ARGUMENTS,
    ),
    max_size=5,
)


def answer(of: Episode, tool: str, arguments: dict[str, Any]) -> str | None:
    found = fitting_rule(of, tool, arguments)
    return None if found is None else found.rule.answer


@given(RULES)
def test_every_rule_of_an_episode_that_is_taken_answers_some_call(
    rules: list[dict[str, Any]],
) -> None:
    of = value(*rules)
    if list(approval_problems(of)):
        return
    for number, one in enumerate(of.approval_rules, 1):
        found = fitting_rule(of, one.tool, one.arguments or {})
        assert found is not None
        assert found.number == number


@given(RULES, st.sampled_from(["pay", "ship"]), ARGUMENTS)
def test_only_an_exception_before_its_rule_depends_on_the_order(
    rules: list[dict[str, Any]], tool: str, arguments: dict[str, Any]
) -> None:
    of = value(*rules)
    if list(approval_problems(of)):
        return
    for at in range(len(rules) - 1):
        one, other = (rules[at]["arguments"] or {}), (rules[at + 1]["arguments"] or {})
        if one.items() <= other.items() or other.items() <= one.items():
            continue
        swapped = [*rules[:at], rules[at + 1], rules[at], *rules[at + 2 :]]
        assert answer(value(*swapped), tool, arguments) == answer(of, tool, arguments)
