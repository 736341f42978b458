"""What a decision is made from, as plain values: no clock, no store, no random id in here.

Digests are lower-case hex SHA-256, money is in millionths of the currency, times are RFC 3339
text ending in Z. Whoever co-signs takes `created`, `environment`, versions and `comment` from the
first signer's payload, reads them, and re-derives the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class GateFact:
    """One gate's result. Every gate that is in force must be given, as hard."""

    id: str
    result: Literal["PASSED", "FAILED", "NOT_RUN"]
    hard: bool = True
    threshold: int | str | None = None
    observed: int | str | None = None
    evidence_sha256: str | None = None


@dataclass(frozen=True)
class RepeatabilityFact:
    episode: str
    k: int
    attempts: int
    passes: int


@dataclass(frozen=True)
class FailureFact:
    trace_id: str
    episode: str
    trace_sha256: str
    codes: tuple[str, ...] = ()
    disposition: str = "open"


@dataclass(frozen=True)
class JudgeFact:
    """A judge and its confusion counts against the human labels of `label_set_sha256`."""

    id: str
    version: str
    prompt_sha256: str
    tp: int
    fp: int
    tn: int
    fn: int
    n: int
    label_set_sha256: str


@dataclass(frozen=True)
class LabelFacts:
    """`labelers` are principals; `merkle_root` is the RFC 6962 root over `tree_size` labels."""

    count: int = 0
    labelers: tuple[str, ...] = ()
    merkle_root: str | None = None
    tree_size: int = 0
    disagreements: int = 0


@dataclass(frozen=True)
class LineageFact:
    """Another suite this candidate met; `reason` and `reviewer` are empty until one is given."""

    suite_id: str
    suite_sha256: str
    reason: str = ""
    reviewer: str = ""


@dataclass(frozen=True)
class BreakGlassFact:
    """A break-glass record of this agent, as every later decision carries it."""

    payload_sha256: str
    principal: str
    candidate: str
    environment: str
    created: str
    expires: str
    reason: str


@dataclass(frozen=True)
class ReviewerFact:
    """Someone who may sign this decision, with the key they will use."""

    principal: str
    keyid: str


@dataclass(frozen=True, kw_only=True)
class DecisionFacts:
    """One decision. `lineage` lists the other suites this candidate was run against.

    Its id is made of all of this by whoever builds the statement. `decision_seq` only rises per
    (agent, environment); `previous_payload_sha256` is the digest of the payload (not of the
    envelope) of the decision before it there, None for the first.
    """

    decision: Literal["PROMOTE", "BLOCK", "REPAIR"]
    decision_seq: int
    previous_payload_sha256: str | None
    created: str
    expires: str
    environment: str
    tool_version: str
    python_version: str

    candidate_manifest: Mapping[str, Any]
    candidate_sha256: str
    suite_id: str
    suite_sha256: str
    suite_episodes: int
    policy_uri: str
    policy_sha256: str

    gates: tuple[GateFact, ...]
    repeatability: tuple[RepeatabilityFact, ...]
    failures: tuple[FailureFact, ...]
    report_sha256: str
    recommendation: Literal["promote", "block", "repair", "hold"]
    reasons: tuple[str, ...]
    journal_seq: int
    journal_head: str
    threshold: int
    reviewers: tuple[ReviewerFact, ...]
    max_days: int | None = None

    currency: str = "USD"
    total_micros: int | None = None
    baseline_micros: int | None = None
    tokens: int | None = None
    frozen_at_seq: int | None = None
    first_run_seq: int | None = None
    lineage: tuple[LineageFact, ...] = ()
    baseline_id: str | None = None
    break_glass: tuple[BreakGlassFact, ...] = ()
    judges: tuple[JudgeFact, ...] = ()
    labels: LabelFacts = LabelFacts()
    input_attestations: tuple[str, ...] = ()
    evidence_uri: str | None = None
    evidence_sha256: str | None = None
    journal_algorithm: str = "arw-audit-v1"
    comment: str = ""
