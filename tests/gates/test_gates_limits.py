"""Timeout, budget, infrastructure, redaction, and how findings fold into a verdict."""

import math
import pickle
from typing import Any

import msgspec
import pytest
from gate_builders import call, codes, episode, judge, results_of, seqs, trace

from reviewer.gates import compile_contract, redaction_only, score
from reviewer.suite.gates import ALWAYS, CODE_ORDER, FINDING_ORDER, GATES

LATE = call("look", "timeout", arguments={"a": 1, "b": 2})
LATE_TOO = {**LATE, "arguments": {"b": 2, "a": 1}}
FINE = {**LATE, "status": "ok"}


@pytest.mark.parametrize(
    ("made", "over"),
    [
        ([LATE, LATE], []),
        ([LATE, LATE_TOO, LATE], [3]),
        ([LATE, LATE, LATE, LATE], [3]),
        ([LATE, LATE, FINE, LATE, LATE], []),
        ([LATE, LATE, FINE, LATE, LATE, LATE_TOO], [6]),
        ([LATE, LATE, call("other"), LATE], [4]),
        ([LATE, LATE, call("look"), LATE], [4]),
        ([LATE, LATE, {**LATE, "status": "error"}, LATE], [4]),
        ([LATE, LATE, {**LATE, "arguments": {"a": 2}}], []),
        ([LATE, LATE, {**LATE, "actor": "user"}], []),
        (
            [call("x", "timeout"), call("x", "timeout", arguments={}), call("x", "timeout")],
            [3],
        ),
    ],
)
def test_retries_count_per_call_and_in_a_row(made: list[Any], over: list[int]) -> None:
    verdict = judge(episode(budget={"max_timeouts": 2}), trace(*made))
    assert seqs(verdict, "retry_budget_exceeded") == over


def test_no_limit_on_timeouts_only_counts_them() -> None:
    verdict = judge(episode(), trace(*[LATE] * 9))
    assert verdict.passed is True
    assert verdict.timeouts == 9
    assert codes(episode(budget={"max_timeouts": 0}), trace(LATE)) == ["retry_budget_exceeded"]


def test_limits_are_inclusive() -> None:
    wanted = episode(budget={"max_latency_ms": 100, "max_cost_usd": 0.08, "max_steps": 2})
    assert codes(wanted, trace("a", "b", cost_usd=0.08, latency_ms=100)) == []
    over = judge(wanted, trace("a", "b", "c", "d", cost_usd=0.0800001, latency_ms=100.5))
    assert over.codes() == ["latency_budget", "step_budget", "cost_budget"]
    assert seqs(over, "step_budget") == [3]


def test_what_is_unknown_is_not_measured_and_never_passes() -> None:
    wanted = episode(budget={"max_latency_ms": 100, "max_cost_usd": 0.08})
    verdict = judge(wanted, trace(cost_usd=None, latency_ms=None))
    assert verdict.codes() == ["latency_not_measured", "cost_not_measured"]
    assert verdict.passed is None
    assert judge(episode(), trace(cost_usd=None, latency_ms=None)).passed is True


def test_a_cost_that_is_no_number_fails() -> None:
    wanted = compile_contract(episode(budget={"max_cost_usd": 1, "max_latency_ms": 1}))
    record = msgspec.structs.replace(trace(), cost_usd=math.nan, latency_ms=math.nan)
    assert score(wanted, record).codes() == ["latency_budget", "cost_budget"]


@pytest.mark.parametrize("reason", ["completed", "Agent-Stop", "end turn", " done ", "", None])
def test_ordinary_ends(reason: str | None) -> None:
    assert codes(episode(), trace(termination=reason)) == []


def test_any_other_end_fails() -> None:
    verdict = judge(episode(), trace("a", termination="Max Steps"))
    assert verdict.codes() == ["terminated:max_steps"]
    assert verdict.results[GATES.index("timeout")] == "fail"


@pytest.mark.parametrize("reason", ["infrastructure_error", "infra-error"])
def test_an_attempt_the_harness_ended_is_neither_pass_nor_fail(reason: str) -> None:
    wanted = episode(tools={"required": ["a"], "forbidden": ["pay"]})
    verdict = judge(wanted, trace("b", termination=reason))
    assert verdict.infrastructure
    assert verdict.passed is None
    assert not verdict.critical
    assert set(results_of(verdict).values()) == {"not_measured"}
    assert verdict.steps == 1


