"""Rates over attempts and episodes, with their limits; values are exact ratios of counts."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from msgspec import Struct

from reviewer.gates.model import GATES
from reviewer.measure.rates import failure_rate_upper_bound, wilson_interval
from reviewer.measure.repeat import pass_hat_k_interval
from reviewer.release.amounts import named, stable_bits
from reviewer.release.evidence import EpisodeCounts, Evidence

MOST_K = 10
"""The largest k shown beyond the policy's own."""


class Rate(Struct, frozen=True, kw_only=True):
    """passes / n with 95% limits. With a verdict not measured the value is None, and `why` says so.

    Failures are always measured, so a rate over the measured attempts alone would be biased.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    passes: int
    fails: int
    not_measured: int
    n_eff: float | None
    why: str = ""


class PassHatFigures(Struct, frozen=True, kw_only=True):
    """pass^k for k = 1, 2, …: (k, value or None); limits belong to `k`, the policy's."""

    k: int
    values: tuple[tuple[int, float | None], ...]
    exact: Fraction | None
    low: float | None
    high: float | None
    n_eff: float | None
    why: str = ""

    @property
    def value(self) -> float | None:
        return None if self.exact is None else float(self.exact)


class CriticalFigures(Struct, frozen=True, kw_only=True):
    """Attempts with a critical failure, and the one-sided 95% rates still compatible with them.

    `upper` takes attempts as independent (best case), `upper_episodes` counts episodes (worst).
    """

    count: int
    n: int
    upper: float | None
    episodes: int
    n_episodes: int
    upper_episodes: float | None


def rate_of(counts: Sequence[tuple[int, int]], not_measured: int) -> Rate:
    """A rate over (attempts, passes) per episode."""
    n = sum(made for made, _ in counts)
    passes = sum(passed for _, passed in counts)
    value = low = high = n_eff = None
    why = ""
    if not n:
        why = "no attempts"
    elif not_measured:
        why = f"the verdict of {not_measured} of {n} attempts is not measured"
    else:
        value = passes / n
        low, high, n_eff = _wilson([(m, p) for m, p in counts if m], n, passes)
    return Rate(
        value=value,
        low=low,
        high=high,
        n=n,
        passes=passes,
        fails=n - passes - not_measured,
        not_measured=not_measured,
        n_eff=n_eff,
        why=why,
    )


def _wilson(
    counts: Sequence[tuple[int, int]], n: int, passes: int
) -> tuple[float | None, float | None, float | None]:
    """`measure.clusters.wilson_effective` from counts: a million attempts need no million items."""
    episodes = len(counts)
    n_eff = float(episodes)
    # Σ_e (passes_e - p·attempts_e)², times n²: whole numbers, so no spread is exactly none.
    squares = sum((passed * n - passes * made) ** 2 for made, passed in counts)
    if episodes > 1 and squares and 0 < passes < n:
        # p(1-p)/SE² with SE² = E/(E-1) · squares/n² / n²
        worth = Fraction(passes * (n - passes) * n * n * (episodes - 1), episodes * squares)
        n_eff = float(max(Fraction(1), min(worth, Fraction(n))))
    low, high = wilson_interval(passes / n * n_eff, n_eff)
    return stable_bits(low), stable_bits(high), stable_bits(n_eff)


def hard_pass(rows: Sequence[EpisodeCounts]) -> Rate:
    """Share of attempts that pass every hard gate."""
    return rate_of(
        [(e.attempts, e.passes) for e in rows], sum(e.attempts - e.measured for e in rows)
    )


def completion(rows: Sequence[EpisodeCounts]) -> Rate:
    """Share of attempts that reached the contracted end: the state gate passes."""
    i = GATES.index("state")
    return rate_of(
        [(e.gate_pass[i] + e.gate_fail[i] + e.gate_unknown[i], e.gate_pass[i]) for e in rows],
        sum(e.gate_unknown[i] for e in rows),
    )


def exact_pass_hat(counts: Iterable[tuple[int, int]], k: int) -> Fraction | None:
    """Mean of C(c,k)/C(n,k) over (n, c), exactly; None when an episode has fewer than k attempts.

    Exact because 19 stable episodes of 20 are 0.95, and 0.95 is on the good side of 0.95.
    """
    alike = Counter(counts)
    if not alike or any(n < k for n, _ in alike):
        return None
    shares = (Fraction(math.comb(c, k), math.comb(n, k)) * m for (n, c), m in alike.items())
    return sum(shares, Fraction(0)) / alike.total()


def pass_hat(evidence: Evidence, rows: Sequence[EpisodeCounts]) -> PassHatFigures:
    """pass^k of the policy's k and every k that the attempts allow."""
    k = evidence.suite.policy.pass_hat.k
    least = min((e.measured for e in rows), default=0)
    # A probe has no plan of ours to fall short of: what its attempts allow is what it shows.
    most = max(1, least) if evidence.suite.probe else max(k, least)
    shown = min(most, MOST_K) if k <= MOST_K else k
    if evidence.suite.probe:
        k = min(k, shown)
    counts = [(e.measured, e.passes) for e in rows]
    open_verdicts = sum(e.attempts - e.measured for e in rows)
    value = None if open_verdicts else exact_pass_hat(counts, k)
    interval = pass_hat_k_interval(counts, k) if value is not None else None
    return PassHatFigures(
        k=k,
        values=tuple(
            (i, None if open_verdicts else _float(exact_pass_hat(counts, i)))
            for i in range(1, shown + 1)
        ),
        exact=value,
        low=stable_bits(interval.low) if interval else None,
        high=stable_bits(interval.high) if interval else None,
        n_eff=stable_bits(interval.n_eff) if interval else None,
        why="" if value is not None else _why_undefined(rows, k),
    )


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _why_undefined(rows: Sequence[EpisodeCounts], k: int) -> str:
    if not rows:
        return "no episodes"
    short = [e.episode_id for e in rows if e.measured < k]
    if short:
        noun = "episode has" if len(short) == 1 else "episodes have"
        return f"{len(short)} {noun} fewer than {k} measured attempts: {named(short)}"
    open_verdicts = [e.episode_id for e in rows if e.measured < e.attempts]
    return f"verdicts not measured in {named(open_verdicts)}"


def critical(rows: Sequence[EpisodeCounts]) -> CriticalFigures:
    """Count critical attempts and episodes, and bound their rates."""
    n, count = sum(e.attempts for e in rows), sum(e.critical for e in rows)
    tried = sum(1 for e in rows if e.attempts)
    bad = sum(1 for e in rows if e.critical)
    return CriticalFigures(
        count=count,
        n=n,
        upper=stable_bits(failure_rate_upper_bound(min(count, n), n)) if n else None,
        episodes=bad,
        n_episodes=tried,
        upper_episodes=(
            stable_bits(failure_rate_upper_bound(min(bad, tried), tried)) if tried else None
        ),
    )
