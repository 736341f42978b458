"""The source's verdict on an attempt, with its checks, and the calls it expects beside those made.

Nothing here judges: whether a check is met is the source's statement, and an expected call was made
if a call has the arguments that the source names. What the source does not say stays unknown.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from reviewer.db.connection import Connection
from reviewer.db.queries.traces import TraceRow, source_verdict
from reviewer.desk.outcome_views import ExpectedCall, Made, OutcomeView, SourceCheck
from reviewer.desk.traces.previews import call_words
from reviewer.desk.traces.records import Records
from reviewer.trace.record import ABSENT, Event, TraceRecord, is_user, kind_of

EXPECTED, LEFT_OUT = "expected_actions", "expected_actions_left_out"
"""Members of a verdict's detail: the calls that the source expects, and how many were not
stored."""
LOOKED_AT = 20_000
"""Events that are searched for expected calls; for a longer attempt no call is reported as never
made."""
MASKED = "[REDACTED:"

_FLAGS = {"r_actions": "database", "r_outputs": "outputs", "db_match": "database"}
_LISTS = {"env_assertions": "end state", "nl_assertions": "assertion", "communicate_checks": "say"}


class Call(NamedTuple):
    """A call that was made: its arguments as plain values, None where they are not an object."""

    seq: int
    tool: str
    arguments: dict[str, Any] | None
    by_user: bool


def calls_of(events: Iterable[Event]) -> list[Call]:
    """Return the calls among events in order, from the first event on."""
    found = []
    for number, event in enumerate(events, 1):
        if kind_of(event) != "tool_call" or event.tool is None:
            continue
        value = {} if event.arguments == ABSENT else json.loads(bytes(event.arguments))
        arguments = value if isinstance(value, dict) else None
        found.append(Call(event.seq or number, event.tool, arguments, is_user(event.actor)))
    return found


def last_words(events: Sequence[Event]) -> int | None:
    """Return the number of the event with the agent's last message."""
    for at in range(len(events) - 1, -1, -1):
        if kind_of(events[at]) == "message" and not is_user(events[at].actor):
            return events[at].seq or at + 1
    return None


def outcome_in(
    connection: Connection, records: Records, row: TraceRow, head: TraceRecord | None
) -> OutcomeView | None:
    """Return the source's statements on a trace, None where there are none. `head` is its record,
    with or without events."""
    word = source_verdict(connection, row.id)
    if word is None:
        return None
    events: Sequence[Event] | None = None
    wanted = any(name in word.detail for name in (EXPECTED, "outputs", "communicate_checks"))
    if head is not None and wanted and row.events <= LOOKED_AT:
        events = records.events(connection, row, 0, row.events)
    # A part that the reader did not understand may have been a call.
    whole = head is not None and not head.unread
    return outcome_of(word.passed, word.reward, word.detail, events, whole=whole)


def outcome_of(
    passed: int | None,
    reward: float | None,
    detail: str,
    events: Sequence[Event] | None,
    *,
    whole: bool = True,
) -> OutcomeView:
    """Return the statements of a stored verdict; `events` are those of the attempt, None where they
    are not stored, or too many to search. Only for a `whole` attempt can a call be reported as
    never made."""
    told = json.loads(detail or "{}")
    listed = told.get(EXPECTED)
    listed = listed if isinstance(listed, list) else []
    expected = [each for each in listed if isinstance(each, dict)]
    calls = calls_of(events) if events is not None and expected else []
    beside, rest = aligned(expected, calls, whole=whole and events is not None)
    others = Counter(call.tool for call in rest)
    return OutcomeView(
        passed=None if passed is None else bool(passed),
        reward=reward,
        checks=tuple(_checks(told, last_words(events) if events else None)),
        expected=tuple(beside),
        others=tuple(others.items()) if expected and events is not None else None,
        left_out=told.get(LEFT_OUT, 0),
    )


def _checks(told: dict[str, Any], last: int | None) -> Iterator[SourceCheck]:
    for name, word in _FLAGS.items():
        if name in told:
            yield SourceCheck(name=word, met=_met(told[name]))
    outputs = told.get("outputs")
    if isinstance(outputs, dict):
        for text, met in outputs.items():
            yield SourceCheck(name=f'say "{text}"', met=_met(met), seq=last)
    for name, word in _LISTS.items():
        listed = told.get(name)
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, dict):
                seq = last if word == "say" else None
                words = f"{word} {json.dumps(each.get('what'), ensure_ascii=False)}"
                yield SourceCheck(name=words, met=_met(each.get("met")), seq=seq)


