"""A person plays the user of an episode in the workstation."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from doors import SUITE, V7
from msgspec import convert
from run_desks import DAMAGED, Attempts, app_of, at_work, newest, still
from template import HOSTILE, Bent
from test_tui_screens import running, shell
from textual.pilot import Pilot
from tui_probe import SIZES, press, same_as_golden, screen_text, settle, until

from reviewer.desk.desk import Desk
from reviewer.desk.runs.api import RunOrder
from reviewer.running.model import PersonTurn
from reviewer.suite.user import User
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.runs.talk import TalkScreen
from reviewer.tui.shell.jobs import Looks

MIA = convert(
    {
        "kind": "person",
        "goals": [{"id": "cancel", "asks": "Cancel the booking of May."}],
        "facts": {"user_id": {"value": "mia_12"}, "card": {"value": "4929", "tell": "never"}},
        "persona": "Mia, in a hurry.",
    },
    User,
)
ASKED = ((False, "Hello."), (True, "What is your user id?"))


@pytest.fixture
def desk(empty: Desk) -> Bent:
    return still(empty)


@pytest.fixture(autouse=True)
def _look_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Looks, "EVERY", 0.0)


@asynccontextmanager
async def played(
    desk: Bent, attempts: Attempts, *talk: tuple[bool, str], size: tuple[int, int] = (100, 30)
) -> AsyncIterator[tuple[ReviewerApp, Pilot[None]]]:
    """The workstation with one attempt at work, in which the user's turn waits."""
    app = shell(desk)
    async with running(app, size) as pilot:
        await settle(pilot)
        order = RunOrder(suite_id=SUITE, candidate_id=V7, jobs=1, person=True)
        app_of(pilot).live.begin([order])
        await at_work(pilot, DAMAGED)
        attempts.turn(MIA, *talk)
        await until(pilot, lambda: len(newest(pilot).turns) == 1)
        yield app, pilot


async def typed(pilot: Pilot[None], text: str) -> None:
    await press(pilot, *("space" if letter == " " else letter for letter in text))


async def test_a_turn_that_waits_is_announced_shown_and_sent(
    desk: Bent, attempts: Attempts
) -> None:
    async with played(desk, attempts, *ASKED) as (app, pilot):
        assert "you play the user" in screen_text(app)
        assert "damaged-221/1" in screen_text(app)
        await press(pilot, "a")
        text = screen_text(app)
        for shown in (
            "What is your user id?", "Mia, in a hurry.", "Cancel the booking of May.", "mia_12",
            "only when asked", "never say it", "Hello.", "5 messages left",
        ):  # fmt: skip
            assert shown in text
        await press(pilot, "enter")
        assert "there is nothing to send" in screen_text(app)
        assert attempts.said == []
        await typed(pilot, "mia_12")
        await press(pilot, "enter")
        await until(pilot, lambda: attempts.said == [PersonTurn("mia_12")])
        assert isinstance(app.screen, TalkScreen)
        await until(pilot, lambda: "the agent is working" in screen_text(app))
        await press(pilot, "enter")
        assert attempts.said == [PersonTurn("mia_12")]
        attempts.turn(MIA, (True, "Which booking?"))
        await until(pilot, lambda: "Which booking?" in screen_text(app))
        await press(pilot, "tab", "right", "right", "enter")
        await until(pilot, lambda: attempts.said[1:] == [PersonTurn(None, "user_gave_up")])
        attempts.end(DAMAGED)
        await until(pilot, lambda: not isinstance(app.screen, TalkScreen))


async def test_a_talk_does_not_end_on_a_question_unless_asked_twice(
    desk: Bent, attempts: Attempts
) -> None:
    async with played(desk, attempts, (True, "Shall I proceed?")) as (app, pilot):
        await press(pilot, "a")
        assert "the agent asks you to confirm" in screen_text(app)
        await typed(pilot, "yes")
        await press(pilot, "tab", "right", "enter")
        assert "could not act on it" in screen_text(app)
        assert attempts.said == []
        await press(pilot, "enter")
        await until(pilot, lambda: attempts.said == [PersonTurn("yes", "user_stop")])


async def test_leaving_a_talk_is_asked_twice_and_spoils_the_attempt(
    desk: Bent, attempts: Attempts
) -> None:
    async with played(desk, attempts) as (app, pilot):
        await press(pilot, "a")
        assert "You begin" in screen_text(app)
        await press(pilot, "escape")
        assert "will count for nothing" in screen_text(app)
        assert attempts.said == []
        await press(pilot, "escape")
        await until(pilot, lambda: attempts.said == [None])
        await press(pilot, "escape")
        assert not isinstance(app.screen, TalkScreen)


async def test_what_an_agent_says_is_shown_and_not_obeyed(desk: Bent, attempts: Attempts) -> None:
    long = "\n".join(f"line {n}" for n in range(200))
    async with played(desk, attempts, (True, f"{HOSTILE}\n{long}")) as (app, pilot):
        await press(pilot, "a")
        text = screen_text(app)
        assert "[/foo] ␛]52;c;ZXZpbA==␇" in text
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)
        assert "Mia, in a hurry." not in text
        for _ in range(20):
            await press(pilot, "pagedown")
        assert "Mia, in a hurry." in screen_text(app)
        for _ in range(20):
            await press(pilot, "pageup")
        assert "[/foo]" in screen_text(app)


@pytest.mark.parametrize("size", SIZES)
async def test_the_dialog_is_drawn(desk: Bent, attempts: Attempts, size: tuple[int, int]) -> None:
    async with played(desk, attempts, *ASKED, size=size) as (app, pilot):
        await press(pilot, "a")
        same_as_golden(app, f"run-talk-{size[0]}x{size[1]}")
