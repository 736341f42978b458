"""The journal: append-only, chained, and bound into every decision that leaves the house."""

import base64
import contextlib
import hashlib
import json
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from doors import SUITE, V8, Door, passing

GUARDS = ("journal_no_update", "journal_no_delete", "journal_in_order")


def link(seq: int, prev: bytes, body: bytes) -> bytes:
    """The documented formula, written again."""
    inner = hashlib.sha256(body).digest()
    return hashlib.sha256(b"arw-audit-v1\0" + struct.pack(">Q", seq) + prev + inner).digest()


@pytest.fixture
def signed(full: Door) -> Door:
    """A workspace with one signed decision."""
    private = Ed25519PrivateKey.generate()
    key = full.root / "robin"
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    key.chmod(0o600)
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    key.with_suffix(".pub").write_bytes(public)
    full.ok("keys", "trust", "robin@example.com", f"{key}.pub")
    full.ok("sign", "--suite", SUITE, "--candidate", V8, "--key", key)
    full.healthy()
    return full


def test_every_entry_follows_the_documented_chain(signed: Door) -> None:
    previous = bytes(32)
    rows = signed.rows("SELECT seq, body, prev, hash FROM journal ORDER BY seq")
    for number, (seq, body, prev, digest) in enumerate(rows, 1):
        assert (seq, prev, digest) == (number, previous, link(seq, prev, body))
        previous = digest
    kinds = [row[0] for row in signed.rows("SELECT json_extract(body, '$.type') FROM journal")]
    assert kinds[0] == "suite.frozen"
    assert kinds[-1] == "decision.signed"
    assert kinds.index("suite.frozen") < kinds.index("traces.added")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journal SET body=x'7b7d' WHERE seq=1",
        "UPDATE OR REPLACE journal SET seq=2 WHERE seq=1",
        "DELETE FROM journal WHERE seq=1",
        "DELETE FROM journal",
        "INSERT OR REPLACE INTO journal SELECT 1, x'7b7d', prev, hash FROM journal WHERE seq=1",
        "REPLACE INTO journal SELECT * FROM journal WHERE seq=2",
        "INSERT INTO journal SELECT 99, body, hash, hash FROM journal ORDER BY seq DESC LIMIT 1",
        "INSERT INTO journal SELECT max(seq) + 1, body, zeroblob(32), hash FROM journal",
        "INSERT INTO journal SELECT max(seq) + 1, body, x'00', hash FROM journal",
        "INSERT OR IGNORE INTO journal SELECT 1, x'7b7d', prev, hash FROM journal WHERE seq=1",
    ],
)
@pytest.mark.parametrize("recursive", [0, 1])
def test_the_journal_refuses_to_be_rewritten(full: Door, statement: str, recursive: int) -> None:
    """By any program: the guards stand in the file."""
    before = full.rows("SELECT * FROM journal")
    with contextlib.closing(sqlite3.connect(full.store)) as base:
        base.execute(f"PRAGMA recursive_triggers={recursive}")
        with pytest.raises(sqlite3.IntegrityError), base:
            base.execute(statement)
    assert full.rows("SELECT * FROM journal") == before


def unguarded(door: Door, act: Callable[[sqlite3.Connection], object]) -> None:
    """What someone with the file and a shell can do: drop the guards, act, put them back."""
    with contextlib.closing(sqlite3.connect(door.store)) as base:
        guards = [
            base.execute("SELECT sql FROM sqlite_master WHERE name=?", (name,)).fetchone()[0]
            for name in GUARDS
        ]
        with base:
            for name in GUARDS:
                base.execute(f"DROP TRIGGER {name}")
            act(base)
            for text in guards:
                base.execute(text)


def edit(base: sqlite3.Connection) -> None:
    base.execute("UPDATE journal SET body=CAST(replace(body, 'v7', 'v9') AS BLOB) WHERE seq=2")


def delete(base: sqlite3.Connection) -> None:
    base.execute("DELETE FROM journal WHERE seq=3")


def delete_first(base: sqlite3.Connection) -> None:
    base.execute("DELETE FROM journal WHERE seq=1")


def reorder(base: sqlite3.Connection) -> None:
    for old, new in ((2, -1), (3, 2), (-1, 3)):
        base.execute("UPDATE journal SET seq=? WHERE seq=?", (new, old))


