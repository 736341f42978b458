"""Files that are imported while they are written: which stored attempt is the beginning of one.

A harness rewrites a trajectory after each step, or writes it before the result of its trial. What
was imported of it then is an attempt; when all that it holds stands in the same order in what the
file holds now, and more, they are one attempt and not two.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec
import zstandard

from reviewer.db import payload
from reviewer.db.intake import Pack
from reviewer.db.replaced import Former
from reviewer.ingest.outcome import Facts

_MEANT = ("kind", "actor", "tool", "arguments", "observation", "message", "approval", "state")
"""What an event says; its times, costs and status may come to be known later."""
_ONE = """
SELECT id, candidate, episode, attempt, evidence, pack, offset, length FROM trace
WHERE source IN (SELECT value FROM json_each(?)) LIMIT 2
"""


class _Events(msgspec.Struct):
    events: list[dict[str, Any]]


_events = msgspec.json.Decoder(_Events)
_run = msgspec.json.Decoder(list[dict[str, Any]])


class Paths:
    """The paths of everything that was imported before. Asked of every file, so the store is read
    once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known = {hash(path) for (path,) in connection.execute("SELECT path FROM source")}

    def sources(self, paths: Iterable[str]) -> frozenset[int]:
        """The imports of files at these paths."""
        found = [path for path in paths if hash(path) in self._known]
        if not found:
            return frozenset()
        rows = self._connection.execute(
            "SELECT id FROM source WHERE path IN (SELECT value FROM json_each(?))",
            (json.dumps(found),),
        )
        return frozenset(source for (source,) in rows.fetchall())


class Beginnings:
    """What earlier imports of one file, or of a part of it, left: looked up when it is needed."""

    def __init__(self, connection: sqlite3.Connection, sources: Collection[int]) -> None:
        self._connection, self._sources = connection, sources
        self._read = not sources
        self._former: Former | None = None
        self._events: list[dict[str, Any]] = []

    def of(self, facts: Facts, packs: Sequence[Pack]) -> Former | None:
        """The stored attempt of which this one is the whole: once, None afterwards."""
        if not self._read:
            self._read = True
            self._look()
        former = self._former
        if former is None or former.evidence == facts.evidence:
            self._former = None  # it stands in the file as it stood: nothing has grown
            return None
        if not _holds(_of_facts(facts, packs), self._events):
            return None
        self._former = None
        return former

    def _look(self) -> None:
        rows = self._connection.execute(_ONE, (json.dumps(list(self._sources)),)).fetchall()
        if len(rows) != 1:  # a file of many attempts: each is whole when it is written
            return
        *where, pack, offset, length = rows[0]
        if pack is None:
            raw = payload.large_record(self._connection, where[0])
        else:
            raw = payload.raw_record(self._connection, pack, offset, length)
        if raw is not None:
            self._former, self._events = Former(*where), _events.decode(raw).events


def _of_facts(facts: Facts, packs: Sequence[Pack]) -> list[dict[str, Any]]:
    """The events of an attempt that is to be stored; none when its payload may not be."""
    if facts.pack is not None:
        [raw] = payload.slices(packs[facts.pack], [(facts.offset or 0, facts.length or 0)])
        return _events.decode(raw).events
    opened = zstandard.ZstdDecompressor().decompress
    frames = [opened(one.frame) for one in facts.chunks[1:]]
    return [event for frame in frames for event in _run.decode(frame)]


def _holds(events: Sequence[dict[str, Any]], beginning: Sequence[dict[str, Any]]) -> bool:
    """Whether all of `beginning` stands in `events`, in its order."""
    left = iter(map(_said, events))
    return all(_said(one) in left for one in beginning)


def _said(event: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(event.get(name) for name in _MEANT)
