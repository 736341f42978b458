"""The agent-release-decision predicate v0.1, the in-toto Statement v1 around it, and their parts.

Unknown fields are errors, integers stay within ±(2^53 - 1), there are no floats, and text has no
control or bidirectional characters, so a statement can be drawn anywhere unchanged. Facts without
evidence are null, 0 or an empty list. The only fields that are omitted when there is nothing to
state are `comment`, `breakGlass`, `release`, `tolerance`, `suite.lineageReasons`,
`report.baseline`, `report.formulas`, `approvals.maxDays` and `labels.files`. A decision made before
the runner measured what it ran has no `resolvedDependencies`, `internalParameters` and
`byproducts`.
"""

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from types import FunctionType
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct, field

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


def _time(text: str) -> None:
    parse_time(text)


def _visible(text: str) -> None:
    for character in text:
        if unicodedata.category(character) in _HIDDEN or character in _BIDI:
            raise ValueError(f"must not contain U+{ord(character):04X}")


def _visible_block(text: str) -> None:
    _visible(text.replace("\n", ""))


# A function in an annotation checks each text of the field: see `Part`. Patterns end in \\Z, since
# `$` also matches before a line break at the end.
Text = Annotated[str, Meta(min_length=1, max_length=4096), _visible]
Block = Annotated[str, Meta(max_length=16384), _visible_block]
Hex = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Time = Annotated[str, _time]
Count = Annotated[int, Meta(ge=0, le=MAX_SAFE_INT)]
Ordinal = Annotated[int, Meta(ge=1, le=MAX_SAFE_INT)]
SafeInt = Annotated[int, Meta(ge=-MAX_SAFE_INT, le=MAX_SAFE_INT)]
KeyId = Annotated[str, Meta(pattern=r"^SHA256:[A-Za-z0-9+/]{43}\Z")]
Uuid = Annotated[str, Meta(pattern=r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\Z")]

Recommendation = Literal["promote", "block", "repair", "hold"]


class Part(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Base: strict types, no unknown fields, camelCase on the wire only. Read with
    `statement.shaped`."""

    def __post_init__(self) -> None:
        for name, written, check in _checks(type(self)):
            value = getattr(self, name)
            for at, text in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(text, str):
                    try:
                        check(text)
                    except ValueError as error:
                        place = written if at is None else f"{written}.{at}"
                        raise FieldError(place, str(error)) from None


class FieldError(ValueError):
    """A text that a field may not have: its place within its part, and why."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(f"{place}: {why}")
        self.place, self.why = place, why


@cache
def _checks(part: type[Part]) -> list[tuple[str, str, Callable[[str], None]]]:
    """Return (attribute, member, check of its texts) of the fields that have a check."""
    written = dict(zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True))
    kinds: dict[str, Any] = {}
    for base in reversed(part.__mro__):
        kinds |= vars(base).get("__annotations__", {})
    found = ((name, written[name], _check_in(kinds[name])) for name in part.__struct_fields__)
    return [(name, member, check) for name, member, check in found if check is not None]


def _check_in(kind: Any) -> Callable[[str], None] | None:
    """Return the check of the texts that a field of this type may have."""
    for mark in getattr(kind, "__metadata__", ()):
        if isinstance(mark, FunctionType):
            return mark
    return next((check for one in get_args(kind) if (check := _check_in(one))), None)


class Digest(Part, frozen=True):
    sha256: Hex


class DigestOnly(Part, frozen=True):
    digest: Digest


class NamedResource(Part, frozen=True):
    """A ResourceDescriptor that has a name."""

    name: Text
    digest: Digest


class LocatedResource(Part, frozen=True):
    """A ResourceDescriptor that has a URI."""

    uri: Text
    digest: Digest


class Versions(Part, frozen=True):
    reviewer: Text
    python: Text


class Verifier(Part, frozen=True):
    id: Text
    version: Versions


class CandidateView(Part, frozen=True):
    """The readable copy of the manifest, which the verifier derives again from the file."""

    authors: list[Text]
    model: NamedResource
    prompts: list[NamedResource]
    tools: list[NamedResource]
    config: list[NamedResource]


class Audit(Part, frozen=True):
    """The position of the journal when the decision was made."""

    algorithm: Text
    seq: Count
    head: Hex


class ReportRef(Part, frozen=True):
    digest: Digest
    recommendation: Recommendation
    reasons: list[Text]


class Reviewer(Part, frozen=True):
    principal: Text
    keyid: KeyId


PREDICATE_TYPE = "https://reviewer.dev/attestation/agent-release-decision/v0.1"

Decision = Literal["PROMOTE", "BLOCK", "REPAIR"]
GateResult = Literal["PASSED", "FAILED", "NOT_RUN"]


class LineageReason(Part, frozen=True):
    """Why this candidate was also run on another suite, and who gave the reason."""

    digest: Digest
    name: Text
    reason: Text
    reviewer: Text


class SuiteRef(Part, frozen=True):
    """`digest` is that of suite.lock; `lineage` is every suite digest that this candidate was run
    on."""

    name: Text
    digest: Digest
    episodes: Count
    frozen_at_seq: Ordinal | None
    first_run_seq: Ordinal | None
    lineage: list[Hex]
    lineage_reasons: list[LineageReason] | None = None


class Gate(Part, frozen=True):
    """`threshold` and `observed` are integers or decimal text, never floats: a gate passes if what
    was observed against it is at most its threshold."""

    id: Text
    hard: bool
    result: GateResult
    threshold: SafeInt | Text | None
    observed: SafeInt | Text | None
    evidence: Digest | None


class Repeatability(Part, frozen=True):
    """Counts behind pass^k of one episode: `passes` of `attempts`."""

    episode: Text
    k: Ordinal
    attempts: Count
    passes: Count


class Cost(Part, frozen=True):
    """Money in millionths of `currency`; null is not measured."""

    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}\Z")]
    total_micros: Count | None
    baseline_micros: Count | None
    tokens: Count | None


class Calibration(Part, frozen=True):
    tp: Count
    fp: Count
    tn: Count
    fn: Count
    n: Count
    label_set_sha256: Hex


class Judge(Part, frozen=True):
    id: Text
    version: Text
    prompt_sha256: Hex
    calibration: Calibration


class Labels(Part, frozen=True):
    count: Count
    labelers: list[Text]
    merkle_root: Hex | None
    tree_size: Count
    disagreements: Count
    files: list[Hex] | None = None


class Failure(Part, frozen=True):
    trace_id: Text
    episode: Text
    trace_sha256: Hex
    codes: list[Text]
    disposition: Text


class Tolerance(Part, frozen=True):
    """Rates below one in the policy, as decimal text: the failed ones among `attempts` made are
    within them. Left out where the policy requires that all pass."""

    hard_pass_rate: Text
    completion_min: Text | None
    attempts: Count


class BreakGlassRef(Part, frozen=True):
    """A break-glass record of this agent: `digest` is that of its payload."""

    digest: Digest
    principal: Text
    candidate: Text
    environment: Text
    time_created: Time
    expires: Time
    reason: Block


class DecisionReport(ReportRef, frozen=True):
    """`baseline` is the candidate compared with, left out without one; `formulas` is the version of
    the formulas, left out in decisions from before they had one."""

    baseline: Text | None = None
    formulas: Ordinal | None = None


class Approvals(Part, frozen=True):
    """Named before the first signature, so that all sign the same bytes. `maxDays` is the longest
    validity that the policy allows a decision, left out without a limit."""

    role: Literal["approver"]
    threshold: Ordinal
    reviewers: Annotated[list[Reviewer], Meta(min_length=1)]
    max_days: Ordinal | None = None


CODE = "code"
"""The name of a resolved dependency that is the candidate's code."""


class AnsweringModel(Part, frozen=True):
    """The model that answered, as the endpoint named it."""

    model: Text | None
    fingerprint: Text | None


class InternalParameters(Part, frozen=True):
    """How the attempts were made, each distinct value once; `codePinned` says whether the manifest
    names the digest of all code that ran, `kinds` are those of the runners, and `codeChanged`
    counts attempts at whose end the code differed from the beginning."""

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


class ReleaseSuite(Part, frozen=True):
    """One suite of a release of several: the result of its own report; `passes` of the counted
    `attempts`. In a `probe` only critical failures count."""

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
    frozen_at_seq: Ordinal | None
    first_run_seq: Ordinal | None
    labelers: list[Text]
    resolved_dependencies: list[NamedResource] | None = None
    internal_parameters: InternalParameters | None = None
    byproducts: list[NamedResource] | None = None
    tolerance: Tolerance | None = None


class Release(Part, frozen=True):
    """The several suites that one decision is about. `digest` is that of release.json, and
    `recommendation` the strictest of the suites."""

    name: Text
    candidate_id: Text
    digest: Digest
    recommendation: Recommendation
    reasons: list[Text]
    suites: Annotated[list[ReleaseSuite], Meta(min_length=1)]


class Predicate(Part, frozen=True):
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
    input_attestations: list[DigestOnly]
    evidence: LocatedResource | None
    audit: Audit
    report: DecisionReport
    approvals: Approvals
    tolerance: Tolerance | None = None
    resolved_dependencies: list[NamedResource] | None = None
    internal_parameters: InternalParameters | None = None
    byproducts: list[NamedResource] | None = None
    break_glass: list[BreakGlassRef] | None = None
    release: Release | None = None
    comment: Block | None = None


class Statement(Part, frozen=True):
    type: Literal["https://in-toto.io/Statement/v1"] = field(name="_type")
    subject: Annotated[list[NamedResource], Meta(min_length=1, max_length=1)]
    predicate_type: Literal["https://reviewer.dev/attestation/agent-release-decision/v0.1"]
    predicate: Predicate
