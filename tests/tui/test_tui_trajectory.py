"""The trajectory at work: searched, replayed, marked; told apart without colour."""

import shutil
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from doors import V7, Door
from hostile import SUITE as EVIL
from msgspec.structs import replace
from template import HOSTILE, Bent, StillDatetime, attack, refusing, trace_id, with_attack
from test_tui_screens import running, shell
from textual.pilot import Pilot
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
from reviewer.desk.traces import notes
from reviewer.desk.traces.kinds import kinds_of
from reviewer.desk.views import ALWAYS, EventRow
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.base import DeskScreen
from reviewer.tui.screens.search import SearchScreen
from reviewer.tui.screens.trajectory.controller import WAIT
from reviewer.tui.screens.trajectory.screen import TrajectoryScreen
from reviewer.tui.screens.trajectory.view import clauses
from reviewer.tui.views.event_list import EventSheet, ListMarks, bar
from reviewer.tui.widgets.lines import width_of

Events = Callable[[str, int, int], list[EventRow]]
ATTACK = trace_id(V7, "attack-014", 1)


@asynccontextmanager
async def at(
    screen: DeskScreen, desk: Any, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[ReviewerApp, Pilot[None]]]:
    """The workstation with somebody on a screen, at rest."""
    app = shell(desk)
    async with running(app, size) as pilot:
        await settle(pilot)
        app.trace_id = ATTACK
        app.visit(screen)
        await settle(pilot)
        yield app, pilot


async def typed(pilot: Pilot[None], text: str) -> None:
    for char in text:
        await pilot.press({"_": "underscore", " ": "space", "“": "x"}.get(char, char))
    await press(pilot, "enter")


@pytest.mark.parametrize("size", SIZES)
async def test_a_search_counts_marks_and_walks(shop: Bent, size: tuple[int, int]) -> None:
    async with at(TrajectoryScreen(ATTACK), shop, size) as (app, pilot):
        await press(pilot, "g", "slash")
        await typed(pilot, "refund")
        screen = app.screen
        assert isinstance(screen, TrajectoryScreen)
        assert screen.finding.matches == [2, 3, 4, 5]
        assert "match 1 of 4 events" in screen_text(app)
        await press(pilot, "n")
        assert screen.seq == 3
        assert "match 2 of 4 events" in screen_text(app)
        same_as_golden(app, f"trajectory-search-{size[0]}x{size[1]}")
        await press(pilot, "N", "N")
        assert "is not further that way" in screen_text(app)
        await press(pilot, "escape")
        assert screen.finding.matches == []
        assert "search ended" in screen_text(app)


async def test_what_is_not_there_is_said(shop: Bent) -> None:
    async with at(TrajectoryScreen(ATTACK), shop) as (app, pilot):
        await press(pilot, "slash")
        await typed(pilot, "zzz")
        assert "no event of this trace contains “zzz”" in screen_text(app)


@pytest.mark.parametrize("size", SIZES)
async def test_replay_steps_through_the_states(door: Door, size: tuple[int, int]) -> None:
    five = attack()["events"]
    after, last = five[1]["state"], five[3]["state"]
    held = {**after, "order": {**after["order"], "hold": True}}
    record = attack(_2={"state": held}, _4={"state": {**last, "final_state": "refund_issued"}})
    async with at(TrajectoryScreen(ATTACK), with_attack(door, record), size) as (app, pilot):
        await press(pilot, "g", "right_parenthesis")
        screen = app.screen
        assert isinstance(screen, TrajectoryScreen)
        assert screen.seq == 2
        assert "~ changed refund_status" in screen_text(app)
        await press(pilot, "right_parenthesis")
        assert screen.seq == 4
        assert "+ added final_state" in screen_text(app)
        assert "- removed order.hold" in screen_text(app)
        same_as_golden(app, f"trajectory-replay-{size[0]}x{size[1]}")
        await press(pilot, "right_parenthesis")
        assert "no state recorded after this event" in screen_text(app)
        await press(pilot, "left_parenthesis")
        assert screen.seq == 2
        await press(pilot, "j")
        assert "unchanged since event 2" in screen_text(app)
        await press(pilot, "g")
        assert "as the episode begins" in screen_text(app)


