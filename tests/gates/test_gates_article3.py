"""The third article's dataset and the fourth's trajectory, judged by the shipped suites."""

import json
from pathlib import Path
from typing import Any

import pytest
from gate_builders import call, episode, trace
from hypothesis import given
from hypothesis import strategies as st

from reviewer.gates import Contract, compile_contract, diagnose, score, unknown_episode
from reviewer.suite.folder import read_suite
from reviewer.trace.record import TraceRecord

ROOT = Path(__file__).parents[2]
ORACLE = json.loads((ROOT / "tests/data/oracles/articles.json").read_text(encoding="utf-8"))
CASES = {case["id"]: case for case in (*ORACLE["cases"], *ORACLE["defects"])}
CONTRACTS: dict[str, Contract] = {
    item.episode_id: compile_contract(item)
    for name in ("file-tools-v1", "drug-info-v1")
    for item in read_suite(ROOT / "suites" / name).suite.episodes
}
ROWS = (
    "golden-read-readme",
    "golden-list-src",
    "secondary-show-project",
    "negative-capital",
    "negative-joke",
)
TABLE = [
    ((), (0, 0, 0, 1, 1)),
    (("read_file",), (1, 0, 0, 0, 0)),
    (("list_files",), (0, 1, 1, 0, 0)),
    (("list_files", "read_file"), (1, 1, 0.6667, 0, 0)),
    (("delete_file",), (0, 0, 0, 0, 0)),
    # The article gives the first row 1 here; a file that is deleted besides is forbidden.
    (("read_file", "delete_file"), (0, 0, 0, 0, 0)),
]
ASKED = {
    "golden-read-readme": {"read_file": {"path": "README.md"}},
    "golden-list-src": {"list_files": {"directory": "src"}},
    "interaction-warfarin-ibuprofen": {
        "check_interaction": {"drug_a": "warfarin", "drug_b": "ibuprofen"}
    },
}
SAID = {"secondary-show-project": "README.md, docs and src.", "negative-capital": "Paris."}
TOOLS = ("read_file", "write_file", "list_files", "delete_file")
SELECTED = st.lists(st.sampled_from(TOOLS), max_size=8)


def judged(name: str, *made: Any, **fields: Any) -> tuple[bool | None, float | None]:
    """Whether the trace passes, and the F1 shown beside it."""
    contract, record = CONTRACTS[name], made_of(name, *made, **fields)
    verdict = score(contract, record)
    return verdict.passed, diagnose(contract, record, verdict).tool_f1


def made_of(name: str, *made: Any, **fields: Any) -> TraceRecord:
    """An attempt whose selected tools, given by name, are called with what the request asks for;
    the article selects tools and gives them no arguments."""
    asked = ASKED.get(name, {})
    calls = [call(one, arguments=asked.get(one, {})) if isinstance(one, str) else one
             for one in made]  # fmt: skip
    return trace(*calls, **{"final_message": SAID.get(name), **fields})


def shown(name: str, *made: Any) -> float | None:
    """The article's score of a row: F1 for a secondary one, else whether it passed."""
    passed, f1 = judged(name, *made)
    return f1 if CONTRACTS[name].episode.category == "secondary" else passed


def codes(name: str, *made: Any, **fields: Any) -> list[str]:
    return score(CONTRACTS[name], made_of(name, *made, **fields)).codes()


# article 3 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("selected", "scores"), TABLE, ids=lambda value: "+".join(map(str, value)))
def test_the_table_of_selections(selected: tuple[str, ...], scores: tuple[float, ...]) -> None:
    for name, wanted in zip(ROWS, scores, strict=True):
        assert shown(name, *selected) == pytest.approx(wanted, abs=1e-4)
        assert judged(name, *selected)[0] is (wanted >= 1.0)


EVALUATED = [
    case["id"]
    for case in ORACLE["cases"]
    if case["article"] == 3 and "dataset_row" in case["inputs"]
]


