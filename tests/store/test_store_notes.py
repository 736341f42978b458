"""Notes in the file: they only grow, the journal knows each, and none that was acknowledged is lost
to a kill."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from doors import SUITE, V7, Door, environment

from reviewer.db.connection import scripts
from reviewer.desk.desk import Desk

ATTACK = f"{SUITE}/{V7}/attack-014/1"
WRITER = f"""
import sys
from pathlib import Path
from reviewer.desk.desk import Desk
from reviewer.desk.place import at
desk = Desk(at(Path(sys.argv[1])), reviewer="dana")
for number in range(10_000):
    desk.traces.write_note({ATTACK!r}, 2, "note", f"note {{number}}")
    print(number, flush=True)
"""


@pytest.fixture
def noted(full: Door) -> Door:
    desk = Desk(full.desk().place, reviewer="dana")
    for seq in (1, 2, 3):
        desk.traces.write_note(ATTACK, seq, "note", f"on {seq}")
    desk.traces.write_note(ATTACK, 2, "bookmark")
    desk.close()
    return full


def test_a_note_is_durable_once_it_is_acknowledged(full: Door) -> None:
    """Kill -9 right behind an acknowledgment, again and again."""
    told = -1
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-P", "-c", WRITER, str(full.root)],
            env=environment(),
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None
        for _ in range(3):
            told = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        told = max(told, *(int(line) for line in writer.stdout.read().split()), 0)
        writer.wait()
        writer.stdout.close()
        held = [row[0] for row in full.rows("SELECT text FROM notes")]
        assert len(held) == 1
        assert int(held[0].removeprefix("note ")) in (told, told + 1)  # killed before it could say
        full.healthy()


def test_each_act_is_an_entry_of_the_journal(noted: Door) -> None:
    entries = [json.loads(body) for (body,) in noted.rows("SELECT body FROM journal ORDER BY seq")]
    mine = [entry for entry in entries if entry["type"] == "notes.recorded"]
    assert [(entry["first"], entry["added"]) for entry in mine] == [(n, 1) for n in range(1, 5)]
    noted.healthy()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE note SET body=x'7b7d' WHERE id=1",
        "DELETE FROM note WHERE id=1",
        "REPLACE INTO note SELECT * FROM note WHERE id=1",
    ],
)
def test_nobody_rewrites_a_note(noted: Door, statement: str) -> None:
    before = noted.rows("SELECT * FROM note")
    with contextlib.closing(sqlite3.connect(noted.store)) as base:
        base.execute("PRAGMA recursive_triggers=1")
        with pytest.raises(sqlite3.IntegrityError):
            base.execute(statement)
    assert noted.rows("SELECT * FROM note") == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE note SET body=CAST(replace(body, 'on 2', 'on 4') AS BLOB) WHERE id=2",
        "UPDATE note SET seq=5 WHERE id=2",
        "DELETE FROM note WHERE id=4",
    ],
)
def test_whatever_is_done_behind_the_triggers_is_found(noted: Door, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(noted.store, isolation_level=None)) as base:
        for guard in ("note_no_update", "note_no_delete", "note_in_order"):
            base.execute(f"DROP TRIGGER {guard}")
        base.execute(statement)
    told = noted.run("doctor")
    assert told.code == 20
    assert "note" in told.out


def test_of_one_persons_acts_the_latest_counts_whatever_came_last(noted: Door) -> None:
    """Another store's notes may be older than those that stand."""
    newest = noted.one("SELECT body FROM note WHERE id=2")
    older = {**json.loads(newest), "text": "before", "at": "2020-01-31T09:02:31.000000Z"}
    noted.ok("notes", "import", noted.file("older.jsonl", [older]))
    assert noted.one("SELECT count(*) FROM note") == 5
    assert noted.rows("SELECT text FROM notes WHERE seq=2 AND kind='note'") == [("on 2",)]
    assert [n.text for n in noted.desk().traces.notes(ATTACK) if n.seq == 2] == ["", "on 2"]


def test_a_clock_that_was_put_back_takes_no_note_back(noted: Door) -> None:
    newest = json.loads(noted.one("SELECT body FROM note WHERE id=2"))
    later = {**newest, "text": "by a clock ahead", "at": in_an_hour()}
    noted.ok("notes", "import", noted.file("later.jsonl", [later]))
    desk = Desk(noted.desk().place, reviewer="dana")
    desk.traces.write_note(ATTACK, 2, "note", "the last word")
    assert [n.text for n in desk.traces.notes(ATTACK) if n.seq == 2] == ["", "the last word"]
    desk.traces.write_note(ATTACK, 2, "note", removed=True)
    assert [n.kind for n in desk.traces.notes(ATTACK) if n.seq == 2] == ["bookmark"]
    desk.close()


def in_an_hour() -> str:
    return f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:%M:%S.%fZ}"


def test_a_store_without_notes_gets_them(noted: Door, tmp_path: Path) -> None:
    """What an older reviewer wrote is brought up to date by the first question."""
    names = [script.stem for script in scripts()]
    with contextlib.closing(sqlite3.connect(noted.store, isolation_level=None)) as base:
        before = base.execute("SELECT count(*) FROM trace").fetchone()[0]
        base.execute("DROP VIEW notes")
        base.execute("DROP TABLE note")
        at = names.index("004_notes")
        for name in ("004_notes", "005_notes_in_time"):
            base.execute("DELETE FROM _sqlite_migrations WHERE name=?", (name,))
        base.execute(f"PRAGMA user_version={at}")
    desk = noted.desk()
    assert desk.traces.notes(ATTACK) == []
    assert desk.traces.write_note(ATTACK, 1, "bookmark")
    assert noted.one("SELECT count(*) FROM trace") == before
    desk.close()
