"""Runs of the shipped candidates whose attempts end when a test says so."""

import asyncio
import threading
from typing import Any

from doors import V7, V8
from msgspec.structs import replace
from template import Bent
from textual.pilot import Pilot
from tui_probe import settle, until

from reviewer.desk.desk import Desk
from reviewer.desk.runs.api import RunView
from reviewer.desk.runs.jobs import Runs
from reviewer.running.attempt import run_attempt
from reviewer.running.model import (
    ApprovalRequest,
    Approver,
    FinishedAttempt,
    PersonTurn,
    Task,
    TurnRequest,
    Unrunnable,
)
from reviewer.suite.user import User
from reviewer.tui.app.app import ReviewerApp

Slot = tuple[str, int]
"""An episode and the number of an attempt on it."""

DAMAGED, APPEAL, ATTACK = ("damaged-221", 1), ("appeal-009", 1), ("attack-014", 1)
"""The first three attempts of a run, in the order in which it begins them."""


class _Running:
    """One attempt at work: what it is told, in the loop of its run."""

    def __init__(self) -> None:
        self._loop, self.told = asyncio.get_running_loop(), asyncio.Queue[tuple[Any, ...]]()

    def tell(self, *words: Any) -> None:
        self._loop.call_soon_threadsafe(self.told.put_nowait, words)


class Attempts:
    """The attempts of every run of a desk. They are real ones, which begin when they are let.

    `answers` are the calls that a person answered, as (tool, granted), `said` the turns of a user.
    """

    def __init__(self, desk: Desk | Bent) -> None:
        while isinstance(desk, Bent):
            desk = desk._desk
        self._lock = threading.Lock()
        self._running: dict[tuple[str, Slot], _Running] = {}
        self._free = set[str]()
        self.answers: list[tuple[str, bool]] = []
        self.said: list[PersonTurn | None] = []
        desk.runs._runs = Runs(desk.place, self._attempt)

    def end(self, slot: Slot, candidate: str = V7) -> None:
        """Let one attempt be made and end."""
        self._at(slot, candidate).tell("end")

    def end_all(self, *candidates: str) -> None:
        """Let every attempt of these candidates end, of both if none is named, also those that are
        yet to begin."""
        freed = set(candidates or (V7, V8))
        with self._lock:
            self._free |= freed
            running = [each for place, each in self._running.items() if place[0] in freed]
        for each in running:
            each.tell("end")

    def ask(
        self, tool: str, arguments: dict[str, Any], slot: Slot = DAMAGED, candidate: str = V7
    ) -> None:
        """An attempt asks whether it may make a call. Its run has `approvals="ask"`."""
        self._at(slot, candidate).tell("ask", tool, arguments)

    def turn(
        self,
        user: User,
        *talk: tuple[bool, str],
        slot: Slot = DAMAGED,
        candidate: str = V7,
    ) -> None:
        """An attempt waits for what the user says. Its run has `person=True`."""
        self._at(slot, candidate).tell("turn", user, talk)

    def withdraw(self, tool: str, slot: Slot = DAMAGED, candidate: str = V7) -> None:
        """An attempt waits for the answer about a tool no longer."""
        self._at(slot, candidate).tell("withdraw", tool)

    def fail(self, problem: str, slot: Slot = DAMAGED, candidate: str = V7) -> None:
        """An attempt finds out that its candidate cannot be run, which ends the run."""
        self._at(slot, candidate).tell("fail", problem)

    def _at(self, slot: Slot, candidate: str) -> _Running:
        with self._lock:
            return self._running[candidate, slot]

    async def _attempt(self, task: Task, approver: Approver | None) -> FinishedAttempt:
        place = (task.slot.candidate_id, (task.slot.episode_id, task.slot.attempt))
        running, asked = _Running(), dict[str, asyncio.Task[None]]()
        with self._lock:
            self._running[place] = running
            if task.slot.candidate_id in self._free:
                running.tell("end")
        try:
            while (words := await running.told.get()) != ("end",):
                if words[0] == "fail":
                    raise Unrunnable(words[1])
                if words[0] == "withdraw":
                    asked[words[1]].cancel()
                elif words[0] == "turn":
                    assert approver is not None
                    told = TurnRequest(task.slot, 2, words[1], words[2], 5)
                    asked["turn"] = asyncio.create_task(self._spoken(approver, told))
                else:
                    assert approver is not None
                    request = ApprovalRequest(task.slot, 2, *words[1:])
                    asked[words[1]] = asyncio.create_task(self._asked(approver, request))
        finally:
            for each in asked.values():
                each.cancel()
            await asyncio.gather(*asked.values(), return_exceptions=True)
            with self._lock:
                del self._running[place]
        return await run_attempt(task)

    async def _asked(self, approver: Approver, request: ApprovalRequest) -> None:
        answer = await approver.ask(request)
        self.answers.append((request.tool, answer.granted))

    async def _spoken(self, approver: Approver, request: TurnRequest) -> None:
        self.said.append(await approver.speak(request))


def app_of(pilot: Pilot[None]) -> ReviewerApp:
    assert isinstance(pilot.app, ReviewerApp)
    return pilot.app


def newest(pilot: Pilot[None]) -> RunView:
    """The newest run as the workstation knows it."""
    return app_of(pilot).live.views[0]


async def at_work(pilot: Pilot[None], *slots: Slot) -> None:
    """Wait until the newest run has begun these attempts and no other, and its screens know."""
    await until(
        pilot,
        lambda: bool(app_of(pilot).live.views) and sorted(newest(pilot).running) == sorted(slots),
    )


async def stored(pilot: Pilot[None]) -> None:
    """The watch saw what was written."""
    app = app_of(pilot)
    app.post_message(ReviewerApp.StoreChanged(app.desk.version()))
    await settle(pilot)


async def finish(pilot: Pilot[None], attempts: Attempts, *slots: Slot, candidate: str = V7) -> None:
    """Let these attempts end, and wait until the newest run has told that they are stored."""
    for slot in slots:
        attempts.end(slot, candidate)
    await until(pilot, lambda: not set(slots) & {*newest(pilot).running, *newest(pilot).pending})


def still(desk: Any) -> Bent:
    """A desk on whose runs and imports the clock stands: five seconds gone, nine to go."""

    def views(real: Any) -> list[Any]:
        return [
            replace(
                view,
                began=1_800_000_000.0 + view.number,
                seconds=5.0,
                eta_seconds=9.0 if view.eta_seconds is not None else None,
            )
            for view in real()
        ]

    return Bent(desk, {"runs.views": views, "imports.views": views})
