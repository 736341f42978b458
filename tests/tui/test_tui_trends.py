"""Trends on screen: a plot that reads, its numbers at the cursor, its table a key away."""

from collections.abc import Callable
from typing import Any

import pytest
from doors import SUITE, V7, V8, by_day
from msgspec.structs import replace
from run_desks import stored
from template import HOSTILE, Bent, refusing
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


def with_candidates(shop: Bent, *names: str, **changes: Any) -> dict[str, Any]:
    """Have a desk answer with as many candidates: the figures of v7 and v8 in turn.

    The names and the other fields may be changed later.
    """
    changes["names"] = names

    def figures(real: Callable[[str], Trends], suite_id: str) -> Trends:
        found = real(suite_id)
        names = changes["names"]
        both = [number % 2 for number in range(len(names))]
        return replace(
            found,
            candidates=tuple(
                replace(found.candidates[n], candidate_id=name)
                for n, name in zip(both, names, strict=True)
            ),
            figures=tuple(
                replace(figure, points=tuple(figure.points[n] for n in both))
                for figure in found.figures
            ),
            **{name: value for name, value in changes.items() if name != "names"},
        )

    shop.bend("trends.figures", figures)
    return changes


def numbered(count: int) -> tuple[str, ...]:
    return tuple(f"refund-agent-v{number + 7}" for number in range(count))


def many(shop: Bent, count: int) -> Bent:
    """A desk with so many candidates, beginning with v7 and v8."""
    with_candidates(shop, *numbered(count))
    return shop


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
    name: str, count: int, size: tuple[int, int], keys: tuple[str, ...], shop: Bent
) -> None:
    app = shell(many(shop, count))
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "E", *keys)
        same_as_golden(app, name)


async def test_one_key_leads_there_and_esc_back(shop: Bent) -> None:
    app = shell(many(shop, 2))
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
    size: tuple[int, int], keys: tuple[str, ...], shop: Bent
) -> None:
    with_candidates(shop, V7, V8, "checkout-agent-v9", "cand-d")
    app = shell(shop)
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "E", *keys)
        names = next(line for line in screen_text(app).splitlines() if "cand-d" in line)
        left = [word.strip("[]") for word in names.split("│")[0].split()]
        assert left == [V7, V8, "checkout-agent-v9", "cand-d"]


async def test_moving_says_the_numbers_of_the_point(shop: Bent) -> None:
    app = shell(many(shop, 3))
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


async def test_figures_follow_one_another_both_ways_round(shop: Bent) -> None:
    app = shell(many(shop, 2))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E")
        seen = []
        for _ in range(7):
            seen.append(screen_text(app).splitlines()[3].split("━━")[1].strip().rsplit("er", 2)[0])
            await press(pilot, "j")
        assert len(set(seen)) == 7
        await press(pilot, "k")
        assert "━━ pass^3 ↑" in screen_text(app)
        await press(pilot, "j")
        assert "━━ completion ↑" in screen_text(app)


async def test_what_is_not_measured_leaves_a_gap_and_says_why(shop: Bent) -> None:
    app = shell(many(shop, 2))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "j", "j")
        text = screen_text(app)
        assert "○ not measured: no labels yet" in text
        assert "●" not in text
        await press(pilot, "v")
        assert screen_text(app).count("○ n/m  no labels yet") == 2


async def test_a_target_of_something_else_is_told_and_not_drawn(shop: Bent) -> None:
    app = shell(many(shop, 2))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "j", "j", "j")
        text = screen_text(app)
        assert "guideline, not policy: below 0.005, and not near 0; the guideline count" in text
        assert "┼" not in text


async def test_n_goes_to_what_misses_its_target(shop: Bent) -> None:
    app = shell(many(shop, 5))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "g", "n")
        assert "[v9]" in screen_text(app)
        await press(pilot, "n", "n")
        assert "no more candidates that way whose figure misses its target" in screen_text(app)
        assert "[v11]" in screen_text(app)
        await press(pilot, "N")
        assert "[v9]" in screen_text(app)


