"""Bounds and test of a candidate against its baseline, over episodes."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.api.stats import (
    difference_bounds,
    regression_lower_bound,
    regression_lower_bound_exact,
    score_at_zero,
    tango_paired,
)
from reviewer.stats.regression import moments, unchanged_episodes_needed

PAIRS = st.tuples(st.integers(1, 6), st.integers(1, 40)).flatmap(
    lambda size: st.tuples(
        st.just(size[0]),
        st.lists(
            st.tuples(st.integers(0, size[0]), st.integers(0, size[0])),
            min_size=size[1],
            max_size=size[1],
        ),
    )
)


@given(st.tuples(*[st.integers(0, 12)] * 4).filter(any))
def test_with_one_attempt_it_is_tangos(table):
    both, gained, lost, neither = table
    d = [(Fraction(1), gained), (Fraction(-1), lost), (Fraction(0), both + neither)]
    known = tango_paired(*table, confidence=0.90)
    found = difference_bounds(d)
    assert found.low == pytest.approx(known["low"], abs=1e-9)
    assert found.high == pytest.approx(known["high"], abs=1e-9)


@given(PAIRS)
def test_it_holds_the_difference_and_turns_with_the_sides(made_pairs):
    made, pairs = made_pairs
    now, then = [a for a, _ in pairs], [b for _, b in pairs]
    mean = (sum(now) - sum(then)) / made / len(pairs)
    assert regression_lower_bound(now, then, made) <= mean + 1e-9
    assert regression_lower_bound_exact(now, then, made) <= mean + 1e-9
    d = [(Fraction(a - b, made), 1) for a, b in pairs]
    back = [(-x, n) for x, n in d]
    assert difference_bounds(d).low == pytest.approx(-difference_bounds(back).high, abs=1e-9)


@given(PAIRS, st.data())
def test_a_lost_pass_never_raises_the_exact_bound(made_pairs, data):
    made, pairs = made_pairs
    now, then = [a for a, _ in pairs], [b for _, b in pairs]
    at = data.draw(st.sampled_from(range(len(pairs))))
    worse = list(now)
    worse[at] = max(0, worse[at] - 1)
    before = regression_lower_bound_exact(now, then, made)
    assert regression_lower_bound_exact(worse, then, made) <= before + 1e-10


@given(PAIRS)
def test_the_score_at_zero_decides_as_the_upper_bound_does(made_pairs):
    made, pairs = made_pairs
    d = [(Fraction(a - b, made), 1) for a, b in pairs]
    z = score_at_zero(d)
    if z is None:
        assert all(x == 0 for x, _ in d)
    elif abs(z + 1.6448536269514722) > 1e-6:
        assert (z < -1.6448536269514722) is (difference_bounds(d).high < 0)


def test_three_lost_of_one_attempt_are_the_fewest_that_fail():
    unchanged = [(Fraction(0), 10)]
    assert score_at_zero(unchanged) is None
    assert score_at_zero([*unchanged, (Fraction(-1), 2)]) == pytest.approx(-math.sqrt(2))
    assert score_at_zero([*unchanged, (Fraction(-1), 3)]) == pytest.approx(-math.sqrt(3))


@given(PAIRS, st.sampled_from([0.02, 0.05, 0.1, 0.2]))
def test_so_many_unchanged_episodes_and_no_fewer(made_pairs, margin):
    made, pairs = made_pairs
    d = [(Fraction(a - b, made), 1) for a, b in pairs]
    more = unchanged_episodes_needed(d, margin)
    assert more is not None
    assert difference_bounds([*d, (Fraction(0), more)]).low > -margin
    if more:
        assert difference_bounds([*d, (Fraction(0), more - 1)]).low <= -margin


def test_unchanged_episodes_for_known_margins():
    assert unchanged_episodes_needed([], 0.05) == 52
    assert unchanged_episodes_needed([], 0.10) == 25
    assert unchanged_episodes_needed([(Fraction(0), 51)], 0.05) == 1
    assert unchanged_episodes_needed([(Fraction(0), 10)], 0.0) is None
    assert unchanged_episodes_needed([(Fraction(1), 40)], 0.0) == 0


def test_what_it_refuses():
    with pytest.raises(ValueError, match="at least one episode"):
        regression_lower_bound([], [], 3)
    with pytest.raises(ValueError, match="between 0 and 3"):
        regression_lower_bound([4], [3], 3)
    with pytest.raises(ValueError, match="equally long"):
        regression_lower_bound_exact([3, 3], [3], 3)
    with pytest.raises(ValueError, match="at least one episode"):
        difference_bounds([])
    assert moments([]).episodes == 0
