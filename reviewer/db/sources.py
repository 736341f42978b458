"""Imported files: how far each was read, by which tool maps, and which records reviewer's runner
made."""

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from reviewer.db import journal
from reviewer.db.codec import json_ints
from reviewer.db.connection import StoreError
from reviewer.db.figure_blocks import sources_of
from reviewer.suite.tool_names import NO_MAP, ToolMap


class SourceRow(NamedTuple):
    id: int
    sha256: str
    path: str
    size: int
    reader: str
    suite: str
    candidate: str
    state: str
    records: int
    added: int
    known: int
    refused: int
    notes: str
    at: str


_SOURCE = (
    "id, sha256, path, size, reader, suite, candidate, state, records, added, known, refused,"
    " notes, at"
)


def source_rows(connection: sqlite3.Connection) -> list[SourceRow]:
    rows = connection.execute(f"SELECT {_SOURCE} FROM source ORDER BY id")
    return [SourceRow(*row) for row in rows]


def source_row(
    connection: sqlite3.Connection, sha256: str, suite: str, candidate: str
) -> SourceRow | None:
    row = connection.execute(
        f"SELECT {_SOURCE} FROM source WHERE sha256=? AND suite=? AND candidate=?",
        (sha256, suite, candidate),
    ).fetchone()
    return SourceRow(*row) if row else None


def source_by_id(connection: sqlite3.Connection, source: int) -> SourceRow | None:
    row = connection.execute(f"SELECT {_SOURCE} FROM source WHERE id=?", (source,)).fetchone()
    return SourceRow(*row) if row else None


def size_known(connection: sqlite3.Connection, size: int) -> bool:
    """Return whether a file of exactly this size was imported, or its import started: it may be the
    same file."""
    row = connection.execute("SELECT 1 FROM source WHERE size=? LIMIT 1", (size,)).fetchone()
    return row is not None


def reopen_source(connection: sqlite3.Connection, source: int) -> None:
    """Record that a source is read again, inside the caller's transaction."""
    connection.execute("UPDATE source SET state='reading' WHERE id=?", (source,))


def source_progress(connection: sqlite3.Connection, source: int) -> tuple[int, int, int, int]:
    """Return (records, added, known, refused) of a source as the store has them."""
    row = connection.execute(
        "SELECT records, added, known, refused FROM source WHERE id=?", (source,)
    ).fetchone()
    return row[0], row[1], row[2], row[3]


def add_known(
    connection: sqlite3.Connection, source: int, added: int, known: int, notes: Iterable[str]
) -> None:
    """Add to the counts of a source the attempts that were already stored, inside the caller's
    transaction."""
    connection.execute(
        "UPDATE source SET added=added+?, known=known+?, notes=? WHERE id=?",
        (added, known, msgspec.json.encode(list(notes)).decode(), source),
    )


def settle_source(connection: sqlite3.Connection, source: int) -> None:
    """Recount a source that two processes read: refused records by the quarantine, and as known all
    that were neither added nor refused. Inside the caller's transaction."""
    connection.execute(
        "UPDATE source SET refused=(SELECT count(*) FROM quarantine q WHERE q.source=source.id)"
        " WHERE id=?",
        (source,),
    )
    connection.execute(
        "UPDATE source SET known=max(records-added-refused, 0) WHERE id=?", (source,)
    )


def episode_map_of(connection: sqlite3.Connection, source: int) -> str:
    """Return the digest of the map under which an import named its episodes; empty without a map,
    and for imports from before the digest was stored."""
    row = connection.execute("SELECT map FROM source_file WHERE source=?", (source,)).fetchone()
    return "" if row is None else str(row[0])


def other_imports(connection: sqlite3.Connection, source: int) -> list[int]:
    """Return the other imports of the same file: for another candidate, map or suite."""
    rows = connection.execute(
        "SELECT o.source FROM source_file f JOIN source_file o ON o.sha256 = f.sha256"
        " WHERE f.source=? AND o.source IS NOT f.source ORDER BY o.source",
        (source,),
    ).fetchall()
    return [other for (other,) in rows]


