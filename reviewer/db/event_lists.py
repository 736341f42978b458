"""The events of a trace as one row: a few facts of each, in exact numbers.

A combination of kind, tool, status and actor is a row of `event_shape`, and events refer to it by
its id. A latency is stored as whole nanoseconds and a cost as whole nano-USD where dividing again
gives exactly the recorded figure; any other figure is kept as it is in `event_figure`.
"""

import sqlite3
from collections.abc import Sequence, Set
from typing import NamedTuple

import msgspec

from reviewer.trace.record import Event, kind_of

Shape = tuple[str, str | None, str | None, str | None]
"""Kind, tool, status and actor in full; where the short form omits the status, it is ok."""
Told = tuple[str | None, str | None, str | None, str | None]
"""The same four as the event states them."""
Figure = tuple[int, float | None, float | None]
"""Place, from 0, with the latency and the cost where they are no whole numbers."""
NS_PER_MS = 1e6
NANO_PER_USD = 1e9
_FEW = 16
"""Most shapes of one tool that a query names one by one."""
_MOST = 1 << 53
"""Whole numbers below this are exact as doubles, so that dividing one rounds once."""
_SHAPE = (
    "SELECT id FROM event_shape WHERE tool IS ? AND kind = ? AND status IS ? AND actor IS ? LIMIT 1"
)


class EventList(NamedTuple):
    """The events of a trace before their shapes have ids."""

    trace: int
    shapes: list[Told]
    seqs: list[int] | None
    """Their `seq`; None where every event's seq is its place from 1."""
    latencies: list[float | None]
    costs: list[float | None]


def event_list(trace: int, events: Sequence[Event]) -> EventList:
    """Return the events of a trace; of several events with the same seq only the first."""
    given = [event.seq for event in events]  # one pass per column: each is a tight loop
    seqs = None
    if any(given):
        first: dict[int, Event] = {}
        for place, event in enumerate(events, 1):
            first.setdefault(event.seq or place, event)
        seqs, events = list(first), list(first.values())
    kinds = [event.kind for event in events]
    tools = [event.tool for event in events]
    statuses = [event.status for event in events]
    shapes: list[Told] = list(
        zip(kinds, tools, statuses, [event.actor for event in events], strict=True)
    )
    if None in tools and None in kinds:
        shapes = [
            (kind_of(event), *shape[1:]) if event.tool is None else shape
            for event, shape in zip(events, shapes, strict=True)
        ]
    latencies = [event.latency_ms for event in events]
    return EventList(trace, shapes, seqs, latencies, [event.cost_usd for event in events])


def _shape(told: Told) -> Shape:
    """Return the shape in full: an event with a tool and no kind is a tool call, which has
    ended."""
    kind, tool, status, actor = told
    return (kind, tool, status, actor) if kind else ("tool_call", tool, status or "ok", actor)


def put_event_lists(connection: sqlite3.Connection, lists: Sequence[EventList]) -> None:
    """Store lists of traces that have none, inside the caller's transaction."""
    ids = _ids(connection, {shape for one in lists for shape in one.shapes})
    bodies: list[tuple[int, str]] = []
    figures: list[tuple[int, int, float | None, float | None]] = []
    for one in lists:
        if one.shapes:
            body, rest = _written(one, ids)
            bodies.append((one.trace, body))
            figures += [(one.trace, *figure) for figure in rest]
    connection.executemany("INSERT INTO event_list VALUES (?, ?)", bodies)
    connection.executemany("INSERT INTO event_figure VALUES (?, ?, ?, ?)", figures)


def take_event_list(connection: sqlite3.Connection, trace: int) -> None:
    """Delete the list of a trace, inside the caller's transaction."""
    connection.execute("DELETE FROM event_list WHERE trace=?", (trace,))
    connection.execute("DELETE FROM event_figure WHERE trace=?", (trace,))


