"""What the grid needs of a suite and a candidate beside the tables, read once and kept."""

import sqlite3
from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

from reviewer.db import journal, registry
from reviewer.db.queries.episode_order import Asked, Medians, Provide
from reviewer.db.queries.episodes import count_rolls, least_measured, maybe_red
from reviewer.suite.gates import in_force

KEPT = 64
"""Orders whose first rows are kept."""


class SuiteFacts(NamedTuple):
    """`attempts` that its policy plans, `k` of its pass^k; `episodes` of a suite that cannot grow,
    None of a probe."""

    probe: bool
    attempts: int
    k: int
    episodes: int | None
    in_force: tuple[str, ...]


class GridFacts:
    """Kept for one desk; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._suites: dict[tuple[int, str], SuiteFacts] = {}
        self._medians: dict[int, Medians] = {}
        self._probe_k: dict[int, tuple[object, int]] = {}
        self._complete: set[int] = set()
        self._firsts: OrderedDict[tuple[Asked, int], tuple[int, list[int]]] = OrderedDict()
        self._keeping = Lock()
        self._red: tuple[int, int, frozenset[int]] | None = None

    def suite(self, connection: sqlite3.Connection, suite_id: str) -> SuiteFacts:
        """A suite that stands in the store under this id."""
        row = registry.suite_row(connection, suite_id)
        if row is None:
            raise KeyError(suite_id)
        found = self._suites.get((row.id, row.digest))
        if found is None:
            policy = registry.suite_head(connection, suite_id).policy
            episodes = None if row.probe else registry.count_episodes(connection, row.id)
            found = SuiteFacts(
                row.probe,
                policy.attempts,
                policy.pass_hat.k,
                episodes,
                in_force(policy.limits),
            )
            self._suites[row.id, row.digest] = found
        return found

    def k(
        self, connection: sqlite3.Connection, facts: SuiteFacts, suite: int, candidate: int
    ) -> int:
        """k of pass^k: the policy's; of a probe no more than its attempts allow."""
        if not facts.probe:
            return facts.k
        stamp = journal.head(connection)
        kept = self._probe_k.get(candidate)
        if kept is None or kept[0] != stamp:
            least = least_measured(connection, suite, candidate)
            kept = (stamp, min(facts.k, max(1, least)))
            self._probe_k[candidate] = kept
        return kept[1]

    def complete(self, connection: sqlite3.Connection, facts: SuiteFacts, candidate: int) -> bool:
        """Whether every episode of the suite has a roll-up of this candidate; once so, always."""
        if facts.episodes is None:
            return False
        if candidate in self._complete:
            return True
        if count_rolls(connection, candidate) != facts.episodes:
            return False
        self._complete.add(candidate)
        return True

    def red(self, connection: sqlite3.Connection, candidate: int, clock: int) -> frozenset[int]:
        """Episodes that may hold a red cell; kept for the candidate that was last asked for."""
        kept = self._red
        if kept is None or kept[:2] != (candidate, clock):
            found = frozenset(maybe_red(connection, candidate))
            kept = self._red = candidate, clock, found
        return kept[2]

    def first_rows(self, asked: Asked, most: int, clock: int) -> list[int] | None:
        """The first `most` keys of an order, if they were kept at this time of the clock."""
        with self._keeping:
            found = self._firsts.get((asked, most))
            if found is None or found[0] != clock:
                return None
            self._firsts.move_to_end((asked, most))
            return list(found[1])

    def keep_first_rows(self, asked: Asked, most: int, clock: int, keys: list[int]) -> None:
        with self._keeping:
            self._firsts[asked, most] = clock, list(keys)
            while len(self._firsts) > KEPT:
                self._firsts.popitem(last=False)

    def medians(self, candidate: int) -> Provide:
        """What lends median latencies to a connection."""

        def lend(connection: sqlite3.Connection) -> None:
            with self._lock:  # two readings at once would both read a million rows
                self._medians.setdefault(candidate, Medians(candidate)).lend(connection)

        return lend
