"""Episodes in a given order, filtered and in groups, and the median latencies used for the order.
All of it is read from roll-ups; 100,000 episodes take one statement."""

import itertools
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import msgspec

from reviewer.db.queries.filters import (
    CATEGORY,
    COST,
    FAILS,
    LATENCY,
    STEPS,
    Term,
    gate_count,
    pass_hat,
    where,
)
from reviewer.suite.gates import GATES

GroupBy = Literal["none", "tag", "category"]
Provide = Callable[[sqlite3.Connection], None]
"""Puts the candidate's median latencies into `temp.latency` of a connection that does not have them
yet."""


class EpisodeQuery(NamedTuple):
    """Which episodes, in which order. `k` is that of pass^k, which is not computed for episodes
    played `by_person`; `complete` says that every episode of the suite has a roll-up, so that only
    the shown columns are read from the table of episodes."""

    suite: int
    candidate: int
    k: int
    by: str = "worst"
    descending: bool = False
    only_failing: bool = False
    terms: tuple[Term, ...] = ()
    complete: bool = False
    by_person: frozenset[int] = frozenset()


class _From(NamedTuple):
    """FROM and WHERE with its parameters, the column with the episode's key, whether first sets are
    among the tables, and a condition that selects the episodes that a person plays."""

    tables: str
    clause: str
    bound: dict[str, object]
    key: str
    firsts: bool
    apart: str


class GroupRow(NamedTuple):
    """Sums over the episodes of one group that have the same tags or category, attempts and passes,
    so that pass^k is the same for all of them. `fail` and `unknown` are aligned with `GATES`."""

    label: str
    measured: int
    passes: int
    attempts: int
    by_person: bool
    episodes: int
    all_attempts: int
    all_passes: int
    critical: int
    infra: int
    cost_nano: int
    cost_unknown: int
    fail: tuple[int, ...]
    unknown: tuple[int, ...]


_WORST = (("coalesce(r.critical, 0)", True), (FAILS, True), ("r.attempts IS NULL", False))
_PLAIN: dict[str, tuple[tuple[str, bool], ...]] = {
    "worst": _WORST,
    "episode": (("e.episode_id", False),),
    "attempts": (("coalesce(r.attempts, 0)", False),),
    **{
        gate: ((gate_count(gate, "failed"), True), (gate_count(gate, "unknown"), True))
        for gate in GATES
    },
}
"""(expression, whether it falls); the first that differs decides, then the suite's order."""
_FIGURES = {"cost": COST, "latency": LATENCY, "steps": STEPS}
_NAMED = ("worst", "episode", "pass", "cost", "latency", "steps", "attempts", "tags")


def order_names(gates: tuple[str, ...] = GATES) -> tuple[str, ...]:
    """Return the names of orders, on a suite that is judged by these gates."""
    return (*_NAMED, *gates)


def _ordered(asked: EpisodeQuery, among: _From) -> str:
    """Return ORDER BY. An unknown figure comes last in both directions; keys rise as the suite's
    order does. Raises KeyError for an unknown order."""
    falling = " DESC" if asked.descending else ""
    if asked.by in _FIGURES or asked.by == "pass":
        hat = pass_hat(asked.k, among.firsts, among.apart)
        figure = hat if asked.by == "pass" else _FIGURES[asked.by]
        return f"({figure}){falling} NULLS LAST, {among.key}"
    if asked.by == "tags":
        return f"e.tags = '[]', e.tags{falling}, {among.key}"
    terms = (*_PLAIN[asked.by], (among.key, False))
    return ", ".join(f"{term} DESC" if down != asked.descending else term for term, down in terms)


