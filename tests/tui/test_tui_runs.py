"""Runs from the workstation: start, watch, pause, stop, approve, leave."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, by_day, shipped
from msgspec.structs import replace
from run_desks import (
    APPEAL,
    ATTACK,
    DAMAGED,
    Attempts,
    app_of,
    at_work,
    finish,
    newest,
    still,
    stored,
)
from template import HOSTILE, Bent, opened, refusing
from test_tui_screens import running, shell
from textual.pilot import Pilot
from tui_probe import (
    SIZES,
    come,
    press,
    same_as_golden,
    screen_text,
    segments_with,
    settle,
    strips,
    until,
)

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.runs.api import Runnable, RunOrder, RunView
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.dialogs.ask import QuestionScreen
from reviewer.tui.screens.dialogs.run_order import OrderScreen
from reviewer.tui.screens.runs.dialogs import ApproveScreen
from reviewer.tui.shell.jobs import Looks
from reviewer.tui.widgets.grid import Grid

KEYLESS = "gpt-refunds"
REFUND = {"order_id": "A-1009", "amount_usd": 89.0}
SECOND = ("damaged-221", 2)
"""The attempt that comes after the three first ones."""


@pytest.fixture
def desk(empty: Desk) -> Bent:
    """A desk with the suite and no trace, to run candidates on."""
    return Bent(empty)


@pytest.fixture
def seven(door: Door) -> Bent:
    """A desk with all attempts of v7 and no other candidate."""
    assert "9 added" in door.take("v7.jsonl", shipped(V7)).err
    return Bent(opened(door.root))


@pytest.fixture(autouse=True)
def _look_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Looks, "EVERY", 0.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock moved by hand: an answer counts once its call has stood there for a while."""
    now = [100.0]
    monkeypatch.setattr(ApproveScreen, "clock", staticmethod(lambda: now[0]))
    return now


async def begun(pilot: Pilot[None]) -> None:
    """The first candidate is run, and two of its attempts are at work."""
    await press(pilot, "r", "tab", "tab", "tab", "backspace", "2", "enter")
    await at_work(pilot, DAMAGED, APPEAL)


async def asking(pilot: Pilot[None]) -> None:
    """As `begun`, and calls wait for a person."""
    order = RunOrder(suite_id=SUITE, candidate_id=V7, jobs=2, approvals="ask")
    app_of(pilot).live.begin([order])
    await at_work(pilot, DAMAGED, APPEAL)


async def under_way(pilot: Pilot[None], attempts: Attempts) -> None:
    """Two attempts have landed, two are at work, five wait."""
    await finish(pilot, attempts, DAMAGED, APPEAL)
    await at_work(pilot, ATTACK, SECOND)
    await stored(pilot)


async def ends(pilot: Pilot[None], state: str) -> None:
    """Wait until the newest run has ended like this."""
    await until(pilot, lambda: newest(pilot).state == state and not app_of(pilot).live._open)


def orders_of(desk: Bent) -> list[RunOrder]:
    """What was ordered."""
    return [call[0] for call in desk.asked("runs.start")]


def row(app: ReviewerApp, episode: str) -> str:
    """The line of an episode in the grid."""
    return next(line for line in screen_text(app).splitlines() if episode in line[2:14])


# starting


async def test_r_and_enter_run_what_the_candidate_on_screen_lacks(
    door: Door, desk: Bent, attempts: Attempts
) -> None:
    door.take("one.jsonl", [r for r in shipped(V8) if (r["episode_id"], r["attempt"]) == ATTACK])
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r")
        assert "makes the 8 attempts that have no trace yet" in screen_text(app)
        await press(pilot, "enter")
        assert orders_of(desk) == [
            RunOrder(suite_id=SUITE, candidate_id=V8, resume=True, person=True)
        ]
        assert newest(pilot).planned == 8


async def test_r_and_enter_make_the_next_attempts_where_none_is_missing(seven: Bent) -> None:
    Attempts(seven)
    app = shell(seven)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r")
        assert "makes the next 3 attempts of 3 episodes" in screen_text(app)
        await press(pilot, "tab", "tab", "tab", "backspace", "1", "enter")
        assert orders_of(seven) == [RunOrder(suite_id=SUITE, candidate_id=V7, jobs=1, person=True)]
        await at_work(pilot, ("damaged-221", 4))
        assert "▲1/6" in row(app, "attack-014")
        assert "►3/6" in row(app, "damaged-221")


