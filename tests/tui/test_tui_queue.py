"""The queue: what is left and why, agreement with its limits, a third person, files of labels."""

from pathlib import Path

import msgspec
import pytest
from fake_review import ReviewDesk, estimate, question
from fake_shop import HOSTILE, SUITE, V7, V8
from test_tui_screens import running, shell
from tui_probe import SIZES, press, same_as_golden, screen_text, settle, strips

from reviewer.desk.errors import DeskError
from reviewer.desk.labels.api import OPEN_FLAG, DisagreementView, QueueView, ReasonLine
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.widgets import plot as bars
from reviewer.tui.widgets.lines import plain

MINE = DisagreementView(
    item="pair-4",
    episode_id="damaged-221",
    text="the winner differs; 1 criterion differs",
    reviewers=("dana", "kim"),
    mine=True,
)
OPEN = DisagreementView(
    item="pair-2",
    episode_id="appeal-009",
    text="open: told once you have labeled it",
    reviewers=("kim", "robin"),
    mine=False,
)


class Queued(ReviewDesk):
    """A desk whose queue a test changes."""

    changes: dict[str, object] = {}  # noqa: RUF012

    def queue(self, *args: object, **options: object) -> QueueView:  # type: ignore[override]
        found = super().queue(*args, **options)  # type: ignore[arg-type]
        return msgspec.structs.replace(found, **self.changes)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("keys", [("Q",), ("L", "h", "enter", "t", "enter", "Q", "v")])
async def test_the_queue_to_the_character(keys: tuple[str, ...], size: tuple[int, int]) -> None:
    app = shell(ReviewDesk.ready(disagreements=(MINE, OPEN)))
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        name = "queue-saved" if len(keys) > 1 else "queue"
        same_as_golden(app, f"{name}-{size[0]}x{size[1]}")


async def test_no_candidate_is_named_where_labelers_go_between_items() -> None:
    app = shell(ReviewDesk.ready(disagreements=(MINE, OPEN)))
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
        assert desk.asked[-1][2] == OPEN_FLAG


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"high": 0, "open_high": 0, "open_left": 0}, "no trace of this candidate has a high flag"),
        ({"high": 2, "open_high": 0, "open_left": 0}, "every high flag is closed by a label"),
        ({"high": 2, "open_high": 2, "open_left": 0}, "nothing left for you here closes an open"),
    ],
)
async def test_n_says_when_no_high_flag_can_be_labeled(
    changes: dict[str, object], words: str
) -> None:
    desk = Queued.ready()
    desk.changes = changes
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "n")
        assert "[Queue]" in screen_text(app)
        assert words in screen_text(app).splitlines()[-2]


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


@pytest.mark.parametrize(
    ("high", "unclosed", "words"),
    [
        (0, 0, "✓ no trace of this candidate has a high flag"),
        (1, 0, "✓ the 1 high flag is closed: somebody has labeled its message"),
        (3, 0, "✓ all 3 high flags are closed: somebody has labeled their messages"),
        (3, 1, "○ 1 high flag is open: no PROMOTE can be signed until a label closes it"),
        (3, 2, "○ 2 high flags are open: no PROMOTE can be signed until labels close them"),
    ],
)
async def test_the_flags_line_says_what_they_hold_up(high: int, unclosed: int, words: str) -> None:
    desk = Queued.ready()
    desk.changes = {"high": high, "open_high": unclosed}
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q")
        assert screen_text(app).splitlines()[2] == words


async def test_what_is_mine_and_what_is_everybodys_is_said() -> None:
    app = shell(ReviewDesk.ready())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "enter", "Q")
        text = screen_text(app)
        assert "you: 1 of 8 showings done" in text
        assert "by dana, kim" in text
        assert "7 left for you, order of the queue" in text
        assert "you: left  done" in text
        assert "everybody: 4 pairs labeled" in text


async def test_a_line_with_a_flag_and_nothing_left_looks_for_what_closes_it() -> None:
    desk = Queued.ready()
    line = ReasonLine(
        reason="iteration_limit", priority="high", left=0, done=0, open=1, note="1 flag to close"
    )
    desk.changes = {"reasons": (line,)}
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "enter")
        assert desk.asked[-1][2] == OPEN_FLAG


async def test_s_sorts_the_lines_and_new_counts_do_not_move_them() -> None:
    desk = Queued.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "s")
        assert "most left first" in screen_text(app)
        assert first_reasons(app)[:2] == ["uncertain, near a", "safety: a critica"]
        assert "› safety" in screen_text(app)  # the cursor stays on its line
        found = desk.labels.queue(SUITE, V7)
        lines = [msgspec.structs.replace(line, left=9 - n) for n, line in enumerate(found.reasons)]
        desk.changes = {"reasons": tuple(lines)}
        app.post_message(ReviewerApp.StoreChanged(7))
        await settle(pilot)
        assert first_reasons(app)[0] == "uncertain, near a"
        await press(pilot, "s")
        assert "most done first" in screen_text(app)
        assert first_reasons(app)[0] == "judge flips      "
        await press(pilot, "s")
        assert "order of the queue" in screen_text(app)
        assert first_reasons(app)[0] == "safety: a critica"
        await press(pilot, "j", "j", "j", "enter")
        assert desk.asked[-1][2] == "judge_flips"


