"""Trends on screen: a plot that reads, its numbers at the cursor, its table a key away."""

from typing import Any

import msgspec
import pytest
from fake_desk import FakeDesk
from fake_shop import HOSTILE, SUITE, V7, V8
from fake_trends import trends
from test_tui_screens import running, shell
from textual.binding import Binding
from tui_probe import press, same_as_golden, screen_text, settle, strips

from reviewer.desk.errors import DeskError
from reviewer.desk.trends.views import Trends
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.scorecard.screen import ScorecardScreen
from reviewer.tui.screens.trends import TrendsScreen, short_names
from reviewer.tui.settings.keys import VERBS
from reviewer.tui.widgets.grid import Grid


class Many(FakeDesk):
    """A desk whose trends a test chooses."""

    names: tuple[str, ...] = (V7, V8)
    earlier = 0
    refuse_trends: DeskError | None = None
    changes: dict[str, Any] = {}  # noqa: RUF012

    def trend_figures(self, suite_id: str) -> Trends:
        if self.refuse_trends is not None:
            raise self.refuse_trends
        found = trends(self.suite(), self.names, self.earlier)
        return msgspec.structs.replace(found, **self.changes)


def many(count: int) -> Many:
    desk = Many()
    desk.names = tuple(f"refund-agent-v{number + 7}" for number in range(count))
    return desk


@pytest.mark.parametrize(
    ("name", "count", "size", "keys"),
    [
        ("trends-80x24", 2, (80, 24), ()),
        ("trends-table-80x24", 2, (80, 24), ("v",)),
        ("trends-cpst-80x24", 12, (80, 24), ("k", "k")),
        ("trends-100x30", 2, (100, 30), ()),
        ("trends-200x60", 12, (200, 60), ()),
        ("trends-50-80x24", 50, (80, 24), ("G",)),
    ],
)
async def test_the_trends_to_the_character(
    name: str, count: int, size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    app = shell(many(count))
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "E", *keys)
        same_as_golden(app, name)


async def test_one_key_leads_there_and_esc_back() -> None:
    app = shell(many(2))
    async with running(app) as pilot:
        await settle(pilot)
        for way in ((), ("D",), ("R",)):
            await press(pilot, *way, "E")
            first = screen_text(app).splitlines()[0]
            assert "Runs[trEnds]" in first
            await press(pilot, "escape")
            assert "[trEnds]" not in screen_text(app).splitlines()[0]


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
@pytest.mark.parametrize("keys", [("g",), ("G",)])
async def test_every_candidate_of_four_is_named_under_its_point(
    size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    desk = many(2)
    desk.names = (V7, V8, "checkout-agent-v9", "cand-d")
    app = shell(desk)
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "E", *keys)
        names = next(line for line in screen_text(app).splitlines() if "cand-d" in line)
        left = [word.strip("[]") for word in names.split("│")[0].split()]
        assert left == [V7, V8, "checkout-agent-v9", "cand-d"]


async def test_moving_says_the_numbers_of_the_point() -> None:
    app = shell(many(3))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "g")
        assert f"✗ {V7} 0.778 [0.453, 0.937], missed: above 0.85" in screen_text(app)
        await press(pilot, "l")
        assert f"✓ {V8} 1.000 [0.439, 1.000], met: above 0.85" in screen_text(app)
        assert "[v8]" in screen_text(app)
        await press(pilot, "right", "right", "right")
        assert "[v9]" in screen_text(app)
        await press(pilot, "h", "left")
        assert "[v7]" in screen_text(app)


async def test_figures_follow_one_another_both_ways_round() -> None:
    app = shell(many(2))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E")
        seen = []
        for _ in range(7):
            seen.append(screen_text(app).splitlines()[3].split("━━")[1].strip().rsplit("er", 2)[0])
            await press(pilot, "tab")
        assert len(set(seen)) == 7
        await press(pilot, "k")
        assert "━━ pass^3 ↑" in screen_text(app)
        await press(pilot, "j")
        assert "━━ completion ↑" in screen_text(app)


async def test_what_is_not_measured_leaves_a_gap_and_says_why() -> None:
    app = shell(many(2))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "j", "j")
        text = screen_text(app)
        assert "○ not measured: no labels yet" in text
        assert "●" not in text
        await press(pilot, "v")
        assert screen_text(app).count("○ n/m  no labels yet") == 2


async def test_a_target_of_something_else_is_told_and_not_drawn() -> None:
    app = shell(many(2))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "j", "j", "j")
        text = screen_text(app)
        assert "the articles say below 0.005, and not near 0: theirs is of all outputs" in text
        assert "┼" not in text


async def test_n_goes_to_what_misses_its_target() -> None:
    app = shell(many(5))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "g", "n")
        assert "[v9]" in screen_text(app)
        await press(pilot, "n", "n")
        assert "no more candidates that way whose figure misses its target" in screen_text(app)
        assert "[v11]" in screen_text(app)
        await press(pilot, "N")
        assert "[v9]" in screen_text(app)


async def test_enter_opens_that_candidates_scorecard_and_esc_comes_back() -> None:
    app = shell(many(2))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "G", "enter")
        assert isinstance(app.here, ScorecardScreen)
        assert (app.here.reading.suite_id, app.here.reading.candidate_id) == (SUITE, V8)
        await press(pilot, "escape")
        assert isinstance(app.here, TrendsScreen)
        assert "[v8]" in screen_text(app)


