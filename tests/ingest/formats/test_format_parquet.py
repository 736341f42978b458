"""Parquet: rows are read as lines of JSON; LangSmith's bulk export says what its runs say."""

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from span_files import DATA, events, read

from reviewer.importing.formats import named
from reviewer.importing.formats.stores.langsmith import LangSmithReader
from reviewer.importing.pipeline import opening, parquet
from reviewer.importing.pipeline.opening import opened, start_of
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.pipeline.units import claim, find_units
from reviewer.testing import check_reader

READER = LangSmithReader()
RUNS = DATA / "formats_c" / "langsmith" / "tracer_runs.jsonl"
TEXTS = ("inputs", "outputs", "extra", "events", "tags", "feedback_stats", "parent_run_ids")
COLUMNS = pa.schema(
    [
        *((name, pa.string()) for name in ("id", "trace_id", "parent_run_id", "dotted_order")),
        ("is_root", pa.bool_()),
        *((name, pa.string()) for name in ("name", "run_type", "status", "error", "trace_tier")),
        *((name, pa.timestamp("us", "UTC")) for name in ("start_time", "end_time")),
        ("first_token_time", pa.timestamp("us", "UTC")),
        *((f"{kind}_tokens", pa.int64()) for kind in ("total", "prompt", "completion")),
        *((f"{kind}_cost", pa.float64()) for kind in ("total", "prompt", "completion")),
        *((name, pa.string()) for name in TEXTS),
        *((name, pa.string()) for name in ("reference_example_id", "session_id", "tenant_id")),
    ]
)
"""The columns of a bulk export: the fields of a run, objects among them as JSON text."""


def exported(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """Write runs as a bulk export has them."""
    table = []
    for row in rows:
        held = {name: row.get(name) for name in COLUMNS.names}
        for name in TEXTS:
            held[name] = None if held[name] is None else json.dumps(held[name])
        for name in ("start_time", "end_time"):
            held[name] = held[name] and datetime.datetime.fromisoformat(str(held[name]))
        table.append({**held, "is_root": row.get("parent_run_id") is None, "status": "success"})
    path = folder / "runs.parquet"
    pq.write_table(pa.Table.from_pylist(table, COLUMNS), path)
    return path


def runs() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RUNS.read_text().splitlines()]


def told(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [{n: v for n, v in one.items() if n != "started_at"} for one in record["events"]]


def test_a_bulk_export_says_what_the_runs_say(tmp_path: Path) -> None:
    path = exported(tmp_path, runs())
    unit = claim(path)
    assert unit is not None
    assert unit.reader == named("langsmith-runs")
    found, plain = ([json.loads(one.raw) for one in read(READER, file)] for file in (path, RUNS))
    assert [told(one) for one in found] == [told(one) for one in plain]
    assert [one["latency_ms"] for one in found] == [one["latency_ms"] for one in plain]
    called = [one for one in runs() if one["run_type"] == "tool"]
    assert sum(len(events(one, "tool_call")) for one in found) == len(called) > 0
    assert not [one for one in found if "unread" in one]


def test_the_rules_of_a_reader_hold(tmp_path: Path) -> None:
    check_reader(READER, exported(tmp_path, runs()), mutants=60)


def test_messages_in_columns_are_read_by_their_own_reader(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Find it.", "tool_calls": None, "tool_call_id": None},
        {"role": "assistant", "content": None, "tool_calls": [call], "tool_call_id": None},
        {"role": "tool", "content": "here", "tool_calls": None, "tool_call_id": "c1"},
    ]
    path = tmp_path / "train.parquet"
    pq.write_table(pa.Table.from_pylist([{"messages": messages}] * 3), path)
    unit = claim(path)
    assert unit is not None
    assert unit.reader == named("openai-chat")
    with opened(path) as handle:
        assert [json.loads(line) for line in handle] == [{"messages": messages}] * 3
    assert start_of(path, 12) == b'{"messages":'


def test_without_pyarrow_a_file_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = exported(tmp_path, runs())
    monkeypatch.setattr(parquet, "can_be_read", lambda: False)
    unit = claim(path)
    assert unit is not None
    assert unit.reader is None
    assert unit.problem.startswith("a Parquet file: there is no reader for it")
    assert "[parquet]" in unit.problem
    assert not [one for one in find_units([tmp_path]).units if one.path == path and one.reader]


def test_values_that_json_has_not_become_some_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    row = {"a": float("nan"), "b": b"\xff", "c": datetime.date(2026, 1, 2), "d": [None, 1.5]}
    pq.write_table(pa.Table.from_pylist([row]), path)
    assert [json.loads(line) for line in parquet.lines_in(path)] == [
        {"a": None, "b": "\ufffd", "c": "2026-01-02", "d": [None, 1.5]}
    ]


def test_what_unpacks_to_far_more_than_it_is_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.Table.from_pylist([{"messages": "x" * 100_000}] * 500), path)
    monkeypatch.setattr(opening, "FREE", 1 << 20)
    monkeypatch.setattr(opening, "MOST_RATIO", 10)
    with pytest.raises(Unreadable, match="a bomb"), opened(path):
        pass


@pytest.mark.parametrize("keep", [4, 50, -20])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, keep: int) -> None:
    path = exported(tmp_path, runs())
    path.write_bytes(path.read_bytes()[:keep])
    unit = claim(path)
    assert unit is not None
    assert unit.problem.startswith("a damaged Parquet file")
