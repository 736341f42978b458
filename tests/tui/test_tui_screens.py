"""What each screen says, to the character."""

from pathlib import Path

import pytest
from fake_desk import FakeDesk
from tui_probe import SIZES, press, same_as_golden, screen_text, settle, strips

from reviewer.desk.errors import DeskError
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.settings.settings import Settings


def shell(desk: FakeDesk, **options: object) -> ReviewerApp:
    return ReviewerApp(desk, watch=False, ascii_only=False, **options)  # type: ignore[arg-type]


def running(app: ReviewerApp, size: tuple[int, int] = (80, 24)):
    return app.run_test(size=size, notifications=True, tooltips=True)


SCREENS: dict[str, tuple[tuple[str, ...], dict[str, bool]]] = {
    "scorecard": ((), {}),
    "scorecard-v8": (("greater_than_sign",), {}),
    "scorecard-failing": (("f",), {}),
    "filter": (("slash", *"gate:au"), {}),
    "trajectory": (("enter",), {}),
    "trajectory-state": (("enter", "v"), {}),
    "decision": (("D",), {}),
    "decision-markdown": (("D", "v"), {}),
    "sign": (("D", "enter"), {}),
    "export": (("x",), {}),
    "runs": (("R",), {}),
    "import": (("i",), {}),
    "help": (("question_mark",), {}),
    "help-keys": (("question_mark", "v"), {}),
    "choose": (("c",), {}),
    "theme": (("ctrl+t",), {}),
    "settings": (("ctrl+p", *"settings", "enter"), {}),
    "palette": (("ctrl+p", *"red"), {}),
    "empty": ((), {"empty": True}),
    "error": ((), {"broken": True}),
    "hostile": ((), {"hostile": True}),
}
"""Screens and the keys that lead there, on a desk of this kind."""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SCREENS)
async def test_every_screen_to_the_character(name: str, size: tuple[int, int]) -> None:
    keys, kind = SCREENS[name]
    app = shell(FakeDesk(**kind), settings=Settings(file=Path("/home/dana/settings.toml")))  # type: ignore[arg-type]
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        same_as_golden(app, f"{name}-{size[0]}x{size[1]}")


@pytest.mark.parametrize("size", [(120, 36), (140, 40), (60, 20)])
async def test_scorecard_uses_the_room_it_has(size: tuple[int, int]) -> None:
    app = shell(FakeDesk())
    async with running(app, size) as pilot:
        await settle(pilot)
        same_as_golden(app, f"scorecard-{size[0]}x{size[1]}")


async def test_trajectory_at_140_by_40() -> None:
    app = shell(FakeDesk())
    async with running(app, (140, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        same_as_golden(app, "trajectory-140x40")


async def test_every_line_fills_its_width_on_every_screen() -> None:
    for size in ((60, 20), (80, 24), (133, 31)):
        app = shell(FakeDesk(hostile=True))
        async with running(app, size) as pilot:
            await settle(pilot)
            for key in ("enter", "D", "R", "question_mark"):
                assert {strip.cell_length for strip in strips(app)} == {size[0]}
                await press(pilot, key)


async def test_a_small_terminal_says_what_would_show_more() -> None:
    app = shell(FakeDesk())
    async with running(app, (60, 20)) as pilot:
        await settle(pilot)
        assert "80x24 shows more" in screen_text(app)
        await press(pilot, "enter", "escape", "D", "enter", "escape", "R")
        await pilot.resize_terminal(20, 6)
        await settle(pilot)
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "sources 1" in screen_text(app)


async def test_an_unreadable_store_says_so_and_reads_again_on_r() -> None:
    class Unreadable(FakeDesk):
        def opening(self) -> tuple[str, str] | None:
            if self.broken:
                raise DeskError("store/review.db is not a database", "reviewer doctor")
            return super().opening()

    desk = Unreadable(broken=True)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        assert "store/review.db is not a database" in screen_text(app)
        assert "reviewer doctor" in screen_text(app)
        desk.broken = False
        await press(pilot, "r")
        assert "▲ BLOCK" in screen_text(app)


async def test_empty_gives_way_to_the_first_trace() -> None:
    desk = FakeDesk(empty=True)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        assert "import traces you already have" in screen_text(app)
        await press(pilot, "enter")
        assert "Enter looks at the path and writes nothing" in screen_text(app)
        await press(pilot, "escape")
        desk.empty = False
        app.post_message(ReviewerApp.StoreChanged(2))
        await settle(pilot)
        assert "attack-014   ✓pass ✗FAIL[▲CRIT]" in screen_text(app)
        assert "start here" not in screen_text(app)
