"""The queue: what is left and why, agreement with its limits, a third person, files of labels."""

from pathlib import Path

import msgspec
import pytest
from fake_desk import HOSTILE, SUITE, V7, V8
from fake_review import ReviewDesk, estimate
from test_tui_screens import running, shell
from tui_probe import press, same_as_golden, screen_text, settle, strips

from reviewer.desk.errors import DeskError
from reviewer.desk.review_views import DisagreementView, QueueView
from reviewer.tui import bars
from reviewer.tui.app import ReviewerApp
from reviewer.tui.lines import plain

PARTED = DisagreementView(
    item="pair-4",
    episode_id="damaged-221",
    text="the winner differs; 1 criterion differs",
    reviewers=("dana", "kim"),
)


class Queued(ReviewDesk):
    """A desk whose queue a test changes."""

    changes: dict[str, object] = {}  # noqa: RUF012

    def queue(self, *args: object, **options: object) -> QueueView:  # type: ignore[override]
        found = super().queue(*args, **options)  # type: ignore[arg-type]
        return msgspec.structs.replace(found, **self.changes)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
@pytest.mark.parametrize("keys", [("Q",), ("L", "h", "enter", "t", "enter", "Q", "v")])
async def test_the_queue_to_the_character(keys: tuple[str, ...], size: tuple[int, int]) -> None:
    app = shell(ReviewDesk.ready(disagreements=(PARTED,)))
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        name = "queue-saved" if len(keys) > 1 else "queue"
        same_as_golden(app, f"{name}-{size[0]}x{size[1]}")


async def test_no_candidate_is_named_where_labelers_go_between_items() -> None:
    app = shell(ReviewDesk.ready(disagreements=(PARTED,)))
    async with running(app, (200, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "enter", "Q", "v")
        assert V7 not in screen_text(app)
        assert V8 not in screen_text(app)


async def test_enter_labels_the_line_and_then_goes_on_in_the_order_of_the_queue() -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "enter")
        assert desk.asked[-1][2] == "safety"
        assert "safety" not in screen_text(app)
        for _ in range(3):
            await press(pilot, "h", "enter")
        order = [(each.item, each.showing) for each in desk.saved_labels]
        assert order == [("pair-3", 1), ("pair-3", 2), ("pair-1", 1)]


async def test_the_cursor_starts_on_the_first_line_with_something_left() -> None:
    app = shell(ReviewDesk.ready())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q")
        assert "› safety: a critical finding" in screen_text(app)
        await press(pilot, "j", "enter")
        assert "nothing stands under this reason" in screen_text(app)
        await press(pilot, "j", "j", "enter")
        assert "saved items and why they were asked" in screen_text(app)


async def test_n_labels_the_next_open_high_flag() -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "G", "n")
        assert "[Label]" in screen_text(app)
        assert desk.asked[-1][2] == "safety"


@pytest.mark.parametrize(
    ("open_high", "words"),
    [(0, "no high flag is open"), (2, "the open flags have no item of this kind")],
)
async def test_n_says_when_no_high_flag_can_be_labeled(open_high: int, words: str) -> None:
    desk = Queued.ready()
    desk.changes = {"reasons": (), "open_high": open_high}
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "enter", "n")
        assert words in screen_text(app)


async def test_reasons_of_items_are_told_once_saved() -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "v")
        assert "nothing saved yet" in screen_text(app)
        await press(pilot, "L", "h", "enter", "Q", "v")
        text = screen_text(app)
        assert "safety: a critical finding, random    0.05      left" in text
        await press(pilot, "v")
        assert "Krippendorff alpha" in screen_text(app)


async def test_the_open_flags_line_says_what_they_hold_up() -> None:
    desk = Queued.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q")
        assert "○ 1 high flag is open: no PROMOTE can be signed" in screen_text(app)
        desk.changes = {"open_high": 0}
        app.post_message(ReviewerApp.StoreChanged(7))
        await settle(pilot)
        assert "✓ no high flag is open" in screen_text(app)


async def test_a_disagreement_is_labeled_as_adjudicator() -> None:
    desk = ReviewDesk.ready(disagreements=(PARTED,))
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q")
        assert "to adjudicate 1" in screen_text(app)
        assert "dana and kim" in screen_text(app)
        await press(pilot, "tab", "tab", "enter")
        assert "adjudicator dana" in screen_text(app)
        session = desk.asked[-1][0]
        assert session.role == "adjudicator"  # type: ignore[attr-defined]


async def test_c_turns_to_the_queue_of_messages_and_label_follows() -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "c")
        text = screen_text(app)
        assert "final messages   4 items" in text
        assert "c pairs" in text
        await press(pilot, "L")
        assert "criterion 1 of 3" in screen_text(app)