async def test_every_field_is_reached_and_changed_by_keys(seven: Bent) -> None:
    Attempts(seven)
    app = shell(seven)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "j", "tab", *"12", "tab", "left", "tab")
        await press(pilot, "backspace", *"8", "tab", "backspace", *"41", "tab")
        await press(pilot, "right", "right", "right", "tab", "l", "enter")
        assert orders_of(seven)[-1] == RunOrder(
            suite_id=SUITE,
            candidate_id=V8,
            attempts=12,
            jobs=8,
            seed=41,
            approvals="ask",
            network=True,
            person=True,
        )


async def test_choosing_by_the_mouse(seven: Bent) -> None:
    app = shell(seven)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r")
        await pilot.click("#approvals", offset=(23, 0))
        await settle(pilot)
        assert "(x) ask" in screen_text(app)


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("#attempts", "0", "attempts: a whole number, 1 or more"),
        ("#jobs", "two", "jobs: a whole number, 1 or more"),
        ("#seed", "-1", "seed: a whole number, 0 or more"),
        ("#attempts", "٣", "attempts: a whole number"),
    ],
)
async def test_a_number_that_is_none_starts_nothing(
    field: str, typed: str, words: str, seven: Bent
) -> None:
    from textual.widgets import Input

    app = shell(seven)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r")
        app.screen.query_one(field, Input).value = typed
        await press(pilot, "enter")
        assert words in screen_text(app)
        assert orders_of(seven) == []
        assert app.screen.query_one(field).has_focus


async def test_a_candidate_that_cannot_be_run_says_why(seven: Bent) -> None:
    keyless = Runnable(
        candidate_id=KEYLESS, kind="openai-chat", made=0, missing=9,
        problem="OPENAI_API_KEY is not set: export it, then r again",
    )  # fmt: skip
    seven.bend("runs.runnable", lambda real, *args: [*real(*args), keyless])
    app = shell(seven)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "j", "j", "enter")
        assert "cannot be run: OPENAI_API_KEY is not set" in screen_text(app)
        assert orders_of(seven) == []
        assert KEYLESS in screen_text(app)


async def test_a_run_that_cannot_begin_is_told_in_the_dialog(seven: Bent) -> None:
    Attempts(seven)
    refused = [DeskError("the suite is not frozen", "reviewer suite freeze")]

    def start(real: Callable[..., Any], *args: Any) -> Any:
        if refused:
            raise refused[0]
        return real(*args)

    app = shell(seven.bend("runs.start", start))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "enter")
        assert "✗ the suite is not frozen" in screen_text(app)
        assert "reviewer suite freeze" in screen_text(app)
        refused.clear()
        await press(pilot, "enter")
        assert "► running 0/9" in screen_text(app)


async def test_a_dialog_left_while_the_run_starts_still_tells_of_it(seven: Bent) -> None:
    Attempts(seven)
    gate = threading.Event()

    def start(real: Callable[..., Any], *args: Any) -> Any:
        assert gate.wait(60)
        return real(*args)

    app = shell(seven.bend("runs.start", start))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r")
        await pilot.press("enter", "enter", "escape")
        await pilot.pause()
        assert not isinstance(app.screen, OrderScreen)
        gate.set()
        await settle(pilot)
        assert len(seven.runs.views()) == 1
        assert "► running 0/9" in screen_text(app)


async def test_a_suite_without_manifests_says_what_makes_one(seven: Bent) -> None:
    app = shell(seven.bend("runs.runnable", lambda *_: []))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "enter")
        assert "no candidate manifest in refund-eval-v5" in screen_text(app)
        await press(pilot, "escape")
        assert not isinstance(app.screen, OrderScreen)


async def test_nothing_is_run_on_a_suite_that_does_not_match_its_lock(broken: Desk) -> None:
    app = shell(broken)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "escape", "r")
        assert not isinstance(app.screen, OrderScreen)
        assert "nothing is run on it" in screen_text(app)


# watching