@pytest.mark.parametrize("size", SIZES)
async def test_marks_are_written_shown_and_taken_back(
    mine: Bent, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "datetime", StillDatetime)
    async with at(TrajectoryScreen(ATTACK), mine, size) as (app, pilot):
        await press(pilot, "g", "m", "j", "w")
        await typed(pilot, "who allowed it")
        assert [(note.seq, note.kind, note.text) for note in mine.traces.notes(ATTACK)] == [
            (1, "bookmark", ""), (2, "note", "who allowed it"),
        ]  # fmt: skip
        same_as_golden(app, f"trajectory-marks-{size[0]}x{size[1]}")
        await press(pilot, "apostrophe")
        assert "1 of 2 marked events: dana: bookmark" in screen_text(app)
        await press(pilot, "m")
        assert [note.kind for note in mine.traces.notes(ATTACK)] == ["note"]
        await press(pilot, "apostrophe", "w")
        for _ in "who allowed it":
            await pilot.press("backspace")
        await press(pilot, "enter")
        assert mine.traces.notes(ATTACK) == []
        assert "note removed" in screen_text(app)
        await press(pilot, "apostrophe")
        assert "m sets one, w writes one" in screen_text(app)


async def test_a_note_that_could_not_be_written_is_not_shown_as_kept(shop: Bent) -> None:
    shop.bend("traces.write_note", refusing(DeskError("the disk is full")))
    async with at(TrajectoryScreen(ATTACK), shop) as (app, pilot):
        await press(pilot, "m")
        assert "the disk is full" in screen_text(app)
        assert "bookmarked" not in screen_text(app)


@pytest.mark.parametrize("size", SIZES)
async def test_search_across_traces_lands_on_the_event(shop: Bent, size: tuple[int, int]) -> None:
    shop.bend("traces.search", lambda real, *args: replace(real(*args), waiting=1234))
    async with at(SearchScreen("refund-eval-v5", V7), shop, size) as (app, pilot):
        await typed(pilot, "refund order")
        assert "9 events in 6 traces" in screen_text(app)
        assert "1,234 events are not indexed yet" in screen_text(app)
        same_as_golden(app, f"search-{size[0]}x{size[1]}")
        await press(pilot, "v", "v")
        assert "5 events in 3 traces" in screen_text(app)
        await press(pilot, "j", "j", "j", "enter")
        screen = app.screen
        assert isinstance(screen, TrajectoryScreen)
        assert (screen.trace_id, screen.seq, screen.finding.wanted) == (ATTACK, 2, "refund")
        await press(pilot, "escape", "escape")
        assert isinstance(app.screen, SearchScreen)


async def test_hostile_hits_are_seen_and_not_obeyed(hostile: Bent) -> None:
    async with at(SearchScreen(EVIL, HOSTILE), hostile, (200, 50)) as (
        app,
        pilot,
    ):
        await typed(pilot, "refund")
        text = screen_text(app)
        assert "␛" in text
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)
        assert HOSTILE not in text


async def test_search_is_one_key_away_from_the_trajectory(shop: Bent) -> None:
    async with at(TrajectoryScreen(ATTACK), shop) as (app, pilot):
        await press(pilot, "F")
        assert "search all traces" in screen_text(app)
        await press(pilot, "escape", "escape")
        assert isinstance(app.screen, TrajectoryScreen)


async def test_the_editor_gets_a_copy(shop: Bent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "/no/such/program")
    async with at(TrajectoryScreen(ATTACK, 2), shop) as (app, pilot):
        await press(pilot, "ctrl+o")
        assert "no editor can be opened here" in screen_text(app)


async def test_an_event_shows_its_clause_and_a_clause_its_event(shop: Bent) -> None:
    async with at(TrajectoryScreen(ATTACK), shop) as (app, pilot):
        await press(pilot, "g")
        await press(pilot, "j", "j", "j")
        assert "›✗ state     expected security_review_opened" in screen_text(app)
        await press(pilot, "tab", "tab", "k", "enter")
        assert "event 2 · tool call" in screen_text(app)
        assert "›▲ authority" in screen_text(app)


# the list


def row(**more: object) -> EventRow:
    plain = {
        "seq": 1, "kind": "tool_call", "title": "look", "actor": "agent", "status": "ok",
        "latency_ms": 500.0, "cost_usd": 0.01, "mark": None, "codes": (),
    }  # fmt: skip
    return EventRow(**{**plain, **more})  # type: ignore[arg-type]


def told(width: int, one: EventRow, shown: ListMarks | None = None) -> str:
    sheet = EventSheet(width, 9, shown or ListMarks(slowest=1000.0, dearest=0.01))
    cells = sheet.cells(one)
    for column, cell in zip(sheet.columns, cells, strict=True):
        assert width_of(cell) <= column.width, column
    return " ".join("".join(span.text for span in cell) for cell in cells)


