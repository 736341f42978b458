"""AG2 1.x: the event log of a stream."""

import json
from pathlib import Path
from typing import Any

import pytest
from span_files import DATA, events, said

from reviewer.importing.formats.ag2 import Ag2Reader
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

READER = Ag2Reader()
FOLDER = DATA / "ag2"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]


def record(path: Path) -> dict[str, Any]:
    assert READER.sniff(Head(path))
    found = READER.traces(Source(path))
    held: dict[str, Any] = json.loads(next(one for one in found if isinstance(one, Foreign)).raw)
    return held


def written(folder: Path, values: list[Any], name: str = "log.jsonl") -> Path:
    path = folder / name
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in values))
    return path


def paths(record: dict[str, Any]) -> list[str]:
    return [one["path"] for one in record.get("unread", ())]


def test_each_call_and_result_is_read_once() -> None:
    found = record(FOLDER / "calls.jsonl")
    assert [(one["tool"], one["arguments"]) for one in events(found, "tool_call")] == [
        ("search", {"query": "lamp"}), ("issue_refund", {"order": "7"})
    ]  # fmt: skip
    assert [one["observation"] for one in events(found, "tool_result")] == [
        "lamp weighs 5 kg", "refunded"
    ]  # fmt: skip
    assert said(found) == [("user", "How much does the lamp weigh?"), ("agent", "5 kg")]
    assert (found["termination"], found["final_message"]) == ("completed", "5 kg")
    assert found["latency_ms"] > 0
    assert not paths(found)


def test_a_tool_that_raised_is_an_error() -> None:
    (result,) = events(record(FOLDER / "error.jsonl"), "tool_result")
    assert (result["tool"], result["status"]) == ("search", "error")


def test_what_a_sub_task_did_is_not_measured(tmp_path: Path) -> None:
    assert paths(record(FOLDER / "sub_task.jsonl")) == ["the log of a sub-task (no such file)"]
    started = [one for one in lines("sub_task.jsonl") if "TaskStarted" not in one["type"]]
    assert paths(record(written(tmp_path, started)))


@pytest.mark.parametrize("place", range(9))
def test_without_one_of_its_lines_a_log_loses_no_call_unsaid(tmp_path: Path, place: int) -> None:
    rest = lines("calls.jsonl")
    del rest[place]
    found = record(written(tmp_path, rest))
    whole = len(events(found, "tool_call")) == 2 and found["termination"] == "completed"
    assert whole or paths(found) or found["termination"] == "unfinished"
    assert bool(paths(found)) is (place == 0)


def test_a_line_that_is_cut_off_and_an_event_of_another_kind_are_not_measured(
    tmp_path: Path,
) -> None:
    whole = lines("calls.jsonl")
    path = written(tmp_path, [*whole[:-1], json.dumps(whole[-1])[:-40]])
    assert any(isinstance(one, Broken) for one in READER.traces(Source(path)))
    assert paths(record(path))
    other = {"type": "ag2.events.tool_events.RobotCallEvent", "data": {"name": "wire"}}
    assert paths(record(written(tmp_path, [*whole, other]))) == ["events[RobotCallEvent]"]
    assert paths(record(written(tmp_path, whole, "log.dropped-1.jsonl"))) == ["events (cut off)"]


def test_tokens_are_those_of_the_events_of_use(tmp_path: Path) -> None:
    usage = {"__dataclass__": "x", "data": {"prompt_tokens": 100, "completion_tokens": 10}}
    spent = [
        {"type": "ag2.events.types.UsageEvent", "data": {"usage": usage, "kind": kind}}
        for kind in ("model_call", "model_call", "subtask")
    ]
    found = record(written(tmp_path, [*lines("calls.jsonl"), *spent]))
    assert found["usage"] == {"input_tokens": 200, "output_tokens": 20}
