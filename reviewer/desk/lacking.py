"""Failures that a decision signed elsewhere names, and that this store does not have.

A store made anew of the traces that passed contradicts nothing. A decision on the same candidate
and suite, signed on another journal, still says by digest which records failed there; nothing is
promoted without them, unless an approver stated that they are lost.
"""

import sqlite3

from reviewer.db import decisions
from reviewer.desk import decision_book
from reviewer.desk.doctor_signed import lost
from reviewer.desk.errors import DeskError
from reviewer.desk.reports import Built
from reviewer.desk.workspace import Workspace
from reviewer.release.attest.errors import AttestError
from reviewer.release.attest.signers import Signers

SHOWN = 3


def refuse_lacking(
    workspace: Workspace, connection: sqlite3.Connection, built: Built, signers: Signers
) -> None:
    """Raises DeskError when a trusted decision on this candidate and suite names failing traces
    that are not among its traces here."""
    gathered = built.gathered
    stated = lost(connection)
    about = gathered.candidate.digest if gathered.candidate else None
    wanted = [
        one
        for one in (
            *decision_book.elsewhere(workspace, connection, signers),
            *_taken(workspace, connection, signers),
        )
        if one.statement.subject[0].digest.sha256 == about
        and one.statement.predicate.suite.digest.sha256 == gathered.suite.digest
        and one.statement.predicate.failures
        and one.digest not in stated
    ]
    if not wanted:
        return
    candidate = decision_book.keys_of(connection, built)[1]
    held = {
        digest
        for (digest,) in connection.execute(
            "SELECT lower(hex(sha256)) FROM trace WHERE candidate=?", (candidate,)
        ).fetchall()
    }
    for one in wanted:
        failures = one.statement.predicate.failures
        missing = [each.trace_id for each in failures if each.trace_sha256 not in held]
        if missing:
            more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
            raise DeskError(
                f"PROMOTE cannot be signed: decision {one.number} ({one.path.name}), signed on"
                f" another journal, names failing traces of this candidate that are not in this"
                f" store: {', '.join(missing[:SHOWN])}{more}",
                "reviewer merge OTHER.db brings them in from the store it was signed in",
                "reviewer import FILE brings them in from where they were imported",
            )


def _taken(
    workspace: Workspace, connection: sqlite3.Connection, signers: Signers
) -> list[decision_book.Filed]:
    """The decisions that were taken in from where they were signed."""
    found = []
    for number in sorted(decisions.taken(connection)):
        row = decisions.row(connection, number)
        if row is None:
            continue
        try:
            path = workspace.decisions / row.file
            found.append(decision_book.filed(path, row.envelope, signers))
        except AttestError:
            continue  # by keys that were taken out of the trust file
    return found
