"""The contract in words: every clause, its result, and the event that shows it."""

from typing import Literal, NamedTuple

from reviewer.gates.acts import acts_of
from reviewer.gates.compiled import Contract
from reviewer.gates.model import Finding, Verdict
from reviewer.gates.verdict import CLAUSES
from reviewer.suite.gates import GATES
from reviewer.trace.record import TraceRecord

ClauseResult = Literal["critical", "fail", "not_measured", "pass"]

_WEIGHT = {"critical": 0, "fail": 1, "not_measured": 2, "pass": 3}


class Clause(NamedTuple):
    """One clause of a contract: its gate, its result, the sentence, and its evidence."""

    gate: str
    result: ClauseResult
    text: str
    seq: int | None


def clauses(contract: Contract, record: TraceRecord, verdict: Verdict) -> list[Clause]:
    """Return the contract's clauses for one trace: failing first, then not measured, then those
    that hold.

    Within those groups the gates keep the order of GATES; every gate in force occurs at least once.
    A note (a diagnostic that fails nothing) is among the clauses that hold, marked as such.
    """
    told = [_told(finding) for finding in verdict.findings]
    speaking = [finding for finding in verdict.findings if finding.severity != "note"]
    codes = {finding.code for finding in verdict.findings}
    broken = frozenset(codes | {code.partition(":")[0] for code in codes})
    results = dict(zip(GATES, verdict.results, strict=True))
    judged = set(contract.in_force)
    silent = [
        gate
        for gate in contract.in_force
        if results[gate] == "not_measured" and all(finding.gate != gate for finding in speaking)
    ]
    if silent:
        # This trace was not judged by its whole contract: only gates that passed have clauses that
        # hold.
        why = "not scored by this contract"
        if speaking:
            doubtful = [
                one for one in speaking if one.code.startswith(("unread:", "contradiction:"))
            ]
            said = (doubtful or speaking)[0]
            why = f"not scored: {said.detail or said.code}"
        told += [Clause(gate, "not_measured", why, None) for gate in silent]
        judged = {gate for gate in contract.in_force if results[gate] == "pass"}
    acts = acts_of(record, contract.aliases)
    told += [
        Clause(gate, "pass", rule.text, rule.seq)
        for gate in contract.in_force
        if gate in judged
        for rule in CLAUSES[gate](contract, acts, broken)
        if broken.isdisjoint(rule.codes)
    ]
    return sorted(told, key=_weight)


def _weight(clause: Clause) -> tuple[int, int]:
    return _WEIGHT[clause.result], GATES.index(clause.gate)


def _told(finding: Finding) -> Clause:
    text = finding.detail or finding.code
    if finding.severity == "note":
        return Clause(finding.gate, "pass", f"shown only: {text}", finding.seq)
    return Clause(finding.gate, finding.severity, text, finding.seq)
