"""The facts of a decision, as plain values: without clock, store or random id.

Digests are lower-case hex SHA-256, money is in millionths of the currency, times are RFC 3339 text
ending in Z. A co-signer takes `created`, `environment`, versions and `comment` from the first
signer's payload, reads them, and re-derives the rest. Labels are covered by a Merkle root (RFC 6962
§2.1): one label can later be proved to be among them without showing the others.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct


def merkle_root(leaves: Sequence[bytes]) -> str:
    """Return the tree head over `leaves` in their order, hex; for no leaves, the hash of
    nothing."""
    if not leaves:
        return hashlib.sha256(b"").hexdigest()
    level = [hashlib.sha256(b"\0" + leaf).digest() for leaf in leaves]
    while len(level) > 1:
        # Splitting at the largest power of two is the same as pairing level by level, with the last
        # node of an odd level carried up unchanged.
        pairs = [
            hashlib.sha256(b"\1" + level[at] + level[at + 1]).digest()
            for at in range(0, len(level) - 1, 2)
        ]
        level = pairs + level[len(level) - len(level) % 2 :]
    return level[0].hex()


class GateFact(Struct, frozen=True):
    """One gate's result. Every gate in force must be given, as hard."""

    id: str
    result: Literal["PASSED", "FAILED", "NOT_RUN"]
    hard: bool = True
    threshold: int | str | None = None
    observed: int | str | None = None
    evidence_sha256: str | None = None


class RepeatabilityFact(Struct, frozen=True):
    episode: str
    k: int
    attempts: int
    passes: int


class FailureFact(Struct, frozen=True):
    trace_id: str
    episode: str
    trace_sha256: str
    codes: tuple[str, ...] = ()
    disposition: str = "open"


class ToleranceFact(Struct, frozen=True):
    """Rates below one, as decimal text, and the attempts made that they apply to."""

    hard_pass_rate: str
    completion_min: str | None
    attempts: int


class JudgeFact(Struct, frozen=True):
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


class LabelFacts(Struct, frozen=True):
    """`labelers` are principals; `merkle_root` is the RFC 6962 root over `tree_size` labels;
    `files` are the sha256 of the signed files of labels in the repository."""

    count: int = 0
    labelers: tuple[str, ...] = ()
    merkle_root: str | None = None
    tree_size: int = 0
    disagreements: int = 0
    files: tuple[str, ...] = ()


class LineageFact(Struct, frozen=True):
    """Another suite that this candidate was run on; `reason` and `reviewer` are empty until one is
    given."""

    suite_id: str
    suite_sha256: str
    reason: str = ""
    reviewer: str = ""


class BreakGlassFact(Struct, frozen=True):
    """A break-glass record of this agent, as every later decision states it."""

    payload_sha256: str
    principal: str
    candidate: str
    environment: str
    created: str
    expires: str
    reason: str


class ModelFact(Struct, frozen=True):
    """The model that answered, as the endpoint named it."""

    model: str | None
    fingerprint: str | None


class RanFacts(Struct, frozen=True):
    """What ran. `dependencies` are (name, sha256) of what the attempts were made with, `code` for
    the code; `kinds` are those of the runners; `measurements` are digests of what was measured.
    `changed` counts attempts at whose end the code differed from the beginning."""

    attempts_bound: int = 0
    attempts_not_bound: int = 0
    code_pinned: bool = False
    changed: int = 0
    dependencies: tuple[tuple[str, str], ...] = ()
    kinds: tuple[str, ...] = ()
    models: tuple[ModelFact, ...] = ()
    platforms: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    network: tuple[bool, ...] = ()
    seeds: tuple[int, ...] = ()
    measurements: tuple[str, ...] = ()


class ReviewerFact(Struct, frozen=True):
    """A person who may sign this decision, with the key they will use."""

    principal: str
    keyid: str


class ReleaseSuiteFact(Struct, frozen=True, kw_only=True):
    """One suite of a release of several, with the result of its own report."""

    suite_id: str
    suite_sha256: str
    role: Literal["gate", "probe"]
    candidate_id: str
    subject: str
    candidate_sha256: str
    baseline_id: str | None
    policy_sha256: str
    report_sha256: str
    recommendation: Literal["promote", "block", "repair", "hold"]
    reasons: tuple[str, ...]
    gates: tuple[GateFact, ...]
    critical: int
    failing: int
    attempts: int
    passes: int
    tolerance: ToleranceFact | None
    frozen_at_seq: int | None
    first_run_seq: int | None
    labelers: tuple[str, ...]
    ran: "RanFacts | None" = None


class ReleaseFact(Struct, frozen=True, kw_only=True):
    """A release of several suites: the overall result, and that of each."""

    release_id: str
    candidate_id: str
    sha256: str
    recommendation: Literal["promote", "block", "repair", "hold"]
    reasons: tuple[str, ...]
    suites: tuple[ReleaseSuiteFact, ...]


class DecisionFacts(Struct, frozen=True, kw_only=True):
    """One decision. `lineage` lists the other suites that this candidate was run on.

    The builder of the statement derives its id from all of this. `decision_seq` only rises per
    (agent, environment); `previous_payload_sha256` is the digest of the payload (not of the
    envelope) of the previous decision there, None for the first.
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
    tolerance: ToleranceFact | None = None

    currency: str = "USD"
    total_micros: int | None = None
    baseline_micros: int | None = None
    tokens: int | None = None
    frozen_at_seq: int | None = None
    first_run_seq: int | None = None
    lineage: tuple[LineageFact, ...] = ()
    baseline_id: str | None = None
    formulas: int | None = None
    break_glass: tuple[BreakGlassFact, ...] = ()
    ran: RanFacts | None = None
    judges: tuple[JudgeFact, ...] = ()
    labels: LabelFacts = LabelFacts()
    input_attestations: tuple[str, ...] = ()
    evidence_uri: str | None = None
    evidence_sha256: str | None = None
    journal_algorithm: str = "arw-audit-v1"
    release: ReleaseFact | None = None
    comment: str = ""
