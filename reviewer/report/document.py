"""A report as a page: the outline's blocks in reading order, with the grid, the explanations, the
events of failing traces and the way to verify put in. Markdown and HTML are made of these parts.
"""

import shlex
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, structs

from reviewer.report.beside import NOTHING, Beside, Excerpt, ScoreRow, ShownEvent, rest_of_rows
from reviewer.report.block import Block
from reviewer.report.explained import (
    Terms,
    decision_terms,
    diagnostic_terms,
    figure_terms,
    gate_terms,
    regression_terms,
    review_terms,
    slice_terms,
)
from reviewer.report.marks import GLYPHS, OF_RESULT, WORDS, Marked, marked
from reviewer.report.outline import outline
from reviewer.report.words import NOT_MEASURED, Name, number, seconds, usd

GRID = "Scorecard"
GATE_TABLE = "Hard gates"
DECISIONS = "Decision set"
FIGURES = "Repeatability, cost and latency"
FAILURES = "Failing traces"
REGRESSION = "Regression"
SLICES = "Slices"
REVIEW = "Soft review"
DIAGNOSTICS = "Diagnostics, never gating"
VERIFY = "How to verify"
GRID_LEGEND = (
    "An episode's cell is the worst verdict of its attempts, with how many of them failed. "
    + ", ".join(f"{GLYPHS[mark]} {WORDS[mark]}" for mark in GLYPHS)
    + "."
)


class Part(Struct, frozen=True):
    """One block of the page. `level` is that of its heading; `terms` explain its figures;
    `excerpt` is the trace whose events it shows."""

    block: Block
    level: int = 2
    terms: Terms = []
    excerpt: Excerpt | None = None


def document(report: dict[str, Any], beside: Beside = NOTHING) -> list[Part]:
    """The parts of a page in reading order; the first one's title is the verdict (level 1)."""
    first, *blocks = outline(report)
    by_title = {block.title: block for block in blocks}
    parts = [Part(first, level=1)]
    if beside.rows:
        parts.append(Part(_grid(report, beside.rows)))
    failing = by_title.pop(FAILURES, None)
    for block in by_title.values():
        drawn = _decided(block) if block.title == DECISIONS else block
        parts.append(Part(drawn, terms=_terms(block.title, report)))
        if block.title == FIGURES and failing is not None:
            parts.append(Part(_failing(failing, len(beside.excerpts), len(report["failures"]))))
            parts += [_excerpt(one) for one in beside.excerpts]
    parts.append(Part(_verify(report, beside)))
    return parts


def _decided(block: Block) -> Block:
    """The decision set with a sign before each word; what decides nothing gets none."""
    rows = [
        row
        if "decides nothing" in row[0]
        else [
            Marked(OF_RESULT[cell], f"{GLYPHS[OF_RESULT[cell]]} {cell}")
            if cell in OF_RESULT
            else cell
            for cell in row
        ]
        for row in block.rows
    ]
    return structs.replace(block, rows=rows)


def _failing(block: Block, shown: int, failures: int) -> Block:
    """The list of failing traces with a sign before each verdict; the events of `shown` follow."""
    if not block.rows:
        return block
    lines = list(block.lines)
    if 0 < shown < failures:
        lines.append(f"The events of {shown} of {failures:,} follow, critical ones first.")
    rows = []
    for name, verdict, codes in block.rows:
        mark = next(
            m for m, start in (("infra", "infra"), ("critical", "critical"), ("fail", ""))
            if verdict.startswith(start)
        )  # fmt: skip
        rows.append([name, Marked(mark, f"{GLYPHS[mark]} {verdict}"), codes])
    return structs.replace(block, lines=lines, head=["trace", "verdict", "codes"], rows=rows)


def _terms(title: str, report: dict[str, Any]) -> Terms:
    if title == DECISIONS:
        return decision_terms()
    maker = {
        GATE_TABLE: gate_terms,
        FIGURES: figure_terms,
        REGRESSION: regression_terms,
        SLICES: slice_terms,
        REVIEW: review_terms,
        DIAGNOSTICS: diagnostic_terms,
    }.get(title)
    return maker(report) if maker else []


