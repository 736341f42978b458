"""The report of a candidate: building it from one reading of the store, and writing it out."""

from __future__ import annotations  # names used only in annotations are not imported

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from reviewer.db import contracts, decisions, journal, registry
from reviewer.db.connection import Connection, StoreError, one_moment
from reviewer.db.payload_archives import archive_rows
from reviewer.db.tables import JUDGMENTS, LABELS, LEAKS, NOTES
from reviewer.desk import stopping, suites
from reviewer.desk.drafts import no_evidence
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.integrity.label_files import file_names, label_files_state, missing_labels
from reviewer.desk.integrity.store_checks import StoreCheck, missing_failures, require_archives
from reviewer.desk.kept import Answer, Shelf
from reviewer.desk.labels.book import Book
from reviewer.desk.labels.counted import SignedLabels
from reviewer.desk.made_of import MadeOf
from reviewer.desk.opened import Room
from reviewer.desk.place import Workspace, write_private
from reviewer.desk.proofs import is_proved
from reviewer.desk.reports import renderings
from reviewer.desk.reports.baseline import promoted_of
from reviewer.desk.reports.evidence import MomentTotals, read_evidence
from reviewer.desk.reports.opinions import (
    LabelSources,
    judge_evidence,
    review_evidence,
    review_holds,
)
from reviewer.desk.reports.other_versions import same_episodes
from reviewer.desk.suites import (
    CandidateManifest,
    ReadySuite,
    ready_for_report,
    ready_outline,
    with_outline,
)
from reviewer.desk.traces.records import FinalMessages
from reviewer.exit_codes import ExitCode
from reviewer.report.assess import Assessment, assess
from reviewer.report.evidence import Evidence, LineageSuite, Look
from reviewer.suite.release import RELEASE_FILE

if TYPE_CHECKING:
    from reviewer.desk.judge.book import JudgeBook
    from reviewer.desk.reports.costs import EnteredCost, NewCost
    from reviewer.desk.reports.release import BuiltRelease, ExportedRelease
    from reviewer.report.evidence import CostEntry
    from reviewer.report.model import Report
    from reviewer.report.page_parts import Supplement


_MOST_ROWS = 100_000
"""Most episodes and failing traces in the reports that a process caches: this many take 200 MB."""


class CandidateReport:
    """One report with the values it was computed from; its bytes are rendered on first use."""

    def __init__(self, gathered: Evidence, assessment: Assessment) -> None:
        self.gathered = gathered
        self.assessment = assessment

    @cached_property
    def report(self) -> Report:
        from reviewer.report.build import report

        return report(self.gathered, self.assessment)

    @cached_property
    def raw(self) -> bytes:
        """Return the bytes of report.json."""
        from reviewer.report.model import report_bytes

        return report_bytes(self.report)

    @cached_property
    def digest(self) -> str:
        """Return the sha256 of report.json, hex."""
        return hashlib.sha256(self.raw).hexdigest()

    def write(self, path: Path) -> str:
        """Write report.json without all of it in memory; return its sha256."""
        if "raw" in vars(self):
            write_private(path, self.raw)
            return self.digest
        from reviewer.report.model import report_parts

        found = hashlib.sha256()

        def parts() -> Iterator[bytes]:
            for part in report_parts(self.report):
                found.update(part)
                yield part

        write_private(path, parts())
        vars(self)["digest"] = found.hexdigest()
        return self.digest

    @property
    def exit_code(self) -> int:
        promoted = self.assessment.recommendation == "promote"
        return ExitCode.DONE if promoted else ExitCode.NOT_PROMOTED


class CandidateAssessment(NamedTuple):
    """A recommendation and what it is based on. `made_of` stays the same as long as both do; None
    where this cannot be said."""

    gathered: Evidence
    assessment: Assessment
    made_of: MadeOf | None = None


class PrintableReport(NamedTuple):
    """A report and the additional content of its renderings."""

    built: CandidateReport
    beside: Supplement


class ExportedReport(NamedTuple):
    """A written report: (path, sha256) of each of its files, and the paths of files of another
    report that an earlier export left there."""

    built: CandidateReport
    files: tuple[tuple[str, str], ...]
    exit_code: int
    left: tuple[str, ...] = ()


