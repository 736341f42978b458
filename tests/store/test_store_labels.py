"""Labels and judgments in the file: they only grow, and the journal knows each of them."""

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from doors import Door, copied
from labelers import kept, labeled

from reviewer.db.connection import close_writer, scripts
from reviewer.db.schema import open_writer
from reviewer.db.tables import JUDGMENTS, LABELS, JudgmentRow, LabelRow

GUARDS = tuple(
    f"{table}_{what}"
    for table in ("label", "judgment")
    for what in ("no_update", "no_delete", "in_order")
)
NOW = "2026-11-22T10:00:00Z"


def row(n: int) -> LabelRow:
    return LabelRow(f"{n:064}", "5" * 64, "6" * 64, 1, "dana", "rater", NOW, b'{"answer":"left"}')


def judgment(n: int) -> JudgmentRow:
    digest = f"{n:064}"
    return JudgmentRow(digest, digest, "5" * 64, "6" * 64, "forward", 1, "j", "m", NOW, b"{}")


@pytest.fixture(scope="module")
def said_template(tmp_path_factory: pytest.TempPathFactory, full_template: Path) -> Path:
    """Two people's labels on eight showings each, and three judgments."""
    door = copied(full_template, tmp_path_factory.mktemp("said") / "desk")
    labeled(door, "dana")
    labeled(door, "kim")
    writing(door, lambda base: JUDGMENTS.record(base, door.store, map(judgment, range(3)), NOW))
    return door.root


@pytest.fixture
def said(tmp_path: Path, said_template: Path) -> Door:
    return copied(said_template, tmp_path / "said")


def writing(door: Door, act: Callable[[sqlite3.Connection], object]) -> object:
    base = open_writer(door.store)
    try:
        return act(base)
    finally:
        close_writer(base, door.store)


def test_what_was_said_stands_as_it_was_said(said: Door) -> None:
    said.healthy()
    assert said.one("SELECT count(*) FROM label") == 16
    entries = [
        json.loads(body)
        for (body,) in said.rows("SELECT body FROM journal ORDER BY seq")
        if b'"labels.recorded"' in body
    ]
    assert [entry["first"] for entry in entries] == list(range(1, 17))
    assert all(entry["added"] == 1 for entry in entries)


def test_a_batch_is_one_entry_and_what_is_known_is_none(full: Door) -> None:
    def both(base: sqlite3.Connection) -> list[tuple[str, ...]]:
        return [
            LABELS.record(base, full.store, [row(1), row(2), row(1)], NOW),
            LABELS.record(base, full.store, [row(2), row(3)], NOW),
            LABELS.record(base, full.store, [row(1), row(3)], NOW),
        ]

    before = full.one("SELECT count(*) FROM journal")
    added = writing(full, both)
    assert added == [(row(1).uid, row(2).uid), (row(3).uid,), ()]
    assert full.one("SELECT count(*) FROM journal") == before + 2
    full.healthy()


@pytest.mark.parametrize("recursive", [0, 1])
@pytest.mark.parametrize("table", ["label", "judgment"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {t} SET body=x'7b7d' WHERE id=1",
        "UPDATE OR REPLACE {t} SET id=2 WHERE id=1",
        "DELETE FROM {t} WHERE id=1",
        "DELETE FROM {t}",
        "REPLACE INTO {t} SELECT * FROM {t} WHERE id=1",
        "INSERT OR IGNORE INTO {t} SELECT * FROM {t} WHERE id=1",
        "CREATE TEMP TABLE c AS SELECT * FROM {t} WHERE id=1; UPDATE c SET id=99;"
        " INSERT INTO {t} SELECT * FROM c",
    ],
)
def test_nobody_rewrites_what_was_said(
    said: Door, table: str, statement: str, recursive: int
) -> None:
    before = said.rows(f"SELECT * FROM {table}")
    with contextlib.closing(sqlite3.connect(said.store)) as base:
        base.execute(f"PRAGMA recursive_triggers={recursive}")
        with pytest.raises(sqlite3.IntegrityError):
            every(base, statement.format(t=table))
    assert said.rows(f"SELECT * FROM {table}") == before


def every(base: sqlite3.Connection, statements: str) -> None:
    for one in statements.split(";"):
        base.execute(one)


ATTACKS = {
    "edited body": "UPDATE {t} SET body=CAST(body || ' ' AS BLOB) WHERE id=2",
    "edited column": "UPDATE {t} SET at='2020-01-01T00:00:00Z' WHERE id=2",
    "edited item": "UPDATE {t} SET item='0' WHERE id=3",
    "uid": "UPDATE {t} SET uid='0' WHERE id=3",
    "taken away": "DELETE FROM {t} WHERE id=3",
    "last taken away": "DELETE FROM {t} WHERE id=(SELECT max(id) FROM {t})",
    "all taken away": "DELETE FROM {t}",
    "moved": "UPDATE {t} SET id=99 WHERE id=2",
}


@pytest.mark.parametrize("table", ["label", "judgment"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_whatever_is_done_to_the_file_is_found(said: Door, table: str, attack: str) -> None:
    unguarded(said, ATTACKS[attack].format(t=table))
    told = said.run("doctor")
    assert told.code == 20, told.out
    assert table in told.out


@pytest.mark.parametrize("table", ["label", "judgment"])
def test_what_is_put_in_by_other_means_is_found(said: Door, table: str) -> None:
    unguarded(
        said,
        f"CREATE TEMP TABLE c AS SELECT * FROM {table} WHERE id=1;"
        f"UPDATE c SET id=(SELECT max(id) + 1 FROM {table}), uid='added';"
        f"INSERT INTO {table} SELECT * FROM c",
    )
    told = said.run("doctor")
    assert told.code == 20
    assert f"{table}s where" in told.out


def unguarded(door: Door, statements: str) -> None:
    """What someone with the file and a shell can do: drop the guards, act, put them back."""
    with contextlib.closing(sqlite3.connect(door.store)) as base:
        kept_guards = [
            base.execute("SELECT sql FROM sqlite_master WHERE name=?", (name,)).fetchone()[0]
            for name in GUARDS
        ]
        with base:
            for name in GUARDS:
                base.execute(f"DROP TRIGGER {name}")
            every(base, statements)
            for text in kept_guards:
                base.execute(text)


def test_the_views_speak_the_products_words(said: Door) -> None:
    rows = said.rows(
        "SELECT uid, suite_id, episode_id, kind, answer, reviewer, withdrawn, flag, reasons, marks"
        " FROM labels ORDER BY at, uid"
    )
    bodies = sorted(kept(said), key=lambda body: (body["at"], body["uid"]))
    assert [r[:6] for r in rows] == [
        tuple(b[name] for name in ("uid", "suite_id", "episode_id", "kind", "answer", "reviewer"))
        for b in bodies
    ]
    assert [json.loads(r[8]) for r in rows] == [b["reasons"] for b in bodies]
    assert said.one("SELECT count(*) FROM judgments") == 3


def test_an_older_store_gets_the_tables_when_it_is_opened(full: Door) -> None:
    with contextlib.closing(sqlite3.connect(full.store)) as base, base:
        for name in ("labels", "judgments"):
            base.execute(f"DROP VIEW {name}")
        for name in ("label", "judgment"):
            base.execute(f"DROP TABLE {name}")
        base.execute("DELETE FROM _sqlite_migrations WHERE name LIKE '003%'")
        base.execute("PRAGMA user_version=2")
    labeled(full)
    assert full.one("PRAGMA user_version") == len(scripts())
    assert len(kept(full)) == 8
    full.healthy()
