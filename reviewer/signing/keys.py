"""A key argument becomes a signer: through ssh-agent, or from a private key file.

`SHA256:…` (a fingerprint) or a `.pub` file means the agent; any other path is a private key, in
OpenSSH or PEM form, encrypted or not. Only Ed25519 keys sign decisions. A hardware (FIDO) key, or a
key that `ssh-keygen -Y sign` alone can use, signs through ssh-keygen.

The agent signs the bytes it is given, so the result is a plain Ed25519 signature.
(draft-ietf-sshm-ssh-agent: messages 11/12 list, 13/14 sign, 5 failure; each is u32 length, type.)
"""

import base64
import os
import re
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from reviewer.signing.errors import (
    AgentError,
    AgentKeyMissing,
    AgentProtocolError,
    AgentRefused,
    AgentUnavailable,
    KeyFileError,
    PassphraseNeeded,
    PublicKeyError,
    SignerRefused,
    WrongPassphrase,
    plain,
)
from reviewer.signing.ssh import (
    HARDWARE_TYPE,
    KEY_TYPE,
    NAMESPACE,
    PublicKey,
    WireError,
    WireReader,
    dearmored,
    parse_public_line,
    public_from_blob,
    public_from_raw,
    wire_string,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

LIST_SECONDS = 5.0
SIGN_SECONDS = 60.0
"""A person may have to confirm a signature (`ssh-add -c`)."""

MAX_MESSAGE = 256 * 1024
_FAILURE, _LIST, _IDENTITIES, _SIGN, _SIGNED = 5, 11, 12, 13, 14


@dataclass(frozen=True)
class AgentKey:
    """An Ed25519 identity the agent holds; `comment` is safe to draw."""

    public: PublicKey
    comment: str


@dataclass(frozen=True)
class Agent:
    """The agent listening on the Unix socket `path`. Each question opens its own connection."""

    path: str
    list_seconds: float = LIST_SECONDS
    sign_seconds: float = SIGN_SECONDS

    def keys(self) -> list[AgentKey]:
        """Return its usable Ed25519 keys, in its order; keys of other kinds are left out."""
        answer = self._ask(bytes([_LIST]), _IDENTITIES, self.list_seconds)
        found = []
        try:
            for _ in range(answer.u32()):
                blob, comment = answer.string(), answer.string()
                try:
                    key = public_from_blob(blob)
                except PublicKeyError:
                    continue
                if key.application is not None:
                    continue  # a hardware key signs through ssh-keygen alone
                found.append(AgentKey(key, plain(comment.decode("utf-8", "replace"))))
            answer.end()
        except WireError as error:
            raise AgentProtocolError(f"ssh-agent: damaged list of keys: {error}") from None
        return found

    def find(self, keyid: str) -> AgentKey:
        """Return the key with this fingerprint; AgentKeyMissing says how to add it."""
        held = self.keys()
        for one in held:
            if one.public.keyid == keyid:
                return one
        raise AgentKeyMissing(
            f"ssh-agent does not hold {plain(keyid)} (it holds {len(held)} Ed25519"
            f" key{'' if len(held) == 1 else 's'}); add it with ssh-add"
        )

    def sign(self, key: PublicKey, message: bytes) -> bytes:
        """Return the 64-byte Ed25519 signature of `message` by `key`."""
        request = bytes([_SIGN]) + wire_string(key.blob) + wire_string(message) + bytes(4)
        if len(request) > MAX_MESSAGE:
            raise AgentError(
                f"ssh-agent takes {MAX_MESSAGE} bytes at once and this decision has"
                f" {len(message)}; sign it with the private key file instead"
            )
        answer = self._ask(request, _SIGNED, self.sign_seconds)
        try:
            inner = WireReader(answer.string())
            answer.end()
            kind, signature = inner.string(), inner.string()
            inner.end()
        except WireError as error:
            raise AgentProtocolError(f"ssh-agent: damaged signature: {error}") from None
        if kind != KEY_TYPE.encode() or len(signature) != 64:
            raise AgentProtocolError(f"ssh-agent: its signature is not {KEY_TYPE}")
        return signature

    def _ask(self, request: bytes, expected: int, seconds: float) -> WireReader:
        deadline = time.monotonic() + seconds
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(seconds)
                connection.connect(self.path)
                connection.sendall(wire_string(request))
                size = int.from_bytes(_receive(connection, 4, deadline), "big")
                if not 1 <= size <= MAX_MESSAGE:
                    raise AgentProtocolError(f"ssh-agent: an answer of {size} bytes")
                answer = WireReader(_receive(connection, size, deadline))
        except TimeoutError:
            raise AgentUnavailable(f"ssh-agent: no answer within {seconds:g} seconds") from None
        except OSError as error:
            raise AgentUnavailable(
                f"ssh-agent: {plain(self.path)}: {error.strerror or plain(error)};"
                " start one with: eval $(ssh-agent)"
            ) from None
        kind = answer.byte()
        if kind == _FAILURE:
            raise AgentRefused(
                "ssh-agent refused: it may be locked, the confirmation was declined, or the key"
                " may not sign this"
            )
        if kind != expected:
            raise AgentProtocolError(f"ssh-agent: answer of type {kind}, expected {expected}")
        return answer


def connect_agent(environ: Mapping[str, str] | None = None) -> Agent:
    """Return the agent of SSH_AUTH_SOCK; AgentUnavailable when it is not set."""
    path = (os.environ if environ is None else environ).get("SSH_AUTH_SOCK", "")
    if not path:
        raise AgentUnavailable(
            "no ssh-agent: SSH_AUTH_SOCK is not set; start one with: eval $(ssh-agent), then"
            " ssh-add, or sign with a private key file"
        )
    return Agent(path)


def _receive(connection: socket.socket, count: int, deadline: float) -> bytes:
    received = bytearray()
    while len(received) < count:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        piece = connection.recv(count - len(received))
        if not piece:
            raise AgentProtocolError("ssh-agent: it hung up in the middle of an answer")
        received += piece
    return bytes(received)


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
        """Return the blob over `message`. SignerRefused with ssh-keygen's own words when it gives
        none."""
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
    """Return the public half that an OpenSSH private key file carries in the clear, when the file
    is the handle of a hardware key; None for any other file."""
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


MAX_KEY_FILE_BYTES = 64 * 1024
AskPassphrase = Callable[[str], str | None]
"""Given the key's path, returns its passphrase, or None when the person gives up."""

_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


class Signer(Protocol):
    """Anything that signs with one Ed25519 key."""

    @property
    def public(self) -> PublicKey: ...

    def sign(self, message: bytes) -> bytes: ...


@dataclass(frozen=True)
class AgentSigner:
    """A key that stays inside ssh-agent."""

    public: PublicKey
    agent: Agent

    def sign(self, message: bytes) -> bytes:
        return self.agent.sign(self.public, message)


@dataclass(frozen=True, repr=False)
class FileSigner:
    """A private key read from a file. Not shown by repr."""

    public: PublicKey
    private: "Ed25519PrivateKey"

    def sign(self, message: bytes) -> bytes:
        return self.private.sign(message)


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


def encrypted(path: Path) -> bool:
    """Return whether a private key file wants a passphrase. KeyFileError when it cannot be read."""
    data = _read(path, private=True)
    match = _OPENSSH.search(data)
    if match is None:
        return b"ENCRYPTED" in data
    try:
        reader = WireReader(base64.b64decode(b"".join(match[1].split())))
        return reader.take(len(_MAGIC)) == _MAGIC and reader.string() != b"none"
    except (WireError, ValueError):
        return False  # loading it says what is damaged


def new_key(passphrase: str, comment: str) -> tuple[bytes, bytes]:
    """Return a new Ed25519 key as OpenSSH writes it: the private file's bytes, under `passphrase`
    unless that is empty, and those of its .pub file. No other program is told the passphrase."""
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
    text = _read(path, private=False).decode("utf-8", "replace")
    try:
        return parse_public_line(text)[0]
    except PublicKeyError as error:
        raise KeyFileError(f"{plain(path)}: {error}") from None


def _load_file(
    path: Path,
    ask: AskPassphrase | None,
    passphrase_env: str | None,
    env: Mapping[str, str],
) -> Signer:
    data = _read(path, private=True)
    if (hardware := hardware_key(data)) is not None:
        return KeygenSigner(hardware, path)
    private = _decode(data, None, path)
    if private is None:
        private = _decode(data, _passphrase(path, ask, passphrase_env, env), path)
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


def _decode(data: bytes, passphrase: bytes | None, path: Path) -> "Ed25519PrivateKey | None":
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
        # Raised for "password needed" only: one is never given to a key that opened without.
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


def _read(path: Path, *, private: bool) -> bytes:
    shown = plain(path)
    try:
        # Not blocking, so that a FIFO is refused below instead of being waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise KeyFileError(f"{shown}: no such key file") from None
    except PermissionError:
        raise KeyFileError(f"{shown}: may not be read by this user") from None
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
