"""The page of a report: its sections in reading order. Markdown and HTML are drawn from these."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reviewer.report.evidence import UNSEEN, Look, standing
from reviewer.report.formatting import (
    GLYPHS,
    NOT_MEASURED,
    WORDS,
    MarkedText,
    Name,
    failed_by,
    marked,
    number,
    place,
    plural,
    seconds,
    slots_text,
    usd,
    verdict,
)
from reviewer.report.model import CandidateSection, Failure, Report
from reviewer.report.page.figures import figures_section
from reviewer.report.page.gates import (
    decision_set_section,
    gates_section,
    ledger_section,
    regression_section,
    slices_section,
)
from reviewer.report.page.power import power_sections
from reviewer.report.page.review import diagnostics_section, review_section
from reviewer.report.page_parts import (
    NOTHING,
    Excerpt,
    ScoreRow,
    Section,
    ShownEvent,
    Supplement,
    rest_of_rows,
)
from reviewer.report.tolerated import tolerated_text
from reviewer.suite.code import REWRITTEN, UNREADABLE

GRID = "Scorecard"
RAN = "What ran"
FAILURES = "Failing traces"
VERIFY = "How to verify"
GRID_LEGEND = (
    "An episode's cell is the worst verdict of its attempts, with how many of them failed. "
    + ", ".join(f"{GLYPHS[mark]} {WORDS[mark]}" for mark in GLYPHS)
    + "."
)
MOST_TRACES = 200
"""Failing traces written out; report.json has all of them."""
MOST_MARKS = 30
MOST_CELL = 240
"""Characters of an event's content in a table; a page with room shows more."""


def page(report: Report, beside: Supplement = NOTHING) -> list[Section]:
    """Return the sections in reading order; the first one's title is the verdict (level 1)."""
    sections = [
        *_grid(report, beside.rows),
        _broken_glass(report),
        _journal_losses(report),
        _restored(report),
        _import_maps(report),
        _identity(report),
        _ran(report),
        _lineage(report),
        gates_section(report),
        decision_set_section(report),
        *power_sections(report),
        figures_section(report),
        _tolerated(report),
        _failures(report, len(beside.excerpts)),
        *map(_excerpt, beside.excerpts),
        regression_section(report),
        slices_section(report),
        ledger_section(report),
        _split(report),
        review_section(report),
        diagnostics_section(report),
        _approvals(report),
        _records(report),
        _notes(report),
        Section("Public probes, never certifying", items=_probes(report)),
        Section("Not measured", items=list(report.not_measured)),
        Section("What this does not show", items=list(report.what_this_does_not_show)),
        Section(
            "Reproduce",
            lines=["The same store gives the same bytes:"],
            code=list(report.reproduce.commands),
            head=["source file", "sha256"],
            rows=[[Name(s.path), Name(s.sha256)] for s in report.reproduce.sources],
        ),
        _verify(report, beside),
    ]
    return [_verdict(report), *(one for one in sections if not one.empty or one.excerpt)]


def _verdict(report: Report) -> Section:
    name, suite = report.candidate.candidate_id, report.suite.suite_id
    return Section(
        f"{verdict(report)}: {name} on {suite}",
        lines=[] if report.reason_details else ["No reason against."],
        level=1,
        items=[f"Needed: {need}" for need in report.needs],
        head=["#", "reason", "observed", "policy", "first evidence"],
        rows=[
            [
                str(r.number),
                r.text,
                r.observed or "-",
                r.policy or "-",
                Name(place(r.evidence[0])) if r.evidence else "-",
            ]
            for r in report.reason_details
        ],
    )


