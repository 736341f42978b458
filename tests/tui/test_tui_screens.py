"""What each screen says, to the character."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doors import SHIPPED, Door
from template import Bent, holding, opened
from tui_probe import SIZES, press, same_as_golden, screen_text, settle, strips

from reviewer.desk.errors import DeskError
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.scorecard.screen import ScorecardScreen
from reviewer.tui.settings.settings import Settings
from reviewer.tui.shell.background import Answer


def shell(desk: Any, **options: object) -> ReviewerApp:
    return ReviewerApp(desk, watch=False, ascii_only=False, **options)  # type: ignore[arg-type]


def running(app: ReviewerApp, size: tuple[int, int] = (80, 24)):
    return app.run_test(size=size, notifications=True, tooltips=True)


SCREENS: dict[str, tuple[tuple[str, ...], str]] = {
    "scorecard": ((), "shop"),
    "scorecard-v8": (("greater_than_sign",), "shop"),
    "scorecard-failing": (("f",), "shop"),
    "filter": (("slash", *"gate:au"), "shop"),
    "trajectory": (("enter",), "shop"),
    "trajectory-state": (("enter", "v"), "shop"),
    "decision": (("D",), "shop"),
    "decision-markdown": (("D", "v"), "shop"),
    "sign": (("D", "enter"), "shop"),
    "export": (("x",), "shop"),
    "runs": (("R",), "shop"),
    "import": (("i",), "shop"),
    "help": (("question_mark",), "shop"),
    "help-keys": (("question_mark", "v"), "shop"),
    "choose": (("c",), "shop"),
    "finder": (("colon", *"refund"), "shop"),
    "quit": (("q",), "shop"),
    "theme": (("ctrl+t",), "shop"),
    "settings": (("ctrl+p", *"settings", "enter"), "shop"),
    "palette": (("ctrl+p", *"red"), "shop"),
    "empty": ((), "empty"),
    "error": ((), "broken"),
    "locked": (("escape",), "broken"),
    "hostile": ((), "hostile"),
}
"""Screens and the keys that lead there, on the desk of this fixture."""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SCREENS)
async def test_every_screen_to_the_character(
    name: str, size: tuple[int, int], request: pytest.FixtureRequest
) -> None:
    keys, kind = SCREENS[name]
    desk = holding(request.getfixturevalue(kind))
    app = shell(desk, settings=Settings(file=Path("/home/dana/settings.toml")))
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        same_as_golden(app, f"{name}-{size[0]}x{size[1]}")


@pytest.mark.parametrize("size", [(120, 36), (140, 40), (60, 20)])
async def test_scorecard_uses_the_room_it_has(shop: Bent, size: tuple[int, int]) -> None:
    app = shell(shop)
    async with running(app, size) as pilot:
        await settle(pilot)
        same_as_golden(app, f"scorecard-{size[0]}x{size[1]}")


async def test_trajectory_at_140_by_40(shop: Bent) -> None:
    app = shell(shop)
    async with running(app, (140, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        same_as_golden(app, "trajectory-140x40")


async def test_every_line_fills_its_width_on_every_screen(hostile: Bent) -> None:
    for size in ((60, 20), (80, 24), (133, 31)):
        app = shell(hostile)
        async with running(app, size) as pilot:
            await settle(pilot)
            for key in ("enter", "D", "R", "question_mark"):
                assert {strip.cell_length for strip in strips(app)} == {size[0]}
                await press(pilot, key)


async def test_a_small_terminal_says_what_would_show_more(shop: Bent) -> None:
    app = shell(shop)
    async with running(app, (60, 20)) as pilot:
        await settle(pilot)
        assert "80x24 shows more" in screen_text(app)
        await press(pilot, "enter", "escape", "D", "enter", "escape", "R")
        await pilot.resize_terminal(20, 6)
        await settle(pilot)
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "sources 3" in screen_text(app)


async def test_a_dialog_that_comes_before_a_key_leads_elsewhere_is_closed(shop: Bent) -> None:
    """Else the next screen takes the dialog's place, and the way back ends with an error."""
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "question_mark")
        assert len(app.screen_stack) == 3
        await app.action_back()
        await settle(pilot)
        assert (app.screen, len(app.screen_stack)) == (app.here, 2)
        await press(pilot, "question_mark")
        app.action_go("decision")
        await settle(pilot)
        assert (app.screen, len(app.screen_stack)) == (app.here, 2)
        await press(pilot, "escape", "escape")
        assert len(app.screen_stack) == 2


async def test_an_unreadable_store_says_so_and_reads_again_on_r(shop: Bent) -> None:
    unreadable = [True]

    def opening(real: Callable[[], object]) -> object:
        if unreadable:
            raise DeskError("store/review.db is not a database", "reviewer doctor")
        return real()

    app = shell(shop.bend("workspace.opening", opening))
    async with running(app) as pilot:
        await settle(pilot)
        assert "store/review.db is not a database" in screen_text(app)
        assert "reviewer doctor" in screen_text(app)
        unreadable.clear()
        await press(pilot, "r")
        assert "▲ BLOCK" in screen_text(app)


async def test_empty_gives_way_to_the_first_trace(door: Door) -> None:
    app = shell(opened(door.root))
    async with running(app) as pilot:
        await settle(pilot)
        assert "import traces you already have" in screen_text(app)
        await press(pilot, "enter")
        assert "Enter reads the path and writes nothing" in screen_text(app)
        await press(pilot, "escape")
        door.ok("import", SHIPPED / "traces")
        app.post_message(ReviewerApp.StoreChanged(2))
        await settle(pilot)
        assert "attack-014   ✓pass ✗FAIL[▲CRIT]" in screen_text(app)
        assert "start here" not in screen_text(app)


def test_an_answer_for_a_screen_that_is_gone_draws_nothing() -> None:
    """The program may be told to end while a screen waits for its first figures."""
    told: list[str] = []
    ScorecardScreen().on_answer(Answer(lambda: told.append("drawn")))
    assert told == []
