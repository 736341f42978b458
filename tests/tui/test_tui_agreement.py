"""The agreement: which figure to believe, criterion by criterion, each with himself."""

import msgspec
import pytest
from fake_review import AGREEMENT, CONSISTENCY, estimate, question
from fake_shop import HOSTILE, V7, V8
from test_tui_queue import MINE, OPEN, Queued
from test_tui_screens import running, shell
from tui_probe import SIZES, press, same_as_golden, screen_text, settle, strips

from reviewer.desk.errors import DeskError
from reviewer.tui.app.app import ReviewerApp


def ready(**changes: object) -> Queued:
    desk = Queued.ready(disagreements=(MINE, OPEN))
    assert isinstance(desk, Queued)
    desk.changes = changes
    return desk


@pytest.mark.parametrize("size", SIZES)
async def test_the_agreement_to_the_character(size: tuple[int, int]) -> None:
    app = shell(ready())
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "A")
        same_as_golden(app, f"agreement-{size[0]}x{size[1]}")


@pytest.mark.parametrize("way", [(), ("enter",), ("L",), ("Q",), ("J",), ("D",), ("R",)])
async def test_one_key_leads_there_from_anywhere_and_esc_back(way: tuple[str, ...]) -> None:
    app = shell(ready())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, *way)
        before = screen_text(app).splitlines()[0]
        await press(pilot, "A")
        assert "[Agreement]" in screen_text(app).splitlines()[0]
        await press(pilot, "A", "escape")
        assert screen_text(app).splitlines()[0] == before


async def test_what_is_most_believable_stands_on_top_with_its_interval() -> None:
    app = shell(ready())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A")
        text = screen_text(app)
        assert "which is better: raw 3 of 4, alpha 0.533, 95% -0.400 to 1.000" in text
        assert "62% of all, not above 80%: alpha leads" in text
        assert text.index("Krippendorff alpha") < text.index("Gwet AC1") < text.index("Cohen kappa")


async def test_ac1_leads_where_one_answer_is_nearly_all() -> None:
    app = shell(
        ready(
            agreement=(question(lead="ac1", prevalence=0.94, ac1=estimate("Gwet AC1", 0.911)),),
        )
    )
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A")
        text = screen_text(app)
        assert "raw 3 of 4, AC1 0.911" in text
        assert "94% of all, above 80%: AC1 leads, alpha misleads" in text
        assert text.index("Gwet AC1") < text.index("Krippendorff alpha")


@pytest.mark.parametrize("width", [80, 120, 200])
async def test_every_criterion_has_its_figures_or_why_not(width: int) -> None:
    app = shell(ready())
    async with running(app, (width, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "A")
        text = screen_text(app)
        assert "accurate" in text
        assert "11 of 12" in text
        assert "0.902" in text
        assert "AC1 leads" in text
        assert "one reviewer" in text


async def test_what_is_not_measured_says_why_and_what_it_needs() -> None:
    app = shell(
        ready(
            agreement=(question(why="one reviewer"),),
            consistency=(),
            needed="needed: a second reviewer, for agreement",
        )
    )
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A")
        verdict = screen_text(app).splitlines()[2]
        assert verdict.startswith("○ not measured (one reviewer)  needed: a second reviewer")
        assert screen_text(app).count("○ not measured (one reviewer)") == 5


async def test_ones_own_consistency_is_told_at_the_end() -> None:
    desk = ready(consistency=CONSISTENCY[:0])
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A", "G")
        assert "your own is told at your end: 0 of 8 done" in screen_text(app)
        desk.changes = {"consistency": CONSISTENCY, "done": 8}
        app.post_message(ReviewerApp.StoreChanged(7))
        await settle(pilot)
        await press(pilot, "G")
        text = screen_text(app)
        assert "dana picks the left slot" in text
        assert "told at your end" not in text


async def test_messages_are_criteria_alone() -> None:
    app = shell(ready(agreement=AGREEMENT[1:], consistency=()))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A", "c")
        text = screen_text(app)
        assert "which level each gets" in text
        assert "○ not measured: a message is shown once" in text
        assert "which message is better" not in text
        assert "accurate: raw 11 of 12, AC1 0.902" in text


async def test_n_walks_what_may_be_settled() -> None:
    other = msgspec.structs.replace(OPEN, item="pair-3", episode_id="attack-014")
    desk = ready()
    desk.disagreements = (MINE, OPEN, MINE, other)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A", "n")
        assert "›appeal-009" in screen_text(app)
        await press(pilot, "n", "n")
        assert "›attack-014" in screen_text(app)
        assert "no more disagreements that way" in screen_text(app)
        await press(pilot, "N", "enter")
        assert desk.wanted == ["pair-2"]


async def test_without_labels_it_says_what_would_make_it_readable() -> None:
    desk = ready(reviewers=(), agreement=(question(why="no labels"),), consistency=())
    desk.disagreements = ()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A", "enter", "n", "y")
        assert "no labels yet: L starts" in screen_text(app)
        assert "copied the figures" in screen_text(app)


async def test_an_agreement_that_cannot_be_read_says_why() -> None:
    desk = ready()
    desk.refuse_session = DeskError("the suite has no rubric", "add rubric.json")
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "A", "enter", "n", "N", "y", "c")
        assert "○ the suite has no rubric" in screen_text(app)


async def test_no_candidate_is_named_and_every_line_fills_its_width() -> None:
    for size in ((60, 20), (80, 24), (133, 31), (200, 50)):
        app = shell(ready(reviewers=("dana", HOSTILE)))
        async with running(app, size) as pilot:
            await settle(pilot)
            await press(pilot, "A")
            assert {strip.cell_length for strip in strips(app)} == {size[0]}
            assert V7 not in screen_text(app)
            assert V8 not in screen_text(app)
