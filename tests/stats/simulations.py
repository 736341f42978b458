"""What the intervals and the release gate are worth, by simulation: how often they hold the truth,
and how often a gate passes what it should not.

`python tests/stats/simulations.py` writes its tables into docs/statistics.md. Seeds are fixed,
and each table says how many draws a design got. An episode's true rate is drawn from a Beta
distribution whose intraclass correlation (ICC) says how alike attempts of one episode are.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from reviewer.api.stats import (
    adjusted_paired_interval,
    clustered_upper_limit,
    confidence_sequence,
    cost_limits,
    effective_attempts,
    effective_bounds,
    exact_bounds,
    pass_hat_k_interval,
    quantile_interval,
    wilson_interval,
)

SEED = 20260801
SIZES = (3, 5, 10, 20, 30, 50, 100)
RATES = (0.8, 0.9, 0.97)
ICCS = (0.1, 0.5, 0.9)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "statistics.md"


class Coverage(NamedTuple):
    """Shares over all designs of a table, in which the truth was held."""

    mean: float
    tenth: float
    least: float


def summed(shares: list[float]) -> Coverage:
    """Mean, 10th percentile and minimum over designs."""
    return Coverage(float(np.mean(shares)), float(np.quantile(shares, 0.1)), min(shares))


def beta_of(rate: float, icc: float) -> tuple[float, float]:
    """Parameters of the Beta distribution of episodes' true rates."""
    strength = 1.0 / icc - 1.0
    return strength * rate, strength * (1.0 - rate)


def passes(
    rng: np.random.Generator, draws: int, episodes: int, attempts: int, rate: float, icc: float
) -> np.ndarray[Any, Any]:
    """Passes per episode, a row per draw."""
    a, b = beta_of(rate, icc)
    return rng.binomial(attempts, rng.beta(a, b, (draws, episodes)))


def rng_of(table: int, design: int) -> np.random.Generator:
    return np.random.default_rng([SEED, table, design])


# rates --------------------------------------------------------------------------------------------

Limits = Callable[[tuple[tuple[int, int], ...]], tuple[float, float]]


def on_episodes(counts: tuple[tuple[int, int], ...]) -> tuple[float, float]:
    """The product's interval of a rate: Wilson on effective n."""
    worth = effective_attempts(counts)
    rate = sum(p for _, p in counts) / sum(n for n, _ in counts)
    return wilson_interval(rate * worth, worth)


def on_attempts(counts: tuple[tuple[int, int], ...]) -> tuple[float, float]:
    """As if every attempt were an episode of its own."""
    return wilson_interval(sum(p for _, p in counts), sum(n for n, _ in counts))


def lower_only(counts: tuple[tuple[int, int], ...]) -> tuple[float, float]:
    """The bound of a strict limit."""
    return effective_bounds(counts).low, 1.0


RATE_DESIGNS = list(product(SIZES, (3, 5), RATES, ICCS))


def rate_coverage(limits: Limits, draws: int) -> list[float]:
    """Per design of `RATE_DESIGNS`: how often the limits hold the true rate."""
    known = lru_cache(maxsize=200_000)(limits)
    shares = []
    for number, (episodes, attempts, rate, icc) in enumerate(RATE_DESIGNS):
        held = 0
        for row in passes(rng_of(1, number), draws, episodes, attempts, rate, icc):
            # Episodes have no order: drawing the same counts again is the same case.
            low, high = known(tuple((attempts, int(c)) for c in np.sort(row)))
            held += low <= rate <= high
        shares.append(held / draws)
    return shares


HAT_DESIGNS = list(product((5, 10, 20, 30, 50, 100), (3, 5, 8), RATES, ICCS))


@cache
def _lower(stable: int, episodes: int) -> float:
    return exact_bounds(stable, episodes).low


def pass_hat_coverage(draws: int) -> tuple[list[float], list[float]]:
    """Per design of `HAT_DESIGNS`, for pass^3: how often the two-sided limits hold the truth, and
    how often the one-sided lower bound over episodes does."""
    two, lower = [], []
    for number, (episodes, attempts, rate, icc) in enumerate(HAT_DESIGNS):
        a, b = beta_of(rate, icc)
        true = math.prod((a + i) / (a + b + i) for i in range(3))
        held = below = 0
        for row in passes(rng_of(2, number), draws, episodes, attempts, rate, icc):
            found = pass_hat_k_interval([(attempts, int(c)) for c in row], 3)
            assert found is not None
            held += found.low <= true <= found.high
            stable = math.floor(found.value * episodes + 1e-9)
            below += _lower(stable, episodes) <= true
        two.append(held / draws)
        lower.append(below / draws)
    return two, lower


