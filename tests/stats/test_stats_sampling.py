"""A weighted rate with its limits: what unequal chances and alike items are worth."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.api.stats import stratified_review_rate, weighted_rate, wilson_effective

GROUPS = st.lists(st.lists(st.sampled_from([0, 0.5, 1]), min_size=1, max_size=4), min_size=1)
MARKS = st.lists(
    st.tuples(st.sampled_from([0, 1]), st.floats(1, 50), st.integers(0, 5)), min_size=1
)


def flat(groups: list[list[float]]) -> tuple[list[float], list[int]]:
    marks = [mark for group in groups for mark in group]
    return marks, [place for place, group in enumerate(groups) for _ in group]


@given(GROUPS, st.floats(0.01, 100))
def test_with_equal_weights_it_is_wilson_on_effective_n(
    groups: list[list[float]], weight: float
) -> None:
    marks, episodes = flat(groups)
    found = weighted_rate(marks, [weight] * len(marks), episodes)
    assert found is not None
    assert found == pytest.approx(tuple(wilson_effective(groups)), rel=1e-6, abs=1e-9)


@given(MARKS)
def test_the_estimate_is_hajeks_and_its_limits_hold_it(drawn: list[tuple[int, float, int]]) -> None:
    marks, weights, episodes = (list(column) for column in zip(*drawn, strict=True))
    found = weighted_rate(marks, weights, episodes)
    assert found is not None
    assert found.value == stratified_review_rate(marks, weights)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert 1.0 <= found.n_eff <= len(marks) or found.n_eff == len(set(episodes))


def test_limits_by_hand() -> None:
    """Five items, each of an episode of its own: w(y-p) is .6 .6 1.2 -1.6 -.8, squares 5.36."""
    marks, weights = [1, 1, 1, 0, 0], [1.0, 1.0, 2.0, 4.0, 2.0]
    found = weighted_rate(marks, weights, range(5))
    assert found is not None
    assert found.value == pytest.approx(0.4)
    assert found.n_eff == pytest.approx(0.4 * 0.6 / (5 / 4 * 5.36 / 10**2))


def test_items_of_one_episode_are_worth_less_than_items_of_many() -> None:
    marks, weights = [1, 1, 1, 0, 0, 0], [1.0] * 6
    alike = weighted_rate(marks, weights, ["a", "a", "a", "b", "b", "b"])
    apart = weighted_rate(marks, weights, range(6))
    assert alike is not None
    assert apart is not None
    assert alike.high - alike.low > apart.high - apart.low


def test_unequal_weights_widen() -> None:
    even = weighted_rate([1, 0] * 10, [1.0] * 20, range(20))
    uneven = weighted_rate([1, 0] * 10, [1.0] * 18 + [30.0, 30.0], range(20))
    assert even is not None
    assert uneven is not None
    assert uneven.value == pytest.approx(0.5)
    assert uneven.n_eff < even.n_eff


@pytest.mark.parametrize(("marks", "weights"), [([], []), ([1, 0], [0, 0])])
def test_nothing_weighted_is_nothing_known(marks: list[int], weights: list[int]) -> None:
    assert weighted_rate(marks, weights, range(len(marks))) is None


@pytest.mark.parametrize(
    "given",
    [
        ([2], [1], ["a"]),
        ([1], [-1], ["a"]),
        ([1], [math.nan], ["a"]),
        ([1, 1], [1], ["a", "b"]),
        ([1], [1], []),
    ],
)
def test_what_is_no_weighted_label_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match=r"ok|weight|episode"):
        weighted_rate(*given)
