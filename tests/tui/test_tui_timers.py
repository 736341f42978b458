"""Timers that fire once, in a process that was held up."""

import itertools

import pytest
from textual.app import App
from textual.message_pump import MessagePump

from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.base import DeskScreen
from reviewer.tui.shell.timers import FiringTimers


class Bare(FiringTimers, App[None]):
    """An application whose timers fire."""


@pytest.mark.parametrize("delay", [0.0, 0.01])
async def test_a_timer_that_comes_late_fires(delay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is a minute later at the second look, as in a process that was held up."""
    fired: list[float] = []
    app = Bare()
    async with app.run_test() as pilot:
        looks = itertools.chain([0.0], itertools.repeat(60.0))
        monkeypatch.setattr("textual._time.get_time", lambda: next(looks))
        timer = app.set_timer(delay, lambda: fired.append(delay))
        assert timer._task is not None
        await timer._task
        await pilot.pause()
    assert fired == [delay]


@pytest.mark.parametrize("node", [ReviewerApp, DeskScreen])
def test_the_workstation_has_such_timers(node: type[MessagePump]) -> None:
    assert node.set_timer is FiringTimers.set_timer
