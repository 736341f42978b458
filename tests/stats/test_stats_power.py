"""How often a policy is wrong: the oracle's cases, and what the gates say of single releases."""

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from stats_oracles import ORACLES

from reviewer.api.stats import (
    pass_hat_lower_bound,
    power_exact_all_pass,
    power_row,
    rate_lower_bound,
    regression_lower_bound,
)
from reviewer.stats import power

CASES = json.loads((ORACLES / "bounds.json").read_text("utf-8"))
ROWS = [case for case in CASES if case["function"] == "power_row"]
CLOSED = [case for case in CASES if case["function"] == "power_exact_all_pass"]
LENIENT = {
    "hard_pass_rate": 0.9,
    "pass_hat": {"k": 3, "min": 0.8},
    "regression": {"margin": 0.05},
}


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case["id"])
def test_chances_of_the_oracle(case):
    found = power_row(**case["inputs"])
    assert found == pytest.approx(case["expected"], abs=case["tolerance"])


@pytest.mark.parametrize("case", CLOSED, ids=lambda case: case["id"])
def test_closed_forms_of_the_oracle(case):
    found = power_exact_all_pass(**case["inputs"])
    assert found == pytest.approx(case["expected"], abs=case["tolerance"])


def test_the_oracle_has_cases():
    assert len(ROWS) == len(CLOSED) == 3


@pytest.mark.parametrize(("episodes", "attempts"), [(3, 3), (6, 3), (30, 5)])
@pytest.mark.parametrize("true_rate", [1.0, 0.99, 0.9])
def test_a_rate_of_one_has_its_closed_form(episodes, attempts, true_rate):
    policy = {"hard_pass_rate": 1.0}
    found = power_row(episodes, attempts, true_rate, 0.3, policy, baseline=None)
    exact = power_exact_all_pass(episodes, attempts, true_rate, 0.3)["every_attempt_passes"]
    assert found["promote"] == found["hard_pass"] == pytest.approx(exact, abs=0.03)
    strict = power_row(episodes, attempts, true_rate, 0.3, policy, "strict", baseline=None)
    assert strict["promote"] == found["promote"]  # asked of the attempts themselves


def test_a_critical_rate_is_a_gate_of_its_own():
    policy = {"hard_pass_rate": 0.5}
    found = power_row(10, 3, 0.99, 0.3, policy, baseline=None, critical_rate=0.01)
    assert found["critical"] == pytest.approx(0.99**30)
    assert found["promote"] == pytest.approx(found["hard_pass"] * found["critical"])


def test_the_same_question_has_the_same_digits_and_another_seed_others():
    asked = (30, 3, 0.97, 0.3, LENIENT, "strict")
    assert power_row(*asked) == power_row(*asked)
    assert power_row(*asked) != power_row(*asked, seed=1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"episodes": 0}, "episodes"),
        ({"attempts": 51}, "attempts must be at most 50"),
        ({"true_rate": 1.5}, "true_rate"),
        ({"icc": 0.0}, "icc"),
        ({"icc": math.nan}, "icc"),
        ({"worse_by": 0.995}, "worse_by"),
        ({"critical_rate": 2.0}, "critical_rate"),
        ({"mode": "live"}, "mode must be point or strict"),
        ({"baseline": "v7"}, "baseline must be"),
        ({"draws": 0}, "draws"),
    ],
)
def test_what_is_no_design_is_refused(changes, said):
    asked = {"episodes": 3, "attempts": 3, "true_rate": 0.99, "icc": 0.3, "policy": LENIENT}
    with pytest.raises(ValueError, match=said):
        power_row(**{**asked, **changes})


# a release, and what its gates say ---------------------------------------------------------------


@pytest.mark.parametrize("worse_by", [0.0, 0.1])
def test_the_cells_are_those_of_the_model(worse_by):
    design = power.Design(1, 3, 0.9, 0.3, worse_by)
    cells = power._cells(design)
    dice = np.random.default_rng(5)
    n, total = 400_000, 1 / 0.3 - 1
    rates = dice.beta(0.9 * total, 0.1 * total, n)
    kept = 1 - worse_by / 0.9
    factor = dice.beta(kept * total, (1 - kept) * total, n) if worse_by else 1.0
    seen = np.zeros((4, 4))
    np.add.at(seen, (dice.binomial(3, rates * factor), dice.binomial(3, rates)), 1 / n)
    assert cells.sum() == pytest.approx(1.0)
    assert cells == pytest.approx(seen, abs=0.004)
    means = (cells.sum(axis=1) @ np.arange(4) / 3, cells.sum(axis=0) @ np.arange(4) / 3)
    assert means == pytest.approx((0.9 - worse_by, 0.9), abs=1e-12)


