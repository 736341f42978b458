"""The file itself: whose it is, who may read it, how it is written, and what a full disk does."""

import contextlib
import json
import os
import resource
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from doors import SUITE, V8, Door, as_nobody, copied, environment, lines, many, passing

from reviewer.db.connection import (
    APPLICATION_ID,
    StoreError,
    close_writer,
    reader,
    scripts,
    transaction,
)
from reviewer.db.schema import open_writer


def modes(folder: Path) -> dict[str, int]:
    return {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in folder.iterdir()
        if path.name.startswith("review.db") or path.suffix == ".db"
    }


def test_every_file_of_the_store_is_the_owners_alone(full: Door) -> None:
    before = os.umask(0o022)
    try:
        writing = open_writer(full.store)
        writing.execute("SELECT count(*) FROM trace").fetchone()
        with transaction(writing, full.store):
            writing.execute("UPDATE meta SET value=value")
            found = modes(full.root / "store")
        close_writer(writing, full.store)
        full.ok("backup", full.root / "store" / "copy.db")
    finally:
        os.umask(before)
    assert set(found) == {"review.db", "review.db-wal", "review.db-shm", "review.db.lock"}
    assert set({**found, **modes(full.root / "store")}.values()) == {0o600}


def test_a_new_store_is_the_owners_alone_whatever_the_umask(door: Door) -> None:
    before = os.umask(0)
    try:
        door.ok("import", door.suite / "traces")
    finally:
        os.umask(before)
    assert set(modes(door.root / "store").values()) == {0o600}


def test_loose_permissions_are_found(full: Door) -> None:
    full.store.chmod(0o644)
    said = full.run("doctor")
    assert said.code == 20
    assert "chmod 600" in said.out


def test_the_file_says_whose_it_is_and_how_it_is_written(full: Door) -> None:
    writing = open_writer(full.store)
    try:
        asked = {
            name: writing.execute(f"PRAGMA {name}").fetchone()[0]
            for name in (
                "application_id", "user_version", "journal_mode", "synchronous", "foreign_keys",
                "recursive_triggers", "trusted_schema", "cell_size_check",
            )
        }  # fmt: skip
    finally:
        close_writer(writing, full.store)
    assert asked == {
        "application_id": APPLICATION_ID, "user_version": len(scripts()), "journal_mode": "wal",
        "synchronous": 2, "foreign_keys": 1, "recursive_triggers": 1, "trusted_schema": 0,
        "cell_size_check": 1,
    }  # fmt: skip


def test_a_new_store_is_what_the_numbered_scripts_make(door: Door) -> None:
    parts = "SELECT type, name, sql FROM sqlite_master WHERE tbl_name <> '_sqlite_migrations'"
    with contextlib.closing(sqlite3.connect(":memory:")) as made:
        for script in scripts():
            made.executescript(script.read_text())
        open_writer(door.store).close()
        assert sorted(door.rows(f"{parts} AND sql IS NOT NULL")) == sorted(
            made.execute(f"{parts} AND sql IS NOT NULL").fetchall()
        )
        meta = "SELECT * FROM meta ORDER BY 1"
        assert door.rows(meta) == made.execute(meta).fetchall()
    named = door.rows("SELECT migration_set, name FROM _sqlite_migrations ORDER BY id")
    assert named == [("reviewer", script.stem) for script in scripts()]
    assert door.one("PRAGMA user_version") == len(scripts())


def test_a_reader_can_write_nothing(full: Door) -> None:
    reading = reader(full.store)
    with contextlib.closing(reading), pytest.raises(sqlite3.OperationalError):
        reading.execute("UPDATE trace SET passed=1")


def both_doors_refuse(door: Door, word: str) -> None:
    before = door.store.read_bytes()
    for argv in (
        ["import", door.file("t.json", passing())],
        ["--export-report", door.root / "out", "--suite", SUITE, "--candidate", V8],
        ["scorecard", "--suite", SUITE, "--candidate", V8],
        ["score"], ["doctor"], ["sources"], ["backup", door.root / "copy.db"],
    ):  # fmt: skip
        said = door.run(*argv)
        assert said.code == 20, (argv, said)
        assert word in said.both, (argv, said)
        assert "internal" not in said.err
    assert door.store.read_bytes() == before
    assert not (door.root / "copy.db").exists()
    assert not (door.root / "out").exists()


def test_a_store_of_a_newer_reviewer_is_refused(full: Door) -> None:
    with contextlib.closing(sqlite3.connect(full.store)) as base:
        base.execute("PRAGMA user_version=99")
    both_doors_refuse(full, "newer")


