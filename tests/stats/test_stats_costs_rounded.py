"""Costs of very many different episodes: rounded to the side that only widens a bound."""

import pytest

from reviewer.stats import bounds


def test_rounding_widens_and_by_no_more_than_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = [(0.05 + 0.0137 * (i * 37 % 101), 1 + i % 3, 1) for i in range(300)]
    exact = bounds.cost_lower(spent, 3, 0.975), bounds.cost_upper(spent, 0.975)
    monkeypatch.setattr(bounds, "MOST_DISTINCT", 200)
    low, high = bounds.cost_lower(spent, 3, 0.975), bounds.cost_upper(spent, 0.975)
    assert exact[0] * (1 - 1 / 128) <= low <= exact[0]
    assert exact[1] <= high <= exact[1] * (1 + 1 / 128)
    assert (low, high) != exact


def test_many_small_factors_are_summed_by_their_powers() -> None:
    """The same sum with its terms merged, and with each apart."""
    apart = [bounds.Weight(0.9 - 0.5 * (i % 7), 1) for i in range(1400)]
    merged = [bounds.Weight(0.9 - 0.5 * i, 200) for i in range(7)]
    shift = sum(w.value for w in apart) / len(apart) - 0.04
    level = [w._replace(value=w.value - shift) for w in apart]
    same = [w._replace(value=w.value - shift) for w in merged]
    assert bounds.below_zero(level) == pytest.approx(bounds.below_zero(same), rel=1e-11)
    assert 0.001 < bounds.below_zero(level) < 0.2
