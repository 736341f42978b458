"""Render a report: the same bytes for the screen and for CI."""

from __future__ import annotations  # names used only in annotations are not imported

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reviewer.db import registry
from reviewer.db.connection import Connection
from reviewer.db.queries.episodes import rolls
from reviewer.db.queries.traces import TraceRow, attempt_rows, findings_of, trace_at, traces_of
from reviewer.desk.errors import DeskError, NoTrace, ways_out
from reviewer.desk.marks import mark_of
from reviewer.desk.place import Workspace, write_private
from reviewer.exit_codes import ExitCode
from reviewer.report.model import Report
from reviewer.report.page_parts import (
    MOST_NUMBERED,
    MOST_TEXT,
    AttemptFact,
    Excerpt,
    ScoreCell,
    ScoreRow,
    ShownEvent,
    Supplement,
    chosen_rows,
    chosen_traces,
    window,
)
from reviewer.trace.record import ABSENT, Event

if TYPE_CHECKING:
    from reviewer.desk.reports.api import PrintableReport

FORMATS = ("json", "md", "html", "junit", "sarif", "github")
USUAL = ("json", "md", "html", "junit")
"""The formats written when none is named."""
DECISION = "decision.dsse.json"
"""The signed decision beside a report."""
FILES = {
    "json": "report.json",
    "md": "report.md",
    "html": "report.html",
    "junit": "junit.xml",
    "sarif": "report.sarif",
    "github": "github.md",
}


def known_formats(formats: tuple[str, ...]) -> tuple[str, ...]:
    """Return each format once. Raises DeskError for an unknown format."""
    if any(name not in FORMATS for name in formats):
        raise DeskError(
            f"--format {','.join(name for name in formats if name not in FORMATS)}: not one of "
            f"{', '.join(FORMATS)}",
            "name one or more of these, with commas between",
            exit_code=ExitCode.USAGE,
        )
    return tuple(dict.fromkeys(formats))


def renderings(shown: PrintableReport, formats: tuple[str, ...]) -> dict[str, bytes]:
    """Return file name → bytes for each format. Raises DeskError for an unknown format."""
    makers: dict[str, Callable[[PrintableReport], bytes]] = {
        "json": lambda one: one.built.raw,
        "md": lambda one: markdown(one).encode(),
        "html": _html,
        "junit": _junit,
        "sarif": _sarif,
        "github": _github,
    }
    return {FILES[name]: makers[name](shown) for name in known_formats(formats)}


def markdown(shown: PrintableReport) -> str:
    """Return the report as Markdown."""
    from reviewer.report.render.markdown import render_markdown

    return render_markdown(shown.built.report, shown.beside)


def _html(shown: PrintableReport) -> bytes:
    from reviewer.report.render.html import render_html

    return render_html(shown.built.report, shown.beside).encode()


def _junit(shown: PrintableReport) -> bytes:
    from reviewer.report.render.junit import render_junit

    return render_junit(shown.built.report, shown.beside)


def _sarif(shown: PrintableReport) -> bytes:
    from reviewer.report.render.sarif import render_sarif

    return render_sarif(shown.built.report, shown.beside)


def _github(shown: PrintableReport) -> bytes:
    from reviewer.report.render.github import step_summary

    return step_summary(shown.built.report, shown.beside).encode()


def annotation_lines(shown: PrintableReport) -> list[str]:
    """Return the lines that GitHub Actions reads from a step's output: the first reasons, each at
    its file."""
    from reviewer.report.render.github import annotations

    return annotations(shown.built.report, shown.beside)


