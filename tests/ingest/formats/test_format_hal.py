"""HAL run files, made up after the members that hal-harness writes: none is published as it is."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from doors import Door, every_byte
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_shapes import cut_anywhere, made_odd

from reviewer.importing.formats.hal import HalReader
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

CONFIG = {
    "agent_name": "HAL Generalist", "benchmark_name": "gaia", "date": "2025-06-01",
    "run_id": "gaia_hal_1748", "agent_args": {"model_name": "o3-mini", "api_key": "sk-hidden"},
}  # fmt: skip
USER = {"role": "user", "content": "How heavy is a lamp?"}
ASKED = {"name": "search", "arguments": '{"q": "lamp"}'}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": ASKED}]}
SEEN = {"role": "tool", "tool_call_id": "c1", "content": "5 kg"}
DONE = {"role": "assistant", "content": "It is 5 kg."}


def logged(
    number: int, messages: list[Any], answer: Any, task: str = "t-1", **more: Any
) -> dict[str, Any]:
    """A call to a model as the tracer keeps it: all of the history, and one answer."""
    usage = {"prompt_tokens": 10 * number, "completion_tokens": number,
             "prompt_tokens_details": {"cached_tokens": 4}}  # fmt: skip
    return {
        "id": f"call-{number}", "parent_id": None, "op_name": "openai.chat", "weave_task_id": task,
        "attributes": {"weave_task_id": task}, "inputs": {"model": "o3-mini", "messages": messages},
        "output": {"choices": [{"message": answer}], "usage": usage}, "exception": None,
        "started_at": f"2025-06-01T10:00:0{number}+00:00", **more,
    }  # fmt: skip


def run_file() -> dict[str, Any]:
    """Newest calls first, as they are fetched; one call was logged twice, once by what passed it
    on; t-3 never ran."""
    return {
        "config": dict(CONFIG),
        "results": {
            "accuracy": 0.5, "successful_tasks": ["t-1"], "failed_tasks": ["t-2"],
            "total_cost": 1.25, "latencies": {"t-1": {"total_time": 2.5}, "t-2": {}},
        },
        "raw_eval_results": {
            "t-1": {"score": True, "explanation": "5 kg is hidden-truth", "reward": 1.0},
            "t-2": {"score": 0, "explanation": "x", "reward": 0.0},
        },
        "raw_logging_results": [
            logged(3, [USER, CALL, SEEN], DONE),
            logged(2, [USER], CALL, parent_id="outer"),
            logged(2, [USER], CALL, id="outer"),
            logged(1, [USER], {"role": "assistant", "content": "No idea."}, task="t-2"),
            {"id": "x", "attributes": {}, "output": {"usage": {"prompt_tokens": 99}}},
        ],
        "task_prompts": {"t-1": "How heavy is a lamp?"},
        "total_usage": {}, "total_cost": 1.25, "git_info": {}, "agent_hash": "h",
        "wall_clock_times": {"t-2": 4.0}, "task_step_counts": {"t-1": 3},
    }  # fmt: skip


def traces(tmp_path: Path, value: Any) -> tuple[list[tuple[dict[str, Any], Foreign]], set[str]]:
    path = tmp_path / "gaia_hal_1748_UPLOAD.json"
    path.write_text(json.dumps(value, indent=2))
    source = Source(path)
    found = list(HalReader().traces(source))
    return [(json.loads(one.raw), one) for one in found if isinstance(one, Foreign)], source.notes


def test_a_run_is_one_attempt_a_task(door: Door) -> None:
    said = door.take("gaia_hal_1748_UPLOAD.json", run_file())
    assert said.code == 0, said
    assert door.rows("SELECT trace_id, passed, cost_usd, latency_ms FROM traces ORDER BY 1") == [
        ("gaia/HAL Generalist o3-mini/t-1/1", 1, None, 2500.0),
        ("gaia/HAL Generalist o3-mini/t-2/1", 0, None, 4000.0),
    ]
    kept = every_byte(door.root / "store")
    assert b"hidden" not in kept


def test_history_and_passed_on_calls_are_counted_once(tmp_path: Path) -> None:
    ((first, one), (second, _)), notes = traces(tmp_path, run_file())
    assert notes == set()
    assert [event["kind"] for event in first["events"]] == [
        "message", "tool_call", "tool_result", "message",
    ]  # fmt: skip
    assert first["events"][1]["arguments"] == {"q": "lamp"}
    assert first["final_message"] == "It is 5 kg."
    # Calls 2 and 3; what passed call 2 on is not a third.
    assert first["usage"] == {"input_tokens": 50, "output_tokens": 5, "cached_tokens": 8}
    assert second["usage"]["input_tokens"] == 10
    assert (one.user_request, first["source"]["step_count"]) == ("How heavy is a lamp?", 3)
    assert first["source"]["run"]["total_cost_usd"] == 1.25
    assert one.verdict is not None
    assert one.verdict.reward == 1.0
    denied = run_file()
    denied["raw_eval_results"]["t-1"]["reward"] = denied["raw_eval_results"]["t-1"]["score"] = 0
    ((_, one), _), _ = traces(tmp_path, denied)
    assert one.verdict is not None
    assert one.verdict.passed is None


def test_newer_harnesses_keep_one_conversation_a_task(tmp_path: Path) -> None:
    value = run_file()
    usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 2}
    value["raw_logging_results"] = {
        "t-1": {"messages": [USER, CALL, SEEN, DONE], "call_metadata": [{"usage": usage}] * 2,
                "model": "o3-mini", "call_count": 2}
    }  # fmt: skip
    (first, second), _ = traces(tmp_path, value)
    assert Counter(event["kind"] for event in first[0]["events"]) == {
        "message": 2, "tool_call": 1, "tool_result": 1,
    }  # fmt: skip
    assert first[0]["usage"] == {"input_tokens": 30, "output_tokens": 4, "cached_tokens": 10}
    wrote = {**usage, "cache_creation_input_tokens": 7}
    value["raw_logging_results"]["t-1"]["call_metadata"] = [{"usage": wrote}, {"usage": None}]
    (first, _), _ = traces(tmp_path, value)
    assert first[0]["usage"] == {
        "input_tokens": 22, "output_tokens": 2, "cached_tokens": 5, "cache_write_tokens": 7,
        "lower_bound": True, "replies": 2, "replies_counted": 1,
    }  # fmt: skip
    assert second[0]["events"] == []
    assert any("no conversation" in note for note in second[1].notes)


def test_answers_in_other_conversations_than_the_longest_are_not_measured(tmp_path: Path) -> None:
    """The harness keeps the longest conversation, and how many answers there were in all."""
    value = run_file()
    kept = {"messages": [USER, CALL, SEEN, DONE], "call_metadata": [{"usage": None}] * 3}
    for told in ({"call_count": 3}, {}):
        value["raw_logging_results"] = {"t-1": {**kept, **told}}
        (first, _), _ = traces(tmp_path, value)
        assert len(first[0]["unread"]) == 1
    value["raw_logging_results"]["t-1"]["call_metadata"] = [{"usage": None}] * 2
    (first, _), _ = traces(tmp_path, value)
    assert "unread" not in first[0]


def test_calls_that_name_no_task_leave_every_task_not_measured(tmp_path: Path) -> None:
    """A call that a thread made has no task: the tracer names it by the thread's context."""
    lost = logged(1, [USER], CALL)
    for place in (lost, lost["attributes"]):
        del place["weave_task_id"]
    value = run_file()
    value["raw_logging_results"].append(lost)
    found, _ = traces(tmp_path, value)
    assert all(record["unread"] for record, _ in found)
    lost["output"]["choices"] = [{"message": DONE}]
    found, _ = traces(tmp_path, value)
    assert "unread" not in found[0][0]


