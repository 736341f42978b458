"""The judge's permission, its position bias, and rates corrected for its noise."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.api.stats import (
    allocate_calibration,
    calibrate_judge,
    correction_is_sound,
    failure_rate_upper_bound,
    judge_corrected_rate,
    pairwise_winrate_conservative,
    position_bias,
    ppi_mean,
    rate_lower_bound,
)

WINNER = st.sampled_from(["A", "B", "tie"])
VERDICT = st.sampled_from(["A", "B", "tie", None])
ROWS = st.lists(
    st.fixed_dictionaries(
        {"human": WINNER, "judge_forward": VERDICT, "judge_swapped_normalized": VERDICT}
    ),
    min_size=1,
    max_size=30,
)
SLOTS = st.lists(st.tuples(*[st.sampled_from("ABC")] * 2), min_size=1, max_size=30)


def row(human, forward, swapped):
    return {"human": human, "judge_forward": forward, "judge_swapped_normalized": swapped}


@given(ROWS)
def test_both_orders_right_is_the_strictest_figure(rows):
    got = calibrate_judge(rows, confidence=0.95)
    both = got["both_orders_correct"]
    assert both <= min(got["forward_accuracy"], got["swapped_accuracy"])
    assert both <= 1 - got["order_flip_rate"] + 1e-12
    assert got["both_orders_lower"] <= both
    assert got["flip_upper"] >= got["order_flip_rate"]
    assert got["primacy"] + got["recency"] + got["failures"] == round(
        got["order_flip_rate"] * got["n"]
    )
    # Bounds never permit what the points forbid.
    assert got["judge_can_auto_accept"] or not got["judge_can_auto_accept_strict"]


def test_limits_are_inclusive():
    rows = [row("A", "A", "A")] * 18 + [row("A", "A", "B")] + [row("A", "B", "B")]
    got = calibrate_judge(rows)
    assert (got["forward_accuracy"], got["order_flip_rate"]) == (0.95, 0.05)
    assert got["judge_can_auto_accept"]
    assert calibrate_judge(rows, min_accuracy=0.95)["judge_can_auto_accept"]
    assert not calibrate_judge(rows, min_accuracy=0.951)["judge_can_auto_accept"]
    assert not calibrate_judge(rows, max_flip_rate=0.049)["judge_can_auto_accept"]


def test_four_perfect_labels_satisfy_the_points_but_not_the_bounds():
    got = calibrate_judge([row("A", "A", "A")] * 4, confidence=0.95)
    assert got["judge_can_auto_accept"] is True
    assert got["judge_can_auto_accept_strict"] is False
    assert got["both_orders_lower"] == pytest.approx(rate_lower_bound(successes=4, total=4))
    assert got["flip_upper"] == pytest.approx(failure_rate_upper_bound(0, 4))


@pytest.mark.parametrize(("labels", "accepted"), [(58, False), (59, True)])
def test_bounds_need_59_clean_labels(labels, accepted):
    got = calibrate_judge([row("B", "B", "B")] * labels, confidence=0.95)
    assert got["judge_can_auto_accept_strict"] is accepted


def test_without_labels_nothing_is_accepted():
    got = calibrate_judge([], confidence=0.95)
    assert got["forward_accuracy"] is None
    assert got["order_flip_rate"] is None
    assert got["judge_can_auto_accept"] is False
    assert got["judge_can_auto_accept_strict"] is False
    assert calibrate_judge([])["judge_can_auto_accept_strict"] is None


def test_a_judge_that_fails_to_answer_is_wrong_and_unstable():
    got = calibrate_judge([row("A", None, None), row("A", "A", "A")])
    assert got["failures"] == 1
    assert got["forward_accuracy"] == 0.5
    assert got["order_flip_rate"] == 0.5


def test_slot_preference_of_ties():
    got = calibrate_judge([row("A", "A", "tie"), row("A", "tie", "A"), row("A", "B", "tie")])
    # A first in order AB: slot 1; A in order BA: slot 2.
    assert (got["primacy"], got["recency"]) == (1, 2)


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (row(None, "A", "A"), "human"),
        (row("a", "A", "A"), "human"),
        (row("A", "first", "A"), "judge_forward"),
        ({"human": "A", "judge_forward": "A"}, "judge_swapped_normalized"),
    ],
)
def test_rows_that_say_something_else_are_refused(bad, field):
    with pytest.raises(ValueError, match=rf"rows\[1\]\.{field}"):
        calibrate_judge([row("A", "A", "A"), bad])


@given(SLOTS)
def test_position_bias_changes_sign_with_the_slots(pairs):
    got = position_bias(pairs)
    flip = {"A": "B", "B": "A", "C": "C"}
    mirrored = position_bias([(flip[a], flip[b]) for a, b in pairs])
    assert mirrored["preference_score"] == pytest.approx(-got["preference_score"])
    assert (mirrored["primacy"], mirrored["recency"]) == (got["recency"], got["primacy"])
    assert -1 <= got["preference_score"] <= 1
    consistent = round(got["position_consistency"] * len(pairs))
    assert consistent + got["primacy"] + got["recency"] == len(pairs)


def test_position_bias_with_ties_and_without_pairs():
    got = position_bias([["A", "C"], ["C", "A"], ["C", "B"], ["C", "C"]])
    assert (got["primacy"], got["recency"], got["position_consistency"]) == (2, 1, 0.25)
    assert position_bias([])["position_consistency"] is None
    with pytest.raises(ValueError, match=r"choice_pairs\[0\]"):
        position_bias([["A", "N"]])


def test_a_win_needs_both_orders():
    got = pairwise_winrate_conservative([["model_1", "model_2"], ["model_1", "tie"]])
    assert got == {"win": 0, "loss": 0, "tie": 2, "win_rate_adjusted": 0.5}
    assert pairwise_winrate_conservative([])["win_rate_adjusted"] is None
    with pytest.raises(ValueError, match=r"votes\[0\]"):
        pairwise_winrate_conservative([["model_3", "tie"]])


def test_the_corrected_rate_of_the_guide():
    got = judge_corrected_rate(0.92, 0.8, 0.95, 300, 20, 40)
    assert got["theta"] == pytest.approx(0.96)
    assert (round(got["low"], 3), round(got["high"], 3)) == (0.873, 1.0)


@given(st.floats(0, 1), st.floats(0.6, 1), st.floats(0.6, 1))
def test_corrected_rates_stay_in_the_unit(p, q0, q1):
    got = judge_corrected_rate(p, q0, q1, 100, 30, 30)
    assert 0 <= got["low"] <= got["high"] <= 1
    assert 0 <= got["theta"] <= 1


def test_a_judge_no_better_than_chance_corrects_nothing():
    assert judge_corrected_rate(0.5, 0.5, 0.5, 100, 30, 30) is None
    assert judge_corrected_rate(0.5, 0.1, 0.3, 100, 30, 30) is None
    assert not correction_is_sound(0.6, 0.6, 30, 30)
    assert not correction_is_sound(0.9, 0.9, 19, 30)
    assert correction_is_sound(0.9, 0.9, 20, 20)


@given(st.integers(20, 500), st.floats(0, 1), st.floats(0.5, 1), st.floats(0.5, 1))
def test_allocation_spends_all_labels_and_keeps_the_pilot(m, p, q0, q1):
    got = allocate_calibration(m, p, q0, q1, 10)
    assert sum(got) == m
    assert min(got) >= 10


def test_allocation_needs_room_for_its_pilot():
    with pytest.raises(ValueError, match="m must cover the pilot"):
        allocate_calibration(15, 0.5, 0.9, 0.9, 10)
    assert sum(allocate_calibration(100, 0.5, 0.9, 1.0)) == 100


MARKS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=40)


@given(MARKS, st.lists(st.integers(0, 1), min_size=1, max_size=60))
def test_prediction_power_with_no_weight_is_the_human_mean(pairs, marks):
    human, judge = zip(*pairs, strict=True)
    got = ppi_mean(human, judge, marks, lam=0)
    assert got["est"] == pytest.approx(sum(human) / len(human))
    tuned = ppi_mean(human, judge, marks)
    assert tuned["low"] <= tuned["est"] <= tuned["high"]


def test_prediction_power_refuses_too_little():
    with pytest.raises(ValueError, match="human must hold at least two labels"):
        ppi_mean([1], [1], [1])
    with pytest.raises(ValueError, match="judge_on_unlabeled must not be empty"):
        ppi_mean([1, 0], [1, 0], [])
    with pytest.raises(ValueError, match=r"human\[0\] must be finite"):
        ppi_mean([math.nan, 0], [1, 0], [1])
