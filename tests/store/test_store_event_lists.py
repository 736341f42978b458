"""Event lists and full text against the plain way: a row per event, and words in their order."""

import contextlib
import sqlite3
from functools import cache
from typing import Any

import msgspec
import pytest
from doors import V8, Door, shipped
from hypothesis import example, given
from hypothesis import strategies as st

from reviewer.db import search
from reviewer.db.connection import close_writer, scripts
from reviewer.db.event_lists import calls_tool, event_list, put_event_lists, tools_of_newest
from reviewer.db.schema import open_writer
from reviewer.db.search import searchable, searchable_in_order
from reviewer.trace.record import Event, kind_of

LISTS = "015_event_lists"
FIGURES = st.none() | st.sampled_from(
    [0.0, 0.1, 345.6, 0.1 + 0.2, 1e-9, 5e-324, 1 / 3, 9007199254.740993, 1e16, 1.7e308, 3e-7]
) | st.floats(0, allow_infinity=False, allow_nan=False)  # fmt: skip
NAMES = st.none() | st.sampled_from(["lookup", "open_case", "[1,", "12,", "é", "a'b"])
TEXTS = st.text('abé \\"/\n\t\r_,0Aß\u0301\u20ac\U0001f600', max_size=12)
RAWS = st.none() | st.builds(
    lambda value, ascii_only: msgspec.Raw(
        msgspec.json.encode(value) if not ascii_only else escaped(value)
    ),
    TEXTS | st.lists(TEXTS, max_size=2) | st.dictionaries(TEXTS, TEXTS, max_size=2),
    st.booleans(),
)


def escaped(value: Any) -> bytes:
    import json

    return json.dumps(value).encode()


@st.composite
def events(draw: st.DrawFn) -> list[Event]:
    found, last = [], 0
    numbered = draw(st.booleans())
    for _ in range(draw(st.integers(0, 6))):
        last += draw(st.integers(1, 3))
        raws = {
            name: raw
            for name in ("arguments", "observation", "message", "state")
            if (raw := draw(RAWS)) is not None
        }
        found.append(
            Event(
                kind=draw(st.sampled_from([None, "message", "tool_call", "tool_result", "error"])),
                seq=last if numbered else None,
                tool=draw(NAMES),
                status=draw(st.sampled_from([None, "ok", "denied"])),
                actor=draw(NAMES),
                latency_ms=draw(FIGURES),
                cost_usd=draw(FIGURES),
                **raws,
            )
        )
    return found


def rows_of(trace: int, told: list[Event]) -> list[tuple[Any, ...]]:
    """What the view says, by the plain rule."""
    rows = []
    for place, one in enumerate(told, 1):
        short = one.status is None and one.kind is None and one.tool is not None
        rows.append(
            (trace, one.seq or place, kind_of(one), one.tool, "ok" if short else one.status,
             one.actor, one.latency_ms, one.cost_usd)
        )  # fmt: skip
    return rows


def schema(until: str = "") -> sqlite3.Connection:
    base = sqlite3.connect(":memory:", isolation_level=None)
    base.deserialize(_made(until))
    return base


@cache
def _made(until: str) -> bytes:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as base:
        for script in scripts():
            if script.stem == until:
                break
            base.executescript(script.read_text(encoding="utf-8"))
        return base.serialize()


VIEW = "SELECT * FROM event ORDER BY trace, seq"


@given(st.lists(events(), max_size=4))
@example([[Event(seq=5, tool="a"), Event(seq=5, tool="b"), Event(seq=2**63 - 1)]])
def test_a_list_says_what_a_row_per_event_would(traces: list[list[Event]]) -> None:
    wanted = [row for n, told in enumerate(traces, 1) for row in rows_of(n, told)]
    first: dict[tuple[int, int], tuple[Any, ...]] = {}
    for row in wanted:
        first.setdefault(row[:2], row)
    with contextlib.closing(schema()) as base:
        put_event_lists(base, [event_list(n, told) for n, told in enumerate(traces, 1)])
        assert base.execute(VIEW).fetchall() == sorted(first.values(), key=lambda row: row[:2])
        for name in {row[3] for row in wanted if row[3] is not None} | {"never"}:
            clause = calls_tool(base, name, ":tool", "n.value")
            found = base.execute(
                f"SELECT n.value FROM json_each(?) n WHERE {clause}".replace("?", ":all"),
                {"all": msgspec.json.encode([*range(1, 6)]).decode(), "tool": name},
            ).fetchall()
            assert {n for (n,) in found} == {row[0] for row in first.values() if row[3] == name}
        named = {row[3] for row in first.values() if row[3] is not None}
        assert set(tools_of_newest(base, 1000)) == named


