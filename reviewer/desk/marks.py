"""The one word for a trace, and for each of its gates, as grids and reports show them."""

from collections.abc import Iterable
from typing import cast

from reviewer.db.codec import CRITICAL, FAIL, UNKNOWN, gate_codes
from reviewer.db.queries.traces import AttemptRow, FindingRow, TraceRow
from reviewer.desk.views import AttemptMark, FindingView, Mark
from reviewer.suite.gates import GATES


def mark_of(row: TraceRow | AttemptRow) -> str:
    """The one word for a trace: critical, fail, infra, not_measured or pass."""
    if row.critical:
        return "critical"
    if row.passed == 0:
        return "fail"
    if row.infra:
        return "infra"
    return "pass" if row.passed == 1 else "not_measured"


_GATE_MARK = {0: "pass", FAIL: "fail", UNKNOWN: "not_measured", CRITICAL: "critical"}


def gate_marks(mask: int, in_force: tuple[str, ...]) -> tuple[str, ...]:
    """The word of each gate in force, in the order of these."""
    codes = gate_codes(mask)
    return tuple(_GATE_MARK[codes[GATES.index(gate)]] for gate in in_force)


def attempt_marks(
    traces: list[TraceRow], planned: int, quarantined: int
) -> tuple[AttemptMark, ...]:
    """One mark per attempt made, and per planned attempt that is not there."""
    marks = {trace.attempt: cast(Mark, mark_of(trace)) for trace in traces}
    for attempt in range(1, planned + 1):
        if attempt not in marks:
            marks[attempt] = "quarantined" if quarantined > 0 else "missing"
            quarantined -= 1
    return tuple(AttemptMark(attempt=n, mark=mark) for n, mark in sorted(marks.items()))


def finding_views(found: Iterable[FindingRow]) -> tuple[FindingView, ...]:
    """The findings of a trace as a door shows them."""
    return tuple(
        FindingView(gate=f.gate, code=f.code, severity=f.severity, seq=f.seq, detail=f.detail)
        for f in found
    )