def write(shown: PrintableReport, out: Path, formats: tuple[str, ...]) -> list[tuple[str, str]]:
    """Write the renderings into a folder; return (path, sha256) of each.

    Raises DeskError when the folder cannot be created or written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DeskError(
            f"{out}: cannot be made a folder ({error.strerror})",
            *ways_out(error),
            exit_code=ExitCode.USAGE,
        ) from error
    if known_formats(formats) == ("json",):
        path = out / FILES["json"]
        return [(str(path), shown.built.write(path))]
    return write_files(out, renderings(shown, formats), {FILES["json"]: shown.built.digest})


def write_files(
    out: Path, files: dict[str, bytes], known: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """Write files into an existing folder; return (path, sha256) of each. The digests of some may
    be `known`."""
    for name, data in files.items():
        write_private(out / name, data)
    digests = dict(known or {})
    return [
        (str(out / name), digests.get(name) or hashlib.sha256(data).hexdigest())
        for name, data in files.items()
    ]


def left_in(folder: Path, digest: str) -> tuple[str, ...]:
    """Return the paths of a folder's renderings and decision that an earlier export left: they do
    not name this report's digest."""
    names = (*(FILES[name] for name in FORMATS if name not in ("json", "github")), DECISION)
    return tuple(str(folder / name) for name in names if _of_another(folder / name, digest))