def _from(connection: sqlite3.Connection, asked: EpisodeQuery) -> _From:
    known = connection.execute(
        "SELECT 1 FROM first_set WHERE candidate=? LIMIT 1", (asked.candidate,)
    ).fetchone()
    firsts = known is not None
    if asked.complete:
        key, clause = "r.episode", "r.candidate = :candidate"
        tables = "roll r LEFT JOIN episode e ON e.id = r.episode"
    else:
        key, clause = "e.id", "e.suite = :suite"
        tables = "episode e LEFT JOIN roll r ON r.candidate = :candidate AND r.episode = e.id"
    if firsts:
        tables += f" LEFT JOIN first_set s ON s.candidate = :candidate AND s.episode = {key}"
    apart = f"{key} IN ({','.join(map(str, sorted(asked.by_person)))})"
    hat = pass_hat(asked.k, firsts, apart)
    more, bound = where(connection, asked.terms, hat, key)
    clause += more
    if asked.only_failing:
        clause += f" AND ({FAILS} > 0 OR coalesce(r.critical, 0) > 0)"
    bound |= {"suite": asked.suite, "candidate": asked.candidate}
    return _From(tables, clause, bound, key, firsts, apart)


def _rows(
    connection: sqlite3.Connection, sql: str, among: _From, provide: Provide
) -> list[tuple[Any, ...]]:
    tables = among.tables
    if LATENCY in sql:
        provide(connection)
        tables += f" LEFT JOIN temp.latency l ON l.episode = {among.key}"
    return connection.execute(sql.replace("{tables}", tables), among.bound).fetchall()


def ordered_episodes(
    connection: sqlite3.Connection, asked: EpisodeQuery, provide: Provide, most: int = -1
) -> list[int]:
    """Return the episode keys in this order, at most so many of them. Raises KeyError for an
    unknown order."""
    among = _from(connection, asked)
    sql = (
        f"SELECT {among.key} FROM {{tables}} WHERE {among.clause}"
        f" ORDER BY {_ordered(asked, among)} LIMIT {most}"
    )
    return [row[0] for row in _rows(connection, sql, among, provide)]


LABELS: dict[str, str] = {"tag": "e.tags", "category": CATEGORY}
"""The column whose text has the labels of an episode `e`."""


def grouped(
    connection: sqlite3.Connection, asked: EpisodeQuery, group: GroupBy, provide: Provide
) -> dict[str, list[int]]:
    """Return label → episode keys in this order. An episode is listed under each of its tags, one
    without any under the empty label; labels in order of first occurrence."""
    among = _from(connection, asked)
    sql = (
        f"SELECT {among.key}, {LABELS[group]} FROM {{tables}} WHERE {among.clause}"
        f" ORDER BY {_ordered(asked, among)}"
    )
    labels = Labels(group)
    found: dict[str, list[int]] = {}
    for key, raw in _rows(connection, sql, among, provide):
        for label in labels[raw]:
            found.setdefault(label, []).append(key)
    return found


_NO_GATE = (0,) * len(GATES)
_SUMMED = ("attempts", "passes", "critical", "infra", "cost_nano", "cost_unknown")


def group_rows(
    connection: sqlite3.Connection, asked: EpisodeQuery, group: GroupBy, provide: Provide
) -> list[GroupRow]:
    """Return the sums for group heads, over the episodes that pass the filter."""
    among = _from(connection, asked)
    alike = f"{LABELS[group]}, " + ", ".join(
        f"coalesce(s.{name}, r.{name}, 0)" if among.firsts else f"coalesce(r.{name}, 0)"
        for name in ("measured", "passes", "attempts")
    )
    alike += f", {among.apart}"
    sums = ", ".join(f"coalesce(sum(r.{name}), 0)" for name in _SUMMED)
    sql = (
        f"SELECT {alike}, count(*), {sums} FROM {{tables}} WHERE {among.clause}"
        " GROUP BY 1, 2, 3, 4, 5"
    )
    by_gate = among._replace(
        tables=f"{among.tables} JOIN gate_count g ON g.candidate = :candidate AND g.first = 0"
        f" AND g.episode = {among.key}"
    )
    gates = (
        f"SELECT {alike}, g.gate, sum(g.failed), sum(g.unknown) FROM {{tables}}"
        f" WHERE {among.clause} GROUP BY 1, 2, 3, 4, 5, g.gate"
    )
    failed: dict[tuple[Any, ...], list[int]] = {}
    unknown: dict[tuple[Any, ...], list[int]] = {}
    for *group_of, gate, fails, open_ in _rows(connection, gates, by_gate, provide):
        for counts, count in ((failed, fails), (unknown, open_)):
            counts.setdefault(tuple(group_of), [0] * len(GATES))[GATES.index(gate)] = count
    labels = Labels(group)
    return [
        GroupRow._make(
            (label, *row[1:], *(tuple(of.get(row[:5], _NO_GATE)) for of in (failed, unknown)))
        )
        for row in _rows(connection, sql, among, provide)
        for label in labels[row[0]]
    ]


