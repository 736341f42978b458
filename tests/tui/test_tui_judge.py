"""The judge: its role and bounds, where it parts from people, its price before its first call."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7
from judge_server import JudgeServer, Reply, direct, judging, verdict
from label_desks import estimate
from msgspec.structs import replace
from run_desks import app_of, stored
from template import HOSTILE, Bent, refusing
from test_tui_screens import running, shell
from textual.pilot import Pilot
from textual.widgets import Input
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

from reviewer.db.connection import StoreError
from reviewer.desk.errors import DeskError
from reviewer.desk.judge.api import JudgeDetail, JudgeOrder, JudgePlan, JudgeRunView, JudgeView
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.judge.dialogs import JudgeOrderScreen
from reviewer.tui.widgets.grid import Grid

URL = "http://127.0.0.1:9/v1"


JUDGE = "refund-judge-v2"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    direct(monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")


def with_view(desk: Bent, **changes: Any) -> dict[str, Any]:
    """Have a desk answer for its judge with these fields; they may be changed later."""
    desk.bend("judge.view", lambda real, *args: replace(real(*args), **changes))
    return changes


def calibrated(desk: Bent) -> JudgeView:
    """What the shipped judge has earned: pairs 1 and 4 flip, pairs 2 and 3 agree."""
    found: JudgeView = desk.judge.view(SUITE, V7)
    assert [row.outcome for row in found.rows] == ["flips", "agrees", "agrees", "flips"]
    return found


class HeldJudge:
    """A judge on localhost that answers as many calls as it is let; each costs $0.0010."""

    def __init__(self) -> None:
        self._may_answer = threading.Semaphore(0)
        self.server: JudgeServer | None = None

    def says(self, _: str) -> Reply:
        assert self._may_answer.acquire(timeout=60)
        return verdict("left")

    def let(self, calls: int) -> None:
        self._may_answer.release(calls)

    async def answer(self, pilot: Pilot[None], calls: int) -> None:
        """Let so many calls more be answered, and wait until they are kept."""
        view = app_of(pilot).judging.view
        assert view is not None
        self.let(calls)
        await until(pilot, lambda: now(pilot).done == view.done + calls)


def now(pilot: Pilot[None]) -> JudgeRunView:
    """The newest run of a judge as the workstation knows it."""
    view = app_of(pilot).judging.view
    assert view is not None
    return view


@pytest.fixture
def held(own_labeled: Bent) -> Iterator[HeldJudge]:
    """The judge that `own_labeled` asks."""
    judge = HeldJudge()

    def start(real: Callable[..., Any], order: JudgeOrder, *args: Any) -> Any:
        return real(replace(order, input_price=10.0, output_price=0.0), *args)

    own_labeled.bend("judge.start", start)
    with judging(judge.says) as judge.server:
        yield judge
        judge.let(1000)


async def ordered(pilot: Pilot[None], url: str = URL, model: str = "small-judge-1") -> None:
    """The dialog is open and filled; its price is known."""
    await press(pilot, "J", "r")
    pilot.app.screen.query_one("#url", Input).value = url
    pilot.app.screen.query_one("#model", Input).value = model
    await settle(pilot)


async def at_work(pilot: Pilot[None], judge: HeldJudge) -> None:
    assert judge.server is not None
    await ordered(pilot, judge.server.url)
    await press(pilot, *["enter"] * 6, "j", "enter")
    await until(pilot, lambda: app_of(pilot).judging.view is not None)


# the calibration


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("judge", ("J",)),
        ("judge-pair", ("J", "enter")),
        ("judge-confusion", ("J", "v")),
        ("judge-order", ("J", "r")),
    ],
)
async def test_the_judge_to_the_character(
    name: str, keys: tuple[str, ...], size: tuple[int, int], labeled: Bent
) -> None:
    app = shell(labeled)
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        same_as_golden(app, f"{name}-{size[0]}x{size[1]}")


async def test_the_banner_says_the_role_and_why(labeled: Bent) -> None:
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        text = screen_text(app)
        assert "~ ADVISORY" in text
        assert "forward accuracy 0.75 < 0.90" in text
        assert "36 more labeled pairs at least, each judged right in both orders" in text


async def test_a_judge_that_scores_says_so(labeled: Bent) -> None:
    with_view(labeled, role="scoring", banner="every bound holds", needs="")
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        assert "● SCORING  every bound holds" in screen_text(app)
        assert "ADVISORY" not in screen_text(app)


async def test_an_expired_calibration_says_what_changed(labeled: Bent) -> None:
    with_view(labeled, expired="calibration expired: prompt 4be17c is now 90aa12")
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        text = screen_text(app)
        assert "~ ADVISORY  calibration expired: prompt 4be17c is now 90aa12" in text


async def test_a_figure_is_red_on_the_wrong_side_of_its_policy(labeled: Bent) -> None:
    with_view(
        labeled,
        estimates=(
            estimate("forward accuracy", 0.75, 0.249, None, (3, 4)),
            estimate("both orders right", 0.95, 0.9, None, (19, 20)),
            estimate("flip rate", 0.5, None, 0.902, (2, 4)),
        ),
    )
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        colors = {
            text: segments_with(app, text)[0].style.color.triplet.hex  # type: ignore[union-attr]
            for text in ("3/4 0.75", "19/20 0.95", "2/4 0.50")
        }
        assert colors["3/4 0.75"] == colors["2/4 0.50"] == "#ff7a33"
        assert colors["19/20 0.95"] == "#3fb68b"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"labeled_pairs": 0, "rows": (), "hidden": 9}, "no human labels: L starts"),
        ({"labeled_pairs": 0, "rows": ()}, "no judge answers: r shows what they would cost"),
        ({"others": 4}, "4 more are labeled by others: label them to see them"),
        ({"others": 1, "hidden": 3}, "1 more is labeled by others: label it to see it; 3 labeled"),
        ({"begun": 2}, "2 of yours wait for the other order"),
        ({}, "every judged pair is labeled by you"),
    ],
)
async def test_what_is_missing_says_what_would_fill_it(
    changes: dict[str, object], words: str, labeled: Bent
) -> None:
    with_view(labeled, **changes)
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        assert words in screen_text(app)


async def test_unknown_figures_are_said_in_words(labeled: Bent) -> None:
    known = calibrated(labeled).estimates
    unknown = tuple(estimate(each.name, None, why="no pair") for each in known)
    with_view(labeled, estimates=unknown, rows=(), confusion=(), cost_usd=None)
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        assert screen_text(app).count("○ not measured (no pair)") == 4
        await press(pilot, "enter", "n", "v", "y", "f")
        assert "no pair has both" in screen_text(app)


async def test_a_suite_without_a_judge_says_why(labeled: Bent) -> None:
    refused = [DeskError("the suite has no judge.json", "add one")]

    def view(real: Callable[..., JudgeView], *args: Any) -> JudgeView:
        if refused:
            raise refused[0]
        return real(*args)

    labeled.bend("judge.view", view)
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J", "v", "n", "enter", "f", "y", "full_stop")
        assert "○ the suite has no judge.json" in screen_text(app)
        refused.clear()
        await stored(pilot)
        assert "your pairs 2 of 4" in screen_text(app)


# the pairs


async def test_n_walks_flips_and_the_words_follow_the_cursor(labeled: Bent) -> None:
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        said = labeled.judge.pair(SUITE, V7, calibrated(labeled).rows[0].item).forward
        assert "pair 1 · what the judge said" in screen_text(app)
        assert f"“{said[:30]}" in screen_text(app)
        await press(pilot, "n")
        assert "pair 4 · what the judge said" in screen_text(app)
        await press(pilot, "n")
        assert "no more flips" in screen_text(app)
        await press(pilot, "N", "N")
        assert app.screen.query_one("#pairs", Grid).row == 0


def numbers(app: ReviewerApp) -> list[str]:
    """Numbers of the pairs, as they stand."""
    lines = screen_text(app).splitlines()
    start = next(n for n, line in enumerate(lines) if "pair episode" in line) + 1
    return [line[2] for line in lines[start : start + 4] if line.strip()]


async def test_what_parts_comes_first_and_s_sorts_otherwise(labeled: Bent) -> None:
    with_view(labeled, rows=calibrated(labeled).rows[::-1])
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        assert "› 1    appeal-009" in screen_text(app)
        assert numbers(app) == ["1", "4", "2", "3"]
        await press(pilot, "j", "s")
        assert "by number" in screen_text(app)
        assert numbers(app) == ["1", "2", "3", "4"]
        assert "› 4    damaged-221" in screen_text(app)
        await press(pilot, "s")
        assert "by people's answer" in screen_text(app)
        assert numbers(app) == ["2", "3", "1", "4"]
        await press(pilot, "s")
        assert numbers(app) == ["1", "4", "2", "3"]


async def test_pairs_that_come_in_do_not_move_those_that_stand(labeled: Bent) -> None:
    rows = calibrated(labeled).rows
    changes = with_view(labeled, rows=rows[1:])
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        assert numbers(app)[:3] == ["4", "2", "3"]
        changes["rows"] = rows
        await stored(pilot)
        assert numbers(app) == ["4", "2", "3", "1"]
        await press(pilot, "s", "s", "s")
        assert numbers(app) == ["1", "4", "2", "3"]


async def test_x_writes_the_judges_answers_to_a_file(tmp_path: Path, labeled: Bent) -> None:
    target = tmp_path / "judgments.jsonl"
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J", "x")
        assert f"judgments-{SUITE}.jsonl" in screen_text(app)
        app.screen.query_one(Input).value = str(target)
        await press(pilot, "enter")
        assert "exported 8 judgments to" in screen_text(app)
        assert target.read_bytes() == labeled.judge.export(SUITE)
        assert target.read_bytes().count(b"\n") == 8


async def test_f_keeps_only_what_parts_and_the_cursor_its_pair(labeled: Bent) -> None:
    one, two, _, four = calibrated(labeled).rows
    differs = replace(two, item="d", pair=9, outcome="differs")
    error = replace(two, item="e", pair=8, outcome="error")
    with_view(labeled, rows=(two, one, four, differs, error))
    app = shell(labeled)
    async with running(app, (80, 30)) as pilot:
        await settle(pilot)
        await press(pilot, "J", "j", "f")
        text = screen_text(app)
        assert "pairs 4 of 5, only flips and disagreements" in text
        assert "› 4    damaged-221" in text
        assert "✗ differs" in text
        assert "○ not parsed" in text
        await press(pilot, "f")
        assert "✓ agrees" in screen_text(app)


def with_hostile_words(desk: Bent) -> Bent:
    """A desk whose judge says hostile words."""

    def pair(real: Callable[..., JudgeDetail], *args: Any) -> JudgeDetail:
        return replace(real(*args), forward=HOSTILE)

    return desk.bend("judge.pair", pair)


async def test_enter_shows_both_messages_and_the_words_whole(labeled: Bent) -> None:
    app = shell(with_hostile_words(labeled))
    async with running(app, (120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "J", "enter")
        text = screen_text(app)
        assert "Thank you for reaching out!" in text
        assert "I have opened a specialist case" in text
        assert HOSTILE.partition("\x1b")[0] in text
        assert "␛]52;c;" in text
        assert not any(ord(char) < 32 for strip in strips(app) for char in strip.text)
        await press(pilot, "escape", "y")
        assert app.clipboard == calibrated(labeled).rows[0].item


async def test_every_line_fills_its_width(labeled: Bent) -> None:
    for size in ((60, 20), (80, 24), (133, 31)):
        app = shell(with_hostile_words(labeled))
        async with running(app, size) as pilot:
            await settle(pilot)
            for key in ("J", "v", "v", "enter", "escape", "r", "escape", "question_mark"):
                await press(pilot, key)
                assert {strip.cell_length for strip in strips(app)} == {size[0]}


async def test_new_answers_keep_the_cursor_on_its_pair(labeled: Bent) -> None:
    rows = calibrated(labeled).rows
    changes = with_view(labeled, rows=rows)
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J", "n")
        changes["rows"] = (replace(rows[0], item="new", pair=7), *rows)
        await stored(pilot)
        assert "pairs 5" in screen_text(app)
        assert "› 4    damaged-221" in screen_text(app)


# running it


async def test_calls_and_price_stand_there_before_anything_is_sent(labeled: Bent) -> None:
    plans: list[JudgePlan] = []

    def plan(real: Callable[..., JudgePlan], order: JudgeOrder) -> JudgePlan:
        plans.append(replace(real(order), cached=12, cost_usd=0.12))
        return plans[-1]

    app = shell(labeled.bend("judge.plan", plan))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J", "r")
        assert "nothing is sent before the button" in screen_text(app)
        assert labeled.asked("judge.plan") == []
        app.screen.query_one("#url", Input).value = URL
        await settle(pilot)
        text, plan_shown = screen_text(app), plans[-1]
        calls, tokens = plan_shown.calls, plan_shown.input_tokens
        assert calls > 1
        assert f"{calls} calls to make, 12 answered already" in text
        assert f"about {tokens:,} tokens of text, masked; at most $0.1200" in text
        assert f"[ Ask the judge: {calls} calls, $0.1200 ]" in text
        assert labeled.asked("judge.start") == []
        [order] = labeled.asked("judge.plan")[-1]
        assert (order.base_url, order.model, order.api_key_env) == (
            URL,
            "shopflow-judge-small",
            "OPENAI_API_KEY",
        )


async def test_a_price_that_is_not_known_is_said(labeled: Bent) -> None:
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await ordered(pilot)
        text = screen_text(app)
        assert "price not known" in text
        assert "$0" not in text.partition("run the judge")[2]


async def test_enter_goes_through_the_fields_and_only_the_button_asks(labeled: Bent) -> None:
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await ordered(pilot)
        await press(pilot, *["enter"] * 6)
        assert app.screen.query_one("#buttons").has_focus
        assert labeled.asked("judge.start") == []
        await press(pilot, "enter")
        assert labeled.asked("judge.start") == []
        assert not isinstance(app.screen, JudgeOrderScreen)


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("#jobs", "0", "at a time: a whole number from 1 to 64"),
        ("#repeats", "x", "repeats: a whole number from 1 to 64"),
        ("#repeats", "٣", "repeats: a whole number from 1 to 64"),
        ("#url", "", "base URL and model first"),
    ],
)
async def test_an_order_that_is_none_asks_nothing(
    field: str, typed: str, words: str, labeled: Bent
) -> None:
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await ordered(pilot)
        app.screen.query_one(field, Input).value = typed
        await settle(pilot)
        assert words in screen_text(app)
        assert "Ask the judge:" not in screen_text(app)
        app.screen.query_one("#buttons").focus()
        await press(pilot, "j", "enter")
        assert labeled.asked("judge.start") == []


async def test_a_plan_for_an_older_order_does_not_open_the_button(labeled: Bent) -> None:
    gate = threading.Event()

    def plan(real: Callable[..., JudgePlan], order: JudgeOrder) -> JudgePlan:
        if order.model == "slow":
            assert gate.wait(60)
        return real(order)

    app = shell(labeled.bend("judge.plan", plan))
    async with running(app) as pilot:
        await settle(pilot)
        await ordered(pilot)
        app.screen.query_one("#model", Input).value = "slow"
        await pilot.pause()
        assert "Ask the judge:" not in screen_text(app)
        app.screen.query_one("#buttons").focus()
        await pilot.press("j", "enter")
        assert labeled.asked("judge.start") == []
        gate.set()
        await settle(pilot)
        assert "Ask the judge: " in screen_text(app)


async def test_a_plan_with_a_problem_says_it(
    labeled: Bent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await ordered(pilot)
        assert "the environment variable `OPENAI_API_KEY` is not" in screen_text(app)
        assert "Ask the judge:" not in screen_text(app)


async def test_a_judge_at_work_shows_calls_and_cost_and_can_be_stopped(
    own_labeled: Bent, held: HeldJudge
) -> None:
    app = shell(own_labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await at_work(pilot, held)
        calls = now(pilot).calls
        assert f"► 0 of {calls} calls, price not known" in screen_text(app)
        await held.answer(pilot, 5)
        assert f"► 5 of {calls} calls, $0.0050" in screen_text(app)
        await press(pilot, "r")
        assert "a judge is running: . stops it" in screen_text(app)
        await press(pilot, "full_stop")
        assert now(pilot).state == "stopping"
        assert "stopping" in screen_text(app)
        held.let(1000)
        await until(pilot, lambda: now(pilot).state == "stopped")
        assert 5 < now(pilot).done < calls, "the calls under way are answered, no other is made"
        text = screen_text(app)
        assert f"{JUDGE} stopped: {now(pilot).done} of {calls} calls answered" in text
        assert "4 labeled pairs" in text


@pytest.mark.parametrize("state", ["done", "failed"])
async def test_how_a_judge_ended_is_told_wherever_the_reader_is(
    state: str, own_labeled: Bent, held: HeldJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = threading.Event()

    def full(_: object) -> None:
        assert left.wait(60)
        raise StoreError("the store is full")

    if state == "failed":
        monkeypatch.setattr("reviewer.desk.judge.jobs.open_writer", full)
    app = shell(own_labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await at_work(pilot, held)
        await press(pilot, "S")
        left.set()
        held.let(1000)
        await until(pilot, lambda: now(pilot).state == state)
        calls = now(pilot).calls
        words = {
            "done": f"{JUDGE} done: {calls} of {calls}",
            "failed": f"✗ {JUDGE} failed: the store is full",
        }
        assert words[state] in screen_text(app)


async def test_a_judge_that_ends_during_labeling_waits_to_be_told(
    own_labeled: Bent, held: HeldJudge
) -> None:
    app = shell(own_labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await at_work(pilot, held)
        await press(pilot, "L")
        held.let(1000)
        await until(pilot, lambda: now(pilot).state == "done")
        assert JUDGE not in screen_text(app)
        await press(pilot, "Q")
        calls = now(pilot).calls
        assert f"{JUDGE} done: {calls} of {calls} calls" in screen_text(app)


async def test_a_judge_that_cannot_begin_says_so_in_the_dialog(labeled: Bent) -> None:
    error = DeskError("the prompt changed since the suite was frozen", "freeze it again")
    app = shell(labeled.bend("judge.start", refusing(error)))
    async with running(app) as pilot:
        await settle(pilot)
        await ordered(pilot)
        await press(pilot, *["enter"] * 6, "j", "enter")
        assert isinstance(app.screen, JudgeOrderScreen)
        assert "✗ the prompt changed since the suite was frozen" in screen_text(app)
        assert "freeze it again" in screen_text(app)


async def test_what_was_ordered_last_stands_in_the_next_dialog(
    own_labeled: Bent, held: HeldJudge
) -> None:
    app = shell(own_labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await at_work(pilot, held)
        held.let(1000)
        await until(pilot, lambda: now(pilot).state == "done")
        await press(pilot, "r")
        assert held.server is not None
        assert app.screen.query_one("#url", Input).value == held.server.url
        assert app.screen.query_one("#model", Input).value == "small-judge-1"
        assert "[ Ask the judge: 0 calls" in screen_text(app)
        assert f"{now(pilot).calls} answered already" in screen_text(app)


@pytest.mark.parametrize("chosen", ["stay", "stop"])
async def test_quitting_while_a_judge_works_asks_first(
    chosen: str, own_labeled: Bent, held: HeldJudge
) -> None:
    app = shell(own_labeled)
    async with running(app) as pilot:
        await settle(pilot)
        await at_work(pilot, held)
        await press(pilot, "ctrl+q")
        assert "a judge is running" in screen_text(app)
        await press(pilot, *(["j"] if chosen == "stop" else []), "enter")
        assert now(pilot).state == ("stopping" if chosen == "stop" else "running")
        assert app.is_running
        if chosen == "stop":
            held.let(1000)
            await come(pilot, lambda: app._exit)
        else:
            assert V7 in screen_text(app)


@pytest.mark.parametrize(
    ("cost", "known", "unpriced", "words"),
    [
        (0.002, 0.002, 0, "2 of 84 calls, $0.0020"),
        (None, 0.001, 1, "2 of 84 calls, at least $0.0010"),
        (None, None, 2, "2 of 84 calls, price not known"),
    ],
)
def test_what_calls_cost_is_said_as_far_as_it_is_known(
    cost: float | None, known: float | None, unpriced: int, words: str
) -> None:
    from reviewer.tui.views.judge import run_words

    run = JudgeRunView(
        suite_id=SUITE, candidate_id=V7, judge_id=JUDGE, state="running", calls=84, done=2,
        errors=0, cost_usd=cost, seconds=2.0, problem="", known_usd=known, unpriced=unpriced,
    )  # fmt: skip
    assert words in run_words(run)
