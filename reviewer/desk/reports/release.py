"""The report on a release of several suites: each suite's own report, and the overall result."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reviewer.db.connection import Connection, one_moment
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.desk.reports import renderings
from reviewer.desk.reports.api import CandidateReport, PrintableReport, Reports, Together
from reviewer.desk.reports.same_manifest import said_of_agent
from reviewer.desk.suites import ready_outline
from reviewer.exit_codes import ExitCode
from reviewer.report.assess import against_promotion
from reviewer.report.release import (
    ReleaseReport,
    SuiteResult,
    release_json,
    release_markdown,
    release_report,
)
from reviewer.signing.manifests import authors, subject_name
from reviewer.suite.errors import ContractError
from reviewer.suite.release import RELEASE_FILE, Release, ReleasedSuite, read_release

MOST_BYTES = 1 << 20
REPORT_JSON = "release-report.json"
REPORT_MD = "release-report.md"


class BuiltSuite(NamedTuple):
    """One suite of a release, with its report."""

    suite: ReleasedSuite
    built: CandidateReport


class BuiltRelease(NamedTuple):
    """A release with the reports of its suites, in the order of release.json."""

    plan: Release
    report: ReleaseReport
    suites: tuple[BuiltSuite, ...]

    @property
    def first(self) -> CandidateReport:
        """Return the report of the suite whose candidate manifest a decision is about."""
        return next(one.built for one in self.suites if one.suite == self.plan.first)

    @property
    def exit_code(self) -> int:
        promoted = self.report.recommendation == "promote"
        return ExitCode.DONE if promoted else ExitCode.NOT_PROMOTED


class ExportedRelease(NamedTuple):
    """A release that was written out: (path, sha256) of every file, and the paths of files of other
    reports that an earlier export left in the folders of its suites."""

    built: BuiltRelease
    files: tuple[tuple[str, str], ...]
    left: tuple[str, ...] = ()


def read_plan(workspace: Workspace, path: str) -> Release:
    """Return the release in a file; an empty path is release.json of the workspace. Raises
    DeskError when it cannot be read, or with every fault of it."""
    return plan_in(Path(path).expanduser() if path else workspace.root / RELEASE_FILE)


def plan_in(place: Path) -> Release:
    """Return the release in a file. Raises DeskError when it cannot be read, or with every fault
    of it."""
    try:
        with place.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise DeskError(
            f"{place}: cannot be read ({error.strerror})",
            "reviewer schema release describes the file",
            exit_code=ExitCode.USAGE,
        ) from error
    try:
        return read_release(data, str(place))
    except ContractError as error:
        raise DeskError(
            str(error), "reviewer schema release describes the file", exit_code=ExitCode.INVALID
        ) from error


def build_release(
    connection: Connection, workspace: Workspace, reports: Reports, plan: Release
) -> BuiltRelease:
    """Build the report of every suite of a release, from one consistent reading of the store.

    Raises DeskError as the report of each suite does, naming the suite.
    """
    beside = together(connection, workspace, plan)
    with one_moment(connection):
        built = tuple(
            BuiltSuite(
                one,
                reports.build(
                    connection, one.suite_id, plan.candidate_of(one), one.baseline_id, beside
                ),
            )
            for one in plan.suites
        )
    return BuiltRelease(plan, _report(plan, built), built)


def together(connection: Connection, workspace: Workspace, plan: Release) -> Together:
    """Return the facts about the release that the report of each of its suites needs."""
    digests = (
        ready_outline(workspace, connection, one.suite_id).suite.digest
        for one in plan.suites
        if one.role == "gate"  # failures on a probe do not count, so a person must explain it
    )
    return Together(plan.release_id, frozenset(digests))


def export_release(
    connection: Connection,
    workspace: Workspace,
    reports: Reports,
    plan: Release,
    out: Path,
    formats: Sequence[str],
) -> ExportedRelease:
    """Write the report on a release into a folder, and the reports of its suites into folders of
    their own within it."""
    beside = together(connection, workspace, plan)

    def shown_of(one: ReleasedSuite) -> PrintableReport:
        candidate = plan.candidate_of(one)
        return reports.shown(connection, one.suite_id, candidate, one.baseline_id, formats, beside)

    with one_moment(connection):
        shown = [shown_of(one) for one in plan.suites]
    suites = tuple(
        BuiltSuite(one, each.built) for one, each in zip(plan.suites, shown, strict=True)
    )
    built = BuiltRelease(plan, _report(plan, suites), suites)
    files: list[tuple[str, str]] = []
    left: list[str] = []
    for one, each in zip(plan.suites, shown, strict=True):
        files += renderings.write(each, out / one.suite_id, tuple(formats))
        left += renderings.left_in(out / one.suite_id, each.built.digest)
    files += renderings.write_files(
        out,
        {
            REPORT_JSON: release_json(built.report),
            REPORT_MD: release_markdown(built.report).encode(),
        },
    )
    return ExportedRelease(built, tuple(files), tuple(left))


def _report(plan: Release, suites: Sequence[BuiltSuite]) -> ReleaseReport:
    _require_one_agent(suites)
    return release_report(
        plan.release_id,
        plan.digest,
        plan.candidate_id,
        [_result(plan, one) for one in suites],
    )


def _require_one_agent(suites: Sequence[BuiltSuite]) -> None:
    """Raise DeskError when manifests name different agents or authors, or those of gates another
    model, other prompts or another configuration: one decision is about one agent, and its authors
    may not approve it."""
    known = [one for one in suites if one.built.gathered.candidate is not None]
    for one in known[1:]:
        first, other = known[0].suite.suite_id, one.suite.suite_id
        ours, theirs = _agent_and_authors(known[0]), _agent_and_authors(one)
        if ours[0] != theirs[0]:
            raise DeskError(
                f"{other} judges {theirs[0]}, but {first} judges {ours[0]}: a decision is about "
                "one agent and version",
                "give both manifests the same agent and version",
                exit_code=ExitCode.INVALID,
            )
        if ours[1] != theirs[1]:
            raise DeskError(
                f"the manifests in {first} and {other} name different authors",
                "name every author in both: an author may not approve",
                exit_code=ExitCode.INVALID,
            )
    gates = [one for one in known if one.suite.role == "gate"]
    for one in gates[1:]:
        first, other = gates[0].suite.suite_id, one.suite.suite_id
        mine, its = (said_of_agent(each.built.gathered.manifest or {}) for each in (gates[0], one))
        names = sorted(mine.keys() | its.keys())
        differ = [name for name in names if mine.get(name) != its.get(name)]
        if differ:
            raise DeskError(
                f"the manifests in {first} and {other} say differently of {', '.join(differ)}: a "
                "decision is about one agent, and this is another on each suite",
                "run one agent on both suites, under manifests that say the same of it",
                exit_code=ExitCode.INVALID,
            )


def _agent_and_authors(one: BuiltSuite) -> tuple[str, list[str]]:
    manifest = one.built.gathered.manifest or {}
    return subject_name(manifest), sorted(authors(manifest))


def _result(plan: Release, one: BuiltSuite) -> SuiteResult:
    gathered, assessment = one.built.gathered, one.built.assessment
    candidate = gathered.candidate
    return SuiteResult(
        suite_id=one.suite.suite_id,
        suite_digest=gathered.suite.digest,
        role=one.suite.role,
        candidate_id=plan.candidate_of(one.suite),
        candidate_digest=candidate.digest if candidate is not None else None,
        baseline_id=gathered.baseline_id,
        recommendation=assessment.recommendation,
        reasons=tuple(reason.text for reason in assessment.reasons),
        critical=assessment.figures.critical.count,
        critical_not_measured=assessment.figures.critical.not_measured,
        failing=len(against_promotion(gathered.failures)),
        report_sha256=one.built.digest,
        codes=tuple(dict.fromkeys(each.code.sha256 for each in gathered.ran)),
        runners=tuple(sorted({each.kind for each in gathered.ran})),
    )