def _grid(report: dict[str, Any], rows: tuple[ScoreRow, ...]) -> Block:
    rest = rest_of_rows(report, len(rows))
    k = report["pass_hat_interval"]["k"]
    return Block(
        GRID,
        lines=[*([rest] if rest else []), GRID_LEGEND],
        head=["episode", *report["gates"], "attempts", f"pass^{k}", "mean cost", "p50"],
        rows=[
            [
                Name(row.episode_id),
                *(
                    marked(cell.mark, f"{cell.failed}/{cell.attempts}" if cell.failed else "")
                    for cell in row.cells
                ),
                strip(row),
                number(row.pass_hat) if row.pass_hat is not None else "-",
                usd(row.mean_cost_usd) if row.mean_cost_usd is not None else "-",
                seconds(row.latency_p50_ms) if row.latency_p50_ms is not None else "-",
            ]
            for row in rows
        ],
    )


MOST_MARKS = 30
MOST_CELL = 240
"""Characters of an event's content in a table; a page with room shows more."""


def strip(row: ScoreRow) -> str:
    """`✓ ✗ ▲`: a sign per attempt, in order."""
    signs = " ".join(GLYPHS[fact.mark] for fact in row.attempts[:MOST_MARKS])
    more = len(row.attempts) - MOST_MARKS
    return f"{signs} +{more}" if more > 0 else signs or NOT_MEASURED


def _excerpt(one: Excerpt) -> Part:
    lines = [_found(*finding) for finding in one.findings]
    if one.why:
        block = Block(
            Name(one.trace_id), lines=[f"{NOT_MEASURED.capitalize()}: {one.why}."], items=lines
        )
        return Part(block, level=3, excerpt=one)
    shown = len(one.events)
    if shown < one.of:
        lines.append(f"{shown} of {one.of} events are shown, those around the ones named.")
    block = Block(
        Name(one.trace_id),
        items=lines,
        head=["event", "what", "status", "finding", "content"],
        rows=list(_event_rows(one)),
    )
    return Part(block, level=3, excerpt=one)


def _event_rows(one: Excerpt) -> Iterator[list[str]]:
    before = 0
    for event in one.events:
        if gap := event.seq - before - 1:
            yield ["…", f"{gap} not shown", "", "", ""]
        before = event.seq
        yield [
            str(event.seq),
            Name(f"{event.kind} {event.title}".rstrip()),
            event.status or "-",
            finding_of(event),
            _short("; ".join(f"{name}: {text}" for name, text in event.parts)),
        ]


def _short(text: str) -> str:
    return (text if len(text) <= MOST_CELL else f"{text[: MOST_CELL - 1]}…") or "-"


def finding_of(event: ShownEvent) -> str:
    """What stands on an event, with the sign and word of its verdict."""
    return marked(event.mark, ", ".join(event.codes)) if event.mark else "-"


def _found(gate: str, code: str, seq: int | None, detail: str) -> str:
    place = "" if seq is None else f" at event {seq}"
    return f"{gate}: {code}{place}" + (f": {detail}" if detail else "")


def _verify(report: dict[str, Any], beside: Beside) -> Block:
    suite, candidate = report["suite"], report["candidate"]
    rows = [["report.json", Name(beside.report_sha256)]] if beside.report_sha256 else []
    for name, of in (("suite", suite), ("candidate", candidate)):
        rows.append([name, Name(of["digest"] or NOT_MEASURED)])
    if suite["probe"]:
        lines = ["A probe certifies nothing, so there is no decision to verify."]
        return Block(VERIFY, lines=lines, head=["digest of", "sha256"], rows=rows)
    manifest = f"suites/{suite['suite_id']}/candidates/{candidate['candidate_id']}.json"
    return Block(
        VERIFY,
        lines=[
            "This page is drawn from report.json, by the digest below; what is signed is a "
            "decision on that file. Whoever has both checks them without the store and without a "
            "network:"
        ],
        code=[
            "sha256sum report.json",
            shlex.join(
                ["reviewer", "verify", "decision.dsse.json", "--candidate-manifest", manifest]
            )
            + " --signers store/signers --report report.json",
            shlex.join(["reviewer", "suite", "check", suite["suite_id"]]),
        ],
        head=["digest of", "sha256"],
        rows=rows,
    )
