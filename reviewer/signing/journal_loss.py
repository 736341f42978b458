"""A loss of journal: an approver says that a store goes on from an earlier entry than was signed.

A backup that is put back after a disk failed looks like one put back to hide a failure. Whoever
puts it back honestly says so, once, by their key: from which entry the journal is gone, which
signed decisions were made on what is gone, and why. Every later report shows it, and so does
verifying the folder of decisions.
"""

import hashlib
import uuid
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from reviewer.signing.body import verifier_of
from reviewer.signing.canonical import canonical
from reviewer.signing.errors import StatementError
from reviewer.signing.parts import (
    STATEMENT_TYPE,
    Block,
    Count,
    Described,
    DigestOnly,
    Hex,
    Ordinal,
    Part,
    Reviewer,
    Text,
    Time,
    Uuid,
    Verifier,
)
from reviewer.signing.signers import TrustedKey
from reviewer.signing.statement import shaped

LOSS_TYPE = "https://reviewer.dev/attestation/agent-journal-loss/v0.1"
ROLE = "approver"
WORD = "LOSS"
"""What stands where a decision's word would."""


@dataclass(frozen=True, kw_only=True)
class JournalLossFacts:
    """One statement. `lost_seq` is the highest entry that is known of the journal outside the
    store, `kept_seq` the last one that the store has; `decisions` are the payloads of what was
    signed on what is gone."""

    created: str
    reason: str
    principal: str
    keyid: str
    tool_version: str
    python_version: str
    journal: str
    lost_seq: int
    kept_seq: int
    kept_head: str
    decisions: tuple[str, ...]


class Kept(Part):
    """Where the journal that goes on stood."""

    seq: Ordinal
    head: Hex


class JournalLoss(Part):
    """`journal` names the store's journal as decisions do; `lostSeq` is the highest entry known of
    it that is gone, or that other copies of it have otherwise."""

    loss_id: Uuid
    time_created: Time
    reason: Block = Field(min_length=1)
    by: Reviewer
    verifier: Verifier
    journal: Text
    lost_seq: Count
    kept: Kept
    decisions: list[DigestOnly]


class JournalLossStatement(Part):
    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: list[Described] = Field(min_length=1, max_length=1)
    predicate_type: Literal["https://reviewer.dev/attestation/agent-journal-loss/v0.1"]
    predicate: JournalLoss


def build_journal_loss(facts: JournalLossFacts) -> bytes:
    """The payload to be signed. StatementError for a fact out of range, or no reason."""
    body: dict[str, Any] = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": facts.journal, "digest": {"sha256": facts.kept_head}}],
        "predicateType": LOSS_TYPE,
        "predicate": {
            "timeCreated": facts.created,
            "reason": facts.reason,
            "by": {"principal": facts.principal, "keyid": facts.keyid},
            "verifier": verifier_of(facts.tool_version, facts.python_version),
            "journal": facts.journal,
            "lostSeq": facts.lost_seq,
            "kept": {"seq": facts.kept_seq, "head": facts.kept_head},
            "decisions": [{"digest": {"sha256": one}} for one in sorted(facts.decisions)],
        },
    }
    digest = hashlib.sha256(canonical(body, "loss of journal")).digest()
    body["predicate"]["lossId"] = str(uuid.UUID(bytes=digest[:16], version=5))
    journal_loss_of(body)
    return canonical(body, "loss of journal")


def journal_loss_of(body: dict[str, Any]) -> JournalLossStatement:
    """A document as a loss of journal. StatementError."""
    statement = shaped(JournalLossStatement, body)
    predicate, subject = statement.predicate, statement.subject[0]
    if not predicate.reason.strip():
        raise StatementError("loss of journal: predicate.reason: say why")
    if (subject.name, subject.digest.sha256) != (predicate.journal, predicate.kept.head):
        raise StatementError("loss of journal: subject: not the journal that predicate.kept names")
    return statement


def journal_loss_faults(predicate: JournalLoss, by: tuple[TrustedKey, ...]) -> list[str]:
    """Why the signatures do not make it a statement of an approver; empty when they do."""
    person = (predicate.by.principal, predicate.by.keyid)
    signed = [one for one in by if (one.principal, one.key.keyid) == person]
    if not signed:
        return [f"it names {predicate.by.principal}, who did not sign it"]
    if ROLE not in signed[0].roles:
        return [f"{predicate.by.principal} has no {ROLE} role"]
    return []


def journal_loss_words(predicate: JournalLoss) -> tuple[str, ...]:
    """The statement in lines that are safe to draw."""
    count = len(predicate.decisions)
    return (
        f"journal loss: {predicate.journal} went on from entry {predicate.kept.seq}, though entry"
        f" {predicate.lost_seq} is known of it; {count} signed decision{'' if count == 1 else 's'}"
        f" lost their evidence; by {predicate.by.principal}, {predicate.time_created}",
        *(f"reason: {line}" for line in predicate.reason.split("\n")),
    )
