"""Jobs, sources and refused records: one line each, and the text about one of them."""

import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.cells import cell_len

from reviewer.desk.imports.api import ImportView
from reviewer.desk.runs.api import RunView
from reviewer.desk.views import Refusal, SourceInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.keys import key_of, worded
from reviewer.tui.settings.theme import STATES
from reviewer.tui.views.jobs import (
    AT_WORK,
    IMPORT_STYLES,
    IMPORTING,
    bar,
    clock,
    counts,
    file_lines,
    gate_counts,
    state_span,
)
from reviewer.tui.widgets.lines import (
    Column,
    Line,
    Sheet,
    Span,
    cut,
    heading,
    in_order,
    middle,
    pad,
    told_apart,
)
from reviewer.tui.widgets.words import plural

JobView = RunView | ImportView
CURSOR = "job"
"""The only cell the cursor can be on: a bar in reverse video would look inverted."""


def at_work(job: JobView) -> bool:
    """Return whether a job has not ended."""
    return job.state in (AT_WORK if isinstance(job, RunView) else IMPORTING)


def jobs_of(runs: Sequence[RunView], imports: Sequence[ImportView]) -> list[JobView]:
    """Return all jobs, newest first, without imports that write nothing."""
    jobs: list[JobView] = [*runs, *(view for view in imports if not view.order.dry)]
    return sorted(jobs, key=lambda job: -job.began)


def name_of(job: JobView) -> str:
    """Return `run refund-agent-v8` or `import v7-night.jsonl`."""
    if isinstance(job, RunView):
        return f"run {visible_line(job.candidate_id)}"
    verb = "follow" if job.order.follow else "import"
    return f"{verb} {visible_line(job.order.named)}"


class JobSheet(Sheet):
    """One job per line; a run's failing gates, or the problem, take the remaining room."""

    def __init__(self, width: int) -> None:
        self._meter = 24 if width >= 120 else 5
        sizes = [("progress", self._meter + 11), ("result", 14), ("left", 9), ("state", 9)]
        taken = 2 + sum(size + 1 for _, size in sizes)
        name = max(14, min(44, width - taken - 1))
        left = width - taken - name - 1
        if left >= 12:
            sizes.append(("gates, problem", left))
        first, *rest = in_order([(CURSOR, name), *sizes])
        self.columns = [first._replace(cell=True), *rest]
        self.header = heading(self.columns)

    def flag(self, row: JobView) -> Span:
        asks = isinstance(row, RunView) and (row.approvals or row.turns)
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
                [
                    Span(
                        f"{STATES[IMPORT_STYLES[row.state]].glyph} {row.state}",
                        IMPORT_STYLES[row.state],
                    )
                ],
            ]
        if len(self.columns) > len(cells):
            failing = gate_counts(row) if isinstance(row, RunView) else ""
            told = visible_line(row.problem) or failing
            cells.append([Span(cut(told, self.columns[-1].width), "fail")])
        return cells

    def _read(self, row: ImportView) -> list[Span]:
        """Return the share of all files that was read; only the records while the share is
        unknown."""
        if row.state == "done":
            return [*bar(1, 1, self._meter), Span(f" {row.records:,}")]
        if row.order.follow:
            return [Span(f"{plural(len(row.results), 'session')} read", "dim")]
        if not row.files:
            return [Span(f"{row.records:,} read" if row.records else "looking…", "dim")]
        share = row.done / row.size if row.size else 0.0
        of = (max(row.file - 1, 0) + min(share, 1.0)) / row.files
        return [*bar(int(of * 1000), 1000, self._meter), Span(f" {of * 100:.0f}%")]


def _brought(row: ImportView) -> list[Span]:
    spans = [Span(f"+{row.added:,}", "pass" if row.added else "dim")]
    return [*spans, Span(f" !{row.refused:,}", "fail")] if row.refused else spans


def _left(row: JobView) -> str:
    """Return `0:09 left` while it can be estimated, else how long the job has taken."""
    if at_work(row) and row.eta_seconds is not None:
        return f"{clock(row.eta_seconds)} left"
    return clock(row.seconds)


# what is said of one ---------------------------------------------------------------------------


