"""Sources, latencies, sums of diagnostics, and failing and flagged traces, precomputed for blocks
of consecutive traces.

A block is written in the transaction that writes its last trace. Triggers delete it when one of its
traces, or a finding or a source's verdict of one, changes, and the code that changed it writes it
again. Traces whose block is not kept are read one by one, so a figure never depends on which blocks
are kept.

Sums of floats depend on their order, but not where every partial sum is exact. Diagnostics are
float32, multiples of one over a power of two: while their sum times the greatest such power is
below 2^53, any order gives the same bits. A sum that may depend on the order is not used.
"""

import json
import math
import sqlite3
import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from reviewer.db.codec import DIAGNOSTICS, diagnostic_columns, json_ints, native
from reviewer.db.noted import (
    NotedKind,
    NotedTraces,
    add_noted,
    noted_between,
    packed_noted,
    unpacked_noted,
)

SIZE = 512
"""Traces of a block, by id; also in `023_noted_traces.sql`."""
_EXACT = 2.0**53


class Sum(NamedTuple):
    """The sum of `known` values. `denominator` is the greatest denominator of the values as
    fractions; infinite where the sum may depend on the order."""

    known: int
    total: float
    denominator: float

    @property
    def is_exact(self) -> bool:
        return self.total * self.denominator < _EXACT


_NOTHING = Sum(0, 0.0, 1.0)
_SUMS = struct.Struct(f"<{len(Sum._fields) * len(DIAGNOSTICS)}d")
_Row = tuple[int, int, int, int, bytes, bytes, bytes, str, bytes, bytes, bytes, str]
"""A row of `figure_block`."""
_Trace = tuple[int, int, float | None, int, int | None, bytes | None, int]
"""Candidate, episode, latency, whether infrastructure ended it, verdict, diagnostics, source."""
_ID = itemgetter(0)
_counted = itemgetter(1, 2, 9, 7, 5, 22, 17)
"""What `_traces` reads of a whole row of `trace`."""


def _joined(sums: Iterable[Sum]) -> Sum:
    """Return the sum of several sums; the result is valid if it `is_exact`."""
    counts, totals, denominators = zip(*(_NOTHING, *sums), strict=True)
    return Sum(sum(counts), math.fsum(totals), max(denominators))


def _sum_of(values: "array[float]") -> Sum:
    """Return the sum of the defined values."""
    known: Sequence[float] = values
    if (total := sum(known)) != total:  # NaN means undefined
        known = [value for value in values if value == value]
        total = sum(known)
    if not known:
        return _NOTHING
    distinct = set(known)
    if min(distinct) >= 0 and math.isfinite(total):
        denominator = max(value.as_integer_ratio()[1] for value in distinct)
        found = Sum(len(known), total, float(denominator))
        if found.is_exact:
            return found
    return Sum(len(known), 0.0, math.inf)


def _sums_of(blobs: Sequence[bytes]) -> list[Sum]:
    """Return the sum of each of DIAGNOSTICS over traces."""
    return [_sum_of(column) for column in diagnostic_columns(blobs)]


