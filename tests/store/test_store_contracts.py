"""Each contract in a row of its own, and all of them still the bytes that the journal knows."""

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator

import msgspec
import pytest
from doors import SUITE, Door

from reviewer.db import contracts, registry
from reviewer.db.connection import reader
from reviewer.db.schema import bring_up_to_date
from reviewer.suite.folder import read_suite
from reviewer.suite.model import Episode, Suite

MIGRATION = "008_contracts"


@contextlib.contextmanager
def asked(door: Door) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(reader(door.store)) as connection:
        yield connection


@contextlib.contextmanager
def edited(door: Door) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(door.store)) as base, base:
        yield base


def make_old(door: Door) -> bytes:
    """The store as it was before contracts stood by themselves; returns the body it had."""
    with asked(door) as connection:
        body = msgspec.json.encode(registry.suite_body(connection, SUITE))
    with edited(door) as base:
        base.execute("UPDATE suite SET body=?", (body,))
        base.execute("DROP TABLE contract")
        for column in ("category", "critical"):
            base.execute(f"ALTER TABLE episode DROP COLUMN {column}")
        base.execute("DELETE FROM _sqlite_migrations WHERE name=?", (MIGRATION,))
        base.execute("PRAGMA user_version=7")
    return body


def rows(door: Door) -> list[tuple[object, ...]]:
    return door.rows(
        "SELECT e.episode_id, e.title, e.tags, e.category, e.critical, c.body, e.position"
        " FROM episode e LEFT JOIN contract c ON c.episode = e.id ORDER BY e.id"
    )


def test_all_of_it_is_the_suite_that_was_frozen(full: Door) -> None:
    suite = read_suite(full.suite).suite
    with asked(full) as connection:
        key = registry.suite_row(connection, SUITE)
        assert key is not None
        assert registry.suite_body(connection, SUITE) == suite
        assert registry.suite_head(connection, SUITE) == msgspec.structs.replace(suite, episodes=())
        outlines = contracts.outlines(connection, key.id)
        for whole, outline in zip(suite.episodes, outlines, strict=True):
            episode = registry.episode_key(connection, key.id, whole.episode_id)
            assert episode is not None
            assert contracts.episode(connection, episode) == whole
            told = ("episode_id", "title", "tags", "category", "critical")
            bare = Episode(**{name: getattr(whole, name) for name in told})
            assert outline == bare
        assert contracts.episode(connection, 99) is None


def test_the_journal_still_knows_the_whole(full: Door) -> None:
    entry = json.loads(full.one("SELECT body FROM journal WHERE instr(body, 'suite.frozen')"))
    whole = msgspec.json.encode(read_suite(full.suite).suite)
    with asked(full) as connection:
        assert contracts.digest(connection, 1) == hashlib.sha256(whole).hexdigest()
    assert entry["body"] == hashlib.sha256(whole).hexdigest()


def test_an_older_store_is_taken_apart_and_is_the_same(full: Door) -> None:
    before = rows(full)
    body = make_old(full)
    desk = full.desk()  # the first question brings it up to date
    report = desk.reports.build(SUITE, "refund-agent-v7").raw
    desk.close()
    assert rows(full) == before
    head = full.one("SELECT body FROM suite")
    assert msgspec.json.decode(head)["episodes"] == []
    with asked(full) as connection:
        assert msgspec.json.encode(registry.suite_body(connection, SUITE)) == body
    full.healthy()
    assert json.loads(report)["suite"]["episodes"] == 3


def test_a_body_that_was_edited_before_is_left_and_found(full: Door) -> None:
    body = make_old(full).replace(b"damaged-221", b"damaged-222", 1)
    with edited(full) as base:
        base.execute("UPDATE suite SET body=?", (body + b" ",))
    bring_up_to_date(full.store)
    assert full.one("SELECT count(*) FROM contract") == 0
    said = full.run("doctor")
    assert said.code == 20, said.out


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE contract SET body=CAST(replace(body, 'refund', 'refuse') AS BLOB) WHERE episode=1",
        "UPDATE contract SET episode=10 - episode",
        "DELETE FROM contract WHERE episode=2",
        "DELETE FROM contract",
        "UPDATE episode SET category='negative' WHERE category<>'negative'",
        "UPDATE episode SET critical='[\"state\"]' WHERE id=1",
    ],
)
def test_what_was_changed_by_hand_is_found(full: Door, statement: str) -> None:
    with edited(full) as base:
        assert base.execute(statement).rowcount > 0
    said = full.run("doctor")
    assert said.code == 20, said.out
    assert SUITE in said.out


def test_text_that_looks_like_the_list_is_text(door: Door) -> None:
    """Quotes within JSON text are escaped, so no title can be taken for the list of episodes."""
    path = door.suite / "suite.json"
    raw = json.loads(path.read_text())
    raw["title"] = '"episodes":[]  \\"episodes\\":['
    path.write_text(json.dumps(raw))
    door.ok("suite", "freeze", SUITE, "--as", "odd-v1")
    traces = door.suite / "traces" / "refund-agent-v8.jsonl"
    door.ok("import", traces, "--suite", "odd-v1", "--candidate", "refund-agent-v8")
    suite = read_suite(door.root / "suites" / "odd-v1").suite
    with asked(door) as connection:
        found: Suite = registry.suite_body(connection, "odd-v1")
    assert found == suite
    door.healthy()
