"""Latencies in bins: nothing is left out, and nothing is counted twice."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.report.figures import MOST_BINS, latency_bins, nice
from reviewer.stats.cost_latency import latency_quantile

LATENCIES = st.lists(st.floats(0, 1e9), min_size=1, max_size=300).map(sorted)


@given(LATENCIES)
def test_every_latency_is_in_one_bin(latencies: list[float]) -> None:
    bins = latency_bins(latencies, latency_quantile(latencies, 0.95))
    assert 0 < len(bins) <= MOST_BINS
    assert sum(count for _, _, count in bins) == len(latencies)
    assert bins[0][0] == 0
    assert bins[-1][1] >= latencies[-1]
    for (_, end, _), (start, _, _) in itertools.pairwise(bins):
        assert start == pytest.approx(end)
    for start, end, count in bins[:-1]:
        assert count == sum(start <= one < end for one in latencies)


@given(LATENCIES)
def test_the_tail_does_not_press_the_rest_into_one_bin(latencies: list[float]) -> None:
    p95 = latency_quantile(latencies, 0.95)
    assert p95 is not None
    bins = latency_bins([*latencies, latencies[-1] * 1000 + 1], p95)
    below = [start for start, _, _ in bins if start <= p95]
    assert len(below) <= MOST_BINS - 3 or p95 == 0


@given(st.floats(1e-9, 1e12))
def test_a_nice_number_is_the_next_of_one_two_five(least: float) -> None:
    found = nice(least)
    assert least * (1 - 1e-8) <= found < least * 2.5000001
    digits = found / 10.0 ** math.floor(math.log10(found) + 1e-9)
    assert round(digits, 6) in (1, 2, 5)


def test_without_a_latency_there_is_no_bin() -> None:
    assert latency_bins([], None) == []
    assert latency_bins([0.0, 0.0], 0.0) == [[0.0, 1.0, 2]]
