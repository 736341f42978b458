"""Failures that a signed decision names, and that this store does not have.

A store made again of the traces that passed contradicts nothing, and neither does one that an
approver stated to have lost journal. A decision on the same candidate and suite that was not signed
on what the store holds still says by digest which records failed; nothing is promoted without them.
"""

from collections.abc import Iterator

from reviewer.db import decisions, registry, revisions
from reviewer.db.connection import Connection
from reviewer.desk.integrity.standing import envelope_names, files_of
from reviewer.desk.place import Workspace
from reviewer.report.evidence import Lacking
from reviewer.suite.model import Suite

SHOWN = 3


def lacking(
    workspace: Workspace,
    connection: Connection,
    suite: Suite,
    candidate_id: str,
    digest: str | None,
) -> tuple[Lacking, ...]:
    """The decisions of trusted keys that name failing traces of this candidate (by the `digest` of
    its manifest) which the store lacks, by number. Costs next to nothing where every decision was
    signed on this store. Raises DeskError for a trust file that cannot be read."""
    names = envelope_names(workspace.decisions)
    if digest is None or not names:
        return ()
    taken = decisions.taken(connection)
    if not taken and names <= files_of(connection):
        return ()
    return tuple(_lacking(workspace, connection, suite, candidate_id, digest, taken))


def _lacking(
    workspace: Workspace,
    connection: Connection,
    suite: Suite,
    candidate_id: str,
    digest: str,
    taken: set[int],
) -> Iterator[Lacking]:
    from reviewer.desk.integrity import decision_files
    from reviewer.desk.integrity.trust import signers_of
    from reviewer.signing.errors import AttestError

    signers = signers_of(workspace)
    if signers is None:
        return
    filed = decision_files.elsewhere(workspace, connection, signers)
    for number in sorted(taken):
        row = decisions.row(connection, number)
        if row is not None:
            try:
                path = workspace.decisions / row.file
                filed.append(decision_files.filed(path, row.envelope, signers))
            except AttestError:
                continue  # by keys that were taken out of the trust file
    held = _held(connection, suite.suite_id, candidate_id)
    for one in sorted(filed, key=lambda one: one.number):
        predicate = one.statement.predicate
        about = one.statement.subject[0].digest.sha256, predicate.suite.digest.sha256
        if about != (digest, suite.digest):
            continue
        missing = [each.trace_id for each in predicate.failures if each.trace_sha256 not in held]
        if missing:
            yield Lacking(
                decision=one.number,
                file=one.path.name,
                traces=len(missing),
                first=tuple(missing[:SHOWN]),
            )


def _held(connection: Connection, suite_id: str, candidate_id: str) -> set[str]:
    """The digest of every record of the candidate, earlier ones of an attempt included."""
    row = registry.suite_row(connection, suite_id)
    stored = registry.candidate_row(connection, row.id, candidate_id) if row else None
    if stored is None:
        return set()
    return revisions.digests_of(connection, stored.id)
