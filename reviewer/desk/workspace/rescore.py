"""Judge stored traces again, against the frozen suites under which they were imported.

A page of traces is written at a time, so that others can write in between, and a walk that was cut
off continues where it stopped.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from reviewer.db import count_blocks, registry
from reviewer.db.connection import Connection, close_writer, one_moment, transaction
from reviewer.db.counts import rebuild_firsts, rebuild_rolls, wrong_firsts, wrong_rolls
from reviewer.db.figure_blocks import missing_blocks, put_blocks, wrong_blocks
from reviewer.db.integrity import content_faults
from reviewer.db.rescoring import (
    Batches,
    ChangedElsewhere,
    Differs,
    Reached,
    next_rescored,
    put_reached,
    reached,
    recorded_since,
    span_of,
    still_so,
    write_verdicts,
)
from reviewer.db.schema import open_writer
from reviewer.db.sources import origins
from reviewer.desk.errors import DeskError
from reviewer.desk.imports.importing import clock
from reviewer.desk.place import Workspace
from reviewer.desk.suites import ready_suite
from reviewer.desk.workspace.judging_again import Judged, Judging, judged_pages
from reviewer.judging import judging_version

OnProgress = Callable[[int, int], None]
"""Called with how many traces were looked at, and of how many."""
KEPT_EVERY = 2.0
"""Seconds after which the progress is saved although nothing changed."""
WRITE = 200
"""Most traces that one transaction changes: nobody else can write meanwhile."""
BREATH = 0.01
"""Seconds between two writes: others try to get the lock every few milliseconds."""


class Change(NamedTuple):
    """A trace whose codes changed, and the versions of the code that gave them; the first is empty
    where it is not known."""

    trace_id: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    code_before: str = ""
    code_after: str = ""


def rescore(
    workspace: Workspace, suite_id: str, progress: OnProgress | None = None
) -> tuple[list[Change], int]:
    """Score every stored payload of one private suite, or of all. A trace without a payload keeps
    its verdict: a redaction failure is never erased. So does a trace that was judged before
    something in it was masked, since the masked text can no longer show it. Return the changes and
    how many traces were scored, including those of the same walk that was cut off before. Raises
    DeskError for a broken suite."""
    if not workspace.store.exists():
        raise DeskError("the store is empty", "reviewer import adds traces")
    connection = open_writer(workspace.store)
    try:
        rows = [row for row in registry.suites(connection) if not row.probe]
        if suite_id:
            rows = [row for row in rows if row.suite_id == suite_id]
            if not rows:
                raise DeskError(
                    f"no trace of a private suite {suite_id} is in this store",
                    "reviewer scorecard lists suites and candidates",
                )
        with one_moment(connection):
            wrong = content_faults(connection)
        if wrong:
            # Judging again would add a new digest over changes made by other means, and hide them.
            raise _not_as_told("; ".join(wrong[:5]))
        return _Walk(workspace, connection, rows, suite_id, progress).run()
    except ChangedElsewhere as error:
        raise _not_as_told(str(error)) from error
    finally:
        close_writer(connection, workspace.store)


def _not_as_told(what: str) -> DeskError:
    return DeskError(
        f"the store does not match its journal: {what}",
        "reviewer doctor lists everything that is wrong; restore a backup",
    )


class _Walk:
    """One walk over the traces of some suites."""

    def __init__(
        self,
        workspace: Workspace,
        connection: Connection,
        rows: list[registry.SuiteRow],
        asked: str,
        progress: OnProgress | None,
    ) -> None:
        self._store, self._connection = workspace.store, connection
        self._workspace, self._rows = workspace, rows
        self._progress = progress or (lambda done, of: None)
        self._batches = Batches()
        self._found: list[tuple[tuple[int, str, int, int], Change]] = []
        self._seen = self._of = 0
        self._kept_at = time.monotonic()
        digests = {row.suite_id: row.digest for row in rows}
        now = judging_version()
        self._at = Reached(now, asked, digests, "", 0, 0, next_rescored(connection), 0)
        self._kept = False
        if (before := reached(connection, now, asked, digests)) is not None:
            self._at, self._kept = before, True

    def run(self) -> tuple[list[Change], int]:
        places = {row.suite_id: place for place, row in enumerate(self._rows)}
        if self._kept:
            for one in recorded_since(self._connection, self._at.first):
                _, episode, attempt = one.slot
                prefix = f"{one.suite_id}/{one.candidate_id}/{one.episode_id}"
                told = Change(f"{prefix}/{attempt}", *one[4:])
                order = places[one.suite_id], one.candidate_id, episode, attempt
                self._found.append((order, told))
        spans = []
        for row in self._rows:
            keys = [one.id for one in registry.candidates(self._connection, row.id)]
            spans.append(span_of(self._connection, keys))
        self._of = sum(count for _, _, count in spans)
        reached_suite = places.get(self._at.suite, 0)
        for place, row in enumerate(self._rows):
            first, last, count = spans[place]
            if place < reached_suite:
                self._seen += count
                continue
            if row.suite_id == self._at.suite:
                first = max(first, self._at.trace + 1)
            self._suite(row, place, first, last)
        self._mend_blocks()
        if self._kept:
            with transaction(self._connection, self._store):
                put_reached(self._connection, None)
        self._found.sort(key=lambda one: one[0])
        return [change for _, change in self._found], self._at.scored

    def _suite(self, row: registry.SuiteRow, place: int, first: int, last: int) -> None:
        held = ready_suite(self._workspace, self._connection, row.suite_id)
        judging = Judging(self._connection, held.suite, origins(self._connection))
        plans = {
            key: registry.plan_of(held.suite, one.planned)
            for key, one in judging.candidates.items()
        }
        try:
            for page in judged_pages(self._connection, self._store, judging, first, last):
                self._take(judging, place, plans, page)
        except ChildProcessError as error:
            raise DeskError(
                "a process that scored was ended from outside; what was scored is kept",
                "reviewer score continues where it stopped",
            ) from error
        for key, plan in plans.items():
            with one_moment(self._connection):
                wrong = wrong_rolls(self._connection, key, plan)
                wrong = wrong or wrong_firsts(self._connection, key, plan)
            if wrong:
                with transaction(self._connection, self._store):
                    rebuild_rolls(self._connection, key, plan)
                    rebuild_firsts(self._connection, key, plan)

    def _mend_blocks(self) -> None:
        """Rebuild the blocks of figures and of counts that contradict their rows or are missing."""
        with one_moment(self._connection):
            blocks = [*wrong_blocks(self._connection), *missing_blocks(self._connection)]
        while blocks:
            some, blocks = blocks[:WRITE], blocks[WRITE:]
            with transaction(self._connection, self._store):
                put_blocks(self._connection, some)
            time.sleep(BREATH)
        with one_moment(self._connection):
            wrong = count_blocks.wrong_count_blocks(self._connection)
        if wrong:
            with transaction(self._connection, self._store):
                count_blocks.forget(self._connection, wrong)
        count_blocks.catch_up(self._connection, self._store)

    def _take(
        self, judging: Judging, place: int, plans: dict[int, registry.Plan], page: Judged
    ) -> None:
        """Write the changes of a page, and the progress of the walk."""
        suite_id, span = judging.suite.suite_id, (page.first, page.last)
        self._seen += page.seen
        self._at = Reached(
            *(self._at.code, self._at.asked, self._at.suites, suite_id, page.last),
            *(self._at.scored + page.scored, self._at.first, 0),
        )
        differs = page.differs
        if page.here:
            differs += judging.page(self._connection, *span, frozenset(page.here)).differs
        differs.sort(key=lambda one: _order(judging, place, one))
        while differs:
            some, differs = differs[:WRITE], differs[WRITE:]
            others = self._write(judging, place, plans, some, not differs)
            time.sleep(BREATH)
            # Traces that others changed meanwhile are judged in their present state.
            if others:
                differs += judging.page(self._connection, *span, frozenset(others)).differs
        if time.monotonic() - self._kept_at > KEPT_EVERY:
            with transaction(self._connection, self._store):
                self._keep()
        self._progress(self._seen, self._of)

    def _write(
        self,
        judging: Judging,
        place: int,
        plans: dict[int, registry.Plan],
        some: list[Differs],
        last: bool,
    ) -> list[int]:
        """Write changes in one transaction, with the last trace of the page as the progress. Return
        the traces that are no longer as they were read."""
        suite_id, versions = judging.suite.suite_id, list[tuple[str, str]]()
        with transaction(self._connection, self._store):
            same, others = still_so(self._connection, some)
            if same:
                versions = write_verdicts(
                    self._connection, suite_id, same, plans, self._batches, clock()
                )
            if last and not others:
                self._keep()
        told = [one for one in same if one.other]
        for one, (before, after) in zip(told, versions, strict=True):
            order = _order(judging, place, one)
            name = f"{suite_id}/{order[1]}/{judging.names[order[2]]}/{order[3]}"
            self._found.append((order, Change(name, one.before, one.after, before, after)))
        return others

    def _keep(self) -> None:
        put_reached(self._connection, self._at)
        self._kept, self._kept_at = True, time.monotonic()


def _order(judging: Judging, place: int, one: Differs) -> tuple[int, str, int, int]:
    candidate, episode, attempt = one.slot
    return place, judging.candidates[candidate].candidate_id, episode, attempt
