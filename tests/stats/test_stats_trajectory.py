"""Tool names, tool calls and answers compared: diagnostics that hostile traces cannot break."""

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.api.stats import (
    exact_match,
    indel_ratio,
    squad_em,
    squad_f1,
    step_efficiency,
    token_f1,
    token_f1_set,
    tool_call_metrics,
    tool_f1_multiset,
    tool_prf_set,
    trajectory_metrics,
)

NAMES = st.lists(st.sampled_from(["search", "open", "write", "verify"]), max_size=7)
TEXT = st.text(max_size=40)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("ab"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab"), inner, max_size=2),
    max_leaves=4,
)
ARGUMENTS = st.dictionaries(st.sampled_from("pqr"), st.integers(0, 1), max_size=3)
CALL = st.tuples(st.sampled_from(["search", "open"]), ARGUMENTS)
CALLS = st.lists(CALL, max_size=4)
RATES = (
    "tool_precision",
    "tool_recall",
    "argument_accuracy",
    "argument_precision",
    "argument_recall",
)


@given(NAMES, NAMES)
def test_name_scores_are_rates(actual, expected):
    got = trajectory_metrics(actual, expected)
    assert all(value is None or 0 <= value <= 1 for value in got.values())
    swapped = trajectory_metrics(expected, actual)
    assert (got["precision"], got["recall"]) == (swapped["recall"], swapped["precision"])
    assert tool_f1_multiset(actual, expected) == tool_f1_multiset(expected, actual)
    assert tool_prf_set(actual, expected)["f1"] == tool_prf_set(expected, actual)["f1"]


@given(NAMES.filter(bool))
def test_the_expected_trajectory_scores_one_everywhere(names):
    assert set(trajectory_metrics(names, names).values()) == {1.0}


@given(NAMES, NAMES)
def test_order_is_the_longest_common_subsequence(actual, expected):
    def contained(part):
        rest = iter(actual)
        return all(name in rest for name in part)

    longest = max(
        size
        for size in range(len(expected) + 1)
        if any(contained(part) for part in itertools.combinations(expected, size))
    )
    order = trajectory_metrics(actual, expected)["order"]
    assert order == (longest / len(expected) if expected else None)


def test_where_nothing_is_defined_the_answer_is_null():
    assert trajectory_metrics([], []) == {
        "precision": None,
        "recall": None,
        "f1": None,
        "order": None,
        "efficiency": 1.0,
    }
    assert trajectory_metrics([], ["x"])["precision"] is None
    assert trajectory_metrics(["x"], [])["recall"] is None
    assert trajectory_metrics(["x"], ["x"], successful=False)["efficiency"] is None


def test_efficiency():
    assert step_efficiency(0, 3) == 0.0
    assert step_efficiency(0, 0) == 1.0
    assert step_efficiency(3, 0) == 0.0
    assert step_efficiency(2, 3) == 1.0
    with pytest.raises(ValueError, match="steps_used must not be negative"):
        step_efficiency(-1, 3)
    with pytest.raises(ValueError, match="optimal_steps must be finite"):
        step_efficiency(1, math.nan)


@given(CALLS, CALLS)
def test_call_scores_are_rates_and_mirror(actual, expected):
    got, swapped = tool_call_metrics(actual, expected), tool_call_metrics(expected, actual)
    assert all(got[key] is None or 0 <= got[key] <= 1 for key in RATES)
    assert got["tool_precision"] == swapped["tool_recall"]
    assert got["matched_calls"] == swapped["matched_calls"]
    assert got["expected_calls"] == len(expected)


@given(CALLS, CALLS)
def test_the_assignment_is_the_best_one(actual, expected):
    def share(call, wanted):
        right = sum(call[1].get(key) == value for key, value in wanted[1].items())
        return right / len(wanted[1]) if wanted[1] else 1.0

    best = 0.0
    places = [*range(len(actual)), *[None] * len(expected)]
    for order in set(itertools.permutations(places, len(expected))):
        pairs = [
            share(actual[i], wanted)
            for i, wanted in zip(order, expected, strict=True)
            if i is not None and actual[i][0] == wanted[0]
        ]
        best = max(best, sum(pairs))
    got = tool_call_metrics(actual, expected)["argument_accuracy"]
    assert got == (pytest.approx(best / len(expected)) if expected else None)


@given(CALLS, st.randoms(use_true_random=False))
def test_the_order_of_calls_and_keys_does_not_matter(calls, random):
    mixed = [(tool, dict(random.sample(sorted(args.items()), len(args)))) for tool, args in calls]
    random.shuffle(mixed)
    got = tool_call_metrics(mixed, calls)
    assert all(got[key] in (None, 1.0) for key in RATES)


def test_values_are_compared_as_json():
    def accuracy(a, b):
        return tool_call_metrics([("t", {"k": a})], [("t", {"k": b})])["argument_accuracy"]

    assert accuracy(True, 1) == 0.0
    assert accuracy(False, 0) == 0.0
    assert accuracy(1.0, 1) == 1.0
    assert accuracy("1", 1) == 0.0
    assert accuracy(None, "null") == 0.0
    assert accuracy({"a": 1, "b": [2.0]}, {"b": [2], "a": 1}) == 1.0
    assert accuracy([1, 2], [2, 1]) == 0.0


@given(JSON)
def test_any_json_value_equals_itself_after_a_round_trip(value):
    again = json.loads(json.dumps(value))
    got = tool_call_metrics([("t", {"k": value})], [("t", {"k": again})])
    assert got["argument_accuracy"] == 1.0


def test_calls_in_either_form():
    pair, named, spelled = (
        ["t", {"a": 1}],
        {"tool": "t", "args": {"a": 1}},
        {
            "tool": "t",
            "arguments": {"a": 1},
        },
    )
    got = tool_call_metrics([pair, named], [spelled, pair])
    assert got["argument_accuracy"] == got["argument_precision"] == 1.0
    assert tool_call_metrics([{"tool": "t"}], [("t", None)])["matched_calls"] == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("search", "must be a .tool, arguments. pair or an object"),
        (["t"], "must be a .tool, arguments. pair or an object"),
        ({"args": {}}, "the tool must be a name"),
        (["t", [1]], "the arguments of t must be an object"),
        (["t", {1: 2}], "the arguments of t must be an object"),
        (["t", {"a": math.nan}], "arguments must be JSON values: Out of range"),
        (["t", {"a": {1, 2}}], "arguments must be JSON values"),
        (["t", {"a": 10**5000}], "arguments must be JSON values: Exceeds"),
    ],
)
def test_calls_that_are_none_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        tool_call_metrics([call], [])
    with pytest.raises(ValueError, match=message):
        tool_call_metrics([], [call])


def test_bottomless_arguments_are_refused():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        tool_call_metrics([("t", {"a": deep})], [])


@given(TEXT, TEXT)
def test_text_scores_are_symmetric_rates(a, b):
    for score in (squad_f1, token_f1, token_f1_set, indel_ratio):
        assert score(a, b) == pytest.approx(score(b, a))
        assert 0 <= score(a, b) <= 1
        assert score(a, a) == 1
    assert exact_match(a, b) is exact_match(b, a)
    assert not squad_em(a, b) or squad_f1(a, b) == 1


def test_text_scores_by_hand():
    assert squad_f1("", "") == 1.0
    assert squad_f1("", "cat") == 0.0
    assert squad_em("An  apple!", "apple")
    assert token_f1("a b b", "b b c") == pytest.approx(2 / 3)
    assert exact_match("Caf\u00e9 ", "CAFE\u0301")
    assert not exact_match("Paris.", "Paris")