# cost and latency ---------------------------------------------------------------------------------

COST_DESIGNS = list(product(SIZES, (3, 5), RATES, ICCS, (0.3, 0.8), (0.0, 1.0)))


def cost_coverage(draws: int) -> tuple[list[float], list[float]]:
    """Per design of `COST_DESIGNS` (spread of episodes' costs, and what a failing attempt costs
    more): how often the limits of cost per success hold the truth, and a normal interval's."""
    ours, normal = [], []
    for number, (episodes, attempts, rate, icc, spread, dearer) in enumerate(COST_DESIGNS):
        rng = rng_of(3, number)
        passed = passes(rng, draws, episodes, attempts, rate, icc)
        base = np.exp(rng.normal(0.0, spread, (draws, episodes)))
        noise = rng.normal(0.0, 0.1, (draws, episodes)) / math.sqrt(attempts)
        cost = base * attempts * (1.0 + noise) + dearer * base * (attempts - passed)
        true = math.exp(spread**2 / 2) * (1.0 + dearer * (1.0 - rate)) / rate
        some = passed.sum(axis=1) > 0
        passed, cost = passed[some], cost[some]
        ratio = cost.sum(axis=1) / passed.sum(axis=1)
        off = cost - ratio[:, None] * passed
        scale = math.sqrt(episodes / (episodes - 1))
        se = scale * np.sqrt((off**2).sum(axis=1)) / passed.sum(axis=1)
        found = [cost_limits(float(r), float(s), episodes) for r, s in zip(ratio, se, strict=True)]
        ours.append(float(np.mean([f is not None and f.low <= true <= f.high for f in found])))
        normal.append(float(np.mean(np.abs(ratio - true) <= 1.96 * se)))
    return ours, normal


LATENCY_DESIGNS = list(product((20, 30, 60, 100), (5,), (0.0, 0.3, 0.7)))


def latency_coverage(draws: int) -> tuple[list[float], list[float]]:
    """Per design of `LATENCY_DESIGNS`: how often the upper limit of p95 is above the true one, with
    episodes as clusters, and by attempts alone. No finite limit counts as above."""
    clustered, plain = [], []
    for number, (episodes, attempts, icc) in enumerate(LATENCY_DESIGNS):
        rng = rng_of(4, number)
        own = rng.normal(0.0, 1.0, (draws, episodes, 1)) * math.sqrt(icc)
        each = rng.normal(0.0, 1.0, (draws, episodes, attempts)) * math.sqrt(1.0 - icc)
        times = np.exp(0.5 * (own + each))
        true = math.exp(0.5 * float(norm.ppf(0.95)))
        above = alone = 0
        for table in times:
            flat = np.sort(table.ravel())
            at = float(np.quantile(flat, 0.95))
            within = [(attempts, int(n)) for n in (table <= at).sum(axis=1)]
            limit = clustered_upper_limit(flat.tolist(), within, 0.95)
            above += limit is None or limit >= true
            high = quantile_interval(flat.tolist(), 0.95).high
            alone += high is None or high >= true
        clustered.append(above / draws)
        plain.append(alone / draws)
    return clustered, plain


# the regression gate ------------------------------------------------------------------------------

MARGIN = 0.05


class Gate(NamedTuple):
    """How often the regression gate passes a candidate, over designs."""

    most: float
    mean: float


def _pairs(
    rng: np.random.Generator,
    draws: int,
    episodes: int,
    attempts: int,
    rate: float,
    drop: str,
) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Episode means of candidate and baseline. `drop`: `none`; `diffuse` takes the margin off every
    episode's rate, `broken` breaks that share of episodes."""
    a, b = beta_of(rate, 0.5)
    for _ in range(draws):
        true = rng.beta(a, b, episodes)
        now = true
        if drop == "diffuse":
            now = true * (rate - MARGIN) / rate
        elif drop == "broken":
            now = np.where(rng.random(episodes) < MARGIN / rate, 0.0, true)
        yield rng.binomial(attempts, now) / attempts, rng.binomial(attempts, true) / attempts


GATE_DESIGNS = list(product((10, 20, 50, 100, 200), (1, 3, 5), (0.85, 0.97)))


