"""Runs of the shipped candidates with something happening to them."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from doors import SUITE, V8, Door

from reviewer.desk.place import at
from reviewer.desk.runs.api import RunOrder, RunView
from reviewer.desk.runs.jobs import RunHandle, Runs
from reviewer.running.attempt import lost_attempt, run_attempt
from reviewer.running.model import ApprovalRequest, Approver, FinishedAttempt, Task
from reviewer.running.worker import Attempt

PATIENCE = 60.0


def order(candidate: str = V8, **changes: Any) -> RunOrder:
    return RunOrder(suite_id=SUITE, candidate_id=candidate, **changes)


@contextlib.contextmanager
def runs(door: Door, attempt: Attempt = run_attempt) -> Iterator[Runs]:
    found = Runs(at(door.root), attempt)
    try:
        yield found
    finally:
        found.close()


def made(door: Door, asked: RunOrder, attempt: Attempt = run_attempt) -> RunView:
    """A run from its beginning to its end."""
    with runs(door, attempt) as all_runs:
        view = all_runs.start(asked).wait(PATIENCE)
    assert view.state in ("done", "stopped", "failed"), view
    return view


def slots(door: Door, candidate: str = V8) -> list[tuple[str, int]]:
    """(episode, attempt) of every trace, in the order they were written."""
    return door.rows(
        "SELECT episode_id, attempt FROM traces WHERE candidate_id=? ORDER BY trace", candidate
    )


def bytes_of(door: Door, candidate: str = V8) -> dict[tuple[str, int], str]:
    """What was recorded in each slot, by digest."""
    rows = door.rows(
        "SELECT episode_id, attempt, sha256 FROM traces WHERE candidate_id=?", candidate
    )
    return {(episode, attempt): sha256 for episode, attempt, sha256 in rows}


def until(true: Callable[[], bool], what: str = "") -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.005)


class Held:
    """The shipped candidate, whose attempts end when they are let."""

    def __init__(self) -> None:
        self._gate = threading.Event()
        self._lock = threading.Lock()
        self.running: set[tuple[str, int]] = set()
        self.killed: set[tuple[str, int]] = set()
        self.free = 0

    async def attempt(self, task: Task, approver: Approver | None) -> FinishedAttempt:
        place = (task.slot.episode_id, task.slot.attempt)
        self.running.add(place)
        try:
            while not self._taken():
                await asyncio.sleep(0.002)
            return await run_attempt(task, approver)
        except asyncio.CancelledError:
            self.killed.add(place)
            raise
        finally:
            self.running.discard(place)

    def _taken(self) -> bool:
        with self._lock:
            if self._gate.is_set() or self.free > 0:
                self.free -= 1
                return True
            return False

    def let(self, count: int) -> None:
        """Let this many more end."""
        with self._lock:
            self.free = max(self.free, 0) + count

    def let_all(self) -> None:
        self._gate.set()


def taken_by_infrastructure(*places: tuple[str, int]) -> Attempt:
    async def attempt(task: Task, approver: Approver | None) -> FinishedAttempt:
        if (task.slot.episode_id, task.slot.attempt) in places:
            return lost_attempt(task, "the environment broke")
        return await run_attempt(task, approver)

    return attempt


async def asking(task: Task, approver: Approver | None) -> FinishedAttempt:
    """Asks before it acts; a refusal ends it as infrastructure would, so that it can be told."""
    assert approver is not None
    arguments = {"order_token": f"ord_{task.slot.attempt}"}
    answer = await approver.ask(ApprovalRequest(task.slot, 2, "issue_refund", arguments))
    assert answer.by == "person"
    return await run_attempt(task) if answer.granted else lost_attempt(task, "refused")


def ended(handle: RunHandle) -> RunView:
    view = handle.wait(PATIENCE)
    assert handle.ended, view
    return view


EPISODES = ("damaged-221", "appeal-009", "attack-014")
PLAN = [(episode, attempt) for attempt in (1, 2, 3) for episode in EPISODES]
