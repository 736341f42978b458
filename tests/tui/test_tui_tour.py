"""The tour: it points, it waits for what it asks for, and it takes no key from anybody."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from doors import Door
from template import Bent
from terminal import terminal
from test_tui_screens import running, shell
from textual.pilot import Pilot
from tui_probe import SIZES, press, screen_text, settle, text_as_golden

from reviewer.desk.desk import Desk
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.app.tour import STEPS
from reviewer.tui.settings.settings import Settings, state_folder

Opened = Callable[..., "AsyncIterator[tuple[ReviewerApp, Pilot[None]]]"]


@pytest.fixture
def desk(full: Door):
    """The example with both candidates."""
    found = full.desk()
    found.opened.reviewer = "robin"
    yield found
    found.close()


@asynccontextmanager
async def touring(
    desk: Desk | Bent, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[ReviewerApp, Pilot[None]]]:
    app = shell(desk)  # type: ignore[arg-type]
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "question_mark", "space")
        yield app, pilot


def step(app: ReviewerApp) -> int:
    """The number that the box on screen says, 0 without one."""
    _, found, rest = screen_text(app).partition("━━ tour ")
    return int(rest.partition(" ")[0]) if found else 0


@pytest.mark.parametrize("size", SIZES)
async def test_each_step_stands_beside_what_it_points_at(desk: Desk, size: tuple[int, int]) -> None:
    boxes = []
    async with touring(desk, size) as (app, pilot):
        for number in range(1, len(STEPS) + 1):
            assert step(app) == number
            lines = screen_text(app).splitlines()
            assert lines[0].endswith("live"), "line 1 can be read"
            assert lines[-1].strip()[0] not in "┃┗", "the last line can be read"
            boxes.append(boxed(lines))
            await press(pilot, "space")
            await settle(pilot)  # the box is placed after the screen below it was drawn
        assert step(app) == 0
    text_as_golden("".join(boxes), f"tour-{size[0]}x{size[1]}")


def boxed(lines: list[str]) -> str:
    """Where the box stands, and its lines."""
    top = next(row for row, line in enumerate(lines) if "━━ tour " in line)
    left = lines[top].index("┏")
    end = next(row for row in range(top, len(lines)) if lines[row][left] == "┗")
    box = [line[left : left + 64] for line in lines[top : end + 1]]
    return "\n".join((f"line {top + 1}, column {left + 1}", *box, "", ""))


async def test_doing_what_a_step_asks_for_ends_it(desk: Desk) -> None:
    async with touring(desk) as (app, pilot):
        for number, key in enumerate(("j", "1", "enter", "n", "C", "L", "D", "S"), 1):
            assert step(app) == number
            await press(pilot, key)
        assert step(app) == 9
        await press(pilot, "question_mark", "escape")
        assert step(app) == 0


async def test_no_key_is_taken_from_anybody(desk: Desk) -> None:
    async with touring(desk) as (app, pilot):
        await press(pilot, "f")
        assert "episodes 2 of 3" in screen_text(app)
        assert step(app) == 1
        await press(pilot, "slash", *"attack", "space", *"x")
        assert app.screen is not app.here
        await press(pilot, "escape")
        assert step(app) == 1, "Esc closed the box it was pressed in, and not the tour"
        await press(pilot, "R")
        assert "It continues at Scorecard: space goes there." in screen_text(app)
        await press(pilot, "space")
        assert "[Scorecard]" in screen_text(app)
        assert step(app) == 1


async def test_somebody_who_runs_ahead_is_followed(desk: Desk) -> None:
    async with touring(desk) as (app, pilot):
        await press(pilot, "D")
        assert step(app) == 8
        await press(pilot, "S")
        assert step(app) == 9


async def test_going_back_from_a_trace_does_not_end_it(desk: Desk) -> None:
    async with touring(desk) as (app, pilot):
        await press(pilot, "space", "space", "space")
        assert step(app) == 4
        await press(pilot, "q")
        assert "It continues at Trajectory: space goes there." in screen_text(app)
        await press(pilot, "space", "n")
        assert step(app) == 5


async def test_esc_leaves_it_at_any_time_and_then_means_what_it_means(desk: Desk) -> None:
    async with touring(desk) as (app, pilot):
        await press(pilot, "space", "space", "enter")
        assert step(app) == 4
        await press(pilot, "escape")
        assert step(app) == 0
        assert "[Trajectory]" in screen_text(app)
        await press(pilot, "escape")
        assert "[Scorecard]" in screen_text(app)
        await press(pilot, "space")
        assert step(app) == 0


async def test_the_words_of_the_box_are_buttons(desk: Desk) -> None:
    async with touring(desk) as (app, pilot):
        for words, then in (("space next", 2), ("Esc leave", 0)):
            lines = screen_text(app).splitlines()
            row = next(n for n, line in enumerate(lines) if words in line)
            await pilot.click(offset=(lines[row].index(words) + 1, row))
            await settle(pilot)
            assert step(app) == then


async def test_it_stands_beside_its_target_in_a_new_size_too(desk: Desk) -> None:
    async with touring(desk, (140, 40)) as (app, pilot):
        for size in ((80, 24), (60, 20), (200, 60)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert step(app) == 1
            assert all(len(line) <= size[0] for line in screen_text(app).splitlines())


async def test_blind_stays_blind(desk: Desk) -> None:
    async with touring(desk) as (app, pilot):
        await press(pilot, "L")
        assert step(app) == 7
        text = screen_text(app)
        assert "refund-agent" not in text
        assert "gate" not in text


async def test_without_a_candidate_it_says_where_there_is_one(empty: Desk) -> None:
    async with touring(empty) as (app, _):
        assert step(app) == 0
        assert "the tour needs a candidate: reviewer demo shows it" in screen_text(app)


async def test_the_palette_begins_it(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+p", *"tour", "enter")
        assert step(app) == 1


# the first time


@pytest.fixture
def nobody_saw_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


async def first(shop: Bent, settings: Settings) -> int:
    app = shell(shop, tour=True, settings=settings)
    async with running(app) as pilot:
        await settle(pilot)
        return step(app)


async def test_it_is_shown_once(shop: Bent, nobody_saw_it: Path) -> None:
    assert await first(shop, Settings(tour=False)) == 0
    assert await first(shop, Settings()) == 1
    assert (state_folder() / "tour-seen").exists()
    assert await first(shop, Settings()) == 0


async def test_where_nothing_can_be_written_it_is_shown_again(
    shop: Bent, nobody_saw_it: Path
) -> None:
    nobody_saw_it.write_text("not a folder")
    assert await first(shop, Settings()) == 1
    assert await first(shop, Settings()) == 1


def test_the_demo_opens_with_it_in_a_terminal(tmp_path: Path) -> None:
    import sys

    with terminal(tmp_path) as pane:
        pane.open(
            [
                *("env", f"XDG_STATE_HOME={tmp_path}/state", f"XDG_CONFIG_HOME={tmp_path}/config"),
                *(sys.executable, "-P", "-m", "reviewer", "demo", "--keep", f"{tmp_path}/desk"),
            ]
        )
        pane.until(lambda shown: "tour 1 of 9" in shown, "the first step")
        pane.press("Space")
        pane.until(lambda shown: "tour 2 of 9" in shown, "the second step")
        pane.until(lambda shown: "▲ BLOCK" in shown, "the verdict of the first candidate")
        pane.press("1")
        pane.until(lambda shown: "tour 3 of 9" in shown, "the third step")
        pane.press("Enter")
        pane.until(lambda shown: "tour 4 of 9" in shown, "the trace")
        pane.press("Escape")
        pane.until(lambda shown: "tour" not in shown, "its end")
        pane.press("C-q")
        asked = "a run is in progress"
        pane.until(lambda shown: asked in shown or "live" not in shown, "the end, or a question")
        if asked in pane.screen():  # on a slow machine its runs are not done yet
            pane.press("j", "j", "Enter")
        pane.until(lambda shown: "Pane is dead" in shown or "live" not in shown, "the end")
        assert (tmp_path / "state/reviewer/tour-seen").exists()
