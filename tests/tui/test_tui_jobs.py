"""Jobs on screen: runs and imports in one list, paused, stopped, taken up again, opened."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from doors import SUITE, V7, V8
from import_desks import Imports, filled, imports, result
from msgspec.structs import replace
from run_desks import DAMAGED, Attempts, at_work, finish, newest, still
from template import HOSTILE, Bent
from test_tui_screens import running, shell
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input
from tui_probe import SIZES, come, press, same_as_golden, screen_text, settle, strips, until

from reviewer.desk.imports.api import ImportOrder
from reviewer.desk.runs.api import RunOrder
from reviewer.desk.views import SourceInfo
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.dialogs.run_order import OrderScreen
from reviewer.tui.screens.runs.dialogs import ImportReadScreen
from reviewer.tui.screens.runs.screen import RunsScreen
from reviewer.tui.screens.scorecard.screen import ScorecardScreen
from reviewer.tui.widgets.chrome import Choice

__all__ = ["imports"]

ORDER = ImportOrder(path="/traces/v7-night.jsonl", suite_id=SUITE)


def here(app: ReviewerApp) -> Screen[Any]:
    return app.screen


@asynccontextmanager
async def at_jobs(
    desk: Any, size: tuple[int, int] = (80, 24), *, begun: bool = True
) -> AsyncIterator[tuple[ReviewerApp, Pilot[None]]]:
    """On the list of jobs, with one import at work."""
    app = shell(desk)
    async with running(app, size) as pilot:
        await settle(pilot)
        if begun:
            app.importing.start(ORDER, lambda view: None, app.problem)
            await until(pilot, lambda: [view.records for view in desk.imports.views()] == [138])
        await press(pilot, "R")
        yield app, pilot


FOURTH = ("damaged-221", 4)
"""The attempt that a run begins with, where nine are made."""


@pytest.mark.parametrize("size", SIZES)
async def test_runs_and_imports_are_one_list(
    size: tuple[int, int], mine: Bent, attempts: Attempts, imports: Imports
) -> None:
    async with at_jobs(still(mine), size) as (app, pilot):
        app.live.begin([RunOrder(suite_id=SUITE, candidate_id=V8, jobs=2, approvals="ask")])
        await at_work(pilot, FOURTH, ("appeal-009", 4))
        await finish(pilot, attempts, FOURTH, candidate=V8)
        await at_work(pilot, ("appeal-009", 4), ("attack-014", 4))
        await until(pilot, lambda: "1/9" in screen_text(app) and "0:09" in screen_text(app))
        text = screen_text(app)
        assert "jobs 2" in text
        assert "2 running, newest first" in text
        assert "import v7-night.jsonl" in text
        assert "run refund-agent-v8" in text
        assert "30%" in text
        assert "0:09 left" in text
        same_as_golden(app, f"jobs-{size[0]}x{size[1]}")
        assert {strip.cell_length for strip in strips(app)} == {size[0]}


async def test_an_import_is_paused_and_goes_on(mine: Bent, imports: Imports) -> None:
    async with at_jobs(mine) as (app, pilot):
        await press(pilot, "p")
        assert mine.imports.views()[0].state == "pausing"
        assert "► pausing" in screen_text(app)
        assert "pauses when this batch is written" in screen_text(app)
        imports.tell("paused")
        await until(pilot, lambda: "○ paused" in screen_text(app))
        await press(pilot, "p")
        imports.tell("going on")
        await until(pilot, lambda: "► reading" in screen_text(app))
        assert mine.imports.views()[0].state == "reading"


async def test_a_stopped_import_is_taken_up_as_it_was_asked_for(
    mine: Bent, imports: Imports
) -> None:
    async with at_jobs(mine) as (app, pilot):
        await press(pilot, "full_stop")
        await until(pilot, lambda: "○ stopped" in screen_text(app))
        assert mine.imports.views()[0].state == "stopped"
        assert "r takes up the rest" in screen_text(app)
        await press(pilot, "full_stop", "p")
        assert "this import has ended" in screen_text(app)
        await press(pilot, "r")
        assert [call[0] for call in mine.asked("imports.start")] == [ORDER, ORDER]
        assert "jobs 2" in screen_text(app)


async def test_a_failed_import_says_why_and_is_tried_again(mine: Bent, imports: Imports) -> None:
    imports.error = "the disk is full " + HOSTILE
    async with at_jobs(mine) as (app, pilot):
        imports.break_off()
        await until(pilot, lambda: "✗ the disk is full" in screen_text(app))
        text = screen_text(app)
        assert "r tries again" in text
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)
        await press(pilot, "r")
        assert len(mine.imports.views()) == 2


async def test_enter_opens_what_an_import_filled(mine: Bent, imports: Imports) -> None:
    async with at_jobs(mine) as (app, pilot):
        await press(pilot, "enter")
        assert isinstance(here(app), ImportReadScreen), "one at work: what it said so far"
        await press(pilot, "escape")
        imports.end(result(filled(V7), filled(V8)))
        await until(pilot, lambda: "✓ done" in screen_text(app))
        assert "+18" in screen_text(app)
        await press(pilot, "enter")
        assert isinstance(here(app), ScorecardScreen)
        assert f"candidate < {V7} >" in screen_text(app)
        assert "1 more candidate: c chooses" in screen_text(app)


async def test_what_a_job_said_stands_below_and_goes_to_the_pager(
    mine: Bent, imports: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent: list[str] = []

    def keep(app: object, text: str) -> bool:
        lent.append(text)
        return True

    monkeypatch.setattr("reviewer.tui.widgets.textview.open_in_pager", keep)
    async with at_jobs(mine, (100, 40)) as (app, pilot):
        imports.end(result(filled(V7), refused=2))
        await until(pilot, lambda: "✓ done" in screen_text(app))
        text = screen_text(app)
        assert "identifiers were masked before storing" in text
        assert "record 4: missing:candidate_id" in text
        await press(pilot, "o")
        assert "3 episodes, 9 attempts, 6 of 9 passed" in lent[0]


async def test_a_stopped_run_is_ordered_again_as_it_was(eight: Bent) -> None:
    attempts = Attempts(eight)
    async with at_jobs(eight, begun=False) as (app, pilot):
        order = RunOrder(suite_id=SUITE, candidate_id=V8, jobs=7, seed=5, approvals="ask")
        app.live.begin([order])
        await until(pilot, lambda: bool(app.live.views) and len(newest(pilot).running) == 7)
        await finish(pilot, attempts, DAMAGED, candidate=V8)
        eight.runs.handle(1).abandon()
        await until(pilot, lambda: newest(pilot).state == "stopped")
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
        assert eight.asked("runs.start")[-1][0] == replace(order, resume=True, person=True)


async def test_a_source_that_was_not_read_to_its_end_is_read_on(
    mine: Bent, imports: Imports
) -> None:
    partial = SourceInfo(
        path="/traces/long.jsonl", sha256="sha256:ab", reader="native/1", state="reading",
        records=4000, added=4000, known=0, refused=0, at="2026-11-18T09:00:00Z", suite_id=SUITE,
    )  # fmt: skip
    mine.bend("imports.sources", lambda _: [partial])
    async with at_jobs(mine, begun=False) as (app, pilot):
        text = screen_text(app)
        assert "○ part" in text
        assert "not read to its end" in text
        await press(pilot, "r")
        order = mine.asked("imports.start")[-1][0]
        assert (order.path, order.suite_id, order.dry) == (partial.path, SUITE, False)


async def test_on_a_whole_source_r_runs_a_candidate(shop: Bent) -> None:
    async with at_jobs(shop, begun=False) as (app, pilot):
        await press(pilot, "r")
        assert isinstance(here(app), OrderScreen)


async def test_a_refused_record_is_told_whole(shop: Bent) -> None:
    async with at_jobs(shop, begun=False) as (app, pilot):
        await press(pilot, "n")
        text = screen_text(app)
        assert "what to do  name the suite with --suite" in text
        await press(pilot, "n")
        assert "what to do  see reviewer schema trace" in screen_text(app)
        await press(pilot, "N")
        assert "what to do  name the suite with --suite" in screen_text(app)


async def test_another_import_is_asked_for_from_the_jobs(shop: Bent) -> None:
    async with at_jobs(shop, begun=False) as (app, pilot):
        await press(pilot, "i")
        assert type(app.screen).__name__ == "ImportScreen"


async def test_quitting_while_an_import_goes_on_is_immediate(mine: Bent, imports: Imports) -> None:
    async with at_jobs(mine) as (app, pilot):
        await pilot.press("ctrl+q")
        await come(pilot, lambda: not app.is_running)
