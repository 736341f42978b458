"""Jobs of this process that outlive a screen: runs, imports and the judge, in their newest views.

A job reports changes from its own threads, as often as it likes. One message at a time reaches the
drawing thread, and the desk is asked again at most ten times a second.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.message import Message

from reviewer.desk.errors import DeskError
from reviewer.tui.views.jobs import AT_WORK, IMPORTING, Overlay, import_ended, run_ended

if TYPE_CHECKING:
    from reviewer.desk.imports.api import ImportOrder, ImportView
    from reviewer.desk.judge.api import JudgeOrder, JudgeRunView
    from reviewer.desk.judge.jobs import JudgeHandle
    from reviewer.desk.runs.api import ApprovalView, RunOrder, RunView, TurnEnd, TurnView
    from reviewer.desk.runs.jobs import RunHandle
    from reviewer.tui.shell.shell import Host


class JobsChanged(Message):
    """A job has changed; `changed` reads its view again."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self.changed = changed


class Looks:
    """Reads the views of one kind of job again. `often` reads them at every change."""

    EVERY: ClassVar[float] = 0.1
    """The least number of seconds between two readings."""

    def __init__(self, app: "Host", look: Callable[[], None], *, often: bool = False) -> None:
        self._app, self._look, self._often = app, look, often
        self._posted = False
        self._looked = 0.0

    def tell(self, _handle: object = None) -> None:
        """Report a change. Called from any thread; never waits, never raises."""
        if not self._posted:
            self._posted = True
            with suppress(RuntimeError):  # the loop of a program that has exited is closed
                self._app.post_message(JobsChanged(self.changed))

    def changed(self) -> None:
        """Read now, or as soon as enough time has passed since the last reading."""
        rest = 0.0 if self._often else self._looked + self.EVERY - monotonic()
        if rest > 0:
            self._app.set_timer(rest, self._look)
        else:
            self._look()

    def begun(self) -> None:
        """Note that a reading begins: later changes ask for another one."""
        self._posted, self._looked = False, monotonic()


def _tell_screens(app: "Host", method: Literal["runs_changed", "imports_changed"]) -> None:
    """Call a method of the screen the reader is on, and of the dialog above it."""
    here, top = app.here, app.screen
    for screen in (here, top if top is not here else None):
        if hasattr(screen, method):
            getattr(screen, method)()


