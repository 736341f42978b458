"""Acts on runs that the scorecard and the list of runs share: start, pause, resume, stop."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.binding import BindingType

from reviewer.desk.errors import DeskError
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.settings.keys import bind, key_of
from reviewer.tui.views.jobs import AT_WORK

if TYPE_CHECKING:
    from reviewer.desk.imports.api import ImportView
    from reviewer.desk.runs.api import RunView

RUN_KEYS: list[BindingType] = [
    bind("r", "run", "run a candidate", "Choose a candidate and run it."),
    bind("i", "import_traces", "import traces", "Look at a file or folder, then import it."),
    bind("p", "pause", "pause the run, resume"),
    bind("full_stop", "stop_run", "stop the run, abandon it"),
]
RUN_HINTS: tuple[Hint, ...] = (
    ("p", "pause", "screen.pause"),
    (".", "stop", "screen.stop_run"),
    ("a", "answer", "app.approve"),
)


class RunActs:
    """Controls runs for a screen; `chosen` returns the run that the keys act on."""

    def __init__(self, screen: DeskScreen, chosen: "Callable[[], RunView | None]") -> None:
        self._screen, self._chosen = screen, chosen

    def run(self, suite_id: str, candidate_id: str, again: "RunView | None" = None) -> None:
        """Open the run dialog on a candidate; `again` repeats the order of that run."""
        from reviewer.tui.screens.dialogs.run_order import OrderScreen

        if self._screen.read_only:
            why = "the suite does not match its lock: nothing is run on it"
            self._screen.say(why, "not_measured")
        else:
            dialog = OrderScreen(suite_id, candidate_id, again)
            self._screen.app.push_screen(dialog, self._ordered)

    def _ordered(self, view: "RunView | None") -> None:
        if view is not None:
            self._screen.run_begun(view, asked=True)

    def import_traces(self) -> None:
        """Open the import dialog, which suggests files of this machine."""
        from reviewer.tui.screens.dialogs.import_traces import ImportScreen

        try:
            self._screen.shell.desk.allow("imports", "start")
        except DeskError as error:
            self._screen.shell.problem(error)
            return
        self._screen.app.push_screen(ImportScreen(), self.importing)

    def importing(self, view: "ImportView | None") -> None:
        """Say that an import has started."""
        if view is not None:
            self._screen.say(f"the import has started: {key_of('screen.runs')} shows it")

    def pause(self) -> None:
        """Pause the run, or resume it."""
        view = self._steered()
        if view is not None and view.state == "stopping":
            self._screen.say("the run is stopping: there is nothing to pause")
        elif view is not None:
            self._steer(view, "go_on" if view.state == "paused" else "pause")

    def stop(self) -> None:
        """Make no new attempts; a stopping run asks whether to abandon the attempts at work."""
        view = self._steered()
        if view is None:
            return
        if view.state != "stopping":
            told = "stopping: running attempts finish; . again abandons them"
            self._steer(view, "stop", told)
            return
        from reviewer.tui.screens.dialogs.ask import abandoning

        def abandon(chosen: str | None) -> None:
            if chosen == "abandon":
                self._steer(view, "abandon")

        self._screen.app.push_screen(abandoning(view), abandon)

    def _steered(self) -> "RunView | None":
        view = self._chosen()
        if view is None or view.state not in AT_WORK:
            self._screen.say(f"no run is in progress here: {key_of('run')} starts one")
            return None
        return view

    def _steer(self, view: "RunView", act: str, told: str = "") -> None:
        live = self._screen.shell.live
        try:
            getattr(live.handle(view), act)()
            if told:
                self._screen.say(told)
        except DeskError as error:
            self._screen.refused(error)
        live.tell()
