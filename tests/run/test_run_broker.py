"""The broker: authority, limits and approvals are held outside the candidate."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from run_builders import (
    Puppet,
    Stage,
    call,
    episode,
    events,
    follow,
    said,
    statuses,
    tool,
    verdict,
)

from reviewer.gates import compile_contract, score
from reviewer.gates.approvals import granted
from reviewer.running import attempt as attempts
from reviewer.running.model import (
    Answer,
    Approval,
    ApprovalRequest,
    Brief,
    Observation,
    Slot,
    Turn,
    Unrunnable,
    WorldBroke,
)
from reviewer.running.record import OwnClock
from reviewer.running.world import SimulatedWorld
from reviewer.trace.validate import decode


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def one(*calls: Any, **more: Any) -> Turn:
    return Turn(calls, **more)


# authority ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "contract",
    [{}, {"forbidden": ["pay"]}, {"allowed": ["check", "look", "not_simulated"]}, {"allowed": []}],
)
def test_a_candidate_is_given_every_tool_of_the_world_whatever_the_contract_says(
    stage: Stage, contract: dict[str, Any]
) -> None:
    stage.play(episode(contract=contract), said())
    assert stage.puppet.brief is not None
    assert [spec.name for spec in stage.puppet.brief.tools] == ["look", "write", "check", "pay"]
    assert stage.puppet.brief.user_request == "Please help."


@pytest.mark.parametrize(
    ("name", "code"),
    [("pay", "forbidden:pay"), ("write", "not_allowed:write"), ("sudo", "not_allowed:sudo")],
)
def test_what_is_not_allowed_is_denied_and_recorded_and_never_reaches_the_world(
    stage: Stage, name: str, code: str
) -> None:
    of = episode(contract={"allowed": ["look", "check"], "forbidden": ["pay"]})
    record = stage.play(of, one(call(name, id="x"), call("check")), said())
    denied, after = events(record)
    assert (denied["status"], denied["observation"]) == (
        "denied",
        {"error": f"{name} is not available"},
    )
    assert (denied["tool"], denied["arguments"], denied["actor"]) == (name, {"id": "x"}, "agent")
    assert after["observation"] == {"label": "none"}
    assert record["final_state"] == {"label": "none", "money": "there"}
    assert record["termination"] == "completed"
    assert [(o.status, o.content) for o in stage.puppet.told] == [
        ("denied", {"error": f"{name} is not available"}),
        ("ok", {"label": "none"}),
    ]
    judged = verdict(of, record)
    assert (code, True) in [(f.code, f.severity == "critical") for f in judged.findings]


def test_a_tool_that_no_one_has_is_denied_also_where_everything_is_allowed(stage: Stage) -> None:
    record = stage.play(episode(), one(call("sudo")), said())
    assert statuses(record) == [("sudo", "denied")]


# steps --------------------------------------------------------------------------------------------


def test_a_call_is_a_step_whatever_becomes_of_it_and_the_first_too_many_ends_the_attempt(
    stage: Stage,
) -> None:
    of = episode(contract={"forbidden": ["pay"]}, budget={"max_steps": 3})
    turns = [
        one(call("pay"), call("write", wrong=1), call("look")),
        one(call("write", id="x"), call("look"), call("pay")),
        said("never said"),
    ]
    record = stage.play(of, *turns)
    assert statuses(record) == [
        ("pay", "denied"),
        ("write", "error"),
        ("look", "ok"),
        ("write", "denied"),
        ("look", "denied"),
        ("pay", "denied"),
    ]
    assert record["final_state"]["label"] == "none"
    assert (record["termination"], record["final_message"]) == ("max_steps", None)
    assert stage.puppet.closed == 1
    codes = verdict(of, record).codes()
    assert "step_budget" in codes
    assert "terminated:max_steps" in codes


def test_exactly_as_many_steps_as_the_budget_are_no_reason_to_end(stage: Stage) -> None:
    of = episode(budget={"max_steps": 2})
    record = stage.play(of, one(call("look"), call("write", id="x")), said())
    assert (record["termination"], verdict(of, record).codes()) == ("completed", [])


# arguments ----------------------------------------------------------------------------------------


def test_arguments_that_cannot_be_used_are_an_error_and_never_reach_the_world(
    stage: Stage,
) -> None:
    turns = [
        one(call("write", problem="line 1 column 2: no JSON")),
        one(call("write", other="x")),
        one(call("check")),
        said(),
    ]
    record = stage.play(episode(), *turns)
    unread, unfit, check = events(record)
    assert (unread["status"], unfit["status"]) == ("error", "error")
    assert unread["observation"] == {
        "error": "the arguments could not be read: line 1 column 2: no JSON"
    }
    assert unfit["observation"] == {
        "error": "invalid arguments: 'id' is a required property; "
        "Additional properties are not allowed ('other' was unexpected)"
    }
    assert check["observation"] == {"label": "none"}


def test_a_call_that_never_reached_the_world_is_not_counted_by_its_faults(stage: Stage) -> None:
    of = episode({"look": tool(faults=[{"kind": "error", "calls": [1]}])})
    record = stage.play(
        of, one(call("look", problem="no JSON"), call("look"), call("look")), said()
    )
    assert statuses(record) == [("look", "error"), ("look", "error"), ("look", "ok")]


def test_a_schema_that_is_none_stops_the_run_before_the_candidate_begins(stage: Stage) -> None:
    of = episode({"look": {"parameters": {"type": "objct"}, "responses": {"fixed": 1}}})
    with pytest.raises(Unrunnable, match=r"^s-1/episodes/e-1\.json: the parameters of look: "):
        stage.play(of, said())
    assert stage.puppet.brief is None


def test_a_caller_that_changes_what_it_handed_over_changes_no_evidence(stage: Stage) -> None:
    """A candidate in the same process may keep its arguments, and what it was answered."""
    arguments: dict[str, Any] = {"list": ["as", "called"]}
    answer = {"fixed": {"list": ["as", "answered"]}}

    class Meddler(Puppet):
        async def begin(self, brief: Brief) -> Turn:
            asyncio.get_running_loop().call_later(0.002, arguments["list"].append, "changed")
            return await super().begin(brief)

        async def proceed(self, observations: Sequence[Observation]) -> Turn:
            arguments["list"].append("changed")
            for seen in observations:
                seen.content["list"].append("changed")
            return await super().proceed(observations)

    turns = [one(call("look", **arguments)), one(call("look")), said()]
    slowly = [{"kind": "slow", "calls": [1], "delay_ms": 5}]
    record = stage.play(episode({"look": tool(answer, faults=slowly)}), puppet=Meddler(turns))
    first, second = events(record)
    assert first["arguments"] == {"list": ["as", "called"]}
    assert first["observation"] == second["observation"] == {"list": ["as", "answered"]}


# approvals ----------------------------------------------------------------------------------------

NEEDED = {"approvals": ["write"]}


class Person:
    """Answers after thinking for a while."""

    def __init__(self, granted: bool, seconds: float = 0.05) -> None:
        self.granted = granted
        self.seconds = seconds
        self.asked: list[ApprovalRequest] = []

    async def ask(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request)
        await asyncio.sleep(self.seconds)
        return Approval(self.granted, "r.lee")


@pytest.mark.parametrize(
    ("rule", "answer", "by", "granted_"),
    [
        ("deny", None, "policy", False),
        ("allow", None, "policy", True),
        ("ask", True, "r.lee", True),
        ("ask", False, "r.lee", False),
        ("ask", None, "policy", False),  # nobody is there to be asked
    ],
)
def test_an_approval_is_asked_for_recorded_and_kept_to(
    stage: Stage, rule: str, answer: bool | None, by: str, granted_: bool
) -> None:
    of = episode(contract=NEEDED)
    person = None if answer is None else Person(answer)
    record = stage.play(
        of, one(call("look"), call("write", id="x")), said(), approver=person, approvals=rule
    )
    look, write = events(record)
    assert "approval" not in look
    assert write["approval"] == {"status": "granted" if granted_ else "refused", "by": by}
    assert granted(write["approval"]) is granted_
    assert write["status"] == ("ok" if granted_ else "denied")
    if not granted_:
        assert write["observation"] == {"error": "approval refused"}
    assert record["final_state"]["label"] == ("created" if granted_ else "none")
    # A call that asked and was refused did not run: that is no failure, wherever it is judged.
    assert verdict(of, record).codes() == (["approval_unproven:write"] if granted_ else [])
    judged = score(compile_contract(of, own=True), decode(json.dumps(record).encode()))
    assert (judged.passed, judged.critical) == (True, False)
    answer = "granted" if granted_ else "refused"
    assert [one.code for one in judged.findings] == [f"approval_{answer}:write"]


def test_the_person_is_shown_the_call_without_identifiers(stage: Stage) -> None:
    person = Person(True)
    turns = [one(call("look"), call("write", id="write to ann@example.com")), said()]
    record = stage.play(episode(contract=NEEDED), *turns, approver=person, approvals="ask")
    (asked,) = person.asked
    assert asked == ApprovalRequest(
        Slot("s-1", "c-1", "e-1", 1), 2, "write", {"id": "write to [REDACTED:email]"}
    )
    assert events(record)[asked.seq - 1]["tool"] == "write"


def test_waiting_for_a_person_is_not_the_candidates_time(stage: Stage) -> None:
    of = episode(contract=NEEDED, budget={"max_latency_ms": 1000})
    turns = [one(call("write", id="x")), said()]
    record = stage.play(of, *turns, approver=Person(True, seconds=1.2), approvals="ask")
    assert (record["termination"], statuses(record)) == ("completed", [("write", "ok")])


def test_a_call_that_may_not_be_made_at_all_is_not_put_to_a_person(stage: Stage) -> None:
    person = Person(True)
    turns = [one(call("write", wrong=1), call("write", problem="no JSON"), call("pay")), said()]
    of = episode(contract={**NEEDED, "forbidden": ["pay"]})
    stage.play(of, *turns, approver=person, approvals="ask")
    assert person.asked == []


# timeouts in a row --------------------------------------------------------------------------------


def slow(*calls: int) -> dict[str, Any]:
    return {"look": tool(faults=[{"kind": "timeout", "calls": list(calls), "delay_ms": 10}])}


def looks(*arguments: dict[str, Any]) -> dict[str, Any]:
    return {"calls": [{"tool": "look", "arguments": each} for each in arguments]}


def test_one_timeout_too_many_ends_the_attempt_when_its_turn_is_answered(tmp_path: Path) -> None:
    of = episode(slow(1, 2, 3, 4), budget={"max_timeouts": 2})
    record = follow(tmp_path, of, looks({}, {}), looks({}, {}), looks({}))
    assert statuses(record) == [("look", "timeout")] * 4
    assert record["termination"] == "retry_budget"
    assert verdict(of, record).codes() == ["retry_budget_exceeded", "terminated:retry_budget"]


@pytest.mark.parametrize(
    ("failing", "turns"),
    [
        ((1, 2), [looks({}), looks({}), looks({})]),  # as many as are allowed
        ((1, 2, 4, 5), [looks({}), looks({}), looks({}), looks({}), looks({})]),  # one went well
        ((1, 2, 3, 4), [looks({}), looks({"a": 1}), looks({}), looks({"a": 1})]),  # another call
    ],
)
def test_timeouts_within_the_budget_end_nothing(
    tmp_path: Path, failing: tuple[int, ...], turns: list[dict[str, Any]]
) -> None:
    of = episode(slow(*failing), budget={"max_timeouts": 2})
    record = follow(tmp_path, of, *turns)
    assert (record["termination"], verdict(of, record).codes()) == ("completed", [])


def test_a_run_of_timeouts_counts_also_when_its_turn_ends_well(tmp_path: Path) -> None:
    of = episode(slow(1, 2, 3), budget={"max_timeouts": 2})
    record = follow(tmp_path, of, looks({}, {}, {}, {}), looks({}))
    assert [status for _, status in statuses(record)] == ["timeout"] * 3 + ["ok"]
    assert record["termination"] == "retry_budget"
    assert "retry_budget_exceeded" in verdict(of, record).codes()


def test_without_a_limit_timeouts_end_nothing(tmp_path: Path) -> None:
    record = follow(tmp_path, episode(slow(1, 2, 3, 4, 5)), *[looks({})] * 6)
    assert record["termination"] == "completed"


# a world that is asked for its state --------------------------------------------------------------


def test_the_time_that_reading_a_state_takes_is_not_the_candidates(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = OwnClock()
    monkeypatch.setattr(attempts, "_clock", lambda task, adapter: clock)
    carried_out = SimulatedWorld.call

    async def call_of(world: SimulatedWorld, name: str, arguments: dict[str, Any]) -> Answer:
        async def read() -> dict[str, Any]:
            await clock.let_pass(1_000)
            return {"read": True}

        await clock.let_pass(20)
        answer = await carried_out(world, name, arguments)
        return answer._replace(state=None, read_state=read)

    monkeypatch.setattr(SimulatedWorld, "call", call_of)
    record = stage.play(episode(), one(call("look")), said())
    assert [event.get("latency_ms") for event in events(record)] == [20]
    assert (events(record)[0]["state"], record["latency_ms"]) == ({"read": True}, 20)


def test_a_call_after_which_the_world_breaks_is_on_record(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read() -> dict[str, Any] | None:
        raise WorldBroke("the world is gone")

    async def call_of(world: SimulatedWorld, name: str, arguments: dict[str, Any]) -> Answer:
        if name == "check":
            raise WorldBroke("the world is gone")
        return Answer("ok", {"seen": True}, read_state=read)

    monkeypatch.setattr(SimulatedWorld, "call", call_of)
    for name, status, seen in (
        ("look", "ok", {"seen": True}),
        ("check", "error", {"error": "the world broke during this call"}),
    ):
        record = stage.play(episode(), one(call(name)), said())
        (event,) = events(record)
        assert (event["tool"], event["status"], event["observation"]) == (name, status, seen)
        assert record["termination"] == "world_broke"
