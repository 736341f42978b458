"""pass@k and pass^k: unbiased, monotone, undefined where attempts are missing."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.api.stats import (
    pass_at_k,
    pass_at_k_suite,
    pass_hat_k,
    pass_hat_k_interval,
    pass_hat_k_suite,
    too_few_attempts,
    wilson_interval,
)

TRIPLES = st.integers(1, 40).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))
)
RUNS = st.lists(st.booleans(), min_size=1, max_size=8)
COUNTS = st.lists(
    st.integers(3, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    min_size=1,
    max_size=12,
)


@given(RUNS, st.integers(1, 8))
def test_both_are_the_share_of_draws_counted_one_by_one(runs, k):
    draws = list(itertools.combinations(runs, k))
    if not draws:
        assert pass_at_k_suite([len(runs)], [sum(runs)], k) is None
        assert k not in pass_hat_k_suite([runs])
        return
    some = sum(any(draw) for draw in draws) / len(draws)
    every = sum(all(draw) for draw in draws) / len(draws)
    assert pass_at_k_suite([len(runs)], [sum(runs)], k) == pytest.approx(some)
    assert pass_hat_k_suite([runs])[k] == pytest.approx(every)


@given(TRIPLES)
def test_always_is_rarer_than_once(triple):
    n, c, k = triple
    assert 0.0 <= pass_hat_k(n, c, k) <= pass_hat_k(n, c, 1) == c / n
    assert c / n <= pass_at_k(n, c, k) + 1e-12 <= 1.0 + 1e-12
    assert pass_at_k(n, c, k) == pytest.approx(1.0 - pass_hat_k(n, n - c, k))


@given(TRIPLES)
def test_both_move_one_way_in_k(triple):
    n, c, k = triple
    if k < n:
        assert pass_hat_k(n, c, k + 1) <= pass_hat_k(n, c, k) + 1e-12
        assert pass_at_k(n, c, k + 1) >= pass_at_k(n, c, k) - 1e-12


@pytest.mark.parametrize(("n", "c", "k"), [(5000, 4990, 3), (5000, 4990, 4000), (5000, 3, 2)])
def test_large_counts_agree_with_exact_binomials(n, c, k):
    exact = math.comb(c, k) / math.comb(n, k)
    assert pass_hat_k(n, c, k) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize(
    ("n", "c", "k", "message"),
    [
        (5, 0, 6, "k must be between 1 and n"),
        (5, 2, 0, "k must be between 1 and n"),
        (0, 0, 1, "k must be between 1 and n"),
        (5, 6, 1, "correct must be between 0 and n"),
        (5, -1, 1, "correct must be between 0 and n"),
        (5, 2.5, 1, "correct must be a whole number, not 2.5"),
        (math.nan, 2, 1, "n must be a whole number, not nan"),
    ],
)
def test_impossible_counts_are_refused(n, c, k, message):
    for call in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match=f"^{message}$"):
            call(n, c, k)


def test_a_suite_with_a_missing_attempt_is_undefined_not_a_mean_over_the_rest():
    assert pass_at_k_suite([5, 2], [2, 2], 3) is None
    assert pass_at_k_suite([], [], 1) is None
    assert pass_hat_k_interval([(5, 5), (2, 2)], 3) is None
    assert too_few_attempts([(5, 5), (2, 2), (0, 0)], 3) == [1, 2]
    assert sorted(pass_hat_k_suite([[1, 1, 1], [1, 1]])) == [1, 2]


def test_an_episode_without_attempts_is_not_stable():
    assert pass_hat_k_suite([[1, 1, 1], []]) == {}
    assert pass_hat_k_suite([]) == {}
    assert pass_hat_k_interval([], 1) is None


@pytest.mark.parametrize("bad", [None, 0.5, math.nan, 2, "1"])
def test_an_outcome_that_is_neither_pass_nor_fail_is_refused(bad):
    with pytest.raises(ValueError, match=r"groups\[1\]\[0\] must be"):
        pass_hat_k_suite([[1, 1], [bad, 1]])


@given(COUNTS, st.integers(1, 3))
def test_the_interval_holds_its_value_and_its_clips(counts, k):
    got = pass_hat_k_interval(counts, k)
    assert got is not None
    runs = [[True] * c + [False] * (n - c) for n, c in counts]
    assert got.value == pytest.approx(pass_hat_k_suite(runs)[k])
    assert 0.0 <= got.low <= got.value + 1e-12
    assert got.value - 1e-12 <= got.high <= 1.0
    most = sum(n for n, _ in counts) / k
    assert len(counts) <= got.n_eff <= max(most, len(counts)) + 1e-9


def test_stable_episodes_are_worth_their_number():
    got = pass_hat_k_interval([(3, 3)] * 3, 3)
    assert got.n_eff == 3
    assert (got.value, got.low, got.high) == (1.0, *wilson_interval(3, 3))


def test_the_interval_by_hand():
    # u = 1, 0, 1, 0.1; mean .525, se² = (Σ(u-ubar)²/3)/4; n_eff = .525·.475/se², below E: clipped.
    shares = [1.0, 0.0, 1.0, 0.1]
    mean = sum(shares) / 4
    se2 = sum((u - mean) ** 2 for u in shares) / 3 / 4
    assert mean * (1 - mean) / se2 < 4
    got = pass_hat_k_interval([(5, 5), (5, 0), (5, 5), (5, 3)], 3)
    assert got.value == pytest.approx(mean)
    assert got.n_eff == 4
    # Episodes more alike than chance: between the two clips the formula rules.
    mixed = pass_hat_k_interval([(6, 5), (6, 6), (6, 4), (6, 2)], 2)
    shares = [10 / 15, 1.0, 6 / 15, 1 / 15]
    mean = sum(shares) / 4
    se2 = sum((u - mean) ** 2 for u in shares) / 3 / 4
    assert mixed.n_eff == pytest.approx(mean * (1 - mean) / se2)
    assert 4 < mixed.n_eff < 12


def test_episodes_without_spread_count_once_each():
    assert pass_hat_k_interval([(4, 2)] * 5, 1).n_eff == 5
    assert pass_hat_k_interval([(4, 2)], 1).n_eff == 1
