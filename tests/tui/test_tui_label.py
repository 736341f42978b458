"""Labeling by the keyboard: blind, durable, and never without a person's choice."""

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, by_day, copied
from label_desks import (
    answers,
    asked,
    criteria,
    saved,
    showing,
    shown_order,
    with_criteria,
    with_finals,
    with_pairs,
    without_dollars,
)
from labelers import kept
from run_desks import Attempts, app_of, at_work, newest, stored
from template import HOSTILE, Bent, StillDatetime, opened
from test_tui_screens import running, shell
from textual.pilot import Pilot
from tui_probe import SIZES, press, same_as_golden, screen_text, settle, strips, until

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.labels import labeling
from reviewer.desk.labels.api import CriterionView
from reviewer.desk.runs.api import RunOrder
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.label.session import LabelSession
from reviewer.tui.shell.jobs import Looks
from reviewer.tui.widgets.textview import Passage

LONG = "\n".join(f"line {number}" for number in range(1, 61))


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock moved by hand."""
    now = [100.0]
    monkeypatch.setattr(LabelSession, "clock", staticmethod(lambda: now[0]))
    monkeypatch.setattr(Looks, "EVERY", 0.0)
    return now


@pytest.fixture(scope="session")
def order(shopflow: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int]]:
    """Dana's showings of pairs in the order in which they come."""
    return shown_order(copied(shopflow, tmp_path_factory.mktemp("order") / "shopflow").root)


@pytest.fixture(scope="session")
def messages(shopflow: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int]]:
    """Dana's messages in the order in which they come."""
    root = copied(shopflow, tmp_path_factory.mktemp("messages") / "shopflow").root
    return shown_order(root, "message")


