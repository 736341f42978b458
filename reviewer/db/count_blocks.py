"""Counts of episodes in columns, precomputed for blocks of consecutive episodes.

Figures of a large suite need every episode's counts: SQLite takes longer to hand over a hundred
thousand rows than the figures take. A trigger deletes a block when one of its rows changes, and
whatever ends an import or another change of many traces makes it again. Episodes whose block is not
kept are read row by row, so a figure never depends on which blocks are kept.
"""

import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import msgspec

from reviewer.db.codec import native
from reviewer.db.connection import transaction
from reviewer.db.queries.episodes import LARGE_EPISODES

SIZE = 512
"""Episodes of a block, by id; also in `022_count_blocks.sql`."""
_SHIFT = 40

Kind = tuple[int, int, int, int, int, int, int, tuple[tuple[str, int, int], ...]]
"""Counts that many episodes share: attempts, measured, passes, critical, infra, in_plan,
cost_unknown, and (gate, failed, unknown) of the gates that not every attempt passes."""


class CountColumns(NamedTuple):
    """The counts of episodes by rising key: places in `kinds`, costs in nano-USD, steps."""

    keys: "array[int]"
    kinds: list[Kind]
    places: "array[int]"
    costs: "array[int]"
    steps: "array[int]"


_kinds = msgspec.json.Decoder(list[Kind])
_COLUMNS = "id, candidate, episodes, kinds, places, costs, steps"
_Row = tuple[int, int, bytes, str, bytes, bytes, bytes]
"""A row of `count_block`."""


def are_kept(connection: sqlite3.Connection, candidate: int) -> bool:
    """Return whether any block of a candidate is kept."""
    span = candidate << _SHIFT, (candidate + 1 << _SHIFT) - 1
    some = "SELECT 1 FROM count_block WHERE id BETWEEN ? AND ? LIMIT 1"
    return connection.execute(some, span).fetchone() is not None


def counts_of(connection: sqlite3.Connection, candidate: int) -> CountColumns:
    """Return the counts of every episode with a row of `roll` for this candidate."""
    found = CountColumns(array("q"), [], array("q"), array("q"), array("q"))
    known: dict[Kind, int] = {}
    start = 0
    for row in connection.execute(
        f"SELECT {_COLUMNS} FROM count_block WHERE id BETWEEN ? AND ? ORDER BY id",
        (candidate << _SHIFT, (candidate + 1 << _SHIFT) - 1),
    ):
        block = row[0] & (1 << _SHIFT) - 1
        if block > start:
            _join(found, known, _counted(connection, candidate, start, block))
        _join(found, known, _unpacked(block, row))
        start = block + 1
    _join(found, known, _counted(connection, candidate, start))
    found.kinds.extend(known)
    return found


def _join(found: CountColumns, known: dict[Kind, int], more: CountColumns) -> None:
    """Add the counts of further episodes, whose keys are greater."""
    places = [known.setdefault(kind, len(known)) for kind in more.kinds]
    found.keys.extend(more.keys)
    found.places.extend(map(places.__getitem__, more.places))
    found.costs.extend(more.costs)
    found.steps.extend(more.steps)


def _counted(
    connection: sqlite3.Connection, candidate: int, first: int, end: int | None = None
) -> CountColumns:
    """Count the episodes of the blocks from `first` up to `end`, from their rows."""
    found = CountColumns(array("q"), [], array("q"), array("q"), array("q"))
    known: dict[Kind, int] = {}
    last = (1 << 62) if end is None else end * SIZE - 1
    span = candidate, first * SIZE, last
    gates: dict[int, tuple[tuple[str, int, int], ...]] = {
        episode: tuple(row[1:] for row in rows)
        for episode, rows in groupby(
            connection.execute(
                "SELECT episode, gate, failed, unknown FROM gate_count WHERE candidate=?"
                " AND first=0 AND episode BETWEEN ? AND ? AND (failed <> 0 OR unknown <> 0)"
                " ORDER BY episode, gate",
                span,
            ),
            key=itemgetter(0),
        )
    }
    for episode, cost, steps, *counts in connection.execute(
        "SELECT episode, cost_nano, steps, attempts, measured, passes, critical, infra, in_plan,"
        " cost_unknown FROM roll WHERE candidate=? AND episode BETWEEN ? AND ? ORDER BY episode",
        span,
    ):
        kind: Kind = (*counts, gates.get(episode, ()))
        found.keys.append(episode)
        found.places.append(known.setdefault(kind, len(known)))
        found.costs.append(cost)
        found.steps.append(steps)
    found.kinds.extend(known)
    return found