class Labels(dict[str | None, tuple[str, ...]]):
    """The labels in a column's text."""

    def __init__(self, group: GroupBy) -> None:
        super().__init__()
        self._tags = group == "tag"

    def __missing__(self, raw: str | None) -> tuple[str, ...]:
        found: tuple[str, ...] = (raw or "",)
        if self._tags:
            tags = msgspec.json.decode(raw or "[]", type=list[str])
            found = tuple(dict.fromkeys(tags)) or ("",)
        self[raw] = found
        return found


_STAMPS = itertools.count(1)
_BLOCK = 2_000
_TABLE = (
    "PRAGMA temp_store=MEMORY",
    "PRAGMA query_only=OFF",
    "BEGIN",
    "DROP TABLE IF EXISTS temp.latency",
    "CREATE TABLE temp.latency (episode INTEGER PRIMARY KEY, ms REAL NOT NULL)",
)


class Medians:
    """Medians in ms, over every attempt that has a latency (type 7). Traces are never changed or
    deleted, so an update reads only the later ones."""

    def __init__(self, candidate: int) -> None:
        self._candidate = candidate
        self._ms: dict[int, float] = {}
        self._last = 0
        self._stamp = 0

    def lend(self, connection: sqlite3.Connection) -> None:
        """Update the medians, and put them into `temp.latency` of this connection. The store is not
        written; only the connection's own tables are."""
        self._bring_up(connection)
        if connection.execute("PRAGMA temp.user_version").fetchone()[0] == self._stamp:
            return
        try:
            for statement in _TABLE:
                connection.execute(statement)
            connection.executemany("INSERT INTO temp.latency VALUES (?, ?)", self._ms.items())
            connection.execute(f"PRAGMA temp.user_version={self._stamp}")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.execute("PRAGMA query_only=ON")

    def _bring_up(self, connection: sqlite3.Connection) -> None:
        last = connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()[0]
        if last == self._last and self._stamp:
            return
        only = ""
        if self._last:
            only = (
                " AND episode IN (SELECT episode FROM trace WHERE id > :last"
                " AND candidate = :candidate)"
            )
        rows = connection.execute(
            "SELECT episode, latency_ms FROM trace WHERE candidate = :candidate"
            f" AND latency_ms IS NOT NULL{only} ORDER BY episode",
            {"candidate": self._candidate, "last": self._last},
        )
        found = {episode: _median(values) for episode, values in _by_episode(rows)}
        if found or not self._stamp:
            self._ms.update(found)
            self._stamp = next(_STAMPS)
        self._last = last


def _by_episode(
    rows: sqlite3.Cursor,
) -> Iterator[tuple[int, list[float]]]:
    """Yield (episode, latencies), so that a million rows are never held at once."""
    for episode, group in groupby(_each(rows), key=itemgetter(0)):
        yield episode, [row[1] for row in group]


def _each(rows: sqlite3.Cursor) -> Iterator[tuple[int, float]]:
    while block := rows.fetchmany(_BLOCK):
        yield from block


def _median(found: Iterable[float]) -> float:
    values = sorted(found)
    half, odd = divmod(len(values), 2)
    if odd:
        return values[half]
    low = values[half - 1]
    return low + (values[half] - low) * 0.5