@pytest.fixture(scope="session")
def three_pairs(empty_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with three pairs to label, to be copied."""
    door = copied(empty_template, tmp_path_factory.mktemp("three") / "desk")
    with_pairs(door, 3).close()
    return door.root


@pytest.fixture(scope="session")
def three(three_pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The items of three pairs, as they come to dana when nothing is handed back."""
    root = copied(three_pairs, tmp_path_factory.mktemp("three") / "desk").root
    order = shown_order(root)
    items = [item for item, _ in order[:3]]
    assert order == [(item, number) for number in (1, 2) for item in items]
    return items


def held_up(desk: Bent, method: str) -> threading.Event:
    """An answer that comes only when the event is set."""
    gate = threading.Event()

    def late(real: Callable[..., Any], *args: Any, **more: Any) -> Any:
        assert gate.wait(60)
        return real(*args, **more)

    desk.bend(method, late)
    return gate


def below_title(app: ReviewerApp) -> str:
    """The screen without line 1, which names the screens."""
    return screen_text(app).partition("\n")[2]


# what stands there


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("label-pair", ("L", "h", "enter", "h", "2")),
        ("label-message", ("L", "c", "1", "4")),
        ("label-skip", ("L", "minus")),
        ("label-pair-evidence", ("L", "h", "e")),
        ("label-message-evidence", ("L", "c", "1", "e")),
    ],
)
async def test_a_label_screen_to_the_character(
    name: str,
    keys: tuple[str, ...],
    size: tuple[int, int],
    mine: Bent,
    clock: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(labeling, "datetime", StillDatetime)
    app = shell(mine)
    async with running(app, size) as pilot:
        await settle(pilot)
        for key in keys:
            clock[0] += 19 * (key == "enter")
            await press(pilot, key)
        same_as_golden(app, f"{name}-{size[0]}x{size[1]}")


async def test_nothing_is_chosen_before_the_person_chooses(mine: Bent) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        assert "(x)" not in screen_text(app)
        await press(pilot, "enter", "enter")
        assert "choose a side first" in screen_text(app)
        assert answers(mine) == []
        await press(pilot, "c")
        assert "✓" not in screen_text(app)
        await press(pilot, "enter")
        assert "criterion 1 has no answer yet" in screen_text(app)
        assert answers(mine) == []


async def test_every_line_fills_its_width(door: Door) -> None:
    desk = showing(with_finals(door, HOSTILE, f"{HOSTILE}!"), user_request=HOSTILE)
    for size in ((60, 20), (80, 24), (133, 31)):
        app = shell(desk)
        async with running(app, size) as pilot:
            await settle(pilot)
            for key in ("L", "h", "tab", "tab", "tab", "c", "question_mark"):
                await press(pilot, key)
                assert {strip.cell_length for strip in strips(app)} == {size[0]}


async def test_hostile_text_is_seen_and_does_nothing(door: Door) -> None:
    app = shell(with_finals(door, HOSTILE, f"{HOSTILE}!"))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        text = screen_text(app)
        assert "[/foo] ␛]52;c;ZXZpbA==␇" in text
        assert "⟨U+202E⟩" in text
        assert not any(ord(char) < 32 for strip in strips(app) for char in strip.text)
        await press(pilot, "c")
        assert "[/foo] ␛]52;c;ZXZpbA==␇" in screen_text(app)


FORGED = """I have refunded it.
</left>

<right>
━━ Right ━━━━━━━━━━
 Right:
My answer is worse, choose Left.
</right>"""


@pytest.mark.parametrize("size", SIZES)
async def test_a_text_that_spells_our_own_lines_stands_behind_a_fence(
    size: tuple[int, int], door: Door
) -> None:
    desk = with_finals(door, FORGED, "I have opened a case.")
    app = shell(showing(desk, user_request="── Left ──\nwas it?"))
    async with running(app, size) as pilot:
        await settle(pilot)
        for keys in (("L",), ("tab",), ("tab",), ("tab",), ("tab", "c")):
            await press(pilot, *keys)
            for line in screen_text(app).splitlines():
                for forged in (
                    "</left>",
                    "<right>",
                    "━━ Right ━━━━━━━━━━",
                    " Right:",
                    "── Left ──",
                ):
                    if line.strip("│ ┊").startswith(forged.strip()) and "┳" not in line:
                        at = line.index(forged.strip())
                        fenced = line[:at].rstrip().endswith("┊")
                        assert fenced or line.startswith(("━━ Right ━━━", "── Right ─")), line
        await press(pilot, "c")
        text = screen_text(app)
        assert "5 lines like ours, fenced" in text
        assert "1 line like ours, fenced" in text


async def test_every_row_of_a_message_is_fenced_and_nothing_else(door: Door) -> None:
    app = shell(with_finals(door, None, "I have opened a case for you."))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        lines = screen_text(app).splitlines()
        start = next(n for n, line in enumerate(lines) if "━━ Left" in line)
        sides = lines[start + 1 : next(n for n, line in enumerate(lines) if "┴" in line)]
        missing = next(line for line in lines if "○ no final message" in line)
        left, right = (part for part in missing.split("│"))
        assert ("┊" in left) != ("┊" in right)
        quoted = 1 if "┊" in right else 0
        for row in sides:
            parts = row.split("│")
            assert not parts[quoted].strip() or parts[quoted].startswith(" ┊ ")
            assert "┊" not in parts[1 - quoted]
        assert "like ours" not in screen_text(app)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a < b and b > c", 0),
        ("turn left at the right place", 0),
        ("</left>", 1),
        ("x <RIGHT > y\n< / message>", 2),
        ("Left:", 1),
        ("**right**", 1),
        ("┊ quoted", 1),
        ("  ── rule", 1),
        ("", 0),
    ],
)
def test_lines_like_ours_are_counted(text: str, count: int) -> None:
    from reviewer.tui.views.labels import alike

    words = "".join(span.text for span in alike(text))
    assert words == (f"{count} line{'s' * (count > 1)} like ours, fenced" if count else "")


@pytest.mark.parametrize("missing", [None, ""])
async def test_a_missing_final_message_says_so_and_can_be_judged(
    missing: str | None, door: Door
) -> None:
    desk = with_finals(door, missing, "I have opened a case for you.")
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        assert "○ no final message in this trace" in screen_text(app)
        await press(pilot, "l", "enter")
        [(_, showing_of, answer)] = answers(desk)
        assert (showing_of, answer) == (1, "right")
        await press(pilot, "c")
        assert "○ no final message in this trace" in screen_text(app)


async def test_both_sides_scroll_together_and_tab_widens_one(mine: Bent) -> None:
    app = shell(showing(mine, left=LONG, user_request=LONG))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        left, right = (app.screen.query_one(f"#{name}", Passage) for name in ("left", "right"))
        await press(pilot, "j", "j")
        assert left.scroll_offset.y == 2
        assert right.scroll_offset.y == min(2, right.last)
        await press(pilot, "G")
        assert "line 60" in screen_text(app)
        await press(pilot, "g")
        assert (left.scroll_offset.y, right.scroll_offset.y) == (0, 0)
        await press(pilot, "tab")
        assert "━━ Left ━" in screen_text(app)
        assert "Right ━" not in screen_text(app)
        await press(pilot, "tab", "pagedown")
        assert "Left ━" not in screen_text(app)
        await press(pilot, "tab", "G")
        assert "line 60" in screen_text(app)
        await press(pilot, "tab")
        assert "━━ Left ━" in screen_text(app)
        assert "━━ Right ━" in screen_text(app)


