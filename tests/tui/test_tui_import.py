"""Taking traces in from the workstation: look, then take, on a real desk."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from doors import Door
from test_tui_screens import running
from textual.pilot import Pilot
from textual.widgets import Input
from tui_probe import press, screen_text, settle

from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.dialogs.import_traces import ImportScreen, PathSuggester

EXCERPT = Path(__file__).resolve().parents[1] / "data/tau_bench/gpt-4o-airline-excerpt.json"


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait for other processes, ten seconds at most."""
    for _ in range(200):
        await settle(pilot)
        if holds():
            return
        await asyncio.sleep(0.05)
    raise AssertionError(screen_text(pilot.app))


async def asked(pilot: Pilot[None], path: Path) -> None:
    await settle(pilot)
    await press(pilot, "i")
    pilot.app.screen.query_one("#path", Input).value = str(path)
    await press(pilot, "enter")


async def test_enter_looks_and_enter_again_takes(door: Door) -> None:
    desk = door.desk()
    app = ReviewerApp(desk)
    async with running(app) as pilot:
        await asked(pilot, EXCERPT)
        await until(pilot, lambda: "would add 8 traces" in screen_text(app))
        text = screen_text(app)
        assert "tau-bench, 8 records" in text
        assert "2 episodes, 8 attempts, 3 of 8 passed, cost not measured" in text
        assert not door.store.exists() or door.one("SELECT count(*) FROM trace") == 0
        await press(pilot, "enter")
        await until(pilot, lambda: "8 traces added" in screen_text(app))
        assert door.one("SELECT count(*) FROM trace") == 8
        await press(pilot, "R")
        await until(pilot, lambda: "jobs 1" in screen_text(app))
        assert "import gpt-4o-airline-excerpt.json" in screen_text(app)
        assert "tau-bench" in screen_text(app)
    desk.close()


async def test_a_changed_path_is_looked_at_anew(door: Door, tmp_path: Path) -> None:
    desk = door.desk()
    app = ReviewerApp(desk)
    async with running(app) as pilot:
        await asked(pilot, EXCERPT)
        await until(pilot, lambda: "would add 8 traces" in screen_text(app))
        app.screen.query_one("#path", Input).value = str(tmp_path / "nothing")
        await settle(pilot)
        assert "Enter reads it again" in screen_text(app)
        await press(pilot, "enter")
        await until(pilot, lambda: "would add 0 traces" in screen_text(app))
        assert "No such file" in screen_text(app)
        await press(pilot, "enter")
        assert "nothing in it is new" in screen_text(app)
        await press(pilot, "escape")
        assert not isinstance(app.screen, ImportScreen)
    assert not door.store.exists() or door.one("SELECT count(*) FROM trace") == 0
    desk.close()


async def test_what_an_import_said_can_be_read_later(door: Door) -> None:
    door.ok("import", EXCERPT)
    desk = door.desk()
    app = ReviewerApp(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "R")
        await until(pilot, lambda: "sources 1" in screen_text(app))
        await press(pilot, "enter")
        text = screen_text(app)
        assert "what was missing or doubtful" in text
        assert "tau-bench records no time" in text
    desk.close()


async def test_the_path_completes_itself(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "night.json").touch()
    suggest = PathSuggester().get_suggestion
    assert await suggest(f"{tmp_path}/ru") == f"{tmp_path}/runs/"
    assert await suggest(f"{tmp_path}/runs/n") == f"{tmp_path}/runs/night.json"
    assert await suggest(f"{tmp_path}/nowhere/x") is None
    assert await suggest("") is None