async def test_cells_go_from_waiting_to_running_to_their_result(
    desk: Bent, attempts: Attempts
) -> None:
    app = shell(still(desk))
    async with running(app) as pilot:
        await settle(pilot)
        assert "start here" in screen_text(app)
        await press(pilot, "j", "enter", "tab", "tab", "tab", "backspace", "2", "enter")
        assert "start here" not in screen_text(app)
        assert orders_of(desk) == [
            RunOrder(suite_id=SUITE, candidate_id=V7, jobs=2, resume=True, person=True)
        ]
        await at_work(pilot, DAMAGED, APPEAL)
        assert row(app, "damaged-221").count("►run") == 7
        assert "►··" in row(app, "damaged-221")
        assert row(app, "attack-014").count("·wait") == 7
        assert "···" in row(app, "attack-014")
        assert "0 of 9 valid" in screen_text(app)
        await finish(pilot, attempts, DAMAGED)
        await at_work(pilot, APPEAL, ATTACK)
        await stored(pilot)
        assert "✓··" in row(app, "damaged-221")
        assert row(app, "attack-014").count("►run") == 7
        await finish(pilot, attempts, ATTACK)
        await stored(pilot)
        assert "✗FAIL ▲CRIT" in row(app, "attack-014")
        assert "▲··" in row(app, "attack-014")
        assert row(app, "appeal-009").count("►run") == 7
        assert "► running 2/9  ✓1 ✗1 ▲1  state 1, authority 1" in screen_text(app)
        assert "0:09 left" in screen_text(app)


async def test_an_attempt_that_ended_keeps_running_until_its_trace_is_seen(
    desk: Bent, attempts: Attempts
) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        await finish(pilot, attempts, DAMAGED)  # the run has told, the store has not been read
        assert row(app, "damaged-221").count("►run") == 7
        assert "1/9" in screen_text(app)
        await stored(pilot)
        assert "✓··" in row(app, "damaged-221")


async def test_a_running_cell_is_known_by_glyph_word_and_colour(
    desk: Bent, attempts: Attempts
) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        await press(pilot, "down")
        cells = segments_with(app, "►run")
        assert all(cell.style and cell.style.color for cell in cells)
        colors = {tuple(cell.style.color.get_truecolor()) for cell in cells}  # type: ignore[union-attr]
        assert (0x56, 0xB4, 0xE9) in colors
        assert "►run ·wait" in screen_text(app).splitlines()[-2]


async def test_the_drawer_lists_the_attempts_that_are_owed(desk: Bent, attempts: Attempts) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        await press(pilot, "g")
        for _ in range(3):
            if "── appeal-009" in screen_text(app):
                break
            await press(pilot, "j")
        text = screen_text(app)
        assert "── appeal-009 · completeness" in text
        assert "›► attempt 1           running" in text
        await press(pilot, "enter")
        assert "this cell has no trace yet" in screen_text(app)
        await finish(pilot, attempts, DAMAGED)
        await at_work(pilot, APPEAL, ATTACK)
        await finish(pilot, attempts, ATTACK)
        await stored(pilot)
        await at_work(pilot, APPEAL, SECOND)
        await finish(pilot, attempts, SECOND, APPEAL)
        await at_work(pilot, ("appeal-009", 2), ("attack-014", 2))
        await stored(pilot)
        await press(pilot, "g")
        for _ in range(3):
            if "── attack-014" in screen_text(app):
                break
            await press(pilot, "j")
        await press(pilot, "right", "right")
        text = screen_text(app)
        assert "▲ attempt 1  event 2  forbidden:issue_refund" in text
        assert "► attempt 2           running" in text
        assert "· attempt 3           waits its turn" in text


def reordered(desk: Bent) -> Bent:
    """A desk on which each trace changes which row is the worst."""

    def order(real: Callable[..., list[int]], *args: Any) -> list[int]:
        made = desk.scorecards.card(SUITE, V7).slots.valid
        keys = sorted(real(*args))
        return keys if made % 2 else keys[::-1]

    return desk.bend("scorecards.order", order)


async def test_what_lands_moves_neither_rows_nor_a_cursor_that_was_moved(
    desk: Bent, attempts: Attempts
) -> None:
    app = shell(reordered(desk))
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        await press(pilot, "right", "right")
        grid = app.screen.query_one(Grid)
        before = list(grid.keys)
        for slot in (DAMAGED, APPEAL):
            await finish(pilot, attempts, slot)
            await stored(pilot)
            assert list(grid.keys) == before
            assert (grid.row, grid.column) == (0, "authority")
        attempts.end_all()
        await ends(pilot, "done")
        await stored(pilot)
        assert (grid.row, grid.column) == (0, "authority")
        assert "the order has changed: s sorts again" in screen_text(app)


