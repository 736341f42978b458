"""CrewAI 1.x: checkpoints, with the record of a run's events."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from span_files import DATA, events, said

from reviewer.importing.foreign_json import NotJson
from reviewer.importing.formats.crewai import CrewAIReader
from reviewer.importing.formats.databases.crewai import CrewAIDatabaseReader
from reviewer.importing.head import Head
from reviewer.importing.jsonb import as_json
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

READER = CrewAIReader()
NATIVE = DATA / "crewai/native_calls.json"
DATABASE = DATA / "databases/crewai.db"
FIRST, SECOND = sorted((DATA / "crewai/two").glob("*.json"))


def read(path: Path) -> list[Any]:
    assert READER.sniff(Head(path))
    return list(READER.traces(Source(path)))


def record(path: Path) -> dict[str, Any]:
    (one,) = read(path)
    assert isinstance(one, Foreign)
    held: dict[str, Any] = json.loads(one.raw)
    return held


def changed(path: Path, folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    value = json.loads(path.read_bytes())
    change(value["event_record"]["nodes"])
    made = folder / path.name
    made.write_text(json.dumps(value))
    return made


def of(nodes: dict[str, Any], kind: str) -> list[tuple[str, dict[str, Any]]]:
    return [(key, one["event"]) for key, one in nodes.items() if one["event"]["type"] == kind]


def paths(record: dict[str, Any]) -> list[str]:
    return [one["path"] for one in record.get("unread", ())]


def test_calls_results_words_and_tokens_are_read_once() -> None:
    found = record(NATIVE)
    assert [(one["tool"], one["arguments"]) for one in events(found, "tool_call")] == [
        ("search", {"query": "lamp"}),
        ("search", {"query": "cup"}),
        ("issue_refund", {"order": "7"}),
    ]  # fmt: skip
    assert [one["observation"] for one in events(found, "tool_result")] == [
        "lamp weighs 5 kg", "cup weighs 5 kg", "refunded"
    ]  # fmt: skip
    asked = "How much does the lamp weigh?\n\nExpected: a weight"
    assert said(found) == [("user", asked), ("agent", "5 kg")]
    assert found["usage"] == {"input_tokens": 303, "output_tokens": 30, "total_tokens": 333}
    assert (found["termination"], found["final_message"]) == ("completed", "5 kg")
    assert found["source"]["models"] == ["gpt-4o"]
    assert not paths(found)


def test_a_checkpoint_before_the_last_task_is_not_measured_and_the_last_one_is() -> None:
    before, after = record(FIRST), record(SECOND)
    assert paths(before) == ["event_record (cut off)"]
    assert not {"termination", "final_message"} & before.keys()
    assert not paths(after)
    assert [one["tool"] for one in events(after, "tool_call")] == ["search", "issue_refund"]
    assert after["source"]["session"] == before["source"]["session"]


def test_checkpoints_of_one_run_are_one_attempt(door: Door) -> None:
    for path in (FIRST, SECOND):
        assert door.ok("import", path).code == 0
    ((trace, steps),) = door.rows("SELECT trace_id, steps FROM traces")
    assert steps == 2
    assert "gate completeness: pass" in door.ok("show", trace).out


def test_an_event_that_is_missing_leaves_the_run_not_measured(tmp_path: Path) -> None:
    nodes = json.loads(NATIVE.read_bytes())["event_record"]["nodes"]
    last = max(one["event"]["emission_sequence"] for one in nodes.values())
    for key, node in nodes.items():
        if node["event"]["emission_sequence"] == last:
            continue  # that a checkpoint is being written
        made = changed(NATIVE, tmp_path, lambda held, key=key: held.pop(key))
        assert paths(record(made)), node["event"]["type"]


@pytest.mark.parametrize(
    "member", ["tool_args", "tool_name", "event_id", "emission_sequence", "type"]
)
@pytest.mark.parametrize("value", ["absent", None, 7, []])
def test_a_damaged_call_is_not_measured(member: str, value: Any, tmp_path: Path) -> None:
    def change(nodes: dict[str, Any]) -> None:
        (_, event), *_ = of(nodes, "tool_usage_started")
        event[member] = value
        if value == "absent":
            del event[member]

    assert paths(record(changed(NATIVE, tmp_path, change)))


def test_a_tool_that_failed_is_an_error(tmp_path: Path) -> None:
    def change(nodes: dict[str, Any]) -> None:
        (_, event), (_, other), *_ = of(nodes, "tool_usage_finished")
        event["failure"] = {"message": "not found"}
        other.update(type="tool_usage_error", error="no such page")

    first, second, _ = events(record(changed(NATIVE, tmp_path, change)), "tool_result")
    assert first["status"] == second["status"] == "error"
    assert second["observation"] == "no such page"


@pytest.mark.parametrize(
    "answer", ["Thought: pay\nAction: wire\nAction Input: {}", [{"id": "x"}], {"a": 1}, None]
)
def test_a_call_that_no_event_shows_is_not_measured(answer: Any, tmp_path: Path) -> None:
    def change(nodes: dict[str, Any]) -> None:
        of(nodes, "llm_call_completed")[-1][1]["response"] = answer

    assert paths(record(changed(NATIVE, tmp_path, change)))


@pytest.mark.parametrize("kind", ["a2a_delegation_started", "method_execution_started", "new"])
def test_an_event_of_another_kind_is_not_measured(kind: str, tmp_path: Path) -> None:
    def change(nodes: dict[str, Any]) -> None:
        of(nodes, "agent_logs_execution")[0][1]["type"] = kind

    assert f"events[{kind}]" in paths(record(changed(NATIVE, tmp_path, change)))


def test_a_run_that_failed_ends_in_an_error(tmp_path: Path) -> None:
    def change(nodes: dict[str, Any]) -> None:
        _, event = of(nodes, "task_completed")[0]
        event.update(type="crew_kickoff_failed", error="no credit", parent_event_id=None)

    found = record(changed(NATIVE, tmp_path, change))
    assert found["termination"] == "error"
    assert [one["message"] for one in events(found, "error")] == ["no credit"]


def test_a_checkpoint_without_events_is_refused(tmp_path: Path) -> None:
    made = changed(NATIVE, tmp_path, lambda nodes: nodes.clear())
    assert read(made) == [Broken(("missing:event_record.nodes",), "record 1")]


def test_a_result_of_other_arguments_than_its_call_is_not_measured(tmp_path: Path) -> None:
    def change(nodes: dict[str, Any]) -> None:
        of(nodes, "tool_usage_started")[-1][1]["tool_args"] = {}

    assert paths(record(changed(NATIVE, tmp_path, change))) == [
        "events[tool_usage_finished].tool_args"
    ]


def rows(path: Path) -> list[Any]:
    reader = CrewAIDatabaseReader()
    assert reader.sniff(Head(path))
    return list(reader.traces(Source(path)))


def test_a_database_of_checkpoints_says_what_their_files_say() -> None:
    found = [json.loads(one.raw) for one in rows(DATABASE)]
    for one, path in zip(found, (NATIVE, SECOND), strict=True):
        same = record(path)
        assert {k: one[k] for k in one if k != "source"} == {
            k: same[k] for k in same if k != "source"
        }
        assert one["source"]["session"] == same["source"]["session"]


def test_a_damaged_row_costs_that_row_only(tmp_path: Path) -> None:
    path = Path(shutil.copy(DATABASE, tmp_path))
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("UPDATE checkpoints SET data = substr(data, 1, 900) WHERE rowid = 1")
    first, second = rows(path)
    assert isinstance(first, Broken)
    assert first.codes == ("json:JSONB is cut off",)
    assert isinstance(second, Foreign)


@pytest.mark.parametrize(
    ("raw", "text"),
    [(b"\x00", b"null"), (b"\x01", b"true"), (b"\x02", b"false"), (b"\x2312", b"12"),
     (b"\x351.5", b"1.5"), (b"\x27ab", b'"ab"'), (b"\x28\\n", b'"\\n"'), (b"\x2aa\n", b'"a\\n"'),
     (b"\xc7\x02ab", b'"ab"'), (b"\xf7\0\0\0\0\0\0\0\x02ab", b'"ab"'), (b"\x0b", b"[]"),
     (b"\x0c", b"{}"), (b"\x3b\x00\x131", b"[null,1]"), (b"\x4c\x17a\x131", b'{"a":1}')],
)  # fmt: skip
def test_elements_of_jsonb_are_those_of_json(raw: bytes, text: bytes) -> None:
    assert as_json(raw) == text


@pytest.mark.parametrize(
    "raw",
    [b"", b"\x17", b"\xc7", b"\xe7\xff\xff\xff\xff", b"\x00\x00", b"\x10a", b"\x0d", b"\x14x",
     b"\x191", b"\x1c\x131", b"\x2c\x131\x131"[:3], b"\x2c\x17a", b"\x2a\xff\xfe",
     b"".join(b"\xdb" + (3 * (99 - n)).to_bytes(2, "big") for n in range(100))],
)  # fmt: skip
def test_jsonb_that_is_damaged_or_of_json5_is_refused(raw: bytes) -> None:
    with pytest.raises(NotJson):
        as_json(raw)
