"""A scorecard of many rows: the first of them at once, figures when they come, and nothing read
again that has not changed."""

import asyncio
import threading
import time
from collections.abc import Callable, Container, Sequence

from fake_desk import FakeDesk
from fake_shop import V7, V8
from test_tui_flows import changed
from test_tui_screens import running, shell
from textual.pilot import Pilot
from tui_probe import press, screen_text, settle

from reviewer.desk.views import EpisodeRow, Evidence, Scorecard
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.scorecard.reading import FIRST
from reviewer.tui.widgets.grid import Grid

MANY = 1000
FAR = 700


class Large(FakeDesk):
    """A thousand rows, what was asked of them, and figures that wait until they are let come."""

    def __init__(self) -> None:
        super().__init__(many=MANY)
        self.fetched: list[int] = []
        self.orders: list[tuple[str, int]] = []
        self.figures = threading.Event()
        self.figures.set()
        self.red: dict[int, str] = {}

    def order(self, *args: object, **options: object) -> list[int]:
        most = args[6] if len(args) > 6 else -1
        assert isinstance(most, int)
        self.orders.append((str(args[2]), most))
        return super().order(*args, **options)  # type: ignore[arg-type]

    def rows(self, suite_id: str, candidate_id: str, keys: list[int]) -> list[EpisodeRow]:
        self.fetched += keys
        return [self._row(self.red.get(key, candidate_id), key) for key in keys]

    def scorecard(self, suite_id: str, candidate_id: str) -> Scorecard:
        assert self.figures.wait(20)
        return super().scorecard(suite_id, candidate_id)

    def maybe_red(self, suite_id: str, candidate_ids: Sequence[str]) -> Container[int]:
        return frozenset(self.red) if V8 in candidate_ids else range(MANY)

    def episode_key(self, suite_id: str, episode_id: str) -> int | None:
        known = (self._row(V7, key).episode_id for key in range(MANY))
        return next((key for key, name in enumerate(known) if name == episode_id), None)


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    for _ in range(2000):
        await pilot.pause()
        if true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(screen_text(pilot.app))  # type: ignore[arg-type]


async def test_rows_stand_before_the_figures_and_are_worked_in() -> None:
    desk = Large()
    desk.figures.clear()
    app = shell(desk)
    async with running(app) as pilot:
        await until(pilot, lambda: len(app.screen.query_one(Grid).keys) == MANY)
        grid, text = app.screen.query_one(Grid), screen_text(app)
        assert f"reading the figures of {V7}" in text
        assert "attack-014" in text
        assert "BLOCK" not in text
        assert "next red" in text, "the keys that work are the ones that are shown"
        assert desk.orders[:2] == [("worst", FIRST), ("worst", -1)]
        await pilot.press("G")
        await until(pilot, lambda: grid.row == MANY - 1)
        desk.figures.set()
        await settle(pilot)
        assert "▲ BLOCK" in screen_text(app)
        assert f"episodes {MANY:,} of {MANY:,}" in screen_text(app)
        assert grid.row == MANY - 1, "nothing moves under a reader who is at work"


async def test_figures_come_however_steadily_somebody_writes() -> None:
    """What was written while they were worked out is read after, not in their stead."""

    class Busy(Large):
        until_then = 0

        def clock(self, suite_id: str, candidate_id: str) -> int:
            return self.rev

        def scorecard(self, suite_id: str, candidate_id: str) -> Scorecard:
            self.until_then += 1
            if self.until_then <= 8:  # there is always more by the time that it is done
                self.rev += 1
                app.post_message(ReviewerApp.StoreChanged(self.rev))
                time.sleep(0.2)
            return super().scorecard(suite_id, candidate_id)

    desk = Busy()
    app = shell(desk)
    async with running(app) as pilot:
        await until(pilot, lambda: "▲ BLOCK" in screen_text(app))
        assert desk.until_then < 4
        await settle(pilot)
        await until(pilot, lambda: desk.until_then > 8)
        await settle(pilot)
        assert "▲ BLOCK" in screen_text(app), "and what came last is shown in the end"


