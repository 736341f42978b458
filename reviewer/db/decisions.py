"""Decisions of the store: their rows, their signatures, and the check of both against the
journal."""

import base64
import json
import sqlite3
from typing import Any, Literal, NamedTuple

from reviewer.db import journal

SIGNED, COSIGNED, TAKEN = "decision.signed", "decision.cosigned", "decision.taken"
"""Signed here first; signed by one more person; taken over from the store where it was signed."""
Standing = Literal["signed", "pending"]
_COLUMNS = (
    "number, suite, candidate, decision, principal, payload_sha256, report_sha256, file, envelope,"
    " at, seq, standing, agent, environment"
)


class DecisionRow(NamedTuple):
    """One decision: `principal` signed first, `envelope` holds every signature known here, `seq` is
    the journal entry of the first."""

    number: int
    suite: int
    candidate: int
    decision: str
    principal: str
    payload_sha256: str
    report_sha256: str
    file: str
    envelope: bytes
    at: str
    seq: int
    standing: Standing
    agent: str
    environment: str


def rows(connection: sqlite3.Connection) -> list[DecisionRow]:
    """Return every decision, by number."""
    found = connection.execute(f"SELECT {_COLUMNS} FROM decision ORDER BY number").fetchall()
    return [DecisionRow(*row) for row in found]


def files(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """Return (number, file) of every decision, by number."""
    return connection.execute("SELECT number, file FROM decision ORDER BY number").fetchall()


def row(connection: sqlite3.Connection, number: int) -> DecisionRow | None:
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM decision WHERE number=?", (number,)
    ).fetchone()
    return DecisionRow(*found) if found else None


def by_payload(connection: sqlite3.Connection, payload_sha256: str) -> DecisionRow | None:
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM decision WHERE payload_sha256=?", (payload_sha256,)
    ).fetchone()
    return DecisionRow(*found) if found else None


def newest_on(connection: sqlite3.Connection, candidate: int) -> DecisionRow | None:
    """Return the newest decision on a candidate."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM decision WHERE candidate=? ORDER BY number DESC LIMIT 1",
        (candidate,),
    ).fetchone()
    return DecisionRow(*found) if found else None


def on_agent_after(
    connection: sqlite3.Connection, candidate: int, number: int
) -> list[DecisionRow]:
    """Return the decisions after this number on other candidates of the same agent, newest first: a
    decision on a release covers more suites than the one it is stored under."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM decision WHERE candidate<>?1 AND number>?2 AND agent="
        " (SELECT json_extract(CAST(manifest AS TEXT), '$.agent') FROM candidate WHERE id=?1)"
        " ORDER BY number DESC",
        (candidate, number),
    ).fetchall()
    return [DecisionRow(*one) for one in found]


