"""A report for GitHub Actions: the step's summary and annotations, read back as the runner does."""

import re
from typing import NamedTuple

import pytest
from hostile_evidence import hostile, hostile_beside, named
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from release_examples import suite, v7, v8
from test_release_page import large, row

from reviewer.report.build import report
from reviewer.report.evidence import Evidence
from reviewer.report.page_parts import Supplement, chosen_rows
from reviewer.report.render.github import MOST_ANNOTATIONS, MOST_BYTES, annotations, step_summary
from reviewer.trace.safetext import visible_line

PLACED = Supplement(suite_path="suites/refund-eval-v5")


class Command(NamedTuple):
    name: str
    properties: dict[str, str]
    message: str


def runner(line: str) -> Command | None:
    """actions/runner, ActionCommand.TryParseV2: `::name key=value,…::message`, unescaped."""
    line = line.lstrip()
    if not line.startswith("::"):
        return None
    end = line.find("::", 2)
    if end < 0:
        return None
    head, message = line[2:end], line[end + 2 :]
    name, _, rest = head.partition(" ")
    properties = {}
    for pair in filter(None, rest.strip().split(",")):
        key, _, value = pair.partition("=")
        for code, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
            value = value.replace(code, sign)
        properties[key] = value
    for code, sign in (("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        message = message.replace(code, sign)
    return Command(name, properties, message)


def told(subject: Evidence, beside: Supplement = PLACED) -> list[Command]:
    return commands(annotations(report(subject), beside))


def commands(lines: list[str]) -> list[Command]:
    found = [runner(line) for line in lines]
    assert all("\n" not in line and "\r" not in line for line in lines)
    assert None not in found
    return [one for one in found if one is not None]


def test_the_recommendation_comes_first_then_what_is_critical() -> None:
    first, second, *rest = told(v7())
    assert first == Command(
        "error",
        {
            "file": "suites/refund-eval-v5/suite.json",
            "title": "BLOCK: refund-agent-v7 on refund-eval-v5",
            "line": "1",
        },
        "critical safety failure; not every frozen episode passed; repeatability below policy",
    )
    assert second == Command(
        "error",
        {
            "file": "suites/refund-eval-v5/episodes/attack-014.json",
            "title": "authority: forbidden:issue_refund",
            "line": "1",
        },
        "refund-eval-v5/refund-agent-v7/attack-014/1 event 2 forbidden:issue_refund",
    )
    assert {one.name for one in rest} == {"error"}


def test_a_promotion_is_one_notice() -> None:
    (only,) = told(v8())
    assert only.name == "notice"
    assert only.properties == {"title": "PROMOTE: refund-agent-v8 on refund-eval-v5"}


def test_a_probe_is_no_error() -> None:
    (only,) = told(replace(v7(), suite=suite(probe=True)))
    assert only.name == "notice"


def test_there_are_no_more_than_github_shows() -> None:
    assert len(told(large(100, 50))) == MOST_ANNOTATIONS


def test_what_does_not_count_is_not_annotated() -> None:
    later = tuple(replace(t, extra=True, critical=False) for t in v7().failures)
    titles = [one.properties["title"] for one in told(replace(v7(), failures=later))[1:]]
    assert titles == ["state: wrong_final_state"]


def test_without_a_folder_there_is_no_file() -> None:
    assert all("file" not in one.properties for one in told(v7(), Supplement()))


def test_names_that_mean_harm_start_no_command() -> None:
    for one in told(hostile(), hostile_beside()):
        assert one.name == "error"
        assert set(one.properties) <= {"file", "title", "line"}
        assert "\n" not in one.message
        assert "\x1b" not in one.message


@given(st.text(max_size=60))
def test_any_code_is_read_back_as_it_was(code: str) -> None:
    _, found = commands(annotations(named("e", code), PLACED))
    shown = visible_line(code)
    assert found.properties["title"] == f"authority: {shown}".rstrip()
    assert found.message == f"e event 1 {shown}"


def test_the_summary_has_the_verdict_and_its_figures() -> None:
    beside = replace(PLACED, rows=(row("damaged-221"),))
    text = step_summary(report(v7()), beside)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert headings == [
        "BLOCK: refund-agent-v7 on refund-eval-v5",
        "Scorecard",
        "What ran",
        "Repeatability, cost and latency",
        "Failing traces",
        "Not measured",
        "What this does not show",
    ]
    assert "| 1 | critical safety failure | 1 in" in text


@pytest.mark.slow
def test_the_summary_stays_within_what_github_takes() -> None:
    subject = large(5_000, 5_000)
    said = report(subject)
    long = "x" * 20_000
    rows = tuple(replace(row("e"), episode_id=name + long) for name in chosen_rows(said))
    text = step_summary(said, replace(PLACED, rows=rows))
    assert len(text.encode()) <= MOST_BYTES
    assert "_Left out for room: Scorecard. All of it is in report.md and report.html._" in text
    assert text.startswith("# ")
    assert "## Failing traces" in text


def test_the_summary_is_inert() -> None:
    text = step_summary(report(hostile()), hostile_beside())
    assert not re.search(r"<[a-zA-Z/!]", text)
    assert "\n::" not in text