async def test_a_cursor_never_moved_stands_on_the_reason_when_the_run_is_done(
    desk: Bent, attempts: Attempts
) -> None:
    app = shell(reordered(desk))
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        grid = app.screen.query_one(Grid)
        assert (grid.row, grid.column) == (0, "completeness")
        assert row(app, "attack-014").startswith("› attack-014  [·wait]·wait ")
        attempts.end_all()
        await ends(pilot, "done")
        await stored(pilot)
        assert grid.column == "authority"
        assert "✗FAIL[▲CRIT]✓pass" in row(app, "attack-014")
        assert "order changed" not in screen_text(app)
        assert "run 1 of refund-agent-v7 done" in screen_text(app)
        assert "► running" not in screen_text(app)


async def test_a_failed_run_keeps_saying_why(desk: Bent, attempts: Attempts) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        attempts.fail(f"no such program {HOSTILE}; install it")
        await ends(pilot, "failed")
        assert "✗ failed  no such program [/foo] ␛]52" in screen_text(app)
        await press(pilot, "n")
        assert "✗ failed  no such program" in screen_text(app)
        await press(pilot, "R", "enter")
        assert "run 1 failed" in screen_text(app)
        assert "install it" in screen_text(app)


async def test_another_candidates_run_is_named_and_leaves_the_screen_alone(seven: Bent) -> None:
    Attempts(seven)
    app = shell(seven)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "j", "enter")
        assert "candidate < refund-agent-v8 > 2 of 2" in screen_text(app)
        await press(pilot, "less_than_sign")
        assert "▲ BLOCK" in screen_text(app)
        assert "► running refund-agent-v8 0/9" in screen_text(app)
        await at_work(pilot, DAMAGED, APPEAL, ATTACK, SECOND)
        assert "►run" not in row(app, "attack-014")
        assert "▲✗✓" in row(app, "attack-014")
        await press(pilot, "greater_than_sign")
        assert row(app, "attack-014").count("►run") == 7


async def test_changes_are_looked_at_together(
    monkeypatch: pytest.MonkeyPatch, desk: Bent, attempts: Attempts
) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "enter")
        monkeypatch.setattr(Looks, "EVERY", 3600.0)
        before = len(desk.asked("runs.views"))
        for _ in range(50):
            app.live.tell()
        await settle(pilot)
        assert len(desk.asked("runs.views")) == before
        monkeypatch.setattr(Looks, "EVERY", 0.0)
        app.live.changed()
        await settle(pilot)
        assert len(desk.asked("runs.views")) == before + 1


# pause and stop


async def test_pause_and_go_on(desk: Bent, attempts: Attempts) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "p")
        assert "no run is in progress here" in screen_text(app)
        await begun(pilot)
        await press(pilot, "p")
        assert "○ paused" in screen_text(app)
        assert "p resume" in screen_text(app)
        await press(pilot, "p")
        assert "► running" in screen_text(app)
        assert newest(pilot).state == "running"


async def test_stop_waits_and_a_second_stop_asks_before_abandoning(
    desk: Bent, attempts: Attempts
) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        await press(pilot, "full_stop")
        await until(pilot, lambda: "! stopping" in screen_text(app))
        await press(pilot, "p")
        assert "nothing to pause" in screen_text(app)
        await press(pilot, "full_stop", "enter")
        assert newest(pilot).state == "stopping"  # the harmless answer is the chosen one
        assert len(newest(pilot).running) == 2
        await press(pilot, "full_stop")
        assert "2 attempts running" in screen_text(app)
        await press(pilot, "j", "enter")
        await ends(pilot, "stopped")
        assert "run 1 of refund-agent-v7 stopped: 0 of 9 attempts" in screen_text(app)


# approvals


async def test_a_call_that_waits_is_announced_and_approved(
    clock: list[float], desk: Bent, attempts: Attempts
) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "a")
        assert "no call waits for an answer" in screen_text(app)
        await asking(pilot)
        attempts.ask("issue_refund", REFUND)
        await until(pilot, lambda: "● 1 call: a" in screen_text(app))
        assert "● asks you  issue_refund  damaged-221/1 event 2" in screen_text(app)
        await press(pilot, "R")
        assert "● 1 call: a" in screen_text(app)
        await press(pilot, "a")
        assert '"amount_usd": 89.0' in screen_text(app)
        clock[0] += 1
        await press(pilot, "y")
        await until(pilot, lambda: attempts.answers == [("issue_refund", True)])
        assert not isinstance(app.screen, ApproveScreen)
        await press(pilot, "escape")
        assert "asks you" not in screen_text(app)


