"""Convert facts to payload bytes and back; what a decision may not state, and the fields in which
two payloads differ."""

from __future__ import annotations  # names used only in annotations are not imported

import hashlib
import uuid
from typing import TYPE_CHECKING, Any

from msgspec import structs

from reviewer.signing.errors import JsonError, StatementError, canonical, load_object, plain
from reviewer.signing.gate_rules import gate_body, gate_faults, order_fault, unpassed
from reviewer.signing.manifests import candidate_view, manifest_digest, subject_name
from reviewer.signing.predicate import (
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    VERIFIER_ID,
    Predicate,
    Statement,
    SuiteRef,
    parse_time,
)
from reviewer.signing.ran import code_faults, ran_members
from reviewer.signing.release import check_release, release_body, release_faults
from reviewer.signing.shapes import shaped
from reviewer.signing.tolerance import failing_faults, result_of, tolerance_body

if TYPE_CHECKING:
    from reviewer.signing.facts import DecisionFacts, FailureFact

MAX_FAILURE_BYTES = 128 * 1024
"""Failing traces are listed up to this many canonical bytes; the report, whose digest the decision
contains, lists all. It keeps a decision below the 256 KiB that ssh-agent accepts in one message."""


def _digest(value: str) -> dict[str, str]:
    return {"sha256": value}


def _digest_or_none(value: str | None) -> dict[str, str] | None:
    return None if value is None else _digest(value)


