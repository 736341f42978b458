"""The users of conversations, labeled in the workstation, and what the scorecard says then."""

from pathlib import Path

from doors import copied
from labelers import kept
from lamps import SUITE_ID
from test_tui_screens import running
from tui_probe import press, screen_text, settle, until
from user_talks import talked

from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.label.message import LabelMessageScreen
from reviewer.tui.screens.queue.screen import QueueScreen


async def test_a_user_is_labeled_on_the_screen_of_messages_and_stands_beside_the_rules(
    empty_template: Path, tmp_path: Path
) -> None:
    door = talked(copied(empty_template, tmp_path / "desk")).door
    door.ok("review-set", SUITE_ID, "--about", "user", "--sample", "100%", "--name", "users")
    desk = door.desk()
    app = ReviewerApp(desk)
    unread = "user errors by label: not measured"
    async with running(app, (200, 50)) as pilot:
        await settle(pilot)
        await until(pilot, lambda: unread in screen_text(app))
        await press(pilot, "Q")
        await until(pilot, lambda: isinstance(app.screen, QueueScreen))
        await until(pilot, lambda: "set users" in screen_text(app))
        assert "4 of 4 conversations, of their user" in screen_text(app)
        await press(pilot, "L")
        await until(pilot, lambda: isinstance(app.screen, LabelMessageScreen))
        await until(pilot, lambda: "conversation: judge its user" in screen_text(app))
        text = screen_text(app)
        assert "what the user asks, wants and knows" in text
        assert "Tells nothing too early" in text
        assert "user_error" not in text, "what the rules found is not told"
        for _ in range(2):
            before = len(kept(door))
            await press(pilot, "1", "2", "1", "1", "1", "enter")
            await until(pilot, lambda now=before: len(kept(door)) > now)  # type: ignore[misc]
        await press(pilot, "S")
        await until(pilot, lambda: "user errors by label in 4 of 4" in screen_text(app))
    assert {label["rubric_id"] for label in kept(door)} == {"user"}
    told = " ".join(desk.scorecards.card(SUITE_ID, "lamp-agent").users)
    assert "labels of 4 attempts of the 4 drawn by lot found 4: 1.000" in told
    assert "missed by rules 2" in told
    desk.close()
