"""The gates of a report in rows and words: attempts that pass, the first event that fails, and how
the bound compares with the policy. The decision screen shows these."""

from typing import NamedTuple

from reviewer.report.decision_set import GateResult
from reviewer.report.formatting import plural
from reviewer.report.model import Report
from reviewer.suite.gates import CRITICAL_GATES


class GateRow(NamedTuple):
    """One hard gate. `mark` is pass, fail, critical or not_measured; `first` names the first event
    that fails it, "" without one."""

    mark: str
    gate: str
    passed: int
    failed: int
    not_measured: int
    first: str

    @property
    def attempts(self) -> int:
        """The attempts that the gate was applied to."""
        return self.passed + self.failed + self.not_measured


class BoundRow(NamedTuple):
    """The comparison of one figure's bound with the policy."""

    mark: str
    name: str
    text: str


def gate_rows(report: Report) -> tuple[GateRow, ...]:
    """Return every hard gate in the order of the report."""
    first: dict[str, str] = {}
    for failure in report.failures:
        for found in failure.evidence:
            event = "" if found.seq is None else f" event {found.seq}"
            place = f"{failure.episode_id}/{failure.attempt}{event}  {found.code}"
            first.setdefault(found.gate, place)
    rows = []
    for name, gate in report.gates.items():
        mark = "not_measured" if gate.not_measured else "pass"
        if gate.fail:
            mark = "critical" if name in CRITICAL_GATES else "fail"
        rows.append(
            GateRow(mark, name, gate.passes, gate.fail, gate.not_measured, first.get(name, ""))
        )
    return tuple(rows)


_MARKS = {"PASS": "pass", "FAIL": "fail", "NO EVIDENCE": "not_measured"}


def bound_rows(report: Report) -> tuple[BoundRow, ...]:
    """Return, for every figure that decides, how its bound compares with the policy; nothing for a
    probe."""
    if report.suite.probe:
        return ()
    return tuple(
        BoundRow(_MARKS[row.strict], row.name, _said(row))
        for row in report.decision_set.gates
        if row.decides and row.strict in _MARKS
    )


def _said(row: GateResult) -> str:
    seen = "; ".join(part for part in (row.observed, row.bounds) if part)
    asks = f"the policy asks {row.policy}" if row.policy else "the policy sets no limit"
    says = {
        "PASS": "met",
        "FAIL": "missed",
        "NO EVIDENCE": "not enough evidence to say",
    }[row.strict]
    need = f", needs {row.need}" if row.strict == "NO EVIDENCE" and row.need else ""
    return f"{says}: {seen}; {asks}{need}" if seen else f"{says}; {asks}{need}"


def bounds_in_a_line(report: Report) -> str:
    """Return the recommendation on bounds, and the names of the figures that miss the policy or
    lack evidence."""
    strict = report.decision_set.strict
    rows = bound_rows(report)
    missed = [row.name for row in rows if row.mark == "fail"]
    unknown = [row.name for row in rows if row.mark == "not_measured"]
    parts = []
    if missed:
        parts.append(f"{', '.join(missed)} {'misses' if len(missed) == 1 else 'miss'} the policy")
    if unknown:
        parts.append(f"not enough evidence on {', '.join(unknown)}")
    if not parts:
        parts.append(f"{plural(len(rows), 'bound')} met" if rows else "every gate passes")
    if strict.recommendation == "hold":
        parts.append(f"needs {strict.needs[0]}")
    return f"{strict.recommendation}: {'; '.join(parts)}"
