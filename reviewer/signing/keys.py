"""Turn a key argument into a signer: through ssh-agent, or from a private key file.

`SHA256:…` (a fingerprint) or a `.pub` file means the agent; any other path is a private key, in
OpenSSH or PEM form, encrypted or not. Only Ed25519 keys sign decisions. A hardware (FIDO) key, or a
key that only `ssh-keygen -Y sign` can use, signs through ssh-keygen.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from reviewer.signing.agent import Agent, connect_agent
from reviewer.signing.errors import (
    KeyFileError,
    PassphraseNeeded,
    PublicKeyError,
    SignerRefused,
    plain,
)
from reviewer.signing.key_files import decode, in_the_clear, read, read_public_file
from reviewer.signing.ssh import (
    HARDWARE_TYPE,
    NAMESPACE,
    PublicKey,
    WireError,
    WireReader,
    dearmored,
    public_from_blob,
    public_from_raw,
    signed_part,
    sshsig,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

TOUCH_SECONDS = 120.0
"""Long, since a person has to find the key, and touch it."""


class KeygenSigner(Struct, frozen=True):
    """A key that signs through `ssh-keygen -Y sign`; its signatures are SSHSIG blobs.

    `path` is a private key file (for a hardware key: its handle), or a `.pub` file whose key
    ssh-agent has.
    """

    public: PublicKey
    path: Path

    def sign(self, message: bytes) -> bytes:
        """Return the blob over a decision. Raises as `sign_for`."""
        return self.sign_for(NAMESPACE, message)

    def sign_for(self, namespace: str, message: bytes) -> bytes:
        """Return the blob over `message`. SignerRefused with ssh-keygen's own words when it gives
        none."""
        program = shutil.which("ssh-keygen")
        if program is None:
            raise SignerRefused("ssh-keygen is not installed: it signs with this kind of key")
        command = [program, "-Y", "sign", "-n", namespace, "-f", str(self.path)]
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
    """Return the public half that an OpenSSH private key file contains unencrypted, when the file
    is the handle of a hardware key; None for any other file."""
    clear = in_the_clear(data)
    try:
        if clear is None or WireReader(clear.blob).string() != HARDWARE_TYPE.encode():
            return None
    except WireError:
        return None
    try:
        return public_from_blob(clear.blob)
    except PublicKeyError as error:
        raise KeyFileError(f"damaged hardware key: {error}") from None


AskPassphrase = Callable[[str], str | None]
"""Called with the key's path, returns its passphrase, or None when the person gives up."""

_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


class Signer(Protocol):
    """Anything that signs with one Ed25519 key."""

    @property
    def public(self) -> PublicKey: ...

    def sign(self, message: bytes) -> bytes: ...


class AgentSigner(Struct, frozen=True):
    """A key that stays inside ssh-agent."""

    public: PublicKey
    agent: Agent

    def sign(self, message: bytes) -> bytes:
        return self.agent.sign(self.public, message)


class FileSigner(Struct, frozen=True):
    """A private key read from a file. Not shown by repr."""

    public: PublicKey
    private: "Ed25519PrivateKey"

    def __repr__(self) -> str:
        return f"FileSigner({self.public.keyid})"

    def sign(self, message: bytes) -> bytes:
        return self.private.sign(message)


def sign_for(signer: Signer, namespace: str, message: bytes) -> bytes:
    """Return an SSHSIG blob over `message`, as `ssh-keygen -Y sign -n namespace` makes it, by any
    key. Raises as the key does."""
    if isinstance(signer, KeygenSigner):
        return signer.sign_for(namespace, message)
    return sshsig(signer.public, namespace, signer.sign(signed_part(namespace, message)))


def load_signer(
    key: str,
    *,
    ask_passphrase: AskPassphrase | None = None,
    passphrase_env: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Signer:
    """Return the signer of a key argument. An encrypted file takes its passphrase from the
    environment variable `passphrase_env` when that is named, else from `ask_passphrase`. Errors:
    AgentError for the agent, KeyFileError (and its kinds PassphraseNeeded, WrongPassphrase) for
    files; each says what to do.
    """
    env = os.environ if environ is None else environ
    if _FINGERPRINT.fullmatch(key):
        agent = connect_agent(env)
        return AgentSigner(agent.find(key).public, agent)
    if key.startswith("SHA256:"):
        raise KeyFileError(
            f"{plain(key)}: not a fingerprint; it has 43 characters after SHA256:, as printed by"
            " ssh-keygen -lf"
        )
    path = Path(key).expanduser() if key.startswith("~") else Path(key)
    if key.endswith(".pub"):
        public = read_public_file(path)
        if public.application is not None:
            return KeygenSigner(public, path)
        agent = connect_agent(env)
        return AgentSigner(agent.find(public.keyid).public, agent)
    return _load_file(path, ask_passphrase, passphrase_env, env)


def _load_file(
    path: Path,
    ask: AskPassphrase | None,
    passphrase_env: str | None,
    env: Mapping[str, str],
) -> Signer:
    data = read(path, private=True)
    if (hardware := hardware_key(data)) is not None:
        return KeygenSigner(hardware, path)
    private = decode(data, None, path)
    if private is None:
        private = decode(data, _passphrase(path, ask, passphrase_env, env), path)
    if private is None:
        raise PassphraseNeeded(f"{plain(path)}: the key is encrypted; its passphrase is empty")
    return FileSigner(public_from_raw(private.public_key().public_bytes_raw()), private)


def _passphrase(
    path: Path, ask: AskPassphrase | None, name: str | None, env: Mapping[str, str]
) -> bytes:
    shown = plain(path)
    if name is not None:
        if name not in env:
            raise PassphraseNeeded(f"{shown}: the key is encrypted and ${plain(name)} is not set")
        return os.fsencode(env[name])
    if ask is None:
        raise PassphraseNeeded(
            f"{shown}: the key is encrypted; name the variable that holds its passphrase, or add"
            f" it with ssh-add and sign with {shown}.pub"
        )
    given = ask(str(path))
    if given is None:
        raise PassphraseNeeded(f"{shown}: the key is encrypted and no passphrase was given")
    return given.encode("utf-8", "surrogateescape")
