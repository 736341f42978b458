"""The mark of a trace, and of each of its gates, in grids and reports."""

from collections.abc import Iterable
from typing import cast

from reviewer.db.codec import CRITICAL, FAIL, UNKNOWN, gate_codes
from reviewer.db.queries.traces import AttemptRow, FindingRow, TraceRow
from reviewer.desk.views import AttemptMark, FindingView, Mark
from reviewer.suite.gates import GATES


def mark_of(row: TraceRow | AttemptRow) -> str:
    """Return the mark of a trace: critical, fail, infra, not_measured or pass."""
    if row.critical:
        return "critical"
    if row.passed == 0:
        return "fail"
    if row.infra:
        return "infra"
    return "pass" if row.passed == 1 else "not_measured"


_GATE_MARK = {0: "pass", FAIL: "fail", UNKNOWN: "not_measured", CRITICAL: "critical"}


def gate_marks(mask: int, in_force: tuple[str, ...]) -> tuple[str, ...]:
    """Return the mark of each gate in force, in their order."""
    codes = gate_codes(mask)
    return tuple(_GATE_MARK[codes[GATES.index(gate)]] for gate in in_force)


def attempt_marks(
    traces: list[TraceRow], planned: int, quarantined: int
) -> tuple[AttemptMark, ...]:
    """Return one mark per attempt made, and per planned attempt that is missing."""
    marks = {trace.attempt: cast(Mark, mark_of(trace)) for trace in traces}
    for attempt in range(1, planned + 1):
        if attempt not in marks:
            marks[attempt] = "quarantined" if quarantined > 0 else "missing"
            quarantined -= 1
    return tuple(AttemptMark(attempt=n, mark=mark) for n, mark in sorted(marks.items()))


def finding_views(found: Iterable[FindingRow]) -> tuple[FindingView, ...]:
    """Return the findings of a trace as views."""
    return tuple(
        FindingView(gate=f.gate, code=f.code, severity=f.severity, seq=f.seq, detail=f.detail)
        for f in found
    )
