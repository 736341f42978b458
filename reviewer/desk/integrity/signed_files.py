"""The checks of signed files: files and rows agree, signatures verify, journal heads named in
decisions exist."""

import hashlib
import json
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reviewer.db import decisions, journal
from reviewer.db.connection import Connection, DatabaseError, StoreError, reader, write_lock
from reviewer.db.tables import break_glass_rows, loss_rows, run_result_rows
from reviewer.desk.errors import DeskError
from reviewer.desk.integrity.store_checks import linked_folders, signed_file_names
from reviewer.desk.place import Workspace

if TYPE_CHECKING:
    from reviewer.signing.signers import Signers


class Check(NamedTuple):
    """One check. `ok` is None for a remark that is not a fault."""

    name: str
    ok: bool | None
    text: str


def signed_checks(workspace: Workspace, connection: Connection) -> list[Check]:
    """Check that files and rows agree, and that the journal still has the head that each decision
    contains."""
    from reviewer.desk.integrity.trust import signers_of

    faults = [*linked_folders(workspace), *decisions.faults(connection)]
    if os.path.lexists(workspace.witness):
        faults += _witness_faults(workspace, connection)
    rows = decisions.rows(connection)
    taken = decisions.taken(connection)
    trusted = None
    try:
        trusted = signers_of(workspace)
    except DeskError as error:
        faults.append(error.text)
    for row in rows:
        what, path = f"decision {row.number}", workspace.decisions / row.file
        faults += file_faults(what, path, row.envelope)
        faults += _signature(workspace, what, row.envelope, trusted)
        if row.number not in taken:
            faults += _bound_head(connection, what, row.envelope)
    others = [
        (f"break-glass of {one.at}", workspace.decisions / one.file, one.envelope)
        for one in break_glass_rows(connection)
    ] + [
        (f"test result {one.uid[:12]}", workspace.attestations / one.file, one.envelope)
        for one in run_result_rows(connection)
    ]
    losses = loss_rows(connection)
    others += [
        (f"loss of journal of {one.at}", workspace.decisions / one.file, one.envelope)
        for one in losses
    ]
    for what, path, envelope in others:
        faults += file_faults(what, path, envelope)
        faults += _signature(workspace, what, envelope, trusted)
    strays, elsewhere = _strays(workspace, connection, signed_file_names(connection), trusted)
    faults += strays
    waiting = sum(row.standing == "pending" for row in rows)
    text = f"{len(rows)} signed, all unchanged"
    if waiting:
        text += f"; {waiting} wait for another signature"
    found = [Check("decisions", not faults, "; ".join(faults[:5]) if faults else text)]
    found += [
        Check(
            "loss",
            None,
            f"{one.principal} stated at {one.at} that the journal continues from entry"
            f" {one.kept_seq} of {one.lost_seq}: {' '.join(one.reason.split())}",
        )
        for one in losses
    ]
    if elsewhere:
        names = ", ".join(elsewhere[:3])
        told = (
            f"signed elsewhere and not taken in: {names}; reviewer decisions take FILE takes "
            "them in"
        )
        found.append(Check("elsewhere", None, told))
    return found


def _witness_faults(workspace: Workspace, connection: Connection) -> list[str]:
    from reviewer.desk.integrity.witness import order_faults, witness_faults

    try:
        return [*order_faults(workspace), *witness_faults(workspace, connection)]
    except DeskError as error:
        return [error.text]


def stray_faults(workspace: Workspace, connection: Connection) -> list[str]:
    """Return what is wrong with the signed files for which this store has no row."""
    from reviewer.desk.integrity.trust import signers_of

    return _strays(workspace, connection, signed_file_names(connection), signers_of(workspace))[0]


