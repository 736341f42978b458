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
from scipy.special import gammaln
from scipy.stats import norm

from reviewer.api.stats import (
    clustered_upper_limit,
    confidence_sequence,
    effective_attempts,
    pass_hat_k_interval,
    quantile_interval,
    wilson_interval,
)
from reviewer.stats.dirichlet import Weight, below_zero
from reviewer.stats.paired import tango_limits

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


def pass_hat_coverage(draws: int) -> list[float]:
    """Per design of `HAT_DESIGNS`, for pass^3: how often the two-sided limits hold the truth."""
    shares = []
    for number, (episodes, attempts, rate, icc) in enumerate(HAT_DESIGNS):
        a, b = beta_of(rate, icc)
        true = math.prod((a + i) / (a + b + i) for i in range(3))
        held = 0
        for row in passes(rng_of(2, number), draws, episodes, attempts, rate, icc):
            found = pass_hat_k_interval([(attempts, int(c)) for c in row], 3)
            assert found is not None
            held += found.low <= true <= found.high
        shares.append(held / draws)
    return shares


# one-sided bounds ---------------------------------------------------------------------------------

ALPHA = 0.05


def tails(
    scores: np.ndarray[Any, Any], counts: np.ndarray[Any, Any], mean: float
) -> np.ndarray[Any, Any]:
    """P(Σ (x - mean)·V <= mean·V_0) of each row of counts of these scores: the lower bound is above
    `mean` where it is below alpha. The transform on the imaginary axis, for all rows at once; the
    product's own inversion is elsewhere, so either checks the other."""
    episodes = int(counts[0].sum())
    step = 0.05
    u = np.exp(np.arange(-18.0, 11.0 + 30.0 / (episodes + 1), step))
    logs = -np.log(1.0 - 1j * np.outer(np.append(scores, 0.0) - mean, u))
    phi = np.exp(counts @ logs[:-1] + logs[-1])
    return 0.5 - phi.imag.sum(axis=1) * step / math.pi


class BoundDesign(NamedTuple):
    """`attempts` 0 are uneven, from 1 to 10. Episodes' rates are drawn by `kind`: an ICC of a Beta
    distribution (0: all alike), or a mixture."""

    episodes: int
    attempts: int
    mean: float
    kind: float | str


BOUND_DESIGNS = [
    BoundDesign(*one)
    for one in product(
        (3, 5, 10, 20, 30, 60, 100),
        (1, 2, 3, 5, 10, 20, 0),
        (0.8, 0.9, 0.95, 0.97, 0.99),
        (0.0, 0.1, 0.3, 0.6, 0.9, "always or never", "flaky 0.5", "flaky 0.8", "dead and flaky"),
    )
]


def episode_rates(
    rng: np.random.Generator, size: tuple[int, int], mean: float, kind: float | str
) -> np.ndarray[Any, Any]:
    """Rates of episodes whose mean is `mean`."""
    if kind == 0.0:
        return np.full(size, mean)
    if not isinstance(kind, str):
        return rng.beta(*beta_of(mean, kind), size)
    lost = 1.0 - mean
    draw = rng.random(size)
    if kind == "always or never":
        return np.where(draw < lost, 0.0, 1.0)
    if kind == "dead and flaky":  # half of what is lost by either
        return np.where(draw < lost / 2, 0.0, np.where(draw < lost / 2 + lost, 0.5, 1.0))
    rate = float(kind.removeprefix("flaky "))
    return np.where(draw < lost / (1.0 - rate), rate, 1.0)


def bound_misses(design: BoundDesign, draws: int, seed: int) -> float:
    """How often the lower bound of the rate is above the true one."""
    rng = rng_of(20 + seed, BOUND_DESIGNS.index(design))
    size = draws, design.episodes
    rates = episode_rates(rng, size, design.mean, design.kind)
    made = np.full(size, design.attempts) if design.attempts else rng.integers(1, 11, size)
    return share_above(rng.binomial(made, rates) / made, design.mean)


