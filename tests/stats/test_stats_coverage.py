"""Intervals hold the truth as often as they say, and the gate passes no more than it may: small
simulations here, large ones by night (`simulations`)."""

import re

import pytest
import simulations as sim
from hypothesis import given
from hypothesis import strategies as st

from reviewer.api.stats import wilson_effective
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
    assert rate.lower <= rate.value <= rate.upper


def test_the_bound_of_a_strict_limit_is_on_the_safe_side() -> None:
    found = sim.summed(sim.rate_coverage(sim.lower_only, 60))
    assert found.mean >= 0.95
    assert found.least >= 0.80  # of 60 draws


def test_pass_hat_holds_the_truth_too() -> None:
    two, lower = sim.pass_hat_coverage(40)
    assert sim.summed(two).mean >= LEAST
    assert sim.summed(lower).mean >= 0.95


def test_cost_per_success_does_better_than_a_normal_interval() -> None:
    ours, normal = sim.cost_coverage(20)
    assert sim.summed(ours).mean >= 0.90
    assert sim.summed(normal).mean < sim.summed(ours).mean - 0.03


def test_latency_takes_attempts_of_an_episode_together() -> None:
    clustered, plain = sim.latency_coverage(60)
    assert sim.summed(clustered).least >= 0.90
    assert sim.summed(clustered).mean > sim.summed(plain).mean


def test_the_regression_gate_rarely_passes_what_is_five_points_worse() -> None:
    for drop in ("diffuse", "broken"):
        shares = sim.gate_passes(drop, 150)
        assert max(shares) <= 0.15  # of 150 draws
        assert sum(shares) / len(shares) <= 0.05
    assert max(sim.gate_passes("none", 60)) >= 0.95


def test_looking_often_is_paid_for_once() -> None:
    once, always = sim.ever_wrong(0.9, 300, 150)
    assert always <= 0.05
    assert once >= 0.25


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
