"""Validation of a record: quickly (`decode`), or slowly with every reason against it (`explain`).

`decode` is the import path: typed, a few microseconds per kilobyte, without a useful message.
`explain` parses again strictly and reports everything at once. For a record that is not
`suspect` the two agree: `decode` succeeds exactly when `explain` finds no problem.
"""

import math
from collections.abc import Iterator, Mapping
from operator import attrgetter, lt
from typing import Any, NamedTuple

import msgspec
from msgspec import DecodeError, Raw

from reviewer.trace.record import (
    ABSENT,
    EVENT,
    MAX_ORDINAL,
    RECORD,
    REQUIRED,
    Event,
    Rule,
    TraceRecord,
    described,
    item,
    lacks,
    member,
    trace_json_schema,
)
from reviewer.trace.redaction import Redactor, event_seq
from reviewer.trace.strictjson import (
    NotJson,
    RepeatedMembers,
    has_repeats,
    may_overflow,
    members,
    names_unique,
    parse,
)

__all__ = [
    "DecodeError",
    "Explanation",
    "Problem",
    "check_events",
    "decode",
    "explain",
    "trace_json_schema",
]

_ORDER = ("missing", "type", "not_finite", "unknown", "duplicate", "unredacted")
_NEAR_NAMES = 50
"""Unknown members for which a near name is searched; a hostile record may have a million."""

_OBJECT_OR_NULL = frozenset((b"{", b"n"))

_decoder = msgspec.json.Decoder(TraceRecord)
_flat = msgspec.json.Decoder(list[dict[str, Any]]).decode


class Problem(NamedTuple):
    """One reason to refuse a record. `code` is `<reason>:<path>`; the detail quotes no value.

    `seq` is the first event it is about, None when it is about the record.
    """

    code: str
    path: str
    seq: int | None
    detail: str


class Explanation(NamedTuple):
    """All problems of some bytes. `value` is their content, None when they are no record; it is not
    redacted. `trace` is given only when there is no problem at all.
    """

    problems: list[Problem]
    value: dict[str, Any] | None
    trace: TraceRecord | None


def decode(raw: bytes, unique: bool = False) -> TraceRecord:
    """Return the record in these bytes, for bytes that are not `Redactor.suspect`. `unique` means
    that no name occurs twice in any of its objects.

    Raises DecodeError when `explain` would find a problem.
    """
    try:
        record = _decoder.decode(raw)
        if not raw.isascii():
            raw.decode()  # what is left raw has not been checked
    except RecursionError:
        raise DecodeError("nested too deep") from None
    except UnicodeDecodeError as error:
        raise DecodeError(f"not UTF-8 (byte {error.start})") from None
    if not check_events(record, unique):
        raise DecodeError(
            "an event lacks what its kind needs, seq does not rise, or a name repeats"
        )
    return record


def check_events(record: TraceRecord, unique: bool = False) -> bool:
    """Return whether the events meet the rules beyond their types: seq rises (by position where
    absent), a call names its tool, a result its tool or call, a snapshot holds a state, arguments
    are objects or null, and no name occurs twice in an object (which is known where `unique`)."""
    if record.attempt is not None and record.attempt > MAX_ORDINAL:
        return False
    events = record.events  # a pass per column: each is one tight loop over a list
    return (
        _rising([event.seq for event in events])
        and (
            not any([event.kind for event in events])  # noqa: C419 - as in acts
            or all(map(_has_what_it_needs, events))
        )
        and (_all_objects(events) if unique else _told_once(record))
    )


def _rising(given: list[int | None]) -> bool:
    if not any(given):
        return True
    seqs = [seq or position for position, seq in enumerate(given, 1)]
    return seqs[-1] <= MAX_ORDINAL and all(map(lt, seqs, seqs[1:]))


def _told_once(record: TraceRecord) -> bool:
    """Return whether arguments are objects or null, and no name occurs twice in an object of any
    raw field: the decoder keeps the last."""
    events = record.events  # a column at a time, as above
    seldom = [
        event
        for event in events
        if event.message is not ABSENT
        or event.approval is not ABSENT
        or event.state is not ABSENT
        or event.tokens is not ABSENT
    ]
    others = [value for event in seldom for value in _seldom(event)]
    seen = [event.observation for event in events]
    try:
        return (
            _objects([event.arguments for event in events])
            and (seen.count(ABSENT) == len(seen) or _unrepeated(seen))
            and _unrepeated([record.final_state, record.usage, record.source, *others])
        )
    except NotJson:
        return False


_seldom = attrgetter("message", "approval", "state", "tokens")


def _all_objects(events: list[Event]) -> bool:
    given = [event.arguments for event in events if event.arguments is not ABSENT]
    return _OBJECT_OR_NULL.issuperset([bytes(arguments)[:1] for arguments in given])


def _objects(values: list[Raw]) -> bool:
    joined = b",".join(values)
    colons = joined.count(b":")
    try:
        if colons == sum(map(len, _flat(b"[" + joined + b"]"))):
            return True  # objects of scalars: each name ends with a colon
    except DecodeError:  # some are absent, or null
        values = [value for value in values if value != ABSENT]
    return all(bytes(value)[:1] in _OBJECT_OR_NULL for value in values) and (
        not colons or names_unique(b"[" + b",".join(values) + b"]")
    )


def _unrepeated(values: list[Raw]) -> bool:
    # The decoder lets no NUL into raw JSON, so one in the joined bytes is between two values.
    joined = b"\0".join(values)
    if b"," not in joined:
        return True  # a second member comes behind a comma
    if joined.count(b":") == joined.count(b'\0{"') + joined.startswith(b'{"'):
        return True  # as many as there are objects with a member: one each, and none in texts
    return names_unique(b"[" + b",".join([value for value in values if value != ABSENT]) + b"]")


