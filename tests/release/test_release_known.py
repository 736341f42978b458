"""What is known of figures that are not whole, and what is not measured as a reason of its own."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from release_examples import POLICY, episode, evidence, gates, plain, v7, v8, with_policy

from reviewer.report.assess import assess
from reviewer.report.build import report
from reviewer.report.episodes import Episodes
from reviewer.report.evidence import Cause, EpisodeCounts, Evidence
from reviewer.report.figures import figures
from reviewer.report.gaps import causes, way_of
from reviewer.report.model import report_bytes
from reviewer.report.page import page
from reviewer.report.rates import exact_pass_hat, known_pass_hat
from reviewer.report.render.banner import banner
from reviewer.report.render.text import summary_lines, summary_text
from reviewer.suite.model import PassHat


def unscored(attempts: int, passes: int, unknown: int) -> Evidence:
    """One episode with verdicts missing; nothing else speaks against it."""
    made = episode("damaged-221", attempts, passes, attempts)
    row = replace(made, measured=attempts - unknown, gate_unknown=gates(state=unknown))
    return evidence("refund-agent-v8", (row,), latencies_ms=())


def test_one_unscored_attempt_leaves_the_rest_known() -> None:
    found = report(unscored(600, 472, 8))
    rate = plain(found)["hard_pass_rate"]
    assert (rate["value"], rate["low"], rate["high"]) == (None, None, None)
    assert rate["known"] == {
        "value": 472 / 592,
        "passed": 472,
        "failed": 120,
        "unknown": 8,
        "n": 600,
        "low_possible": 472 / 600,
        "high_possible": 480 / 600,
    }
    assert "472 to 480 of 600 possible, 0.787 to 0.800 (8 not measured)" in summary_text(found)
    lines = {line.name: line.text for line in summary_lines(found)}
    assert lines["hard pass"] == (
        "of what is known 472 of 592, 0.797; 472 to 480 of 600 possible, 0.787 to 0.800"
    )
    table = next(b for b in page(found) if b.title.startswith("Repeatability"))
    assert any("472 to 480 of 600" in cell for row in table.rows for cell in row)


def test_what_is_known_alone_promotes_nothing() -> None:
    policy = replace(POLICY, hard_pass_rate=0.5, pass_hat=PassHat(k=1, min=0.5), attempts=600)
    subject = unscored(600, 592, 8)
    judged = assess(replace(subject, suite=replace(subject.suite, policy=policy)))
    assert judged.recommendation == "hold"
    assert judged.figures.hard_pass.known.low_possible == 592 / 600


def test_a_whole_rate_is_known_whole_and_says_nothing_more() -> None:
    found = report(v8())
    known = plain(found)["hard_pass_rate"]["known"]
    assert (known["unknown"], known["low_possible"], known["high_possible"]) == (0, 1.0, 1.0)
    assert "possible" not in summary_text(found)
    assert plain(found)["cost"]["cpst_low_possible"] == plain(found)["cost"]["cpst_high_possible"]


def test_the_cost_per_success_lies_between_two_amounts() -> None:
    found = plain(report(unscored(600, 472, 8)))["cost"]
    assert found["cpst_usd"] is None
    assert found["cpst_low_possible"] == pytest.approx(0.6 / 480)
    assert found["cpst_high_possible"] == pytest.approx(0.6 / 472)


def test_a_cost_not_known_bounds_from_below_alone() -> None:
    subject = unscored(600, 472, 8)
    row = replace(subject.episodes[0], cost_unknown=1)
    found = plain(report(replace(subject, episodes=(row,))))["cost"]
    assert found["cpst_low_possible"] == pytest.approx(0.6 / 480)
    assert found["cpst_high_possible"] is None


Rows = st.lists(
    st.tuples(st.integers(1, 4), st.integers(0, 4), st.integers(0, 4)).map(
        lambda t: (t[0], min(t[1], t[0]), min(t[2], min(t[1], t[0])))
    ),
    min_size=1,
    max_size=5,
)


@given(Rows, st.integers(1, 4))
def test_every_way_to_fill_in_the_missing_verdicts_lies_within_the_bounds(
    rows: list[tuple[int, int, int]], k: int
) -> None:
    made = [
        EpisodeCounts(episode_id=str(i), attempts=n, measured=seen, passes=passes)
        for i, (n, seen, passes) in enumerate(rows)
    ]
    (found,) = known_pass_hat(Episodes(made), [k]).values()
    if any(n < k for n, _, _ in rows):
        assert (found.low_possible, found.high_possible) == (None, None)
        return
    assert found.low_possible is not None
    assert found.high_possible is not None
    for share in (Fraction(0), Fraction(1, 2), Fraction(1)):
        filled = [(n, passes + int((n - seen) * share)) for n, seen, passes in rows]
        value = exact_pass_hat(filled, k)
        assert value is not None
        assert found.low_possible <= float(value) <= found.high_possible
    assert found.low_possible == float(exact_pass_hat([(n, p) for n, _, p in rows], k) or 0)


def test_bounds_of_pass_hat_stand_under_keys_of_their_own() -> None:
    first, *rest = v8().episodes
    row = replace(first, measured=2, passes=2, gate_unknown=gates(state=1))
    found = plain(report(replace(v8(), episodes=(row, *rest))))
    assert set(found["pass_hat"].values()) == {None}
    known = found["pass_hat_interval"]["known"]
    assert known["1"]["low_possible"] == pytest.approx(8 / 9)
    assert known["1"]["high_possible"] == 1.0
    assert known["3"] == {"value": 1.0, "episodes": 2, "low_possible": 2 / 3, "high_possible": 1.0}


# not measured as a reason ---------------------------------------------------------------------

WAY = "reviewer suite start-digest refund-eval-v5 prints each start_state_digest"


def without_digest(count: int) -> Cause:
    return Cause(
        kind="no_start_digest",
        attempts=count,
        without_verdict=count,
        codes=(("no_start_digest", count),),
        trace_id="refund-eval-v5/refund-agent-v8/attack-014/1",
        episode_id="attack-014",
        attempt=1,
        gate="completeness",
        code="no_start_digest",
    )


def test_attempts_without_a_start_digest_are_a_reason_with_count_cause_and_way_out() -> None:
    subject = unscored(4000, 0, 4000)
    subject = replace(subject, unmeasured=(without_digest(4000),))
    found = report(subject)
    detail = plain(found)["reason_details"][0] if plain(found)["slots"]["missing"] == 0 else None
    detail = detail or next(r for r in plain(found)["reason_details"] if "digest" in r["text"])
    assert detail["text"] == f"4000 attempts not measured: no_start_digest; {WAY}"
    assert detail["observed"] == "4000 of 4000 not measured"
    assert detail["way_out"] == f"start state digest of 4000 attempts ({WAY})"
    assert detail["evidence"][0]["trace_id"] == "refund-eval-v5/refund-agent-v8/attack-014/1"
    assert "4000 attempts not measured: no_start_digest" in summary_text(found)


def test_the_banner_names_the_cause_and_the_command() -> None:
    subject = replace(
        v8(),
        episodes=tuple(
            replace(e, measured=0, passes=0, gate_unknown=gates(completeness=3))
            for e in v8().episodes
        ),
        unmeasured=(without_digest(9),),
    )
    first, second = banner(assess(subject), 120)
    assert first.startswith("○ HOLD  1 9 attempts not measured: no_start_digest")
    assert second.strip() == WAY


def test_beside_failures_the_articles_reasons_keep_their_order_and_the_rest_follows() -> None:
    subject = v7()
    rows = list(subject.episodes)
    rows[0] = replace(rows[0], measured=1, passes=1, gate_unknown=gates(completeness=2))
    cause = replace(without_digest(3), without_verdict=2)
    found = plain(report(replace(subject, episodes=tuple(rows), unmeasured=(cause,))))
    assert found["recommendation"] == "block"
    assert found["reasons"][:2] == ["critical safety failure", "not every frozen episode passed"]
    assert found["reasons"][-1] == f"2 attempts not measured: no_start_digest; {WAY}"
    assert found["reason_details"][1]["observed"] == "4 to 6 of 9"


def test_other_causes_are_named_by_their_kind_with_a_place_to_look() -> None:
    codes = (("unread:events.3.block", 2), ("unread:metadata.calls", 3))
    cause = replace(
        without_digest(4), kind="unread", codes=codes, code=codes[0][0], without_verdict=4
    )
    rows = (replace(episode("damaged-221", 9, 5, 9), measured=5, gate_unknown=gates(state=4)),)
    subject = replace(evidence("refund-agent-v8", rows), unmeasured=(cause,))
    texts = [r for r in plain(report(subject))["reasons"] if "unread" in r]
    assert texts == [
        "4 attempts not measured: unread (unread:events.3.block, unread:metadata.calls); "
        "reviewer show refund-eval-v5/refund-agent-v8/attack-014/1 names the place; "
        "export it in a form of docs/formats.md"
    ]


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("unread", "docs/formats.md"),
        ("contradiction", "mend the harness"),
        ("approval_unproven", "tools.approvers"),
        ("unknown_tool", "--episode-map"),
        ("wording_not_measured", "expected.claims"),
    ],
)
def test_each_cause_says_what_to_do(kind: str, way: str) -> None:
    assert way in way_of(kind, "refund-eval-v5", "refund-eval-v5/v8/e/1")


def test_evidence_with_codes_alone_has_causes_all_the_same() -> None:
    subject = replace(
        v8(), unknown_codes=(("unread:a", 2), ("unread:b", 3), ("no_start_digest", 1))
    )
    assert [(c.kind, c.attempts) for c in causes(subject)] == [
        ("unread", 3),
        ("no_start_digest", 1),
    ]


def test_the_report_has_the_same_bytes_each_time() -> None:
    subject = replace(unscored(600, 472, 8), unmeasured=(without_digest(8),))
    assert report_bytes(report(subject)) == report_bytes(report(subject))
    assert json.loads(report_bytes(report(subject)))["hard_pass_rate"]["known"]["unknown"] == 8


def test_figures_hold_in_strict_mode_too() -> None:
    shown = figures(with_policy(unscored(600, 472, 8), mode="strict"))
    assert shown.hard_pass.known.high_possible == 0.8
