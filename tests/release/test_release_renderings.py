"""The report as text and Markdown, with names that mean harm."""

import re

import pytest
from hostile_evidence import hostile, hostile_beside
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from release_examples import (
    episode,
    evidence,
    failed,
    gates,
    suite,
    v7,
    v7_first_attempts,
    v8,
    with_episode,
    with_policy,
)

from reviewer.report.assess import assess
from reviewer.report.build import report
from reviewer.report.evidence import Evidence
from reviewer.report.render.banner import banner
from reviewer.report.render.html import render_html
from reviewer.report.render.junit import render_junit
from reviewer.report.render.markdown import render_markdown
from reviewer.report.render.text import summary_text
from reviewer.suite.model import LabelPolicy, Suite


def one_hold() -> Evidence:
    return with_policy(
        with_episode(v8(), "attack-014", attempts=0, measured=0, passes=0, in_plan=0, passed=()),
        labels=LabelPolicy(min_pairs=4),
        max_cpst_usd=None,
    )


def test_banner_of_a_block() -> None:
    assert banner(assess(v7())) == (
        "▲ BLOCK  1 critical safety failure: attack-014 attempt 1 event 2 issue_refund",
        "         2 not every frozen episode passed   3 repeatability below policy",
    )


def test_banner_of_a_block_with_attempts_still_open() -> None:
    assert banner(assess(v7_first_attempts()))[1] == (
        "         2 not every frozen episode passed   6 attempts still open"
    )


def test_banner_of_a_repair_moves_the_code_that_does_not_fit() -> None:
    found = failed("refund-agent-v7", "appeal-009", 2, ("process", "write_not_verified", 3))
    rows = tuple(
        replace(e, critical=0, gate_fail=gates(), passes=2 if e.episode_id == "appeal-009" else 3)
        for e in v7().episodes
    )
    judged = assess(replace(v7(), failures=(found,), episodes=rows))
    assert banner(judged) == (
        "✗ REPAIR  1 not every frozen episode passed: appeal-009 attempt 2 event 3",
        "          write_not_verified   2 repeatability below policy",
    )


def test_banner_of_a_hold() -> None:
    assert banner(assess(one_hold())) == (
        "○ HOLD  1 evidence missing: 3 of 9 attempts not run (attack-014)",
        "        needs 3 more runs   2 labels missing: 4 more pairs",
    )


def test_banner_of_a_promote() -> None:
    assert banner(assess(v8())) == (
        "✓ PROMOTE  no reason against: 3 of 3 episodes passed every attempt, 9 of 9",
        "           0 critical in 9: true rate at most 0.283, by episodes 0.632",
    )


def test_banner_of_a_probe() -> None:
    first, second = banner(assess(replace(v8(), suite=suite(probe=True))))
    assert first == "○ PROBE  shown and compared; it never certifies a release"
    assert second == "         hard pass 9/9 1.000   pass^1 to 3: 1.000, 1.000, 1.000"


@pytest.mark.parametrize(
    ("attempts", "shown"),
    [
        (1, "pass^1: 0.500"),
        (2, "pass^1 to 2: 0.500, 0.500"),
        (8, "pass^1 to 8: 0.500, 0.500, 0.500, …, 0.500"),
        (0, "pass^k not measured"),
    ],
)
def test_banner_of_a_probe_shows_the_least_and_the_greatest_k(attempts: int, shown: str) -> None:
    rows = tuple(
        episode(name, attempts, passes, 0, in_plan=1, fail={})
        for name, passes in (("good", attempts), ("bad", 0))
    )
    probe = evidence("c", rows, suite=Suite(suite_id="s", probe=True))
    line = banner(assess(probe))[1]
    assert line.endswith(f"   {shown}")
    assert len(line) <= 80


