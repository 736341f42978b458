"""The judge at work in this process, as it was last looked at. It outlives the screen it began on.

A judge tells of itself from its own threads; one message at a time reaches the thread that paints.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from textual.message import Message

from reviewer.desk.errors import DeskError

if TYPE_CHECKING:
    from reviewer.desk.judge.jobs import JudgeHandle
    from reviewer.desk.judge.views import JudgeOrder, JudgeRunView
    from reviewer.tui.shell.shell import Host

AT_WORK = frozenset({"running", "stopping"})


class JudgeChanged(Message):
    """A call of the judge was answered, or it has ended."""


class LiveJudge:
    """`view` is the newest judge run of this process; `order` what was ordered last."""

    def __init__(self, app: "Host") -> None:
        self._app = app
        self._handle: JudgeHandle | None = None
        self._told = self._open = self._leaving = False
        self.view: JudgeRunView | None = None
        self.order: JudgeOrder | None = None

    @property
    def at_work(self) -> "JudgeRunView | None":
        """The run while it has not ended."""
        return self.view if self.view is not None and self.view.state in AT_WORK else None

    def start(
        self, order: "JudgeOrder", begun: Callable[[], None], failed: Callable[[DeskError], None]
    ) -> None:
        """Begin to ask, off the thread that paints."""
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
        """No new calls; `leaving` quits when those under way are answered."""
        self._leaving = self._leaving or leaving
        if self._handle is not None:
            self._handle.stop()
            self.tell()

    def tell(self, _handle: object = None) -> None:
        """Something happened. Called from any thread; never waits, never raises."""
        if not self._told:
            self._told = True
            with suppress(RuntimeError):  # the loop of a program that was left is closed
                self._app.post_message(JudgeChanged())

    def changed(self) -> None:
        """Look at the run as it stands, and tell the screens."""
        self._told = False
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
