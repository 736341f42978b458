"""A store that somebody hands over: its schema is data too."""

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from doors import SUITE, V7, V8, Door, copied, passing
from people import key_file

ENDLESS = (
    "DROP TABLE note;"
    "CREATE VIEW note AS WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r)"
    " SELECT a AS id, a AS seq, 'x' AS uid, 'x' AS body FROM r"
)
KINDLY = (
    "CREATE TRIGGER kindly AFTER INSERT ON trace BEGIN"
    " UPDATE trace SET passed = 1, critical = 0 WHERE id = NEW.id;"
    " DELETE FROM finding WHERE trace = NEW.id; END"
)
LOOKALIKE = "DROP VIEW traces; CREATE VIEW traces AS SELECT 'x' AS trace_id, 1 AS passed"
NAMED = 'CREATE TABLE "\x1b[2Jx" (a)'


def changed(path: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.executescript(sql)


@pytest.mark.parametrize("sql", [ENDLESS, KINDLY, LOOKALIKE, NAMED])
def test_another_schema_is_not_merged_and_is_told_at_once(
    door: Door, tmp_path: Path, empty_template: Path, sql: str
) -> None:
    other = copied(empty_template, tmp_path / "other")
    other.ok("import", other.file("t.jsonl", [passing()]))
    changed(other.store, sql)
    began = time.monotonic()
    said = door.outside("merge", other.store)
    assert said.code == 20, said
    assert "its schema was changed by another program" in said.err
    assert "\x1b" not in said.both
    doctor = other.outside("doctor")
    assert doctor.code == 20
    assert "FAIL schema" in doctor.out
    assert time.monotonic() - began < 60  # one of them never ends when it is asked


def test_an_older_schema_is_ours(door: Door, tmp_path: Path) -> None:
    """The check knows every version: it is asked before a store is brought up to date."""
    from reviewer.db.connection import APPLICATION_ID, scripts
    from reviewer.db.schema import foreign_code, foreign_parts

    for version in range(1, len(scripts()) + 1):
        path = tmp_path / f"{version}.db"
        with contextlib.closing(sqlite3.connect(path)) as base:
            for script in scripts()[:version]:
                base.executescript(script.read_text(encoding="utf-8"))
            base.execute(f"PRAGMA user_version={version}")
            base.execute(f"PRAGMA application_id={APPLICATION_ID}")
            assert foreign_parts(base) == foreign_code(base) == []
            base.execute("CREATE VIEW odd AS SELECT 1")
            assert foreign_parts(base) == foreign_code(base) == ["view odd"]


@pytest.mark.parametrize("spoil", [KINDLY, LOOKALIKE])
def test_nothing_is_signed_on_a_schema_that_is_not_ours(full: Door, spoil: str) -> None:
    key = key_file(full.root, "robin")
    full.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    changed(full.store, spoil)
    said = full.run("sign", "--suite", SUITE, "--candidate", V8, "--key", key)
    assert said.code == 20, said
    assert "schema was changed by another program" in said.err
    assert not list((full.root / "store").glob("decisions/*"))


def flattered(door: Door) -> None:
    door.ok("import", door.suite / "traces" / f"{V7}.jsonl")


@pytest.mark.parametrize("act", [flattered])
def test_a_trigger_that_flatters_is_found(door: Door, act: Callable[[Door], None]) -> None:
    door.ok("import", door.file("t.jsonl", [passing(candidate_id="z")]))
    changed(door.store, KINDLY)
    act(door)
    assert door.one("SELECT min(passed) FROM traces") == 1  # it does what it says
    said = door.run("doctor")
    assert said.code == 20
    assert "trigger kindly" in said.out
