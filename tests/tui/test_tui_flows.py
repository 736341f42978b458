"""Acts of a reader: to the evidence, through it, live, sign, export, leave."""

import itertools
import json
import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door
from msgspec.structs import replace
from template import Bent, attack, holding, key_of, refusing, with_attack, without_evidence
from test_tui_screens import running, shell
from textual.pilot import Pilot
from tui_probe import press, screen_text, settle, until

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.tui.app.app import LEVELS, ReviewerApp
from reviewer.tui.screens.decision.sign import SignScreen
from reviewer.tui.screens.decision.step import Step
from reviewer.tui.screens.decision.trust import TrustScreen
from reviewer.tui.screens.scorecard.controller import SOON
from reviewer.tui.screens.scorecard.screen import ScorecardScreen
from reviewer.tui.widgets.grid import Grid

VERSIONS = itertools.count(1_000)


async def changed(pilot: Pilot[None]) -> None:
    """Somebody wrote to the store, and the watch saw it."""
    pilot.app.post_message(ReviewerApp.StoreChanged(next(VERSIONS)))
    await settle(pilot)


# to the evidence


async def test_one_enter_lands_on_the_event_that_broke_the_gate(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        text = screen_text(app)
        assert "› ▲  2 agent  → issue_refund" in text
        assert "▲ forbidden:issue_refund" in text
        assert "[ attempt 1 ]" in text
        await press(pilot, "escape")
        assert "[▲CRIT]" in screen_text(app)


async def test_a_digit_goes_to_the_cell_of_its_reason_from_anywhere(shop: Bent) -> None:
    app = shell(without_evidence(shop))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "down", "down", "left", "left", "1")
        assert "[▲CRIT]" in screen_text(app)
        await press(pilot, "3")
        assert "reason 3 has no single event" in screen_text(app)
        await press(pilot, "9")
        assert "there is no reason 9" in screen_text(app)


async def test_n_walks_the_red_cells_and_back(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        grid = app.screen.query_one(Grid)
        seen = [(grid.row, grid.column)]
        for _ in range(3):
            await press(pilot, "n")
            seen.append((grid.row, grid.column))
        assert seen == [(0, "authority"), (0, "process"), (1, "state"), (1, "process")]
        await press(pilot, "n", "n")
        assert (grid.row, grid.column) == (1, "timeout")
        assert "no more red cells" in screen_text(app)
        await press(pilot, *"NNNNN")
        assert (grid.row, grid.column) == (0, "state")


async def test_enter_on_a_passing_cell_shows_the_first_attempt(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "G", "enter")
        assert "{ damaged-221 } 3 of 3" in screen_text(app)


async def test_the_mouse_does_what_the_keys_do(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await pilot.click("#grid", offset=(46, 4))
        await settle(pilot)
        grid = app.screen.query_one(Grid)
        assert (grid.row, grid.column) == (1, "timeout")
        await pilot.click("#grid", offset=(46, 4), times=2)
        await settle(pilot)
        assert "{ appeal-009 }" in screen_text(app)
        await pilot.click("#top", offset=(50, 0))
        await settle(pilot)
        assert "[Decision]" in screen_text(app)
        await pilot.click("#top", offset=(2, 0))
        await settle(pilot)
        await pilot.click("#foot", offset=(27, 1))
        await settle(pilot)
        assert "episodes 2 of 3" in screen_text(app)


# through it


async def test_stepping_through_findings_attempts_and_episodes(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "n")
        assert "› ✗  4 world  ◊ state snapshot" in screen_text(app)
        await press(pilot, "n")
        assert "no more findings" in screen_text(app)
        await press(pilot, "right_square_bracket")
        assert "[ attempt 2 ]" in screen_text(app)
        await press(pilot, "right_curly_bracket")
        assert "{ appeal-009 } 2 of 3" in screen_text(app)
        await press(pilot, "left_curly_bracket", "left_curly_bracket")
        assert "no more episodes that way" in screen_text(app)


async def test_a_clause_leads_to_its_event(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "tab", "tab", "j", "enter")
        assert "› ✗  4 world  ◊ state snapshot" in screen_text(app)


async def test_views_of_an_event(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "v")
        assert "~ changed refund_status" in screen_text(app)
        await press(pilot, "v")
        assert "seq  2" in screen_text(app)
        assert 'tool  "issue_refund"' in screen_text(app)


async def test_next_of_the_same_tool_and_no_error(door: Door) -> None:
    app = shell(with_attack(door, attack(2000)))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "asterisk")
        assert "event 7 · tool call" in screen_text(app)
        await press(pilot, "d")
        assert "no event that is not ok after this event" in screen_text(app)


async def test_searching_the_events_then_ending_it(door: Door) -> None:
    app = shell(with_attack(door, attack(500)))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "slash", *"verify", "enter")
        assert "event 3 · tool call" in screen_text(app)
        await press(pilot, "n")
        assert "event 8 · tool call" in screen_text(app)
        await press(pilot, "N")
        assert "event 3 · tool call" in screen_text(app)
        await press(pilot, "escape")
        assert "search ended" in screen_text(app)


