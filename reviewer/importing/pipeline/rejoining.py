"""Join parts of a session that arrive one after the other, and judge the whole.

Every part is kept as it came, and the record that was joined from them is judged for the attempt:
the same one, whatever their order. See `sessions`.
"""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from reviewer.db.connection import Connection
from reviewer.db.intake import NewTrace
from reviewer.db.queries import imports
from reviewer.db.queries.imports import StoredAttempt
from reviewer.db.revisions import Revision, judged_record, kept_records
from reviewer.db.sources import source_by_id
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
_OF_UNNAMED = f":{UNNAMED}"
A_PART = "a part of the session that is judged"

Again = Callable[[NewTrace, bytes], NewTrace | None]
"""Judges a joined record, in the slot and with the source's verdict of a new one."""


class StoredSession(NamedTuple):
    """The stored records of an attempt: the judged one, and its parts with their places."""

    head: Record
    raw: bytes
    parts: list[Part]


def rejoin(
    connection: Connection,
    there: StoredAttempt,
    news: Sequence[tuple[NewTrace, bytes]],
    path: str,
    again: Again,
) -> list[Revision] | None:
    """Add parts of its session to an attempt, in order. Return the resulting revisions; none when
    the parts are there already, None where one of them is not such a part. `path` is where they
    come from."""
    stated = [finding for new, _ in news for finding in new.findings]
    session = _stored(connection, there, stated)
    if session is None:
        return None
    fresh: list[tuple[NewTrace, bytes, Part]] = []
    seen = [_acts(one.record) for one in session.parts]
    for new, raw in news:
        part = Part(json.loads(raw), path, new.record)
        if not _one_session(session, part.record) or any(_changed(p, part) for p in session.parts):
            return None
        if (acts := _acts(part.record)) not in seen:
            seen.append(acts)
            fresh.append((new, raw, part))
    if not fresh:
        return []
    found = joined([*session.parts, *(part for _, _, part in fresh)])
    if not found:
        return None
    parts = [
        Revision(there.trace, new, False, False, A_PART, contained=True, part=True)
        for new, _, _ in fresh
    ]
    if any(_alike(one, session.head) for one in found):
        return parts
    whole = next(
        (n for n, (_, _, part) in enumerate(fresh) if len(found) == 1
         and _alike(found[0], part.record)),
        None,
    )  # fmt: skip
    word = min((new for new, _, _ in fresh), key=_word_rank)
    judged = fresh[whole][:2] if whole is not None else _judged(found, word, again)
    if judged is None:
        return None
    if _alike(json.loads(judged[1]), session.head):
        return parts
    own = again(word, session.raw)
    findings = own.findings if own is not None else ()
    answered = _answered(findings, session.head, json.loads(judged[1]))
    head = Revision(there.trace, judged[0], True, True, TOGETHER, answered=answered)
    return [head, *(part for n, part in enumerate(parts) if n != whole)]


def _word_rank(new: NewTrace) -> int:
    """Rank the source's verdict: a failure comes first, then a pass, then none."""
    word = None if new.verdict is None else new.verdict[0]
    return 2 if word is None else int(word)


def superseded(
    connection: Connection,
    there: StoredAttempt,
    new: NewTrace,
    raw: bytes,
    read_with: frozenset[int],
    again: Again,
) -> list[Revision] | None:
    """Add a record that was read from all files of its attempt, as the whole of it. Return None
    when a part of the attempt came from elsewhere."""
    kept = kept_records(connection, there.trace)
    head = judged_record(connection, there.trace)
    if head is None or not {there.source, *(one.source for one in kept)} <= read_with:
        return None
    whole = json.loads(raw)
    known = [json.loads(one) for one in (head, *(other.raw for other in kept)) if one is not None]
    if any(_alike(one, whole) for one in known):
        return []
    if any(_tools(one) - _tools(whole) for one in known):
        return None  # an act in a part is no longer one of the agent: both count
    own = again(new, head)
    findings = [one for one in own.findings if one.severity != "critical"] if own else []
    answered = _answered(findings, json.loads(head), whole)
    return [Revision(there.trace, new, True, True, READ_TOGETHER, answered=answered)]


