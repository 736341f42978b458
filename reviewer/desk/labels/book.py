"""Labels of the store as values, cached in memory: rows are only ever added, so cached rows stay
valid."""

from threading import Lock
from typing import TYPE_CHECKING

from reviewer.db import journal
from reviewer.db.connection import Connection
from reviewer.db.tables import LABELS, LABELS_RECORDED, NOTES_RECORDED, LabelRow, StoredRecord
from reviewer.review.labels import Label, label_line, stored_label

if TYPE_CHECKING:
    from reviewer.review.judgments import Judgment


class Book:
    """The labels of each suite that was read. Safe to share between threads."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[StoredRecord, tuple[Label, ...]]] = {}
        self._lock = Lock()

    def of(self, connection: Connection, suite_digest: str) -> tuple[Label, ...]:
        """Return every label of a suite, in the order in which they arrived."""
        with self._lock:
            last, known = self._read.get(suite_digest, (StoredRecord(0, b""), ()))
            rows = LABELS.of_suite(connection, suite_digest, after=max(last.id - 1, 0))
            if last.id and rows[:1] != [last]:  # another store has replaced this one
                known, rows = (), LABELS.of_suite(connection, suite_digest)
            fresh = rows[1:] if known else rows
            if fresh or not known:
                known = (*known, *(stored_label(row.body) for row in fresh))
                self._read[suite_digest] = (rows[-1] if rows else StoredRecord(0, b"")), known
            return known


def row_of(label: Label) -> LabelRow:
    """Return a sealed label as a row of the store."""
    return LabelRow(
        label.uid,
        label.suite_digest,
        label.item,
        label.showing,
        label.reviewer,
        label.role,
        label.at,
        label_line(label),
    )


def candidates_of(said: "Label | Judgment") -> set[str]:
    """Return the candidates behind an item, by the traces it was made from."""
    head, found = f"{said.suite_id}/", set()
    for trace in said.traces:
        rest, _, _ = trace.removeprefix(head).rpartition("/")
        candidate = rest.removesuffix(f"/{said.episode_id}")
        if trace.startswith(head) and candidate != rest:
            found.add(candidate)
    return found


class EvidenceClock:
    """A number that changes when the journal records a change of traces, verdicts or judgments, but
    not when people label or write notes: results that depend only on the former need not be
    computed again."""

    def __init__(self) -> None:
        self._seen, self._hash, self._changed = 0, b"", 0
        self._lock = Lock()

    def read(self, connection: Connection) -> int:
        with self._lock:
            if self._seen and journal.hash_at(connection, self._seen) != self._hash.hex():
                self._seen, self._changed = 0, self._changed + 1  # another store replaced this one
            of_people = (LABELS_RECORDED, NOTES_RECORDED)
            for seq, digest, matches in journal.entries_after(connection, self._seen, of_people):
                self._seen, self._hash = seq, digest
                if not matches:
                    self._changed += 1
            return self._changed
