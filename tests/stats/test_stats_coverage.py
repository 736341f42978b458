"""Intervals hold the truth as often as they say, and the gate passes no more than it may: small
simulations here, large ones by night (`simulations`)."""

import re

import numpy as np
import pytest
import simulations as sim
from hypothesis import given
from hypothesis import strategies as st

from reviewer.api.stats import rate_lower_bound, wilson_effective
from reviewer.report.rates import rate_of

DRAWS = 250
LEAST = 0.93
"""Mean coverage of a nominal 95 % over the designs."""


def test_the_interval_of_a_rate_holds_the_truth() -> None:
    found = sim.summed(sim.rate_coverage(sim.on_episodes, DRAWS))
    assert len(sim.RATE_DESIGNS) == 126
    assert found.mean >= LEAST
    assert found.tenth >= 0.90


def test_with_attempts_taken_for_episodes_it_would_not() -> None:
    assert sim.summed(sim.rate_coverage(sim.on_attempts, DRAWS)).mean < LEAST - 0.05


COUNTS = st.lists(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    min_size=1,
    max_size=30,
)


@given(COUNTS)
def test_it_is_the_interval_that_reports_print(counts: list[tuple[int, int]]) -> None:
    rate = rate_of(counts, 0)
    assert (rate.low, rate.high) == pytest.approx(sim.on_episodes(tuple(counts)), abs=1e-11)
    groups = [[1] * passed + [0] * (made - passed) for made, passed in counts]
    of_groups = wilson_effective(groups)
    assert (rate.low, rate.high) == pytest.approx((of_groups.low, of_groups.high), abs=1e-9)
    assert rate.lower is not None
    assert rate.upper is not None
    assert rate.lower <= sum(p / n for n, p in counts) / len(counts) <= rate.upper


SOME = [
    sim.BoundDesign(20, 10, 0.95, 0.6),  # missed by 11 % by bounds on an effective number
    sim.BoundDesign(3, 3, 0.8, "always or never"),
    sim.BoundDesign(10, 0, 0.9, 0.3),
    sim.BoundDesign(60, 5, 0.97, "dead and flaky"),
]


@pytest.mark.parametrize("design", SOME, ids=str)
def test_the_bound_of_a_rate_misses_no_more_than_it_says(design: sim.BoundDesign) -> None:
    assert sim.bound_misses(design, 1500, 2) <= 0.066  # of 1500 draws


def test_bounds_that_take_attempts_for_episodes_would_miss_more() -> None:
    """The check can fail: the same attempts as if each were an episode of its own."""
    rng = np.random.default_rng(3)
    made = sim.passes(rng, 1500, 20, 10, 0.95, 0.6).sum(axis=1)
    ones = (np.arange(200)[None, :] < made[:, None]).astype(float)
    assert sim.share_above(ones, 0.95) > 0.2


@given(COUNTS)
def test_the_simulations_bound_is_the_products(counts: list[tuple[int, int]]) -> None:
    low = rate_lower_bound(counts)
    scores, places = np.unique([p / n for n, p in counts], return_inverse=True)
    row = np.bincount(places, minlength=len(scores))[None, :]
    if 1e-3 < low < max(scores) - 1e-3:
        assert sim.tails(scores, row, low)[0] == pytest.approx(0.05, abs=1e-5)


def test_pass_hat_holds_the_truth_too() -> None:
    assert sim.summed(sim.pass_hat_coverage(40)).mean >= LEAST


def test_the_bound_of_the_cost_misses_less_than_a_normal_interval() -> None:
    ours, normal = sim.cost_misses(6)
    assert sum(ours) / len(ours) <= 0.025
    assert sum(normal) / len(normal) > 0.05


def test_bounds_at_every_look_hold_at_every_look() -> None:
    assert max(sim.ever_wrong_live(200)) <= 0.05


@pytest.mark.parametrize(("episodes", "attempts"), [(30, 3), (60, 5)])
def test_identical_agents_are_rarely_told_apart(episodes: int, attempts: int) -> None:
    shares = sim.point_fails(episodes, attempts, 800)
    assert sum(shares) / len(shares) <= 0.06
    assert max(shares) <= 0.09  # of 800 draws
    found = sim.point_fails(episodes, attempts, 400, drop=0.2)
    assert sum(found) / len(found) >= 0.9


def test_latency_takes_attempts_of_an_episode_together() -> None:
    clustered, plain = sim.latency_coverage(60)
    assert sim.summed(clustered).least >= 0.90
    assert sim.summed(clustered).mean > sim.summed(plain).mean


def test_the_regression_gate_rarely_passes_what_is_five_points_worse() -> None:
    for drop in ("diffuse", "broken"):
        shares = sim.gate_passes(drop, 150)
        assert max(shares) <= 0.10  # of 150 draws
        assert sum(shares) / len(shares) <= 0.05
    assert max(sim.gate_passes("none", 60)) >= 0.95


def test_looking_often_is_paid_for_once() -> None:
    once, always = sim.ever_wrong(0.9, 300, 150)
    assert always <= 0.05
    assert once >= 0.25


@pytest.mark.nightly
def test_no_design_misses_more_than_the_bounds_say() -> None:
    rates = sim.rate_misses(500)
    assert rates.worst <= 0.055
    assert sim.pass_hat_misses(500).worst <= 0.055


@pytest.mark.nightly
@pytest.mark.parametrize(("episodes", "attempts"), sim.POINT_SIZES)
def test_no_design_of_identical_agents_fails_more_often_than_said(
    episodes: int, attempts: int
) -> None:
    shares = sim.point_fails(episodes, attempts, 8000)
    assert sum(shares) / len(shares) <= 0.06
    assert max(shares) <= 0.08


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"(?<![\w^.])\d+(?:\.\d+)?(?![\w.])", text)]


def test_the_page_holds_a_table_of_every_simulation() -> None:
    page = sim.PAGE.read_text(encoding="utf-8")
    kept = page.partition(sim.BEGIN)[2].partition(sim.END)[0]
    assert len(numbers(kept)) > 50


@pytest.mark.nightly
def test_the_figures_of_the_page_are_those_of_the_simulations() -> None:
    page = sim.PAGE.read_text(encoding="utf-8")
    kept = page.partition(sim.BEGIN)[2].partition(sim.END)[0].strip()
    (draws,) = {int(n) for n in re.findall(r"\| 126 \| (\d+) \|", kept)}
    made = sim.tables(draws).strip()
    names = [re.sub(r"[\d.]+", "#", line) for line in kept.splitlines()]
    assert names == [re.sub(r"[\d.]+", "#", line) for line in made.splitlines()]
    assert numbers(kept) == pytest.approx(numbers(made), abs=0.01)
