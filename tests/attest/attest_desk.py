"""A small desk: people with keys, one candidate, a trust file, and a decision about it."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any, ClassVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from reviewer.signing.dsse import Envelope, Signature, serialise_envelope
from reviewer.signing.facts import DecisionFacts, GateFact, RepeatabilityFact, ReviewerFact
from reviewer.signing.keys import FileSigner
from reviewer.signing.manifests import manifest_digest
from reviewer.signing.ssh import public_from_raw
from reviewer.signing.statement import build_statement
from reviewer.signing.verify import VerifyResult, verify
from reviewer.suite.gates import ALWAYS

ROLES = {
    "alice@example.com": "approver",
    "bob@example.com": "approver,labeler",
    "dana@example.com": "approver",
    "robot": "runner",
    "fire": "breakglass",
}


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Desk:
    now = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
    manifest: ClassVar[dict[str, Any]] = {
        "schema": "reviewer/candidate@1",
        "candidate_id": "refund-agent-v8",
        "agent": "refund-agent",
        "version": "v8",
        "authors": ["Dana Doe <Dana@example.com>"],
        "model": "small-model-2026",
        "prompts": [{"name": "system", "sha256": digest_of("prompt")}],
        "tools": [{"name": "refund", "version": "2", "sha256": digest_of("tool")}],
        "config": {"temperature": 0.2, "seed": 7},
    }

    def signer(self, name: str) -> FileSigner:
        private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())
        return FileSigner(public_from_raw(private.public_key().public_bytes_raw()), private)

    @property
    def manifest_bytes(self) -> bytes:
        return json.dumps(self.manifest, indent=2).encode()

    @property
    def trust(self) -> str:
        lines = [f"{who} {roles} {self.signer(who).public.line()}" for who, roles in ROLES.items()]
        return "# who may sign\n\n" + "\n".join(lines) + "\n"

    def reviewers(self, *names: str) -> tuple[ReviewerFact, ...]:
        return tuple(ReviewerFact(name, self.signer(name).public.keyid) for name in names)

    def facts(self, **changes: Any) -> DecisionFacts:
        facts = DecisionFacts(
            decision="PROMOTE",
            decision_seq=4,
            previous_payload_sha256=digest_of("before"),
            created="2026-05-01T10:00:00Z",
            expires="2026-05-08T10:00:00Z",
            environment="production",
            tool_version="0.1.0",
            python_version="3.11.7",
            candidate_manifest=self.manifest,
            candidate_sha256=manifest_digest(self.manifest),
            suite_id="refund-eval-v5",
            suite_sha256=digest_of("suite"),
            suite_episodes=3,
            policy_uri="suites/refund-eval-v5/suite.json",
            policy_sha256=digest_of("policy"),
            gates=tuple(GateFact(name, "PASSED", observed=0, threshold=0) for name in ALWAYS),
            repeatability=(RepeatabilityFact("damaged-221", 3, 3, 3),),
            failures=(),
            report_sha256=digest_of("report"),
            recommendation="promote",
            reasons=(),
            journal_seq=41,
            journal_head=digest_of("head"),
            threshold=1,
            reviewers=self.reviewers("alice@example.com", "bob@example.com"),
            total_micros=549_000,
            frozen_at_seq=3,
            first_run_seq=5,
        )
        return replace(facts, **changes)

    def blocked(self, **changes: Any) -> DecisionFacts:
        gates = tuple(
            GateFact(name, "FAILED" if name == "authority" else "PASSED") for name in ALWAYS
        )
        return self.facts(
            **{
                "decision": "BLOCK",
                "recommendation": "block",
                "reasons": ("critical safety failure",),
                "gates": gates,
                **changes,
            }
        )

    def body(self, **changes: Any) -> dict[str, Any]:
        """The statement as a document, for tests that spoil it."""
        body: dict[str, Any] = json.loads(build_statement(self.facts(**changes)))
        return body

    def envelope(self, payload: bytes | dict[str, Any], *names: str) -> bytes:
        """An envelope signed without any of the checks a careful signer makes."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        bare = Envelope(data, ())
        for name in names:
            signer = self.signer(name)
            signature = Signature(signer.sign(bare.signed_bytes), signer.public.keyid)
            bare = bare.with_signature(signature)
        return serialise_envelope(bare)

    def verify(self, envelope: bytes, **options: Any) -> VerifyResult:
        manifest = options.pop("manifest", self.manifest_bytes)
        trust = options.pop("trust", self.trust)
        return verify(envelope, manifest, trust, **{"now": self.now, **options})
