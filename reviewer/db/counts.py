"""Counts per candidate and episode, derived from traces and kept beside them.

`roll` counts every attempt made, `first_set` those of the first complete set, and `gate_count`
holds the counts of both per gate. Adding a batch (`add_rolls`), counting again (`rebuild_rolls`)
and checking (`wrong_rolls`) go through `add_to_roll` or the same rule in SQL; a property test
compares the two.

When attempts were made beyond the plan, rates are computed from the first complete set of an
episode: its attempts numbered within the plan, and for each of those that infrastructure lost the
next one beyond the plan. The set ends at attempt `last`: a trace belongs to it exactly when its
attempt is at most `last`. `first_set` has a row only where an attempt is numbered beyond the plan;
elsewhere the roll-up counts the set.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from reviewer.db import registry
from reviewer.db.codec import FAIL, PASS, UNKNOWN, gate_codes, nano
from reviewer.db.queries.traces import traces_clause
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
"""Columns of `roll` and `first_set` after the keys."""
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


class CountedTrace(Protocol):
    """The fields of a trace that a roll-up counts."""

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


class StoredTrace(NamedTuple):
    """The counted fields of a stored trace."""

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


def roll_rows(traces: Iterable[CountedTrace], plans: Mapping[int, Plan]) -> list[list[int]]:
    """Return the counts per candidate × episode: [candidate, episode, *counts in the order of
    COUNTS, then for each gate of GATES how many attempts fail it and for how many it is not
    measured].

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


def add_to_roll(row: list[int], trace: CountedTrace, planned: int) -> None:
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
    """Yield the rows of `gate_count` for one row of `roll_rows`: none for a gate that every attempt
    passes."""
    for n, gate in enumerate(GATES):
        failed, unknown = row[_AHEAD + 2 * n], row[_AHEAD + 2 * n + 1]
        if failed or unknown:
            yield row[0], first, row[1], gate, failed, unknown


def add_rolls(
    connection: sqlite3.Connection, traces: Iterable[CountedTrace], plans: Mapping[int, Plan]
) -> None:
    """Add traces to the roll-ups, inside the caller's transaction."""
    rows = roll_rows(traces, plans)
    connection.executemany(_ADD, [row[:_AHEAD] for row in rows])
    add_gates(connection, rows, False)


def move_rolls(
    connection: sqlite3.Connection,
    changed: Sequence[tuple[CountedTrace, CountedTrace]],
    plans: Mapping[int, Plan],
) -> None:
    """Count traces as they are now (second) instead of as they were (first), inside the caller's
    transaction. Unchanged traces are not read again."""
    was = {(row[0], row[1]): row for row in roll_rows((old for old, _ in changed), plans)}
    moved = [
        [*row[:2], *(new - old for new, old in zip(row[2:], was[row[0], row[1]][2:], strict=True))]
        for row in roll_rows((new for _, new in changed), plans)
    ]
    connection.executemany(_ADD, [row[:_AHEAD] for row in moved])
    add_gates(connection, moved, False)
    connection.executemany(
        "DELETE FROM gate_count WHERE candidate=? AND first=0 AND episode=?"
        " AND failed=0 AND unknown=0",
        [row[:2] for row in moved],
    )


def add_gates(connection: sqlite3.Connection, rows: Iterable[Sequence[int]], first: bool) -> None:
    """Add the gate counts in rows of `roll_rows` to `gate_count`."""
    connection.executemany(_ADD_GATES, [one for row in rows for one in gate_rows(row, first)])


def forget_gates(
    connection: sqlite3.Connection, candidate: int, first: bool, episode: int | None = None
) -> None:
    """Delete the rows of `gate_count` of a candidate, or of one episode of it."""
    only = "" if episode is None else " AND episode=?"
    bound = (candidate, first) if episode is None else (candidate, first, episode)
    connection.execute(f"DELETE FROM gate_count WHERE candidate=? AND first=?{only}", bound)


def stored_gates(connection: sqlite3.Connection, candidate: int, first: bool) -> set[object]:
    """Return the rows of `gate_count` of a candidate."""
    return set(
        connection.execute(
            "SELECT candidate, first, episode, gate, failed, unknown FROM gate_count"
            " WHERE candidate=? AND first=?",
            (candidate, first),
        ).fetchall()
    )


