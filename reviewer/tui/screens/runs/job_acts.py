"""Acts on jobs, runs and imports alike: pause, go on, stop, again, open."""

from reviewer.desk.errors import DeskError
from reviewer.desk.imports.views import ImportOrder, ImportView
from reviewer.desk.runs.views import RunView
from reviewer.desk.views import SourceInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.run_acts import RunActs
from reviewer.tui.screens.runs.job_sheet import JobView, at_work, name_of
from reviewer.tui.settings.keys import worded
from reviewer.tui.shell.places import ToScorecard
from reviewer.tui.widgets.words import plural

RUNNER = "run/1"
"""The reader of what runs made: they are taken up as runs."""


class JobActs(RunActs):
    """A screen with a list of jobs, and of sources."""

    def chosen_job(self) -> JobView | None:
        """The job under the cursor of its list."""
        raise NotImplementedError

    def chosen_source(self) -> SourceInfo | None:
        """The source under the cursor, where that list is in focus."""
        raise NotImplementedError

    def on_jobs(self) -> bool:
        """Whether the list of jobs is in focus."""
        raise NotImplementedError

    def chosen_run(self) -> RunView | None:
        job = self.chosen_job()
        return job if isinstance(job, RunView) else None

    def place_to_run(self) -> tuple[str, str]:
        run = self.chosen_run() if self.on_jobs() else None
        return (run.suite_id, run.candidate_id) if run else super().place_to_run()

    # steering ----------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause the job, or let it go on."""
        job = self.chosen_job()
        if not isinstance(job, ImportView):
            super().action_pause()
        elif not at_work(job):
            self.say(worded("this import has ended: {run} reads it again"))
        elif job.state == "reading":
            self.shell.importing.pause(job)
            self.say("pausing: the batch under way is written first")
        else:
            self.shell.importing.go_on(job)

    def action_stop_run(self) -> None:
        """Stop the job; a run that is stopping is asked to abandon what is at work."""
        job = self.chosen_job()
        if not isinstance(job, ImportView):
            super().action_stop_run()
        elif at_work(job):
            self.shell.importing.stop(job)
            self.say(worded("stopping: what was read stands, {run} goes on later"))
        else:
            self.say("this import has ended")

    def action_run(self) -> None:
        """Do the chosen job again, or read a source to its end; elsewhere, choose a candidate and
        run it."""
        job = self.chosen_job() if self.on_jobs() else None
        source = self.chosen_source()
        if isinstance(job, ImportView) and at_work(job):
            self.say(f"{name_of(job)} is at work")
        elif isinstance(job, ImportView):
            self._again(job.order)
        elif job is not None and not at_work(job):
            self.order_again(job)
        elif source is not None and source.state != "done" and source.reader != RUNNER:
            self._again(_order_of(source))
        else:
            super().action_run()

    def order_again(self, run: RunView) -> None:
        """The run dialog, as that run was ordered; of one that is not whole, what is missing."""
        from reviewer.tui.screens.dialogs.run_order import OrderScreen

        if self.read_only:
            super().action_run()
        else:
            self.app.push_screen(OrderScreen(run.suite_id, run.candidate_id, run), self._ordered)

    def _again(self, order: ImportOrder) -> None:
        name = visible_line(order.path.rstrip("/").rpartition("/")[2])
        self.say(f"reading {name} again: what is there already is not added twice")
        self.shell.importing.start(order, self._importing, self._not_again)

    def _not_again(self, error: DeskError) -> None:
        self.shell.problem(error)

    # opening -----------------------------------------------------------------------------------

    def open_job(self, job: JobView) -> None:
        """Its scorecard; what an import said where it brought nothing, why a run failed."""
        if isinstance(job, RunView):
            if job.problem:
                from reviewer.tui.screens.dialogs.error import ErrorScreen

                self.app.push_screen(ErrorScreen.of_run(job))
            else:
                self.shell.visit(ToScorecard(job.suite_id, job.candidate_id))
            return
        filled = [one for result in job.results for one in result.filled]
        if at_work(job) or not filled:
            from reviewer.tui.screens.runs.import_read import ImportReadScreen

            self.app.push_screen(ImportReadScreen.of_import(job))
            return
        screen = self.shell.visit(ToScorecard(filled[0].suite_id, filled[0].candidate_id))
        if len(filled) > 1:
            more = plural(len(filled) - 1, "more candidate")
            told = worded(f"the import brought {more}: {{choose}} chooses")
            self.call_after_refresh(lambda: screen.say(told))

    def read_source(self, source: SourceInfo) -> None:
        """All that was said of a source."""
        from reviewer.tui.screens.runs.import_read import ImportReadScreen

        self.app.push_screen(ImportReadScreen.of_source(source))


def _order_of(source: SourceInfo) -> ImportOrder:
    return ImportOrder(path=source.path, suite_id=source.suite_id, candidate_id=source.candidate_id)