async def test_several_calls_queue_and_a_held_key_answers_only_one(
    clock: list[float], desk: Bent, attempts: Attempts
) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await asking(pilot)
        for tool in ("issue_refund", "close_account", "send_mail"):
            attempts.ask(tool, {})
        await until(pilot, lambda: len(newest(pilot).approvals) == 3)
        await press(pilot, "a", "y")
        assert attempts.answers == []  # it has only just come up
        clock[0] += 1
        await press(pilot, "y", "y", "y")
        await until(pilot, lambda: len(newest(pilot).approvals) == 2)
        assert attempts.answers == [("issue_refund", True)]
        assert "close_account" in screen_text(app)
        assert "1 of 2" in screen_text(app)
        assert "read it, then answer" in screen_text(app)
        clock[0] += 1
        await press(pilot, "n")
        await until(pilot, lambda: len(newest(pilot).approvals) == 1)
        assert attempts.answers == [("issue_refund", True), ("close_account", False)]
        await press(pilot, "escape")
        assert "asks you  send_mail" in screen_text(app)


async def test_a_call_withdrawn_under_the_reader_is_not_answered_by_its_successor(
    clock: list[float], desk: Bent, attempts: Attempts
) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await asking(pilot)
        attempts.ask("lookup_order", {})
        attempts.ask("close_account", {})
        await until(pilot, lambda: len(newest(pilot).approvals) == 2)
        await press(pilot, "a")
        clock[0] += 1
        attempts.withdraw("lookup_order")
        await until(pilot, lambda: len(newest(pilot).approvals) == 1)
        await press(pilot, "y")
        assert attempts.answers == []
        assert "close_account" in screen_text(app)
        desk.runs.handle(1).abandon()
        await ends(pilot, "stopped")
        assert not isinstance(app.screen, ApproveScreen)
        assert attempts.answers == []


async def test_hostile_arguments_are_shown_and_not_obeyed(desk: Bent, attempts: Attempts) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await asking(pilot)
        attempts.ask(HOSTILE, {"note": f"{HOSTILE}"})
        await until(pilot, lambda: len(newest(pilot).approvals) == 1)
        assert "asks you  [/foo] ␛]52;c;ZXZpbA==␇" in screen_text(app)
        await press(pilot, "a")
        text = screen_text(app)
        tool, _, arguments = text.partition("arguments")
        for shown in ("[/foo] ␛]52;c;ZXZpbA==␇", "⟨U+202E⟩gnp.exe ⟨U+009B⟩3J"):
            assert shown in tool
        for shown in (
            "[/foo] \\u001b]52;c;ZXZpbA==\\u0007",
            "⟨U+202E⟩gnp.exe ⟨U+009B⟩3J",
            "[@click=app.quit]",
        ):
            assert shown in arguments
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)


async def test_arguments_that_come_unescaped_are_shown_and_not_obeyed(
    desk: Bent, attempts: Attempts
) -> None:
    raw = f'{{"note": "{HOSTILE}"}}'

    def views(real: Callable[..., list[RunView]]) -> list[RunView]:
        return [
            replace(view, approvals=tuple(replace(each, arguments=raw) for each in view.approvals))
            for view in real()
        ]

    app = shell(desk.bend("runs.views", views))
    async with running(app) as pilot:
        await settle(pilot)
        await asking(pilot)
        attempts.ask(HOSTILE, {})
        await until(pilot, lambda: len(newest(pilot).approvals) == 1)
        await press(pilot, "a")
        text = screen_text(app)
        for shown in ("[/foo] ␛]52;c;ZXZpbA==␇", "⟨U+202E⟩gnp.exe ⟨U+009B⟩3J", "[@click=app.quit]"):
            assert shown in text.partition("arguments")[2]
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)


# leaving


async def test_quitting_asks_while_a_run_goes_on(desk: Bent, attempts: Attempts) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        await press(pilot, "ctrl+q")
        assert isinstance(app.screen, QuestionScreen)
        assert "2 attempts running, 7 waiting" in screen_text(app)
        await press(pilot, "enter")
        assert not isinstance(app.screen, QuestionScreen)
        await press(pilot, "ctrl+q", "escape")
        assert app.is_running
        assert newest(pilot).state == "running"


