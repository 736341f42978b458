"""Intervals of one rate: agreement with scipy, ordering, bounds, refusals."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special, stats

from reviewer.api.stats import (
    clopper_pearson,
    effective_runs,
    failure_rate_upper_bound,
    jeffreys_interval,
    rate_lower_bound,
    wilson_interval,
)
from reviewer.stats.special import (
    beta_cdf,
    beta_quantile,
    binomial_cdf,
    binomial_sf,
    t_two_sided,
)

CONFIDENCE = st.floats(0.5, 0.999)
COUNTS = st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
POSITIVE = st.floats(0.3, 5000)
NOT_NUMBERS = [math.nan, math.inf, -math.inf, None, "3"]


@given(COUNTS, CONFIDENCE)
def test_wilson_and_exact_agree_with_scipy(counts, confidence):
    k, n = counts
    reference = stats.binomtest(k, n)
    for method, ours in (("wilson", wilson_interval), ("exact", clopper_pearson)):
        theirs = reference.proportion_ci(confidence, method=method)
        assert ours(k, n, confidence) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(COUNTS, CONFIDENCE)
def test_one_sided_bounds_agree_with_scipy(counts, confidence):
    k, n = counts
    less = stats.binomtest(k, n, alternative="less").proportion_ci(confidence)
    greater = stats.binomtest(k, n, alternative="greater").proportion_ci(confidence)
    assert failure_rate_upper_bound(k, n, confidence) == pytest.approx(less.high, abs=1e-9)
    assert rate_lower_bound(successes=k, total=n, confidence=confidence) == pytest.approx(
        greater.low, abs=1e-9
    )


@given(COUNTS, CONFIDENCE)
def test_the_posterior_interval_agrees_with_scipy(counts, confidence):
    k, n = counts
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    theirs = stats.beta.ppf(tails, k + 0.5, n - k + 0.5)
    assert jeffreys_interval(k, n, confidence) == pytest.approx(tuple(theirs), abs=1e-9)


@given(st.floats(0, 1), POSITIVE, POSITIVE)
def test_beta_cdf_agrees_with_scipy(x, a, b):
    assert beta_cdf(x, a, b) == pytest.approx(special.betainc(a, b, x), abs=1e-10)


@given(st.floats(1e-9, 1 - 1e-9), POSITIVE, POSITIVE)
def test_beta_quantile_agrees_with_scipy(probability, a, b):
    ours, theirs = beta_quantile(probability, a, b), special.betaincinv(a, b, probability)
    # Theirs can be 1e-8 off (0.5 of a symmetric one): then ours must be the nearer one.
    missed = [abs(special.betainc(a, b, x) - probability) for x in (ours, theirs)]
    assert ours == pytest.approx(theirs, abs=1e-9) or missed[0] <= missed[1]


@given(st.floats(0, 1), POSITIVE)
def test_beta_quantile_has_no_edge_where_a_parameter_is_one(probability, other):
    for a, b in ((other, 1.0), (1.0, other), (1.0, 1.0)):
        ours = beta_quantile(probability, a, b)
        assert ours == pytest.approx(special.betaincinv(a, b, probability), rel=1e-12)


@given(COUNTS, st.floats(0.001, 0.999))
def test_binomial_tails_agree_with_scipy(counts, p):
    k, n = counts
    assert binomial_cdf(k, n, p) == pytest.approx(stats.binom.cdf(k, n, p), abs=1e-10)
    assert binomial_sf(k, n, p) == pytest.approx(stats.binom.sf(k, n, p), abs=1e-10)


@given(st.floats(0.01, 0.999), st.integers(1, 2000))
def test_student_t_agrees_with_scipy(confidence, df):
    assert t_two_sided(confidence, df) == pytest.approx(
        stats.t.ppf((1 + confidence) / 2, df), rel=1e-7
    )


@pytest.mark.parametrize("n", [10**6, 10**9])
def test_exact_limits_keep_their_digits_for_large_samples(n):
    # scipy's betaincinv at a mean of one half, where plain lgamma differences lose most.
    tails = [0.025, 0.975]
    low = special.betaincinv(n / 2, n / 2 + 1, tails[0])
    high = special.betaincinv(n / 2 + 1, n / 2, tails[1])
    assert clopper_pearson(n // 2, n) == pytest.approx((low, high), abs=1e-10)


@given(st.floats(1e-6, 1e6), st.floats(0, 1), CONFIDENCE)
def test_real_effective_sizes_give_limits_around_the_rate(n, rate, confidence):
    hits = min(rate * n, n)
    for ours in (wilson_interval, clopper_pearson):
        low, high = ours(hits, n, confidence)
        assert 0 <= low <= high <= 1
        assert low <= hits / n + 1e-9
        assert high >= hits / n - 1e-9


@given(COUNTS, CONFIDENCE)
def test_intervals_mirror_successes_and_failures(counts, confidence):
    k, n = counts
    for ours in (wilson_interval, clopper_pearson, jeffreys_interval):
        low, high = ours(k, n, confidence)
        mirrored = ours(n - k, n, confidence)
        assert (1 - high, 1 - low) == pytest.approx(mirrored, abs=1e-9)


@given(COUNTS, CONFIDENCE, CONFIDENCE)
def test_more_confidence_never_narrows(counts, one, other):
    k, n = counts
    less, more = sorted((one, other))
    for ours in (wilson_interval, clopper_pearson, jeffreys_interval):
        narrow, wide = ours(k, n, less), ours(k, n, more)
        assert wide.low <= narrow.low + 1e-12
        assert wide.high >= narrow.high - 1e-12


@given(COUNTS, CONFIDENCE)
def test_one_more_success_never_lowers_a_bound(counts, confidence):
    k, n = counts
    assume(k < n)
    for ours in (wilson_interval, clopper_pearson, jeffreys_interval):
        before, after = ours(k, n, confidence), ours(k + 1, n, confidence)
        assert after.low >= before.low
        assert after.high >= before.high
    assert rate_lower_bound(successes=k + 1, total=n, confidence=confidence) >= rate_lower_bound(
        successes=k, total=n, confidence=confidence
    )
    upper = failure_rate_upper_bound(k, n, confidence)
    assert failure_rate_upper_bound(k + 1, n, confidence) >= upper


def test_figures_of_the_guide():
    assert failure_rate_upper_bound(0, 9) == pytest.approx(0.283, abs=5e-4)
    best, worst = failure_rate_upper_bound(0, 300), failure_rate_upper_bound(0, 60)
    assert (round(best, 4), round(worst, 3)) == (0.0099, 0.049)
    middle = failure_rate_upper_bound(0, effective_runs(60, 5, 0.5))
    assert middle == pytest.approx(0.0295, abs=5e-5)
    assert effective_runs(60, 5, -0.2) == 300


def test_the_ends_are_exact():
    for ours in (wilson_interval, clopper_pearson):
        assert ours(0, 7).low == 0.0
        assert ours(7, 7).high == 1.0
    assert failure_rate_upper_bound(7, 7) == 1.0
    assert rate_lower_bound(successes=0, total=7) == 0.0


@pytest.mark.parametrize("bad", NOT_NUMBERS)
def test_what_is_not_a_finite_number_is_refused(bad):
    with pytest.raises(ValueError, match="successes must be"):
        wilson_interval(bad, 3)
    with pytest.raises(ValueError, match="total must be"):
        clopper_pearson(1, bad)
    with pytest.raises(ValueError, match="runs must be"):
        failure_rate_upper_bound(0, bad)
    with pytest.raises(ValueError, match="confidence must be"):
        rate_lower_bound(successes=1, total=2, confidence=bad)


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.1, 95])
def test_a_confidence_outside_the_unit_is_refused(level):
    for call in (wilson_interval, clopper_pearson, jeffreys_interval):
        with pytest.raises(ValueError, match="confidence must be strictly between 0 and 1"):
            call(1, 2, level)


def test_impossible_counts_are_refused():
    with pytest.raises(ValueError, match="total must be positive"):
        clopper_pearson(0, 0)
    with pytest.raises(ValueError, match="successes must be between 0 and total"):
        rate_lower_bound(successes=-1, total=3)
    with pytest.raises(ValueError, match="failures must be between 0 and runs"):
        failure_rate_upper_bound(4, 3)
    with pytest.raises(ValueError, match="total must be at most 1e"):
        clopper_pearson(1, 10**12)
