"""Runs and imports: the jobs, the sources of the evidence, and the refused records."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.imports.api import ImportOrder, ImportView
from reviewer.desk.runs.api import RunView
from reviewer.desk.views import Refusal, SourceInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.screens.run_acts import RUN_HINTS, RUN_KEYS, RunActs
from reviewer.tui.screens.runs.sheets import (
    CURSOR,
    JobSheet,
    JobView,
    RefusalSheet,
    SourceSheet,
    at_work,
    job_lines,
    jobs_of,
    name_of,
    nothing_yet,
    refusal_lines,
    source_lines,
)
from reviewer.tui.settings.keys import bind, worded
from reviewer.tui.shell.places import ToScorecard
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Block, Line, Span, plain
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.words import plural

GRIDS = ("#jobs", "#sources", "#refusals")


RUNNER = "run/1"
"""The reader of files that runs wrote: they are listed as runs."""


class RunsScreen(DeskScreen):
    """This process's jobs if there are any, then sources, then refused records; all live. Below is
    the text about the line with the cursor."""

    NAME = "runs"
    SIZED = ("said",)
    ABOUT = (
        "You are asked: where does the evidence come from, and what was left out?",
        "A refused record is kept in quarantine by place and reason, never by value.",
    )
    ENTER = "its scorecard; what was read"
    CSS = """
    RunsScreen Grid { height: 1fr; }
    RunsScreen #jobs.-none { display: none; }
    RunsScreen #said { height: 6; }
    RunsScreen.-tall #said { height: 14; }
    """
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("jk", "line", "screen.line(1)"),
        ("n", "next refused", "screen.refused_record(1)"),
        ("Enter", "open", "screen.whole"),
        ("tab", "region", "app.focus_next"),
        ("r", "run, again", "screen.run"),
        ("i", "import", "screen.import_traces"),
        ("o", "log", "screen.pager"),
        ("y", "copy", "screen.copy_path"),
        ("?", "help", "app.explain"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("n", "refused_record(1)", "next refused record"),
        bind("N", "refused_record(-1)", "refused record before"),
        bind("y", "copy_path", "copy the path"),
        bind("o", "pager", "its log in $PAGER", "What the job said, in $PAGER."),
        *RUN_KEYS,
    ]

    def __init__(self) -> None:
        super().__init__()
        self.steering = RunActs(self, self._chosen_run)
        self.jobs: list[JobView] = []
        self.sources: list[SourceInfo] = []
        self.refusals: list[Refusal] = []
        self._spoken = "#sources"

    def regions(self) -> Iterable[Widget]:
        yield Grid(JobSheet, lambda keys: self.jobs[keys[0] : keys[-1] + 1], id="jobs")
        yield Grid(SourceSheet, lambda keys: self.sources[keys[0] : keys[-1] + 1], id="sources")
        yield Grid(RefusalSheet, lambda keys: self.refusals[keys[0] : keys[-1] + 1], id="refusals")
        yield TextView(id="said")

    def on_mount(self) -> None:
        self.head([[Span(" reading…", "dim")]])
        self.foot()
        self.query_one("#jobs", Grid).column = CURSOR
        self._draw_jobs()
        self.query_one("#jobs" if self.jobs else "#sources").focus()
        self._read()

    # reading -----------------------------------------------------------------------------------

    def _read(self) -> None:
        desk = self.shell.desk
        self.ask("runs", lambda: (desk.imports.sources(), desk.imports.refusals()), self._take)

    def store_changed(self) -> None:
        super().store_changed()
        self._read()

    def runs_changed(self) -> None:
        super().runs_changed()
        self._draw_jobs()

    def imports_changed(self) -> None:
        super().imports_changed()
        self._draw_jobs()

    def _draw_jobs(self) -> None:
        found = self.query("#jobs")
        if not found:
            return
        grid = found.first(Grid)
        here = self._key(grid.row)
        self.jobs = jobs_of(self.shell.live.views, self.shell.importing.views)
        grid.set_class(not self.jobs, "-none")
        if len(grid.keys) != len(self.jobs):
            keys = [self._key(n) for n in range(len(self.jobs))]
            grid.set_keys(range(len(self.jobs)), keys.index(here) if here in keys else 0)
        grid.reload()
        working = sum(at_work(job) for job in self.jobs)
        grid.caption(
            [Span(f"jobs {len(self.jobs):,}", "strong")],
            [Span(f"{working:,} running, newest first", "dim")],
        )
        self._tell()
        self.foot()

    def _key(self, number: int) -> tuple[str, int] | None:
        """Identify the job on a line."""
        if number >= len(self.jobs):
            return None
        job = self.jobs[number]
        return type(job).__name__, job.number

    def _take(self, found: tuple[list[SourceInfo], list[Refusal]]) -> None:
        self.sources, self.refusals = found
        self._seen = self.shell.version
        for name, count in (("#sources", len(self.sources)), ("#refusals", len(self.refusals))):
            grid = self.query_one(name, Grid)
            if len(grid.keys) != count:
                grid.set_keys(range(count), grid.row)
            grid.reload()
        added = sum(source.added for source in self.sources)
        self.head(
            [
                [
                    Span(f"{plural(len(self.sources), 'source')}", "strong"),
                    Span(f"   {plural(added, 'trace')} added   ", "dim"),
                    Span(
                        f"{plural(len(self.refusals), 'record')} refused",
                        "fail" if self.refusals else "dim",
                    ),
                ]
            ]
        )
        self.query_one("#sources", Grid).caption(
            [Span(f"sources {len(self.sources):,}", "strong")], [Span("newest first", "dim")]
        )
        self.query_one("#refusals", Grid).caption(
            [Span(f"refused {len(self.refusals):,}", "strong")],
            [Span("kept in quarantine, values not stored", "dim")],
        )
        self._tell()

    # drawing -----------------------------------------------------------------------------------

    @property
    def active(self) -> Grid:
        """The list in focus; while the text below is in focus, the list that the text is about."""
        for name in GRIDS:
            if self.query_one(name, Grid).has_focus:
                self._spoken = name
        return self.query_one(self._spoken, Grid)

    def on_descendant_focus(self) -> None:
        self._tell()
        self.foot()

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self._tell()

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height >= 36, "-tall")
        super().on_resize(event)
        self._tell()

    def _tell(self) -> None:
        """Show the text about the line with the cursor."""
        if not self.is_mounted or not self.query("#said"):
            return
        title, lines = self._said(self.columns)
        blocks = [Block("", head=line) for line in lines]
        self.query_one("#said", TextView).update(blocks, [Span(title, "strong")])

    def _said(self, width: int) -> tuple[str, Sequence[Line]]:
        row = self.active.current
        if isinstance(row, RunView | ImportView):
            return name_of(row), job_lines(row, width)
        if isinstance(row, SourceInfo):
            return "source", source_lines(row, width)
        if isinstance(row, Refusal):
            return "refused record", refusal_lines(row, width)
        empty = {"#refusals": "no record was refused"}.get(self._spoken, nothing_yet())
        return "nothing here", [[Span(f" {empty}", "dim")]]

    def hints(self) -> Iterable[Hint]:
        if not any(at_work(job) for job in self.jobs):
            return self.HINTS
        return (self.HINTS[0], *RUN_HINTS, *self.HINTS[1:])

    # acts --------------------------------------------------------------------------------------

    def chosen_job(self) -> JobView | None:
        row = self.query_one("#jobs", Grid).current
        return row if isinstance(row, RunView | ImportView) else None

    def chosen_source(self) -> SourceInfo | None:
        row = self.active.current
        return row if isinstance(row, SourceInfo) else None

    def on_jobs(self) -> bool:
        return self._spoken == "#jobs" if self.active is not None else False

    def action_line(self, step: int) -> None:
        """Move to the next line of the region in focus."""
        self.active.action_move(step)

    def action_refused_record(self, step: int) -> None:
        """Move to the next refused record."""
        grid = self.query_one("#refusals", Grid)
        if grid.has_focus:
            grid.action_move(step)
        grid.focus()

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        self.action_whole()

    def action_whole(self) -> None:
        """Open the scorecard of a job or the reason why it failed; of a source, all that is known
        about it."""
        row = self.active.current
        if isinstance(row, RunView | ImportView):
            self.open_job(row)
        elif isinstance(row, Refusal):
            words = f"{row.path} record {row.record}: {', '.join(row.reasons)}. {row.way_out}"
            self.say(visible_line(words), "text")
        elif isinstance(row, SourceInfo):
            self.read_source(row)

    def action_pager(self) -> None:
        """Open the text about this line in $PAGER."""
        from reviewer.tui.widgets.textview import open_in_pager

        if not open_in_pager(self.app, plain(self._said(10_000)[1])):
            self.say("no pager can be opened here: tab goes to the text, which scrolls")

    def action_copy_path(self) -> None:
        """Copy the path of the line under the cursor; of a run, its candidate."""
        row = self.active.current
        if isinstance(row, RunView):
            self.copy(row.candidate_id, "candidate")
        elif isinstance(row, ImportView):
            self.copy(row.order.path or row.order.named, "path")
        elif row is not None:
            self.copy(row.path, "path")

    # steering ----------------------------------------------------------------------------------

    def _chosen_run(self) -> RunView | None:
        job = self.chosen_job()
        return job if isinstance(job, RunView) else None

    def action_import_traces(self) -> None:
        """Ask for traces to import."""
        self.steering.import_traces()

    def action_pause(self) -> None:
        """Pause the job, or resume it."""
        job = self.chosen_job()
        if not isinstance(job, ImportView):
            self.steering.pause()
        elif not at_work(job):
            self.say(worded("this import has ended: {run} reads it again"))
        elif job.state == "reading":
            self.shell.importing.pause(job)
            self.say("pausing: the batch under way is written first")
        else:
            self.shell.importing.go_on(job)

    def action_stop_run(self) -> None:
        """Stop the job; for a run that is stopping, ask whether to abandon the attempts at work."""
        job = self.chosen_job()
        if not isinstance(job, ImportView):
            self.steering.stop()
        elif at_work(job):
            self.shell.importing.stop(job)
            self.say(worded("stopping: what was read is kept, {run} continues later"))
        else:
            self.say("this import has ended")

    def action_run(self) -> None:
        """Repeat the chosen job, or read a source to its end; with no job or source chosen, choose
        a candidate and run it."""
        job = self.chosen_job() if self.on_jobs() else None
        source = self.chosen_source()
        if isinstance(job, ImportView) and at_work(job):
            self.say(f"{name_of(job)} is running")
        elif isinstance(job, ImportView):
            self._again(job.order)
        elif job is not None and not at_work(job):
            self.steering.run(job.suite_id, job.candidate_id, job)
        elif source is not None and source.state != "done" and source.reader != RUNNER:
            self._again(_order_of(source))
        elif job is not None:
            self.steering.run(job.suite_id, job.candidate_id)
        else:
            self.steering.run(self.shell.suite_id, self.shell.candidate_id)

    def _again(self, order: ImportOrder) -> None:
        name = visible_line(order.named)
        self.say(f"reading {name} again: what is there already is not added twice")
        self.shell.importing.start(order, self.steering.importing, self.shell.problem)

    # opening -----------------------------------------------------------------------------------

    def open_job(self, job: JobView) -> None:
        """Open the job's scorecard; for an import that added nothing its results, for a failed run
        the reason."""
        if isinstance(job, RunView):
            if job.problem:
                from reviewer.tui.screens.dialogs.error import ErrorScreen

                self.app.push_screen(ErrorScreen.of_run(job))
            else:
                self.shell.visit(ToScorecard(job.suite_id, job.candidate_id))
            return
        filled = [one for result in job.results for one in result.filled]
        if at_work(job) or not filled:
            from reviewer.tui.screens.runs.dialogs import ImportReadScreen

            self.app.push_screen(ImportReadScreen.of_import(job))
            return
        screen = self.shell.visit(ToScorecard(filled[0].suite_id, filled[0].candidate_id))
        if len(filled) > 1:
            more = plural(len(filled) - 1, "more candidate")
            told = worded(f"the import brought {more}: {{choose}} chooses")
            self.call_after_refresh(lambda: screen.say(told))

    def read_source(self, source: SourceInfo) -> None:
        """Open all that is known about a source."""
        from reviewer.tui.screens.runs.dialogs import ImportReadScreen

        self.app.push_screen(ImportReadScreen.of_source(source))


def _order_of(source: SourceInfo) -> ImportOrder:
    return ImportOrder(path=source.path, suite_id=source.suite_id, candidate_id=source.candidate_id)