class Together(NamedTuple):
    """The release in which a suite is judged: its id, and the digests of its gates. A candidate may
    be run on each of these suites without a reason by a person."""

    release_id: str
    suites: frozenset[str]


_ReportKey = tuple[str, str, str | None, Together | None]
"""Suite, candidate, baseline, and the release of several suites."""


def _weight(gathered: Evidence) -> int:
    return len(gathered.episodes) + len(gathered.baseline) + len(gathered.failures)


class Reports:
    """Reports of one workspace, cached until the store's journal, the suite or the manifest
    changes. Safe to share between threads."""

    def __init__(
        self, workspace: Workspace, finals: FinalMessages, book: Book, embedding_model: str = ""
    ) -> None:
        self._workspace, self._finals, self._book = workspace, finals, book
        self._embedding_model = embedding_model
        self._store_check = StoreCheck(workspace)
        self._held: ReadySuite | None = None
        self._played: dict[tuple[int, str], frozenset[str]] = {}
        self._kept: dict[tuple[_ReportKey, bool], tuple[object, CandidateReport]] = {}

    @cached_property
    def judgments(self) -> JudgeBook:
        from reviewer.desk.judge.book import JudgeBook

        return JudgeBook(self._book)

    def build(
        self,
        connection: Connection,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None = None,
        together: Together | None = None,
    ) -> CandidateReport:
        """Build the report of a candidate on a suite, from one consistent reading of the store.

        Raises DeskError for a broken suite, an unknown candidate or baseline, and for a store that
        contradicts its journal or the signed files.
        """
        held = self._ready(connection, suite_id)
        asked = (suite_id, candidate_id, baseline_id, together)
        with one_moment(connection):  # an import may be writing at this moment
            return self._within(connection, held, asked, whole=True)

    def shown(
        self,
        connection: Connection,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None,
        formats: Sequence[str],
        together: Together | None = None,
    ) -> PrintableReport:
        """Return the report of `build`, and the additional content of these formats, from the same
        reading."""
        from reviewer.desk.reports.renderings import rendering_context

        asked = (suite_id, candidate_id, baseline_id, together)
        held = self._ready(connection, suite_id)
        with one_moment(connection):
            built = self._within(connection, held, asked, whole=True)
            shown = "" if set(formats) <= {"json"} else built.digest  # which no report.json shows
            found = rendering_context(connection, self._workspace, built.report, shown, formats)
        return PrintableReport(built, found)

    def assessed(
        self,
        connection: Connection,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None = None,
    ) -> CandidateAssessment:
        """Return the recommendation of `build` without the parts that only a report shows: only
        those labels that can hold back a promotion, no judge, no texts. Raises as `build`."""

        def assess_of(held: ReadySuite, keep: bool) -> CandidateAssessment:
            with one_moment(connection):  # an import may be writing at this moment
                totals = MomentTotals(held.suite.episodes)
                asked = candidate_id, baseline_id
                return self._assessed(connection, held, *asked, keep=keep, totals=totals)

        return with_outline(self._workspace, connection, suite_id, assess_of)

    def assessed_each(
        self, connection: Connection, suite_id: str, asked: Sequence[tuple[str, str | None]]
    ) -> Iterator[CandidateAssessment]:
        """Yield the result of `assessed` for each (candidate, baseline), all from one moment.
        Results are not cached here: for a large suite each takes 100 MB."""
        held = ready_outline(self._workspace, connection, suite_id)
        with one_moment(connection):
            totals = MomentTotals(held.suite.episodes)
            for one in asked:
                yield self._assessed(connection, held, *one, keep=False, totals=totals)

    def _assessed(
        self,
        connection: Connection,
        held: ReadySuite,
        candidate_id: str,
        baseline_id: str | None,
        keep: bool = True,
        totals: MomentTotals | None = None,
    ) -> CandidateAssessment:
        asked = (held.suite.suite_id, candidate_id, baseline_id, None)
        built = self._within(connection, held, asked, whole=False, keep=keep, totals=totals)
        made_of = self._made_of(connection, held, candidate_id)
        return CandidateAssessment(built.gathered, built.assessment, made_of)

    def kept(
        self,
        connection: Connection,
        shelf: Shelf[Answer],
        about: Sequence[str],
        candidate_ids: Sequence[str],
    ) -> Answer | None:
        """Return the cached answer about a suite, the first of these ids, and its candidates, if
        nothing has changed that `assessed` would base it on; else None. Raises DeskError for a
        store that contradicts itself."""
        row = registry.suite_row(connection, about[0])
        folder = self._workspace.suite_folder(about[0])
        if row is None or (folder / "suite.json").exists() == row.probe:
            return None
        held = ReadySuite(
            registry.suite_head(connection, about[0]), (), None if row.probe else folder
        )
        try:
            with one_moment(connection):
                made_of = [self._made_of(connection, held, one) for one in candidate_ids]
        except DeskError:
            return None  # computing the answer says why, after what is wrong with the suite
        known = [one for one in made_of if one is not None]
        found = shelf.kept(self._workspace, about, known) if len(known) == len(made_of) else None
        if found is None or not (
            row.probe or is_proved(self._workspace, folder, row.digest)
        ):  # the files of a suite are looked at last: that takes the longest
            return None
        with one_moment(connection):
            self._store_check.require_sound(connection)
        return found

    def _made_of(
        self, connection: Connection, held: ReadySuite, candidate_id: str
    ) -> MadeOf | None:
        suite = held.suite
        row = registry.suite_row(connection, suite.suite_id)
        stored = registry.candidate_row(connection, row.id, candidate_id) if row else None
        if row is None or stored is None or self._workspace.draft:
            return None
        promoted = promoted_of(connection, row, stored.id)
        if promoted is not None and not promoted.here:
            return None  # the baseline was run on another suite, whose files decide
        reads = LABELS.has(connection, row.digest) or suite.policy.labels.judge_stands_in is True
        if reads and archive_rows(connection):
            return None  # texts may be read from files outside the store
        found = self._manifest(connection, held, suite.suite_id, candidate_id)
        digest = found.candidate.digest if found else None
        return MadeOf(
            journal.head(connection),
            row.digest,
            digest,
            missing_failures(self._workspace, connection, suite, candidate_id, digest),
            label_files_state(self._workspace),
            missing_labels(self._workspace, connection, suite, digest),
        )

    def _ready(self, connection: Connection, suite_id: str) -> ReadySuite:
        held = ready_for_report(self._workspace, connection, suite_id, self._held)
        self._held = held
        return held

    def _within(
        self,
        connection: Connection,
        held: ReadySuite,
        asked: _ReportKey,
        whole: bool,
        keep: bool = True,
        totals: MomentTotals | None = None,
    ) -> CandidateReport:
        self._store_check.require_sound(connection)
        suite_id, candidate_id, baseline_id, together = asked
        found = self._manifest(connection, held, suite_id, candidate_id)
        digest = found.candidate.digest if found else None
        lacks = missing_failures(self._workspace, connection, held.suite, candidate_id, digest)
        filed = label_files_state(self._workspace)
        stamp = (journal.head(connection), held.suite.digest, digest, lacks, filed)
        for key in {(asked, True), (asked, whole)}:
            kept = self._kept.get(key)
            if kept is not None and kept[0] == stamp:
                self._kept.pop(key, None)
                self._kept[key] = kept
                return kept[1]
        totals = totals or MomentTotals()
        gathered = read_evidence(
            connection,
            held.suite,
            candidate_id,
            found.candidate if found else None,
            found.plain if found else None,
            baseline_id,
            held.criteria,
            whole,
            partial(same_episodes, self._workspace, connection),
            by_person=partial(self._by_person, connection),
            totals=totals,
        )
        add = self._with_all if whole else self._with_holds
        gathered = structs.replace(
            add(connection, held, gathered, totals),
            lacking=lacks,
            **self._draft(),
            power=held.power,
            label_files=self._label_files(held, candidate_id),
            missing_labels=missing_labels(self._workspace, connection, held.suite, digest),
        )
        if together is not None:
            gathered = structs.replace(gathered, lineage=_explained(gathered.lineage, together))
        stopping.check()
        built = CandidateReport(gathered, assess(gathered))
        if keep:
            self._kept.pop((asked, whole), None)
            self._kept[asked, whole] = (stamp, built)
            self._forget()
        return built

    def _forget(self) -> None:
        """Drop the reports that were asked for longest ago. At least two stay: a comparison asks
        for both of its candidates again and again."""
        found = [(key, _weight(one.gathered)) for key, (_, one) in list(self._kept.items())]
        rows = sum(weight for _, weight in found)
        for key, weight in found[:-2]:
            if rows <= _MOST_ROWS:
                return
            self._kept.pop(key, None)  # another thread may have dropped it
            rows -= weight

    def _by_person(self, connection: Connection, suite: registry.SuiteRow) -> frozenset[str]:
        """Return the episodes whose user a person plays: searched once per suite digest in the
        contracts."""
        known = suite.id, suite.digest
        if known not in self._played:
            found = contracts.by_person(connection, suite.id)
            self._played[known] = frozenset(found.values())
        return self._played[known]

    def _draft(self) -> dict[str, Any]:
        """Return the fields of the evidence that mark a draft: it was not frozen, whatever its
        store has."""
        if not self._workspace.draft:
            return {}
        return {"draft": True, "frozen_at": None, "frozen_seq": None}

    def _with_holds(
        self, connection: Connection, held: ReadySuite, gathered: Evidence, totals: MomentTotals
    ) -> Evidence:
        sources = self._sources(gathered, totals)
        review = review_holds(connection, held, gathered.candidate_id, sources)
        split = self._split(connection, held, gathered)
        return structs.replace(gathered, review=review, split=split)

    def _signed(self) -> SignedLabels:
        """Return the labels that the signed files of the repository contain."""
        if not file_names(self._workspace):
            return {}
        from reviewer.desk.labels.signed_files import labels_as_signed

        return labels_as_signed(self._workspace)

    def _label_files(self, held: ReadySuite, candidate_id: str) -> tuple[str, ...]:
        """Return the sha256 of each signed file with a label of this candidate's messages."""
        if not file_names(self._workspace):
            return ()
        from reviewer.desk.labels.signed_files import files_about

        return files_about(self._workspace, held.suite.digest, candidate_id)

    def _sources(self, gathered: Evidence, totals: MomentTotals) -> LabelSources:
        return LabelSources(
            self._finals,
            self._book,
            lambda: self.judgments,
            self._signed,
            gathered.baseline_id,
            gathered.candidate.authors if gathered.candidate is not None else (),
            totals.names,
            totals.noted,
        )

    @staticmethod
    def _split(connection: Connection, held: ReadySuite, gathered: Evidence) -> tuple[Look, ...]:
        if not LEAKS.has(connection, held.suite.digest):
            return gathered.split
        from reviewer.desk.reports.leaks import split_evidence
        from reviewer.desk.reports.same_manifest import ids_of_agent

        made = gathered.candidate
        authors = made.authors if made is not None else ()
        ids = ids_of_agent(
            connection, held.suite.suite_id, gathered.candidate_id, gathered.manifest
        )
        return split_evidence(connection, held.suite.digest, ids, authors)

    def _with_all(
        self, connection: Connection, held: ReadySuite, gathered: Evidence, totals: MomentTotals
    ) -> Evidence:
        """Add labels, judge, texts, notes and leaks, each only where the store or suite has any:
        most stores hold no judgment and no note, most suites no text."""
        candidate_id, finals = gathered.candidate_id, self._finals
        sources = self._sources(gathered, totals)
        review = review_evidence(connection, held, candidate_id, sources)
        judge = text = None
        if held.judge is not None and JUDGMENTS.has(connection, held.suite.digest):
            judge = judge_evidence(connection, held, candidate_id, sources)
        if any(episode.expected.names_text for episode in held.suite.episodes):
            from reviewer.desk.reports.text_scores import text_evidence

            text = text_evidence(connection, held, candidate_id, finals, self._embedding_model)
        notes = gathered.notes
        if NOTES.has(connection, held.suite.suite_id):
            from reviewer.desk.traces.notes import note_evidence

            notes = note_evidence(connection, held.suite.suite_id, candidate_id)
        split = self._split(connection, held, gathered)
        return structs.replace(
            gathered, review=review, judge=judge, text=text, notes=notes, split=split
        )

    @staticmethod
    def _manifest(
        connection: Connection, held: ReadySuite, suite_id: str, candidate_id: str
    ) -> CandidateManifest | None:
        row = registry.suite_row(connection, suite_id)
        stored = registry.candidate_row(connection, row.id, candidate_id) if row else None
        found = suites.manifest(held, candidate_id, trusted=True)
        if found is not None and (stored is None or stored.digest != found.candidate.digest):
            # These are not the bytes under which the traces were imported: check them fully.
            found = suites.manifest(held, candidate_id)
        return found


