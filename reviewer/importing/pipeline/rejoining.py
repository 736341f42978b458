"""Parts of a session that come one after the other: what is judged is the whole of them.

Every part is kept as it came, and the record that was put together of them is judged as the
attempt: the same one, in whatever order they came. See `parts`.
"""

import json
import sqlite3
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from reviewer.db.intake import NewTrace
from reviewer.db.revisions import Revision, judged_record, kept_records
from reviewer.gates.model import Finding
from reviewer.importing.pipeline.compare import compare
from reviewer.importing.pipeline.sessions import (
    CHAINED,
    UNNAMED,
    Part,
    Record,
    begins,
    doubtful,
    is_joined,
    joined,
    session_of,
    span_of,
    within,
)
from reviewer.importing.scored import MASKED_CODE

TOGETHER = "parts of one session, put together"
READ_TOGETHER = "read out of all files that hold parts of it"
_NOBODYS = f":{UNNAMED}"
A_PART = "a part of the session that is judged"

Again = Callable[[NewTrace, bytes], NewTrace | None]
"""Judges a record that was put together, in the slot and with the source's word of a new one."""


class _Stored(NamedTuple):
    """What is stored of an attempt: the record judged, and its parts with their places."""

    head: Record
    raw: bytes
    parts: list[Part]


def rejoin(
    connection: sqlite3.Connection,
    key: int,
    news: Sequence[tuple[NewTrace, bytes]],
    path: str,
    again: Again,
) -> list[Revision] | None:
    """What becomes of an attempt when parts of its session come, in order; empty when they are
    there already, None where one is no such part. `path` is where they come from."""
    stated = [finding for new, _ in news for finding in new.findings]
    there = _stored(connection, key, news[0][0]._replace(findings=stated))
    if there is None:
        return None
    fresh: list[tuple[NewTrace, bytes, Part]] = []
    seen = [_acts(one.record) for one in there.parts]
    for new, raw in news:
        part = Part(json.loads(raw), path, new.record)
        if not _one_session(there, part.record) or any(_changed(p, part) for p in there.parts):
            return None
        if (acts := _acts(part.record)) not in seen:
            seen.append(acts)
            fresh.append((new, raw, part))
    if not fresh:
        return []
    found = joined([*there.parts, *(part for _, _, part in fresh)])
    if not found:
        return None
    parts = [
        Revision(key, new, False, False, A_PART, contained=True, part=True) for new, _, _ in fresh
    ]
    if any(_alike(one, there.head) for one in found):
        return parts
    whole = next(
        (n for n, (_, _, part) in enumerate(fresh) if len(found) == 1
         and _alike(found[0], part.record)),
        None,
    )  # fmt: skip
    word = min((new for new, _, _ in fresh), key=_said)
    judged = fresh[whole][:2] if whole is not None else _judged(found, word, again)
    if judged is None:
        return None
    if _alike(json.loads(judged[1]), there.head):
        return parts
    own = again(word, there.raw)
    findings = own.findings if own is not None else ()
    answered = _answered(findings, there.head, json.loads(judged[1]))
    head = Revision(key, judged[0], True, True, TOGETHER, answered=answered)
    return [head, *(part for n, part in enumerate(parts) if n != whole)]


def _said(new: NewTrace) -> int:
    """A failure comes first, then a pass, then no word of the source."""
    word = None if new.verdict is None else new.verdict[0]
    return 2 if word is None else int(word)


def superseded(
    connection: sqlite3.Connection,
    new: NewTrace,
    raw: bytes,
    read_with: frozenset[int],
    again: Again,
) -> list[Revision] | None:
    """What a record is that was read out of all files of its attempt: the whole of it. None when
    some of the attempt came from elsewhere."""
    key, source = connection.execute(
        "SELECT id, source FROM trace WHERE candidate=? AND episode=? AND attempt=?", new[:3]
    ).fetchone()
    kept = kept_records(connection, key)
    head = judged_record(connection, key)
    if head is None or not {source, *(one.source for one in kept)} <= read_with:
        return None
    whole = json.loads(raw)
    known = [json.loads(one) for one in (head, *(other.raw for other in kept)) if one is not None]
    if any(_alike(one, whole) for one in known):
        return []
    if any(_tools(one) - _tools(whole) for one in known):
        return None  # what a part showed is no act of the agent any more: both count
    own = again(new, head)
    findings = [one for one in own.findings if one.severity != "critical"] if own else []
    answered = _answered(findings, json.loads(head), whole)
    return [Revision(key, new, True, True, READ_TOGETHER, answered=answered)]


def _tools(record: Record) -> set[str]:
    return {event["tool"] for event in record["events"] if event.get("kind") == "tool_call"}