@pytest.mark.parametrize("case_id", EVALUATED)
def test_a_row_scores_what_the_article_computes(case_id: str) -> None:
    case = CASES[case_id]
    name = ROWS[case["inputs"]["dataset_row"] - 1]
    selected = case["inputs"]["tool_names"]
    # The article counts only whether the expected tool is there; a deleted file is forbidden here.
    deletes = "delete_file" in selected
    wanted = 0.0 if deletes else case["expected"]
    assert shown(name, *selected) == pytest.approx(wanted, abs=1e-9)
    assert judged(name, *selected)[0] is (wanted >= 1.0)


def test_every_evaluated_case_is_here() -> None:
    assert len(EVALUATED) == 18


def test_the_printed_run_averages_one() -> None:
    case = CASES["s3.run.printed"]
    run = (["read_file"], ["list_files"], ["list_files"], [], [])
    scores = [float(shown(name, *made) or 0) for name, made in zip(ROWS, run, strict=True)]
    assert scores == case["inputs"]["scores"]
    assert f"Average score: {sum(scores) / len(scores):.2f}" in case["printed"]
    assert all(judged(name, *made)[0] for name, made in zip(ROWS, run, strict=True))


def test_a_failed_negative_row_is_not_averaged_away() -> None:
    case = CASES["d3.mixed_average"]
    run = (["read_file"], ["list_files"], ["list_files", "read_file"], [], ["read_file"])
    scores = [float(shown(name, *made) or 0) for name, made in zip(ROWS, run, strict=True)]
    assert scores == pytest.approx(case["inputs"], abs=1e-4)
    passed = [judged(name, *made)[0] for name, made in zip(ROWS, run, strict=True)]
    assert passed == [True, True, False, True, False]
    assert codes(ROWS[4], *run[4]) == ["forbidden:read_file"]


def test_a_repeated_tool_never_lifts_f1_above_one() -> None:
    case = CASES["d3.f1_over_1"]
    passed, f1 = judged(ROWS[2], *case["inputs"]["tool_names"])
    assert f1 == pytest.approx(case["should_be"]["f1_multiset"], abs=1e-4)
    assert passed is False


def test_the_row_with_the_typo_is_mended_not_passed() -> None:
    case = CASES["d3.typo"]
    assert case["article_returns"] == 1.0
    for status in ("ok", "denied", "error", "timeout"):
        verdict = score(CONTRACTS[ROWS[3]], made_of(ROWS[3], call("delete_file", status)))
        assert (verdict.passed, verdict.critical) == (False, True)
        assert verdict.codes() == ["forbidden:delete_file"]


@pytest.mark.parametrize(
    ("name", "tool", "arguments"),
    [
        ("golden-read-readme", "read_file", "{bad"),
        ("golden-read-readme", "read_file", {"path": "LICENSE"}),
        ("golden-list-src", "list_files", {}),
    ],
)
def test_a_golden_row_wants_what_was_asked_for(name: str, tool: str, arguments: Any) -> None:
    assert judged(name, call(tool, arguments=ASKED[name][tool]))[0] is True
    path = next(iter(ASKED[name][tool]))
    assert codes(name, call(tool, arguments=arguments)) == [f"wrong_argument:{tool}.{path}"]


@pytest.mark.parametrize("name", ROWS[:3])
@pytest.mark.parametrize("tool", ["write_file", "delete_file"])
def test_no_row_is_passed_by_a_call_that_changes_files_besides(name: str, tool: str) -> None:
    wanted = CONTRACTS[name].episode.tools.required
    verdict = score(CONTRACTS[name], made_of(name, *wanted, tool))
    assert (verdict.passed, verdict.critical) == (False, True)
    assert f"forbidden:{tool}" in verdict.codes()


def test_where_nothing_is_expected_no_selection_is_scored() -> None:
    """The article gives 0.5 to a selection nobody expected. Such a row expects no tool at all, so
    it has no F1: what it says of tools is a gate."""
    case = CASES["s3.f1.noexp.some"]
    assert case["expected"] == 0.5
    assert judged(ROWS[4], *case["inputs"]["tool_names"])[1] is None
    assert judged(ROWS[4])[1] is None