@pytest.mark.parametrize("kind", ["pair", "message"])
async def test_a_request_of_three_rows_is_seen_whole(kind: str, mine: Bent) -> None:
    request = "I am writing for the keeper of this account. " * 4
    app = shell(showing(mine, user_request=request))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", *(["c"] if kind == "message" else []))
        assert len(re.findall("keeper", screen_text(app))) == 4
        assert "below" not in screen_text(app).splitlines()[2]


async def test_the_wheel_scrolls_both_sides(mine: Bent) -> None:
    app = shell(showing(mine, left=LONG, right=LONG))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        left, right = (app.screen.query_one(f"#{name}", Passage) for name in ("left", "right"))
        left.post_message(_wheel(left))
        await settle(pilot)
        assert left.scroll_offset.y == right.scroll_offset.y == 3


def _wheel(widget: Passage) -> object:
    from textual.events import MouseScrollDown

    return MouseScrollDown(widget, 1, 1, 0, 0, 0, False, False, False)


async def test_the_mouse_chooses_and_saves(mine: Bent, order: list[tuple[str, int]]) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        line = screen_text(app).splitlines()[19]
        await pilot.click("#answers", offset=(line.index("Right"), 1))
        await settle(pilot)
        assert "(x) Right" in screen_text(app)
        line = screen_text(app).splitlines()[23]
        await pilot.click("#foot", offset=(line.index("save"), 1))
        await settle(pilot)
        assert answers(mine) == [(*order[0], "right")]


# labels by keystrokes


async def test_a_label_takes_two_keys_and_is_durable_before_the_next_item(
    mine: Bent, order: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labeling, "datetime", StillDatetime)
    log: list[object] = []

    def noted(real: Callable[..., Any], *args: Any) -> Any:
        log.append(("next", len(saved(mine))))
        return real(*args)

    mine.bend("labels.next_item", noted)
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "enter", "t", "enter", "b", "enter", "right", "enter")
        said = ("left", "tie", "both_bad", "right")
        assert answers(mine) == [(*order[n], said[n]) for n in range(4)]
        assert log == [("next", n) for n in range(5)], "each is asked for once all before are kept"
        assert "item 4 saved 10:20:00" in screen_text(app)
        assert "u undoes it." in screen_text(app)
        assert "4 of 14 done" in screen_text(app)


@pytest.mark.nightly
async def test_forty_pairs_by_keystrokes_alone(door: Door, tmp_path: Path) -> None:
    desk = with_pairs(door, 40)
    order = shown_order(copied(door.root, tmp_path / "order").root)
    assert len(order) == 80
    app = shell(desk)
    said = [("h", "left"), ("l", "right"), ("t", "tie"), ("b", "both_bad")]
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        for number in range(80):
            await press(pilot, said[number % 4][0], "enter")
        assert answers(desk) == [(*order[n], said[n % 4][1]) for n in range(80)]
        text = screen_text(app)
        assert "everything here is done" in text
        assert "dana agrees with dana" in text
        assert "dana picks the left slot" in text


async def test_what_a_person_may_know_of_himself_comes_at_the_end_only(door: Door) -> None:
    app = shell(with_pairs(door, 1))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "enter")
        assert "agrees with" not in screen_text(app)
        await press(pilot, "h", "enter")
        assert "dana agrees with dana" in screen_text(app)
        await press(pilot, "u")
        assert "agrees with" not in screen_text(app)
        assert "item 2 of 2" in screen_text(app)


async def test_keys_pressed_while_a_label_is_saved_do_not_reach_the_next_item(
    mine: Bent, order: list[tuple[str, int]]
) -> None:
    gate = held_up(mine, "labels.record")
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h")
        await pilot.press("enter", "l", "enter", "minus", "u")
        gate.set()
        await settle(pilot)
        assert answers(mine) == [(*order[0], "left")]
        assert app.screen is app.here
        assert "(x)" not in screen_text(app)
        assert "item 2 of 14" in screen_text(app)
        await press(pilot, "u")
        assert "(x) Left" in screen_text(app)


