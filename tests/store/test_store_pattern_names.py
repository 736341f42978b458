"""Names of patterns in the file: they only grow, the journal knows each, older stores get the
table, and none that was acknowledged is lost to a kill."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys

import pytest
from doors import SUITE, Door, environment
from older_stores import as_before, by_day

from reviewer.db.connection import scripts

ATTACK = "78ad730afdca"
NAMER = f"""
import sys
from pathlib import Path
from reviewer.desk.desk import Desk
from reviewer.desk.place import at
desk = Desk(at(Path(sys.argv[1])), reviewer="dana")
for number in range(10_000):
    made = desk.patterns.name({SUITE!r}, {ATTACK!r}, f"{{sys.argv[2]}} {{number}}")
    print(made.given.uid, flush=True)
"""


@pytest.fixture
def named(full: Door) -> Door:
    for who, name in (("dana", "refund first"), ("kim", "no review")):
        full.ok("--reviewer", who, "patterns", "name", ATTACK, name)
    full.ok("--reviewer", "dana", "patterns", "unname", ATTACK)
    return full


def test_a_name_is_durable_once_it_is_acknowledged(full: Door) -> None:
    """Kill -9 right behind an acknowledgment, again and again."""
    told: list[str] = []
    for turn in range(3):
        namer = subprocess.Popen(
            [sys.executable, "-P", "-c", NAMER, str(full.root), str(turn)],
            env=environment(),
            stdout=subprocess.PIPE,
        )
        assert namer.stdout is not None
        told += [namer.stdout.readline().decode().strip() for _ in range(2)]
        os.kill(namer.pid, signal.SIGKILL)
        told += namer.stdout.read().decode().split()
        namer.wait()
        namer.stdout.close()
        held = [uid for (uid,) in full.rows("SELECT uid FROM pattern_name ORDER BY id")]
        assert set(told) <= set(held)
        [(stands,)] = full.rows("SELECT uid FROM pattern_names")
        assert stands == held[-1]
    assert len(set(told)) >= 6
    full.healthy()


def test_each_act_is_an_entry_of_the_journal_with_its_author_and_time(named: Door) -> None:
    entries = [json.loads(body) for (body,) in named.rows("SELECT body FROM journal ORDER BY seq")]
    mine = [entry for entry in entries if entry["type"] == "patterns.named"]
    assert [(entry["first"], entry["added"]) for entry in mine] == [(n, 1) for n in (1, 2, 3)]
    rows = named.rows("SELECT reviewer, at, body FROM pattern_name ORDER BY id")
    assert [row[0] for row in rows] == ["dana", "kim", "dana"]
    assert [json.loads(row[2])["at"] for row in rows] == [row[1] for row in rows]
    named.healthy()


@pytest.mark.parametrize("script", by_day([path.stem for path in scripts()][1:]))
def test_a_store_of_an_older_reviewer_gets_the_table(full: Door, script: str) -> None:
    as_before(full, script)
    full.ok("patterns", "name", ATTACK, "refund first")
    assert full.rows("SELECT suite_id, pattern_id, name FROM pattern_names") == [
        (SUITE, ATTACK, "refund first")
    ]
    full.healthy()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pattern_name SET body=x'7b7d' WHERE id=1",
        "DELETE FROM pattern_name WHERE id=1",
        "REPLACE INTO pattern_name SELECT * FROM pattern_name WHERE id=1",
    ],
)
def test_nobody_rewrites_a_name(named: Door, statement: str) -> None:
    before = named.rows("SELECT * FROM pattern_name")
    with contextlib.closing(sqlite3.connect(named.store)) as base:
        base.execute("PRAGMA recursive_triggers=1")
        with pytest.raises(sqlite3.IntegrityError):
            base.execute(statement)
    assert named.rows("SELECT * FROM pattern_name") == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pattern_name SET body=CAST(replace(body, 'review', 'look') AS BLOB) WHERE id=2",
        "UPDATE pattern_name SET reviewer='lee' WHERE id=1",
        "DELETE FROM pattern_name WHERE id=3",
    ],
)
def test_whatever_is_done_behind_the_triggers_is_found(named: Door, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(named.store, isolation_level=None)) as base:
        for guard in ("no_update", "no_delete", "in_order"):
            base.execute(f"DROP TRIGGER pattern_name_{guard}")
        base.execute(statement)
    told = named.run("doctor")
    assert told.code == 20
    assert "pattern_name" in told.out
