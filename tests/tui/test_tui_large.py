"""A scorecard of many rows: the first of them at once, figures when they come, and nothing read
again that has not changed."""

import threading
from collections.abc import Callable, Container, Sequence
from typing import Any

from doors import SUITE, V7, V8
from msgspec.structs import replace
from template import Bent, many
from test_tui_flows import changed
from test_tui_screens import running, shell
from tui_probe import come, press, screen_text, settle

from reviewer.desk.views import EpisodeRow, Scorecard
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.scorecard.reading import FIRST
from reviewer.tui.widgets.grid import Grid

MANY = 1000
FAR = 700


class Large:
    """A desk of a thousand rows, and what a test changes of it.

    `figures` have to be let come; rows of `red` are those of another candidate; `changes` are made
    to every card; `keys` reorders what is asked for; `clock` is what the desk's clock shows.
    """

    def __init__(self, shop: Bent) -> None:
        self.figures = threading.Event()
        self.figures.set()
        self.red: dict[int, str] = {}
        self.changes: dict[str, Any] = {}
        self.keys: Callable[[list[int]], list[int]] = lambda keys: keys
        self.clock: int | None = None
        self.desk = Bent(many(shop, MANY), {
            "scorecards.order": lambda real, *args: self.keys(real(*args)),
            "scorecards.rows": self._rows,
            "scorecards.card": self._card,
            "scorecards.maybe_red": self._maybe_red,
            "scorecards.episode_key": lambda _, __, name: int(name.rpartition("-")[2]),
            "scorecards.clock": lambda real, *args: self.clock or real(*args),
        })  # fmt: skip

    @property
    def orders(self) -> list[tuple[str, int]]:
        """How rows were asked for: by what, and how many at most."""
        return [
            (str(by), most[0] if most else -1)
            for _, _, by, _, _, _, *most in self.desk.asked("scorecards.order")
        ]

    @property
    def fetched(self) -> set[int]:
        """The rows that were asked for."""
        return {key for *_, keys in self.desk.asked("scorecards.rows") for key in keys}

    @property
    def cards(self) -> int:
        """How often figures were asked for."""
        return len(self.desk.asked("scorecards.card"))

    def _rows(self, real: Any, suite_id: str, candidate_id: str, keys: list[int]) -> list[Any]:
        other = [key for key in keys if key in self.red]
        found = {row.key: row for row in real(suite_id, candidate_id, keys)}
        for key in other:
            [found[key]] = real(suite_id, self.red[key], [key])
        return [found[key] for key in keys]

    def _card(self, real: Callable[..., Scorecard], *args: Any) -> Scorecard:
        assert self.figures.wait(60)
        return replace(real(*args), **self.changes)

    def _maybe_red(self, _: object, suite_id: str, candidate_ids: Sequence[str]) -> Container[int]:
        return frozenset(self.red) if V8 in candidate_ids else range(MANY)


async def test_rows_stand_before_the_figures_and_are_worked_in(shop: Bent) -> None:
    large = Large(shop)
    large.figures.clear()
    app = shell(large.desk)
    async with running(app) as pilot:
        await come(pilot, lambda: len(app.screen.query_one(Grid).keys) == MANY)
        grid, text = app.screen.query_one(Grid), screen_text(app)
        assert f"reading the figures of {V7}" in text
        assert "attack-014" in text
        assert "BLOCK" not in text
        assert "next red" in text, "the keys that work are the ones that are shown"
        assert large.orders[:2] == [("worst", FIRST), ("worst", -1)]
        await pilot.press("G")
        await come(pilot, lambda: grid.row == MANY - 1)
        large.figures.set()
        await settle(pilot)
        assert "▲ BLOCK" in screen_text(app)
        assert f"episodes {MANY:,} of {MANY:,}" in screen_text(app)
        assert grid.row == MANY - 1, "nothing moves under a reader who is at work"


async def test_figures_come_however_steadily_somebody_writes(shop: Bent) -> None:
    """What was written while they were worked out is read after, not in their stead."""
    large = Large(shop)
    large.clock = 1
    may_end = threading.Semaphore(0)

    def card(real: Callable[..., Scorecard], *args: Any) -> Scorecard:
        if large.cards <= 8:  # there is always more by the time that it is done
            assert large.clock is not None
            large.clock += 1
            app.post_message(ReviewerApp.StoreChanged(large.clock))
        assert may_end.acquire(timeout=60)
        return real(*args)

    app = shell(Bent(large.desk, {"scorecards.card": card}))
    async with running(app) as pilot:
        may_end.release()
        await come(pilot, lambda: "▲ BLOCK" in screen_text(app))
        may_end.release(100)
        await come(pilot, lambda: large.cards > 8)
        await settle(pilot)
        assert "▲ BLOCK" in screen_text(app), "and what came last is shown in the end"


