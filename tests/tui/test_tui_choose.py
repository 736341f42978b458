"""Finding things: the chooser, the palette's places and acts, and what a command line names."""

import pytest
from doors import SUITE, V7, V8
from template import Bent
from test_tui_screens import running, shell
from tui_probe import SIZES, press, screen_text, settle, until

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.views import CandidateInfo, SuiteInfo
from reviewer.tui.app.finding import other_acts
from reviewer.tui.screens.dialogs.choose import ChooseScreen, candidate_line, told_apart
from reviewer.tui.shell.places import ToCompare, ToScorecard
from reviewer.tui.widgets.lines import plain


async def test_letters_filter_and_arrows_choose(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "c")
        assert isinstance(app.screen, ChooseScreen)
        assert "2 of 2" in screen_text(app)
        await press(pilot, "down", "up")
        await press(pilot, *"promote")
        assert "1 of 2" in screen_text(app)
        await press(pilot, "enter")
        assert f"< {V8} >" in screen_text(app)


@pytest.mark.parametrize("size", SIZES)
async def test_the_chooser_takes_the_whole_width(shop: Bent, size: tuple[int, int]) -> None:
    app = shell(shop)
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "c")
        box = app.screen.query_one("#box")
        assert box.size.width >= min(size[0], 160) - 4
        await press(pilot, *"nothing like it", "enter")
        assert isinstance(app.screen, ChooseScreen)  # there is no line to take
        await press(pilot, "escape")
        assert not isinstance(app.screen, ChooseScreen)


def test_two_long_names_are_told_apart() -> None:
    one, other = "gpt-4o-airline-" * 6 + "v1", "gpt-4o-airline-" * 6 + "v2"
    assert told_apart(one, 30) != told_apart(other, 30)
    assert len(told_apart(one, 30)) == 30
    suite = SuiteInfo("s", "", "", False, "frozen", "", 1, 1, 1)
    row = suite, CandidateInfo(one, None, 3, "block", "BLOCK, dana@shopflow")
    told = plain([candidate_line(row, 30, 8)])
    assert "▲ block" in told
    assert "signed BLOCK, dana@shopflow" in told


def test_the_newest_candidate_is_first(shared: Desk) -> None:
    rows, empty = shared.workspace.all_candidates()
    assert rows[0][1].candidate_id == shared.workspace.asked_for(SUITE, "", "")[1]
    assert SUITE not in [info.suite_id for info in empty]


def test_a_command_line_names_what_to_open(shared: Desk) -> None:
    assert shared.workspace.asked_for("", V8, "") == (SUITE, V8)
    assert shared.workspace.asked_for(SUITE, V8, V7) == (SUITE, V8)
    with pytest.raises(DeskError, match=r"no candidate refund-agent-v9 .*did you mean"):
        shared.workspace.asked_for(SUITE, "refund-agent-v9", "")
    with pytest.raises(DeskError, match="no suite refund-eval-v6"):
        shared.workspace.asked_for("refund-eval-v6", "", "")


async def test_what_is_named_is_opened_and_esc_leads_to_its_scorecard(shop: Bent) -> None:
    places = ToScorecard(SUITE, V8), ToCompare(SUITE, V8, V7)
    app = shell(shop, first=places)
    async with running(app) as pilot:
        await settle(pilot)
        assert f"baseline {V7} → < {V8} >" in screen_text(app)
        await press(pilot, "escape")
        assert f"candidate < {V8} >" in screen_text(app)


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("trace attack-014 attempt 1", "attempt 1"),
        (f"candidate {V8}", f"candidate < {V8} >"),
        ("episode damaged", "episodes 1 of 3"),
    ],
)
async def test_the_palette_goes_to_places(shop: Bent, typed: str, shown: str) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        kind, _, name = typed.partition(" ")
        await press(pilot, "ctrl+p", *("space" if x == " " else x for x in name))
        await until(pilot, lambda: kind in screen_text(app))
        await press(pilot, "enter")
        await settle(pilot)
        assert shown in screen_text(app)


async def test_the_palette_does_acts_of_other_screens(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+p", *"verify", "space", *"earlier")
        await until(pilot, lambda: "(decision, =)" in screen_text(app))
        await press(pilot, "enter")
        await until(pilot, lambda: "there is nothing to verify" in screen_text(app))
        acts = [text for text, _, _ in other_acts(app, "decision")]
        assert len(set(acts)) == len(acts)
        assert not [text for text in acts if "(decision," in text]


async def test_nothing_is_named_in_the_palette_while_somebody_labels(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "ctrl+p", *"refund-agent")
        await settle(pilot)
        assert V7 not in screen_text(app)


async def test_totals_follow_the_filter(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        assert "fail in 9     0     2     1     0     3     1     0    6/9" in screen_text(app)
        await press(pilot, "slash", *"damaged", "enter")
        assert "fail in 3     0     0     0     0     0     0     0    3/3" in screen_text(app)
        await press(pilot, "escape", "f")
        assert "fail in 6     0     2     1     0     3     1     0    3/6" in screen_text(app)


async def test_a_low_screen_keeps_three_rows(shop: Bent) -> None:
    app = shell(shop)
    async with running(app, (60, 15)) as pilot:
        await settle(pilot)
        text = screen_text(app)
        for episode in ("attack-014", "appeal-009", "damaged-221"):
            assert episode in text
        assert "▲ BLOCK  3 reasons, 1-9" in text
        await press(pilot, "z")
        assert "forbidden:issue_refund" in screen_text(app)