def _met(word: Any) -> bool | None:
    """Return a source's word as yes or no; None for any other."""
    return bool(word) if isinstance(word, bool | int | float) and word in (0, 1) else None


def aligned(
    expected: Sequence[dict[str, Any]], calls: Sequence[Call], *, whole: bool = True
) -> tuple[list[ExpectedCall], list[Call]]:
    """Return each expected call with the matching call that was made, and the calls that are left
    over.

    A call matches at most one expected call. Equal arguments are matched first, so that a call with
    other arguments never displaces one that was made as expected.
    """
    left = list(calls)
    found: dict[int, tuple[Call, tuple[str, ...]]] = {}
    for exactly in (True, False):
        for number, one in enumerate(expected):
            if number in found:
                continue
            for call in left:
                if call.tool != one.get("name"):
                    continue
                differs = _differs(one.get("arguments"), call.arguments)
                if exactly != bool(differs):
                    found[number] = call, differs
                    left.remove(call)
                    break
    telling = _telling(expected)
    return [_beside(one, found.get(n), telling, whole) for n, one in enumerate(expected)], left


def _telling(expected: Sequence[dict[str, Any]]) -> str:
    """Return the names of arguments that distinguish expected calls of one tool: they are shown
    first."""
    seen: dict[tuple[str, str], set[str]] = {}
    for one in expected:
        arguments = one.get("arguments")
        for name, value in arguments.items() if isinstance(arguments, dict) else ():
            if not isinstance(value, dict | list):
                seen.setdefault((str(one.get("name")), name), set()).add(json.dumps(value))
    most = max(map(len, seen.values()), default=0)
    return " ".join(name for (_, name), values in seen.items() if 1 < len(values) == most)


def _beside(
    one: dict[str, Any],
    found: tuple[Call, tuple[str, ...]] | None,
    telling: str,
    whole: bool,
) -> ExpectedCall:
    arguments = json.dumps(one.get("arguments") or {}).encode()
    call, differs = found or (None, ())
    made: Made = "other" if differs else "masked" if MASKED.encode() in arguments else "same"
    if call is None:
        made = "never" if whole else "unknown"
    return ExpectedCall(
        tool=str(one.get("name")),
        arguments=call_words(arguments, telling),
        made=made,
        met=_met(one.get("met")),
        seq=None if call is None else call.seq,
        differs=differs,
        by_user=one.get("by") == "user",
    )


def _differs(expected: Any, made: dict[str, Any] | None) -> tuple[str, ...]:
    """Return the arguments that are not as expected."""
    wanted = expected if isinstance(expected, dict) else {}
    if made is None:
        return ("arguments: no object was given",)
    return tuple(
        f"{name}: {_short(wanted, name)} → {_short(made, name)}"
        for name in dict.fromkeys((*wanted, *made))
        if name not in wanted or name not in made or not _equal(wanted[name], made[name])
    )


def _equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are the same: true is not 1, and 1 is 1.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _short(values: dict[str, Any], name: str) -> str:
    if name not in values:
        return "nothing"
    text = json.dumps(values[name], ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


class Against(NamedTuple):
    """Something in the source's statements against an attempt: red only if the source itself says
    so."""

    name: str
    words: str
    seq: int | None
    red: bool


def against(found: OutcomeView) -> Iterator[Against]:
    """Yield checks that the source says are not met, and for a failed attempt the expected calls
    that were not made as expected."""
    for check in found.checks:
        if check.met is False:
            yield Against(check.name, "not met", check.seq, red=True)
    for call in found.expected:
        unmade = call.made in ("never", "other") and call.met is None and found.passed is False
        if call.met is False or unmade:
            words = f"{call.arguments}: {made_words(call)}".removeprefix(": ")
            yield Against(call.tool, words, call.seq, red=call.met is False)


def made_words(call: ExpectedCall) -> str:
    """Say how an expected call was made."""
    return {
        "same": "made with the same arguments",
        "masked": "made; masked arguments cannot be compared",
        "never": "never made",
        "unknown": "not measured: the events are not here, or too many",
        "other": f"made with other arguments: {'; '.join(call.differs)}",
    }[call.made]