def _of_another(path: Path, digest: str) -> bool:
    if not path.is_file():
        return False
    try:
        data = path.read_bytes()
        if path.name == DECISION:
            data = base64.b64decode(json.loads(data)["payload"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return True
    return digest.encode() not in data


ARCHIVED = "its events are archived outside the store, and not available"
NOT_KEPT = "its events are not kept: the record held data that may not be stored"


def rendering_context(
    connection: Connection,
    workspace: Workspace,
    report: Report,
    digest: str,
    formats: Sequence[str],
) -> Supplement:
    """Gather the additional content that these formats show; `digest` is that of report.json.

    Call this within the transaction in which the report was built. Raises DeskError when the
    candidate has no trace.
    """
    suite_id = report.suite.suite_id
    candidate_id = report.candidate.candidate_id
    suite = registry.suite_row(connection, suite_id)
    stored = registry.candidate_row(connection, suite.id, candidate_id) if suite else None
    if suite is None or stored is None:
        raise NoTrace(suite_id, candidate_id)
    read = {"md", "html"}.intersection(formats)
    return Supplement(
        report_sha256=digest,
        rows=_rows(connection, suite.id, stored.id, report) if read else (),
        attempts=_attempts(connection, stored.id, report) if "junit" in formats else {},
        excerpts=_excerpts(connection, suite.id, stored.id, report) if read else (),
        suite_path="" if suite.probe else suite_path(workspace, suite_id),
    )


def suite_path(workspace: Workspace, suite_id: str) -> str:
    """Return the suite's folder relative to the root of the repository that holds the workspace, or
    to the workspace where there is none."""
    folder = workspace.suites / suite_id
    root = workspace.root
    for parent in (root, *root.parents):
        if (parent / ".git").exists():
            root = parent
            break
    return Path(folder).relative_to(root).as_posix()


def _rows(
    connection: Connection, suite: int, candidate: int, report: Report
) -> tuple[ScoreRow, ...]:
    from reviewer.desk.scorecards.scorecard import row_of

    gates = tuple(report.gates)
    keys_by_id = registry.episode_ids(connection, suite)
    keys = [keys_by_id[name] for name in chosen_rows(report) if name in keys_by_id]
    if not keys:
        return ()
    made: dict[int, list[TraceRow]] = {}
    for trace in traces_of(connection, candidate, keys):
        made.setdefault(trace.episode, []).append(trace)
    placed = {e.episode_id: e.quarantined for e in report.episodes}
    probe, plan = report.suite.probe, report.repeatability.attempts_per_episode
    planned, k = 0 if probe else plan, report.pass_hat_interval.k
    apart = {one.episode_id for one in report.by_person or ()}
    found = []
    for roll in rolls(connection, suite, candidate, keys):
        traces = made.get(roll.key, [])
        times = {trace.attempt: trace.latency_ms for trace in traces}
        row = row_of(
            roll,
            traces,
            k,
            planned,
            placed.get(roll.episode_id, 0),
            in_force=gates,
            by_person=roll.episode_id in apart,
        )
        found.append(
            ScoreRow(
                episode_id=row.episode_id,
                title=row.title,
                cells=tuple(ScoreCell(c.mark, c.failed, c.attempts) for c in row.cells),
                attempts=tuple(
                    AttemptFact(a.attempt, a.mark, times.get(a.attempt)) for a in row.attempts
                ),
                pass_hat=row.pass_hat,
                mean_cost_usd=row.mean_cost_usd,
                latency_p50_ms=row.latency_p50_ms,
            )
        )
    return tuple(found)


def _attempts(
    connection: Connection, candidate: int, report: Report
) -> dict[str, tuple[AttemptFact, ...]]:
    if sum(e.attempts + e.infrastructure for e in report.episodes) > MOST_NUMBERED:
        return {}
    found: dict[str, list[AttemptFact]] = {}
    for row in attempt_rows(connection, candidate):
        fact = AttemptFact(row.attempt, mark_of(row), row.latency_ms)
        found.setdefault(row.episode_id, []).append(fact)
    return {name: tuple(made) for name, made in found.items()}


def _excerpts(
    connection: Connection, suite: int, candidate: int, report: Report
) -> tuple[Excerpt, ...]:
    chosen = chosen_traces(report)
    if not chosen:
        return ()
    from reviewer.desk.traces.records import Records

    records, keys = Records(), registry.episode_ids(connection, suite)
    found = []
    for trace in chosen:
        key = keys[trace.episode_id]
        row = trace_at(connection, candidate, key, trace.attempt)
        if row is not None:
            found.append(_excerpt(connection, records, row, trace.trace_id))
    return tuple(found)


def _excerpt(connection: Connection, records: Any, row: TraceRow, trace_id: str) -> Excerpt:
    from reviewer.db import payload
    from reviewer.db.payload_archives import NotAvailable
    from reviewer.desk.traces.events import event_window
    from reviewer.desk.traces.records import position_of

    shown = [f for f in findings_of(connection, [row.id]) if f.severity != "note"]
    findings = tuple((f.gate, f.code, f.seq, f.detail) for f in shown)
    mark = mark_of(row)
    why = None
    try:
        whole = records.whole(connection, row)
        if whole is None and payload.large_head(connection, row.id) is None:
            why = NOT_KEPT
    except NotAvailable:
        why = ARCHIVED
    if why is not None:
        return Excerpt(trace_id=trace_id, mark=mark, findings=findings, of=row.events, why=why)
    worst = sorted(shown, key=lambda f: f.severity != "critical")
    wanted = []
    for seq in dict.fromkeys(f.seq for f in worst if f.seq is not None):
        try:
            wanted.append(position_of(connection, records, row, seq))
        except DeskError:  # a finding about a missing event is shown without it
            continue
    events = []
    for at in window(wanted, row.events):
        line = event_window(connection, records, row, at, 1)[0]
        event = records.events(connection, row, at, 1)[0]
        events.append(
            ShownEvent(
                seq=line.seq,
                kind=line.kind,
                title=event.tool or "",
                status=line.status,
                latency_ms=line.latency_ms,
                mark=line.mark,
                codes=line.codes,
                parts=tuple(_parts(event)),
            )
        )
    return Excerpt(
        trace_id=trace_id, mark=mark, findings=findings, events=tuple(events), of=row.events
    )


def _parts(event: Event) -> list[tuple[str, str]]:
    named = {
        "arguments": event.arguments,
        "observation": event.observation,
        "message": event.message,
        "approval": event.approval,
        "state": event.state,
    }
    return [(name, _cut(_told(raw))) for name, raw in named.items() if raw != ABSENT]


def _told(raw: Any) -> str:
    """Return a string as it is, anything else as JSON on one line."""
    data = bytes(raw)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str) -> str:
    left = len(text) - MOST_TEXT
    return text if left <= 0 else f"{text[:MOST_TEXT]}… (+{left:,} characters)"
