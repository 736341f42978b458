"""The journal: every act that changes what may be believed, in an append-only hash chain.

`hash = sha256("arw-audit-v1\\0" || u64be(seq) || prev || sha256(body))`, body in RFC 8785 bytes.
The chain alone does not see its own tail cut off: the head is therefore bound into every signed
decision, and checking against that head is what makes a roll-back visible.
"""

import hashlib
import json
import sqlite3
import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

DOMAIN = b"arw-audit-v1\0"
GENESIS = bytes(32)


class Head(NamedTuple):
    """The last entry: its number (0 for an empty journal) and its hash."""

    seq: int
    hash: bytes


class ChainFault(NamedTuple):
    """The first entry at which the chain does not hold, and why."""

    seq: int
    reason: str


def link(seq: int, prev: bytes, body: bytes) -> bytes:
    return hashlib.sha256(
        DOMAIN + struct.pack(">Q", seq) + prev + hashlib.sha256(body).digest()
    ).digest()


def head(connection: sqlite3.Connection) -> Head:
    row = connection.execute("SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1").fetchone()
    return Head(row[0], row[1]) if row else Head(0, GENESIS)


def uri(connection: sqlite3.Connection) -> str:
    """Return the store's name by the first entry of its journal. Only the store and its copies
    begin with that entry, so an older copy that replaces the store is recognized."""
    row = connection.execute("SELECT hash FROM journal WHERE seq=1").fetchone()
    return f"store/review.db?journal={row[0].hex()[:32]}" if row else "store/review.db"


def hash_at(connection: sqlite3.Connection, seq: int) -> str | None:
    """Return the hash of an entry, hex; None when there is no entry of that number."""
    row = connection.execute("SELECT hash FROM journal WHERE seq=?", (seq,)).fetchone()
    return row[0].hex() if row else None


def entry_body(connection: sqlite3.Connection, seq: int) -> bytes | None:
    """Return the body of an entry; None when there is no entry of that number."""
    row = connection.execute("SELECT body FROM journal WHERE seq=?", (seq,)).fetchone()
    return None if row is None else bytes(row[0])


def entries_between(
    connection: sqlite3.Connection, after: int, last: int
) -> list[tuple[int, bytes]]:
    """Return (number, body) of the entries after number `after` up to number `last`, in order."""
    return connection.execute(
        "SELECT seq, body FROM journal WHERE seq>? AND seq<=? ORDER BY seq", (after, last)
    ).fetchall()


def hashes_at(connection: sqlite3.Connection, seqs: Iterable[int]) -> dict[int, str]:
    """Return the hashes (hex) by number of those of the given entries that the journal has."""
    return dict(
        connection.execute(
            "SELECT seq, lower(hex(hash)) FROM journal"
            " WHERE seq IN (SELECT value FROM json_each(?))",
            (json.dumps(list(seqs)),),
        ).fetchall()
    )


class Entry(NamedTuple):
    """One entry as `entries_after` reads it; `matches` says whether it is of one of the types."""

    seq: int
    hash: bytes
    matches: bool


def entries_after(connection: sqlite3.Connection, seq: int, types: Iterable[str]) -> list[Entry]:
    """Return the entries after number `seq`, in order, each with whether it is of one of these
    types."""
    wanted = [f'"{one}"'.encode() for one in types]
    match = " OR ".join("instr(body, ?) > 0" for _ in wanted)
    rows = connection.execute(
        f"SELECT seq, hash, {match} FROM journal WHERE seq>? ORDER BY seq", (*wanted, seq)
    ).fetchall()
    return [Entry(number, digest, bool(matches)) for number, digest, matches in rows]


def bodies(connection: sqlite3.Connection, kind: str) -> list[dict[str, Any]]:
    """Return the bodies of the entries of one type, oldest first."""
    rows = connection.execute(
        "SELECT body FROM journal WHERE instr(body, ?) ORDER BY seq", (f'"{kind}"'.encode(),)
    ).fetchall()
    entries = (json.loads(body) for (body,) in rows)
    return [entry for entry in entries if entry["type"] == kind]


_SAFE = 1 << 53
_SORTED = msgspec.json.Encoder(order="sorted").encode


def _is_plain(name: str, value: Any) -> bool:
    if not name.isascii():
        return False
    kind = type(value)
    return kind is str or kind is bool or value is None or (kind is int and -_SAFE < value < _SAFE)


def canonical(body: dict[str, Any]) -> bytes:
    """Return the RFC 8785 bytes of an entry. Most entries are an object of plain texts and whole
    numbers under ASCII names; msgspec writes these sorted, with the same bytes as `rfc8785`, which
    is slower."""
    if all(_is_plain(name, value) for name, value in body.items()):
        try:
            return _SORTED(body)
        except UnicodeEncodeError:
            pass  # half of a surrogate pair: `rfc8785` reports it
    import rfc8785

    return rfc8785.dumps(body)


def append(connection: sqlite3.Connection, body: dict[str, Any]) -> Head:
    """Add one entry inside the caller's transaction and return the new head."""
    last = head(connection)
    seq, raw = last.seq + 1, canonical(body)
    digest = link(seq, last.hash, raw)
    connection.execute("INSERT INTO journal VALUES (?, ?, ?, ?)", (seq, raw, last.hash, digest))
    return Head(seq, digest)


def verify(connection: sqlite3.Connection) -> tuple[Head, ChainFault | None]:
    """Walk the chain from the first entry; return the head reached and the first fault."""
    reached = Head(0, GENESIS)
    for seq, body, prev, digest in connection.execute(
        "SELECT seq, body, prev, hash FROM journal ORDER BY seq"
    ):
        if not all(isinstance(part, bytes) for part in (body, prev, digest)):
            return reached, ChainFault(seq, "a column changed its type")
        if seq != reached.seq + 1:
            return reached, ChainFault(seq, f"entry {reached.seq + 1} is missing")
        if prev != reached.hash:
            return reached, ChainFault(seq, "does not follow the entry before it")
        if digest != link(seq, prev, body):
            return reached, ChainFault(seq, "its content does not match its hash")
        reached = Head(seq, digest)
    return reached, None
