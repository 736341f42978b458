"""Values that fold: every part reachable, named by its pointer, found however it is folded."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from doors import V7, Door
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from template import HOSTILE, Bent, attack, trace_id, with_attack
from test_tui_screens import running, shell
from textual.pilot import Pilot
from tui_probe import SIZES, press, same_as_golden, screen_text, settle

from reviewer.desk.desk import Desk
from reviewer.desk.views import EventRow
from reviewer.trace import jsontree
from reviewer.trace.jsontree import find
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.trajectory.screen import TrajectoryScreen
from reviewer.tui.widgets.value_tree import LINES, MEMBERS, Entry, Tree
from reviewer.tui.widgets.valueview import Seek

ATTACK = trace_id(V7, "attack-014", 1)
ORDER = {
    "id": "A-1",
    "customer": {"name": "Mia", "address": {"city": "Austin", "zip": "78750"}},
    "items": [{"sku": f"S{n}", "price": n * 1.5} for n in range(250)],
    "log": "\n".join(f"line {n}" for n in range(300)),
    "reply": json.dumps({"inner": [1, {"deep": "needle in a text"}]}),
}


def tree(value: Any, **more: Any) -> Tree:
    return Tree("observation", json.dumps(value).encode(), "/events/1/observation", **more)


def told(one: Tree, width: int = 80) -> list[str]:
    return [
        "".join(span.text for span in entry.block.head) + entry.block.text
        for entry in one.entries(width)
    ]


def at(value: Any, pointer: str) -> Any:
    """The value that a pointer names, by the definition of RFC 6901; `#` reads the text there."""
    for half in pointer.split("#"):
        for part in half.split("/")[1:]:
            part = part.replace("~2", "#").replace("~1", "/").replace("~0", "~")
            value = value[int(part)] if isinstance(value, list) else value[part]
        if half is not pointer.split("#")[-1]:
            value = json.loads(value)
    return value


# the lines of a value ----------------------------------------------------------------------------

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | NAMES,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)


def test_what_is_below_a_name_with_the_sign_of_a_text_within_is_shown() -> None:
    value = {"a#": {"b": "a needle"}, "c": json.dumps({"x#": {"y": "a needle"}})}
    found = list(find(json.dumps(value).encode(), "needle"))
    assert [hit.pointer for hit in found] == ["/a~2/b", "/c#/x~2/y"]
    for hit in found:
        one = tree(value)
        one.reveal(hit.pointer, hit.position)
        assert any("a needle" in line for line in told(one)), told(one)


@given(VALUES)
@settings(deadline=None)
def test_unfolded_every_part_has_a_line_that_names_it(value: Any) -> None:
    one = Tree("v", json.dumps(value).encode(), "")
    one.all(True)
    seen = {}
    for entry in one.entries(80):
        if entry.raw is not None:
            assert at(value, entry.pointer) == json.loads(bytes(entry.raw)), entry.pointer
            seen[entry.pointer] = entry
    assert {pointer for pointer, _ in parts(value, "")} <= set(seen)


def parts(value: Any, pointer: str) -> list[tuple[str, Any]]:
    """(pointer, value) of everything in a value."""
    below: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        below = list(value.items())
    elif isinstance(value, list):
        below = list(enumerate(value))
    found = [(pointer, value)]
    for name, each in below:
        found += parts(each, pointer + jsontree.step(name))
    return found


@given(VALUES, st.data())
@settings(deadline=None)
def test_whatever_is_found_is_brought_to_light(value: Any, data: st.DataObject) -> None:
    raw = json.dumps(value).encode()
    texts = [each for _, each in parts(value, "") if isinstance(each, str) and each]
    if not texts:
        return
    wanted = data.draw(st.sampled_from(texts))
    one = Tree("v", raw, "")
    one.all(False)
    for hit in jsontree.find(raw, wanted):
        line = one.reveal(hit.pointer, hit.position)
        entries = [each for each in one.entries(80) if each.pointer == hit.pointer]
        assert entries, hit
        assert line in {each.line for each in entries}


def test_a_long_list_and_a_long_text_are_shown_by_windows() -> None:
    one = tree(ORDER, turned={"/items": True, "/log": True})
    lines = told(one)
    assert sum("element" not in line and "members  {" in line for line in lines) == MEMBERS
    assert any("… 150 members more, Enter shows them" in line for line in lines)
    assert any("… 260 lines more" in line for line in lines)
    assert sum("line " in line and "┊" not in line for line in lines) >= LINES
    one.move("/items", 1)
    assert not any("150 members more" in line for line in told(one))


def test_a_window_slides_where_it_cannot_grow() -> None:
    one = tree(list(range(10_000)))
    for _ in range(4):
        one.entries(80)
        one.move("", 1)
    entries = [each for each in one.entries(80) if each.more is None]
    assert entries[1].pointer == "/events/1/observation/4000"
    assert len(entries) == 1 + 2_000
    one.move("", -1)
    assert one.entries(80)[2].pointer == "/events/1/observation/2000"


def test_a_text_window_slides_both_ways() -> None:
    one = tree("\n".join(f"line {n}" for n in range(9_000)))
    for _ in range(4):
        one.entries(80)
        one.move("", 1)
    shown = [each for each in one.entries(80) if each.block.text.startswith("line ")]
    assert (shown[0].line, shown[0].block.text) == (4_000, "line 4000")
    one.move("", -1)
    shown = [each for each in one.entries(80) if each.block.text.startswith("line ")]
    assert shown[0].block.text == "line 2000"


def test_what_changed_is_marked_and_open() -> None:
    state = {"a": {"b": {"c": 1, "d": 2}}, "z": {"y": list(range(99))}}
    one = tree(state, touched={"/a/b/c": "~"}, budget=0)
    assert any("~ c  1" in line for line in told(one))
    assert not any("y  " in line for line in told(one))


def test_a_literal_value_reads_nothing_into_its_texts() -> None:
    raw = b'{"reply": "{\\"a\\": 1}", "n": 1.10}'
    lines = [
        "".join(s.text for s in e.block.head) + e.block.text
        for e in Tree("event", raw, "", literal=True).entries(80)
    ]
    assert any(line.endswith('reply  "{\\"a\\": 1}"') for line in lines)
    assert any(line.endswith("n  1.10") for line in lines)


def test_opening_megabytes_reads_the_top_alone() -> None:
    rows = [{"id": n, "text": "x" * 40} for n in range(60_000)]
    one = tree({"rows": rows, "more": "y" * 1_000_000})
    lines = told(one)
    assert lines[1].startswith("  ▸ rows  ")
    assert "B" in lines[1]
    assert len(lines) == 3


def test_a_folded_line_says_what_it_holds_and_fits() -> None:
    for entry in tree(ORDER).entries(40):
        if entry.fold is not None and not entry.opened:
            assert entry.block.indent + len(entry.block.text) <= 40


def test_places_are_told_in_the_order_of_reading() -> None:
    head = Entry(jsontree_block("needle first"))
    seek = Seek([head, tree(ORDER)], "needle")
    while seek.more():
        pass
    assert [(part if isinstance(part, int) else hit.pointer) for part, hit in seek] == [
        0, "/reply#/inner/1/deep",
    ]  # fmt: skip


def jsontree_block(text: str) -> Any:
    from reviewer.tui.widgets.lines import Block

    return Block(text)


# the pane ----------------------------------------------------------------------------------------


def answering(door: Door, value: Any) -> Desk:
    """A desk on which the second event, a call, was answered with a value, told as JSON in a text
    where it is no text itself."""
    text = value if isinstance(value, str) else json.dumps(value)
    return with_attack(door, attack(_2={"observation": text, "state": None}))


@asynccontextmanager
async def inside(
    desk: Any, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[ReviewerApp, Pilot[None], TrajectoryScreen, list[str]]]:
    """The cursor in the zoomed pane of event 2, on its observation; and what was copied."""
    app = shell(desk)
    copied: list[str] = []
    async with running(app, size) as pilot:
        await settle(pilot)
        app.copy_to_clipboard = copied.append  # type: ignore[method-assign,assignment]
        screen = TrajectoryScreen(ATTACK, 2)
        app.visit(screen)
        await settle(pilot)
        await press(pilot, "enter", "Z")
        names = [each.pointer for each in screen.pane.entries]
        screen.pane.go(names.index("/events/1/observation"))
        await settle(pilot)
        yield app, pilot, screen, copied


@pytest.mark.parametrize("size", SIZES)
async def test_values_fold_by_keys(door: Door, size: tuple[int, int]) -> None:
    async with inside(answering(door, ORDER), size) as (app, pilot, screen, _):
        await press(pilot, "z")
        assert '▸ customer  2 members  {"name": "Mia"' in screen_text(app)
        await press(pilot, "j", "j", "l")
        assert 'name  "Mia"' in screen_text(app)
        await press(pilot, "l", "j")
        here = screen.pane.current
        assert here is not None
        assert here.pointer == "/events/1/observation#/customer/address"
        await press(pilot, "enter")
        assert 'city  "Austin"' in screen_text(app)
        same_as_golden(app, f"trajectory-values-{size[0]}x{size[1]}")
        await press(pilot, "h")
        assert "city  " not in screen_text(app)
        await press(pilot, "h")
        here = screen.pane.current
        assert here is not None
        assert here.pointer == "/events/1/observation#/customer"
        await press(pilot, "enter")
        assert 'name  "Mia"\n' not in screen_text(app)


async def test_values_fold_by_the_mouse(door: Door) -> None:
    async with inside(answering(door, ORDER)) as (app, pilot, _screen, _):
        await press(pilot, "z")
        lines = screen_text(app).splitlines()
        y, x = next(
            (y, line.index("▸ customer")) for y, line in enumerate(lines) if "▸ cus" in line
        )
        await pilot.click(offset=(x, y))
        await settle(pilot)
        assert "▾ customer" in screen_text(app)
        await pilot.click(offset=(x + 4, y))
        await settle(pilot)
        assert "▾ customer" in screen_text(app), "a click beside the mark only moves the cursor"
        await pilot.click(offset=(x + 4, y), times=2)
        await settle(pilot)
        assert "▸ customer" in screen_text(app)


async def test_the_pointer_names_the_value_that_was_copied(door: Door) -> None:
    async with inside(answering(door, ORDER)) as (app, pilot, _screen, copied):
        await press(pilot, "z", "j", "j", "y")
        assert json.loads(copied[-1]) == ORDER["customer"]
        assert "y again: /events/1/observation#/customer" in screen_text(app)
        await press(pilot, "y", "y")
        assert copied[1:] == ["/events/1/observation#/customer", ATTACK]
        await press(pilot, "j", "y")
        assert json.loads(copied[-1]) == ORDER["items"], "another line begins with its value"


async def test_from_the_list_the_answer_is_copied(shop: Bent) -> None:
    async with inside(shop) as (_app, pilot, _, copied):
        await press(pilot, "escape", "escape", "y", "y", "y")
        assert [json.loads(copied[0]), *copied[1:]] == [
            {"refund": "issued", "amount_usd": 89.0},
            "/events/1/observation",
            ATTACK,
        ]


async def test_too_much_for_a_clipboard_is_said(door: Door) -> None:
    async with inside(answering(door, ["x" * 100] * 6_000)) as (app, pilot, _, copied):
        await press(pilot, "y")
        assert copied == []
        assert "too many for a clipboard: o opens them" in screen_text(app)


async def test_a_search_unfolds_what_hides_it(door: Door) -> None:
    async with inside(answering(door, ORDER)) as (app, pilot, screen, _):
        await press(pilot, "z", "slash", *"needle", "enter")
        here = screen.pane.current
        assert here is not None
        assert here.pointer == "/events/1/observation#/reply#/inner/1/deep"
        assert 'deep  "needle in a text"' in screen_text(app)
        await press(
            pilot, "escape", "escape", "tab", "slash", *"line", "space", "2", "9", "9", "enter"
        )
        here = screen.pane.current
        assert here is not None
        assert (here.pointer, here.line) == ("/events/1/observation#/log", 299)
        assert "line 299" in screen_text(app)


async def test_matches_of_one_event_are_walked_there_and_back(door: Door) -> None:
    async with inside(answering(door, ORDER)) as (_app, pilot, screen, _):
        await press(pilot, "slash", *"S24", "enter")
        seen = []
        for key in ("n", "n", "N", "N"):
            here = screen.pane.current
            seen.append(here.pointer.rpartition("/items/")[2] if here else "")
            await press(pilot, key)
        assert seen == ["24/sku", "240/sku", "241/sku", "240/sku"]


async def test_more_lines_come_when_they_are_asked_for(door: Door) -> None:
    rows = "\n".join(f"row {n}" for n in range(500))
    async with inside(answering(door, rows)) as (
        _app,
        pilot,
        screen,
        _,
    ):
        await press(pilot, "G")
        while (here := screen.pane.current) is not None and here.more is None:
            await press(pilot, "k")
        await press(pilot, "enter")
        assert any(each.block.text == "row 399" for each in screen.pane.entries)


async def test_a_text_is_read_line_by_line_and_a_long_line_row_by_row(door: Door) -> None:
    text = "first\n" + "word " * 400 + "\nlast"
    async with inside(answering(door, text)) as (
        app,
        pilot,
        screen,
        _,
    ):
        await press(pilot, "j", "j")
        for _ in range(60):
            if "last" in screen_text(app):
                break
            await press(pilot, "j")
        assert "last" in screen_text(app)
        here = screen.pane.current
        assert here is not None
        assert here.line <= 2


async def test_a_finding_leads_to_its_clause_and_back(shop: Bent) -> None:
    async with inside(shop) as (app, pilot, screen, _):
        await press(pilot, "g")
        while (here := screen.pane.current) is not None and here.go is None:
            await press(pilot, "j")
        await press(pilot, "enter")
        assert screen.contract.has_focus
        assert "›▲ authority" in screen_text(app)
        await press(pilot, "j", "enter")
        assert screen.seq == 4
        assert screen.grid.has_focus


async def test_a_call_leads_to_its_answer(shop: Bent) -> None:
    answer = EventRow(
        seq=3, kind="tool_result", title="issue_refund", actor=None, status="timeout",
        latency_ms=None, cost_usd=None, mark=None, codes=(),
    )  # fmt: skip
    shop.bend("traces.event", lambda real, *args: replace(real(*args), related=(answer,)))
    async with inside(shop) as (app, pilot, screen, _):
        assert "answered by  event 3 ← timeout" in screen_text(app)
        await press(pilot, "g")
        while (here := screen.pane.current) is not None and here.go != ("event", 3):
            await press(pilot, "j")
        await press(pilot, "enter")
        assert screen.seq == 3


async def test_folding_is_remembered_from_event_to_event(door: Door) -> None:
    async with inside(answering(door, ORDER)) as (app, pilot, _, __):
        await press(pilot, "z", "j", "j", "enter")
        assert "▾ customer" in screen_text(app)
        await press(pilot, "escape", "escape", "j", "k", "tab", "Z")
        assert "▾ customer" in screen_text(app)


async def test_raw_shows_the_record_and_its_pointer(shop: Bent) -> None:
    async with inside(shop) as (app, pilot, _screen, copied):
        await press(pilot, "escape", "escape", "v", "v", "y", "y")
        assert json.loads(copied[0])["seq"] == 2
        assert copied[1] == "/events/1"
        assert 'tool  "issue_refund"' in screen_text(app)


async def test_the_pager_gets_the_value_under_the_cursor(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent: list[str] = []

    def keep(app: object, text: str, variable: str, otherwise: str) -> bool:
        lent.append(text)
        return True

    monkeypatch.setattr("reviewer.tui.widgets.textview.open_in_program", keep)
    async with inside(answering(door, ORDER)) as (_app, pilot, _, __):
        await press(pilot, "z", "j", "j", "o")
        assert json.loads(lent[0]) == ORDER["customer"]
        await press(pilot, "escape", "escape", "ctrl+o")
        assert "ord_redacted_014" in lent[1], "from the list: all of the event"
        assert "line 299" in lent[1], "also what is folded"


async def test_hostile_values_are_seen_and_not_obeyed(door: Door) -> None:
    value = {HOSTILE: {"x" + HOSTILE: HOSTILE}, "t": f"{HOSTILE}\n{HOSTILE}"}
    async with inside(answering(door, value), (200, 50)) as (app, pilot, _, __):
        await press(pilot, "z", "z")
        text = screen_text(app)
        assert "␛" in text
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)