def _identity(report: Report) -> Section:
    suite, candidate, slots = report.suite, report.candidate, report.slots
    rows = [
        ["suite", Name(suite.suite_id)],
        ["suite digest", Name(suite.digest or NOT_MEASURED)],
        ["frozen", suite.frozen_at or NOT_MEASURED],
        ["frozen before the first run", "yes" if suite.frozen_before_first_run else "no"],
        ["formulas", f"version {report.formulas}"],
        ["candidate", Name(candidate.candidate_id)],
        ["candidate digest", Name(candidate.digest or NOT_MEASURED)],
    ]
    if isinstance(candidate, CandidateSection) and candidate.digest:
        rows += [
            ["model", candidate.model or "-"],
            ["prompts", Name(_versions(candidate.prompts))],
            ["tools", Name(_versions(candidate.tools))],
            ["authors", ", ".join(candidate.authors) or "-"],
        ]
    rows.append(
        [
            "attempts",
            f"{slots_text(slots)}, {slots.extra} extra",
        ]
    )
    return Section("What was judged", head=["", ""], rows=rows)


def _ran(report: Report) -> Section:
    ran = report.ran
    rows: list[list[str]] = []
    for one in ran.measurements:
        code = one.code
        told = f"{plural(code.files, 'file')}, {'' if code.pinned else 'not '}pinned"
        if code.changed_to is not None:
            word = {REWRITTEN: "written during the attempt", UNREADABLE: "unreadable at its end"}
            told += f"; {word.get(code.changed_to) or f'changed to {code.changed_to[:12]}'}"
        models = [" ".join(filter(None, (m.model, m.fingerprint))) for m in one.models]
        rules = f"--approve {one.approvals}, network {'granted' if one.network else 'refused'}"
        world = [
            f"{name} {digest[:12]}"
            for name, digest in (("toolset", one.toolset), ("toolkits", one.toolkits))
            if digest
        ]
        program = one.interpreter
        rows.append(
            [
                str(one.attempts),
                Name(code.sha256),
                told,
                Name(f"{program.name} {program.sha256[:12]}") if program else "-",
                Name(one.platform or "-"),
                Name(", ".join(models) or "-"),
                ", ".join([f"{rules}, seed {one.seed}", *world]),
            ]
        )
    lines = [f"{ran.summary[0].upper()}{ran.summary[1:]}."]
    if ran.measurements_left_out:
        lines.append(f"{ran.measurements_left_out} more measurements are in the store.")
    head = ["attempts", "code", "of it", "interpreter", "platform", "model that answered", "rules"]
    return Section(RAN, lines=lines, head=head if rows else [], rows=rows)


def _versions(parts: Sequence[Mapping[str, Any]]) -> str:
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


def _broken_glass(report: Report) -> Section:
    return Section(
        "Break-glass: released without a decision",
        head=["signed", "by", "candidate", "environment", "until", "reason"],
        rows=[
            [
                one.at,
                Name(one.principal),
                Name(one.candidate_id),
                one.environment,
                one.expires,
                " ".join(one.reason.split()),
            ]
            for one in report.break_glass
        ],
    )


def _journal_losses(report: Report) -> Section:
    return Section(
        "Journal that the store lost",
        head=["stated", "by", "from entry, to entry", "signed decisions on it", "reason"],
        rows=[
            [
                one.at,
                Name(one.principal),
                f"{one.lost_seq} to {one.kept_seq}",
                str(one.decisions),
                " ".join(one.reason.split()),
            ]
            for one in report.journal_losses or ()
        ],
    )


def _restored(report: Report) -> Section:
    return Section(
        "Backups that took the place of a later store",
        head=["restored", "entries of the journal that it lacks"],
        rows=[[one.at, str(one.lost)] for one in report.restored or ()],
    )


def _import_maps(report: Report) -> Section:
    return Section(
        "Maps that imports were made under",
        head=["sha256 of the map", "tools"],
        rows=[
            [
                Name(one.sha256),
                ", ".join(f"{theirs} is {ours}" for theirs, ours in one.tools.items())
                or "episodes only",
            ]
            for one in report.import_maps or ()
        ],
    )


