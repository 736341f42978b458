"""Backups while others write, and putting one in the store's place."""

import contextlib
import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from doors import SUITE, V8, Door, environment, passing
from labelers import drafted, kept, labeler, pairs_of

from reviewer.db.connection import reader, scripts


def facts(door: Door) -> dict[str, list[tuple[object, ...]]]:
    """What people and imports brought, and the chain over it."""
    tables = {
        "trace": "id, sha256",
        "label": "uid, body",
        "decision": "number, payload_sha256",
        "journal": "seq, hash",
    }
    return {name: door.rows(f"SELECT {what} FROM {name}") for name, what in tables.items()}


def lose(door: Door) -> None:
    for path in door.store.parent.glob("review.db*"):
        path.unlink()


def backed_up(door: Door) -> Path:
    copy = door.root / "copy.db"
    head = door.rows("SELECT seq, lower(hex(hash)) FROM journal ORDER BY seq DESC LIMIT 1")[0]
    said = door.ok("backup", copy)
    assert f"journal entry {head[0]}, head {head[1][:16]}" in said.err
    return copy


def test_what_was_lost_is_there_again(used: Door) -> None:
    before, copy = facts(used), backed_up(used)
    lose(used)
    mask = os.umask(0)
    try:
        said = used.ok("restore", copy)
    finally:
        os.umask(mask)
    assert f"journal entry {len(before['journal'])}, head" in said.err
    assert facts(used) == before
    assert stat.S_IMODE(used.store.stat().st_mode) == 0o600
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    used.healthy()
    with labeler(used, "kim") as desk:
        item = desk.labels.next_item(session := pairs_of(desk))
        assert item is not None
        desk.labels.record(session, drafted(item))
    used.healthy()
    assert list(used.store.parent.glob(".restore*")) == []


def test_a_backup_is_restored_into_a_workspace_that_is_new(used: Door, door: Door) -> None:
    before, copy = facts(used), backed_up(used)
    door.ok("restore", copy)
    assert facts(door) == before


def test_a_backup_is_one_file_that_needs_no_place_to_write(used: Door) -> None:
    copy = backed_up(used)
    assert list(used.root.glob("copy.db-*")) == []
    with contextlib.closing(sqlite3.connect(f"file:{copy}?mode=ro", uri=True)) as base:
        assert base.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert list(used.root.glob("copy.db-*")) == []


def test_a_store_that_is_there_is_kept_and_set_aside_only_when_asked(used: Door) -> None:
    copy, early = backed_up(used), facts(used)
    with labeler(used, "kim") as desk:
        item = desk.labels.next_item(session := pairs_of(desk))
        assert item is not None
        desk.labels.record(session, drafted(item))
    late = facts(used)
    said = used.run("restore", copy)
    assert said.code == 2
    assert "--replace" in said.err
    assert facts(used) == late
    said = used.ok("restore", copy, "--replace")
    aside = used.store.with_name("review.db.replaced-1")
    assert f"1 more entries and is now {aside}" in said.err
    assert f"reviewer merge {aside} brings back what it holds" in said.err
    assert facts(used) | {"journal": []} == early | {"journal": []}
    assert facts(used)["journal"][:-1] == early["journal"]
    used.healthy()
    used.ok("restore", aside, "--replace")
    assert facts(used) == late
    assert used.store.with_name("review.db.replaced-2").exists()
    used.healthy()


def test_a_backup_from_before_a_failure_does_not_take_its_place_without_a_word(full: Door) -> None:
    copy = backed_up(full)
    bad = passing(candidate_id=V8, attempt=9)
    next(one for one in bad["events"] if one["kind"] == "tool_call")["tool"] = "issue_refund"
    full.take("bad.jsonl", [bad])
    full.ok("restore", copy, "--replace")
    full.healthy()
    out = full.root / "out"
    full.run("--export-report", out, "--suite", SUITE, "--candidate", V8)
    written = json.loads((out / "report.json").read_bytes())
    (restored,) = written["restored"]
    assert restored["lost"] >= 1
    assert "took the place of a later store" in (out / "report.md").read_text()
    full.ok("merge", full.store.with_name("review.db.replaced-1"))
    full.healthy()
    assert full.run("--export-report", out, "--suite", SUITE, "--candidate", V8).code == 10


