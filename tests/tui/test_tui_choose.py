"""Finding things: one box for places and acts by name, and what a command line names."""

import pytest
from doors import SUITE, V7, V8
from template import Bent
from test_tui_screens import running, shell
from tui_probe import SIZES, press, screen_text, settle, until

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.tui.app.finding import other_acts
from reviewer.tui.screens.dialogs.finder import (
    FinderScreen,
    alike,
    columns_for,
    offer_line,
    told_apart,
)
from reviewer.tui.shell.places import Offer, ToCompare, ToScorecard
from reviewer.tui.widgets.lines import plain


async def test_letters_filter_and_arrows_choose(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "c")
        assert isinstance(app.screen, FinderScreen)
        assert "2 found" in screen_text(app)
        await press(pilot, "down", "up")
        await press(pilot, *"promote")
        assert "1 found" in screen_text(app)
        await press(pilot, "enter")
        assert f"< {V8} >" in screen_text(app)


@pytest.mark.parametrize("size", SIZES)
async def test_the_finder_takes_the_whole_width(shop: Bent, size: tuple[int, int]) -> None:
    app = shell(shop)
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "c")
        box = app.screen.query_one("#box")
        assert box.size.width >= min(size[0], 160) - 4
        await press(pilot, *"nothing like it", "enter")
        assert isinstance(app.screen, FinderScreen)  # there is no line to take
        await press(pilot, "escape")
        assert not isinstance(app.screen, FinderScreen)


def test_two_long_names_are_told_apart() -> None:
    one, other = "gpt-4o-airline-" * 6 + "v1", "gpt-4o-airline-" * 6 + "v2"
    assert told_apart(one, 30) != told_apart(other, 30)
    assert len(told_apart(one, 30)) == 30
    offers = [
        Offer("candidate", name, print, "s", "critical", "block", "signed BLOCK, dana@shop")
        for name in (one, other)
    ]
    lines = [plain([offer_line(each, columns_for(offers, 140))]) for each in offers]
    assert lines[0] != lines[1]
    assert all("▲ block" in line for line in lines)
    assert all("signed BLOCK, dana@shop" in line for line in lines)


def test_one_candidate_on_two_suites_is_told_apart_where_suites_have_no_column() -> None:
    offers = [
        Offer("candidate", name, print, suite, "pass", "promote", "not signed")
        for name, suite in (("agent-v8", "refund-01"), ("agent-v8", "refund-02"), ("other", "s"))
    ]
    columns = columns_for(offers, 76)
    lines = [plain([offer_line(each, columns, alike(offers))]) for each in offers]
    assert [line.split("✓")[0].split() for line in lines] == [
        ["candidate", "agent-v8", "refund-01"],
        ["candidate", "agent-v8", "refund-02"],
        ["candidate", "other"],
    ]
    assert len(set(map(len, lines))) == 1
    long = [one._replace(name="gpt-4o-" * 9, where=f"{'suite-' * 9}{n}")
        for n, one in enumerate(offers)]  # fmt: skip
    cut = [plain([offer_line(each, columns, alike(long))]) for each in long]
    assert len(set(cut)) == 3
    assert {len(line) for line in cut} == {len(lines[0])}


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
async def test_the_finder_goes_to_places(shop: Bent, typed: str, shown: str) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        kind, _, name = typed.partition(" ")
        await press(pilot, "ctrl+p", *("space" if x == " " else x for x in name))
        await until(pilot, lambda: kind in screen_text(app))
        await press(pilot, "enter")
        await settle(pilot)
        assert shown in screen_text(app)


async def test_acts_of_other_screens_are_done_there(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+p", *"verify", "space", *"earlier")
        await until(pilot, lambda: "decision, Verify what was signed" in screen_text(app))
        await press(pilot, "enter")
        await until(pilot, lambda: "there is nothing to verify" in screen_text(app))
        acts = [(one.name, one.where, one.aside) for one in other_acts(app, "decision")]
        assert len(set(acts)) == len(acts)
        assert not [where for _, where, _ in acts if where == "decision"]


async def test_one_box_has_two_doors_and_five_kinds(shop: Bent) -> None:
    app = shell(shop)
    async with running(app, (120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "colon")
        lines = screen_text(app).splitlines()
        assert any("go to" in line and "┏" in line for line in lines)
        assert "candidate" in next(line for line in lines if "›" in line and "┃" in line)
        await press(pilot, "ctrl+p")
        lines = screen_text(app).splitlines()
        assert "act " in next(line for line in lines if "›" in line and "┃" in line)
        await press(pilot, "ctrl+p", *["tab"] * 2, *"refund")
        assert "1 found" in screen_text(app)  # the suite
        await press(pilot, "tab", *["backspace"] * 6, *"attack")
        assert "episode   attack-014" in screen_text(app)
        await press(pilot, "tab")
        assert "trace     attack-014 attempt 1" in screen_text(app)
        await press(pilot, "tab", "tab")
        assert "episode   attack-014" in screen_text(app)
        await press(pilot, "down", "enter")
        assert "[Trajectory]" in screen_text(app)
        await press(pilot, "c")
        assert "trace     attack-014 attempt 2" in screen_text(app)
        await press(pilot, "escape", "colon", *"attempt", "space", "3", "enter")
        assert "[ attempt 3 ]" in screen_text(app)


async def test_a_line_is_taken_that_was_still_being_looked_for(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await pilot.press("colon", *"damaged", "enter")
        await until(pilot, lambda: "episodes 1 of 3" in screen_text(app))


async def test_a_place_that_cannot_be_read_says_so(shop: Bent) -> None:
    def unreadable(real: object, text: str) -> object:
        raise DeskError("store/review.db is not a database", "reviewer doctor")

    app = shell(shop.bend("workspace.found", unreadable))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "colon", *"attack")
        assert "store/review.db is not a database" in screen_text(app)


async def test_nothing_is_named_while_somebody_labels(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        for door in ("ctrl+p", "colon"):
            await press(pilot, "L", door, *"refund-agent")
            assert V7 not in screen_text(app)
            assert "0 found" in screen_text(app)
            await press(pilot, "escape")


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