async def test_quitting_can_wait_for_what_is_at_work(desk: Bent, attempts: Attempts) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        await press(pilot, "ctrl+q", "j", "enter")
        await until(pilot, lambda: newest(pilot).state == "stopping")
        assert app.is_running
        assert "quits when the running attempts have finished" in screen_text(app)
        await finish(pilot, attempts, DAMAGED)
        assert app._exit is False
        attempts.end(APPEAL)
        await come(pilot, lambda: app._exit)
    assert not app.is_running


async def test_waiting_to_quit_can_be_called_off(desk: Bent, attempts: Attempts) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        await press(pilot, "ctrl+q", "j", "enter", "ctrl+q", "enter")
        attempts.end_all()
        await ends(pilot, "stopped")
        assert app.is_running
        assert not app._exit


async def test_quitting_asked_for_again_is_immediate_unless_the_key_is_held(
    desk: Bent, attempts: Attempts
) -> None:
    app = shell(desk)
    now = [0.0]
    app.leaving.clock = lambda: now[0]
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        await press(pilot, "ctrl+q")
        now[0] += 0.1
        await press(pilot, "ctrl+q")
        assert app.is_running
        assert newest(pilot).state == "running"
        now[0] += 1.0
        await pilot.press("ctrl+q")
    assert desk.runs.handle(1).wait(60).state == "stopped"
    assert not app.is_running


async def test_quitting_can_abandon(desk: Bent, attempts: Attempts) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        await press(pilot, "ctrl+q", "j", "j")
        await pilot.press("enter")
    assert desk.runs.handle(1).wait(60).state == "stopped"
    assert not app.is_running


# orders given at the start


def orders(*candidates: str) -> list[RunOrder]:
    return [RunOrder(suite_id=SUITE, candidate_id=name) for name in candidates]


async def test_orders_run_one_after_another_and_the_first_is_followed(
    desk: Bent, attempts: Attempts
) -> None:
    app = shell(desk, runs=orders(V7, V8))
    async with running(app) as pilot:
        await settle(pilot)
        await at_work(pilot, DAMAGED, APPEAL, ATTACK, SECOND)
        assert len(desk.runs.views()) == 1
        assert "candidate < refund-agent-v7 >" in screen_text(app)
        assert row(app, "attack-014").count("►run") == 7
        attempts.end_all(V7)
        await until(pilot, lambda: [v.state for v in app.live.views] == ["running", "done"])
        await at_work(pilot, DAMAGED, APPEAL, ATTACK, SECOND)
        await stored(pilot)
        assert [order.candidate_id for order in orders_of(desk)] == [V7, V8]
        text = screen_text(app)
        assert "candidate < refund-agent-v7 >" in text
        assert "► running refund-agent-v8 0/9" in text
        assert "▲✗✓" in row(app, "attack-014")
        attempts.end_all()
        await until(pilot, lambda: [v.state for v in app.live.views] == ["done", "done"])
        await stored(pilot)
        assert [order.candidate_id for order in orders_of(desk)] == [V7, V8]
        text = screen_text(app)
        assert "candidate < refund-agent-v7 >" in text
        assert "► running" not in text
        assert "▲✗✓" in row(app, "attack-014")


async def test_an_order_takes_nothing_from_the_screen_that_has_something(seven: Bent) -> None:
    Attempts(seven)
    app = shell(seven, runs=orders(V8))
    async with running(app) as pilot:
        await settle(pilot)
        text = screen_text(app)
        assert "candidate < refund-agent-v7 >" in text
        assert "► running refund-agent-v8 0/9" in text


@pytest.mark.parametrize("state", ["stopped", "failed"])
async def test_a_run_that_does_not_end_well_drops_those_that_were_to_follow(
    state: str, desk: Bent, attempts: Attempts
) -> None:
    app = shell(desk, runs=orders(V7, V8))
    async with running(app) as pilot:
        await settle(pilot)
        await at_work(pilot, DAMAGED, APPEAL, ATTACK, SECOND)
        if state == "failed":
            attempts.fail("no such program")
        else:
            desk.runs.handle(1).abandon()
        await ends(pilot, state)
        assert len(orders_of(desk)) == 1
        assert "► 1 run" not in screen_text(app)


