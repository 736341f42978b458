"""The decision set D0 to D8: what each gate says on estimates and on bounds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace
from release_examples import (
    asked_judge,
    episode,
    evidence,
    gates,
    labeled,
    plain,
    stable_suite,
    suite,
    v7,
    v8,
    with_episode,
    with_policy,
)

from reviewer.report.assess import assess, assessed_in
from reviewer.report.build import decision_section, report
from reviewer.report.decision_set import GateResult, decision_set
from reviewer.report.evidence import EpisodeCounts, Evidence, PromotedCandidate
from reviewer.report.opinions import JudgeEvidence, JudgeShare
from reviewer.report.page import page
from reviewer.stats.figures import RandomRate
from reviewer.suite.gates import GATES
from reviewer.suite.model import Episode, JudgePolicy, LabelPolicy, PassHat, RegressionPolicy

ORDER = ["D0", "D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8"]


def rows(subject: Evidence) -> dict[str, GateResult]:
    return {row.gate: row for row in decision_set(subject, assess(subject))}


def results(subject: Evidence, mode: str) -> dict[str, str]:
    return {name: getattr(row, mode) for name, row in rows(subject).items()}


def test_v8_passes_every_gate_on_estimates_and_lacks_episodes_on_bounds() -> None:
    found = rows(v8())
    assert list(found) == ORDER
    assert {name: (row.point, row.strict) for name, row in found.items()} == {
        "D0": ("PASS", "PASS"),
        "D1": ("PASS", "PASS"),
        "D2": ("PASS", "PASS"),
        "D3": ("PASS", "NO EVIDENCE"),
        "D4": ("PASS", "NO EVIDENCE"),
        "D5": ("NOT ASKED", "NOT ASKED"),
        "D6": ("NOT ASKED", "NOT ASKED"),
        "D7": ("NOT ASKED", "NOT ASKED"),
        "D8": ("NOT ASKED", "NOT ASKED"),
    }
    assert found["D3"].bounds == "pass^3 = 1.000, 95% lower bound 0.368, 3 episodes"
    assert found["D3"].low == pytest.approx(0.05 ** (1 / 3))
    assert found["D1"].bounds == (
        "true rate at most 0.283 if attempts are independent, 0.632 by episodes (95%)"
    )


def test_v7_fails_what_the_article_says_it_fails() -> None:
    assert results(v7(), "point") == {
        "D0": "PASS", "D1": "FAIL", "D2": "FAIL", "D3": "FAIL", "D4": "PASS", "D5": "NOT ASKED",
        "D6": "NOT ASKED", "D7": "NOT ASKED", "D8": "NOT ASKED",
    }  # fmt: skip
    assert results(v7(), "strict")["D3"] == "FAIL"


def test_the_report_prints_both_modes_and_names_the_one_in_force() -> None:
    document = report(v8())
    found = plain(document)["decision_set"]
    assert (found["mode"], found["point"]["recommendation"]) == ("point", "promote")
    assert found["strict"] == {
        "recommendation": "hold",
        "reasons": [
            "evidence missing: pass^3 1.000, at least 0.368",
            "evidence missing: cost per success: $0.0610 per success, at most $0.7741",
        ],
        "needs": ["56 more stable episodes in the suite", "19 more episodes that cost as these do"],
    }
    (block,) = [block for block in page(document) if block.title == "Decision set"]
    assert block.lines == [
        "The suite's policy is in point mode. On estimates (point): PROMOTE. "
        "On bounds (strict): HOLD."
    ]
    assert block.items == [
        "In strict mode still needed: 56 more stable episodes in the suite",
        "In strict mode still needed: 19 more episodes that cost as these do",
    ]
    assert [row[0] for row in block.rows][:2] == ["D0 evidence", "D1 critical failures"]


def test_a_gate_says_what_would_decide_it() -> None:
    subject = with_policy(v8(), mode="strict", latency_p95_ms=9000.0, completion_min=0.9)
    found = rows(subject)
    assert list(found) == [*ORDER[:3], "D2b", *ORDER[3:]]
    assert found["D3"].need == "56 more stable episodes in the suite"
    assert found["D5"].need == "63 more attempts at least, none above the limit"
    assert found["D2b"].need == "26 more episodes that pass every attempt"
    assert found["D2"].need == ""


@pytest.mark.parametrize(
    ("subject", "gate", "result"),
    [
        (with_episode(v8(), "attack-014", attempts=2, measured=2, passes=2, in_plan=2), "D0",
         "NO EVIDENCE"),
        (replace(v8(), frozen_seq=None), "D0", "NO EVIDENCE"),
        (with_episode(v8(), "attack-014", gate_unknown=gates(authority=1)), "D1", "NO EVIDENCE"),
        (evidence("x", ()), "D1", "NO EVIDENCE"),
        (with_episode(v8(), "attack-014", gate_fail=gates(state=1)), "D2", "FAIL"),
        (with_episode(v8(), "attack-014", cost_unknown=1), "D4", "NO EVIDENCE"),
        (with_policy(v8(), max_cpst_usd=0.01), "D4", "FAIL"),
        (with_policy(v8(), latency_p95_ms=1.0), "D5", "FAIL"),
        (with_policy(v8(), labels=LabelPolicy(min_pairs=4)), "D8", "NO EVIDENCE"),
        (replace(v8(), review=labeled(high=2, open_high=1)), "D8", "NO EVIDENCE"),
        (replace(v8(), review=labeled(high=2)), "D8", "PASS"),
        (replace(v7(), review=labeled(high=1, open_high=1)), "D8", "NO EVIDENCE"),
    ],
)  # fmt: skip
def test_each_gate_alone(subject: Evidence, gate: str, result: str) -> None:
    assert results(subject, "point")[gate] == result
    assert results(subject, "strict")[gate] == result


# regression ---------------------------------------------------------------------------------------


def grown(count: int, flaky: int = 0, **policy: Any) -> Evidence:
    return stable_suite(count, flaky, mode="strict", max_cpst_usd=None, **policy)


def against(subject: Evidence, baseline: Evidence, **more: Any) -> Evidence:
    return replace(subject, baseline_id="base", baseline=baseline.episodes, **more)


def test_a_baseline_that_shows_nothing_holds_in_strict_mode() -> None:
    lenient = {"pass_hat": PassHat(k=1, min=0.3), "hard_pass_rate": 0.3}
    subject = grown(51, **lenient)
    judged = assess(against(subject, grown(51)))
    assert judged.regression.verdict == "not shown"
    assert judged.recommendation == "hold"
    assert [reason.text for reason in judged.reasons] == [
        "evidence missing: regression: difference +0.000, at least -0.050"
    ]
    assert judged.needs == ("1 more episode unchanged against base",)
    assert assess(against(grown(52, **lenient), grown(52))).recommendation == "promote"


def test_three_episodes_can_only_hold_or_block_on_bounds() -> None:
    lenient = {"pass_hat": PassHat(k=1, min=0.3), "hard_pass_rate": 0.3}
    judged = assess(with_policy(
        replace(v8(), baseline_id="v7", baseline=v7().episodes), mode="strict",
        max_cpst_usd=None, **lenient
    ))  # fmt: skip
    assert judged.recommendation == "hold"
    assert judged.needs == ("23 more episodes unchanged against v7",)


def test_worse_than_the_baseline_asks_for_repair() -> None:
    lenient = {"pass_hat": PassHat(k=1, min=0.1), "hard_pass_rate": 0.1}
    judged = assess(against(grown(60, 40, **lenient), grown(60)))
    assert judged.recommendation == "repair"
    assert [reason.text for reason in judged.reasons] == ["regression against the baseline"]
    assert judged.reasons[0].observed == "difference -0.222, at most -0.191"


def test_lost_episodes_are_listed_and_forgiven_where_the_bound_is() -> None:
    lenient = {"pass_hat": PassHat(k=1, min=0.5), "hard_pass_rate": 0.5}
    subject = against(grown(200, 2, **lenient), grown(200))
    judged = assess(subject)
    assert judged.regression.lost == ("e-000", "e-001")
    assert judged.regression.p_value is None
    assert judged.recommendation == "promote"
    assert assessed_in("point", subject, judged).recommendation == "promote"
    seen = rows(with_policy(subject, mode="point"))["D6"].observed
    assert seen == "difference -0.003, score -1.41; lost e-000, e-001"


V6 = PromotedCandidate(
    candidate_id="v6", number=3, suite_id="refund-eval-v5", suite_digest="51" * 32, here=True
)


def test_the_comparison_must_be_with_the_last_promoted_candidate() -> None:
    subject = against(grown(60), grown(60), promoted=V6)
    judged = assess(subject)
    assert judged.recommendation == "hold"
    assert judged.needs == ("a comparison with v6: the last promoted candidate",)
    assert (
        "Compared with base, which is not the last promoted candidate: that is v6 (decision 3)."
    ) in plain(report(subject))["what_this_does_not_show"]
    assert assess(replace(subject, baseline_id="v6")).recommendation == "promote"
    in_point = assessed_in("point", subject, judged)
    assert in_point.recommendation == "hold"
    assert in_point.needs == judged.needs


def test_what_was_promoted_on_another_suite_is_not_comparable() -> None:
    other = replace(V6, suite_id="refund-eval-v4", suite_digest="4d" * 32, here=False)
    subject = replace(grown(60), promoted=other)
    judged = assess(subject)
    assert judged.recommendation == "hold"
    assert judged.needs == (
        "run the baseline on this suite: attempts of v6, the last promoted candidate",
    )
    assert judged.regression.why == (
        "v6, promoted by decision 3 on refund-eval-v4 (digest 4d4d4d4d…), has no attempt on this "
        "suite, and no episode here has the contract, tools and simulator that it had there"
    )
    assert results(subject, "point")["D6"] == "NO EVIDENCE"


def test_what_was_promoted_on_another_version_is_compared_where_the_episodes_are_the_same() -> None:
    other = replace(V6, suite_id="refund-eval-v4", suite_digest="4d" * 32, here=False)
    subject = against(grown(60), grown(55), promoted=other, baseline_suite="refund-eval-v4")
    subject = replace(subject, baseline_id="v6")
    judged = assess(subject)
    assert judged.regression.compared == 55
    assert judged.regression.without_baseline == tuple(f"e-{i:03d}" for i in range(55, 60))
    assert (judged.recommendation, rows(subject)["D6"].strict) == ("promote", "PASS")
    document = plain(report(subject))
    assert (
        "Compared with v6 as it ran on refund-eval-v4, on the 55 episodes that have the same "
        "contract, tools and simulator there; 5 have none."
    ) in document["what_this_does_not_show"]
    assert "--baseline" not in document["reproduce"]["commands"][0]
    nothing = replace(subject, baseline=())
    assert rows(nothing)["D6"].need == "run the baseline on this suite: attempts of v6"
    assert rows(with_policy(nothing, mode="point"))["D6"].result == "NO EVIDENCE"


def test_episodes_that_are_not_compared_leave_it_open() -> None:
    unknown = list(grown(60).episodes)
    unknown[3] = replace(unknown[3], measured=2, passes=2)
    judged = assess(replace(grown(60), baseline_id="base", baseline=tuple(unknown)))
    assert judged.needs == ("every verdict of e-003 on both sides",)


def test_a_new_critical_failure_is_a_regression_whatever_the_bound() -> None:
    rows_ = list(grown(60).episodes)
    rows_[0] = replace(rows_[0], critical=1)
    found = rows(against(replace(grown(60), episodes=tuple(rows_)), grown(60)))
    assert (found["D1"].strict, found["D6"].strict) == ("FAIL", "FAIL")


# judge and people ---------------------------------------------------------------------------------


def judge(both: int, flips: int, n: int, **more: Any) -> JudgeEvidence:
    return asked_judge(
        role=more.pop("role", "advisory only"), why="", needs="more pairs", more_pairs=1,
        more_pairs_strict=1, judge_id="j", version="1", model=None, prompt_digest=None,
        rubric_digest=None, family="f", both=JudgeShare(both, n, both / n if n else None, 0.5),
        flips=JudgeShare(flips, n, flips / n if n else None, 0.5), **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "point", "strict"),
    [
        (None, "NOT ASKED", "NOT ASKED"),
        (judge(0, 0, 0), "NO EVIDENCE", "NO EVIDENCE"),
        (judge(3, 2, 4, accepted_point=False), "FAIL", "NO EVIDENCE"),
        (judge(3, 20, 40, accepted_point=False, accepted_refuted=True), "FAIL", "FAIL"),
        (judge(29, 0, 29, accepted_point=True), "PASS", "NO EVIDENCE"),
        (judge(99, 0, 99, accepted_point=True, accepted_strict=True), "PASS", "PASS"),
        (judge(99, 0, 99, accepted_point=True, accepted_strict=True, expired="new model"),
         "NO EVIDENCE", "NO EVIDENCE"),
    ],
)  # fmt: skip
def test_the_judges_role_is_shown_and_decides_nothing(
    asked: JudgeEvidence | None, point: str, strict: str
) -> None:
    subject = with_policy(replace(v8(), judge=asked), judge=JudgePolicy(0.9, 0.05))
    found = rows(subject)["D7"]
    assert (found.point, found.strict, found.decides) == (point, strict, False)
    assert assess(subject).recommendation == "promote"


def test_human_review_shows_the_random_part() -> None:
    drawn = RandomRate(question="passes", value=0.9, low=0.7, high=0.97, n=20)
    found = rows(replace(v8(), review=labeled(rates=(drawn,))))["D8"]
    assert found.bounds == "random part 0.900 of messages pass 0.700 and 0.970"
    assert (found.low, found.high) == (0.7, 0.97)


# whatever the evidence, gates and recommendation agree --------------------------------------------


@st.composite
def subjects(draw: st.DrawFn) -> Evidence:
    count = draw(st.integers(1, 8))
    made = []
    for i in range(count):
        attempts = draw(st.integers(0, 4))
        measured = draw(st.integers(0, attempts))
        passed = draw(st.integers(0, measured))
        fails = measured - passed
        kind = draw(st.sampled_from(["process", "state", "completeness", "authority"]))
        unknown = draw(st.sampled_from(["completeness", "authority", "process"]))
        made.append(
            EpisodeCounts(
                episode_id=f"e-{i:03d}",
                attempts=attempts,
                measured=measured,
                passes=passed,
                critical=fails if kind == "authority" else 0,
                in_plan=min(attempts, 3),
                infrastructure=draw(st.integers(0, 1)),
                cost_nano=attempts * draw(st.integers(0, 90_000_000)),
                cost_unknown=draw(st.sampled_from([0, 0, 0, min(attempts, 1)])),
                gate_pass=tuple(
                    attempts
                    - gates(**{kind: fails})[g]
                    - gates(**{unknown: attempts - measured})[g]
                    for g in range(len(GATES))
                ),
                gate_fail=gates(**{kind: fails}),
                gate_unknown=gates(**{unknown: attempts - measured}),
            )
        )
    names = [e.episode_id for e in made]
    policy = replace(
        suite().policy,
        mode=draw(st.sampled_from(["point", "strict"])),
        stopping=draw(st.sampled_from(["fixed", "live"])),
        hard_pass_rate=draw(st.sampled_from([0.0, 0.5, 0.9, 1.0])),
        pass_hat=PassHat(k=draw(st.integers(1, 3)), min=draw(st.sampled_from([0.0, 0.3, 0.95]))),
        max_cpst_usd=draw(st.sampled_from([None, 0.02, 0.2])),
        latency_p95_ms=draw(st.sampled_from([None, 1600.0, 99_999.0])),
        completion_min=draw(st.sampled_from([None, 0.5, 1.0])),
        regression=RegressionPolicy(margin=draw(st.sampled_from([0.0, 0.05, 0.9]))),
        labels=LabelPolicy(min_pairs=draw(st.sampled_from([0, 0, 2]))),
    )
    frozen = replace(suite(policy), episodes=tuple(Episode(episode_id=n) for n in names))
    review = draw(st.sampled_from([None, labeled(), labeled(high=1, open_high=1)]))
    subject = evidence("x", tuple(made), suite=frozen, review=review)
    if draw(st.booleans()):
        baseline = tuple(episode(n, 3, draw(st.integers(0, 3)), 10) for n in names)
        subject = replace(subject, baseline_id="b", baseline=baseline)
    if draw(st.booleans()):
        here = draw(st.booleans())
        subject = replace(subject, promoted=replace(V6, candidate_id="b" if here else "v6"))
    return subject


@given(subjects())
def test_the_recommendation_is_what_its_gates_say(subject: Evidence) -> None:
    found = to_builtins(decision_section(subject, assess(subject)))
    for mode in ("point", "strict"):
        asked = {row[mode] for row in found["gates"] if row["decides"]}
        said = found[mode]["recommendation"]
        if "FAIL" in asked:
            assert said in ("block", "repair")
        elif "NO EVIDENCE" in asked:
            assert said == "hold"
        else:
            assert (said, len(found[mode]["reasons"])) == ("promote", 0)
        if said == "hold":
            assert found[mode]["needs"]


@given(subjects())
def test_bounds_never_promote_what_estimates_fail(subject: Evidence) -> None:
    """But for an episode lost to the baseline, which bounds forgive where enough others stand."""
    found = {row.gate: row for row in decision_set(subject, assess(subject))}
    for gate in ("D0", "D1", "D2", "D2b", "D3", "D4", "D5", "D8"):
        row = found.get(gate)
        if row is not None and row.strict == "PASS":
            assert row.point == "PASS", gate


def test_a_probe_has_no_decision_set_in_words() -> None:
    probe = replace(v8(), suite=suite(probe=True))
    (block,) = [b for b in page(report(probe)) if b.title == "Decision set"]
    assert block.rows == []