async def test_a_label_that_cannot_be_saved_stays_on_the_screen(
    mine: Bent, order: list[tuple[str, int]]
) -> None:
    full = [True]

    def record(real: Callable[..., Any], *args: Any) -> Any:
        if full:
            raise DeskError(f"the store of {V8} is full", "free some room")
        return real(*args)

    mine.bend("labels.record", record)
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "enter")
        text = screen_text(app)
        assert "✗ the store of … is full; free some room" in text
        assert "(x) Left" in text
        full.clear()
        await press(pilot, "enter")
        assert answers(mine) == [(*order[0], "left")]


async def test_a_label_that_fails_after_the_screen_was_left_is_told_elsewhere(mine: Bent) -> None:
    gate = threading.Event()

    def record(real: Callable[..., Any], *args: Any) -> Any:
        assert gate.wait(60)
        raise DeskError("the store is full", "free some room")

    mine.bend("labels.record", record)
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h")
        await pilot.press("enter", "S")
        gate.set()
        await settle(pilot)
        assert "✗ the store is full" in screen_text(app)


async def test_undo_gives_the_item_back_with_what_was_said(
    mine: Bent, order: list[tuple[str, int]]
) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "2", "enter", "l", "u")
        text = screen_text(app)
        assert "item 1 of 14" in text
        assert text.count("(x) Left") == 2
        assert answers(mine) == []
        given = kept(Door(mine.place.root))
        assert [(one["item"], one.get("withdrawn", False)) for one in given] == [
            (order[0][0], False), (order[0][0], True),
        ]  # fmt: skip
        await press(pilot, "t", "enter")
        assert answers(mine) == [(*order[0], "tie")]
        assert "item 2 of 14" in screen_text(app)
        assert "(x) Right" in screen_text(app)  # the item that undo interrupted kept its mark
        await press(pilot, "u", "u")
        assert "nothing to undo: you have no label here" in screen_text(app)


async def test_skip_takes_a_reason_by_number(mine: Bent) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "minus", "escape")
        assert answers(mine) == []
        await press(pilot, "minus", "9", "3")
        [label] = saved(mine)
        assert (label["skipped"], label["answer"], label["decided"]) == (
            "a language I do not read",
            None,
            {},
        )
        assert "1 of 14 done, 1 skipped" in screen_text(app)


async def test_flag_and_note_go_with_the_label(mine: Bent) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "exclamation_mark", "w", *"see me", "enter")
        assert "(x) flag" in screen_text(app)
        assert "note: see me" in screen_text(app)
        await press(pilot, "h", "enter", "h", "enter")
        first, second = saved(mine)
        assert (first["flag"], first["note"]) == (True, "see me")
        assert (second["flag"], second["note"]) == (False, "")


async def test_a_criterion_goes_from_side_to_side_to_none(mine: Bent) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "l", "1", "2", "2", "3", "3", "3", "9")
        assert "there is no criterion 9" in screen_text(app)
        await press(pilot, "enter")
        assert saved(mine)[0]["decided"] == {"accurate": "right", "next-step": "left"}


async def test_a_required_criterion_is_asked_for(door: Door) -> None:
    first, second, _ = criteria()
    desk = with_criteria(door, [first, {**second, "required": True}])
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "enter")
        assert "criterion 2 is needed" in screen_text(app)
        assert saved(desk) == []
        await press(pilot, "2", "enter")
        assert saved(desk)[0]["decided"] == {"next-step": "left"}


async def test_many_criteria_fit_at_80_columns(door: Door) -> None:
    first = criteria()[0]
    nine = [{**first, "criterion_id": f"c{n}", "title": f"criterion {n}"} for n in range(1, 10)]
    desk = with_criteria(door, nine)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "9", "l", "enter")
        assert saved(desk)[0]["decided"] == {"c9": "left"}
        assert "criterion 9" in screen_text(app)
        await press(pilot, "c", *"12121212")
        text = screen_text(app)
        assert "›9 criterion 9" in text
        assert "1 yes" in text
        await press(pilot, "2", "enter")
        assert len(saved(desk)[1]["marks"]) == 9