async def test_enter_opens_that_candidates_scorecard_and_esc_comes_back(shop: Bent) -> None:
    app = shell(many(shop, 2))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "G", "enter")
        assert isinstance(app.here, ScorecardScreen)
        assert (app.here.reading.suite_id, app.here.reading.candidate_id) == (SUITE, V8)
        await press(pilot, "escape")
        assert isinstance(app.here, TrendsScreen)
        assert "[v8]" in screen_text(app)


async def test_the_table_moves_by_line_and_keeps_the_cursor_in_sight(shop: Bent) -> None:
    app = shell(many(shop, 50))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "v", "g")
        assert "› 1   refund-agent-v7 " in screen_text(app)
        await press(pilot, "j", "j")
        assert "› 3   refund-agent-v9 " in screen_text(app)
        await press(pilot, "G")
        assert "› 50  refund-agent-v56" in screen_text(app)
        await press(pilot, "l")
        assert "━━ efficiency, figure by figure" in screen_text(app)
        await press(pilot, "l", "h", "less_than_sign")
        assert "━━ efficiency, figure by figure" in screen_text(app)
        assert "› 49 " in screen_text(app)
        await press(pilot, "greater_than_sign")
        assert "› 50 " in screen_text(app)


async def test_copying_gives_the_numbers_in_words(shop: Bent) -> None:
    app = shell(many(shop, 2))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "G", "k", "y")
        assert app.clipboard == (
            f"{V8}: pass^3 1.000 [0.439, 1.000], met: at least 0.95; 3 episodes, k=3"
        )


async def test_older_candidates_are_counted_and_probes_certify_nothing(shop: Bent) -> None:
    changes = with_candidates(shop, *numbered(50), earlier=12)
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E")
        assert "the newest 50 of 62 candidates" in screen_text(app)
        [suite] = shop.workspace.suites()
        changes["suite"] = replace(suite, probe=True)
        await stored(pilot)
        assert "○ PROBE, certifies nothing" in screen_text(app)


async def test_a_newcomer_leaves_the_cursor_on_its_candidate(shop: Bent) -> None:
    changes = with_candidates(shop, *numbered(3))
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "g", "l", "j")
        changes["names"] = ("refund-agent-v6", *changes["names"])
        await stored(pilot)
        assert "[v8]" in screen_text(app)
        assert "━━ efficiency" in screen_text(app)


async def test_without_candidates_or_with_a_broken_suite_it_says_so(shop: Bent) -> None:
    app = shell(many(shop, 0))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "l", "j", "v", "n", "y", "enter", "G")
        assert "no candidate has a trace on this suite yet" in screen_text(app)
    error = DeskError("the suite does not match its lock", "reviewer suite check")
    app = shell(shop.bend("trends.figures", refusing(error)))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "l", "v", "y", "enter")
        assert "○ the suite does not match its lock" in screen_text(app)


@pytest.mark.parametrize(
    "size", by_day([(60, 20), (40, 12), (133, 31), (80, 24), (200, 50), (160, 37)], every=2)
)
async def test_every_line_fills_its_width_at_any_size(size: tuple[int, int], shop: Bent) -> None:
    with_candidates(shop, *numbered(49), HOSTILE)
    for keys in ((), ("v",), ("k", "G"), ("j", "j", "j")):
        app = shell(shop)
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


async def test_a_click_goes_to_a_point_and_another_to_its_scorecard(shop: Bent) -> None:
    app = shell(many(shop, 3))
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


async def test_a_click_on_a_figure_of_many_takes_it(shop: Bent) -> None:
    app = shell(many(shop, 3))
    async with running(app, (200, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "E", "g")
        lines = screen_text(app).splitlines()
        row = next(y for y, line in enumerate(lines) if "efficiency ↑" in line)
        await pilot.click(offset=(lines[row].index("efficiency ↑"), row))
        await settle(pilot)
        assert "[✓efficiency]" in screen_text(app)


async def test_a_click_in_the_table_goes_to_its_candidate(shop: Bent) -> None:
    app = shell(many(shop, 3))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "E", "g", "v")
        lines = screen_text(app).splitlines()
        row = next(y for y, line in enumerate(lines) if "refund-agent-v9" in line)
        await pilot.click(offset=(10, row))
        await settle(pilot)
        assert "› 3   refund-agent-v9" in screen_text(app)