def _lineage(report: Report) -> Section:
    return Section(
        "Other suites this candidate was run on",
        head=["suite", "digest", "there", "reason"],
        rows=[
            [
                Name(one.suite_id),
                Name(one.digest),
                f"{one.passes} of {one.attempts} passed",
                f"{one.reason} ({one.reviewer})" if one.reason else "no reason given",
            ]
            for one in report.suite.lineage
        ],
    )


def _grid(report: Report, rows: tuple[ScoreRow, ...]) -> list[Section]:
    if not rows:
        return []
    rest = rest_of_rows(report, len(rows))
    return [
        Section(
            GRID,
            lines=[*([rest] if rest else []), GRID_LEGEND],
            head=[
                "episode",
                *report.gates,
                "attempts",
                f"pass^{report.pass_hat_interval.k}",
                "mean cost",
                "p50",
            ],
            rows=[_grid_row(row) for row in rows],
        )
    ]


def _grid_row(row: ScoreRow) -> list[str]:
    return [
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


def strip(row: ScoreRow) -> str:
    """Return `✓ ✗ ▲`: a sign per attempt, in order."""
    signs = " ".join(GLYPHS[fact.mark] for fact in row.attempts[:MOST_MARKS])
    more = len(row.attempts) - MOST_MARKS
    return f"{signs} +{more}" if more > 0 else signs or NOT_MEASURED


def _tolerated(report: Report) -> Section:
    """Return the failures that the policy tolerates; empty where there are none."""
    found = report.tolerated
    if not found:
        return Section("Failures that the policy tolerates")
    return Section(
        "Failures that the policy tolerates",
        lines=[f"{tolerated_text(found)}."],
        head=["trace", "codes"],
        rows=[
            [Name(trace.trace_id), Name(failed_by(trace.codes)) if trace.codes else "-"]
            for trace in report.failures
            if trace.trace_id in found.traces
        ],
    )


def _failures(report: Report, shown: int) -> Section:
    """Return the failing traces; the events of `shown` of them follow."""
    failures = report.failures
    if not failures:
        return Section(FAILURES, lines=["None."])
    lines = []
    if len(failures) > MOST_TRACES:
        lines.append(f"{len(failures) - MOST_TRACES} more are in report.json.")
    if 0 < shown < len(failures):
        lines.append(f"The events of {shown} of {len(failures):,} follow, critical ones first.")
    return Section(
        FAILURES,
        lines=lines,
        head=["trace", "verdict", "codes"],
        rows=[
            [
                Name(trace.trace_id),
                _verdict_of(trace),
                Name(failed_by(trace.codes)) if trace.codes else failed_by(()),
            ]
            for trace in failures[:MOST_TRACES]
        ],
    )


def _verdict_of(trace: Failure) -> MarkedText:
    mark = "infra" if trace.infrastructure else "critical" if trace.critical else "fail"
    word = "infra" if trace.infrastructure else WORDS[mark]
    return MarkedText(mark, f"{GLYPHS[mark]} {word}{', extra' if trace.extra else ''}")


def _excerpt(one: Excerpt) -> Section:
    found = [_found(*finding) for finding in one.findings]
    title = Name(one.trace_id)
    if one.why:
        why = f"{NOT_MEASURED.capitalize()}: {one.why}."
        return Section(title, lines=[why], items=found, level=3, excerpt=one)
    shown = len(one.events)
    if shown < one.of:
        found.append(f"{shown} of {one.of} events are shown, those around the ones named.")
    return Section(
        title,
        items=found,
        head=["event", "what", "status", "finding", "content"],
        rows=list(_event_rows(one)),
        level=3,
        excerpt=one,
    )


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
    """Return the codes found at an event, with the sign and word of its verdict."""
    return marked(event.mark, ", ".join(event.codes)) if event.mark else "-"


def _found(gate: str, code: str, seq: int | None, detail: str) -> str:
    place = "" if seq is None else f" at event {seq}"
    return f"{gate}: {code}{place}" + (f": {detail}" if detail else "")


_LEAKS = {"exact": "the same", "inside": "within a longer text", "near": "nearly the same"}


def _split(report: Report) -> Section:
    """Return the frozen episodes found in data the candidate may have learned from."""
    looks = () if report.split_integrity is None else report.split_integrity.looks
    rows = [
        [
            Name(leak.episode_id),
            _LEAKS[leak.kind],
            f"{leak.jaccard:.2f}",
            Name(look.file),
            Name(f"record {leak.record} {leak.pointer}".rstrip()),
        ]
        for look in standing(looks)
        for leak in look.leaks
    ]
    return Section(
        "Split integrity",
        lines=[_look_line(look) for look in looks] or [f"Not measured: {UNSEEN}."],
        head=["episode", "found", "index", "file", "first at"] if rows else [],
        rows=rows,
    )


def _look_line(look: Look) -> str:
    found, of = len(look.leaks), f"{look.file} (sha256 {look.sha256[:12]})"
    seen = f"{look.texts:,} texts, {look.unread:,} records unread"
    said = f"{of}: {plural(found, 'episode')} found in {seen}"
    if look.withdrawn:
        return f"{said}; withdrawn by {look.withdrawn_by}: {look.withdrawn}."
    near = f"near means a Jaccard index of at least {look.threshold:g} of runs of three words"
    return f"{said}; {near}, of which {look.missed:.2%} may be missed."


def _approvals(report: Report) -> Section:
    """Return the answers to calls that need an approval, and who gave them."""
    return Section(
        "Calls that needed an approval",
        head=["episode", "tool", "answer", "by", "calls", "attempts"],
        rows=[
            [
                Name(one.episode_id),
                Name(one.tool),
                one.answer,
                Name(one.by),
                f"{one.calls:,}",
                f"{one.attempts:,}",
            ]
            for one in report.approvals or ()
        ],
    )


def _records(report: Report) -> Section:
    """Return attempts that have several records, or whose record also belongs to another
    candidate."""
    return Section(
        "Records of one attempt, and of several candidates",
        head=["trace", "what", "why"],
        rows=[[Name(one.trace_id), one.what, Name(one.why)] for one in report.records or ()],
    )


def _notes(report: Report) -> Section:
    """Return the notes of people on events."""
    return Section(
        "Notes on events, never gating",
        head=["trace", "event", "note", "by", "at"],
        rows=[
            [
                Name(note.trace_id),
                str(note.seq),
                note.text or "(bookmark)",
                Name(note.reviewer),
                note.at,
            ]
            for note in report.notes
        ],
    )


def _probes(report: Report) -> list[str]:
    return [json.dumps(probe, ensure_ascii=False, default=str) for probe in report.probes]


def _verify(report: Report, beside: Supplement) -> Section:
    suite, candidate = report.suite, report.candidate
    rows = [["report.json", Name(beside.report_sha256)]] if beside.report_sha256 else []
    for name, of in (("suite", suite), ("candidate", candidate)):
        rows.append([name, Name(of.digest or NOT_MEASURED)])
    if suite.probe:
        lines = ["A probe certifies nothing, so there is no decision to verify."]
        return Section(VERIFY, lines=lines, head=["digest of", "sha256"], rows=rows)
    manifest = f"suites/{suite.suite_id}/candidates/{candidate.candidate_id}.json"
    return Section(
        VERIFY,
        lines=[
            "This page is drawn from report.json, by the digest below; what is signed is a "
            "decision on that file. Anyone who has both can check them without the store and "
            "without a network:"
        ],
        code=[
            "sha256sum report.json",
            shlex.join(
                ["reviewer", "verify", "decision.dsse.json", "--candidate-manifest", manifest]
            )
            + " --signers store/signers --report report.json",
            shlex.join(["reviewer", "suite", "check", suite.suite_id]),
        ],
        head=["digest of", "sha256"],
        rows=rows,
    )