_MOST_USD = 4e6
"""Up to this cost, nano-USD are less than _ONES."""
_ONES = "4503599627370496.0"
"""2^52. Doubles from here on are whole numbers: adding it rounds as `nano` does, half to even."""
_OUTSIDE = "(t.infra <> 0 AND t.passed IS NULL)"
_COUNTED = (
    f"count(*) - sum({_OUTSIDE})",
    "count(t.passed)",
    "count(nullif(t.passed, 0))",
    f"sum(CASE WHEN {_OUTSIDE} THEN 0 ELSE t.critical END)",
    f"sum({_OUTSIDE})",
    f"sum(t.attempt <= :planned AND NOT {_OUTSIDE})",
    f"coalesce(sum(CAST(t.cost_usd * 1e9 + {_ONES} - {_ONES} AS INTEGER)), 0)",
    "count(*) - count(t.cost_usd)",
    "sum(t.steps)",
)
"""SQL for each of COUNTS, in its order."""


def stored_trace(
    row: tuple[int, int, int, int, int | None, bool, bool, float | None, int],
) -> StoredTrace:
    """Return a trace from a row of the columns STORED; SQLite has no booleans."""
    c, e, n, gates, passed, critical, infra, cost, steps = row
    verdict = None if passed is None else bool(passed)
    return StoredTrace(c, e, n, gates, verdict, critical, infra, cost, steps)


def rebuild_rolls(connection: sqlite3.Connection, candidate: int, plan: Plan) -> None:
    """Count one candidate's roll-ups again, inside the caller's transaction."""
    found = connection.execute(f"SELECT {STORED} FROM trace WHERE candidate=?", (candidate,))
    traces = map(stored_trace, found.fetchall())
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
        add_rolls(connection, map(stored_trace, found), {candidate: plan})


def wrong_rolls(connection: sqlite3.Connection, candidate: int, plan: Plan) -> int:
    """Return how many of a candidate's roll-ups differ from the counts of its traces, which the
    database computes by the rule of `roll_rows`."""
    of = traces_clause(connection, candidate).replace("?", ":of")
    bound = {"of": candidate, "planned": plan.attempts}
    beyond = f"SELECT 1 FROM trace t WHERE {of} AND NOT t.cost_usd BETWEEN 0 AND {_MOST_USD}"
    if connection.execute(f"{beyond} LIMIT 1", bound).fetchone():
        return _wrong_rolls_slowly(connection, candidate, plan)
    kept = f"SELECT candidate, episode, {', '.join(COUNTS)} FROM roll WHERE candidate=:of"
    made = (
        f"SELECT t.candidate, t.episode, {', '.join(_COUNTED)} FROM trace t WHERE {of}"
        " GROUP BY t.episode"
    )
    (wrong,) = connection.execute(
        f"WITH kept AS ({kept}), made AS ({made}) SELECT"
        " (SELECT count(*) FROM (SELECT * FROM kept EXCEPT SELECT * FROM made))"
        " + (SELECT count(*) FROM (SELECT * FROM made EXCEPT SELECT * FROM kept))",
        bound,
    ).fetchone()
    gates: dict[tuple[int, int], list[int]] = {}
    for episode, mask, times in connection.execute(
        f"SELECT t.episode, t.gates, count(*) FROM trace t WHERE {of} AND t.gates <> 0"
        f" AND NOT {_OUTSIDE} GROUP BY t.episode, t.gates",
        bound,
    ):
        for gate, code in enumerate(gate_codes(mask)):
            if code != PASS:
                gates.setdefault((episode, gate), [0, 0])[code == UNKNOWN] += times
    counted = {(candidate, 0, at, GATES[gate], *two) for (at, gate), two in gates.items()}
    return int(wrong) + len(stored_gates(connection, candidate, False) ^ counted)


