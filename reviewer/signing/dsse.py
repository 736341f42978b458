"""DSSE v1.0.2 envelopes, read strictly and written one way.

An envelope is `{"payload": base64, "payloadType": …, "signatures": [{"keyid"?, "sig"}]}`. What
is signed is the PAE of the decoded payload, so re-encoding base64 or adding a signature changes
the file and not the decision.
"""

import base64
import binascii
from dataclasses import dataclass, replace
from typing import Any

from reviewer.signing.canonical import JsonError, canonical, load_object
from reviewer.signing.errors import EnvelopeError, plain

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_ENVELOPE_BYTES = 4 * 1024 * 1024
MAX_SIGNATURES = 64
_MAX_KEYID = 1024
_TO_STANDARD = str.maketrans("-_", "+/")


@dataclass(frozen=True)
class Signature:
    """`sig` is the decoded signature. `keyid` is a hint from outside: never decide by it."""

    sig: bytes
    keyid: str | None = None


@dataclass(frozen=True)
class Envelope:
    """A decoded envelope; its payload type is always PAYLOAD_TYPE."""

    payload: bytes
    signatures: tuple[Signature, ...]

    @property
    def signed_bytes(self) -> bytes:
        """What each signature is over."""
        return pae(self.payload)

    def with_signature(self, signature: Signature) -> "Envelope":
        return replace(self, signatures=(*self.signatures, signature))


def pae(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Pre-authentication encoding: "DSSEv1" SP len(type) SP type SP len(payload) SP payload.

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
    """RFC 8785 JSON and a newline; signatures in the order of keyid, equal ones once.

    The same payload and set of signatures therefore always give the same file.
    """
    if not envelope.signatures:
        raise EnvelopeError("envelope: nothing to write, it has no signature")
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
    """Canonical base64 in one alphabet. Each decoded value has one spelling per alphabet."""
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
