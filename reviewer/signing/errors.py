"""The errors of this package, and strict JSON in and RFC 8785 out that raise them.

Every way in which signing or reading a decision can be refused is an AttestError. Messages are safe
to draw on a terminal: hostile text in them has passed through `plain`.
"""

import re
from typing import Any

from reviewer.suite.errors import ContractError, shown
from reviewer.suite.strict_json import canonical_bytes
from reviewer.suite.strict_json import load_object as load_strict


class AttestError(ValueError):
    """Base: the input, the key or the signature is not usable; the message says the way out."""


class EnvelopeError(AttestError):
    """The bytes are not a strict DSSE envelope with the payload type of a decision."""


class StatementError(AttestError):
    """The payload is not a valid release decision, or the facts do not allow it."""


class SignersError(AttestError):
    """The trust file (store/signers) cannot be used; the message names the line."""


class PublicKeyError(AttestError):
    """Not an Ed25519 public key as OpenSSH writes it."""


class KeyFileError(AttestError):
    """A key file is missing, unreadable, exposed, damaged, or of another kind."""


class PassphraseNeeded(KeyFileError):
    """The key file is encrypted and no passphrase was given."""


class WrongPassphrase(KeyFileError):
    """A passphrase was given and does not open the key file."""


class AgentError(AttestError):
    """ssh-agent could not be used."""


class AgentUnavailable(AgentError):
    """No agent: SSH_AUTH_SOCK is unset, or nothing answers there in time."""


class AgentRefused(AgentError):
    """The agent refused: it is locked, confirmation was declined, or the key may not sign this."""


class AgentKeyMissing(AgentError):
    """The agent does not have the requested key."""


class AgentProtocolError(AgentError):
    """The agent's answer violates the protocol."""


class PayloadMismatch(AttestError):
    """The decision to be co-signed is not the one re-derived from the store."""


class SignerRefused(AttestError):
    """This key's signature would not count on this decision."""


def plain(text: object, limit: int = 120) -> str:
    """Return `text` in a form for a message: unprintable characters are escaped, and it is cut to
    `limit`."""
    return shown(str(text), limit)


SHA256_HEX = re.compile(r"[0-9a-f]{64}")


class JsonError(AttestError):
    """Not strict JSON (encoding, syntax, depth, duplicates, numbers), or without canonical form."""


def load_object(data: bytes, what: str) -> dict[str, Any]:
    """Return the object in `data`; JsonError names `what`."""
    try:
        return load_strict(data, what)
    except ContractError as error:
        raise JsonError(str(error)) from None


def canonical(value: Any, what: str) -> bytes:
    """Return RFC 8785 bytes of `value`; JsonError names `what`."""
    try:
        return canonical_bytes(value, what)
    except ContractError as error:
        raise JsonError(str(error)) from None
