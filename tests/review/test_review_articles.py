"""What the articles on agent evaluation ask of labels and judges, as their oracle has it."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from judge_builders import draft
from review_builders import choosing, messages, pairs

from reviewer.review.agreement import agreement
from reviewer.review.judge_calls import NotParsed, read_reply
from reviewer.review.judged import message_figures
from reviewer.review.judgments import Judgment, seal
from reviewer.review.queue import (
    STRATUM_OF,
    Signals,
    build_queue,
    reasons_of,
    sampled,
    trace_signals,
)
from reviewer.review.wording import compare_texts
from reviewer.stats.text import token_f1_set
from reviewer.suite.wording import phrase_use

ORACLES = Path(__file__).parents[1] / "data" / "oracles"
ARTICLES = json.loads((ORACLES / "articles.json").read_text("utf-8"))
STATISTICS = json.loads((ORACLES / "statistics.json").read_text("utf-8"))["cases"]
CASES = {case["id"]: case for case in (*ARTICLES["cases"], *ARTICLES["defects"], *STATISTICS)}
NAMES = {"iteration_limit": "hit_max_iterations", "blocked_output": "output_blocked"}


def of(function: str) -> list[Any]:
    found = [pytest.param(c, id=c["id"]) for c in CASES.values() if c["function"] == function]
    assert found
    return found


def signals(run: dict[str, Any]) -> Signals:
    return Signals(
        iteration_limit=run.get("hit_max_iterations", False),
        blocked_output=run.get("output_blocked", False),
        efficiency=run.get("step_efficiency"),
    )


# flags and sampling -------------------------------------------------------------------------------


@pytest.mark.parametrize("case", of("review_flags"))
def test_the_articles_flags_and_their_priorities(case: dict[str, Any]) -> None:
    found = reasons_of(signals(case["inputs"]["run"]))
    assert [[NAMES.get(one, one), STRATUM_OF[one]] for one in found] == case["expected"]


@pytest.mark.parametrize("case", of("post_run_review_check"))
def test_a_run_is_queued_once_with_all_its_reasons(case: dict[str, Any]) -> None:
    (item,) = messages(1)
    flagged = {item.traces[0]: signals(case["inputs"])}
    (entry,) = build_queue([item], flagged, salt="s", rate=0.0).entries
    wanted = case["should_be"]
    assert (entry.stratum, [NAMES[one] for one in entry.reasons]) == (
        wanted["priority"],
        wanted["reasons"],
    )


def test_a_limit_hit_is_known_by_how_the_trace_ended() -> None:
    assert reasons_of(trace_signals(critical=False, termination="hit_max_iterations")) == (
        "iteration_limit",
    )
    assert reasons_of(trace_signals(critical=False, codes={"thumbs_down"})) == ("thumbs_down",)


@pytest.mark.parametrize("case", of("should_sample_for_review"))
def test_sampling_is_by_hash_and_can_be_repeated(case: dict[str, Any]) -> None:
    rate = case["inputs"]["rate"]
    drawn = 0
    for run in (f"run-{n}" for n in range(4_000)):
        digest = hashlib.sha256(f"salt{run}".encode()).hexdigest()
        assert sampled("salt", run, rate) == (int(digest, 16) / 2**256 < rate)
        drawn += sampled("salt", run, rate)
    assert drawn == pytest.approx(4_000 * rate, rel=0.25)


# judges -------------------------------------------------------------------------------------------


def scored(score: float | None) -> Judgment:
    (item,) = messages(1)
    said = {"error": "not_parsed"} if score is None else {"scores": {"score": score}}
    return seal(draft(item, **said))


@pytest.mark.parametrize("case", of("task_completion"))
def test_a_message_is_complete_from_seven(case: dict[str, Any]) -> None:
    (found,) = message_figures([scored(case["inputs"]["judge_score_0_10"])])
    assert found.complete is not None
    assert bool(found.complete.hits) == case["expected"]["completed"]
    assert (found.means["score"] or 0.0) / 10 == pytest.approx(case["expected"]["score"])


@pytest.mark.parametrize("case", of("llm_judge_answer"))
def test_a_reply_without_an_answer_is_a_failure_that_is_counted(case: dict[str, Any]) -> None:
    for preset in ("pairwise", "completion", "correctness-completeness-relevance"):
        with pytest.raises(NotParsed):
            read_reply(case["inputs"], preset)  # type: ignore[arg-type]
    with pytest.raises(NotParsed):
        read_reply('{"correctness": 6, "completeness": 0, "relevance": 1}',
                   "correctness-completeness-relevance")  # fmt: skip
    (found,) = message_figures([scored(None)])
    assert (found.messages, found.errors, found.means) == (0, 1, {"score": None})


# text ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", of("exact_match"))
def test_exact_is_the_articles(case: dict[str, Any]) -> None:
    first, second = case["inputs"].values()
    assert compare_texts(first, second).exact == case["expected"]


def test_repeating_a_word_pays_only_by_the_articles_own_rule() -> None:
    inputs = CASES["d2.f1_set"]["inputs"]
    texts = inputs["predicted"], inputs["reference"]
    assert token_f1_set(*texts) == CASES["d2.f1_set"]["article_returns"] == 1.0
    assert compare_texts("cat cat cat", "cat").token_f1 == pytest.approx(0.5)


def test_a_denial_is_not_the_phrase_that_it_denies() -> None:
    answer = CASES["d4.negation"]["inputs"]["final_answer"]
    for phrase in ("bleeding risk", "NSAID", "anticoagulant"):
        assert phrase_use(answer, phrase) == "negated"


# agreement ----------------------------------------------------------------------------------------


def test_eight_annotators_who_share_the_work_agree_as_three_who_did_all_of_it() -> None:
    """Alpha knows what was said of an item and not by whom: the oracle's three rows, handed out to
    eight annotators so that each has labeled some items only."""
    case = CASES["krippendorff_alpha/06"]
    rows, items = case["inputs"]["ratings"], pairs(6)
    labels = [
        choosing(item, "new" if row[n] else "old", reviewer=f"annotator {(3 * n + place) % 8}")
        for place, row in enumerate(rows)
        for n, item in enumerate(items)
    ]
    first = {i.item: next(m.digest for m in i.messages if m.text[:3] == "old") for i in items}
    (found,) = agreement(labels, first=first)
    assert len(found.reviewers) == 8
    assert (found.items, found.ratings) == (6, 18)
    assert found.alpha.value == pytest.approx(case["expected"], abs=case["tol"])
    assert found.kappa.why == "kappa is for two reviewers, here are 8"
