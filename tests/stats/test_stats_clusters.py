"""Clustered rates, cost per success, latency."""

import math
from array import array
from itertools import accumulate, chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reviewer.api.stats import (
    clustered_se,
    cost_per_success,
    icc1,
    korn_graubard_interval,
    latency_quantile,
    latency_summary,
    quantile_interval,
    summarize,
    wilson_effective,
    wilson_interval,
)
from reviewer.stats.cost_latency import Ordered

GROUPS = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=5), min_size=2, max_size=12)
LATENCIES = st.lists(st.floats(0, 1e7), min_size=1, max_size=120)


@given(GROUPS)
def test_effective_size_stays_between_one_and_the_attempts(groups):
    got = wilson_effective(groups)
    flat = [x for group in groups for x in group]
    assert got.value == pytest.approx(sum(flat) / len(flat))
    assert 1 <= got.n_eff <= max(len(flat), len(groups))
    assert 0 <= got.low <= got.value + 1e-12
    assert got.value - 1e-12 <= got.high <= 1


@given(GROUPS)
def test_one_attempt_per_episode_is_the_ordinary_standard_error(groups):
    flat = [x for group in groups for x in group]
    singles = [[x] for x in flat]
    assert clustered_se(singles) == pytest.approx(stats.sem(flat), abs=1e-12)


@given(GROUPS, st.integers(2, 4))
def test_repeating_every_attempt_adds_no_evidence(groups, times):
    repeated = [group * times for group in groups]
    assert clustered_se(repeated) == pytest.approx(clustered_se(groups), abs=1e-12)


@given(GROUPS)
def test_korn_graubard_contains_the_rate(groups):
    low, high = korn_graubard_interval(groups)
    rate = wilson_effective(groups).value
    assert 0 <= low <= rate + 1e-9
    assert rate - 1e-9 <= high <= 1


def test_all_passing_is_worth_the_episodes():
    got = wilson_effective([[1, 1, 1]] * 4)
    assert got.n_eff == 4
    assert (got.low, got.high) == wilson_interval(4, 4)


def test_one_episode_says_nothing_about_others():
    assert clustered_se([[1, 0, 1]]) is None
    assert korn_graubard_interval([[1, 0, 1]]) is None
    assert wilson_effective([[1, 0, 1]]).n_eff == 1


def test_icc_of_identical_and_of_unlike_attempts():
    assert icc1([[1, 1, 1], [0, 0, 0], [1, 1, 1]]) == 1.0
    assert icc1([[1, 0], [0, 1], [1, 0]]) == pytest.approx(-1.0)
    assert icc1([[1, 1], [1, 1]]) is None
    assert icc1([[1], [0]]) is None
    assert icc1([[1, 0]]) is None


def test_icc_of_unequal_groups_uses_the_average_size():
    groups = [[1, 1, 0], [0, 0], [1, 1, 1, 1]]
    n0 = (9 - (9 + 4 + 16) / 9) / 2
    flat = [x for g in groups for x in g]
    grand = sum(flat) / 9
    msb = sum(len(g) * (sum(g) / len(g) - grand) ** 2 for g in groups) / 2
    msw = sum((x - sum(g) / len(g)) ** 2 for g in groups for x in g) / 6
    assert icc1(groups) == pytest.approx((msb - msw) / (msb + (n0 - 1) * msw))


@pytest.mark.parametrize("call", [clustered_se, wilson_effective, icc1, korn_graubard_interval])
def test_empty_and_non_finite_groups_are_refused(call):
    with pytest.raises(ValueError, match="groups must not be empty"):
        call([])
    with pytest.raises(ValueError, match=r"groups\[1\] must hold at least one attempt"):
        call([[1, 0], []])
    with pytest.raises(ValueError, match=r"groups\[0\]\[1\] must be finite"):
        call([[1, math.nan], [1, 1]])


def test_scores_beyond_a_rate_are_refused():
    with pytest.raises(ValueError, match=r"groups\[0\] must hold scores between 0 and 1"):
        wilson_effective([[2, 1], [1, 1]])


def test_cost_counts_failed_attempts_too():
    got = cost_per_success([[1, 0], [0, 1]], [[0.1, 0.2], [0.3, 0.4]])
    assert got["cpst"] == pytest.approx(0.5)
    # Each episode: d = cost - 0.5·passes = -0.2, 0.2; sqrt(2/1·0.08)/2.
    assert got["se"] == pytest.approx(math.sqrt(0.16) / 2)


