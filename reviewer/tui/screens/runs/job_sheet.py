"""Jobs in lines: runs and imports of this process, how far each is, what came of it."""

import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime

from reviewer.desk.imports.api import ImportView
from reviewer.desk.runs.api import RunView
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.keys import key_of, worded
from reviewer.tui.settings.theme import STATES
from reviewer.tui.shell.imports import IMPORTING
from reviewer.tui.views.imports import STYLES, file_lines
from reviewer.tui.views.run import AT_WORK, bar, clock, counts, gate_counts, state_span
from reviewer.tui.widgets.lines import Column, Line, Span, cut, middle, pad
from reviewer.tui.widgets.words import plural

JobView = RunView | ImportView
CURSOR = "job"
"""The one cell the cursor stands on: a bar in reverse video would read the wrong way round."""


def at_work(job: JobView) -> bool:
    """Whether a job has not ended."""
    return job.state in (AT_WORK if isinstance(job, RunView) else IMPORTING)


def jobs_of(runs: Sequence[RunView], imports: Sequence[ImportView]) -> list[JobView]:
    """All of them, newest first; imports that write nothing are none."""
    jobs: list[JobView] = [*runs, *(view for view in imports if not view.order.dry)]
    return sorted(jobs, key=lambda job: -job.began)


def name_of(job: JobView) -> str:
    """`run refund-agent-v8`, `import v7-night.jsonl`."""
    if isinstance(job, RunView):
        return f"run {visible_line(job.candidate_id)}"
    return f"import {visible_line(job.order.path.rstrip('/').rpartition('/')[2])}"


class JobSheet:
    """One job a line; a run's failing gates, or what went wrong, take what room is left."""

    def __init__(self, width: int) -> None:
        self._meter = 24 if width >= 120 else 5
        sizes = [("progress", self._meter + 11), ("result", 14), ("left", 9), ("state", 9)]
        taken = 2 + sum(size + 1 for _, size in sizes)
        name = max(14, min(44, width - taken - 1))
        self.columns: list[Column] = [Column(CURSOR, 2, name, True)]
        x = 3 + name
        for key, size in sizes:
            self.columns.append(Column(key, x, size))
            x += size + 1
        if width - x >= 12:
            self.columns.append(Column("gates, problem", x, width - x))
        line = ""
        for column in self.columns:
            line = pad(line, column.x) + column.key
        self.header: Sequence[Line] = [[Span(line.rstrip(), "dim")]]
        self.totals: Sequence[Line] = ()

    def flag(self, row: JobView) -> Span:
        asks = isinstance(row, RunView) and row.approvals
        return Span("●", "quarantined") if asks else Span(" ")

    def cells(self, row: JobView) -> list[Line]:
        cells: list[Line] = [[Span(middle(name_of(row), self.columns[0].width), "strong")]]
        if isinstance(row, RunView):
            done = [
                *bar(row.done, row.planned, self._meter),
                Span(f" {row.done:,}/{row.planned:,}"),
            ]
            cells += [done, counts(row), [Span(_left(row), "dim")], [state_span(row)]]
        else:
            cells += [
                self._read(row),
                _brought(row),
                [Span(_left(row), "dim")],
                [Span(f"{STATES[STYLES[row.state]].glyph} {row.state}", STYLES[row.state])],
            ]
        if len(self.columns) > len(cells):
            failing = gate_counts(row) if isinstance(row, RunView) else ""
            told = visible_line(row.problem) or failing
            cells.append([Span(cut(told, self.columns[-1].width), "fail")])
        return cells

    def _read(self, row: ImportView) -> list[Span]:
        """How much of all files; records alone while that cannot be said."""
        if row.state == "done":
            return [*bar(1, 1, self._meter), Span(f" {row.records:,}")]
        if not row.files:
            return [Span(f"{row.records:,} read" if row.records else "looking…", "dim")]
        share = row.done / row.size if row.size else 0.0
        of = (max(row.file - 1, 0) + min(share, 1.0)) / row.files
        return [*bar(int(of * 1000), 1000, self._meter), Span(f" {of * 100:.0f}%")]


