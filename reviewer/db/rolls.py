"""Roll-ups: counts per candidate × episode, derived from traces and kept beside them.

`roll` counts every attempt made, `first_set` (see `firsts`) those of the first complete set, and
`gate_count` holds what both count per gate. Adding a batch (`add_rolls`), counting again
(`rebuild_rolls`) and checking (`wrong_rolls`) go through the one `add_to_roll`, so they cannot
disagree about what is counted.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from reviewer.db.codec import FAIL, UNKNOWN, gate_codes, nano
from reviewer.db.registry import Plan
from reviewer.suite.gates import GATES

COUNTS = (
    "attempts",
    "measured",
    "passes",
    "critical",
    "infra",
    "in_plan",
    "cost_nano",
    "cost_unknown",
    "steps",
)
"""Columns of `roll` and `first_set`, behind those that say of what they are."""
_AHEAD = 2 + len(COUNTS)
_ADD = (
    f"INSERT INTO roll (candidate, episode, {', '.join(COUNTS)})"
    f" VALUES ({', '.join('?' * (len(COUNTS) + 2))}) ON CONFLICT DO UPDATE SET "
    + ", ".join(f"{name}={name}+excluded.{name}" for name in COUNTS)
)
_ADD_GATES = (
    "INSERT INTO gate_count (candidate, first, episode, gate, failed, unknown)"
    " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
    " failed=failed+excluded.failed, unknown=unknown+excluded.unknown"
)


NOTHING = (0,) * (len(COUNTS) + 2 * len(GATES))
"""The counts of an episode without an attempt."""


class Counted(Protocol):
    """What a roll-up counts of a trace."""

    @property
    def candidate(self) -> int: ...
    @property
    def episode(self) -> int: ...
    @property
    def attempt(self) -> int: ...
    @property
    def gates(self) -> int: ...
    @property
    def passed(self) -> bool | None: ...
    @property
    def critical(self) -> bool: ...
    @property
    def infra(self) -> bool: ...
    @property
    def cost_usd(self) -> float | None: ...
    @property
    def steps(self) -> int: ...


class Stored(NamedTuple):
    """A trace as it stands, as far as it is counted."""

    candidate: int
    episode: int
    attempt: int
    gates: int
    passed: bool | None
    critical: bool
    infra: bool
    cost_usd: float | None
    steps: int


STORED = "candidate, episode, attempt, gates, passed, critical, infra, cost_usd, steps"


def roll_rows(traces: Iterable[Counted], plans: Mapping[int, Plan]) -> list[list[int]]:
    """Counts per candidate × episode: [candidate, episode, *counts in the order of COUNTS, then how
    many fail and of how many is not measured each gate of GATES].

    `plans` holds each candidate's plan.
    """
    rolls: dict[tuple[int, int], list[int]] = {}
    for trace in traces:
        key = (trace.candidate, trace.episode)
        row = rolls.get(key)
        if row is None:
            row = rolls[key] = [trace.candidate, trace.episode, *NOTHING]
        add_to_roll(row, trace, plans[trace.candidate].attempts)
    return list(rolls.values())


def add_to_roll(row: list[int], trace: Counted, planned: int) -> None:
    if trace.infra and trace.passed is None:
        row[6] += 1  # infrastructure: outside every rate, but its money was spent
    else:
        row[2] += 1
        row[3] += trace.passed is not None
        row[4] += trace.passed is True
        row[5] += trace.critical
        row[7] += trace.attempt <= planned
        if trace.gates:
            for gate, code in enumerate(gate_codes(trace.gates)):
                if code == UNKNOWN:
                    row[_AHEAD + 2 * gate + 1] += 1
                elif code >= FAIL:
                    row[_AHEAD + 2 * gate] += 1
    if trace.cost_usd is None:
        row[9] += 1
    else:
        row[8] += nano(trace.cost_usd)
    row[10] += trace.steps


def gate_rows(row: Sequence[int], first: bool) -> Iterator[tuple[int, int, int, str, int, int]]:
    """The rows of `gate_count` in one of `roll_rows`: none for a gate that every attempt passes."""
    for n, gate in enumerate(GATES):
        failed, unknown = row[_AHEAD + 2 * n], row[_AHEAD + 2 * n + 1]
        if failed or unknown:
            yield row[0], first, row[1], gate, failed, unknown


def add_rolls(
    connection: sqlite3.Connection, traces: Iterable[Counted], plans: Mapping[int, Plan]
) -> None:
    """Add traces to the roll-ups, inside the caller's transaction."""
    rows = roll_rows(traces, plans)
    connection.executemany(_ADD, [row[:_AHEAD] for row in rows])
    add_gates(connection, rows, False)


