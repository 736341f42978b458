"""The witness of a workspace, `store/witness`: updated where the file exists, and checked by every
report.

The file is for version control. Each first signature of a decision, each break-glass record and
each statement of loss adds its journal entry; a store that no longer has such an entry is not
reported on and not signed.
"""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reviewer.db import decisions, journal
from reviewer.db.connection import Connection, unwritten, write_lock
from reviewer.db.tables import journal_entry_of, loss_rows
from reviewer.desk.errors import DeskError, parted, ways_out
from reviewer.desk.place import Workspace

if TYPE_CHECKING:
    from reviewer.signing.journal import Kind

NOTHING = "0" * 64
"""The predecessor named by the first line of a journal."""
BRING_BACK = "restore the file from version control"


class WitnessLine(NamedTuple):
    """One line of the witness about this store's journal."""

    seq: int
    head: str
    kind: "Kind"
    signed: str | None


def witness_lines(workspace: Workspace, connection: Connection) -> list[WitnessLine]:
    """Return the lines about this journal. Of lines about other journals it is only checked that
    each follows the previous line of its journal, which is cheap enough for every report. Returns
    nothing where there is no witness. Raises DeskError for an invalid file."""
    try:
        data = _bytes(workspace.witness)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DeskError(
            f"{workspace.witness}: cannot be read ({error.strerror})", *ways_out(error)
        ) from error
    uri, found = journal.uri(connection), []
    last: dict[str, str] = {}
    known: set[str] = set()
    for number, raw in enumerate(data.split(b"\n"), 1):
        if not raw.strip() or raw.startswith(b"#"):
            continue
        digest = hashlib.sha256(raw.rstrip(b"\r")).hexdigest()
        if digest in known:
            continue  # two branches that were merged
        try:
            body = json.loads(raw)
            follows = body["prev"] == last.get(body["journal"], NOTHING)
            known.add(digest)
            last[body["journal"]] = digest
            if body["journal"] == uri:
                found.append(
                    WitnessLine(int(body["seq"]), body["head"], body["kind"], body["signed"])
                )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DeskError(
                f"{workspace.witness}: line {number} is not a line of a witness",
                BRING_BACK,
            ) from error
        if not follows:
            raise DeskError(
                f"{workspace.witness}: line {number} does not follow the line before it of its "
                "journal: a line was changed or removed, or two copies of the journal were "
                "signed in parallel",
                BRING_BACK,
            )
    return found


def _bytes(place: Path) -> bytes:
    """Return the file's bytes. Raises OSError, and DeskError for anything but a regular file: a
    pipe is refused, not waited for."""
    handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise DeskError(f"{place}: not a file, so it cannot be a witness", BRING_BACK)
        return file.read()


def contradicted_lines(workspace: Workspace, connection: Connection) -> list[WitnessLine]:
    """Return the lines that this store contradicts and that no statement of loss covers."""
    lines = witness_lines(workspace, connection)
    if not lines:
        return []
    hashes = journal.hashes_at(connection, [one.seq for one in lines])
    kept = {one.uid: one.kept_seq for one in loss_rows(connection)}
    wrong: list[WitnessLine] = []
    for one in lines:
        same = hashes.get(one.seq) == one.head or _same_decision(connection, one)
        if not same and not _handed_on(workspace, connection, one):
            wrong.append(one)
        if one.kind == "loss" and one.signed in kept:
            wrong = [each for each in wrong if each.seq <= kept[one.signed]]
    return wrong


def _same_decision(connection: Connection, one: WitnessLine) -> bool:
    """Return whether this store recorded the same decision as the same entry, directly after the
    head that it names: a copy that added its signature recorded it with more signatures."""
    row = decisions.by_payload(connection, one.signed) if one.signed is not None else None
    if row is None or row.seq != one.seq:
        return False
    from reviewer.signing.dsse import parse_envelope

    audit = json.loads(parse_envelope(row.envelope).payload)["predicate"]["audit"]
    return bool(
        audit["seq"] == one.seq - 1 and journal.hash_at(connection, audit["seq"]) == audit["head"]
    )


