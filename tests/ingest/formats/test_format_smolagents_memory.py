"""smolagents: the memory of a run, alone or within the run's result."""

import json
from pathlib import Path
from typing import Any

import pytest
from span_files import DATA, events, read, said

from reviewer.importing.formats.smolagents_memory import SmolagentsMemoryReader
from reviewer.importing.head import Head

READER = SmolagentsMemoryReader()
FOLDER = DATA / "smolagents"


def record(path: Path) -> dict[str, Any]:
    (found,) = read(READER, path)
    held: dict[str, Any] = json.loads(found.raw)
    return held


def changed(folder: Path, name: str, change: Any) -> dict[str, Any]:
    value = json.loads((FOLDER / name).read_text())
    change(value)
    path = folder / name
    path.write_text(json.dumps(value))
    assert READER.sniff(Head(path))
    return record(path)


def paths(record: dict[str, Any]) -> list[str]:
    return [one["path"] for one in record.get("unread", ())]


def test_calls_at_once_of_which_one_failed_are_all_read() -> None:
    found = record(FOLDER / "memory.json")
    assert [one["tool"] for one in events(found, "tool_call")] == [
        "search", "search", "issue_refund", "final_answer"
    ]  # fmt: skip
    assert [one["status"] for one in events(found, "tool_result")] == ["error", "ok"]
    assert said(found)[0] == ("user", "How much does the lamp weigh?")
    assert (found["termination"], found["final_message"]) == ("completed", "5")
    assert found["usage"] == {"input_tokens": 200, "output_tokens": 20}
    assert found["latency_ms"] > 0
    assert not paths(found)


def test_a_result_states_how_the_run_ended_and_all_its_tokens() -> None:
    found = record(FOLDER / "run_result.json")
    assert (found["termination"], found["final_message"]) == ("max_steps", "giving up")
    assert found["usage"] == {"input_tokens": 300, "output_tokens": 30}
    assert len(events(found, "tool_call")) == 2
    assert not paths(found)


def test_what_a_managed_agent_did_is_not_measured() -> None:
    assert paths(record(FOLDER / "managed.json")) == ["steps of a managed agent (no such file)"]


@pytest.mark.parametrize("place", [0, 1])
def test_a_memory_without_one_of_its_steps_is_not_measured(tmp_path: Path, place: int) -> None:
    def change(steps: Any) -> None:
        del steps[place]

    assert "steps (cut off)" in paths(changed(tmp_path, "memory.json", change))


def test_a_run_that_stopped_before_its_answer_is_unfinished(tmp_path: Path) -> None:
    found = changed(tmp_path, "memory.json", lambda steps: steps.pop())
    assert (found["termination"], found.get("final_message")) == ("error", None)
    found = changed(tmp_path, "run_result.json", lambda run: run.update(state="success"))
    assert found["termination"] == "max_steps"

    def died(steps: Any) -> None:
        steps.pop()
        steps[-1]["error"] = None

    assert changed(tmp_path, "memory.json", died)["termination"] == "unfinished"


def test_a_result_without_its_call_is_not_measured(tmp_path: Path) -> None:
    def change(steps: Any) -> None:
        steps[2] |= {"tool_calls": None, "model_output_message": None}

    assert "observations" in paths(changed(tmp_path, "memory.json", change))


def test_a_call_that_failed_and_is_not_in_its_step_is_not_measured(tmp_path: Path) -> None:
    def change(steps: Any) -> None:
        steps[1]["model_output_message"] = None

    assert "tool_calls" in paths(changed(tmp_path, "memory.json", change))


def test_steps_of_before_1_13_have_their_number_under_another_name(tmp_path: Path) -> None:
    def change(steps: list[dict[str, Any]]) -> None:
        for one in steps:
            if "step_number" in one:
                one["step"] = one.pop("step_number")

    found, today = changed(tmp_path, "memory.json", change), record(FOLDER / "memory.json")
    assert found["events"] == today["events"]
    assert (found["termination"], found["final_message"]) == ("completed", "5")
    assert paths(found) == paths(today)
