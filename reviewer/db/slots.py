"""The slot that each trace fills: suite × candidate × episode × attempt.

A record without an attempt number takes the next free one. The same record again is known, also
when it is one of the attempt's earlier records. The same evidence for a second attempt of one
candidate at one episode is refused and reported; under another candidate it gets a slot of its own.
"""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from reviewer.db.codec import json_ints
from reviewer.db.connection import data_version
from reviewer.db.revisions import slots_by_evidence

Slot = tuple[int, int, int]
"""(candidate, episode, attempt)"""
Shape = tuple[float | None, float | None, int]
"""Cost, latency and number of events: equal for one record however it is written."""
MOST_HELD = 20_000
"""Most candidate × episode pairs remembered from one batch to the next."""


class Placement(NamedTuple):
    """The outcome for one record: an attempt number, or why it gets none.

    `outcome` is `new`, `known` (nothing to add), or a refusal code such as `slot_filled`; `holder`
    is the slot (candidate, episode, attempt) that blocks it, or for `new` another slot with the
    same evidence.
    """

    outcome: str
    attempt: int
    holder: tuple[int, int, int] | None = None


class Slots:
    """Slots of one import, including those it has claimed but not yet written.

    `share_evidence` says that attempts may be alike. A record of such a source that names no
    attempt is still known when another source brought the same evidence for the same episode: a
    file that a harness keeps appending to is imported again and again. `number_on` says that
    attempt numbers are valid within one source only (a benchmark's epochs restart with each run): a
    number that another source has taken becomes the next free one.

    Remembers, per candidate × episode, the filled attempts and the first number that may be free;
    call `refresh` when another process may have written.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        share_evidence: bool,
        source: int = 0,
        number_on: bool = False,
    ) -> None:
        self._connection = connection
        self._number_on = number_on
        self._share_evidence = share_evidence
        self._source = source
        self._elsewhere: dict[tuple[int, int, int], int] = {}
        self._filled: dict[tuple[int, int], set[int]] = {}
        self._next: dict[tuple[int, int], int] = {}
        self._shapes: dict[tuple[int, int], dict[Shape, list[int]]] = {}
        self._claimed: dict[int, list[Slot]] = {}
        self._stored: dict[int, list[Slot]] = {}
        self._forgot = False
        self._version = data_version(self._connection)

    def refresh(self) -> bool:
        """Forget what is remembered when another connection has committed; return whether it
        had."""
        version = data_version(self._connection)
        changed = version != self._version
        if changed:
            self._filled.clear()
            self._next.clear()
            self._shapes.clear()
            self._version = version
            self._forgot = True
        return changed

    def look_up(self, keys: Iterable[tuple[int, int]], evidences: Iterable[int]) -> None:
        """Read what the next placements need, with two queries for many records."""
        self._stored, self._elsewhere = {}, {}
        wanted = list(evidences)
        for found, candidate, episode, attempt, source in self._connection.execute(
            "SELECT evidence, candidate, episode, attempt, source FROM trace"
            " WHERE evidence IN (SELECT value FROM json_each(?))",
            (json_ints(wanted),),
        ):
            self._stored.setdefault(found, []).append((candidate, episode, attempt))
            if source != self._source:
                self._elsewhere[found, candidate, episode] = attempt
        for found, slots in slots_by_evidence(self._connection, wanted).items():
            self._stored.setdefault(found, []).extend(slots)
            for candidate, episode, attempt in slots:
                self._elsewhere[found, candidate, episode] = attempt
        fresh: dict[int, set[int]] = {}
        for candidate, episode in keys:
            if (candidate, episode) not in self._filled:
                fresh.setdefault(candidate, set()).add(episode)
                self._filled[candidate, episode] = set()
        for candidate, episodes in fresh.items():
            for episode, attempt, *shape in self._connection.execute(
                "SELECT episode, attempt, cost_usd, latency_ms, events FROM trace"
                " WHERE candidate=? AND episode IN (SELECT value FROM json_each(?))",
                (candidate, json_ints(episodes)),
            ):
                self._filled[candidate, episode].add(attempt)
                if not self._share_evidence:
                    self._shape((candidate, episode), (shape[0], shape[1], shape[2]), attempt)
        # Remembered slots include the claims, unless they were forgotten after the claims.
        for slots in self._claimed.values() if self._forgot else ():
            for candidate, episode, attempt in slots:
                if episode in fresh.get(candidate, ()):
                    self._filled[candidate, episode].add(attempt)

    def known(self, candidate: int, episode: int, evidence: int) -> bool:
        """Return whether this candidate and episode have this evidence, which must have been looked
        up."""
        there = self._twins(evidence)
        return bool(there) and any(slot[:2] == (candidate, episode) for slot in there)

    def _twins(self, evidence: int) -> list[Slot]:
        """Return the slots that have this evidence, claimed and stored; usually none."""
        if evidence in self._claimed or evidence in self._stored:
            return [*self._claimed.get(evidence, ()), *self._stored.get(evidence, ())]
        return []

    def _shape(self, key: tuple[int, int], shape: Shape, attempt: int) -> None:
        held = self._shapes.get(key)
        if held is None:
            held = self._shapes[key] = {}
        held.setdefault(shape, []).append(attempt)

    def alike(self, candidate: int, episode: int, shape: Shape) -> list[int]:
        """Return the attempts of this candidate and episode that may be the same record in other
        writing."""
        held = self._shapes.get((candidate, episode))
        return held.get(shape, []) if held else []

    def place(
        self,
        candidate: int,
        episode: int,
        attempt: int | None,
        evidence: int,
        sha256: bytes,
        shape: Shape,
    ) -> Placement:
        """Claim a slot. `evidence` is the identity of what was observed, without its slot.

        The key and the evidence must have been looked up (`look_up`) since the last `refresh`.
        """
        filled = self._filled[candidate, episode]
        if attempt is not None and attempt in filled:
            slot = candidate, episode, attempt
            row = self._connection.execute(
                "SELECT sha256, source FROM trace WHERE candidate=? AND episode=? AND attempt=?",
                slot,
            ).fetchone()
            if row is not None and (row[0] == sha256 or slot in self._stored.get(evidence, ())):
                return Placement("known", attempt)
            if row is None and slot in self._claimed.get(evidence, ()):
                return Placement("known", attempt)
            if row is None or row[1] == self._source or not self._number_on:
                return Placement("slot_filled", attempt, slot)
            attempt = None
        twins = self._twins(evidence)
        own = twins and [slot for slot in twins if slot[:2] == (candidate, episode)]
        if not self._share_evidence:
            if own:
                # The exact slot is taken: another process filled it since its attempts were read.
                same = attempt is None or any(slot[2] == attempt for slot in own)
                return Placement("known" if same else "duplicate_evidence", own[0][2], own[0])
        elif attempt is None:
            known = self._elsewhere.get((evidence, candidate, episode))
            if known is not None:
                return Placement("known", known)
        if attempt is None:
            attempt = self._next.get((candidate, episode), 1)
            while attempt in filled:
                attempt += 1
            self._next[candidate, episode] = attempt + 1
        filled.add(attempt)
        self._claimed.setdefault(evidence, []).append((candidate, episode, attempt))
        if not self._share_evidence:
            self._shape((candidate, episode), shape, attempt)
        other = next((slot for slot in twins if slot[0] != candidate), None) if twins else None
        return Placement("new", attempt, other)

    def written(self) -> None:
        """Forget the claims, which are in the store now, and the remembered attempts when they are
        many."""
        self._claimed.clear()
        self._forgot = False
        if len(self._filled) > MOST_HELD:
            self._filled.clear()
            self._next.clear()
            self._shapes.clear()

    def rename(self, keys: dict[int, int]) -> None:
        """Replace the placeholders of claimed episodes by their real keys."""
        self._filled = {(c, keys.get(e, e)): held for (c, e), held in self._filled.items()}
        self._next = {(c, keys.get(e, e)): free for (c, e), free in self._next.items()}
        self._shapes = {(c, keys.get(e, e)): held for (c, e), held in self._shapes.items()}
        self._claimed = {
            evidence: [(c, keys.get(e, e), attempt) for c, e, attempt in slots]
            for evidence, slots in self._claimed.items()
        }
