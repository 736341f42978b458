"""Import one file: skip known content, judge its records beside the writer, and write them."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

from reviewer.db import registry
from reviewer.db.connection import transaction
from reviewer.db.queries import imports
from reviewer.db.queries.imports import ResultRow
from reviewer.db.sources import (
    SourceRow,
    episode_map_of,
    journal_tool_map,
    open_source,
    other_imports,
    size_known,
    source_row,
)
from reviewer.db.verdict_changes import LateVerdict
from reviewer.importing.pipeline.ahead import ReadFile
from reviewer.importing.pipeline.job import AttemptName, ImportJob
from reviewer.importing.pipeline.outcome import FileResult, OnProgress, Tally
from reviewer.importing.pipeline.pool import FileScoring, Groups
from reviewer.importing.pipeline.results import ResultEntry
from reviewer.importing.pipeline.scoring import Misdirected, Scorer
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.pipeline.stored_results import StoredTrajectory, later
from reviewer.importing.pipeline.storing import Batcher
from reviewer.importing.pipeline.units import (
    STDIN,
    Unit,
    names_digest,
    placed_digest,
    unit_digest,
)
from reviewer.importing.processes import worth_processes
from reviewer.importing.reader import (
    Foreign,
    Rejected,
    by_document,
    by_record,
    foreseen,
    gives_results,
    speaks_by_place,
)
from reviewer.importing.source import EVERY, Source
from reviewer.suite.model import Suite
from reviewer.suite.tool_names import NO_MAP


class FileImport:
    """One file that is being imported. Raises Unreadable, Misdirected, OSError where it cannot
    be."""

    def __init__(self, job: ImportJob, unit: Unit, read: ReadFile | None = None) -> None:
        """Prepare the import of a file. `read` is the result of reading it in another process, if
        that was done."""
        context, options, reader = job.context, job.context.options, unit.reader
        if reader is None:
            raise Unreadable(unit.problem)
        if options.suite and not context.suites and not reader.probe:
            raise Misdirected(f"there is no suite {options.suite} in this workspace")
        self.job, self.context, self.path = job, context, unit.path
        self._read_ahead = read
        place, home = job.places.of(unit, str(unit.path))
        order = context.order(reader.name, str(unit.path), home)
        self.judge = Scorer(order, job.packer, job.catalogue)
        self.shown = unit.name or self.judge.redactor.masked(str(unit.path))
        self.source = Source(unit.path, options.candidate, unit.companions, job.joins)
        self.source.reader = reader.name
        self.source.live, self.source.lacks = options.live, unit.lacks
        self.source.wanted = options.sessions
        self.source.place, self.source.home = place, home
        held, kept = self.source.read_with, self.judge.lasting_name
        held.update(job.paths.sources(unit.holds))
        self.source.gather = partial(
            job.linked.files, reader, unit.path, options.candidate, held, kept
        )
        self.source.called = self._called
        self.source.meet = self._meet
        self.source.request_place = self._request_place
        self.size = unit.path.stat().st_size
        self._begun: SourceRow | None = None
        """The earlier import of this file, as `known` last saw it."""
        self.retried: frozenset[int] = frozenset()
        self._live = False
        self._gives_results = gives_results(self.judge.reader)
        self._late: list[tuple[StoredTrajectory, ResultEntry]] | None = None
        self.scoring = FileScoring(self.judge, order, self.source, self.size)
        try:
            known = read or not worth_processes(self.size)
            if not known and not size_known(context.connection, self.size):
                self.scoring.begin()  # no import had this size, so the file is certainly new
            self._file = read.digest if read else unit_digest(self.path, self.source.companions)
            self._part = self._file
            if options.sessions != EVERY:  # other sessions of the same file are another import
                named = (*options.sessions.ids, "of", *options.sessions.projects)
                self._part = placed_digest(self._file, ("sessions", *named))
            self.sha256 = self._part
            if unit.lacks:  # the same bytes are another version once nothing is missing
                self.sha256 = placed_digest(self._part, ("lacks", *unit.lacks))
        except BaseException:
            self.close()
            raise

    @property
    def content(self) -> str:
        """Return the digest of the file's bytes, and of its companions'."""
        return self._file

    def close(self) -> None:
        """Stop the judging processes, if there are any."""
        self.scoring.close()

    def known(self) -> FileResult | None:
        """Return the result for a file that was imported before and contains nothing new; None for
        others."""
        source = self._begun = self._row()
        if source is None or source.state != "done":
            return None
        self.retried = imports.quarantined(self.context.connection, source.id)
        if self.retried:
            return None
        self.close()
        note = "this very file was imported before"
        if self.job.maps.get(source.id, NO_MAP) != self.context.options.tools:
            note += ", under another map of tools: it is judged as it was then"
        bound = tuple(
            f"{self.judge.redactor.masked(name)} is known by its manifest now"
            for name in self._bound(source.id)
        )
        return FileResult(
            self.shown, source.reader, self.sha256, "known", source.records, 0,
            source.added + source.known, 0, (note, *bound), (),
        )  # fmt: skip

    def _bound(self, source: int) -> list[str]:
        """Bind candidates of the file that had no manifest when it was imported, and have one
        now."""
        context, named = self.context, []
        for suite_id, candidate_id in registry.unbound(context.connection, source):
            manifest = context.manifests(suite_id, candidate_id)
            suite = registry.suite_row(context.connection, suite_id)
            if manifest is None or suite is None:
                continue
            with transaction(context.connection, context.store):
                registry.register_candidate(
                    context.connection, suite, candidate_id,
                    manifest.candidate, manifest.raw, context.now(),
                )  # fmt: skip
            named.append(candidate_id)
        return named

    def judged(self) -> Groups:
        """Yield the judged content of the file, after `known` was called; nothing is written yet.
        Raises Unreadable after the readable part."""
        done = self._done(self._begun)
        if self._read_ahead is None or done or self.retried or not self._answers(self._read_ahead):
            yield from self._groups(done)
            return
        for group, end in self._read_ahead.judged():
            yield self.judge.meet(group), end
        self.source.notes.update(self._read_ahead.notes)
        self.source.sums_up = self._read_ahead.sums_up

    def _answers(self, read: ReadFile) -> bool:
        """Return whether the reader's questions in another process have the answer that was assumed
        there: none. Asking the same question twice changes no answer, so the file can still be read
        here."""
        source = self.source
        told: dict[str, Callable[..., Any]] = {
            "near": source.gather,
            "names": source.called,
            "place": source.request_place,
            "result": lambda instance_id, *_, **__: source.joins.knows(instance_id),
        }
        if any(told[one.of](*one.asked, **one.named) for one in read.asked):
            return False
        for one in read.asked:
            if one.of == "result":
                source.joins.take(*one.asked, **one.named)  # records the run, and returns nothing
        return True

    def written(
        self,
        on_progress: OnProgress = lambda done, size, tally: None,
        groups: Groups | None = None,
        within: bool = False,
    ) -> FileResult:
        """Write the judged groups. `within` means that the caller has begun the transaction, wants
        all of it in one, and has called `known` in it."""
        context, reader = self.context, self.judge.reader
        source = (self._begun if within else self._row()) or self._open(within)
        if self.job.maps.setdefault(source.id, context.options.tools) != context.options.tools:
            raise Misdirected(
                "this very file was begun under another map of tools: import it with that one"
            )
        done = self._done(source)
        start = Tally(source.records, source.added, source.known, source.refused)
        if self._gives_results and source.state != "done":
            start = Tally(0, source.added, 0, 0)
        if not self._gives_results:
            self.job.read.add(source.id)
        suites: Mapping[str, Suite] = {suite.suite_id: suite for suite in context.suites}
        if self.judge.probing:
            suites = self.judge.probe_suites  # grows with the names in the records
        beside = (self.judge.redactor.masked(str(other)) for other in self.source.companions)
        earlier = self.job.paths.sources((self.shown, *beside))
        # Where a path names the candidate, another path belongs to another candidate.
        placed = speaks_by_place(reader) and not context.options.candidate
        siblings = [] if placed else other_imports(context.connection, source.id)
        batcher = Batcher(
            context.connection,
            context.store,
            source.id,
            start,
            suites,
            context.manifests,
            context.now,
            self.retried,
            share_evidence=self.judge.probing,
            number_on=reader.probe,
            earlier=earlier - {source.id},
            begin=nullcontext if within else None,
            revises=True,
            siblings=siblings,
            own_names=self._own_names() if siblings else None,
            path=self.shown,
            again=self.judge.again,
            candidate_given=bool(context.options.candidate),
            relied_on=partial(context.relied_on, context.connection),
        )
        if (tools := context.options.tools) != NO_MAP:
            names = ", ".join(f"{theirs} is {ours}" for theirs, ours in tools.names)
            text = f"tools named by the import map {tools.digest}: {names}"
            batcher.outcome.notes.setdefault(self.judge.redactor.masked(text), 1)
        for trajectory, entry in self._said_late():
            batcher.say_late(self._late_of(trajectory.row, entry))
        problem = self._read(batcher, groups or self._groups(done), done, on_progress)
        if self._gives_results and not problem:
            batcher.clear_rest()
        self.close()
        self.scoring.note(batcher.outcome.notes)  # the notes from the end of the file
        batcher.flush(done=True)
        outcome, tally = batcher.outcome, batcher.tally
        added = tally.added - start.added
        return FileResult(
            self.shown,
            reader.name,
            self.sha256,
            "imported" if added or not tally.refused else "refused",
            tally.records,
            added,
            tally.known - start.known + start.added,
            tally.refused,
            outcome.note_lines(),
            tuple(outcome.refusals),
            problem,
            tuple(outcome.flagged),
            batcher.filled(),
            tuple(outcome.beside),
        )

    def _called(self, names: Iterable[str]) -> tuple[str, str, str] | None:
        """Return the names of the attempt of which this file contains a part: it keeps its
        names."""
        options = self.context.options
        suites = {suite.suite_id for suite in self.context.suites}
        for one in self.job.linked.called(map(self.judge.lasting_name, names)):
            private = one.suite_id in suites
            if private is self.judge.probing or options.candidate not in ("", one.candidate_id):
                continue
            if not options.suite or one.suite_id == options.suite:
                return one.suite_id if self.judge.probing else "", one.candidate_id, one.episode_id
        return None

    def _meet(self, names: Iterable[str], candidate_id: str, episode_id: str) -> None:
        suite_id = self.judge.own_suite()
        kept = map(self.judge.lasting_name, names)
        self.job.linked.meet(kept, AttemptName(suite_id, candidate_id, episode_id))

    def _request_place(self, name: str, request: Any) -> int:
        """Return which of the episodes of a name has this first request, from 0. In a private suite
        the map says which episode a name means."""
        if not self.judge.probing:
            return 0
        suite_id, mask = self.judge.own_suite(), self.judge.redactor.mask
        return self.job.requests.place(suite_id, name, request, mask)

    def _row(self) -> SourceRow | None:
        """Return the earlier import of this same file. A file with the same bytes is another one
        when a part of its content is in its path."""
        found = self._row_of(self.sha256)
        names = names_digest(self.context.options.episodes)
        if found is not None and episode_map_of(self.context.connection, found.id) != names:
            # Under another map it is evidence of other episodes: a separate import.
            self.sha256 = placed_digest(self._part, ("map", names))
            found = self._row_of(self.sha256)
        unfinished = found is None or found.state != "done"
        if self.context.options.live and unfinished and not self._live:
            # Read while it is written, its end may be missing: reading the finished file is another
            # import.
            self.sha256, self._live = placed_digest(self.sha256, ("live",)), True
            return self._row_of(self.sha256)
        reader = self.judge.reader
        elsewhere = found is not None and self.shown not in (STDIN, found.path)
        if found is not None and elsewhere and speaks_by_place(reader):
            place = reader.placed(self.path)
            if place != reader.placed(Path(found.path)):
                self.sha256 = placed_digest(self.sha256, place)
                return self._row_of(self.sha256)
        return found

    def _row_of(self, sha256: str) -> SourceRow | None:
        options = self.context.options
        connection = self.context.connection
        return source_row(connection, sha256, options.suite, options.candidate)

    def _own_names(self) -> dict[int, str]:
        """Return the candidate that each record itself names, where the import is for another
        one."""
        if not self.context.options.candidate:
            return {}
        reader, stem = self.judge.reader, self.judge.reader.candidate_id(self.path)
        source = Source(self.path, "", self.source.companions)
        source.wanted = self.source.wanted
        found: dict[int, str] = {}
        with suppress(Unreadable, OSError), foreseen("", Unreadable, OSError):
            if by_record(reader):
                for piece in source.pieces():
                    with suppress(Rejected):
                        found[piece.number] = _candidate_named(reader.read(piece.raw, "").raw)
            elif by_document(reader):
                for number, one in enumerate(reader.traces(source), 1):
                    if isinstance(one, Foreign):
                        found[number] = _candidate_named(one.raw)
        nobody = {"", "unnamed", stem, self.path.stem}
        return {number: name for number, name in found.items() if name not in nobody}

    def _done(self, source: SourceRow | None) -> int:
        """Return how many records need not be read again. The attempts from a result file depend on
        what other files took of it, so it is read from its beginning; what is stored already is
        known."""
        return 0 if source is None or self._gives_results else source.records

    def _open(self, within: bool) -> SourceRow:
        """Record that the file is being read; another process may have begun it meanwhile."""
        context, reader = self.context, self.judge.reader
        with nullcontext() if within else transaction(context.connection, context.store):
            opened = open_source(
                context.connection,
                {
                    "sha256": self.sha256,
                    "path": self.shown,
                    "size": self.size,
                    "reader": f"{reader.name}/{reader.version}",
                    "suite": context.options.suite,
                    "candidate": context.options.candidate,
                    "at": context.now(),
                },
                file=self._file,
                names=names_digest(context.options.episodes),
            )
            tools = context.options.tools
            if tools != NO_MAP and opened.id not in self.job.maps:
                journal_tool_map(context.connection, opened.id, tools, context.now())
                self.job.maps[opened.id] = tools
            return opened

    def _said_late(self) -> list[tuple[StoredTrajectory, ResultEntry]]:
        """Return what the file states about trajectories that were imported before: looked up
        before the remaining results become attempts."""
        if self._late is None:
            job, path, notes = self.job, str(self.path), self.source.notes
            found = later(job.joins, job.stored, path, job.read, notes)
            self._late = list(found) if self._gives_results else []
        return self._late

    def _late_of(self, row: ResultRow, entry: ResultEntry) -> LateVerdict:
        detail = self.judge.detail(entry.verdict)
        word = entry.verdict.passed, entry.verdict.reward
        return LateVerdict(row.candidate, row.episode, row.attempt, *word, detail)

    def _read(self, batcher: Batcher, groups: Groups, done: int, on_progress: OnProgress) -> str:
        """Read every record not yet read; return why reading stopped early, if it did."""
        try:
            for group, end in groups:
                batcher.take(group)
                if batcher.full():
                    batcher.flush()
                    on_progress(end, self.size, batcher.tally)
        except Unreadable as error:
            number = max(batcher.tally.records, done) + 1
            batcher.refuse(self.judge.refusal(number, (f"unreadable:{error}",)))
            return self.judge.redactor.masked(str(error))
        if batcher.tally.records == 0 and not done and not self._joined(batcher):
            batcher.refuse(self.judge.refusal(0, ("unreadable:no record in it",)))
            return "empty: no record in it"
        on_progress(self.size, self.size, batcher.tally)
        return ""

    def _joined(self, batcher: Batcher) -> bool:
        """Return whether the whole file is about attempts of other files; notes on it are kept."""
        joined = self._gives_results and bool(self.job.joins.instances(str(self.path)))
        texts = ("all of it was joined to attempts of other files",) if joined else ()
        if not joined and not self.source.sums_up:
            return False
        self.scoring.note(batcher.outcome.notes)
        for text in texts:
            batcher.outcome.notes.setdefault(text, 1)
        return True

    def _groups(self, done: int) -> Groups:
        with foreseen(self.judge.reader.name, Misdirected):
            self._said_late()
            yield from self.scoring.groups(done, self.retried)


def _candidate_named(raw: bytes) -> str:
    """Return the candidate that a native record names."""
    name = json.loads(raw).get("candidate_id")
    return name if isinstance(name, str) else ""
