"""Ways of looking at the scorecard: groups, candidates side by side, filters, saved views."""

import pytest
from doors import SUITE, V7, V8
from msgspec.structs import replace
from template import Bent, refusing
from test_tui_screens import running, shell
from tui_probe import (
    SIZES,
    count_layouts,
    press,
    same_as_golden,
    screen_text,
    segments_with,
    settle,
)

from reviewer.desk.errors import DeskError
from reviewer.desk.scorecards.views import SavedView
from reviewer.tui.screens.scorecard import controller
from reviewer.tui.screens.scorecard.screen import ScorecardScreen
from reviewer.tui.screens.trajectory.screen import TrajectoryScreen
from reviewer.tui.widgets.grid import Grid


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("tags", ("number_sign",)),
        ("sides", ("vertical_line",)),
        ("views", ("v",)),
    ],
)
async def test_ways_of_looking(
    name: str, keys: tuple[str, ...], size: tuple[int, int], mine: Bent
) -> None:
    mine.scorecards.save_view(SavedView(name="red refunds", filter="gate:state", group="tag"))
    app = shell(mine)
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        same_as_golden(app, f"scorecard-{name}-{size[0]}x{size[1]}")


async def test_the_group_key_goes_through_tags_and_categories_and_back(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "number_sign")
        assert "4 tags, 3 episodes" in screen_text(app)
        await press(pilot, "number_sign")
        assert "1 category, 3 episodes" in screen_text(app)
        assert "- task 3" in screen_text(app)
        await press(pilot, "number_sign")
        assert "episodes 3 of 3" in screen_text(app)


async def test_a_screen_drawn_before_the_rows_of_another_view_are_there(shop: Bent) -> None:
    """A key that comes while the rows are read closes a dialog, and the scorecard is drawn."""
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "number_sign")
        screen = app.screen
        assert isinstance(screen, ScorecardScreen)
        screen.reading.looking = screen.reading.looking._replace(group="none")
        screen.redraw()
        await pilot.pause()
        assert "episodes … of 3" in screen_text(app)


async def test_enter_folds_a_group_and_the_cursor_stays_on_its_head(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "number_sign", *["down"] * 4)
        assert "attack · tag" in screen_text(app)
        await press(pilot, "enter")
        assert "› + attack 1" in screen_text(app)
        assert "attack-014" not in screen_text(app).partition("tags, 3 episodes")[2]
        await press(pilot, "enter")
        assert "› - attack 1" in screen_text(app)


async def test_red_cells_are_found_past_the_heads_of_groups(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "number_sign", "n")
        grid = app.screen.query_one(Grid)
        assert (grid.row, grid.column) == (1, "state")
        await press(pilot, *"nnnnnn")
        assert (grid.row, grid.column) == (5, "state")
        await press(pilot, "1")
        assert (grid.row, grid.column) == (5, "authority")
        await press(pilot, "enter")
        assert isinstance(app.screen, TrajectoryScreen)
        assert app.around is not None
        assert (list(app.around.keys), app.around.at) == ([2, 2, 3, 1], 2)


async def test_enter_goes_to_the_episode_of_the_candidate_under_the_cursor(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "vertical_line")
        assert "[▲ 1/3 authority" in screen_text(app)
        await press(pilot, "right")
        assert "✓ 3/3" in screen_text(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, TrajectoryScreen)
        assert f"/{V8}/" in app.screen.trace_id


async def test_a_candidate_column_orders_by_that_candidate(shop: Bent) -> None:
    of_v7, of_v8 = (shop.scorecards.order(SUITE, each) for each in (V7, V8))
    assert of_v7 != of_v8
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "vertical_line", "right", "s")
        assert f"worst first of {V8}" in screen_text(app)
        assert list(app.screen.query_one(Grid).keys) == of_v8
        await press(pilot, "escape")
        assert list(app.screen.query_one(Grid).keys) == of_v7
        assert "complete    authority" in screen_text(app)


async def test_one_candidate_stands_beside_nobody(eight: Bent) -> None:
    app = shell(eight)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "vertical_line")
        assert "one candidate only" in screen_text(app)
        assert "episodes 3 of 3" in screen_text(app)


async def test_the_filter_offers_completes_and_says_what_is_wrong(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "slash")
        assert "gate:  tool:  code:  tag:" in screen_text(app)
        await press(pilot, *"tool:iss", "tab")
        assert "filter: tool:issue_refund" in screen_text(app)
        await press(pilot, *" gate:x", "enter")
        assert "✗ filter, character 24: no gate 'x': gates are completeness" in screen_text(app)
        assert "filter: tool:issue_refund gate:x" in screen_text(app)
        await press(pilot, "escape")
        assert "episodes 3 of 3" in screen_text(app)


