"""What holds for every trace, however made."""

from typing import Any

import msgspec
from gate_builders import episode, results_of, trace
from hypothesis import given
from hypothesis import strategies as st

from reviewer.gates import clauses, compile_contract, diagnose, score
from reviewer.suite.gates import GATES
from reviewer.trace.record import TraceRecord

TOOLS = ["look", "write", "check", "pay", "ship", "other"]
FORBIDDEN = ["pay", "ship"]
CONTRACT = compile_contract(
    episode(
        initial_state={"a": 1},
        tools={
            "allowed": ["look", "write", "check"],
            "required": ["look", "check"],
            "forbidden": FORBIDDEN,
            "approvals": ["write", "pay"],
            "order": "in_order",
            "of_user": ["reboot", "unplug"],
        },
        writes=[{"tool": "write", "verified_by": ["check"]}],
        expected={
            "final_state": {"case": "opened"},
            "state": {"case": "opened", "list[0].x": 1},
            "message_contains": ["sent"],
            "message_excludes": ["refund"],
            "arguments": {"write": {"id": 1}},
            "trajectory": [{"tool": "look", "arguments": {"id": 1}}, {"tool": "check"}],
            "trajectory_match": "unordered",
        },
        budget={"max_steps": 4, "max_cost_usd": 0.05, "max_timeouts": 1, "max_latency_ms": 500},
    )
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "case", "status", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
STATUSES = st.sampled_from(["ok", "error", "timeout", "denied", "pending"])


@st.composite
def short_calls(draw: st.DrawFn, tools: list[str] = TOOLS) -> dict[str, Any]:
    event: dict[str, Any] = {"tool": draw(st.sampled_from(tools)), "status": draw(STATUSES)}
    if draw(st.booleans()):
        event["arguments"] = draw(st.sampled_from([{}, {"id": 1}, {"id": 2}]))
    if draw(st.integers(0, 4)) == 0:
        event["approval"] = draw(JSON)
    return event


OTHERS = st.one_of(
    st.builds(lambda value: {"kind": "message", "message": value}, JSON),
    st.builds(lambda value: {"kind": "state_snapshot", "state": value}, JSON),
    st.builds(
        lambda tool, value: {"kind": "approval", "tool": tool, "approval": value},
        st.sampled_from(TOOLS),
        st.sampled_from([True, "granted", False, {"status": "granted"}]),
    ),
)
EVENTS = st.lists(short_calls() | OTHERS, max_size=9)
FIELDS = st.fixed_dictionaries(
    {
        "final_state": JSON | st.just({"case": "opened"}),
        "cost_usd": st.none() | st.floats(0, 0.1),
        "latency_ms": st.none() | st.integers(0, 1000),
        "termination": st.sampled_from([None, "done", "crash", "infra_error"]),
        "final_message": st.none() | st.sampled_from(["Sent.", "refund sent", ""]),
        "start_state_digest": st.sampled_from([None, CONTRACT.start_digest, "sha256:00"]),
    }
)
SEVERE = ("critical", "fail")


def failures(record: TraceRecord, gate: str) -> set[tuple[str, int | None]]:
    verdict = score(CONTRACT, record)
    return {(f.code, f.seq) for f in verdict.findings if f.gate == gate and f.severity in SEVERE}


@given(EVENTS, FIELDS)
def test_a_verdict_is_a_function_of_its_trace(events: list[Any], fields: Any) -> None:
    record, again = trace(*events, **fields), trace(*events, **fields)
    verdict = score(CONTRACT, record)
    assert verdict == score(CONTRACT, again)
    assert verdict == score(CONTRACT, record)
    assert clauses(CONTRACT, record, verdict) == clauses(CONTRACT, again, verdict)


@given(EVENTS, FIELDS)
def test_results_follow_from_findings(events: list[Any], fields: Any) -> None:
    verdict = score(CONTRACT, trace(*events, **fields))
    failing = {f.gate for f in verdict.findings if f.severity in SEVERE}
    assert {g for g, r in zip(GATES, verdict.results, strict=True) if r == "fail"} == failing
    assert (verdict.passed is False) == bool(failing)
    assert (verdict.passed is True) == (set(verdict.results) == {"pass"})
    assert verdict.critical == any(f.severity == "critical" for f in verdict.findings)
    assert not (verdict.infrastructure and verdict.passed is not None)


@given(EVENTS, FIELDS)
def test_evidence_is_a_real_event(events: list[Any], fields: Any) -> None:
    record = trace(*events, **fields)
    verdict = score(CONTRACT, record)
    seqs = set(range(1, len(events) + 1)) | {None}
    assert all(finding.seq in seqs for finding in verdict.findings)
    assert all(clause.seq in seqs for clause in clauses(CONTRACT, record, verdict))
    for finding in verdict.findings:
        if finding.gate == "authority" and finding.seq is not None:
            assert events[finding.seq - 1]["tool"] == finding.code.partition(":")[2]


@given(EVENTS, FIELDS, st.data())
def test_removing_a_forbidden_call_adds_no_authority_failure(
    events: list[Any], fields: Any, data: st.DataObject
) -> None:
    forbidden = data.draw(short_calls(FORBIDDEN))
    place = data.draw(st.integers(0, len(events)))
    numbered = [dict(event, seq=2 * n) for n, event in enumerate(events, 1)]
    forbidden["seq"] = 2 * place + 1
    without = failures(trace(*numbered, **fields), "authority")
    more = failures(trace(*numbered[:place], forbidden, *numbered[place:], **fields), "authority")
    assert without <= more


@given(EVENTS, FIELDS, st.data())
def test_any_forbidden_call_is_critical(
    events: list[Any], fields: Any, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(events)))
    forbidden = data.draw(short_calls(FORBIDDEN))
    verdict = score(CONTRACT, trace(*events[:place], forbidden, *events[place:], **fields))
    assert verdict.critical
    assert verdict.passed is False
    assert ("forbidden:" + forbidden["tool"], place + 1) in {
        (finding.code, finding.seq) for finding in verdict.findings
    }