def _tools(record: Record) -> set[str]:
    return {event["tool"] for event in record["events"] if event.get("kind") == "tool_call"}


def _stored(
    connection: Connection, there: StoredAttempt, stated: Sequence[Finding]
) -> StoredSession | None:
    """Return the records of an attempt with their places; None where they cannot be joined with new
    ones, of which `stated` are the findings."""
    head = judged_record(connection, there.trace)
    kept = kept_records(connection, there.trace)
    if head is None or any(one.raw is None for one in kept):
        return None
    found = [*stated, *(finding for one in kept for finding in one.findings)]
    # Masked records joined show less than their contract saw. (A probe has none.)
    masked = imports.judged_before_masking(connection, there.trace, MASKED_CODE)
    if masked or (masked is not None and any(one.code == MASKED_CODE for one in found)):
        return None
    if any(one.stands == "beside" and not one.settled for one in kept):
        return None
    record = json.loads(head)
    places = [(record, there.source, there.record)]
    places += [(json.loads(one.raw or b"{}"), one.source, one.record) for one in kept]
    parts = [
        Part(one, _path(connection, source), number)
        for one, source, number in places
        if not is_joined(one)
    ]
    return StoredSession(record, head, parts)


def _path(connection: Connection, source: int) -> str:
    row = source_by_id(connection, source)
    return "" if row is None or row.reader.startswith("merge/") else row.path


def _changed(there: Part, new: Part) -> bool:
    """Return whether this is the record from the same place, with less or other content."""
    if not there.path or (there.path, there.number) != (new.path, new.number):
        return False
    kind = compare(_bytes(there.record), _bytes(new.record)).kind
    return kind not in ("same", "holds")


def _one_session(there: StoredSession, new: Record) -> bool:
    name = session_of(new)
    if name:
        other = session_of(there.head)
        return name == other or (name.startswith(CHAINED) and other.startswith(CHAINED))
    if session_of(there.head):
        return False
    # Reviewer's own records: cut where the numbering of their events continues.
    spans = [span_of(one.record["events"]) for one in there.parts] + [span_of(new["events"])]
    known = sorted(span for span in spans if span is not None)
    return len(known) == len(spans) and all(a[1] < b[0] for a, b in pairwise(known))


def _judged(found: Sequence[Record], new: NewTrace, again: Again) -> tuple[NewTrace, bytes] | None:
    """Return the judged whole, and its bytes."""
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
    """Return findings of the record judged so far that were only due to the missing part that comes
    now. A critical one in a record that did not lack its beginning stays, and so does one about the
    record's end where the end is now another. A result whose call was still missing had an unnamed
    tool."""
    ended = head.get("final_state")
    other_end = ended is not None and ended != whole.get("final_state")
    return frozenset(
        (one.gate, one.code)
        for one in findings
        if not (one.severity == "critical" and begins(head) and not one.code.endswith(_OF_UNNAMED))
        and not (one.gate in ("state", "redaction") and other_end)
    )


def _alike(one: Record, other: Record) -> bool:
    return _acts(one) == _acts(other)


def _acts(record: Record) -> object:
    """Return a record without its slot and without its facts about its own parts."""
    left = ("source", "candidate_id", "attempt", "schema")
    return {name: value for name, value in record.items() if name not in left and value is not None}


def _bytes(record: Record) -> bytes:
    return msgspec.json.encode(record)


def part_of(raw: bytes, head: bytes) -> bool:
    """Return whether a stored record is a part of the session of a joined record, in which its acts
    are judged."""
    whole = json.loads(head)
    if not is_joined(whole):
        return False
    part = json.loads(raw)
    return session_of(part) == session_of(whole) and within(part, whole)
