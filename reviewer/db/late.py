"""Verdicts that come after their trajectory: a report imported later, a run scored at its end.

What was empty is filled. Of two words for one piece of evidence nobody can tell from here which is
right: that it failed holds, whichever came first.
"""

import json
import sqlite3
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import msgspec

from reviewer.db import changed

Answer = Literal["same", "empty", "failed", "other"]
"""`failed`: it says that the attempt failed, where another word says that it passed."""
WHY = "verdicts of the source came later"
AGAINST = "a later verdict says otherwise: that it failed holds"
_OPEN = 2
"""Completeness is not measured: no word of a source makes it a pass."""


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
    open: bool


def compare(connection: sqlite3.Connection, late: Late) -> Answer:
    """How a source's word stands to the one in the store."""
    stands = _stands(connection, late)
    return "same" if stands is None else _answer(stands, late)


def _stands(connection: sqlite3.Connection, late: Late) -> _Stands | None:
    row = connection.execute(
        "SELECT t.id, s.probe, t.infra, v.passed, v.reward, v.detail, t.gates & 3 = ? FROM trace t"
        " JOIN candidate c ON c.id = t.candidate JOIN suite s ON s.id = c.suite"
        " LEFT JOIN source_verdict v ON v.trace = t.id"
        " WHERE t.candidate=? AND t.episode=? AND t.attempt=?",
        (_OPEN, *late[:3]),
    ).fetchone()
    if row is None:
        return None
    passed = None if row[3] is None else bool(row[3])
    return _Stands(row[0], bool(row[1]), bool(row[2]), passed, row[4], row[5], bool(row[6]))


def _answer(stands: _Stands, late: Late) -> Answer:
    if (late.said, late.reward) in ((stands.passed, stands.reward), (None, None)):
        return "same"
    if stands.passed is None and stands.reward is None:
        return "empty"
    return "failed" if late.said is False and stands.passed is not False else "other"


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
        verdict = (late.said, late.reward) if answer != "same" else (stands.passed, stands.reward)
        if answer == "failed":
            detail = merged(detail, canonical({"contradicted": AGAINST}))
        connection.execute(
            "INSERT INTO source_verdict (trace, passed, reward, detail) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET passed=excluded.passed, reward=excluded.reward,"
            " detail=excluded.detail",
            (stands.trace, *verdict, detail),
        )
        touched.append(stands.trace)
        if answer != "same":
            filled.append(stands.trace)
            if stands.probe:  # elsewhere our gates say what passed
                passed = None if stands.infra or (late.said and stands.open) else late.said
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
