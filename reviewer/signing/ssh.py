"""Keys and signatures in OpenSSH's formats (RFC 4251 §5): plain Ed25519 and hardware (FIDO) keys.

keyid is the OpenSSH fingerprint `SHA256:<base64 without padding>` of the key blob, as printed by
`ssh-keygen -lf`. It is always computed from a trusted key, never read from an envelope.

SSHSIG is the format of `ssh-keygen -Y sign`, which hardware keys and strict agents can make. The
blob is "SSHSIG", u32 1, string public key, string namespace, string reserved, string hash
algorithm, string signature; the signed bytes are "SSHSIG" and the middle four with the message's
hash in place of the signature (OpenSSH PROTOCOL.sshsig). A hardware key signs sha256(application)
|| flags || counter || sha256(those bytes) (PROTOCOL.u2f).
"""

import base64
import binascii
import hashlib
import re
import struct

from msgspec import Struct

from reviewer.signing.errors import AttestError, PublicKeyError


class WireError(ValueError):
    """SSH wire data that ends early or is too long."""


def wire_string(data: bytes) -> bytes:
    """Return a string: u32 length, then the bytes."""
    return struct.pack(">I", len(data)) + data


class WireReader:
    """Reads values from front to back; WireError when the data ends early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise WireError("it ends too early")
        piece = self._data[self._at : self._at + count]
        self._at += count
        return piece

    def byte(self) -> int:
        return self.take(1)[0]

    def u32(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def string(self) -> bytes:
        return self.take(self.u32())

    def end(self) -> None:
        if self._at != len(self._data):
            raise WireError("something follows its end")


KEY_TYPE = "ssh-ed25519"
HARDWARE_TYPE = "sk-ssh-ed25519@openssh.com"
KEY_TYPES = (KEY_TYPE, HARDWARE_TYPE)
_ONLY = f"only {KEY_TYPE} and {HARDWARE_TYPE} keys can sign decisions"
_SPKI_PREFIX = bytes.fromhex("302a300506032b6570032100")  # RFC 8410: SubjectPublicKeyInfo header
_P = 2**255 - 19
# The y-coordinates of all points whose order divides 8. y = 1 is the neutral point, p - 1 order 2,
# 0 order 4, the other two order 8. Under such a key one signature is valid for many messages or
# all.
_ORDER_8_Y = 2707385501144840649318225287225658788936804267575313519463743609750303402022
_SMALL_ORDER_Y = frozenset({0, 1, _P - 1, _ORDER_8_Y, _P - _ORDER_8_Y})


class PublicKey(Struct, frozen=True):
    """One Ed25519 public key: `raw` is its 32 bytes, `application` what a hardware key is bound to
    (None for a plain key). Create it with the parsers below."""

    raw: bytes
    application: str | None = None

    @property
    def kind(self) -> str:
        """Return the first field of a `.pub` line."""
        return KEY_TYPE if self.application is None else HARDWARE_TYPE

    @property
    def blob(self) -> bytes:
        """Return the SSH wire form: string kind, string raw, and for a hardware key string
        application."""
        bound = b"" if self.application is None else wire_string(self.application.encode())
        return wire_string(self.kind.encode()) + wire_string(self.raw) + bound

    @property
    def keyid(self) -> str:
        digest = base64.b64encode(hashlib.sha256(self.blob).digest()).decode()
        return "SHA256:" + digest.rstrip("=")

    def line(self, comment: str = "") -> str:
        """Return the `.pub` line, without a newline."""
        return f"{self.kind} {base64.b64encode(self.blob).decode()} {comment}".rstrip()

    def pem(self) -> str:
        """Return the PEM SubjectPublicKeyInfo, as openssl and cosign require it. PublicKeyError for
        a hardware key, whose signatures neither of them reads."""
        if self.application is not None:
            raise PublicKeyError(f"{self.keyid}: a hardware key has no PEM form: use ssh-keygen")
        body = base64.b64encode(_SPKI_PREFIX + self.raw).decode()
        return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Return whether `signature` is a plain Ed25519 signature (RFC 8032) of `message` by these
        32 bytes. For a decision's signatures use `holds`, which knows both kinds of key."""
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
    """Return a key from its 32 bytes. Refuses encodings under which anybody can sign anything."""
    if len(raw) != 32:
        raise PublicKeyError(f"an Ed25519 public key has 32 bytes, this has {len(raw)}")
    y = int.from_bytes(raw, "little") & ((1 << 255) - 1)
    if y >= _P or y in _SMALL_ORDER_Y:
        raise PublicKeyError("this is a degenerate Ed25519 key: signatures by it prove nothing")
    return PublicKey(raw, application)


