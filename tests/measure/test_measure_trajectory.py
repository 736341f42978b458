"""Tool names, tool calls and answers compared: diagnostics that hostile traces cannot break."""

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.stats import (
    edit_similarity,
    exact_match,
    indel_ratio,
    kendall_tau,
    lcs_length,
    squad_em,
    squad_f1,
    step_efficiency,
    token_f1,
    token_f1_set,
    tool_call_metrics,
    tool_f1_multiset,
    tool_prf_set,
    trajectory_match,
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
    for symmetric in (edit_similarity, lcs_length, tool_f1_multiset):
        assert symmetric(actual, expected) == symmetric(expected, actual)
    assert tool_prf_set(actual, expected)["f1"] == tool_prf_set(expected, actual)["f1"]
    assert lcs_length(actual, expected) <= min(len(actual), len(expected))


@given(NAMES.filter(bool))
def test_the_expected_trajectory_scores_one_everywhere(names):
    assert set(trajectory_metrics(names, names).values()) == {1.0}
    assert edit_similarity(names, names) == 1.0


@given(NAMES, NAMES)
def test_lcs_is_the_longest_subsequence(actual, expected):
    def contained(part):
        rest = iter(actual)
        return all(name in rest for name in part)

    longest = max(
        size
        for size in range(len(expected) + 1)
        if any(contained(part) for part in itertools.combinations(expected, size))
    )
    assert lcs_length(actual, expected) == longest


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
    assert trajectory_match(mixed, calls, "unordered")


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
    assert trajectory_match([("t", {"k": value})], [("t", {"k": again})], "strict")


def test_calls_in_either_form():
    pair, named, spelled = (
        ["t", {"a": 1}],
        {"tool": "t", "args": {"a": 1}},
        {
            "tool": "t",
            "arguments": {"a": 1},
        },
    )
    assert trajectory_match([pair, named], [spelled, pair], "strict")
    assert trajectory_match([{"tool": "t"}], [("t", None)], "strict")


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
        trajectory_match([], [call], "subset")


def test_bottomless_arguments_are_refused():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        tool_call_metrics([("t", {"a": deep})], [])


def brute_force_covers(more, fewer, agree):
    return any(
        all(agree(f, more[i]) for f, i in zip(fewer, chosen, strict=True))
        for chosen in itertools.permutations(range(len(more)), len(fewer))
    )


@given(CALLS, CALLS, st.sampled_from(["exact", "ignore", "subset", "superset"]))
def test_modes_agree_with_trying_every_pairing(actual, expected, args):
    def agree(made, wanted):
        return (
            made[0] == wanted[0]
            and {
                "exact": made[1] == wanted[1],
                "ignore": True,
                "subset": made[1].items() <= wanted[1].items(),
                "superset": made[1].items() >= wanted[1].items(),
            }[args]
        )

    subset = brute_force_covers(expected, actual, agree)
    superset = brute_force_covers(actual, expected, lambda wanted, made: agree(made, wanted))
    assert trajectory_match(actual, expected, "subset", args) is subset
    assert trajectory_match(actual, expected, "superset", args) is superset
    unordered = superset and len(actual) == len(expected)
    assert trajectory_match(actual, expected, "unordered", args) is unordered
    in_order = len(actual) == len(expected) and all(map(agree, actual, expected))
    assert trajectory_match(actual, expected, "strict", args) is in_order


def test_a_greedy_pairing_would_miss_this_one():
    actual = [("t", {"a": 1, "b": 1}), ("t", {"a": 1})]
    expected = [("t", {"a": 1}), ("t", {"a": 1, "b": 1})]
    assert trajectory_match(actual, expected, "unordered", "superset")


def test_unknown_modes_are_refused():
    with pytest.raises(ValueError, match="mode must be one of strict, unordered"):
        trajectory_match([], [], "loose")
    with pytest.raises(ValueError, match="args must be one of exact, ignore"):
        trajectory_match([], [], "strict", "fuzzy")


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


@given(st.permutations(range(6)))
def test_kendall_of_a_reversed_ranking_changes_sign(order):
    forward = kendall_tau(list(range(6)), order)
    assert kendall_tau(list(range(6)), order[::-1]) == pytest.approx(-forward)
    assert kendall_tau(order, order) == pytest.approx(1.0)


def test_kendall_without_a_ranking_is_undefined():
    assert kendall_tau([1], [1]) is None
    assert kendall_tau([1, 1], [1, 2]) is None
    with pytest.raises(ValueError, match="x and y must be equally long"):
        kendall_tau([1, 2], [1])
    with pytest.raises(ValueError, match="x and y must be finite"):
        kendall_tau([1, math.nan], [1, 2])
