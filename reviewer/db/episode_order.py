"""Episodes in an asked order, filtered, in groups, and several candidates side by side. All of it
is read from roll-ups; 100,000 episodes are one statement."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from reviewer.db.codec import FAIL
from reviewer.db.facts import NO_GATES, gate_counts
from reviewer.db.filter_sql import (
    CATEGORY,
    COST,
    FAILS,
    LATENCY,
    STEPS,
    gate_count,
    pass_hat,
    where,
)
from reviewer.db.filter_text import Term
from reviewer.suite.gates import GATES

GroupBy = Literal["none", "tag", "category"]
Provide = Callable[[sqlite3.Connection], None]
"""Puts the candidate's median latencies into `temp.latency` of a connection, where they are not."""


class Asked(NamedTuple):
    """Which episodes, in which order. `k` is that of pass^k; `complete` says that every episode of
    the suite has a roll-up, so that nothing need be asked of episodes but what is shown."""

    suite: int
    candidate: int
    k: int
    by: str = "worst"
    descending: bool = False
    only_failing: bool = False
    terms: tuple[Term, ...] = ()
    complete: bool = False


class _From(NamedTuple):
    """FROM and WHERE with its parameters, the column with the episode's key, and whether first sets
    are among the tables."""

    tables: str
    clause: str
    bound: dict[str, object]
    key: str
    firsts: bool


class GroupRow(NamedTuple):
    """Sums over the episodes of one group that have the same tags or category, attempts and
    passes, so that pass^k is the same for each of them."""

    label: str
    measured: int
    passes: int
    attempts: int
    episodes: int
    all_attempts: int
    all_passes: int
    all_measured: int
    critical: int
    infra: int
    cost_nano: int
    cost_unknown: int
    fail: tuple[int, ...]


class SideRow(NamedTuple):
    """One candidate's counts on one episode."""

    episode: int
    attempts: int
    measured: int
    passes: int
    critical: int
    infra: int
    fail: tuple[int, ...]


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
"""(expression, whether it falls), the first that differs deciding; then the suite's order."""
_FIGURES = {"cost": COST, "latency": LATENCY, "steps": STEPS}
_NAMED = ("worst", "episode", "pass", "cost", "latency", "steps", "attempts", "tags")


def orders(gates: tuple[str, ...] = GATES) -> tuple[str, ...]:
    """Return the names of orders, on a suite that is judged by these gates."""
    return (*_NAMED, *gates)


def _ordered(asked: Asked, among: _From) -> str:
    """ORDER BY. A figure that is not known comes last either way; keys rise as the suite's order
    does. Raises KeyError for an unknown order."""
    falling = " DESC" if asked.descending else ""
    if asked.by in _FIGURES or asked.by == "pass":
        figure = pass_hat(asked.k, among.firsts) if asked.by == "pass" else _FIGURES[asked.by]
        return f"({figure}){falling} NULLS LAST, {among.key}"
    if asked.by == "tags":
        return f"e.tags = '[]', e.tags{falling}, {among.key}"
    terms = (*_PLAIN[asked.by], (among.key, False))
    return ", ".join(f"{term} DESC" if down != asked.descending else term for term, down in terms)


def _from(connection: sqlite3.Connection, asked: Asked) -> _From:
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
    more, bound = where(connection, asked.terms, asked.k, firsts, key)
    clause += more
    if asked.only_failing:
        clause += f" AND ({FAILS} > 0 OR coalesce(r.critical, 0) > 0)"
    bound |= {"suite": asked.suite, "candidate": asked.candidate}
    return _From(tables, clause, bound, key, firsts)


def _rows(
    connection: sqlite3.Connection, sql: str, among: _From, provide: Provide
) -> list[tuple[Any, ...]]:
    tables = among.tables
    if LATENCY in sql:
        provide(connection)
        tables += f" LEFT JOIN temp.latency l ON l.episode = {among.key}"
    return connection.execute(sql.replace("{tables}", tables), among.bound).fetchall()


def order(
    connection: sqlite3.Connection, asked: Asked, provide: Provide, most: int = -1
) -> list[int]:
    """Episode keys in the asked order, at most so many of them. Raises KeyError for an unknown
    order."""
    among = _from(connection, asked)
    sql = (
        f"SELECT {among.key} FROM {{tables}} WHERE {among.clause}"
        f" ORDER BY {_ordered(asked, among)} LIMIT {most}"
    )
    return [row[0] for row in _rows(connection, sql, among, provide)]


_LABELS: dict[str, str] = {"tag": "e.tags", "category": CATEGORY}


def grouped(
    connection: sqlite3.Connection, asked: Asked, group: GroupBy, provide: Provide
) -> dict[str, list[int]]:
    """Label → episode keys in the asked order. An episode stands under each of its tags, one
    without any under the empty label; labels come as they first occur."""
    among = _from(connection, asked)
    sql = (
        f"SELECT {among.key}, {_LABELS[group]} FROM {{tables}} WHERE {among.clause}"
        f" ORDER BY {_ordered(asked, among)}"
    )
    labels = _Labels(group)
    found: dict[str, list[int]] = {}
    for key, raw in _rows(connection, sql, among, provide):
        for label in labels[raw]:
            found.setdefault(label, []).append(key)
    return found


