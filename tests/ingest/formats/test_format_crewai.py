"""CrewAI 1.x: checkpoints, with the record of a run's events."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from span_files import DATA, events, said

from reviewer.importing.formats.crewai import CrewAIReader
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

READER = CrewAIReader()
NATIVE = DATA / "crewai/native_calls.json"
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
