"""Process: what must be called, in which order, with which arguments, and proven how."""

import json
from pathlib import Path
from typing import Any

import pytest
from gate_builders import call, codes, episode, judge, seqs, trace

from reviewer.suite.gates import GATES


def test_a_required_tool_counts_unless_every_call_of_it_was_denied() -> None:
    wanted = episode(tools={"required": ["b", "a"]})
    assert codes(wanted, trace()) == ["missing:a", "missing:b"]
    assert codes(wanted, trace(call("a", "error"), call("b", "timeout"))) == []
    verdict = judge(wanted, trace(call("a", "denied"), "b"))
    assert verdict.codes() == ["missing:a"]
    assert seqs(verdict, "missing:a") == [None]
    assert codes(wanted, trace(call("a", "denied"), "a", "b")) == []


def test_a_users_call_is_nobodys_requirement() -> None:
    wanted = episode(tools={"required": ["a"]})
    assert codes(wanted, trace(call("a", actor="user"))) == ["user_call:a", "missing:a"]


@pytest.mark.parametrize(
    ("order", "made", "expected"),
    [
        ("any", "cba", []),
        ("in_order", "abc", []),
        ("in_order", "xaxbxc", []),
        ("in_order", "cab", ["out_of_order:c"]),
        ("in_order", "ac", ["missing:b"]),
        ("in_order", "cabc", []),
        ("exact", "abc", []),
        ("exact", "acb", ["out_of_order:b"]),
        ("exact", "abca", ["out_of_order:a"]),
        ("exact", "ab", ["missing:c"]),
        ("exact", "abxc", ["out_of_order:c"]),
        ("subset", "cab", []),
        ("subset", "abca", ["out_of_order:a"]),
        ("subset", "abcx", ["out_of_order:x"]),
        ("superset", "xcab", []),
        ("superset", "ab", ["missing:c"]),
    ],
)
def test_the_order_of_required_tools(order: str, made: str, expected: list[str]) -> None:
    wanted = episode(tools={"required": ["a", "b", "c"], "order": order})
    assert codes(wanted, trace(*made)) == expected


def test_a_tool_required_twice_must_be_called_twice_where_calls_are_counted() -> None:
    twice = {"required": ["a", "a"]}
    assert codes(episode(tools=twice), trace("a")) == []
    assert codes(episode(tools={**twice, "order": "superset"}), trace("a")) == ["out_of_order:a"]
    assert codes(episode(tools={**twice, "order": "superset"}), trace("a", "a")) == []


def test_out_of_order_stands_on_the_call_that_breaks_it() -> None:
    wanted = episode(tools={"required": ["a", "b"], "order": "in_order"})
    assert seqs(judge(wanted, trace("b", "a")), "out_of_order:b") == [1]
    wanted = episode(tools={"required": ["a"], "order": "subset"})
    assert seqs(judge(wanted, trace("a", "x", "x")), "out_of_order:x") == [2, 3]


STEPS: list[dict[str, Any]] = [{"tool": "a", "arguments": {"n": 1}}, {"tool": "b"}]
A1, A2 = call("a", arguments={"n": 1.0}), call("a", arguments={"n": 2})


@pytest.mark.parametrize(
    ("match", "made", "expected"),
    [
        ("strict", [A1, "b"], []),
        ("strict", ["b", A1], ["out_of_order:a"]),
        ("strict", [A2, "b"], ["out_of_order:a"]),
        ("strict", [A1], ["out_of_order:b"]),
        ("strict", [A1, "b", "x"], ["out_of_order:x"]),
        ("unordered", ["b", A1], []),
        ("unordered", ["b", A1, "x"], ["out_of_order:x"]),
        ("unordered", ["b"], ["out_of_order:a"]),
        ("subset", [A1], []),
        ("subset", [], []),
        ("subset", [A1, A1], ["out_of_order:a"]),
        ("superset", ["x", "b", A2, A1], []),
        ("superset", [A2, "b"], ["out_of_order:a"]),
    ],
)
def test_the_trajectory_matches_as_agentevals_does(
    match: str, made: list[Any], expected: list[str]
) -> None:
    wanted = episode(expected={"trajectory": STEPS, "trajectory_match": match})
    assert codes(wanted, trace(*made)) == expected


ORACLE = json.loads((Path(__file__).parents[1] / "data/oracles/statistics.json").read_text("utf-8"))
MATCHES = [case for case in ORACLE["cases"] if case["function"] == "trajectory_match"]


