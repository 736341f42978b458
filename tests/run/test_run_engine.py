"""Carrying out attempts: places, pauses, stops, losses; the same whatever the executor."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import run_fakes
from run_fakes import record, tasks

from reviewer.running.engine import MOST_AGAIN, Control, Events, carry_out
from reviewer.running.executors import LocalExecutor
from reviewer.running.model import (
    Approval,
    ApprovalRequest,
    Approver,
    FinishedAttempt,
    LostAttempt,
    Task,
    Unrunnable,
)


class Heard:
    """What a run told, in order."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.lost: list[int] = []
        self.finished: list[FinishedAttempt] = []
        self.events = Events(
            lambda slot: self.started.append(slot.attempt),
            lambda slot: self.lost.append(slot.attempt),
            self.end,
        )

    async def end(self, finished: FinishedAttempt) -> None:
        self.finished.append(finished)

    @property
    def ended(self) -> list[int]:
        return [finished.slot.attempt for finished in self.finished]


class Gate:
    """Attempts that end when they are let, in whichever order."""

    def __init__(self) -> None:
        self.running: dict[int, asyncio.Event] = {}
        self.most = 0
        self.let_go: list[int] = []

    async def attempt(self, of: Task, approver: Approver | None) -> FinishedAttempt:
        number = of.slot.attempt
        self.running[number] = asyncio.Event()
        self.most = max(self.most, len(self.running))
        try:
            await self.running[number].wait()
        except asyncio.CancelledError:
            self.let_go.append(number)
            raise
        finally:
            del self.running[number]
        return record(of)

    def open(self, number: int) -> None:
        self.running[number].set()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0)


