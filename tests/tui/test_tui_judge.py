"""The judge: its role and bounds, where it parts from people, its price before its first call."""

import threading
from pathlib import Path

import msgspec
import pytest
from fake_review import CALIBRATED, JUDGE, ROWS, FakeJudgeRun, ReviewDesk, estimate
from fake_shop import HOSTILE, SUITE, V7
from test_tui_screens import running, shell
from textual.pilot import Pilot
from textual.widgets import Input
from tui_probe import SIZES, press, same_as_golden, screen_text, segments_with, settle, strips

from reviewer.desk.errors import DeskError
from reviewer.desk.judge.api import JudgeOrder, JudgePlan
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.judge.dialogs import JudgeOrderScreen
from reviewer.tui.widgets.grid import Grid

URL = "http://127.0.0.1:9/v1"


def with_view(**changes: object) -> ReviewDesk:
    return ReviewDesk.ready(judge_view=msgspec.structs.replace(CALIBRATED, **changes))


async def ordered(pilot: Pilot[None], url: str = URL, model: str = "small-judge-1") -> None:
    """The dialog is open and filled; its price is known."""
    await press(pilot, "J", "r")
    pilot.app.screen.query_one("#url", Input).value = url
    pilot.app.screen.query_one("#model", Input).value = model
    await settle(pilot)


async def at_work(pilot: Pilot[None], desk: ReviewDesk) -> FakeJudgeRun:
    await ordered(pilot)
    await press(pilot, *["enter"] * 6, "j", "enter")
    return desk.judge_runs[-1]


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
    name: str, keys: tuple[str, ...], size: tuple[int, int]
) -> None:
    app = shell(ReviewDesk.ready())
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        same_as_golden(app, f"{name}-{size[0]}x{size[1]}")


async def test_the_banner_says_the_role_and_why() -> None:
    app = shell(ReviewDesk.ready())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        text = screen_text(app)
        assert "~ ADVISORY" in text
        assert "forward accuracy 0.75 < 0.90" in text
        assert "to earn ● SCORING" in text


async def test_a_judge_that_scores_says_so() -> None:
    app = shell(with_view(role="scoring", banner="every bound holds", needs=""))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        assert "● SCORING  every bound holds" in screen_text(app)
        assert "ADVISORY" not in screen_text(app)


async def test_an_expired_calibration_says_what_changed() -> None:
    app = shell(with_view(expired="calibration expired: prompt 4be17c is now 90aa12"))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        text = screen_text(app)
        assert "~ ADVISORY  calibration expired: prompt 4be17c is now 90aa12" in text


async def test_a_figure_is_red_on_the_wrong_side_of_its_policy() -> None:
    app = shell(
        with_view(
            estimates=(
                estimate("forward accuracy", 0.75, 0.249, None, (3, 4)),
                estimate("both orders right", 0.95, 0.9, None, (19, 20)),
                estimate("flip rate", 0.5, None, 0.902, (2, 4)),
            )
        )
    )
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
    changes: dict[str, object], words: str
) -> None:
    app = shell(with_view(**changes))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        assert words in screen_text(app)


async def test_unknown_figures_are_said_in_words() -> None:
    unknown = tuple(estimate(each.name, None, why="no pair") for each in CALIBRATED.estimates)
    app = shell(with_view(estimates=unknown, rows=(), confusion=(), cost_usd=None))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        assert screen_text(app).count("○ not measured (no pair)") == 4
        await press(pilot, "enter", "n", "v", "y", "f")
        assert "no pair has both" in screen_text(app)


async def test_a_suite_without_a_judge_says_why() -> None:
    desk = ReviewDesk.ready(refuse_judge=DeskError("the suite has no judge.json", "add one"))
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J", "v", "n", "enter", "f", "y", "full_stop")
        assert "○ the suite has no judge.json" in screen_text(app)
        desk.refuse_judge = None
        app.post_message(ReviewerApp.StoreChanged(7))
        await settle(pilot)
        assert "your pairs 2 of 4" in screen_text(app)


# the pairs


async def test_n_walks_flips_and_the_words_follow_the_cursor() -> None:
    app = shell(ReviewDesk.ready())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        assert "pair 2 · what the judge said" in screen_text(app)
        assert "“Left sends the customer to a form." in screen_text(app)
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


async def test_what_parts_comes_first_and_s_sorts_otherwise() -> None:
    app = shell(with_view(rows=ROWS[::-1]))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        assert "› 2    appeal-009" in screen_text(app)
        assert numbers(app) == ["2", "4", "1", "3"]
        await press(pilot, "j", "s")
        assert "by number" in screen_text(app)
        assert numbers(app) == ["1", "2", "3", "4"]
        assert "› 4    damaged-221" in screen_text(app)
        await press(pilot, "s")
        assert "by people's answer" in screen_text(app)
        assert numbers(app) == ["1", "3", "2", "4"]
        await press(pilot, "s")
        assert numbers(app) == ["2", "4", "1", "3"]


