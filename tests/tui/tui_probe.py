"""The screen as a terminal would get it. The one place that touches Textual's private API."""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic

import pytest
from rich.segment import Segment
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from reviewer.tui.app.app import ReviewerApp

GOLDENS = Path(__file__).parent / "goldens"
UPDATE = "REVIEWER_UPDATE_GOLDENS"
PATIENCE = 60.0
"""Seconds after which a screen that does not come to rest is a fault, however busy the machine."""

PUT_OFF = ("look", "_rested")
"""Callbacks of timers by which the workstation puts off a reading."""

SIZES = ((80, 24), pytest.param((100, 30), marks=pytest.mark.nightly), (200, 60))
"""The sizes that every screen is held to: the smallest and the largest for each change."""


def strips(app: ReviewerApp) -> list[Strip]:
    """Every line of the screen, composed."""
    return app.screen._compositor.render_strips()


def screen_text(app: ReviewerApp) -> str:
    """The text of the screen, without trailing blanks."""
    return "\n".join(strip.text.rstrip() for strip in strips(app)) + "\n"


def segments_with(app: ReviewerApp, text: str) -> list[Segment]:
    """The segments of the screen that contain a text."""
    return [segment for strip in strips(app) for segment in strip if text in segment.text]


async def settle(pilot: Pilot[None]) -> None:
    """Wait until every question has been answered, every answer drawn, and nothing is put off."""
    app = pilot.app
    assert isinstance(app, ReviewerApp)
    end = monotonic() + PATIENCE
    while monotonic() < end:
        await pilot.pause()
        if _rests(app):
            await pilot.pause()
            if _rests(app):
                return
        await asyncio.sleep(0.005)
    raise AssertionError("the screen never came to rest")


async def come(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Wait until a condition is true on a screen that does not come to rest meanwhile."""
    end = monotonic() + PATIENCE
    while monotonic() < end:
        await pilot.pause()
        if true():
            return
        await asyncio.sleep(0.005)
    assert isinstance(pilot.app, ReviewerApp)
    raise AssertionError(f"it never came to be\n{screen_text(pilot.app)}")


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Settle until a condition is true: for what another thread or process does meanwhile."""
    end = monotonic() + PATIENCE
    while monotonic() < end:
        await settle(pilot)
        if true():
            return
        await asyncio.sleep(0.005)
    assert isinstance(pilot.app, ReviewerApp)
    raise AssertionError(f"it never came to be\n{screen_text(pilot.app)}")


def _rests(app: ReviewerApp) -> bool:
    return app.background.idle() and not _put_off(app) and _drawn(app)


def _put_off(app: ReviewerApp) -> bool:
    """Whether a question waits for a timer. A store that was slow to read is read again after a
    rest as long as the reading took, so on a busy machine the next screen comes later. A timer
    that a test has put off for longer than `PATIENCE` is not meant to come."""
    return any(
        timer._repeat == 0
        and timer._interval < PATIENCE
        and timer._task is not None
        and not timer._task.done()
        and _calls(timer) in PUT_OFF
        for node in (app, *app.screen_stack)
        for timer in tuple(node._timers)
    )


def _calls(timer: Timer) -> str:
    """The name of what a timer calls back, which Textual wraps as `call_next(callback)`."""
    callback = timer._callback
    if isinstance(callback, partial):
        callback = callback.args[0]
    return getattr(callback, "__name__", "")


def _drawn(app: ReviewerApp) -> bool:
    """Whether nothing waits to be laid out, painted or told: a pause ends earlier when busy."""
    screen = app.screen
    widgets = (screen, *screen.walk_children(Widget))
    if screen._dirty_widgets or any(
        widget._layout_required or widget._repaint_required for widget in widgets
    ):
        return False
    nodes = {app, *app.screen_stack, *widgets}
    return not any(node.message_queue_size or node._next_callbacks for node in nodes)


def count_layouts(patch: pytest.MonkeyPatch) -> list[str]:
    """A list that gets longer with every layout of a screen from now on."""
    made: list[str] = []
    lay_out = Screen._refresh_layout

    def noted(self: Screen[object], *rest: object, **more: object) -> None:
        made.append(type(self).__name__)
        lay_out(self, *rest, **more)  # type: ignore[arg-type]

    patch.setattr(Screen, "_refresh_layout", noted)
    return made


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys one after another, each on a screen at rest."""
    for key in keys:
        await pilot.press(key)
        await settle(pilot)


def same_as_golden(app: ReviewerApp, name: str) -> None:
    """Compare the screen with its golden; REVIEWER_UPDATE_GOLDENS=1 writes it anew."""
    text_as_golden(screen_text(app), name)


def text_as_golden(found: str, name: str) -> None:
    """Compare a text with its golden, or write that anew."""
    path = GOLDENS / f"{name}.txt"
    if os.environ.get(UPDATE):
        GOLDENS.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8"), f"{name} differs; {UPDATE}=1 takes it"