def _wrong_rolls_slowly(connection: sqlite3.Connection, candidate: int, plan: Plan) -> int:
    """Do the same as `wrong_rolls` trace by trace, for costs that are no exact number of
    nano-USD."""
    there = set(
        connection.execute(
            f"SELECT candidate, episode, {', '.join(COUNTS)} FROM roll WHERE candidate=?",
            (candidate,),
        ).fetchall()
    )
    found = connection.execute(f"SELECT {STORED} FROM trace WHERE candidate=?", (candidate,))
    rows = roll_rows(map(stored_trace, found), {candidate: plan})
    made = {tuple(row[:_AHEAD]) for row in rows}
    gates = {one for row in rows for one in gate_rows(row, False)}
    return len(there ^ made) + len(stored_gates(connection, candidate, False) ^ gates)


_FIRST_COLUMNS = ("candidate", "episode", "last", *COUNTS)
_PUT_FIRST = (
    f"INSERT OR REPLACE INTO first_set ({', '.join(_FIRST_COLUMNS)})"
    f" VALUES ({', '.join('?' * len(_FIRST_COLUMNS))})"
)
_LOST = "infra=1 AND passed IS NULL"


def update_firsts(
    connection: sqlite3.Connection,
    written: Iterable[tuple[int, int, int]],
    plans: Mapping[int, Plan],
) -> None:
    """Update the first sets after traces were written, given as (candidate, episode, attempt),
    inside the caller's transaction. `plans` holds each candidate's plan."""
    least: dict[int, dict[int, int]] = {}
    beyond: set[tuple[int, int]] = set()
    for candidate, episode, attempt in written:
        lowest = least.setdefault(candidate, {})
        lowest[episode] = min(attempt, lowest.get(episode, attempt))
        if attempt > plans[candidate].counted:
            beyond.add((candidate, episode))
    for candidate, lowest in least.items():
        if plans[candidate].counted >= registry.ANY_ATTEMPT:
            continue  # a probe has no plan, hence no attempt beyond one and no first set
        known = connection.execute(
            "SELECT episode, last, attempts FROM first_set WHERE candidate=?"
            " AND episode IN (SELECT value FROM json_each(?))",
            (candidate, json.dumps(list(lowest))),
        ).fetchall()
        for episode, last, attempts in known:
            # An attempt after a complete set does not change it.
            whole = attempts >= plans[candidate].counted and lowest[episode] > last
            (beyond.discard if whole else beyond.add)((candidate, episode))
    for candidate, episode in sorted(beyond):
        _put_first(connection, candidate, episode, plans[candidate])


def rebuild_firsts(connection: sqlite3.Connection, candidate: int, plan: Plan) -> None:
    """Count one candidate's first sets again, inside the caller's transaction."""
    connection.execute("DELETE FROM first_set WHERE candidate=?", (candidate,))
    forget_gates(connection, candidate, True)
    for episode in _episodes_beyond_plan(connection, candidate, plan):
        _put_first(connection, candidate, episode, plan)


def recount_firsts(
    connection: sqlite3.Connection, candidate: int, episodes: Iterable[int], plan: Plan
) -> None:
    """Count the first sets of some episodes of one candidate again, inside the caller's
    transaction."""
    for episode in episodes:
        key = candidate, episode
        connection.execute("DELETE FROM first_set WHERE candidate=? AND episode=?", key)
        forget_gates(connection, candidate, True, episode)
        beyond = connection.execute(
            "SELECT 1 FROM trace WHERE candidate=? AND episode=? AND attempt>? LIMIT 1",
            (*key, plan.counted),
        ).fetchone()
        if beyond:
            _put_first(connection, candidate, episode, plan)


def firsts_touched(
    connection: sqlite3.Connection, changed: Sequence[tuple[StoredTrace, StoredTrace]]
) -> dict[int, set[int]]:
    """Return, by candidate, the episodes whose first set counts one of these traces, or whose end
    one of them moves because it was or is now lost to infrastructure."""
    episodes: dict[int, set[int]] = {}
    for _, now in changed:
        episodes.setdefault(now.candidate, set()).add(now.episode)
    last = {
        (candidate, episode): end
        for candidate, some in episodes.items()
        for episode, end in connection.execute(
            "SELECT episode, last FROM first_set WHERE candidate=?"
            " AND episode IN (SELECT value FROM json_each(?))",
            (candidate, json.dumps(list(some))),
        ).fetchall()
    }
    found: dict[int, set[int]] = {}
    for was, now in changed:
        end = last.get((now.candidate, now.episode))
        if end is not None and (now.attempt <= end or _is_lost(was) != _is_lost(now)):
            found.setdefault(now.candidate, set()).add(now.episode)
    return found