def file_faults(what: str, path: Path, envelope: bytes) -> list[str]:
    """Return faults unless a file is the envelope that the store has, or the same with more
    signatures."""
    from reviewer.desk.integrity.decision_files import read_envelope
    from reviewer.signing.dsse import parse_envelope
    from reviewer.signing.errors import AttestError

    if not path.is_file():
        return [f"{what}: {path.name} is missing"]
    data = read_envelope(path)
    if data == envelope:
        return []
    try:
        there, here = parse_envelope(data), parse_envelope(envelope)
    except AttestError:
        there, here = None, None
    # A file with one more person's signature is equally valid.
    if there and here and there.payload == here.payload:
        if set(there.signatures) >= set(here.signatures):
            return []
        return [f"{what}: {path.name} lacks a signature that the store has"]
    return [f"{what}: {path.name} differs from the store's copy"]


def _signature(workspace: Workspace, what: str, envelope: bytes, trusted: object) -> list[str]:
    """Check the signature of an envelope: the chain is only as trustworthy as a head stored outside
    it, and that head only as its signature."""
    from reviewer.signing.errors import AttestError
    from reviewer.signing.signers import Signers
    from reviewer.signing.trusted import vouched

    try:
        vouched(envelope, trusted if isinstance(trusted, Signers) else Signers((), ""))
    except AttestError as error:
        return [f"{what}: {error} ({workspace.signers})"]
    return []


def _bound_head(connection: Connection, what: str, envelope: bytes) -> list[str]:
    from reviewer.signing.dsse import parse_envelope
    from reviewer.signing.errors import AttestError

    try:
        audit = json.loads(parse_envelope(envelope).payload)["predicate"]["audit"]
    except (AttestError, ValueError, KeyError, TypeError):
        return [f"{what}: cannot be read"]
    if not audit["seq"]:
        return []
    if journal.hash_at(connection, audit["seq"]) != audit["head"]:
        return [f"{what}: the journal no longer holds the head it was signed under"]
    return []


def _strays(
    workspace: Workspace, connection: Connection, listed: set[str], trusted: object
) -> tuple[list[str], list[str]]:
    """Return (files that no trusted key signed or that this store should have, files that were
    signed in another store)."""
    from reviewer.desk.integrity.decision_files import envelope_files, read_envelope

    wrong, elsewhere = [], []
    folders = workspace.decisions, workspace.attestations
    paths = [one for folder in folders for one in envelope_files(folder) if one.name not in listed]
    if paths:
        listed = listed | _entered_meanwhile(workspace)
        for path in paths:
            if path.name in listed:
                continue
            data = read_envelope(path)
            if _signature(workspace, path.name, data, trusted):
                wrong.append(f"{path.name} is not in this store, and no trusted key signed it")
            elif gone := loss_shown_by(connection, data):
                wrong.append(f"{path.name} is not in this store, {gone}")
            elif _stated(connection, data):
                elsewhere.append(path.name)
            elif _from_here(connection, data) and not _waits(path, data, trusted):
                wrong.append(
                    f"{path.name} is not in this store, although it was signed on its journal: "
                    "signing was interrupted, this store is an older copy, or another copy of it "
                    "signed this; reviewer decisions take FILE takes it in"
                )
            else:
                elsewhere.append(path.name)
    return wrong, elsewhere


def _entered_meanwhile(workspace: Workspace) -> set[str]:
    """Return the files that have a row once the present writer is done: a file exists a moment
    before its row. Returns nothing where the store cannot be read again."""
    try:
        with write_lock(workspace.store):
            pass
        with closing(reader(workspace.store)) as connection:
            return signed_file_names(connection)
    except (StoreError, DatabaseError):
        return set()


def _waits(path: Path, envelope: bytes, trusted: object) -> bool:
    """Return whether an envelope is a decision that lacks a signature: a decision that a colleague
    passed on for signing enters the store when it is signed."""
    from reviewer.desk.integrity.decision_files import approval_state, parse_decision
    from reviewer.signing.errors import AttestError
    from reviewer.signing.signers import Signers

    if not isinstance(trusted, Signers):
        return False
    try:
        return approval_state(parse_decision(path, envelope, trusted)) == "pending"
    except AttestError:
        return False  # a break-glass record, or the result of a run


