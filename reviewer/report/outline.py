"""A report in words, once for every rendering: headings, paragraphs, lists and tables.

Nothing here is escaped: a rendering passes every text through `visible_line` and its own escape.
"""

import json
from typing import Any

from reviewer.report.block import Block
from reviewer.report.broken_glass import broken_glass_rows
from reviewer.report.import_maps import import_maps_rows
from reviewer.report.journal_losses import journal_losses_rows
from reviewer.report.judged_words import judge_lines
from reviewer.report.lineage import lineage_rows
from reviewer.report.outline_figures import figures_block
from reviewer.report.outline_gates import (
    decision_set_block,
    ledger_block,
    regression_block,
    slices_block,
)
from reviewer.report.reviewed_words import review_lines, review_rows
from reviewer.report.split import split_lines, split_rows
from reviewer.report.text_scores import text_lines, text_named
from reviewer.report.words import (
    NOT_MEASURED,
    Name,
    failed_by,
    number,
    place,
    verdict,
)

MOST_TRACES = 200
"""Failing traces written out; all of them stand in report.json."""


def outline(report: dict[str, Any]) -> list[Block]:
    """The blocks of a report, in reading order. The first one's title is the verdict."""
    blocks = [
        _verdict(report),
        _broken_glass(report),
        *_journal_losses(report),
        *_import_maps(report),
        _identity(report),
        _lineage(report),
        _gates(report),
        decision_set_block(report),
        figures_block(report),
        regression_block(report),
        slices_block(report),
        ledger_block(report),
        _split(report),
        _review(report),
        _diagnostics(report),
        _failures(report),
        _records(report),
        _notes(report),
        Block("Public probes, never certifying", items=_probes(report)),
        Block("Not measured", items=report["not_measured"]),
        Block("What this does not show", items=report["what_this_does_not_show"]),
        Block(
            "Reproduce",
            lines=["The same store gives the same bytes:"],
            code=report["reproduce"]["commands"],
            head=["source file", "sha256"],
            rows=[[Name(s["path"]), Name(s["sha256"])] for s in report["reproduce"]["sources"]],
        ),
    ]
    return [b for b in blocks if b.lines or b.items or b.rows or b.code]


def _verdict(report: dict[str, Any]) -> Block:
    name, suite = report["candidate"]["candidate_id"], report["suite"]["suite_id"]
    return Block(
        f"{verdict(report)}: {name} on {suite}",
        lines=[] if report["reason_details"] else ["No reason against."],
        items=[f"Needed: {need}" for need in report["needs"]],
        head=["#", "reason", "observed", "policy", "first evidence"],
        rows=[
            [
                str(r["number"]),
                r["text"],
                r["observed"],
                r["policy"] or "-",
                Name(place(r["evidence"][0])) if r["evidence"] else "-",
            ]
            for r in report["reason_details"]
        ],
    )


def _identity(report: dict[str, Any]) -> Block:
    suite, candidate, slots = report["suite"], report["candidate"], report["slots"]
    rows = [
        ["suite", Name(suite["suite_id"])],
        ["suite digest", Name(suite["digest"] or NOT_MEASURED)],
        ["frozen", suite["frozen_at"] or NOT_MEASURED],
        ["frozen before the first run", "yes" if suite["frozen_before_first_run"] else "no"],
        ["candidate", Name(candidate["candidate_id"])],
        ["candidate digest", Name(candidate["digest"] or NOT_MEASURED)],
    ]
    if candidate["digest"]:
        rows += [
            ["model", candidate["model"] or "-"],
            ["prompts", Name(_versions(candidate["prompts"]))],
            ["tools", Name(_versions(candidate["tools"]))],
            ["authors", ", ".join(candidate["authors"]) or "-"],
        ]
    rows.append(
        [
            "attempts",
            f"{slots['valid']} of {slots['planned']} valid, {slots['infrastructure']} infra, "
            f"{slots['quarantined']} quarantined, {slots['missing']} missing, "
            f"{slots['extra']} extra",
        ]
    )
    return Block("What was judged", head=["", ""], rows=rows)


def _versions(parts: list[dict[str, Any]]) -> str:
    return (
        ", ".join(
            " ".join(
                str(part[key])[: 12 if key == "sha256" else 200]
                for key in ("name", "version", "sha256")
                if part.get(key)
            )
            for part in parts
        )
        or "-"
    )


def _gates(report: dict[str, Any]) -> Block:
    return Block(
        "Hard gates",
        head=["gate", "covers", "pass", "fail", "not measured", "findings"],
        rows=[
            [
                gate,
                counts["covers"],
                str(counts["pass"]),
                str(counts["fail"]),
                str(counts["not_measured"]),
                _findings(counts["findings"]),
            ]
            for gate, counts in report["gates"].items()
        ],
    )


