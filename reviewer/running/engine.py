"""The engine of a run: which attempts it makes, how a person controls it, and the loop that carries
them out.

A run makes the next attempts of every episode, or the missing ones, ordered by number and then by
the suite's order of episodes, so that complete sets come first. As many run at a time as there are
places. An attempt whose worker is lost is run again. This module does not know where attempts run,
or what their records are used for.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count, islice
from threading import Lock
from typing import Any, Literal, NamedTuple

from reviewer.running.attempt import lost_attempt
from reviewer.running.model import (
    Executor,
    FinishedAttempt,
    LostAttempt,
    Slot,
    Task,
    Unrunnable,
)

MadeAttempts = Mapping[str, Mapping[int, bool]]
"""Episode id → attempts that have a trace, each with whether infrastructure ended it."""


class Place(NamedTuple):
    """An episode and the number of an attempt on it, from 1."""

    episode_id: str
    attempt: int


def next_places(episodes: Sequence[str], made: MadeAttempts, attempts: int) -> list[Place]:
    """Return `attempts` more of every episode, numbered on from the last one made."""
    places = [
        Place(episode, last + n)
        for episode in episodes
        for last in (max(made.get(episode, {}), default=0),)
        for n in range(1, attempts + 1)
    ]
    return _by_attempt(places, episodes)


def missing_places(
    episodes: Sequence[str],
    made: MadeAttempts,
    planned: int,
    last: Mapping[str, int],
    mine: Callable[[str, int], bool] = lambda episode_id, attempt: True,
) -> list[Place]:
    """Return the attempts of every episode, 1 to its `last`, that have no trace; and for each
    attempt within the plan that infrastructure ended, one beyond the plan, unless one beyond
    already makes up for it. For a shard, only attempts that are `mine` are considered."""
    places: list[Place] = []
    for episode in episodes:
        held = {n: taken for n, taken in made.get(episode, {}).items() if mine(episode, n)}
        own = (n for n in range(1, last[episode] + 1) if mine(episode, n))
        absent = [n for n in own if n not in held]
        lost = sum(taken for n, taken in held.items() if n <= planned)
        beyond = sum(not taken for n, taken in held.items() if n > planned)
        beyond += sum(n > planned for n in absent)
        free = max([last[episode], *made.get(episode, {})]) + 1
        more = (n for n in count(free) if mine(episode, n))
        absent += islice(more, max(0, lost - beyond))
        places += [Place(episode, n) for n in absent]
    return _by_attempt(places, episodes)


def _by_attempt(places: list[Place], episodes: Sequence[str]) -> list[Place]:
    order = {episode: position for position, episode in enumerate(episodes)}
    return sorted(places, key=lambda place: (place.attempt, order[place.episode_id]))


def span(places: Sequence[Place]) -> str:
    """Return the attempts in words: `attempt 4`, `attempts 1–3`."""
    numbers = [place.attempt for place in places]
    first, last = min(numbers), max(numbers)
    return f"attempt {first}" if first == last else f"attempts {first}–{last}"


ControlState = Literal["open", "paused", "stopping", "abandoned"]


class Control:
    """The control through which a person controls a run. Thread-safe; each step may be requested at
    any time.

    `open` starts new attempts, `paused` starts none for now, `stopping` none any more, and
    `abandoned` also kills the running ones. There is no way back from the last two.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._state: ControlState = "open"
        self._listener: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    @property
    def state(self) -> ControlState:
        return self._state

    def pause(self) -> None:
        self._move("paused", "open")

    def go_on(self) -> None:
        self._move("open", "paused")

    def stop(self) -> None:
        """Start no new attempt; running ones finish."""
        self._move("stopping", "open", "paused")

    def abandon(self) -> None:
        """Kill the running attempts."""
        self._move("abandoned", "open", "paused", "stopping")

    def _move(self, to: ControlState, *whence: ControlState) -> None:
        with self._lock:
            if self._state not in whence:
                return
            self._state = to
            if self._listener is not None:
                loop, changed = self._listener
                with suppress(RuntimeError):  # the run's loop is closed: it has ended
                    loop.call_soon_threadsafe(changed.set)

    @contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """Yield an event of this thread's loop that is set on every change, for one listener."""
        changed = asyncio.Event()
        with self._lock:
            self._listener = (asyncio.get_running_loop(), changed)
        try:
            yield changed
        finally:
            with self._lock:
                self._listener = None


MOST_AGAIN = 3
"""How often one attempt is run again after its worker was lost."""


