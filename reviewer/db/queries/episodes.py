"""Counts of the episodes of a suite for one candidate, read from roll-ups."""

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from reviewer.db.codec import FAIL
from reviewer.db.queries.filters import FAILS
from reviewer.suite.gates import GATES


class GateCounts(NamedTuple):
    """How many attempts fail each gate, and for how many it is not measured; aligned with GATES."""

    fail: tuple[int, ...]
    unknown: tuple[int, ...]


NO_GATES = GateCounts((0,) * len(GATES), (0,) * len(GATES))


class FirstSet(NamedTuple):
    """Counts of an episode's first complete set: its attempts numbered up to `last`."""

    last: int
    attempts: int
    measured: int
    passes: int
    critical: int
    infra: int
    in_plan: int
    cost_nano: int
    cost_unknown: int
    steps: int
    fail: tuple[int, ...]
    unknown: tuple[int, ...]


class RollRow(NamedTuple):
    """Counts of every attempt of one episode made by one candidate; zeros when there is none.
    `first` is the first complete set, when attempts are numbered beyond the plan."""

    key: int
    episode_id: str
    title: str
    tags: tuple[str, ...]
    attempts: int
    measured: int
    passes: int
    critical: int
    infra: int
    in_plan: int
    cost_nano: int
    cost_unknown: int
    steps: int
    fail: tuple[int, ...]
    unknown: tuple[int, ...]
    first: FirstSet | None = None


_COUNTS = ", ".join(
    f"coalesce(r.{name}, 0)"
    for name in (
        "attempts", "measured", "passes", "critical", "infra", "in_plan", "cost_nano",
        "cost_unknown", "steps",
    )
)  # fmt: skip
_ROLL = (
    f"SELECT e.id, e.episode_id, e.title, e.tags, {_COUNTS}"
    " FROM episode e LEFT JOIN roll r ON r.candidate=:candidate AND r.episode=e.id"
    " WHERE e.suite=:suite"
)
_FIRST = (
    "SELECT episode, last, attempts, measured, passes, critical, infra, in_plan, cost_nano,"
    " cost_unknown, steps FROM first_set WHERE candidate=:candidate"
)


def _roll(
    row: tuple[Any, ...],
) -> tuple[int, str, str, tuple[str, ...], int, int, int, int, int, int, int, int, int]:
    key, name, title, tags, *counts = row
    attempts, measured, passes, critical, infra, in_plan, nano, unknown, steps = counts
    listed = tuple(msgspec.json.decode(tags, type=list[str]))
    made = attempts, measured, passes, critical, infra, in_plan
    return key, name, title, listed, *made, nano, unknown, steps


def _first(row: tuple[Any, ...]) -> tuple[int, int, int, int, int, int, int, int, int, int]:
    _, last, attempts, measured, passes, critical, infra, in_plan, nano, unknown, steps = row
    return last, attempts, measured, passes, critical, infra, in_plan, nano, unknown, steps


def gate_counts(
    connection: sqlite3.Connection,
    candidate: int,
    first: bool = False,
    keys: Sequence[int] | None = None,
) -> dict[int, GateCounts]:
    """Return counts per gate of a candidate's episodes by key, or only of the given ones; an
    episode whose attempts pass every gate is absent. `first` counts only the first complete
    sets."""
    among = "" if keys is None else f" AND episode IN ({','.join(str(int(k)) for k in keys)})"
    rows = connection.execute(
        "SELECT episode, gate, failed, unknown FROM gate_count"
        f" WHERE candidate=? AND first=?{among} ORDER BY episode, gate",
        (candidate, first),
    )
    known: dict[tuple[tuple[str, int, int], ...], GateCounts] = {}
    found: dict[int, GateCounts] = {}
    for episode, several in groupby(rows, key=itemgetter(0)):
        counts = tuple(row[1:] for row in several)
        if counts not in known:  # most episodes have the same counts: share them
            known[counts] = by_gate(counts)
        found[episode] = known[counts]
    return found


def by_gate(counts: Iterable[tuple[str, int, int]]) -> GateCounts:
    """Return (gate, failed, not measured) of some gates as counts of all."""
    fail, unknown = list(NO_GATES.fail), list(NO_GATES.unknown)
    for gate, failed, lacking in counts:
        place = GATES.index(gate)
        fail[place], unknown[place] = failed, lacking
    return GateCounts(tuple(fail), tuple(unknown))


def rolls(
    connection: sqlite3.Connection, suite: int, candidate: int, keys: Sequence[int] | None = None
) -> list[RollRow]:
    """Return the roll-ups of a candidate in suite order, or only those of the given episode
    keys."""
    among = "" if keys is None else f"IN ({','.join(str(int(k)) for k in keys)})"
    bound = {"suite": suite, "candidate": candidate}
    only = among and f" AND e.id {among}"
    # The plus disables the index on `suite`, so that SQLite does not walk a whole suite for one
    # page.
    roll = _ROLL.replace("WHERE e.suite", "WHERE +e.suite") if among else _ROLL
    rows = connection.execute(f"{roll}{only} ORDER BY e.position", bound).fetchall()
    gates = gate_counts(connection, candidate, keys=keys)
    only = among and f" AND episode {among}"
    found = connection.execute(f"{_FIRST}{only}", bound).fetchall()
    firsts: dict[int, FirstSet] = {}
    if found:
        own = gate_counts(connection, candidate, True, keys)
        firsts = {row[0]: FirstSet(*_first(row), *own.get(row[0], NO_GATES)) for row in found}
    return [
        RollRow(
            *_roll(row),
            *gates.get(row[0], NO_GATES),
            firsts.get(row[0]),
        )
        for row in rows
    ]


