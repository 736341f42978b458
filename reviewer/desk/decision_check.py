"""What is checked before a signature is made, and before it is kept."""

import sqlite3
from datetime import datetime

import msgspec

from reviewer.db import decisions, journal, proof, shape
from reviewer.db.connection import one_moment
from reviewer.desk.errors import DeskError
from reviewer.desk.reports import Built
from reviewer.desk.workspace import Workspace
from reviewer.release.attest.verify import VerifyResult, verify
from reviewer.trace.safetext import visible_line


def intact(connection: sqlite3.Connection) -> None:
    """Schema, chain and file are whole, checked before every signature. Raises DeskError."""
    with one_moment(connection):
        _intact(connection)


def _intact(connection: sqlite3.Connection) -> None:
    if strange := shape.strange(connection):
        named = ", ".join(map(visible_line, strange[:5]))
        raise DeskError(f"the store's schema is not ours: {named}", "restore a backup")
    _, fault = journal.verify(connection)
    if fault is not None:
        raise DeskError(f"the journal is broken at entry {fault.seq}: {fault.reason}")
    found = connection.execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        raise DeskError(f"the store is damaged: {found}", "restore a backup")
    wrong = [
        *proof.faults(connection),
        *(f"roll-ups: {w}" for w in proof.wrong_counts(connection)),
        *decisions.faults(connection),
    ]
    if wrong:
        raise DeskError(
            f"the store is not as its journal says: {'; '.join(wrong[:5])}",
            "reviewer doctor says all of it; restore a backup",
        )


def as_a_stranger(
    workspace: Workspace, built: Built, envelope: bytes, now: datetime
) -> VerifyResult:
    """What `reviewer verify` says of it. Raises DeskError when more than approvals is wanting."""
    checked = verify(
        envelope,
        msgspec.json.encode(built.gathered.manifest),
        workspace.signers.read_text(encoding="utf-8"),
        now=now,
        report=built.raw,
    )
    if checked.decision is None and not checked.pending:
        raise DeskError("; ".join(checked.lines), exit_code=checked.exit_code)
    return checked