def _handed_on(workspace: Workspace, connection: Connection, one: WitnessLine) -> bool:
    """Return whether a line is about a decision that a colleague signed on a copy of this journal
    and passed on to be signed here: it directly follows this journal's head, and waits."""
    if one.kind != "decision" or one.seq != journal.head(connection).seq + 1:
        return False
    from reviewer.desk.integrity.signed_files import passed_on_payloads

    return one.signed in passed_on_payloads(workspace, connection)


def witness_faults(workspace: Workspace, connection: Connection) -> list[str]:
    """Return the entries of the witness that this store does not have."""
    if workspace.witness.is_symlink():
        return [f"{workspace.witness} is a link; a witness must be a real file"]
    head = journal.head(connection).seq
    return [
        f"{workspace.witness.name} has seen journal entry {one.seq}, head {one.head[:16]}"
        f" ({one.kind}), where this journal "
        + (f"ends at entry {head}" if one.seq > head else "has another entry")
        + ": this store is an older copy, or another copy of it signed this"
        for one in contradicted_lines(workspace, connection)
    ]


def order_faults(workspace: Workspace) -> list[str]:
    """Return the lines that do not follow the line before; used by doctor and before a
    signature."""
    from reviewer.signing.errors import AttestError
    from reviewer.signing.journal import read_witness

    try:
        read_witness(_bytes(workspace.witness))
    except FileNotFoundError:
        return []
    except (AttestError, DeskError, OSError) as error:
        return [f"{workspace.witness}: {error}"]
    return []


def add_line(workspace: Workspace, connection: Connection, kind: "Kind", payload: str) -> None:
    """Add the journal entry of what was just signed, where there is a witness.

    Raises DeskError when the file is invalid or cannot be written; what was signed is kept in any
    case.
    """
    if workspace.witness.exists():
        _write(workspace, connection, [_told(connection, kind, payload)])


def bring_up_to_date(workspace: Workspace, connection: Connection) -> list[WitnessLine]:
    """Add the decisions that were signed here and are missing from the witness, and the present
    head, creating the file where there is none; return the lines added. Raises DeskError."""
    head, known = (
        journal.head(connection),
        {one.signed for one in witness_lines(workspace, connection)},
    )
    new = [
        WitnessLine(seq, journal.hash_at(connection, seq) or "", "decision", payload)
        for seq, payload in decisions.signed_here(connection)
        if payload not in known
    ]
    if head.seq and all(one.seq < head.seq for one in new):
        new.append(WitnessLine(head.seq, head.hash.hex(), "head", None))
    return _write(workspace, connection, new)


def _write(
    workspace: Workspace, connection: Connection, new: list[WitnessLine]
) -> list[WitnessLine]:
    """Add the lines after the last line of this journal."""
    from reviewer.signing.errors import AttestError
    from reviewer.signing.journal import line_bytes, of_journal, read_witness

    uri, place = journal.uri(connection), workspace.witness
    try:
        with write_lock(workspace.store):
            data = _bytes(place) if place.exists() else b""
            lines = of_journal(read_witness(data), uri)
            prev, last = (lines[-1].digest, lines[-1].line.seq) if lines else (NOTHING, 0)
            added, kept = b"" if data.endswith(b"\n") or not data else b"\n", []
            for one in new:
                if one.seq <= last and one.kind != "loss":
                    continue
                raw = line_bytes(uri, one.seq, one.head, one.kind, one.signed, prev)
                prev = hashlib.sha256(raw.rstrip(b"\n")).hexdigest()
                added, last = added + raw, one.seq
                kept.append(one)
            if kept:
                _append(place, added)
    except AttestError as error:
        raise DeskError(f"{place}: {error}", BRING_BACK) from error
    except OSError as error:
        raise DeskError(*parted(unwritten(place, error))) from error
    return kept


def _append(place: Path, data: bytes) -> None:
    """Append to the file, durably, and never through a link."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(place, flags, 0o644)
    try:
        os.write(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def _told(connection: Connection, kind: "Kind", payload: str) -> WitnessLine:
    """Return the journal entry of what was signed, which is among the newest."""
    if kind == "decision":
        row = decisions.by_payload(connection, payload)
        seq = row.seq if row is not None else 0
    else:
        seq = journal_entry_of(connection, "loss" if kind == "loss" else "break_glass", payload)
    return WitnessLine(seq, journal.hash_at(connection, seq) or "", kind, payload)
