"""SWE-agent trajectories, on files of the tool's own repositories (see data/swe_agent)."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from doors import Door
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_shapes import cut_anywhere, made_odd

from reviewer.importing.formats.swe.swe_agent import SweAgentReader
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[2] / "data/swe_agent"
PYDICOM = "pydicom__pydicom-1458.traj"
PANDAS = "pandas-dev__pandas.95280573.pr_53652.traj"
REPO = "test-repo-1c2844.traj"
HISTORY = "function_calling_simple.traj"
READER = SweAgentReader()


def read(path: Path) -> tuple[dict[str, Any], Foreign]:
    source = Source(path, "", READER.companions(path))
    [found] = READER.traces(source)
    assert isinstance(found, Foreign), found
    return json.loads(found.raw), found


def plain(name: str | Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((DATA / name).read_bytes())
    return value


def kinds(record: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in record["events"] if event["kind"] == kind]


@pytest.mark.parametrize("name", [PYDICOM, PANDAS, REPO, HISTORY])
def test_every_shape_is_claimed_by_content(name: str) -> None:
    assert READER.sniff(Head(DATA / name))


@pytest.mark.parametrize("name", [PYDICOM, PANDAS, REPO])
def test_figures_are_those_of_the_file(name: str) -> None:
    wanted, (record, _) = plain(name), read(DATA / name)
    stats = wanted["info"]["model_stats"]
    assert record["cost_usd"] == stats["instance_cost"]
    assert record["usage"] == {
        "input_tokens": stats["tokens_sent"],
        "output_tokens": stats["tokens_received"],
    }
    assert record["final_state"] == {"submission": wanted["info"]["submission"]}
    assert record["termination"] == "agent_stop"
    assert record["source"]["exit_status"] == "submitted"
    assert record["latency_ms"] is None  # durations of tools only
    steps = wanted["trajectory"]
    calls, results = kinds(record, "tool_call"), kinds(record, "tool_result")
    assert len(calls) == len(results) == len(steps)
    assert [one["observation"] for one in results] == [step["observation"] for step in steps]
    times = [step.get("execution_time") for step in steps]
    assert [one.get("latency_ms") for one in results] == [t and t * 1000 for t in times]


def test_the_sample_says_what_its_run_said() -> None:
    record, foreign = read(DATA / PYDICOM)
    assert (record["cost_usd"], record["usage"]) == (
        1.26719,
        {"input_tokens": 122612, "output_tokens": 1369},
    )
    assert record["candidate_id"] == "swe-agent gpt4"  # out of args.yaml beside it
    assert (record["episode_id"], foreign.suite) == ("pydicom__pydicom-1458", "swe-bench")
    assert foreign.verdict is None


def test_a_demonstration_is_not_the_task() -> None:
    history = plain(PYDICOM)["history"]
    demo, task = history[1], history[2]
    assert demo["is_demo"]
    record, foreign = read(DATA / PYDICOM)
    said = [one["message"] for one in kinds(record, "message") if one["actor"] == "user"]
    assert said == [task["content"]] == [foreign.user_request]
    assert "a demonstration before the task was left out" in foreign.notes


def test_structured_calls_come_from_the_history_and_the_rest_from_the_line() -> None:
    record, _ = read(DATA / REPO)
    calls = kinds(record, "tool_call")
    assert [call["tool"] for call in calls] == ["find_file", "open", "edit", "bash", "submit"]
    assert calls[0]["arguments"] == {"file_name": "missing_colon.py"}
    assert calls[4]["arguments"] == {"command": "submit"}  # a step the history does not have
    assert record["candidate_id"] == "swe-agent gpt-4o"
    assert record["events"][0]["state"]["base_commit"] == "HEAD"


def test_a_configuration_in_a_string_is_read() -> None:
    record, foreign = read(DATA / PANDAS)
    assert record["candidate_id"] == "swe-agent 1.0.1 claude-3-7-sonnet-20250219"
    assert (record["episode_id"], foreign.suite) == (PANDAS.removesuffix(".traj"), "swe-smith")
    assert record["source"]["swe_agent_version"] == "1.0.1"


def test_a_history_alone_is_a_trace_without_an_end() -> None:
    record, foreign = read(DATA / HISTORY)
    assert len(kinds(record, "tool_call")) == len(kinds(record, "tool_result")) == 5
    assert record["cost_usd"] is None
    assert record.get("termination") is None
    assert any("no trajectory" in note for note in foreign.notes)


def test_zero_cost_of_a_replay_is_not_measured(door: Door) -> None:
    value = plain(REPO)
    value["info"]["model_stats"] = {"instance_cost": 0, "tokens_sent": 0, "tokens_received": 0}
    record, _ = read(door.file("replay.traj", value))
    assert record["cost_usd"] is None
    assert "usage" not in record


ENDS = {
    "submitted (exit_cost)": "cost_limit",
    "exit_context": "context_window_exceeded",
    "exit_environment_error": "infrastructure_error",
    "submitted (exit_api)": "error",
    "exit_error": "error",
    None: None,
}


@pytest.mark.parametrize("status", ENDS)
def test_exit_statuses(door: Door, status: str | None) -> None:
    value = plain(REPO)
    value["info"]["exit_status"] = status
    record, foreign = read(door.file("x.traj", value))
    assert record.get("termination") == ENDS[status]
    assert any("no exit status" in note for note in foreign.notes) == (status is None)


def test_a_pseudo_command_of_the_harness_is_an_error_and_no_call(door: Door) -> None:
    value = plain(PYDICOM)
    value["trajectory"].append(
        {"action": "exit_cost", "observation": None, "thought": "Exit due to cost limit"}
    )
    record, _ = read(door.file("x.traj", value))
    assert len(kinds(record, "tool_call")) == 12
    assert len(kinds(record, "error")) == 1


def test_submitted_without_a_submission_is_noted(door: Door) -> None:
    value = plain(REPO)
    del value["info"]["submission"]
    record, foreign = read(door.file("x.traj", value))
    assert record["final_state"] is None
    assert "the run ended as submitted and holds no submission" in foreign.notes


def test_attempts_of_a_retrying_agent_are_attempts(door: Door) -> None:
    one, two = plain(REPO), plain(REPO)
    two["info"]["model_stats"]["instance_cost"] = 0.5
    one["info"]["exit_status"] = "exit_cost"
    best = json.loads(json.dumps(two))
    best["info"] |= {"best_attempt_idx": 1, "model_stats": {"instance_cost": 9.0}}
    path = door.file("run/a/a.traj", {"attempts": [one, two], **best})
    own = door.file("run/a/attempt_0/a.traj", one)
    said = door.ok("import", path.parent.parent)
    assert "folds 2 attempts into one; attempt 2 was chosen" in said.both
    rows = door.rows("SELECT attempt, cost_usd, termination FROM traces ORDER BY attempt")
    assert rows == [(1, one["info"]["model_stats"]["instance_cost"], "cost_limit"),
                    (2, 0.5, "agent_stop")]  # fmt: skip
    assert str(own) not in said.both


def test_through_the_door_with_its_predictions(door: Door) -> None:
    """The predictions beside it hold the same patch, and make no attempt of their own."""
    said = door.ok("import", DATA)
    assert door.one("SELECT count(*) FROM traces") == 4
    assert door.one("SELECT count(*) FROM traces WHERE passed IS NOT NULL") == 0
    assert "all of it was joined to attempts of other files" in said.both
    again = door.ok("import", DATA)
    assert door.one("SELECT count(*) FROM traces") == 4
    assert "added" not in again.both.replace("nothing added", "")
    door.healthy()


@settings(max_examples=60)
@given(st.data())
def test_odd_and_cut_files_cost_themselves_at_most(data: st.DataObject) -> None:
    files = [DATA / REPO, DATA / HISTORY]
    value = plain(data.draw(st.sampled_from(files)))
    for _ in range(data.draw(st.integers(1, 3))):
        if value:
            made_odd(data, value)
    raw = json.dumps(value).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.traj")
        path.write_bytes(cut_anywhere(data, raw) if data.draw(st.booleans()) else raw)
        READER.sniff(Head(path))
        for found in READER.traces(Source(path)):
            assert isinstance(found, (Foreign, Broken))
