"""Acts of a reader: to the evidence, through it, live, sign, export, leave."""

import threading

import pytest
from fake_desk import FakeDesk
from fake_shop import AGENT, FILE_KEY, SUITE, V7, V8
from test_tui_screens import running, shell
from textual.pilot import Pilot
from tui_probe import press, screen_text, settle

from reviewer.desk.errors import DeskError
from reviewer.tui.app.app import LEVELS, ReviewerApp
from reviewer.tui.screens.decision.sign import SignScreen
from reviewer.tui.widgets.grid import Grid


async def changed(pilot: Pilot[None], desk: FakeDesk) -> None:
    """Somebody wrote to the store, and the watch saw it."""
    desk.rev += 1
    pilot.app.post_message(ReviewerApp.StoreChanged(desk.rev))
    await settle(pilot)


# to the evidence


async def test_one_enter_lands_on_the_event_that_broke_the_gate() -> None:
    app = shell(FakeDesk())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        text = screen_text(app)
        assert "› ▲  2 → issue_refund" in text
        assert "▲ forbidden:issue_refund" in text
        assert "[ attempt 1 ]" in text
        await press(pilot, "escape")
        assert "[▲CRIT]" in screen_text(app)


async def test_a_digit_goes_to_the_cell_of_its_reason_from_anywhere() -> None:
    app = shell(FakeDesk())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "down", "down", "left", "left", "1")
        assert "[▲CRIT]" in screen_text(app)
        await press(pilot, "3")
        assert "reason 3 has no single event" in screen_text(app)
        await press(pilot, "9")
        assert "there is no reason 9" in screen_text(app)


async def test_n_walks_the_red_cells_and_back() -> None:
    app = shell(FakeDesk())
    async with running(app) as pilot:
        await settle(pilot)
        grid = app.screen.query_one(Grid)
        seen = [(grid.row, grid.column)]
        for _ in range(3):
            await press(pilot, "n")
            seen.append((grid.row, grid.column))
        assert seen == [(0, "authority"), (0, "process"), (1, "timeout"), (1, "timeout")]
        assert "no more red cells" in screen_text(app)
        await press(pilot, "N", "N", "N")
        assert (grid.row, grid.column) == (0, "state")


async def test_enter_on_a_passing_cell_shows_the_first_attempt() -> None:
    app = shell(FakeDesk())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "G", "enter")
        assert "{ damaged-221 } 3 of 3" in screen_text(app)


async def test_the_mouse_does_what_the_keys_do() -> None:
    app = shell(FakeDesk())
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


async def test_stepping_through_findings_attempts_and_episodes() -> None:
    app = shell(FakeDesk())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "n")
        assert "› ✗  4 ◊ state snapshot" in screen_text(app)
        await press(pilot, "n")
        assert "no more findings" in screen_text(app)
        await press(pilot, "right_square_bracket")
        assert "[ attempt 2 ]" in screen_text(app)
        await press(pilot, "right_curly_bracket")
        assert "{ appeal-009 } 2 of 3" in screen_text(app)
        await press(pilot, "left_curly_bracket", "left_curly_bracket")
        assert "no episode further that way" in screen_text(app)


async def test_a_clause_leads_to_its_event() -> None:
    app = shell(FakeDesk())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "tab", "tab", "j", "enter")
        assert "› ✗  4 ◊ state snapshot" in screen_text(app)


async def test_views_of_an_event() -> None:
    app = shell(FakeDesk())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "v")
        assert "~ changed refund_status" in screen_text(app)
        await press(pilot, "v")
        assert "seq  2" in screen_text(app)
        assert 'tool  "issue_refund"' in screen_text(app)


async def test_next_of_the_same_tool_and_no_error() -> None:
    desk = FakeDesk(events_made=2000)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "asterisk")
        assert "event 7 · tool call" in screen_text(app)
        await press(pilot, "e")
        assert "no error after this event" in screen_text(app)


async def test_searching_the_events_then_ending_it() -> None:
    app = shell(FakeDesk(events_made=500))
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


async def test_copy_gives_value_pointer_and_id_in_turn() -> None:
    app = shell(FakeDesk())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "y")
        assert app.clipboard == '{"refund": "issued", "amount_usd": 89.0}'
        await press(pilot, "y")
        assert app.clipboard == "/events/1/observation"
        await press(pilot, "y")
        assert app.clipboard == f"{SUITE}/{V7}/attack-014/1"