def job_lines(job: JobView, width: int) -> list[Line]:
    """Return the lines about a job: its order, its progress, its results, and what to do next."""
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
        told += [f"{len(run.running):,} running", f"{len(run.pending):,} waiting"]
    failing = gate_counts(run)
    lines.append([Span(" " + ", ".join(told)), Span(f"  {failing}", "fail")])
    if run.problem:
        lines += [[Span(f" ✗ {line}", "fail")] for line in _wrapped(run.problem, width)]
    if run.running:
        slots = " ".join(f"{episode}/{attempt}" for episode, attempt in run.running)
        lines.append([Span(" running  ", "dim"), Span(cut(visible_line(slots), width - 12))])
    for each in run.approvals[:1]:
        told_of = f" asks you: {visible_line(each.tool)}, event {each.seq}"
        lines.append([Span(told_of, "match"), Span(worded("  {approve} answers"), "key")])
    for turn in run.turns[:1] if not run.approvals else ():
        told_of = f" you play the user of {visible_line(turn.trace_id.split('/')[-2])}"
        lines.append([Span(told_of, "match"), Span(worded("  {approve} answers"), "key")])
    return [*lines, _next(run, width)]


def _import_lines(view: ImportView, width: int) -> list[Line]:
    order = view.order
    asked = [visible_line(order.path or order.named)]
    asked += [f"suite {visible_line(order.suite_id)}"] if order.suite_id else []
    asked += [f"candidate {visible_line(order.candidate_id)}"] if order.candidate_id else []
    lines: list[Line] = [[Span(f" {middle(', '.join(asked), width - 2)}")]]
    told = f" {plural(view.records, 'record')} read, {view.added:,} added"
    if view.files and not order.follow:
        told += f", file {view.file:,} of {view.files:,}"
    lines.append([Span(told), Span(f", {view.refused:,} refused" if view.refused else "", "fail")])
    if view.problem:
        lines += [[Span(f" ✗ {line}", "fail")] for line in _wrapped(view.problem, width)]
    for path, words in reversed(view.news):
        name = visible_line(path.rpartition("/")[2])
        lines.append([Span(f" {middle(name, width // 3)}: "), Span(visible_line(words), "infra")])
    for result in view.results:
        lines += file_lines(result, width)
    if view.passed:
        lines.append([Span(f" {view.passed:,} other files: not traces, skipped", "dim")])
    return [*lines[:2], _next(view, width), *lines[2:]]


def _next(job: JobView, width: int) -> Line:
    """Return what the reader can do about a job."""
    begun = datetime.fromtimestamp(job.began, UTC).strftime("%H:%M:%SZ")
    words = {
        "running": "{pause} pauses, {stop} stops",
        "reading": "{pause} pauses, {stop} stops",
        "pausing": "pauses when this batch is written; {pause} resumes",
        "paused": "nothing new is started; {pause} resumes, {stop} stops",
        "stopping": "running attempts finish; {stop} abandons them",
        "stopped": "{run} takes up the rest",
        "failed": "{run} tries again: nothing is made or read twice",
        "done": "Enter opens its scorecard; {run} does it again",
    }[job.state]
    return [Span(f" started {begun}  ", "dim"), Span(cut(worded(words), width - 21), "key")]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(visible_line(text), max(20, width - 4))[:4]


def nothing_yet() -> str:
    """Return the words shown where there are no jobs."""
    return f"no jobs yet: {key_of('import')} imports traces, {key_of('run')} runs a candidate"


UNFINISHED = "○ part"
"""The state of a source that was not read to its end."""
COUNTS = ("records", "added", "known", "refused")


def named(path: str, width: int) -> str:
    """Return the name of a source in so many columns: of a file its own name rather than its
    folders, of a run its candidate, and of either the end, which distinguishes similar names."""
    text = visible_line(path)
    if cell_len(text) <= width:
        return text
    short = text.partition(", attempts")[0] if text.startswith("run of ") else text
    short = short.rpartition("/")[2] or short
    if short != text and cell_len(short) + 2 <= width:
        return f"…/{short}" if "/" in text else short
    return told_apart(short, width)


