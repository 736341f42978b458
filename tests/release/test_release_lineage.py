"""Other suites that a candidate met hold it until somebody says why; break-glass is shown, always,
and weighs nothing."""

from typing import Any

import pytest
from msgspec.structs import replace
from release_examples import plain, v7, v8

from reviewer.report.assess import assess
from reviewer.report.build import report
from reviewer.report.evidence import BreakGlassRecord, LineageSuite
from reviewer.report.model import Report
from reviewer.report.page import page
from reviewer.report.render.text import summary_lines

OTHER = LineageSuite(suite_id="refund-easy", digest="ee" * 32, attempts=9, passes=4)
EXPLAINED = replace(OTHER, reason="a wrong step budget", reviewer="dana", at="2026-05-01T10:00:00Z")
GLASS = BreakGlassRecord(
    candidate_id="refund-agent-v7",
    environment="production",
    principal="fire",
    reason="refunds are down\nand nobody else is awake",
    at="2026-05-01T02:00:00Z",
    expires="2026-05-01T06:00:00Z",
    payload_sha256="ab" * 32,
)


def block(document: Report, title: str) -> Any:
    return next((one for one in page(document) if one.title.startswith(title)), None)


def test_a_suite_met_without_a_reason_holds_and_says_how_to_give_one() -> None:
    judged = assess(v8(lineage=(OTHER, replace(OTHER, suite_id="refund-hard", digest="dd" * 32))))
    assert judged.recommendation == "hold"
    assert len(judged.reasons) == 2
    assert "also run on refund-easy" in judged.reasons[0].text
    assert "--reason WHY" in judged.needs[0]
    assert assess(v8(lineage=(EXPLAINED,))).recommendation == "promote"


def test_no_reason_lifts_a_block() -> None:
    assert assess(v7(lineage=(EXPLAINED,))).recommendation == "block"
    assert assess(v7(lineage=(OTHER,))).recommendation == "block"


@pytest.mark.parametrize("met", [OTHER, EXPLAINED])
def test_the_lineage_stands_in_the_report_and_in_words(met: LineageSuite) -> None:
    document = report(v8(lineage=(met,)))
    (section,) = plain(document)["suite"]["lineage"]
    assert section["digest"] == met.digest
    assert section["reason"] == (met.reason or None)
    (row,) = block(document, "Other suites").rows
    assert [str(cell) for cell in row] == [
        "refund-easy", "ee" * 32, "4 of 9 passed",
        "a wrong step budget (dana)" if met.reason else "no reason given",
    ]  # fmt: skip
    (line,) = [one for one in summary_lines(document) if one.name == "other suites"]
    assert line.mark == ("note" if met.reason else "not_measured")


def test_break_glass_is_shown_and_weighs_nothing() -> None:
    bare, shown = report(v8()), report(v8(break_glass=(GLASS,)))
    before, after = plain(bare), plain(shown)
    assert after["break_glass"][0]["payload_sha256"] == GLASS.payload_sha256
    assert {key for key in before if before[key] != after[key]} == {"break_glass"}
    (row,) = block(shown, "Break-glass").rows
    assert str(row[-1]) == "refunds are down and nobody else is awake"
    (line,) = [one for one in summary_lines(shown) if one.name == "break-glass"]
    assert line.mark == "fail"
    assert "fire for refund-agent-v7 in production" in line.text
    assert assess(v8(break_glass=(GLASS,))).recommendation == "promote"


def test_without_either_nothing_is_shown_of_them() -> None:
    document = report(v8())
    assert block(document, "Break-glass") is None
    assert block(document, "Other suites") is None
    names = {one.name for one in summary_lines(document)}
    assert not names & {"break-glass", "other suites"}
