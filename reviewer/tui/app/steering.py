"""The app's part in runs: questions to the desk that outlive a screen, approvals, and quitting."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from reviewer.desk.errors import DeskError
from reviewer.tui.app.preferences import Preferences
from reviewer.tui.settings.settings import Settings
from reviewer.tui.shell.background import Answer, Background, Delivery, Job
from reviewer.tui.shell.imports import ImportsChanged, LiveImports
from reviewer.tui.shell.judge import JudgeChanged, LiveJudge
from reviewer.tui.shell.labeling import Labeling
from reviewer.tui.shell.runs import LiveRuns, RunsChanged
from reviewer.tui.views.imports import ended_words

if TYPE_CHECKING:
    from reviewer.desk.protocol import DeskProtocol
    from reviewer.tui.screens.base import DeskScreen
    from reviewer.tui.screens.dialogs.question import QuestionScreen


HELD = 0.3
"""Seconds within which a key that comes again was held, not pressed."""


class Steering(Preferences):
    """An app that starts, follows and ends runs on one desk."""

    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(self, desk: "DeskProtocol", settings: Settings) -> None:
        super().__init__(settings)
        self.desk = desk
        self.background = Background()
        self.live = LiveRuns(self)
        self.judging = LiveJudge(self)
        self.importing = LiveImports(self)
        self.labeling = Labeling()
        self._held: list[Callable[[DeskScreen], None]] = []
        self._asked_to_leave: QuestionScreen | None = None
        self._asked_at = 0.0

    @property
    def here(self) -> "DeskScreen | None":
        """The screen the reader is on, under any dialog."""
        raise NotImplementedError

    def problem(self, error: DeskError, again: Callable[[], None] | None = None) -> None:
        """Show an error in full."""
        raise NotImplementedError

    async def action_back(self) -> None:
        """One level back."""
        raise NotImplementedError

    def hold(self, words: "Callable[[DeskScreen], None]") -> None:
        """Keep words for the next screen that may name things."""
        self._held.append(words)

    def release(self) -> None:
        """Say what was kept, on the screen the reader is on."""
        if self.here is not None and not self.here.BLIND:
            held, self._held = self._held, []
            for words in held:
                words(self.here)

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
        if self.screen_stack:  # none while the program ends
            message.deliver()

    def on_runs_changed(self, message: RunsChanged) -> None:
        self.live.changed()

    def on_judge_changed(self, message: JudgeChanged) -> None:
        self.judging.changed()

    def on_imports_changed(self, message: ImportsChanged) -> None:
        self.importing.changed()

    def imports_changed(self) -> None:
        """Tell the screens, and say what has ended."""
        here, top = self.here, self.screen
        for screen in (here, top if top is not here else None):
            if screen is not None and hasattr(screen, "imports_changed"):
                screen.imports_changed()
        for view in self.importing.ended_now():
            if here is not None:
                here.tell(*ended_words(view))

    def action_approve(self) -> None:
        """Answer the calls that wait, one after another."""
        if self.here is not None and self.here.BLIND:
            self.here.say("nothing is answered from here: Esc goes back and hands the item back")
        elif self.live.approvals:
            from reviewer.tui.screens.runs.approve import ApproveScreen

            self.push_screen(ApproveScreen())
        elif self.here is not None:
            self.here.say("no call waits for an answer")

    async def action_quit(self) -> None:
        """Quit; while a run or a judge goes on, ask what becomes of it. Asked for again, it is
        immediate: what has finished is kept, and what was at work is begun anew another time."""
        from reviewer.tui.screens.dialogs.question import leaving, leaving_judge

        judge = self.judging.at_work
        if not self.live.at_work and judge is None:
            self.exit()
            return
        if self.screen is self._asked_to_leave:
            before, self._asked_at = self._asked_at, self.clock()
            if self._asked_at - before < HELD:
                return  # a key that is held down has not been pressed again
            self.judging.stop()
            self.live.abandon()
            self.exit()
            return
        if self.here is not None and self.here.BLIND:  # the question names candidates
            while self.screen is not self.here:
                await self.pop_screen()
            await self.action_back()
        self._asked_at = self.clock()
        if self.live.at_work:
            self._asked_to_leave = leaving(self.live.at_work)
            self.push_screen(self._asked_to_leave, self._left)
        elif judge is not None:
            self._asked_to_leave = leaving_judge(judge)
            self.push_screen(self._asked_to_leave, self._left_judge)

    def _left(self, chosen: str | None) -> None:
        if chosen in ("finish", "abandon"):
            self.judging.stop()
        if chosen == "finish":
            self.live.finish()
            if self.here is not None:
                self.here.say("quits when the attempts at work have finished")
        elif chosen == "stay":
            self.live.leaving = False
        elif chosen == "abandon":
            self.live.abandon()
            self.exit()

    def _left_judge(self, chosen: str | None) -> None:
        if chosen == "stop":
            self.judging.stop(leaving=True)
            if self.here is not None:
                self.here.say("quits when the calls under way are answered")