def test_actions_stand_in_where_nothing_was_logged(tmp_path: Path) -> None:
    value = run_file()
    value["raw_logging_results"] = []
    value["config"]["benchmark_name"] = "taubench_airline"
    value["raw_eval_results"]["t-1"] = {
        "reward": 1.0, "cost": 0.25, "taken_actions": [{"name": "book", "kwargs": {"id": 1}}],
    }  # fmt: skip
    (first, _), _ = traces(tmp_path, value)
    record, one = first
    assert one.suite == "tau-bench-airline"
    assert [(e["tool"], e["arguments"]) for e in record["events"]] == [("book", {"id": 1})]
    assert "status" not in record["events"][0]
    assert record["cost_usd"] == 0.25


@pytest.mark.parametrize(
    ("benchmark", "suite"),
    [
        ("gaia", "gaia"),
        ("swebench_verified_mini", "swe-bench"),
        ("taubench_retail", "tau-bench-retail"),
        ("USACO", "usaco"),
    ],
)
def test_benchmarks_share_their_suites_with_other_readers(
    tmp_path: Path, benchmark: str, suite: str
) -> None:
    value = run_file()
    value["config"]["benchmark_name"] = benchmark
    found, _ = traces(tmp_path, value)
    assert {one.suite for _, one in found} == {suite}


