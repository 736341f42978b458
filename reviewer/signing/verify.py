"""The strict, offline verifier of a release decision: bytes in, exit code and lines out.

Order: form of the envelope, signatures by trusted keys over the very bytes, then the payload's
form, then its subject, and only then the policy of signatures. Never re-canonicalises; needs no
network and no store.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reviewer.exit_codes import ExitCode
from reviewer.signing.approvals import approved
from reviewer.signing.break_glass import (
    BREAK_GLASS_TYPE,
    WORD,
    BreakGlassStatement,
    break_glass_faults,
    break_glass_of,
    break_glass_words,
)
from reviewer.signing.contradictions import gate_faults, promotion_faults
from reviewer.signing.errors import AttestError, StatementError
from reviewer.signing.matching import report_faults
from reviewer.signing.people import is_one_of
from reviewer.signing.pins import (
    Pins,
    environment_faults,
    pin_faults,
    term_faults,
    time_faults,
)
from reviewer.signing.predicate import PREDICATE_TYPE, Predicate, Statement
from reviewer.signing.run_result import run_result_faults
from reviewer.signing.signers import Signers, parse_signers
from reviewer.signing.statement import decision_of
from reviewer.signing.trusted import Manifest, Vouched, check_subject, read_manifest, vouched


@dataclass(frozen=True)
class VerifyResult:
    """`exit_code` 0 PROMOTE, 10 BLOCK, REPAIR or a break-glass record, 20 invalid, 30 policy of
    signatures not met.

    `decision` is the word, set for 0 and 10 only; `statement` is set as soon as a trusted signature
    covers a decision. `approvers` are the distinct principals that counted. `pending` means that
    nothing but approvals is wanting. `lines` are safe to draw.
    """

    exit_code: int
    decision: str | None
    lines: tuple[str, ...]
    approvers: tuple[str, ...] = ()
    statement: Statement | None = None
    pending: bool = False


def verify(
    envelope: bytes, candidate_manifest: bytes, signers_text: str, *, now: datetime, **pins: Any
) -> VerifyResult:
    """Verify one decision about one candidate manifest (its JSON file) against a trust file.

    `pins` are those of `Pins`. `now` must be aware. Never raises for any bytes or text; ValueError
    and TypeError only for a misuse of the arguments.
    """
    wanted = Pins(**pins)
    if now.tzinfo is None:
        raise ValueError("now must be an aware datetime")
    statement = None
    try:
        trusted = parse_signers(signers_text)
        found = vouched(envelope, trusted)
        if found.body.get("predicateType") == BREAK_GLASS_TYPE:
            record = break_glass_of(found.body)
            about = read_manifest(candidate_manifest)
            check_subject(record.subject[0], record.predicate.candidate, about)
            return _judged_break_glass(record, found, wanted, now)
        statement = decision_in(found)
        about = read_manifest(candidate_manifest)
        check_subject(statement.subject[0], statement.predicate.candidate, about)
        return judged(statement, found, trusted, about, wanted, now)
    except AttestError as error:
        return VerifyResult(
            ExitCode.INVALID, None, tuple(str(error).split("\n")), statement=statement
        )


def decision_in(found: Vouched) -> Statement:
    """The decision in a vouched payload. StatementError for any other statement."""
    if found.body.get("predicateType") != PREDICATE_TYPE:
        raise StatementError(f"statement: predicateType is {found.kind}, which is no decision")
    return decision_of(found.body)


def judged(
    statement: Statement,
    found: Vouched,
    trusted: Signers,
    about: Manifest,
    pins: Pins,
    now: datetime,
) -> VerifyResult:
    """The policy of signatures, for a decision whose form and subject stand. AttestError for a
    report or a test result that is not one."""
    predicate = statement.predicate
    who = approved(predicate, found, pins.threshold or 1)
    others = [
        *gate_faults(predicate),
        *promotion_faults(predicate),
        *pin_faults(predicate, trusted, pins),
        *term_faults(predicate, pins),
        *time_faults(predicate.time_created, predicate.expires, now),
        *report_faults(statement, pins.report),
        *run_result_faults(predicate, trusted, about, pins.attestations),
    ]
    head = (
        f"decision: {predicate.decision} {statement.subject[0].name} for {predicate.environment}",
        f"report recommends {predicate.report.recommendation}"
        + "".join(f"; {reason}" for reason in predicate.report.reasons),
        f"signed by {len(who.approvers)} of {who.needed} approvers"
        + (f": {', '.join(who.approvers)}" if who.approvers else ""),
        *who.notes,
        *_remarks(predicate, trusted, who.needed),
        *(f"comment: {line}" for line in (predicate.comment or "").split("\n") if line),
        f"decision number {predicate.decision_seq}, expires {predicate.expires}",
    )
    if faults := (*others, *who.faults):
        lines = (*(f"policy not met: {fault}" for fault in faults), *head)
        return VerifyResult(
            ExitCode.POLICY_NOT_MET, None, lines, who.approvers, statement, not others
        )
    code = ExitCode.DONE if predicate.decision == "PROMOTE" else ExitCode.NOT_PROMOTED
    return VerifyResult(code, predicate.decision, head, who.approvers, statement)


def _remarks(predicate: Predicate, trusted: Signers, needed: int) -> list[str]:
    """What a reader must not miss, though it decides nothing."""
    remarks = [
        f"note: break-glass by {one.principal} for {one.candidate} in {one.environment},"
        f" {one.time_created} to {one.expires}: {' '.join(one.reason.split())}"
        for one in predicate.break_glass or []
    ]
    remarks += [
        f"note: also met the suite {one.name} ({one.digest.sha256[:12]}): {one.reason}"
        f" ({one.reviewer})"
        for one in predicate.suite.lineage_reasons or []
    ]
    principals = [one.principal for one in trusted.keys]
    unknown = [
        name
        for name in predicate.labels.labelers
        if not any(is_one_of(who, [name]) for who in principals)
    ]
    if unknown and needed > 1:
        remarks.append(f"note: labels by {', '.join(unknown)}, whom the trust file does not name")
    return remarks


def _judged_break_glass(
    record: BreakGlassStatement, found: Vouched, pins: Pins, now: datetime
) -> VerifyResult:
    """A record that stands is told, and leaves with 10: it is no promotion, whatever is pinned."""
    predicate, name = record.predicate, record.subject[0].name
    faults = [
        *break_glass_faults(predicate, found.by),
        *environment_faults(predicate.environment, pins),
        *time_faults(predicate.time_created, predicate.expires, now),
    ]
    words = break_glass_words(predicate, name, now)
    if faults:
        lines = (*(f"policy not met: {fault}" for fault in faults), *words)
        return VerifyResult(ExitCode.POLICY_NOT_MET, None, lines)
    return VerifyResult(ExitCode.NOT_PROMOTED, WORD, words)