def _explained(lineage: tuple[LineageSuite, ...], together: Together) -> tuple[LineageSuite, ...]:
    """Give the suites of one release the reason that they are judged together; a reason given by a
    person stays."""
    reason = f"judged together in release {together.release_id}"
    return tuple(
        structs.replace(one, reason=reason, reviewer=RELEASE_FILE)
        if one.reason is None and one.digest in together.suites
        else one
        for one in lineage
    )


class ReportsRoom(Room):
    """The API of `desk.reports`."""

    def build(
        self, suite_id: str, candidate_id: str, baseline: str | None = None
    ) -> CandidateReport:
        """Return the report, from which every other answer about a release is derived."""
        with self._opened.reading() as connection:
            return self._opened.reports.build(connection, suite_id, candidate_id, baseline)

    def shown(
        self,
        suite_id: str,
        candidate_id: str,
        baseline: str | None = None,
        formats: tuple[str, ...] = renderings.USUAL,
    ) -> PrintableReport:
        """Return the report, and the additional content of its renderings."""
        with self._opened.reading() as connection:
            return self._opened.reports.shown(connection, suite_id, candidate_id, baseline, formats)

    def export(
        self,
        suite_id: str,
        candidate_id: str,
        out: str,
        formats: tuple[str, ...] = renderings.USUAL,
        baseline: str | None = None,
    ) -> ExportedReport:
        """Write the report, and the newest signed decision on it, into a folder."""
        no_evidence(self._opened.place)
        formats = renderings.known_formats(formats)
        shown = self.shown(suite_id, candidate_id, baseline, formats)
        with self._opened.reading() as connection:
            require_archives(connection, [suite_id])
        built, folder = shown.built, Path(out).expanduser()
        files = renderings.write(shown, folder, formats)
        with self._opened.reading() as connection:
            key = self._opened.candidate(connection, suite_id, candidate_id)[1]
            signed = decisions.envelope_on(connection, key, built.digest)
        if signed is not None:
            files += renderings.write_files(folder, {renderings.DECISION: signed})
        left = renderings.left_in(folder, built.digest)
        return ExportedReport(built, tuple(files), built.exit_code, left)

    def release(self, path: str) -> BuiltRelease:
        """Return the report on the release of several suites that a release.json names. Raises
        DeskError for a file that is not a release, and as `build` for each suite."""
        from reviewer.desk.reports import release

        with self._opened.reading() as connection:
            plan = release.read_plan(self._opened.place, path)
            return release.build_release(connection, self._opened.place, self._opened.reports, plan)

    def export_release(
        self, path: str, out: str, formats: tuple[str, ...] = renderings.USUAL
    ) -> ExportedRelease:
        """Write the report on a release, and in a folder for each suite the report of that suite
        (`formats`)."""
        from reviewer.desk.reports import release

        no_evidence(self._opened.place)
        formats = renderings.known_formats(formats)
        with self._opened.reading() as connection:
            plan = release.read_plan(self._opened.place, path)
            require_archives(connection, [one.suite_id for one in plan.suites])
            return release.export_release(
                connection, self._opened.place, self._opened.reports, plan,
                Path(out).expanduser(), formats,
            )  # fmt: skip

    def enter_cost(self, new: NewCost) -> EnteredCost:
        """Store an entry; durable on return. The same entry again adds nothing."""
        from reviewer.desk.reports.costs import enter_cost

        if not self._opened.has_store():
            raise DeskError(
                "there is no store yet, and a cost needs a candidate with traces",
                "reviewer import or reviewer run makes it",
            )
        try:
            return enter_cost(self._opened.place, new, self._opened.reviewer_name())
        except StoreError as error:
            raise refusal_of(error) from error

    def costs(self, suite_id: str = "", candidate_id: str = "") -> list[tuple[str, str, CostEntry]]:
        """Return (suite, candidate, entry) of every entry, also of those that a later one
        corrects."""
        from reviewer.desk.reports.costs import listed_costs

        if not self._opened.has_store():
            return []
        with self._opened.reading() as connection:
            return listed_costs(connection, suite_id, candidate_id)
