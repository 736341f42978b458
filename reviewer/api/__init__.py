"""The release desk in Python: open a workspace, import, run, report, and verify a decision.

Importing this module loads only the standard library; `open_workspace` loads the desk. The
workstation and the command line call the same desk, so they give the same answers. Every refusal
is a `DeskError` with the fact, the ways out and an exit code. `reviewer.api.stats` holds the
statistics. docs/api.md has an example.
"""

from __future__ import annotations  # types are named without loading their modules

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime
    from types import TracebackType

    from reviewer.desk.desk import Desk
    from reviewer.desk.errors import DeskError as DeskError
    from reviewer.desk.imports.importing import FileResult
    from reviewer.desk.runs.api import RunView
    from reviewer.desk.views import CandidateInfo, EventRow, SuiteInfo, TraceView
    from reviewer.report.model import Report as Document
    from reviewer.signing.verify import VerifyResult

__all__ = ["DeskError", "Report", "Workspace", "make_workspace", "open_workspace", "verify"]


class Report(NamedTuple):
    """One release report. `document` holds report.json as typed sections, `data` its bytes."""

    document: Document
    data: bytes
    sha256: str
    exit_code: int

    @property
    def recommendation(self) -> Literal["promote", "block", "repair", "hold"]:
        return self.document.recommendation

    @property
    def reasons(self) -> tuple[str, ...]:
        return self.document.reasons


def open_workspace(
    folder: str | Path | None = None, *, reviewer: str = "", draft: str = ""
) -> Workspace:
    """Open the workspace at `folder`, or the one that contains the current folder.

    `reviewer` names the person who works here; the default comes from the machine. `draft` names a
    suite without a lock: the workspace then has only its runs, and none of them is evidence. Raises
    DeskError if there is no workspace, or no such draft.
    """
    from reviewer.desk.desk import Desk
    from reviewer.desk.drafts import draft_place
    from reviewer.desk.place import at, find

    place = find() if folder is None else at(Path(folder))
    return Workspace(Desk(draft_place(place, draft) if draft else place, reviewer))


def make_workspace(folder: str | Path, *, example: bool = False, reviewer: str = "") -> Workspace:
    """Create a workspace, with the example suites if `example` is true, and open it. Existing files
    stay."""
    from reviewer.desk.desk import Desk
    from reviewer.desk.place import make

    return Workspace(Desk(make(Path(folder), example), reviewer))


class Workspace:
    """An open workspace. Use it as a context manager, or close it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop running work and close the store."""
        self._desk.close()

    @property
    def folder(self) -> Path:
        return Path(self._desk.path)

    def suites(self) -> list[SuiteInfo]:
        """Return every suite of the workspace and every probe in the store."""
        return self._desk.workspace.suites()

    def candidates(self, suite: str) -> list[CandidateInfo]:
        """Return the candidates with traces on a suite, by id."""
        return self._desk.workspace.candidates(suite)

    def import_traces(
        self,
        *paths: str | Path,
        suite: str = "",
        candidate: str = "",
        format: str = "auto",
    ) -> list[FileResult]:
        """Import files, folders and patterns, as `reviewer import` does; return one result for each
        file.

        `suite` and `candidate` apply to traces whose records do not name them.
        """
        from reviewer.desk.imports.importing import ImportOptions, import_paths
        from reviewer.desk.imports.indexing import index_now

        place = self._desk.place
        found = import_paths(
            place,
            [Path(path) for path in paths],
            ImportOptions(suite, candidate, format),
            lambda path, number, of: lambda done, size, tally: None,
            lambda result: None,
        )
        index_now(place)
        return found.results

    def run(
        self,
        suite: str,
        candidate: str,
        *,
        attempts: int | None = None,
        jobs: int = 4,
        resume: bool = False,
        seed: int = 0,
        approvals: Literal["allow", "deny"] = "deny",
        network: bool = False,
        shard: str | None = None,
    ) -> RunView:
        """Run a candidate on a suite and wait until every attempt is stored.

        `attempts` defaults to the policy's number. `approvals` answers every call that needs an
        approval. `shard` is the part of the plan to make, such as "2/8".
        """
        from reviewer.desk.imports.indexing import index_now
        from reviewer.desk.runs.api import RunOrder, shard_of

        order = RunOrder(
            suite_id=suite,
            candidate_id=candidate,
            attempts=attempts,
            jobs=jobs,
            resume=resume,
            seed=seed,
            approvals=approvals,
            network=network,
            shard=None if shard is None else shard_of(shard),
        )
        handle = self._desk.runs.start(order)
        while not handle.ended:
            handle.wait(0.1)
        index_now(self._desk.place)
        return handle.view()

    def report(self, suite: str, candidate: str, *, baseline: str | None = None) -> Report:
        """Build the release report. The same store gives the same bytes."""
        built = self._desk.reports.build(suite, candidate, baseline)
        return Report(
            document=built.report,
            data=built.raw,
            sha256=built.digest,
            exit_code=built.exit_code,
        )

    def trace_ids(self, suite: str, candidate: str) -> list[str]:
        """Return the ids of all traces of a candidate, by episode and attempt."""
        rows = self._desk.scorecards.rows(
            suite, candidate, self._desk.scorecards.order(suite, candidate)
        )
        return [
            f"{suite}/{candidate}/{row.episode_id}/{mark.attempt}"
            for row in sorted(rows, key=lambda row: row.episode_id)
            for mark in row.attempts
            if mark.mark not in ("missing", "quarantined")
        ]

    def trace(self, trace_id: str) -> TraceView:
        """Return one trace with its verdict: the result of each gate, findings, contract, cost,
        time."""
        return self._desk.traces.view(trace_id)

    def events(self, trace_id: str) -> list[EventRow]:
        """Return every event of a trace, in order, each with the worst finding that names it."""
        return self._desk.traces.events(trace_id, 0, self._desk.traces.view(trace_id).events)


def verify(
    decision: str | Path,
    candidate_manifest: str | Path,
    signers: str | Path,
    *,
    at: datetime | None = None,
    **pins: Any,
) -> VerifyResult:
    """Verify one signed decision offline, as `reviewer verify FILE` does.

    `at` is the time for which it is verified, by default now. `pins` are those of
    `reviewer.signing.verify.Pins`, for example `threshold`, `environment` or `suite_digest`. Raises
    OSError for a file that cannot be read; a decision that does not verify is a result, not an
    error.
    """
    from datetime import UTC, datetime

    from reviewer.signing.verify import verify as verified
    from reviewer.signing.verify import within_environment

    result = verified(
        Path(decision).read_bytes(),
        Path(candidate_manifest).read_bytes(),
        Path(signers).read_bytes().decode("utf-8", "surrogateescape"),
        now=datetime.now(UTC) if at is None else at,
        **pins,
    )
    return within_environment(result, pins.get("environment"))


def __getattr__(name: str) -> Any:
    if name == "DeskError":
        from reviewer.desk.errors import DeskError

        return DeskError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
