"""A review set in the workstation: chosen in the queue, labeled blind, and made an episode of."""

from pathlib import Path
from unittest import mock

import pytest
from doors import SUITE, V7, V8, Door
from labelers import kept
from review_desks import production
from test_tui_screens import running
from tui_probe import press, same_as_golden, screen_text, settle, until

from reviewer.desk.errors import DeskError
from reviewer.desk.labels.api import LabelsRoom
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.dialogs.episode import EpisodeScreen
from reviewer.tui.screens.label.message import LabelMessageScreen
from reviewer.tui.screens.label.pair import LabelPairScreen
from reviewer.tui.screens.queue.screen import QueueScreen

TASK_41 = Path(__file__).resolve().parents[1] / "data/tau_bench/gpt-4o-airline-task-41.json"
FLAGS = "high-cost,new-tools,refusals,repeated-calls"


@pytest.fixture
def parcels(door: Door) -> Door:
    door.ok(
        "review-set", door.file("prod.jsonl", production()), "--sample", "20%", "--seed", "11",
        "--strata", "tool,outcome,cost", "--flags", FLAGS, "--name", "parcels-november",
    )  # fmt: skip
    return door


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_a_set_in_the_queue_to_the_character(parcels: Door, size: tuple[int, int]) -> None:
    desk = parcels.desk()
    app = ReviewerApp(desk, watch=False)
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "Q")
        await until(pilot, lambda: isinstance(app.screen, QueueScreen))
        await until(pilot, lambda: "set parcels-november" in screen_text(app))
        await settle(pilot)
        same_as_golden(app, f"review-set-{size[0]}x{size[1]}")
    desk.close()


async def test_its_items_are_labeled_and_its_rates_follow(parcels: Door) -> None:
    desk = parcels.desk()
    app = ReviewerApp(desk)
    async with running(app, (120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "Q")
        await until(pilot, lambda: isinstance(app.screen, QueueScreen))
        await until(pilot, lambda: "not measured: every question" in screen_text(app))
        await press(pilot, "L")
        await until(pilot, lambda: isinstance(app.screen, LabelMessageScreen))
        await until(pilot, lambda: "Where is parcel" in screen_text(app))
        assert "set parcels-november" in screen_text(app)
        assert "parcel-agent" not in screen_text(app), "nothing says whose message it is"
        while len(kept(parcels)) < desk.review_sets.view("parcels-november").items:
            before = len(kept(parcels))
            await press(pilot, "1", "1", "enter")
            await until(pilot, lambda: len(kept(parcels)) > before)  # noqa: B023
        await press(pilot, "Q")
        await until(pilot, lambda: "every question 1.000" in screen_text(app))
        await press(pilot, "n")
        assert "each flag is a line of its own" in screen_text(app)
    desk.close()


@pytest.mark.parametrize("keys", [("L",), ("Q", "c", "enter"), ("L", "c"), ("Q", "L")])
async def test_a_suite_without_a_rubric_is_labeled_through_its_set(
    parcels: Door, keys: tuple[str, ...]
) -> None:
    desk = parcels.desk()
    app = ReviewerApp(desk)
    async with running(app, (120, 40)) as pilot:
        await settle(pilot)
        for key in keys:
            await press(pilot, key)
            await settle(pilot)
            assert "has no rubric" not in screen_text(app)
        await until(pilot, lambda: isinstance(app.screen, LabelMessageScreen))
        await until(pilot, lambda: "Where is parcel" in screen_text(app))
        assert "set parcels-november" in screen_text(app)
    desk.close()


async def test_enter_labels_the_queue_on_screen_after_one_that_is_refused(full: Door) -> None:
    full.ok("review-set", SUITE, "--sample", "50%", "--name", "one")
    desk = full.desk()
    app = ReviewerApp(desk)
    async with running(app, (120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "c", "c")
        await until(pilot, lambda: "set one" in screen_text(app))
        with mock.patch.object(LabelsRoom, "queue", side_effect=DeskError("the disk is full")):
            await press(pilot, "c")
            await until(pilot, lambda: "the disk is full" in screen_text(app))
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(app.screen, LabelMessageScreen))
        await until(pilot, lambda: "set one" in screen_text(app))
    desk.close()


async def test_c_turns_from_pairs_to_messages_to_each_set_and_back(full: Door) -> None:
    for name, sample in (("one", "50%"), ("two", "60%")):
        full.ok("review-set", SUITE, "--sample", sample, "--name", name)
    desk = full.desk()
    app = ReviewerApp(desk)
    async with running(app, (120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "Q")
        await until(pilot, lambda: "showings done" in screen_text(app))
        for words in ("final messages", "set one", "set two", "showings done"):
            await press(pilot, "c")
            await until(pilot, lambda: words in screen_text(app))  # noqa: B023
        await press(pilot, "c", "c")
        await until(pilot, lambda: "set one" in screen_text(app))
        await press(pilot, "L")
        await until(pilot, lambda: isinstance(app.screen, LabelMessageScreen))
        await press(pilot, "c")
        await until(pilot, lambda: isinstance(app.screen, LabelPairScreen))
        await until(pilot, lambda: f"suite {SUITE}" in screen_text(app))
    desk.close()


async def test_one_key_makes_an_episode_of_an_item_and_says_not_whose(door: Door) -> None:
    door.ok("review-set", TASK_41, "--sample", "100%", "--name", "airline")
    desk = door.desk()
    app = ReviewerApp(desk)
    async with running(app, (120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "Q")
        await until(pilot, lambda: isinstance(app.screen, QueueScreen))
        await until(pilot, lambda: "set airline" in screen_text(app))
        await press(pilot, "L")
        await until(pilot, lambda: isinstance(app.screen, LabelMessageScreen))
        await until(pilot, lambda: "final message" in screen_text(app))
        await press(pilot, "plus")
        await until(pilot, lambda: isinstance(app.screen, EpisodeScreen))
        assert "an episode of this item" in screen_text(app)
        await press(pilot, "enter")
        await until(pilot, lambda: "written" in screen_text(app) or "✗" in screen_text(app))
        assert "gpt-4o-airline-task-41" not in screen_text(app)
        await press(pilot, "escape")
        await until(pilot, lambda: isinstance(app.screen, LabelMessageScreen))
    desk.close()


async def test_of_a_pair_the_side_is_chosen(full: Door) -> None:
    full.ok(
        "review-set", SUITE, "--pairs", "--candidate", V8, "--baseline", V7, "--sample", "100%",
        "--name", "both",
    )  # fmt: skip
    desk = full.desk()
    app = ReviewerApp(desk)
    async with running(app, (120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "Q")
        await until(pilot, lambda: isinstance(app.screen, QueueScreen))
        await press(pilot, "c", "c")
        await until(pilot, lambda: "set both" in screen_text(app))
        await press(pilot, "L")
        await until(pilot, lambda: isinstance(app.screen, LabelPairScreen))
        await until(pilot, lambda: "user request" in screen_text(app))
        await press(pilot, "plus", "j", "enter")
        await until(pilot, lambda: isinstance(app.screen, EpisodeScreen))
        assert V7 not in screen_text(app)
        assert V8 not in screen_text(app)
    desk.close()