async def test_copy_gives_value_pointer_and_id_in_turn(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "y")
        assert json.loads(app.clipboard) == {"refund": "issued", "amount_usd": 89.0}
        await press(pilot, "y")
        assert app.clipboard == "/events/1/observation"
        await press(pilot, "y")
        assert app.clipboard == f"{SUITE}/{V7}/attack-014/1"


async def test_without_a_terminal_to_lend_the_pager_says_where_else_to_look(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "o")
        assert "no pager can be opened here" in screen_text(app)


# order, filter, candidate


async def test_sort_filter_and_failing_keep_saying_what_they_do(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "f")
        assert "episodes 2 of 3" in screen_text(app)
        assert "only failing, worst first" in screen_text(app)
        await press(pilot, "escape", "slash", *"damaged", "enter")
        assert "episodes 1 of 3" in screen_text(app)
        await press(pilot, "escape")
        assert "episodes 3 of 3" in screen_text(app)
        await press(pilot, "s")
        assert "by authority, rising" in screen_text(app)
        await press(pilot, "s")
        assert "by authority, falling" in screen_text(app)


async def test_candidates_by_key_and_by_list(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "greater_than_sign")
        assert "✓ PROMOTE" in screen_text(app)
        await press(pilot, "greater_than_sign")
        assert "no more candidates" in screen_text(app)
        await press(pilot, "c", "down", "enter")
        assert "▲ BLOCK" in screen_text(app)


# live


async def test_a_change_in_the_store_repaints_without_moving_the_reader(
    eight: Bent, ninth: Callable[[], None]
) -> None:
    app = shell(eight)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "down", "right")
        grid = app.screen.query_one(Grid)
        stood = (grid.row, grid.column, grid.first)
        assert "hard pass 6/8" in screen_text(app)
        assert "critical 0 of 8" in screen_text(app)
        ninth()
        await changed(pilot)
        assert (grid.row, grid.column, grid.first) == stood
        text = screen_text(app)
        assert "CRIT" in text
        assert "hard pass 6/9" in text
        assert "critical 1 of 9" in text


async def test_the_order_under_the_reader_stays_until_asked_for(
    eight: Bent, ninth: Callable[[], None]
) -> None:
    before = eight.scorecards.order(SUITE, V7)
    app = shell(eight)
    async with running(app) as pilot:
        # What is written next is no part of the first reading.
        await until(pilot, lambda: "critical 0 of 8" in screen_text(app))
        grid = app.screen.query_one(Grid)
        assert list(grid.keys) == before
        ninth()
        after = eight.scorecards.order(SUITE, V7)
        assert after != before
        await changed(pilot)
        await until(pilot, lambda: "critical 1 of 9" in screen_text(app))
        assert list(grid.keys) == before
        assert "the order has changed: s sorts again" in screen_text(app)
        await press(pilot, "s")
        assert list(grid.keys) == after
        assert "order changed" not in screen_text(app)


async def test_a_store_that_was_slow_to_read_is_read_again_after_a_rest(
    eight: Bent, ninth: Callable[[], None]
) -> None:
    app = shell(eight)
    async with running(app) as pilot:
        await until(pilot, lambda: "critical 0 of 8" in screen_text(app))
        ninth()
        assert isinstance(app.screen, ScorecardScreen)
        app.screen.reading._not_before = monotonic() + 2 * SOON  # as after a slow reading
        await changed(pilot)  # which waits for what was put off
        assert "critical 1 of 9" in screen_text(app)


