"""What the corpus is made of: a decision that stands, and the ways to spoil one."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attest_desk import Desk, digest_of

from reviewer.signing.dsse import Envelope, Signature, parse_envelope, serialise_envelope
from reviewer.signing.records import RunResultFacts
from reviewer.signing.statement import build_statement

FOLDER = Path(__file__).resolve().parent / "fail"
AT = "2026-05-01T12:00:00Z"
ALICE, BOB, DANA = "alice@example.com", "bob@example.com", "dana@example.com"
DECISION = "decision.dsse.json"
desk = Desk()


@dataclass
class Case:
    """`files` by name; `says` must stand in what `reviewer verify` prints, and in no other case's.
    `place` is what is verified: the file, or a folder of files."""

    exit: int
    says: str
    files: dict[str, bytes]
    options: list[str] = field(default_factory=list)
    place: str = DECISION


def signed(body: Any, *names: str) -> bytes:
    return desk.envelope(body, *(names or (ALICE,)))


def good(*names: str, **changes: Any) -> bytes:
    return signed(build_statement(desk.facts(**changes)), *names)


def one(exit: int, says: str, data: bytes, *options: str, **files: bytes) -> Case:
    return Case(exit, says, {DECISION: data, **files}, list(options))


def spoilt(path: str, value: Any, **changes: Any) -> bytes:
    """A decision signed by alice with one member set to something else."""
    body = desk.body(**changes)
    *parents, last = path.split("/")
    here: Any = body
    for part in parents:
        here = here[int(part)] if isinstance(here, list) else here[part]
    if value is ...:
        del here[last]
    else:
        here[int(last) if isinstance(here, list) else last] = value
    return signed(body)


def rewrapped(envelope: bytes, **changes: Any) -> bytes:
    return json.dumps({**json.loads(envelope), **changes}).encode()


def with_signature(sig: bytes, keyid: str | None = None) -> bytes:
    payload = build_statement(desk.facts())
    return serialise_envelope(Envelope(payload, (Signature(sig, keyid),)))


def trust(text: str) -> dict[str, bytes]:
    return {"signers": text.encode()}


def payload_digest(envelope: bytes) -> str:
    return digest_of(parse_envelope(envelope).payload.decode())


def run_facts(**changes: Any) -> RunResultFacts:
    values: dict[str, Any] = {
        "candidate_manifest": desk.manifest,
        "suite_id": "refund-eval-v5",
        "suite_sha256": digest_of("suite"),
        "source_sha256": digest_of("source"),
        "evidence_sha256": digest_of("evidence"),
        "passed": ("damaged-221/1",),
        "failed": (),
        "open": (),
    }
    return RunResultFacts(**{**values, **changes})
