"""The state of the world as it was after each event: snapshots as the trace recorded them."""

import json
import sqlite3
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from reviewer.desk.traces.changes import changes, differences
from reviewer.desk.traces.views import StateView
from reviewer.suite.model import Suite
from reviewer.trace.record import ABSENT

if TYPE_CHECKING:
    from reviewer.desk.traces.records import Place, Records, Snapshot

LOOK_BACK = 200
"""Events looked through for the snapshot before, ahead of looking through them all."""


def state_view(
    connection: sqlite3.Connection, records: "Records", place: "Place", suite: Suite, position: int
) -> StateView:
    """The state after the event at `position`, from 0."""
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
    connection: sqlite3.Connection, records: "Records", place: "Place", suite: Suite, position: int
) -> tuple[str, ...]:
    """What the event at `position` changed, if it carries a state."""
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


def _raw(
    connection: sqlite3.Connection, records: "Records", place: "Place", at: "Snapshot"
) -> bytes:
    return bytes(records.events(connection, place.row, at.position, 1)[0].state)


def _bytes(state: Any) -> bytes:
    return b"" if state is None else json.dumps(state, ensure_ascii=False).encode()


def _initial(place: "Place", suite: Suite) -> Any:
    """The state the episode begins with, None when the contract does not say."""
    episode = next((e for e in suite.episodes if e.episode_id == place.episode_id), None)
    return (episode.initial_state or None) if episode else None