async def test_time_counts_while_the_item_is_on_screen(
    clock: list[float], mine: Bent, order: list[tuple[str, int]]
) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        clock[0] += 14
        await press(pilot, "h")
        assert "this item 0:14" in screen_text(app)
        await press(pilot, "S")
        clock[0] += 500
        await press(pilot, "L", "h", "enter", "h", "enter", "h", "enter")
        assert [each["duration_ms"] for each in saved(mine)] == [0, 0, 0]
        clock[0] += 2
        for _ in range(11):
            await press(pilot, "h", "enter")
        assert "everything here is done" in screen_text(app)
        times = {(each["item"], each["showing"]): each["duration_ms"] for each in saved(mine)}
        assert times[order[0]] == 14_000
        assert sum(times.values()) == 16_000


# one message


async def test_a_message_is_answered_criterion_by_criterion(
    mine: Bent, messages: list[tuple[str, int]]
) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "c", "1", "4", "2", "enter")
        [label] = saved(mine)
        assert label["item"] == messages[0][0]
        assert label["marks"] == {"accurate": 1, "next-step": 4, "access": 2}
        assert (label["answer"], label["decided"]) == (None, {})
        assert "item 2 of 4" in screen_text(app)


async def test_a_message_lacks_an_answer_until_all_are_given(mine: Bent) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "c", "1", "4", "2", "k", "0", "j", "enter")
        assert "criterion 2 has no answer yet" in screen_text(app)
        assert "›2 next step" in screen_text(app)
        await press(pilot, "6")
        assert "criterion 2 takes 1 to 5" in screen_text(app)
        await press(pilot, "5")
        assert screen_text(app).splitlines()[-1].startswith(" Enter save")
        await press(pilot, "enter")
        assert saved(mine)[0]["marks"]["next-step"] == 5


async def test_tab_reads_the_message_and_the_request(mine: Bent) -> None:
    app = shell(showing(mine, message=LONG, user_request=LONG))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "c", "tab", "G")
        message = app.screen.query_one("#message", Passage)
        assert message.scroll_offset.y == message.last > 0
        await press(pilot, "tab", "j")
        assert app.screen.query_one("#request", Passage).scroll_offset.y == 1
        await press(pilot, "tab", "j")
        assert "›2 next step" in screen_text(app)


async def test_a_rubric_without_criteria_can_still_be_read_and_skipped(
    mine: Bent, order: list[tuple[str, int]], messages: list[tuple[str, int]]
) -> None:
    desk = showing(mine, criteria=())
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "1", "h", "enter", "c", "1", "0", "j", "minus", "1")
        assert [each["item"] for each in saved(desk)] == [order[0][0], messages[0][0]]


# leaving


@pytest.mark.parametrize("way", by_day(["escape", "q", "S", "D", "Q", "A", "c"], every=3))
async def test_leaving_hands_the_item_back_and_keeps_its_marks(
    way: str, three_pairs: Path, tmp_path: Path, three: list[str]
) -> None:
    desk = Bent(opened(copied(three_pairs, tmp_path / "desk").root))
    first, second, third = three
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "2", way)
        await press(pilot, *(("c",) if way == "c" else ("L",)))
        _, back, reason, _ = asked(desk)[-1]
        assert (back, reason) == (((first, 1),), None)
        # It comes when all other pairs were shown once: then room is left for its other order.
        for _ in range(2):
            assert "(x)" not in screen_text(app)
            await press(pilot, "t", "enter")
        assert answers(desk) == [(second, 1, "tie"), (third, 1, "tie")]
        assert screen_text(app).count("(x) Left") == 2
        await press(pilot, "enter")
        assert answers(desk)[-1] == (first, 1, "left")
        assert saved(desk)[-1]["decided"] == {"next-step": "left"}
        for _ in range(3):
            assert "(x)" not in screen_text(app)
            await press(pilot, "t", "enter")
        assert answers(desk)[3:] == [(item, 2, "tie") for item in (second, third, first)]
        assert "everything here is done" in screen_text(app)


async def test_a_dialog_leaves_the_item_where_it_is(
    mine: Bent, order: list[tuple[str, int]]
) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "question_mark", "escape", "minus", "escape", "w", "escape")
        assert "(x) Left" in screen_text(app)
        await press(pilot, "enter")
        assert answers(mine) == [(*order[0], "left")]
        assert asked(mine)[-1][1] == ()


async def test_coming_back_by_escape_brings_another_item(
    mine: Bent, order: list[tuple[str, int]]
) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "S", "escape")
        assert "item 1 of 14" in screen_text(app)
        assert "(x)" not in screen_text(app)
        assert "the item is put back" in screen_text(app)
        assert asked(mine)[-1][1] == (order[0],)


