"""What doctor looks at of everything that was signed: files, rows, signatures, bound heads."""

import json
import sqlite3
from pathlib import Path

from reviewer.db import beside, decisions
from reviewer.desk.doctor_check import Check
from reviewer.desk.errors import DeskError
from reviewer.desk.workspace import Workspace


def signed_checks(workspace: Workspace, connection: sqlite3.Connection) -> list[Check]:
    """Files and rows agree, and the head each decision binds still stands in the chain."""
    from reviewer.desk.trust import signers_of

    faults = decisions.faults(connection)
    rows = decisions.rows(connection)
    taken = decisions.taken(connection)
    trusted = None
    try:
        trusted = signers_of(workspace)
    except DeskError as error:
        faults.append(error.text)
    for row in rows:
        what, path = f"decision {row.number}", workspace.decisions / row.file
        faults += _file(what, path, row.envelope)
        faults += _signature(workspace, what, row.envelope, trusted)
        if row.number not in taken:
            faults += _bound_head(connection, what, row.envelope)
    others = [
        (f"break-glass of {one.at}", workspace.decisions / one.file, one.envelope)
        for one in beside.broken_glass(connection)
    ] + [
        (f"test result {one.uid[:12]}", workspace.attestations / one.file, one.envelope)
        for one in beside.run_results(connection)
    ]
    for what, path, envelope in others:
        faults += _file(what, path, envelope)
        faults += _signature(workspace, what, envelope, trusted)
    listed = {row.file for row in rows} | {path.name for _, path, _ in others}
    strays, elsewhere = _strays(workspace, connection, listed, trusted)
    faults += strays
    waiting = sum(row.standing == "pending" for row in rows)
    text = f"{len(rows)} signed, each as it was signed"
    if waiting:
        text += f"; {waiting} wait for another signature"
    found = [Check("decisions", not faults, "; ".join(faults[:5]) if faults else text)]
    if elsewhere:
        names = ", ".join(elsewhere[:3])
        told = f"signed elsewhere and not taken in: {names}; reviewer decisions take FILE does"
        found.append(Check("elsewhere", None, told))
    return found


def _file(what: str, path: Path, envelope: bytes) -> list[str]:
    from reviewer.desk.decision_book import read_envelope
    from reviewer.release.attest.dsse import parse_envelope
    from reviewer.release.attest.errors import AttestError

    if not path.is_file():
        return [f"{what}: {path.name} is missing"]
    data = read_envelope(path)
    if data == envelope:
        return []
    try:
        there, here = parse_envelope(data), parse_envelope(envelope)
    except AttestError:
        there, here = None, None
    # A file that came back with another person's signature is as good, and better.
    if there and here and there.payload == here.payload:
        if set(there.signatures) >= set(here.signatures):
            return []
        return [f"{what}: {path.name} lacks a signature that the store has"]
    return [f"{what}: {path.name} differs from the store's copy"]


def _signature(workspace: Workspace, what: str, envelope: bytes, trusted: object) -> list[str]:
    """The chain is only as good as a head outside it, and that only as good as its signature."""
    from reviewer.release.attest.errors import AttestError
    from reviewer.release.attest.signers import Signers
    from reviewer.release.attest.trusted import vouched

    try:
        vouched(envelope, trusted if isinstance(trusted, Signers) else Signers((), ""))
    except AttestError as error:
        return [f"{what}: {error} ({workspace.signers})"]
    return []


def _bound_head(connection: sqlite3.Connection, what: str, envelope: bytes) -> list[str]:
    from reviewer.release.attest.dsse import parse_envelope
    from reviewer.release.attest.errors import AttestError

    try:
        audit = json.loads(parse_envelope(envelope).payload)["predicate"]["audit"]
    except (AttestError, ValueError, KeyError, TypeError):
        return [f"{what}: it cannot be read"]
    if not audit["seq"]:
        return []
    row = connection.execute("SELECT hash FROM journal WHERE seq=?", (audit["seq"],)).fetchone()
    if row is None or row[0].hex() != audit["head"]:
        return [f"{what}: the journal no longer holds the head it was signed under"]
    return []


def _strays(
    workspace: Workspace, connection: sqlite3.Connection, listed: set[str], trusted: object
) -> tuple[list[str], list[str]]:
    """(files that nobody trusted signed, or that this store should hold; files that were signed in
    another store)."""
    from reviewer.desk.decision_book import envelope_files, read_envelope

    wrong, elsewhere = [], []
    for folder in (workspace.decisions, workspace.attestations):
        for path in envelope_files(folder):
            if path.name in listed:
                continue
            data = read_envelope(path)
            if _signature(workspace, path.name, data, trusted):
                wrong.append(f"{path.name} is not in this store, and no trusted key signed it")
            elif _from_here(connection, data) and not _waits(path, data, trusted):
                wrong.append(
                    f"{path.name} is not in this store, though it was signed on its journal: "
                    "signing was cut off, an older copy of the store stands here, or a copy of it "
                    "signed this; reviewer decisions take FILE takes it in"
                )
            else:
                elsewhere.append(path.name)
    return wrong, elsewhere


def _waits(path: Path, envelope: bytes, trusted: object) -> bool:
    """Whether an envelope is a decision still short of a signature: one that a colleague handed on
    to be signed here is taken in by signing it."""
    from reviewer.desk.decision_book import filed, standing_of
    from reviewer.release.attest.errors import AttestError
    from reviewer.release.attest.signers import Signers

    if not isinstance(trusted, Signers):
        return False
    try:
        return standing_of(filed(path, envelope, trusted)) == "pending"
    except AttestError:
        return False  # a break-glass, or the result of a run


def _from_here(connection: sqlite3.Connection, envelope: bytes) -> bool:
    """Whether an envelope binds the journal of this store, or of a copy of it."""
    from reviewer.desk.decision_facts import store_uri
    from reviewer.release.attest.dsse import parse_envelope
    from reviewer.release.attest.errors import AttestError

    try:
        predicate = json.loads(parse_envelope(envelope).payload)["predicate"]
        if not predicate["audit"]["seq"]:
            return False
        uri = (predicate.get("evidence") or {}).get("uri") or ""
    except (AttestError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return uri.partition("#")[0] == store_uri(connection) or not _bound_head(
        connection, "", envelope
    )