@pytest.mark.parametrize("width", [58, 80, 100, 133])
def test_who_acts_is_told_by_a_word(width: int) -> None:
    actors = ["agent", "user", "simulated_user", "system", "planner", "world"]
    lines = [told(width, row(actor=actor)) for actor in actors]
    assert len(set(lines)) == len(actors)
    for word, line in zip(("agent", "user", "sim", "system", "»p", "»w"), lines, strict=True):
        assert line.lstrip(" 1").startswith(word)
    assert width < 100 or "»planner" in lines[4]
    assert told(width, row(kind="state_snapshot")).lstrip(" 1").startswith("world")


@pytest.mark.parametrize("width", [80, 133])
def test_a_call_shows_what_was_asked_and_what_came_back(width: int) -> None:
    line = told(width, row(title="bash", call="ls -la", result="a.py … 14 lines"))
    assert "bash  ls -la" in line
    assert "a.py … 14 lines" in line
    wrong = told(width, row(title="bash", call="ls -la", result="", status="timeout"))
    assert "timeout" in wrong
    said = told(width, row(kind="message", title="x" * 300))
    assert "x" * (width // 2) in said, "a message has the room of the result too"


@pytest.mark.parametrize("width", [80, 133])
def test_a_hit_of_a_search_is_in_sight_and_marked_alone(width: int) -> None:
    shown = ListMarks(matches={1}, wanted="needle")
    sheet = EventSheet(width, 9, shown)
    for one in (
        row(kind="message", title=f"{'hay ' * 60}NEEDLE {'hay ' * 60}"),
        row(call="hay " * 60 + "needle", result="x"),
        row(result="hay " * 60 + "needle"),
    ):
        spans = [span for cell in sheet.cells(one) for span in cell if span.style == "match"]
        assert [span.text.lower() for span in spans] == ["needle"]
        told(width, one, shown)


def test_calls_made_together_share_a_bracket() -> None:
    glyphs = [told(80, row(group=(place, 3))) for place in (1, 2, 3)]
    assert [next(c for c in "┌│└" if c in line) for line in glyphs] == ["┌", "│", "└"]
    assert not set("┌│└") & set(told(80, row()))


def test_bars_are_shares_of_the_most_and_unknown_is_blank() -> None:
    assert bar(None, 10, 4) == bar(5, None, 4) == bar(0, 10, 4) == "    "
    assert bar(10, 10, 4) == "████"
    assert bar(5, 10, 4) == "██  "
    assert bar(0.0001, 10, 4) == "▏   "
    assert bar(99, 10, 4) == "████", "an event appended since may be slower"
    assert "██" in told(120, row())
    assert "█" not in told(100, row())


async def test_matches_are_styled_and_also_marked_with_a_sign(shop: Bent) -> None:
    async with at(TrajectoryScreen(ATTACK), shop) as (app, pilot):
        await press(pilot, "g", "slash")
        await typed(pilot, "verify")
        assert "/   3 agent  → verify_state" in screen_text(app)
        assert segments_with(app, "verify")


# jumps


async def test_errors_are_found_both_ways_and_the_last_jump_is_repeated(door: Door) -> None:
    failing = {"_7": "timeout", "_18": "error", "_33": "denied"}
    desk = with_attack(
        door, attack(40, **{name: {"status": word} for name, word in failing.items()})
    )
    async with at(TrajectoryScreen(ATTACK, 1), desk) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, TrajectoryScreen)
        await press(pilot, "comma")
        assert "no jump yet" in screen_text(app)
        seen = []
        for key in ("d", "d", "semicolon", "d", "comma", "comma", "comma"):
            await press(pilot, key)
            seen.append(screen.seq)
        assert seen == [7, 18, 33, 33, 18, 7, 7]
        assert "no event that is not ok before this event" in screen_text(app)
        await press(pilot, "asterisk", "comma")
        assert screen.seq == 7, "on to the next call of that tool, and back"


async def test_a_trace_found_by_its_words_becomes_an_episode(shop: Bent) -> None:
    async with at(SearchScreen("refund-eval-v5", V7), shop) as (app, pilot):
        await typed(pilot, "issue_refund")
        await press(pilot, "plus")
        assert type(app.screen).__name__ == "EpisodeScreen"
        assert "attack-014" in screen_text(app)


async def test_a_number_goes_to_its_event(door: Door) -> None:
    desk = with_attack(door, attack(4_000, again="verify_state"))
    async with at(TrajectoryScreen(ATTACK, 1), desk) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, TrajectoryScreen)
        for typed_, seq, told_ in (
            ("3,141", 3_141, ""),
            ("5000", 4_000, "no event 5000 here"),
            ("event 2", 2, ""),
        ):
            await press(pilot, "colon")
            await typed(pilot, typed_)
            assert screen.seq == seq
            assert told_ in screen_text(app)
        await press(pilot, "colon", *"fortieth", "enter")
        assert "no name contains all of these words" in screen_text(app)


