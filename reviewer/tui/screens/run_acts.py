"""Acts on runs that the scorecard and the list of runs share: start, pause, go on, stop."""

from abc import abstractmethod

from textual.binding import BindingType

from reviewer.desk.errors import DeskError
from reviewer.desk.imports.api import ImportView
from reviewer.desk.runs.api import RunView
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.settings.keys import bind, key_of
from reviewer.tui.views.jobs import AT_WORK

RUN_KEYS: list[BindingType] = [
    bind("r", "run", "run a candidate", "Choose a candidate and run it."),
    bind("i", "import_traces", "import traces", "Look at a file or folder, then take it in."),
    bind("p", "pause", "pause the run, go on"),
    bind("full_stop", "stop_run", "stop the run, abandon it"),
]
RUN_HINTS: tuple[Hint, ...] = (
    ("p", "pause", "screen.pause"),
    (".", "stop", "screen.stop_run"),
    ("a", "answer", "app.approve"),
)


class RunActs(DeskScreen):
    """A screen on which one run can be steered."""

    @abstractmethod
    def chosen_run(self) -> RunView | None:
        """The run that the keys act on."""

    def place_to_run(self) -> tuple[str, str]:
        """(suite, candidate) that the dialog starts from; empty where none is on screen."""
        return self.shell.suite_id, self.shell.candidate_id

    def action_run(self) -> None:
        """Choose a candidate and run it."""
        from reviewer.tui.screens.dialogs.run_order import OrderScreen

        if self.read_only:
            self.say("the suite does not match its lock: nothing is run on it", "not_measured")
        else:
            self.app.push_screen(OrderScreen(*self.place_to_run()), self._ordered)

    def action_import_traces(self) -> None:
        """Name traces to take in."""
        from reviewer.tui.screens.dialogs.import_traces import ImportScreen

        self.app.push_screen(ImportScreen(), self._importing)

    def _importing(self, view: ImportView | None) -> None:
        if view is not None:
            self.say(f"the import has begun: {key_of('screen.runs')} shows it")

    def _ordered(self, view: RunView | None) -> None:
        if view is not None:
            self.run_begun(view, asked=True)

    def _steered(self) -> RunView | None:
        view = self.chosen_run()
        if view is None or view.state not in AT_WORK:
            self.say(f"no run is at work here: {key_of('run')} starts one")
            return None
        return view

    def action_pause(self) -> None:
        """Pause the run, or let it go on."""
        view = self._steered()
        if view is None:
            return
        if view.state == "stopping":
            self.say("the run is stopping: there is nothing to pause")
            return
        try:
            handle = self.shell.live.handle(view)
            handle.go_on() if view.state == "paused" else handle.pause()
        except DeskError as error:
            self.refused(error)
        self.shell.live.tell()

    def action_stop_run(self) -> None:
        """No new attempts; on a run that is stopping, ask whether to abandon what is at work."""
        view = self._steered()
        if view is None:
            return
        if view.state == "stopping":
            from reviewer.tui.screens.dialogs.ask import abandoning

            self.app.push_screen(
                abandoning(view),
                lambda chosen: self._abandon(view) if chosen == "abandon" else None,
            )
            return
        try:
            self.shell.live.handle(view).stop()
            self.say("stopping: attempts at work finish; . again abandons them")
        except DeskError as error:
            self.refused(error)
        self.shell.live.tell()

    def _abandon(self, view: RunView) -> None:
        try:
            self.shell.live.handle(view).abandon()
        except DeskError as error:
            self.refused(error)
        self.shell.live.tell()