def body_of(facts: DecisionFacts) -> dict[str, Any]:
    """Return the statement without its `decisionId`. ManifestError when the manifest lacks a needed
    fact."""
    return {
        "_type": STATEMENT_TYPE,
        "subject": [
            {
                "name": subject_name(facts.candidate_manifest),
                "digest": _digest(facts.candidate_sha256),
            }
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": _predicate(facts),
    }


def verifier_of(tool: str, python: str) -> dict[str, Any]:
    """Return the `verifier` member: the tool and its versions."""
    return {"id": VERIFIER_ID, "version": {"reviewer": tool, "python": python}}


def _predicate(facts: DecisionFacts) -> dict[str, Any]:
    body: dict[str, Any] = {
        "decision": facts.decision,
        "decisionSeq": facts.decision_seq,
        "previousDecision": None
        if facts.previous_payload_sha256 is None
        else {"digest": _digest(facts.previous_payload_sha256)},
        "timeCreated": facts.created,
        "expires": facts.expires,
        "environment": facts.environment,
        "verifier": verifier_of(facts.tool_version, facts.python_version),
        "policy": {"uri": facts.policy_uri, "digest": _digest(facts.policy_sha256)},
        "candidate": candidate_view(facts.candidate_manifest),
        "suite": _suite(facts),
        "gates": [gate_body(gate) for gate in facts.gates],
        "repeatability": [structs.asdict(row) for row in facts.repeatability],
        "cost": {
            "currency": facts.currency,
            "totalMicros": facts.total_micros,
            "baselineMicros": facts.baseline_micros,
            "tokens": facts.tokens,
        },
        "judges": _judges(facts),
        "labels": {
            "count": facts.labels.count,
            "labelers": list(facts.labels.labelers),
            "merkleRoot": facts.labels.merkle_root,
            "treeSize": facts.labels.tree_size,
            "disagreements": facts.labels.disagreements,
            **({} if not facts.labels.files else {"files": list(facts.labels.files)}),
        },
        "failureCount": len(facts.failures),
        "failures": _failures(facts.failures),
        **tolerance_body(facts.tolerance),
        "inputAttestations": [{"digest": _digest(one)} for one in facts.input_attestations],
        "evidence": None
        if facts.evidence_uri is None and facts.evidence_sha256 is None
        else {"uri": facts.evidence_uri, "digest": _digest_or_none(facts.evidence_sha256)},
        "audit": {
            "algorithm": facts.journal_algorithm,
            "seq": facts.journal_seq,
            "head": facts.journal_head,
        },
        "report": {
            "digest": _digest(facts.report_sha256),
            "recommendation": facts.recommendation,
            "reasons": list(facts.reasons),
            **({} if facts.baseline_id is None else {"baseline": facts.baseline_id}),
            **({} if facts.formulas is None else {"formulas": facts.formulas}),
        },
        "approvals": {
            "role": "approver",
            "threshold": facts.threshold,
            "reviewers": [structs.asdict(one) for one in facts.reviewers],
            **({} if facts.max_days is None else {"maxDays": facts.max_days}),
        },
    }
    if facts.ran is not None:
        body |= ran_members(facts.ran)
    if facts.break_glass:
        body["breakGlass"] = [
            {
                "digest": _digest(one.payload_sha256),
                "principal": one.principal,
                "candidate": one.candidate,
                "environment": one.environment,
                "timeCreated": one.created,
                "expires": one.expires,
                "reason": one.reason,
            }
            for one in facts.break_glass
        ]
    if facts.release is not None:
        body["release"] = release_body(facts.release)
    if facts.comment:
        body["comment"] = facts.comment
    return body


def _suite(facts: DecisionFacts) -> dict[str, Any]:
    others = sorted(facts.lineage, key=lambda one: one.suite_sha256)
    body: dict[str, Any] = {
        "name": facts.suite_id,
        "digest": _digest(facts.suite_sha256),
        "episodes": facts.suite_episodes,
        "frozenAtSeq": facts.frozen_at_seq,
        "firstRunSeq": facts.first_run_seq,
        "lineage": sorted({facts.suite_sha256, *(one.suite_sha256 for one in others)}),
    }
    if any(one.reason for one in others):
        body["lineageReasons"] = [
            {
                "digest": _digest(one.suite_sha256),
                "name": one.suite_id,
                "reason": one.reason,
                "reviewer": one.reviewer,
            }
            for one in others
            if one.reason
        ]
    return body


def _judges(facts: DecisionFacts) -> list[dict[str, Any]]:
    return [
        {
            "id": judge.id,
            "version": judge.version,
            "promptSha256": judge.prompt_sha256,
            "calibration": {
                "tp": judge.tp,
                "fp": judge.fp,
                "tn": judge.tn,
                "fn": judge.fn,
                "n": judge.n,
                "labelSetSha256": judge.label_set_sha256,
            },
        }
        for judge in facts.judges
    ]


def _failures(failures: tuple[FailureFact, ...]) -> list[dict[str, Any]]:
    """Return as many failing traces, in the order given, as fit into MAX_FAILURE_BYTES."""
    listed, size = [], 0
    for failure in failures:
        entry = {
            "traceId": failure.trace_id,
            "episode": failure.episode,
            "traceSha256": failure.trace_sha256,
            "codes": list(failure.codes),
            "disposition": failure.disposition,
        }
        size += len(canonical(entry, f"failure {plain(failure.trace_id)}"))
        if size > MAX_FAILURE_BYTES:
            break
        listed.append(entry)
    return listed


def check_relations(predicate: Predicate) -> None:
    """Check the rules between fields that apply to every decision. StatementError."""
    if parse_time(predicate.expires) <= parse_time(predicate.time_created):
        raise StatementError("statement: predicate.expires: must be after timeCreated")
    _check_lineage(predicate.suite)
    for row in predicate.repeatability:
        if row.passes > row.attempts:
            raise StatementError(
                f"statement: predicate.repeatability: {plain(row.episode)}: more passes than"
                " attempts"
            )
    if predicate.failure_count < len(predicate.failures):
        raise StatementError("statement: predicate.failureCount: fewer than are listed")
    keyids = [reviewer.keyid for reviewer in predicate.approvals.reviewers]
    if len(set(keyids)) != len(keyids):
        raise StatementError("statement: predicate.approvals.reviewers: a key is named twice")
    if predicate.release is not None:
        check_release(predicate, predicate.release)


def _check_lineage(suite: SuiteRef) -> None:
    if suite.digest.sha256 not in suite.lineage:
        raise StatementError("statement: predicate.suite.lineage: must hold the suite's own digest")
    given = [one.digest.sha256 for one in suite.lineage_reasons or []]
    others = set(suite.lineage) - {suite.digest.sha256}
    if len(set(suite.lineage)) != len(suite.lineage) or len(set(given)) != len(given):
        raise StatementError("statement: predicate.suite.lineage: a digest is listed twice")
    if stray := sorted(set(given) - others):
        raise StatementError(
            f"statement: predicate.suite.lineageReasons: {stray[0]} is not another suite of the"
            " lineage"
        )


def promotion_faults(predicate: Predicate) -> list[str]:
    """Return why this predicate may not state PROMOTE; empty for BLOCK and REPAIR, which are always
    allowed."""
    if predicate.decision != "PROMOTE":
        return []
    report = predicate.report
    faults = []
    if report.recommendation != "promote":
        faults.append(f"the report recommends {report.recommendation}, not promote")
    faults += [
        f"the report gives a reason against promotion: {reason}" for reason in report.reasons
    ]
    faults += unpassed(predicate.gates)
    faults += failing_faults(result_of(predicate))
    faults += code_faults(predicate)
    faults += _suite_faults(predicate.suite)
    return faults if predicate.release is None else faults + release_faults(predicate.release)


def _suite_faults(suite: SuiteRef) -> list[str]:
    """Return faults unless the suite was frozen before the first run, by the journal, with a reason
    for each other suite that the candidate was run on."""
    faults = []
    if (fault := order_fault(suite.frozen_at_seq, suite.first_run_seq)) is not None:
        faults.append(fault)
    given = {one.digest.sha256 for one in suite.lineage_reasons or []}
    faults += [
        f"the candidate was also run on the suite {digest}, and no reason is given"
        for digest in suite.lineage
        if digest != suite.digest.sha256 and digest not in given
    ]
    return faults


def build_statement(facts: DecisionFacts) -> bytes:
    """Return the payload to be signed: RFC 8785 bytes of the statement.

    `decisionId` is a digest of all other fields, so that a co-signer who derives the facts again
    gets the same one. StatementError when a fact is out of range, when the manifest does not have
    the named digest, when a hard gate is missing, or when the facts do not allow PROMOTE.
    """
    if manifest_digest(facts.candidate_manifest) != facts.candidate_sha256:
        raise StatementError(
            "candidate: the manifest's digest is not candidate_sha256; export the manifest again"
        )
    body = body_of(facts)
    payload = identified(body, "decisionId", "statement")
    statement = decision_of(body)
    faults = gate_faults(statement.predicate.gates) + promotion_faults(statement.predicate)
    named = {reviewer.principal for reviewer in statement.predicate.approvals.reviewers}
    if len(named) < facts.threshold:
        faults.append(f"approvals: {len(named)} named reviewers cannot reach {facts.threshold}")
    if faults:
        raise StatementError("cannot be signed: " + "; ".join(faults))
    return payload


def identified(body: dict[str, Any], member: str, what: str) -> bytes:
    """Give the predicate of `body` its id, a digest of all other fields, and return the bytes of
    the whole. JsonError names `what`."""
    digest = hashlib.sha256(canonical(body, what)).digest()
    body["predicate"][member] = str(uuid.UUID(bytes=digest[:16], version=5))
    return canonical(body, what)


def read_statement(payload: bytes) -> Statement:
    """Parse payload bytes strictly; StatementError names the first field that does not fit."""
    return decision_of(read_body(payload))


def decision_of(body: dict[str, Any]) -> Statement:
    """Read a document as a decision. StatementError."""
    statement = shaped(Statement, body)
    check_relations(statement.predicate)
    return statement


def read_body(payload: bytes) -> dict[str, Any]:
    """Return the document in payload bytes. StatementError."""
    try:
        return load_object(payload, "statement")
    except JsonError as error:
        raise StatementError(str(error)) from None


def differences(one: Any, other: Any, path: str = "") -> list[str]:
    """Return paths of the JSON members in which two documents differ, in order."""
    if isinstance(one, dict) and isinstance(other, dict):
        found = []
        for key in sorted(one.keys() | other.keys()):
            here = f"{path}.{plain(key)}" if path else plain(key)
            if key in one and key in other:
                found += differences(one[key], other[key], here)
            else:
                found.append(here)
        return found
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            place
            for at, (left, right) in enumerate(zip(one, other, strict=True))
            for place in differences(left, right, f"{path}[{at}]")
        ]
    return [] if one == other else [path]
