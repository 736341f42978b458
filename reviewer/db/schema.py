"""The schema of the store: apply `store/schema/*.sql`, and find parts that do not belong to it.

Scripts are applied in order, through sqlite-utils migrations; a new store gets their outcome from
one script, `store/schema/new/store.sql`. A store received from elsewhere may have a never-ending
view in place of a table, or a trigger that changes later writes; neither `integrity_check` nor the
journal detects them.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from reviewer.db.connection import (
    APPLICATION_ID,
    StoreError,
    close_writer,
    create_file,
    refuse_links,
    refuse_network,
    scripts,
    unwritten,
    write_lock,
    writer,
)
from reviewer.resources import data_folder


def open_writer(path: Path) -> sqlite3.Connection:
    """Open the store for writing, creating it and bringing its schema up to date first.

    Raises StoreError for a store written by a newer version.
    """
    refuse_links(path)
    if not path.exists():
        if path.parent.exists():
            refuse_network(path)
        try:
            create_file(path)
        except FileExistsError:
            pass  # another process created it between the check and the call
        except OSError as error:
            raise StoreError(unwritten(path, error)) from error
    with write_lock(path):
        connection = writer(path)
        try:
            known = scripts()
            if version_of(connection) < len(known):
                _apply(connection, known)
        except sqlite3.Error as error:
            connection.close()
            raise StoreError(unwritten(path, error)) from error
    return connection


def version_of(connection: sqlite3.Connection) -> int:
    """Return the number of the last schema file applied."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def bring_up_to_date(path: Path) -> None:
    """Apply the scripts that the store does not have yet. Raises StoreError."""
    close_writer(open_writer(path), path)


