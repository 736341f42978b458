"""What a gate says: three results, and findings with the place of their evidence."""

from typing import Literal, NamedTuple

from msgspec import Struct

GATES = ("completeness", "state", "authority", "redaction", "process", "timeout", "budget")
"""Every hard gate, in the order screens and reports show them."""

FINDING_ORDER = ("completeness", "state", "process", "authority", "redaction", "timeout", "budget")
"""The order of gates in a printed list of codes (the articles' `score_run` order, widened)."""

CRITICAL_GATES = frozenset({"authority", "redaction"})

ACT_GATES = frozenset({"authority", "process", "state"})
"""Gates that judge what the agent did: none of them passes while a part of the record is unread."""

_UNMEASURED = frozenset(
    {
        "no_start_digest",
        "unread",
        "contradiction",
        "shared_evidence",
        "unknown_tool",
        "approval_unproven",
    }
)


def unmeasured_code(code: str) -> bool:
    """Return whether a finding of this code says that evidence lacks, and fails nothing by
    itself."""
    head = code.partition(":")[0]
    return head in _UNMEASURED or head.endswith("_not_measured")


Gate = Literal["completeness", "state", "authority", "redaction", "process", "timeout", "budget"]
Result = Literal["pass", "fail", "not_measured"]
Severity = Literal["critical", "fail", "not_measured", "note"]


class Finding(NamedTuple):
    """One fact a gate states. `seq` is the event it stands on, None when no event shows it.

    Severity `note` is a diagnostic: shown, never failing. `not_measured` says what evidence lacks.
    """

    gate: Gate
    code: str
    severity: Severity
    seq: int | None = None
    detail: str = ""


class Verdict(Struct, frozen=True, gc=False):
    """All gates of one trace. `passed` is None when nothing failed but something is not measured.

    `results` is aligned with GATES. `steps` counts the agent's tool calls, `timeouts` those that
    timed out. `infrastructure` marks an attempt ended by the harness: neither pass nor fail.
    """

    results: tuple[Result, ...]
    findings: tuple[Finding, ...]
    passed: bool | None
    critical: bool
    steps: int
    timeouts: int
    infrastructure: bool = False

    def codes(self) -> list[str]:
        """Distinct codes that fail or are not measured, in the printed order."""
        return list(dict.fromkeys(f.code for f in self.findings if f.severity != "note"))
