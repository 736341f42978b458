"""Python values that a tool wrote as text (`repr`): read as data, never run as code."""

import ast
import re
from typing import Any

MOST = 1 << 20
DEEPEST = 40
_STRING = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
# Nothing but literals, brackets and separators gets through to the parser.
_LITERAL = re.compile(
    rf"(?P<blank>\s++)|(?P<string>b?(?:{_STRING}))|(?P<open>[\[({{])|(?P<close>[\])}}])"
    r"|(?P<mark>[,:])|(?P<value>True|False|None|-?\d++(?:\.\d*+)?(?:e[+-]?\d++)?)",
    re.DOTALL,
)
_PIECE = re.compile(rf"{_STRING}|[(\[{{]|[)\]}}]|,|[^'\"()\[\]{{}},]++|['\"]", re.DOTALL)
_NAMED = re.compile(r"\s*([A-Za-z_]\w{0,60})=(.*)\Z", re.DOTALL)


class NotLiteral(ValueError):
    """The text is no Python literal, or one too long or too deep to be read."""


def literal(text: str) -> Any:
    """The value of a literal, as JSON knows values. Raises NotLiteral."""
    text = text.strip()
    if not text or len(text) > MOST:
        raise NotLiteral
    _check(text)
    try:
        return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise NotLiteral from None


def _check(text: str) -> None:
    at = depth = 0
    after_value = False
    while at < len(text):
        found = _LITERAL.match(text, at)
        if found is None:
            raise NotLiteral
        at = found.end()
        kind = found.lastgroup
        depth += (kind == "open") - (kind == "close")
        # Two values in a row would be an operator (`1 -1`), of which any number may follow.
        if depth > DEEPEST or (kind == "value" and after_value):
            raise NotLiteral
        if kind != "blank":
            after_value = kind == "value"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(one) for one in value), key=repr)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def parts(text: str) -> tuple[str, list[str]]:
    """(what stands before the first bracket, the texts between the commas inside it); ("", []) for
    a text without one, or one longer than is read."""
    if len(text) > 8 * MOST:
        return "", []
    found: list[str] = []
    name, start, depth = "", 0, 0
    for piece in _PIECE.finditer(text):
        mark = piece.group()
        if mark in ("(", "[", "{"):
            depth += 1
            if depth == 1:
                name, start = text[: piece.start()].strip(), piece.end()
        elif mark in (")", "]", "}") and depth:
            depth -= 1
            if depth == 0:
                found.append(text[start : piece.start()])
                break
        elif mark == "," and depth == 1:
            found.append(text[start : piece.start()])
            start = piece.end()
    return name, [one.strip() for one in found if one.strip()]


def members(text: str) -> tuple[str, dict[str, str]]:
    """(class, texts of its members) of an object as dataclasses print themselves:
    `Step(number=1, error=None)`."""
    name, found = parts(text)
    named = (_NAMED.match(one) for one in found)
    return name, {one.group(1): one.group(2) for one in named if one}
