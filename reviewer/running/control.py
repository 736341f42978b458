"""Steering a run from any thread: pause, go on, stop, abandon."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Literal

Steered = Literal["open", "paused", "stopping", "abandoned"]


class Control:
    """What a person wants of a run. Thread-safe; each step may be asked for at any time.

    `open` begins new attempts, `paused` begins none for now, `stopping` none any more, and
    `abandoned` also kills those that run. There is no way back from the last two.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._state: Steered = "open"
        self._listener: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    @property
    def state(self) -> Steered:
        return self._state

    def pause(self) -> None:
        self._move("paused", "open")

    def go_on(self) -> None:
        self._move("open", "paused")

    def stop(self) -> None:
        """Begin no new attempt; those that run finish."""
        self._move("stopping", "open", "paused")

    def abandon(self) -> None:
        """Kill the attempts that run."""
        self._move("abandoned", "open", "paused", "stopping")

    def _move(self, to: Steered, *whence: Steered) -> None:
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
        """An event of this thread's loop that is set on every change, for one listener."""
        changed = asyncio.Event()
        with self._lock:
            self._listener = (asyncio.get_running_loop(), changed)
        try:
            yield changed
        finally:
            with self._lock:
                self._listener = None
