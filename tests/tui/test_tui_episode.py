"""An episode made of the trace on the screen: the marks in a form, the work in the desk."""

import json
from pathlib import Path

import pytest
from doors import Door
from test_tui_import import until
from test_tui_screens import running
from textual.pilot import Pilot
from textual.widgets import Input
from tui_probe import press, same_as_golden, screen_text, settle

from reviewer.desk.episodes.views import TYPED, EpisodeOrder
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.dialogs.episode import EpisodeScreen
from reviewer.tui.screens.trajectory.screen import TrajectoryScreen

TASK_41 = Path(__file__).resolve().parents[1] / "data/tau_bench/gpt-4o-airline-task-41.json"
TRACE = "tau-bench-airline/gpt-4o-airline-task-41/41"


async def opened(pilot: Pilot[None], app: ReviewerApp, seq: int) -> None:
    await app.push_screen(TrajectoryScreen(f"{TRACE}/3", seq))
    await until(pilot, lambda: "cancel_reservation" in screen_text(app))
    await press(pilot, "plus")
    await until(pilot, lambda: isinstance(app.screen, EpisodeScreen))


def typed(app: ReviewerApp, **values: str) -> None:
    for name, value in values.items():
        app.screen.query_one(f"#typed-{name.replace('_', '-')}", Input).value = value


async def test_a_trace_on_the_screen_becomes_an_episode_with_its_proof(door: Door) -> None:
    door.ok("import", TASK_41)
    desk = door.desk()
    app = ReviewerApp(desk)
    async with running(app) as pilot:
        await opened(pilot, app, 9)
        wrong = app.screen.query_one("#typed-wrong", Input)
        assert wrong.value == "9", "the call under the cursor is offered"
        typed(app, id="cancel-41")
        await press(pilot, "enter")
        await until(pilot, lambda: "cancel-41 is written and not proven" in screen_text(app))
        assert "is a blank" not in screen_text(app)
        for _ in range(9):
            await press(pilot, "pagedown")
        assert "is a blank" in screen_text(app)
        for _ in range(9):
            await press(pilot, "pageup")
        assert "is a blank" not in screen_text(app)
        typed(app, required="get_reservation_details", say="I cannot cancel it.")
        typed(app, **{"with": f"{TRACE}/1", "never_say": "successfully canceled"})
        await press(pilot, "enter")
        await until(pilot, lambda: "cancel-41 is written and proven" in screen_text(app))
        assert "recorded: fails by" in screen_text(app)
        await press(pilot, "escape")
        await settle(pilot)
        assert isinstance(app.screen, TrajectoryScreen)
    desk.close()
    file = door.root / "suites/cancel-41-v1/episodes/cancel-41.json"
    source = json.loads(file.read_text())["source"]
    assert source["marks"]["wrong"] == ["9"]
    assert [one["trace"] for one in source["traces"]] == [f"{TRACE}/3", f"{TRACE}/1"]


async def test_a_mark_that_fits_nothing_is_said_and_nothing_is_written(door: Door) -> None:
    door.ok("import", TASK_41)
    before = sorted((door.root / "suites").iterdir())
    desk = door.desk()
    app = ReviewerApp(desk)
    async with running(app) as pilot:
        await opened(pilot, app, 9)
        typed(app, wrong="nobody")
        await press(pilot, "enter")
        await until(pilot, lambda: "the trace has no such tool" in screen_text(app))
    desk.close()
    assert sorted((door.root / "suites").iterdir()) == before


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_the_form_holds_the_request_and_cuts_no_hint(
    door: Door, size: tuple[int, int]
) -> None:
    door.ok("import", TASK_41)
    desk = door.desk()
    app = ReviewerApp(desk)
    async with running(app, size) as pilot:
        await opened(pilot, app, 9)
        request = app.screen.query_one("#typed-request", Input)
        await until(pilot, lambda: request.value.startswith("Hi"))
        typed(app, wrong="")  # so that every hint shows
        await settle(pilot)
        same_as_golden(app, f"episode-form-{size[0]}x{size[1]}")
        shown = screen_text(app)
        for name, hint in TYPED:
            assert name == "request" or hint in shown
    desk.close()


async def test_a_request_that_was_typed_is_the_episodes(door: Door) -> None:
    door.ok("import", TASK_41)
    desk = door.desk()
    app = ReviewerApp(desk)
    told = []
    async with running(app) as pilot:
        await opened(pilot, app, 9)
        request = app.screen.query_one("#typed-request", Input)
        await until(pilot, lambda: bool(request.value))
        for asked, name in ((request.value, "as-said"), ("Cancel my booking.", "as-typed")):
            typed(app, request=asked, id=name)
            await press(pilot, "enter")
            await until(pilot, lambda name=name: f"{name} is written" in screen_text(app))  # type: ignore[misc]
            file = door.root / f"suites/{name}-v1/episodes/{name}.json"
            told.append(json.loads(file.read_text())["user_request"])
    said = desk.episodes.from_trace(EpisodeOrder(source=f"{TRACE}/3", episode_id="plain"))
    desk.close()
    assert told == [json.loads(Path(said.file).read_text())["user_request"], "Cancel my booking."]
