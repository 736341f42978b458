"""ssh-agent: its keys, and their plain Ed25519 signatures.

The agent signs the bytes it is given. (draft-ietf-sshm-ssh-agent: messages 11/12 list, 13/14 sign,
5 failure; each is u32 length, type.)
"""

import os
import socket
import time
from collections.abc import Mapping

from msgspec import Struct

from reviewer.signing.errors import (
    AgentError,
    AgentKeyMissing,
    AgentProtocolError,
    AgentRefused,
    AgentUnavailable,
    PublicKeyError,
    plain,
)
from reviewer.signing.ssh import (
    KEY_TYPE,
    PublicKey,
    WireError,
    WireReader,
    public_from_blob,
    wire_string,
)

LIST_SECONDS = 5.0
SIGN_SECONDS = 60.0
"""Long, since a person may have to confirm a signature (`ssh-add -c`)."""

MAX_MESSAGE = 256 * 1024
_FAILURE, _LIST, _IDENTITIES, _SIGN, _SIGNED = 5, 11, 12, 13, 14


class AgentKey(Struct, frozen=True):
    """An Ed25519 identity of the agent; `comment` is safe to draw."""

    public: PublicKey
    comment: str


class Agent(Struct, frozen=True):
    """The agent listening on the Unix socket `path`. Each request opens its own connection."""

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
                    continue  # a hardware key signs only through ssh-keygen
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
                f"ssh-agent accepts at most {MAX_MESSAGE} bytes and this decision has "
                f"{len(message)}; sign it with the private key file instead"
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
            raise AgentProtocolError("ssh-agent: closed the connection in the middle of an answer")
        received += piece
    return bytes(received)
