"""Quitting: a question while work is under way, and after q on the first screen."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewer.tui.app.app import ReviewerApp
    from reviewer.tui.screens.dialogs.ask import QuestionScreen

HELD = 0.3
"""Seconds within which a repeated key counts as held down, not pressed again."""


class Leaving:
    """Asks before the program ends while work is under way, and acts on the answer."""

    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(self, app: "ReviewerApp") -> None:
        self._app = app
        self._asked: QuestionScreen | None = None
        self._asked_at = 0.0

    async def quit(self, *, asking: bool = False) -> None:
        """Quit. While a run or a judge is at work, ask what to do with it; with `asking`, ask in
        any case. A second call quits at once: finished attempts are kept, and unfinished ones are
        made again by a later run."""
        from reviewer.tui.screens.dialogs.ask import leaving, leaving_idle, leaving_judge

        app, judge = self._app, self._app.judging.at_work
        if not asking and not app.live.at_work and judge is None:
            app.exit()
            return
        if app.screen is self._asked:
            before, self._asked_at = self._asked_at, self.clock()
            if self._asked_at - before < HELD:
                return  # a key that is held down was not pressed again
            app.judging.stop()
            app.live.abandon()
            app.exit()
            return
        if app.here is not None and app.here.BLIND:  # the question names candidates
            while app.screen is not app.here:
                await app.pop_screen()
            await app.action_back()
        self._asked_at = self.clock()
        if app.live.at_work:
            self._asked = leaving(app.live.at_work)
            app.push_screen(self._asked, self._left)
        elif judge is not None:
            self._asked = leaving_judge(judge)
            app.push_screen(self._asked, self._left_judge)
        else:
            self._asked = leaving_idle()
            app.push_screen(self._asked, self._left_idle)

    def _left_idle(self, chosen: str | None) -> None:
        if chosen == "quit":
            self._app.exit()

    def _left(self, chosen: str | None) -> None:
        app = self._app
        if chosen in ("finish", "abandon"):
            app.judging.stop()
        if chosen == "finish":
            app.live.finish()
            if app.here is not None:
                app.here.say("quits when the running attempts have finished")
        elif chosen == "stay":
            app.live.leaving = False
        elif chosen == "abandon":
            app.live.abandon()
            app.exit()

    def _left_judge(self, chosen: str | None) -> None:
        if chosen == "stop":
            self._app.judging.stop(leaving=True)
            if self._app.here is not None:
                self._app.here.say("quits when the calls under way are answered")
