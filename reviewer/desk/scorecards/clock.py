"""When something about a candidate last changed: asked after every write, and answered from what
the journal gained since."""

import sqlite3
from threading import Lock

import msgspec

from reviewer.db import journal
from reviewer.db.queries.candidates import (
    candidates_of_batch,
    candidates_of_traces,
    candidates_refused,
)


class _Revised(msgspec.Struct):
    trace: int


class _Entry(msgspec.Struct):
    """A journal entry as far as it tells which candidates it is about."""

    type: str
    revised: tuple[_Revised, ...] = ()
    source: int = 0
    first: int = 0
    added: int = 0
    refused: int = 0


_entry = msgspec.json.Decoder(_Entry)


class Clock:
    """The journal entry that last touched a candidate; what is not known of yet counts as touched
    by the newest. Kept for one desk; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen = journal.Head(0, b"")
        self._all = 0
        self._of: dict[int, int] = {}

    def read(self, connection: sqlite3.Connection, candidate: int) -> int:
        """A number that rises when something may have changed of what is shown of a candidate.
        Traces of another, and rows filled behind an import, change nothing."""
        with self._lock:
            self._bring_up(connection)
            return max(self._all, self._of.get(candidate, 0))

    def _bring_up(self, connection: sqlite3.Connection) -> None:
        head = journal.head(connection)
        if head == self._seen:
            return
        if journal.hash_at(connection, self._seen.seq) != self._seen.hash.hex():
            self._all = head.seq  # the first look, or another store in its place
        else:
            for seq, body in journal.entries_between(connection, self._seen.seq, head.seq):
                touched = _touched(connection, _entry.decode(body))
                if touched is None:
                    self._all = seq
                else:
                    self._of.update(dict.fromkeys(touched, seq))
        self._seen = head


def _touched(connection: sqlite3.Connection, entry: _Entry) -> set[int] | None:
    """Keys of the candidates that an entry is about; None where it may be any."""
    if entry.type == "traces.revised":
        return candidates_of_traces(connection, (one.trace for one in entry.revised))
    if entry.type != "traces.added":
        return None
    found = candidates_of_batch(connection, entry.first, entry.added)
    if not entry.refused:
        return found
    refused = candidates_refused(connection, entry.source)
    return None if refused is None else found | refused
