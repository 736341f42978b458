"""The runs of this process as they were last looked at, and the orders that wait their turn.

A run tells of itself from its own thread, as often as it likes. One message at a time reaches the
thread that paints, and the desk is asked for the runs at most ten times a second.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from reviewer.desk.errors import DeskError
from reviewer.desk.runs.views import ApprovalView, RunOrder, RunView
from reviewer.tui.views.jobs import AT_WORK, Overlay, run_ended

if TYPE_CHECKING:
    from reviewer.desk.runs.jobs import RunHandle
    from reviewer.tui.shell.shell import Host


class RunsChanged(Message):
    """Something happened in a run."""


class LiveRuns:
    """`views` are the runs, newest first; `leaving` says that the end of the last one quits."""

    EVERY: ClassVar[float] = 0.1

    def __init__(self, app: "Host") -> None:
        self._app = app
        self.views: Sequence[RunView] = ()
        self.leaving = False
        self._orders: list[RunOrder] = []
        self._overlays: dict[int, Overlay] = {}
        self._open: set[int] = set()
        self._answered: set[tuple[int, int]] = set()
        self._asked: set[tuple[int, int]] = set()
        self._starting = 0
        self._told = False
        self._looked = 0.0

    # what is known -----------------------------------------------------------------------------

    @property
    def at_work(self) -> list[RunView]:
        """Runs that have not ended, newest first."""
        return [view for view in self.views if view.state in AT_WORK]

    def of(self, suite_id: str, candidate_id: str) -> RunView | None:
        """The run of a candidate: the one at work, else the newest."""
        mine = [v for v in self.views if (v.suite_id, v.candidate_id) == (suite_id, candidate_id)]
        return next((view for view in mine if view.state in AT_WORK), mine[0] if mine else None)

    def overlay(self, view: RunView | None) -> Overlay:
        """What a run still owes; nothing where there is no run."""
        return self._overlays.get(view.number, Overlay()) if view else Overlay()

    @property
    def approvals(self) -> list[tuple[RunView, ApprovalView]]:
        """Calls that wait for a person, the oldest first."""
        return [
            (view, each)
            for view in reversed(self.at_work)
            for each in view.approvals
            if (view.number, each.number) not in self._answered
        ]

    def handle(self, view: RunView) -> "RunHandle":
        """What steers a run."""
        return self._app.desk.runs.handle(view.number)

    def answer(self, view: RunView, approval: ApprovalView, granted: bool) -> None:
        """Grant or refuse a call that waits."""
        self._answered.add((view.number, approval.number))
        self.handle(view).answer(approval.number, granted)
        self._tell_screens()

    # starting ----------------------------------------------------------------------------------

    def begin(self, orders: Iterable[RunOrder]) -> None:
        """Run these one after another; a run that does not end well drops the rest."""
        self._orders += orders
        self._next()

    def _next(self) -> None:
        if self._orders and not self._starting and not self._open and not self.leaving:
            self.start(self._orders.pop(0), self._begun, self._not_begun)

    def _begun(self, view: RunView) -> None:
        if self._app.here is not None:
            self._app.here.run_begun(view, asked=False)

    def _not_begun(self, error: DeskError) -> None:
        self._orders.clear()
        self._app.problem(error)

    def start(
        self,
        order: RunOrder,
        begun: Callable[[RunView], None],
        failed: Callable[[DeskError], None],
    ) -> None:
        """Start a run off the thread that paints; answers what it is, or why it cannot begin."""
        desk = self._app.desk
        self._starting += 1

        def work() -> Callable[[], None]:
            view = desk.runs.start(order, self.tell).view()
            return lambda: done(view)

        def done(view: RunView) -> None:
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

    def tell(self, _handle: object = None) -> None:
        """Something happened in a run. Called from any thread; never waits, never raises."""
        if not self._told:
            self._told = True
            with suppress(RuntimeError):  # the loop of a screen that was left is closed
                self._app.post_message(RunsChanged())

    def changed(self) -> None:
        """Look now, or as soon as the last look is long enough ago."""
        rest = self._looked + self.EVERY - monotonic()
        if rest > 0:
            self._app.set_timer(rest, self.look)
        else:
            self.look()

    def tick(self) -> None:
        """Time passes, also where nothing happens: what is left is written anew."""
        if self.at_work:
            self.tell()

    def look(self) -> None:
        """Ask for the runs as they stand."""
        self._looked = monotonic()
        self._told = False
        desk = self._app.desk

        def work() -> Callable[[], None]:
            views = desk.runs.views()
            return lambda: self._take(views)

        self._app.ask("runs", work)

    def _take(self, views: Sequence[RunView]) -> None:
        self.views = views
        for view in views:
            if view.state in AT_WORK or view.number in self._open:
                self._overlays.setdefault(view.number, Overlay()).follow(view)
        asking = {(view.number, each.number) for view, each in self.approvals}
        if asking - self._asked:
            self._app.bell()
        self._asked = asking
        self._tell_screens()
        ended = [v for v in views if v.state not in AT_WORK and v.number in self._open]
        # A run that this look was too early for stays open: its end has yet to be told.
        self._open |= {view.number for view in self.at_work}
        self._open -= {view.number for view in ended}
        for view in reversed(ended):
            self._ended(view)
        if self.leaving and not self._open:
            self._app.exit()
        self._next()

    def _ended(self, view: RunView) -> None:
        text, style = run_ended(view)
        if self._orders and view.state != "done":
            text += f"; {len(self._orders)} that were to follow are dropped"
            self._orders.clear()
        if self._app.here is not None:
            self._app.here.run_ended(view, text, style)

    def _tell_screens(self) -> None:
        here, top = self._app.here, self._app.screen
        if here is not None:
            here.runs_changed()
        if top is not here and hasattr(top, "runs_changed"):
            top.runs_changed()

    # leaving -----------------------------------------------------------------------------------

    def finish(self) -> None:
        """No new attempts; quit when those at work have finished."""
        self.leaving = True
        self._orders.clear()
        for view in self.at_work:
            with suppress(DeskError):  # it has ended meanwhile
                self.handle(view).stop()
        self.look()

    def abandon(self) -> None:
        """Kill what is at work."""
        self._orders.clear()
        for view in self.at_work:
            with suppress(DeskError):
                self.handle(view).abandon()
