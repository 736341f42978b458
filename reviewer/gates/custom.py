"""The findings of a suite's own checks, among those of the gates `state` and `process`.

The checks are run elsewhere. Here their results only add findings: none removes one, and a check
without a known result leaves both gates not measured.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from reviewer.gates.compiled import Contract
from reviewer.gates.model import CUSTOM, CUSTOM_UNKNOWN, Finding, Rule, Severity

CHECKED_GATES = ("state", "process")
"""The gates that a check may fail."""

Checked = Mapping[str, tuple[Finding, ...]]
"""The name of a check → what it found in a record, or why it is not measured."""

NOT_RUN = "was not run on this record"


class Stated(Protocol):
    """A finding as a store or a verdict has it."""

    @property
    def gate(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def seq(self) -> int | None: ...
    @property
    def detail(self) -> str: ...


def against(name: str, gate: str, seq: int | None, text: str) -> Finding:
    """Return the finding of a check."""
    return Finding(gate, f"{CUSTOM}:{name}", "fail", seq, text)


def not_measured(name: str, why: str) -> tuple[Finding, ...]:
    """Return the findings of a check that could not be carried out: neither gate is measured."""
    code, text = f"{CUSTOM_UNKNOWN}:{name}", f"the check {name} {why}"
    return tuple(Finding(gate, code, "not_measured", None, text) for gate in CHECKED_GATES)


def add_checked(contract: Contract, checked: Checked, found: list[Finding]) -> None:
    """Append what the contract's checks found; a check that is missing from `checked` is not
    measured."""
    for name in contract.checks:
        found.extend(checked[name] if name in checked else not_measured(name, NOT_RUN))


def clauses(contract: Contract) -> Iterator[Rule]:
    """Yield a clause for each check."""
    for name in contract.checks:
        codes = (f"{CUSTOM}:{name}", f"{CUSTOM_UNKNOWN}:{name}")
        yield Rule(codes, f"the check {name} finds nothing")


def stored_results(names: Iterable[str], found: Iterable[Stated]) -> Checked:
    """Return what the checks found in a record when it was judged, from its stored findings. For an
    attempt that the harness ended nothing is known: checks did not count there."""
    held = list(found)
    if any(one.code.startswith("terminated:") and one.severity == "not_measured" for one in held):
        return {}
    return {
        name: tuple(
            # Findings that the contract makes critical become critical again when judged.
            Finding(one.gate, one.code, _as_found(one.severity), one.seq, one.detail)
            for one in held
            if one.code in (f"{CUSTOM}:{name}", f"{CUSTOM_UNKNOWN}:{name}")
        )
        for name in names
    }


def unmeasured_checks(found: Iterable[Stated]) -> Iterator[str]:
    """Yield the names of the checks that were not measured, from the stored findings."""
    for one in found:
        head, _, name = one.code.partition(":")
        if head == CUSTOM_UNKNOWN:
            yield name


def joined_results(stored: Checked, now: Checked) -> Checked:
    """Return the stored results, with those not measured replaced by the new ones. Stored findings
    are never removed."""
    joined = dict(stored)
    for name, results in now.items():
        found = [one for one in stored.get(name, ()) if one.severity == "fail"]
        joined[name] = tuple(dict.fromkeys([*found, *results]))
    return joined


def _as_found(severity: Severity) -> Severity:
    return "fail" if severity == "critical" else severity
