"""Signed records other than decisions: break-glass, losses of the journal, and results of runs.

Break-glass: one person releases without the decision that the release should have, by a key with a
role of its own, for a day at most. The record never becomes a decision, and every later report and
decision of the agent shows it.

Loss: a backup that is restored after a disk failed looks like one restored to hide a failure. An
approver who honestly restores a backup states so, once, with their key: from which entry the
journal is gone, which signed decisions were made on the lost part, and why. Every later report
shows it.

Result of a run: an in-toto test-result statement by the key of a runner. A decision refers to such
statements by the digest of their payload (`inputAttestations`): the person who measured vouches for
the measurement, separately from the person who decides.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from reviewer.signing.errors import AttestError, StatementError, canonical
from reviewer.signing.manifests import candidate_view, manifest_digest, subject_name
from reviewer.signing.predicate import (
    STATEMENT_TYPE,
    Audit,
    Block,
    CandidateView,
    Count,
    DigestOnly,
    Hex,
    NamedResource,
    Ordinal,
    Part,
    Predicate,
    ReportRef,
    Reviewer,
    Text,
    Time,
    Uuid,
    Verifier,
    parse_time,
)
from reviewer.signing.shapes import shaped
from reviewer.signing.signers import Signers, TrustedKey
from reviewer.signing.statement import identified, verifier_of
from reviewer.signing.trusted import Manifest, vouched


def signature_faults(by: Reviewer, role: str, keys: tuple[TrustedKey, ...]) -> list[str]:
    """Return why `keys`, which signed a record by one person, do not make it valid; empty when they
    do."""
    person = (by.principal, by.keyid)
    signed = [one for one in keys if (one.principal, one.key.keyid) == person]
    if not signed:
        return [f"it names {by.principal}, who did not sign it"]
    if role not in signed[0].roles:
        return [f"{by.principal} has no {role} role"]
    return []


def _subject(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"name": subject_name(manifest), "digest": {"sha256": manifest_digest(manifest)}}]


BREAK_GLASS_TYPE = "https://reviewer.dev/attestation/agent-break-glass/v0.1"
BREAK_GLASS_ROLE = "breakglass"
LONGEST = timedelta(hours=24)
BREAK_GLASS_WORD = "BREAK-GLASS"
"""Printed in place of a decision's word."""


class BreakGlassFacts(Struct, frozen=True, kw_only=True):
    """One record. `decision_payload_sha256` is the decision in force, None without one."""

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


class BreakGlass(Part, frozen=True):
    """`by` is the person who breaks the glass; `report` is the report at that time."""

    record_id: Uuid
    time_created: Time
    expires: Time
    environment: Text
    reason: Annotated[Block, Meta(min_length=1)]
    by: Reviewer
    verifier: Verifier
    candidate: CandidateView
    suite: NamedResource
    report: ReportRef
    decision: DigestOnly | None
    audit: Audit


class BreakGlassStatement(Part, frozen=True):
    type: Literal["https://in-toto.io/Statement/v1"] = field(name="_type")
    subject: Annotated[list[NamedResource], Meta(min_length=1, max_length=1)]
    predicate_type: Literal["https://reviewer.dev/attestation/agent-break-glass/v0.1"]
    predicate: BreakGlass


def build_break_glass(facts: BreakGlassFacts) -> bytes:
    """Return the payload to be signed. StatementError when a fact is out of range, when the record
    would last longer than a day, or without a reason."""
    before = facts.decision_payload_sha256
    body: dict[str, Any] = {
        "_type": STATEMENT_TYPE,
        "subject": _subject(facts.candidate_manifest),
        "predicateType": BREAK_GLASS_TYPE,
        "predicate": {
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
        },
    }
    payload = identified(body, "recordId", "break-glass record")
    break_glass_of(body)
    return payload


def break_glass_of(body: dict[str, Any]) -> BreakGlassStatement:
    """Read a document as a break-glass record. StatementError."""
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
    """Return why the signatures do not make it a valid record; empty when they do."""
    return signature_faults(predicate.by, BREAK_GLASS_ROLE, by)


