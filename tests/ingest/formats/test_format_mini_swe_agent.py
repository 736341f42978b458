"""mini-swe-agent trajectories: the tool's own fixtures, 1.x, and 2.4.6 as it writes them today."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from doors import Door
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_shapes import cut_anywhere, made_odd

from reviewer.importing.formats.swe.mini_swe_agent import MiniSweAgentReader
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[2] / "data/mini_swe_agent"
RUN = DATA / "run"
HELLO = DATA / "hello-world.traj.json"
BARE = ["github_issue.traj.json", "local.traj.json"]
READER = MiniSweAgentReader()


def written(name: str) -> Path:
    return RUN / name / f"{name}.traj.json"


def read(path: Path) -> tuple[dict[str, Any], Foreign]:
    [found] = READER.traces(Source(path))
    assert isinstance(found, Foreign), found
    return json.loads(found.raw), found


def plain(path: Path) -> Any:
    return json.loads(path.read_bytes())


def kinds(record: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in record["events"] if event["kind"] == kind]


def test_every_shape_is_claimed_and_predictions_are_not() -> None:
    files = [HELLO, *(DATA / name for name in BARE), *RUN.glob("*/*.traj.json")]
    assert len(files) == 8
    assert all(READER.sniff(Head(path)) for path in files)
    assert not READER.sniff(Head(DATA / "results.json"))


def test_messages_of_another_tool_are_not_claimed(door: Door) -> None:
    chat = [{"role": r, "content": "hello"} for r in ("system", "user", "assistant")]
    assert not READER.sniff(Head(door.file("chat.json", json.dumps(chat))))


@pytest.mark.parametrize("name", BARE)
def test_bare_messages(name: str) -> None:
    messages = plain(DATA / name)
    record, foreign = read(DATA / name)
    replies = [m for m in messages if m["role"] == "assistant"]
    calls, results = kinds(record, "tool_call"), kinds(record, "tool_result")
    assert len(calls) == len(results) == len(replies)
    assert all(call["arguments"]["command"] in m["content"]
               for call, m in zip(calls, replies, strict=True))  # fmt: skip
    codes = [m["content"].startswith("<returncode>0<") for m in messages[3::2]]
    failed = sum(m["content"].startswith("<returncode>") for m in messages[3::2]) - sum(codes)
    assert sum(one.get("status") == "error" for one in results) == failed
    assert record["cost_usd"] is None
    assert record.get("termination") is None
    assert any("no run information" in note for note in foreign.notes)


def test_the_first_generation() -> None:
    record, foreign = read(HELLO)
    assert record["candidate_id"] == "mini-swe-agent 1.13.4 anthropic/claude-3-5-sonnet-20241022"
    assert record["cost_usd"] == 0.010520999999999999
    assert record["usage"]["input_tokens"] == 2512
    assert record["usage"]["output_tokens"] == 199
    assert len(kinds(record, "tool_call")) == len(kinds(record, "tool_result")) == 3
    assert record["termination"] == "agent_stop"
    assert record["source"]["served_models"] == ["claude-3-5-sonnet-20241022"]
    assert record["latency_ms"] is None  # whole seconds of the model's service
    assert "the run ended as submitted and its submission is empty" in foreign.notes
    assert foreign.verdict is None


def test_tool_calls_with_a_refused_reply_a_timeout_and_a_submission() -> None:
    wanted, (record, foreign) = plain(written("demo__tools-1")), read(written("demo__tools-1"))
    calls, results = kinds(record, "tool_call"), kinds(record, "tool_result")
    assert [call["arguments"]["command"] for call in calls[:3]] == [
        "echo one", "ls /nowhere", "sleep 5",
    ]  # fmt: skip
    assert [one["status"] for one in results] == ["ok", "error", "timeout", "ok"]
    assert results[1]["observation"]["returncode"] == 2
    assert results[3]["observation"] == wanted["info"]["submission"]
    assert [one["message"] for one in kinds(record, "error")] == ["No tool call found."]
    # Three replies at a dollar and a refused one at half: all of them were billed.
    assert record["cost_usd"] == wanted["info"]["model_stats"]["instance_cost"] == 3.5
    assert sum(event.get("cost_usd", 0) for event in record["events"]) == 3.5
    assert record["usage"] == {"input_tokens": 3100, "output_tokens": 67}
    stamps = [m["extra"]["timestamp"] for m in wanted["messages"] if "timestamp" in
              m.get("extra", {})]  # fmt: skip
    assert record["latency_ms"] == pytest.approx((max(stamps) - min(stamps)) * 1000, abs=0.01)
    assert (record["episode_id"], foreign.suite) == ("demo__tools-1", "swe-bench")
    assert record["source"]["clock"] == "epoch"


def test_results_of_one_reply_share_no_latency() -> None:
    record, _ = read(written("demo__tools-1"))
    timed = ["latency_ms" in one for one in kinds(record, "tool_result")]
    assert timed[:2] == [False, False]


@pytest.mark.parametrize("name", ["demo__text-3", "demo__items-4"])
def test_other_dialects_of_the_second_generation(name: str) -> None:
    record, _ = read(written(name))
    calls, results = kinds(record, "tool_call"), kinds(record, "tool_result")
    assert [call["tool"] for call in calls] == ["bash", "bash"]
    first = {"demo__text-3": ("false", "error"), "demo__items-4": ("echo one", "ok")}[name]
    assert (calls[0]["arguments"]["command"], results[0]["status"]) == first
    assert results[1]["status"] == "ok"
    assert record["final_state"] == {"submission": "diff --git a/x b/x\n"}
    assert record["cost_usd"] == 2.0


def test_a_limit_and_a_crash_are_no_ordinary_ends() -> None:
    limit, _ = read(written("demo__limit-2"))
    assert (limit["termination"], limit["source"]["step_limit"]) == ("limits_exceeded", 1)
    crash, foreign = read(written("demo__crash-5"))
    assert crash["termination"] == "error"
    assert foreign.verdict is not None
    assert foreign.verdict.exception == "RuntimeError: the sandbox is gone"
    assert foreign.verdict.passed is None
    assert crash["cost_usd"] is None


@pytest.mark.parametrize(("status", "end"), [
    ("TimeoutExpired", "infrastructure_error"), ("InternalServerError", "infrastructure_error"),
    ("RepeatedFormatError", "format_error"), ("ContentPolicyViolationError", "content_policy"),
    ("TimeExceeded", "timeout"), ("SomethingElse", "error"),
])  # fmt: skip
def test_exit_statuses(door: Door, status: str, end: str) -> None:
    value = plain(HELLO)
    value["info"]["exit_status"] = status
    record, _ = read(door.file("x.traj.json", value))
    assert record["termination"] == end
    assert record["source"]["exit_status"] == status


def test_replies_that_were_counted_and_not_stored_leave_tokens_a_least(door: Door) -> None:
    value = plain(HELLO)
    whole, _ = read(door.file("whole.traj.json", value))
    value["info"]["model_stats"]["api_calls"] = 22
    record, foreign = read(door.file("x.traj.json", value))
    bound = {"lower_bound": True, "replies": 22, "replies_counted": 3}
    assert record["usage"] == {**whole["usage"], **bound}
    assert any("counted and not stored: 19" in note for note in foreign.notes)


def test_a_rejection_by_a_person_is_their_word(door: Door) -> None:
    value = plain(written("demo__tools-1"))
    refused = {"returncode": -1, "exception_info": "action was not executed", "raw_output": ""}
    for message in value["messages"]:
        if message.get("tool_call_id") in ("call_1", "call_2"):
            message["extra"] |= refused
    place = next(n for n, m in enumerate(value["messages"]) if m.get("tool_call_id") == "call_2")
    value["messages"].insert(place + 1, {
        "role": "user", "content": "Commands not executed.",
        "extra": {"interrupt_type": "UserRejection"},
    })  # fmt: skip
    record, _ = read(door.file("x.traj.json", value))
    assert [one["status"] for one in kinds(record, "tool_result")][:2] == ["denied", "denied"]
    told = [one["approval"]["decision"] for one in kinds(record, "approval")]
    assert told == ["rejected", "rejected"]


def test_a_run_through_the_door(door: Door) -> None:
    """Its predictions hold what the trajectories submitted: no attempts of their own."""
    door.ok("import", RUN)
    rows = door.rows("SELECT episode_id, suite_id, passed FROM traces ORDER BY 1")
    assert rows == [(f"demo__{name}", "swe-bench", None)
                    for name in ("crash-5", "items-4", "limit-2", "text-3", "tools-1")]  # fmt: skip
    assert door.one("SELECT count(DISTINCT candidate_id) FROM traces") == 1
    door.healthy()


def test_an_instance_that_left_no_trajectory_is_its_runs(door: Door) -> None:
    """Its sandbox never started; exit statuses say so, the predictions hold nothing."""
    predictions = plain(RUN / "preds.json")
    predictions["demo__lost-6"] = {
        "model_name_or_path": "scripted/model", "instance_id": "demo__lost-6", "model_patch": "",
    }  # fmt: skip
    for path in RUN.glob("*/*.traj.json"):
        door.file(f"run/{path.parent.name}/{path.name}", path.read_bytes())
    door.file("run/preds.json", predictions)
    ends = (RUN / "exit_statuses_1.yaml").read_text()
    door.file("run/exit_statuses_1.yaml", ends)
    later = "instances_by_exit_status:\n    CalledProcessError:\n    - demo__lost-6\n"
    door.file("run/exit_statuses_2.yaml", later)
    door.ok("import", door.root / "run")
    row = door.rows("SELECT candidate_id, passed, infrastructure, events FROM traces"
                    " WHERE episode_id='demo__lost-6'")  # fmt: skip
    assert row == [("mini-swe-agent 2.4.6 scripted/model", None, 1, 0)]


@settings(max_examples=60)
@given(st.data())
def test_odd_and_cut_files_cost_themselves_at_most(data: st.DataObject) -> None:
    files = [written("demo__tools-1"), written("demo__items-4"), DATA / BARE[1]]
    value = plain(data.draw(st.sampled_from(files)))
    for _ in range(data.draw(st.integers(1, 3))):
        if value:
            made_odd(data, value)
    raw = json.dumps(value).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.traj.json")
        path.write_bytes(cut_anywhere(data, raw) if data.draw(st.booleans()) else raw)
        READER.sniff(Head(path))
        for found in READER.traces(Source(path)):
            assert isinstance(found, (Foreign, Broken))
