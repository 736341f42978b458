"""How many more until a bound could pass: exactly the smallest number, checked one by one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.api.stats import (
    attempts_needed_for_quantile,
    clean_episodes_needed,
    clopper_pearson,
    confidence_sequence,
    episodes_needed_for_cost,
    pass_hat_lower_bound,
    quantile_interval,
    rate_lower_bound,
    zero_failure_sample_size,
)
from reviewer.stats.bounds import cost_upper

COUNTS = st.lists(
    st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    min_size=1,
    max_size=12,
)


@given(COUNTS, st.sampled_from([0.5, 0.8, 0.9, 0.95]), st.booleans())
def test_clean_episodes(counts, target, live):
    more = clean_episodes_needed(counts, target, live=live)

    def low(extra):
        grown = [*counts, *[(3, 3)] * extra]
        if not live:
            return rate_lower_bound(grown)
        return confidence_sequence(sum(p / n for n, p in grown), len(grown)).low

    assert low(more) >= target
    if more:
        assert low(more - 1) < target


@given(COUNTS, st.sampled_from([0.5, 0.9, 0.95]))
def test_stable_episodes_are_counted_for_pass_hat(counts, target):
    k = min(n for n, _ in counts)
    more = clean_episodes_needed(counts, target, k=k)
    assert pass_hat_lower_bound([*counts, *[(k, k)] * more], k) >= target
    if more:
        assert pass_hat_lower_bound([*counts, *[(k, k)] * (more - 1)], k) < target


@pytest.mark.parametrize(
    ("stable", "episodes", "target", "live", "more"),
    [(0, 0, 0.95, False, 59), (3, 3, 0.95, False, 56), (0, 0, 0.90, False, 29),
     (0, 0, 0.95, True, 158), (0, 0, 0.99, True, 984), (59, 59, 0.95, False, 0)],
)  # fmt: skip
def test_stable_episodes_of_the_planning_tables(stable, episodes, target, live, more):
    counts = [(3, 3)] * stable + [(3, 0)] * (episodes - stable)
    assert clean_episodes_needed(counts, target, live=live, k=3) == more


def test_no_number_of_episodes_shows_a_rate_of_one():
    with pytest.raises(ValueError, match="target"):
        clean_episodes_needed([(3, 3)], 1.0)


@given(st.integers(0, 3), st.integers(0, 60), st.sampled_from([0.5, 0.9, 0.95]))
def test_attempts_for_a_quantile(above, within, quantile):
    n = above + within
    more = attempts_needed_for_quantile(above, n, quantile)

    def meets(total):
        values = [1.0] * (total - above) + [2.0] * above
        high = quantile_interval(values, quantile).high
        return high is not None and high <= 1.0

    assert meets(n + more)
    if more:
        assert not meets(n + more - 1)


def test_attempts_for_the_quantiles_of_the_guide():
    assert [attempts_needed_for_quantile(0, 0, q) for q in (0.5, 0.9, 0.95, 0.99)] == [
        6, 36, 72, 368,
    ]  # fmt: skip
    assert attempts_needed_for_quantile(0, 9, 0.95) == 63


SPENT = st.lists(
    st.tuples(st.floats(0.01, 1.0), st.integers(1, 5), st.integers(1, 4)), min_size=2, max_size=9
)


@given(SPENT, st.floats(1.1, 3.0))
def test_episodes_for_a_cost(spent, room):
    n = sum(times for _, _, times in spent)
    ratio = sum(c * t for c, _, t in spent) / sum(p * t for _, p, t in spent)
    more = episodes_needed_for_cost(spent, ratio * room)
    assert more is not None

    def high(total):
        return cost_upper([(c, p, t * total / n) for c, p, t in spent], 0.975)

    assert high(n + more) <= ratio * room
    if more:
        assert high(n + more - 1) > ratio * room


def test_no_number_of_episodes_lowers_a_cost_above_its_budget():
    assert episodes_needed_for_cost([(0.27, 3, 10)], 0.08) is None
    assert episodes_needed_for_cost([(0.24, 3, 10)], 0.08) is None
    assert episodes_needed_for_cost([(0.24, 0, 10)], 0.08) is None
    assert episodes_needed_for_cost([(0.0, 3, 10)], 0.08) == 0


# bounds that hold at every look ------------------------------------------------------------------


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_confidence_sequence_is_wider_than_what_is_made_for_one_look(counts):
    k, n = counts
    low, high = confidence_sequence(k, n)
    assert 0.0 <= low <= k / n <= high <= 1.0
    once = clopper_pearson(k, n, 0.90)
    assert low <= once.low + 1e-9
    assert high >= once.high - 1e-9


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_confidence_sequence_is_the_set_that_its_formula_names(counts):
    k, n = counts
    log_beta = math.lgamma(k + 1) + math.lgamma(n - k + 1) - math.lgamma(n + 2)

    def inside(p):
        gain = k * math.log(p) if k else 0.0
        loss = (n - k) * math.log(1 - p) if k < n else 0.0
        return log_beta - gain - loss < math.log(1 / 0.05)

    low, high = confidence_sequence(k, n)
    for p, held in ((low * 0.999, False), (low * 1.001, True), (high * 0.999, True)):
        if 0 < p < 1:
            assert inside(p) is held
    if high < 0.999:
        assert not inside(high * 1.001)


@pytest.mark.parametrize(("runs", "rate"), [(984, 0.01), (158, 0.05)])
def test_what_looking_at_every_run_costs(runs, rate):
    assert confidence_sequence(0, runs).high < rate <= confidence_sequence(0, runs - 1).high
    assert zero_failure_sample_size(rate) < runs


def test_a_confidence_sequence_refuses_what_is_no_count():
    with pytest.raises(ValueError, match="total must be positive"):
        confidence_sequence(0, 0)
    with pytest.raises(ValueError, match="between 0 and total"):
        confidence_sequence(3, 2)
    with pytest.raises(ValueError, match="finite"):
        confidence_sequence(float("nan"), 2)
