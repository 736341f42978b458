"""How a run is shown on stderr: a bar on a terminal, now and then a line elsewhere."""

import time
from typing import TYPE_CHECKING

from reviewer.cli.say import moving, note
from reviewer.desk.runs.views import RunView

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

LONGEST_NAME = 24
EVERY = 5.0
"""Seconds between two lines where there is no terminal."""


class Progress:
    """Shows views of one run as they come."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = moving()
        self._bar: tuple[Bar, TaskID] | None = None
        self._said = ""
        self._at = 0.0

    def show(self, view: RunView) -> None:
        if self._quiet or not view.planned:
            return
        if self._terminal:
            self._draw(view)
        elif time.monotonic() - self._at >= EVERY:
            self._say(view)

    def stop(self) -> None:
        """Clear the bar away, for something else to be said."""
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None

    def end(self, view: RunView) -> None:
        self.stop()
        if not self._quiet and view.planned:
            self._say(view)

    def _say(self, view: RunView) -> None:
        line = f"{view.candidate_id}: {view.done}/{view.planned} {words(view)}".rstrip()
        if line != self._said:
            note(line)
        self._said, self._at = line, time.monotonic()

    def _draw(self, view: RunView) -> None:
        if self._bar is None:
            self._bar = _bar(view)
        bar, task = self._bar
        bar.update(task, completed=view.done, words=words(view))


def _bar(view: RunView) -> "tuple[Bar, TaskID]":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    from reviewer.trace.safetext import visible_line

    name = visible_line(view.candidate_id)
    whole = Column(no_wrap=True, min_width=min(len(name), LONGEST_NAME))
    rest = Column(no_wrap=True, ratio=1, overflow="ellipsis")
    bar = Bar(
        TextColumn("{task.description}", markup=False, table_column=whole),
        BarColumn(bar_width=12),
        MofNCompleteColumn(),
        TextColumn("{task.fields[words]}", markup=False, table_column=rest),
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )
    bar.start()
    return bar, bar.add_task(name, total=view.planned, completed=view.done, words="")


def words(view: RunView) -> str:
    """How long the rest may take, and what fails so far, gate by gate."""
    parts = [f"{gate} {n}" for gate, n in zip(view.in_force, view.gates, strict=True) if n]
    state = [view.state] if view.state in ("paused", "stopping") else []
    left = [] if view.eta_seconds is None else [f"about {span(view.eta_seconds)} left"]
    failing = [f"{view.failed} failing ({', '.join(parts)})"] if view.failed else []
    lost = [f"{view.infrastructure} infra"] if view.infrastructure else []
    return ", ".join([*state, *left, *failing, *lost])


def span(seconds: float) -> str:
    """A length of time in words."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