def _ids(connection: sqlite3.Connection, told: Set[Told]) -> dict[Told, int]:
    """Return the ids of shapes; new shapes are added."""
    full = {one: _shape(one) for one in told}
    ids: dict[Shape, int] = {}
    new: list[Shape] = []
    # Sorted, so that the ids in a store do not depend on Python's hashes.
    for shape in sorted(set(full.values()), key=repr):
        kind, tool, status, actor = shape
        row = connection.execute(_SHAPE, (tool, kind, status, actor)).fetchone()
        if row is None:
            new.append(shape)
        else:
            ids[shape] = row[0]
    if new:
        (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM event_shape").fetchone()
        rows = [(n, *shape) for n, shape in enumerate(new, last + 1)]
        connection.executemany("INSERT INTO event_shape VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute(
            "UPDATE meta SET value = value + ? WHERE key='event_shapes'", (len(new),)
        )
        ids.update({shape: n for n, shape in enumerate(new, last + 1)})
    return {one: ids[shape] for one, shape in full.items()}


def _written(one: EventList, ids: dict[Told, int]) -> tuple[str, list[Figure]]:
    """Return the row of a list, and the figures stored separately."""
    ns = _whole(one.latencies, NS_PER_MS)
    nano = _whole(one.costs, NANO_PER_USD)
    shapes = [ids[shape] for shape in one.shapes]
    rows: list[tuple[int | None, ...]] = list(zip(shapes, ns, nano, strict=True))
    if one.seqs is not None:
        rows = [
            row if seq == place else (*row, seq)
            for place, (row, seq) in enumerate(zip(rows, one.seqs, strict=True), 1)
        ]
    beside = [
        (place, ms if n is None else None, usd if m is None else None)
        for place, (n, ms, m, usd) in enumerate(
            zip(ns, one.latencies, nano, one.costs, strict=True)
        )
        if (n is None and ms is not None) or (m is None and usd is not None)
    ] if None in ns or None in nano else []  # fmt: skip
    return msgspec.json.encode(rows).decode(), beside


def _whole(figures: Sequence[float | None], unit: float) -> Sequence[int | None]:
    """Return figures as whole numbers of a unit, None for a figure that is no whole number of
    it."""
    try:
        whole = [int(figure * unit + 0.5) for figure in figures]  # type: ignore[operator]
        if [number / unit for number in whole] == figures and max(whole, default=0) < _MOST:
            return whole
    except (TypeError, OverflowError):  # a figure is not measured, or infinite
        pass
    return [None if figure is None else _one_whole(figure, unit) for figure in figures]


def _one_whole(figure: float, unit: float) -> int | None:
    scaled = figure * unit
    if scaled < _MOST:
        whole = int(scaled + 0.5)
        if whole < _MOST and whole / unit == figure:
            return whole
    return None


def listed_events(connection: sqlite3.Connection) -> int:
    """Return the number of events in all lists."""
    (held,) = connection.execute(f"SELECT coalesce(sum({_COUNT}), 0) FROM event_list").fetchone()
    return int(held)


_COUNT = "length(CAST(body AS BLOB)) - length(CAST(replace(body, '[', '') AS BLOB)) - 1"
"""Each event opens one bracket: counting brackets is quicker than parsing the JSON, and counting
bytes is quicker than counting characters."""


def list_lengths(connection: sqlite3.Connection, done: int) -> list[tuple[int, int, int]]:
    """Return (trace, events, events listed) of each trace up to `done` where the two numbers
    differ."""
    return connection.execute(
        f"SELECT t.id, t.events, coalesce({_COUNT}, 0) AS held FROM trace t LEFT JOIN event_list l"
        " ON l.trace = t.id WHERE t.id <= ? AND held <> t.events ORDER BY t.id",
        (done,),
    ).fetchall()


def stray_lists(connection: sqlite3.Connection, done: int, most: int) -> list[int]:
    """Return the first lists up to `done` that belong to no trace."""
    rows = connection.execute(
        "SELECT trace FROM event_list WHERE trace > ? OR trace NOT IN (SELECT id FROM trace)"
        " ORDER BY trace LIMIT ?",
        (done, most),
    )
    return [trace for (trace,) in rows]


def shapes_missing(connection: sqlite3.Connection) -> int:
    """Return how many shapes were removed: an event that names one of them has no tool."""
    (missing,) = connection.execute(
        "SELECT CAST(value AS INTEGER) - (SELECT count(*) FROM event_shape) FROM meta"
        " WHERE key='event_shapes'"
    ).fetchone()
    return int(missing)


def calls_tool(connection: sqlite3.Connection, tool: str, name: str, trace: str) -> str:
    """Return the SQL condition that an event of `trace` (a column) has this tool, which is bound as
    `name`."""
    ids = connection.execute(
        "SELECT id FROM event_shape WHERE tool = ? LIMIT ?", (tool, _FEW + 1)
    ).fetchall()
    if len(ids) > _FEW:  # many actors call this tool
        return (
            "EXISTS (SELECT 1 FROM event_list l CROSS JOIN json_each(l.body) v"
            " CROSS JOIN event_shape s ON s.id = json_extract(v.value, '$[0]')"
            f" WHERE l.trace = {trace} AND s.tool = {name})"
        )
    holds = " OR ".join(f"instr(l.body, '[{key},') > 0" for (key,) in ids) or "0"
    return f"EXISTS (SELECT 1 FROM event_list l WHERE l.trace = {trace} AND ({holds}))"


def tools_of_newest(connection: sqlite3.Connection, most: int) -> list[str]:
    """Return the tools of the events stored last, at most so many events."""
    rows = connection.execute(
        "SELECT DISTINCT s.tool FROM (SELECT json_extract(e.value, '$[0]') AS shape FROM"
        " (SELECT body FROM event_list ORDER BY trace DESC LIMIT ?1) l CROSS JOIN json_each(l.body)"
        " e LIMIT ?1) JOIN event_shape s ON s.id = shape WHERE s.tool IS NOT NULL",
        (most,),
    )
    return [row[0] for row in rows]


def event_maxima(connection: sqlite3.Connection, trace: int) -> tuple[float | None, float | None]:
    """Return the greatest latency (ms) and cost (USD) of one event, of the events that are listed.

    This does not use the view `event`: SQLite before 3.41 refuses JSON functions in a view of an
    untrusted store.
    """
    row = connection.execute(
        "SELECT max(coalesce(json_extract(e.value, '$[1]') / 1e6, f.latency_ms)),"
        " max(coalesce(json_extract(e.value, '$[2]') / 1e9, f.cost_usd))"
        " FROM event_list l CROSS JOIN json_each(l.body) e"
        " LEFT JOIN event_figure f ON f.trace = l.trace AND f.place = e.key WHERE l.trace = ?",
        (trace,),
    ).fetchone()
    return row[0], row[1]
