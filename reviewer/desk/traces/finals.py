"""Final messages of stored traces: each payload frame is opened once, and what was read is kept."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import NamedTuple

import msgspec

from reviewer.db.connection import StoreError
from reviewer.db.payload import frame_bytes, large_head

KEPT = 50_000
"""Messages kept in memory; a trace never changes, so they stay true."""


class TraceFacts(NamedTuple):
    """What a message is found by, and what flags its trace. `said_elsewhere` is the verdict of the
    harness beside ours; `efficiency` is 0 to 1."""

    id: int
    episode: int
    attempt: int
    pack: int | None
    offset: int | None
    length: int | None
    critical: bool
    passed: bool | None
    said_elsewhere: bool | None
    termination: str | None
    diagnostics: bytes | None
    evidence: int = 0

    @property
    def key(self) -> tuple[int, int]:
        """The same trace, even should another store come in this one's place."""
        return self.id, self.evidence


_COUNTS = "NOT (t.infra = 1 AND t.passed IS NULL)"
_COLUMNS = (
    "t.id, t.episode, t.attempt, t.pack, t.offset, t.length, t.critical, t.passed,"
    " v.passed, t.termination, t.diagnostics, t.evidence"
)
_FACTS = (
    f"SELECT {_COLUMNS} FROM trace t LEFT JOIN source_verdict v ON v.trace = t.id"
    f" WHERE t.candidate=? AND {_COUNTS}"
)
# A cross join is read from left to right: what few rows there are picks the traces.
_FLAGGABLE = (
    f"{_FACTS} AND (t.passed = 0 OR t.infra = 1)"
    f" UNION SELECT {_COLUMNS} FROM source_verdict v CROSS JOIN trace t ON t.id = v.trace"
    f" WHERE t.candidate=? AND {_COUNTS} AND v.passed IS NOT t.passed"
    " AND v.passed IS NOT NULL AND t.passed IS NOT NULL"
    f" UNION SELECT {_COLUMNS} FROM finding f CROSS JOIN trace t ON t.id = f.trace"
    " LEFT JOIN source_verdict v ON v.trace = t.id"
    f" WHERE t.candidate=? AND {_COUNTS} AND f.code = 'thumbs_down' AND f.severity = 'note'"
    " ORDER BY 1"
)


class _Final(msgspec.Struct):
    """A record as far as its end."""

    final_message: str | None = None


_final = msgspec.json.Decoder(_Final)


def traces_of(connection: sqlite3.Connection, candidate: int) -> list[TraceFacts]:
    """Every attempt of a candidate but those that infrastructure lost, by id."""
    rows = connection.execute(f"{_FACTS} ORDER BY t.id", (candidate,))
    return [_facts(row) for row in rows.fetchall()]


def traces_in(
    connection: sqlite3.Connection, candidate: int, episodes: Iterable[int], most: int = -1
) -> list[TraceFacts]:
    """As `traces_of`, of some episodes, and at most so many."""
    rows = connection.execute(
        f"{_FACTS} AND t.episode IN (SELECT value FROM json_each(?)) ORDER BY t.id LIMIT ?",
        (candidate, json.dumps(list(episodes)), most),
    )
    return [_facts(row) for row in rows.fetchall()]


def trace_in(
    connection: sqlite3.Connection, candidate: int, episode: int, attempt: int
) -> TraceFacts | None:
    """As `traces_of`, the one in a slot."""
    row = connection.execute(
        f"{_FACTS} AND t.episode=? AND t.attempt=?", (candidate, episode, attempt)
    ).fetchone()
    return _facts(row) if row else None


def first_traces(connection: sqlite3.Connection, candidate: int, most: int) -> list[TraceFacts]:
    """As `traces_of`, at most so many."""
    rows = connection.execute(f"{_FACTS} ORDER BY t.id LIMIT ?", (candidate, most))
    return [_facts(row) for row in rows.fetchall()]


def count_traces(connection: sqlite3.Connection, candidate: int) -> int:
    """How many `traces_of` would give."""
    row = connection.execute(
        f"SELECT count(*) FROM trace t WHERE t.candidate=? AND {_COUNTS}", (candidate,)
    ).fetchone()
    return int(row[0])


def ended(connection: sqlite3.Connection, candidate: int) -> list[tuple[int, int]]:
    """(episode, attempt) of each of `traces_of` whose payload is stored."""
    return connection.execute(
        f"SELECT t.episode, t.attempt FROM trace t WHERE t.candidate=? AND {_COUNTS}"
        " AND (t.pack IS NOT NULL OR EXISTS (SELECT 1 FROM chunk c WHERE c.trace = t.id))",
        (candidate,),
    ).fetchall()


def flaggable(connection: sqlite3.Connection, candidate: int) -> list[TraceFacts]:
    """Those that can carry a high flag: what failed, what somebody else judged otherwise, and what
    its user gave a thumbs-down.

    A million traces that pass are not looked at.
    """
    rows = connection.execute(_FLAGGABLE, (candidate, candidate, candidate))
    return [_facts(row) for row in rows.fetchall()]


def _facts(row: tuple[int, ...]) -> TraceFacts:
    facts = TraceFacts(*row)  # type: ignore[arg-type]
    return facts._replace(
        critical=bool(facts.critical),
        passed=None if facts.passed is None else bool(facts.passed),
        said_elsewhere=None if facts.said_elsewhere is None else bool(facts.said_elsewhere),
    )


class Finals:
    """Final messages by trace. Safe to share between threads."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], str | None] = {}
        self._lock = Lock()

    def of(
        self, connection: sqlite3.Connection, traces: Sequence[TraceFacts]
    ) -> dict[int, str | None]:
        """The message of each trace, None when it ended without one. A trace whose payload was not
        stored is absent: what it said is not known. Raises StoreError for a damaged payload."""
        with self._lock:
            found = {t.id: self._kept[t.key] for t in traces if t.key in self._kept}
        missing = [trace for trace in traces if trace.id not in found]
        if missing:
            read = _read(connection, missing)
            found.update(read)
            with self._lock:
                if len(self._kept) + len(read) > KEPT:
                    self._kept.clear()
                self._kept.update((t.key, read[t.id]) for t in missing if t.id in read)
        return found


def _read(connection: sqlite3.Connection, traces: Sequence[TraceFacts]) -> dict[int, str | None]:
    packs: dict[int, list[TraceFacts]] = {}
    found: dict[int, str | None] = {}
    for trace in traces:
        if trace.pack is not None:
            packs.setdefault(trace.pack, []).append(trace)
            continue
        head = large_head(connection, trace.id)
        if head is not None:
            found[trace.id] = head.final_message
    for pack, held in packs.items():
        frame = frame_bytes(connection, pack)
        for trace in held:
            start = trace.offset or 0
            found[trace.id] = _message(frame[start : start + (trace.length or 0)], trace.id)
    return found


def _message(payload: bytes, trace: int) -> str | None:
    try:
        return _final.decode(payload).final_message
    except msgspec.DecodeError as error:
        raise StoreError(f"trace {trace} is not a stored trace: the file is damaged") from error
