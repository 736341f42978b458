"""The first steps of every check: form of the envelope, then signatures by trusted keys over the
very bytes. Nothing in a payload is looked at before a trusted key vouches for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reviewer.signing.candidate import candidate_view, manifest_digest, subject_name
from reviewer.signing.canonical import load_object
from reviewer.signing.dsse import Envelope, parse_envelope
from reviewer.signing.errors import AttestError, StatementError, plain
from reviewer.signing.parts import CandidateView, Described
from reviewer.signing.signers import Signers, TrustedKey
from reviewer.signing.sshsig import holds, is_blob
from reviewer.signing.statement import read_body

MAX_MANIFEST_BYTES = 4 * 1024 * 1024
MOST_EXPLAINED = 4


@dataclass(frozen=True)
class Vouched:
    """A payload that at least one trusted key signed; `by` has each such key once, whatever keyids
    claim, in the order of the trust file, and `repeated` those that signed more than once. `body`
    is the document in it, of any shape."""

    envelope: Envelope
    by: tuple[TrustedKey, ...]
    repeated: tuple[TrustedKey, ...]
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        """Its predicateType, safe to draw."""
        return plain(self.body.get("predicateType", "none"))


@dataclass(frozen=True)
class Manifest:
    """The manifest a check is about: what a statement must say of its candidate."""

    name: str
    digest: str
    view: dict[str, Any]


def vouched(data: bytes, trusted: Signers) -> Vouched:
    """AttestError unless `data` is an envelope with a trusted signature around a JSON object."""
    envelope = parse_envelope(data)
    message = envelope.signed_bytes
    times = {
        one: sum(holds(one.key, signature.sig, message) for signature in envelope.signatures)
        for one in trusted.keys
    }
    by = tuple(one for one, count in times.items() if count)
    if not by:
        raise AttestError(
            f"none of {len(envelope.signatures)} signature(s) is valid by a key of the trust file"
            f" ({'; '.join(_why_not(envelope, trusted))})"
        )
    repeated = tuple(one for one, count in times.items() if count > 1)
    return Vouched(envelope, by, repeated, read_body(envelope.payload))


def _why_not(envelope: Envelope, trusted: Signers) -> Iterator[str]:
    """What is known of the first signatures that do not count. A hint, for people: nothing is
    decided by it."""
    for number, signature in enumerate(envelope.signatures[:MOST_EXPLAINED], 1):
        named = trusted.by_keyid(signature.keyid or "")
        if is_blob(signature.sig):
            yield f"signature {number}: an SSH signature that does not hold, or for something else"
        elif any(one.key.verifies(signature.sig, envelope.payload) for one in trusted.keys):
            yield f"signature {number}: over the bare payload, not over its DSSE encoding"
        elif named is not None:
            yield (
                f"signature {number}: not by the key of {named.principal} that it names, over these"
                " bytes"
            )
        elif signature.keyid:
            yield f"signature {number}: names {plain(signature.keyid)}, which is not trusted"
        else:
            yield f"signature {number}: names no key"


def read_manifest(file: bytes) -> Manifest:
    """The candidate manifest in a JSON file. AttestError."""
    if len(file) > MAX_MANIFEST_BYTES:
        raise StatementError(f"candidate manifest: {len(file)} bytes is too large")
    manifest = load_object(file, "candidate manifest")
    return Manifest(subject_name(manifest), manifest_digest(manifest), candidate_view(manifest))


def check_subject(subject: Described, view: CandidateView, manifest: Manifest) -> None:
    """StatementError unless the statement is about this manifest and copies it rightly."""
    if subject.digest.sha256 != manifest.digest:
        raise StatementError(
            f"subject: this decision is about {subject.name} (sha256 {subject.digest.sha256}),"
            f" not about this manifest (sha256 {manifest.digest})"
        )
    if subject.name != manifest.name:
        raise StatementError(f"subject: named {subject.name}, which the manifest is not")
    if view.model_dump(by_alias=True) != manifest.view:
        raise StatementError("predicate.candidate: not what the manifest says")
