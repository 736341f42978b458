"""Imports in the background, the imported files, and the refused records."""

from __future__ import annotations  # names used only in annotations are not imported

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from msgspec import field

from reviewer.db.connection import Connection, StoreError
from reviewer.db.queries.quarantine import refused_records
from reviewer.db.sources import SourceRow, source_rows
from reviewer.desk.drafts import no_evidence
from reviewer.desk.opened import Room, late
from reviewer.desk.views import Refusal, View

if TYPE_CHECKING:
    from reviewer.desk.imports.jobs import ImportHandle, ImportJobs
    from reviewer.desk.imports.sessions import SessionView
    from reviewer.desk.views import Refusal, SourceInfo


ImportState = Literal["reading", "pausing", "paused", "done", "stopped", "failed"]


class ImportOrder(View, frozen=True):
    """A request to import. `dry` writes nothing; `path` may be a file, a folder, a pattern.
    `sessions` are files of sessions of a `tool` instead; `follow` imports them again as they grow,
    until it is stopped."""

    path: str
    format: str = "auto"
    suite_id: str = ""
    candidate_id: str = ""
    episode_map: str = ""
    dry: bool = False
    tool: str = ""
    sessions: tuple[str, ...] = ()
    follow: bool = False

    @property
    def named(self) -> str:
        """Return a short description of what is imported."""
        if self.tool:
            count = len(self.sessions)
            return f"{count:,} session{'s' if count != 1 else ''} of {self.tool}"
        return self.path.rstrip("/").rpartition("/")[2]


class FilledView(View, frozen=True):
    """The attempts in a file of one candidate on one suite. `passed` of `measured` attempts passed,
    by the gates or, for a probe, by the source's verdict; `cost_usd` is None when no attempt has a
    cost."""

    suite_id: str
    candidate_id: str
    episodes: int
    attempts: int
    passed: int
    measured: int
    cost_usd: float | None
    unpriced: int
    not_measured: dict[str, int] = field(default_factory=dict)
    """Attempts without a verdict, by the code that says why."""


class FileView(View, frozen=True):
    """The result of one file; `refusals` are (record, reasons) of the first refused records."""

    path: str
    reader: str
    state: str
    records: int
    added: int
    known: int
    refused: int
    problem: str
    notes: tuple[str, ...]
    filled: tuple[FilledView, ...]
    refusals: tuple[tuple[int, tuple[str, ...]], ...]


class ImportView(View, frozen=True):
    """An import at present. `file` of `files` is being read, `done` of `size` bytes of it, with
    `records` read in all; `passed` files below the folder are not traces. An import that is
    `pausing` ends its batch first. `problem` says why it failed.

    `news` are (file, result) of sessions that are followed, the newest last.

    `began` is in seconds of Unix time; `seconds` counts from then, `eta_seconds` is the time left
    at this pace, None while it is unknown.
    """

    number: int
    order: ImportOrder
    state: ImportState
    file: int
    files: int
    path: str
    done: int
    size: int
    records: int
    added: int
    refused: int
    results: tuple[FileView, ...]
    passed: int
    problem: str
    began: float
    seconds: float
    eta_seconds: float | None
    news: tuple[tuple[str, str], ...] = ()


_WAYS_OUT = (
    ("missing:candidate_id", "import with --candidate"),
    ("missing:", "add the field, or null when it is unknown"),
    ("incomplete:", "import a file with all results: these count too, and are not in this one"),
    ("unredacted:", "redact at the source"),
    (
        "unknown_episode",
        "name the suite with --suite, and map the source's episode names with --episode-map",
    ),
    ("ambiguous_suite", "name the suite with --suite"),
    ("duplicate_evidence", "each attempt needs its own run"),
    ("slot_filled", "the slot already holds other evidence: give each attempt its own number"),
    ("other_candidate", "import it without --candidate"),
    ("not_finite:", "write null for unknown values"),
    ("type:", "see reviewer schema trace"),
    ("unknown:", "see reviewer schema trace"),
    ("duplicate:", "write each member once"),
    ("too_large:cost_usd", "write the cost in USD, or null when it is unknown"),
    ("too_large", "split the record"),
    ("json:", "fix the JSON"),
    ("unreadable:", "fix the file"),
)


