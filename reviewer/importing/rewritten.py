"""The same record under another candidate, with other blanks or its members in another order.

Its bytes differ, and so does the identity of its evidence; what it cost, how long it took and how
many events it has do not. A record without a clock is not asked about: such runs may be alike.
"""

import json
import sqlite3
from collections.abc import Sequence

from reviewer.db import revisions
from reviewer.importing.revisions import compare

_SHAPES = (
    "SELECT t.id, t.candidate, c.suite, t.episode, t.cost_usd, t.latency_ms, t.events, t.evidence"
    " FROM trace t JOIN candidate c ON c.id = t.candidate"
)
_FRESH = f"{_SHAPES} WHERE t.id IN (SELECT value FROM json_each(?)) AND t.latency_ms IS NOT NULL"
_OTHERS = (
    f"{_SHAPES} WHERE t.candidate IN (SELECT id FROM candidate WHERE suite=? AND id<>?)"
    " AND t.episode IN (SELECT value FROM json_each(?))"
    " AND t.latency_ms IN (SELECT value FROM json_each(?)) ORDER BY t.id"
)
_SEVERAL = "SELECT 1 FROM candidate WHERE suite=? AND id<>? LIMIT 1"
MOST_ALIKE = 8


def rewritten(connection: sqlite3.Connection, written: Sequence[int]) -> dict[int, list[int]]:
    """Of these traces of private suites, those that are the same record as a trace of another
    candidate, each with those traces."""
    apart: dict[tuple[int, int], list[tuple[int, tuple[object, ...], int]]] = {}
    for trace, candidate, suite, *shape, evidence in connection.execute(
        _FRESH, (json.dumps(list(written)),)
    ).fetchall():
        apart.setdefault((suite, candidate), []).append((trace, tuple(shape), evidence))
    found: dict[int, list[int]] = {}
    for (suite, candidate), fresh in apart.items():
        if connection.execute(_SEVERAL, (suite, candidate)).fetchone() is None:
            continue
        wanted = json.dumps(sorted({shape[0] for _, shape, _ in fresh}, key=str))
        times = json.dumps(sorted({shape[2] for _, shape, _ in fresh}, key=str))
        others: dict[tuple[object, ...], list[tuple[int, int]]] = {}
        rows = connection.execute(_OTHERS, (suite, candidate, wanted, times)).fetchall()
        for trace, _, _, *shape, evidence in rows:
            others.setdefault(tuple(shape), []).append((trace, evidence))
        for trace, of, evidence in fresh:
            alike = [key for key, its in others.get(of, ()) if its != evidence][:MOST_ALIKE]
            same = [key for key in alike if _same(connection, trace, key)]
            if same:
                found[trace] = same
    return found


def _same(connection: sqlite3.Connection, one: int, other: int) -> bool:
    mine, theirs = revisions.head(connection, one), revisions.head(connection, other)
    return mine is not None and theirs is not None and compare(theirs, mine).kind == "same"