def _unpacked(block: int, row: _Row) -> CountColumns:
    _, _, episodes, kinds, places, costs, steps = row
    offsets, first = native(array("H", episodes)), block * SIZE
    columns = CountColumns(
        array("q", [first + offset for offset in offsets]),
        _kinds.decode(kinds),
        native(array("H", places)),
        native(array("q", costs)),
        native(array("q", steps)),
    )
    if len({len(columns.keys), *map(len, columns[2:])}) > 1:
        raise ValueError("counts of another size")
    return columns


def _packed(candidate: int, block: int, columns: CountColumns) -> _Row:
    return (
        candidate << _SHIFT | block,
        candidate,
        native(array("H", [key - block * SIZE for key in columns.keys])).tobytes(),
        msgspec.json.encode(columns.kinds).decode(),
        native(array("H", columns.places)).tobytes(),
        native(columns.costs[:]).tobytes(),
        native(columns.steps[:]).tobytes(),
    )


def catch_up(connection: sqlite3.Connection, store: Path) -> None:
    """Make the blocks of large suites that are not kept, so many per transaction that no other
    writer waits long."""
    while next(missing_count_blocks(connection), None) is not None:
        with transaction(connection, store):
            make_missing(connection, _TOGETHER)


_TOGETHER = 128


def make_missing(connection: sqlite3.Connection, most: int | None = None) -> None:
    """Make the blocks of large suites that are not kept, or the first of them, inside the caller's
    transaction."""
    for candidate, block in list(islice(missing_count_blocks(connection), most)):
        row = _packed(candidate, block, _counted(connection, candidate, block, block + 1))
        connection.execute(
            f"INSERT INTO count_block ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", row
        )


def missing_count_blocks(connection: sqlite3.Connection) -> Iterator[tuple[int, int]]:
    """Yield (candidate, block) of the blocks that could be kept and are missing."""
    for (suite,) in connection.execute("SELECT id FROM suite ORDER BY id").fetchall():
        ends = [
            connection.execute(
                f"SELECT id FROM episode WHERE suite=? ORDER BY position {way} LIMIT 1", (suite,)
            ).fetchone()
            for way in ("", "DESC")
        ]
        if ends[0] is None or ends[1][0] - ends[0][0] < LARGE_EPISODES:
            continue
        wanted = range(ends[0][0] // SIZE, ends[1][0] // SIZE + 1)
        for (candidate,) in connection.execute(
            "SELECT id FROM candidate WHERE suite=? ORDER BY id", (suite,)
        ).fetchall():
            first = candidate << _SHIFT
            kept = connection.execute(
                "SELECT id FROM count_block WHERE id BETWEEN ? AND ?",
                (first | wanted.start, first | wanted.stop - 1),
            ).fetchall()
            if len(kept) < len(wanted):
                for block in sorted(set(wanted).difference(key - first for (key,) in kept)):
                    yield candidate, block


def forget(connection: sqlite3.Connection, blocks: Iterable[int]) -> None:
    """Delete these blocks, inside the caller's transaction."""
    connection.executemany("DELETE FROM count_block WHERE id=?", [(key,) for key in blocks])


def wrong_count_blocks(connection: sqlite3.Connection) -> list[int]:
    """Return the ids of the kept blocks that contradict their rows."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM count_block ORDER BY id")
    wrong = []
    while some := rows.fetchmany(SIZE):
        for row in some:
            candidate, block = row[0] >> _SHIFT, row[0] & (1 << _SHIFT) - 1
            made = _packed(candidate, block, _counted(connection, candidate, block, block + 1))
            if row != made:
                wrong.append(row[0])
    return wrong