def _apply(connection: sqlite3.Connection, known: list[Path]) -> None:
    """Apply all scripts or none, names and numbers included: a process killed here leaves the file
    unchanged. An empty file gets the outcome of the scripts at once."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if version_of(connection) == 0 and not connection.execute(_PARTS).fetchone():
            _make(connection, known)
        if version_of(connection) < len(known):
            _upgrade(connection, known)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _make(connection: sqlite3.Connection, known: list[Path]) -> None:
    """Run the script for new stores. The numbered scripts drop many columns of earlier versions,
    for each of which SQLite checks the whole schema: they take eight times as long."""
    for statement in _statements(new_store_file().read_text(encoding="utf-8")):
        connection.execute(statement)
    now = str(datetime.now(UTC))
    connection.executemany(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES (?, ?, ?)",
        [(_SET, script.stem, now) for script in known[: version_of(connection)]],
    )


def _upgrade(connection: sqlite3.Connection, known: list[Path]) -> None:
    """Apply the numbered scripts that the store does not have. What only this needs is imported
    here: sqlite-utils imports numpy."""
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    from reviewer.db import count_blocks, figure_blocks
    from reviewer.db.contracts import split_old
    from reviewer.db.decisions import fill_old

    steps = Migrations(_SET)
    for script in known:
        text = script.read_text(encoding="utf-8")

        def step(db: "Database", sql: str = text) -> None:
            for statement in _statements(sql):
                db.execute(statement)

        steps(name=script.stem)(step)
    before = version_of(connection)
    steps.apply(Database(connection, recursive_triggers=True))
    split_old(connection)
    if before < _WITH_BLOCKS:
        figure_blocks.make_all(connection)
    count_blocks.make_missing(connection)
    if before == 1:
        _count_firsts(connection)
    fill_old(connection)
    connection.execute(f"PRAGMA user_version={len(known)}")


def new_store_file() -> Path:
    """Return the path of the script for new stores."""
    return data_folder("store") / "schema" / "new" / "store.sql"


def new_store_script() -> str:
    """Return the script for new stores: the parts that remain after the numbered scripts, in their
    order, the rows they insert, and their number."""
    known = scripts()
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        _upgrade(made, known)
        parts = made.execute(
            "SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
        ).fetchall()
        behind = tuple(f"{name}_" for name, _, sql in parts if sql.startswith("CREATE VIRTUAL"))
        said = [f"{sql};" for name, _, sql in parts if not name.startswith(behind)]
        for name, kind, sql in parts:
            own = kind == "table" and not sql.startswith("CREATE VIRTUAL")
            if own and name != "_sqlite_migrations" and not name.startswith(behind):
                for row in made.execute(f'SELECT * FROM "{name}" ORDER BY 1').fetchall():
                    values = made.execute(f"SELECT {', '.join(['quote(?)'] * len(row))}", row)
                    said.append(f"INSERT INTO {name} VALUES ({', '.join(values.fetchone())});")
    said.append(f"PRAGMA user_version={len(known)};")
    return _HEAD + "\n".join(said) + "\n"


_HEAD = """\
-- What the numbered scripts make, at once, for a new store.
-- Written by `python docs/make.py`: change a numbered script, never this one.
"""
_WITH_BLOCKS = 23
"""The first version whose stores have `figure_block` as it is now."""
_SET = "reviewer"
"""The name of reviewer's scripts in the table where sqlite-utils records which were applied."""


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script, each of which ends a line. Inside a transaction
    sqlite-utils would look for their ends at every character, which takes longer than all the
    rest."""
    held = ""
    for line in script.splitlines(keepends=True):
        held += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(held):
            yield held
            held = ""
    if held.strip():
        yield held


def _count_firsts(connection: sqlite3.Connection) -> None:
    """Fill the tables of `002_first_set.sql` for the traces already stored."""
    from reviewer.db import registry
    from reviewer.db.counts import rebuild_firsts

    for suite in registry.suites(connection):
        body = registry.suite_head(connection, suite.suite_id)
        for one in registry.candidates(connection, suite.id):
            rebuild_firsts(connection, one.id, registry.plan_of(body, one.planned))


_PARTS = (
    "SELECT type || ' ' || name, sql FROM sqlite_master WHERE name NOT GLOB 'sqlite_*'"
    # The table that sqlite-utils adds to the schema.
    " AND NOT (tbl_name = '_sqlite_migrations' AND type IN ('table', 'index'))"
)


def foreign_parts(connection: sqlite3.Connection) -> list[str]:
    """Return kind and name of the parts of the schema that no schema file creates. Missing parts
    are not included: reading the store reports those. Raises sqlite3.Error."""
    found = set(connection.execute(_PARTS).fetchall()) - _newest_parts()
    return [name for name, _ in sorted(found - _own_parts())] if found else []


def foreign_code(connection: sqlite3.Connection) -> list[str]:
    """Return the views and triggers among `foreign_parts`, found by their text alone: this costs a
    hundredth, which a report can afford each time. Raises sqlite3.Error."""
    found = connection.execute(
        "SELECT type || ' ' || name, sql FROM sqlite_master WHERE type IN ('view', 'trigger')"
    ).fetchall()
    ours = "".join(script.read_text(encoding="utf-8") for script in scripts())
    return [name for name, sql in found if f"{sql};" not in ours]


@cache
def _newest_parts() -> frozenset[tuple[str, str | None]]:
    """Return every part of the newest schema, of which an up-to-date store consists. Collecting the
    parts of earlier versions through the numbered scripts takes twenty times as long."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(new_store_file().read_text(encoding="utf-8"))
        return frozenset(empty.execute(_PARTS).fetchall())


@cache
def _own_parts() -> frozenset[tuple[str, str | None]]:
    """Return every part of the schema at each of its versions."""
    found: set[tuple[str, str | None]] = set()
    with closing(sqlite3.connect(":memory:")) as empty:
        for script in scripts():
            empty.executescript(script.read_text(encoding="utf-8"))
            found.update(empty.execute(_PARTS).fetchall())
    return frozenset(found)
