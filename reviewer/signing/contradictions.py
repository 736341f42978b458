"""What a decision may not say of itself, whoever signed it."""

from decimal import Decimal, InvalidOperation

from reviewer.signing.errors import StatementError, plain
from reviewer.signing.parts import parse_time
from reviewer.signing.predicate import Gate, Predicate, SuiteRef
from reviewer.suite.gates import ALWAYS, OPTIONAL


def check_relations(predicate: Predicate) -> None:
    """Rules between fields that belong to the form itself, whatever is decided. StatementError."""
    if parse_time(predicate.expires) <= parse_time(predicate.time_created):
        raise StatementError("statement: predicate.expires: must be after timeCreated")
    _check_lineage(predicate.suite)
    for row in predicate.repeatability:
        if row.passes > row.attempts:
            raise StatementError(
                f"statement: predicate.repeatability: {plain(row.episode)}: more passes than"
                " attempts"
            )
    if predicate.failure_count < len(predicate.failures):
        raise StatementError("statement: predicate.failureCount: fewer than are listed")
    keyids = [reviewer.keyid for reviewer in predicate.approvals.reviewers]
    if len(set(keyids)) != len(keyids):
        raise StatementError("statement: predicate.approvals.reviewers: a key is named twice")


def _check_lineage(suite: SuiteRef) -> None:
    if suite.digest.sha256 not in suite.lineage:
        raise StatementError("statement: predicate.suite.lineage: must hold the suite's own digest")
    given = [one.digest.sha256 for one in suite.lineage_reasons or []]
    others = set(suite.lineage) - {suite.digest.sha256}
    if len(set(suite.lineage)) != len(suite.lineage) or len(set(given)) != len(given):
        raise StatementError("statement: predicate.suite.lineage: a digest is listed twice")
    if stray := sorted(set(given) - others):
        raise StatementError(
            f"statement: predicate.suite.lineageReasons: {stray[0]} is not another suite of the"
            " lineage"
        )


def gate_faults(predicate: Predicate) -> list[str]:
    """Return whether every hard gate is stated, once, as hard, with the result that its figures
    give. A hard gate is never waived."""
    faults = []
    listed = [gate.id for gate in predicate.gates]
    for name in (*ALWAYS, *(each for each in OPTIONAL if each in listed)):
        stated = [gate for gate in predicate.gates if gate.id == name]
        if not stated:
            faults.append(f"gates: the hard gate {name} is missing")
        elif len(stated) > 1:
            faults.append(f"gates: {name} is stated {len(stated)} times")
        elif not stated[0].hard:
            faults.append(f"gates: {name} is not marked hard")
    return faults + [fault for gate in predicate.gates for fault in _result_faults(gate)]


def _result_faults(gate: Gate) -> list[str]:
    """Return whether a gate's result is the one that its own figures give. What was not observed
    says nothing; where no threshold is given, none may be against it."""
    observed, threshold = _number(gate.observed), _number(gate.threshold)
    name = f"gates: {plain(gate.id)}"
    if observed is None:
        if gate.observed is None:
            return []
        return [f"{name}: observed {plain(gate.observed)} is no number"]
    if threshold is None and gate.threshold is not None:
        return [f"{name}: threshold {plain(gate.threshold)} is no number"]
    against = observed > (threshold or 0)
    if (gate.result == "FAILED") == against:
        return []
    word = "more than" if against else "no more than"
    return [
        f"{name} is {gate.result}, and observed is {gate.observed}, {word} {gate.threshold or 0}"
    ]


def _number(value: int | str | None) -> Decimal | None:
    """None for what is no finite decimal number."""
    if value is None:
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def promotion_faults(predicate: Predicate) -> list[str]:
    """Why this predicate may not say PROMOTE; empty for BLOCK and REPAIR, which always can."""
    if predicate.decision != "PROMOTE":
        return []
    report = predicate.report
    faults = []
    if report.recommendation != "promote":
        faults.append(f"the report recommends {report.recommendation}, not promote")
    faults += [f"the report gives a reason against it: {reason}" for reason in report.reasons]
    faults += [
        f"hard gate {gate.id} is {gate.result}"
        for gate in predicate.gates
        if gate.hard and gate.result != "PASSED"
    ]
    if predicate.failure_count or predicate.failures:
        count = max(predicate.failure_count, len(predicate.failures))
        faults.append(f"{count} failing trace{'s' if count > 1 else ''}")
    return faults + _suite_faults(predicate.suite)


def _suite_faults(suite: SuiteRef) -> list[str]:
    """Frozen before the first run, by the journal; and a reason for each other suite met."""
    faults = []
    frozen, first_run = suite.frozen_at_seq, suite.first_run_seq
    if frozen is None:
        faults.append("the journal entry that froze the suite is not named (frozenAtSeq)")
    elif first_run is None:
        faults.append("the journal entry of the first run is not named (firstRunSeq)")
    elif frozen >= first_run:
        faults.append(
            f"the suite was not frozen before the candidate's first run: frozen at journal entry"
            f" {frozen}, first run at {first_run}"
        )
    given = {one.digest.sha256 for one in suite.lineage_reasons or []}
    faults += [
        f"the candidate also met the suite {digest}, and no reason is given"
        for digest in suite.lineage
        if digest != suite.digest.sha256 and digest not in given
    ]
    return faults