async def test_a_region_is_zoomed_and_hands_its_place_on(shop: Bent) -> None:
    async with at(TrajectoryScreen(ATTACK, 2), shop) as (app, pilot):
        await press(pilot, "Z")
        assert "zoomed" in screen_text(app)
        assert "contract" not in screen_text(app)
        assert "event 2 · tool call" not in screen_text(app)
        await press(pilot, "enter")
        assert "event 2 · tool call" in screen_text(app), "a hidden region that gets the focus"
        assert "events 5" not in screen_text(app)
        same_as_golden(app, "trajectory-zoomed-80x24")
        await press(pilot, "tab")
        assert "━━ contract" in screen_text(app)
        await press(pilot, "escape")
        assert "events 5" in screen_text(app)
        assert "event 2 · tool call" in screen_text(app)
        assert isinstance(app.screen, TrajectoryScreen)
        await press(pilot, "Z", "Z")
        assert "zoomed" not in screen_text(app)


async def test_only_findings_marks_and_matches_are_kept_in_the_list(door: Door) -> None:
    desk = with_attack(door, attack(4_000, again="verify_state"))
    async with at(TrajectoryScreen(ATTACK, 1), desk) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, TrajectoryScreen)
        await press(pilot, "G", "m", "g", "f")
        assert "events 4 of 4,000, f: all" in screen_text(app)
        await press(pilot, "g")
        seen = []
        for _ in range(4):
            seen.append(screen.seq)
            await press(pilot, "j")
        assert seen == [2, 11, 3_999, 4_000]
        assert screen.value.detail is not None
        assert screen.value.detail.row.seq == 4_000
        await press(pilot, "y", "y")
        assert app.clipboard.startswith("/events/3999/")
        await press(pilot, "asterisk")
        assert "no message after this event" in screen_text(app)
        await press(pilot, "comma")
        assert screen.seq == 3_995, "an event that is not in the list brings all back"
        assert screen.reading.only is None


async def test_esc_brings_all_events_back_before_it_leaves(shop: Bent) -> None:
    async with at(TrajectoryScreen(ATTACK, 2), shop) as (app, pilot):
        await press(pilot, "f")
        assert "events 2 of 5" in screen_text(app)
        await press(pilot, "escape")
        assert "events 5" in screen_text(app)
        assert isinstance(app.screen, TrajectoryScreen)


async def test_nothing_to_keep_is_said(shop: Bent) -> None:
    clean = trace_id(V7, "damaged-221", 1)
    async with at(TrajectoryScreen(clean), shop) as (app, pilot):
        await press(pilot, "f")
        assert "no event here has a finding" in screen_text(app)


async def test_an_attempt_is_one_click_away(shop: Bent) -> None:
    async with at(TrajectoryScreen(ATTACK), shop) as (app, pilot):
        line = screen_text(app).splitlines()[1]
        await pilot.click(offset=(line.index("▲✗✓") + 2, 1))
        await settle(pilot)
        assert "attempt 3" in screen_text(app)
        await press(pilot, "left_square_bracket")
        assert "attempt 2" in screen_text(app)


async def test_pages_that_take_long_block_no_key(long: Bent) -> None:
    desk = long
    gate = threading.Event()

    def slow(quick: Events, trace_id: str, first: int, count: int) -> list[EventRow]:
        if first > 100:
            gate.wait(10)
        return quick(trace_id, first, count)

    desk.bend("traces.events", slow)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        app.visit(TrajectoryScreen(ATTACK, 1))
        await settle(pilot)
        await pilot.press("G")
        await pilot.pause()
        assert "reading…" in screen_text(app)
        await pilot.press("g")
        await pilot.pause()
        assert "→ issue_refund" in screen_text(app), "what was read is kept"
        await pilot.press("G")
        gate.set()
        await settle(pilot)
        assert "4000 " in screen_text(app)
        assert "reading…" not in screen_text(app)


