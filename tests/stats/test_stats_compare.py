"""Candidate against candidate: paired tables, per-episode differences, planning."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from reviewer.api.stats import (
    MIN_CHANGED_EPISODES,
    adjusted_paired_interval,
    benjamini_hochberg_adjust,
    bonett_price_paired,
    episodes_needed,
    failure_rate_upper_bound,
    fisher_exact,
    holm_adjust,
    labels_needed_for_accuracy,
    mcnemar_exact,
    mcnemar_midp,
    newcombe_independent,
    newcombe_paired,
    paired_bootstrap_percentile,
    paired_signflip_exact,
    power_paired_t,
    power_two_proportions,
    rate_lower_bound,
    runs_needed_for_max_rate,
    sample_size_half_width,
    tango_paired,
    zero_failure_sample_size,
)

TABLE = st.tuples(*[st.integers(0, 60)] * 4).filter(any)
INTERVALS = (newcombe_paired, tango_paired, bonett_price_paired)
FIFTHS = st.integers(0, 5).map(lambda passes: passes / 5)
PAIRS = st.lists(st.tuples(FIFTHS, FIFTHS), min_size=2, max_size=11)
P_VALUES = st.lists(st.floats(0, 1), max_size=20)


@given(TABLE)
def test_mcnemar_agrees_with_the_binomial_test(table):
    _, b, c, _ = table
    expected = stats.binomtest(b, b + c).pvalue if b + c else 1.0
    assert mcnemar_exact(*table) == pytest.approx(expected, rel=1e-9)
    # By symmetry of the two tails mid-p is the exact p less the weight of what was seen.
    assert mcnemar_midp(*table) <= mcnemar_exact(*table)
    if b != c:
        seen = stats.binom.pmf(b, b + c, 0.5)
        assert mcnemar_midp(*table) == pytest.approx(expected - seen, abs=1e-10)


@given(TABLE, st.floats(0.5, 0.99))
def test_paired_intervals_hold_the_difference_and_mirror(table, confidence):
    a, b, c, d = table
    for interval in INTERVALS:
        got = interval(*table, confidence)
        swapped = interval(a, c, b, d, confidence)
        assert -1 - 1e-12 <= got["low"] <= got["high"] <= 1 + 1e-12
        assert got["diff"] == pytest.approx((b - c) / sum(table))
        assert swapped["low"] == pytest.approx(-got["high"], abs=1e-9)
    assert tango_paired(*table)["low"] - 1e-9 <= (b - c) / sum(table)


def test_the_published_example():
    table = (1, 1, 7, 12)
    assert mcnemar_exact(*table) == pytest.approx(0.0703, abs=5e-5)
    assert mcnemar_midp(*table) == pytest.approx(0.0391, abs=5e-5)
    low, high = (newcombe_paired(*table)[key] for key in ("low", "high"))
    assert (round(low, 3), round(high, 3)) == (-0.507, -0.026)
    low, high = (tango_paired(*table)[key] for key in ("low", "high"))
    assert (round(low, 3), round(high, 3)) == (-0.517, -0.026)


def test_tango_at_the_ends():
    assert tango_paired(0, 0, 9, 0)["low"] == -1.0
    assert tango_paired(0, 9, 0, 0)["high"] == 1.0
    z2 = stats.norm.ppf(0.975) ** 2
    assert tango_paired(20, 0, 0, 10)["high"] == pytest.approx(z2 / (30 + z2))


def test_unchanged_episodes_needed_by_tango():
    for episodes, promoted in ((51, False), (52, True)):
        assert (tango_paired(episodes, 0, 0, 0, 0.90)["low"] > -0.05) is promoted


@given(TABLE, st.floats(0.5, 0.99))
def test_the_adjusted_bound_is_bonett_price_with_one_attempt_each(table, confidence):
    both, a_only, b_only, neither = table
    a = [1] * both + [1] * a_only + [0] * b_only + [0] * neither
    b = [1] * both + [0] * a_only + [1] * b_only + [0] * neither
    expected = bonett_price_paired(*table, confidence)
    got = adjusted_paired_interval(a, b, confidence)
    assert got == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=11))
@settings(max_examples=40, deadline=None)
def test_sign_flip_agrees_with_scipy(pairs):
    # Whole numbers, because scipy loses ties between rounded fractions and we do not.
    a, b = (list(column) for column in zip(*pairs, strict=True))
    theirs = stats.permutation_test(
        (np.array(a, float), np.array(b, float)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    got = paired_signflip_exact(a, b)
    assert got["p"] == pytest.approx(theirs.pvalue)
    assert got["diff"] == pytest.approx(theirs.statistic)


def test_sign_flip_counts_ties_of_rounded_fractions():
    # The differences -.2, .2, .2, -.2 sum to zero, so every pattern is as extreme.
    assert paired_signflip_exact([0.0, 0.2, 0.8, 0.8], [0.2, 0.0, 0.6, 1.0])["p"] == 1.0


def test_few_changed_episodes_can_never_be_significant():
    for changed in range(1, 10):
        a, b = [1.0] * 20, [0.0] * changed + [1.0] * (20 - changed)
        p = paired_signflip_exact(a, b)["p"]
        assert p == pytest.approx(2 / 2**changed)
        assert (p < 0.05) is (changed >= MIN_CHANGED_EPISODES)


def test_sign_flip_of_hundreds_of_episodes_is_exact():
    a, b = [1.0] * 300, [2 / 3, 1.0, 1 / 3] * 100
    assert paired_signflip_exact(a, b)["p"] < 1e-40
    assert paired_signflip_exact(b, b)["p"] == 1.0


def test_too_many_distinct_differences_are_refused():
    values = [math.sqrt(prime) / 40 for prime in range(2, 402)]
    with pytest.raises(ValueError, match="too many distinct differences"):
        paired_signflip_exact(values, [0.0] * 400)


def test_the_bootstrap_repeats_itself_and_has_no_width_without_change():
    a, b = [math.sqrt(i) for i in range(20)], [1.0] * 20
    assert paired_bootstrap_percentile(a, b) == paired_bootstrap_percentile(a, b)
    assert paired_bootstrap_percentile(a, b, seed=1) != paired_bootstrap_percentile(a, b, seed=2)
    assert paired_bootstrap_percentile(a, a) == (0.0, 0.0)


@pytest.mark.parametrize("call", [adjusted_paired_interval, paired_signflip_exact])
def test_unpaired_or_missing_scores_are_refused(call):
    with pytest.raises(ValueError, match="a and b must be equally long"):
        call([1.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="a and b must not be empty"):
        call([], [])
    with pytest.raises(ValueError, match=r"b\[0\] must be finite"):
        call([1.0], [math.nan])


def test_impossible_tables_are_refused():
    for call in (*INTERVALS, mcnemar_exact, mcnemar_midp):
        with pytest.raises(ValueError, match="at least one episode"):
            call(0, 0, 0, 0)
        with pytest.raises(ValueError, match="b_only must be at least 0"):
            call(1, 1, -1, 1)
    with pytest.raises(ValueError, match="x1 must be between 0 and n1"):
        newcombe_independent(4, 3, 1, 3)


@given(P_VALUES)
def test_adjusted_p_values_keep_their_order_and_agree_with_scipy(p):
    holm, bh = holm_adjust(p), benjamini_hochberg_adjust(p)
    if p:
        assert bh == pytest.approx(list(stats.false_discovery_control(p)))
    for i in range(len(p)):
        assert p[i] - 1e-12 <= bh[i] <= holm[i] + 1e-12
        assert holm[i] <= min(1.0, p[i] * len(p)) + 1e-12 or any(q < p[i] for q in p)
    order = sorted(range(len(p)), key=p.__getitem__)
    assert [holm[i] for i in order] == sorted(holm)
    assert [bh[i] for i in order] == sorted(bh)


@pytest.mark.parametrize(
    ("events", "rate", "needed"), [(0, 0.05, 59), (0, 0.02, 149), (0, 0.01, 299), (0, 0.005, 598)]
)
def test_clean_runs_of_the_guide(events, rate, needed):
    assert zero_failure_sample_size(rate) == runs_needed_for_max_rate(events, rate) == needed


def test_labels_of_the_guide():
    assert [labels_needed_for_accuracy(e) for e in range(6)] == [29, 46, 61, 76, 89, 103]
    assert [runs_needed_for_max_rate(e) for e in range(5)] == [59, 93, 124, 153, 181]
    assert runs_needed_for_max_rate(1, 0.01) == 473
    assert zero_failure_sample_size(0.001) == 2995


@given(st.integers(0, 12), st.floats(0.02, 0.5), st.floats(0.5, 0.99))
def test_the_needed_size_is_the_smallest(events, rate, confidence):
    n = runs_needed_for_max_rate(events, rate, confidence)
    assert failure_rate_upper_bound(events, n, confidence) <= rate + 1e-9
    assert n == events + 1 or failure_rate_upper_bound(events, n - 1, confidence) > rate - 1e-9
    m = labels_needed_for_accuracy(events, 1 - rate, confidence)
    assert rate_lower_bound(successes=m - events, total=m, confidence=confidence) >= 1 - rate - 1e-9


@pytest.mark.parametrize(
    ("icc", "correlation", "delta", "attempts", "needed"),
    [
        (0.5, 0.9, 0.05, 1, 441),
        (0.5, 0.9, 0.05, 3, 174),
        (0.5, 0.5, 0.05, 5, 281),
        (0.1, 0.9, 0.05, 10, 81),
        (0.5, 0.9, 0.10, 3, 44),
        (0.1, 0.9, 0.10, 3, 63),
    ],
)
def test_the_planning_table_of_the_guide(icc, correlation, delta, attempts, needed):
    total = 0.85 * 0.15
    between, within = icc * total, (1 - icc) * total
    omega = 2 * between * (1 - correlation)
    assert episodes_needed(delta, omega, within, within, attempts) == needed


def test_plans_without_a_target_are_refused():
    with pytest.raises(ValueError, match="p1 and p2 must differ"):
        power_two_proportions(0.9, 0.9)
    with pytest.raises(ValueError, match="delta and sd_diff must not be 0"):
        power_paired_t(0, 0.3)
    with pytest.raises(ValueError, match="delta must not be 0"):
        episodes_needed(0, 0.1, 0.1, 0.1, 3)
    with pytest.raises(ValueError, match="max_rate"):
        zero_failure_sample_size(0)
    with pytest.raises(ValueError, match="half_width"):
        sample_size_half_width(0.5, 0)
    with pytest.raises(ValueError, match="choose a looser target"):
        zero_failure_sample_size(1e-15)


@given(st.integers(0, 60), st.integers(0, 60), st.data())
def test_fishers_exact_test_is_scipys(n, m, data):
    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    known = stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue
    assert fisher_exact((a, n), (b, m)) == pytest.approx(known, rel=1e-9)


def test_fishers_exact_test_takes_large_counts_and_refuses_impossible_ones():
    known = stats.fisher_exact([[40, 9960], [75, 9925]]).pvalue
    assert fisher_exact((40, 10_000), (75, 10_000)) == pytest.approx(known, rel=1e-6)
    with pytest.raises(ValueError, match="between 0 and total"):
        fisher_exact((3, 2), (0, 2))