def make_finished(connection: sqlite3.Connection, first: int, last: int) -> None:
    """Make the blocks that end with one of these new traces, inside the caller's transaction."""
    put_blocks(connection, range(first // SIZE, (last + 1) // SIZE))


def make_again(connection: sqlite3.Connection, traces: Iterable[int]) -> None:
    """Rebuild the blocks of traces that were changed, inside the caller's transaction."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()
    finished = (last + 1) // SIZE
    put_blocks(connection, sorted({at for one in traces if (at := one // SIZE) < finished}))


def make_all(connection: sqlite3.Connection) -> None:
    """Make every block of a store, inside the caller's transaction."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()
    make_finished(connection, 0, last)


class BlockCheck:
    """Compares the kept blocks with their traces: with rows of `trace` that were read for something
    else, or with those that it reads itself where no rows cover a block."""

    def __init__(
        self, connection: sqlite3.Connection, start: float = -math.inf, stop: float = math.inf
    ) -> None:
        """Check the blocks that begin with a trace from `start` to before `stop`."""
        self._connection = connection
        self._left = {one for one in _kept(connection) if start <= one * SIZE < stop}
        self._rows: Sequence[tuple[Any, ...]] = ()
        self._start = self._end = 0
        self._wrong: list[int] = []

    def read(self, first: int, count: int, rows: Sequence[tuple[Any, ...]]) -> None:
        """Take the rows of the traces with the `count` ids from `first` on, as far as they are in
        the store."""
        if first == self._end:
            rows, start = [*self._rows, *rows], self._start
        else:
            start = first
        self._end = first + count
        for block in range(-(-start // SIZE), self._end // SIZE):
            if block in self._left:
                place = bisect_left(rows, block * SIZE, key=_ID)
                after = bisect_left(rows, (block + 1) * SIZE, key=_ID)
                self._compare(block, list(map(_counted, rows[place:after])))
        self._start = max(start, self._end // SIZE * SIZE)
        self._rows = rows[bisect_left(rows, self._start, key=_ID) :]

    def finish(self) -> list[int]:
        """Return the blocks that contradict their traces."""
        for block in sorted(self._left):
            self._compare(block, _traces(self._connection, block))
        return sorted(self._wrong)

    def _compare(self, block: int, traces: list[_Trace]) -> None:
        self._left.discard(block)
        stored = f"SELECT {_COLUMNS} FROM figure_block WHERE {_OF_BLOCK} ORDER BY id"
        kept = self._connection.execute(stored, {"block": block}).fetchall()
        if kept != _made(self._connection, block, traces):
            self._wrong.append(block)


def wrong_blocks(connection: sqlite3.Connection) -> list[int]:
    """Return the kept blocks that contradict their traces."""
    return BlockCheck(connection).finish()


def missing_blocks(connection: sqlite3.Connection) -> list[int]:
    """Return the blocks that could be kept and are missing."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()
    return sorted(set(range((last + 1) // SIZE)).difference(_kept(connection)))


def put_blocks(connection: sqlite3.Connection, blocks: Iterable[int]) -> None:
    """Rebuild these blocks, inside the caller's transaction."""
    for block in blocks:
        _put(connection, block)


def kept_latencies(
    connection: sqlite3.Connection, candidate: int
) -> Iterator[tuple[int, "array[int]", "array[float]"]]:
    """Yield, for each kept block, how many of the candidate's attempts have no latency, and for the
    other attempts their episodes and latencies."""
    for unknown, episodes, latencies in connection.execute(
        "SELECT unknown, episodes, latencies FROM figure_block WHERE candidate=?",
        (candidate,),
    ):
        if len(episodes) != len(latencies):
            raise ValueError("latencies of another size")
        yield unknown, native(array("q", episodes)), native(array("d", latencies))


def sources_of(connection: sqlite3.Connection, candidate: int) -> set[int]:
    """Return the sources of a candidate's traces."""
    rows = connection.execute(
        "SELECT DISTINCT sources FROM figure_block WHERE candidate=?", (candidate,)
    )
    found = {source for (sources,) in rows.fetchall() for source in json.loads(sources)}
    for clause in loose(connection):
        rows = connection.execute(
            f"SELECT DISTINCT t.source FROM trace t WHERE {clause}", (candidate,)
        )
        found.update(source for (source,) in rows.fetchall())
    return found


def exact_sums(connection: sqlite3.Connection, candidate: int) -> list[Sum] | None:
    """Return the sum of each of DIAGNOSTICS over every trace of a candidate; None where it may
    depend on the order."""
    parts = []
    for (packed,) in connection.execute(
        "SELECT sums FROM figure_block WHERE candidate=?", (candidate,)
    ):
        if len(packed) != _SUMS.size:
            raise ValueError("sums of another size")
        numbers = iter(_SUMS.unpack(packed))
        parts.append([Sum(int(n), *two) for n, *two in zip(numbers, numbers, numbers, strict=True)])
    for clause in loose(connection):
        rows = connection.execute(
            f"SELECT t.diagnostics FROM trace t WHERE {clause} AND t.diagnostics IS NOT NULL",
            (candidate,),
        )
        while blobs := rows.fetchmany(SIZE):
            parts.append(_sums_of([blob for (blob,) in blobs]))
    found = [_joined(column) for column in zip(*parts, strict=True)] or [_NOTHING] * len(
        DIAGNOSTICS
    )
    return found if all(one.is_exact for one in found) else None


def noted_of(connection: sqlite3.Connection, candidate: int) -> NotedTraces:
    """Return the failing and flagged traces of a candidate."""
    found, known = NotedTraces(), dict[NotedKind, int]()
    for row in connection.execute(
        "SELECT noted, digests, places, kinds FROM figure_block WHERE candidate=?", (candidate,)
    ):
        add_noted(found, known, unpacked_noted(*row))
    for first, last in _loose(connection):
        more = noted_between(connection, first, last, candidate)
        add_noted(found, known, more.get(candidate, NotedTraces()))
    return found


def loose(connection: sqlite3.Connection) -> list[str]:
    """Return SQL clauses that select the traces `t` of a candidate in blocks that are not kept."""
    return [
        f"+t.candidate=? AND t.id BETWEEN {first} AND {last}" for first, last in _loose(connection)
    ]


def _loose(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    """Return the first and last ids of traces in blocks that are not kept."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()
    found, start = [], 0
    for block in [*_kept(connection), last // SIZE + 1]:
        if block * SIZE > start:
            found.append((start, block * SIZE - 1))
        start = (block + 1) * SIZE
    return found


def _kept(connection: sqlite3.Connection) -> list[int]:
    rows = connection.execute("SELECT DISTINCT block FROM figure_block ORDER BY block")
    return [block for (block,) in rows.fetchall()]


_COLUMNS = (
    "id, block, candidate, unknown, episodes, latencies, sums, sources,"
    " noted, digests, places, kinds"
)
_OF_BLOCK = "id BETWEEN :block << 24 AND (:block << 24) + 16777215"


def _put(connection: sqlite3.Connection, block: int) -> None:
    connection.execute(f"DELETE FROM figure_block WHERE {_OF_BLOCK}", {"block": block})
    connection.executemany(
        f"INSERT INTO figure_block ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        _made(connection, block, _traces(connection, block)),
    )


def _traces(connection: sqlite3.Connection, block: int) -> list[_Trace]:
    return connection.execute(
        "SELECT candidate, episode, latency_ms, infra, passed, diagnostics, source FROM trace"
        " WHERE id BETWEEN ? AND ?",
        (block * SIZE, (block + 1) * SIZE - 1),
    ).fetchall()


def _made(connection: sqlite3.Connection, block: int, traces: list[_Trace]) -> list[_Row]:
    """Return the rows of a block, by candidate, from its traces."""
    candidates = sorted({row[0] for row in traces})
    noted = noted_between(connection, block * SIZE, (block + 1) * SIZE - 1)
    if len(candidates) == 1:
        return [_row(block, candidates[0], traces, noted.get(candidates[0], NotedTraces()))]
    return [
        _row(block, one, [row for row in traces if row[0] == one], noted.get(one, NotedTraces()))
        for one in candidates
    ]


def _row(block: int, candidate: int, traces: list[_Trace], noted: NotedTraces) -> _Row:
    counted = [row for row in traces if row[3] != 1 or row[4] is not None]
    # Already in order, which sorts all of them in two thirds of the time.
    known = sorted([(row[2], row[1]) for row in counted if row[2] is not None])
    episodes = array("q", [episode for _, episode in known])
    latencies = array("d", [latency for latency, _ in known])
    sums = _sums_of([row[5] for row in traces if row[5] is not None])
    return (
        *(block << 24 | candidate, block, candidate, len(counted) - len(known)),
        *(native(episodes).tobytes(), native(latencies).tobytes()),
        _SUMS.pack(*[float(number) for one in sums for number in one]),
        json_ints(sorted({row[6] for row in traces})),
        *packed_noted(noted),
    )