async def test_the_watch_sees_what_another_process_wrote(
    eight: Bent, ninth: Callable[[], None]
) -> None:
    desk: Any = eight
    app = ReviewerApp(desk, ascii_only=False)
    wrote, seen = threading.Event(), threading.Event()

    def hook(message: object) -> None:
        if isinstance(message, ReviewerApp.StoreChanged) and wrote.is_set():
            seen.set()

    async with app.run_test(size=(80, 24), message_hook=hook) as pilot:
        await settle(pilot)
        assert "critical 0 of 8" in screen_text(app)
        ninth()
        wrote.set()
        while not seen.is_set():
            await pilot.pause(0.01)
        await settle(pilot)
        assert "critical 1 of 9" in screen_text(app)


async def test_a_change_while_going_somewhere_does_not_lose_the_landing(shop: Bent) -> None:
    desk = shop
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await changed(pilot)
        await pilot.press("enter")
        app.post_message(ReviewerApp.StoreChanged(99))
        await settle(pilot)
        assert "› ▲  2 agent  → issue_refund" in screen_text(app)
        assert "more below, G" not in screen_text(app)
        await press(pilot, "escape")
        await pilot.press("f")
        app.post_message(ReviewerApp.StoreChanged(100))
        await settle(pilot)
        assert "episodes 2 of 3" in screen_text(app)


async def test_a_running_trace_grows_at_its_end(door: Door) -> None:
    there = [5]
    desk = Bent(with_attack(door, attack(7)))
    desk.bend("traces.view", lambda real, *args: replace(real(*args), events=there[0]))
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        there[0] = 7
        await changed(pilot)
        text = screen_text(app)
        assert "events 7" in text
        assert "› ▲  2 agent  → issue_refund" in text
        assert "2 more below" in text