def loss_shown_by(connection: Connection, envelope: bytes) -> str | None:
    """Return why an envelope shows that this store lost entries: it was signed on this journal, at
    an entry that the journal lacks or has with other content. Return None when it shows no loss, or
    when a signed statement of loss covers it."""
    bound = _bound(envelope)
    if (
        bound is None
        or not _ours(connection, bound.uri)
        or bound.digest in stated_losses(connection)
    ):
        return None
    held = journal.hash_at(connection, bound.seq)
    if held == bound.head and not bound.loss:
        return None
    head = journal.head(connection).seq
    what = f"ends at entry {head}" if held is None else "has another entry there"
    if bound.loss:
        what = "does not record it"
    return (
        f"and was signed on its journal at entry {bound.seq}, head {bound.head[:16]}, where this "
        f"one {what}: this store is an older copy, or another copy of it signed this"
    )


class LostFile(NamedTuple):
    """A signed file that shows that the journal reached `seq`; `digest` is that of its payload."""

    path: Path
    digest: str
    seq: int


def lost_files(workspace: Workspace, connection: Connection, signers: "Signers") -> list[LostFile]:
    """Return the files signed by trusted keys that show that this store lost a part of its journal,
    and that no statement of loss names."""
    from reviewer.desk.integrity.decision_files import envelope_files, read_envelope

    listed, found = signed_file_names(connection), []
    for path in envelope_files(workspace.decisions):
        if path.name in listed:
            continue
        data = read_envelope(path)
        if _signature(workspace, path.name, data, signers) or not loss_shown_by(connection, data):
            continue
        if (bound := _bound(data)) is not None:
            found.append(LostFile(path, bound.digest, bound.seq + 1))  # signing adds an entry
    return found


def passed_on_payloads(workspace: Workspace, connection: Connection) -> set[str]:
    """Return the payloads of decisions that wait for a signature, in files for which this store has
    no row and that were signed at the present end of its journal."""
    from reviewer.desk.integrity.decision_files import envelope_files, read_envelope
    from reviewer.desk.integrity.trust import signers_of

    listed, trusted = signed_file_names(connection), signers_of(workspace)
    found, head = set(), journal.head(connection)
    for path in envelope_files(workspace.decisions):
        if path.name in listed:
            continue
        data = read_envelope(path)
        bound = _bound(data)
        here = bound is not None and (bound.seq, bound.head) == (head.seq, head.hash.hex())
        if bound is not None and here and _waits(path, data, trusted):
            found.add(bound.digest)
    return found


def stated_losses(connection: Connection) -> set[str]:
    """Return the payloads that a statement of loss names."""
    return {one for row in loss_rows(connection) for one in json.loads(row.decisions)}


class _BoundEntry(NamedTuple):
    """The journal entry that a signed file names, and the journal it belongs to."""

    seq: int
    head: str
    uri: str
    digest: str
    loss: bool = False


def _bound(envelope: bytes) -> _BoundEntry | None:
    """Return the journal entry that an envelope names; None when it names none."""
    from reviewer.signing.dsse import parse_envelope
    from reviewer.signing.errors import AttestError
    from reviewer.signing.records import LOSS_TYPE

    try:
        payload = parse_envelope(envelope).payload
        body = json.loads(payload)
        digest, predicate = hashlib.sha256(payload).hexdigest(), body["predicate"]
        if body["predicateType"] == LOSS_TYPE:
            kept = predicate["kept"]
            return _BoundEntry(kept["seq"], kept["head"], predicate["journal"], digest, True)
        audit, uri = predicate["audit"], (predicate.get("evidence") or {}).get("uri", "")
        return _BoundEntry(audit["seq"], audit["head"], uri, digest) if audit["seq"] else None
    except (AttestError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _ours(connection: Connection, uri: str) -> bool:
    """Return whether a decision names this store's journal, which copies of the store share."""
    return uri.partition("#")[0] == journal.uri(connection)


def _stated(connection: Connection, envelope: bytes) -> bool:
    bound = _bound(envelope)
    return bound is not None and bound.digest in stated_losses(connection)


def _from_here(connection: Connection, envelope: bytes) -> bool:
    """Return whether an envelope names the journal of this store, or of a copy of it."""
    bound = _bound(envelope)
    if bound is None:
        return False
    return _ours(connection, bound.uri) or not _bound_head(connection, "", envelope)
