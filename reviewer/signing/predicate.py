"""The agent-release-decision predicate v0.1, the in-toto Statement v1 around it, and their parts.

Unknown fields are errors, integers stay within ±(2^53 - 1), there are no floats, and text has
no control or bidirectional characters, so a statement can be drawn anywhere as it is. What has no
evidence yet is null, 0 or an empty list. Left out where there is nothing to say are only `comment`,
`breakGlass`, `release`, `tolerance`, `suite.lineageReasons`, `report.baseline`, `report.formulas`,
`approvals.maxDays` and `labels.files`. A decision made before the runner measured what it ran has
no `resolvedDependencies`, `internalParameters` and `byproducts`.
"""

import re
import unicodedata
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
VERIFIER_ID = "https://reviewer.dev/verifier"
MAX_SAFE_INT = 2**53 - 1

_HIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)


def parse_time(text: str) -> datetime:
    """Return an RFC 3339 time in Z, as an aware datetime (cut to microseconds); ValueError
    otherwise."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError("must be an RFC 3339 time in UTC, such as 2026-01-31T09:30:00Z")
    whole = datetime.strptime(match[1], "%Y-%m-%dT%H:%M:%S")
    return whole.replace(microsecond=int((match[2] or "").ljust(6, "0")[:6]), tzinfo=UTC)


def _is_time(text: str) -> str:
    parse_time(text)
    return text


def _is_visible(text: str) -> str:
    for character in text:
        if unicodedata.category(character) in _HIDDEN or character in _BIDI:
            raise ValueError(f"must not contain U+{ord(character):04X}")
    return text


def _is_visible_block(text: str) -> str:
    _is_visible(text.replace("\n", ""))
    return text


Text = Annotated[str, StringConstraints(min_length=1, max_length=4096), AfterValidator(_is_visible)]
Block = Annotated[str, StringConstraints(max_length=16384), AfterValidator(_is_visible_block)]
Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Time = Annotated[str, AfterValidator(_is_time)]
Count = Annotated[int, Field(ge=0, le=MAX_SAFE_INT)]
Ordinal = Annotated[int, Field(ge=1, le=MAX_SAFE_INT)]
SafeInt = Annotated[int, Field(ge=-MAX_SAFE_INT, le=MAX_SAFE_INT)]
KeyId = Annotated[str, StringConstraints(pattern=r"^SHA256:[A-Za-z0-9+/]{43}$")]
Uuid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$")]

Recommendation = Literal["promote", "block", "repair", "hold"]


class Part(BaseModel):
    """Base: strict types, no unknown fields, camelCase on the wire only."""

    model_config = ConfigDict(
        defer_build=True,
        extra="forbid",
        strict=True,
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=False,
    )


class Digest(Part):
    sha256: Hex


class DigestOnly(Part):
    digest: Digest


class NamedResource(Part):
    """A ResourceDescriptor that has a name."""

    name: Text
    digest: Digest


class LocatedResource(Part):
    """A ResourceDescriptor that has a URI."""

    uri: Text
    digest: Digest


class Versions(Part):
    reviewer: Text
    python: Text


class Verifier(Part):
    id: Text
    version: Versions


class CandidateView(Part):
    """The readable copy of the manifest, which the verifier derives from the file again."""

    authors: list[Text]
    model: NamedResource
    prompts: list[NamedResource]
    tools: list[NamedResource]
    config: list[NamedResource]


class Audit(Part):
    """The position of the journal when the decision was made."""

    algorithm: Text
    seq: Count
    head: Hex


class ReportRef(Part):
    digest: Digest
    recommendation: Recommendation
    reasons: list[Text]


class Reviewer(Part):
    principal: Text
    keyid: KeyId


PREDICATE_TYPE = "https://reviewer.dev/attestation/agent-release-decision/v0.1"

Decision = Literal["PROMOTE", "BLOCK", "REPAIR"]
GateResult = Literal["PASSED", "FAILED", "NOT_RUN"]


class LineageReason(Part):
    """Why this candidate was also run on another suite, and who gave the reason."""

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
    files: list[Hex] | None = None


class Failure(Part):
    trace_id: Text
    episode: Text
    trace_sha256: Hex = Field(alias="traceSha256")
    codes: list[Text]
    disposition: Text


class Tolerance(Part):
    """Rates below one of the policy, as decimal text: of `attempts` made, those that failed are
    within them. Left out where the policy asks for all."""

    hard_pass_rate: Text
    completion_min: Text | None
    attempts: Count


class BreakGlassRef(Part):
    """A break-glass record of this agent: `digest` is that of its payload."""

    digest: Digest
    principal: Text
    candidate: Text
    environment: Text
    time_created: Time
    expires: Time
    reason: Block


class DecisionReport(ReportRef):
    """`baseline` is the candidate compared with, left out without one; `formulas` is the version of
    the formulas, left out by decisions made before they had one."""

    baseline: Text | None = None
    formulas: Ordinal | None = None


class Approvals(Part):
    """Named before the first signature, so that all sign the same bytes. `maxDays` is the longest
    that the policy lets a decision last, left out without a limit."""

    role: Literal["approver"]
    threshold: Ordinal
    reviewers: list[Reviewer] = Field(min_length=1)
    max_days: Ordinal | None = None


CODE = "code"
"""The name of a resolved dependency that is the candidate's code."""


