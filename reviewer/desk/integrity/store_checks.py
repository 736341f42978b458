"""The checks before every report: the store must not contradict itself or the signed files, and
must have the failures that a signed decision names.

A store that was reset to a state before a failure is consistent in itself. The evidence against it
is outside it: decisions signed on its journal at entries that it no longer has. So each report
reads the names of the signed files, the newest of them, and the ends of the store; a signature
requires the full check of doctor.

A store that was recreated from only the traces that passed contradicts nothing, and neither does
one for which an approver stated a loss of journal. But a decision on the same candidate and suite
that was not signed on this store's content still names the failed records by digest, and nothing is
promoted without them.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from reviewer.db import decisions, journal, registry, revisions
from reviewer.db.connection import Connection
from reviewer.db.ends import end_faults
from reviewer.db.integrity import is_small, whole_faults
from reviewer.db.payload import damaged_payloads
from reviewer.db.payload_archives import archive_faults, missing_archives
from reviewer.db.schema import foreign_code
from reviewer.db.search import index_faults
from reviewer.db.tables import break_glass_rows, loss_rows, run_result_rows
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.report.evidence import MissingFailures
from reviewer.suite.model import Suite
from reviewer.trace.safetext import visible_line

NEWEST = 20
"""Number of newest decisions whose file is compared with the row; of older ones the file must
exist."""

WAYS_OUT = (
    "reviewer doctor lists everything that is wrong",
    "reviewer restore FILE --replace restores the newest backup",
    "reviewer loss --key KEY --reason WHY records, signed and permanently, what cannot be "
    "recovered",
)


class StoreCheck:
    """The check of one workspace. What passed is not read again until the journal has another head.
    Safe to share between threads."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._sound: journal.Head | None = None

    def require_sound(self, connection: Connection) -> None:
        """Raise DeskError for the faults of doctor that can be detected quickly. May raise any of
        DAMAGE."""
        head = journal.head(connection)
        if head != self._sound:
            if strange := foreign_code(connection):
                named = ", ".join(map(visible_line, strange[:5]))
                raise DeskError(
                    f"the store's schema was changed by another program: {named}",
                    "restore a backup",
                )
            look = _whole if is_small(connection) else end_faults
            if wrong := look(connection):
                raise DeskError(
                    f"{self._workspace.store}: does not match its journal: {'; '.join(wrong[:5])}",
                    *WAYS_OUT,
                )
        if wrong := signed_faults(self._workspace, connection):
            raise DeskError("; ".join(wrong[:5]), *WAYS_OUT)
        self._sound = head


def _whole(connection: Connection) -> list[str]:
    wrong = [*whole_faults(connection), *index_faults(connection)]
    if damaged := damaged_payloads(connection):
        wrong.append(f"payloads {damaged}")
    return wrong


def require_payloads(connection: Connection, suite_ids: Iterable[str]) -> None:
    """Raise DeskError unless the archived payloads of the suites that a decision is about exist
    unchanged: nobody signs on evidence that cannot be read."""
    if wrong := archive_faults(connection, *suite_ids):
        named = "; ".join(map(visible_line, wrong[:5]))
        raise DeskError(
            f"nothing was signed: payloads are {named}",
            "reviewer doctor names every file that is missing",
        )


def require_archives(connection: Connection, suite_ids: Iterable[str]) -> None:
    """Raise DeskError unless the files with archived payloads of the suites that a report is about
    exist: without them it would recommend what nobody can inspect. Those of a small store are
    checked whole, as all of it is; signing checks every payload."""
    look = archive_faults if is_small(connection) else missing_archives
    if wrong := look(connection, *suite_ids):
        named = "; ".join(map(visible_line, wrong[:5]))
        raise DeskError(
            f"no report was written: payloads are {named}",
            "reviewer doctor names every file that is missing",
        )


