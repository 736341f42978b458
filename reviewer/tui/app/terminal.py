"""The process around the screens: what may reach the terminal, how the terminal is restored, and
when garbage is collected.

A closed window, a dropped connection and SIGTERM arrive as signals, at which a process by default
exits and leaves the terminal as drawn, with the mouse reporting into the shell. CPython stops the
whole program to collect garbage: with a large scorecard and some traces behind it that takes 50 to
110 ms, about once a second of work, and a key would wait for it. Nor may garbage accumulate: ten
dialogs that were opened and closed leave 60 ms of it.
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
"""Seconds for an orderly exit: a terminal that is gone accepts no output, and writing to it would
block forever. The store is complete whenever the process ends."""


class _Shown(io.TextIOBase):
    """The terminal's error stream for text that may come from a trace."""

    def write(self, text: str) -> int:
        if sys.__stderr__ is not None:
            sys.__stderr__.write(visible(text))
        return len(text)


def crash_console() -> Console:
    """Return the console for a crash: its text may come from a trace, with control sequences that a
    terminal would obey."""
    return Console(file=cast("IO[str]", _Shown()), color_system=None, markup=False, highlight=False)


_AS_FOUND = (
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"  # mouse
    b"\x1b[?1004l\x1b[?2004l\x1b[<u\x1b[?7h"  # focus, paste, keys, wrapping
    b"\x1b[?1049l\x1b[?25h"  # the earlier screen, and its cursor
)


def _leave_now(app: App[Any], code: int) -> None:
    """End the process when an orderly exit takes too long, and restore the terminal as far as that
    is possible without waiting for it."""
    driver = cast("Any", app._driver)
    with suppress(Exception):
        if (found := driver.attrs_before) is not None:
            termios.tcsetattr(driver.fileno, termios.TCSANOW, found)
    with suppress(Exception):
        out = cast("IO[str]", sys.__stderr__).fileno()
        blocking = os.get_blocking(out)  # a property of the terminal, which the shell goes on using
        os.set_blocking(out, False)
        try:
            os.write(out, _AS_FOUND)
        finally:
            os.set_blocking(out, blocking)
    os._exit(code)


@contextmanager
def ended_by_signals(app: App[Any]) -> Iterator[None]:
    """Make these signals end the app within a block; its return code is then 128 + the number.
    For the main thread."""

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
    """Drops hostile characters from every segment. Widgets show them as pictures (safetext); a
    segment that still has some did not come through a widget of ours."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(HOSTILE_IN_LINE.sub("", text), style, control)
            if not control and HOSTILE_IN_LINE.search(text)
            else segment
            for segment in segments
            for text, style, control in (segment,)
        ]


def plain_terminal() -> bool:
    """Return whether this terminal cannot be trusted with glyphs."""
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
    """Return a letter without its accent, else `?`."""
    base = unicodedata.normalize("NFKD", char)[0]
    return base if base.isascii() and base.isprintable() else "?"


REST = 0.12
"""Seconds without a key or the mouse, after which garbage made since the last pause is collected: a
few milliseconds."""
PAUSE = 0.5
"""Seconds without input after which the reader is taken to have stopped typing."""
LONG = 10.0
"""Seconds without input after which all objects are collected, including those left out before."""
SOME = 1
"""Smaller collections after which a rest is used."""
ENOUGH = 10
"""Smaller collections after which a full collection is due in a pause: CPython's own number."""
MUCH = 25
"""Smaller collections after which a full collection is due even during input: screens that were
left hold memory."""
AT_MOST = 1000
"""Smaller collections after which a full one starts by itself, as a last resort."""
HEAVY = 0.03
"""The most seconds for a collection in a rest: where it took longer, many objects have come since
the last pause (the turns of a large trace), and the next collection leaves them out."""
GROWN = 1.25
"""Growth of the objects left out of collections since the last complete one, from which a long
pause is used for another."""
MOST = 3.0
"""Growth of the objects left out, from which any pause is used."""


class Tidy:
    """Full collections while the reader rests. Objects present in a pause are left out from then
    on, so that a rest collects only newer ones, until a long pause, in which all objects are
    collected again."""

    def __init__(self) -> None:
        self._touched = monotonic()
        self._whole = 0
        """Objects that were left out after the last complete collection; 0 before the first."""
        self._larger = False

    def touched(self) -> None:
        """Note that the reader did something."""
        self._touched = monotonic()

    @property
    def quiet(self) -> float:
        """Seconds since the reader did something."""
        return monotonic() - self._touched

    def grew(self) -> None:
        """Note that imported modules have come, which stay: the next rest leaves them out of later
        collections."""
        self._larger = True

    def rest(self) -> bool:
        """Collect garbage if needed: the reader rests between two keys. Return whether it was
        collected."""
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
        """Collect garbage if it is due at this time. Return whether it was collected."""
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
    """Drop screens that have been left, and everything they refer to.

    Textual caches colors by the drawing cache of the widget they were computed for, and thereby
    keeps the drawn lines of up to a thousand widgets that are gone: a third of a megabyte for every
    trace that was looked at.
    """
    with suppress(ImportError, AttributeError):  # another Textual may keep them elsewhere
        from textual._styles_cache import StylesCache

        StylesCache.get_inner_outer.cache_clear()
    gc.collect()


TURN = 0.001
"""Seconds for which a thread holds the interpreter while another wants it. A key passes through
three threads on its way to a frame, and at CPython's default of five milliseconds each of them
could wait that long for a thread that reads."""


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads take shorter turns within a block."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def tidied_in_pauses() -> Iterator[None]:
    """Start full collections automatically only as a last resort within a block."""
    before = gc.get_threshold()
    gc.set_threshold(before[0], before[1], AT_MOST)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