@given(st.lists(events(), max_size=4))
def test_the_rows_of_an_older_store_become_the_same_lists(traces: list[list[Event]]) -> None:
    with contextlib.closing(schema(LISTS)) as old, contextlib.closing(schema()) as new:
        rows = [row for n, told in enumerate(traces, 1) for row in rows_of(n, told)]
        old.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        before = old.execute(VIEW).fetchall()
        (script,) = [path for path in scripts() if path.stem == LISTS]
        old.executescript(script.read_text(encoding="utf-8"))
        assert old.execute(VIEW).fetchall() == before
        put_event_lists(new, [event_list(n, told) for n, told in enumerate(traces, 1)])
        assert new.execute(VIEW).fetchall() == before
        for each in (old, new):
            counts = each.execute("SELECT count(*) FROM event_shape").fetchone()
            kept = each.execute("SELECT CAST(value AS INTEGER) FROM meta WHERE key='event_shapes'")
            assert counts == kept.fetchone()
        figures = "SELECT * FROM event_figure"
        assert old.execute(figures).fetchall() == new.execute(figures).fetchall()


def test_a_tool_that_many_actors_call_is_found() -> None:
    with contextlib.closing(schema()) as base:
        told = [Event(tool="look", actor=f"agent-{n}") for n in range(40)]
        put_event_lists(base, [event_list(1, told), event_list(2, [Event(tool="other")])])
        clause = calls_tool(base, "look", ":tool", "t.trace")
        found = base.execute(f"SELECT trace FROM event_list t WHERE {clause}", {"tool": "look"})
        assert found.fetchall() == [(1,)]


@given(events())
def test_the_index_gets_the_same_words_either_way(told: list[Event]) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        words = []
        for name, text in (("a", searchable(told)), ("b", searchable_in_order(told))):
            base.execute(f"CREATE VIRTUAL TABLE {name} USING fts5 (body, content='', detail=none)")
            base.execute(f"INSERT INTO {name} (rowid, body) VALUES (1, ?)", (text,))
            base.execute(f"CREATE VIRTUAL TABLE {name}_words USING fts5vocab ({name}, row)")
            words.append(base.execute(f"SELECT term FROM {name}_words ORDER BY term").fetchall())
        assert words[0] == words[1]


def test_what_another_writes_while_a_batch_is_read_is_read_again(
    full: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record that takes an attempt's row, and an index that is filled by another process."""
    begin, left = search.transaction, [full]

    def after_another(*given: Any) -> Any:
        if left:
            left.pop()
            record = shipped(V8)[0]
            events = [*record["events"], {"tool": "issue_refund", "arguments": {}, "status": "ok"}]
            said = full.run("import", full.file("more.json", {**record, "events": events}))
            assert said.code in (0, 20), said
        return begin(*given)

    with contextlib.closing(sqlite3.connect(full.store)) as base, base:
        for table in ("event_list", "event_figure"):
            base.execute(f"DELETE FROM {table}")
        base.execute("INSERT INTO search (search) VALUES ('delete-all')")
        base.execute("UPDATE meta SET value='0' WHERE key='indexed'")
    monkeypatch.setattr(search, "transaction", after_another)
    writing = open_writer(full.store)
    try:
        search.catch_up(writing, full.store)
    finally:
        close_writer(writing, full.store)
    assert full.rows("SELECT count(*) FROM revisions") == [(1,)]
    [(listed,)] = full.rows("SELECT count(*) FROM event")
    assert full.rows("SELECT sum(events) FROM trace") == [(listed,)]
    full.healthy()
