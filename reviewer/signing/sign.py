"""Sign a statement's payload, and add a second person's signature to a decision."""

from dataclasses import dataclass

from reviewer.signing.canonical import load_object
from reviewer.signing.dsse import (
    Envelope,
    Signature,
    parse_envelope,
    serialise_envelope,
)
from reviewer.signing.errors import PayloadMismatch, SignerRefused
from reviewer.signing.keys import Signer
from reviewer.signing.ssh import PublicKey, holds, key_of
from reviewer.signing.statement import differences, read_statement

MOST_NAMED = 8


@dataclass(frozen=True)
class MadeElsewhere:
    """A signature that `ssh-keygen -Y sign` made where the key is: a blob, over whatever it is."""

    blob: bytes

    @property
    def public(self) -> PublicKey:
        """The key it says it is by; SshSigError when it names none."""
        return key_of(self.blob)

    def sign(self, message: bytes) -> bytes:
        return self.blob


def sign_payload(payload: bytes, signer: Signer) -> bytes:
    """The envelope of any payload with one signature. The errors of the key."""
    return serialise_envelope(_signed(Envelope(payload, ()), signer))


def sign_statement(payload: bytes, signer: Signer) -> bytes:
    """The envelope of a decision's `payload` (from build_statement), signed by a named reviewer.

    StatementError when the payload is not a valid decision, SignerRefused when the signer is not
    one of its named reviewers, and the errors of the key.
    """
    _named(payload, signer)
    return sign_payload(payload, signer)


def add_signature(envelope: bytes, signer: Signer, *, expected_payload: bytes) -> bytes:
    """The same decision with one more signature.

    `expected_payload` is what the caller re-derived from its own store: PayloadMismatch, naming
    the fields, unless it is the envelope's payload byte for byte. SignerRefused when this key
    already signed or is not named.
    """
    parsed = parse_envelope(envelope)
    if fields := mismatches(parsed.payload, expected_payload):
        shown = ", ".join(fields[:MOST_NAMED]) + (", …" if len(fields) > MOST_NAMED else "")
        raise PayloadMismatch(
            f"this decision is not the one this store gives; they differ in {shown}"
        )
    if any(holds(signer.public, one.sig, parsed.signed_bytes) for one in parsed.signatures):
        raise SignerRefused(f"{signer.public.keyid} has already signed this decision")
    _named(parsed.payload, signer)
    return serialise_envelope(_signed(parsed, signer))


def mismatches(theirs: bytes, ours: bytes) -> list[str]:
    """The fields in which two payloads differ; `their bytes only` when none does and they are not
    the same bytes."""
    if theirs == ours:
        return []
    fields = differences(
        load_object(theirs, "the decision's payload"), load_object(ours, "the re-derived payload")
    )
    # The id is made of all the rest: it differs whenever anything does, and says nothing.
    told = [field for field in fields if field != "predicate.decisionId"]
    return told or fields or ["their bytes only"]


def _named(payload: bytes, signer: Signer) -> None:
    reviewers = read_statement(payload).predicate.approvals.reviewers
    keyid = signer.public.keyid
    if keyid not in {reviewer.keyid for reviewer in reviewers}:
        named = ", ".join(f"{one.principal} ({one.keyid})" for one in reviewers)
        raise SignerRefused(f"{keyid} is not named in this decision; it names {named}")


def _signed(envelope: Envelope, signer: Signer) -> Envelope:
    keyid = signer.public.keyid
    signature = signer.sign(envelope.signed_bytes)
    if not holds(signer.public, signature, envelope.signed_bytes):
        raise SignerRefused(
            f"{keyid}: its signature does not verify: it is over other bytes, or made for something"
            " else"
        )
    return envelope.with_signature(Signature(signature, keyid))