async def test_an_order_does_not_wait_for_the_figures_above(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        asked = len(shop.asked("scorecards.card"))
        await press(pilot, "s", "f", "number_sign", "vertical_line")
        assert len(shop.asked("scorecards.card")) == asked == 1


async def test_a_view_is_saved_taken_and_removed(mine: Bent) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "f", "number_sign", "v", "k", *("j",) * 6, "enter")
        await press(pilot, *"red", "enter")
        assert mine.scorecards.saved_views() == [
            SavedView(name="red", only_failing=True, group="tag")
        ]
        assert "saved the view red" in screen_text(app)
        await press(pilot, "escape", "escape")
        assert "episodes 3 of 3" in screen_text(app)
        await press(pilot, "v", *("j",) * 6, "enter")
        assert "3 tags, 3 episodes" in screen_text(app)
        await press(pilot, "v", *("j",) * 6, "delete")
        assert mine.scorecards.saved_views() == []
        assert "removed the view red" in screen_text(app)


async def test_the_palette_offers_saved_views(mine: Bent) -> None:
    mine.scorecards.save_view(SavedView(name="red refunds", mode="candidates"))
    app = shell(mine)
    async with running(app, (100, 30)) as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+p", *"red refunds", "enter")
        await settle(pilot)
        assert "▲ 1/3 authority" in screen_text(app)


async def test_views_that_cannot_be_read_say_so_and_hide_nothing(shop: Bent) -> None:
    damaged = refusing(DeskError("store/views.json: schema must be reviewer/views@1"))
    app = shell(shop.bend("scorecards.saved_views", damaged))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "v")
        assert "store/views.json: schema must be" in screen_text(app)
        assert "episodes 3 of 3" in screen_text(app)


async def test_a_flagged_episode_says_so_in_the_row_and_in_the_drawer(shop: Bent) -> None:
    flags = ("safety", "iteration_limit")
    shop.bend(
        "scorecards.rows", lambda real, *args: [replace(row, flags=flags) for row in real(*args)]
    )
    for size in ((80, 24), (200, 50)):
        app = shell(shop)
        async with running(app, size) as pilot:
            await settle(pilot)
            text = screen_text(app)
            assert "›!attack-014" in text
            assert "! safety, iteration-limit" in text
            assert ("safety iteration-limit" in text) == (size[0] == 200)
            assert segments_with(app, "!attack-014") or segments_with(app, "!")


async def test_the_attempt_behind_the_cell_is_beside_the_drawer(
    shop: Bent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that failed first; in the drawer, the one with the cursor. A smaller screen has it
    one key away, and asks for nothing."""
    app = shell(shop)
    async with running(app, (140, 40)) as pilot:
        await settle(pilot)
        text = screen_text(app)
        assert "contract of attempt 1" in text
        assert "Your refund of $89.00 is on its way" in text
        made = count_layouts(monkeypatch)
        await press(pilot, "j", "l", "l")
        assert made == []
        assert "contract of attempt 2" in screen_text(app), "the one of appeal-009 that failed"
        await press(pilot, "tab", "G")
        assert "contract of attempt 3" in screen_text(app)
        await press(pilot, "z")
        assert "contract of" not in screen_text(app)
        await press(pilot, "z")
        assert "contract of attempt" in screen_text(app)
    asked = len(shop.asked("traces.events"))
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "j", "k")
        assert "contract of" not in screen_text(app)
    assert len(shop.asked("traces.events")) == asked


async def test_groups_of_many_episodes_are_folded_first(
    shop: Bent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller, "MANY", 2)
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        grid = app.screen.query_one("#grid", Grid)
        totals = [line for line in screen_text(app).splitlines() if "fail in 9" in line]
        await press(pilot, "number_sign")
        assert all(key < 0 for key in grid.keys)
        assert len(grid.keys) > 1
        assert [line for line in screen_text(app).splitlines() if "fail in 9" in line] == totals
        heads = len(grid.keys)
        await press(pilot, "n")
        assert "no more red cells in the open groups: Enter opens one" in screen_text(app)
        await press(pilot, "g", "z")
        assert len(grid.keys) > heads
        await press(pilot, "z")
        assert len(grid.keys) == heads
        await press(pilot, "1")
        assert grid.keys[grid.row] >= 0, "the evidence of a reason is shown, whatever was folded"
        assert len(grid.keys) > heads
        await press(pilot, "number_sign", "f")
        assert all(key < 0 for key in grid.keys), "another grouping is folded first again"
