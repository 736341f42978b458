"""The executor of a run on an engine: crews on its workers, and the attempts that each of them
runs.

This module does not know which engine it is. A worker that comes later gets attempts too. The
attempts of a lost worker are given back, and its later messages are ignored, so that no attempt
ends twice.
"""

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

import reviewer
from reviewer.running.engines import Engine, Station, WorkerUnfit
from reviewer.running.engines.bundle import Bundle
from reviewer.running.engines.crew import (
    BundleMessage,
    EndedMessage,
    FromCrew,
    ReadyMessage,
    RefusedMessage,
    SuiteMessage,
    ToCrew,
    WantedMessage,
)
from reviewer.running.executors import Remote, WorkersExecutor
from reviewer.running.model import Approver, FinishedAttempt, Slot, Task
from reviewer.running.worker import GRACE, EpisodeMessage, ResultMessage, StopMessage

EACH = 16
"""Attempts at a time of each worker, where no number was requested."""
MOST_TOGETHER = 256
"""Most messages sent to a crew in one call."""
LOOK_S = 1.0
"""Seconds between two checks for workers that came or went."""
NOBODY_S = 60.0
"""Seconds without any worker after which a run ends."""
ALONE = 2
"""Losses after which an attempt is run with no other beside it: it may be what kills workers."""