def public_from_blob(blob: bytes) -> PublicKey:
    """Return a key from its SSH wire form, exactly (nothing may follow)."""
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
    """Return a key from the first two fields of a `.pub` line."""
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
    """Return (key, comment) of one `.pub` line; exactly one non-empty line is expected."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) != 1:
        raise PublicKeyError(f"expected one public key line, found {len(lines)}")
    fields = lines[0].split(None, 2)
    if len(fields) < 2:
        raise PublicKeyError(f"expected '{KEY_TYPE} AAAA… comment'")
    return public_from_fields(fields[0], fields[1]), fields[2].strip() if len(fields) > 2 else ""


NAMESPACE = "agent-release-decision@reviewer.dev"
"""The purpose of signatures on decisions: one made for a file or a commit is rejected."""
LABELS_NAMESPACE = "agent-release-labels@reviewer.dev"
"""The purpose of signatures on files of labels: none of them is valid for a decision."""
MAX_ARMORED = 64 * 1024
_MAGIC = b"SSHSIG"
_HASHES = {b"sha512": hashlib.sha512, b"sha256": hashlib.sha256}
_PRESENT = 0x01
"""The flag of a hardware key that a person touched it."""
_ARMOR = re.compile(
    rb"\s*-----BEGIN SSH SIGNATURE-----\s+([A-Za-z0-9+/=\s]+?)-----END SSH SIGNATURE-----\s*"
)


class SshSigError(AttestError):
    """Not an SSHSIG in the form written by ssh-keygen."""


def holds(key: PublicKey, signature: bytes, message: bytes) -> bool:
    """Return whether `signature` is by this key over a decision: plain Ed25519, or an SSHSIG blob.

    Never raises. A plain signature has 64 bytes and a blob more, so that one is never the other.
    """
    if len(signature) == 64:
        return key.application is None and key.verifies(signature, message)
    return blob_holds(key, signature, message, NAMESPACE)


def blob_holds(key: PublicKey, blob: bytes, message: bytes, namespace: str) -> bool:
    """Return whether an SSHSIG blob is by this key over `message`, made for `namespace`. Never
    raises."""
    try:
        return _blob_holds(key, blob, message, namespace.encode())
    except (WireError, PublicKeyError):
        return False


def signed_part(namespace: str, message: bytes) -> bytes:
    """Return the bytes that a plain key signs for an SSHSIG over `message`."""
    digest = hashlib.sha512(message).digest()
    parts = (namespace.encode(), b"", b"sha512", digest)
    return _MAGIC + b"".join(map(wire_string, parts))


def sshsig(key: PublicKey, namespace: str, signature: bytes) -> bytes:
    """Return the blob around a plain key's signature of `signed_part`."""
    value = wire_string(key.kind.encode()) + wire_string(signature)
    parts = (key.blob, namespace.encode(), b"", b"sha512", value)
    return _MAGIC + struct.pack(">I", 1) + b"".join(map(wire_string, parts))


def is_blob(signature: bytes) -> bool:
    """Return whether a signature of an envelope is an SSHSIG and not a plain one."""
    return len(signature) != 64 and signature.startswith(_MAGIC)


def dearmored(data: bytes) -> bytes:
    """Return the blob in a `.sig` file; SshSigError when it contains none."""
    match = _ARMOR.fullmatch(data) if len(data) <= MAX_ARMORED else None
    if match is None:
        raise SshSigError("not a signature of ssh-keygen -Y sign (BEGIN SSH SIGNATURE)")
    try:
        blob = base64.b64decode(b"".join(match[1].split()), validate=True)
    except binascii.Error:
        raise SshSigError("the signature is not base64") from None
    if not is_blob(blob):
        raise SshSigError("the signature is no SSHSIG")
    return blob


def armored(blob: bytes) -> str:
    """Return a blob in ssh-keygen's form, for `ssh-keygen -Y verify`."""
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""])


def key_of(blob: bytes) -> PublicKey:
    """Return the key that a blob names (nothing is verified); SshSigError when it names none."""
    try:
        return public_from_blob(_opened(blob).string())
    except (WireError, PublicKeyError) as error:
        raise SshSigError(f"the signature's key cannot be used: {error}") from None


def _opened(blob: bytes) -> WireReader:
    reader = WireReader(blob)
    if reader.take(len(_MAGIC)) != _MAGIC or reader.u32() != 1:
        raise WireError("it is no SSHSIG of version 1")
    return reader


def _blob_holds(key: PublicKey, blob: bytes, message: bytes, purpose: bytes) -> bool:
    reader = _opened(blob)
    named, namespace, reserved = reader.string(), reader.string(), reader.string()
    algorithm, signature = reader.string(), WireReader(reader.string())
    reader.end()
    if named != key.blob or namespace != purpose or reserved:
        return False
    if algorithm not in _HASHES or signature.string() != key.kind.encode():
        return False
    signed = _MAGIC + b"".join(
        wire_string(part)
        for part in (namespace, reserved, algorithm, _HASHES[algorithm](message).digest())
    )
    value = signature.string()
    if key.application is not None:
        flags, counter = signature.take(1), signature.take(4)
        if not flags[0] & _PRESENT:
            return False
        bound = hashlib.sha256(key.application.encode()).digest()
        signed = bound + flags + counter + hashlib.sha256(signed).digest()
    signature.end()
    return key.verifies(value, signed)