def add_gates(connection: sqlite3.Connection, rows: Iterable[Sequence[int]], first: bool) -> None:
    """Add the gates of rows of `roll_rows` to `gate_count`."""
    connection.executemany(_ADD_GATES, [one for row in rows for one in gate_rows(row, first)])


def forget_gates(
    connection: sqlite3.Connection, candidate: int, first: bool, episode: int | None = None
) -> None:
    """Delete the rows of `gate_count` of a candidate, or of one episode of it."""
    only = "" if episode is None else " AND episode=?"
    bound = (candidate, first) if episode is None else (candidate, first, episode)
    connection.execute(f"DELETE FROM gate_count WHERE candidate=? AND first=?{only}", bound)


def stored_gates(connection: sqlite3.Connection, candidate: int, first: bool) -> set[object]:
    """The rows of `gate_count` of a candidate."""
    return set(
        connection.execute(
            "SELECT candidate, first, episode, gate, failed, unknown FROM gate_count"
            " WHERE candidate=? AND first=?",
            (candidate, first),
        ).fetchall()
    )


def counted(connection: sqlite3.Connection, candidate: int, plan: Plan) -> list[list[int]]:
    """One candidate's counts, made from its traces."""
    found = connection.execute(f"SELECT {STORED} FROM trace WHERE candidate=?", (candidate,))
    return roll_rows(map(stored, found), {candidate: plan})


def stored(row: tuple[int, int, int, int, int | None, bool, bool, float | None, int]) -> Stored:
    """A row of the columns STORED; SQLite has no booleans."""
    c, e, n, gates, passed, critical, infra, cost, steps = row
    verdict = None if passed is None else bool(passed)
    return Stored(c, e, n, gates, verdict, critical, infra, cost, steps)


def rebuild_rolls(connection: sqlite3.Connection, candidate: int, plan: Plan) -> None:
    """Count one candidate's roll-ups again, inside the caller's transaction."""
    found = connection.execute(f"SELECT {STORED} FROM trace WHERE candidate=?", (candidate,))
    traces = map(stored, found.fetchall())
    connection.execute("DELETE FROM roll WHERE candidate=?", (candidate,))
    forget_gates(connection, candidate, False)
    add_rolls(connection, traces, {candidate: plan})


def recount_rolls(
    connection: sqlite3.Connection, candidate: int, episodes: Iterable[int], plan: Plan
) -> None:
    """Count some episodes of one candidate again, inside the caller's transaction."""
    for episode in episodes:
        key = candidate, episode
        found = connection.execute(
            f"SELECT {STORED} FROM trace WHERE candidate=? AND episode=?", key
        ).fetchall()
        connection.execute("DELETE FROM roll WHERE candidate=? AND episode=?", key)
        forget_gates(connection, candidate, False, episode)
        add_rolls(connection, map(stored, found), {candidate: plan})


def wrong_rolls(connection: sqlite3.Connection, candidate: int, plan: Plan) -> int:
    """How many of a candidate's roll-ups are not what its traces give."""
    there = set(
        connection.execute(
            f"SELECT candidate, episode, {', '.join(COUNTS)} FROM roll WHERE candidate=?",
            (candidate,),
        ).fetchall()
    )
    rows = counted(connection, candidate, plan)
    made = {tuple(row[:_AHEAD]) for row in rows}
    gates = {one for row in rows for one in gate_rows(row, False)}
    return len(there ^ made) + len(stored_gates(connection, candidate, False) ^ gates)
