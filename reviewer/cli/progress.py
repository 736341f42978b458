"""Progress of a run or a judge on stderr: a bar on a terminal, else a line every few seconds."""

import time
from typing import TYPE_CHECKING

from reviewer.cli.say import moving, note

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

LONGEST_NAME = 24
EVERY = 5.0
"""Seconds between two lines where there is no terminal."""


class Progress:
    """Shows how far some work is, as views of it come.

    `name` begins every line, `title` the bar (default: the name). Where there is no terminal, the
    first line comes at once when `soon`, else after `EVERY` seconds.
    """

    def __init__(self, quiet: bool, name: str = "", title: str = "", soon: bool = True) -> None:
        self._quiet = quiet
        self._name = name
        self._title = title or name
        self._terminal = moving()
        self._bar: tuple[Bar, TaskID] | None = None
        self._said = ""
        self._at = 0.0 if soon else time.monotonic()

    def show(self, done: int, of: int, words: str) -> None:
        if self._quiet or not of:
            return
        if self._terminal:
            self._draw(done, of, words)
        elif time.monotonic() - self._at >= EVERY:
            self._say(done, of, words)

    def stop(self) -> None:
        """Clear the bar, so that another message can be printed."""
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None

    def end(self, done: int, of: int, words: str) -> None:
        self.stop()
        if not self._quiet and of:
            self._say(done, of, words)

    def _say(self, done: int, of: int, words: str) -> None:
        line = f"{self._name}: {done}/{of} {words}".rstrip()
        if line != self._said:
            note(line)
        self._said, self._at = line, time.monotonic()

    def _draw(self, done: int, of: int, words: str) -> None:
        if self._bar is None:
            self._bar = _bar(self._title, done, of)
        bar, task = self._bar
        bar.update(task, completed=done, words=words)


def _bar(title: str, done: int, of: int) -> "tuple[Bar, TaskID]":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    from reviewer.trace.safetext import visible_line

    name = visible_line(title)
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
    return bar, bar.add_task(name, total=of, completed=done, words="")


def span(seconds: float) -> str:
    """Return a length of time in words."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