@pytest.mark.parametrize("case", MATCHES, ids=lambda case: case["id"])
def test_the_gate_agrees_with_agentevals(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    compared = inputs["args"] == "exact"
    steps = [
        {"tool": tool, **({"arguments": arguments} if compared else {})}
        for tool, arguments in inputs["expected"]
    ]
    made = [call(tool, arguments=arguments) for tool, arguments in inputs["actual"]]
    wanted = episode(expected={"trajectory": steps, "trajectory_match": inputs["mode"]})
    assert (codes(wanted, trace(*made)) == []) is case["expected"]


def test_every_mode_of_the_oracle_is_compared() -> None:
    assert len(MATCHES) == 24
    assert {case["inputs"]["args"] for case in MATCHES} == {"exact", "ignore"}


def test_a_step_without_arguments_does_not_take_the_call_of_one_with() -> None:
    steps = [{"tool": "a"}, {"tool": "a", "arguments": {"n": 1}}]
    wanted = episode(expected={"trajectory": steps, "trajectory_match": "unordered"})
    assert codes(wanted, trace(A1, A2)) == []


def test_a_trajectory_without_a_match_is_only_noted() -> None:
    verdict = judge(episode(expected={"trajectory": STEPS}), trace("b"))
    assert verdict.passed is True
    assert verdict.codes() == []
    assert [(f.code, f.severity, f.seq) for f in verdict.findings] == [
        ("out_of_order:a", "note", 1)
    ]


def test_one_call_must_have_every_wanted_argument() -> None:
    wanted = episode(expected={"arguments": {"pay": {"amount": 5, "to.name": "Ada"}}})
    half = call("pay", arguments={"amount": 5, "to": {"name": "Bob"}})
    other = call("pay", arguments={"amount": 6, "to": {"name": "Ada"}})
    whole = call("pay", arguments={"amount": 5.0, "to": {"name": "Ada"}, "memo": "x"})
    assert codes(wanted, trace(whole, half)) == []
    verdict = judge(wanted, trace(other, half))
    assert verdict.codes() == ["wrong_argument:pay.to.name"]
    assert seqs(verdict, "wrong_argument:pay.to.name") == [2]
    assert codes(wanted, trace("pay")) == [
        "wrong_argument:pay.amount",
        "wrong_argument:pay.to.name",
    ]


def test_arguments_of_a_tool_never_called_are_not_wrong() -> None:
    wanted = episode(expected={"arguments": {"pay": {"amount": 5}}})
    assert codes(wanted, trace()) == []
    assert codes(wanted, trace(call("pay", "denied"))) == []


WRITES = [{"tool": "write", "verified_by": ["read", "audit"]}]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (["write", "read"], []),
        (["write", "audit"], []),
        (["write", "write", "read"], []),
        (["write", "read", "write"], ["write_not_verified"]),
        (["read", "write"], ["write_not_verified"]),
        (["write", call("read", "error")], ["write_not_verified", "no_final_state_evidence"]),
        (
            ["write", call("read", actor="user")],
            ["user_call:read", "write_not_verified", "no_final_state_evidence"],
        ),
        ([call("write", "denied"), "read"], []),
        ([call("write", "denied")], ["no_final_state_evidence"]),
        ([call("write", "error"), "x"], ["write_not_verified", "no_final_state_evidence"]),
        ([call("write", actor="user"), "read", "x"], ["user_call:write"]),
        (
            [{"kind": "tool_call", "tool": "write"}],
            ["write_not_verified", "no_final_state_evidence"],
        ),
        (
            ["write", {"kind": "tool_call", "tool": "read"}],
            ["write_not_verified", "no_final_state_evidence"],
        ),
        (["read"], []),
        ([], ["no_final_state_evidence"]),
    ],
)
def test_every_write_needs_a_later_proof(made: list[Any], expected: list[str]) -> None:
    assert codes(episode(writes=WRITES), trace(*made)) == expected


def test_each_unverified_write_is_found_where_it_stands() -> None:
    verdict = judge(episode(writes=WRITES), trace("write", "read", "write", "x", "write"))
    assert verdict.codes() == ["write_not_verified"]
    assert seqs(verdict, "write_not_verified") == [3, 5]
    assert verdict.results[GATES.index("process")] == "fail"


@pytest.mark.parametrize("status", ["error", "timeout", "denied", "pending"])
def test_a_proof_whose_result_says_otherwise_is_none(status: str) -> None:
    read = {"kind": "tool_call", "tool": "read", "status": "ok", "call_id": "1"}
    answer = {"kind": "tool_result", "call_id": "1", "status": status}
    wanted = episode(writes=WRITES)
    assert codes(wanted, trace("write", read, answer)) == [
        "write_not_verified",
        "no_final_state_evidence",
    ]
    assert codes(wanted, trace("write", read, {**answer, "status": "ok"})) == []
    asked = {**read, "status": "pending"}
    assert codes(wanted, trace("write", asked, {**answer, "status": "ok"})) == []


def test_a_denied_write_whose_result_went_well_wants_its_proof() -> None:
    write = {"kind": "tool_call", "tool": "write", "status": "denied", "call_id": "1"}
    answer = {"kind": "tool_result", "call_id": "1", "status": "ok"}
    wanted = episode(writes=WRITES)
    assert "write_not_verified" not in codes(wanted, trace("read", write))
    assert codes(wanted, trace("read", write, answer)) == ["write_not_verified"]


@pytest.mark.parametrize(
    "rule",
    [
        {"tools": {"required": ["look"], "order": "subset"}},
        {"tools": {"required": ["look"], "order": "exact"}},
        {"expected": {"trajectory": [{"tool": "look"}], "trajectory_match": "strict"}},
        {"expected": {"trajectory": [{"tool": "look"}], "trajectory_match": "unordered"}},
        {"expected": {"trajectory": [{"tool": "look"}], "trajectory_match": "subset"}},
    ],
)
def test_a_call_of_which_only_the_answer_is_recorded_has_no_place(rule: dict[str, Any]) -> None:
    answer = {"kind": "tool_result", "tool": "erase", "call_id": "gone", "status": "ok"}
    verdict = judge(episode(**rule), trace("look", answer))
    assert verdict.codes() == ["out_of_order:erase"]
    assert seqs(verdict, "out_of_order:erase") == [2]
    # Nor does it meet an expectation.
    assert judge(episode(**rule), trace({**answer, "tool": "look"})).passed is False
    assert codes(episode(**rule), trace("look")) == []
