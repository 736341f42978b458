"""What is checked before a signature is made, and before it is kept."""

import sqlite3
from datetime import datetime

import msgspec

from reviewer.db import ends, index, shape
from reviewer.db.connection import one_moment
from reviewer.desk.errors import DeskError
from reviewer.desk.integrity.doctor import payloads
from reviewer.desk.integrity.signed import signed_checks
from reviewer.desk.integrity.standing import WAYS_OUT
from reviewer.desk.place import Workspace
from reviewer.desk.reports.reports import Built
from reviewer.signing.verify import VerifyResult, verify
from reviewer.trace.safetext import visible_line

WAY_OUT = "restore a backup"


def intact(workspace: Workspace, connection: sqlite3.Connection) -> None:
    """Schema, chain, file and everything that was signed are whole, checked before every signature
    as doctor checks them. Raises DeskError."""
    with one_moment(connection):
        content_intact(connection)
        wrong = [one.text for one in signed_checks(workspace, connection) if one.ok is False]
    if wrong:
        raise DeskError("; ".join(wrong), *WAYS_OUT)


def content_intact(connection: sqlite3.Connection) -> None:
    """The store does not contradict itself, whatever lies beside it. Raises DeskError."""
    if strange := shape.strange(connection):
        named = ", ".join(map(visible_line, strange[:5]))
        raise DeskError(f"the store's schema is not ours: {named}", WAY_OUT)
    found = connection.execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        raise DeskError(f"the store is damaged: {found}", WAY_OUT)
    if wrong := ends.whole_faults(connection):
        raise DeskError(
            f"the store is not as its journal says: {'; '.join(wrong[:5])}",
            "reviewer doctor says all of it; restore a backup",
        )
    if wrong := index.faults(connection):
        raise DeskError(f"the index is not what the payloads give: {'; '.join(wrong)}", WAY_OUT)
    if not (found := payloads(connection)).ok:
        raise DeskError(f"payloads are {found.text}", WAY_OUT)


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