def test_lists_that_do_not_add_up_are_told(tmp_path: Path) -> None:
    value = run_file()
    value["results"].update(
        successful_tasks="['t-1', 't-2']", failed_tasks=["t-2", "t-4"], accuracy=0.9
    )
    found, notes = traces(tmp_path, value)
    assert [(r["episode_id"], one.verdict and one.verdict.passed) for r, one in found] == [
        ("t-1", True), ("t-2", None), ("t-4", False),
    ]  # fmt: skip
    assert any("in both lists" in note for note in notes)
    assert any("accuracy stated" in note for note in notes)


def test_variations_folded_into_one_result_are_not_scored(tmp_path: Path) -> None:
    value = run_file()
    value["raw_eval_results"]["t-1"] = [{"score": 1}, {"score": 0}]
    (first, _), _ = traces(tmp_path, value)
    assert first[1].verdict is None
    assert any("variations" in note for note in first[1].notes)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_odd_runs_never_raise(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    value = json.loads(json.dumps(run_file()))
    for _ in range(data.draw(st.integers(1, 3))):
        made_odd(data, value)
    path = tmp_path_factory.mktemp("odd") / "x_UPLOAD.json"
    raw = json.dumps(value).encode()
    path.write_bytes(cut_anywhere(data, raw) if data.draw(st.booleans()) else raw)
    try:
        found = list(HalReader().traces(Source(path)))
    except Unreadable:
        return
    assert all(isinstance(one, (Foreign, Broken)) for one in found)


USED = {"role": "assistant", "content": [
    {"type": "text", "text": "Looking."},
    {"type": "tool_use", "id": "u1", "name": "look", "input": {"at": "lamp"}},
    {"type": "tool_use", "id": "u2", "name": "look", "input": {"at": "desk"}},
]}  # fmt: skip
BACK = {"role": "user", "content": [
    {"type": "tool_result", "tool_use_id": "u1", "content": "5 kg"},
    {"type": "tool_result", "tool_use_id": "u2", "content": "9 kg"},
]}  # fmt: skip


def with_calls(*calls: dict[str, Any]) -> dict[str, Any]:
    return {**run_file(), "raw_logging_results": list(calls)}


def test_calls_in_blocks_of_content_are_calls(tmp_path: Path) -> None:
    """As the Anthropic client is traced: what it sends, and what it answers, are blocks."""
    answer = logged(1, [USER], None)
    answer["output"] = {**USED, "usage": {"input_tokens": 3, "output_tokens": 2}}
    found, _ = traces(tmp_path, with_calls(logged(2, [USER, USED, BACK], DONE), answer))
    record = next(record for record, _ in found if record["episode_id"] == "t-1")
    made = [event for event in record["events"] if event["kind"] == "tool_call"]
    assert [(one["tool"], one["arguments"]) for one in made] == [
        ("look", {"at": "lamp"}),
        ("look", {"at": "desk"}),
    ]
    seen = [event for event in record["events"] if event["kind"] == "tool_result"]
    assert [one["observation"] for one in seen] == ["5 kg", "9 kg"]
    assert "unread" not in record


def test_a_streamed_answer_states_no_usage_and_counts(tmp_path: Path) -> None:
    last = logged(2, [USER, CALL, SEEN], CALL)
    last["output"]["usage"] = None
    found, _ = traces(tmp_path, with_calls(logged(1, [USER], CALL), last))
    record = next(record for record, _ in found if record["episode_id"] == "t-1")
    assert len([event for event in record["events"] if event["kind"] == "tool_call"]) == 2
    assert record["usage"]["lower_bound"] is True


@pytest.mark.parametrize(
    "change",
    [
        {"output": {"choices": [{"message": DONE}, {"message": CALL}], "usage": {}}},
        {"output": {"choices": [{"message": DONE}], "pending": {"tool_calls": CALL["tool_calls"]}}},
        {"inputs": {"model": "m", "history": [CALL]}},
    ],
)
def test_calls_that_stand_elsewhere_in_a_logged_one_are_unread(
    change: dict[str, Any], tmp_path: Path
) -> None:
    found, _ = traces(tmp_path, with_calls(logged(1, [USER], DONE, **change)))
    record = next(record for record, _ in found if record["episode_id"] == "t-1")
    assert record["unread"]


def test_a_task_of_which_nothing_was_kept_is_not_measured(tmp_path: Path) -> None:
    found, _ = traces(tmp_path, with_calls())
    assert all(record["unread"] for record, _ in found)
