"""The fourth article's gate of a pipeline, as policy: completion, and the drop from a baseline."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from release_examples import episode, evidence, failed, plain, suite, v8, with_policy

from reviewer.report.assess import Assessment, assess
from reviewer.report.build import report
from reviewer.report.evidence import EpisodeCounts, Evidence
from reviewer.suite.model import Episode, PassHat, Policy, RegressionPolicy

ORACLE = json.loads(
    (Path(__file__).parents[1] / "data/oracles/articles.json").read_text(encoding="utf-8")
)
CASES = {case["id"]: case for case in ORACLE["cases"]}
LIMITS = ORACLE["constants"]["thresholds"]["article4"]
LENIENT = Policy(
    attempts=10,
    hard_pass_rate=0.5,
    pass_hat=PassHat(k=1, min=0.5),
    completion_min=LIMITS["ci_completion_min"],
    regression=RegressionPolicy(margin=LIMITS["ci_max_drop"]),
)


def of(candidate_id: str, passes: tuple[int, ...], gate: str, made: int = 10) -> Evidence:
    """Episodes of `made` attempts each, of which these many pass; the others fail at `gate`."""
    rows = tuple(
        episode(f"e-{i}", made, n, made, in_plan=made, fail={gate: made - n} if made > n else {})
        for i, n in enumerate(passes)
    )
    names = tuple(Episode(episode_id=row.episode_id) for row in rows)
    return evidence(candidate_id, rows, suite=replace(suite(LENIENT), episodes=names))


def reasons(judged: Assessment) -> list[str]:
    return [reason.text for reason in judged.reasons]


# completion ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case_id", [c["id"] for c in ORACLE["cases"] if c["function"] == "ci_completion_gate"]
)
def test_completion_passes_at_eighty_in_a_hundred(case_id: str) -> None:
    case = CASES[case_id]
    completed, total = case["inputs"]["completed"], case["inputs"]["total"]
    subject = with_policy(
        of("c", (completed,), "state", total),
        completion_min=0.8, hard_pass_rate=0.5, pass_hat=PassHat(k=1, min=0.5),
    )  # fmt: skip
    judged = assess(subject)
    assert judged.figures.completion.value == pytest.approx(case["expected"]["rate"])
    assert ("completion below policy" not in reasons(judged)) is case["expected"]["passed"]
    assert judged.recommendation == ("promote" if case["expected"]["passed"] else "repair")
    strict = assess(with_policy(subject, hard_pass_rate=1.0))
    # Where every attempt is to pass, one end that was missed blocks.
    assert strict.recommendation == ("promote" if completed == total else "block")


def test_completion_below_policy_names_its_evidence() -> None:
    found = failed("c", "e-0", 1, ("state", "message_missing:bleeding risk", 3))
    judged = assess(replace(of("c", (7,), "state"), failures=(found,)))
    (reason,) = [r for r in judged.reasons if r.text == "completion below policy"]
    assert (reason.observed, reason.policy) == ("7 of 10", "0.8")
    assert [ref.code for ref in reason.evidence] == ["message_missing:bleeding risk"]


def test_completion_by_a_judge_is_not_measured() -> None:
    document = plain(report(v8()))
    assert document["completion"]["value"] == 1.0
    assert document["completion"]["judged"] is None
    assert "completion.judged: no judge and no labels yet" in document["not_measured"]
    assert document["judge"]["role"] == "advisory only"


# the drop -----------------------------------------------------------------------------------------

FLAKY = {  # pass rate → passes of ten, in episodes none of which was ever stable
    0.9: (9, 9, 9, 9, 9),
    0.86: (9, 9, 9, 8, 8),
    0.85: (8, 8, 8, 8, 9, 9, 9, 9, 9, 8),
    0.84: (9, 9, 8, 8, 8),
}


def against(baseline: tuple[int, ...], candidate: tuple[int, ...], **policy: Any) -> Evidence:
    before = of("before", baseline, "process").episodes
    subject = of("after", candidate, "process")
    changed = replace(subject.suite, policy=replace(LENIENT, **policy))
    return replace(subject, suite=changed, baseline_id="before", baseline=before)


@pytest.mark.parametrize(
    "case_id", [c["id"] for c in ORACLE["cases"] if c["function"] == "ci_drop_gate"]
)
def test_a_drop_that_chance_does_not_explain_is_a_reason(case_id: str) -> None:
    case = CASES[case_id]
    now = FLAKY[case["inputs"]["candidate"]]
    then = FLAKY[case["inputs"]["baseline"]] * (len(now) // 5)
    judged = assess(against(then, now))
    assert judged.regression.difference == pytest.approx(
        case["inputs"]["candidate"] - case["inputs"]["baseline"]
    )
    assert judged.regression.lost == ()
    # The article compares the drop with five points. Here episodes that fell by equal steps are
    # counted: three of five that fell are more than chance, two of five are not.
    fell = sum(a < b for a, b in zip(now, then, strict=True))
    blocked = math.sqrt(fell) > 1.645
    assert judged.regression.score == pytest.approx(-math.sqrt(fell))
    assert reasons(judged) == (["regression against the baseline"] if blocked else [])
    assert judged.recommendation == ("repair" if blocked else "promote")


def test_the_reason_says_how_far_it_fell() -> None:
    (reason,) = assess(against(FLAKY[0.9], FLAKY[0.84])).reasons
    assert (reason.observed, reason.policy) == (
        "difference -0.060, score -1.73",
        "no worse than before beyond chance: a score of -1.645 or more",
    )


@pytest.mark.parametrize("margin", [0.0, 0.04, 0.0399])
def test_the_margin_is_for_strict_mode(margin: float) -> None:
    judged = assess(against(FLAKY[0.9], FLAKY[0.86], regression=RegressionPolicy(margin=margin)))
    assert judged.recommendation == "promote"


def test_a_lost_episode_is_a_note_and_no_reason() -> None:
    rows: tuple[EpisodeCounts, ...] = of("before", (10,) * 50, "process").episodes
    subject = of("after", (9, *(10,) * 49), "process")
    judged = assess(replace(subject, baseline_id="before", baseline=rows))
    assert judged.regression.difference == pytest.approx(-0.002)
    assert (judged.recommendation, judged.regression.lost) == ("promote", ("e-0",))


@pytest.mark.parametrize(("made", "blocked"), [(4, False), (5, True)])
def test_a_dead_episode_is_a_reason_from_five_attempts_on(made: int, blocked: bool) -> None:
    rows: tuple[EpisodeCounts, ...] = of("before", (made,) * 50, "process", made).episodes
    subject = of("after", (0, *(made,) * 49), "process", made)
    judged = assess(replace(subject, baseline_id="before", baseline=rows))
    assert (judged.regression.dead, judged.regression.dead_for_sure) == (
        ("e-0",), ("e-0",) if blocked else ()
    )  # fmt: skip
    if blocked:
        (reason,) = judged.reasons
        assert reason.observed == "dead e-0; difference -0.020, score -1.00; lost e-0"


def test_without_a_baseline_nothing_is_compared() -> None:
    document = plain(report(of("c", FLAKY[0.84], "process")))
    assert (document["recommendation"], document["regression"]["score"]) == ("promote", None)