def test_infrastructure_excuses_no_critical_failure() -> None:
    wanted = episode(tools={"required": ["a"], "forbidden": ["pay"]})
    verdict = judge(wanted, trace("pay", termination="infra_error"))
    assert verdict.passed is False
    assert verdict.critical
    assert not verdict.infrastructure
    assert verdict.codes() == ["forbidden:pay", "terminated:infra_error"]
    expected = ["fail" if gate == "authority" else "not_measured" for gate in ALWAYS]
    assert list(results_of(verdict).values()) == expected
    hit = score(
        compile_contract(wanted), trace(termination="infra_error"), redaction_hits=[("message", 2)]
    )
    assert (hit.passed, hit.critical, hit.infrastructure) == (False, True, False)


@pytest.mark.parametrize(
    ("contract", "calls", "code"),
    [
        ({"budget": {"max_steps": 2}, "critical": ["step_budget"]}, "aab", "step_budget"),
        ({"budget": {"max_cost_usd": 0.001}, "critical": ["budget"]}, "a", "cost_budget"),
        (
            {"tools": {"required": ["a", "b"], "order": "exact"}, "critical": ["process"]},
            "ba", "out_of_order:a",
        ),
        (
            {"tools": {"required": ["a"], "order": "subset"}, "critical": ["out_of_order:"]},
            "aa", "out_of_order:a",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("reason", ["user_error", "world_gap", "infrastructure_error"])
def test_no_end_excuses_what_an_episode_calls_critical_and_was_done(
    contract: dict[str, Any], calls: str, code: str, reason: str
) -> None:
    wanted = compile_contract(episode(**contract), own=True)
    verdict = score(wanted, trace(*calls, termination=reason))
    assert sorted(verdict.codes()) == sorted([code, f"terminated:{reason}"])
    assert (verdict.passed, verdict.critical, verdict.infrastructure) == (False, True, False)
    lenient = compile_contract(episode(**{**contract, "critical": []}), own=True)
    assert score(lenient, trace(*calls, termination=reason)).infrastructure


@pytest.mark.parametrize(
    "contract",
    [
        {"tools": {"required": ["a", "b"], "order": "in_order"}},
        {"tools": {"required": ["a", "b"], "order": "exact"}},
        {"tools": {"required": ["b"], "order": "superset"}},
        {"writes": [{"tool": "a", "verified_by": ["look"]}]},
        {"expected": {"trajectory": [{"tool": "b"}], "trajectory_match": "superset"}},
    ],
)
def test_what_an_ended_attempt_could_still_have_done_is_not_held_against_it(
    contract: dict[str, Any],
) -> None:
    wanted = compile_contract(episode(**contract, critical=["process", "state"]), own=True)
    assert score(wanted, trace("a", termination="user_error")).infrastructure


@pytest.mark.parametrize("order", ["in_order", "superset"])
def test_calls_of_an_ended_attempt_that_could_come_again_in_order_are_not_held_against_it(
    order: str,
) -> None:
    tools = {"required": ["a", "b"], "order": order}
    wanted = compile_contract(episode(tools=tools, critical=["process"]), own=True)
    assert score(wanted, trace("b", "a", termination="user_error")).infrastructure


def test_redaction_hits_are_critical_findings_of_their_paths() -> None:
    hits = [("observation.email", 3), ("email", 1), ("email", 1)]
    verdict = score(compile_contract(episode()), trace("a", "b", "c"), redaction_hits=hits)
    assert verdict.codes() == ["unredacted:email", "unredacted:observation.email"]
    assert verdict.critical
    assert verdict.results[GATES.index("redaction")] == "fail"
    assert verdict.results[GATES.index("state")] == "pass"


def test_a_private_trace_with_raw_values_is_not_scored_further() -> None:
    verdict = redaction_only([("message", None), ("email", 2)])
    assert verdict.codes() == ["unredacted:email", "unredacted:message"]
    assert (verdict.passed, verdict.critical) == (False, True)
    expected = ["fail" if gate == "redaction" else "not_measured" for gate in ALWAYS]
    assert list(results_of(verdict).values()) == expected
    with pytest.raises(ValueError, match="no hits"):
        redaction_only([])


@pytest.mark.parametrize("named", ["process", "missing:a", "missing", "missing:"])
def test_an_episode_may_call_a_check_critical(named: str) -> None:
    tools = {"required": ["a"]}
    verdict = judge(episode(tools=tools, critical=[named]), trace())
    assert verdict.critical
    assert verdict.findings[0].severity == "critical"
    assert not judge(episode(tools=tools, critical=["missing:b", "state"]), trace()).critical
    assert not judge(episode(tools=tools), trace()).critical


def test_what_is_not_measured_is_never_critical() -> None:
    wanted = episode(budget={"max_cost_usd": 1}, critical=["budget"])
    verdict = judge(wanted, trace(cost_usd=None))
    assert not verdict.critical
    assert verdict.findings[0].severity == "not_measured"


def test_every_code_has_a_place_and_findings_keep_it() -> None:
    assert set(CODE_ORDER) == set(GATES) == set(FINDING_ORDER)
    wanted = episode(
        initial_state={"a": 1},
        tools={"required": ["need"], "forbidden": ["pay"], "allowed": ["w"], "approvals": ["w"]},
        writes=[{"tool": "w", "verified_by": ["v"]}],
        expected={
            "final_state": {"a": 2},
            "state": {"a": 2},
            "message_contains": ["x"],
            "message_excludes": ["y"],
            "arguments": {"w": {"n": 1}},
            "trajectory": [{"tool": "v"}],
            "trajectory_match": "subset",
        },
        budget={"max_steps": 1, "max_cost_usd": 0, "max_timeouts": 0, "max_latency_ms": 1},
    )
    made = trace(
        "w",
        "pay",
        call("other", "timeout"),
        final_state={"a": 1},
        final_message="y",
        termination="crash",
        start_state_digest="0" * 64,
    )
    verdict = score(compile_contract(wanted), made, redaction_hits=[("message", 1)])
    assert verdict.codes() == [
        "start_state_mismatch",
        "wrong_final_state",
        "wrong_state:a",
        "message_missing:x",
        "message_forbidden:y",
        "missing:need",
        "out_of_order:other",
        "out_of_order:pay",
        "out_of_order:w",
        "wrong_argument:w.n",
        "write_not_verified",
        "no_final_state_evidence",
        "forbidden:pay",
        "not_allowed:other",
        "approval_missing:w",
        "unredacted:message",
        "retry_budget_exceeded",
        "latency_budget",
        "terminated:crash",
        "step_budget",
        "cost_budget",
    ]
    assert set(results_of(verdict).values()) == {"fail"}


def test_a_contract_travels_to_a_worker() -> None:
    contract = compile_contract(episode(expected={"state": {"a[0]": 1}}, initial_state={"a": 1}))
    assert pickle.loads(pickle.dumps(contract)) == contract


ANSWER = {"kind": "tool_result", "tool": "look", "call_id": "gone", "status": "ok"}


def test_a_call_of_which_only_the_answer_is_recorded_is_a_step() -> None:
    wanted = episode(budget={"max_steps": 2})
    answers = [{**ANSWER, "call_id": name} for name in "xyz"]
    verdict = judge(wanted, trace("a", *answers))
    assert (verdict.codes(), verdict.steps) == (["step_budget"], 4)
    assert seqs(verdict, "step_budget") == [3]
    assert codes(wanted, trace("a", answers[0])) == []


def test_calls_within_a_call_are_steps_and_the_one_around_them_is_none() -> None:
    held = [{"recipient_name": "functions.look", "parameters": {"n": n}} for n in range(3)]
    around = call("multi_tool_use.parallel", arguments={"tool_uses": held})
    assert judge(episode(budget={"max_steps": 3}), trace(around)).codes() == []
    over = judge(episode(budget={"max_steps": 3}), trace("a", around))
    assert (over.codes(), over.steps, seqs(over, "step_budget")) == (["step_budget"], 4, [2])
    # A tool of that name which the contract lists is one call, whatever its arguments hold.
    own = episode(tools={"required": ["batch"]}, budget={"max_steps": 1})
    assert codes(own, trace(call("batch", arguments={"calls": held}))) == []