_OPENED = ("sha256", "path", "size", "reader", "suite", "candidate")


def open_source(
    connection: sqlite3.Connection, values: dict[str, Any], file: str = "", names: str = ""
) -> SourceRow:
    """Record that a file is being read, unless that is recorded already. `file` is its digest,
    `names` the digest of the map of episodes."""
    made = connection.execute(
        "INSERT INTO source (sha256, path, size, reader, suite, candidate, state, at)"
        " VALUES (:sha256, :path, :size, :reader, :suite, :candidate, 'reading', :at)"
        " ON CONFLICT DO NOTHING",
        values,
    )
    if made.rowcount == 1 and made.lastrowid is not None:
        own = (values[name] for name in _OPENED)
        row = SourceRow._make((made.lastrowid, *own, "reading", 0, 0, 0, 0, "[]", values["at"]))
    else:
        found = source_row(connection, values["sha256"], values["suite"], values["candidate"])
        assert found is not None  # the conflicting row already existed
        row = found
    if file:
        connection.execute(
            "INSERT OR IGNORE INTO source_file VALUES (?, ?, ?)", (row.id, file, names)
        )
    return row


Spans = Sequence[tuple[int, int]]
"""First and last of each unbroken run of numbers, in order."""


RUN_READER, MERGE_READER = "run/1", "merge/1"
"""The readers named in sources of runs, and of merged stores: both may have records that reviewer's
own runner made."""


class Origins(NamedTuple):
    """The sources of reviewer's runner, and for each merged store which of its records the runner
    made."""

    runs: frozenset[int]
    merged: dict[int, Spans]
    maps: dict[int, list[tuple[Spans | None, ToolMap]]]
    """For each source, the maps that named its tools, each with the records of a merge that it
    applies to (None: all)."""

    def tools(self, source: int, record: int) -> ToolMap:
        """Return the map under which this record was imported."""
        for within, tools in self.maps.get(source, ()):
            if within is None or _within(within, record):
                return tools
        return NO_MAP

    def own(self, source: int, record: int) -> bool:
        """Return whether a runner made this record, by the journal of the store it was made in."""
        if source in self.runs:
            return True
        return source in self.merged and _within(self.merged[source], record)


def _within(found: Spans, number: int) -> bool:
    place = bisect_right(found, number, key=itemgetter(0))
    return place > 0 and number <= found[place - 1][1]


def made_here(connection: sqlite3.Connection, candidate: int, sources: Iterable[int]) -> bool:
    """Return whether reviewer's runner made every record of a candidate, all of which are from
    these sources."""
    made = origins(connection)
    for source in sources:
        if source in made.runs:
            continue
        records = connection.execute(
            "SELECT record FROM trace WHERE candidate=? AND source=?", (candidate, source)
        )
        if source not in made.merged or not all(made.own(source, one) for (one,) in records):
            return False
    return True


class _MappedRecords(msgspec.Struct):
    records: tuple[tuple[int, int], ...]
    map: str
    tools: dict[str, str]


class _Entry(msgspec.Struct):
    type: str
    source: int = 0
    runs: tuple[tuple[int, int], ...] = ()
    map: str = ""
    tools: dict[str, str] = {}
    mapped: tuple[_MappedRecords, ...] = ()


_decode = msgspec.json.Decoder(_Entry).decode


def origins(connection: sqlite3.Connection) -> Origins:
    """Read from the journal what runs and merges imported. Raises StoreError for an invalid
    entry."""
    runs: set[int] = set()
    merged: dict[int, Spans] = {}
    maps: dict[int, list[tuple[Spans | None, ToolMap]]] = {}
    for (body,) in connection.execute(
        "SELECT body FROM journal WHERE instr(body, '\"run.started\"')"
        " OR instr(body, '\"store.merged\"') OR instr(body, '\"tools.mapped\"') ORDER BY seq"
    ).fetchall():
        try:
            entry = _decode(body)
        except msgspec.MsgspecError as error:
            raise StoreError(f"an entry of the journal is not from this program: {error}") from None
        if entry.type == "run.started":
            runs.add(entry.source)
        elif entry.type == "store.merged":
            # A merge that was cut off and continued named the remaining records again, with gaps.
            merged[entry.source] = joined((*merged.get(entry.source, ()), *entry.runs))
            for one in entry.mapped:
                maps.setdefault(entry.source, []).append(
                    (one.records, _tool_map(one.map, one.tools))
                )
        elif entry.type == "tools.mapped":
            maps.setdefault(entry.source, []).append((None, _tool_map(entry.map, entry.tools)))
    return Origins(frozenset(runs), merged, maps)