async def quiet() -> None:
    """As many turns of the loop as anything here could need."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_every_task_is_run_once_and_no_more_at_a_time_than_there_are_places() -> None:
    gate, heard = Gate(), Heard()
    run = asyncio.create_task(
        carry_out(tasks(5), LocalExecutor(2, attempt=gate.attempt), Control(), heard.events)
    )
    for number in (2, 1, 4, 3, 5):
        await until(lambda number=number: number in gate.running)  # type: ignore[misc]
        gate.open(number)
    await run
    assert heard.started == [1, 2, 3, 4, 5]
    assert heard.ended == [2, 1, 4, 3, 5]
    assert gate.most == 2


async def test_a_pause_begins_nothing_and_lets_what_runs_end() -> None:
    gate, heard, control = Gate(), Heard(), Control()
    run = asyncio.create_task(
        carry_out(tasks(4), LocalExecutor(2, attempt=gate.attempt), control, heard.events)
    )
    await until(lambda: len(gate.running) == 2)
    await quiet()  # the third seeks a place meanwhile
    control.pause()
    await quiet()
    gate.open(1)
    gate.open(2)
    await until(lambda: heard.ended == [1, 2])
    await quiet()
    assert (heard.started, gate.running) == ([1, 2], {})
    assert not run.done()
    control.go_on()
    await until(lambda: len(gate.running) == 2)
    gate.open(3)
    gate.open(4)
    await run
    assert heard.started == [1, 2, 3, 4]


async def test_a_stop_lets_what_runs_finish_and_begins_nothing() -> None:
    gate, heard, control = Gate(), Heard(), Control()
    run = asyncio.create_task(
        carry_out(tasks(4), LocalExecutor(2, attempt=gate.attempt), control, heard.events)
    )
    await until(lambda: len(gate.running) == 2)
    control.stop()
    control.go_on()  # there is no way back
    gate.open(2)
    await until(lambda: heard.ended == [2])
    assert not run.done()
    gate.open(1)
    await run
    assert (heard.started, heard.ended, gate.let_go) == ([1, 2], [2, 1], [])


async def test_a_stop_while_paused_ends_the_run() -> None:
    heard, control = Heard(), Control()
    control.pause()
    run = asyncio.create_task(
        carry_out(tasks(2), LocalExecutor(2, attempt=run_fakes.at_once), control, heard.events)
    )
    await quiet()
    assert (heard.started, run.done()) == ([], False)
    control.stop()
    await run
    assert heard.started == []


async def test_an_abandoned_run_kills_what_runs() -> None:
    gate, heard, control = Gate(), Heard(), Control()
    run = asyncio.create_task(
        carry_out(tasks(4), LocalExecutor(3, attempt=gate.attempt), control, heard.events)
    )
    await until(lambda: len(gate.running) == 3)
    gate.open(2)
    await until(lambda: heard.ended == [2])
    control.stop()
    control.abandon()
    await run
    assert heard.ended == [2]
    assert sorted(gate.let_go) == [1, 3] or sorted(gate.let_go) == [1, 3, 4]


async def test_who_takes_the_records_holds_the_run_up() -> None:
    heard, taken = Heard(), asyncio.Semaphore(0)

    async def end(finished: FinishedAttempt) -> None:
        await taken.acquire()
        heard.finished.append(finished)

    events = heard.events._replace(finished=end)
    run = asyncio.create_task(
        carry_out(tasks(9), LocalExecutor(2, attempt=run_fakes.at_once), Control(), events)
    )
    await quiet()
    assert len(heard.started) <= 4
    for _ in range(9):
        taken.release()
    await run
    assert sorted(heard.ended) == list(range(1, 10))


async def test_a_candidate_that_cannot_run_ends_the_run_and_what_was_told_stands() -> None:
    heard = Heard()
    with pytest.raises(Unrunnable, match="OPENAI_API_KEY"):
        await carry_out(
            tasks(9),
            LocalExecutor(1, attempt=run_fakes.unrunnable),
            Control(),
            heard.events,
        )
    assert heard.ended[:1] == [1]
    assert 2 not in heard.ended


async def test_a_candidate_that_ends_its_run_leaves_what_its_attempts_had_done() -> None:
    """An endpoint that denies access after a bad call would else be rid of it, and of whatever else
    is under way."""
    heard = Heard()
    with pytest.raises(Unrunnable, match="denied access"):
        await carry_out(
            tasks(9),
            LocalExecutor(2, attempt=run_fakes.denied_after_acting),
            Control(),
            heard.events,
        )
    assert {1, 2} <= set(heard.ended)
    assert not any(finished.cut for finished in heard.finished)


async def test_of_an_abandoned_run_what_had_acted_is_told_and_marked() -> None:
    heard, control = Heard(), Control()
    run = asyncio.create_task(
        carry_out(
            tasks(3), LocalExecutor(2, attempt=run_fakes.acting_for_ever), control, heard.events
        )
    )
    await until(lambda: heard.started == [1, 2])
    await quiet()
    control.abandon()
    await run
    assert sorted((one.slot.attempt, one.cut) for one in heard.finished) == [(1, True), (2, True)]


async def test_a_fault_of_ours_names_no_value_and_is_tried_again() -> None:
    heard = Heard()
    await carry_out(tasks(1), LocalExecutor(1, attempt=run_fakes.faulty), Control(), heard.events)
    assert heard.lost == [1] * (MOST_AGAIN + 1)
    (finished,) = heard.finished
    made: dict[str, Any] = json.loads(finished.raw)
    assert made["termination"] == "infrastructure_error"
    assert "KeyError" in made["events"][0]["message"]
    assert b"a value" not in finished.raw
    assert (made["cost_usd"], made["latency_ms"], made["final_state"]) == (None, None, None)


class Losing:
    """An executor that loses each attempt as often as it is told to."""

    def __init__(self, losses: dict[int, int]) -> None:
        self._left = losses
        self._ended: asyncio.Queue[FinishedAttempt | LostAttempt] = asyncio.Queue()
        self.closed: list[bool] = []

    async def room(self) -> int:
        return 1

    def submit_many(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            number = task.slot.attempt
            if self._left.get(number, 0):
                self._left[number] -= 1
                self._ended.put_nowait(LostAttempt(task, "its worker process ended (signal 9)"))
            else:
                self._ended.put_nowait(record(task))

    async def collect(self) -> FinishedAttempt | LostAttempt:
        return await self._ended.get()

    async def close(self, abandon: bool = False) -> None:
        self.closed.append(abandon)

    def left(self) -> list[FinishedAttempt]:
        return []


async def test_a_lost_attempt_is_run_again_three_times_at_most() -> None:
    heard = Heard()
    executor = Losing({1: 2, 2: MOST_AGAIN, 3: MOST_AGAIN + 1})
    await carry_out(tasks(4), executor, Control(), heard.events)
    assert sorted(heard.ended) == [1, 2, 3, 4]
    made = {f.slot.attempt: json.loads(f.raw).get("termination") for f in heard.finished}
    assert made == {1: None, 2: None, 3: "infrastructure_error", 4: None}
    assert heard.started.count(2) == MOST_AGAIN + 1
    assert executor.closed == [False]


async def test_an_approval_is_asked_of_whoever_answers() -> None:
    class Person:
        async def ask(self, request: ApprovalRequest) -> Approval:
            return Approval(request.arguments["n"] == 2, "person")

    heard = Heard()
    executor = LocalExecutor(3, Person(), run_fakes.asking)
    await carry_out(tasks(3), executor, Control(), heard.events)
    said = {f.slot.attempt: json.loads(f.raw) for f in heard.finished}
    assert [said[n]["granted"] for n in (1, 2, 3)] == [False, True, False]


async def test_attempts_that_find_a_place_begin_together() -> None:
    """No attempt goes on before all that have a place have begun."""
    order: list[str] = []

    async def attempt(of: Task, approver: Approver | None) -> FinishedAttempt:
        order.append("begins")
        await asyncio.sleep(0)
        order.append("goes on")
        return record(of)

    heard = Heard()
    async with asyncio.timeout(60):
        await carry_out(tasks(5), LocalExecutor(4, attempt=attempt), Control(), heard.events)
    assert order[:4] == ["begins"] * 4
    assert sorted(heard.ended) == [1, 2, 3, 4, 5] == sorted(heard.started)