class SourceSheet(Sheet):
    """One source per line: the file, its reader, what was read, added, known and refused."""

    def __init__(self, width: int) -> None:
        path = max(12, width - 2 - 11 - 4 * 9 - 9 - 2 - (22 if width >= 110 else 0))
        self.columns = [Column("file", 2, path), Column("reader", 3 + path, 10)]
        x = 14 + path
        for name in COUNTS:
            self.columns.append(Column(name, x, 8))
            x += 9
        self.columns.append(Column("state", x + 1, 8))
        if width >= 110:
            self.columns.append(Column("at", x + 10, 20))
        self.header = heading(self.columns, COUNTS)

    def flag(self, row: SourceInfo) -> Span:
        return Span("!", "quarantined") if row.refused else Span(" ")

    def cells(self, row: SourceInfo) -> list[Line]:
        cells: list[Line] = [
            [Span(named(row.path, self.columns[0].width))],
            [Span(cut(visible_line(row.reader), 10), "dim")],
        ]
        for name, count in zip(
            COUNTS, (row.records, row.added, row.known, row.refused), strict=True
        ):
            style = "fail" if name == "refused" and count else "text"
            cells.append([Span(pad(f"{count:,}", 8, right=True), style)])
        state = UNFINISHED if row.state != "done" else visible_line(row.state)
        cells.append([Span(cut(state, 8), "not_measured" if row.state != "done" else "dim")])
        if self.columns[-1].key == "at":
            cells.append([Span(cut(visible_line(row.at), 20), "dim")])
        return cells


class RefusalSheet(Sheet):
    """One refused record per line: file, record, reasons, way out."""

    def __init__(self, width: int) -> None:
        path = max(14, width // 4)
        reason = max(18, (width - path - 12) // 2)
        way = max(10, width - path - 12 - reason - 2)
        sizes = [("file", path), ("record", 7), ("reason", reason), ("what to do", way)]
        self.columns = in_order(sizes)
        self.header = heading(self.columns)

    def cells(self, row: Refusal) -> list[Line]:
        widths = [column.width for column in self.columns]
        return [
            [Span(named(row.path, widths[0]))],
            [Span(f"{row.record:,}", "dim")],
            [Span(cut(visible_line(", ".join(row.reasons)), widths[2]), "fail")],
            [Span(cut(visible_line(row.way_out), widths[3]))],
        ]


def source_lines(source: SourceInfo, width: int) -> list[Line]:
    """Return the facts about a source, and what its reader found missing or doubtful."""
    lines: list[Line] = [_fact("file", source.path, width)]
    counts = f"{source.records:,} read, {source.added:,} added, {source.known:,} known"
    lines.append([*_fact("records", counts, width), Span(_refused(source.refused), "fail")])
    if source.state != "done":
        told = "not read to its end: an import is still reading it, or was stopped; {run} reads on"
        lines.append([Span(f" {UNFINISHED}  ", "not_measured"), Span(worded(told))])
    if source.suite_id or source.candidate_id:
        lines.append(_fact("for", f"{source.suite_id} {source.candidate_id}".strip(), width))
    for number, note in enumerate(source.notes):
        lines.append(_fact("notes" if not number else "", note, width))
    lines.append(_fact("at", f"{source.at}, {source.reader}", width))
    return [*lines, _fact("sha256", source.sha256, width)]


def _refused(count: int) -> str:
    return f", {count:,} refused" if count else ""


def refusal_lines(refusal: Refusal, width: int) -> list[Line]:
    """Return one refused record in full, and what to do about it."""
    lines = [_fact("file", refusal.path, width), _fact("record", f"{refusal.record:,}", width)]
    for number, reason in enumerate(refusal.reasons):
        name = "reasons" if not number else ""
        lines.append([Span(f" {name:<12}", "dim"), Span(visible_line(reason), "fail")])
    return [*lines, [Span(" what to do  ", "dim"), Span(visible_line(refusal.way_out), "strong")]]


def _fact(name: str, value: str, width: int) -> list[Span]:
    return [Span(f" {name:<12}", "dim"), Span(cut(visible_line(value), max(20, width - 15)))]
