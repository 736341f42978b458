"""DSSE v1.0.2 envelopes: read strictly, written in one form, and signed by one person after
another.

An envelope is `{"payload": base64, "payloadType": …, "signatures": [{"keyid"?, "sig"}]}`. The
signed bytes are the PAE of the decoded payload, so re-encoding base64 or adding a signature changes
the file and not the decision.
"""

import base64
import binascii
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from reviewer.signing.errors import (
    EnvelopeError,
    JsonError,
    PayloadMismatch,
    SignerRefused,
    canonical,
    load_object,
    plain,
)
from reviewer.signing.ssh import PublicKey, holds, key_of
from reviewer.signing.statement import differences, read_statement

if TYPE_CHECKING:
    from reviewer.signing.keys import Signer

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_ENVELOPE_BYTES = 4 * 1024 * 1024
MAX_SIGNATURES = 64
_MAX_KEYID = 1024
_TO_STANDARD = str.maketrans("-_", "+/")


class Signature(Struct, frozen=True):
    """`sig` is the decoded signature. `keyid` is an untrusted hint: never decide by it."""

    sig: bytes
    keyid: str | None = None


class Envelope(Struct, frozen=True):
    """A decoded envelope; its payload type is always PAYLOAD_TYPE."""

    payload: bytes
    signatures: tuple[Signature, ...]

    @property
    def signed_bytes(self) -> bytes:
        """Return the bytes that each signature covers."""
        return pae(self.payload)

    def with_signature(self, signature: Signature) -> "Envelope":
        return structs.replace(self, signatures=(*self.signatures, signature))