class _Stationed(Remote):
    """A crew on a worker. One thread sends to it and another receives, since either may take a
    while. It is `ready` when it has the suite, and `alone` while it runs one attempt by itself."""

    def __init__(self, name: str, station: Station, fleet: "FleetExecutor") -> None:
        super().__init__()
        self.name, self.station = name, station
        self.ready = self.alone = self.lost = False
        self._fleet, self._loop = fleet, asyncio.get_running_loop()
        self._telling: SimpleQueue[ToCrew | None] = SimpleQueue()
        self.listener = threading.Thread(target=self._hear, daemon=True)
        self.listener.start()
        threading.Thread(target=self._tell, daemon=True).start()

    def send(self, messages: Sequence[ToCrew]) -> None:
        for message in messages:
            if isinstance(message, EpisodeMessage):  # a folder of this machine is meaningless there
                message = EpisodeMessage(replace(message.task, folder=""))
            self._telling.put(message)

    def end(self) -> None:
        """End both threads; the receiving one ends with its next message."""
        self.lost = True
        self._telling.put(None)

    def _tell(self) -> None:
        while (message := self._telling.get()) is not None:
            messages: list[ToCrew] = [message]
            ending = False
            with suppress(Empty):
                while len(messages) < MOST_TOGETHER:
                    more = self._telling.get_nowait()
                    if more is None:
                        ending = True
                        break
                    messages.append(more)
            try:
                self.station.tell(messages)
            except Exception as error:
                self._failed(error)
                return
            if ending:
                return

    def _hear(self) -> None:
        while not self.lost:
            try:
                messages = self.station.hear()
            except Exception as error:
                self._failed(error)
                return
            if messages:
                self._call(self._fleet.told, self, messages)
            if messages and isinstance(messages[-1], EndedMessage):
                return

    def _failed(self, error: Exception) -> None:
        if isinstance(error, WorkerUnfit):
            self._call(self._fleet.refused, self, str(error))
        else:
            self._call(self._fleet.gone, self, f"its worker is gone ({type(error).__name__})")

    def _call(self, function: Callable[..., None], *args: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: the run has ended
            self._loop.call_soon_threadsafe(function, *args)


class FleetExecutor(WorkersExecutor):
    """Up to `jobs` attempts at a time, spread over the workers of an engine; with 0, as many as
    these take. `programs` says that attempts start programs that others wrote."""

    def __init__(
        self,
        engine: Engine,
        bundle: Bundle,
        programs: bool,
        jobs: int = 0,
        approver: Approver | None = None,
    ) -> None:
        super().__init__(0, approver)
        self._engine, self._bundle, self._jobs = engine, bundle, jobs
        self._greeting = SuiteMessage(
            reviewer.__version__, bundle.suite_id, bundle.suite, bundle.sha256, programs
        )
        self._stations: dict[str, _Stationed] = {}
        self._undealt: deque[Task] = deque()
        self._losses: Counter[Slot] = Counter()
        self._begun = 0
        self._looking: asyncio.Task[None] | None = None

    async def room(self) -> int:
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        return await super().room()

    def submit_many(self, tasks: Sequence[Task]) -> None:
        self._held += len(tasks)
        self._undealt.extend(tasks)
        self._deal()

    async def _look(self) -> None:
        """Place a crew on every new worker, and give up those of workers that left."""
        loop, why = asyncio.get_running_loop(), "it has none"
        seen = loop.time()
        while self._failure is None:
            try:
                names = await asyncio.to_thread(self._engine.workers)
            except Exception as error:
                self.fail(f"{self._engine.name}: the connection is lost ({type(error).__name__})")
                return
            for station in list(self._stations.values()):
                if station.name not in names:
                    self.gone(station, "its worker left")
            for name in names:
                if name not in self._stations:
                    try:
                        placed = await asyncio.to_thread(self._engine.station, name)
                    except WorkerUnfit as error:
                        self.fail(f"{self._engine.name} worker {name} {error}")
                        return
                    except Exception as error:  # gone already, or not there yet
                        why = type(error).__name__
                        continue
                    station = self._stations[name] = _Stationed(name, placed, self)
                    station.send([self._greeting])
            if self._stations:
                seen = loop.time()
            elif loop.time() - seen > NOBODY_S:
                self.fail(f"{self._engine.name}: no worker for {NOBODY_S:g} s ({why})")
                return
            await asyncio.sleep(LOOK_S)

    def _deal(self) -> None:
        """Distribute waiting attempts: each to the crew with the least to do."""
        ready = [station for station in self._stations.values() if station.ready]
        self._count = self._jobs if self._jobs and ready else EACH * len(ready)
        self._freed.set()
        dealt: dict[str, dict[int, Task]] = {}
        while self._undealt:
            alone = self._losses[self._undealt[0].slot] >= ALONE
            free = [
                station
                for station in ready
                if not station.alone and not (alone and (station.tasks or station.name in dealt))
            ]
            if not free:
                break
            station = min(free, key=lambda one: len(one.tasks) + len(dealt.get(one.name, ())))
            station.alone = alone
            self._begun += 1
            dealt.setdefault(station.name, {})[self._begun] = self._undealt.popleft()
        for name, tasks in dealt.items():
            self._stations[name].begin(tasks)

    def told(self, station: _Stationed, messages: Sequence[FromCrew]) -> None:
        """Handle a crew's messages, unless its attempts were already given back."""
        if station.lost:
            return
        for message in messages:
            if isinstance(message, WantedMessage):
                station.send([BundleMessage(self._bundle)])
            elif isinstance(message, ReadyMessage):
                station.ready = True
            elif isinstance(message, RefusedMessage):
                self.refused(station, message.why)
            elif isinstance(message, EndedMessage):
                self.gone(station, "its crew has stopped")
            elif isinstance(message, ResultMessage):
                self.heard(station, self._checked(station, message))
            else:
                self.heard(station, message)
        station.alone = station.alone and bool(station.tasks)
        self._deal()

    def _checked(self, station: _Stationed, message: ResultMessage) -> ResultMessage:
        task, told = station.tasks.get(message.number), message.outcome
        if isinstance(told, FinishedAttempt):
            if task is not None and not _is_of(told, task.slot):
                return ResultMessage(message.number, "it came back as another attempt", lost=True)
        elif not message.lost:
            told = f"{self._engine.name} worker {station.name}: {told}"
        return message._replace(outcome=told)

    def refused(self, station: _Stationed, why: str) -> None:
        """End the run: work that cannot be run on one worker is not silently left to the others."""
        if not station.lost:
            self.fail(f"{self._engine.name} worker {station.name} {why}")

    def gone(self, station: _Stationed, why: str) -> None:
        if station.lost:
            return
        station.end()
        del self._stations[station.name]
        threading.Thread(target=station.station.close, daemon=True).start()
        self._losses.update(task.slot for task in station.tasks.values())
        self.give_back(station, why)
        self._deal()

    async def close(self, abandon: bool = False) -> None:
        """Stop every crew, which has a moment to close its environments, and end the connection;
        attempts are still running only when the run is abandoned."""
        if self._looking is not None:
            self._looking.cancel()
        stations = list(self._stations.values())
        for station in stations:
            station.send([StopMessage()])
        await asyncio.gather(*(_until_ended(station) for station in stations))
        for station in stations:
            station.end()
            threading.Thread(target=station.station.close, daemon=True).start()
        ending = threading.Thread(target=self._engine.close, daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, 4 * GRACE)


class _Head(Struct):
    """The slot that a record names."""

    episode_id: str
    candidate_id: str
    attempt: int


_head = Decoder(_Head).decode


def _is_of(told: FinishedAttempt, slot: Slot) -> bool:
    """Return whether a result is that of an attempt: the record decides in the store, so what it
    names must be the slot too."""
    try:
        head = _head(told.raw)
    except MsgspecError:
        return False
    named = head.episode_id, head.candidate_id, head.attempt
    return told.slot == slot and named == (slot.episode_id, slot.candidate_id, slot.attempt)


async def _until_ended(station: _Stationed) -> None:
    until = asyncio.get_running_loop().time() + 2 * GRACE
    while station.listener.is_alive() and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(0.02)