async def test_pairs_that_come_in_do_not_move_those_that_stand() -> None:
    desk = with_view(rows=ROWS[1:])
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J")
        assert numbers(app)[:3] == ["4", "1", "3"]
        desk.judge_view = CALIBRATED
        app.post_message(ReviewerApp.StoreChanged(7))
        await settle(pilot)
        assert numbers(app) == ["4", "1", "3", "2"]
        await press(pilot, "s", "s", "s")
        assert numbers(app) == ["2", "4", "1", "3"]


async def test_x_writes_the_judges_answers_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "judgments.jsonl"
    app = shell(ReviewDesk.ready())
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J", "x")
        assert f"judgments-{SUITE}.jsonl" in screen_text(app)
        app.screen.query_one(Input).value = str(target)
        await press(pilot, "enter")
        assert "exported 2 judgments to" in screen_text(app)
        assert target.read_bytes().count(b"\n") == 2


async def test_f_keeps_only_what_parts_and_the_cursor_its_pair() -> None:
    differs = msgspec.structs.replace(ROWS[2], item="d", pair=9, outcome="differs")
    error = msgspec.structs.replace(ROWS[3], item="e", pair=8, outcome="error")
    app = shell(with_view(rows=(ROWS[2], *ROWS[:2], differs, error)))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J", "j", "f")
        text = screen_text(app)
        assert "pairs 4 of 5, only flips and disagreements" in text
        assert "› 4    damaged-221" in text
        assert "✗ differs" in text
        assert "○ not parsed" in text
        await press(pilot, "f")
        assert "✓ agrees" in screen_text(app)


async def test_enter_shows_both_messages_and_the_words_whole() -> None:
    app = shell(ReviewDesk.ready(hostile=True))
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
        assert app.clipboard == "item-2"


async def test_every_line_fills_its_width() -> None:
    for size in ((60, 20), (80, 24), (133, 31)):
        app = shell(ReviewDesk.ready(hostile=True))
        async with running(app, size) as pilot:
            await settle(pilot)
            for key in ("J", "v", "v", "enter", "escape", "r", "escape", "question_mark"):
                await press(pilot, key)
                assert {strip.cell_length for strip in strips(app)} == {size[0]}


async def test_new_answers_keep_the_cursor_on_its_pair() -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J", "n")
        fresh = msgspec.structs.replace(ROWS[0], item="new", pair=7)
        desk.judge_view = msgspec.structs.replace(CALIBRATED, rows=(fresh, *ROWS))
        app.post_message(ReviewerApp.StoreChanged(7))
        await settle(pilot)
        assert "pairs 5" in screen_text(app)
        assert "› 4    damaged-221" in screen_text(app)


# running it


async def test_calls_and_price_stand_there_before_anything_is_sent() -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "J", "r")
        assert "nothing is sent before the button" in screen_text(app)
        assert desk.plans == []
        app.screen.query_one("#url", Input).value = URL
        await settle(pilot)
        text = screen_text(app)
        assert "84 calls to make, 12 answered already" in text
        assert "about 41,000 tokens of text, masked; at most $0.1200" in text
        assert "[ Ask the judge: 84 calls, $0.1200 ]" in text
        assert desk.judge_runs == []
        order = desk.plans[-1]
        assert (order.base_url, order.model, order.api_key_env) == (
            URL,
            "small-judge-1",
            "OPENAI_API_KEY",
        )


async def test_a_price_that_is_not_known_is_said() -> None:
    app = shell(ReviewDesk.ready())
    async with running(app) as pilot:
        await settle(pilot)
        await ordered(pilot, model="unpriced")
        text = screen_text(app)
        assert "price not known" in text
        assert "$0" not in text.partition("run the judge")[2]


async def test_enter_goes_through_the_fields_and_only_the_button_asks() -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await ordered(pilot)
        await press(pilot, *["enter"] * 6)
        assert app.screen.query_one("#buttons").has_focus
        assert desk.judge_runs == []
        await press(pilot, "enter")
        assert desk.judge_runs == []
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
async def test_an_order_that_is_none_asks_nothing(field: str, typed: str, words: str) -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await ordered(pilot)
        app.screen.query_one(field, Input).value = typed
        await settle(pilot)
        assert words in screen_text(app)
        assert "Ask the judge:" not in screen_text(app)
        app.screen.query_one("#buttons").focus()
        await press(pilot, "j", "enter")
        assert desk.judge_runs == []


