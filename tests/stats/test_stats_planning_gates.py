"""How many more until a bound could pass: exactly the smallest number, checked one by one."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reviewer.api.stats import (
    adjusted_paired_interval,
    attempts_needed_for_quantile,
    clean_episodes_needed,
    confidence_sequence,
    cost_limits,
    effective_attempts,
    effective_bounds,
    episodes_needed_for_cost,
    exact_bounds,
    quantile_interval,
    stable_episodes_needed,
    unchanged_episodes_needed,
    zero_failure_sample_size,
)

COUNTS = st.lists(
    st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    min_size=1,
    max_size=12,
)


@given(COUNTS, st.integers(1, 4), st.sampled_from([0.5, 0.8, 0.9, 0.95]), st.booleans())
def test_clean_episodes(counts, attempts, target, live):
    more = clean_episodes_needed(counts, attempts, target, live=live)

    def low(extra):
        grown = [*counts, *[(attempts, attempts)] * extra]
        if not live:
            return effective_bounds(grown).low
        worth = effective_attempts(grown)
        rate = sum(p for _, p in grown) / sum(n for n, _ in grown)
        return confidence_sequence(rate * worth, worth).low

    assert low(more) >= target
    if more:
        assert low(more - 1) < target


@given(st.integers(0, 80), st.integers(0, 20), st.sampled_from([0.5, 0.9, 0.95]), st.booleans())
def test_stable_episodes(stable, unstable, target, live):
    more = stable_episodes_needed(stable, stable + unstable, target, live=live)
    bounds = confidence_sequence if live else exact_bounds
    if stable + unstable + more:
        assert bounds(stable + more, stable + unstable + more).low >= target
    if more > 1:
        assert bounds(stable + more - 1, stable + unstable + more - 1).low < target


@pytest.mark.parametrize(
    ("stable", "episodes", "target", "live", "more"),
    [(0, 0, 0.95, False, 59), (3, 3, 0.95, False, 56), (0, 0, 0.90, False, 29),
     (0, 0, 0.95, True, 158), (0, 0, 0.99, True, 984), (59, 59, 0.95, False, 0)],
)  # fmt: skip
def test_stable_episodes_of_the_planning_tables(stable, episodes, target, live, more):
    assert stable_episodes_needed(stable, episodes, target, live=live) == more


def test_no_number_of_episodes_shows_a_rate_of_one():
    with pytest.raises(ValueError, match="target"):
        stable_episodes_needed(3, 3, 1.0)
    with pytest.raises(ValueError, match="target"):
        clean_episodes_needed([(3, 3)], 3, 1.0)


DIFFERENCES = st.lists(
    st.integers(1, 4).flatmap(lambda n: st.integers(-n, n).map(lambda k: k / n)), max_size=25
)


@given(DIFFERENCES, st.sampled_from([0.01, 0.05, 0.1, 0.5]))
def test_unchanged_episodes(differences, margin):
    more = unchanged_episodes_needed(differences, margin)

    def low(extra):
        d = [*differences, *[0.0] * extra]
        # Rates whose difference this is: both stay within [0, 1].
        now, then = [max(x, 0.0) for x in d], [max(-x, 0.0) for x in d]
        return adjusted_paired_interval(now, then, confidence=0.90)["low"]

    assert more is not None
    assume(differences or more)
    assert low(more) > -margin or low(more) == pytest.approx(-margin, abs=1e-12)
    if more > (0 if differences else 1):
        assert all(low(fewer) <= -margin + 1e-12 for fewer in range(0 if differences else 1, more))


def test_unchanged_episodes_of_the_guide():
    assert unchanged_episodes_needed([], 0.05) == 45
    assert unchanged_episodes_needed([0.0] * 44, 0.05) == 1
    assert unchanged_episodes_needed([0.0] * 10, 0.0) is None
    assert unchanged_episodes_needed([1.0] * 40, 0.0) == 0


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


@given(st.floats(0.01, 1.0), st.floats(0.0, 0.5), st.integers(2, 40), st.floats(1.001, 3.0))
def test_episodes_for_a_cost(cpst, share, episodes, room):
    se, budget = cpst * share, cpst * room
    more = episodes_needed_for_cost(cpst, se, episodes, budget)
    assert more is not None

    def high(total):
        found = cost_limits(cpst, se * math.sqrt((episodes - 1) / (total - 1)), total)
        assert found is not None
        return found.high

    assert high(episodes + more) <= budget
    if more:
        assert high(episodes + more - 1) > budget


def test_no_number_of_episodes_lowers_a_cost_above_its_budget():
    assert episodes_needed_for_cost(0.09, 0.01, 10, 0.08) is None
    assert episodes_needed_for_cost(0.08, 0.0, 10, 0.08) == 0


# bounds that hold at every look ------------------------------------------------------------------


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_confidence_sequence_is_wider_than_what_is_made_for_one_look(counts):
    k, n = counts
    low, high = confidence_sequence(k, n)
    assert 0.0 <= low <= k / n <= high <= 1.0
    once = exact_bounds(k, n)
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
