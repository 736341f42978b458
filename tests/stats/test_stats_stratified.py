"""Rates of finite populations: exact limits against scipy's, the weighted total against the
textbook's, and how often the limits hold the truth."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from reviewer.stats.rates import clopper_pearson
from reviewer.stats.stratified import Stratum, hypergeometric_interval, stratified_rate

DRAWS = st.integers(1, 60).flatmap(
    lambda size: st.integers(1, size).flatmap(
        lambda n: st.tuples(st.integers(0, n), st.just(n), st.just(size))
    )
)


@given(DRAWS)
@example((0, 1, 40))  # one tail is 1 of 40, which is 0.025: it is still within
@example((1, 1, 40))
def test_the_limits_are_those_of_scipys_hypergeometric_tails(draw: tuple[int, int, int]) -> None:
    hits, n, size = draw
    possible = [
        marked
        for marked in range(hits, size - (n - hits) + 1)
        if stats.hypergeom.sf(hits - 1, size, marked, n) > 0.025 - 1e-9
        and stats.hypergeom.cdf(hits, size, marked, n) > 0.025 - 1e-9
    ]
    found = hypergeometric_interval(hits, n, size)
    assert (found.low, found.high) == (possible[0] / size, possible[-1] / size)


def test_of_a_large_population_they_are_clopper_pearsons() -> None:
    for hits, n in ((0, 20), (3, 20), (20, 20), (7, 50)):
        assert hypergeometric_interval(hits, n, 10_000_000) == pytest.approx(
            tuple(clopper_pearson(hits, n)), abs=1e-4
        )


@given(DRAWS)
def test_a_whole_population_leaves_nothing_open(draw: tuple[int, int, int]) -> None:
    hits, n, _ = draw
    assert hypergeometric_interval(hits, n, n) == (hits / n, hits / n)
    rate = stratified_rate([Stratum(n, n, hits), Stratum(0, 0, 0)])
    assert rate == pytest.approx((hits / n, hits / n, hits / n, n, n))


@given(st.lists(DRAWS, min_size=1, max_size=6))
def test_the_total_is_the_weighted_mean_and_is_inside_its_limits(
    draws: list[tuple[int, int, int]],
) -> None:
    strata = [Stratum(size, n, hits) for hits, n, size in draws]
    found = stratified_rate(strata)
    assert found is not None
    total = sum(one.size for one in strata)
    assert found.value == pytest.approx(sum(s.size / total * s.hits / s.n for s in strata))
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1
    assert (found.n, found.size) == (sum(s.n for s in strata), total)
    if len(strata) == 1:
        [one] = strata
        exact = hypergeometric_interval(one.hits, one.n, one.size)
        assert (found.low, found.high) == pytest.approx(tuple(exact))


@given(st.lists(DRAWS, min_size=1, max_size=6), st.integers(0, 5), st.integers(1, 50))
def test_a_stratum_without_an_answer_leaves_the_total_unmeasured(
    draws: list[tuple[int, int, int]], at: int, size: int
) -> None:
    strata = [Stratum(size, n, hits) for hits, n, size in draws]
    strata.insert(at, Stratum(size, 0, 0))
    assert stratified_rate(strata) is None


def test_impossible_counts_are_refused() -> None:
    for hits, n, size in ((2, 1, 5), (-1, 1, 5), (0, 0, 5), (1, 6, 5)):
        with pytest.raises(ValueError, match="must be"):
            hypergeometric_interval(hits, n, size)
    with pytest.raises(ValueError, match="must hold something"):
        stratified_rate([Stratum(0, 0, 0)])


DESIGNS = [
    ((40, 4), (200, 20)), ((12, 2), (30, 3), (100, 10)), ((5, 5), (95, 10)),
    ((30, 3), (30, 3), (30, 3), (30, 3)), ((300, 30),), ((8, 1), (8, 1), (8, 1), (8, 1), (8, 1)),
]  # fmt: skip


def test_the_limits_hold_the_truth_as_often_as_they_say() -> None:
    """Every possible outcome of some designs, weighed by its chance: exact, no simulation."""
    for design, shares in itertools.product(DESIGNS, (0.02, 0.1, 0.5, 0.9)):
        marked = [round(size * shares) for size, _ in design]
        truth = sum(marked) / sum(size for size, _ in design)
        held = 0.0
        outcomes = [
            [(k, stats.hypergeom.pmf(k, size, m, n)) for k in range(n + 1)]
            for (size, n), m in zip(design, marked, strict=True)
        ]
        outcomes = [[one for one in some if one[1] > 1e-7] for some in outcomes]
        for outcome in itertools.product(*outcomes):
            strata = [
                Stratum(size, n, k) for (size, n), (k, _) in zip(design, outcome, strict=True)
            ]
            found = stratified_rate(strata)
            assert found is not None
            if found.low - 1e-12 <= truth <= found.high + 1e-12:
                held += math.prod(float(chance) for _, chance in outcome)
        assert held >= 0.945, (design, shares, held)


def test_it_is_the_estimator_that_has_no_bias() -> None:
    """The mean over many draws of a lopsided population is the truth; the plain share is not."""
    lot = np.random.default_rng(7)
    design = [(1000, 20, 0.02), (50, 20, 0.6)]
    truth = sum(size * share for size, _, share in design) / sum(size for size, _, _ in design)
    ours, plain = [], []
    for _ in range(400):
        strata = [
            Stratum(size, n, int(lot.hypergeometric(round(size * p), size - round(size * p), n)))
            for size, n, p in design
        ]
        found = stratified_rate(strata)
        assert found is not None
        ours.append(found.value)
        plain.append(sum(s.hits for s in strata) / sum(s.n for s in strata))
    assert abs(float(np.mean(ours)) - truth) < 0.005
    assert abs(float(np.mean(plain)) - truth) > 0.2
