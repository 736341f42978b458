"""Keys for the scenes: made of a name, so that they are the same each time."""

import hashlib
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


def write_key(path: Path) -> None:
    """Write an Ed25519 key as OpenSSH keeps it, with its `.pub` beside it. It protects nothing."""
    private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(path.name.encode()).digest())
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    path.chmod(0o600)
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public + b"\n")
