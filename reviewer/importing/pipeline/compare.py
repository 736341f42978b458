"""Decide whether a record is a revision of a stored attempt, and which kind.

A record is of the same attempt when, under the same candidate and episode, (a) its reader says so
(`Foreign.replaces`), (b) the source calls it by the same name (`Foreign.identity`: a session, run
or trace id), (c) it names the attempt's number and so did the stored one, or (d) it is at the same
path, with the same start time or none, and the agent begins alike (the relation is `other` where it
does not).

`compare` then gives the relation. A record `holds` the stored one when every event of that one is
still there, in order and unchanged; more may follow, or come in between where each has a time of
its own (a span that came late), and missing, null, empty or pending values may be filled. Any other
record `contradicts` it, and `why` names the first difference. A reader only has to give the same
events for the same acts.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from reviewer.importing.draft import COMES
from reviewer.trace.record import is_user
from reviewer.trace.redaction import Redactor
from reviewer.trace.rules import SENSITIVE_KEYS, Rules

Kind = Literal["same", "holds", "contradicts", "other"]
_MEANT = ("kind", "actor", "tool", "arguments", "observation", "message", "approval", "state",
          "started_at")  # fmt: skip
_SPENT = ("cost_usd", "latency_ms")
_SLOT = frozenset({"attempt", "candidate_id", "episode_id", "schema"})
_ALMOST = 1e-9


class Relation(NamedTuple):
    """The relation of a record to an earlier one that may be of the same attempt."""

    kind: Kind
    why: str = ""


def compare(earlier: bytes, later: bytes) -> Relation:
    """Compare two native records, both as JSON. The earlier one may contain text from before a rule
    was added that masks it in the later one."""
    found = _compared(json.loads(earlier), json.loads(later))
    if found.kind in ("same", "holds") or _MASK not in later:
        return found
    old = json.loads(earlier)
    masked = _added().mask(old)
    return found if masked == old else _compared(masked, json.loads(later))


_MASK = b"[REDACTED:"


@lru_cache(maxsize=1)
def _added() -> Redactor:
    """Return a redactor that masks by the added detectors alone."""
    return Redactor(Rules(keys=(), allow_keys=SENSITIVE_KEYS, detectors=()))


def _compared(old: dict[str, Any], new: dict[str, Any]) -> Relation:
    if _evidence(old) == _evidence(new):
        return Relation("same")
    why = _lost(old, new)
    if why is None:
        more = len(new["events"]) - len(old["events"])
        return Relation("holds", f"it continues: {more} more events" if more else "it says more")
    return Relation("contradicts" if _one_run(old, new) else "other", why)


def holds(earlier: bytes, later: bytes) -> bool:
    """Return whether the later record equals the earlier one, or contains all of it."""
    return compare(earlier, later).kind in ("same", "holds")


def own_attempt(raw: bytes) -> int | None:
    """Return the attempt's number that a record itself names."""
    number = json.loads(raw).get("attempt")
    return number if isinstance(number, int) else None


def _evidence(record: dict[str, Any]) -> dict[str, Any]:
    """Return what was observed, without the slot it claims, in a form independent of its
    writing."""
    return {name: value for name, value in record.items() if name not in _SLOT}


def _lost(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    """Return the first part of the old record that the new one lacks; None when it contains all."""
    place = _first_lost(old["events"], new["events"])
    if place is not None:
        return f"event {place} is not there as it was"
    goes_on = len(new["events"]) > len(old["events"])
    for name in ("started_at", "start_state_digest"):
        if not _filled(old.get(name), new.get(name)):
            return f"{name} is another"
    for name in _SPENT:
        if goes_on and name == "latency_ms" and new.get(name) is None:
            continue  # asked again, a session also waited for a person: its time is not measured
        if not _grown(old.get(name), new.get(name)):
            return f"{name} is less"
    # The outcome of the attempt may change while the attempt goes on.
    for name in ("termination", *(() if goes_on else ("final_state", "final_message"))):
        if not _filled(old.get(name), new.get(name)):
            return f"{name} is another"
    unread = [part.get("path") for part in new.get("unread") or ()]
    for part in old.get("unread") or ():
        path = part.get("path")
        if path not in unread and not str(path).endswith(COMES):  # a part that may come late
            return "a part that nobody could read is gone"
    return None


def _first_lost(old: Sequence[Any], new: Sequence[Any]) -> int | None:
    """Return the number of the first event that is changed or missing, or that follows another one
    although no time puts it there."""
    left = iter(new)
    late: set[Any] = set()
    for place, event in enumerate(old, 1):
        for one in left:
            if alike(event, one):
                break
            # A span that came late; without a time of its own it may have been inserted.
            if one.get("started_at") is not None:
                late.add(one.get("call_id"))
            elif one.get("call_id") is None or one.get("call_id") not in late:
                return place
        else:
            return place
    return None


def alike(event: dict[str, Any], later: dict[str, Any]) -> bool:
    """Return whether two events are the same one, of which the later may know more."""
    for name in _MEANT:
        value = event.get(name)
        if value is not None and not _alike(value, later.get(name)):
            return False
    if not all(_grown(event.get(name), later.get(name)) for name in _SPENT):
        return False
    status = event.get("status")
    if status not in (None, "pending") and status != later.get("status"):
        return False
    return _made_up(event.get("call_id")) or event.get("call_id") == later.get("call_id")


_MADE_UP = ("call-", "unnamed-")


def _made_up(call_id: Any) -> bool:
    """Return whether a call's id is missing, or was given by a reader from its place."""
    return call_id is None or (isinstance(call_id, str) and call_id.startswith(_MADE_UP))


def _filled(old: Any, new: Any) -> bool:
    """Return whether a value is unchanged, or fills an empty one."""
    if old is None or old == "" or old == [] or old == {}:
        return True
    if isinstance(old, dict) and isinstance(new, dict):
        return all(name in new and _filled(value, new[name]) for name, value in old.items())
    return _alike(old, new)


def _alike(old: Any, new: Any) -> bool:
    return bool(old == new) and isinstance(old, bool) == isinstance(new, bool)


def _grown(old: Any, new: Any) -> bool:
    """Return whether the amount spent has not decreased."""
    if old is None:
        return True
    return isinstance(new, int | float) and new >= old * (1 - _ALMOST)


def _one_run(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether two different records are still of one run: no time distinguishes them, and
    the agent begins alike."""
    clocks = old.get("started_at"), new.get("started_at")
    if None not in clocks:
        return clocks[0] == clocks[1]
    first, second = _beginning(old["events"]), _beginning(new["events"])
    if first is None or second is None:
        return True  # one of them has nothing of the agent yet
    return len(first) == len(second) and all(
        alike(a, b) or alike(b, a) for a, b in zip(first, second, strict=True)
    )


def _beginning(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Return the events up to the agent's first one; None when it did nothing."""
    for place, event in enumerate(events, 1):
        if not is_user(event.get("actor")) and event.get("actor") != "system":
            return list(events[:place])
    return None
