"""The first complete set of attempts: what rates are made of when attempts were made beyond it.

The set of an episode is its attempts numbered within the plan, and for each of those that
infrastructure lost the next one beyond. All of it is numbered up to `last`, so that a trace
belongs to it exactly when its attempt is at most that. Rows stand only where an attempt is
numbered beyond the plan; elsewhere the roll-up counts the set.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping

from reviewer.db.registry import Plan
from reviewer.db.rolls import (
    COUNTS,
    NOTHING,
    STORED,
    add_gates,
    forget_gates,
    gate_rows,
    roll_rows,
    stored,
    stored_gates,
)

_COLUMNS = ("candidate", "episode", "last", *COUNTS)
_PUT = (
    f"INSERT OR REPLACE INTO first_set ({', '.join(_COLUMNS)})"
    f" VALUES ({', '.join('?' * len(_COLUMNS))})"
)
_LOST = "infra=1 AND passed IS NULL"


def update_firsts(
    connection: sqlite3.Connection,
    written: Iterable[tuple[int, int, int]],
    plans: Mapping[int, Plan],
) -> None:
    """Bring the sets up to date with traces just written, given as (candidate, episode, attempt),
    inside the caller's transaction. `plans` holds each candidate's plan."""
    least: dict[int, dict[int, int]] = {}
    beyond: set[tuple[int, int]] = set()
    for candidate, episode, attempt in written:
        lowest = least.setdefault(candidate, {})
        lowest[episode] = min(attempt, lowest.get(episode, attempt))
        if attempt > plans[candidate].counted:
            beyond.add((candidate, episode))
    for candidate, lowest in least.items():
        known = connection.execute(
            "SELECT episode, last, attempts FROM first_set WHERE candidate=?"
            " AND episode IN (SELECT value FROM json_each(?))",
            (candidate, json.dumps(list(lowest))),
        ).fetchall()
        for episode, last, attempts in known:
            # What comes behind a set that is whole does not change it.
            whole = attempts >= plans[candidate].counted and lowest[episode] > last
            (beyond.discard if whole else beyond.add)((candidate, episode))
    for candidate, episode in sorted(beyond):
        _put(connection, candidate, episode, plans[candidate])


def rebuild_firsts(connection: sqlite3.Connection, candidate: int, plan: Plan) -> None:
    """Count one candidate's sets again, inside the caller's transaction."""
    connection.execute("DELETE FROM first_set WHERE candidate=?", (candidate,))
    forget_gates(connection, candidate, True)
    for episode in _beyond(connection, candidate, plan):
        _put(connection, candidate, episode, plan)


def recount_firsts(
    connection: sqlite3.Connection, candidate: int, episodes: Iterable[int], plan: Plan
) -> None:
    """Count the sets of some episodes of one candidate again, inside the caller's transaction."""
    for episode in episodes:
        key = candidate, episode
        connection.execute("DELETE FROM first_set WHERE candidate=? AND episode=?", key)
        forget_gates(connection, candidate, True, episode)
        beyond = connection.execute(
            "SELECT 1 FROM trace WHERE candidate=? AND episode=? AND attempt>? LIMIT 1",
            (*key, plan.counted),
        ).fetchone()
        if beyond:
            _put(connection, candidate, episode, plan)


def wrong_firsts(connection: sqlite3.Connection, candidate: int, plan: Plan) -> int:
    """How many of a candidate's sets are not what its traces give."""
    there = set(
        connection.execute(
            f"SELECT {', '.join(_COLUMNS)} FROM first_set WHERE candidate=?", (candidate,)
        ).fetchall()
    )
    made = [
        _first(connection, candidate, episode, plan)
        for episode in _beyond(connection, candidate, plan)
    ]
    gates = {one for _, row in made for one in gate_rows(row, True)}
    wrong = there ^ {_columns(last, row) for last, row in made}
    return len(wrong) + len(stored_gates(connection, candidate, True) ^ gates)


def _beyond(connection: sqlite3.Connection, candidate: int, plan: Plan) -> list[int]:
    """Episodes with an attempt numbered beyond the plan."""
    episodes = connection.execute(
        "SELECT DISTINCT episode FROM trace WHERE candidate=? AND attempt>?",
        (candidate, plan.counted),
    ).fetchall()
    return [episode for (episode,) in episodes]


def _put(connection: sqlite3.Connection, candidate: int, episode: int, plan: Plan) -> None:
    """Put the set of one episode in the place of what is stored of it."""
    last, row = _first(connection, candidate, episode, plan)
    connection.execute(_PUT, _columns(last, row))
    forget_gates(connection, candidate, True, episode)
    add_gates(connection, [row], True)


def _columns(last: int, row: list[int]) -> tuple[int, ...]:
    """A row of `first_set`."""
    return (*row[:2], last, *row[2 : 2 + len(COUNTS)])


def _first(
    connection: sqlite3.Connection, candidate: int, episode: int, plan: Plan
) -> tuple[int, list[int]]:
    """The last attempt of an episode's set, and its counts as `roll_rows` gives them; reads no
    further than the set goes."""
    of = "FROM trace WHERE candidate=? AND episode=? AND attempt"
    key = candidate, episode, plan.counted
    owed = connection.execute(f"SELECT count(*) {of}<=? AND {_LOST}", key).fetchone()[0]
    good = connection.execute(
        f"SELECT attempt {of}>? AND NOT ({_LOST}) ORDER BY attempt LIMIT {owed}", key
    ).fetchall()
    last = good[-1][0] if good else plan.counted
    held = connection.execute(f"SELECT {STORED} {of}<=?", (candidate, episode, last)).fetchall()
    counts = roll_rows(map(stored, held), {candidate: plan})
    return last, counts[0] if counts else [candidate, episode, *NOTHING]