def _is_lost(trace: StoredTrace) -> bool:
    return bool(trace.infra) and trace.passed is None


def wrong_firsts(connection: sqlite3.Connection, candidate: int, plan: Plan) -> int:
    """Return how many of a candidate's first sets differ from the counts of its traces."""
    there = set(
        connection.execute(
            f"SELECT {', '.join(_FIRST_COLUMNS)} FROM first_set WHERE candidate=?", (candidate,)
        ).fetchall()
    )
    made = [
        _first_set(connection, candidate, episode, plan)
        for episode in _episodes_beyond_plan(connection, candidate, plan)
    ]
    gates = {one for _, row in made for one in gate_rows(row, True)}
    wrong = there ^ {_first_columns(last, row) for last, row in made}
    return len(wrong) + len(stored_gates(connection, candidate, True) ^ gates)


def _episodes_beyond_plan(connection: sqlite3.Connection, candidate: int, plan: Plan) -> list[int]:
    """Return the episodes with an attempt numbered beyond the plan."""
    episodes = connection.execute(
        "SELECT DISTINCT episode FROM trace WHERE candidate=? AND attempt>?",
        (candidate, plan.counted),
    ).fetchall()
    return [episode for (episode,) in episodes]


def _put_first(connection: sqlite3.Connection, candidate: int, episode: int, plan: Plan) -> None:
    """Replace the stored first set of one episode."""
    last, row = _first_set(connection, candidate, episode, plan)
    connection.execute(_PUT_FIRST, _first_columns(last, row))
    forget_gates(connection, candidate, True, episode)
    add_gates(connection, [row], True)


def _first_columns(last: int, row: list[int]) -> tuple[int, ...]:
    """Return a row of `first_set`."""
    return (*row[:2], last, *row[2 : 2 + len(COUNTS)])


def _first_set(
    connection: sqlite3.Connection, candidate: int, episode: int, plan: Plan
) -> tuple[int, list[int]]:
    """Return the last attempt of an episode's first set, and its counts as `roll_rows` gives them.
    Reads only the traces of the set."""
    of = "FROM trace WHERE candidate=? AND episode=? AND attempt"
    key = candidate, episode, plan.counted
    owed = connection.execute(f"SELECT count(*) {of}<=? AND {_LOST}", key).fetchone()[0]
    good = connection.execute(
        f"SELECT attempt {of}>? AND NOT ({_LOST}) ORDER BY attempt LIMIT {owed}", key
    ).fetchall()
    last = good[-1][0] if good else plan.counted
    held = connection.execute(f"SELECT {STORED} {of}<=?", (candidate, episode, last)).fetchall()
    counts = roll_rows(map(stored_trace, held), {candidate: plan})
    return last, counts[0] if counts else [candidate, episode, *NOTHING]


CountedEpisode = tuple[int, int]
"""(candidate, episode)"""


def counted_episodes(connection: sqlite3.Connection, traces: Iterable[int]) -> set[CountedEpisode]:
    """Return the episodes that these traces count in."""
    found: set[CountedEpisode] = set()
    for trace in traces:
        found |= set(
            connection.execute("SELECT candidate, episode FROM trace WHERE id=?", (trace,))
        )
    return found


def recount(connection: sqlite3.Connection, of: Iterable[CountedEpisode]) -> None:
    """Count these episodes again, inside the caller's transaction."""
    by_candidate: dict[int, set[int]] = {}
    for candidate, episode in of:
        by_candidate.setdefault(candidate, set()).add(episode)
    for candidate, episodes in by_candidate.items():
        plan = _plan(connection, candidate)
        recount_rolls(connection, candidate, episodes, plan)
        recount_firsts(connection, candidate, episodes, plan)


def _plan(connection: sqlite3.Connection, candidate: int) -> Plan:
    suite_id, planned = connection.execute(
        "SELECT s.suite_id, c.planned FROM candidate c JOIN suite s ON s.id = c.suite WHERE c.id=?",
        (candidate,),
    ).fetchone()
    return registry.plan_of(registry.suite_head(connection, suite_id), planned)
