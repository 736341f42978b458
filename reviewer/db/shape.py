"""Whether a store has the tables, views and triggers that its schema gives it, and no others.

A store that somebody hands over may hold a view in a table's place that never ends, or a trigger
that changes what is written after it. Neither is damage that `integrity_check` or the journal sees.
"""

import sqlite3
from contextlib import closing
from functools import cache

from reviewer.db.connection import scripts

_ALL = (
    "SELECT type || ' ' || name, sql FROM sqlite_master WHERE name NOT GLOB 'sqlite_*'"
    # What sqlite-utils notes beside the schema.
    " AND NOT (tbl_name = '_sqlite_migrations' AND type IN ('table', 'index'))"
)


def strange(connection: sqlite3.Connection) -> list[str]:
    """What stands in the schema and is not as the schema files of this store's version make it:
    its kind and name. What is missing is no part of it: reading says so. Raises sqlite3.Error."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    made = _made(version)
    found = connection.execute(_ALL).fetchall()
    return [name for name, sql in found if made.get(name) != sql]


@cache
def _made(version: int) -> dict[str, str | None]:
    """The schema of that version: what each part is made by."""
    with closing(sqlite3.connect(":memory:")) as empty:
        for script in scripts()[:version]:
            empty.executescript(script.read_text(encoding="utf-8"))
        return dict(empty.execute(_ALL).fetchall())