def first_reasons(app: ReviewerApp) -> list[str]:
    return [line[2:19] for line in screen_text(app).splitlines()[5:9]]


async def test_y_copies_what_has_the_focus() -> None:
    app = shell(ReviewDesk.ready(disagreements=(OPEN,)))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "y")
        assert app.clipboard == "safety: a critical finding: 1 left, 1 done; 1 flag to close"
        await press(pilot, "tab", "y")
        assert "Krippendorff alpha" in app.clipboard
        await press(pilot, "tab", "y")
        assert app.clipboard == "pair-2"


async def test_saved_items_of_one_line_are_those_asked_for_by_its_reason() -> None:
    desk = Queued.ready()
    desk.changes = {"saved": (("judge_flips", "-", "left"), ("safety, random", "0.05", "tie"))}
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "j", "j", "j", "enter")
        lines = screen_text(app).splitlines()
        start = next(n for n, line in enumerate(lines) if "your saved items" in line)
        saved = "\n".join(lines[start:])
        assert "judge flips" in saved
        assert "tie" not in saved
        await press(pilot, "v", "v")
        assert "tie" in screen_text(app)


# a third person


@pytest.mark.parametrize("place", ["Q", "A"])
async def test_enter_on_a_disagreement_labels_exactly_that_one_as_adjudicator(place: str) -> None:
    desk = ReviewDesk.ready(disagreements=(MINE, OPEN))
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, place)
        assert "to adjudicate 2" in screen_text(app)
        await press(pilot, *["tab"] * (2 if place == "Q" else 1), "enter")
        assert "somebody else must settle it" in screen_text(app)  # the first is dana's own
        assert desk.asked == []
        await press(pilot, "j", "enter")
        assert "adjudicator dana" in screen_text(app)
        assert desk.wanted == ["pair-2"]
        assert desk.asked[-1][0].role == "adjudicator"  # type: ignore[attr-defined]
        await press(pilot, "escape")
        text = screen_text(app)
        assert ("[Queue]" if place == "Q" else "[Agreement]") in text
        assert "›appeal-009" in text
        await press(pilot, "enter", "h", "enter")
        assert desk.wanted == ["pair-2", "pair-2", None]  # after it, whatever else is open
        assert [(each.item, each.answer) for each in desk.saved_labels] == [("pair-2", "left")]


async def test_a_disagreement_that_was_settled_meanwhile_is_said() -> None:
    gone = msgspec.structs.replace(OPEN, item="pair-99")
    app = shell(ReviewDesk.ready(disagreements=(gone,)))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "tab", "tab", "enter")
        assert "the one you chose is settled meanwhile" in screen_text(app)


async def test_the_last_disagreement_gives_the_focus_back() -> None:
    desk = ReviewDesk.ready(disagreements=(OPEN,))
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "tab", "tab")
        desk.disagreements = ()
        app.post_message(ReviewerApp.StoreChanged(7))
        await settle(pilot)
        assert "to adjudicate" not in screen_text(app)
        await press(pilot, "j", "enter")
        assert "nothing stands under this reason" in screen_text(app)


async def test_c_turns_to_the_queue_of_messages_and_label_follows() -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "c")
        text = screen_text(app)
        assert "final messages   you: 0 of 4 messages done" in text
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
        assert "you: 7 of 8 showings done" in text
        assert "› gates and harness disagree" in text


async def test_nothing_labeled_says_what_would_make_it_readable() -> None:
    desk = Queued.ready()
    desk.changes = {
        "agreement": (question(why="no labels"),),
        "consistency": (),
        "reviewers": (),
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
        await press(pilot, "Q", "enter", "n", "s", "y", "v", "tab", "x", "escape")
        assert "○ the suite has no rubric" in screen_text(app)
        assert "add rubric.json" in screen_text(app)


async def test_hostile_words_of_labels_are_shown_and_inert() -> None:
    desk = Queued.ready()
    desk.changes = {
        "reviewers": (HOSTILE,),
        "needed": HOSTILE,
        "agreement": (question(HOSTILE), question(HOSTILE, why=HOSTILE)),
        "consistency": (estimate(HOSTILE, 0.5, 0.1, 0.9, (1, 2), HOSTILE),),
        "saved": ((HOSTILE, HOSTILE, HOSTILE),),
        "done": 1,
    }
    desk.disagreements = (
        DisagreementView(
            item="x", episode_id=HOSTILE, text=HOSTILE, reviewers=(HOSTILE,), mine=False
        ),
    )
    app = shell(desk)
    async with running(app, (200, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "Q")
        assert "[/foo] ␛]52;c;ZXZpbA==␇" in screen_text(app)
        await press(pilot, "v", "tab", "y", "A")
        assert not any(ord(char) < 32 for char in app.clipboard.replace("\n", ""))
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
