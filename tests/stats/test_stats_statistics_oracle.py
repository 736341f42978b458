"""Every case of the statistics oracle, through the public name of its function."""

import pytest
from stats_oracles import load, same

from reviewer.api import stats

# The gate on the order of calls answers those of `trajectory_match` (tests/gates).
CASES = [c for c in load("statistics.json")["cases"] if c["function"] != "trajectory_match"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_statistics_oracle(case):
    got = getattr(stats, case["function"])(**case["inputs"])
    assert same(got, case["expected"], case["tol"]), f"got {got}, expected {case['expected']}"


def test_the_comparison_can_fail():
    assert not same(0.5, 0.51, 1e-9)
    assert not same(None, 0.0, 1)
    assert not same(0.0, None, 1)
    assert not same(1, True, 1)
    assert not same({"a": 1.0}, {"b": 1.0}, 1e-9)
    assert not same([1.0], [1.0, 2.0], 1e-9)
    assert same({3: 1.0}, {"3": 1.0}, 0)


def test_most_of_the_oracle_is_there():
    assert len(CASES) >= 122
    assert len({case["function"] for case in CASES}) >= 48
