"""Acts of the application itself: every act by name in the command palette, and quitting."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.binding import ActiveBinding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.dom import DOMNode

from reviewer.tui.settings.keys import written

if TYPE_CHECKING:
    from reviewer.tui.app.app import ReviewerApp
    from reviewer.tui.screens.dialogs.ask import QuestionScreen


def _inert(text: str) -> str:
    """A text as the palette shows it and not as it would read it: views are named by people."""
    return text.replace("[", r"\[")


class Acts(Provider):
    """The active bindings as commands, in the words of the help; then what the screen adds."""

    def _acts(self) -> Iterator[tuple[str, str, Any]]:
        for pressed, active in self._bound():
            words = f"{active.binding.description} ({' '.join(pressed)})"
            run = partial(self.app.run_action, active.binding.action, active.node)
            yield words, active.binding.tooltip, run
        yield from getattr(self.screen, "palette_acts", tuple)()
        yield from getattr(self.app, "common_acts", tuple)()

    def _bound(self) -> list[tuple[list[str], ActiveBinding]]:
        """Each act once, with all its keys. Two nodes may call different acts by one name."""
        found: dict[tuple[DOMNode, str, str], tuple[list[str], ActiveBinding]] = {}
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if binding.description and active.enabled and binding.id:
                name = active.node, binding.action, binding.description
                found.setdefault(name, ([], active))[0].append(written(binding.key))
        return list(found.values())

    async def discover(self) -> Hits:
        for words, help_, run in self._acts():
            yield DiscoveryHit(_inert(words), run, text=words, help=_inert(help_))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for words, help_, run in self._acts():
            if (score := matcher.match(words)) > 0:
                shown = matcher.highlight(_inert(words))
                yield Hit(score, shown, run, text=words, help=_inert(help_))


HELD = 0.3
"""Seconds within which a key that comes again was held, not pressed."""


class Leaving:
    """Asks before the program ends while something is at work, and does what was answered."""

    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(self, app: "ReviewerApp") -> None:
        self._app = app
        self._asked: QuestionScreen | None = None
        self._asked_at = 0.0

    async def quit(self) -> None:
        """Quit; while a run or a judge goes on, ask what becomes of it. Asked for again, it is
        immediate: what has finished is kept, and what was at work is begun again another time."""
        from reviewer.tui.screens.dialogs.ask import leaving, leaving_judge

        app, judge = self._app, self._app.judging.at_work
        if not app.live.at_work and judge is None:
            app.exit()
            return
        if app.screen is self._asked:
            before, self._asked_at = self._asked_at, self.clock()
            if self._asked_at - before < HELD:
                return  # a key that is held down has not been pressed again
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

    def _left(self, chosen: str | None) -> None:
        app = self._app
        if chosen in ("finish", "abandon"):
            app.judging.stop()
        if chosen == "finish":
            app.live.finish()
            if app.here is not None:
                app.here.say("quits when the attempts at work have finished")
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
