"""Jobs on screen: runs and imports in one list, paused, stopped, taken up again, opened."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fake_imports import ImportingDesk, filled, result
from fake_shop import HOSTILE, SUITE, V7, V8
from msgspec.structs import replace
from test_tui_screens import running, shell
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input
from tui_probe import SIZES, press, same_as_golden, screen_text, settle, strips

from reviewer.desk.imports.api import ImportOrder
from reviewer.desk.runs.api import RunOrder
from reviewer.desk.views import SourceInfo
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.dialogs.run_order import OrderScreen
from reviewer.tui.screens.runs.dialogs import ImportReadScreen
from reviewer.tui.screens.runs.screen import RunsScreen
from reviewer.tui.screens.scorecard.screen import ScorecardScreen
from reviewer.tui.widgets.chrome import Choice

ORDER = ImportOrder(path="/traces/v7-night.jsonl", suite_id=SUITE)


def here(app: ReviewerApp) -> Screen[Any]:
    return app.screen


@asynccontextmanager
async def at_jobs(
    desk: ImportingDesk, size: tuple[int, int] = (80, 24), *, begun: bool = True
) -> AsyncIterator[tuple[ReviewerApp, Pilot[None]]]:
    """On the list of jobs, with one import at work."""
    app = shell(desk)
    async with running(app, size) as pilot:
        await settle(pilot)
        if begun:
            app.importing.start(ORDER, lambda view: None, app.problem)
            await settle(pilot)
        await press(pilot, "R")
        yield app, pilot


@pytest.mark.parametrize("size", SIZES)
async def test_runs_and_imports_are_one_list(size: tuple[int, int]) -> None:
    desk = ImportingDesk.ready()
    async with at_jobs(desk, size) as (app, pilot):
        app.live.begin([RunOrder(suite_id=SUITE, candidate_id=V8, jobs=2, approvals="ask")])
        await settle(pilot)
        desk.run.begin(("attack-014", 1), ("appeal-009", 1))
        desk.run.finish(("attack-014", 1))
        for _ in range(100):  # looked at ten times a second, at most
            await settle(pilot)
            if "1/9" in screen_text(app):
                break
            await asyncio.sleep(0.02)
        text = screen_text(app)
        assert "jobs 2" in text
        assert "2 at work, newest first" in text
        assert "import v7-night.jsonl" in text
        assert "run refund-agent-v8" in text
        assert "30%" in text
        assert "0:07 left" in text
        same_as_golden(app, f"jobs-{size[0]}x{size[1]}")
        assert {strip.cell_length for strip in strips(app)} == {size[0]}


async def test_an_import_is_paused_and_goes_on() -> None:
    desk = ImportingDesk.ready()
    async with at_jobs(desk) as (app, pilot):
        await press(pilot, "p")
        assert desk.importing.log == ["pause"]
        assert "► pausing" in screen_text(app)
        assert "pauses when this batch is written" in screen_text(app)
        desk.importing.go(state="paused", eta_seconds=None)
        await settle(pilot)
        assert "○ paused" in screen_text(app)
        await press(pilot, "p")
        assert desk.importing.log == ["pause", "go on"]
        assert "► reading" in screen_text(app)


async def test_a_stopped_import_is_taken_up_as_it_was_asked_for() -> None:
    desk = ImportingDesk.ready()
    async with at_jobs(desk) as (app, pilot):
        await press(pilot, "full_stop")
        assert desk.importing.log == ["stop"]
        assert "○ stopped" in screen_text(app)
        assert "r takes up the rest" in screen_text(app)
        await press(pilot, "full_stop", "p")
        assert "this import has ended" in screen_text(app)
        await press(pilot, "r")
        assert [one.view().order for one in desk.imports_made] == [ORDER, ORDER]
        assert "jobs 2" in screen_text(app)


async def test_a_failed_import_says_why_and_is_tried_again() -> None:
    desk = ImportingDesk.ready()
    async with at_jobs(desk) as (app, pilot):
        desk.importing.end(state="failed", problem="the disk is full " + HOSTILE)
        await settle(pilot)
        text = screen_text(app)
        assert "✗ the disk is full" in text
        assert "r tries again" in text
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)
        await press(pilot, "r")
        assert len(desk.imports_made) == 2


async def test_enter_opens_what_an_import_filled() -> None:
    desk = ImportingDesk.ready()
    async with at_jobs(desk) as (app, pilot):
        await press(pilot, "enter")
        assert isinstance(here(app), ImportReadScreen), "one at work: what it said so far"
        await press(pilot, "escape")
        desk.importing.end(result(filled(V7), filled(V8)))
        await settle(pilot)
        assert "+18" in screen_text(app)
        await press(pilot, "enter")
        assert isinstance(here(app), ScorecardScreen)
        assert f"candidate < {V7} >" in screen_text(app)
        assert "1 more candidate: c chooses" in screen_text(app)


async def test_what_a_job_said_stands_below_and_goes_to_the_pager(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lent: list[str] = []

    def keep(app: object, text: str) -> bool:
        lent.append(text)
        return True

    monkeypatch.setattr("reviewer.tui.widgets.textview.open_in_pager", keep)
    desk = ImportingDesk.ready()
    async with at_jobs(desk, (100, 40)) as (app, pilot):
        desk.importing.end(result(filled(V7), refused=2))
        await settle(pilot)
        text = screen_text(app)
        assert "identifiers were masked before storing" in text
        assert "record 4: missing:candidate_id" in text
        await press(pilot, "o")
        assert "3 episodes, 9 attempts, 6 of 9 passed" in lent[0]


async def test_a_stopped_run_is_ordered_again_as_it_was() -> None:
    desk = ImportingDesk.ready()
    async with at_jobs(desk, begun=False) as (app, pilot):
        order = RunOrder(suite_id=SUITE, candidate_id=V8, jobs=7, seed=5, approvals="ask")
        app.live.begin([order])
        await settle(pilot)
        desk.run.begin(("attack-014", 1))
        desk.run.finish(("attack-014", 1))
        desk.run.end("stopped")
        await settle(pilot)
        screen = here(app)
        assert isinstance(screen, RunsScreen)
        screen.query_one("#jobs").focus()
        await settle(pilot)
        await press(pilot, "r")
        dialog = here(app)
        assert isinstance(dialog, OrderScreen)
        fields = {name: dialog.query_one(f"#{name}", Input).value for name in ("jobs", "seed")}
        assert fields == {"jobs": "7", "seed": "5"}
        assert dialog.query_one("#approvals", Choice).value == "ask"
        assert dialog.query_one("#slots", Choice).value == "only missing"
        await press(pilot, "enter")
        assert desk.run.order == replace(order, resume=True)


async def test_a_source_that_was_not_read_to_its_end_is_read_on() -> None:
    desk = ImportingDesk.ready()
    partial = SourceInfo(
        path="/traces/long.jsonl", sha256="sha256:ab", reader="native/1", state="reading",
        records=4000, added=4000, known=0, refused=0, at="2026-11-18T09:00:00Z", suite_id=SUITE,
    )  # fmt: skip
    desk.imports.sources = lambda: [partial]  # type: ignore[method-assign]
    async with at_jobs(desk, begun=False) as (app, pilot):
        text = screen_text(app)
        assert "○ part" in text
        assert "not read to its end" in text
        await press(pilot, "r")
        order = desk.importing.view().order
        assert (order.path, order.suite_id, order.dry) == (partial.path, SUITE, False)


async def test_on_a_whole_source_r_runs_a_candidate() -> None:
    async with at_jobs(ImportingDesk.ready(), begun=False) as (app, pilot):
        await press(pilot, "r")
        assert isinstance(here(app), OrderScreen)


async def test_a_refused_record_is_told_whole() -> None:
    async with at_jobs(ImportingDesk.ready(), begun=False) as (app, pilot):
        await press(pilot, "n")
        text = screen_text(app)
        assert "what to do  import with --candidate" in text
        await press(pilot, "n")
        assert "what to do  redact at the source" in screen_text(app)
        await press(pilot, "N")
        assert "what to do  import with --candidate" in screen_text(app)


async def test_another_import_is_asked_for_from_the_jobs() -> None:
    async with at_jobs(ImportingDesk.ready(), begun=False) as (app, pilot):
        await press(pilot, "i")
        assert type(app.screen).__name__ == "ImportScreen"


async def test_quitting_while_an_import_goes_on_is_immediate() -> None:
    desk = ImportingDesk.ready()
    async with at_jobs(desk) as (app, pilot):
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert not app.is_running
