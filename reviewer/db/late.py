"""Verdicts that come after their trajectory: a report imported later, a run scored at its end.

Only what was empty is filled. A verdict that says otherwise than the one that stands changes
nothing: nobody can tell from here which of two words for one piece of evidence is right.
"""

import json
import sqlite3
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import msgspec

from reviewer.db import changed

Answer = Literal["same", "empty", "other"]
WHY = "verdicts of the source came later"


class Late(NamedTuple):
    """What a source says of a stored attempt: pass or fail, reward, and further facts as JSON."""

    candidate: int
    episode: int
    attempt: int
    said: bool | None
    reward: float | None
    detail: str


class _Stands(NamedTuple):
    """What stands in the store: the attempt's own verdict, and the source's."""

    trace: int
    probe: bool
    infra: bool
    passed: bool | None
    reward: float | None
    detail: str | None


def compare(connection: sqlite3.Connection, late: Late) -> Answer:
    """How a source's word stands to the one in the store."""
    stands = _stands(connection, late)
    return "same" if stands is None else _answer(stands, late)


def _stands(connection: sqlite3.Connection, late: Late) -> _Stands | None:
    row = connection.execute(
        "SELECT t.id, s.probe, t.infra, v.passed, v.reward, v.detail FROM trace t"
        " JOIN candidate c ON c.id = t.candidate JOIN suite s ON s.id = c.suite"
        " LEFT JOIN source_verdict v ON v.trace = t.id"
        " WHERE t.candidate=? AND t.episode=? AND t.attempt=?",
        late[:3],
    ).fetchone()
    return _Stands(*row) if row else None


def _answer(stands: _Stands, late: Late) -> Answer:
    if (late.said, late.reward) in ((stands.passed, stands.reward), (None, None)):
        return "same"
    return "empty" if stands.passed is None and stands.reward is None else "other"


def fill(connection: sqlite3.Connection, lates: Iterable[Late], now: str) -> int:
    """Write verdicts where there are none, inside the caller's transaction: counts are made anew
    and the journal says what the batches hold now. What more a source that agrees has to say is
    added. Returns how many verdicts were filled."""
    filled: list[int] = []
    touched: list[int] = []
    for late in lates:
        stands = _stands(connection, late)
        answer = "other" if stands is None else _answer(stands, late)
        if stands is None or answer == "other":
            continue
        detail = merged(stands.detail or "{}", late.detail)
        if answer == "same" and detail == (stands.detail or "{}"):
            continue
        verdict = (late.said, late.reward) if answer == "empty" else (stands.passed, stands.reward)
        connection.execute(
            "INSERT INTO source_verdict (trace, passed, reward, detail) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET passed=excluded.passed, reward=excluded.reward,"
            " detail=excluded.detail",
            (stands.trace, *verdict, detail),
        )
        touched.append(stands.trace)
        if answer == "empty":
            filled.append(stands.trace)
            if stands.probe:  # elsewhere our gates say what passed
                passed = None if stands.infra else late.said
                connection.execute("UPDATE trace SET passed=? WHERE id=?", (passed, stands.trace))
    if touched:
        changed.recount(connection, changed.places(connection, filled))
        changed.note(connection, touched, WHY, now)
    return len(filled)


def merged(stands: str, more: str) -> str:
    """Facts of a verdict as JSON, with those of another that are not among them."""
    both: dict[str, Any] = {**json.loads(more), **json.loads(stands)}
    return canonical(both)


def canonical(detail: dict[str, Any]) -> str:
    """Facts of a verdict as JSON, the same in whichever order they came to be known."""
    return msgspec.json.encode(detail, order="sorted").decode()
