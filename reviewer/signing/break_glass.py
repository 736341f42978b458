"""Break-glass: one person says that a release goes out without the decision it should have.

A record of its own, by a key of its own role, for a day at most. It is no decision, never becomes
one, and every later report and decision of the agent shows it.
"""

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import Field

from reviewer.signing.canonical import canonical
from reviewer.signing.errors import StatementError
from reviewer.signing.facts import candidate_view, manifest_digest, subject_name
from reviewer.signing.predicate import (
    STATEMENT_TYPE,
    Audit,
    Block,
    CandidateView,
    Described,
    DigestOnly,
    Part,
    ReportRef,
    Reviewer,
    Text,
    Time,
    Uuid,
    Verifier,
    parse_time,
)
from reviewer.signing.signers import TrustedKey
from reviewer.signing.statement import shaped, verifier_of

BREAK_GLASS_TYPE = "https://reviewer.dev/attestation/agent-break-glass/v0.1"
ROLE = "breakglass"
LONGEST = timedelta(hours=24)
WORD = "BREAK-GLASS"
"""What stands where a decision's word would; it is none of them."""


@dataclass(frozen=True, kw_only=True)
class BreakGlassFacts:
    """One record. `decision_payload_sha256` is the decision that stood, None without one."""

    created: str
    expires: str
    environment: str
    reason: str
    principal: str
    keyid: str
    tool_version: str
    python_version: str
    candidate_manifest: Mapping[str, Any]
    suite_id: str
    suite_sha256: str
    report_sha256: str
    recommendation: str
    reasons: tuple[str, ...]
    decision_payload_sha256: str | None
    journal_seq: int
    journal_head: str


class BreakGlass(Part):
    """`by` is who breaks the glass; `report` what the evidence said when they did."""

    record_id: Uuid
    time_created: Time
    expires: Time
    environment: Text
    reason: Block = Field(min_length=1)
    by: Reviewer
    verifier: Verifier
    candidate: CandidateView
    suite: Described
    report: ReportRef
    decision: DigestOnly | None
    audit: Audit


class BreakGlassStatement(Part):
    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: list[Described] = Field(min_length=1, max_length=1)
    predicate_type: Literal["https://reviewer.dev/attestation/agent-break-glass/v0.1"]
    predicate: BreakGlass


def build_break_glass(facts: BreakGlassFacts) -> bytes:
    """The payload to be signed. StatementError when a fact is out of range, when it would hold for
    more than a day, or when no reason is given."""
    body: dict[str, Any] = {
        "_type": STATEMENT_TYPE,
        "subject": [
            {
                "name": subject_name(facts.candidate_manifest),
                "digest": {"sha256": manifest_digest(facts.candidate_manifest)},
            }
        ],
        "predicateType": BREAK_GLASS_TYPE,
        "predicate": _predicate(facts),
    }
    digest = hashlib.sha256(canonical(body, "break-glass record")).digest()
    body["predicate"]["recordId"] = str(uuid.UUID(bytes=digest[:16], version=5))
    break_glass_of(body)
    return canonical(body, "break-glass record")


def break_glass_of(body: dict[str, Any]) -> BreakGlassStatement:
    """A document as a break-glass record. StatementError."""
    statement = shaped(BreakGlassStatement, body)
    predicate = statement.predicate
    if not predicate.reason.strip():
        raise StatementError("break-glass: predicate.reason: say why")
    lasts = parse_time(predicate.expires) - parse_time(predicate.time_created)
    if not timedelta() < lasts <= LONGEST:
        raise StatementError(
            f"break-glass: predicate.expires: {lasts} after timeCreated; more than 0 and at most"
            f" {LONGEST.total_seconds() / 3600:g} hours is allowed"
        )
    return statement


def break_glass_faults(predicate: BreakGlass, by: tuple[TrustedKey, ...]) -> list[str]:
    """Why the signatures do not make it a record; empty when they do."""
    person = (predicate.by.principal, predicate.by.keyid)
    signed = [one for one in by if (one.principal, one.key.keyid) == person]
    if not signed:
        return [f"it names {predicate.by.principal}, who did not sign it"]
    if ROLE not in signed[0].roles:
        return [f"{predicate.by.principal} has no {ROLE} role"]
    return []


def break_glass_words(predicate: BreakGlass, name: str, now: datetime) -> tuple[str, ...]:
    """The record in lines that are safe to draw."""
    over = " (over)" if parse_time(predicate.expires) <= now else ""
    return (
        f"break-glass: {name} for {predicate.environment}, by {predicate.by.principal}",
        f"from {predicate.time_created} to {predicate.expires}{over}",
        *(f"reason: {line}" for line in predicate.reason.split("\n")),
        f"the report recommended {predicate.report.recommendation}"
        + "".join(f"; {reason}" for reason in predicate.report.reasons),
        "it is no decision and promotes nothing",
    )


def _predicate(facts: BreakGlassFacts) -> dict[str, Any]:
    before = facts.decision_payload_sha256
    return {
        "timeCreated": facts.created,
        "expires": facts.expires,
        "environment": facts.environment,
        "reason": facts.reason,
        "by": {"principal": facts.principal, "keyid": facts.keyid},
        "verifier": verifier_of(facts.tool_version, facts.python_version),
        "candidate": candidate_view(facts.candidate_manifest),
        "suite": {"name": facts.suite_id, "digest": {"sha256": facts.suite_sha256}},
        "report": {
            "digest": {"sha256": facts.report_sha256},
            "recommendation": facts.recommendation,
            "reasons": list(facts.reasons),
        },
        "decision": None if before is None else {"digest": {"sha256": before}},
        "audit": {
            "algorithm": "arw-audit-v1",
            "seq": facts.journal_seq,
            "head": facts.journal_head,
        },
    }