def way_out(reasons: tuple[str, ...]) -> str:
    """Return what to do about a record, by its first reason; a record without events, and with
    members that traces do not have, is probably no trace at all."""
    if "missing:events" in reasons and any(one.startswith("unknown:") for one in reasons):
        return "this is not a trace record: docs/formats.md says which files are read, and how"
    meant = next((one.partition(":")[2] for one in reasons if one.startswith("spelled:")), "")
    if meant:
        return f"write the episode as the suite does: {meant}"
    for start, advice in _WAYS_OUT:
        if reasons and reasons[0].startswith(start):
            return advice
    return "see the reasons"


def file_way_out(problem: str) -> str:
    """Return what to do about a file that was refused as a whole."""
    if problem.startswith("cannot be "):
        return "check the name, and that this user may read it"
    return "reviewer formats check FILE says which reader takes it, and by what"


def refusals(connection: Connection) -> list[Refusal]:
    """Return every quarantined record, newest first."""
    return [
        Refusal(path=path, record=record, reasons=reasons, way_out=way_out(reasons))
        for path, record, reasons in refused_records(connection)
    ]


class ImportsRoom(Room):
    """The API of `desk.imports`."""

    @late
    def _jobs(self) -> ImportJobs:
        from reviewer.desk.imports.jobs import ImportJobs

        return ImportJobs(self._opened.place)

    def close(self) -> None:
        """Stop the running imports."""
        if "_jobs" in vars(self):
            self._jobs.close()

    def start(
        self, order: ImportOrder, on_change: Callable[[ImportHandle], None] | None = None
    ) -> ImportHandle:
        """Start an import (or a dry run) in a separate process; `on_change` is called from another
        thread after each change. Raises DeskError if it cannot start."""
        no_evidence(self._opened.place)
        return self._jobs.start(order, on_change)

    def views(self) -> list[ImportView]:
        """Return the imports started by this process, newest first."""
        return self._jobs.views() if "_jobs" in vars(self) else []

    def handle(self, number: int) -> ImportHandle:
        """Return the handle that controls an import. Raises DeskError for an unknown number."""
        return self._jobs.handle(number)

    def session_tools(self) -> tuple[str, ...]:
        """Return the coding agents whose sessions can be found on this machine, by name."""
        from reviewer.desk.imports import sessions

        return sessions.tools()

    def sessions(self, tool: str) -> list[SessionView]:
        """Return the sessions in a tool's own folders, by project, the newest first. Only the start
        of each file is read. Raises DeskError."""
        from reviewer.desk.imports import sessions

        return sessions.sessions(tool)

    def sources(self) -> list[SourceInfo]:
        """Return the imported files, newest first."""
        if not self._opened.has_store():
            return []
        with self._opened.reading() as connection:
            from reviewer.desk.views import SourceInfo

            return [
                SourceInfo(
                    path=row.path,
                    sha256=row.sha256,
                    reader=row.reader,
                    state=row.state,
                    records=row.records,
                    added=row.added,
                    known=row.known,
                    refused=row.refused,
                    at=row.at,
                    notes=_notes(row),
                    suite_id=row.suite,
                    candidate_id=row.candidate,
                )
                for row in reversed(source_rows(connection))
            ]

    def refusals(self) -> list[Refusal]:
        """Return the quarantined records, newest first."""

        if not self._opened.has_store():
            return []
        with self._opened.reading() as connection:
            return refusals(connection)


def _notes(row: SourceRow) -> tuple[str, ...]:
    try:
        return tuple(json.loads(row.notes))
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"the notes on source {row.id} cannot be read: the file is damaged"
        ) from error