# decision


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock tests move by hand: the dialog counts an Enter only after a rest."""
    now = [100.0]
    monkeypatch.setattr(Step, "clock", staticmethod(lambda: now[0]))
    return now


def signed(desk: Bent) -> list[tuple[str, str, str, str, str]]:
    """Candidate, decision, key, comment and passphrase of each signature asked for."""
    return [
        (candidate, word, key, comment, passphrase or "")
        for _, candidate, word, key, comment, _, passphrase, *_ in desk.asked("decisions.sign")
    ]


async def test_block_is_signed_with_two_enters_but_not_with_a_held_one(
    mine: Bent, own: Door, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own.root)  # what is exported lands there
    app, key = shell(mine), mine.decisions.keys()[0].fingerprint
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "enter", "enter", "enter")
        assert mine.asked("decisions.sign") == []
        clock[0] += 1
        await press(pilot, "enter")
        assert signed(mine) == [(V7, "BLOCK", key, "", "")]
        assert "✓ verified" in screen_text(app)
        clock[0] += 1
        await press(pilot, "enter")
        assert "signed, decision 1" in screen_text(app)
        await press(pilot, "x", "enter")
        assert mine.asked("reports.export") == [
            (SUITE, V7, f"release/{V7}", ("json", "md", "html", "junit"))
        ]
        assert "exit code would be 10" in screen_text(app)
    assert (own.root / "release" / V7 / "report.json").exists()


async def test_promote_wants_its_word_typed(mine: Bent, clock: list[float]) -> None:
    app, key = shell(mine), mine.decisions.keys()[0].fingerprint
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "greater_than_sign", "D", "enter")
        app.screen.query_one("#buttons").focus()
        clock[0] += 1
        await press(pilot, "enter")
        assert mine.asked("decisions.sign") == []
        assert "type PROMOTE first" in screen_text(app)
        await press(pilot, *"PROMOTE")
        app.screen.query_one("#buttons").focus()
        clock[0] += 1
        await press(pilot, "enter")
        assert signed(mine) == [(V8, "PROMOTE", key, "", "")]


async def test_a_closed_choice_says_why_and_opens_nothing(mine: Bent) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "k", "enter")
        assert "PROMOTE is not possible: the report says block" in screen_text(app)
        assert not isinstance(app.screen, SignScreen)


async def test_against_the_report_a_comment_is_required(clock: list[float], desk: Desk) -> None:
    kim = key_of(
        desk.place.root, comment="kim", where="keys/kim", principal="kim@shopflow", locked=True
    )
    mine = holding(desk, kim)
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "j", "enter")
        clock[0] += 1
        await press(pilot, "enter")
        assert "say in the comment why" in screen_text(app)
        await press(pilot, *"too", "tab", "tab", *"pw", "tab")
        clock[0] += 1
        await press(pilot, "enter")
        assert signed(mine) == [(V7, "REPAIR", "keys/kim", "too", "pw")]


async def test_a_refused_signature_is_told_in_the_dialog(clock: list[float], mine: Bent) -> None:
    error = DeskError("ssh-agent refused", "unlock the key", exit_code=30)
    app = shell(mine.bend("decisions.sign", refusing(error)))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "enter")
        clock[0] += 1
        await press(pilot, "enter")
        assert "✗ ssh-agent refused" in screen_text(app)
        assert "unlock the key" in screen_text(app)
        assert "[ Sign BLOCK ]" in screen_text(app)


async def test_an_untrusted_key_signs_nothing(clock: list[float], desk: Desk) -> None:
    mine = holding(desk, key_of(desk.place.root, principal=None))
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "enter")
        assert isinstance(app.screen, TrustScreen)
        assert "not in store/signers" in screen_text(app)
        await press(pilot, "escape")
        assert "nothing is signed yet" in screen_text(app)
        assert mine.asked("decisions.sign") == mine.asked("decisions.trust") == []


async def test_a_report_that_changes_closes_the_dialog(
    eight: Bent, ninth: Callable[[], None]
) -> None:
    app = shell(eight)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "enter")
        assert isinstance(app.screen, SignScreen)
        before = eight.decisions.view(SUITE, V7).report_digest
        ninth()
        await changed(pilot)
        assert not isinstance(app.screen, SignScreen)
        after = eight.decisions.view(SUITE, V7).report_digest
        assert f"report changed: {before[:8]} → {after[:8]}" in screen_text(app)


async def test_a_report_that_changed_unseen_is_refused_by_its_digest(
    eight: Bent, ninth: Callable[[], None], clock: list[float], door: Door
) -> None:
    app = shell(eight)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "enter")
        ninth()
        clock[0] += 1
        await press(pilot, "enter")
        assert len(eight.asked("decisions.sign")) == 1
        assert door.rows("SELECT * FROM decisions") == []
        assert "the report changed while you looked: " in screen_text(app)
        assert "read it again" in screen_text(app)


# back and out


async def test_escape_retraces_at_most_twelve_screens_and_never_quits(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        for _ in range(LEVELS):
            await press(pilot, "D", "R")
        for _ in range(LEVELS):
            assert "[Scorecard]" not in screen_text(app)
            await press(pilot, "escape")
        assert "[Scorecard]" in screen_text(app)
        await press(pilot, "escape", "escape")
        assert app.is_running
        assert len(app._installed_screens) == 1


async def test_coming_back_finds_the_cursor_where_it_was(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "down", "R", "S", "escape", "escape")
        grid = app.screen.query_one(Grid)
        assert (grid.row, grid.column) == (1, "authority")


async def test_quitting_does_not_wait_for_a_question_that_hangs(shop: Bent) -> None:
    block = threading.Event()
    app = shell(shop.bend("workspace.opening", lambda real: (block.wait(), real())[1]))
    async with running(app) as pilot:
        await pilot.pause()
        assert not app.background.idle()
        await pilot.press("ctrl+q")
    assert not app.is_running
    assert not app.background.idle()  # it left while the question still hung
    block.set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_question_that_dies_is_told_and_the_next_one_is_answered(shop: Bent) -> None:
    def event(real: Callable[..., Any], trace_id: str, seq: int) -> Any:
        if seq == 2:
            raise ValueError("malformed")
        return real(trace_id, seq)

    app = shell(shop.bend("traces.event", event))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        assert "✗ could not be read: ValueError: malformed" in screen_text(app)
        await press(pilot, "down")
        assert "event 3 · tool call" in screen_text(app)


async def test_the_first_screen_says_how_to_quit(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "escape")
        assert "ctrl+q or q quits" in screen_text(app)


@pytest.mark.parametrize(
    ("method", "keys"),
    [("imports.sources", ("R",)), ("decisions.view", ("D",))],
)
async def test_no_header_says_reading_once_the_desk_has_refused(
    shop: Bent, method: str, keys: tuple[str, ...]
) -> None:
    shop.bend(method, refusing(DeskError("the page of it is damaged", "reviewer doctor")))
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        text = screen_text(app)
        assert "…" not in text.splitlines()[1]
        assert "could not be read" in text
        assert "the page of it is damaged" in text