def pending(connection: sqlite3.Connection, candidate: int) -> list[DecisionRow]:
    """Return the decisions on a candidate that wait for another signature, newest first."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM decision WHERE candidate=? AND standing='pending'"
        " ORDER BY number DESC",
        (candidate,),
    ).fetchall()
    return [DecisionRow(*one) for one in found]


def envelope_on(connection: sqlite3.Connection, candidate: int, report_sha256: str) -> bytes | None:
    """Return the newest envelope that was signed on a report; None when none was."""
    found = connection.execute(
        "SELECT envelope FROM decision WHERE candidate=? AND report_sha256=?"
        " ORDER BY number DESC LIMIT 1",
        (candidate, report_sha256),
    ).fetchone()
    return None if found is None else bytes(found[0])


class NamedDecision(NamedTuple):
    """One decision with the names of its suite and candidate."""

    number: int
    suite_id: str
    candidate_id: str
    decision: str
    principal: str
    payload_sha256: str


def named(connection: sqlite3.Connection) -> list[NamedDecision]:
    """Return every decision with its names, by number."""
    found = connection.execute(
        "SELECT number, suite_id, candidate_id, decision, principal, payload_sha256"
        " FROM decisions ORDER BY number"
    ).fetchall()
    return [NamedDecision(*one) for one in found]


def keyids(connection: sqlite3.Connection, number: int) -> set[str]:
    """Return the ids of the keys that signed a decision."""
    found = connection.execute("SELECT keyid FROM signature WHERE decision=?", (number,)).fetchall()
    return {keyid for (keyid,) in found}


def signers(connection: sqlite3.Connection, number: int) -> list[str]:
    """Return the principals who signed a decision, in the order of their signatures."""
    found = connection.execute(
        "SELECT principal FROM signature WHERE decision=? ORDER BY seq, keyid", (number,)
    ).fetchall()
    return list(dict.fromkeys(one[0] for one in found))


def add(connection: sqlite3.Connection, new: DecisionRow, keyid: str, kind: str = SIGNED) -> None:
    """Add a decision with its first signature, inside the caller's transaction; the journal assigns
    `new.seq`. `kind` is SIGNED or TAKEN."""
    head = _tell(connection, kind, new, new.principal, keyid, new.at)
    marks = ", ".join("?" * len(new))
    stored = new._replace(seq=head)
    connection.execute(f"INSERT INTO decision ({_COLUMNS}) VALUES ({marks})", stored)
    _sign(connection, new.number, keyid, new.principal, new.at, head)


def cosign(
    connection: sqlite3.Connection, changed: DecisionRow, keyid: str, principal: str, at: str
) -> None:
    """Add another signature to a decision, inside the caller's transaction: `changed` is its row
    with the new envelope and standing."""
    head = _tell(connection, COSIGNED, changed, principal, keyid, at)
    connection.execute(
        "UPDATE decision SET envelope=?, standing=? WHERE number=?",
        (changed.envelope, changed.standing, changed.number),
    )
    _sign(connection, changed.number, keyid, principal, at, head)


def _tell(
    connection: sqlite3.Connection,
    kind: str,
    of: DecisionRow,
    principal: str,
    keyid: str,
    at: str,
) -> int:
    entry = {
        "type": kind,
        "number": of.number,
        "decision": of.decision,
        "principal": principal,
        "keyid": keyid,
        "payload_sha256": of.payload_sha256,
        "report_sha256": of.report_sha256,
        "standing": of.standing,
        "at": at,
    }
    return journal.append(connection, entry).seq


def _sign(
    connection: sqlite3.Connection, number: int, keyid: str, principal: str, at: str, seq: int
) -> None:
    connection.execute(
        "INSERT INTO signature (decision, keyid, principal, at, seq) VALUES (?, ?, ?, ?, ?)",
        (number, keyid, principal, at, seq),
    )


def faults(connection: sqlite3.Connection) -> list[str]:
    """Return the decisions and signatures that differ from the journal."""
    told: dict[int, tuple[str, ...]] = {}
    standing: dict[int, str] = {}
    signed: dict[tuple[int, str], int] = {}
    for seq, body in connection.execute("SELECT seq, body FROM journal ORDER BY seq").fetchall():
        entry = json.loads(body)
        if entry["type"] not in (SIGNED, COSIGNED, TAKEN):
            continue
        number = entry["number"]
        if entry["type"] != COSIGNED:
            told[number] = entry["decision"], entry["principal"], entry["payload_sha256"]
        standing[number] = entry.get("standing", "")  # entries from before several could sign
        signed[number, entry["principal"]] = seq
    wrong = []
    for one in rows(connection):
        said = told.pop(one.number, None)
        if said != (one.decision, one.principal, one.payload_sha256) or (
            standing[one.number] not in ("", one.standing)
        ):
            wrong.append(f"decision {one.number}: its row does not match the journal")
    wrong += [f"decision {number} of the journal has no row" for number in told]
    held = {
        (number, principal): seq
        for number, principal, seq in connection.execute(
            "SELECT decision, principal, max(seq) FROM signature GROUP BY decision, principal"
        ).fetchall()
    }
    return wrong + [
        f"decision {number}: the signature of {principal} does not match the journal"
        for number, principal in sorted(signed.keys() | held.keys())
        if signed.get((number, principal)) != held.get((number, principal))
    ]


def signed_here(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """Return (journal entry, payload) of every decision that was first signed in this store, in
    order."""
    elsewhere = taken(connection)
    found = connection.execute(
        "SELECT number, seq, payload_sha256 FROM decision ORDER BY seq"
    ).fetchall()
    return [(seq, payload) for number, seq, payload in found if number not in elsewhere]


def taken(connection: sqlite3.Connection) -> set[int]:
    """Return the numbers of decisions that were signed under another store's journal."""
    found = connection.execute(
        "SELECT body FROM journal WHERE instr(body, ?)", (f'"{TAKEN}"'.encode(),)
    ).fetchall()
    entries = (json.loads(body) for (body,) in found)
    return {entry["number"] for entry in entries if entry["type"] == TAKEN}


def fill_old(connection: sqlite3.Connection) -> None:
    """Fill agent, environment, signature and standing of decisions signed before two signatures
    were possible, read from the envelopes. Inside the caller's transaction."""
    found = connection.execute(
        "SELECT number, decision, principal, envelope, at, seq FROM decision WHERE agent=''"
    ).fetchall()
    for number, decision, principal, envelope, at, seq in found:
        outside = json.loads(envelope)
        inside = json.loads(base64.b64decode(outside["payload"]))
        predicate, name = inside["predicate"], inside["subject"][0]["name"]
        needed = predicate["approvals"]["threshold"] if decision == "PROMOTE" else 1
        waits = "pending" if len(outside["signatures"]) < needed else "signed"
        connection.execute(
            "UPDATE decision SET agent=?, environment=?, standing=? WHERE number=?",
            (name.rpartition("@")[0] or name, predicate["environment"], waits, number),
        )
        keyid = str(outside["signatures"][0].get("keyid", ""))
        _sign(connection, number, keyid, principal, at, seq)


def newest_before(
    connection: sqlite3.Connection, agent: str, environment: str, number: int | None = None
) -> tuple[int, str] | None:
    """Return (number, payload sha256) of the decision that number `number` (None: the next)
    follows."""
    bound: tuple[Any, ...] = (agent, environment, number if number is not None else 1 << 62)
    found = connection.execute(
        "SELECT number, payload_sha256 FROM decision WHERE agent=? AND environment=? AND number<?"
        " ORDER BY number DESC LIMIT 1",
        bound,
    ).fetchone()
    return (found[0], found[1]) if found else None