def _stored(connection: sqlite3.Connection, key: int, new: NewTrace) -> _Stored | None:
    head = judged_record(connection, key)
    kept = kept_records(connection, key)
    if head is None or any(one.raw is None for one in kept):
        return None
    stated = [*new.findings, *(finding for one in kept for finding in one.findings)]
    if _judged_before_masking(connection, key, stated):
        return None
    if any(one.stands == "beside" and not one.settled for one in kept):
        return None
    record = json.loads(head)
    source, number = connection.execute(
        "SELECT source, record FROM trace WHERE id=?", (key,)
    ).fetchone()
    places = [(record, source, number)]
    places += [(json.loads(one.raw or b"{}"), one.source, one.record) for one in kept]
    parts = [
        Part(one, _path(connection, source), number)
        for one, source, number in places
        if not is_joined(one)
    ]
    return _Stored(record, head, parts)


def _judged_before_masking(
    connection: sqlite3.Connection, key: int, stated: Sequence[Finding]
) -> bool:
    """Whether a record of the attempt was masked after its contract judged it: what is put together
    of masked ones shows less. (A probe has no contract.)"""
    probe, masked = connection.execute(
        "SELECT s.probe, EXISTS (SELECT 1 FROM finding f WHERE f.trace=t.id AND f.code=?)"
        " FROM trace t JOIN candidate c ON c.id = t.candidate JOIN suite s ON s.id = c.suite"
        " WHERE t.id=?",
        (MASKED_CODE, key),
    ).fetchone()
    return not probe and (bool(masked) or any(one.code == MASKED_CODE for one in stated))


def _path(connection: sqlite3.Connection, source: int) -> str:
    row = connection.execute("SELECT path, reader FROM source WHERE id=?", (source,)).fetchone()
    return "" if row is None or row[1].startswith("merge/") else str(row[0])


def _changed(there: Part, new: Part) -> bool:
    """Return whether this is the record that stood at the same place, and holds less or something
    else."""
    if not there.path or (there.path, there.number) != (new.path, new.number):
        return False
    kind = compare(_bytes(there.record), _bytes(new.record)).kind
    return kind not in ("same", "holds")


def _one_session(there: _Stored, new: Record) -> bool:
    name = session_of(new)
    if name:
        other = session_of(there.head)
        return name == other or (name.startswith(CHAINED) and other.startswith(CHAINED))
    if session_of(there.head):
        return False
    # Our own records: cut where their events are numbered on.
    spans = [span_of(one.record["events"]) for one in there.parts] + [span_of(new["events"])]
    known = sorted(span for span in spans if span is not None)
    return len(known) == len(spans) and all(a[1] < b[0] for a, b in pairwise(known))


def _judged(found: Sequence[Record], new: NewTrace, again: Again) -> tuple[NewTrace, bytes] | None:
    """The whole, judged, and its bytes."""
    judged: list[tuple[NewTrace, bytes]] = []
    for one in found:
        body = _bytes(one)
        verdict = again(new, body)
        if verdict is None:
            return None
        judged.append((verdict, body))
    first = judged[0][0]
    if any(_verdict(one) != _verdict(first) for one, _ in judged):
        body = _bytes(doubtful(found[0]))
        verdict = again(new, body)
        return None if verdict is None else (verdict, body)
    return judged[0]


def _verdict(one: NewTrace) -> object:
    codes = sorted({(f.gate, f.code, f.severity) for f in one.findings})
    return one.gates, one.passed, one.critical, one.infra, codes


def _answered(
    findings: Sequence[Finding], head: Record, whole: Record
) -> frozenset[tuple[str, str]]:
    """What the record judged so far showed for want of the part that comes now. What was critical
    in a record that lacked no beginning stays, and so does what was wrong with an end that it
    told, where another end is told now. A result whose call was not there yet was nobody's."""
    ended = head.get("final_state")
    other_end = ended is not None and ended != whole.get("final_state")
    return frozenset(
        (one.gate, one.code)
        for one in findings
        if not (one.severity == "critical" and begins(head) and not one.code.endswith(_NOBODYS))
        and not (one.gate in ("state", "redaction") and other_end)
    )


def _alike(one: Record, other: Record) -> bool:
    return _acts(one) == _acts(other)


def _acts(record: Record) -> object:
    """A record without its slot and what it says of its own parts."""
    left = ("source", "candidate_id", "attempt", "schema")
    return {name: value for name, value in record.items() if name not in left and value is not None}


def _bytes(record: Record) -> bytes:
    return msgspec.json.encode(record)


def part_of(raw: bytes, head: bytes) -> bool:
    """Return whether a stored record is a part of the session that a record was put together of:
    its acts are judged there."""
    whole = json.loads(head)
    if not is_joined(whole):
        return False
    part = json.loads(raw)
    return session_of(part) == session_of(whole) and within(part, whole)
