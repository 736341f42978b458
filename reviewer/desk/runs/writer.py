"""What a run's attempts become in the store: judged by the code that imports files, and written
in batches of what has come meanwhile, so that a thousand attempts are not a thousand commits."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reviewer.db import index
from reviewer.db.connection import close_writer
from reviewer.db.registry import SourceRow
from reviewer.desk.imports.importing import INLINE_EVENTS, clock
from reviewer.importing.importer import Batcher, Manifest, Tally
from reviewer.importing.judge import Asked, Judge, Order
from reviewer.importing.outcome import Facts
from reviewer.importing.split import Piece
from reviewer.running.model import Finished
from reviewer.suite.model import Suite

READER = "run/1"


class Written(NamedTuple):
    """What came of some records: `made` fill their slots now, durably; `kept` are the records
    behind them, less those that held raw identifiers; `refused` says why others do not."""

    made: list[Facts]
    kept: list[bytes]
    refused: list[str]


class RunWriter:
    """Writes the records of one run. Not thread-safe: one thread at a time."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        store: Path,
        suite: Suite,
        source: SourceRow,
        manifest: Manifest,
    ) -> None:
        self._connection, self._store, self._source = connection, store, source.id
        asked = Asked(suite.suite_id, manifest.candidate.candidate_id)
        self._judge = Judge(Order((suite,), asked, "native", source.path, own=True))
        self._batcher = batcher(connection, store, suite, source, manifest)

    def write(self, finished: Sequence[Finished]) -> Written:
        """Judge and keep these, as one durable transaction. Raises StoreError."""
        first = self._batcher.tally.records + 1
        pieces = [Piece(n, one.raw, "", 0) for n, one in enumerate(finished, first)]
        group = self._judge.group(pieces, first)
        self._batcher.take(group)
        self._batcher.flush()
        refused = self._refused(first, len(pieces))
        made = [facts for facts in group.facts if facts.number not in refused]
        raw = {piece.number: piece.raw for piece in pieces}
        stored = [facts for facts in made if facts.pack is not None or facts.chunks]
        return Written(made, [raw[facts.number] for facts in stored], list(refused.values()))

    def _refused(self, first: int, count: int) -> dict[int, str]:
        rows = self._connection.execute(
            "SELECT record, reasons FROM quarantine WHERE source=? AND record>=? AND record<?",
            (self._source, first, first + count),
        ).fetchall()
        return {record: ", ".join(json.loads(reasons)) for record, reasons in rows}

    def close(self, done: bool) -> None:
        """Note that the run made all it planned, if it did, and let the store go."""
        try:
            if done:
                self._batcher.flush(done=True)
            if index.pending_events(self._connection) <= INLINE_EVENTS:
                index.catch_up(self._connection, self._store)
        finally:
            close_writer(self._connection, self._store)


def batcher(
    connection: sqlite3.Connection, store: Path, suite: Suite, source: SourceRow, manifest: Manifest
) -> Batcher:
    """A writer of judged records that goes on where this source stands. Attempts of our own runner
    may be alike: each was really made."""
    return Batcher(
        connection,
        store,
        source.id,
        Tally(source.records, source.added, source.known, source.refused),
        {suite.suite_id: suite},
        lambda suite_id, candidate_id: manifest,
        clock,
        share_evidence=True,
    )
