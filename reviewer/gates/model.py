"""What a gate says: three results, and findings with the place of their evidence."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

Hits = Sequence[tuple[str, int | None]]
"""Unredacted values: the path of each (never the value) and the seq of its event."""

Result = Literal["pass", "fail", "not_measured"]
Severity = Literal["critical", "fail", "not_measured", "note"]


class Finding(NamedTuple):
    """One fact a gate states. `seq` is the event it stands on, None when no event shows it.

    Severity `note` is a diagnostic: shown, never failing. `not_measured` says what evidence lacks.
    """

    gate: str
    code: str
    severity: Severity
    seq: int | None = None
    detail: str = ""


class Rule(NamedTuple):
    """A clause that holds unless a finding has one of these codes (whole, or before the colon)."""

    codes: tuple[str, ...]
    text: str
    seq: int | None = None


class Verdict(Struct, frozen=True, gc=False):
    """All gates of one trace. `passed` is None when nothing failed but something is not measured.

    `results` is aligned with `reviewer.suite.gates.GATES`; of a gate that the suite's policy
    does not put in force it is "pass", and shown nowhere. `steps` counts the agent's tool calls,
    `timeouts` those that timed out. `infrastructure` marks an attempt ended by the harness: neither
    pass nor fail.
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