async def test_a_reader_who_waits_is_taken_to_the_first_reason_wherever_it_is(shop: Bent) -> None:
    large = Large(shop)
    card = shop.scorecards.card(SUITE, V7)
    [row] = large.desk.scorecards.rows(SUITE, V7, [FAR])
    [where] = card.reasons[0].evidence
    first = replace(card.reasons[0], evidence=(replace(where, episode_id=row.episode_id),))
    large.changes["reasons"] = (first, *card.reasons[1:])
    large.desk.calls.clear()
    app = shell(large.desk)
    async with running(app) as pilot:
        await settle(pilot)
        grid = app.screen.query_one(Grid)
        assert (grid.row, grid.column) == (FAR, "authority")
        assert len(large.fetched) < 5 * FIRST // 4, "the rows in between were not fetched"


async def test_a_new_order_shows_its_first_rows_and_then_has_them_all(shop: Bent) -> None:
    large = Large(shop)
    app = shell(large.desk)
    async with running(app) as pilot:
        await settle(pilot)
        large.desk.calls.clear()
        await press(pilot, "f")
        assert large.orders == [("worst", FIRST), ("worst", -1)]
        grid = app.screen.query_one(Grid)
        await press(pilot, "G")
        assert len(grid.keys) == MANY
        assert grid.row == MANY - 1
        assert f"episodes {MANY:,} of {MANY:,}" in screen_text(app)


async def test_rows_that_were_written_between_the_two_answers_are_not_lost(shop: Bent) -> None:
    large = Large(shop)
    large.keys = lambda keys: keys if len(keys) == FIRST else keys[::-1]
    app = shell(large.desk)
    async with running(app) as pilot:
        await settle(pilot)
        grid = app.screen.query_one(Grid)
        assert list(grid.keys) == list(range(MANY))[::-1]
        first = grid.at(0)
        assert isinstance(first, EpisodeRow)
        assert first.key == MANY - 1


async def test_what_is_about_nothing_shown_is_not_read_again(shop: Bent) -> None:
    large = Large(shop)
    large.clock = 1
    app = shell(large.desk)
    async with running(app) as pilot:
        await settle(pilot)
        cards, orders = large.cards, len(large.orders)
        for _ in range(3):
            await changed(pilot)
        assert (large.cards, len(large.orders)) == (cards, orders)
        large.clock = 2
        large.changes["critical"] = 0
        await changed(pilot)
        assert large.cards == cards + 1
        assert "critical 0 of 9" in screen_text(app)


async def test_opening_asks_for_each_thing_once(shop: Bent) -> None:
    for desk in (Large(shop).desk, shop):
        desk.calls.clear()
        app = shell(desk)
        async with running(app) as pilot:
            await settle(pilot)
            assert len(desk.asked("scorecards.card")) == 1


async def test_the_next_red_cell_is_fetched_and_not_what_lies_between(shop: Bent) -> None:
    large = Large(shop)
    large.red = {FAR: V7, FAR + 60: V7}
    app = shell(large.desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "greater_than_sign")
        grid = app.screen.query_one(Grid)
        assert "✓ PROMOTE" in screen_text(app)
        large.desk.calls.clear()
        await press(pilot, "home", "n")
        assert grid.row == FAR
        assert len(large.fetched) < FIRST
        await press(pilot, "G", "N")
        assert grid.row == FAR + 60
        await press(pilot, "home", "N")
        assert "no more red cells" in screen_text(app)


async def test_no_figure_of_one_candidate_stands_above_rows_of_another(shop: Bent) -> None:
    large = Large(shop)
    app = shell(large.desk)
    async with running(app) as pilot:
        await settle(pilot)
        assert "▲ BLOCK" in screen_text(app)
        large.figures.clear()
        await pilot.press("greater_than_sign")
        await come(
            pilot,
            lambda: (
                V8 in screen_text(app).splitlines()[1]
                and len(app.screen.query_one(Grid).keys) == MANY
            ),
        )
        text = screen_text(app)
        assert f"reading the figures of {V8}" in text
        assert "BLOCK" not in text
        assert "PROMOTE" not in text
        large.figures.set()
        await settle(pilot)
        assert "✓ PROMOTE" in screen_text(app)