def break_glass_words(predicate: BreakGlass, name: str, now: datetime) -> tuple[str, ...]:
    """Return the record in lines that are safe to draw."""
    over = " (over)" if parse_time(predicate.expires) <= now else ""
    return (
        f"break-glass: {name} for {predicate.environment}, by {predicate.by.principal}",
        f"from {predicate.time_created} to {predicate.expires}{over}",
        *(f"reason: {line}" for line in predicate.reason.split("\n")),
        f"the report recommended {predicate.report.recommendation}"
        + "".join(f"; {reason}" for reason in predicate.report.reasons),
        "it is not a decision and promotes nothing",
    )


LOSS_TYPE = "https://reviewer.dev/attestation/agent-journal-loss/v0.1"
LOSS_ROLE = "approver"


class JournalLossFacts(Struct, frozen=True, kw_only=True):
    """One statement. `lost_seq` is the highest journal entry known outside the store, `kept_seq`
    the last one that the store has; `decisions` are the payloads of the decisions signed on the
    lost part."""

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


class JournalPosition(Part, frozen=True):
    """The position from which the journal continues."""

    seq: Ordinal
    head: Hex


class JournalLoss(Part, frozen=True):
    """`journal` names the store's journal as decisions do; `lostSeq` is its highest known entry
    that is gone, or that other copies have with other content."""

    loss_id: Uuid
    time_created: Time
    reason: Annotated[Block, Meta(min_length=1)]
    by: Reviewer
    verifier: Verifier
    journal: Text
    lost_seq: Count
    kept: JournalPosition
    decisions: list[DigestOnly]


class JournalLossStatement(Part, frozen=True):
    type: Literal["https://in-toto.io/Statement/v1"] = field(name="_type")
    subject: Annotated[list[NamedResource], Meta(min_length=1, max_length=1)]
    predicate_type: Literal["https://reviewer.dev/attestation/agent-journal-loss/v0.1"]
    predicate: JournalLoss


def build_journal_loss(facts: JournalLossFacts) -> bytes:
    """Return the payload to be signed. StatementError for a fact out of range, or no reason."""
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
    payload = identified(body, "lossId", "loss of journal")
    journal_loss_of(body)
    return payload


def journal_loss_of(body: dict[str, Any]) -> JournalLossStatement:
    """Read a document as a loss of journal. StatementError."""
    statement = shaped(JournalLossStatement, body)
    predicate, subject = statement.predicate, statement.subject[0]
    if not predicate.reason.strip():
        raise StatementError("loss of journal: predicate.reason: say why")
    if (subject.name, subject.digest.sha256) != (predicate.journal, predicate.kept.head):
        raise StatementError("loss of journal: subject: not the journal that predicate.kept names")
    return statement


def journal_loss_faults(predicate: JournalLoss, by: tuple[TrustedKey, ...]) -> list[str]:
    """Return why the signatures do not make it a valid statement of an approver; empty when they
    do."""
    return signature_faults(predicate.by, LOSS_ROLE, by)


def journal_loss_words(predicate: JournalLoss) -> tuple[str, ...]:
    """Return the statement in lines that are safe to draw."""
    count = len(predicate.decisions)
    return (
        f"journal loss: {predicate.journal} continued from entry {predicate.kept.seq}, though "
        f"entry {predicate.lost_seq} is known of it; {count} signed "
        f"decision{'' if count == 1 else 's'} lost their evidence; by {predicate.by.principal}, "
        f"{predicate.time_created}",
        *(f"reason: {line}" for line in predicate.reason.split("\n")),
    )


TEST_RESULT_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
RUNNER_ROLE = "runner"
MAX_LISTED_BYTES = 128 * 1024
"""Attempts are listed by name up to this many bytes; the digest of the evidence covers all."""
EVIDENCE, SOURCE = "evidence", "source"


class RunResultFacts(Struct, frozen=True, kw_only=True):
    """One run or import of one candidate. The three lists name attempts as `episode/attempt`;
    `open` are those without a verdict. `evidence_sha256` covers each with its record's digest."""

    candidate_manifest: Mapping[str, Any]
    suite_id: str
    suite_sha256: str
    source_sha256: str
    evidence_sha256: str
    passed: tuple[str, ...]
    failed: tuple[str, ...]
    open: tuple[str, ...]