_NO_GATE = (0,) * len(GATES)
_SUMMED = ("attempts", "passes", "measured", "critical", "infra", "cost_nano", "cost_unknown")


def group_rows(
    connection: sqlite3.Connection, asked: Asked, group: GroupBy, provide: Provide
) -> list[GroupRow]:
    """What group heads are made of, over the episodes that the filter lets through."""
    among = _from(connection, asked)
    alike = f"{_LABELS[group]}, " + ", ".join(
        f"coalesce(s.{name}, r.{name}, 0)" if among.firsts else f"coalesce(r.{name}, 0)"
        for name in ("measured", "passes", "attempts")
    )
    sums = ", ".join(f"coalesce(sum(r.{name}), 0)" for name in _SUMMED)
    sql = (
        f"SELECT {alike}, count(*), {sums} FROM {{tables}} WHERE {among.clause} GROUP BY 1, 2, 3, 4"
    )
    by_gate = among._replace(
        tables=f"{among.tables} JOIN gate_count g ON g.candidate = :candidate AND g.first = 0"
        f" AND g.episode = {among.key}"
    )
    gates = f"SELECT {alike}, g.gate, sum(g.failed) FROM {{tables}} WHERE {among.clause}"
    failed: dict[tuple[Any, ...], list[int]] = {}
    for *group_of, gate, count in _rows(
        connection, f"{gates} GROUP BY 1, 2, 3, 4, g.gate", by_gate, provide
    ):
        failed.setdefault(tuple(group_of), [0] * len(GATES))[GATES.index(gate)] = count
    labels = _Labels(group)
    return [
        GroupRow._make((label, *row[1:], tuple(failed.get(row[:4], _NO_GATE))))
        for row in _rows(connection, sql, among, provide)
        for label in labels[row[0]]
    ]


class _Labels(dict[str | None, tuple[str, ...]]):
    """The labels that a column's text stands for."""

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


_SIDE = ("attempts", "measured", "passes", "critical", "infra")


def side_rows(
    connection: sqlite3.Connection, candidate: int, episodes: Sequence[int]
) -> list[SideRow]:
    """One candidate's counts on some episodes; none for an episode it has no trace of."""
    keys = ",".join(str(int(key)) for key in episodes)
    rows = connection.execute(
        f"SELECT episode, {', '.join(_SIDE)} FROM roll WHERE candidate=? AND episode IN ({keys})",
        (candidate,),
    ).fetchall()
    gates = gate_counts(connection, candidate, keys=episodes)
    return [SideRow._make((*row, gates.get(row[0], NO_GATES).fail)) for row in rows]


def side_total(connection: sqlite3.Connection, candidate: int) -> SideRow:
    """The same over all episodes; `episode` is 0."""
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in _SIDE)
    row = connection.execute(f"SELECT {sums} FROM roll WHERE candidate=?", (candidate,)).fetchone()
    failed = dict(
        connection.execute(
            "SELECT gate, sum(failed) FROM gate_count WHERE candidate=? AND first=0 GROUP BY gate",
            (candidate,),
        ).fetchall()
    )
    return SideRow._make((0, *row, tuple(failed.get(gate, 0) for gate in GATES)))


_RED = sum(FAIL << (2 * gate) for gate in range(len(GATES)))
"""What a gate mask has a bit of where a gate fails, critically or not."""


def maybe_red(connection: sqlite3.Connection, candidate: int) -> list[int]:
    """Episodes with an attempt that fails, or fails a gate; also one that infrastructure took,
    whose gates are shown and counted nowhere."""
    failed = (
        "EXISTS (SELECT 1 FROM gate_count g WHERE g.candidate = r.candidate AND g.first = 0"
        " AND g.episode = r.episode AND g.failed > 0)"
    )
    taken = (
        "EXISTS (SELECT 1 FROM trace t WHERE t.candidate = r.candidate AND t.episode = r.episode"
        f" AND t.infra = 1 AND t.gates & {_RED} <> 0)"
    )
    rows = connection.execute(
        f"SELECT episode FROM roll r WHERE candidate=? AND ({FAILS} > 0 OR r.critical > 0"
        f" OR {failed} OR (r.infra > 0 AND {taken}))",
        (candidate,),
    ).fetchall()
    return [row[0] for row in rows]


def least_measured(connection: sqlite3.Connection, suite: int, candidate: int) -> int:
    """The fewest measured attempts on any episode of the suite; 0 where one has none."""
    row = connection.execute(
        "SELECT coalesce(min(coalesce(r.measured, 0)), 0) FROM episode e"
        " LEFT JOIN roll r ON r.candidate=? AND r.episode=e.id WHERE e.suite=?",
        (candidate, suite),
    ).fetchone()
    return int(row[0])
