"""Identify files by digest, and suites, candidates and episodes by their keys in the store.

New names are registered on the way; the episodes of a probe are named by its files, so they get
placeholders until their batch is written.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.slots import MOST_HELD
from reviewer.importing.scored import Facts
from reviewer.suite.candidate import Candidate
from reviewer.suite.model import Episode, Suite


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@lru_cache(maxsize=4096)
def _shared_digest(path: Path, size: int, mtime_ns: int) -> str:
    """Of a companion: a run's log may be part of every one of its attempts."""
    return _digest(path)


def unit_digest(path: Path, companions: Iterable[Path]) -> str:
    """sha256 of a file; with companions, of the digests and relative names of all of them."""
    own, others = _digest(path), sorted(companions)
    if not others:
        return own
    lines = [f"{own}  {path.name}"]
    for other in others:
        state = other.stat()
        digest = _shared_digest(other, state.st_size, state.st_mtime_ns)
        lines.append(f"{digest}  {os.path.relpath(other, path.parent)}")
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def placed_digest(digest: str, place: Iterable[str]) -> str:
    """The identity of a file whose bytes are another's and whose path says something else."""
    named = "\n".join((digest, *place))
    return hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest()


def names_digest(names: Iterable[tuple[str, str]]) -> str:
    """The digest of a map of episode names; empty for none."""
    pairs = sorted(names)
    if not pairs:
        return ""
    return hashlib.sha256(json.dumps(pairs, ensure_ascii=True).encode()).hexdigest()


def candidate_named(raw: bytes) -> str:
    """The candidate that a native record names."""
    name = json.loads(raw).get("candidate_id")
    return name if isinstance(name, str) else ""


class Manifest(NamedTuple):
    """A candidate's manifest as it lies in the suite folder."""

    candidate: Candidate
    raw: bytes


FindManifest = Callable[[str, str], Manifest | None]
"""The manifest of (suite id, candidate id)."""
Begin = Callable[[], AbstractContextManager[object]]
"""Begins one durable write, or takes part in one that was begun around."""


class StoreKeys:
    """Keys of one import. `suites` are those that records may name."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        suites: Mapping[str, Suite],
        manifests: FindManifest,
        now: Callable[[], str],
        begin: Begin,
    ) -> None:
        self._connection = connection
        self._suites, self._manifests, self._now, self._begin = suites, manifests, now, begin
        self._rows: dict[str, registry.SuiteRow] = {}
        self._candidates: dict[tuple[str, str], int] = {}
        self._episodes: dict[str, dict[str, int]] = {}
        self._fresh: list[tuple[str, Episode]] = []

    def of(self, facts: Facts) -> tuple[int, int]:
        """(candidate key, episode key), registering what is new; the episode's is negative while
        it is a placeholder."""
        suite = self._suite(facts.suite_id)
        candidate = self._candidates.get((facts.suite_id, facts.candidate_id))
        if candidate is None:
            manifest = self._manifests(facts.suite_id, facts.candidate_id)
            with self._begin():
                candidate = registry.register_candidate(
                    self._connection,
                    suite,
                    facts.candidate_id,
                    manifest.candidate if manifest else None,
                    manifest.raw if manifest else None,
                    self._now(),
                ).id
            self._candidates[facts.suite_id, facts.candidate_id] = candidate
        episodes = self._episodes[facts.suite_id]
        episode = episodes.get(facts.episode_id)
        if episode is None:
            self._fresh.append(
                (facts.suite_id, Episode(episode_id=facts.episode_id, title=facts.title))
            )
            episode = episodes[facts.episode_id] = -len(self._fresh)
        return candidate, episode

    def candidate(self, suite_id: str, candidate_id: str) -> int:
        """The key of a candidate that was met."""
        return self._candidates[suite_id, candidate_id]

    def _suite(self, suite_id: str) -> registry.SuiteRow:
        row = self._rows.get(suite_id)
        if row is None:
            with self._begin():
                row = registry.register_suite(self._connection, self._suites[suite_id], self._now())
            self._rows[suite_id] = row
            # A private suite's episodes are its contracts, which are in memory anyway.
            known = {} if row.probe else registry.episode_ids(self._connection, row.id)
            self._episodes[suite_id] = known
        return row

    def recall(self, wanted: Iterable[Facts]) -> None:
        """Look up the episodes of probes that are not remembered."""
        unknown: dict[str, set[str]] = {}
        for facts in wanted:
            if not self._suite(facts.suite_id).probe:
                continue
            if facts.episode_id not in self._episodes[facts.suite_id]:
                unknown.setdefault(facts.suite_id, set()).add(facts.episode_id)
        for suite_id, names in unknown.items():
            row = self._rows[suite_id]
            self._episodes[suite_id] |= registry.episode_keys(self._connection, row.id, names)

    def plans(self) -> dict[int, registry.Plan]:
        """The plan of every candidate met, as it stands in this transaction: a run in another
        process may have declared its own meanwhile."""
        declared = registry.declared_plans(self._connection)
        return {
            key: registry.plan_of(self._suites[suite_id], declared.get(key))
            for (suite_id, _), key in self._candidates.items()
        }

    def settle(self) -> dict[int, int]:
        """Insert the new episodes inside the batch's transaction: their keys by placeholder."""
        settled: dict[int, int] = {}
        for suite_id in dict.fromkeys(suite_id for suite_id, _ in self._fresh):
            row = self._rows[suite_id]
            fresh = [(n, e) for n, (name, e) in enumerate(self._fresh, 1) if name == suite_id]
            keys = registry.add_episodes(self._connection, row, [episode for _, episode in fresh])
            for number, episode in fresh:
                key = keys[episode.episode_id]
                settled[-number] = self._episodes[suite_id][episode.episode_id] = key
        self._fresh = []
        return settled

    def written(self) -> None:
        """Let go of what would grow with a benchmark."""
        for suite_id, episodes in self._episodes.items():
            if self._rows[suite_id].probe and len(episodes) > MOST_HELD:
                episodes.clear()
