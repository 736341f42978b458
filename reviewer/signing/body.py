"""The facts of a decision as the document that is signed."""

from typing import Any

from reviewer.signing.candidate import candidate_view, subject_name
from reviewer.signing.canonical import canonical
from reviewer.signing.errors import plain
from reviewer.signing.facts import DecisionFacts, FailureFact
from reviewer.signing.parts import STATEMENT_TYPE, VERIFIER_ID
from reviewer.signing.predicate import PREDICATE_TYPE

MAX_FAILURE_BYTES = 128 * 1024
"""Failing traces are listed up to this many canonical bytes; the report, bound by its digest,
lists all. It keeps a decision below the 256 KiB that ssh-agent takes in one message."""


def _digest(value: str) -> dict[str, str]:
    return {"sha256": value}


def _digest_or_none(value: str | None) -> dict[str, str] | None:
    return None if value is None else _digest(value)


def body_of(facts: DecisionFacts) -> dict[str, Any]:
    """The statement without its `decisionId`. ManifestError when the manifest says too little."""
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
    """Which tool speaks, in which versions."""
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
        "gates": [
            {
                "id": gate.id,
                "hard": gate.hard,
                "result": gate.result,
                "threshold": gate.threshold,
                "observed": gate.observed,
                "evidence": _digest_or_none(gate.evidence_sha256),
            }
            for gate in facts.gates
        ],
        "repeatability": [
            {"episode": row.episode, "k": row.k, "attempts": row.attempts, "passes": row.passes}
            for row in facts.repeatability
        ],
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
        },
        "failureCount": len(facts.failures),
        "failures": _failures(facts.failures),
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
        },
        "approvals": {
            "role": "approver",
            "threshold": facts.threshold,
            "reviewers": [
                {"principal": one.principal, "keyid": one.keyid} for one in facts.reviewers
            ],
            **({} if facts.max_days is None else {"maxDays": facts.max_days}),
        },
    }
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
    """As many failing traces, in the order given, as MAX_FAILURE_BYTES holds."""
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
