"""Stores of every earlier schema, opened with today's program; and one from the future."""

import base64
import contextlib
import json
import shutil
import sqlite3
import tarfile
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, passing
from labelers import drafted, labeler, pairs_of
from older_stores import as_before
from people import key_file

from reviewer.db.connection import APPLICATION_ID, StoreError, reader, scripts
from reviewer.db.schema import open_writer
from reviewer.suite.gates import ALWAYS

STORES = Path(__file__).resolve().parents[1] / "data" / "stores"
BY_THEMSELVES = (1, 2, 3, 4)
"""Schemas of which a store is kept as the program of its time wrote it."""
ATTACK = f"{SUITE}/{V7}/attack-014/1"
NOT_FACTS = {"meta", "first_set", "_sqlite_migrations", "sqlite_sequence"}

Rows = dict[str, list[dict[str, Any]]]


def rows_of(store: Path) -> Rows:
    """Every row of every table that people or imports filled, by column."""
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as base:
        base.row_factory = sqlite3.Row
        names = [
            name
            for (name,) in base.execute(
                "SELECT name FROM sqlite_schema WHERE (type='table' OR name='event')"
                " AND sql NOT LIKE '%VIRTUAL%'"
            )
            if not name.startswith("search") and name not in NOT_FACTS
        ]
        return {
            name: [dict(row) for row in base.execute(f"SELECT * FROM {name} ORDER BY 1, 2")]
            for name in names
        }


def same_facts(before: Rows, after: Rows) -> None:
    """What stood there stands there. A suite's body is cut in two by a later schema, and what was
    counted per gate in columns is counted in rows."""
    counted = {
        (row["candidate"], row["episode"], row["gate"]): (row["failed"], row["unknown"])
        for row in after["gate_count"]
        if not row["first"]
    }
    assert all(any(counts) for counts in counted.values())
    for name, rows in before.items():
        kept = after[name]
        assert len(kept) == len(rows), name
        for old, new in zip(rows, kept, strict=True):
            for column, value in old.items():
                word, _, gate = column.partition("_")
                if name == "roll" and word in ("fail", "unknown"):
                    key = old["candidate"], old["episode"], ALWAYS[int(gate)]
                    assert counted.get(key, (0, 0))[word == "unknown"] == value, (key, column)
                elif (name, column) != ("suite", "body"):
                    assert new[column] == value, (name, column, old)


def version(store: Path) -> int:
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as base:
        return int(base.execute("PRAGMA user_version").fetchone()[0])


def works_today(door: Door) -> None:
    """What the old store said is said, and everything that people do goes on."""
    for candidate, passed, code in ((V7, 6, 10), (V8, 10, 0)):
        said = door.run("scorecard", "--suite", SUITE, "--candidate", candidate, "--json")
        assert said.code in (0, code), said
        report = door.root / "out" / candidate
        done = door.run("--export-report", report, "--suite", SUITE, "--candidate", candidate)
        assert done.code == code, done
        body = json.loads((report / "report.json").read_bytes())
        assert body["recommendation"] == ("block" if code else "promote")
        assert door.one(
            "SELECT sum(passes) FROM roll JOIN candidate c ON c.id = candidate"
            " WHERE c.candidate_id=?", candidate,
        ) == passed  # fmt: skip
    assert "forbidden:issue_refund" in door.codes(ATTACK)
    listed = door.ok("decisions", "list")
    assert "PROMOTE" in listed.both
    assert "BLOCK" in listed.both
    manifest = door.suite / "candidates" / f"{V8}.json"
    (first,) = (door.root / "store" / "decisions").glob("1-promote-*")
    signed = base64.b64decode(json.loads(first.read_bytes())["payload"])
    verified = door.run(
        "verify", first, "--candidate-manifest", manifest, "--signers", door.root / "store/signers",
        "--at", json.loads(signed)["predicate"]["timeCreated"],
    )  # fmt: skip
    assert verified.code == 0, verified
    door.healthy()
    with labeler(door, "nora") as desk:
        session = pairs_of(desk)
        item = desk.labels.next_item(session)
        assert item is not None
        desk.labels.record(session, drafted(item))
        desk.traces.write_note(ATTACK, 1, "note", "from today")
        assert "from today" in [note.text for note in desk.traces.notes(ATTACK)]
    assert door.take("new.json", passing(candidate_id="cand-new")).code == 0
    key = key_file(door.root, "nora")
    door.ok("keys", "trust", "nora@example.com", key.with_suffix(".pub"))
    assert door.run("sign", "--suite", SUITE, "--candidate", V8, "--key", key).code == 0
    door.healthy()


@pytest.mark.parametrize("schema", BY_THEMSELVES)
def test_a_store_that_an_older_program_wrote_is_read_and_written(
    tmp_path: Path, schema: int
) -> None:
    with tarfile.open(STORES / f"schema-{schema}.tar.xz") as packed:
        packed.extractall(tmp_path / "desk", filter="data")
    door = Door(tmp_path / "desk")
    assert version(door.store) == schema
    door.store.chmod(0o600)
    before = rows_of(door.store)
    assert len(before["trace"]) == 19
    assert len(before["decision"]) == 2
    assert len(before.get("label", ())) == (18 if schema >= 3 else 0)
    door.ok("decisions", "list")
    assert version(door.store) == len(scripts())
    same_facts(before, rows_of(door.store))
    works_today(door)


@pytest.mark.parametrize("schema", range(BY_THEMSELVES[-1] + 1, len(scripts())))
def test_a_store_of_every_schema_since_is_brought_up_to_date(used: Door, schema: int) -> None:
    as_before(used, scripts()[schema].stem)
    assert version(used.store) == schema
    before = rows_of(used.store)
    assert len(before["trace"]) == 19
    used.ok("decisions", "list")
    assert version(used.store) == len(scripts())
    same_facts(before, rows_of(used.store))
    works_today(used)


def test_an_upgrade_that_is_cut_off_leaves_the_old_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(STORES / "schema-1.tar.xz") as packed:
        packed.extractall(tmp_path / "desk", filter="data")
    door = Door(tmp_path / "desk")
    before = rows_of(door.store)
    schema = tmp_path / "schema"
    shutil.copytree(scripts()[0].parent, schema)
    last = sorted(schema.glob("*.sql"))[-1]
    last.write_text(last.read_text() + "\nINSERT INTO nowhere VALUES (1);\n")
    monkeypatch.setattr("reviewer.db.schema.scripts", lambda: sorted(schema.glob("*.sql")))
    with pytest.raises(StoreError, match=r"review\.db: nothing was written \(no such table"):
        open_writer(door.store)
    assert version(door.store) == 1
    assert rows_of(door.store) == before
    monkeypatch.undo()
    door.store.chmod(0o600)
    works_today(door)


def test_a_store_from_the_future_is_refused_with_its_version_and_the_way_out(full: Door) -> None:
    with contextlib.closing(sqlite3.connect(full.store)) as base:
        base.execute(f"PRAGMA user_version={len(scripts()) + 3}")
        assert base.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    before = full.store.read_bytes()
    words = f"schema {len(scripts()) + 3}, this one knows {len(scripts())}"
    for open_ in (reader, open_writer):
        with pytest.raises(StoreError, match=words):
            open_(full.store)
    for argv in (
        ["import", full.file("t.json", passing())], ["labels", "export"], ["decisions", "list"],
        ["backup", full.root / "copy.db"],
    ):  # fmt: skip
        said = full.run(*argv)
        assert said.code == 20, said
        assert words in said.err
        assert "upgrade reviewer to open it" in said.err
        assert str(full.store) in said.err
    assert full.store.read_bytes() == before