async def test_the_table_moves_by_line_and_keeps_the_cursor_in_sight() -> None:
    app = shell(many(50))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "v", "g")
        assert "› 1   refund-agent-v7 " in screen_text(app)
        await press(pilot, "j", "j")
        assert "› 3   refund-agent-v9 " in screen_text(app)
        await press(pilot, "G")
        assert "› 50  refund-agent-v56" in screen_text(app)
        await press(pilot, "tab")
        assert "━━ efficiency, figure by figure" in screen_text(app)


async def test_copying_gives_the_numbers_in_words() -> None:
    app = shell(many(2))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "G", "k", "y")
        assert app.clipboard == (
            f"{V8}: pass^3 1.000 [0.439, 1.000], met: at least 0.95; 7 of 9 attempts"
        )


async def test_older_candidates_are_counted_and_probes_certify_nothing() -> None:
    desk = many(50)
    desk.earlier = 12
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E")
        assert "the newest 50 of 62 candidates" in screen_text(app)
        desk.changes = {"suite": msgspec.structs.replace(desk.suite(), probe=True)}
        app.post_message(ReviewerApp.StoreChanged(9))
        await settle(pilot)
        assert "○ PROBE, certifies nothing" in screen_text(app)


async def test_a_newcomer_leaves_the_cursor_on_its_candidate() -> None:
    desk = many(3)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "g", "l", "tab")
        desk.names = ("refund-agent-v6", *desk.names)
        app.post_message(ReviewerApp.StoreChanged(9))
        await settle(pilot)
        assert "[v8]" in screen_text(app)
        assert "━━ efficiency" in screen_text(app)


async def test_without_candidates_or_with_a_broken_suite_it_says_so() -> None:
    desk = many(0)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "l", "tab", "v", "n", "y", "enter", "G")
        assert "no candidate has a trace on this suite yet" in screen_text(app)
    desk.refuse_trends = DeskError("the suite does not match its lock", "reviewer suite check")
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "l", "v", "y", "enter")
        assert "○ the suite does not match its lock" in screen_text(app)


@pytest.mark.parametrize("size", [(40, 12), (60, 20), (80, 24), (133, 31), (160, 37), (200, 50)])
async def test_every_line_fills_its_width_at_any_size(size: tuple[int, int]) -> None:
    desk = many(50)
    desk.names = (*desk.names[:-1], HOSTILE)
    for keys in ((), ("v",), ("k", "G"), ("j", "j", "j")):
        app = shell(desk)
        async with running(app, size) as pilot:
            await settle(pilot)
            await press(pilot, "E", *keys)
            assert {strip.cell_length for strip in strips(app)} == {size[0]}
            assert "\x1b" not in screen_text(app)
            assert "\u202e" not in screen_text(app)


async def test_its_keys_mean_what_they_mean_elsewhere() -> None:
    meaning: dict[str, str] = {key: words[0] for key, words in VERBS.items()}
    for binding in (*Grid.BINDINGS, *TrendsScreen.BINDINGS, *ReviewerApp.BINDINGS):
        assert isinstance(binding, Binding)
        for key in binding.key.split(","):
            assert meaning.setdefault(key, str(binding.id)) == binding.id


def test_names_lose_only_what_all_begin_with() -> None:
    assert short_names(["refund-agent-v7", "refund-agent-v8"]) == ["v7", "v8"]
    assert short_names(["gpt-4o", "gpt-4o-mini"]) == ["4o", "4o-mini"]
    assert short_names(["alone-v1"]) == ["alone-v1"]
    assert short_names(["a", "b"]) == ["a", "b"]
    assert short_names(["run-", "run-2"]) == ["run-", "2"]
    assert short_names([]) == []


async def test_a_click_goes_to_a_point_and_another_to_its_scorecard() -> None:
    app = shell(many(3))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "g")
        lines = screen_text(app).splitlines()
        row = next(y for y, line in enumerate(lines) if "[v7]" in line)
        for _ in range(2):
            assert isinstance(app.screen, TrendsScreen)
            await pilot.click(offset=(lines[row].index("v8"), row - 4))
            await settle(pilot)
        assert "[Scorecard]" in screen_text(app)
        assert f"candidate < {V8} >" in screen_text(app)


async def test_a_click_on_a_figure_of_many_takes_it() -> None:
    app = shell(many(3))
    async with running(app, (200, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "E", "g")
        lines = screen_text(app).splitlines()
        row = next(y for y, line in enumerate(lines) if "efficiency ↑" in line)
        await pilot.click(offset=(lines[row].index("efficiency ↑"), row))
        await settle(pilot)
        assert "[✓efficiency]" in screen_text(app)


async def test_a_click_in_the_table_goes_to_its_candidate() -> None:
    app = shell(many(3))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "g", "v")
        lines = screen_text(app).splitlines()
        row = next(y for y, line in enumerate(lines) if "refund-agent-v9" in line)
        await pilot.click(offset=(10, row))
        await settle(pilot)
        assert "› 3   refund-agent-v9" in screen_text(app)
