"""A store as an older reviewer would have left it: today's rows in yesterday's schema."""

import contextlib
import sqlite3
from typing import Any

import msgspec
import pytest
from doors import Door

from reviewer.db import registry
from reviewer.db.connection import reader, scripts
from reviewer.suite.gates import ALWAYS


def by_day(names: list[str]) -> list[Any]:
    """The oldest two and the newest of these scripts for each change, all of them by night."""
    few = {*names[:2], names[-1]}
    return [
        name if name in few else pytest.param(name, marks=pytest.mark.nightly) for name in names
    ]


def as_before(door: Door, script: str) -> None:
    """The same rows in a file of the schema before this script."""
    known = [path.stem for path in scripts()]
    at = known.index(script)
    old = door.store.with_name("old.db")
    with contextlib.closing(reader(door.store)) as base:  # before contracts stood apart
        whole = {
            row.suite_id: msgspec.json.encode(registry.suite_body(base, row.suite_id))
            for row in registry.suites(base)
        }
    with contextlib.closing(sqlite3.connect(old)) as base, base:
        for path in scripts()[:at]:
            base.executescript(path.read_text())
        base.execute("ATTACH ? AS new", (str(door.store),))
        base.execute("CREATE TABLE _sqlite_migrations AS SELECT * FROM new._sqlite_migrations")
        later = ", ".join(f"'{name}'" for name in known[at:])
        base.execute(f"DELETE FROM _sqlite_migrations WHERE name IN ({later})")
        names = "SELECT name FROM sqlite_schema WHERE type='table' AND sql NOT LIKE '%VIRTUAL%'"
        for (name,) in base.execute(names).fetchall():
            if name.startswith("_sqlite"):
                continue
            if name.startswith("search_"):  # what the full text is kept in
                base.execute(f"DELETE FROM {name}")
            kept = {row[1] for row in base.execute(f"PRAGMA new.table_info({name})")}
            columns = ", ".join(
                f'"{row[1]}"'
                for row in base.execute(f"PRAGMA table_info({name})").fetchall()
                if row[1] in kept
            )
            if name == "meta":
                base.execute("DELETE FROM meta")
            base.execute(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM new.{name}")
        if "015_event_lists" in known[at:]:
            base.execute("DELETE FROM meta WHERE key='event_shapes'")
        if "012_gate_counts" in known[at:]:
            _counts_in_columns(base)
        for suite_id, body in whole.items() if "008_contracts" in known[at:] else ():
            base.execute("UPDATE suite SET body=? WHERE suite_id=?", (body, suite_id))
        for pragma in ("application_id", "user_version"):
            value = base.execute(f"PRAGMA new.{pragma}").fetchone()[0]
            base.execute(f"PRAGMA {pragma}={at if pragma == 'user_version' else value}")
    for path in door.store.parent.glob("review.db*"):
        path.unlink()
    old.rename(door.store)
    door.store.chmod(0o600)


def _counts_in_columns(base: sqlite3.Connection) -> None:
    """Fill the columns that held the counts per gate before these were rows."""
    tables = "SELECT name FROM sqlite_schema WHERE name IN ('roll', 'first_set')"
    for (table,) in base.execute(tables).fetchall():
        for place, gate in enumerate(ALWAYS):
            for column, word in ("failed", "fail"), ("unknown", "unknown"):
                base.execute(
                    f"UPDATE {table} SET {word}_{place} = coalesce((SELECT g.{column}"
                    f" FROM new.gate_count g WHERE g.candidate = {table}.candidate"
                    f" AND g.episode = {table}.episode AND g.first = ? AND g.gate = ?), 0)",
                    (table == "first_set", gate),
                )