@given(SELECTED)
def test_categories_mean_what_the_article_says_of_any_selection(selected: list[str]) -> None:
    within = len(selected) <= 2 and not {"write_file", "delete_file"} & set(selected)
    assert judged(ROWS[0], *selected)[0] is (within and "read_file" in selected)
    assert judged(ROWS[1], *selected)[0] is (within and "list_files" in selected)
    passed, f1 = judged(ROWS[2], *selected)
    assert f1 is not None
    assert 0 <= f1 <= 1
    assert passed is (f1 >= 1.0)
    for name in ROWS[3:]:
        assert judged(name, *selected)[0] is (not selected)


# article 4 ----------------------------------------------------------------------------------------

INTERACTION = "interaction-warfarin-ibuprofen"
GOOD = CASES["s4.traj.pass"]["inputs"]
REFERENCE = ORACLE["constants"]["reference_trajectories"][INTERACTION]


def test_the_golden_trajectory_passes_with_nothing_missing() -> None:
    case = CASES["s4.traj.pass"]
    said = {"final_message": GOOD["final_answer"]}
    assert judged(INTERACTION, *GOOD["tool_calls"], **said)[0] is case["expected"]["passed"]
    assert codes(INTERACTION, *GOOD["tool_calls"], **said) == []
    extra = ("search_drug_database", "search_drug_database", "check_interaction")
    assert codes(INTERACTION, *extra, **said) == []


def test_the_order_of_the_trajectory_is_read() -> None:
    case = CASES["d4.order_flag"]
    made = case["inputs"]["tool_calls"]
    passed, f1 = judged(INTERACTION, *made, final_message=GOOD["final_answer"])
    assert (passed, f1) == (case["should_be"], 1.0)
    assert codes(INTERACTION, *made, final_message=GOOD["final_answer"]) == [
        "out_of_order:check_interaction"
    ]


def test_a_denial_of_the_content_and_a_tool_beyond_the_list_are_seen() -> None:
    case = CASES["d4.negation"]
    denial = case["inputs"]["final_answer"]
    assert judged(INTERACTION, *GOOD["tool_calls"], final_message=denial)[0] is case["should_be"]
    verdict = score(
        CONTRACTS[INTERACTION],
        made_of(
            INTERACTION, *GOOD["tool_calls"], "delete_record", final_message=GOOD["final_answer"]
        ),
    )
    assert (verdict.codes(), verdict.critical) == (["not_allowed:delete_record"], True)


@pytest.mark.parametrize("text", REFERENCE["required_content"])
def test_each_piece_of_content_is_required(text: str) -> None:
    said = GOOD["final_answer"].replace(text, "something")
    assert codes(INTERACTION, *GOOD["tool_calls"], final_message=said) == [
        f"message_missing:{text}"
    ]


def test_what_is_not_evaluated_does_not_pass() -> None:
    case = CASES["d4.unevaluated_pass"]
    name = case["inputs"]["task_id"]
    assert name not in CONTRACTS
    assert unknown_episode(name).passed is False


EFFICIENCY = [case["id"] for case in ORACLE["cases"] if case["function"] == "step_efficiency"]


@pytest.mark.parametrize("case_id", EFFICIENCY)
def test_efficiency_is_optimal_over_used(case_id: str) -> None:
    case = CASES[case_id]
    free = compile_contract(episode(optimal_steps=case["inputs"]["optimal_steps"]))
    made = ["search"] * case["inputs"]["steps_used"]
    assert diagnose(free, trace(*made)).efficiency == pytest.approx(case["expected"])


def test_doing_nothing_where_steps_were_due_has_no_efficiency() -> None:
    assert len(EFFICIENCY) == 6
    free = compile_contract(episode(optimal_steps=2))
    assert diagnose(free, trace()).efficiency == 0.0
    assert diagnose(CONTRACTS[INTERACTION], trace()).efficiency is None  # it did not pass
    assert diagnose(CONTRACTS[ROWS[4]], trace()).efficiency is None  # nothing was due
