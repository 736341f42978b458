"""Every case of the oracle of bounds, through the public name of its function."""

import json

import pytest
from stats_oracles import ORACLES

from reviewer.api import stats

CASES = json.loads((ORACLES / "bounds.json").read_text("utf-8"))
DIRECT = [c for c in CASES if not c["function"].startswith(("monotone_", "power_"))]
MONOTONE = [c for c in CASES if c["function"].startswith("monotone_")]


@pytest.mark.parametrize("case", DIRECT, ids=lambda case: case["id"])
def test_bound(case):
    got = getattr(stats, case["function"])(**case["inputs"])
    scale = case["expected"] if "relative tolerance" in case.get("note", "") else 1.0
    assert abs(got - case["expected"]) <= case["tolerance"] * scale


@pytest.mark.parametrize("case", MONOTONE, ids=lambda case: case["id"])
def test_order(case):
    given = case["inputs"]
    if case["function"] == "monotone_pair":
        expected = [case["expected"]["better"], case["expected"]["worse"]]
        found = [
            stats.rate_lower_bound(given[side], given["confidence"]) for side in ("better", "worse")
        ]
    else:
        made, expected = given["attempts"], case["expected"]
        clean = [(made, made)] * (given["episodes"] - 1)
        found = [
            stats.rate_lower_bound([*clean, (made, made - failing)])
            for failing in given["failing_in_one_episode"]
        ]
    assert found == pytest.approx(expected, abs=case["tolerance"])
    assert found == sorted(found, reverse=True)


def test_most_of_the_oracle_is_there():
    assert len(DIRECT) >= 38
    assert len(MONOTONE) >= 4
