"""The Dirichlet bound: monotone, Clopper-Pearson where that exists, and exact elsewhere."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.api.stats import (
    clopper_pearson,
    cost_per_success_lower_bound,
    cost_per_success_upper_bound,
    judge_accuracy_lower_bound,
    judge_flip_upper_bound,
    pass_hat_lower_bound,
    pass_hat_upper_bound,
    rate_lower_bound,
    rate_upper_bound,
)
from reviewer.stats.dirichlet import Weight, below_zero, mean_lower_bound

NEAR = 1e-10
"""Far below what a report prints, far above what the inversion leaves open."""

EPISODE = st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
COUNTS = st.lists(EPISODE, min_size=1, max_size=40)
CONFIDENCE = st.sampled_from([0.8, 0.9, 0.95, 0.975, 0.99])


@given(COUNTS, st.data(), CONFIDENCE)
def test_a_pass_turned_into_a_failure_raises_no_bound(counts, data, confidence):
    at = data.draw(st.sampled_from(range(len(counts))))
    made, passed = counts[at]
    worse = list(counts)
    worse[at] = (made, max(0, passed - data.draw(st.integers(1, 3))))
    for bound in rate_lower_bound, rate_upper_bound:
        assert bound(worse, confidence) <= bound(counts, confidence) + NEAR
    k = min(made for made, _ in counts)
    for bound in pass_hat_lower_bound, pass_hat_upper_bound:
        assert bound(worse, k, confidence) <= bound(counts, k, confidence) + NEAR


@given(COUNTS, CONFIDENCE)
def test_another_episode_moves_the_bound_its_own_way(counts, confidence):
    bound = rate_lower_bound(counts, confidence)
    assert rate_lower_bound([*counts, (3, 3)], confidence) >= bound - NEAR
    assert rate_lower_bound([*counts, (3, 0)], confidence) <= bound + NEAR


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 10), CONFIDENCE)
def test_episodes_that_always_pass_or_always_fail_give_clopper_pearson(good, bad, made, confidence):
    if not good + bad:
        return
    counts = [(made, made)] * good + [(made, 0)] * bad
    exact = clopper_pearson(good, good + bad, 2 * confidence - 1)
    assert rate_lower_bound(counts, confidence) == pytest.approx(exact.low, abs=NEAR)
    assert rate_upper_bound(counts, confidence) == pytest.approx(exact.high, abs=NEAR)
    assert rate_lower_bound(successes=good, total=good + bad, confidence=confidence) == (
        pytest.approx(exact.low, abs=NEAR)
    )


@given(COUNTS, CONFIDENCE)
def test_it_is_never_below_clopper_pearson_on_stable_episodes(counts, confidence):
    stable = sum(made == passed for made, passed in counts)
    least = clopper_pearson(stable, len(counts), 2 * confidence - 1).low
    rate = sum(Fraction(p, n) for n, p in counts) / len(counts)
    low, high = rate_lower_bound(counts, confidence), rate_upper_bound(counts, confidence)
    assert least - NEAR <= low <= rate + NEAR
    assert rate - NEAR <= high <= 1.0


@given(st.integers(1, 200), st.integers(1, 9), st.integers(1, 9), CONFIDENCE)
def test_equal_episodes_have_a_closed_form(episodes, made, passed, confidence):
    counts = [(made, min(made, passed))] * episodes
    value = min(made, passed) / made
    expected = value * (1.0 - confidence) ** (1.0 / episodes)
    assert rate_lower_bound(counts, confidence) == pytest.approx(expected, abs=NEAR)


@given(st.lists(EPISODE, min_size=1, max_size=12, unique_by=lambda e: Fraction(e[1], e[0])))
def test_distinct_scores_have_one_too(counts):
    """P(Σ w·E <= 0) of distinct weights is a sum over the negative ones (hypoexponential)."""
    low = Fraction(rate_lower_bound(counts)).limit_denominator(10**9)
    weights = [Fraction(p, n) - low for n, p in counts] + [-low]
    if low <= 0 or len(set(weights)) < len(weights):
        return
    positive = sum(
        (math.prod((w / (w - v) for v in weights if v != w), start=Fraction(1)) for w in weights
         if w > 0), Fraction(0)
    )  # fmt: skip
    found = below_zero([Weight(float(w), 1) for w in weights])
    assert found == pytest.approx(float(1 - positive), abs=1e-11)
    assert found == pytest.approx(0.05, abs=1e-7)


def test_what_was_held_and_what_was_promoted():
    clean = [(10, 10)] * 20
    assert rate_lower_bound(clean) == pytest.approx(0.05 ** (1 / 20))
    assert rate_lower_bound([*clean[1:], (10, 9)]) == pytest.approx(0.85637, abs=1e-5)
    assert rate_lower_bound([(10, 9)] * 20) == pytest.approx(0.77480, abs=1e-5)


@given(COUNTS, st.permutations(range(40)))
def test_no_order_matters_and_empty_episodes_do_not_count(counts, order):
    mixed = [counts[i] for i in order if i < len(counts)]
    assert rate_lower_bound([*mixed, (0, 0)]) == pytest.approx(rate_lower_bound(counts), abs=1e-12)


@pytest.mark.parametrize("episodes", [1, 2, 30, 400])
def test_it_is_a_quantile_of_weighted_means(episodes):
    rng = np.random.default_rng(episodes)
    passed = rng.binomial(5, 0.85, episodes)
    low = rate_lower_bound([(5, int(p)) for p in passed])
    draws = rng.exponential(size=(40_000, episodes + 1))
    means = draws[:, 1:] @ (passed / 5) / draws.sum(axis=1)
    assert float(np.mean(means <= low)) == pytest.approx(0.05, abs=0.005)


def test_many_episodes_are_merged():
    counts = [(10, 10 - i % 4) for i in range(100_000)]
    assert rate_lower_bound(counts) == pytest.approx(0.85 - 1.645 * 0.1118 / 316.2, abs=1e-4)


def test_what_it_refuses():
    for counts in [], [(0, 0)], [(3, 4)], [(3, -1)]:
        with pytest.raises(ValueError, match="episode"):
            rate_lower_bound(counts)
    for level in 0, 1, 95, float("nan"):
        with pytest.raises(ValueError, match="confidence"):
            rate_lower_bound([(3, 3)], level)
    with pytest.raises(ValueError, match="fewer than k"):
        pass_hat_lower_bound([(3, 3), (2, 2)], 3)
    with pytest.raises(ValueError, match="scores must be -1 or more"):
        mean_lower_bound([(Fraction(-2), 1)], least=-1)
    with pytest.raises(ValueError, match="counts, or successes and total"):
        rate_lower_bound()


# judges -------------------------------------------------------------------------------------------


def test_pairs_of_an_episode_are_one_cluster():
    few = [{"pairs": 20, "right": 20}] * 3
    assert judge_accuracy_lower_bound(few) == pytest.approx(0.05 ** (1 / 3))
    assert judge_accuracy_lower_bound([{"pairs": 1, "right": 1}] * 29) >= 0.90
    flips = [{"pairs": 5, "flips": 0}] * 59
    assert judge_flip_upper_bound(flips) <= 0.05 < judge_flip_upper_bound(flips[1:])
    with pytest.raises(ValueError, match=r"episodes\[0\]\.flips is missing"):
        judge_flip_upper_bound(few)


# cost per success ---------------------------------------------------------------------------------

SPENT = st.lists(
    st.tuples(st.integers(0, 5), st.floats(0.0, 10.0).map(lambda x: round(x, 4))),
    min_size=2,
    max_size=25,
)


@given(SPENT, st.data())
def test_dearer_attempts_and_lost_passes_never_lower_the_bound_of_the_cost(spent, data):
    at = data.draw(st.sampled_from(range(len(spent))))
    passes, costs = [p for p, _ in spent], [c for _, c in spent]
    bound = cost_per_success_upper_bound(passes, costs)
    dearer = list(costs)
    dearer[at] += data.draw(st.floats(0.0, 5.0))
    assert cost_per_success_upper_bound(passes, dearer) >= bound * (1 - 1e-9)
    fewer = list(passes)
    fewer[at] = max(0, fewer[at] - 1)
    assert cost_per_success_upper_bound(fewer, costs) >= bound * (1 - 1e-9)
    if sum(passes):
        ratio = sum(costs) / sum(passes)
        assert cost_per_success_lower_bound(passes, costs, 5) <= ratio * (1 + 1e-9)
        assert ratio <= bound * (1 + 1e-9)


@given(SPENT, st.floats(0.001, 1000.0))
def test_the_currency_does_not_matter(spent, rate):
    passes, costs = [p for p, _ in spent], [c for _, c in spent]
    bound = cost_per_success_upper_bound(passes, costs)
    other = cost_per_success_upper_bound(passes, [c * rate for c in costs])
    assert other == pytest.approx(bound * rate, rel=1e-8)


@pytest.mark.parametrize(("episodes", "expected"), [(3, 0.345), (30, 0.0352), (60, 0.0322)])
def test_it_does_not_collapse_when_all_costs_agree(episodes, expected):
    bound = cost_per_success_upper_bound([3] * episodes, [0.09] * episodes)
    assert bound == pytest.approx(expected, rel=0.005)


def test_a_cap_takes_the_place_of_the_dearest_episode():
    passes, costs = [3] * 10, [0.05 + 0.01 * i for i in range(10)]
    free = cost_per_success_upper_bound(passes, costs)
    assert cost_per_success_upper_bound(passes, costs, most=0.14 * 2) == pytest.approx(free)
    assert cost_per_success_upper_bound(passes, costs, most=0.15) < free
    assert cost_per_success_upper_bound(passes, costs, most=3.0) > free
    with pytest.raises(ValueError, match="dearest"):
        cost_per_success_upper_bound(passes, costs, most=0.1)


def test_where_there_is_nothing_to_show():
    assert cost_per_success_upper_bound([0, 0], [1.0, 2.0]) == math.inf
    assert cost_per_success_upper_bound([3], [1.0]) == math.inf
    assert cost_per_success_upper_bound([3, 2], [0.0, 0.0]) == 0.0
    assert cost_per_success_lower_bound([3, 2], [0.0, 0.0], 3) == 0.0
    with pytest.raises(ValueError, match=r"costs\[1\] must not be negative"):
        cost_per_success_upper_bound([1, 1], [1.0, -1.0])
    with pytest.raises(ValueError, match="equally long"):
        cost_per_success_upper_bound([1, 1], [1.0])


def test_both_bounds_of_the_cost_are_quantiles_of_weighted_ratios():
    rng = np.random.default_rng(7)
    passes, costs = rng.binomial(5, 0.8, 40), rng.lognormal(-2.0, 0.7, 40)
    v = rng.exponential(size=(60_000, 41))
    most = float(costs.max()) * 1.25
    high = cost_per_success_upper_bound(passes.tolist(), costs.tolist())
    above = (v[:, 1:] @ costs + most * v[:, 0]) / (v[:, 1:] @ passes)
    assert float(np.mean(above >= high)) == pytest.approx(0.025, abs=0.003)
    low = cost_per_success_lower_bound(passes.tolist(), costs.tolist(), 5)
    below = (v[:, 1:] @ costs) / (v[:, 1:] @ passes + 5 * v[:, 0])
    assert float(np.mean(below <= low)) == pytest.approx(0.025, abs=0.003)