@pytest.mark.parametrize("late", [False, True])
async def test_a_frame_asks_once_for_what_many_of_its_lines_need(
    late: bool, long: Bent, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, asked, gate = long, list[int](), threading.Event()

    def counted(quick: Events, trace_id: str, first: int, count: int) -> list[EventRow]:
        asked.append(first)
        if late:
            gate.wait(10)
        return quick(trace_id, first, count)

    waits: list[float] = []

    class Counted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if timeout == WAIT:
                waits.append(timeout)
            return super().wait(timeout)

    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        app.visit(TrajectoryScreen(ATTACK, 1))
        await settle(pilot)
        desk.bend("traces.events", counted)
        monkeypatch.setattr(threading, "Event", Counted)
        await pilot.press("G")
        await pilot.pause(0.2)
        gate.set()
        await settle(pilot)
        assert "4000 " in screen_text(app)
        assert len(asked) == len(set(asked)) <= 3, asked
        assert len(waits) <= 3, "a block is waited for once, however many lines it has"


async def test_lines_that_cannot_be_read_are_said_to_be_and_the_rest_stands(long: Bent) -> None:
    desk = long

    def broken(quick: Events, trace_id: str, first: int, count: int) -> list[EventRow]:
        if first > 100:
            raise DeskError("the store is damaged", "restore a backup")
        return quick(trace_id, first, count)

    desk.bend("traces.events", broken)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        app.visit(TrajectoryScreen(ATTACK, 1))
        await settle(pilot)
        await press(pilot, "G")
        assert "the store is damaged" in screen_text(app)
        await press(pilot, "g")
        assert "→ issue_refund" in screen_text(app)


def test_columns_are_there_for_what_was_measured() -> None:
    bare = ListMarks()
    plain = row(latency_ms=None, cost_usd=None, title="a_tool_with_a_rather_long_name_indeed")
    assert "a_tool_with_a_rather_long_name_indeed" in told(58, plain, bare)
    assert "a_tool_with_a_rather_long_name_indeed" not in told(58, plain)


def test_gates_of_which_the_same_is_said_share_a_line(shop: Bent) -> None:
    trace = shop.traces.view(trace_id(V7, "damaged-221", 1))
    alike = tuple(replace(clause, text="holds", seq=None) for clause in trace.clauses)
    trace = replace(trace, clauses=alike)
    lines = clauses(trace, kinds_of(trace), 80)
    assert len(lines) == 1
    assert lines[0].gates == ALWAYS
    whole = shop.traces.view(ATTACK)
    failing = clauses(whole, kinds_of(whole), 80)
    assert [line.seq for line in failing] == [
        2, 4, None, None, None, 1, 3, 3, None, None, None,
    ]  # fmt: skip


async def test_a_record_that_was_withheld_shows_its_findings_and_no_events(door: Door) -> None:
    record = {**attack(), "final_message": "write to jane.doe@example.com"}
    desk = with_attack(door, record)
    trace = desk.traces.view(ATTACK)
    assert (trace.payload, trace.events) == (False, 5)
    async with at(TrajectoryScreen(ATTACK), desk) as (app, pilot):
        assert "no events in this trace" in screen_text(app)
        assert "unredacted:message" in screen_text(app)
        await press(pilot, "j", "G", "d", "n", "m")
        assert isinstance(app.screen, TrajectoryScreen)
        assert "jane.doe" not in screen_text(app)


async def test_a_payload_whose_archive_is_gone_is_said_and_its_findings_stand(door: Door) -> None:
    with_attack(door, attack()).close()
    door.ok("archive", "--before", "2100-01-01")
    shutil.rmtree(door.root / "store" / "payloads")
    desk = door.desk()
    async with at(TrajectoryScreen(ATTACK), desk, (200, 60)) as (app, pilot):
        assert "payload not available: archived in " in screen_text(app)
        assert "forbidden:" in screen_text(app)
        await press(pilot, "j", "G", "d", "n", "m")
        assert isinstance(app.screen, TrajectoryScreen)
    desk.close()


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_every_screen_zooms_and_is_as_it_was(shop: Bent, size: tuple[int, int]) -> None:
    app = shell(shop)
    async with running(app, size) as pilot:
        await settle(pilot)
        for key in ("S", "T", "C", "L", "Q", "A", "J", "D", "R", "E", "U"):
            await press(pilot, key)
            if app.screen.focused is None:
                continue
            before = screen_text(app)
            await press(pilot, "Z")
            assert "zoom" in screen_text(app).splitlines()[0], key
            shown = app.screen.focused
            assert shown is not None
            assert (shown.size.width, shown.size.height) >= (size[0], size[1] - 5), key
            await press(pilot, "escape")
            assert screen_text(app) == before, key


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_a_key_that_moves_lays_nothing_out(
    shop: Bent, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = shell(shop)
    async with running(app, size) as pilot:
        await settle(pilot)
        made = count_layouts(monkeypatch)
        await press(pilot, *"jjlkh", "n")
        assert made == []
        await press(pilot, "enter")
        assert 0 < len(made) <= 4
        made.clear()
        await press(pilot, *"jkjk", "n", "G", "g")
        assert made == []
