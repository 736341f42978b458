"""What the source of an imported trace says of itself and of the attempt: no gate looks at it."""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from reviewer.trace.record import ABSENT, TraceRecord

MOST = 60
"""Facts told; the raw source may be any JSON."""
LONG = 500


def source_facts(
    connection: sqlite3.Connection, trace: int, head: TraceRecord | None
) -> tuple[tuple[str, str], ...]:
    """(name, text) pairs: the source's verdict first, then what its record says of its source. The
    payload was masked when it was stored."""
    found = list(_verdict(connection, trace))
    if head is not None and head.usage != ABSENT:
        found += _usage(json.loads(bytes(head.usage)))
    if head is not None and head.source != ABSENT:
        found += _members(json.loads(bytes(head.source)), "")
    more = len(found) - MOST
    if more > 0:
        found = [*found[:MOST], ("", f"and {more} more, in the trace's `source`")]
    return tuple(found)


def _verdict(connection: sqlite3.Connection, trace: int) -> Iterator[tuple[str, str]]:
    row = connection.execute(
        "SELECT passed, reward, detail FROM source_verdict WHERE trace=?", (trace,)
    ).fetchone()
    if row is None:
        return
    passed, reward, detail = row
    word = "says neither passed nor failed" if passed is None else "passed" if passed else "failed"
    yield "verdict", word + ("" if reward is None else f", reward {reward:g}")
    for name, text in _members(json.loads(detail), ""):
        yield f"verdict {name}".strip(), text


def _usage(usage: Any) -> Iterator[tuple[str, str]]:
    """The agent's tokens; at least so many where some replies have no counts."""
    if not isinstance(usage, dict):
        return
    least = usage.get("lower_bound") is True
    for name, text in _members({k: v for k, v in usage.items() if k not in _BOUND}, "usage"):
        yield name, f"at least {text}" if least else text
    if least:
        counted, replies = usage.get("replies_counted"), usage.get("replies")
        yield "usage replies", f"{counted} of {replies} have token counts"


_BOUND = ("lower_bound", "replies", "replies_counted")


def _members(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Scalars by their path; a list of texts a line each."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _members(member, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for member in value:
            yield from _members(member, path)
    elif value is not None:
        text = value if isinstance(value, str) else json.dumps(value)
        yield path, text if len(text) <= LONG else text[: LONG - 1] + "…"
