"""When something about a candidate last changed: asked after every write, and answered from what
the journal gained since."""

import sqlite3
from threading import Lock

import msgspec

from reviewer.db import journal


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
        known = connection.execute(
            "SELECT hash FROM journal WHERE seq=?", (self._seen.seq,)
        ).fetchone()
        if known is None or known[0] != self._seen.hash:
            self._all = head.seq  # the first look, or another store in its place
        else:
            entries = connection.execute(
                "SELECT seq, body FROM journal WHERE seq>? AND seq<=? ORDER BY seq",
                (self._seen.seq, head.seq),
            ).fetchall()
            for seq, body in entries:
                touched = _touched(connection, _entry.decode(body))
                if touched is None:
                    self._all = seq
                else:
                    self._of.update(dict.fromkeys(touched, seq))
        self._seen = head


def _touched(connection: sqlite3.Connection, entry: _Entry) -> set[int] | None:
    """Keys of the candidates that an entry is about; None where it may be any."""
    if entry.type == "traces.revised":
        return {
            row[0]
            for one in entry.revised
            for row in connection.execute("SELECT candidate FROM trace WHERE id=?", (one.trace,))
        }
    if entry.type != "traces.added":
        return None
    # A probe gets its episodes with its traces, and every candidate of it is shown on all of them.
    rows = connection.execute(
        "WITH found AS (SELECT DISTINCT candidate AS id FROM trace WHERE id>=? AND id<?)"
        " SELECT id FROM found UNION SELECT other.id FROM found JOIN candidate c USING (id)"
        " JOIN suite s ON s.id = c.suite JOIN candidate other ON other.suite = s.id WHERE s.probe",
        (entry.first, entry.first + entry.added),
    ).fetchall()
    found = {row[0] for row in rows}
    if not entry.refused:
        return found
    refused = connection.execute(
        "SELECT DISTINCT c.id, q.candidate_id IS NULL FROM quarantine q LEFT JOIN candidate c"
        " ON c.candidate_id = q.candidate_id WHERE q.source=?",
        (entry.source,),
    ).fetchall()
    if any(unnamed for _, unnamed in refused):
        return None
    return found | {key for key, _ in refused if key is not None}