@st.composite
def releases(draw):
    attempts = draw(st.integers(1, 6))
    passes = st.tuples(st.integers(0, attempts), st.integers(0, attempts))
    clean = draw(st.integers(0, 90))
    episodes = draw(st.lists(passes, min_size=1, max_size=12)) + [(attempts, attempts)] * clean
    pairs = np.zeros((1, attempts + 1, attempts + 1), int)
    for now, then in episodes:
        pairs[0, now, then] += 1
    return attempts, episodes, pairs


@given(releases(), st.sampled_from([0.5, 0.8, 0.9, 0.95]), st.integers(1, 3))
def test_a_strict_limit_is_met_where_the_bound_reaches_it(release, least, k):
    attempts, episodes, pairs = release
    counts = [(attempts, now) for now, _ in episodes]
    limits = power.Limits(Fraction(str(least)), None, k, Fraction(str(least)), None, strict=True)
    held = power._held(power.Design(len(episodes), attempts, 0.9, 0.3), limits, pairs)
    for name, bound in (
        ("hard_pass", lambda: rate_lower_bound(counts)),
        ("pass_hat", lambda: pass_hat_lower_bound(counts, k)),
    ):
        if name == "pass_hat" and k > attempts:
            assert not held[name][0]
        elif abs(bound() - least) > 1e-5:
            assert bool(held[name][0]) is (bound() >= least)


def small_gains() -> tuple[int, list[tuple[int, int]], np.ndarray]:
    """Three of twenty episodes gain one of three attempts: the score has more than one root."""
    pairs = np.zeros((1, 4, 4), int)
    pairs[0, 1, 0], pairs[0, 3, 3] = 3, 17
    return 3, [(1, 0)] * 3 + [(3, 3)] * 17, pairs


@example(small_gains(), "0.02")
@given(releases(), st.sampled_from(["0.02", "0.05", "0.1"]))
def test_a_strict_regression_holds_where_its_bound_does(release, margin):
    attempts, episodes, pairs = release
    limits = power.Limits(margin=Fraction(margin), strict=True)
    held = power._held(power.Design(len(episodes), attempts, 0.9, 0.3), limits, pairs)
    now, then = zip(*episodes, strict=True)
    low = regression_lower_bound(now, then, attempts)
    # Far from the limit alone: of few episodes the score is not monotone, and has several roots.
    if len(episodes) >= 20 and abs(low + float(margin)) > 1e-6:
        assert bool(held["regression"][0]) is (low > -float(margin))


def test_a_point_limit_is_the_share_itself_to_the_last_attempt():
    for passes in product(range(4), repeat=3):
        pairs = np.zeros((1, 4, 4), int)
        for n in passes:
            pairs[0, n, 3] += 1
        limits = power.Limits(Fraction(8, 9), None, 3, Fraction(2, 3))
        held = power._held(power.Design(3, 3, 0.9, 0.3), limits, pairs)
        assert bool(held["hard_pass"][0]) is (sum(passes) >= 8)
        assert bool(held["pass_hat"][0]) is (sum(n == 3 for n in passes) >= 2)


def test_live_bounds_are_wider():
    asked = (60, 5, 0.99, 0.3, {"hard_pass_rate": 0.9}, "strict", None)
    fixed = power_row(*asked[:4], asked[4], "strict", None)
    live = power_row(*asked[:4], {**asked[4], "stopping": "live"}, "strict", None)
    assert live["promote"] < fixed["promote"]


def test_a_dead_episode_is_found_from_five_attempts_on():
    for attempts, found in ((4, True), (5, False)):
        pairs = np.zeros((1, attempts + 1, attempts + 1), int)
        pairs[0, attempts, attempts], pairs[0, 0, attempts] = 29, 1
        limits = power.Limits(margin=Fraction(1, 20))
        design = power.Design(30, attempts, 0.9, 0.3)
        assert bool(power._held(design, limits, pairs)["regression"][0]) is found


def test_what_a_person_plays_is_in_no_repetition():
    limits = power.Limits(pass_hat=Fraction(1, 2), k=3, strict=True)
    fewer = power.Design(10, 3, 0.9, 0.3, baseline=False)
    some = fewer._replace(episodes=40, by_person=30)
    chance = [power.chances(design, limits).gates["pass_hat"] for design in (fewer, some)]
    assert chance[0] == pytest.approx(chance[1], abs=0.03)
    every = fewer._replace(episodes=40)
    assert power.chances(every, limits).gates["pass_hat"] > chance[1] + 0.1
    alone = power.chances(fewer._replace(by_person=10), limits)
    assert (alone.gates["pass_hat"], alone.promote) == (0.0, 0.0)
    with pytest.raises(ValueError, match="by_person must be at most 10, not 11"):
        power.chances(fewer._replace(by_person=11), limits)