def journal_tool_map(connection: sqlite3.Connection, source: int, tools: ToolMap, now: str) -> None:
    """Record in the journal by which map a source's tools are named, inside the caller's
    transaction."""
    said = {"type": "tools.mapped", "source": source, "map": tools.digest, "at": now}
    journal.append(connection, {**said, "tools": dict(tools.names)})


def tool_maps(connection: sqlite3.Connection) -> dict[int, ToolMap]:
    """Return the map by which the tools of each source are named, from the journal."""
    rows = connection.execute(
        "SELECT body FROM journal WHERE instr(body, '\"tools.mapped\"') ORDER BY seq DESC"
    ).fetchall()
    entries = [_decode(body) for (body,) in rows]
    return {e.source: _tool_map(e.map, e.tools) for e in entries if e.type == "tools.mapped"}


def tool_maps_of(connection: sqlite3.Connection, sources: Sequence[int]) -> list[ToolMap]:
    """Return the maps under which the records of these sources were imported, by digest. A map of
    tools includes its names; a map of episodes alone has none."""
    told = connection.execute(
        "SELECT map FROM source_file WHERE map <> ''"
        " AND source IN (SELECT value FROM json_each(?))",
        (json.dumps(list(sources)),),
    ).fetchall()
    found = {digest: ToolMap(digest, ()) for (digest,) in told}
    journaled = origins(connection).maps
    for source in sources if journaled else ():
        found.update({one.digest: one for _, one in journaled.get(source, ())})
    return [found[digest] for digest in sorted(found)]


def _tool_map(digest: str, tools: dict[str, str]) -> ToolMap:
    return ToolMap(digest, tuple(sorted(tools.items())))


def spans(records: Iterable[int]) -> list[tuple[int, int]]:
    """Return numbers as spans."""
    found: list[tuple[int, int]] = []
    for number in sorted(records):
        if found and found[-1][1] == number - 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found


def joined(named: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge spans that may overlap into spans that do not."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(named):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found


class SourceResult(NamedTuple):
    """The attempts of a candidate in one imported file or run: (episode_id, attempt, passed or
    None, hex sha256 of the record), by place in the suite, then by attempt."""

    source: int
    sha256: str
    attempts: tuple[tuple[str, int, int | None, str], ...]


def source_results(connection: sqlite3.Connection, candidate: int) -> list[SourceResult]:
    """Return the results of each source that gave this candidate a trace, in import order. An
    attempt that infrastructure lost has no verdict."""
    found: dict[int, list[tuple[str, int, int | None, str]]] = {}
    for source, *attempt in connection.execute(
        "SELECT t.source, e.episode_id, t.attempt, CASE WHEN t.infra THEN NULL ELSE t.passed END,"
        " lower(hex(t.sha256)) FROM trace t JOIN episode e ON e.id = t.episode"
        " WHERE t.candidate=? ORDER BY t.source, e.position, t.attempt",
        (candidate,),
    ).fetchall():
        found.setdefault(source, []).append(tuple(attempt))
    digests = dict(connection.execute("SELECT id, sha256 FROM source").fetchall())
    return [SourceResult(source, digests[source], tuple(rows)) for source, rows in found.items()]


def source_files_of(connection: sqlite3.Connection, candidate: int) -> list[tuple[int, str, str]]:
    """Return (key, path, sha256) of every file that gave this candidate a trace, in import
    order."""
    return connection.execute(
        "SELECT id, path, sha256 FROM source WHERE id IN (SELECT value FROM json_each(?))"
        " ORDER BY id",
        (json_ints(sources_of(connection, candidate)),),
    ).fetchall()
