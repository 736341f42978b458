"""How a judge at work is shown on stderr: a bar on a terminal, now and then a line elsewhere."""

import time
from typing import TYPE_CHECKING

from reviewer.cli.run_progress import EVERY, span
from reviewer.cli.say import moving, note
from reviewer.desk.judge.views import JudgeRunView

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class JudgeProgress:
    """Shows views of one run of a judge as they come."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = moving()
        self._bar: tuple[Bar, TaskID] | None = None
        self._said = ""
        self._at = time.monotonic()

    def show(self, view: JudgeRunView) -> None:
        if self._quiet or not view.calls:
            return
        if self._terminal:
            if self._bar is None:
                self._bar = _bar(view)
            bar, task = self._bar
            bar.update(task, completed=view.done, words=words(view))
        elif time.monotonic() - self._at >= EVERY:
            self._say(view)

    def end(self, view: JudgeRunView) -> None:
        if self._bar is not None:
            self._bar[0].stop()
        if not self._quiet and view.calls:
            self._say(view)

    def _say(self, view: JudgeRunView) -> None:
        line = f"{view.judge_id}: {view.done}/{view.calls} {words(view)}".rstrip()
        if line != self._said:
            note(line)
        self._said, self._at = line, time.monotonic()


def _bar(view: JudgeRunView) -> "tuple[Bar, TaskID]":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    rest = Column(no_wrap=True, ratio=1, overflow="ellipsis")
    bar = Bar(
        TextColumn("judge", markup=False),
        BarColumn(bar_width=12),
        MofNCompleteColumn(),
        TextColumn("{task.fields[words]}", markup=False, table_column=rest),
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )
    bar.start()
    return bar, bar.add_task("judge", total=view.calls, completed=view.done, words="")


def words(view: JudgeRunView) -> str:
    """What it has cost so far, what was of no use, and how long the rest may take."""
    parts: list[str] = ["stopping"] if view.state == "stopping" else []
    if view.eta_seconds is not None and view.state == "running":
        parts.append(f"about {span(view.eta_seconds)} left")
    if view.known_usd is not None:
        parts.append(f"{'at least ' if view.unpriced else ''}${view.known_usd:.4f}")
    if view.errors:
        parts.append(f"{view.errors} not usable")
    return ", ".join(parts)