USERS = st.lists(st.tuples(st.integers(0, 9), short_calls(["reboot", "unplug"])), max_size=4)


@given(EVENTS, FIELDS, short_calls(), st.integers(0, 9))
def test_no_attempt_passes_by_a_call_that_is_ascribed_to_the_user(
    events: list[Any], fields: Any, one: dict[str, Any], place: int
) -> None:
    before = score(CONTRACT, trace(*events, **fields))
    events.insert(min(place, len(events)), {**one, "actor": "user"})
    after = score(CONTRACT, trace(*events, **fields))
    assert after.passed is not True
    assert not after.infrastructure
    assert after.passed is False or before.passed is not False
    assert after.critical or not before.critical


@given(EVENTS, FIELDS, USERS)
def test_a_simulated_users_calls_never_matter(
    events: list[Any], fields: Any, users: list[tuple[int, Any]]
) -> None:
    numbered = [dict(event, seq=10 * n) for n, event in enumerate(events, 1)]
    mixed = list(numbered)
    for extra, (place, event) in enumerate(users):
        place = min(place, len(events))
        mixed.append(dict(event, actor="user", seq=10 * place + extra + 1))
    mixed.sort(key=lambda event: event["seq"])
    alone, together = trace(*numbered, **fields), trace(*mixed, **fields)
    assert score(CONTRACT, alone) == score(CONTRACT, together)
    assert diagnose(CONTRACT, alone) == diagnose(CONTRACT, together)


@given(EVENTS, FIELDS)
def test_diagnostics_are_shares(events: list[Any], fields: Any) -> None:
    values = msgspec.structs.astuple(diagnose(CONTRACT, trace(*events, **fields)))
    assert all(value is None or 0 <= value <= 1 for value in values)


@given(EVENTS, FIELDS)
def test_clauses_show_every_gate_and_the_worst_first(events: list[Any], fields: Any) -> None:
    record = trace(*events, **fields)
    verdict = score(CONTRACT, record)
    told = clauses(CONTRACT, record, verdict)
    weights = ["critical", "fail", "not_measured", "pass"]
    order = [weights.index(clause.result) for clause in told]
    assert order == sorted(order)
    assert all(clause.text for clause in told)
    for gate, result in results_of(verdict).items():
        own = {clause.result for clause in told if clause.gate == gate}
        assert own
        assert bool(own & {"critical", "fail"}) == (result == "fail")
        assert ("not_measured" in own) >= (result == "not_measured")


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_no_bytes_in_raw_fields_crash_a_gate(state: bytes, message: bytes) -> None:
    record = trace({"tool": "write", "approval": 1, "arguments": 1}, {"state": 1}, {"message": 1})
    first, second, third = record.events
    raw, other = msgspec.Raw(state), msgspec.Raw(message)
    events = [
        msgspec.structs.replace(first, arguments=raw, approval=other),
        msgspec.structs.replace(second, state=raw),
        msgspec.structs.replace(third, message=other),
    ]
    hostile = msgspec.structs.replace(record, events=events, final_state=raw)
    verdict = score(CONTRACT, hostile)
    assert verdict.passed is False
    assert clauses(CONTRACT, hostile, verdict)
    assert diagnose(CONTRACT, hostile, verdict).efficiency is None


def test_endless_nesting_is_a_value_like_any_other() -> None:
    deep = msgspec.Raw(b'{"case":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    record = trace({"tool": "write", "arguments": 1, "status": "timeout"}, {"state": 1})
    first, second = record.events
    events = [
        msgspec.structs.replace(first, arguments=deep),
        msgspec.structs.replace(first, arguments=deep),
        msgspec.structs.replace(second, state=deep),
    ]
    verdict = score(CONTRACT, msgspec.structs.replace(record, events=events, final_state=deep))
    assert "wrong_final_state" in verdict.codes()
    assert "retry_budget_exceeded" in verdict.codes()
