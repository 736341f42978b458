"""How traces came into the store, as its journal says it: no file can say that of itself."""

import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

import msgspec

from reviewer.db import journal
from reviewer.db.connection import StoreError
from reviewer.db.facts import scanned
from reviewer.suite.tool_names import NO_MAP, ToolMap

Spans = Sequence[tuple[int, int]]
"""First and last of each unbroken run of numbers, in order."""


class Origins(NamedTuple):
    """The sources of our own runner, and of each merged store which of its records were one's."""

    runs: frozenset[int]
    merged: dict[int, Spans]
    maps: dict[int, list[tuple[Spans | None, ToolMap]]]
    """Of each source, the maps that its tools were named by, each with the records of a merge it is
    for (None: all)."""

    def tools(self, source: int, record: int) -> ToolMap:
        """The map under which this record was imported."""
        for within, tools in self.maps.get(source, ()):
            if within is None or _within(within, record):
                return tools
        return NO_MAP

    def own(self, source: int, record: int) -> bool:
        """Return whether a runner made this record, as the journal of the store it was made in
        says."""
        if source in self.runs:
            return True
        return _within(self.merged.get(source, ()), record)


def _within(found: Spans, number: int) -> bool:
    place = bisect_right(found, number, key=itemgetter(0))
    return place > 0 and number <= found[place - 1][1]


class _Mapped(msgspec.Struct):
    records: tuple[tuple[int, int], ...]
    map: str
    tools: dict[str, str]


class _Entry(msgspec.Struct):
    type: str
    source: int = 0
    runs: tuple[tuple[int, int], ...] = ()
    map: str = ""
    tools: dict[str, str] = {}
    mapped: tuple[_Mapped, ...] = ()


_decode = msgspec.json.Decoder(_Entry).decode


def origins(connection: sqlite3.Connection) -> Origins:
    """Read the journal for what runs and merges brought in. Raises StoreError for an entry that is
    none of ours."""
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
            raise StoreError(f"an entry of the journal is none of ours: {error}") from None
        if entry.type == "run.started":
            runs.add(entry.source)
        elif entry.type == "store.merged":
            merged[entry.source] = sorted((*merged.get(entry.source, ()), *entry.runs))
            for one in entry.mapped:
                maps.setdefault(entry.source, []).append((one.records, _map(one.map, one.tools)))
        elif entry.type == "tools.mapped":
            maps.setdefault(entry.source, []).append((None, _map(entry.map, entry.tools)))
    return Origins(frozenset(runs), merged, maps)


def note_map(connection: sqlite3.Connection, source: int, tools: ToolMap, now: str) -> None:
    """Put into the journal by which map a source's tools are named, inside the caller's
    transaction."""
    said = {"type": "tools.mapped", "source": source, "map": tools.digest, "at": now}
    journal.append(connection, {**said, "tools": dict(tools.names)})


def maps(connection: sqlite3.Connection) -> dict[int, ToolMap]:
    """The map that the tools of each source are named by, as the journal has it."""
    rows = connection.execute(
        "SELECT body FROM journal WHERE instr(body, '\"tools.mapped\"') ORDER BY seq DESC"
    ).fetchall()
    entries = [_decode(body) for (body,) in rows]
    return {e.source: _map(e.map, e.tools) for e in entries if e.type == "tools.mapped"}


def maps_behind(connection: sqlite3.Connection, candidate: int) -> list[ToolMap]:
    """The maps that the records of a candidate were imported under, by digest: those that name
    tools with their names, those that name episodes alone without any."""
    mine = f"SELECT DISTINCT t.source FROM trace t WHERE {scanned(connection, candidate)}"
    told = connection.execute(
        f"SELECT map FROM source_file WHERE map <> '' AND source IN ({mine})", (candidate,)
    ).fetchall()
    found = {digest: ToolMap(digest, ()) for (digest,) in told}
    journaled = origins(connection).maps
    sources = connection.execute(mine, (candidate,)).fetchall() if journaled else ()
    for (source,) in sources:
        found.update({one.digest: one for _, one in journaled.get(source, ())})
    return [found[digest] for digest in sorted(found)]


def _map(digest: str, tools: dict[str, str]) -> ToolMap:
    return ToolMap(digest, tuple(sorted(tools.items())))


def spans(records: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as spans."""
    found: list[tuple[int, int]] = []
    for number in sorted(records):
        if found and found[-1][1] == number - 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found