def test_a_store_that_is_open_is_not_replaced(used: Door) -> None:
    copy, before = backed_up(used), facts(used)
    with labeler(used) as desk:
        desk.workspace.suites()
        said = used.run("restore", copy, "--replace")
        assert said.code == 20
        assert "is in use" in said.err
        assert "quit every workstation" in said.err
        assert facts(used) == before
    used.ok("restore", copy, "--replace")


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + b"\xff" * 5000, b"none" * 999])
def test_a_damaged_store_is_replaced_and_kept_beside(used: Door, content: bytes) -> None:
    before, copy = facts(used), backed_up(used)
    used.store.write_bytes(content)
    log = used.store.with_name("review.db-wal")
    log.write_bytes(b"left over")
    assert used.run("restore", copy).code == 2
    used.ok("restore", copy, "--replace")
    assert facts(used) == before
    used.healthy()
    aside = used.store.with_name("review.db.replaced-1")
    assert aside.read_bytes() == content
    assert aside.with_name(aside.name + "-wal").read_bytes() == b"left over"


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("UPDATE label SET reviewer='other' WHERE id=3", "facts"),
        ("UPDATE trace SET cost_usd=0", "facts"),
        ("DELETE FROM journal WHERE seq=2", "journal"),
        ("UPDATE pack SET frame=zeroblob(9)", "payloads"),
        ("CREATE VIEW more AS SELECT 1", "changed by another program: view more"),
    ],
)
def test_a_backup_that_is_not_as_its_journal_says_is_refused(
    used: Door, statement: str, word: str
) -> None:
    copy = backed_up(used)
    with contextlib.closing(sqlite3.connect(copy)) as base, base:
        triggers = base.execute("SELECT name, sql FROM sqlite_schema WHERE type='trigger'")
        made = triggers.fetchall()
        for name, _ in made:
            base.execute(f"DROP TRIGGER {name}")
        base.execute(statement)
        for _, sql in made:
            base.execute(sql)
    refused(used, copy, word)


def refused(door: Door, copy: Path, word: str, code: int = 20) -> None:
    before = facts(door)
    said = door.run("restore", copy, "--replace")
    assert said.code == code, said
    assert word in said.err
    assert "internal" not in said.err
    assert facts(door) == before
    assert list(door.store.parent.glob(".restore*")) == []
    assert list(door.store.parent.glob("*replaced*")) == []


def test_what_is_no_backup_is_refused(used: Door) -> None:
    copy = backed_up(used)
    refused(used, used.root / "nowhere.db", "no such file", 2)
    refused(used, used.store, "own store", 2)
    refused(used, used.file("text.db", b"text" * 999), "cannot be read as a store")
    half = used.file("half.db", copy.read_bytes()[: copy.stat().st_size // 2])
    refused(used, half, "half.db")
    with contextlib.closing(sqlite3.connect(copy)) as base:
        base.execute(f"PRAGMA user_version={len(scripts()) + 1}")
    refused(used, copy, "written by a newer reviewer")


def complete(copy: Path) -> bool:
    """Whether a copy holds every label that stood when it was begun, whole."""
    with contextlib.closing(reader(copy)) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        entries, labels = (
            base.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in ("journal", "label")
        )
        return bool(entries and labels)


@pytest.mark.parametrize(
    "copies", [pytest.param(4, id="some"), pytest.param(40, id="40", marks=pytest.mark.nightly)]
)
def test_backups_while_people_label_are_whole(full: Door, door: Door, copies: int) -> None:
    """Another process writes labels and a trace file all the while."""
    script = Path(__file__).with_name("recorded.py")
    log = full.root / "log"
    full.take("one.json", passing())
    writing = subprocess.Popen(
        [sys.executable, script, full.root, log, "labels", str(100_000), "20"], env=environment()
    )
    try:
        while not kept(full):
            assert writing.poll() is None
        for number in range(copies):
            told, copy = len(kept(full)), full.root / f"copy-{number}.db"
            full.ok("backup", copy)
            assert stat.S_IMODE(copy.stat().st_mode) == 0o600
            assert complete(copy)
            lose(door)
            door.ok("restore", copy)
            door.healthy()
            assert len(kept(door)) >= told, "a label that was acknowledged before is missing"
        assert writing.poll() is None
        assert len(kept(full)) > told
    finally:
        writing.kill()
        writing.wait()
    full.healthy()
