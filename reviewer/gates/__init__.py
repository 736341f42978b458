"""Floor 2: hard gates. Contract × trace → verdict; no files, no clock, no guesses.

Call `compile_contract` once per episode and `score` per trace; `clauses` and `diagnose` explain.
Names load on first use (PEP 562). The names of the gates are in `reviewer.suite.gates`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewer.gates.acts import Acts, acts_of
    from reviewer.gates.checklist import Clause, clauses
    from reviewer.gates.compiled import Contract, compile_contract
    from reviewer.gates.diagnostics import Diagnostics, diagnose
    from reviewer.gates.ends import GOOD_ENDS, INFRASTRUCTURE_ENDS
    from reviewer.gates.model import Finding, Result, Severity, Verdict
    from reviewer.gates.verdict import redaction_only, score, unknown_episode

__all__ = [
    "GOOD_ENDS",
    "INFRASTRUCTURE_ENDS",
    "Acts",
    "Clause",
    "Contract",
    "Diagnostics",
    "Finding",
    "Result",
    "Severity",
    "Verdict",
    "acts_of",
    "clauses",
    "compile_contract",
    "diagnose",
    "redaction_only",
    "score",
    "unknown_episode",
]
_HOMES = {
    "acts": ("Acts", "acts_of"),
    "checklist": ("Clause", "clauses"),
    "compiled": ("Contract", "compile_contract"),
    "diagnostics": ("Diagnostics", "diagnose"),
    "ends": ("GOOD_ENDS", "INFRASTRUCTURE_ENDS"),
    "verdict": ("redaction_only", "score", "unknown_episode"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name, "model")
    try:
        value = getattr(import_module(f"{__name__}.{home}"), name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    globals()[name] = value
    return value