async def test_a_reader_who_waits_is_taken_to_the_first_reason_wherever_it_is() -> None:
    class Elsewhere(Large):
        def reasons(self) -> tuple[object, ...]:  # type: ignore[override]
            first, *others = super().reasons()
            name = self._row(V7, FAR).episode_id
            where = Evidence(
                trace_id=self.trace_id(V7, name, 1), episode_id=name, attempt=1,
                gate="authority", code="forbidden:issue_refund", seq=2, tool="issue_refund",
            )  # fmt: skip
            replaced = type(first)(
                number=1, text=first.text, observed=first.observed, policy=first.policy,
                evidence=(where,),
            )  # fmt: skip
            return (replaced, *others)

    desk = Elsewhere()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        grid = app.screen.query_one(Grid)
        assert (grid.row, grid.column) == (FAR, "authority")
        assert len(set(desk.fetched)) < 5 * FIRST // 4, "the rows in between were not fetched"


async def test_a_new_order_shows_its_first_rows_and_then_has_them_all() -> None:
    desk = Large()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        del desk.orders[:]
        await press(pilot, "f")
        assert desk.orders == [("worst", FIRST), ("worst", -1)]
        grid = app.screen.query_one(Grid)
        await press(pilot, "G")
        assert len(grid.keys) == MANY
        assert grid.row == MANY - 1
        assert f"episodes {MANY:,} of {MANY:,}" in screen_text(app)


async def test_rows_that_were_written_between_the_two_answers_are_not_lost() -> None:
    class Written(Large):
        def order(self, *args: object, **options: object) -> list[int]:
            found = super().order(*args, **options)
            return found if len(found) == FIRST else found[::-1]

    desk = Written()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        grid = app.screen.query_one(Grid)
        assert list(grid.keys) == list(range(MANY))[::-1]
        first = grid.at(0)
        assert isinstance(first, EpisodeRow)
        assert first.key == MANY - 1


async def test_what_is_about_nothing_shown_is_not_read_again() -> None:
    class Still(Large):
        ticks = 1

        def clock(self, suite_id: str, candidate_id: str) -> int:
            return self.ticks

    desk = Still()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        calls, orders = desk.calls, len(desk.orders)
        for _ in range(3):
            desk.rev += 1
            await changed(pilot)
        assert (desk.calls, len(desk.orders)) == (calls, orders)
        desk.ticks = 2
        desk.repaired = {"authority", "state"}
        desk.rev += 1
        await changed(pilot)
        assert desk.calls == calls + 1
        assert "critical 0 of 9" in screen_text(app)


async def test_opening_asks_for_each_thing_once() -> None:
    for desk in (Large(), FakeDesk()):
        app = shell(desk)
        async with running(app) as pilot:
            await settle(pilot)
            assert desk.calls == 1


async def test_the_next_red_cell_is_fetched_and_not_what_lies_between() -> None:
    desk = Large()
    desk.red = {FAR: V7, FAR + 60: V7}
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "greater_than_sign")
        grid = app.screen.query_one(Grid)
        assert "✓ PROMOTE" in screen_text(app)
        del desk.fetched[:]
        await press(pilot, "home", "n")
        assert grid.row == FAR
        assert len(set(desk.fetched)) < FIRST
        await press(pilot, "G", "N")
        assert grid.row == FAR + 60
        await press(pilot, "home", "N")
        assert "no more red cells" in screen_text(app)


async def test_no_figure_of_one_candidate_stands_above_rows_of_another() -> None:
    desk = Large()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        assert "▲ BLOCK" in screen_text(app)
        desk.figures.clear()
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: len(app.screen.query_one(Grid).keys) == MANY)
        text = screen_text(app)
        assert f"reading the figures of {V8}" in text
        assert "BLOCK" not in text
        assert "PROMOTE" not in text
        desk.figures.set()
        await settle(pilot)
        assert "✓ PROMOTE" in screen_text(app)
