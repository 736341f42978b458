"""Signing with a key that only ssh-keygen can use: a hardware (FIDO) key, and whatever its owner
keeps behind `ssh-keygen -Y sign`."""

import base64
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from reviewer.signing.errors import KeyFileError, PublicKeyError, SignerRefused, plain
from reviewer.signing.public import HARDWARE_TYPE, PublicKey, public_from_blob
from reviewer.signing.sshsig import NAMESPACE, dearmored
from reviewer.signing.wire import WireError, WireReader

TOUCH_SECONDS = 120.0
"""A person has to find the key, and touch it."""
_OPENSSH = re.compile(
    rb"-----BEGIN OPENSSH PRIVATE KEY-----\s+([A-Za-z0-9+/=\s]+?)-----END", re.DOTALL
)
_MAGIC = b"openssh-key-v1\0"


@dataclass(frozen=True)
class KeygenSigner:
    """A key that signs through `ssh-keygen -Y sign`; its signatures are SSHSIG blobs.

    `path` is a private key file (of a hardware key: its handle), or a `.pub` file whose key
    ssh-agent holds.
    """

    public: PublicKey
    path: Path

    def sign(self, message: bytes) -> bytes:
        """The blob over `message`. SignerRefused with ssh-keygen's own words when it gives none."""
        program = shutil.which("ssh-keygen")
        if program is None:
            raise SignerRefused("ssh-keygen is not installed: it signs with this kind of key")
        command = [program, "-Y", "sign", "-n", NAMESPACE, "-f", str(self.path)]
        try:
            done = subprocess.run(
                command, input=message, capture_output=True, timeout=TOUCH_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise SignerRefused(f"ssh-keygen: no signature in {TOUCH_SECONDS:g} seconds") from None
        except OSError as error:
            raise SignerRefused(f"ssh-keygen: {plain(error.strerror or error)}") from None
        if done.returncode != 0:
            words = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise SignerRefused(f"ssh-keygen: {plain(words[-1] if words else 'it gave no reason')}")
        return dearmored(done.stdout)


def hardware_key(data: bytes) -> PublicKey | None:
    """The public half that an OpenSSH private key file carries in the clear, when the file is the
    handle of a hardware key; None for any other file."""
    match = _OPENSSH.search(data)
    if match is None:
        return None
    try:
        reader = WireReader(base64.b64decode(b"".join(match[1].split())))
        if reader.take(len(_MAGIC)) != _MAGIC:
            return None
        for _ in ("cipher", "kdf", "kdf options"):
            reader.string()
        if reader.u32() != 1:
            return None
        blob = reader.string()
        if WireReader(blob).string() != HARDWARE_TYPE.encode():
            return None
    except (WireError, ValueError):
        return None
    try:
        return public_from_blob(blob)
    except PublicKeyError as error:
        raise KeyFileError(f"damaged hardware key: {error}") from None
