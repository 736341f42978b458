"""Which lines of a forked Codex thread were copied from the thread that it was forked from, and
which tokens are its own.

A fork writes the lines of the other thread again, with new times, and its totals of tokens continue
that thread's. The copy is recognized by the ids of turns: like a thread's id, they contain the time
(UUID version 7), and a copied turn is older than the fork. The thread of a sub-agent may also begin
with a copy; it states the number of its first own line.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from reviewer.importing.draft import whole
from reviewer.importing.formats.base import at_path, mapping, text
from reviewer.importing.formats.sessions import Line

_TIMED = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_COUNTS = (
    *("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_output_tokens"),
    "total_tokens",
)
_PROVEN = ("input_tokens", "output_tokens")
"""Counts that show whether totals continue others."""


class Spent(NamedTuple):
    """The tokens of a forked thread: its own, and those of the thread that it copied."""

    own: dict[str, int]
    copied: dict[str, int]


class _Total(NamedTuple):
    place: int
    counts: dict[str, int]
    last: dict[str, int]


def parent_of(own: str, lines: Sequence[Line]) -> str | None:
    """Return the thread that this one was forked from by its own statement, or whose beginning it
    contains; None for a thread that was not forked."""
    begun = [one.value for one in lines if one.value.get("type") == "session_meta"]
    for one in begun:
        named = at_path(one, "payload", "forked_from_id")
        if named:
            return text(named)
    if history_of(lines):
        spawn = at_path(begun[0], "payload", "source", "subagent", "thread_spawn")
        for held in (mapping(begun[0].get("payload")), mapping(spawn)):
            if named := text(held.get("parent_thread_id")):
                return named
    others = (text(at_path(one, "payload", "id")) for one in begun)
    return next((name for name in others if name not in ("", own)), None)


def history_of(lines: Sequence[Line]) -> int:
    """Return the number of the first own line of a sub-agent's thread: the lines before it, except
    the first, were copied from the thread that started it. 0 for a thread without such a number."""
    first = next((one.value for one in lines if one.value.get("type") == "session_meta"), {})
    stated = whole(at_path(first, "payload", "subagent_history_start_ordinal"))
    return stated if stated and stated > 1 else 0


def is_copied(value: dict[str, Any], history: int) -> bool:
    """Return whether a line was copied, by its number."""
    number = whole(value.get("ordinal"))
    return number is not None and 0 < number < history


def spent(own: str, lines: Sequence[Line]) -> Spent | None:
    """Return the tokens of a forked thread and of its parent; None where the division is not
    shown."""
    begins = _begins(own, lines)
    if begins is None:
        begins = _started(lines)
    if begins is None:
        return None
    totals = list(_totals(lines))
    if not totals or _other_total(lines, begins, totals[-1]):
        return None
    copied = [one for one in totals if one.place < begins]
    if not copied:
        return None
    before = copied[-1].counts
    after = [one for one in totals if one.place >= begins and one.counts != before]
    if not after:
        return Spent({}, before)
    first, final = after[0], after[-1].counts
    if all(first.counts.get(name) == first.last.get(name) for name in _PROVEN):
        return Spent(final, before)  # its own totals start from zero
    goes_on = all(
        name in first.last
        and first.counts.get(name, -1) - first.last[name] == before.get(name)
        and final.get(name, -1) >= first.counts[name]
        for name in _PROVEN
    )
    mine = {name: final[name] - before.get(name, 0) for name in final}
    return Spent(mine, before) if goes_on and min(mine.values()) >= 0 else None


def _begins(own: str, lines: Sequence[Line]) -> int | None:
    """Return the place of the thread's first own turn, or the place after its lines where it has
    none; None where the ids of turns do not show it."""
    if history := history_of(lines):
        owned = (
            place for place, line in enumerate(lines)
            if place and (whole(line.value.get("ordinal")) or 0) >= history
        )  # fmt: skip
        return next(owned, len(lines))
    forked = _made_at(own)
    if forked is None:
        return None
    older = False
    for place, line in enumerate(lines):
        turn = _turn(line.value)
        if turn is None:
            continue
        made = _made_at(turn)
        if made is None:
            return None
        if made >= forked:
            return place if older else None
        older = True
    return len(lines) if older else None


def _started(lines: Sequence[Line]) -> int | None:
    """Return the place where the thread that started a sub-agent gave it its task; None for other
    threads, and where several places are possible."""
    first = next((one.value for one in lines if one.value.get("type") == "session_meta"), {})
    spawned = mapping(at_path(first, "payload", "source", "subagent"))
    if not spawned and at_path(first, "payload", "thread_source") != "subagent":
        return None
    given = [place for place, one in enumerate(lines) if one.value.get("type") == _TASK]
    return given[0] if len(given) == 1 else None


_TASK = "inter_agent_communication_metadata"


def _turn(value: dict[str, Any]) -> str | None:
    """Return the id of the turn that a line begins, empty for a turn without one; None for a line
    that begins no turn."""
    payload = mapping(value.get("payload"))
    started = payload.get("type") in ("task_started", "turn_started")
    if value.get("type") != "turn_context" and not (value.get("type") == "event_msg" and started):
        return None
    attributed = at_path(payload, "turn_attribution", "turn_id")
    return text(payload.get("turn_id")) or text(attributed)


def _made_at(own: str) -> int | None:
    matched = _TIMED.fullmatch(own)
    return int(matched.group(1) + matched.group(2), 16) if matched else None


def _totals(lines: Sequence[Line]) -> list[_Total]:
    found = []
    for place, line in enumerate(lines):
        payload = mapping(line.value.get("payload"))
        if line.value.get("type") == "event_msg" and payload.get("type") == "token_count":
            info = mapping(payload.get("info"))
            if counts := _counts(info.get("total_token_usage")):
                found.append(_Total(place, counts, _counts(info.get("last_token_usage"))))
    return found


def _other_total(lines: Sequence[Line], begins: int, final: _Total) -> bool:
    """Return whether a record of usage states another total than the final event does."""
    for line in lines[begins:]:
        if line.value.get("type") == "token_usage_record":
            stated = _counts(at_path(line.value, "payload", "thread_token_usage"))
            if any(stated.get(name, 0) > final.counts.get(name, 0) for name in stated):
                return True
    return False


def _counts(usage: Any) -> dict[str, int]:
    named = mapping(usage)
    return {name: count for name in _COUNTS if (count := whole(named.get(name))) is not None}
