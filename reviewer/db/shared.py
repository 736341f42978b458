"""One record that is evidence of two candidates: a failure counts for both, a pass for one.

A binding whose pass does not count is not measured, and its finding names the other. The candidate
that the record itself names keeps its pass, else the first that it was imported for.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from reviewer.db import changed, revisions
from reviewer.gates.model import Finding
from reviewer.gates.revised import SHARED, without

WHY = "the same record is evidence of another candidate"
ELSEWHERE = "the same record is evidence of {}: a pass counts there alone"
GOES_ON = "its run goes on in {}, under another contract: import that file for this suite too"
_MADE = ("run/1",)
"""Readers of what was really made: two of theirs may be alike."""
_BINDINGS = (
    "SELECT t.id, c.candidate_id, s.suite_id || '/' || c.candidate_id || '/' || e.episode_id ||"
    " '/' || t.attempt, o.candidate, o.reader, t.latency_ms, t.record, t.evidence, s.probe"
    " FROM trace t JOIN candidate c ON c.id = t.candidate JOIN suite s ON s.id = c.suite"
    " JOIN episode e ON e.id = t.episode JOIN source o ON o.id = t.source WHERE "
)


class _Binding(NamedTuple):
    trace: int
    candidate_id: str
    trace_id: str
    asked: str
    reader: str
    latency_ms: float | None
    record: int
    evidence: int
    probe: int


def settle(
    connection: sqlite3.Connection,
    fresh: Collection[int],
    siblings: Collection[int],
    names: Mapping[int, str],
    now: str,
    pairs: Mapping[int, Sequence[int]] = {},
) -> int:
    """Say of these traces, and of those that hold the same record for another candidate, whose a
    pass is; inside the caller's transaction. `siblings` are other imports of the very file, `names`
    the candidate that each of its records names itself, `pairs` traces that are known to hold the
    same record. Returns how many passes do not count."""
    lost: dict[int, str] = {}
    for one in _asked(connection, "t.id IN (SELECT value FROM json_each(?))", list(fresh)):
        group = [other for other in _twins(connection, one, siblings) if other.trace != one.trace]
        group += _asked(
            connection, "t.id IN (SELECT value FROM json_each(?))", pairs.get(one.trace, ())
        )
        group = [other for other in group if other.candidate_id != one.candidate_id]
        if not group:
            continue
        both = sorted([one, *group])
        keeps = _keeper(both, names.get(one.record, ""))
        for other in both:
            if other.candidate_id != keeps.candidate_id:
                lost[other.trace] = keeps.trace_id
    return lose(connection, lost, now)


def lose(
    connection: sqlite3.Connection, lost: dict[int, str], now: str, text: str = ELSEWHERE
) -> int:
    """Note that the passes of these traces do not count here: by default, under another trace id
    alone. `text` says why, with `{}` for that id."""
    noted: list[int] = []
    for trace, other in lost.items():
        stands = revisions.verdict(connection, trace)
        if any(one.code == SHARED for one in stands.findings):
            continue
        finding = Finding("completeness", SHARED, "not_measured", None, text.format(other))
        revisions.put_verdict(connection, trace, without(stands, finding))
        noted.append(trace)
    if noted:
        changed.recount(connection, changed.places(connection, noted))
        changed.note(connection, noted, WHY, now)
    return len(noted)


def _keeper(both: list[_Binding], named: str) -> _Binding:
    by_name = [one for one in both if named and one.candidate_id == named]
    by_record = [one for one in both if not one.asked or one.reader in _MADE]
    return (by_name or by_record or both)[0]


def _twins(
    connection: sqlite3.Connection, one: _Binding, siblings: Collection[int]
) -> list[_Binding]:
    """Other bindings of a record: of the very file, or the same evidence in a private suite. Runs
    without a clock may be alike, and whoever names its candidate names its own."""
    found: dict[int, _Binding] = {}
    if siblings:
        where = "t.source IN (SELECT value FROM json_each(?)) AND t.record=?"
        for other in _asked(connection, where, list(siblings), one.record):
            found[other.trace] = other
    if not one.probe and one.reader not in _MADE:
        for other in _asked(
            connection, "t.evidence=(SELECT value FROM json_each(?))", [one.evidence]
        ):
            alike = one.latency_ms is None and not one.asked and not other.asked
            if not other.probe and not alike:
                found[other.trace] = other
    return list(found.values())


def _asked(
    connection: sqlite3.Connection, where: str, values: Iterable[int], *more: int
) -> list[_Binding]:
    rows = connection.execute(_BINDINGS + where, (json.dumps(list(values)), *more)).fetchall()
    return [_Binding(*row) for row in rows]
