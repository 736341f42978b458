"""The app's part in runs: questions to the desk that outlive a screen, approvals, and quitting."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import App

from reviewer.desk.errors import DeskError
from reviewer.tui.background import Answer, Background, Delivery, Job
from reviewer.tui.live import LiveRuns, RunsChanged

if TYPE_CHECKING:
    from reviewer.desk.protocol import DeskProtocol
    from reviewer.tui.screens.base import DeskScreen


class Steering(App[None]):
    """An app that starts, follows and ends runs on one desk."""

    def __init__(self, desk: "DeskProtocol") -> None:
        super().__init__()
        self.desk = desk
        self.background = Background()
        self.live = LiveRuns(self)

    @property
    def here(self) -> "DeskScreen | None":
        """The screen the reader is on, under any dialog."""
        raise NotImplementedError

    def problem(self, error: DeskError, again: Callable[[], None] | None = None) -> None:
        """Show an error in full."""
        raise NotImplementedError

    def ask(
        self,
        group: str,
        work: Callable[[], Delivery],
        failed: Callable[[DeskError], None] | None = None,
    ) -> None:
        """Ask the desk off the painting thread; the newest question of a group is answered."""

        def post(deliver: Delivery) -> None:
            self.post_message(Answer(deliver))

        self.background.ask(group, Job(work, failed or self.problem, post))

    def on_answer(self, message: Answer) -> None:
        message.deliver()

    def on_runs_changed(self, message: RunsChanged) -> None:
        self.live.changed()

    def action_approve(self) -> None:
        """Answer the calls that wait, one after another."""
        if self.live.approvals:
            from reviewer.tui.screens.approve import ApproveScreen

            self.push_screen(ApproveScreen())
        elif self.here is not None:
            self.here.say("no call waits for an answer")

    async def action_quit(self) -> None:
        """Quit; while a run goes on, ask what becomes of it."""
        from reviewer.tui.screens.question import QuestionScreen, leaving

        if not self.live.at_work:
            self.exit()
        elif not isinstance(self.screen, QuestionScreen):
            self.push_screen(leaving(self.live.at_work), self._left)

    def _left(self, chosen: str | None) -> None:
        if chosen == "finish":
            self.live.finish()
            if self.here is not None:
                self.here.say("quits when the attempts at work have finished")
        elif chosen == "stay":
            self.live.leaving = False
        elif chosen == "abandon":
            self.live.abandon()
            self.exit()