async def test_a_plan_for_an_older_order_does_not_open_the_button() -> None:
    class Slow(ReviewDesk):
        gate: threading.Event

        def judge_plan(self, order: JudgeOrder) -> JudgePlan:
            if order.model == "slow":
                self.gate.wait(5)
            return super().judge_plan(order)

    desk = Slow.ready()
    desk.gate = threading.Event()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await ordered(pilot)
        app.screen.query_one("#model", Input).value = "slow"
        await pilot.pause()
        assert "Ask the judge:" not in screen_text(app)
        app.screen.query_one("#buttons").focus()
        await pilot.press("j", "enter")
        assert desk.judge_runs == []
        desk.gate.set()
        await settle(pilot)
        assert "Ask the judge: 84 calls" in screen_text(app)


async def test_a_plan_with_a_problem_says_it() -> None:
    class Keyless(ReviewDesk):
        def judge_plan(self, order: JudgeOrder) -> JudgePlan:
            plan = super().judge_plan(order)
            return msgspec.structs.replace(plan, problem=f"{order.api_key_env} is not set")

    app = shell(Keyless.ready())
    async with running(app) as pilot:
        await settle(pilot)
        await ordered(pilot)
        assert "✗ OPENAI_API_KEY is not set" in screen_text(app)
        assert "Ask the judge:" not in screen_text(app)


async def test_a_judge_at_work_shows_calls_and_cost_and_can_be_stopped() -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        run = await at_work(pilot, desk)
        assert "► 0 of 84 calls, $0.0000" in screen_text(app)
        run.answer(41)
        await settle(pilot)
        assert "► 41 of 84 calls, $0.0410" in screen_text(app)
        await press(pilot, "r")
        assert "a judge is at work: . stops it" in screen_text(app)
        await press(pilot, "full_stop")
        assert run.log == ["stop"]
        assert "stopping" in screen_text(app)
        run.end("stopped")
        await settle(pilot)
        text = screen_text(app)
        assert f"{JUDGE} stopped: 41 of 84 calls answered" in text
        assert "4 labeled pairs" in text


@pytest.mark.parametrize(
    ("state", "words"),
    [("done", f"{JUDGE} done: 84 of 84"), ("failed", f"✗ {JUDGE} failed: the endpoint")],
)
async def test_how_a_judge_ended_is_told_wherever_the_reader_is(state: str, words: str) -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        run = await at_work(pilot, desk)
        await press(pilot, "S")
        run.answer(84) if state == "done" else run.end(state)
        await settle(pilot)
        assert words in screen_text(app)


async def test_a_judge_that_ends_during_labeling_waits_to_be_told() -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        run = await at_work(pilot, desk)
        await press(pilot, "L")
        run.answer(84)
        await settle(pilot)
        assert JUDGE not in screen_text(app)
        await press(pilot, "Q")
        assert f"{JUDGE} done: 84 of 84 calls" in screen_text(app)


async def test_a_judge_that_cannot_begin_says_so_in_the_dialog() -> None:
    class Refusing(ReviewDesk):
        def start_judge(self, *args: object, **options: object) -> FakeJudgeRun:  # type: ignore[override]
            raise DeskError("the prompt changed since the suite was frozen", "freeze it again")

    app = shell(Refusing.ready())
    async with running(app) as pilot:
        await settle(pilot)
        await ordered(pilot)
        await press(pilot, *["enter"] * 6, "j", "enter")
        assert isinstance(app.screen, JudgeOrderScreen)
        assert "✗ the prompt changed since the suite was frozen" in screen_text(app)
        assert "freeze it again" in screen_text(app)


async def test_what_was_ordered_last_stands_in_the_next_dialog() -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        run = await at_work(pilot, desk)
        run.answer(84)
        await settle(pilot)
        await press(pilot, "r")
        assert app.screen.query_one("#url", Input).value == URL
        assert "[ Ask the judge: 84 calls" in screen_text(app)


@pytest.mark.parametrize("chosen", ["stay", "stop"])
async def test_quitting_while_a_judge_works_asks_first(chosen: str) -> None:
    desk = ReviewDesk.ready()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        run = await at_work(pilot, desk)
        await press(pilot, "ctrl+q")
        assert "a judge is at work" in screen_text(app)
        await press(pilot, *(["j"] if chosen == "stop" else []), "enter")
        assert run.log == (["stop"] if chosen == "stop" else [])
        assert app.is_running
        if chosen == "stop":
            run.end("stopped")
            await pilot.pause()
            assert app._exit
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

    run = FakeJudgeRun(JudgeOrder(suite_id=SUITE, candidate_id=V7), None).view()
    run = msgspec.structs.replace(run, done=2, cost_usd=cost, known_usd=known, unpriced=unpriced)
    assert words in run_words(run)
