"""What people labeled, in a report: counted, never averaged into a gate, and holding a promotion
only where policy wants more labels or a high flag is open."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from release_examples import labeled, plain, v7, v8, with_policy

from reviewer.report.assess import assess
from reviewer.report.build import report
from reviewer.report.model import report_bytes
from reviewer.report.opinions import (
    AgreementFigures,
    OpenFlag,
    ReviewSection,
    SelfFigures,
    WordingFigures,
)
from reviewer.report.render.html import render_html
from reviewer.report.render.markdown import render_markdown
from reviewer.report.render.text import summary_lines
from reviewer.stats.figures import Estimate, RandomRate, Share, SignTest, Wins
from reviewer.suite.model import LabelPolicy

TRACE = "refund-eval-v5/refund-agent-v8/appeal-009/2"


def agreement(question: str = "winner", **more: Any) -> AgreementFigures:
    fields: dict[str, Any] = {
        "question": question,
        "criterion_id": None,
        "items": 4,
        "raw": Share(hits=3, n=4, value=0.75, low=0.194, high=0.994),
        "alpha": Estimate(value=0.533, low=-0.4, high=1.0),
        "ac1": Estimate(value=0.529),
        "kappa": Estimate(value=0.5, low=-0.3, high=1.0),
        "prevalence": 0.6,
        "lead": "alpha",
        "why": None,
    }
    return AgreementFigures(**{**fields, **more})


def review(**changes: Any) -> ReviewSection:
    """Four pairs, each in both orders, by two people."""
    fields: dict[str, Any] = {
        "labels": 16,
        "reviewers": ("dana", "kim"),
        "pairs": 4,
        "seen": 4,
        "messages_wanted": 4,
        "labeled": 4,
        "random": 1,
        "agreement": (agreement(),),
        "consistency": (
            SelfFigures(
                reviewer="dana",
                same=Share(hits=3, n=4, value=0.75, low=0.194, high=0.994),
                left=Share(hits=5, n=8, value=0.625, low=0.245, high=0.915),
            ),
        ),
        "disagreements": 1,
    }
    return labeled(**{**fields, **changes})


def open_flags(count: int) -> dict[str, Any]:
    shown = tuple(OpenFlag(trace_id=f"t/{n}", reasons=("safety",)) for n in range(count))
    return {"high": count + 2, "open_high": count, "open_flags": shown}


# what holds a promotion ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "wanted", "need"),
    [(0, 4, "4 more labelled pairs"), (3, 4, "1 more labelled pair"), (4, 4, None), (5, 4, None)],
)
def test_pairs_that_policy_wants_are_counted_off(made: int, wanted: int, need: str | None) -> None:
    subject = with_policy(v8(review=review(pairs=made)), labels=LabelPolicy(min_pairs=wanted))
    judged = assess(subject)
    assert judged.recommendation == ("hold" if need else "promote")
    assert judged.needs == ((need,) if need else ())
    if need:
        assert judged.reasons[0].observed == f"{made} of {wanted} pairs"


def test_pairs_are_wanted_where_nothing_is_known_of_labels() -> None:
    judged = assess(with_policy(v8(review=None), labels=LabelPolicy(min_pairs=2)))
    assert (judged.recommendation, judged.needs) == ("hold", ("2 more labelled pairs",))


@pytest.mark.parametrize(("count", "flags"), [(1, "1 high flag"), (3, "3 high flags")])
def test_open_high_flags_hold_with_their_number(count: int, flags: str) -> None:
    judged = assess(v8(review=review(**open_flags(count))))
    assert judged.recommendation == "hold"
    assert judged.needs == (f"labels that close {flags}",)
    (reason,) = judged.reasons
    assert reason.text == f"review missing: {count} of {count + 2} high flags open"
    assert (reason.observed, reason.need) == (f"2 of {count + 2} closed", f"needs {flags} closed")


def test_beside_a_critical_failure_no_label_is_asked_for() -> None:
    judged = assess(v7(review=review(**open_flags(1))))
    assert (judged.recommendation, judged.needs) == ("block", assess(v7()).needs)


def test_closed_flags_hold_nothing() -> None:
    assert assess(v8(review=review(high=5))).recommendation == "promote"
    assert assess(v8()).recommendation == "promote"


def test_neither_explains_a_rate_that_is_open() -> None:
    """Missing labels are no reason to leave an unmeasured rate unnamed."""
    rows = tuple(replace(e, measured=2, passes=2) for e in v8().episodes)
    alone = assess(v8(review=review()))
    assert alone.recommendation == "promote"
    plain = assess(replace(v8(), episodes=rows))
    flagged = assess(replace(v8(), episodes=rows, review=review(**open_flags(1))))
    assert set(plain.needs) < set(flagged.needs)


# what no label can do -----------------------------------------------------------------------------

SHARES = st.builds(
    Share, hits=st.floats(0, 9), n=st.integers(0, 9), value=st.none() | st.floats(0, 1)
)
COUNTS = st.integers(0, 10_000)
REVIEWS = st.builds(
    labeled,
    labels=COUNTS,
    reviewers=st.lists(st.text(min_size=1), max_size=3).map(tuple),
    pairs=COUNTS,
    begun=COUNTS,
    messages=COUNTS,
    seen=COUNTS,
    agreement=st.lists(st.builds(agreement, raw=SHARES), max_size=2).map(tuple),
    consistency=st.lists(
        st.builds(SelfFigures, reviewer=st.text(), same=SHARES, left=SHARES), max_size=2
    ).map(tuple),
    disagreements=COUNTS,
    rates=st.lists(
        st.builds(RandomRate, question=st.just("passes"), value=st.none() | st.floats(0, 1)),
        max_size=2,
    ).map(tuple),
    wins=st.lists(
        st.builds(
            Wins,
            against=st.just(("v7",)),
            pairs=st.builds(SignTest, wins=SHARES, p=st.none() | st.floats(0, 1)),
            both_bad=COUNTS,
            open=COUNTS,
            by_episode=st.builds(SignTest, wins=SHARES),
        ),
        max_size=2,
    ).map(tuple),
    high=COUNTS,
    open_high=COUNTS,
)
HARD = ("gates", "hard_pass_rate", "critical_failures", "pass_hat", "failures", "slots", "cost")


@given(review=REVIEWS, wanted=st.integers(0, 100))
def test_no_labels_turn_a_block_or_a_repair_into_anything_else(
    review: ReviewSection, wanted: int
) -> None:
    labels = LabelPolicy(min_pairs=wanted)
    repaired = with_policy(v8(), max_cpst_usd=0.01)
    for subject, word in ((v7(), "block"), (repaired, "repair")):
        policy = replace(subject.suite.policy, labels=labels)
        before = replace(subject, suite=replace(subject.suite, policy=policy))
        after = replace(before, review=review)
        a, b = plain(report(before)), plain(report(after))
        assert b["recommendation"] == word
        assert b["reasons"] == a["reasons"]
        assert {name: b[name] for name in HARD} == {name: a[name] for name in HARD}


@given(review=REVIEWS)
def test_labels_alone_never_promote_what_evidence_does_not(review: ReviewSection) -> None:
    held = replace(v8(), frozen_seq=None, frozen_at=None)
    assert assess(replace(held, review=review)).recommendation == "hold"
    whole = assess(v8(review=review)).recommendation
    assert whole == ("hold" if review.high_flags.open else "promote")


# how it is shown ----------------------------------------------------------------------------------


def test_the_section_says_what_was_labeled_against_what_is_wanted() -> None:
    subject = with_policy(
        v8(review=review(begun=2, messages=3, **open_flags(1))),
        labels=LabelPolicy(min_pairs=6, sample_rate=0.1),
    )
    section = plain(report(subject))["review"]
    assert (section["pairs_labelled"], section["pairs_begun"], section["pairs_required"]) == (
        4,
        2,
        6,
    )
    assert (section["messages_labelled"], section["messages_required"]) == (3, 4)
    assert (section["sample"], section["sample_rate"], section["why"]) == (4, 0.1, None)
    assert section["reviewers"] == ["dana", "kim"]
    assert section["agreement"][0]["raw"]["hits"] == 3
    assert section["agreement"][0]["ac1"]["value"] == 0.529
    assert section["self_consistency"][0]["left"]["n"] == 8
    assert section["disagreements_open"] == 1
    assert section["high_flags"]["first_open"] == [{"trace_id": "t/0", "reasons": ["safety"]}]
    json.loads(report_bytes(report(subject)))


def test_without_a_label_it_says_so() -> None:
    for subject in (v8(), v8(review=labeled(high=1))):
        document = plain(report(subject))
        section = document["review"]
        assert (section["agreement"], section["self_consistency"]) == (None, None)
        assert section["why"] == "no labels yet"
        assert "review: no labels yet" in document["not_measured"]
        assert any("no human label" in text for text in document["what_this_does_not_show"])


def test_what_agreement_lacks_is_named() -> None:
    alone = agreement(why="one reviewer", raw=Share())
    document = plain(report(v8(review=review(agreement=(alone,)))))
    assert "review.agreement.winner: one reviewer" in document["not_measured"]
    assert "review: no labels yet" not in document["not_measured"]
    told = " ".join(document["what_this_does_not_show"])
    assert "16 labels by 2 people" in told
    assert "no human label" not in told


def test_wording_is_shown_and_never_gates() -> None:
    rule = WordingFigures(wording_id="label-sent", holds=5, breaks=3, unknown=1, first=(TRACE,))
    subject = v8(review=review(rules=(rule,), checked=9, final_messages=12))
    document = report(subject)
    assert plain(document)["recommendation"] == "promote"
    assert plain(document)["review"]["wording"] == {
        "checked": 9,
        "of": 12,
        "rules": [
            {"wording_id": "label-sent", "holds": 5, "breaks": 3, "unknown": 1, "first": [TRACE]}
        ],
    }
    assert "review.wording: looked at 9 of 12 messages" in plain(document)["not_measured"]
    assert "review.wording.label-sent: not known of 1 messages" in plain(document)["not_measured"]
    assert "kept in 5, broken in 3" in render_markdown(document)


def test_what_labels_say_of_the_candidate_stands_with_its_weights_and_its_test() -> None:
    rates = (
        RandomRate(question="passes", value=0.83, low=0.61, high=0.94, n=12, n_eff=9.5,
                      episodes=5, flagged=4),
        RandomRate(question="mark", criterion_id="access", open=2, why="nothing is settled"),
        RandomRate(question="preferred", value=0.5, low=0.2, high=0.8, n=6, episodes=3),
    )  # fmt: skip
    pairs = SignTest(wins=Share(hits=8, n=9, value=8 / 9, low=0.518, high=0.997), ties=3, p=0.039)
    episodes = SignTest(wins=Share(hits=1, n=1, value=1.0, low=0.025, high=1.0), why="1 decided")
    won = Wins(against=("v7",), pairs=pairs, both_bad=1, open=2, by_episode=episodes)
    document = report(v8(review=review(rates=rates, wins=(won,), drawn=20, waiting=5)))
    section = plain(document)["review"]
    assert [one["value"] for one in section["random_part"]["rates"]] == [0.83, None, 0.5]
    assert section["random_part"]["rates"][0]["n_eff"] == 9.5
    (shown,) = section["wins"]
    assert (shown["against"], shown["open"], shown["pairs"]["p"]) == (["v7"], 2, 0.039)
    assert "review.random_part.access: nothing is settled" in plain(document)["not_measured"]
    json.loads(report_bytes(document))
    markdown, html = render_markdown(document), render_html(document)
    for text in ("0.830", "8 of 9", "p 0.039", "3 ties apart", "not measured: 1 decided"):
        assert text in markdown
        assert text in html
    assert "5 of 20 traces drawn wait; 4 carry a flag" in markdown
    done = report(v8(review=review(rates=rates, drawn=20, waiting=0)))
    assert plain(done)["review"]["random_part"]["waiting_traces"] == 0
    assert "carry a flag" not in render_markdown(done)
    assert plain(document)["recommendation"] == "promote"


def test_labels_without_a_random_part_say_so() -> None:
    document = plain(report(v8(review=review(random=0))))
    assert "review.random_part: no labeled item was drawn by lot" in document["not_measured"]


def test_renderings_show_the_figures_and_stay_inert() -> None:
    hostile = review(reviewers=("<b>dana</b>|`x`",), **open_flags(2))
    document = report(v8(review=hostile))
    markdown, html = render_markdown(document), render_html(document)
    assert "3 of 4" in markdown
    assert "Krippendorff alpha" in html
    assert "High flags: 4, 2 still open." in markdown
    assert "<b>dana" not in html
    line = next(line for line in summary_lines(document) if line.name == "soft review")
    assert line.text.startswith("4 pairs labelled, agreement 3 of 4, 2 high flags open; judge")
