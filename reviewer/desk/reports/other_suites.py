"""Other suites that a candidate was run on: read for a report, and explained by people."""

from datetime import UTC, datetime
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.connection import Connection, close_writer, transaction
from reviewer.db.queries.candidates import (
    OtherSuite,
    SuiteReason,
    other_suites,
    other_suites_of_all,
    relate_suites,
    suite_reasons,
)
from reviewer.db.schema import open_writer
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.exit_codes import ExitCode
from reviewer.report.evidence import LineageSuite
from reviewer.suite.errors import shown
from reviewer.trace.safetext import visible_line

MOST_CHARACTERS = 1000


class ExplainedSuite(NamedTuple):
    """Another suite that candidates of this one were run on; `reason` is empty until one is
    given."""

    suite_id: str
    digest: str
    attempts: int
    passes: int
    reason: str
    reviewer: str
    at: str


def other_suites_of(
    connection: Connection, suite: registry.SuiteRow, candidate: int
) -> tuple[LineageSuite, ...]:
    """Return every other suite that this candidate was run on, with the reason that counts; none
    for a probe."""
    found = [] if suite.probe else other_suites(connection, suite.id, candidate)
    return tuple(
        LineageSuite(
            suite_id=one.suite_id,
            digest=one.digest,
            attempts=one.attempts,
            passes=one.passes,
            reason=one.reason or None,
            reviewer=one.reviewer or None,
            at=one.at or None,
        )
        for one in _explained(connection, suite.digest, found)
    )


def suites_tried(connection: Connection, suite_id: str) -> list[ExplainedSuite]:
    """Return the other suites that candidates of a suite were run on. Raises DeskError for an
    unknown suite."""
    suite = _suite(connection, suite_id)
    return _explained(connection, suite.digest, other_suites_of_all(connection, suite.id))


def explain_suite(
    workspace: Workspace, suite_id: str, other_id: str, reason: str, reviewer: str
) -> None:
    """Record in the journal why two suites were both used. The reason applies to both suites, and
    the last one given counts.

    Raises DeskError without a reason, for an unknown suite, for two names of one suite, and for
    suites that no candidate was run on both.
    """
    text = visible_line(reason).strip()
    if not text or len(text) > MOST_CHARACTERS:
        raise DeskError(
            f"a reason has 1 to {MOST_CHARACTERS} characters",
            "--reason says why",
            exit_code=ExitCode.USAGE,
        )
    connection = open_writer(workspace.store)
    try:
        one, other = _suite(connection, suite_id), _suite(connection, other_id)
        if other.digest not in {found.digest for found in other_suites_of_all(connection, one.id)}:
            raise DeskError(
                f"no candidate was run on both {one.suite_id} and {other.suite_id}",
                f"run one candidate on both: reviewer run {other.suite_id} CANDIDATE",
            )
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        with transaction(connection, workspace.store):
            relate_suites(connection, one.digest, other.digest, text, reviewer, now)
    finally:
        close_writer(connection, workspace.store)


def _explained(
    connection: Connection, digest: str, found: list[OtherSuite]
) -> list[ExplainedSuite]:
    given = suite_reasons(connection, digest) if found else {}
    nothing = SuiteReason("", "", "", 0)
    return [
        ExplainedSuite(*one, *given.get(one.digest, nothing)[:3])  # suite, then why, by whom, when
        for one in found
    ]


def _suite(connection: Connection, suite_id: str) -> registry.SuiteRow:
    row = registry.suite_row(connection, suite_id)
    if row is None:
        raise DeskError(
            f"no trace on {shown(suite_id)} is in this store",
            "reviewer scorecard lists suites and candidates",
        )
    return row
