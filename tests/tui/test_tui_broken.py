"""A suite whose lock is broken, on the scorecard: why is said, rows are shown, figures are not."""

from pathlib import Path

import pytest
from doors import V8, Door
from template import opened
from test_tui_screens import running, shell
from tui_probe import SIZES, press, screen_text, settle

from reviewer.desk.desk import Desk
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.scorecard.screen import ScorecardScreen

WAY_OUT = "reviewer suite diff refund-eval-v5 shows what changed"


def edited(door: Door) -> Path:
    """A file of the frozen suite, edited."""
    file = door.suite / "episodes" / "attack-014.json"
    file.write_text(file.read_text().replace("refund", "Refund", 1))
    return file


def mended(file: Path) -> None:
    file.write_text(file.read_text().replace("Refund", "refund", 1))


def without_figures(app: ReviewerApp) -> None:
    text = screen_text(app)
    lines = text.splitlines()
    assert lines[0].endswith("read only")
    assert "✗ lock broken" in lines[1]
    assert lines[2].startswith("✗ NO VERDICT  refund-eval-v5/suite.lock")
    assert "no report can be made, exported or signed on it" in lines[3]
    assert "hard pass" not in text
    assert "episodes 3 of 3" in text
    assert "attack-014" in text


@pytest.mark.parametrize("size", SIZES)
async def test_a_broken_lock_says_why_and_shows_the_rows(own: Door, size: tuple[int, int]) -> None:
    edited(own)
    desk = opened(own.root)
    app = shell(desk)
    async with running(app, size) as pilot:
        await settle(pilot)
        text = screen_text(app)
        assert "the suite no longer matches its lock" in text
        assert WAY_OUT[:40] in text
        await press(pilot, "escape")
        if size[0] >= 80:
            without_figures(app)
        await press(pilot, "r")
        assert app.screen is app.here
        assert "nothing is run on it" in screen_text(app)
        await press(pilot, "x")
        assert app.screen is app.here
        assert "no report is made on it" in screen_text(app)
    desk.close()


async def test_a_lock_that_breaks_under_the_reader_takes_the_figures_away(
    own: Door, desk: Desk
) -> None:
    app = shell(desk)
    async with running(app, (80, 24)) as pilot:
        await settle(pilot)
        assert "hard pass" in screen_text(app)
        file = edited(own)
        assert isinstance(app.here, ScorecardScreen)
        app.here.reading.turn_to("refund-eval-v5", V8)
        await settle(pilot)
        assert "the suite no longer matches its lock" in screen_text(app)
        mended(file)
        await press(pilot, "r")  # looks again whether it holds
        assert "hard pass" in screen_text(app)
        assert "✓ frozen" in screen_text(app)
        edited(own)
        app.here.reading.turn_to("refund-eval-v5", V8)
        await settle(pilot)
        assert "the suite no longer matches its lock" in screen_text(app)
        await press(pilot, "escape")
        without_figures(app)
