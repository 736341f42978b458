"""The end of the workstation: the terminal is given back as it was, whatever ends it.

A closed window, a dropped connection and a polite kill come as signals, and what a process does by
itself is to vanish and leave the terminal drawn on, with the mouse reporting into the shell.
"""

import asyncio
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any, cast

from rich.console import Console
from textual.app import App

from reviewer.trace.safetext import visible

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
GRACE = 5.0
"""Seconds to leave in order: a terminal that has gone takes nothing more, and what is written to it
would be waited for without end. The store stands whenever a process ends."""


class _Shown(io.TextIOBase):
    """The terminal's error stream for text that may be of a trace."""

    def write(self, text: str) -> int:
        if sys.__stderr__ is not None:
            sys.__stderr__.write(visible(text))
        return len(text)


def crash_console() -> Console:
    """Where a crash is told: what it tells of may hold what a trace holds, and a terminal obeys."""
    return Console(file=cast("IO[str]", _Shown()), color_system=None, markup=False, highlight=False)


@contextmanager
def ended_by_signals(app: App[Any]) -> Iterator[None]:
    """While it lasts, these signals end the app; its return code is then 128 + the number. For the
    main thread."""

    def end(number: int, frame: FrameType | None) -> None:
        code = 128 + number
        hurry = threading.Timer(GRACE, os._exit, [code])
        hurry.daemon = True
        hurry.start()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # not drawing yet, or no longer
            raise SystemExit(code) from None
        loop.call_soon_threadsafe(app.exit, None, code)

    before = {number: signal.signal(number, end) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