def signed_faults(workspace: Workspace, connection: Connection) -> list[str]:
    """Return which signed files are missing, unexpected, or (of the newest) changed. The only
    signature checked is that of a file which no row names."""
    listed = signed_file_names(connection)
    there = envelope_names(workspace.decisions) | envelope_names(workspace.attestations)
    wrong = linked_folders(workspace)
    wrong += [f"{name}: the signed file is missing" for name in sorted(listed - there)]
    for number, file in decisions.files(connection)[-NEWEST:]:
        if file in there:
            wrong += _differs(workspace, connection, number, file)
    if there - listed:
        from reviewer.desk.integrity.signed_files import stray_faults

        wrong += stray_faults(workspace, connection)
    if os.path.lexists(workspace.witness):
        from reviewer.desk.integrity.witness import witness_faults

        wrong += witness_faults(workspace, connection)
    return wrong


def signed_file_names(connection: Connection) -> set[str]:
    """Return the names of all signed files for which this store has a row."""
    listed = {file for _, file in decisions.files(connection)}
    listed.update(one.file for one in break_glass_rows(connection))
    listed.update(one.file for one in run_result_rows(connection))
    listed.update(one.file for one in loss_rows(connection))
    return listed


def linked_folders(workspace: Workspace) -> list[str]:
    """Return the folders of signed files that are links."""
    return [
        f"{folder} is a link; signed files must be in a real folder: replace the link with a folder"
        for folder in (workspace.decisions, workspace.attestations)
        if folder.is_symlink()
    ]


def envelope_names(folder: Path) -> set[str]:
    """Return the names of the envelopes in a folder; none where there is no folder."""
    try:
        with os.scandir(folder) as found:
            return {one.name for one in found if one.name.endswith(".dsse.json") and one.is_file()}
    except FileNotFoundError:
        return set()


def _differs(workspace: Workspace, connection: Connection, number: int, file: str) -> list[str]:
    row = decisions.row(connection, number)
    path = workspace.decisions / file
    if row is None or path.read_bytes() == row.envelope:
        return []
    from reviewer.desk.integrity.signed_files import file_faults

    return file_faults(f"decision {number}", path, row.envelope)


SHOWN = 3


def missing_failures(
    workspace: Workspace,
    connection: Connection,
    suite: Suite,
    candidate_id: str,
    digest: str | None,
) -> tuple[MissingFailures, ...]:
    """Return the decisions of trusted keys that name failing traces of this candidate (by the
    `digest` of its manifest) which the store lacks, by number. Costs almost nothing where every
    decision was signed on this store. Raises DeskError for a trust file that cannot be read."""
    names = envelope_names(workspace.decisions)
    if digest is None or not names:
        return ()
    taken = decisions.taken(connection)
    if not taken and names <= signed_file_names(connection):
        return ()
    return tuple(_missing_failures(workspace, connection, suite, candidate_id, digest, taken))


def _missing_failures(
    workspace: Workspace,
    connection: Connection,
    suite: Suite,
    candidate_id: str,
    digest: str,
    taken: set[int],
) -> Iterator[MissingFailures]:
    from reviewer.desk.integrity import decision_files
    from reviewer.desk.integrity.trust import signers_of
    from reviewer.signing.errors import AttestError

    signers = signers_of(workspace)
    if signers is None:
        return
    filed = decision_files.foreign_decisions(workspace, connection, signers)
    for number in sorted(taken):
        row = decisions.row(connection, number)
        if row is not None:
            try:
                path = workspace.decisions / row.file
                filed.append(decision_files.parse_decision(path, row.envelope, signers))
            except AttestError:
                continue  # its keys were removed from the trust file
    held = _record_digests(connection, suite.suite_id, candidate_id)
    for one in sorted(filed, key=lambda one: one.number):
        predicate = one.statement.predicate
        about = one.statement.subject[0].digest.sha256, predicate.suite.digest.sha256
        if about != (digest, suite.digest):
            continue
        missing = [each.trace_id for each in predicate.failures if each.trace_sha256 not in held]
        if missing:
            yield MissingFailures(
                decision=one.number,
                file=one.path.name,
                traces=len(missing),
                first=tuple(missing[:SHOWN]),
            )


def _record_digests(connection: Connection, suite_id: str, candidate_id: str) -> set[str]:
    """Return the digest of every record of the candidate, including earlier records of an
    attempt."""
    row = registry.suite_row(connection, suite_id)
    stored = registry.candidate_row(connection, row.id, candidate_id) if row else None
    if stored is None:
        return set()
    return revisions.digests_of(connection, stored.id)