def pae(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Return the pre-authentication encoding: "DSSEv1" SP len(type) SP type SP len(payload) SP
    payload.

    Lengths are decimal counts of bytes (DSSE v1.0.2, protocol.md).
    """
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def parse_envelope(data: bytes) -> Envelope:
    """Read an envelope. EnvelopeError for anything but the exact form, standard or url-safe."""
    if len(data) > MAX_ENVELOPE_BYTES:
        raise EnvelopeError(f"envelope: {len(data)} bytes; the limit is {MAX_ENVELOPE_BYTES}")
    try:
        body = load_object(data, "envelope")
    except JsonError as error:
        raise EnvelopeError(str(error)) from None
    _exact_keys(body, {"payload", "payloadType", "signatures"}, set(), "envelope")
    if body["payloadType"] != PAYLOAD_TYPE:
        raise EnvelopeError(
            f"envelope: payloadType is {plain(body['payloadType'])!r}, expected {PAYLOAD_TYPE!r}"
        )
    entries = body["signatures"]
    if not isinstance(entries, list) or not entries:
        raise EnvelopeError("envelope: signatures must list at least one signature")
    if len(entries) > MAX_SIGNATURES:
        raise EnvelopeError(
            f"envelope: signatures lists {len(entries)}; the limit is {MAX_SIGNATURES}"
        )
    return Envelope(
        payload=_decode(body["payload"], "envelope: payload"),
        signatures=tuple(_signature(entry, n) for n, entry in enumerate(entries)),
    )


def serialise_envelope(envelope: Envelope) -> bytes:
    """Return RFC 8785 JSON and a newline; signatures in the order of keyid, equal ones once.

    The same payload and set of signatures therefore always give the same file.
    """
    if not envelope.signatures:
        raise EnvelopeError("envelope: not written, it has no signature")
    entries = [
        {"sig": base64.b64encode(one.sig).decode()}
        | ({} if one.keyid is None else {"keyid": one.keyid})
        for one in sorted(set(envelope.signatures), key=lambda s: (s.keyid or "", s.sig))
    ]
    body = {
        "payload": base64.b64encode(envelope.payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": entries,
    }
    data = canonical(body, "envelope") + b"\n"
    if len(data) > MAX_ENVELOPE_BYTES:
        raise EnvelopeError(f"envelope: {len(data)} bytes; the limit is {MAX_ENVELOPE_BYTES}")
    return data


def _signature(entry: Any, n: int) -> Signature:
    where = f"envelope: signatures[{n}]"
    if not isinstance(entry, dict):
        raise EnvelopeError(f"{where}: must be an object")
    _exact_keys(entry, {"sig"}, {"keyid"}, where)
    keyid = entry.get("keyid")
    if "keyid" in entry and (not isinstance(keyid, str) or len(keyid) > _MAX_KEYID):
        raise EnvelopeError(f"{where}: keyid must be a string of at most {_MAX_KEYID} characters")
    return Signature(sig=_decode(entry["sig"], f"{where}: sig"), keyid=keyid)


def _exact_keys(body: dict[str, Any], required: set[str], optional: set[str], where: str) -> None:
    if missing := sorted(required - body.keys()):
        raise EnvelopeError(f"{where}: {missing[0]} is missing")
    if unknown := sorted(body.keys() - required - optional):
        raise EnvelopeError(f"{where}: unknown member {plain(unknown[0])!r}")


def _decode(value: Any, where: str) -> bytes:
    """Decode canonical base64 in one alphabet. Each decoded value has one spelling per alphabet."""
    if not isinstance(value, str) or not value:
        raise EnvelopeError(f"{where}: must be a base64 string")
    if ("-" in value or "_" in value) and ("+" in value or "/" in value):
        raise EnvelopeError(f"{where}: mixes the standard and the url-safe alphabet")
    standard = value.translate(_TO_STANDARD)
    try:
        decoded = base64.b64decode(standard.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise EnvelopeError(f"{where}: is not base64") from None
    if base64.b64encode(decoded).decode("ascii") != standard:
        raise EnvelopeError(f"{where}: is not canonical base64")
    return decoded


MOST_NAMED = 8


class ExternalSignature(Struct, frozen=True):
    """A signature that `ssh-keygen -Y sign` made on another machine, as a blob; the bytes it covers
    are checked later."""

    blob: bytes

    @property
    def public(self) -> PublicKey:
        """Return the key that it names; SshSigError when it names none."""
        return key_of(self.blob)

    def sign(self, message: bytes) -> bytes:
        return self.blob


def sign_payload(payload: bytes, signer: "Signer") -> bytes:
    """Return an envelope for any payload with one signature. Raises the errors of the key."""
    return serialise_envelope(_signed(Envelope(payload, ()), signer))


def sign_statement(payload: bytes, signer: "Signer") -> bytes:
    """Return an envelope for a decision's `payload` (from build_statement), signed by a named
    reviewer.

    StatementError when the payload is not a valid decision, SignerRefused when the signer is not
    one of its named reviewers, and the errors of the key.
    """
    _named(payload, signer)
    return sign_payload(payload, signer)


def add_signature(envelope: bytes, signer: "Signer", *, expected_payload: bytes) -> bytes:
    """Return the same decision with one more signature.

    `expected_payload` is what the caller re-derived from its own store: PayloadMismatch, naming
    the fields, unless it is the envelope's payload byte for byte. SignerRefused when this key
    already signed or is not named.
    """
    parsed = parse_envelope(envelope)
    if fields := mismatches(parsed.payload, expected_payload):
        shown = ", ".join(fields[:MOST_NAMED]) + (", …" if len(fields) > MOST_NAMED else "")
        raise PayloadMismatch(f"this decision differs from the one this store derives, in {shown}")
    if any(holds(signer.public, one.sig, parsed.signed_bytes) for one in parsed.signatures):
        raise SignerRefused(f"{signer.public.keyid} has already signed this decision")
    _named(parsed.payload, signer)
    return serialise_envelope(_signed(parsed, signer))


def mismatches(theirs: bytes, ours: bytes) -> list[str]:
    """Return the fields in which two payloads differ; `their bytes only` when no field differs but
    the bytes do."""
    if theirs == ours:
        return []
    fields = differences(
        load_object(theirs, "the decision's payload"), load_object(ours, "the re-derived payload")
    )
    # The id is derived from all other fields: it differs whenever any of them does, and adds
    # nothing.
    told = [field for field in fields if field != "predicate.decisionId"]
    return told or fields or ["only their bytes"]


def _named(payload: bytes, signer: "Signer") -> None:
    reviewers = read_statement(payload).predicate.approvals.reviewers
    keyid = signer.public.keyid
    if keyid not in {reviewer.keyid for reviewer in reviewers}:
        named = ", ".join(f"{one.principal} ({one.keyid})" for one in reviewers)
        raise SignerRefused(f"{keyid} is not named in this decision; it names {named}")


def _signed(envelope: Envelope, signer: "Signer") -> Envelope:
    keyid = signer.public.keyid
    signature = signer.sign(envelope.signed_bytes)
    if not holds(signer.public, signature, envelope.signed_bytes):
        raise SignerRefused(
            f"{keyid}: its signature does not verify: it covers other bytes, or was made for "
            "another purpose"
        )
    return envelope.with_signature(Signature(signature, keyid))