def _brought(row: ImportView) -> list[Span]:
    spans = [Span(f"+{row.added:,}", "pass" if row.added else "dim")]
    return [*spans, Span(f" !{row.refused:,}", "fail")] if row.refused else spans


def _left(row: JobView) -> str:
    """`0:09 left` while it can be said, else how long it has taken."""
    if at_work(row) and row.eta_seconds is not None:
        return f"{clock(row.eta_seconds)} left"
    return clock(row.seconds)


# what is said of one ---------------------------------------------------------------------------


def job_lines(job: JobView, width: int) -> list[Line]:
    """What was ordered, how it goes, what came of it, and what to do next."""
    if isinstance(job, RunView):
        return _run_lines(job, width)
    return _import_lines(job, width)


def _run_lines(run: RunView, width: int) -> list[Line]:
    order = run.order
    ordered = [
        f"{visible_line(run.candidate_id)} on {visible_line(run.suite_id)}",
        plural(run.planned, "attempt"),
        f"{order.jobs:,} at a time",
        f"approvals {order.approvals}",
        "network" if order.network else "no network",
        f"seed {order.seed}",
    ]
    lines: list[Line] = [[Span(" " + ", ".join(ordered))]]
    told = [f"{run.passed:,} pass", f"{run.failed:,} FAIL", f"{run.infrastructure:,} infra"]
    if run.state in AT_WORK:
        told += [f"{len(run.running):,} at work", f"{len(run.pending):,} waiting"]
    failing = gate_counts(run)
    lines.append([Span(" " + ", ".join(told)), Span(f"  {failing}", "fail")])
    if run.problem:
        lines += [[Span(f" ✗ {line}", "fail")] for line in _wrapped(run.problem, width)]
    if run.running:
        slots = " ".join(f"{episode}/{attempt}" for episode, attempt in run.running)
        lines.append([Span(" at work  ", "dim"), Span(cut(visible_line(slots), width - 12))])
    for each in run.approvals[:1]:
        told_of = f" asks you: {visible_line(each.tool)}, event {each.seq}"
        lines.append([Span(told_of, "match"), Span(worded("  {approve} answers"), "key")])
    return [*lines, _next(run, width)]


def _import_lines(view: ImportView, width: int) -> list[Line]:
    order = view.order
    asked = [visible_line(order.path)]
    asked += [f"suite {visible_line(order.suite_id)}"] if order.suite_id else []
    asked += [f"candidate {visible_line(order.candidate_id)}"] if order.candidate_id else []
    lines: list[Line] = [[Span(f" {middle(', '.join(asked), width - 2)}")]]
    told = f" {plural(view.records, 'record')} read, {view.added:,} added"
    if view.files:
        told += f", file {view.file:,} of {view.files:,}"
    lines.append([Span(told), Span(f", {view.refused:,} refused" if view.refused else "", "fail")])
    if view.problem:
        lines += [[Span(f" ✗ {line}", "fail")] for line in _wrapped(view.problem, width)]
    for result in view.results:
        lines += file_lines(result, width)
    if view.passed:
        lines.append([Span(f" {view.passed:,} other files: no traces, passed over", "dim")])
    return [*lines[:2], _next(view, width), *lines[2:]]


def _next(job: JobView, width: int) -> Line:
    """What the reader can do about it."""
    begun = datetime.fromtimestamp(job.began, UTC).strftime("%H:%M:%SZ")
    words = {
        "running": "{pause} pauses, {stop} stops",
        "reading": "{pause} pauses, {stop} stops",
        "pausing": "pauses when this batch is written; {pause} goes on",
        "paused": "nothing new is begun; {pause} goes on, {stop} stops",
        "stopping": "what is at work finishes; {stop} abandons it",
        "stopped": "{run} takes up the rest",
        "failed": "{run} tries again: what is there is not made, or read, twice",
        "done": "Enter opens its scorecard; {run} does it again",
    }[job.state]
    return [Span(f" begun {begun}  ", "dim"), Span(cut(worded(words), width - 19), "key")]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(visible_line(text), max(20, width - 4))[:4]


def nothing_yet() -> str:
    """What stands where there are no jobs."""
    return f"no jobs yet: {key_of('import')} imports traces, {key_of('run')} runs a candidate"
