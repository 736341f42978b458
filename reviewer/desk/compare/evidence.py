"""Which evidence changed between two attempts, in words."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reviewer.desk.compare.views import AlignedStep, Attempt, GateChange
from reviewer.desk.views import EventRow, FindingView
from reviewer.report.words import named

NAMED = 5
"""Steps told one by one before the rest is counted."""
DID = {
    "tool_result": "got the result of",
    "approval": "asked for approval",
    "state_snapshot": "recorded its state",
    "message": "wrote a message",
    "error": "met an error",
}
Findings = Sequence[FindingView]


class Said(NamedTuple):
    """One line, and the step it stands on; None where no single step shows it."""

    text: str
    step: int | None = None


def evidence(
    sides: tuple[str, str],
    steps: Sequence[AlignedStep],
    gates: Sequence[GateChange],
    findings: tuple[Findings, Findings],
    ends: tuple[Attempt, Attempt],
    message: Sequence[tuple[str, str]],
) -> list[Said]:
    """The first act that differs, gates, the final state, then other acts and the message; one
    line when nothing changed."""
    acts = [Said(line, n) for n, step in enumerate(steps) if (line := _act(sides, step))]
    told = acts[:1]
    told += [
        Said(line, _where(change, findings, steps))
        for change in gates
        for line in _gate(change, findings)
    ]
    old, new = ends
    if old.final_state != new.final_state:
        told.append(Said(f"final state changed {old.final_state} → {new.final_state}"))
    told += acts[1:NAMED]
    if len(acts) > NAMED:
        told.append(Said(f"{len(acts) - NAMED} more steps differ", acts[NAMED].step))
    if any(sign != "=" for sign, _ in message):
        gone, came = (sum(len(t.split()) for s, t in message if s == sign) for sign in "-+")
        told.append(Said(f"final message differs: {gone} words gone, {came} new", _last(steps)))
    for name, end in zip(sides, ends, strict=True):
        if not end.payload:
            words = f"the events of {_the(name)} are not stored: only its verdict is compared"
            told.append(Said(words))
    same = "no evidence changed: the same acts, the same verdicts, the same end"
    return told or [Said(same)]


def _where(
    change: GateChange, findings: tuple[Findings, Findings], steps: Sequence[AlignedStep]
) -> int | None:
    """The step with the event on which the gate fails: the candidate's, else the baseline's."""
    for side, found in (("candidate", findings[1]), ("baseline", findings[0])):
        seqs = {f.seq for f in found if f.gate == change.gate and f.seq is not None}
        for n, step in enumerate(steps):
            row = getattr(step, side)
            if row is not None and row.seq in seqs:
                return n
    return None


def _last(steps: Sequence[AlignedStep]) -> int | None:
    """The last message."""
    rows = [step.candidate or step.baseline for step in steps]
    found = [n for n, row in enumerate(rows) if row is not None and row.kind == "message"]
    return found[-1] if found else None


def _the(side: str) -> str:
    return f"the {side}" if side in ("baseline", "candidate") else side


def _act(sides: tuple[str, str], step: AlignedStep) -> str:
    """What one side did and the other did not; "" where both did the same, or only words differ."""
    old, new = step.baseline, step.candidate
    before, after = _the(sides[0]), sides[1]
    if old is not None and new is not None:
        if step.change == "arguments":
            more = f": {step.lines[0]}" if step.lines else ""
            return f"{after} called {new.title} at event {new.seq} with other arguments{more}"
        if step.change == "instead":
            where = "" if new.seq == old.seq else f" at event {old.seq}"
            return f"{after} {_did(new)} at event {new.seq} where {before} {_did(old)}{where}"
        if step.change == "result" and old.status != new.status:
            answers = f"{new.status or 'nothing'} where {before} got {old.status or 'nothing'}"
            return f"{after}'s {new.title} at event {new.seq} got {answers}"
        return ""
    if new is not None:
        return f"{after} {_did(new)} at event {new.seq}, {before} did not"
    if old is not None:
        return f"{sides[0]} {_did(old)} at event {old.seq}, {_the(after)} did not"
    return ""


def _did(row: EventRow) -> str:
    if row.kind == "tool_call":
        return f"called {row.title}"
    did = DID.get(row.kind, f"had a {row.kind}")
    return f"{did} {row.title}" if row.kind == "tool_result" else did


def _gate(change: GateChange, findings: tuple[Findings, Findings]) -> Iterator[str]:
    gate, old, new = change.gate, change.baseline, change.candidate
    before, after = (_codes(side, gate) for side in findings)
    if new == old:
        if before != after:
            yield f"{gate}: {before or 'no finding'} → {after or 'no finding'}"
    elif new == "pass":
        yield f"{gate} now passes" + (f" (was {before})" if before else "")
    elif new == "not_measured":
        yield f"{gate} is no longer measured" + (f": {after}" if after else "")
    else:
        word = "now fails critically" if new == "critical" else "now fails"
        yield f"{gate} {word}" + (f": {after}" if after else "")


def _codes(findings: Findings, gate: str) -> str:
    found = [f for f in findings if f.gate == gate and f.severity != "note"]
    return named(list(dict.fromkeys(f.code for f in found)))