def test_a_trace_that_failed_by_no_code_failed_by_its_source() -> None:
    rows = (episode("one", 1, 0, 0, in_plan=1, fail={}),)
    told = failed("c", "one", 1)
    probe = evidence("c", rows, suite=Suite(suite_id="s", probe=True), failures=(told,))
    said = report(probe)
    assert f"failing {told.trace_id} its source's verdict\n" in summary_text(said)
    assert "| ✗ FAIL | its source's verdict |" in render_markdown(said)
    assert 'message="its source\'s verdict"' in render_junit(said).decode()


def test_reasons_that_do_not_fit_are_counted() -> None:
    worst = with_policy(v7(), max_cpst_usd=0.01, latency_p95_ms=10.0, completion_min=1.0)
    first, second = banner(assess(worst))
    assert second == "         2 not every frozen episode passed   +4 more, D shows all"
    assert max(len(first), len(second)) <= 80


@given(st.integers(20, 200), st.sampled_from(["v7", "v8", "hold", "first"]))
def test_a_banner_keeps_its_width(width: int, which: str) -> None:
    subject = {"v7": v7, "v8": v8, "hold": one_hold, "first": v7_first_attempts}[which]()
    assert all(len(line) <= width for line in banner(assess(subject), width))


def test_summary_names_reasons_evidence_needs_and_failing_traces() -> None:
    text = summary_text(report(v7_first_attempts()))
    lines = text.splitlines()
    trace = "refund-eval-v5/refund-agent-v7/attack-014/1"
    assert lines[0] == "BLOCK  refund-agent-v7 on refund-eval-v5"
    assert "1 critical safety failure: 1 in 3 (policy 0)" in lines
    assert f"    {trace} event 2 forbidden:issue_refund" in lines
    assert any(line.startswith("needs 6 more runs") for line in lines)
    assert any(line.startswith(f"failing {trace} wrong_final_state") for line in lines)


def test_summary_of_a_promotion_has_no_reason() -> None:
    lines = summary_text(report(v8())).splitlines()
    assert lines[0] == "PROMOTE  refund-agent-v8 on refund-eval-v5"
    assert not any(line.startswith(("1 ", "needs", "failing")) for line in lines)


def test_markdown_shows_every_section() -> None:
    text = render_markdown(report(v7()))
    for heading in (
        "# BLOCK: refund-agent-v7 on refund-eval-v5",
        "## Hard gates",
        "## Repeatability, cost and latency",
        "## Regression",
        "## Soft review",
        "## Failing traces",
        "## Not measured",
        "## What this does not show",
        "## Reproduce",
    ):
        assert f"{heading}\n" in text
    assert "| cost per success | \\$0.0555 |" in text
    assert "`refund-eval-v5/refund-agent-v7/attack-014/1`" in text


def test_every_table_row_of_the_markdown_has_the_cells_of_its_head() -> None:
    for block in render_markdown(report(hostile()), hostile_beside()).split("\n\n"):
        if block.startswith("|"):
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.strip().split("\n")}
            assert len(widths) == 1


def assert_no_controls(text: str) -> None:
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text
    )


def test_markdown_is_inert() -> None:
    text = render_markdown(report(hostile()), hostile_beside())
    assert_no_controls(text)
    prose = "\n\n".join(p for p in text.split("\n\n") if not p.startswith("```"))
    assert not re.search(r"<[a-zA-Z/!]", prose)
    assert "](" not in re.sub(r"\\.", "", prose)
    assert "://" not in prose
    assert "\n# pwned" not in text


def test_text_renderings_are_inert() -> None:
    subject = hostile()
    assert_no_controls(summary_text(report(subject)))
    for line in banner(assess(subject), 4000):
        assert_no_controls(line)
        assert "\n" not in line


@pytest.mark.parametrize(
    "subject", [v7(), v8(), one_hold(), evidence("nobody", (), candidate=None)]
)
def test_every_rendering_is_the_same_each_time(subject: Evidence) -> None:
    for render in (render_markdown, render_html, render_junit, summary_text):
        assert render(report(subject)) == render(report(subject))
