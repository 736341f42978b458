"""Slices of the suite, by category and by tag: they decide nothing and show where to look.

With m slices, one of them looks bad by chance m times as often, so their limits are Bonferroni's,
95% for all together, and a claim that a slice became worse needs Holm's adjusted p. A slice that
holds every episode is left out: it is the suite.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct, structs

from reviewer.report.episodes import EpisodeCounts, Episodes
from reviewer.report.evidence import Evidence
from reviewer.report.figures import Figures
from reviewer.report.formatting import stable_bits
from reviewer.report.rates import exact_pass_hat
from reviewer.report.regression import Pair, change, decided
from reviewer.stats.paired import (
    adjusted_paired_interval,
    benjamini_hochberg_adjust,
    holm_adjust,
)
from reviewer.stats.rates import effective_attempts, wilson_interval

MOST_SLICES = 200
"""The most slices computed: those with the most episodes."""
_LEVEL = 0.05


class Slice(Struct, frozen=True, kw_only=True):
    """One slice. `low` and `high` hold together with those of all other slices in 95 of 100 cases;
    `at_least` and `at_most` are the corrected one-sided bounds of the difference to the baseline.
    `p` is left out with fewer than six changed episodes; `p_holm` is for the claim that the slice
    became worse, `look` (Benjamini-Hochberg) only for where to look first."""

    kind: str
    name: str
    episodes: int
    attempts: int
    passes: int
    value: float | None
    low: float | None
    high: float | None
    pass_hat: float | None
    critical: int
    compared: int = 0
    changed: int = 0
    difference: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    p: float | None = None
    p_holm: float | None = None
    look: bool = False
    worse: bool = False


class _SliceMembers(NamedTuple):
    kind: str
    name: str
    members: tuple[str, ...]


def slices(evidence: Evidence, shown: Figures) -> tuple[Slice, ...]:
    """Return categories, then tags, by name."""
    chosen = _chosen(evidence)
    if not chosen:
        return ()
    now = _by_name(shown.counted)
    made = now if shown.counted is shown.episodes else _by_name(shown.episodes)
    then = _by_name(Episodes.of(evidence.baseline).counted)
    k = evidence.suite.policy.pass_hat.k
    apart = evidence.by_person
    found = [_slice(one, len(chosen), k, now, made, then, apart) for one in chosen]
    return tuple(_adjusted(found))


def _by_name(rows: Episodes) -> dict[str, EpisodeCounts]:
    """Return the shared counts of each episode."""
    return dict(zip(rows.names, map(rows.kinds.__getitem__, rows.places), strict=True))


def _chosen(evidence: Evidence) -> list[_SliceMembers]:
    if evidence.suite.probe:
        return []
    members: dict[tuple[str, str], list[str]] = {}
    for episode in evidence.suite.episodes:
        members.setdefault(("category", episode.category), []).append(episode.episode_id)
        for tag in dict.fromkeys(episode.tags):
            members.setdefault(("tag", tag), []).append(episode.episode_id)
    whole = len(evidence.suite.episodes)
    parts = [
        _SliceMembers(kind, name, tuple(names))
        for (kind, name), names in members.items()
        if len(names) < whole
    ]
    parts.sort(key=lambda one: (-len(one.members), one.kind, one.name))
    return sorted(parts[:MOST_SLICES], key=lambda one: (one.kind, one.name))


def _slice(
    one: _SliceMembers,
    family: int,
    k: int,
    now: dict[str, EpisodeCounts],
    made: dict[str, EpisodeCounts],
    then: dict[str, EpisodeCounts],
    apart: frozenset[str],
) -> Slice:
    names = [name for name in one.members if name in now]
    rows = [now[name] for name in names]
    tried = [(e.attempts, e.passes) for e in rows if e.attempts]
    attempts, passes = sum(n for n, _ in tried), sum(p for _, p in tried)
    value = low = high = hat = None
    if attempts and all(e.attempts == e.measured for e in rows):
        value, worth = passes / attempts, effective_attempts(tried)
        low, high = wilson_interval(value * worth, worth, 1.0 - _LEVEL / family)
        repeated = [(now[name].measured, now[name].passes) for name in names if name not in apart]
        exact = exact_pass_hat(repeated, k)
        hat = None if exact is None else float(exact)
    pairs = [
        (now[name], before, 1)
        for name in names
        if (before := then.get(name)) is not None and decided(now[name]) and decided(before)
    ]
    return Slice(
        kind=one.kind,
        name=one.name,
        episodes=len(one.members),
        attempts=attempts,
        passes=passes,
        value=value,
        low=stable_bits(low),
        high=stable_bits(high),
        pass_hat=hat,
        critical=sum(made[name].critical for name in one.members if name in made),
        **_difference(pairs, family),
    )


def _difference(pairs: Sequence[Pair], family: int) -> dict[str, Any]:
    if not pairs:
        return {}
    seen = change(pairs)
    bounds = adjusted_paired_interval(seen.now, seen.then, 1.0 - 2 * _LEVEL / family, seen.times)
    return {
        "compared": len(pairs),
        "changed": len(seen.changed),
        "difference": float(seen.difference),
        "at_least": stable_bits(bounds["low"]),
        "at_most": stable_bits(bounds["high"]),
        "p": seen.exact_p(),
    }


def _adjusted(found: list[Slice]) -> list[Slice]:
    """Adjust the p values of all slices. A slice without a p counts with p 1: it was looked at
    too."""
    compared = [one for one in found if one.compared]
    raw = [1.0 if one.p is None else one.p for one in compared]
    holm = dict(zip(map(id, compared), holm_adjust(raw), strict=True))
    first = dict(zip(map(id, compared), benjamini_hochberg_adjust(raw), strict=True))
    return [_with(one, holm.get(id(one)), first.get(id(one))) for one in found]


def _with(one: Slice, holm: float | None, first: float | None) -> Slice:
    if one.p is None or holm is None or first is None or one.difference is None:
        return one
    fell = one.difference < 0
    return structs.replace(
        one,
        p_holm=stable_bits(holm),
        look=fell and first <= _LEVEL,
        worse=fell and holm <= _LEVEL,
    )