def share_above(found: np.ndarray[Any, Any], mean: float) -> float:
    """The share of rows of episodes' scores whose lower bound is above `mean`."""
    scores, places = np.unique(np.round(found, 12), return_inverse=True)
    places = places.reshape(found.shape)
    counts = np.stack([(places == i).sum(axis=1) for i in range(len(scores))], axis=1)
    rows, times = np.unique(counts, axis=0, return_counts=True)
    missed = np.concatenate(
        [tails(scores, part, mean) < ALPHA for part in np.array_split(rows, len(rows) // 500 + 1)]
    )
    return float(times @ missed / times.sum())


class Misses(NamedTuple):
    """Mean over designs, and the worst: the worst ones are drawn again, more often, since the most
    of many draws is more than any of them."""

    mean: float
    worst: float


def worst_of(misses: Callable[[int, int, int], float], designs: int, draws: int) -> Misses:
    """Run every design, then the worst 24 again with ten times as many fresh draws."""
    first = [misses(i, draws, 0) for i in range(designs)]
    again = sorted(range(designs), key=first.__getitem__)[-24:]
    return Misses(float(np.mean(first)), max(misses(i, 10 * draws, 1) for i in again))


def rate_misses(draws: int, designs: list[BoundDesign] = BOUND_DESIGNS) -> Misses:
    return worst_of(lambda i, n, seed: bound_misses(designs[i], n, seed), len(designs), draws)


def pass_hat_misses(draws: int) -> Misses:
    """The same for pass^3, of `HAT_DESIGNS`."""

    def misses(number: int, draws: int, seed: int) -> float:
        episodes, attempts, rate, icc = HAT_DESIGNS[number]
        a, b = beta_of(rate, icc)
        true = math.prod((a + i) / (a + b + i) for i in range(3))
        made = passes(rng_of(30 + seed, number), draws, episodes, attempts, rate, icc)
        share = np.array([math.comb(c, 3) / math.comb(attempts, 3) for c in range(attempts + 1)])
        return share_above(share[made], true)

    return worst_of(misses, len(HAT_DESIGNS), draws)


LIVE_DESIGNS = list(product((3, 10, 20), (0.9, 0.95), (0.1, 0.3, 0.6)))


def ever_wrong_live(draws: int) -> list[float]:
    """Per design (attempts, true rate, ICC): how often bounds at every look are wrong at one of the
    looks after each of 100 episodes."""
    shares = []
    for number, (attempts, rate, icc) in enumerate(LIVE_DESIGNS):
        made = passes(rng_of(40, number), draws, 100, attempts, rate, icc)
        hits = np.cumsum(made / attempts, axis=1)
        n = np.arange(1, 101)
        log_beta = gammaln(hits + 1) + gammaln(n - hits + 1) - gammaln(n + 2)
        gain = hits * math.log(rate) + (n - hits) * math.log1p(-rate)
        shares.append(float(np.mean((log_beta - gain >= math.log(20.0)).any(axis=1))))
    return shares


# cost and latency ---------------------------------------------------------------------------------

COST_DESIGNS = list(product(SIZES, (3, 5), RATES, ICCS, (0.3, 0.8), (0.0, 1.0)))


def cost_misses(draws: int) -> tuple[list[float], list[float]]:
    """Per design of `COST_DESIGNS` (spread of episodes' costs, and what a failing attempt costs
    more): how often the upper bound of cost per success is below the truth, and how often that of a
    normal interval is."""
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
        low = sum(cost_below(p, c, true) for p, c in zip(passed, cost, strict=True))
        ours.append(low / draws)
        normal.append(float(np.mean(true - ratio > 1.96 * se)))
    return ours, normal


def cost_below(passed: np.ndarray[Any, Any], cost: np.ndarray[Any, Any], true: float) -> bool:
    """Whether the upper bound of `bounds.cost_upper` is below `true`: one evaluation, no root."""
    worst = float(cost.max()) * (1.0 + 10.0 / len(cost))
    weights = [Weight(true * int(p) - float(c), 1) for p, c in zip(passed, cost, strict=True)]
    return below_zero([*weights, Weight(-worst, 1)]) < 0.025


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


@cache
def _limit(episodes: int, gained: float, lost: float) -> float:
    return tango_limits(episodes, gained, lost, 1.6448536269514722).low


def gate_passes(drop: str, draws: int) -> list[float]:
    """Per design of `GATE_DESIGNS`: how often non-inferiority by five points is shown."""
    shares = []
    for number, (episodes, attempts, rate) in enumerate(GATE_DESIGNS):
        rng = rng_of(5 + ("none", "diffuse", "broken").index(drop), number)
        shown = 0
        for now, then in _pairs(rng, draws, episodes, attempts, rate, drop):
            d = np.round((now - then) * attempts).astype(int)
            total, squares = int(d.sum()) / attempts, int((d * d).sum()) / attempts**2
            shown += _limit(episodes, (squares + total) / 2, (squares - total) / 2) > -MARGIN
        shares.append(shown / draws)
    return shares


POINT_SIZES = ((30, 3), (30, 5), (60, 3), (60, 5), (100, 3), (100, 5))
POINT_DESIGNS = list(product((0.8, 0.9, 0.95, 0.97, 0.99), (0.1, 0.3, 0.6)))


def point_fails(episodes: int, attempts: int, draws: int, drop: float = 0.0) -> list[float]:
    """Per design of `POINT_DESIGNS`: how often point mode finds a regression, by the score test or
    by a dead episode, where every episode's rate is lowered by the share `drop`."""
    shares = []
    for number, (rate, icc) in enumerate(POINT_DESIGNS):
        rng = rng_of(50, number * 1000 + episodes * 10 + attempts + round(drop * 100) * 100_000)
        true = rng.beta(*beta_of(rate, icc), (draws, episodes))
        now = rng.binomial(attempts, true * (1.0 - drop / rate))
        then = rng.binomial(attempts, true)
        d = (now - then) / attempts
        squares = (d * d).sum(axis=1)
        score = d.sum(axis=1) / np.sqrt(np.where(squares > 0, squares, 1.0))
        worse = score < norm.ppf(0.05)
        if attempts >= 5:
            worse |= ((then == attempts) & (now == 0)).any(axis=1)
        shares.append(float(np.mean(worse)))
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
        ["pass^3, two-sided", len(HAT_DESIGNS), few, summed(pass_hat_coverage(few))],
    ]  # fmt: skip
    clustered, plain = latency_coverage(few)
    rows += [
        ["p95 latency, upper limit with episodes as clusters (strict)", len(LATENCY_DESIGNS), few,
         summed(clustered)],
        ["p95 latency, upper limit by attempts (shown)", len(LATENCY_DESIGNS), few,
         summed(plain)],
    ]  # fmt: skip
    lines = ["| interval | designs | draws each | mean | 10th percentile | least |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for name, designs, made, found in rows:
        figures = " | ".join(f"{x:.3f}" for x in found)
        lines.append(f"| {name} | {designs} | {made} | {figures} |")
    lines += ["", "| one-sided bound: how often it misses | nominal | designs | draws each | mean |"
              " worst |", "|---|---|---|---|---|---|"]  # fmt: skip
    ours, normal = cost_misses(max(few // 4, 50))
    costs = max(few // 4, 50)
    for name, nominal, designs, made, missed in (
        ("rate, lower", 0.05, len(BOUND_DESIGNS), few, rate_misses(few)),
        ("pass^3, lower", 0.05, len(HAT_DESIGNS), few, pass_hat_misses(few)),
        ("cost per success without a cap, upper", 0.025, len(COST_DESIGNS), costs,
         Misses(float(np.mean(ours)), max(ours))),
        ("cost per success, ratio + 1.96 standard errors (never used)", 0.025, len(COST_DESIGNS),
         costs, Misses(float(np.mean(normal)), max(normal))),
        ("rate with `live` stopping, at any of 100 looks", 0.05, len(LIVE_DESIGNS), few,
         Misses(float(np.mean(live := ever_wrong_live(few))), max(live))),
    ):  # fmt: skip
        lines.append(
            f"| {name} | {nominal} | {designs} | {made} | {missed.mean:.3f} | {missed.worst:.3f} |"
        )
    lines += ["", "| the regression gate | designs | draws each | most | mean |",
              "|---|---|---|---|---|"]  # fmt: skip
    many = 2 * draws
    worse = [share for drop in ("diffuse", "broken") for share in gate_passes(drop, many)]
    gates = [
        ("strict, margin 0.05: passes a candidate that is five points worse", many, worse),
        (
            "strict, margin 0.05: passes a candidate that is as good",
            many,
            gate_passes("none", many),
        ),
    ]
    for episodes, attempts in POINT_SIZES:
        name = f"point, {episodes} × {attempts}"
        gates += [
            (f"{name}: fails an identical one", draws, point_fails(episodes, attempts, draws)),
            (f"{name}: finds one ten points worse", draws,
             point_fails(episodes, attempts, draws, 0.1)),
        ]  # fmt: skip
    for name, made, shares in gates:
        most, mean = max(shares), float(np.mean(shares))
        lines.append(f"| {name} | {len(shares)} | {made} | {most:.3f} | {mean:.3f} |")
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
