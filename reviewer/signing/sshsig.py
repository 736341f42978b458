"""SSHSIG: the signatures of `ssh-keygen -Y sign`, which hardware keys and strict agents can make.

The blob is "SSHSIG", u32 1, string public key, string namespace, string reserved, string hash
algorithm, string signature; what is signed is "SSHSIG" and the middle four with the message's hash
in place of the signature (OpenSSH PROTOCOL.sshsig). A hardware key signs
sha256(application) || flags || counter || sha256(that) (PROTOCOL.u2f).
"""

import base64
import binascii
import hashlib
import re

from reviewer.signing.errors import AttestError, PublicKeyError
from reviewer.signing.public import PublicKey, public_from_blob
from reviewer.signing.wire import WireError, WireReader, wire_string

NAMESPACE = "agent-release-decision@reviewer.dev"
"""What our signatures are for: one made for a file or a commit is none of ours."""
MAX_ARMORED = 64 * 1024
_MAGIC = b"SSHSIG"
_HASHES = {b"sha512": hashlib.sha512, b"sha256": hashlib.sha256}
_PRESENT = 0x01
"""The flag of a hardware key that somebody touched it."""
_ARMOR = re.compile(
    rb"\s*-----BEGIN SSH SIGNATURE-----\s+([A-Za-z0-9+/=\s]+?)-----END SSH SIGNATURE-----\s*"
)


class SshSigError(AttestError):
    """Not an SSHSIG as ssh-keygen writes it."""


def holds(key: PublicKey, signature: bytes, message: bytes) -> bool:
    """Whether `signature` is this key's over `message`: plain Ed25519, or an SSHSIG blob of ours.

    Never raises. A plain signature has 64 bytes and a blob more, so that one is never the other.
    """
    if len(signature) == 64:
        return key.application is None and key.verifies(signature, message)
    try:
        return _blob_holds(key, signature, message)
    except (WireError, PublicKeyError):
        return False


def is_blob(signature: bytes) -> bool:
    """Whether a signature of an envelope is an SSHSIG and not a plain one."""
    return len(signature) != 64 and signature.startswith(_MAGIC)


def dearmored(data: bytes) -> bytes:
    """The blob in a `.sig` file; SshSigError when it holds none."""
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
    """A blob as ssh-keygen writes it, for `ssh-keygen -Y verify`."""
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""])


def key_of(blob: bytes) -> PublicKey:
    """The key a blob says it is by (nothing is verified); SshSigError when it names none."""
    try:
        return public_from_blob(_opened(blob).string())
    except (WireError, PublicKeyError) as error:
        raise SshSigError(f"the signature's key cannot be used: {error}") from None


def _opened(blob: bytes) -> WireReader:
    reader = WireReader(blob)
    if reader.take(len(_MAGIC)) != _MAGIC or reader.u32() != 1:
        raise WireError("it is no SSHSIG of version 1")
    return reader


def _blob_holds(key: PublicKey, blob: bytes, message: bytes) -> bool:
    reader = _opened(blob)
    named, namespace, reserved = reader.string(), reader.string(), reader.string()
    algorithm, signature = reader.string(), WireReader(reader.string())
    reader.end()
    if named != key.blob or namespace != NAMESPACE.encode() or reserved:
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