def renumber(base: sqlite3.Connection) -> None:
    base.execute("DELETE FROM journal WHERE seq=3")
    base.execute("UPDATE journal SET seq=seq - 1 WHERE seq > 3")


def cut(base: sqlite3.Connection) -> None:
    base.execute("DELETE FROM journal WHERE seq > 3")


def forget(base: sqlite3.Connection) -> None:
    base.execute("DELETE FROM journal WHERE seq > 4")
    base.execute("DELETE FROM decision")


def recompute(base: sqlite3.Connection) -> None:
    """Edit, then make the whole chain anew."""
    rows = base.execute("SELECT seq, body FROM journal ORDER BY seq").fetchall()
    previous = bytes(32)
    for seq, body in rows:
        changed = body.replace(b'"at":"2', b'"at":"1') if seq == 3 else body
        digest = link(seq, previous, changed)
        base.execute(
            "UPDATE journal SET body=?, prev=?, hash=? WHERE seq=?",
            (changed, previous, digest, seq),
        )
        previous = digest


@pytest.mark.parametrize(
    "attack", [edit, delete, delete_first, reorder, renumber], ids=lambda attack: attack.__name__
)
def test_the_chain_alone_finds(full: Door, attack: Callable[[sqlite3.Connection], None]) -> None:
    unguarded(full, attack)
    said = full.run("doctor")
    assert said.code == 20, said.out
    assert "journal: broken at entry" in said.out


@pytest.mark.parametrize("attack", [cut, recompute, forget], ids=lambda attack: attack.__name__)
def test_the_head_in_a_signed_decision_finds(
    signed: Door, attack: Callable[[sqlite3.Connection], None]
) -> None:
    unguarded(signed, attack)
    said = signed.run("doctor")
    assert said.code == 20, said.out
    assert "FAIL decisions" in said.out, said.out


@pytest.mark.parametrize("between", [False, True])
def test_rolling_the_whole_file_back_is_found(full: Door, signed: Door, between: bool) -> None:
    """Also when the head that the lost decision binds is of entries that are lost with it."""
    older = signed.root / "older.db"
    signed.ok("backup", older)
    key = signed.root / "robin"
    if between:
        signed.take("more.json", passing(candidate_id="another"))
    signed.ok("sign", "--suite", SUITE, "--candidate", V8, "--key", key)
    for left in signed.store.parent.glob("review.db*"):
        left.unlink()
    older.rename(signed.store)
    said = signed.run("doctor")
    assert said.code == 20
    assert "is not in this store" in said.out


def decision(door: Door) -> Path:
    (found,) = (door.root / "store" / "decisions").glob("*.dsse.json")
    return found


def test_a_decision_file_that_is_gone_or_changed_is_found(signed: Door) -> None:
    path = decision(signed)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"a", b"b", 1))
    assert "differs" in signed.run("doctor").out
    path.unlink()
    assert "missing" in signed.run("doctor").out
    path.write_bytes(whole)
    signed.healthy()
    stray = path.with_name("9-promote-nobody.dsse.json")
    stray.write_bytes(whole)
    assert "not in this store" in signed.run("doctor").out


def test_changing_both_copies_of_a_decision_is_found_by_its_signature(signed: Door) -> None:
    """The journal made anew, and the head in both copies of the decision made to fit."""
    heads = signed.rows("SELECT hash FROM journal ORDER BY seq DESC LIMIT 1 OFFSET 1")[0][0].hex()
    unguarded(signed, recompute)
    fresh = signed.rows("SELECT hash FROM journal ORDER BY seq DESC LIMIT 1 OFFSET 1")[0][0].hex()
    assert heads != fresh
    path = decision(signed)
    envelope = json.loads(path.read_bytes())
    payload = base64.b64decode(envelope["payload"]).replace(heads.encode(), fresh.encode())
    envelope["payload"] = base64.b64encode(payload).decode()
    path.write_text(json.dumps(envelope))
    with contextlib.closing(sqlite3.connect(signed.store)) as base, base:
        base.execute("UPDATE decision SET envelope=?", (path.read_bytes(),))
    said = signed.run("doctor")
    assert said.code == 20, said.out
    assert "FAIL decisions" in said.out


def test_appending_is_allowed(signed: Door) -> None:
    signed.take("more.json", passing())
    signed.healthy()