class AnsweringModel(Part):
    """The model that answered, as the endpoint named it."""

    model: Text | None
    fingerprint: Text | None


class InternalParameters(Part):
    """How the attempts were made, each distinct value once; `codePinned` says whether the manifest
    names the digest of all code that ran, `kinds` are those of the runners, and `codeChanged`
    counts attempts that ended with another code than they began with."""

    attempts_bound: Count
    attempts_not_bound: Count
    code_pinned: bool
    code_changed: Count
    kinds: list[Text]
    approvals: list[Text]
    network: list[bool]
    seeds: list[Count]
    platforms: list[Text]
    models: list[AnsweringModel]


class ReleaseSuite(Part):
    """One suite of a release of several: the result of its own report; `passes` of `attempts` that
    count. Of a `probe` only critical failures count."""

    name: Text
    digest: Digest
    role: Literal["gate", "probe"]
    candidate_id: Text
    candidate: NamedResource
    baseline: Text | None
    policy: DigestOnly
    report: ReportRef
    gates: list[Gate]
    critical_count: Count
    failure_count: Count
    attempts: Count
    passes: Count
    tolerance: Tolerance | None = None
    frozen_at_seq: Ordinal | None
    first_run_seq: Ordinal | None
    labelers: list[Text]
    resolved_dependencies: list[NamedResource] | None = None
    internal_parameters: InternalParameters | None = None
    byproducts: list[NamedResource] | None = None


class Release(Part):
    """Several suites that one decision is about. `digest` is that of release.json, and
    `recommendation` the strictest of the suites."""

    name: Text
    candidate_id: Text
    digest: Digest
    recommendation: Recommendation
    reasons: list[Text]
    suites: list[ReleaseSuite] = Field(min_length=1)


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
    policy: LocatedResource
    candidate: CandidateView
    suite: SuiteRef
    gates: list[Gate]
    repeatability: list[Repeatability]
    cost: Cost
    judges: list[Judge]
    labels: Labels
    failure_count: Count
    failures: list[Failure]
    tolerance: Tolerance | None = None
    input_attestations: list[DigestOnly]
    evidence: LocatedResource | None
    audit: Audit
    report: DecisionReport
    approvals: Approvals
    resolved_dependencies: list[NamedResource] | None = None
    internal_parameters: InternalParameters | None = None
    byproducts: list[NamedResource] | None = None
    break_glass: list[BreakGlassRef] | None = None
    release: Release | None = None
    comment: Block | None = None


class Statement(Part):
    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: list[NamedResource] = Field(min_length=1, max_length=1)
    predicate_type: Literal["https://reviewer.dev/attestation/agent-release-decision/v0.1"]
    predicate: Predicate