async def test_an_order_that_cannot_begin_is_told_whole(desk: Bent) -> None:
    desk.bend("runs.start", refusing(DeskError("the suite is not frozen", "reviewer suite freeze")))
    app = shell(desk, runs=orders(V7, V8))
    async with running(app) as pilot:
        await settle(pilot)
        assert "the suite is not frozen" in screen_text(app)
        assert len(orders_of(desk)) == 1, "the second is not tried"


# the list of runs


async def test_the_list_of_runs_steers_the_one_under_the_cursor(
    desk: Bent, attempts: Attempts
) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot)
        await press(pilot, "r", "j", "enter", "R")
        text = screen_text(app)
        assert "jobs 2" in text
        assert "2 running" in text
        await press(pilot, "j", "p")
        await until(pilot, lambda: "○ paused" in screen_text(app))
        assert [view.state for view in app.live.views] == ["running", "paused"]
        await press(pilot, "enter")
        assert "candidate < refund-agent-v7 >" in screen_text(app)
        await press(pilot, "escape", "y")
        assert app.clipboard == V7
        await press(pilot, "r")
        assert "› refund-agent-v7" in screen_text(app)


async def test_the_list_appears_with_the_first_run(seven: Bent) -> None:
    attempts = Attempts(seven)
    app = shell(seven)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "R")
        assert "jobs 0" not in screen_text(app)
        await press(pilot, "r", "enter")
        text = screen_text(app)
        assert "run 1 of refund-agent-v7 has started" in text
        assert "jobs 1" in text
        attempts.end_all()
        await ends(pilot, "done")
        assert "✓ done" in screen_text(app)
        assert "9/9" in screen_text(app)


# how it looks


@pytest.mark.parametrize("size", SIZES)
async def test_a_run_on_screen(
    size: tuple[int, int], desk: Bent, attempts: Attempts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviewer.desk.runs.start.clock", lambda: "2026-11-22T10:20:00Z")
    app = shell(still(desk))
    async with running(app, size) as pilot:
        await settle(pilot)

        def same(name: str) -> None:
            same_as_golden(app, f"{name}-{size[0]}x{size[1]}")

        await press(pilot, "r")
        same("run-dialog")
        await press(pilot, "escape")
        await asking(pilot)
        await stored(pilot)
        same("run-begun")
        await under_way(pilot, attempts)
        same("run-live")
        attempts.ask("issue_refund", REFUND, ATTACK)
        await until(pilot, lambda: len(newest(pilot).approvals) == 1)
        attempts.ask(HOSTILE, {"note": HOSTILE}, ATTACK)
        await until(pilot, lambda: len(newest(pilot).approvals) == 2)
        same("run-asks")
        await press(pilot, "a")
        same("run-approve")
        await press(pilot, "escape", "R")
        same("runs-live")
        await press(pilot, "escape", "ctrl+q")
        same("run-quit")


WIDTHS = ((60, 20), (80, 24), (133, 31))


@pytest.mark.parametrize("first", by_day(WIDTHS, every=3))
async def test_every_line_fills_its_width_while_a_run_goes_on(
    first: tuple[int, int], desk: Bent, attempts: Attempts
) -> None:
    app = shell(desk)
    async with running(app, first) as pilot:
        await settle(pilot)
        await asking(pilot)
        await under_way(pilot, attempts)
        attempts.ask("issue_refund", REFUND, ATTACK)
        attempts.ask(HOSTILE, {"note": HOSTILE}, ATTACK)
        await until(pilot, lambda: len(newest(pilot).approvals) == 2)
        for size in (first, *(each for each in WIDTHS if each != first)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            for key in ("r", "escape", "a", "escape", "R", "ctrl+q"):
                assert {strip.cell_length for strip in strips(app)} == {size[0]}
                await press(pilot, key)
            assert {strip.cell_length for strip in strips(app)} == {size[0]}
            await pilot.resize_terminal(20, 6)
            await settle(pilot)
            assert {strip.cell_length for strip in strips(app)} == {20}
            while "[Scorecard]" not in screen_text(app) and len(app.screen_stack) > 2:
                await press(pilot, "escape")


async def test_the_palette_and_the_help_offer_the_acts_of_a_run(seven: Bent) -> None:
    app = shell(seven)
    async with running(app, (80, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "question_mark")
        for words in ("run a candidate", "pause the run, resume", "stop the run, abandon it"):
            assert words in screen_text(app)
        assert "answer a waiting call" in screen_text(app)
        await press(pilot, "escape", "ctrl+p", *"pause")
        assert "pause the run, resume" in screen_text(app)
