"""Limits of a policy on what people said: exact, never passed without evidence, and of no weight
where a policy sets none."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from release_examples import labeled, v7, v8, with_policy

from reviewer.report.assess import Assessment, assess
from reviewer.report.build import report
from reviewer.report.decision_set import decision_set
from reviewer.report.label_limits import label_limits
from reviewer.report.model import report_bytes
from reviewer.report.opinions import ReviewSection
from reviewer.stats.bounds import rate_lower_bound, rate_upper_bound
from reviewer.stats.figures import JudgedPairs, LabelFigures, LabelShare
from reviewer.suite.model import CriterionLimit, LabelPolicy

V7 = "refund-agent-v7"


def share(*episodes: tuple[int, int], still_open: int = 0) -> LabelShare:
    """The share of (n, hits) per episode."""
    return LabelShare(
        hits=sum(hits for _, hits in episodes),
        n=sum(n for n, _ in episodes),
        open=still_open,
        episodes=episodes,
    )


def review(messages: int = 0, **figures: Any) -> ReviewSection:
    limits = LabelFigures(**{"against": V7, **figures})
    return labeled(labels=8, reviewers=("dana",), pairs=4, messages=messages, limits=limits)


def judged(labels: LabelPolicy, found: ReviewSection | None, **policy: Any) -> Assessment:
    return assess(with_policy(v8(review=found), labels=labels, **policy))


LIMITS: dict[str, tuple[LabelPolicy, str, str, str]] = {
    "wins": (LabelPolicy(wins_or_ties_min=0.75), "wins_or_ties", "", "repair"),
    "bad": (LabelPolicy(both_bad_max=0.25), "both_bad", "", "repair"),
    "rubric": (
        LabelPolicy(criteria={"accurate": CriterionLimit(passes=(1,), min=0.75)}),
        "criteria",
        "accurate",
        "repair",
    ),
    "self": (LabelPolicy(self_consistency_min=0.75), "self_consistency", "dana", "hold"),
    "agreement": (LabelPolicy(agreement_min=0.75), "agreement", "winner", "hold"),
}
"""Name → (policy, figure, its key, what it recommends when it fails)."""


def figure(name: str, one: LabelShare) -> dict[str, Any]:
    _, member, key, _ = LIMITS[name]
    return {member: {key: one} if key else one}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_met_at_its_value_and_failed_below_it(name: str) -> None:
    policy, _, _, failing = LIMITS[name]
    at = share((4, 1)) if name == "bad" else share((4, 3))
    below = share((4, 2))
    assert judged(policy, review(**figure(name, at))).recommendation == "promote"
    failed = judged(policy, review(**figure(name, below)))
    assert failed.recommendation == failing
    (reason,) = failed.reasons
    assert "2 of 4" in reason.observed
    assert reason.policy in ("0.75", "at most 0.25")


@pytest.mark.parametrize("name", LIMITS)
def test_what_nobody_said_is_never_a_pass(name: str) -> None:
    policy = LIMITS[name][0]
    for found in (None, ReviewSection(), review()):
        assert judged(policy, found).recommendation == "hold"
    still = share((4, 4), still_open=1) if name != "bad" else share((4, 0), still_open=1)
    held = judged(policy, review(**figure(name, still)))
    assert held.recommendation == "hold"
    assert "1 open answer settled" in held.needs[0]


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("mode", ["point", "strict"])
def test_a_policy_without_a_limit_is_as_it_was(name: str, mode: Any) -> None:
    worst = share((4, 4)) if name == "bad" else share((4, 0))
    here = judged(LabelPolicy(), review(**figure(name, worst)), mode=mode)
    assert here.recommendation == judged(LabelPolicy(), None, mode=mode).recommendation
    rows = decision_set(with_policy(v8(review=review()), labels=LabelPolicy()), here)
    assert not [row for row in rows if row.gate.startswith("D8.")]


def test_without_a_limit_a_report_has_no_word_of_them() -> None:
    subject = v8(review=labeled(labels=8, reviewers=("dana",), pairs=4))
    written = json.loads(report_bytes(report(subject, assess(subject))))
    assert "limits" not in written["review"]
    assert set(written["policy"]["labels"]) == {"min_pairs", "sample_rate"}


def test_messages_are_counted_off() -> None:
    policy = LabelPolicy(min_messages=4)
    assert judged(policy, review(messages=4)).recommendation == "promote"
    held = judged(policy, review(messages=3))
    assert (held.recommendation, held.needs) == ("hold", ("1 more labeled message",))


def test_a_critical_failure_blocks_whatever_people_say() -> None:
    liked = review(wins_or_ties=share((4, 4)))
    policy = LabelPolicy(wins_or_ties_min=1.0)
    assert assess(with_policy(v7(review=liked), labels=policy)).recommendation == "block"


def test_pairs_with_no_baseline_are_no_evidence() -> None:
    held = judged(LabelPolicy(wins_or_ties_min=0.5), review(against=None))
    assert held.recommendation == "hold"
    assert "--baseline" in held.needs[0]


def test_each_reviewer_and_each_question_is_held_to_the_limit() -> None:
    many, few = share((40, 40)), share((4, 1))
    found = judged(
        LabelPolicy(self_consistency_min=0.8), review(self_consistency={"dana": many, "kim": few})
    )
    assert found.recommendation == "hold"
    assert found.reasons[0].observed.startswith("kim 1 of 4")


COUNTS = st.lists(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    min_size=1,
    max_size=30,
)


@given(counts=COUNTS, limit=st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_strict_compares_the_bound_over_episodes(
    counts: list[tuple[int, int]], limit: float
) -> None:
    found = review(wins_or_ties=share(*counts))
    policy = LabelPolicy(wins_or_ties_min=limit)
    subject = with_policy(v8(review=found), labels=policy, mode="strict")
    (one,) = label_limits(subject.suite.policy, found)
    low, high = rate_lower_bound(counts), rate_upper_bound(counts)
    assert (one.limit.state == "met") == (Fraction(low) >= Fraction(repr(limit)))
    assert (one.limit.state == "failed") == (Fraction(max(low, high)) < Fraction(repr(limit)))


@given(counts=COUNTS, at=st.integers(0, 29), limit=st.sampled_from([0.5, 0.8, 0.9]))
def test_one_pair_less_never_helps(counts: list[tuple[int, int]], at: int, limit: float) -> None:
    order = ("failed", "open", "met")
    worse = [(n, max(0, hits - (i == at % len(counts)))) for i, (n, hits) in enumerate(counts)]
    for mode in ("point", "strict"):
        states = []
        for rows in (counts, worse):
            found = review(wins_or_ties=share(*rows))
            subject = with_policy(
                v8(review=found), labels=LabelPolicy(wins_or_ties_min=limit), mode=mode
            )
            states.append(order.index(label_limits(subject.suite.policy, found)[0].limit.state))
        assert states[1] <= states[0]


# a judge in people's place ------------------------------------------------------------------------


STANDS_IN = LabelPolicy(wins_or_ties_min=0.75, min_pairs=8, judge_stands_in=True)


def beside(people: LabelShare, judge: JudgedPairs, labels: LabelPolicy = STANDS_IN) -> Assessment:
    return judged(labels, review(wins_or_ties=people, judge=judge))


def judge_of(n: int, hits: int, flips: int = 0) -> JudgedPairs:
    return JudgedPairs(pairs=n, flips=flips, wins_or_ties=share((n, hits)))


def test_a_judge_that_may_score_fills_what_people_left() -> None:
    found = beside(share((4, 4)), judge_of(4, 4))
    assert found.recommendation == "promote"
    subject = with_policy(
        v8(review=review(wins_or_ties=share((4, 4)), judge=judge_of(4, 4))), labels=STANDS_IN
    )
    row = next(r for r in decision_set(subject, found) if r.name == "wins or ties")
    assert row.observed == "4 of 4 by people; by the judge, where nobody labeled, 4 of 4"


def test_a_judge_without_leave_fills_nothing() -> None:
    without = LabelPolicy(wins_or_ties_min=0.75, min_pairs=8)
    assert beside(share((4, 4)), judge_of(4, 4), without).recommendation == "hold"
    advisory = JudgedPairs(why="advisory only (flip rate 0.50 > 0.05)")
    held = beside(share((4, 4)), advisory)
    assert held.recommendation == "hold"


def test_a_judge_never_lifts_what_people_said() -> None:
    found = beside(share((8, 4)), judge_of(100, 100))
    assert found.recommendation == "repair"


def test_a_judge_counts_against_the_candidate_too_and_its_flips_hold() -> None:
    assert beside(share((4, 4)), judge_of(12, 4)).recommendation == "repair"
    held = beside(share((4, 4)), judge_of(12, 4, flips=8))
    assert held.recommendation == "hold"
    assert "contradicts itself" in held.needs[0]


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 9))
def test_no_judge_touches_a_hard_gate(hits: int, misses: int, flips: int) -> None:
    n = hits + misses + flips
    found = review(wins_or_ties=share((4, 4)), judge=judge_of(n, hits, flips))
    subject = with_policy(v7(review=found), labels=STANDS_IN)
    assert assess(subject).recommendation == "block"
    bare = assess(with_policy(v7(), labels=STANDS_IN))
    assert assess(subject).figures == bare.figures


def test_unsigned_labels_are_named_where_labels_are_missing() -> None:
    found = judged(LabelPolicy(min_pairs=8, min_messages=1, signed=True), review(unsigned=3))
    assert any("3 labels" in need and "reviewer labels sign" in need for need in found.needs)
    assert replace(found.reasons[0]).text
