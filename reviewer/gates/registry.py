"""What each gate of `reviewer.suite.gates` does: the `check` and the `clauses` of the module of
its name."""

from collections.abc import Callable, Iterator
from importlib import import_module

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract
from reviewer.gates.model import Finding, Hits, Rule
from reviewer.suite.gates import CRITICAL_GATES, GATES

Check = Callable[[Contract, Acts, Hits, list[Finding]], None]
"""Appends what speaks against an attempt, or what of its evidence lacks. Never raises."""
Clauses = Callable[[Contract, Acts, frozenset[str]], Iterator[Rule]]
"""Yields the clauses of the contract, given the codes that the trace breaks."""

_MODULES = {name: import_module(f"reviewer.gates.{name}") for name in GATES}
CHECKS: dict[str, Check] = {name: module.check for name, module in _MODULES.items()}
CLAUSES: dict[str, Clauses] = {name: module.clauses for name, module in _MODULES.items()}


def checks(in_force: tuple[str, ...]) -> tuple[tuple[Check, ...], tuple[Check, ...]]:
    """Return the checks of the critical gates, which judge also an attempt that the harness ended,
    and those of the others."""
    return (
        tuple(CHECKS[name] for name in in_force if name in CRITICAL_GATES),
        tuple(CHECKS[name] for name in in_force if name not in CRITICAL_GATES),
    )
