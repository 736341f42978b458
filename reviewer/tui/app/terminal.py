"""The process around the screens: what may reach the terminal, how it is given back, and when
garbage is collected.

A closed window, a dropped connection and a polite kill come as signals, and what a process does by
itself is to vanish and leave the terminal drawn on, with the mouse reporting into the shell.
CPython stops the whole program to look for garbage: with a large scorecard and some traces behind
it that takes 50 to 110 ms, about once a second of work, and a key would wait for it. Nor may it
pile up: ten dialogs that were opened and closed leave 60 ms of it.
"""

import asyncio
import gc
import io
import os
import signal
import sys
import termios
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
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
would be waited for without end. The store is complete whenever a process ends."""


class _Shown(io.TextIOBase):
    """The terminal's error stream for text that may be of a trace."""

    def write(self, text: str) -> int:
        if sys.__stderr__ is not None:
            sys.__stderr__.write(visible(text))
        return len(text)


def crash_console() -> Console:
    """The console for a crash: its words may hold text of a trace, which a terminal would obey."""
    return Console(file=cast("IO[str]", _Shown()), color_system=None, markup=False, highlight=False)


_AS_FOUND = (
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"  # mouse
    b"\x1b[?1004l\x1b[?2004l\x1b[<u\x1b[?7h"  # focus, paste, keys, wrapping
    b"\x1b[?1049l\x1b[?25h"  # the screen that was there, and its cursor
)


def _leave_now(app: App[Any], code: int) -> None:
    """End the process where leaving in order takes too long, with the terminal as it was found as
    far as that can be had without waiting for it."""
    driver = cast("Any", app._driver)
    with suppress(Exception):
        if (found := driver.attrs_before) is not None:
            termios.tcsetattr(driver.fileno, termios.TCSANOW, found)
    with suppress(Exception):
        out = cast("IO[str]", sys.__stderr__).fileno()
        blocking = os.get_blocking(out)  # of the terminal, which the shell goes on with
        os.set_blocking(out, False)
        try:
            os.write(out, _AS_FOUND)
        finally:
            os.set_blocking(out, blocking)
    os._exit(code)


@contextmanager
def ended_by_signals(app: App[Any]) -> Iterator[None]:
    """While it lasts, these signals end the app; its return code is then 128 + the number. For the
    main thread."""

    def end(number: int, frame: FrameType | None) -> None:
        code = 128 + number
        hurry = threading.Timer(GRACE, _leave_now, [app, code])
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
    """Tell whether this terminal cannot be trusted with glyphs."""
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


REST = 0.12
"""Seconds without a key or the mouse, after which what was left since the last pause is let go of:
a few milliseconds."""
PAUSE = 0.5
"""… after which nobody is taken to be typing."""
LONG = 10.0
"""… after which everything is looked through again, what the program is made of as well."""
SOME = 1
"""Smaller collections after which a rest is used."""
ENOUGH = 10
"""… after which a full collection is due in a pause: CPython's own measure."""
MUCH = 25
"""… and after which it is due even under somebody's hands: screens that were left hold memory."""
AT_MOST = 1000
"""Smaller collections after which one comes by itself, as a last resort."""
HEAVY = 0.03
"""Seconds that a collection in a rest takes at most: where it took longer, much is there that was
not in the last pause (the turns of a large trace), and the next one does without it."""
GROWN = 1.25
"""How many times as much is left out of collections as after the last look through everything,
before a long pause is used for another."""
MOST = 3.0
"""… before any pause is."""


class Tidy:
    """Full collections where one reader rests. What is there in a pause is left out from then on,
    so that a rest is for what came since: until a long pause, in which all of it is looked through
    again."""

    def __init__(self) -> None:
        self._touched = monotonic()
        self._whole = 0
        """Objects that were left out after the last look through everything; 0 before the first."""
        self._larger = False

    def touched(self) -> None:
        """The reader has done something."""
        self._touched = monotonic()

    @property
    def quiet(self) -> float:
        """Seconds since the reader did something."""
        return monotonic() - self._touched

    def grew(self) -> None:
        """The program is made of more: what was imported is there to stay, as of the next rest."""
        self._larger = True

    def rest(self) -> bool:
        """The reader rests between two keys. Whether garbage was looked for."""
        if gc.get_count()[2] < SOME:
            return False
        began = monotonic()
        collect()
        grown = self._larger or not self._whole
        if grown or monotonic() - began > HEAVY:
            gc.freeze()  # until the next long pause
        if grown:
            self._larger = False
            self._whole = gc.get_freeze_count()
        return True

    def tick(self) -> bool:
        """Time passes. Whether garbage was looked for."""
        quiet = self.quiet
        most = GROWN if quiet >= LONG else MOST
        grown = quiet >= PAUSE and 0 < most * self._whole < gc.get_freeze_count()
        enough = MUCH if quiet < PAUSE else ENOUGH if self._whole else 0
        if not grown and gc.get_count()[2] < enough:
            return False
        if grown:
            gc.unfreeze()
        collect()
        if quiet >= PAUSE:
            gc.freeze()
            if grown or not self._whole:
                self._whole = gc.get_freeze_count()
        return True


def collect() -> None:
    """Let go of screens that have been left, and of all that hung on them.

    Textual keeps colors by the drawing cache of the widget they were worked out for, and with them
    the lines drawn of up to a thousand widgets that are gone: a third of a megabyte for every trace
    that was looked at.
    """
    with suppress(ImportError, AttributeError):  # a Textual that keeps them otherwise
        from textual._styles_cache import StylesCache

        StylesCache.get_inner_outer.cache_clear()
    gc.collect()


TURN = 0.001
"""Seconds for which a thread holds the interpreter while another wants it. A key passes through
three threads on its way to a frame, and each of them waited five milliseconds, CPython's own
measure, behind one that reads."""


@contextmanager
def short_turns() -> Iterator[None]:
    """While it lasts, threads take shorter turns."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def tidied_in_pauses() -> Iterator[None]:
    """While it lasts, a full collection comes by itself only as a last resort."""
    before = gc.get_threshold()
    gc.set_threshold(before[0], before[1], AT_MOST)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