def _has_what_it_needs(event: Event) -> bool:
    kind = event.kind
    if kind == "tool_call":
        return event.tool is not None
    if kind == "tool_result":
        return event.tool is not None or event.call_id is not None
    return kind != "state_snapshot" or event.state != ABSENT


def explain(raw: bytes, redactor: Redactor) -> Explanation:
    """Return every reason to refuse these bytes, in a fixed order; one problem per code.

    Bytes that are not JSON have one problem, `json:<reason>`. Any others are told all at once:
    `missing:<field>` (sorted), `type:<path>`, `not_finite:<path>`, `unknown:<path>`,
    `duplicate:<path>` (each in the record's order), `unredacted:<path>` (by key first, then by
    path; see `Redactor.findings_in_record`). Never raises, whatever the bytes.
    """
    try:
        value = parse(raw)
    except NotJson as error:
        return Explanation([Problem(f"json:{error.reason}", "", None, str(error))], None, None)
    if not isinstance(value, dict):
        refused = Problem(
            "json:not_an_object", "", None, f"expected an object, got {described(value)}"
        )
        return Explanation([refused], None, None)
    found: dict[str, Problem] = {}
    for problem in _problems(value, raw, redactor):
        found.setdefault(problem.code, problem)
    problems = sorted(found.values(), key=_rank)
    trace = None
    if not problems:
        try:
            trace = decode(raw)
        except DecodeError as error:
            # The fast decoder decides: refuse a record that it would not accept.
            detail = redactor.masked(str(error))
            problems = [Problem("type:record", "record", None, detail)]
    return Explanation(problems, value, trace)


def _rank(problem: Problem) -> int:
    return _ORDER.index(problem.code.partition(":")[0])


def _problem(reason: str, path: str, seq: int | None, detail: str) -> Problem:
    return Problem(f"{reason}:{path}", path, seq, detail)


def _problems(value: dict[str, Any], raw: bytes, redactor: Redactor) -> Iterator[Problem]:
    for name in REQUIRED:
        if name not in value:
            yield _problem("missing", name, None, f"a trace record needs {name}")
    near = _NearNames()
    yield from _shape(value, RECORD, "", None, near, redactor)
    events = value.get("events")
    if isinstance(events, list):
        yield from _event_problems(events, near, redactor)
    if may_overflow(raw) or has_repeats(value):
        yield from _values(value, "", None, redactor)
    for hit, seq in redactor.findings_in_record(value):
        why = "a sensitive member with a value" if hit.by_key else f"looks like: {hit.kind}"
        yield _problem("unredacted", hit.path, seq, f"{why} ({hit.masked})")


def _event_problems(events: list[Any], near: "_NearNames", redactor: Redactor) -> Iterator[Problem]:
    before = 0
    for index, event in enumerate(events):
        path = item("events", index)
        seq = event_seq(event, index + 1)
        if not isinstance(event, dict):
            yield _problem("type", path, seq, f"expected an event, got {described(event)}")
            continue
        yield from _shape(event, EVENT, path, seq, near, redactor)
        lacking = lacks(event)
        if lacking is not None:
            detail = f"an event of kind {event['kind']} needs {lacking}"
            yield _problem("type", member(path, lacking), seq, detail)
        if seq <= before:
            detail = f"seq must rise: {seq} comes after {before}"
            yield _problem("type", member(path, "seq"), seq, detail)
        before = max(before, seq)


def _shape(
    value: dict[str, Any],
    rules: Mapping[str, Rule],
    path: str,
    seq: int | None,
    near: "_NearNames",
    redactor: Redactor,
) -> Iterator[Problem]:
    for name, inner in members(value):
        rule = rules.get(name)
        if rule is None:
            where = member(path, redactor.masked(name))
            yield _problem("unknown", where, seq, near.to(name, rules))
        elif not rule.accepts(inner):
            detail = f"expected {rule.wanted}; got {described(inner)}"
            yield _problem("type", member(path, name), seq, detail)


def _values(value: Any, path: str, seq: int | None, redactor: Redactor) -> Iterator[Problem]:
    """Yield problems for numbers that are not finite and names that are repeated, anywhere."""
    if isinstance(value, float):
        if not math.isfinite(value):
            yield _problem("not_finite", path, seq, "NaN, infinite or beyond a double")
    elif isinstance(value, dict):
        if isinstance(value, RepeatedMembers):
            for name in dict.fromkeys(name for name, _ in value.shadowed):
                where = member(path, redactor.masked(name))
                yield _problem("duplicate", where, seq, "the name is there more than once")
        for name, inner in members(value):
            yield from _values(inner, member(path, redactor.masked(name)), seq, redactor)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            inner_seq = event_seq(inner, index + 1) if path == "events" else seq
            yield from _values(inner, item(path, index), inner_seq, redactor)


class _NearNames:
    """Suggests the name that was probably meant."""

    def __init__(self) -> None:
        self._left = _NEAR_NAMES
        self._listed = False

    def to(self, name: str, known: Mapping[str, Rule]) -> str:
        import difflib

        self._left -= 1
        close: list[str] = []
        if self._left >= 0 and len(name) <= 64:
            snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
            close = difflib.get_close_matches(snake, list(known), n=1)
        if close:
            return f"did you mean {close[0]}?"
        if self._listed:
            return ""
        self._listed = True  # once in a record: a foreign one may have a hundred members
        return f"known: {', '.join(known)}"