class LiveRuns:
    """`views` are the runs, newest first; `leaving` says that the program quits when the last one
    ends."""

    def __init__(self, app: "Host") -> None:
        self._app = app
        self._looks = Looks(app, self.look)
        self.tell, self.changed = self._looks.tell, self._looks.changed
        self.views: Sequence[RunView] = ()
        self.leaving = False
        self._orders: list[RunOrder] = []
        self._overlays: dict[int, Overlay] = {}
        self._open: set[int] = set()
        self._answered: set[tuple[int, int]] = set()
        self._asked: set[tuple[int, int]] = set()
        self._starting = 0

    # what is known -----------------------------------------------------------------------------

    @property
    def at_work(self) -> "list[RunView]":
        """Runs that have not ended, newest first."""
        return [view for view in self.views if view.state in AT_WORK]

    def of(self, suite_id: str, candidate_id: str) -> "RunView | None":
        """Return the run of a candidate: the one at work, else the newest."""
        mine = [v for v in self.views if (v.suite_id, v.candidate_id) == (suite_id, candidate_id)]
        return next((view for view in mine if view.state in AT_WORK), mine[0] if mine else None)

    def overlay(self, view: "RunView | None") -> Overlay:
        """Return the attempts that a run still has to make; none without a run."""
        return self._overlays.get(view.number, Overlay()) if view else Overlay()

    @property
    def approvals(self) -> "list[tuple[RunView, ApprovalView]]":
        """Calls that wait for a person, the oldest first."""
        return [
            (view, each)
            for view in reversed(self.at_work)
            for each in view.approvals
            if (view.number, each.number) not in self._answered
        ]

    @property
    def turns(self) -> "list[tuple[RunView, TurnView]]":
        """Turns of a user that a person plays, the oldest first."""
        return [
            (view, each)
            for view in reversed(self.at_work)
            for each in view.turns
            if (view.number, each.number) not in self._answered
        ]

    def handle(self, view: "RunView") -> "RunHandle":
        """Return the handle that controls a run."""
        return self._app.desk.runs.handle(view.number)

    def answer(self, view: "RunView", approval: "ApprovalView", granted: bool) -> None:
        """Grant or refuse a call that waits."""
        self._answered.add((view.number, approval.number))
        self.handle(view).answer(approval.number, granted)
        _tell_screens(self._app, "runs_changed")

    def say(self, view: "RunView", turn: "TurnView", message: str, then: "TurnEnd") -> None:
        """Send what the user says. Raises DeskError."""
        self.handle(view).say(turn.number, message, then)
        self._answered.add((view.number, turn.number))
        _tell_screens(self._app, "runs_changed")

    def leave_talk(self, view: "RunView", turn: "TurnView") -> None:
        """Leave a talk; its attempt then neither passes nor fails."""
        self._answered.add((view.number, turn.number))
        self.handle(view).leave(turn.number)
        _tell_screens(self._app, "runs_changed")

    # starting ----------------------------------------------------------------------------------

    def begin(self, orders: "Iterable[RunOrder]") -> None:
        """Run these orders one after another; a run that does not end well drops the others."""
        self._orders += orders
        self._next()

    def _next(self) -> None:
        if self._orders and not self._starting and not self._open and not self.leaving:
            self.start(self._orders.pop(0), self._begun, self._not_begun)

    def _begun(self, view: "RunView") -> None:
        if self._app.here is not None:
            self._app.here.run_begun(view, asked=False)

    def _not_begun(self, error: DeskError) -> None:
        self._orders.clear()
        self._app.problem(error)

    def start(
        self,
        order: "RunOrder",
        begun: "Callable[[RunView], None]",
        failed: Callable[[DeskError], None],
    ) -> None:
        """Start a run outside the drawing thread, and pass on its view, or the reason why it cannot
        begin."""
        desk = self._app.desk
        self._starting += 1

        def work() -> Callable[[], None]:
            view = desk.runs.start(order, self.tell).view()
            return lambda: done(view)

        def done(view: "RunView") -> None:
            self._starting -= 1
            self._open.add(view.number)
            if all(each.number != view.number for each in self.views):
                self.views = [view, *self.views]
                self._overlays.setdefault(view.number, Overlay()).follow(view)
            begun(view)
            self.look()

        def refused(error: DeskError) -> None:
            self._starting -= 1
            failed(error)

        self._app.ask(f"start-{id(order)}", work, refused)

    # looking -----------------------------------------------------------------------------------

    def tick(self) -> None:
        """Read again once a second while a run is at work: the remaining time changes."""
        if self.at_work:
            self.tell()

    def look(self) -> None:
        """Ask for the runs."""
        self._looks.begun()
        desk = self._app.desk

        def work() -> Callable[[], None]:
            views = desk.runs.views()
            return lambda: self._take(views)

        self._app.ask("runs", work)

    def _take(self, views: "Sequence[RunView]") -> None:
        self.views = views
        for view in views:
            if view.state in AT_WORK or view.number in self._open:
                self._overlays.setdefault(view.number, Overlay()).follow(view)
        asking = {(view.number, each.number) for view, each in self.approvals}
        asking |= {(view.number, each.number) for view, each in self.turns}
        if asking - self._asked:
            self._app.bell()
        self._asked = asking
        _tell_screens(self._app, "runs_changed")
        ended = [v for v in views if v.state not in AT_WORK and v.number in self._open]
        # Keep a run that began after this reading: its end is still to be reported.
        self._open |= {view.number for view in self.at_work}
        self._open -= {view.number for view in ended}
        for view in reversed(ended):
            self._ended(view)
        if self.leaving and not self._open:
            self._app.exit()
        self._next()

    def _ended(self, view: "RunView") -> None:
        text, style = run_ended(view)
        if self._orders and view.state != "done":
            text += f"; {len(self._orders)} that were to follow are dropped"
            self._orders.clear()
        if self._app.here is not None:
            self._app.here.run_ended(view, text, style)

    # leaving -----------------------------------------------------------------------------------

    def finish(self) -> None:
        """Make no new attempts; quit when those at work have finished."""
        self.leaving = True
        self._orders.clear()
        for view in self.at_work:
            with suppress(DeskError):  # it ended in the meantime
                self.handle(view).stop()
        self.look()

    def abandon(self) -> None:
        """Kill the attempts at work."""
        self._orders.clear()
        for view in self.at_work:
            with suppress(DeskError):
                self.handle(view).abandon()


