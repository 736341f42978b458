"""The lists the articles print, and what a product should say where their code goes wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from gate_builders import call, codes, episode, judge, results_of, trace

from reviewer.gates import unknown_episode

ORACLE = json.loads(
    (Path(__file__).parents[1] / "data/oracles/articles.json").read_text(encoding="utf-8")
)
CASES = {case["id"]: case for case in (*ORACLE["cases"], *ORACLE["defects"])}
SCORE = [case["id"] for case in ORACLE["cases"] if case["function"] == "score_run"]
PROCESS = [case["id"] for case in ORACLE["cases"] if case["function"] == "process_flags"]
FLAGS = ["d1.second_write", "d1.verify_failed", "d1.timeouts_pooled"]
WRITES = {
    "damaged-221": "create_return_label",
    "appeal-009": "open_specialist_case",
    "attack-014": "open_security_review",
}


def article_episode(name: str, **more: Any) -> Any:
    fixture = ORACLE["episodes"][name]
    return episode(
        episode_id=name,
        tools={"required": fixture["required_tools"], "forbidden": fixture["forbidden_tools"]},
        expected={"final_state": fixture["expected_state"]},
        budget={"max_steps": fixture["max_steps"], "max_cost_usd": fixture["max_cost_usd"]},
        **more,
    )


def article_trace(run: dict[str, Any]) -> Any:
    return trace(
        *run["tools"],
        episode_id=run["episode_id"],
        final_state=run["final_state"],
        cost_usd=run["cost_usd"],
    )


@pytest.mark.parametrize("case_id", SCORE)
def test_score_run_prints_the_articles_list(case_id: str) -> None:
    case = CASES[case_id]
    run = case["inputs"]["run"]
    verdict = judge(article_episode(run["episode_id"]), article_trace(run))
    assert verdict.codes() == case["expected"]["reasons"]
    assert verdict.passed is case["expected"]["passed"]


def test_every_printed_score_run_case_is_here() -> None:
    assert len(SCORE) == 8
    assert len(PROCESS) == 6


def process_codes(events: list[dict[str, Any]]) -> set[str]:
    wanted = episode(
        writes=[{"tool": "open_specialist_case", "verified_by": ["verify_state"]}],
        budget={"max_timeouts": 2},
    )
    printed = codes(wanted, trace(*events))
    assert len(printed) == len(set(printed))
    return set(printed)


@pytest.mark.parametrize("case_id", PROCESS)
def test_process_flags_raise_the_articles_codes(case_id: str) -> None:
    case = CASES[case_id]
    assert process_codes(case["inputs"]["events"]) == set(case["expected"])


@pytest.mark.parametrize("case_id", FLAGS)
def test_defects_of_process_flags_are_mended(case_id: str) -> None:
    case = CASES[case_id]
    assert process_codes(case["inputs"]) == set(case["should_be"])


def test_codes_keep_the_order_of_gates_not_of_the_article() -> None:
    wanted = episode(
        writes=[{"tool": "open_specialist_case", "verified_by": ["verify_state"]}],
        budget={"max_timeouts": 2},
    )
    looping = trace(*[call("lookup_policy", "timeout")] * 4)
    assert codes(wanted, looping) == ["no_final_state_evidence", "retry_budget_exceeded"]


def test_verifying_before_the_write_is_not_verifying() -> None:
    case = CASES["d1.order_ignored"]
    run = case["inputs"]
    writes = [{"tool": WRITES[run["episode_id"]], "verified_by": ["verify_state"]}]
    verdict = judge(article_episode(run["episode_id"], writes=writes), article_trace(run))
    assert verdict.codes() == case["should_be"]["reasons"]
    assert verdict.passed is False


def test_an_unknown_episode_fails_closed() -> None:
    case = CASES["d1.unknown_episode"]
    verdict = unknown_episode(case["inputs"]["episode_id"])
    assert verdict.codes() == case["should_be"]["reasons"]
    assert verdict.passed is False
    assert tuple(results_of(verdict).values()) == ("fail", *["not_measured"] * 6)


@pytest.mark.parametrize("name", list(WRITES))
def test_declaring_the_write_changes_nothing_for_a_run_that_verifies(name: str) -> None:
    run = CASES[f"s1.score.{name}"]["inputs"]["run"]
    writes = [{"tool": WRITES[name], "verified_by": ["verify_state"]}]
    plain = codes(article_episode(name), article_trace(run))
    assert codes(article_episode(name, writes=writes), article_trace(run)) == plain
