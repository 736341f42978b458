"""What a turn cost, from what the provider says it used; what is not known is None."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.running.candidates.manifest import UsageNames, metered, read_prices, usage_of
from reviewer.running.model import Unrunnable
from reviewer.running.prices import Prices, Usage, cost_usd

NAMES = UsageNames("prompt_tokens", "completion_tokens", "prompt_tokens_details")
PRICES = Prices(2.5, 10.0, 1.25)
counts = st.integers(0, 10**7)
amounts = st.floats(0, 1000, allow_nan=False)


def used(given: Any, made: Any, cached: Any = None) -> dict[str, Any]:
    said = {"prompt_tokens": given, "completion_tokens": made}
    return said if cached is None else {**said, "prompt_tokens_details": {"cached_tokens": cached}}


def test_the_worked_example() -> None:
    usage = usage_of(used(1200, 300, 1000), NAMES)
    assert usage == Usage(1200, 300, 1000)
    assert cost_usd(usage, PRICES) == pytest.approx((200 * 2.5 + 1000 * 1.25 + 300 * 10) / 1e6)


@given(counts, counts, st.integers(0, 10**7), amounts, amounts, st.none() | amounts)
def test_a_cost_is_that_of_exact_arithmetic(
    fresh: int, made: int, cached: int, price: float, out: float, at_cached: float | None
) -> None:
    usage = usage_of(used(fresh + cached, made, cached), NAMES)
    cost = cost_usd(usage, Prices(price, out, at_cached))
    cheap = price if at_cached is None else at_cached
    exact = fresh * Fraction(price) + cached * Fraction(cheap) + made * Fraction(out)
    assert cost == pytest.approx(float(exact / 10**6), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("bad", [-1, 1.0, 1.5, "3", True, None, float("nan"), 10**400, [], {}])
def test_a_count_that_is_none_is_unknown(bad: Any) -> None:
    for said in (used(bad, 5), used(5, bad)):
        usage = usage_of(said, NAMES)
        assert usage is not None
        assert None in (usage.input_tokens, usage.output_tokens)
        assert cost_usd(usage, PRICES) is None


@pytest.mark.parametrize("cached", [-1, 6, 2.0, "3"])
def test_a_cached_part_that_cannot_be_makes_the_input_unknown(cached: Any) -> None:
    usage = usage_of(used(5, 5, cached), NAMES)
    assert usage == Usage(None, 5, None)
    assert cost_usd(usage, PRICES) is None


@pytest.mark.parametrize("details", [None, {}, {"cached_tokens": None}, 7, []])
def test_without_a_cached_count_all_input_is_at_its_price(details: Any) -> None:
    usage = usage_of({**used(1000, 0), "prompt_tokens_details": details}, NAMES)
    assert usage == Usage(1000, 0)
    assert cost_usd(usage, PRICES) == pytest.approx(0.0025)


@pytest.mark.parametrize("prices", [Prices(), Prices(input=1.0), Prices(output=1.0)])
def test_without_a_price_there_is_no_cost(prices: Prices) -> None:
    assert cost_usd(Usage(1, 1), prices) is None
    assert cost_usd(Usage(0, 0), prices) is None


def test_a_price_of_zero_is_a_price() -> None:
    assert cost_usd(Usage(10, 10), Prices(0.0, 0, None)) == 0


@pytest.mark.parametrize("said", [[], [None], [used(1, 1), None], ["x"], [used(1, 1), [1]]])
def test_without_a_usage_nothing_is_known(said: list[Any]) -> None:
    assert metered(said, NAMES, PRICES) == (None, None)


def test_answers_of_one_turn_are_summed_and_one_unknown_part_makes_the_sum_unknown() -> None:
    assert metered([used(10, 1, 4), None, used(20, 2)], NAMES, PRICES)[0] == Usage(30, 3, 4)
    usage, cost = metered([used(10, -1), used(20, 2)], NAMES, PRICES)
    assert (usage, cost) == (Usage(30, None), None)


def test_prices_are_read_and_nothing_else_is() -> None:
    given = {"input_usd_per_million_tokens": 1, "output_usd_per_million_tokens": 2.5}
    assert read_prices(given, "$.prices") == Prices(1, 2.5, None)
    assert read_prices({}, "$.prices") == Prices()
    for wrong in ({"input": 1}, {"input_usd_per_million_tokens": "1"}):
        with pytest.raises(Unrunnable, match=r"^\$\.prices\.input"):
            read_prices(wrong, "$.prices")
