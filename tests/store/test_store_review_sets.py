"""Review sets in the file: they only grow, the journal knows each, older stores get the table, and
no label of one that was acknowledged is lost to a kill."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from doors import SUITE, Door, environment
from older_stores import as_before, by_day
from review_desks import label_set, shown

from reviewer.db.connection import scripts

SCRIPTS = [path.stem for path in scripts()]
RATER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from labelers import drafted
from reviewer.desk.desk import Desk
from reviewer.desk.place import at
desk = Desk(at(Path(sys.argv[1])), reviewer="dana")
session = desk.labels.session("", "", review_set="mine")
while (item := desk.labels.next_item(session)) is not None:
    saved = desk.labels.record(session, drafted(item))
    print(saved.uid, flush=True)
    if saved.done == saved.total - 1:
        for _ in range(saved.done):
            desk.labels.undo(session)
"""


def test_a_label_of_a_set_is_durable_once_it_is_acknowledged(full: Door) -> None:
    """Kill -9 right behind an acknowledgment, again and again."""
    full.ok("review-set", SUITE, "--sample", "100%", "--name", "mine")
    told: list[str] = []
    for _ in range(3):
        rater = subprocess.Popen(
            [sys.executable, "-P", "-c", RATER, str(full.root), str(Path(__file__).parents[1])],
            env=environment(),
            stdout=subprocess.PIPE,
        )
        assert rater.stdout is not None
        told += [rater.stdout.readline().decode().strip() for _ in range(2)]
        os.kill(rater.pid, signal.SIGKILL)
        told += rater.stdout.read().decode().split()
        rater.wait()
        rater.stdout.close()
        held = {row[0] for row in full.rows("SELECT uid FROM label")}
        assert set(told) <= held
    assert len(set(told)) >= 6
    full.healthy()


@pytest.mark.parametrize("script", by_day(SCRIPTS[1:]))
def test_a_store_of_an_older_reviewer_gets_the_table(full: Door, script: str) -> None:
    as_before(full, script)
    full.ok("review-set", SUITE, "--sample", "100%", "--name", "mine")
    label_set(full, "mine", lambda item: True)
    found = shown(full, "mine")
    assert found["labeled"] == found["items"] > 0
    full.healthy()


def test_a_set_can_be_neither_changed_nor_taken_away(full: Door) -> None:
    full.ok("review-set", SUITE, "--name", "mine")
    with contextlib.closing(sqlite3.connect(full.store)) as base:
        for change in ("UPDATE review_set SET name='x'", "DELETE FROM review_set"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                base.execute(change)


def test_doctor_misses_a_set_that_was_changed_behind_the_program(full: Door) -> None:
    full.ok("review-set", SUITE, "--name", "mine")
    with contextlib.closing(sqlite3.connect(full.store)) as base, base:
        base.execute("DROP TRIGGER review_set_no_update")
        base.execute("UPDATE review_set SET name='yours'")
    said = full.run("doctor")
    assert said.code == 20
    assert "review_set" in said.out


def test_the_view_says_what_a_set_is(full: Door) -> None:
    full.ok("review-set", SUITE, "--sample", "50%", "--seed", "4", "--name", "mine")
    [row] = full.rows(
        "SELECT name, suite_id, kind, sample, seed, population, items FROM review_sets"
    )
    assert row == ("mine", SUITE, "message", "50%", 4, 18, 9)