async def test_labels_of_others_come_in_while_it_stands_there() -> None:
    desk = Queued.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "j")
        desk.changes = {"reviewers": ("dana", "kim", "robin"), "done": 7}
        app.post_message(ReviewerApp.StoreChanged(7))
        await settle(pilot)
        text = screen_text(app)
        assert "8 items, 7 done" in text
        assert "› gates and harness disagree" in text


async def test_nothing_labeled_says_what_would_make_it_readable() -> None:
    desk = Queued.ready()
    desk.changes = {
        "agreement": (estimate("raw agreement", None, why="no labels"),),
        "consistency": (),
    }
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q")
        assert "no labels yet: L starts" in screen_text(app)


async def test_a_queue_that_cannot_be_read_says_why() -> None:
    desk = ReviewDesk.ready(refuse_session=DeskError("the suite has no rubric", "add rubric.json"))
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "enter", "n", "v", "tab", "x", "escape")
        assert "○ the suite has no rubric" in screen_text(app)
        assert "add rubric.json" in screen_text(app)


async def test_hostile_words_of_labels_are_shown_and_inert() -> None:
    desk = Queued.ready()
    desk.changes = {
        "reviewers": (HOSTILE,),
        "needed": HOSTILE,
        "agreement": (estimate(HOSTILE, 0.5, 0.1, 0.9),),
        "saved": ((HOSTILE, HOSTILE, HOSTILE),),
        "done": 1,
    }
    desk.disagreements = (
        DisagreementView(item="x", episode_id=HOSTILE, text=HOSTILE, reviewers=(HOSTILE,)),
    )
    app = shell(desk)
    async with running(app, (200, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "Q")
        assert "[/foo] ␛]52;c;ZXZpbA==␇" in screen_text(app)
        await press(pilot, "v")
        assert not any(ord(char) < 32 for strip in strips(app) for char in strip.text)


# files


async def test_export_writes_a_file_and_never_over_another(tmp_path: Path) -> None:
    target = tmp_path / "out" / "labels.jsonl"
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "enter", "Q", "x")
        assert f"labels-{SUITE}.jsonl" in screen_text(app)
        await _type(pilot, target)
        assert "exported 1 label to" in screen_text(app)
        assert target.read_bytes() == b'{"item":"pair-1"}\n'
        await press(pilot, "x")
        await _type(pilot, target)
        assert "✗ is there already, and stays: " in screen_text(app)
        await press(pilot, "x")
        await _type(pilot, target / "below")
        assert "✗ cannot be written" in screen_text(app)


async def test_import_takes_in_a_file_and_tells_what_became_of_it(tmp_path: Path) -> None:
    source = tmp_path / "kim.jsonl"
    source.write_bytes(b'{"a":1}\n{"b":2}\n')
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app, (200, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "i")
        await _type(pilot, source)
        assert desk.imported == [(source.read_bytes(), str(source))]
        assert "2 added, 1 known, 0 refused" in screen_text(app)
        source.write_bytes(b"no label")
        await press(pilot, "i")
        await _type(pilot, source)
        assert "line 1 is no label" in screen_text(app)
        await press(pilot, "i")
        await _type(pilot, tmp_path)
        assert "✗ no such file: " in screen_text(app)


async def _type(pilot: object, path: Path) -> None:
    from textual.widgets import Input

    pilot.app.screen.query_one(Input).value = str(path)  # type: ignore[attr-defined]
    await press(pilot, "enter")  # type: ignore[arg-type]


# bars


def test_a_bar_shows_value_limits_and_policy() -> None:
    assert plain([bars.bar(0.5, 0.25, 0.75, 21)]) == "·····├────●────┤·····"
    assert plain([bars.bar(0.5, None, None, 21)]) == "··········●··········"
    assert plain([bars.bar(0.5, 0.25, None, 21, 0.9)]) == "·····├────●───────┊─┤"
    assert plain([bars.bar(0.5, None, 0.75, 21, 0.05)]) == "├┊────────●────┤·····"


def test_what_lies_below_zero_goes_on_to_the_left() -> None:
    assert plain([bars.bar(0.5, -0.4, 1.0, 21)]).startswith("←──")
    assert plain([bars.bar(-0.2, -0.4, 0.5, 21)]).startswith("←──")
    assert plain([bars.bar(None, None, None, 5)]) == "·····"


def test_what_is_not_measured_says_why_and_draws_no_bar() -> None:
    line = plain([bars.estimate_line(estimate("alpha", None, why="one reviewer"), 78)])
    assert "○ not measured (one reviewer)" in line
    assert "●" not in line
    assert "0.0" not in line