async def test_without_a_terminal_to_lend_the_pager_says_where_else_to_look() -> None:
    app = shell(FakeDesk())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "o")
        assert "no pager can be opened here" in screen_text(app)


# order, filter, candidate


async def test_sort_filter_and_failing_keep_saying_what_they_do() -> None:
    app = shell(FakeDesk())
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


async def test_candidates_by_key_and_by_list() -> None:
    app = shell(FakeDesk())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "greater_than_sign")
        assert "✓ PROMOTE" in screen_text(app)
        await press(pilot, "greater_than_sign")
        assert "no candidate further" in screen_text(app)
        await press(pilot, "c", "k", "enter")
        assert "▲ BLOCK" in screen_text(app)


# live


async def test_a_change_in_the_store_repaints_without_moving_the_reader() -> None:
    desk = FakeDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "down", "right")
        grid = app.screen.query_one(Grid)
        stood = (grid.row, grid.column, grid.first)
        desk.repaired = {"authority", "state"}
        await changed(pilot, desk)
        assert (grid.row, grid.column, grid.first) == stood
        text = screen_text(app)
        assert "CRIT]" not in text
        assert "hard pass 6/9" in text
        assert "critical 0 of 9" in text


async def test_the_order_under_the_reader_stays_until_asked_for() -> None:
    class Reordered(FakeDesk):
        def order(self, *args: object, **options: object) -> list[int]:
            return [0, 1, 2] if self.rev == 1 else [2, 1, 0]

    desk = Reordered()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await changed(pilot, desk)
        grid = app.screen.query_one(Grid)
        assert list(grid.keys) == [0, 1, 2]
        assert "order changed: s takes it" in screen_text(app)
        await press(pilot, "s")
        assert list(grid.keys) == [2, 1, 0]


async def test_the_watch_sees_what_another_process_wrote() -> None:
    desk = FakeDesk()
    app = ReviewerApp(desk, ascii_only=False)
    seen = threading.Event()

    def hook(message: object) -> None:
        if isinstance(message, ReviewerApp.StoreChanged) and message.version == 7:
            seen.set()

    async with app.run_test(size=(80, 24), message_hook=hook) as pilot:
        await settle(pilot)
        desk.repaired = {"authority"}
        desk.rev = 7
        for _ in range(400):
            if seen.is_set():
                break
            await pilot.pause(0.01)
        await settle(pilot)
        assert "critical 0 of 9" in screen_text(app)


async def test_a_change_while_going_somewhere_does_not_lose_the_landing() -> None:
    desk = FakeDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await changed(pilot, desk)
        await pilot.press("enter")
        app.post_message(ReviewerApp.StoreChanged(99))
        await settle(pilot)
        assert "› ▲  2 → issue_refund" in screen_text(app)
        assert "more below, G" not in screen_text(app)
        await press(pilot, "escape")
        await pilot.press("f")
        app.post_message(ReviewerApp.StoreChanged(100))
        await settle(pilot)
        assert "episodes 2 of 3" in screen_text(app)


async def test_a_running_trace_grows_at_its_end() -> None:
    desk = FakeDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        desk.events_made = 7
        await changed(pilot, desk)
        text = screen_text(app)
        assert "events 7" in text
        assert "› ▲  2 → issue_refund" in text
        assert "2 more below" in text