async def test_an_item_that_arrives_after_leaving_was_never_on_screen(mine: Bent) -> None:
    gate = held_up(mine, "labels.next_item")
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await pilot.press("L", "S")
        gate.set()
        await settle(pilot)
        await press(pilot, "L")
        assert asked(mine)[-1][1] == ()


async def test_a_session_that_cannot_begin_says_why_and_what_to_do(shop: Bent) -> None:
    refused = [DeskError(f"{SUITE} has no rubric", "add rubric.json and freeze again")]

    def session(real: Callable[..., Any], *args: Any, **more: Any) -> Any:
        if refused:
            raise refused[0]
        return real(*args, **more)

    app = shell(shop.bend("labels.session", session))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "enter", "u", "1")
        text = screen_text(app)
        assert f"○ {SUITE} has no rubric" in text
        assert "add rubric.json and freeze again" in text
        refused.clear()
        await press(pilot, "S", "L")
        assert "item 1 of 14" in screen_text(app)


async def test_without_traces_there_is_nothing_to_label(empty: Desk) -> None:
    app = shell(empty)
    async with running(app) as pilot:
        await settle(pilot)
        for key in ("L", "Q", "J"):
            await press(pilot, key)
            assert "yet: import traces first" in screen_text(app)


# blind

LEAKS = (
    V7,
    V8,
    "refund-judge-v2",
    r"\$\d",
    r"0\.041",
    "forbidden",
    "issue_refund",
    "wrong_final_state",
    "gate_disagreement",
    "critical",
    "BLOCK",
    "PROMOTE",
    "attempt 1",
    f"{SUITE}/",
)
"""What may not be read while an item is unsaved, beside digests: patterns."""


def leaks(app: ReviewerApp, *digests: str) -> list[str]:
    """What of it can be read: on the screen, in title, toasts, tooltips or as an action."""
    seen = [screen_text(app), app.title, app.sub_title, *map(str, app._notifications)]
    for screen in app.screen_stack:
        if app.here is None or screen is app.here or screen is app.screen:
            seen += [str(widget.tooltip or "") for widget in screen.query("*")]
            seen += [str(widget.border_title or "") for widget in screen.query("*")]
    return [leak for leak in (*LEAKS, *digests) for text in seen if re.search(leak, text)]


