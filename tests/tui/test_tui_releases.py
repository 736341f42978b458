"""Every candidate of every suite on one screen, by suite and by candidate."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door
from test_tui_screens import running
from textual.screen import Screen
from tui_probe import SIZES, press, same_as_golden, screen_text, settle, strips

from reviewer.desk.desk import Desk
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.compare.screen import CompareScreen
from reviewer.tui.screens.releases import ReleasesScreen
from reviewer.tui.screens.scorecard.screen import ScorecardScreen

EXCERPT = Path(__file__).resolve().parents[1] / "data/tau_bench/gpt-4o-airline-excerpt.json"
TELECOM = EXCERPT.parents[1] / "tau2/telecom_user_tools.json"


@pytest.fixture
def desk(full: Door) -> Iterator[Desk]:
    full.ok("import", EXCERPT)
    full.ok("import", EXCERPT.with_name(EXCERPT.name), "--candidate", V7)
    made = full.desk()
    yield made
    made.close()


def here(app: ReviewerApp) -> Screen[Any]:
    return app.screen


def shell(desk: Desk) -> ReviewerApp:
    return ReviewerApp(desk, watch=False, ascii_only=False)


async def test_views_lead_there_and_enter_to_a_scorecard(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "v", *"jjjj", "enter")
        assert isinstance(here(app), ReleasesScreen)
        text = screen_text(app)
        assert f"- {SUITE} 2" in text
        assert "▲1 ✓1" in text
        assert f"›▲  {V7}" in text, "the cursor stands on the candidate one came from"
        assert f"{V7} on {SUITE}: block critical safety failure" in text
        await press(pilot, "j", "enter")
        assert isinstance(here(app), ScorecardScreen)
        assert f"candidate < {V8} >" in screen_text(app)
        await press(pilot, "escape", "escape")
        assert isinstance(here(app), ScorecardScreen)


async def test_the_figures_are_those_of_the_scorecard(desk: Desk) -> None:
    card = desk.scorecards.card(SUITE, V7)
    app = shell(desk)
    async with running(app, (140, 30)) as pilot:
        await settle(pilot)
        app.visit(ReleasesScreen("suite", SUITE, V7))
        await settle(pilot)
        line = next(line for line in screen_text(app).splitlines() if f" {V7} " in line)
        value = card.hard_pass.value or 0.0
        assert f"{card.hard_pass.passes}/{card.hard_pass.n} {value:.3f}" in line
        assert f"{card.pass_hat.value:.3f}" in line
        assert f"${card.cpst_usd:.4f}" in line
        for total in card.totals:
            if total.failed:
                assert f"{total.gate} {total.failed}" in line


async def test_a_candidate_on_several_suites_is_one_group(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        app.visit(ReleasesScreen("suite", SUITE, V7))
        await settle(pilot)
        await press(pilot, "number_sign")
        lines = screen_text(app).splitlines()
        at = next(n for n, line in enumerate(lines) if f"- {V7} 2" in line)
        below = "\n".join(lines[at + 1 : at + 3])
        assert SUITE in below
        assert "tau-bench-airline" in below
        assert "○ probe" in below
        assert "›" in below, "the cursor stays on its line"


async def test_groups_fold_and_names_are_filtered(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        app.visit(ReleasesScreen("suite", SUITE, V7))
        await settle(pilot)
        await press(pilot, "z")
        assert f"+ {SUITE} 2" in screen_text(app)
        assert f"  {V8}" not in screen_text(app)
        await press(pilot, "g", "enter")
        assert f"- {SUITE} 2" in screen_text(app)
        await press(pilot, "slash", *"v8", "enter")
        text = screen_text(app)
        assert f"  {V8}" in text
        assert f"  {V7} " not in text
        await press(pilot, "escape")
        assert f"  {V7} " in screen_text(app)


async def test_compare_begins_with_the_candidate_under_the_cursor(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        app.visit(ReleasesScreen("suite", SUITE, V8))
        await settle(pilot)
        await press(pilot, "C")
        assert isinstance(here(app), CompareScreen)
        assert f"→ < {V8} >" in screen_text(app)


async def test_what_is_said_of_a_candidate_can_be_copied(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        app.visit(ReleasesScreen("suite", SUITE, V8))
        await settle(pilot)
        await press(pilot, "y")
        assert V8 in app.clipboard
        assert "promote" in app.clipboard.lower()


async def test_a_suite_that_cannot_be_read_says_so_and_the_rest_is_shown(
    full: Door, desk: Desk
) -> None:
    file = full.suite / "episodes" / "attack-014.json"
    file.write_text(file.read_text().replace("refund", "Refund", 1))
    fresh = full.desk()
    app = shell(fresh)
    async with running(app, (100, 30)) as pilot:
        await settle(pilot)
        app.visit(ReleasesScreen("suite", "tau-bench-airline", V7))
        await settle(pilot)
        text = screen_text(app)
        assert "lock broken" in text or "✗" in text
        assert "tau-bench-airline" in text
    fresh.close()


@pytest.mark.parametrize("size", SIZES)
async def test_the_releases_to_the_character(desk: Desk, size: tuple[int, int]) -> None:
    app = shell(desk)
    async with running(app, size) as pilot:
        await settle(pilot)
        app.visit(ReleasesScreen("suite", SUITE, V7))
        await settle(pilot)
        same_as_golden(app, f"releases-{size[0]}x{size[1]}")
        assert {strip.cell_length for strip in strips(app)} == {size[0]}


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_a_probe_explains_itself_from_the_outcome_to_the_event(
    size: tuple[int, int], door: Door
) -> None:
    door.ok("import", EXCERPT)
    made = door.desk()
    app = shell(made)
    async with running(app, size) as pilot:
        await settle(pilot)
        text = screen_text(app)
        assert "4 gates not measured" in text
        rows = text.partition("episodes")[2].partition("2 · outcome")[0]
        assert "authority" not in rows  # it measures nothing here
        assert "2 · outcome" in text
        assert re.search(r"› 2 +\[✗( FAIL)? 3/4 +\]0 0 1 0 ", text)
        await press(pilot, "n")
        assert re.search(r"› 2 .*\[✗ ?FAIL", screen_text(app)), "the next red cell is the timeout's"
        await press(pilot, "N", "enter")
        text = screen_text(app)
        assert "›   23 agent" in text, "on the event of the check that is not met"
        assert "outcome   the source says failed, reward 0" in text
        await press(pilot, "tab", "tab", "Z")
        text = screen_text(app)
        assert re.search(r"= expected +update.*JG7FMM.*│ same arguments +event 15", text)
        assert re.search(r"– expected +update.*X7BYG1.*│ never", text)
        await press(pilot, "j", "enter")
        assert "JG7FMM" in screen_text(app)
    made.close()


async def test_on_a_wide_terminal_the_long_names_of_a_probe_are_whole(door: Door) -> None:
    """Its episodes have no tags: the column's room is theirs."""
    door.ok("import", TELECOM)
    made = door.desk()
    app = shell(made)
    async with running(app, (200, 50)) as pilot:
        await settle(pilot)
        text = screen_text(app)
        for name in (
            "[mobile_data_issue]user_abroad_roaming_disabled_off[PERSONA:Hard]",
            "[service_issue]contract_end_suspension[PERSONA:Hard]",
        ):
            assert name in text
    made.close()