def _findings(found: list[dict[str, Any]]) -> str:
    return Name(", ".join(f"{f['code']} × {f['count']}" for f in found[:10])) if found else "-"


def _split(report: dict[str, Any]) -> Block:
    """Reports made before anybody could look have no such member."""
    found = report.get("split_integrity")
    rows = split_rows(found)
    return Block(
        "Split integrity",
        lines=split_lines(found),
        head=["episode", "found", "index", "file", "first at"] if rows else [],
        rows=[[Name(episode), *rest, Name(file), Name(at)] for episode, *rest, file, at in rows],
    )


def _review(report: dict[str, Any]) -> Block:
    judge, review = report["judge"], report["review"]
    rows = review_rows(review)
    return Block(
        "Soft review",
        lines=[
            *judge_lines(judge),
            *review_lines(review),
        ],
        head=["question or person", "figure", "value", "95% limits"] if rows else [],
        rows=rows,
    )


def _broken_glass(report: dict[str, Any]) -> Block:
    rows = broken_glass_rows(report)
    return Block(
        "Break-glass: released without a decision",
        head=["signed", "by", "candidate", "environment", "until", "reason"],
        rows=[[at, Name(who), Name(name), place, until, why]
              for at, who, name, place, until, why in rows],
    )  # fmt: skip


def _journal_losses(report: dict[str, Any]) -> list[Block]:
    """Nothing for a store that lost nothing."""
    rows = journal_losses_rows(report)
    block = Block(
        "Journal that the store lost",
        head=["stated", "by", "from entry, to entry", "signed decisions on it", "reason"],
        rows=[[at, Name(who), which, count, why] for at, who, which, count, why in rows],
    )
    return [block] if rows else []


def _import_maps(report: dict[str, Any]) -> list[Block]:
    """Nothing where nothing was imported under a map."""
    rows = [[Name(digest), names or "episodes only"] for digest, names in import_maps_rows(report)]
    head = ["sha256 of the map", "tools"]
    return [Block("Maps that imports were made under", head=head, rows=rows)] if rows else []


def _lineage(report: dict[str, Any]) -> Block:
    rows = lineage_rows(report["suite"])
    return Block(
        "Other suites this candidate met",
        head=["suite", "digest", "there", "reason"],
        rows=[[Name(suite), Name(digest), there, why] for suite, digest, there, why in rows],
    )


def _records(report: dict[str, Any]) -> Block:
    """Attempts of which there are several records, or whose record is another's too."""
    return Block(
        "Records of one attempt, and of several candidates",
        head=["trace", "what", "why"],
        rows=[
            [Name(one["trace_id"]), one["what"], Name(one["why"])]
            for one in report.get("records", ())
        ],
    )


def _notes(report: dict[str, Any]) -> Block:
    """What people wrote on events. Reports made before there were notes have none."""
    return Block(
        "Notes on events, never gating",
        head=["trace", "event", "note", "by", "at"],
        rows=[
            [
                Name(note["trace_id"]),
                str(note["seq"]),
                note["text"] or "(bookmark)",
                Name(note["reviewer"]),
                note["at"],
            ]
            for note in report.get("notes", ())
        ],
    )


def _diagnostics(report: dict[str, Any]) -> Block:
    found = report["diagnostics"]
    named = text_named(found)
    return Block(
        "Diagnostics, never gating",
        lines=text_lines(found),
        head=["diagnostic", "mean", "traces"],
        rows=[
            [name, _mean(value), str(value["n"])]
            for name, value in found.items()
            if named or "role" not in value
        ],
    )


def _mean(value: dict[str, Any]) -> str:
    why = f": {value['why']}" if value.get("why") else ""
    return f"{number(value['mean'])}{why}"


def _failures(report: dict[str, Any]) -> Block:
    failures = report["failures"]
    more = len(failures) - MOST_TRACES
    lines = [f"{more} more stand in report.json."] if more > 0 else []
    return Block(
        "Failing traces",
        lines=lines if failures else ["None."],
        head=["trace", "", "codes"],
        rows=[
            [
                Name(t["trace_id"]),
                _mark(t),
                Name(failed_by(t["codes"])) if t["codes"] else failed_by(()),
            ]
            for t in failures[:MOST_TRACES]
        ],
    )


def _mark(trace: dict[str, Any]) -> str:
    word = "critical FAIL" if trace["critical"] else "FAIL"
    return f"{'infra' if trace['infrastructure'] else word}{', extra' if trace['extra'] else ''}"


def _probes(report: dict[str, Any]) -> list[str]:
    return [json.dumps(probe, ensure_ascii=False, default=str) for probe in report["probes"]]
