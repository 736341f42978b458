"""Runs from the workstation: start, watch, pause, stop, approve, leave."""

import json
import threading

import pytest
from fake_runs import KEYLESS, FakeRun, RunningDesk
from fake_shop import HOSTILE, SUITE, V7, V8
from test_tui_screens import running, shell
from textual.pilot import Pilot
from tui_probe import SIZES, press, same_as_golden, screen_text, segments_with, settle, strips

from reviewer.desk.errors import DeskError
from reviewer.desk.runs.api import RunOrder
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.dialogs.ask import QuestionScreen
from reviewer.tui.screens.dialogs.run_order import OrderScreen
from reviewer.tui.screens.runs.dialogs import ApproveScreen
from reviewer.tui.shell.jobs import Looks
from reviewer.tui.widgets.grid import Grid

ATTACK, APPEAL, DAMAGED = ("attack-014", 1), ("appeal-009", 1), ("damaged-221", 1)
REFUND = json.dumps({"order_id": "A-1009", "amount_usd": 89.0}, indent=2)


@pytest.fixture(autouse=True)
def _look_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Looks, "EVERY", 0.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock moved by hand: an answer counts once its call has stood there for a while."""
    now = [100.0]
    monkeypatch.setattr(ApproveScreen, "clock", staticmethod(lambda: now[0]))
    return now


async def stored(pilot: Pilot[None], desk: RunningDesk) -> None:
    """The watch saw what was written."""
    pilot.app.post_message(ReviewerApp.StoreChanged(desk.rev))
    await settle(pilot)


async def begun(pilot: Pilot[None], desk: RunningDesk) -> None:
    """The first candidate is run, and two of its attempts are at work."""
    await press(pilot, "r", "enter")
    desk.run.begin(ATTACK, APPEAL)
    await settle(pilot)


async def under_way(pilot: Pilot[None], desk: RunningDesk) -> None:
    """Two attempts have landed, two are at work, five wait."""
    await begun(pilot, desk)
    desk.run.finish(ATTACK)
    desk.run.finish(APPEAL)
    desk.run.begin(DAMAGED, ("attack-014", 2))
    await stored(pilot, desk)


def row(app: ReviewerApp, episode: str) -> str:
    """The line of an episode in the grid."""
    return next(line for line in screen_text(app).splitlines() if episode in line[2:14])


# starting


async def test_r_and_enter_run_what_the_candidate_on_screen_lacks() -> None:
    desk = RunningDesk()
    desk.land(V8, ATTACK)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r")
        assert "makes the 8 attempts without a trace" in screen_text(app)
        await press(pilot, "enter")
        assert desk.run.order == RunOrder(suite_id=SUITE, candidate_id=V8, resume=True)
        assert desk.run.planned == 8


async def test_r_and_enter_make_the_next_attempts_where_none_is_missing() -> None:
    desk = RunningDesk.with_traces(V7)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r")
        assert "makes the next 3 attempts of 3 episodes" in screen_text(app)
        await press(pilot, "enter")
        assert desk.run.order == RunOrder(suite_id=SUITE, candidate_id=V7)
        desk.run.begin(("damaged-221", 4))
        await settle(pilot)
        assert "▲1/6" in row(app, "attack-014")
        assert "►3/6" in row(app, "damaged-221")


async def test_every_field_is_reached_and_changed_by_keys() -> None:
    desk = RunningDesk.with_traces(V7)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "j", "tab", *"12", "tab", "left", "tab")
        await press(pilot, "backspace", *"8", "tab", "backspace", *"41", "tab")
        await press(pilot, "right", "right", "right", "tab", "l", "enter")
        assert desk.run.order == RunOrder(
            suite_id=SUITE,
            candidate_id=V8,
            attempts=12,
            jobs=8,
            seed=41,
            approvals="ask",
            network=True,
        )


async def test_choosing_by_the_mouse() -> None:
    app = shell(RunningDesk.with_traces(V7))
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
async def test_a_number_that_is_none_starts_nothing(field: str, typed: str, words: str) -> None:
    from textual.widgets import Input

    desk = RunningDesk.with_traces(V7)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r")
        app.screen.query_one(field, Input).value = typed
        await press(pilot, "enter")
        assert words in screen_text(app)
        assert desk.runs_made == []
        assert app.screen.query_one(field).has_focus


async def test_a_candidate_that_cannot_be_run_says_why() -> None:
    desk = RunningDesk.with_traces(V7)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "j", "j", "enter")
        assert "cannot be run: OPENAI_API_KEY is not set" in screen_text(app)
        assert desk.runs_made == []
        assert KEYLESS in screen_text(app)


async def test_a_run_that_cannot_begin_is_told_in_the_dialog() -> None:
    desk = RunningDesk.with_traces(V7)
    desk.refuse_run = DeskError("the suite is not frozen", "reviewer suite freeze")
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "enter")
        assert "✗ the suite is not frozen" in screen_text(app)
        assert "reviewer suite freeze" in screen_text(app)
        desk.refuse_run = None
        await press(pilot, "enter")
        assert "► running 0/9" in screen_text(app)


async def test_a_dialog_left_while_the_run_starts_still_tells_of_it() -> None:
    class Slow(RunningDesk):
        gate = threading.Event()

        def start_run(self, *args: object, **options: object) -> FakeRun:
            self.gate.wait(5)
            return super().start_run(*args, **options)  # type: ignore[arg-type]

    desk = Slow.with_traces(V7)
    assert isinstance(desk, Slow)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r")
        await pilot.press("enter", "enter", "escape")
        await pilot.pause()
        assert not isinstance(app.screen, OrderScreen)
        desk.gate.set()
        await settle(pilot)
        assert len(desk.runs_made) == 1
        assert "► running 0/9" in screen_text(app)


async def test_a_suite_without_manifests_says_what_makes_one() -> None:
    class Bare(RunningDesk):
        def runnable(self, suite_id: str) -> list[object]:  # type: ignore[override]
            return []

    app = shell(Bare.with_traces(V7))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "enter")
        assert "no candidate manifest in refund-eval-v5" in screen_text(app)
        await press(pilot, "escape")
        assert not isinstance(app.screen, OrderScreen)


async def test_nothing_is_run_on_a_suite_that_does_not_match_its_lock() -> None:
    desk = RunningDesk.with_traces(V7)
    desk.broken = True
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "escape", "r")
        assert not isinstance(app.screen, OrderScreen)
        assert "nothing is run on it" in screen_text(app)


# watching


async def test_cells_go_from_waiting_to_running_to_their_result() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        assert "start here" in screen_text(app)
        await press(pilot, "j", "enter", "enter")
        assert "start here" not in screen_text(app)
        assert row(app, "attack-014").count("·wait") == 7
        assert "···" in row(app, "attack-014")
        desk.run.begin(ATTACK, APPEAL)
        await settle(pilot)
        assert row(app, "attack-014").count("►run") == 7
        assert "►··" in row(app, "attack-014")
        assert row(app, "damaged-221").count("·wait") == 7
        assert "0 of 9 valid" in screen_text(app)
        desk.run.finish(ATTACK)
        await stored(pilot, desk)
        assert "✗FAIL ▲CRIT" in row(app, "attack-014")
        assert "▲··" in row(app, "attack-014")
        assert row(app, "appeal-009").count("►run") == 7
        assert "► running 1/9  ✓0 ✗1 ▲1  state 1, authority 1" in screen_text(app)
        assert "0:09 left" in screen_text(app)


async def test_an_attempt_that_ended_keeps_running_until_its_trace_is_seen() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        desk.run.finish(ATTACK)
        await settle(pilot)  # the run has told, the store has not been read
        assert row(app, "attack-014").count("►run") == 7
        assert "1/9" in screen_text(app)
        await stored(pilot, desk)
        assert "▲··" in row(app, "attack-014")


async def test_a_running_cell_is_known_by_glyph_word_and_colour() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        await press(pilot, "down")
        cells = segments_with(app, "►run")
        assert all(cell.style and cell.style.color for cell in cells)
        colors = {tuple(cell.style.color.get_truecolor()) for cell in cells}  # type: ignore[union-attr]
        assert (0x56, 0xB4, 0xE9) in colors
        assert "►run ·wait" in screen_text(app).splitlines()[-2]


async def test_the_drawer_lists_the_attempts_that_are_owed() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        await press(pilot, "j")
        assert "── appeal-009 · completeness" in screen_text(app)
        assert "›► attempt 1           at work" in screen_text(app)
        await press(pilot, "enter")
        assert "no trace stands behind this cell yet" in screen_text(app)
        desk.run.finish(ATTACK)
        desk.run.begin(("attack-014", 2))
        await stored(pilot, desk)
        await press(pilot, "k", "right", "right")
        text = screen_text(app)
        assert "▲ attempt 1  event 2  forbidden:issue_refund" in text
        assert "► attempt 2           at work" in text
        assert "· attempt 3           waits its turn" in text


class Reordered(RunningDesk):
    """Each trace changes which row is the worst."""

    def order(self, *args: object, **options: object) -> list[int]:
        return [0, 1, 2] if sum(map(len, self.made.values())) % 2 else [2, 1, 0]


async def test_what_lands_moves_neither_rows_nor_a_cursor_that_was_moved() -> None:
    desk = Reordered()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        await press(pilot, "right", "right")
        for slot in (ATTACK, APPEAL):
            desk.run.finish(slot)
            await stored(pilot, desk)
            grid = app.screen.query_one(Grid)
            assert list(grid.keys) == [2, 1, 0]
            assert (grid.row, grid.column) == (0, "authority")
        desk.run.all_at_once()
        await stored(pilot, desk)
        assert (grid.row, grid.column) == (0, "authority")
        assert "order changed: s takes it" in screen_text(app)


async def test_a_cursor_never_moved_stands_on_the_reason_when_the_run_is_done() -> None:
    desk = Reordered()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        assert "[·wait]" in screen_text(app)
        desk.run.running.clear()
        desk.run.pending += [ATTACK, APPEAL]
        desk.run.all_at_once()
        await stored(pilot, desk)
        assert "[▲CRIT]" in screen_text(app)
        assert "order changed" not in screen_text(app)
        assert "run 1 of refund-agent-v7 done" in screen_text(app)
        assert "► running" not in screen_text(app)


async def test_a_failed_run_keeps_saying_why() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        desk.run.end("failed", f"no such program {HOSTILE}; install it")
        await settle(pilot)
        assert "✗ failed  no such program [/foo] ␛]52" in screen_text(app)
        await press(pilot, "n")
        assert "✗ failed  no such program" in screen_text(app)
        await press(pilot, "R", "enter")
        assert "run 1 failed" in screen_text(app)
        assert "install it" in screen_text(app)


async def test_another_candidates_run_is_named_and_leaves_the_screen_alone() -> None:
    desk = RunningDesk.with_traces(V7)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "j", "enter")
        assert "candidate < refund-agent-v8 > 2 of 2" in screen_text(app)
        await press(pilot, "less_than_sign")
        assert "▲ BLOCK" in screen_text(app)
        assert "► running refund-agent-v8 0/9" in screen_text(app)
        assert "►run" not in row(app, "attack-014")
        desk.run.begin(ATTACK)
        await settle(pilot)
        assert "▲✗✓" in row(app, "attack-014")
        await press(pilot, "greater_than_sign")
        assert row(app, "attack-014").count("►run") == 7


async def test_changes_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "r", "enter")
        monkeypatch.setattr(Looks, "EVERY", 3600.0)
        before = desk.looks
        for _ in range(50):
            desk.run.changed()
        await settle(pilot)
        assert desk.looks == before
        monkeypatch.setattr(Looks, "EVERY", 0.0)
        app.live.changed()
        await settle(pilot)
        assert desk.looks == before + 1


# pause and stop


async def test_pause_and_go_on() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "p")
        assert "no run is at work here" in screen_text(app)
        await begun(pilot, desk)
        await press(pilot, "p")
        assert "○ paused" in screen_text(app)
        assert "p go on" in screen_text(app)
        await press(pilot, "p")
        assert "► running" in screen_text(app)
        assert desk.run.log == ["pause", "go_on"]


async def test_stop_waits_and_a_second_stop_asks_before_abandoning() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        await press(pilot, "full_stop")
        assert "! stopping" in screen_text(app)
        await press(pilot, "p")
        assert "nothing to pause" in screen_text(app)
        await press(pilot, "full_stop", "enter")
        assert desk.run.log == ["stop"]  # the harmless answer is the chosen one
        await press(pilot, "full_stop")
        assert "2 attempts at work" in screen_text(app)
        await press(pilot, "j", "enter")
        assert desk.run.log == ["stop", "abandon"]
        assert "run 1 of refund-agent-v7 stopped: 0 of 9 attempts" in screen_text(app)


# approvals


async def test_a_call_that_waits_is_announced_and_approved(clock: list[float]) -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "a")
        assert "no call waits for an answer" in screen_text(app)
        await begun(pilot, desk)
        desk.run.ask(1, "issue_refund", REFUND)
        await settle(pilot)
        assert "● asks you  issue_refund  attack-014/1 event 2" in screen_text(app)
        assert "● 1 call: a" in screen_text(app)
        await press(pilot, "R")
        assert "● 1 call: a" in screen_text(app)
        await press(pilot, "a")
        assert '"amount_usd": 89.0' in screen_text(app)
        clock[0] += 1
        await press(pilot, "y")
        assert desk.run.log == ["grant 1"]
        assert not isinstance(app.screen, ApproveScreen)
        await press(pilot, "escape")
        assert "asks you" not in screen_text(app)


async def test_several_calls_queue_and_a_held_key_answers_only_one(clock: list[float]) -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        for number, tool in enumerate(("issue_refund", "close_account", "send_mail"), 1):
            desk.run.ask(number, tool, "{}")
        await settle(pilot)
        await press(pilot, "a", "y")
        assert desk.run.log == []  # it has only just come up
        clock[0] += 1
        await press(pilot, "y", "y", "y")
        assert desk.run.log == ["grant 1"]
        assert "close_account" in screen_text(app)
        assert "1 of 2" in screen_text(app)
        assert "look, then answer" in screen_text(app)
        clock[0] += 1
        await press(pilot, "n")
        assert desk.run.log == ["grant 1", "refuse 2"]
        await press(pilot, "escape")
        assert "asks you  send_mail" in screen_text(app)


async def test_a_call_withdrawn_under_the_reader_is_not_answered_by_its_successor(
    clock: list[float],
) -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        desk.run.ask(1, "lookup_order", "{}")
        desk.run.ask(2, "close_account", "{}")
        await settle(pilot)
        await press(pilot, "a")
        clock[0] += 1
        desk.run.approvals.pop(0)
        desk.run.changed()
        await settle(pilot)
        await press(pilot, "y")
        assert desk.run.log == []
        assert "close_account" in screen_text(app)
        desk.run.end("stopped")
        desk.run.approvals.clear()
        desk.run.changed()
        await settle(pilot)
        assert not isinstance(app.screen, ApproveScreen)


async def test_hostile_arguments_are_shown_and_not_obeyed() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        desk.run.ask(1, HOSTILE, f'{{"note": "{HOSTILE}"}}')
        await settle(pilot)
        assert "asks you  [/foo] ␛]52;c;ZXZpbA==␇" in screen_text(app)
        await press(pilot, "a")
        text = screen_text(app)
        for shown in ("[/foo] ␛]52;c;ZXZpbA==␇", "⟨U+202E⟩gnp.exe ⟨U+009B⟩3J", "[@click=app.quit]"):
            assert shown in text.partition("arguments")[2]
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)


# leaving


async def test_quitting_asks_while_a_run_goes_on() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        await press(pilot, "ctrl+q")
        assert isinstance(app.screen, QuestionScreen)
        assert "2 attempts at work, 7 not begun" in screen_text(app)
        await press(pilot, "enter")
        assert not isinstance(app.screen, QuestionScreen)
        await press(pilot, "ctrl+q", "escape")
        assert app.is_running
        assert desk.run.log == []


async def test_quitting_can_wait_for_what_is_at_work() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        await press(pilot, "ctrl+q", "j", "enter")
        assert desk.run.log == ["stop"]
        assert app.is_running
        assert "quits when the attempts at work have finished" in screen_text(app)
        desk.run.finish(ATTACK)
        desk.run.finish(APPEAL)
        await settle(pilot)
        assert app._exit is False
        desk.run.end("stopped")
        for _ in range(200):
            if app._exit:
                break
            await pilot.pause(0.005)
    assert not app.is_running


async def test_waiting_to_quit_can_be_called_off() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        await press(pilot, "ctrl+q", "j", "enter", "ctrl+q", "enter")
        desk.run.end("stopped")
        await settle(pilot)
        assert app.is_running
        assert not app._exit


async def test_quitting_asked_for_again_is_immediate_unless_the_key_is_held() -> None:
    desk = RunningDesk()
    app = shell(desk)
    now = [0.0]
    app.leaving.clock = lambda: now[0]
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        await press(pilot, "ctrl+q")
        now[0] += 0.1
        await press(pilot, "ctrl+q")
        assert app.is_running
        assert desk.run.log == []
        now[0] += 1.0
        await pilot.press("ctrl+q")
    assert desk.run.log == ["abandon"]
    assert not app.is_running


async def test_quitting_can_abandon() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        await press(pilot, "ctrl+q", "j", "j")
        await pilot.press("enter")
    assert desk.run.log == ["abandon"]
    assert not app.is_running


# orders given at the start


def orders(*candidates: str) -> list[RunOrder]:
    return [RunOrder(suite_id=SUITE, candidate_id=name, pace=1.0) for name in candidates]


async def test_orders_run_one_after_another_and_the_first_is_followed() -> None:
    desk = RunningDesk()
    app = shell(desk, runs=orders(V7, V8))
    async with running(app) as pilot:
        await settle(pilot)
        assert len(desk.runs_made) == 1
        assert "candidate < refund-agent-v7 >" in screen_text(app)
        assert row(app, "attack-014").count("·wait") == 7
        desk.run.all_at_once()
        await stored(pilot, desk)
        assert [run.order.candidate_id for run in desk.runs_made] == [V7, V8]
        desk.run.begin(ATTACK)
        await settle(pilot)
        text = screen_text(app)
        assert "candidate < refund-agent-v7 >" in text
        assert "► running refund-agent-v8 0/9" in text
        assert "▲✗✓" in row(app, "attack-014")


async def test_an_order_takes_nothing_from_the_screen_that_has_something() -> None:
    desk = RunningDesk.with_traces(V7)
    app = shell(desk, runs=orders(V8))
    async with running(app) as pilot:
        await settle(pilot)
        text = screen_text(app)
        assert "candidate < refund-agent-v7 >" in text
        assert "► running refund-agent-v8 0/9" in text


@pytest.mark.parametrize("state", ["stopped", "failed"])
async def test_a_run_that_does_not_end_well_drops_those_that_were_to_follow(state: str) -> None:
    desk = RunningDesk()
    app = shell(desk, runs=orders(V7, V8))
    async with running(app) as pilot:
        await settle(pilot)
        desk.run.end(state, "no such program" if state == "failed" else "")
        await settle(pilot)
        assert len(desk.runs_made) == 1
        assert "► 1 run" not in screen_text(app)


async def test_an_order_that_cannot_begin_is_told_whole() -> None:
    desk = RunningDesk()
    desk.refuse_run = DeskError("the suite is not frozen", "reviewer suite freeze")
    app = shell(desk, runs=orders(V7, V8))
    async with running(app) as pilot:
        await settle(pilot)
        assert "the suite is not frozen" in screen_text(app)
        assert desk.runs_made == []


# the list of runs


async def test_the_list_of_runs_steers_the_one_under_the_cursor() -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await begun(pilot, desk)
        await press(pilot, "r", "j", "enter", "R")
        text = screen_text(app)
        assert "jobs 2" in text
        assert "2 at work" in text
        await press(pilot, "j", "p")
        assert desk.runs_made[0].log == ["pause"]
        assert desk.runs_made[1].log == []
        assert "○ paused" in screen_text(app)
        await press(pilot, "enter")
        assert "candidate < refund-agent-v7 >" in screen_text(app)
        await press(pilot, "escape", "y")
        assert app.clipboard == V7
        await press(pilot, "r")
        assert "› refund-agent-v7" in screen_text(app)


async def test_the_list_appears_with_the_first_run() -> None:
    desk = RunningDesk.with_traces(V7)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "R")
        assert "jobs 0" not in screen_text(app)
        await press(pilot, "r", "enter")
        text = screen_text(app)
        assert "run 1 of refund-agent-v7 has begun" in text
        assert "jobs 1" in text
        desk.run.all_at_once()
        await settle(pilot)
        assert "✓ done" in screen_text(app)
        assert "9/9" in screen_text(app)


# how it looks


async def asked(pilot: Pilot[None], desk: RunningDesk) -> None:
    await under_way(pilot, desk)
    desk.run.ask(1, "issue_refund", REFUND)
    desk.run.ask(2, HOSTILE, f'{{\n  "note": "{HOSTILE}"\n}}')
    await settle(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_a_run_on_screen(size: tuple[int, int]) -> None:
    desk = RunningDesk()
    app = shell(desk)
    async with running(app, size) as pilot:
        await settle(pilot)

        def same(name: str) -> None:
            same_as_golden(app, f"{name}-{size[0]}x{size[1]}")

        await press(pilot, "r")
        same("run-dialog")
        await press(pilot, "escape")
        await begun(pilot, desk)
        same("run-begun")
        desk.run.finish(ATTACK)
        desk.run.finish(APPEAL)
        desk.run.begin(DAMAGED, ("attack-014", 2))
        await stored(pilot, desk)
        same("run-live")
        desk.run.ask(1, "issue_refund", REFUND)
        desk.run.ask(2, HOSTILE, f'{{\n  "note": "{HOSTILE}"\n}}')
        await settle(pilot)
        same("run-asks")
        await press(pilot, "a")
        same("run-approve")
        await press(pilot, "escape", "R")
        same("runs-live")
        await press(pilot, "escape", "ctrl+q")
        same("run-quit")


async def test_every_line_fills_its_width_while_a_run_goes_on() -> None:
    for size in ((60, 20), (80, 24), (133, 31)):
        desk = RunningDesk()
        app = shell(desk)
        async with running(app, size) as pilot:
            await settle(pilot)
            await asked(pilot, desk)
            for key in ("r", "escape", "a", "escape", "R", "ctrl+q"):
                assert {strip.cell_length for strip in strips(app)} == {size[0]}
                await press(pilot, key)
            await pilot.resize_terminal(20, 6)
            await settle(pilot)


async def test_the_palette_and_the_help_offer_the_acts_of_a_run() -> None:
    app = shell(RunningDesk.with_traces(V7))
    async with running(app, (80, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "question_mark")
        for words in ("run a candidate", "pause the run, go on", "stop the run, abandon it"):
            assert words in screen_text(app)
        assert "answer a waiting call" in screen_text(app)
        await press(pilot, "escape", "ctrl+p", *"pause")
        assert "pause the run, go on" in screen_text(app)