class RunResult(Part, frozen=True):
    """The standard predicate, in reviewer's form: `configuration` is the suite, the evidence, the
    source, in this order."""

    result: Literal["PASSED", "WARNED", "FAILED"]
    configuration: Annotated[list[NamedResource], Meta(min_length=3, max_length=3)]
    passed_tests: list[Text]
    warned_tests: list[Text]
    failed_tests: list[Text]


class RunResultStatement(Part, frozen=True):
    type: Literal["https://in-toto.io/Statement/v1"] = field(name="_type")
    subject: Annotated[list[NamedResource], Meta(min_length=1, max_length=1)]
    predicate_type: Literal["https://in-toto.io/attestation/test-result/v0.1"]
    predicate: RunResult


def build_run_result(facts: RunResultFacts) -> bytes:
    """Return the payload to be signed: FAILED when an attempt failed, WARNED when one has no
    verdict."""
    result = "FAILED" if facts.failed else "WARNED" if facts.open else "PASSED"
    room = MAX_LISTED_BYTES
    lists = {}
    for name, tests in (
        ("failedTests", facts.failed),
        ("warnedTests", facts.open),
        ("passedTests", facts.passed),
    ):
        lists[name], room = _names_within(tests, room)
    body = {
        "_type": STATEMENT_TYPE,
        "subject": _subject(facts.candidate_manifest),
        "predicateType": TEST_RESULT_TYPE,
        "predicate": {
            "result": result,
            "configuration": [
                {"name": facts.suite_id, "digest": {"sha256": facts.suite_sha256}},
                {"name": EVIDENCE, "digest": {"sha256": facts.evidence_sha256}},
                {"name": SOURCE, "digest": {"sha256": facts.source_sha256}},
            ],
            **lists,
        },
    }
    shaped(RunResultStatement, body)
    return canonical(body, "test result")


def run_result_faults(
    predicate: Predicate,
    trusted: Signers,
    about: Manifest,
    files: Mapping[str, bytes] | None,
) -> list[str]:
    """Return why the signed test results are not those that the decision refers to; empty when
    `files` is None.

    AttestError for a file that is not a test result by a trusted runner.
    """
    if files is None:
        return []
    results = {}
    for name, data in files.items():
        try:
            digest, statement = _read_result(data, trusted)
        except AttestError as error:
            raise AttestError(f"{name}: {error}") from None
        results[digest] = name, statement
    wanted = [one.digest.sha256 for one in predicate.input_attestations]
    faults = [] if wanted else ["it refers to no test result"]
    for digest in wanted:
        if digest not in results:
            faults.append(f"the test result {digest} is not among the attestations")
            continue
        name, statement = results[digest]
        if statement.subject[0].digest.sha256 != about.digest:
            faults.append(f"{name}: it is about {statement.subject[0].name}, another candidate")
        elif statement.predicate.configuration[0].digest != predicate.suite.digest:
            faults.append(f"{name}: it is on another suite")
    return faults


def _read_result(data: bytes, trusted: Signers) -> tuple[str, RunResultStatement]:
    found = vouched(data, trusted)
    if found.body.get("predicateType") != TEST_RESULT_TYPE:
        raise AttestError(f"predicateType is {found.kind}, which is not a test result")
    statement = shaped(RunResultStatement, found.body)
    if not any(RUNNER_ROLE in one.roles for one in found.by):
        raise AttestError(f"signed by {found.by[0].principal}, who has no {RUNNER_ROLE} role")
    return hashlib.sha256(found.envelope.payload).hexdigest(), statement


def _names_within(tests: tuple[str, ...], room: int) -> tuple[list[str], int]:
    """Return the first names that fit into `room` bytes, and the remaining room."""
    listed = []
    for name in tests:
        room -= len(name.encode()) + 3
        if room < 0:
            break
        listed.append(name)
    return listed, max(room, 0)