def roll_sums(connection: sqlite3.Connection, candidate: int) -> tuple[int, int, int]:
    """Return (episodes with an attempt, attempts, passes) of a candidate."""
    row = connection.execute(
        "SELECT coalesce(sum(attempts > 0), 0), coalesce(sum(attempts), 0),"
        " coalesce(sum(passes), 0) FROM roll WHERE candidate=?",
        (candidate,),
    ).fetchone()
    return row[0], row[1], row[2]


def first_rows(connection: sqlite3.Connection, candidate: int) -> list[tuple[Any, ...]]:
    """Return (key, last attempt, then the counts in their order) of each first complete set."""
    return connection.execute(_FIRST, {"candidate": candidate}).fetchall()


class SideRow(NamedTuple):
    """One candidate's counts on one episode."""

    episode: int
    attempts: int
    measured: int
    passes: int
    critical: int
    infra: int
    fail: tuple[int, ...]


_SIDE = ("attempts", "measured", "passes", "critical", "infra")


def side_rows(
    connection: sqlite3.Connection, candidate: int, episodes: Sequence[int]
) -> list[SideRow]:
    """Return one candidate's counts on some episodes; no row for an episode without a trace of the
    candidate."""
    keys = ",".join(str(int(key)) for key in episodes)
    rows = connection.execute(
        f"SELECT episode, {', '.join(_SIDE)} FROM roll WHERE candidate=? AND episode IN ({keys})",
        (candidate,),
    ).fetchall()
    gates = gate_counts(connection, candidate, keys=episodes)
    return [SideRow._make((*row, gates.get(row[0], NO_GATES).fail)) for row in rows]


def side_total(connection: sqlite3.Connection, candidate: int) -> SideRow:
    """Return one candidate's counts over all episodes; `episode` is 0."""
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
"""A gate mask has one of these bits set where a gate fails, critically or not."""


_LOST_RED = (
    "EXISTS (SELECT 1 FROM trace t WHERE t.candidate = r.candidate AND t.episode = r.episode"
    f" AND t.infra = 1 AND t.gates & {_RED} <> 0)"
)


def maybe_red(connection: sqlite3.Connection, candidate: int) -> list[int]:
    """Return the episodes with an attempt that fails, or fails a gate; also with one lost to
    infrastructure, whose gates are shown and counted nowhere."""
    failed = (
        "EXISTS (SELECT 1 FROM gate_count g WHERE g.candidate = r.candidate AND g.first = 0"
        " AND g.episode = r.episode AND g.failed > 0)"
    )
    rows = connection.execute(
        f"SELECT episode FROM roll r WHERE candidate=? AND ({FAILS} > 0 OR r.critical > 0"
        f" OR {failed} OR (r.infra > 0 AND {_LOST_RED}))",
        (candidate,),
    ).fetchall()
    return [row[0] for row in rows]


def red_lost(connection: sqlite3.Connection, candidate: int, episodes: str) -> list[int]:
    """Return which of these episodes, a JSON list, have an attempt that fails a gate and was lost
    to infrastructure."""
    rows = connection.execute(
        "SELECT episode FROM roll r WHERE candidate=?"
        f" AND episode IN (SELECT value FROM json_each(?)) AND {_LOST_RED}",
        (candidate, episodes),
    ).fetchall()
    return [row[0] for row in rows]


def least_measured(connection: sqlite3.Connection, suite: int, candidate: int) -> int:
    """Return the smallest number of measured attempts on any episode of the suite; 0 where an
    episode has none."""
    row = connection.execute(
        "SELECT coalesce(min(coalesce(r.measured, 0)), 0) FROM episode e"
        " LEFT JOIN roll r ON r.candidate=? AND r.episode=e.id WHERE e.suite=?",
        (candidate, suite),
    ).fetchone()
    return int(row[0])


def count_rolls(connection: sqlite3.Connection, candidate: int) -> int:
    """Return the number of episodes that have a roll-up of this candidate."""
    row = connection.execute("SELECT count(*) FROM roll WHERE candidate=?", (candidate,)).fetchone()
    return int(row[0])


LARGE_EPISODES = 2_000
LARGE_TRACES = 20_000


def is_large(connection: sqlite3.Connection, suite: int, candidate: int) -> bool:
    """Return whether a suite has many episodes, or a candidate many traces: computing figures then
    takes seconds. Counts only up to that threshold."""
    for table, column, key, most in (
        ("episode", "suite", suite, LARGE_EPISODES),
        ("trace", "candidate", candidate, LARGE_TRACES),
    ):
        (found,) = connection.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {column}=? LIMIT ?)",
            (key, most + 1),
        ).fetchone()
        if found > most:
            return True
    return False
