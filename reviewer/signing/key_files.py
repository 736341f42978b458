"""Private key files and their `.pub` files: read them, and create a key.

Only Ed25519 keys sign decisions. A private file that others may read is refused.
"""

import base64
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reviewer.signing.errors import KeyFileError, PublicKeyError, WrongPassphrase, plain
from reviewer.signing.ssh import (
    PublicKey,
    WireError,
    WireReader,
    parse_public_line,
    public_from_blob,
    public_from_raw,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MAX_KEY_FILE_BYTES = 64 * 1024
_OPENSSH = re.compile(
    rb"-----BEGIN OPENSSH PRIVATE KEY-----\s+([A-Za-z0-9+/=\s]+?)-----END", re.DOTALL
)
_MAGIC = b"openssh-key-v1\0"


class OpenSSHFile(NamedTuple):
    """The unencrypted part of an OpenSSH private key file: whether it is encrypted, and the wire
    form of its public half."""

    encrypted: bool
    blob: bytes


def in_the_clear(data: bytes) -> OpenSSHFile | None:
    """Return what can be read of an OpenSSH private key file without its passphrase; None for any
    other file, and for a damaged one (loading it says what is damaged)."""
    match = _OPENSSH.search(data)
    if match is None:
        return None
    try:
        reader = WireReader(base64.b64decode(b"".join(match[1].split())))
        if reader.take(len(_MAGIC)) != _MAGIC:
            return None
        cipher, _, _ = (reader.string() for _ in ("cipher", "kdf", "kdf options"))
        if reader.u32() != 1:
            return None
        return OpenSSHFile(cipher != b"none", reader.string())
    except (WireError, ValueError):
        return None


def encrypted(path: Path) -> bool:
    """Return whether a private key file needs a passphrase. KeyFileError when it cannot be read."""
    data = read(path, private=True)
    clear = in_the_clear(data)
    return b"ENCRYPTED" in data if clear is None else clear.encrypted


def public_half(path: Path) -> PublicKey | None:
    """Return the public key of a private file, if the file states it without its passphrase.
    KeyFileError when it cannot be read, or contains a key of another kind."""
    clear = in_the_clear(read(path, private=True))
    if clear is None:
        return None
    try:
        return public_from_blob(clear.blob)
    except PublicKeyError as error:
        raise KeyFileError(f"{plain(path)}: {error}") from None


def new_key(passphrase: str, comment: str) -> tuple[bytes, bytes]:
    """Return a new Ed25519 key in OpenSSH's format: the private file's bytes, encrypted with
    `passphrase` unless that is empty, and those of its .pub file. No other program gets the
    passphrase."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    how: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        how = serialization.BestAvailableEncryption(passphrase.encode("utf-8", "surrogateescape"))
    private = Ed25519PrivateKey.generate()
    public = public_from_raw(private.public_key().public_bytes_raw())
    form = serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH
    return private.private_bytes(*form, how), f"{public.line(comment)}\n".encode()


def read_public_file(path: Path) -> PublicKey:
    """Return the key of a `.pub` file."""
    text = read(path, private=False).decode("utf-8", "replace")
    try:
        return parse_public_line(text)[0]
    except PublicKeyError as error:
        raise KeyFileError(f"{plain(path)}: {error}") from None


def decode(data: bytes, passphrase: bytes | None, path: Path) -> "Ed25519PrivateKey | None":
    """Return the private key, or None when it is encrypted and no passphrase was given."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    shown = plain(path)
    openssh = b"-----BEGIN OPENSSH PRIVATE KEY-----" in data
    if not openssh and b"PRIVATE KEY-----" not in data:
        raise KeyFileError(f"{shown}: not an OpenSSH or PEM private key")
    load = serialization.load_ssh_private_key if openssh else serialization.load_pem_private_key
    try:
        private = load(data, passphrase)
    except TypeError:
        # Raised only for "password needed": none is passed for a key that opened without one.
        return None
    except UnsupportedAlgorithm as error:
        raise KeyFileError(f"{shown}: cannot be used: {plain(error)}") from None
    except ValueError as error:
        if passphrase is not None:
            raise WrongPassphrase(f"{shown}: wrong passphrase") from None
        raise KeyFileError(f"{shown}: damaged key file: {plain(error)}") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise KeyFileError(f"{shown}: not an Ed25519 key; make one with: ssh-keygen -t ed25519")
    return private


def read(path: Path, *, private: bool) -> bytes:
    shown = plain(path)
    try:
        # Not blocking, so that a FIFO is refused below instead of being waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise KeyFileError(f"{shown}: no such key file") from None
    except PermissionError:
        raise KeyFileError(f"{shown}: this user may not read it") from None
    except (OSError, ValueError) as error:
        raise KeyFileError(f"{shown}: {_reason(error)}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise KeyFileError(f"{shown}: not a file")
        if private and status.st_uid == os.getuid() and status.st_mode & 0o077:
            raise KeyFileError(
                f"{shown}: others may read this private key (mode"
                f" {stat.S_IMODE(status.st_mode):04o}); run chmod 600 on it"
            )
        with os.fdopen(descriptor, "rb", closefd=False) as handle:
            data = handle.read(MAX_KEY_FILE_BYTES + 1)
    except OSError as error:
        raise KeyFileError(f"{shown}: {_reason(error)}") from None
    finally:
        os.close(descriptor)
    if len(data) > MAX_KEY_FILE_BYTES:
        raise KeyFileError(f"{shown}: larger than any key file")
    return data


def _reason(error: OSError | ValueError) -> str:
    return plain(error.strerror if isinstance(error, OSError) and error.strerror else error)
