"""Ed25519 public keys as OpenSSH writes them: plain ones, and those of hardware (FIDO) keys.

keyid is the OpenSSH fingerprint `SHA256:<base64 without padding>` of the key blob, as printed by
`ssh-keygen -lf`. It is always computed from a trusted key, never read from an envelope.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass

from reviewer.signing.errors import PublicKeyError
from reviewer.signing.wire import WireError, WireReader, wire_string

KEY_TYPE = "ssh-ed25519"
HARDWARE_TYPE = "sk-ssh-ed25519@openssh.com"
KEY_TYPES = (KEY_TYPE, HARDWARE_TYPE)
_ONLY = f"only {KEY_TYPE} and {HARDWARE_TYPE} keys can sign decisions"
_SPKI_PREFIX = bytes.fromhex("302a300506032b6570032100")  # RFC 8410: SubjectPublicKeyInfo header
_P = 2**255 - 19
# The y-coordinates of all points whose order divides 8. y = 1 is the neutral point, p - 1 order 2,
# 0 order 4, the other two order 8. Under such a key one signature fits many messages or all.
_ORDER_8_Y = 2707385501144840649318225287225658788936804267575313519463743609750303402022
_SMALL_ORDER_Y = frozenset({0, 1, _P - 1, _ORDER_8_Y, _P - _ORDER_8_Y})


@dataclass(frozen=True)
class PublicKey:
    """One Ed25519 public key: `raw` is its 32 bytes, `application` what a hardware key is bound to
    (None for a plain key). Make it with the parsers below."""

    raw: bytes
    application: str | None = None

    @property
    def kind(self) -> str:
        """As the first field of a `.pub` line."""
        return KEY_TYPE if self.application is None else HARDWARE_TYPE

    @property
    def blob(self) -> bytes:
        """The SSH wire form: string kind, string raw, and of a hardware key string application."""
        bound = b"" if self.application is None else wire_string(self.application.encode())
        return wire_string(self.kind.encode()) + wire_string(self.raw) + bound

    @property
    def keyid(self) -> str:
        digest = base64.b64encode(hashlib.sha256(self.blob).digest()).decode()
        return "SHA256:" + digest.rstrip("=")

    def line(self, comment: str = "") -> str:
        """The `.pub` line, without a newline."""
        return f"{self.kind} {base64.b64encode(self.blob).decode()} {comment}".rstrip()

    def pem(self) -> str:
        """PEM SubjectPublicKeyInfo, as openssl and cosign want it. PublicKeyError for a hardware
        key, whose signatures neither of them reads."""
        if self.application is not None:
            raise PublicKeyError(f"{self.keyid}: a hardware key has no PEM form: use ssh-keygen")
        body = base64.b64encode(_SPKI_PREFIX + self.raw).decode()
        return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether `signature` is a plain Ed25519 signature (RFC 8032) of `message` by these 32
        bytes. Of a decision's signatures ask `sshsig.holds`, which knows both kinds of key."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if len(signature) != 64:
            return False
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except InvalidSignature:
            return False
        return True


def public_from_raw(raw: bytes, application: str | None = None) -> PublicKey:
    """A key from its 32 bytes. Refuses encodings under which anybody can sign anything."""
    if len(raw) != 32:
        raise PublicKeyError(f"an Ed25519 public key has 32 bytes, this has {len(raw)}")
    y = int.from_bytes(raw, "little") & ((1 << 255) - 1)
    if y >= _P or y in _SMALL_ORDER_Y:
        raise PublicKeyError("this is a degenerate Ed25519 key: signatures by it prove nothing")
    return PublicKey(raw, application)


def public_from_blob(blob: bytes) -> PublicKey:
    """A key from its SSH wire form, exactly (nothing may follow)."""
    try:
        reader = WireReader(blob)
        kind = reader.string()
        if kind not in (one.encode() for one in KEY_TYPES):
            shown = kind.decode("ascii", "replace")[:40]
            raise PublicKeyError(f"key type is {shown!a}; {_ONLY}")
        raw = reader.string()
        application = reader.string().decode() if kind == HARDWARE_TYPE.encode() else None
        reader.end()
    except (WireError, UnicodeDecodeError) as error:
        raise PublicKeyError(f"damaged key: {error}") from None
    return public_from_raw(raw, application)


def public_from_fields(kind: str, encoded: str) -> PublicKey:
    """A key from the first two fields of a `.pub` line."""
    if kind not in KEY_TYPES:
        raise PublicKeyError(f"key type is {kind[:40]!a}; {_ONLY}")
    try:
        blob = base64.b64decode(encoded.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise PublicKeyError("the key is not base64") from None
    if base64.b64encode(blob).decode() != encoded:
        raise PublicKeyError("the key is not canonical base64")
    key = public_from_blob(blob)
    if key.kind != kind:
        raise PublicKeyError(f"the line says {kind}, the key itself {key.kind}")
    return key


def parse_public_line(text: str) -> tuple[PublicKey, str]:
    """(key, comment) of one `.pub` line; exactly one non-empty line is expected."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) != 1:
        raise PublicKeyError(f"expected one public key line, found {len(lines)}")
    fields = lines[0].split(None, 2)
    if len(fields) < 2:
        raise PublicKeyError(f"expected '{KEY_TYPE} AAAA… comment'")
    return public_from_fields(fields[0], fields[1]), fields[2].strip() if len(fields) > 2 else ""