def gate_passes(drop: str, draws: int) -> list[float]:
    """Per design of `GATE_DESIGNS`: how often non-inferiority by five points is shown."""
    shares = []
    for number, (episodes, attempts, rate) in enumerate(GATE_DESIGNS):
        rng = rng_of(5 + ("none", "diffuse", "broken").index(drop), number)
        shown = sum(
            adjusted_paired_interval(now.tolist(), then.tolist(), confidence=0.90)["low"] > -MARGIN
            for now, then in _pairs(rng, draws, episodes, attempts, rate, drop)
        )
        shares.append(shown / draws)
    return shares


# peeking ------------------------------------------------------------------------------------------


def ever_wrong(rate: float, most: int, draws: int) -> tuple[float, float]:
    """Shares of sequences of up to `most` runs in which a look after every run is wrong at least
    once: by Wilson limits, and by limits that hold at every look."""

    @cache
    def wilson(k: int, n: int) -> bool:
        low, high = wilson_interval(k, n)
        return not low <= rate <= high

    @cache
    def sequence(k: int, n: int) -> bool:
        low, high = confidence_sequence(k, n)
        return not low <= rate <= high

    rng = rng_of(9, int(rate * 1000))
    seen = np.cumsum(rng.random((draws, most)) < rate, axis=1)
    once = [any(wilson(int(k), n) for n, k in enumerate(row, 1)) for row in seen]
    always = [any(sequence(int(k), n) for n, k in enumerate(row, 1)) for row in seen]
    return float(np.mean(once)), float(np.mean(always))


# the page -----------------------------------------------------------------------------------------


def tables(draws: int) -> str:
    """The tables of the page, as Markdown; `draws` per design (a quarter of it for the slow)."""
    few = max(draws // 4, 50)
    rows = [
        ["Wilson on effective n (the one shown)", len(RATE_DESIGNS), draws,
         summed(rate_coverage(on_episodes, draws))],
        ["Wilson on attempts, as if independent (never used)", len(RATE_DESIGNS), draws,
         summed(rate_coverage(on_attempts, draws))],
        ["one-sided lower bound of a rate, on effective n", len(RATE_DESIGNS), draws,
         summed(rate_coverage(lower_only, draws))],
    ]  # fmt: skip
    two, lower = pass_hat_coverage(few)
    rows += [
        ["pass^3, two-sided", len(HAT_DESIGNS), few, summed(two)],
        ["pass^3, one-sided lower bound over episodes", len(HAT_DESIGNS), few, summed(lower)],
    ]
    ours, normal = cost_coverage(few)
    rows += [
        ["cost per success, symmetric in the logarithm (the one shown)", len(COST_DESIGNS), few,
         summed(ours)],
        ["cost per success, ± 1.96 standard errors (never used)", len(COST_DESIGNS), few,
         summed(normal)],
    ]  # fmt: skip
    clustered, plain = latency_coverage(few)
    rows += [
        ["p95 latency, upper limit with episodes as clusters (strict)", len(LATENCY_DESIGNS), few,
         summed(clustered)],
        ["p95 latency, upper limit by attempts (shown)", len(LATENCY_DESIGNS), few,
         summed(plain)],
    ]  # fmt: skip
    lines = ["| interval or bound | designs | draws each | mean | 10th percentile | least |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for name, designs, made, found in rows:
        figures = " | ".join(f"{x:.3f}" for x in found)
        lines.append(f"| {name} | {designs} | {made} | {figures} |")
    lines += ["", "| the regression gate, margin 0.05 | designs | draws each | most | mean |",
              "|---|---|---|---|---|"]  # fmt: skip
    worse = [share for drop in ("diffuse", "broken") for share in gate_passes(drop, few)]
    equal = gate_passes("none", few)
    for name, shares in (
        ("passes a candidate that is five points worse", worse),
        ("passes a candidate that is as good", equal),
    ):
        most, mean = max(shares), float(np.mean(shares))
        lines.append(f"| {name} | {len(shares)} | {few} | {most:.3f} | {mean:.3f} |")
    lines += ["", "| looking after every run up to 600, true rate 0.9 | ever wrong |", "|---|---|"]
    once, always = ever_wrong(0.9, 600, few)
    lines += [f"| Wilson, made for one look | {once:.3f} |",
              f"| limits that hold at every look | {always:.3f} |"]  # fmt: skip
    return "\n".join(lines) + "\n"


BEGIN, END = "<!-- simulations -->\n", "<!-- end of simulations -->"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--draws", type=int, default=4000)
    found = tables(asked.parse_args().draws)
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    PAGE.write_text(head + BEGIN + "\n" + found + "\n" + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
