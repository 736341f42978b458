"""Digests of what we author: RFC 8785 bytes, sha256.

Bytes that others wrote (traces, attachments) are hashed as they are, never re-serialised.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

import rfc8785

from reviewer.suite.errors import ContractError


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def canonical_bytes(value: Any, file: str = "value") -> bytes:
    """RFC 8785 bytes of a JSON value. ContractError for what has none (NaN, integers beyond
    2^53-1, lone surrogates, members whose names are not strings, endless nesting)."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise ContractError(file, "$", f"has no canonical form: {error}") from None
    except RecursionError:
        raise ContractError(file, "$", "has no canonical form: nested too deep") from None


def start_state_digest(initial_state: Mapping[str, Any]) -> str:
    """`sha256:<hex>` of the state an attempt must start from."""
    return "sha256:" + sha256_hex(canonical_bytes(dict(initial_state), "initial_state"))


def same_digest(a: str, b: str) -> bool:
    """Whether two sha256 digests are equal, each with or without the `sha256:` prefix."""
    return hmac.compare_digest(_bare(a).encode(), _bare(b).encode())


def _bare(digest: str) -> str:
    return digest.strip().lower().removeprefix("sha256:")
