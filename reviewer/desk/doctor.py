"""Is this store whole? Integrity, chain, decisions, version, permissions; and copying it safely."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from reviewer.db import index, journal, proof
from reviewer.db.connection import DAMAGE, StoreError, mode_of, reader, scripts
from reviewer.db.payload import frame_bytes, large_events, large_head
from reviewer.desk.errors import DeskError
from reviewer.desk.workspace import Workspace

MOST_EVENTS = 1 << 40
CONTENT = ("store", "schema", "integrity", "journal", "facts", "roll-ups", "payloads")
FIXED_IN = (3, 51, 3)
BACKPORTS = ((3, 44, 6), (3, 50, 7))


class Check(NamedTuple):
    """One thing looked at. `ok` is None for a remark that is not a fault."""

    name: str
    ok: bool | None
    text: str


def examine(workspace: Workspace) -> list[Check]:
    """Every check, in a fixed order. A store that cannot be opened is one failed check."""
    version = sqlite3.sqlite_version
    found = [_sqlite_version(version)]
    if not workspace.store.exists():
        return [
            *found,
            Check("store", None, f"{workspace.store} is not there yet: import makes it"),
        ]
    try:
        connection = reader(workspace.store)
    except StoreError as error:
        return [*found, Check("store", False, str(error))]
    try:
        found.append(_schema(connection))
        if found[-1].ok is False:
            return found  # what else it should hold is not there yet
        found.append(_integrity(connection))
        found += _chain(connection)
        found.append(_payloads(connection))
        found += _decisions(workspace, connection)
        found += _permissions(workspace)
        left = index.pending_events(connection)
        text = "event rows and full text are complete"
        if left:
            text = f"{left:,} events are not indexed yet: the workstation or an import goes on"
        found.append(Check("index", None if left else True, text))
    except DAMAGE as error:
        # A flipped bit can surface anywhere, even as text that is not UTF-8.
        found.append(Check("store", False, f"unreadable: {error}; restore a backup"))
    finally:
        connection.close()
    return found


def damage(workspace: Workspace) -> str | None:
    """What is wrong with the store's content, None when nothing is: whether an odd error that
    reading it gave is the file's fault or ours."""
    if not workspace.store.exists():
        return None
    wrong = [check for check in examine(workspace) if check.ok is False and check.name in CONTENT]
    return "; ".join(f"{check.name}: {check.text}" for check in wrong) or None


def _sqlite_version(version: str) -> Check:
    numbers = tuple(int(part) for part in version.split("."))
    fixed = numbers >= FIXED_IN or any(
        numbers[:2] == port[:2] and numbers >= port for port in BACKPORTS
    )
    if fixed:
        return Check("sqlite", True, version)
    return Check(
        "sqlite",
        None,
        f"{version} can lose data when two connections write at the same instant (fixed in 3.51.3);"
        " this store's lock keeps them apart: let no other program write it",
    )


def _schema(connection: sqlite3.Connection) -> Check:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    known = len(scripts())
    way_out = "" if version == known else "; any command that reads it brings it up to date"
    text = f"version {version}, this reviewer knows {known}{way_out}"
    return Check("schema", version == known, text)


def _integrity(connection: sqlite3.Connection) -> Check:
    rows = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)").fetchall()]
    return Check("integrity", rows == ["ok"], "; ".join(rows))


def _chain(connection: sqlite3.Connection) -> list[Check]:
    """The chain, and when it holds what it says of the rest."""
    head, fault = journal.verify(connection)
    if fault is not None:
        return [Check("journal", False, f"broken at entry {fault.seq}: {fault.reason}")]
    wrong = proof.faults(connection)
    counts = list(proof.wrong_counts(connection))
    return [
        Check("journal", True, f"{head.seq} entries, head {head.hash.hex()[:16]}"),
        Check(
            "facts",
            not wrong,
            f"not as the journal says: {'; '.join(wrong[:5])}; restore a backup"
            if wrong
            else "traces, suites, candidates, labels and all else are as the journal says",
        ),
        Check(
            "roll-ups",
            not counts,
            f"not what the traces give: {'; '.join(counts[:5])}; reviewer score makes them anew"
            if counts
            else "counts agree with the traces",
        ),
    ]


