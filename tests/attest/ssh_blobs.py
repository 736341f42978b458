"""SSH signatures and hardware keys made in software, byte by byte as OpenSSH describes them."""

import hashlib
import struct
from typing import Any

from reviewer.signing.ssh import NAMESPACE, PublicKey, public_from_raw


def string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


class HardwareKey:
    """What a FIDO token does, without the token. `flags` 1 says that somebody touched it."""

    def __init__(self, private: Any, application: str = "ssh:") -> None:
        self._private = private
        self.public: PublicKey = public_from_raw(
            private.public_key().public_bytes_raw(), application
        )

    def sign(self, message: bytes, *, flags: int = 1, counter: int = 7, **changes: Any) -> bytes:
        """The SSHSIG blob over a message."""
        signed = to_be_signed(message, **changes)
        bound = hashlib.sha256((self.public.application or "").encode()).digest()
        rest = bytes([flags]) + struct.pack(">I", counter)
        signature = self._private.sign(bound + rest + hashlib.sha256(signed).digest())
        return blob(self.public, string(signature) + rest, **changes)


def plain_blob(signer: Any, message: bytes, **changes: Any) -> bytes:
    """An SSHSIG by an ordinary key; `changes` spoil it."""
    return blob(signer.public, string(signer.sign(to_be_signed(message, **changes))), **changes)


def to_be_signed(
    message: bytes,
    *,
    namespace: str = NAMESPACE,
    reserved: bytes = b"",
    algorithm: str = "sha512",
    **_: Any,
) -> bytes:
    digest = hashlib.new(algorithm, message).digest()
    parts = (namespace.encode(), reserved, algorithm.encode(), digest)
    return b"SSHSIG" + b"".join(string(part) for part in parts)


def blob(
    public: PublicKey,
    signature: bytes,
    *,
    namespace: str = NAMESPACE,
    reserved: bytes = b"",
    algorithm: str = "sha512",
    version: int = 1,
    kind: str = "",
    key: bytes | None = None,
    tail: bytes = b"",
) -> bytes:
    parts = (
        public.blob if key is None else key,
        namespace.encode(),
        reserved,
        algorithm.encode(),
        string((kind or public.kind).encode()) + signature,
    )
    return b"SSHSIG" + struct.pack(">I", version) + b"".join(string(part) for part in parts) + tail
