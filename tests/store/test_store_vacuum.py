"""Giving back free pages: nothing but the size of the file changes, whatever else is at work."""

import contextlib
import itertools
import json
import multiprocessing
import os
import signal
import sqlite3
import threading
from pathlib import Path

import pytest
from doors import SUITE, V8, Door, many, passing

from reviewer.db import vacuuming
from reviewer.db.connection import write_lock

DIGESTED = ("trace", "finding", "pack", "event_list", "search_docsize", "search_data", "journal")


def freed(door: Door) -> int:
    """Leave free pages in the store, as deleted rows do; returns its size."""
    with write_lock(door.store), contextlib.closing(sqlite3.connect(door.store)) as base:
        base.execute("CREATE TABLE junk (x)")
        base.executemany("INSERT INTO junk VALUES (zeroblob(100000))", [()] * 20)
        base.execute("DROP TABLE junk")
        base.commit()
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return door.store.stat().st_size


def kept(door: Door) -> dict[str, list[tuple[object, ...]]]:
    return {table: door.rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in DIGESTED}


def report(door: Door) -> bytes:
    folder = door.root / "out"
    door.run("--export-report", folder, "--suite", SUITE, "--candidate", V8, "--format", "json")
    return (folder / "report.json").read_bytes()


def test_free_pages_are_given_back_and_nothing_else_changes(full: Door) -> None:
    full.ok("_index")
    before, size, said = kept(full), freed(full), report(full)
    told = json.loads(full.ok("vacuum", "--json").out)
    assert told == {
        "before_bytes": size, "after_bytes": full.store.stat().st_size, "later": False,
    }  # fmt: skip
    assert told["after_bytes"] < size - 1_900_000
    assert kept(full) == before
    assert report(full) == said
    full.healthy()
    assert "no page is free, nothing to give back" in full.ok("vacuum").out


def test_both_sizes_are_said(full: Door) -> None:
    size = freed(full)
    said = full.ok("vacuum").out
    assert said == f"{full.store}: {size:,} bytes before, {full.store.stat().st_size:,} after\n"


def test_who_reads_meanwhile_reads_on_and_the_file_shrinks_later(full: Door) -> None:
    size = freed(full)
    with contextlib.closing(sqlite3.connect(full.store)) as reading:
        reading.execute("BEGIN")
        [(count,)] = reading.execute("SELECT count(*) FROM trace").fetchall()
        said = full.ok("vacuum")
        assert "another process still reads it as it was" in said.err
        assert reading.execute("SELECT count(*) FROM trace").fetchall() == [(count,)]
    full.take("later.json", passing())
    with contextlib.closing(sqlite3.connect(full.store)) as base:
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert full.store.stat().st_size < size - 1_900_000
    full.healthy()


def test_it_waits_for_a_write_at_work(full: Door) -> None:
    freed(full)
    began, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with write_lock(full.store):
            began.set()
            go_on.wait(30)

    writing = threading.Thread(target=write)
    writing.start()
    began.wait(30)
    process = full.start("vacuum")
    threading.Timer(0.3, go_on.set).start()
    assert process.wait(60) == 0
    assert go_on.is_set()
    writing.join()
    full.healthy()


@pytest.mark.slow
def test_an_import_at_work_loses_nothing(door: Door) -> None:
    door.take("first.json", passing(candidate_id="cand-b"))
    path = door.file("many.jsonl", list(many(300)))
    importing = door.start("import", path, "--suite", SUITE)
    while importing.poll() is None:
        freed(door)
        door.ok("vacuum")
    assert importing.wait(60) == 0
    assert door.one("SELECT count(*) FROM trace") == 301
    door.healthy()


def test_what_takes_too_long_is_taken_back(full: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = itertools.count()

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return next(hours) * 3600.0

    size, before = freed(full), kept(full)
    with monkeypatch.context() as patch:
        patch.setattr(vacuuming, "STEPS", 10)
        patch.setattr(vacuuming, "time", Clock)
        said = full.run("vacuum")
    assert said.code == 20
    assert "not finished within 20 s, during which others could not write" in said.err
    assert "way out: stop the other processes, or wait longer with --seconds 600" in said.err
    assert full.store.stat().st_size == size
    assert kept(full) == before
    full.healthy()


@pytest.mark.parametrize("step", [1, 50])
def test_killed_in_the_midst_the_store_is_as_it_was(full: Door, step: int) -> None:
    size, before = freed(full), kept(full)

    def work() -> None:
        vacuuming.STEPS = 10
        looks = [0]

        class Clock:
            @staticmethod
            def monotonic() -> float:
                looks[0] += 1
                if looks[0] > step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return 0.0

        vacuuming.time = Clock  # type: ignore[assignment]
        full.run("vacuum")

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    assert kept(full) == before
    full.healthy()
    full.ok("vacuum")
    assert full.store.stat().st_size < size - 1_900_000
    full.healthy()


def broken(store: Path) -> None:
    """Leave a failed trace out of its index, as a flipped bit might."""
    index = "name='trace_failed'"
    with contextlib.closing(sqlite3.connect(store)) as base:
        row = base.execute(f"SELECT * FROM sqlite_schema WHERE {index}").fetchone()
        base.execute("PRAGMA writable_schema=ON")
        base.execute(f"DELETE FROM sqlite_schema WHERE {index}")
        base.commit()
    with contextlib.closing(sqlite3.connect(store)) as base:
        base.execute("UPDATE trace SET passed = 0 WHERE id = (SELECT max(id) FROM trace)")
        base.execute("PRAGMA writable_schema=ON")
        base.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", row)
        base.commit()


@pytest.mark.parametrize(
    ("how", "told"),
    [("damaged", "missing from index"), ("another schema", "changed by another program")],
)
def test_a_store_that_is_not_sound_is_left_as_it_is(full: Door, how: str, told: str) -> None:
    freed(full)
    if how == "damaged":
        broken(full.store)
    else:
        with contextlib.closing(sqlite3.connect(full.store)) as base:
            base.execute("CREATE VIEW mine AS SELECT 1")
            base.commit()
    before = full.store.read_bytes()
    said = full.run("vacuum")
    assert said.code == 20
    assert told in said.err
    assert "restore a backup" in said.err
    assert full.store.read_bytes() == before


def test_without_a_store_there_is_nothing_to_do(door: Door) -> None:
    said = door.run("vacuum")
    assert (said.code, door.store.exists()) == (20, False)
    assert "nothing to give back" in said.err
