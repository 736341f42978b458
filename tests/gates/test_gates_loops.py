"""The optional gate `loops`: one call, with the same arguments, again and again in a row."""

from typing import Any

import pytest
from gate_builders import call, episode, results_of, trace
from msgspec import Raw
from msgspec.structs import replace

from reviewer.gates import Verdict, clauses, compile_contract, score
from reviewer.suite.gates import ALWAYS, GATES, OPTIONAL, in_force, limits_problem

LIMITS = {"loops": 3}
LOOK = call("look", arguments={"a": 1, "b": 2})
TURNED = call("look", arguments={"b": 2, "a": 1})
OTHER = call("look", arguments={"a": 2})


def judged(*events: Any, limits: dict[str, int] = LIMITS, **fields: Any) -> Verdict:
    return score(compile_contract(episode(**fields), limits=limits), trace(*events))


def test_it_is_off_unless_a_policy_names_it() -> None:
    assert in_force({}) == ALWAYS
    assert "loops" not in ALWAYS
    assert in_force(LIMITS) == (*ALWAYS, "loops")
    contract, record = compile_contract(episode()), trace(*[LOOK] * 9)
    verdict = score(contract, record)
    assert (verdict.codes(), verdict.passed) == ([], True)
    assert set(results_of(verdict)) == set(ALWAYS)
    assert "loops" not in {clause.gate for clause in clauses(contract, record, verdict)}


def test_the_call_that_reaches_the_limit_fails() -> None:
    verdict = judged(LOOK, TURNED, LOOK, LOOK)
    assert verdict.codes() == ["looped:look"]
    (finding,) = verdict.findings
    assert (finding.gate, finding.severity, finding.seq) == ("loops", "fail", 3)
    assert results_of(verdict, GATES)["loops"] == "fail"
    assert (verdict.passed, verdict.critical) == (False, False)


@pytest.mark.parametrize(
    "events",
    [
        (LOOK, LOOK),
        (LOOK, LOOK, OTHER, LOOK, LOOK),
        (LOOK, LOOK, "else", LOOK),
        (OTHER, LOOK, LOOK, OTHER),
    ],
)
def test_any_other_call_ends_the_row(events: tuple[Any, ...]) -> None:
    verdict = judged(*events)
    assert (verdict.codes(), verdict.passed) == ([], True)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": [2, {"c": 0}]}, {"a": 1.0, "b": [2.0, {"c": -0.0}]}, True),
        ({"a": 100}, {"a": 1e2}, True),
        ({"a": 1}, {"a": 1.5}, False),
        ({"a": 1}, {"a": "1.0"}, False),
        ({"a": 1e300}, {"a": 1e300}, True),
    ],
)
def test_a_number_is_what_it_is_worth(one: Any, other: Any, same: bool) -> None:
    calls = [call("look", arguments=each) for each in (one, other, one)]
    assert judged(*calls).codes() == (["looped:look"] if same else [])


def test_what_came_of_a_call_does_not_matter() -> None:
    assert judged(LOOK, {**LOOK, "status": "error"}, LOOK).codes() == ["looped:look"]


def test_a_call_that_was_denied_is_a_call() -> None:
    denied = {**LOOK, "status": "denied"}
    assert judged(denied, denied, denied).codes() == ["looped:look"]


@pytest.mark.parametrize("name", ["Look", "functions.look", "mcp__shop__look"])
def test_a_listed_tool_in_another_spelling_is_that_tool(name: str) -> None:
    other = {**LOOK, "tool": name}
    found = judged(LOOK, other, LOOK, tools={"allowed": ["look"]}).codes()
    assert "looped:look" in found
    assert judged(LOOK, other, LOOK).codes() == []  # nothing is listed: two tools


def test_arguments_that_cannot_be_decoded_are_compared_by_their_bytes() -> None:
    text = call("look", arguments="{bad")
    assert judged(text, text, text).codes() == ["looped:look"]
    assert judged(text, {**text, "arguments": "{worse"}, text).codes() == []
    contract = compile_contract(episode(), limits={"loops": 2})
    for first, second, looped in (
        (b"1e999", b"1e999", True),
        (b"1e999", b"1e998", False),
        (b"1e999", b"{}", False),
        (b"{}", b"null", True),
    ):
        record = trace(LOOK, LOOK)
        events = [
            replace(event, arguments=Raw(raw))
            for event, raw in zip(record.events, (first, second), strict=True)
        ]
        found = score(contract, replace(record, events=events)).codes()
        assert ("looped:look" in found) is looped, (first, second)


def test_a_limit_is_in_the_range_of_its_gate() -> None:
    _, least, greatest = OPTIONAL["loops"]
    assert (least, greatest) == (2, 1_000)
    for number in (least, greatest):
        assert limits_problem({"loops": number}) is None
    for number in (least - 1, greatest + 1):
        assert limits_problem({"loops": number}) == f"loops: {number} is not from 2 to 1000"


def test_every_row_that_is_too_long_is_told() -> None:
    verdict = judged(*[LOOK] * 3, "else", *[LOOK] * 4)
    assert [finding.seq for finding in verdict.findings] == [3, 7]


def test_the_policy_says_how_many_are_too_many() -> None:
    assert judged(LOOK, LOOK, limits={"loops": 2}).codes() == ["looped:look"]
    assert judged(*[LOOK] * 4, limits={"loops": 5}).codes() == []


def test_an_episode_may_call_it_critical() -> None:
    assert judged(*[LOOK] * 3, critical=["loops"]).critical


def test_its_clause_says_the_longest_row_beside_the_limit() -> None:
    contract = compile_contract(episode(), limits=LIMITS)
    for count, result in ((2, "pass"), (3, "fail")):
        record = trace(*[LOOK] * count)
        told = clauses(contract, record, score(contract, record))
        assert result in [clause.result for clause in told if clause.gate == "loops"]
    record = trace(LOOK, LOOK)
    told = clauses(contract, record, score(contract, record))
    assert "longest row of one call 2, fewer than 3" in [clause.text for clause in told]


def test_equal_calls_within_one_call_are_a_row() -> None:
    held = [{"recipient_name": "look", "parameters": {"a": 1}}] * 3
    around = call("multi_tool_use.parallel", arguments={"tool_uses": held})
    assert judged(around).codes() == ["looped:look"]
    answer = {"kind": "tool_result", "tool": "look", "call_id": "gone", "status": "ok"}
    assert "looped:look" not in judged(LOOK, LOOK, answer).codes()
