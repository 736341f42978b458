"""JSON that people write or sign: one meaning per file, or an error; and one form of bytes.

What `trace.strictjson` keeps (repeated members, numbers that no double holds) lets two readers see
two different contracts in the same bytes, so all of it is refused here, with the place. Digests of
what we author are the sha256 of its RFC 8785 bytes. Bytes that others wrote (traces, attachments)
are hashed as they are, never serialized again.
"""

import hashlib
import hmac
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import rfc8785

from reviewer.suite.errors import ContractError, Problem, json_path, shown
from reviewer.trace.strictjson import MAX_DEPTH, RepeatedMembers, first_too_deep, whole_object

MAX_BYTES = 16 * 1024 * 1024
MAX_INT = 2**53 - 1
"""The largest integer that every JSON reader agrees on (RFC 8785, I-JSON)."""

_BOM = b"\xef\xbb\xbf"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _Refusal:
    """A placeholder in the parsed value for a refused number, until its path is known."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class _Parser:
    """Hooks for one reading. The stdlib hooks know no path, so it is found by a walk afterwards."""

    def __init__(self) -> None:
        self.refused = False

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = whole_object(pairs)
        self.refused |= isinstance(members, RepeatedMembers)
        return members

    def constant(self, token: str) -> _Refusal:
        self.refused = True
        return _Refusal(f"{token} is not a JSON number")

    def integer(self, token: str) -> "int | _Refusal":
        # Longer tokens are not converted at all: int() of thousands of digits is slow or refused.
        if len(token) <= 17 and abs(value := int(token)) <= MAX_INT:
            return value
        self.refused = True
        return _Refusal(f"integer beyond {MAX_INT} (2^53-1), which readers round differently")

    def real(self, token: str) -> "float | _Refusal":
        value = float(token)
        if math.isfinite(value):
            return value
        self.refused = True
        return _Refusal("number too large: it would be read as infinity")


def loads(
    data: bytes, file: str = "input", *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH
) -> Any:
    """Return the value of one JSON document in UTF-8.

    Raises ContractError (and nothing else, whatever the bytes) for: more than `max_bytes`, a byte
    order mark, invalid UTF-8, nesting beyond `max_depth`, a syntax error, duplicate members,
    NaN or Infinity, numbers that overflow, integers beyond 2^53-1, lone surrogates.
    """
    if len(data) > max_bytes:
        raise ContractError(file, "$", f"{len(data):,} bytes; at most {max_bytes:,} are read")
    if data.startswith(_BOM):
        raise ContractError(file, "$", "starts with a byte order mark; save it as plain UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ContractError(file, "$", f"not UTF-8: byte {error.start} is invalid") from None
    if first_too_deep(text, max_depth) is not None:
        raise ContractError(file, "$", f"nested deeper than {max_depth} levels")
    parser = _Parser()
    try:
        value = json.loads(
            text,
            object_pairs_hook=parser.pairs,
            parse_constant=parser.constant,
            parse_int=parser.integer,
            parse_float=parser.real,
        )
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        where = f"line {error.lineno} column {error.colno}"
        raise ContractError(file, "$", f"not JSON: {what} at {where}") from None
    if parser.refused or _SURROGATE.search(text):
        problems = list(_problems(file, value))
        if problems:
            raise ContractError.of(problems)
    return value


def load_object(data: bytes, file: str = "input", *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Return the value of a document that must be an object, as `loads` does."""
    value = loads(data, file, max_bytes=max_bytes)
    if not isinstance(value, dict):
        raise ContractError(file, "$", f"must be a JSON object, found {type_name(value)}")
    return value


def type_name(value: object) -> str:
    """Return the JSON word for a value's type."""
    for kind, word in (
        (bool, "true or false"),
        (str, "a string"),
        ((int, float), "a number"),
        ((list, tuple), "a list"),
        (dict, "an object"),
    ):
        if isinstance(value, kind):
            return word
    return "null"


def _problems(file: str, root: Any) -> Iterator[Problem]:
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), root)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, _Refusal):
            yield Problem(file, json_path(path), value.reason)
        elif isinstance(value, str):
            if _lone_surrogate(value):
                yield Problem(file, json_path(path), "half of a surrogate pair is not text")
        elif isinstance(value, dict):
            shadowed = value.shadowed if isinstance(value, RepeatedMembers) else ()
            for name in dict.fromkeys(name for name, _ in shadowed):
                yield Problem(file, json_path((*path, name)), f"member `{shown(name)}` twice")
            for name in value:
                if _lone_surrogate(name):
                    reason = "half of a surrogate pair in a member name"
                    yield Problem(file, json_path((*path, name)), reason)
            stack.extend(((*path, k), v) for k, v in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend(((*path, i), v) for i, v in reversed(list(enumerate(value))))


def _lone_surrogate(text: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in text)


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def canonical_bytes(value: Any, file: str = "value") -> bytes:
    """Return the RFC 8785 bytes of a JSON value. ContractError for a value that has none (NaN,
    integers beyond 2^53-1, lone surrogates, members whose names are not strings, endless
    nesting)."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise ContractError(file, "$", f"has no canonical form: {error}") from None
    except RecursionError:
        raise ContractError(file, "$", "has no canonical form: nested too deep") from None


def start_state_digest(initial_state: Mapping[str, Any]) -> str:
    """Return `sha256:<hex>` of the state that an attempt must start from."""
    return "sha256:" + sha256_hex(canonical_bytes(dict(initial_state), "initial_state"))


def same_digest(a: str, b: str) -> bool:
    """Return whether two sha256 digests are equal, each with or without the `sha256:` prefix."""
    return hmac.compare_digest(_bare(a).encode(), _bare(b).encode())


def _bare(digest: str) -> str:
    return digest.strip().lower().removeprefix("sha256:")