@pytest.mark.parametrize("named", [0, 0x12345678])
def test_someone_elses_database_is_refused_and_left_alone(door: Door, named: int) -> None:
    with contextlib.closing(sqlite3.connect(door.store)) as base:
        base.execute("CREATE TABLE holiday (photo BLOB)")
        base.execute(f"PRAGMA application_id={named}")
    both_doors_refuse(door, "not a reviewer store")


@pytest.mark.parametrize("content", [b"hello" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_refused_and_left_alone(door: Door, content: bytes) -> None:
    door.store.write_bytes(content)
    both_doors_refuse(door, "review.db")


def test_an_empty_file_becomes_a_store(door: Door) -> None:
    door.store.touch(0o600)
    assert door.run("doctor").code == 20
    assert door.take("t.json", passing()).code == 0
    door.healthy()


def test_a_folder_where_the_store_should_be_is_said(door: Door) -> None:
    door.store.mkdir()
    said = door.take("t.json", passing())
    assert said.code == 20
    assert "internal" not in said.err


def test_a_lock_that_is_a_link_is_not_followed(full: Door) -> None:
    lock = full.store.with_name("review.db.lock")
    lock.unlink()
    target = full.root / "elsewhere"
    lock.symlink_to(target)
    said = full.take("t.json", passing())
    assert said.code == 20
    assert "internal" not in said.err
    assert not target.exists()


def test_a_folder_that_cannot_be_written_is_said_and_loses_nothing(full: Door, door: Door) -> None:
    door.take("t.json", passing())  # loads all that is needed, while that may be read
    door.ok("score")
    path = full.file("t.json", passing())
    with contextlib.closing(sqlite3.connect(full.store)) as base:
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not full.store.with_name("review.db-wal").exists()
    folder = full.root / "store"
    with as_nobody(full):
        folder.chmod(0o500)
        for argv in (["import", path], ["score"]):
            said = full.run(*argv)
            assert said.code == 20, said
            assert "internal" not in said.err
        folder.chmod(0o700)
        full.ok("import", path)
    assert full.one("SELECT count(*) FROM trace") == 19
    full.healthy()


def limited(door: Door, path: Path, size: int) -> "subprocess.CompletedProcess[str]":
    """An import in a process whose files cannot grow beyond `size` bytes, like a full disk."""
    text = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "from reviewer.cli.main import main\n"
        f"sys.exit(main(['--workspace', {str(door.root)!r}, 'import', {str(path)!r}]))\n"
    )
    return subprocess.run(
        [sys.executable, "-P", "-c", text],
        env=environment(PYTHONDONTWRITEBYTECODE="1"), capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "room",
    [200_000, *(pytest.param(room, marks=pytest.mark.nightly) for room in (0, 30_000, 1_000_000))],
)
def test_a_full_disk_is_said_and_what_was_acknowledged_is_kept(full: Door, room: int) -> None:
    assert hasattr(resource, "RLIMIT_FSIZE")
    path = full.file("t.jsonl", lines(many(9000)))
    process = limited(full, path, full.store.stat().st_size + room)
    assert process.returncode == 20, process
    assert "internal" not in process.stderr
    assert "Traceback" not in process.stderr
    kept = full.one("SELECT count(*) FROM traces WHERE candidate_id='cand-a'")
    assert kept < 9000
    assert full.one("SELECT count(*) FROM traces WHERE candidate_id<>'cand-a'") == 18
    assert full.wrong_rolls() == []
    full.healthy()
    full.ok("import", path)
    assert full.one("SELECT count(*) FROM traces WHERE candidate_id='cand-a'") == 9000
    full.healthy()


@pytest.mark.parametrize("room", [0, 4096, 20_000, 60_000])
def test_a_disk_full_while_the_store_is_made_leaves_none_half_made(door: Door, room: int) -> None:
    path = door.file("t.json", passing())
    process = limited(door, path, room)
    assert process.returncode == 20, process
    assert "internal" not in process.stderr
    door.ok("import", path)
    door.healthy()


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("mount") is None or os.geteuid() != 0, reason="needs a tmpfs")
@pytest.mark.slow
def test_a_really_full_disk(door: Door, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("may not mount a tmpfs here")
    try:
        small = copied(door.root, disk / "desk")
        good = door.file("good.jsonl", lines(many(20, "cand-b")))
        small.ok("import", good)
        path = door.file("t.jsonl", lines(many(9000)))
        said = small.outside("import", path)
        assert said.code == 20, said
        assert "internal" not in said.err
        assert small.one("SELECT count(*) FROM traces WHERE candidate_id='cand-b'") == 20
        small.healthy()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_backup_is_whole_while_another_writes(full: Door) -> None:
    stop = threading.Event()

    def write() -> None:
        connection = open_writer(full.store)
        try:
            number = 0
            while not stop.is_set():
                with transaction(connection, full.store):
                    number += 1
                    # Two writes that belong together: a copy in between would show one.
                    connection.execute("UPDATE meta SET value=? WHERE key='indexed'", (number,))
                    connection.execute("INSERT OR REPLACE INTO meta VALUES ('twin', ?)", (number,))
        finally:
            close_writer(connection, full.store)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(12):
            copy = full.root / f"copy-{number}.db"
            full.ok("backup", copy)
            time.sleep(0.01)
            with contextlib.closing(sqlite3.connect(copy)) as base:
                assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                values = dict(base.execute("SELECT key, value FROM meta"))
                assert values.get("twin", values["indexed"]) == values["indexed"]
                assert base.execute("SELECT count(*) FROM trace").fetchone() == (18,)
    finally:
        stop.set()
        writer.join()


def test_a_backup_is_a_store(full: Door, tmp_path: Path) -> None:
    for candidate in ("refund-agent-v7", V8):
        full.run("--export-report", tmp_path / "one", "--suite", SUITE, "--candidate", candidate)
    full.ok("backup", full.root / "copy.db")
    full.run("--export-report", tmp_path / "one", "--suite", SUITE, "--candidate", V8)
    for left in full.store.parent.glob("review.db*"):
        left.unlink()
    (full.root / "copy.db").rename(full.store)
    full.run("--export-report", tmp_path / "two", "--suite", SUITE, "--candidate", V8)
    assert (tmp_path / "one/report.json").read_bytes() == (
        tmp_path / "two/report.json"
    ).read_bytes()
    full.healthy()


def test_a_backup_replaces_nothing(full: Door) -> None:
    there = full.file("there.db", b"mine")
    for target in (there, full.store, full.root, full.root / "no" / "such" / "folder.db"):
        said = full.run("backup", target)
        assert said.code == 2, (target, said)
    assert there.read_bytes() == b"mine"
    link = full.root / "link.db"
    link.symlink_to(full.root / "target.db")
    assert full.run("backup", link).code == 2
    assert not (full.root / "target.db").exists()


def test_the_write_lock_lasts_one_transaction(full: Door) -> None:
    """A writer that stays open keeps nobody out."""
    holding = open_writer(full.store)
    try:
        with transaction(holding, full.store):
            holding.execute("UPDATE meta SET value=value")
        assert full.outside("import", full.file("t.json", passing())).code == 0
    finally:
        close_writer(holding, full.store)


def fail_in_the_middle(connection: sqlite3.Connection, store: Path, error: Exception) -> None:
    with transaction(connection, store):
        connection.execute("UPDATE meta SET value='9'")
        raise error


def test_a_failed_transaction_leaves_nothing(full: Door) -> None:
    connection = open_writer(full.store)
    try:
        before = full.rows("SELECT * FROM meta")
        with pytest.raises(StoreError):
            fail_in_the_middle(connection, full.store, sqlite3.OperationalError("disk"))
        with pytest.raises(KeyError):
            fail_in_the_middle(connection, full.store, KeyError())
        assert full.rows("SELECT * FROM meta") == before
    finally:
        close_writer(connection, full.store)


def test_anyone_can_read_it_with_sqlite(full: Door) -> None:
    columns = {
        view: [row[1] for row in full.rows(f"PRAGMA table_info({view})")]
        for view in ("traces", "events", "findings", "decisions", "journal")
    }
    assert {"trace_id", "suite_id", "candidate_id", "episode_id", "attempt", "passed", "critical",
            "cost_usd", "latency_ms", "final_state"} <= set(columns["traces"])  # fmt: skip
    assert {"trace_id", "seq", "kind", "tool", "status"} <= set(columns["events"])
    assert {"trace_id", "gate", "code", "seq"} <= set(columns["findings"])
    assert full.one("SELECT count(*) FROM events") == sum(
        len(json.loads(line)["events"])
        for name in ("refund-agent-v7", V8)
        for line in (full.suite / "traces" / f"{name}.jsonl").read_text().splitlines()
    )
    assert full.rows(
        "SELECT code FROM findings WHERE trace_id=? AND gate='authority'",
        f"{SUITE}/refund-agent-v7/attack-014/1",
    ) == [("forbidden:issue_refund",)]