def _payloads(connection: sqlite3.Connection) -> Check:
    """Every compressed frame against its digest or its own checksum."""
    bad = []
    for (key,) in connection.execute("SELECT id FROM pack ORDER BY id").fetchall():
        try:
            frame_bytes(connection, key)
        except StoreError:
            bad.append(f"pack {key}")
    rows = connection.execute("SELECT DISTINCT trace FROM chunk ORDER BY trace").fetchall()
    for (key,) in rows:
        try:
            large_head(connection, key)
            large_events(connection, key, 0, MOST_EVENTS)
        except StoreError:
            bad.append(f"trace {key}")
    text = (
        f"damaged: {', '.join(bad[:5])}" if bad else "every payload opens and is as it was stored"
    )
    return Check("payloads", not bad, text)


def _decisions(workspace: Workspace, connection: sqlite3.Connection) -> list[Check]:
    """Files and rows agree, and the head each decision binds still stands in the chain."""
    faults: list[str] = []
    rows = connection.execute(
        "SELECT number, file, envelope, decision, principal, payload_sha256 FROM decision"
        " ORDER BY number"
    )
    listed = set()
    signed = _signed(connection)
    for number, name, envelope, *said in rows.fetchall():
        listed.add(name)
        if signed.pop(number, None) != tuple(said):
            faults.append(f"decision {number}: its row is not as the journal says")
        path = workspace.decisions / name
        if not path.exists():
            faults.append(f"decision {number}: {name} is missing")
        elif path.read_bytes() != envelope:
            faults.append(f"decision {number}: {name} differs from the store's copy")
        faults += _bound_head(workspace, connection, number, envelope)
    faults += [f"decision {number} of the journal has no row" for number in signed]
    if workspace.decisions.is_dir():
        strays = sorted(
            path.name for path in workspace.decisions.glob("*.dsse.json") if path.name not in listed
        )
        faults += [f"{name} is not in this store" for name in strays]
    text = "; ".join(faults[:5]) if faults else f"{len(listed)} signed, each as it was signed"
    return [Check("decisions", not faults, text)]


def _signed(connection: sqlite3.Connection) -> dict[int, tuple[str, ...]]:
    """What the journal says of each decision: its word, who signed, the payload's digest."""
    found: dict[int, tuple[str, ...]] = {}
    for (body,) in connection.execute("SELECT body FROM journal ORDER BY seq").fetchall():
        entry = json.loads(body)
        if entry["type"] == "decision.signed":
            words = (entry["decision"], entry["principal"], entry["payload_sha256"])
            found[entry["number"]] = words
    return found


def _bound_head(
    workspace: Workspace, connection: sqlite3.Connection, number: int, envelope: bytes
) -> list[str]:
    """The chain is only as good as a head outside it, and that only as good as its signature."""
    from reviewer.desk.decide import signers_of
    from reviewer.release.attest.dsse import parse_envelope
    from reviewer.release.attest.errors import AttestError

    try:
        parsed = parse_envelope(envelope)
        signers = signers_of(workspace)
    except (AttestError, DeskError) as error:
        return [f"decision {number}: {error}"]
    keys = signers.keys if signers else ()
    signatures = [one.sig for one in parsed.signatures]
    if not any(one.key.verifies(sig, parsed.signed_bytes) for one in keys for sig in signatures):
        return [f"decision {number}: no valid signature by a key that {workspace.signers} lists"]
    audit = json.loads(parsed.payload)["predicate"]["audit"]
    if not audit["seq"]:
        return []
    row = connection.execute("SELECT hash FROM journal WHERE seq=?", (audit["seq"],)).fetchone()
    if row is None or row[0].hex() != audit["head"]:
        return [f"decision {number}: the journal no longer holds the head it was signed under"]
    return []


def _permissions(workspace: Workspace) -> list[Check]:
    loose = [
        f"{path.name} is {mode_of(path):04o}"
        for path in sorted(workspace.store.parent.glob("review.db*"))
        if mode_of(path) & 0o077
    ]
    text = f"{', '.join(loose)}: chmod 600 it" if loose else "the store is readable by you alone"
    return [Check("permissions", not loose, text)]


def backup(workspace: Workspace, target: Path) -> int:
    """Copy the store whole, through SQLite's backup, while others may write; returns its size.

    Raises DeskError when there is no store or the target exists.
    """
    if not workspace.store.exists():
        raise DeskError(f"{workspace.store} is not there yet: there is nothing to copy")
    try:
        handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    except FileExistsError as error:
        raise DeskError(f"{target} exists: name a new file", exit_code=2) from error
    except OSError as error:
        raise DeskError(f"{target}: cannot be made ({error.strerror})", exit_code=2) from error
    os.close(handle)
    try:
        with closing(reader(workspace.store)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
    except (sqlite3.Error, StoreError) as error:
        target.unlink()
        raise DeskError(f"{target}: the copy failed ({error})") from error
    return target.stat().st_size