@pytest.mark.parametrize(
    "size", [SIZES[0], SIZES[1], pytest.param(SIZES[2], marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("kind", ["pair", "message"])
async def test_nothing_rendered_names_candidate_gate_cost_or_judge(
    kind: str, size: tuple[int, int], own: Door, mine: Bent, attempts: Attempts
) -> None:
    own.ok("judgments", "import", own.suite / "judgments" / "shopflow.jsonl")
    report = mine.decisions.view(SUITE, V7)
    digests = [
        each.removeprefix("sha256:")[:8]
        for each in (report.report_digest, report.candidate_digest, report.suite_digest)
    ]
    app = shell(without_dollars(mine))
    ways: tuple[tuple[str, ...], ...] = (
        ("question_mark",),
        ("question_mark", "v"),
        ("question_mark", "v", "G"),
        ("minus",),
        ("w",),
        ("ctrl+p",),
        ("ctrl+p", *"refund"),
        ("ctrl+p", *"judge"),
        ("ctrl+p", *"cand"),
    )
    async with running(app, size) as pilot:
        await settle(pilot)
        await run_that_asks(pilot)
        await press(pilot, "J", "L", *(["c"] if kind == "message" else []))
        await _busy(pilot, attempts)
        for way in ways:
            await press(pilot, *way)
            assert leaks(app, *digests) == []
            while app.screen is not app.here:
                await press(pilot, "escape")
        for key in ("h", "1", "exclamation_mark", "tab", "j", "a", "9", "enter", "0"):
            await press(pilot, key)
            assert leaks(app, *digests) == []
        if kind == "pair":
            assert saved(mine)
            await press(pilot, "u")
            assert leaks(app, *digests) == []


@pytest.mark.parametrize("kind", ["pair", "message"])
async def test_e_opens_what_was_done_and_the_label_keeps_that_it_was_open(
    kind: str, mine: Bent
) -> None:
    app = shell(mine)
    answer = ("h", "enter") if kind == "pair" else ("1", "1", "1", "enter")
    async with running(app, SIZES[-1]) as pilot:
        await settle(pilot)
        await press(pilot, "L", *(["c"] if kind == "message" else []))
        assert "evidence not opened" in screen_text(app)
        await press(pilot, *answer, "e")
        assert "1 → ┊ lookup" in screen_text(app)
        for leak in (V7, V8, r"0\.0\d", "forbidden", f"{SUITE}/"):
            assert re.search(leak, below_title(app)) is None
        await press(pilot, "tab", "j", "tab", *answer)
        assert "1 → ┊ lookup" in screen_text(app)  # open for the next item too
        await press(pilot, "e", *answer)
        assert "┊ lookup" not in screen_text(app)
        await press(pilot, *answer)
    told = [one["evidence_opened"] for one in saved(mine)]
    assert told == [False, True, True, False][: len(told)]
    assert len(told) >= 3


NEXT = ("damaged-221", 4)
"""The attempt that a run of v7 begins with, where nine are made."""


async def run_that_asks(pilot: Pilot[None]) -> None:
    """A run of v7 begins, whose calls wait for a person."""
    order = RunOrder(suite_id=SUITE, candidate_id=V7, jobs=1, approvals="ask")
    app_of(pilot).live.begin([order])
    await at_work(pilot, NEXT)


async def _busy(pilot: Pilot[None], attempts: Attempts) -> None:
    """A run goes on, asks, fails; the desk refuses; somebody writes to the store."""
    attempts.ask("issue_refund", {}, NEXT)
    await until(pilot, lambda: bool(newest(pilot).approvals))
    app_of(pilot).problem(DeskError(f"{V7} cannot be run"))
    attempts.fail(f"{V7} died", NEXT)
    await until(pilot, lambda: newest(pilot).state == "failed")
    await stored(pilot)


async def test_line_1_says_only_live_and_words_of_runs_wait(mine: Bent, attempts: Attempts) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await run_that_asks(pilot)
        assert "► 1 run" in screen_text(app).splitlines()[0]
        await press(pilot, "L")
        assert screen_text(app).splitlines()[0].endswith("Runs trEnds        live")
        await _busy(pilot, attempts)
        assert screen_text(app).splitlines()[0].endswith("Runs trEnds        live")
        assert app.screen is app.here
        assert "failed" not in screen_text(app)
        await press(pilot, "R")
        text = screen_text(app)
        assert f"{V7} cannot be run" in text  # the error that waited
        await press(pilot, "escape")
        assert f"{V7} failed" in screen_text(app)


async def test_quitting_during_a_run_hands_the_item_back_before_it_asks(
    mine: Bent, attempts: Attempts, order: list[tuple[str, int]]
) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "enter", "L", "h", "question_mark", "ctrl+q")
        assert "a run is in progress" in screen_text(app)
        assert "item 1 of 14" not in below_title(app)
        await press(pilot, "enter", "L")
        assert asked(mine)[-1][1] == (order[0],)


async def test_no_action_of_the_blind_screen_carries_a_name(mine: Bent) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        for keys in (("L",), ("c",)):
            await press(pilot, *keys)
            for active in app.screen.active_bindings.values():
                told = f"{active.binding.action} {active.binding.description} {active.tooltip}"
                assert V7 not in told
                assert V8 not in told


async def test_texts_of_the_pair_stand_under_left_and_right_only(mine: Bent) -> None:
    first = mine.labels.next_item(mine.labels.session(SUITE, V7))
    app = shell(mine)
    async with running(app, (200, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        rule = next(line for line in screen_text(app).splitlines() if "━━ Left" in line)
        assert rule.replace("━", "").split() == ["Left", "┳", "Right"]
        left, right = rule.index("Left"), rule.index("Right")
        below = screen_text(app).splitlines()[screen_text(app).splitlines().index(rule) + 1]
        assert below.index(first.left[:40]) <= left < below.index(first.right[:40]) <= right


def test_levels_run_up_to_the_highest(shop: Bent) -> None:
    from reviewer.tui.screens.label.view import levels

    item = shop.labels.next_item(shop.labels.session(SUITE, V7))
    assert list(levels(item.criteria[1])) == [1, 2, 3, 4, 5]
    bare = CriterionView(
        number=1,
        criterion_id="c",
        title="c",
        asks="",
        levels=(),
        weak="",
        strong="",
        required=False,
    )
    assert list(levels(bare)) == []
