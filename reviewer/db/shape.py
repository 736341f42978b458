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
    """What stands in the schema and is not as one of our schema files makes it: its kind and name.
    What is missing is no part of it: reading says so. Raises sqlite3.Error."""
    ours = _ours()
    return [name for name, sql in connection.execute(_ALL).fetchall() if (name, sql) not in ours]


def strange_code(connection: sqlite3.Connection) -> list[str]:
    """The views and triggers among `strange`, by their text alone: a hundredth of its cost, which
    a report can pay each time. Raises sqlite3.Error."""
    found = connection.execute(
        "SELECT type || ' ' || name, sql FROM sqlite_master WHERE type IN ('view', 'trigger')"
    ).fetchall()
    ours = "".join(script.read_text(encoding="utf-8") for script in scripts())
    return [name for name, sql in found if f"{sql};" not in ours]


@cache
def _ours() -> frozenset[tuple[str, str | None]]:
    """Every part of the schema as it is made by, at each of its versions."""
    found: set[tuple[str, str | None]] = set()
    with closing(sqlite3.connect(":memory:")) as empty:
        for script in scripts():
            empty.executescript(script.read_text(encoding="utf-8"))
            found.update(empty.execute(_ALL).fetchall())
    return frozenset(found)
