"""Candidate against baseline on the same episodes: lists first, then the difference.

The bound is `measure.compare.adjusted_paired_interval`. Under six changed episodes no paired test
can reach 0.05, which is said instead of printing a p value.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct, structs

from reviewer.measure.compare import (
    MIN_CHANGED_EPISODES,
    adjusted_paired_interval,
    paired_signflip_exact,
)
from reviewer.measure.special import normal_quantile
from reviewer.release.amounts import exact, stable_bits
from reviewer.release.evidence import EpisodeCounts, Evidence

_Z = normal_quantile(0.95)
_MOST_CHANGED = 200
"""Changed episodes up to which the exact test is worked out; beyond, the bound says it all."""


class Regression(Struct, frozen=True, kw_only=True):
    """What changed against the baseline; `why` says why nothing can be said.

    `lost` were stable (every attempt passed) and no longer are; `gained` the reverse. `difference`
    is candidate minus baseline in mean pass rate per episode, `low` and `high` its one-sided 95%
    bounds. `verdict`: `worse`, `not worse` (by `margin`), `not shown`. `dropped` says that the
    difference itself, compared exactly, is more than `margin` below none.
    """

    baseline_id: str | None
    why: str = ""
    compared: int = 0
    not_compared: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    new_critical: tuple[str, ...] = ()
    changed: int = 0
    difference: float | None = None
    p_value: float | None = None
    low: float | None = None
    high: float | None = None
    margin: float = 0.0
    dropped: bool = False
    verdict: str = "not shown"
    test: str = ""
    episodes_needed: int | None = None


def regression(evidence: Evidence, rows: Sequence[EpisodeCounts]) -> Regression:
    """Compare the candidate's counts with the baseline's. Pure; what of it gates, `assess` says."""
    margin = evidence.suite.policy.regression.margin
    if evidence.baseline_id is None:
        return Regression(baseline_id=None, why="no baseline named", margin=margin)
    before = {e.episode_id: e.counted for e in evidence.baseline}
    grave = {e.episode_id for e in evidence.baseline if e.critical}
    pairs: list[tuple[EpisodeCounts, EpisodeCounts]] = []
    lost, gained, new_critical, apart = [], [], [], []
    for made in rows:
        now, then = made.counted, before.get(made.episode_id)
        if made.critical and made.episode_id not in grave:
            new_critical.append(made.episode_id)
        # One failed attempt is enough to know that an episode is no longer stable.
        if then is not None and _stable(then) and now.measured > now.passes:
            lost.append(now.episode_id)
        if then is None or not (_decided(now) and _decided(then)):
            apart.append(now.episode_id)
            continue
        pairs.append((now, then))
        if _stable(now) and not _stable(then):
            gained.append(now.episode_id)
    found = Regression(
        baseline_id=evidence.baseline_id,
        why="no episode with every verdict measured on both sides",
        not_compared=tuple(apart),
        lost=tuple(lost),
        gained=tuple(gained),
        new_critical=tuple(new_critical),
        margin=margin,
        verdict="worse" if new_critical else "not shown",
        episodes_needed=episodes_for_margin(margin),
    )
    return _compared(found, pairs) if pairs else found


def _compared(
    found: Regression, pairs: Sequence[tuple[EpisodeCounts, EpisodeCounts]]
) -> Regression:
    now = [Fraction(n.passes, n.attempts) for n, _ in pairs]
    then = [Fraction(t.passes, t.attempts) for _, t in pairs]
    changed = sum(1 for a, b in zip(now, then, strict=True) if a != b)
    bounds = adjusted_paired_interval(now, then, confidence=0.90)
    low, high = stable_bits(bounds["low"]), stable_bits(bounds["high"])
    p_value: float | None = None
    if changed < MIN_CHANGED_EPISODES:
        test = f"fewer than {MIN_CHANGED_EPISODES} changed ({changed}): no test can reach 0.05"
    elif changed > _MOST_CHANGED:
        test = f"{changed} changed: too many for the exact test, see the bounds"
    else:
        test = "exact sign-flip test over episodes, two-sided"
        p_value = stable_bits(paired_signflip_exact(now, then)["p"])
    difference = (sum(now, Fraction(0)) - sum(then, Fraction(0))) / len(pairs)
    verdict = found.verdict
    if high is not None and high < 0:
        verdict = "worse"
    elif verdict != "worse" and low is not None and Fraction(low) > -exact(found.margin):
        verdict = "not worse"
    return structs.replace(
        found,
        why="",
        compared=len(pairs),
        changed=changed,
        difference=float(difference),
        low=low,
        high=high,
        dropped=difference < -exact(found.margin),
        verdict=verdict,
        test=test,
        p_value=p_value,
    )


def _decided(e: EpisodeCounts) -> bool:
    return 0 < e.attempts == e.measured


def _stable(e: EpisodeCounts) -> bool:
    return 0 < e.attempts == e.passes


def episodes_for_margin(margin: float) -> int | None:
    """Episodes, none of them changed, at which the lower bound clears -margin; None for margin 0.

    From z·sqrt(2)/(E + 2) < margin.
    """
    return max(1, math.floor(_Z * math.sqrt(2.0) / margin - 2) + 1) if margin > 0 else None
