"""The state of the world after each event: snapshots as the trace recorded them."""

import json
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewer.db.connection import Connection
from reviewer.desk.traces.views import StateView
from reviewer.suite.model import Suite
from reviewer.trace.jsontree import step
from reviewer.trace.record import ABSENT

if TYPE_CHECKING:
    from reviewer.desk.traces.records import Records, Snapshot, TracePlace


MOST = 2000
"""Most lines of one comparison: a state that was replaced entirely differs everywhere."""
SHORT = 120


class StatePath(NamedTuple):
    """One place in a state: its path in words, and as a JSON pointer into the state."""

    path: str
    pointer: str

    def member(self, name: str) -> "StatePath":
        return StatePath(f"{self.path}.{name}" if self.path else name, self.pointer + step(name))

    def element(self, number: int) -> "StatePath":
        return StatePath(f"{self.path}[{number}]", self.pointer + step(number))


class Change(NamedTuple):
    """One difference. `pointer` names its place in the later state; for a removed value, in the
    earlier one."""

    sign: str
    pointer: str
    words: str

    @property
    def line(self) -> str:
        return f"{self.sign} {self.words}"


def differences(before: Any, after: Any) -> list[Change]:
    """Return the changes from `before` to `after`, comparing members of objects and elements of
    lists one by one."""
    found: list[Change] = []
    for change in _walk(before, after, StatePath("", "")):
        if len(found) == MOST:
            found.append(Change("…", "", f"more than {MOST:,} changes"))
            break
        found.append(change)
    return found


def changes(before: Any, after: Any) -> list[str]:
    """Return the differences as one line per path: `+ added path value`, `- removed path value`, `~
    changed path old → new`."""
    return [change.line for change in differences(before, after)]


def _walk(before: Any, after: Any, here: StatePath) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            there = here.member(str(key))
            if key not in before:
                yield _added(there, after[key])
            elif key not in after:
                yield _removed(there, before[key])
            else:
                yield from _walk(before[key], after[key], there)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _elements(before, after, here)
    elif _text(before) != _text(after):
        words = f"changed {here.path or 'state'}  {_short(before)} → {_short(after)}"
        yield Change("~", here.pointer, words)


def _elements(before: list[Any], after: list[Any], here: StatePath) -> Iterator[Change]:
    """Yield the changes of list elements by place, after skipping the common beginning and end: an
    element inserted at the front is one addition."""
    if before == after and _text(before) == _text(after):
        return
    texts = [_text(each) for each in before], [_text(each) for each in after]
    shorter = min(map(len, texts))
    head = next((n for n in range(shorter) if texts[0][n] != texts[1][n]), shorter)
    rest = shorter - head
    tail = next((n for n in range(rest) if texts[0][-1 - n] != texts[1][-1 - n]), rest)
    gone, came = before[head : len(before) - tail], after[head : len(after) - tail]
    both = min(len(gone), len(came))
    for n in range(both):
        yield from _walk(gone[n], came[n], here.element(head + n))
    for n in range(both, len(gone)):
        yield _removed(here.element(head + n), gone[n])
    for n in range(both, len(came)):
        yield _added(here.element(head + n), came[n])


def _added(there: StatePath, value: Any) -> Change:
    return Change("+", there.pointer, f"added {there.path}  {_short(value)}")


def _removed(there: StatePath, value: Any) -> Change:
    return Change("-", there.pointer, f"removed {there.path}  {_short(value)}")


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"


LOOK_BACK = 200
"""Most events searched for the previous snapshot before all events are searched."""


def state_view(
    connection: Connection, records: "Records", place: "TracePlace", suite: Suite, position: int
) -> StateView:
    """Return the state after the event at `position`, from 0."""
    found = records.snapshots(connection, place.row)
    at = bisect_right(found, position, key=lambda each: each.position)
    here = found[at - 1] if at else None
    began = _initial(place, suite)
    raw = _raw(connection, records, place, here) if here else _bytes(began)
    before = found[at - 2] if at > 1 else None
    earlier = json.loads(_raw(connection, records, place, before)) if before else began
    changed = here is not None and here.position == position
    lower = before if changed else here
    told = differences(earlier, json.loads(raw)) if here and earlier is not None else []
    return StateView(
        seq=here.seq if here else None if began is None else 0,
        raw=raw,
        pointer=f"/events/{here.position}/state" if here else "",
        changes=tuple(each.line for each in told),
        touched=tuple((each.sign, each.pointer) for each in told if each.sign in "+~"),
        changed=changed,
        before=lower.seq if lower else None,
        after=found[at].seq if at < len(found) else None,
        at=at,
        of=len(found),
    )


def event_changes(
    connection: Connection, records: "Records", place: "TracePlace", suite: Suite, position: int
) -> tuple[str, ...]:
    """Return the changes made by the event at `position`, if it has a state."""
    here = records.events(connection, place.row, position, 1)[0]
    if here.state == ABSENT:
        return ()
    start = max(position - LOOK_BACK, 0)
    window = records.events(connection, place.row, start, position - start)
    near = [event for event in window if event.state != ABSENT]
    after = json.loads(bytes(here.state))
    if near:
        before: Any = json.loads(bytes(near[-1].state))
    else:
        found = records.snapshots(connection, place.row) if start else []
        at = bisect_right(found, position - 1, key=lambda each: each.position)
        earlier = found[at - 1] if at else None
        raw = _raw(connection, records, place, earlier) if earlier else None
        before = json.loads(raw) if raw is not None else _initial(place, suite)
    return () if before is None else tuple(changes(before, after))


def _raw(connection: Connection, records: "Records", place: "TracePlace", at: "Snapshot") -> bytes:
    return bytes(records.events(connection, place.row, at.position, 1)[0].state)


def _bytes(state: Any) -> bytes:
    return b"" if state is None else json.dumps(state, ensure_ascii=False).encode()


def _initial(place: "TracePlace", suite: Suite) -> Any:
    """Return the state that the episode begins with, None when the contract does not state it."""
    episode = next((e for e in suite.episodes if e.episode_id == place.episode_id), None)
    return (episode.initial_state or None) if episode else None