def test_cost_without_a_success_is_null():
    assert cost_per_success([[0, 0]], [[0.1, 0.2]]) == {"cpst": None, "se": None}
    assert cost_per_success([], []) == {"cpst": None, "se": None}
    assert cost_per_success([[1]], [[0.1]]) == {"cpst": 0.1, "se": None}


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.01, None, "0.1"])
def test_a_cost_that_is_no_amount_is_refused(bad):
    with pytest.raises(ValueError, match=r"cost_groups\[0\]\[1\] must"):
        cost_per_success([[1, 1]], [[0.1, bad]])
    result = {"passed": True, "critical_safety": False}
    if bad is None:
        assert summarize([{**result, "cost_usd": None}])["total_cost_usd"] is None
    else:
        with pytest.raises(ValueError, match=r"results\[0\].cost_usd must"):
            summarize([{**result, "cost_usd": bad}])


def test_misaligned_costs_are_refused():
    with pytest.raises(ValueError, match="equally long"):
        cost_per_success([[1]], [])
    with pytest.raises(ValueError, match=r"cost_groups\[0\] must hold one cost per attempt"):
        cost_per_success([[1, 1]], [[0.1]])


@pytest.mark.parametrize("field", ["passed", "critical_safety", "cost_usd"])
def test_a_summary_needs_every_answer(field):
    result = {"passed": True, "critical_safety": False, "cost_usd": 0.1}
    del result[field]
    with pytest.raises(ValueError, match=rf"results\[0\]\.{field}"):
        summarize([result])


def test_a_summary_without_a_pass_has_no_cost_per_success():
    got = summarize([{"passed": False, "critical_safety": False, "cost_usd": 0.1}])
    assert got["cost_per_success_usd"] is None
    assert got["release_allowed"] is False
    assert got["reason"] is None


@given(LATENCIES, st.floats(0, 1))
def test_quantiles_agree_with_numpy(values, q):
    assert latency_quantile(values, q) == pytest.approx(float(np.quantile(values, q)), rel=1e-9)


@given(LATENCIES, st.floats(0.01, 0.99), st.floats(0.5, 0.99))
def test_quantile_limits_agree_with_scipy(values, q, confidence):
    theirs = stats.quantile_test(values, p=q).confidence_interval(confidence)
    expected = [None if math.isnan(x) else x for x in (theirs.low, theirs.high)]
    assert list(quantile_interval(values, q, confidence)) == expected


@pytest.mark.parametrize(("q", "n"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368)])
def test_limits_are_finite_from_the_planned_sizes(q, n):
    assert None not in quantile_interval(list(range(n)), q)
    assert None in quantile_interval(list(range(n - 1)), q)


def test_no_latencies_no_figures():
    assert latency_quantile([], 0.5) is None
    assert tuple(quantile_interval([], 0.5)) == (None, None)
    got = latency_summary([])
    assert (got["n"], got["max"], got["p95"]["value"]) == (0, None, None)


def test_quantiles_that_stand_on_a_timeout_say_at_least():
    values = [100.0] * 8 + [60000.0] * 2
    got = latency_summary(values, [v == 60000.0 for v in values])
    assert (got["n"], got["censored"], got["max"]) == (10, 2, 60000.0)
    assert got["p50"] == {"value": 100.0, "low": 100.0, "high": 60000.0, "at_least": False}
    assert got["p95"]["at_least"] is True
    # p90 interpolates between two values of which the upper is censored.
    assert latency_summary([*values, 1.0], [False] * 8 + [True] * 2 + [False])["p90"]["at_least"]
    assert latency_summary(values)["p95"]["at_least"] is False


@pytest.mark.parametrize("bad", [math.nan, -1.0, None])
def test_a_latency_that_is_no_duration_is_refused(bad):
    for call in (lambda v: latency_quantile(v, 0.5), lambda v: quantile_interval(v, 0.5)):
        with pytest.raises(ValueError, match=r"values\[1\] must"):
            call([1.0, bad])
    with pytest.raises(ValueError, match=r"values\[1\] must"):
        latency_summary([1.0, bad])


def test_misaligned_timeouts_are_refused():
    with pytest.raises(ValueError, match="values and timed_out must be equally long"):
        latency_summary([1.0, 2.0], [True])


@given(st.lists(st.lists(st.floats(0, 1e9), max_size=300).map(sorted), max_size=9))
def test_parts_in_order_are_merged_as_all_values_are_sorted(parts: list[list[float]]) -> None:
    values = array("d", chain.from_iterable(parts))
    ends = list(accumulate(map(len, parts)))
    assert list(Ordered.merged(values, ends)) == sorted(values)


@pytest.mark.parametrize("wrong", [-1.0, math.inf, math.nan])
def test_parts_with_a_value_that_is_no_duration_are_refused(wrong: float) -> None:
    values = array("d", sorted([3.0, wrong, *map(float, range(200))]))
    with pytest.raises(ValueError, match=r"values\["):
        Ordered.merged(values, [len(values)])
