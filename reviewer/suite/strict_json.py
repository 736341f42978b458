"""Strict reading of JSON that people write or sign: one meaning per file, or an error.

The stdlib parser takes the last of two equal members, reads `1e400` as infinity and accepts
`NaN`. Each of these lets two readers see two different contracts in the same bytes, so all are
refused here, with the place.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from reviewer.suite.errors import ContractError, Problem, json_path, shown

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64
MAX_INT = 2**53 - 1
"""The largest integer that every JSON reader agrees on (RFC 8785, I-JSON)."""

_BOM = b"\xef\xbb\xbf"
# The closing quote is optional so that an unterminated string is passed over once, not rescanned.
_STRUCTURE = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _Refused:
    """Stands in the parsed value where a number was refused, until its path is known."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class _Parser:
    """Hooks for one reading. The stdlib hooks know no path, so it is found by a walk afterwards."""

    def __init__(self) -> None:
        self.duplicates: dict[int, tuple[dict[str, Any], list[str]]] = {}
        self.refused = False

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            twice = [name for name, count in counts.items() if count > 1]
            self.duplicates[id(members)] = (members, twice)
        return members

    def constant(self, token: str) -> _Refused:
        self.refused = True
        return _Refused(f"{token} is not a JSON number")

    def integer(self, token: str) -> "int | _Refused":
        # Longer tokens are not converted at all: int() of thousands of digits is slow or refused.
        if len(token) <= 17 and abs(value := int(token)) <= MAX_INT:
            return value
        self.refused = True
        return _Refused(f"integer beyond {MAX_INT} (2^53-1), which readers round differently")

    def real(self, token: str) -> "float | _Refused":
        value = float(token)
        if math.isfinite(value):
            return value
        self.refused = True
        return _Refused("number too large: it would be read as infinity")


def loads(
    data: bytes, file: str = "input", *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH
) -> Any:
    """The value of one JSON document in UTF-8.

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
    if _deeper_than(data, max_depth):
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
    if parser.duplicates or parser.refused or _SURROGATE.search(text):
        problems = list(_problems(file, value, parser))
        if problems:
            raise ContractError.of(problems)
    return value


def load_object(data: bytes, file: str = "input", *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """As `loads`, for a document that must be an object."""
    value = loads(data, file, max_bytes=max_bytes)
    if not isinstance(value, dict):
        raise ContractError(file, "$", f"must be a JSON object, found {type_name(value)}")
    return value


def type_name(value: object) -> str:
    """The JSON word for a value's type."""
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


def _deeper_than(data: bytes, limit: int) -> bool:
    if data.count(b"[") + data.count(b"{") <= limit:
        return False
    depth = 0
    for match in _STRUCTURE.finditer(data):
        token = data[match.start()]
        if token in b"[{":
            depth += 1
            if depth > limit:
                return True
        elif token in b"]}":
            depth -= 1
    return False


def _problems(file: str, root: Any, parser: _Parser) -> Iterator[Problem]:
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), root)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, _Refused):
            yield Problem(file, json_path(path), value.reason)
        elif isinstance(value, str):
            if _lone_surrogate(value):
                yield Problem(file, json_path(path), "half of a surrogate pair is not text")
        elif isinstance(value, dict):
            for name in parser.duplicates.get(id(value), (value, []))[1]:
                yield Problem(file, json_path((*path, name)), f"member `{shown(name)}` twice")
            for name in value:
                if _lone_surrogate(name):
                    reason = "half of a surrogate pair in a member's name"
                    yield Problem(file, json_path((*path, name)), reason)
            stack.extend(((*path, k), v) for k, v in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend(((*path, i), v) for i, v in reversed(list(enumerate(value))))


def _lone_surrogate(text: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in text)
