"""The gates that a decision states: their form, and the rules for them."""

from __future__ import annotations  # names used only in annotations are not imported

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reviewer.signing.errors import plain
from reviewer.signing.predicate import Gate
from reviewer.signing.tolerance import decimal_of
from reviewer.suite.gates import ALWAYS, OPTIONAL

if TYPE_CHECKING:
    from reviewer.signing.facts import GateFact


def gate_body(gate: GateFact) -> dict[str, Any]:
    """Return one gate in the form of a statement."""
    evidence = gate.evidence_sha256
    return {
        "id": gate.id,
        "hard": gate.hard,
        "result": gate.result,
        "threshold": gate.threshold,
        "observed": gate.observed,
        "evidence": None if evidence is None else {"sha256": evidence},
    }


def gate_faults(gates: Sequence[Gate]) -> list[str]:
    """Return faults unless every hard gate is stated, once, as hard, with the result that its
    figures give. A hard gate is never waived."""
    faults = []
    listed = [gate.id for gate in gates]
    for name in (*ALWAYS, *(each for each in OPTIONAL if each in listed)):
        stated = [gate for gate in gates if gate.id == name]
        if not stated:
            faults.append(f"gates: the hard gate {name} is missing")
        elif len(stated) > 1:
            faults.append(f"gates: {name} is stated {len(stated)} times")
        elif not stated[0].hard:
            faults.append(f"gates: {name} is not marked hard")
    return faults + [fault for gate in gates for fault in _result_faults(gate)]


def _result_faults(gate: Gate) -> list[str]:
    """Return faults unless a gate's result is the one that its own figures give. An unobserved
    value says nothing; where no threshold is given, nothing may be observed against the gate."""
    observed, threshold = decimal_of(gate.observed), decimal_of(gate.threshold)
    name = f"gates: {plain(gate.id)}"
    if observed is None:
        if gate.observed is None:
            return []
        return [f"{name}: observed {plain(gate.observed)} is not a number"]
    if threshold is None and gate.threshold is not None:
        return [f"{name}: threshold {plain(gate.threshold)} is not a number"]
    against = observed > (threshold or 0)
    if (gate.result == "FAILED") == against:
        return []
    word = "more than" if against else "no more than"
    return [
        f"{name} is {gate.result}, and observed is {gate.observed}, {word} {gate.threshold or 0}"
    ]


def unpassed(gates: Sequence[Gate]) -> list[str]:
    """Return every hard gate that did not pass."""
    return [
        f"hard gate {gate.id} is {gate.result}"
        for gate in gates
        if gate.hard and gate.result != "PASSED"
    ]


def order_fault(frozen: int | None, first_run: int | None) -> str | None:
    """Return a fault unless a suite was frozen before the first run, by journal entries."""
    if frozen is None:
        return "the journal entry that froze the suite is not named (frozenAtSeq)"
    if first_run is None:
        return "the journal entry of the first run is not named (firstRunSeq)"
    if frozen >= first_run:
        return (
            f"the suite was not frozen before the candidate's first run: frozen at journal entry"
            f" {frozen}, first run at {first_run}"
        )
    return None
