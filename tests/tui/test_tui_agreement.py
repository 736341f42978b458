"""The agreement: which figure to believe, criterion by criterion, each with themselves."""

import pytest
from doors import SUITE, V7, V8, Door
from label_desks import asked, own_first, queue_with
from labelers import drafted, label_all, labeler
from msgspec.structs import replace
from run_desks import stored
from template import HOSTILE, Bent, refusing
from test_tui_screens import running, shell
from tui_probe import SIZES, press, same_as_golden, screen_text, settle, strips

from reviewer.desk.errors import DeskError


@pytest.mark.parametrize("size", SIZES)
async def test_the_agreement_to_the_character(size: tuple[int, int], parted: Bent) -> None:
    app = shell(parted)
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "A")
        same_as_golden(app, f"agreement-{size[0]}x{size[1]}")


@pytest.mark.parametrize("way", [(), ("enter",), ("L",), ("Q",), ("J",), ("D",), ("R",)])
async def test_one_key_leads_there_from_anywhere_and_esc_back(
    way: tuple[str, ...], shop: Bent
) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, *way)
        before = screen_text(app).splitlines()[0]
        await press(pilot, "A")
        assert "[Agreement]" in screen_text(app).splitlines()[0]
        await press(pilot, "A", "escape")
        assert screen_text(app).splitlines()[0] == before


async def test_what_is_most_believable_stands_on_top_with_its_interval(labeled: Bent) -> None:
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A")
        text = screen_text(app)
        assert "which is better: raw 3 of 4, alpha 0.533, 95% -0.400 to 1.000" in text
        assert "62% of all, not above 80%: alpha leads" in text
        assert text.index("Krippendorff alpha") < text.index("Gwet AC1") < text.index("Cohen kappa")


async def test_ac1_leads_where_one_answer_is_nearly_all(parted: Bent) -> None:
    app = shell(parted)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A")
        text = screen_text(app)
        assert "raw 0.762, AC1 0.699" in text
        assert "87% of all, above 80%: AC1 leads, alpha misleads" in text
        assert text.index("Gwet AC1") < text.index("Krippendorff alpha")


@pytest.mark.parametrize("width", [80, 120, 200])
async def test_every_criterion_has_its_figures_or_why_not(width: int, parted: Bent) -> None:
    app = shell(parted)
    async with running(app, (width, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "A")
        text = screen_text(app)
        assert "accurate" in text
        assert "6 of 7" in text
        assert "0.835" in text
        assert "AC1 leads" in text
        assert "one reviewer" in text


async def test_what_is_not_measured_says_why_and_what_it_needs(own: Door, mine: Bent) -> None:
    with labeler(own, "kim") as kim:
        session = kim.labels.session(SUITE, V7)
        item = kim.labels.next_item(session)
        assert item is not None
        kim.labels.record(session, drafted(item))
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A")
        verdict = screen_text(app).splitlines()[2]
        assert verdict.startswith("○ not measured (one reviewer)  needed: a second reviewer")
        assert screen_text(app).count("○ not measured (one reviewer)") == 5


async def test_ones_own_consistency_is_told_at_the_end(own: Door, mine: Bent) -> None:
    with labeler(own) as elsewhere:
        session = elsewhere.labels.session(SUITE, V7)
        for _ in range(13):
            item = elsewhere.labels.next_item(session)
            assert item is not None
            elsewhere.labels.record(session, drafted(item))
        app = shell(mine)
        async with running(app) as pilot:
            await settle(pilot)
            await press(pilot, "A", "G")
            text = screen_text(app)
            assert "your own is shown when you have finished: 13 of 14 done" in text
            assert "dana picks" not in text
            assert len(label_all(elsewhere, session)) == 1
            await stored(pilot)
            await press(pilot, "G")
            text = screen_text(app)
            assert "dana picks the left slot" in text
            assert "told at your end" not in text


async def test_messages_are_criteria_alone(parted: Bent) -> None:
    app = shell(parted)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A", "c")
        text = screen_text(app)
        assert "which level each gets" in text
        assert "○ not measured: a message is shown once" in text
        assert "which message is better" not in text
        assert "accurate" in text
        assert "access: raw 4 of 4, AC1 ○ not measured (only one answer occurs)" in text


async def test_the_verdict_on_messages_has_the_figures_of_the_first_criterion(
    own: Door, mine: Bent
) -> None:
    parted: list[str] = []  # the message that kim sees first
    for name in ("kim", "robin"):
        with labeler(own, name) as desk:
            session = desk.labels.session(SUITE, V7, kind="message")
            while (item := desk.labels.next_item(session)) is not None:
                parted = parted or [item.item]
                access = 2 if name == "robin" and item.item in parted else 1
                marks = {"accurate": 1, "next-step": 3, "access": access}
                desk.labels.record(session, drafted(item, marks=marks))
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A", "c")
        text = screen_text(app)
        assert text.splitlines()[2] == "access: raw 3 of 4, AC1 0.680"
        assert "which level each gets" in text
        assert "○ not measured: a message is shown once" in text
        assert "which message is better" not in text


async def test_n_walks_what_may_be_settled(parted: Bent) -> None:
    own, other = own_first(parted)
    another = replace(other, item="another", episode_id="damaged-221")
    queue_with(parted, disagreements=(own, other, own, another))
    app = shell(parted)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A", "n")
        assert "›appeal-009" in screen_text(app)
        await press(pilot, "n", "n")
        assert "›damaged-221" in screen_text(app)
        assert "no more disagreements that way" in screen_text(app)
        await press(pilot, "N", "enter")
        assert [call[3] for call in asked(parted)] == [other.item]


async def test_without_labels_it_says_what_would_make_it_readable(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A", "enter", "n", "y")
        assert "no labels yet: L starts" in screen_text(app)
        assert "copied the figures" in screen_text(app)


async def test_an_agreement_that_cannot_be_read_says_why(shop: Bent) -> None:
    shop.bend("labels.queue", refusing(DeskError("the suite has no rubric", "add rubric.json")))
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A", "enter", "n", "N", "y", "c")
        assert "○ the suite has no rubric" in screen_text(app)


async def test_no_candidate_is_named_and_every_line_fills_its_width(parted: Bent) -> None:
    queue_with(parted, reviewers=("dana", HOSTILE))
    for size in ((60, 20), (80, 24), (133, 31), (200, 50)):
        app = shell(parted)
        async with running(app, size) as pilot:
            await settle(pilot)
            await press(pilot, "A")
            assert {strip.cell_length for strip in strips(app)} == {size[0]}
            assert V7 not in screen_text(app)
            assert V8 not in screen_text(app)
