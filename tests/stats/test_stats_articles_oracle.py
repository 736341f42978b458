"""What the source articles print, and what their listings should have returned."""

import pytest
from stats_oracles import load, same

from reviewer.api.stats import (
    calibrate_judge,
    exact_match,
    indel_ratio,
    pass_at_k,
    pass_hat_k_suite,
    step_efficiency,
    summarize,
    token_f1,
    token_f1_set,
    tool_call_metrics,
    tool_f1_multiset,
    tool_prf_set,
    trajectory_metrics,
    wilson_effective,
    wilson_interval,
)

ARTICLES = load("articles.json")
DEFECTS = {defect["id"]: defect for defect in ARTICLES["defects"]}


def run_pass_at_k(i):
    return pass_at_k(i["n"], i["correct"] if "correct" in i else i["c"], i["k"])


RUN = {
    "pass_at_k": run_pass_at_k,
    "compute_pass_at_k": run_pass_at_k,
    "pass_hat_k": lambda i: pass_hat_k_suite(i["groups"])[i["k"]],
    "wilson_interval": lambda i: wilson_interval(**i),
    "exact_match": lambda i: exact_match(**i),
    "token_f1_set": lambda i: token_f1_set(**i),
    "step_efficiency": lambda i: step_efficiency(**i),
}
MEASURED = [case for case in ARTICLES["cases"] if case["function"] in RUN]


@pytest.mark.parametrize("case", MEASURED, ids=lambda case: case["id"])
def test_article_case(case):
    expected = case["expected"]
    if isinstance(expected, dict) and "error" in expected:
        with pytest.raises(ValueError, match=f"^{expected['message']}$"):
            RUN[case["function"]](case["inputs"])
    else:
        assert same(RUN[case["function"]](case["inputs"]), expected, 1e-9)


def test_all_articles_cases_of_measures_are_run():
    assert len(MEASURED) >= 31


def subset(got, expected):
    return {key: got[key] for key in expected}


@pytest.mark.parametrize(
    ("function", "measure", "argument"),
    [("summarize", summarize, "results"), ("calibrate_judge", calibrate_judge, "rows")],
)
def test_article_figures(function, measure, argument):
    cases = [case for case in ARTICLES["cases"] if case["function"] == function]
    assert cases
    for case in cases:
        got = measure(case["inputs"][argument])
        assert same(subset(got, case["expected"]), case["expected"], 1e-9)


def test_an_empty_suite_is_not_allowed_to_be_released():
    defect = DEFECTS["d1.empty_suite"]
    got = summarize(**defect["inputs"])
    assert subset(got, defect["should_be"]) == defect["should_be"]
    assert got["cost_per_success_usd"] is None


def test_pass_hat_3_of_five_attempts():
    defect = DEFECTS["d1.more_than_k"]
    value = pass_hat_k_suite(defect["inputs"]["groups"])[defect["inputs"]["k"]]
    assert value == pytest.approx(defect["should_be"])


def test_attempts_that_always_agree_carry_the_evidence_of_their_episodes():
    # Nine episodes always pass, one never does: the effective sample is 9, not 30.
    got = wilson_effective([[1, 1, 1]] * 9 + [[0, 0, 0]])
    assert got.n_eff == pytest.approx(9.0)
    assert got.value == pytest.approx(0.9)
    assert (round(got.low, 3), round(got.high, 3)) == (0.577, 0.983)


def test_a_flip_that_is_right_in_one_order_is_not_accurate():
    defect = DEFECTS["d1.judge_forward_only"]
    got = calibrate_judge(**defect["inputs"])
    assert subset(got, defect["should_be"]) == defect["should_be"]


def tool_calls(defect_id):
    inputs = DEFECTS[defect_id]["inputs"]
    return tool_call_metrics(inputs["actual"], inputs["expected"]), DEFECTS[defect_id]["should_be"]


def test_repeated_calls_never_lift_recall_above_one():
    got, expected = tool_calls("d2.recall_2")
    assert got["tool_precision"] == expected["precision"]
    assert got["tool_recall"] == expected["recall"]


@pytest.mark.parametrize(
    "defect_id", ["d2.first_match", "d2.unhashable", "d2.true_is_1", "d2.arg_missing_tool"]
)
def test_argument_accuracy(defect_id):
    got, expected = tool_calls(defect_id)
    assert got["argument_accuracy"] == expected


@pytest.mark.parametrize("defect_id", ["d2.extra_args", "d2.keys_change"])
def test_tool_call_shape(defect_id):
    got, expected = tool_calls(defect_id)
    assert subset(got, expected) == expected


def test_order_after_a_long_prefix_is_perfect_and_paid_for_once():
    inputs = DEFECTS["d2.order_prefix"]["inputs"]
    got = trajectory_metrics(inputs["actual"], inputs["expected"])
    assert got["order"] == DEFECTS["d2.order_prefix"]["should_be"]
    assert got["efficiency"] == pytest.approx(3 / 13)


def test_doing_nothing_is_not_efficient():
    inputs = DEFECTS["d2.efficiency_empty"]["inputs"]
    got = trajectory_metrics(inputs["actual"], inputs["expected"])
    assert got["efficiency"] == DEFECTS["d2.efficiency_empty"]["should_be"]


def test_order_figures_of_the_guide():
    expected = ["search", "summarize", "respond"]
    assert trajectory_metrics(["search", "search", *expected[1:]], expected)["order"] == 1.0
    assert trajectory_metrics(expected[::-1], expected)["order"] == pytest.approx(1 / 3)
    repeated = ["search", "open", "search", "open"]
    assert trajectory_metrics(repeated, repeated)["order"] == 1.0
    demo = trajectory_metrics(["search", "search", "summarize", "respond"], expected)
    assert (demo["precision"], demo["recall"], demo["efficiency"]) == (0.75, 1.0, 0.75)


def test_token_f1_counts_repetition_and_drops_punctuation():
    defect = DEFECTS["d2.f1_set"]
    assert token_f1(**defect["inputs"]) == pytest.approx(defect["should_be"], abs=1e-4)
    assert token_f1("Paris.", "Paris") == 1.0


def test_fuzzy_ratio_is_symmetric():
    defect = DEFECTS["d2.fuzzy_asym"]
    assert [indel_ratio(*pair) for pair in defect["inputs"]] == defect["should_be"]


def test_fuzzy_ratio_of_long_texts_that_differ_by_two_letters():
    text = "abcd" * 60
    assert indel_ratio(text, "zz" + text[2:]) > 0.98


def test_a_repeated_tool_never_lifts_f1_above_one():
    defect = DEFECTS["d3.f1_over_1"]
    names, expected = defect["inputs"]["tool_names"], defect["inputs"]["expected_tools"]
    assert tool_prf_set(names, expected)["f1"] == defect["should_be"]["f1_set"]
    multiset = tool_f1_multiset(names, expected)
    assert multiset == pytest.approx(defect["should_be"]["f1_multiset"], abs=1e-4)


def test_article_three_selection_scores():
    cases = [c for c in ARTICLES["cases"] if c["function"] == "tool_selection_score"]
    rows = [c for c in cases if "target" in c["inputs"]]
    assert rows
    for case in rows:
        wanted = case["inputs"]["target"]["expected_tools"]
        got = tool_prf_set(case["inputs"]["tool_names"], wanted)["f1"]
        assert same(got, case["expected"], 1e-9)