# decision


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock tests move by hand: the dialog counts an Enter only after a rest."""
    now = [100.0]
    monkeypatch.setattr(SignScreen, "clock", staticmethod(lambda: now[0]))
    return now


async def test_block_is_signed_with_two_enters_but_not_with_a_held_one(
    clock: list[float],
) -> None:
    desk = FakeDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "enter", "enter", "enter")
        assert desk.signed == []
        clock[0] += 1
        await press(pilot, "enter")
        assert desk.signed == [(V7, "BLOCK", AGENT.fingerprint, "", "")]
        assert "✓ verified" in screen_text(app)
        clock[0] += 1
        await press(pilot, "enter")
        assert "signed, decision 1" in screen_text(app)
        await press(pilot, "x", "enter")
        assert desk.exported == [(V7, f"release/{V7}", "json", "md", "html", "junit")]
        assert "exit code would be 10" in screen_text(app)


async def test_promote_wants_its_word_typed(clock: list[float]) -> None:
    desk = FakeDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "greater_than_sign", "D", "enter")
        app.screen.query_one("#buttons").focus()
        clock[0] += 1
        await press(pilot, "enter")
        assert desk.signed == []
        assert "type PROMOTE first" in screen_text(app)
        await press(pilot, *"PROMOTE")
        app.screen.query_one("#buttons").focus()
        clock[0] += 1
        await press(pilot, "enter")
        assert desk.signed == [(V8, "PROMOTE", AGENT.fingerprint, "", "")]


async def test_a_closed_choice_says_why_and_opens_nothing() -> None:
    desk = FakeDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "k", "enter")
        assert "PROMOTE is closed: the report says block" in screen_text(app)
        assert not isinstance(app.screen, SignScreen)


async def test_against_the_report_a_comment_is_required(clock: list[float]) -> None:
    desk = FakeDesk(key_list=[FILE_KEY])
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "j", "enter")
        clock[0] += 1
        await press(pilot, "enter")
        assert "a comment must say why" in screen_text(app)
        await press(pilot, *"too", "tab", "tab", *"pw", "tab")
        clock[0] += 1
        await press(pilot, "enter")
        assert desk.signed == [(V7, "REPAIR", FILE_KEY.where, "too", "pw")]


async def test_a_refused_signature_is_told_in_the_dialog(clock: list[float]) -> None:
    desk = FakeDesk(refuse_signing=DeskError("ssh-agent refused", "unlock the key", exit_code=30))
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "enter")
        clock[0] += 1
        await press(pilot, "enter")
        assert "✗ ssh-agent refused" in screen_text(app)
        assert "unlock the key" in screen_text(app)
        assert "[ Sign BLOCK ]" in screen_text(app)


async def test_an_untrusted_key_signs_nothing(clock: list[float]) -> None:
    import msgspec

    stranger = msgspec.structs.replace(AGENT, principal=None)
    desk = FakeDesk(key_list=[stranger])
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "enter")
        clock[0] += 1
        await press(pilot, "enter")
        assert "this key is not in store/signers" in screen_text(app)
        assert desk.signed == []


async def test_a_report_that_changes_closes_the_dialog() -> None:
    desk = FakeDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "enter")
        assert isinstance(app.screen, SignScreen)
        desk.report = "sha256:5d2e9b10"
        await changed(pilot, desk)
        assert not isinstance(app.screen, SignScreen)
        assert "report changed: a41f6c02 → 5d2e9b10" in screen_text(app)


async def test_a_report_that_changed_unseen_is_refused_by_its_digest(clock: list[float]) -> None:
    desk = FakeDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "enter")
        desk.report = "sha256:5d2e9b10"
        clock[0] += 1
        await press(pilot, "enter")
        assert desk.signed == []
        assert "the report changed since it was shown" in screen_text(app)


# back and out


async def test_escape_retraces_at_most_twelve_screens_and_never_quits() -> None:
    app = shell(FakeDesk())
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


async def test_coming_back_finds_the_cursor_where_it_was() -> None:
    app = shell(FakeDesk())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "down", "R", "S", "escape", "escape")
        grid = app.screen.query_one(Grid)
        assert (grid.row, grid.column) == (1, "authority")


async def test_quitting_does_not_wait_for_a_question_that_hangs() -> None:
    desk = FakeDesk(block=threading.Event())
    app = shell(desk)
    async with running(app) as pilot:
        await pilot.pause()
        assert not app.background.idle()
        await pilot.press("ctrl+q")
    assert not app.is_running
    assert not app.background.idle()  # it left while the question still hung
    assert desk.block is not None
    desk.block.set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_question_that_dies_is_told_and_the_next_one_is_answered() -> None:
    class Faulty(FakeDesk):
        def event(self, trace_id: str, seq: int):
            if seq == 2:
                raise ValueError("malformed")
            return super().event(trace_id, seq)

    app = shell(Faulty())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        assert "✗ could not be read: ValueError: malformed" in screen_text(app)
        await press(pilot, "down")
        assert "event 3 · tool call" in screen_text(app)
