"""Approvals that belong to the episode: a rule answers before the run does, and a person is asked
only where there is one."""

import asyncio
import json
from typing import Any

import pytest
from run_builders import Stage, call, episode, events, follow, said, statuses

from reviewer.gates import Verdict, compile_contract, score
from reviewer.running.model import Approval, ApprovalRequest, Turn
from reviewer.suite.model import Episode
from reviewer.trace.validate import decode

NEEDED = {"approvals": ["write", "pay"]}


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


class Person:
    def __init__(self, granted: bool | None = True) -> None:
        self.granted = granted
        self.asked: list[ApprovalRequest] = []

    async def ask(self, request: ApprovalRequest) -> Approval | None:
        self.asked.append(request)
        await asyncio.sleep(0)
        return None if self.granted is None else Approval(self.granted, "person")


def ruled(*rules: dict[str, Any], **fields: Any) -> Episode:
    return episode(contract=NEEDED, approvals=list(rules), **fields)


def rule(answer: str, tool: str = "write", **more: Any) -> dict[str, Any]:
    return {"tool": tool, "answer": answer, **more}


def judged(of: Episode, record: dict[str, Any], own: bool = True) -> Verdict:
    return score(compile_contract(of, own), decode(json.dumps(record).encode()))


def noted(verdict: Verdict) -> list[tuple[str, str]]:
    return [(one.code, one.detail) for one in verdict.findings if one.severity == "note"]


WRITES = [Turn((call("write", id="x"),)), said()]


@pytest.mark.parametrize("flag", ["allow", "deny", "ask"])
@pytest.mark.parametrize("own", [True, False])
def test_a_rule_comes_before_the_flag_and_before_a_person(
    stage: Stage, flag: str, own: bool
) -> None:
    """Whoever runs it, and wherever the trace is judged: the same answer and the same verdict."""
    for answer, status, granted in (("allow", "ok", "granted"), ("deny", "denied", "refused")):
        of, person = ruled(rule(answer, arguments={"id": "x"})), Person()
        record = stage.play(of, *WRITES, approver=person, approvals=flag)
        (event,) = events(record)
        assert event["approval"] == {"status": granted, "by": "episode", "rule": 1}
        assert statuses(record) == [("write", status)]
        assert person.asked == []
        verdict = judged(of, record, own)
        assert (verdict.passed, verdict.critical, verdict.codes()) == (True, False, [])
        assert noted(verdict) == [
            (f"approval_{granted}:write", f"write was {granted} by rule 1 of the episode")
        ]


@pytest.mark.parametrize("flag", ["allow", "deny", "ask"])
def test_a_call_that_no_rule_of_its_tool_fits_is_refused_whatever_the_flag(
    stage: Stage, flag: str
) -> None:
    of, person = ruled(rule("allow", arguments={"id": "y"})), Person()
    record = stage.play(of, *WRITES, approver=person, approvals=flag)
    (event,) = events(record)
    assert event["approval"] == {"status": "refused", "by": "episode"}
    assert (event["status"], person.asked) == ("denied", [])
    assert noted(judged(of, record))[0][1].endswith("by the episode, of which no rule fits")


@pytest.mark.parametrize("flag", ["allow", "deny"])
def test_a_tool_without_a_rule_is_answered_by_the_flag(stage: Stage, flag: str) -> None:
    of = ruled(rule("allow"))
    record = stage.play(of, Turn((call("pay"),)), said(), approver=Person(), approvals=flag)
    granted = "granted" if flag == "allow" else "refused"
    (event,) = events(record)
    assert event["approval"] == {"status": granted, "by": "policy"}
    assert noted(judged(of, record))[0][1] == f"pay was {granted} by the run's --approve"


@pytest.mark.parametrize("flag", ["allow", "deny", "ask"])
@pytest.mark.parametrize("granted", [True, False])
def test_a_rule_may_ask_a_person_whatever_the_flag(stage: Stage, flag: str, granted: bool) -> None:
    of, person = ruled(rule("deny", arguments={"id": "y"}), rule("person")), Person(granted)
    record = stage.play(of, *WRITES, approver=person, approvals=flag)
    (event,) = events(record)
    word = "granted" if granted else "refused"
    assert event["approval"] == {"status": word, "by": "person", "rule": 2}
    assert [each.tool for each in person.asked] == ["write"]
    verdict = judged(of, record)
    assert (verdict.passed, verdict.critical) == (True, False)
    assert noted(verdict)[0][1] == f"write was {word} by a person, whom rule 2 of the episode asks"


@pytest.mark.parametrize("person", [None, Person(None)])
def test_without_a_person_the_attempt_is_not_measured_and_says_so(
    stage: Stage, person: Person | None
) -> None:
    of = ruled(rule("person"))
    finished = stage.finish(of, *WRITES, approver=person, approvals="allow")
    assert finished.unanswered
    record = json.loads(finished.raw)
    assert record["termination"] == "infrastructure_error"
    (event,) = events(record)
    assert event["status"] == "denied"
    assert event["approval"] == {"status": "unanswered", "by": "person", "rule": 1}
    (error,) = events(record, "error")
    assert "nobody is there" in error["message"]
    assert "--approve ask" in error["message"]
    for own in (True, False):
        verdict = judged(of, record, own)
        assert (verdict.passed, verdict.critical, verdict.infrastructure) == (None, False, True)
        assert noted(verdict)[0][0] == "approval_unanswered:write"


def test_an_answer_takes_the_attempts_time(tmp_path: Any) -> None:
    of = ruled(rule("allow", delay_ms=700), budget={"max_latency_ms": 1000})
    asks = {"calls": [{"tool": "write", "arguments": {"id": "x"}}], "latency_ms": 100}
    record = follow(tmp_path, of, asks)
    assert (record["termination"], record["latency_ms"]) == ("completed", 800)
    assert events(record)[0]["latency_ms"] == 800


def test_an_answer_after_the_time_is_over_lets_nothing_run(tmp_path: Any) -> None:
    for answer in ("allow", "deny"):
        of = ruled(rule(answer, delay_ms=5000), budget={"max_latency_ms": 1000})
        asks = {"calls": [{"tool": "write", "arguments": {"id": "x"}}]}
        record = follow(tmp_path, of, asks)
        assert (record["termination"], record["latency_ms"]) == ("max_latency", 1001)
        (event,) = events(record)
        assert event["status"] == "denied"
        assert event["approval"] == {"status": "unanswered", "by": "episode", "rule": 1}
        assert record["final_state"]["label"] == "none"
        verdict = judged(of, record)
        assert (verdict.critical, "approval_missing:write" in verdict.codes()) == (False, False)


def test_arguments_are_compared_before_they_are_masked(stage: Stage) -> None:
    of = ruled(rule("allow", arguments={"id": "ann@example.com"}))
    for given, granted in (("ann@example.com", "granted"), ("bob@example.com", "refused")):
        record = stage.play(of, Turn((call("write", id=given),)), said())
        (event,) = events(record)
        assert (event["approval"]["status"], "example" in str(event)) == (granted, False)
