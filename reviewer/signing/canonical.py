"""Strict JSON in, RFC 8785 out, as `reviewer.suite` does both, with this package's errors."""

import re
from typing import Any

from reviewer.signing.errors import AttestError
from reviewer.suite.canonical import canonical_bytes, sha256_hex
from reviewer.suite.errors import ContractError
from reviewer.suite.strict_json import load_object as load_strict

__all__ = ["SHA256_HEX", "JsonError", "canonical", "load_object", "sha256_hex"]

SHA256_HEX = re.compile(r"[0-9a-f]{64}")


class JsonError(AttestError):
    """Not strict JSON (encoding, syntax, depth, duplicates, numbers), or without canonical form."""


def load_object(data: bytes, what: str) -> dict[str, Any]:
    """The object in `data`; JsonError names `what`."""
    try:
        return load_strict(data, what)
    except ContractError as error:
        raise JsonError(str(error)) from None


def canonical(value: Any, what: str) -> bytes:
    """RFC 8785 bytes of `value`; JsonError names `what`."""
    try:
        return canonical_bytes(value, what)
    except ContractError as error:
        raise JsonError(str(error)) from None