class LiveImports:
    """`views` are the imports, newest first, including dry runs."""

    def __init__(self, app: "Host") -> None:
        self._app = app
        self._looks = Looks(app, self.look)
        self.tell, self.changed = self._looks.tell, self._looks.changed
        self.views: Sequence[ImportView] = ()
        self._ended: set[int] = set()

    @property
    def at_work(self) -> "list[ImportView]":
        """Imports that write and have not ended, newest first."""
        return [v for v in self.views if v.state in IMPORTING and not v.order.dry]

    def view(self, number: int) -> "ImportView | None":
        """Return the newest view of the import with that number."""
        return next((view for view in self.views if view.number == number), None)

    def start(
        self,
        order: "ImportOrder",
        begun: "Callable[[ImportView], None]",
        failed: Callable[[DeskError], None],
    ) -> None:
        """Start an import outside the drawing thread."""
        desk = self._app.desk

        def work() -> Callable[[], None]:
            view = desk.imports.start(order, self.tell).view()
            return lambda: done(view)

        def done(view: "ImportView") -> None:
            self.look()
            begun(view)

        self._app.ask(f"import-{id(order)}", work, failed)

    def pause(self, view: "ImportView") -> None:
        """Stop reading after the batch under way."""
        with suppress(DeskError):
            self._app.desk.imports.handle(view.number).pause()

    def go_on(self, view: "ImportView") -> None:
        """Resume a paused import."""
        with suppress(DeskError):
            self._app.desk.imports.handle(view.number).go_on()

    def stop(self, view: "ImportView") -> None:
        """End an import; the store keeps what was written."""
        with suppress(DeskError):
            self._app.desk.imports.handle(view.number).stop()

    def look(self) -> None:
        """Read the imports and tell the screens."""
        self._looks.begun()
        self.views = self._app.desk.imports.views()
        _tell_screens(self._app, "imports_changed")
        for view in self.views:
            if view.state in IMPORTING or view.order.dry or view.number in self._ended:
                continue
            self._ended.add(view.number)
            if self._app.here is not None:
                self._app.here.tell(*import_ended(view))


class LiveJudge:
    """`view` is the newest judge run of this process; `order` is the last order."""

    AT_WORK: ClassVar[frozenset[str]] = frozenset({"running", "stopping"})

    def __init__(self, app: "Host") -> None:
        self._app = app
        self._looks = Looks(app, self.changed, often=True)
        self.tell = self._looks.tell
        self._handle: JudgeHandle | None = None
        self._open = self._leaving = False
        self.view: JudgeRunView | None = None
        self.order: JudgeOrder | None = None

    @property
    def at_work(self) -> "JudgeRunView | None":
        """The run while it has not ended."""
        return self.view if self.view is not None and self.view.state in self.AT_WORK else None

    def start(
        self, order: "JudgeOrder", begun: Callable[[], None], failed: Callable[[DeskError], None]
    ) -> None:
        """Start the judge's calls outside the drawing thread."""
        desk = self._app.desk

        def work() -> Callable[[], None]:
            handle = desk.judge.start(order, self.tell)
            view = handle.view()
            return lambda: done(handle, view)

        def done(handle: "JudgeHandle", view: "JudgeRunView") -> None:
            self._handle, self.view, self.order = handle, view, order
            self._open = True
            begun()
            self.changed()

        self._app.ask("judge", work, failed)

    def stop(self, *, leaving: bool = False) -> None:
        """Make no new calls; with `leaving`, quit when those under way are answered."""
        self._leaving = self._leaving or leaving
        if self._handle is not None:
            self._handle.stop()
            self.tell()

    def changed(self) -> None:
        """Read the run again, and tell the screen."""
        self._looks.begun()
        if self._handle is None:
            return
        self.view = self._handle.view()
        if self._app.here is not None:
            self._app.here.judge_changed()
        if self._open and self.at_work is None:
            self._open = False
            self._ended(self.view)
        if self._leaving and self.at_work is None:
            self._app.exit()

    def _ended(self, view: "JudgeRunView") -> None:
        from reviewer.tui.views.judge import judge_ended

        if self._app.here is not None:
            self._app.here.tell(*judge_ended(view))
