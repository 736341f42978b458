"""The terminal: what may not reach it, and giving it back as it was, whatever ends the program.

A closed window, a dropped connection and a polite kill come as signals, and what a process does by
itself is to vanish and leave the terminal drawn on, with the mouse reporting into the shell.
"""

import asyncio
import io
import os
import signal
import sys
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any, cast

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter

from reviewer.trace.safetext import HOSTILE_IN_LINE, visible

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


_ASCII = str.maketrans(
    {
        **dict(zip("✓✗▲○►·†●◊§", "+x#o>.%@oS", strict=True)),
        **dict.fromkeys("━═", "="),
        **dict.fromkeys("─", "-"),
        **dict.fromkeys("│┃┊", "|"),
        **dict(zip("█░", "#-", strict=True)),
        **dict.fromkeys("┌┐└┘├┤┬┴┼┏┓┗┛┣┫┳┻╋┯┷", "+"),
        **dict(zip("›…→←↑↓×≥≤≠▸▾", ">~><^vx><!>v", strict=True)),
    }
)


class SafeText(LineFilter):
    """Drops what is hostile from every segment. Widgets show it as pictures (safetext); a segment
    that still has some came round that door."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(HOSTILE_IN_LINE.sub("", text), style, control)
            if not control and HOSTILE_IN_LINE.search(text)
            else segment
            for segment in segments
            for text, style, control in (segment,)
        ]


def plain_terminal() -> bool:
    """Whether this terminal cannot be trusted with glyphs."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    return encoding not in ("utf8", "utf16", "utf32") or os.environ.get("TERM") == "linux"


class AsciiOnly(LineFilter):
    """Draws glyphs and rules in ASCII, and `?` for what a plain terminal cannot show."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(_plain(text), style, control) for text, style, control in segments]


def _plain(text: str) -> str:
    if text.isascii():
        return text
    text = text.translate(_ASCII)
    if text.isascii():
        return text
    return "".join(
        char if char.isascii() else _letter(char) if cell_len(char) == 1 else "?" * cell_len(char)
        for char in text
    )


def _letter(char: str) -> str:
    """A letter without its accent, else `?`."""
    base = unicodedata.normalize("NFKD", char)[0]
    return base if base.isascii() and base.isprintable() else "?"