class Events(NamedTuple):
    """Callbacks of a run. `finished` may wait, and delays the run meanwhile."""

    started: Callable[[Slot], None]
    lost: Callable[[Slot], None]
    finished: Callable[[FinishedAttempt], Awaitable[None]]


async def carry_out(
    tasks: Iterable[Task], executor: Executor, control: Control, events: Events
) -> None:
    """Run every task, or fewer when `control` says so; the executor is closed in the end.

    A task that is lost more than MOST_AGAIN times ends as `infrastructure_error`. Raises
    Unrunnable; attempts reported as finished by then remain. So do those that were under way: a
    candidate that ends its own run leaves what its attempts had done, and `cut` says so of those
    that a person abandoned.
    """
    run = _Run(tasks, executor, control, events)
    with control.listening() as changed:
        try:
            await run.to_the_end(changed)
        except Unrunnable:
            await executor.close(abandon=True)
            for one in run.left():
                await events.finished(one._replace(cut=False))
            raise
        except BaseException:
            await executor.close(abandon=True)
            raise
        await executor.close(abandon=control.state == "abandoned")
        for one in run.left():
            await events.finished(one)


class _Run:
    """The state of one `carry_out`: attempts that wait for a place, and running ones."""

    def __init__(
        self, tasks: Iterable[Task], executor: Executor, control: Control, events: Events
    ) -> None:
        self._waiting = deque(tasks)
        self._executor, self._control, self._events = executor, control, events
        self._losses: Counter[Slot] = Counter()
        self._running = 0
        self._placing: asyncio.Task[None] | None = None
        self._collecting: asyncio.Task[FinishedAttempt | LostAttempt] | None = None
        self._left: list[FinishedAttempt] = []

    def left(self) -> list[FinishedAttempt]:
        """Return the attempts that had ended, or acted, when the run came to its end."""
        return self._left + self._executor.left()

    async def to_the_end(self, changed: asyncio.Event) -> None:
        steered = asyncio.ensure_future(changed.wait())
        try:
            while await self._arranged(changed):
                busy = {task for task in (self._placing, self._collecting) if task is not None}
                await asyncio.wait({*busy, steered}, return_when=asyncio.FIRST_COMPLETED)
                if steered.done():
                    changed.clear()
                    steered = asyncio.ensure_future(changed.wait())
                if self._placing is not None and self._placing.done():
                    placed, self._placing = self._placing, None
                    placed.result()
                if self._collecting is not None and self._collecting.done():
                    collected, self._collecting = self._collecting, None
                    await self._ended(collected.result())
        finally:
            for task in (steered, self._placing, self._collecting):
                await _cancelled(task)
                if task is None or task.cancelled():
                    continue
                # Retrieved in any case: the run ends with another exception.
                if task.exception() is None and isinstance(ended := task.result(), FinishedAttempt):
                    self._left.append(ended)

    async def _arranged(self, changed: asyncio.Event) -> bool:
        """Start what may start now and take back what may not; return False when there is nothing
        left to wait for."""
        state = self._control.state
        if state == "abandoned":
            return False
        if state == "open" and self._placing is None and self._waiting:
            self._placing = asyncio.create_task(self._place(changed))
        elif state != "open" and self._placing is not None:
            placing, self._placing = self._placing, None
            await _cancelled(placing)
            if not placing.cancelled():
                placing.result()
        if self._running and self._collecting is None:
            self._collecting = asyncio.create_task(self._executor.collect())
        if self._placing is not None or self._collecting is not None:
            return True
        return state == "paused" and bool(self._waiting)

    async def _place(self, changed: asyncio.Event) -> None:
        """Give waiting attempts a place: as many together as there are free places."""
        while self._waiting:
            room = await self._executor.room()
            batch = [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]
            self._executor.submit_many(batch)
            self._running += len(batch)
            for task in batch:
                self._events.started(task.slot)
            if self._collecting is None:
                changed.set()

    async def _ended(self, outcome: FinishedAttempt | LostAttempt) -> None:
        self._running -= 1
        if isinstance(outcome, FinishedAttempt):
            await self._events.finished(outcome)
            if outcome.stops:
                raise Unrunnable(outcome.stops)
            return
        slot = outcome.task.slot
        self._losses[slot] += 1
        self._events.lost(slot)
        if self._losses[slot] > MOST_AGAIN:
            why = f"lost {self._losses[slot]} times, at last: {outcome.why}"
            await self._events.finished(lost_attempt(outcome.task, why))
        else:
            self._waiting.appendleft(outcome.task)


async def _cancelled(task: "asyncio.Future[Any] | None") -> None:
    """Cancel the task and wait until it has ended; the caller handles its exception."""
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task})
