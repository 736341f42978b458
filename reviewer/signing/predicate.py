"""The agent-release-decision predicate v0.1 and the in-toto Statement v1 around it.

What has no evidence yet is null, 0 or an empty list. Left out where there is nothing to say are
only `comment`, `breakGlass`, `suite.lineageReasons`, `report.baseline` and `approvals.maxDays`.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from reviewer.signing.parts import (
    Audit,
    Block,
    CandidateView,
    Count,
    Described,
    Digest,
    DigestOnly,
    Hex,
    Located,
    Ordinal,
    Part,
    ReportRef,
    Reviewer,
    SafeInt,
    Text,
    Time,
    Uuid,
    Verifier,
)

PREDICATE_TYPE = "https://reviewer.dev/attestation/agent-release-decision/v0.1"

Decision = Literal["PROMOTE", "BLOCK", "REPAIR"]
GateResult = Literal["PASSED", "FAILED", "NOT_RUN"]


class LineageReason(Part):
    """Why this candidate also met another suite, and who said so in the journal."""

    digest: Digest
    name: Text
    reason: Text
    reviewer: Text


class SuiteRef(Part):
    """`digest` is that of suite.lock; `lineage` is every suite digest run with this candidate."""

    name: Text
    digest: Digest
    episodes: Count
    frozen_at_seq: Ordinal | None
    first_run_seq: Ordinal | None
    lineage: list[Hex]
    lineage_reasons: list[LineageReason] | None = None


class Gate(Part):
    """`threshold` and `observed` are integers or decimal text, never floats: a gate passes with no
    more observed against it than its threshold."""

    id: Text
    hard: bool
    result: GateResult
    threshold: SafeInt | Text | None
    observed: SafeInt | Text | None
    evidence: Digest | None


class Repeatability(Part):
    """Counts behind pass^k of one episode: `passes` of `attempts`."""

    episode: Text
    k: Ordinal
    attempts: Count
    passes: Count


class Cost(Part):
    """Money in millionths of `currency`; null is not measured."""

    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    total_micros: Count | None
    baseline_micros: Count | None
    tokens: Count | None


class Calibration(Part):
    tp: Count
    fp: Count
    tn: Count
    fn: Count
    n: Count
    label_set_sha256: Hex = Field(alias="labelSetSha256")


class Judge(Part):
    id: Text
    version: Text
    prompt_sha256: Hex = Field(alias="promptSha256")
    calibration: Calibration


class Labels(Part):
    count: Count
    labelers: list[Text]
    merkle_root: Hex | None
    tree_size: Count
    disagreements: Count


class Failure(Part):
    trace_id: Text
    episode: Text
    trace_sha256: Hex = Field(alias="traceSha256")
    codes: list[Text]
    disposition: Text


class BrokenGlass(Part):
    """A break-glass record of this agent: `digest` is that of its payload."""

    digest: Digest
    principal: Text
    candidate: Text
    environment: Text
    time_created: Time
    expires: Time
    reason: Block


class DecisionReport(ReportRef):
    """`baseline` is the candidate compared with, left out without one."""

    baseline: Text | None = None


class Approvals(Part):
    """Named before the first signature, so that all sign the same bytes. `maxDays` is the longest
    that the policy lets a decision last, left out without a limit."""

    role: Literal["approver"]
    threshold: Ordinal
    reviewers: list[Reviewer] = Field(min_length=1)
    max_days: Ordinal | None = None


class Predicate(Part):
    """`failureCount` counts every failing trace that speaks against a promotion; `failures` lists
    them up to a size limit."""

    decision: Decision
    decision_id: Uuid
    decision_seq: Ordinal
    previous_decision: DigestOnly | None
    time_created: Time
    expires: Time
    environment: Text
    verifier: Verifier
    policy: Located
    candidate: CandidateView
    suite: SuiteRef
    gates: list[Gate]
    repeatability: list[Repeatability]
    cost: Cost
    judges: list[Judge]
    labels: Labels
    failure_count: Count
    failures: list[Failure]
    input_attestations: list[DigestOnly]
    evidence: Located | None
    audit: Audit
    report: DecisionReport
    approvals: Approvals
    break_glass: list[BrokenGlass] | None = None
    comment: Block | None = None


class Statement(Part):
    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: list[Described] = Field(min_length=1, max_length=1)
    predicate_type: Literal["https://reviewer.dev/attestation/agent-release-decision/v0.1"]
    predicate: Predicate
