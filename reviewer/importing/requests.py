"""What each episode of a probe was first asked: two different first requests are two episodes.

A record that names no task is called after its session, its run or its place, and another record
may be called so too. The first request tells them apart, in one file, in several, and from one
import to the next.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable
from typing import Any

from reviewer.db import payload

_FIRST = (
    "SELECT t.id, t.pack, t.offset, t.length FROM trace t JOIN episode e ON e.id = t.episode"
    " JOIN suite s ON s.id = e.suite WHERE s.suite_id=? AND s.probe=1 AND e.episode_id=?"
    " AND t.candidate IN (SELECT id FROM candidate WHERE suite = s.id) ORDER BY t.id LIMIT 1"
)
Mask = Callable[[Any], Any]
UNKNOWN = ""
"""Stands for the first request of what begins in the middle, until its beginning comes."""


def opening(request: Any) -> str:
    """The digest of a first request."""
    text = json.dumps(request, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


class _Known:
    """First requests of one name: `stored` ones by the digest of what is kept, those of this import
    by their hash, each with its place."""

    def __init__(self, stored: list[str]) -> None:
        self.stored = stored
        self.fresh: dict[int, int] = {}

    def place(self, request: Any, mask: Mask) -> int:
        key = hash(request if isinstance(request, str) else opening(request))
        place = self.fresh.get(key)
        if place is None:
            place = self._new(request, mask) if self.stored else len(self.fresh)
            self.fresh[key] = place
        return place

    def _new(self, request: Any, mask: Mask) -> int:
        digest = opening(mask(request))
        if digest not in self.stored:
            if UNKNOWN in self.stored:
                self.stored[self.stored.index(UNKNOWN)] = digest
            else:
                self.stored.append(digest)
        return self.stored.index(digest)


class Requests:
    """First requests by the name that records share; shared by the files of one import."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, str], _Known] = {}
        self._suites: dict[str, bool] = {}

    def place(self, suite_id: str, name: str, request: Any, mask: Mask) -> int:
        """Return which of the episodes of this name has the request, from 0; one behind the last
        where none has it yet. `mask` makes of a request what would be stored of it."""
        known = self._known.get((suite_id, name))
        if known is None:
            stored = self._stored(suite_id, name) if self._filled(suite_id) else []
            known = self._known[suite_id, name] = _Known(stored)
        return known.place(request, mask)

    def _filled(self, suite_id: str) -> bool:
        """Return whether anything of this suite was stored before this import."""
        if suite_id not in self._suites:
            row = self._connection.execute(
                "SELECT 1 FROM episode e JOIN suite s ON s.id = e.suite WHERE s.suite_id=? LIMIT 1",
                (suite_id,),
            ).fetchone()
            self._suites[suite_id] = row is not None
        return self._suites[suite_id]

    def _stored(self, suite_id: str, name: str) -> list[str]:
        found: list[str] = []
        while True:
            other = name if not found else f"{name}#{len(found) + 1}"
            row = self._connection.execute(_FIRST, (suite_id, other)).fetchone()
            if row is None:
                return found
            raw = payload.stored_record(self._connection, *row)
            events = json.loads(raw)["events"] if raw is not None else []
            begun = bool(events) and events[0].get("actor") in ("user", "system")
            found.append(opening(first_request(events)) if begun else UNKNOWN)


def first_request(events: list[dict[str, Any]]) -> Any:
    """Return what was asked first in a native record's events; None for nothing."""
    return next((e.get("message") for e in events if e.get("actor") == "user"), None)
