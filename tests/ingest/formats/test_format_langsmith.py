"""LangSmith: runs one by one, nested, as the API returns them and as the SDK sends them."""

import json
from pathlib import Path
from typing import Any

import pytest
from counted import FILES
from span_files import events, read, spent, told, used

from reviewer.importing.formats.stores.langsmith import LangSmithReader
from reviewer.importing.head import Head

READER = LangSmithReader()
SAMPLE = FILES / "langsmith" / "tracer_runs.jsonl"
TOOLS = [("look_up_lamp", "ok"), ("look_up_lamp", "error"), ("refund_lamp", "ok")]


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in SAMPLE.read_text().splitlines()]


def lines(folder: Path, values: list[Any]) -> Path:
    path = folder / "runs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in values))
    return path


def document(folder: Path, value: Any) -> Path:
    path = folder / "runs.json"
    path.write_text(json.dumps(value))
    return path


def the(path: Path) -> dict[str, Any]:
    (record,) = told(READER, path).values()
    return record


def called(record: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(one["tool"], one.get("status")) for one in events(record, "tool_call")]


def as_sent(values: list[dict[str, Any]]) -> dict[str, Any]:
    """Runs as the SDK sends them: each is begun, then completed by what may not name its kind."""
    late = ("end_time", "outputs", "error")
    post = [{n: one for n, one in row.items() if n not in late} for row in values]
    kept = ("dotted_order", "trace_id", *late)
    patch = [{name: row[name] for name in kept} for row in values]
    return {"post": post, "patch": patch}


def nested(values: list[dict[str, Any]]) -> dict[str, Any]:
    by_id = {row["id"]: {**row, "child_runs": []} for row in values}
    for row in by_id.values():
        if (above := row["parent_run_id"]) is not None:
            by_id[above]["child_runs"].append(row)
    root = next(row for row in by_id.values() if row["parent_run_id"] is None)
    for row in by_id.values():
        if row is not root:
            del row["parent_run_id"], row["trace_id"], row["dotted_order"]
    return root


def test_every_envelope_says_the_same(tmp_path: Path) -> None:
    plain = the(SAMPLE)
    assert used(plain) == TOOLS
    sent = as_sent(rows())
    later = {"post": sent["patch"], "patch": sent["post"]}
    for number, value in enumerate((rows(), {"runs": rows()}, nested(rows()), sent, later)):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = the(document(folder, value))
        assert found["events"] == plain["events"], number
        assert found["usage"] == plain["usage"], number
        assert "unread" not in found, number


def test_lines_in_another_order_and_twice_say_the_same(tmp_path: Path) -> None:
    plain = the(SAMPLE)
    for number, values in enumerate((rows()[::-1], rows() + rows())):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert the(lines(folder, values))["events"] == plain["events"]


def test_runs_of_two_traces_are_two_attempts(tmp_path: Path) -> None:
    other = json.loads(json.dumps(rows()).replace("01a20540", "01a20541"))
    for row in other:
        row["extra"]["metadata"].pop("thread_id")
    mixed = [one for pair in zip(rows(), other, strict=True) for one in pair]
    records = told(READER, lines(tmp_path, mixed))
    assert [used(one) for one in records.values()] == [TOOLS, TOOLS]
    assert spent(list(records.values())) == (1200, 132)


def test_calls_are_those_of_tool_runs_else_those_of_answers(tmp_path: Path) -> None:
    without = [row for row in rows() if row["run_type"] != "tool" and row["name"] != "tools"]
    record = the(lines(tmp_path, without))
    assert called(record) == [("look_up_lamp", "pending")] * 2 + [("refund_lamp", "pending")]


def test_a_run_that_asks_a_person_is_open_and_no_failure(tmp_path: Path) -> None:
    values = rows()
    for row in values:
        if row["name"] in ("LangGraph", "refund_lamp") or row["name"] == "tools":
            row["error"] = "GraphInterrupt((Interrupt(value='Refund it?'),))"
            row["outputs"] = {}
    cut = [row for row in values if row["start_time"] < "2026-11-22T21:53:55.7"]
    record = the(lines(tmp_path, cut))
    assert used(record) == TOOLS[:2]
    assert called(record)[-1] == ("refund_lamp", "pending")
    assert "termination" not in record


def test_a_question_that_was_answered_later_is_one_call(tmp_path: Path) -> None:
    values = rows()
    tool = next(row for row in values if row["run_type"] == "tool")
    asked = {**tool, "id": "asked", "outputs": {}, "error": "GraphInterrupt((Interrupt(value=1),))"}
    asked["extra"] = {"tool_call_id": tool["outputs"]["output"]["tool_call_id"]}
    asked["dotted_order"] = None
    path = lines(tmp_path, [*values, asked])
    assert called(the(path)) == called(the(SAMPLE))
    assert len(events(the(path), "tool_result")) == len(events(the(SAMPLE), "tool_result"))


def test_a_graph_that_waits_for_a_person_did_not_complete(tmp_path: Path) -> None:
    values = rows()
    root = next(row for row in values if row["parent_run_id"] is None)
    own = {"id": "asked", "parent_run_id": root["id"], "dotted_order": None, "outputs": {}}
    asked = {**root, **own, "error": "GraphInterrupt((Interrupt(value=1),))"}
    record = the(lines(tmp_path, [*values, asked]))
    assert "termination" not in record
    assert "final_message" not in record
    assert record["latency_ms"] == the(SAMPLE)["latency_ms"]


def test_what_was_asked_in_short_form_is_one_message(tmp_path: Path) -> None:
    values = rows()
    root = next(row for row in values if row["parent_run_id"] is None)
    asked = [one["message"] for one in events(the(SAMPLE), "message") if one["actor"] == "user"]
    root["inputs"] = {"messages": [["user", asked[0]]]}
    record = the(lines(tmp_path, values))
    said = [one["message"] for one in events(record, "message") if one["actor"] == "user"]
    assert said == asked


def test_nothing_that_came_back_is_no_answer(tmp_path: Path) -> None:
    values = rows()
    for row in values:
        row["outputs"] = {} if row["run_type"] != "tool" else row["outputs"]
    assert "final_message" not in the(lines(tmp_path, values))


def test_an_answer_kept_as_chunks_is_the_answer(tmp_path: Path) -> None:
    def chunk(choice: dict[str, Any], **more: Any) -> dict[str, Any]:
        held = {"object": "chat.completion.chunk", "model": "m", **more}
        return {**held, "choices": [{"index": 0, **choice}]}

    made = {"index": 0, "id": "c1", "type": "function", "function": {"name": "wire"}}
    rest = {"index": 0, "function": {"arguments": '{"to": 1}'}}
    told_of = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    chunks = [
        chunk({"delta": {"role": "assistant", "tool_calls": [made]}}),
        chunk({"delta": {"tool_calls": [rest]}}, usage=told_of),
    ]
    asked = {"messages": [{"role": "user", "content": "x"}]}
    own = {"run_type": "llm", "inputs": asked, "outputs": {"output": chunks}, "extra": {}}
    row = {**rows()[0], **own}
    record = the(lines(tmp_path, [row]))
    (call,) = events(record, "tool_call")
    assert (call["tool"], call["arguments"], call["call_id"]) == ("wire", {"to": 1}, "c1")
    assert record["usage"]["input_tokens"] == 9
    assert "unread" not in record


def test_a_completion_without_its_beginning_is_not_measured(tmp_path: Path) -> None:
    sent = as_sent(rows())
    sent["post"] = [row for row in sent["post"] if row["name"] != "refund_lamp"]
    record = the(document(tmp_path, sent))
    assert any(one["path"].endswith("langsmith.span.kind") for one in record["unread"])


def test_a_run_that_is_there_with_two_outcomes_is_not_measured(tmp_path: Path) -> None:
    values = rows()
    refund = next(row for row in values if row["name"] == "refund_lamp")
    other = {**refund, "inputs": {"sku": "L-9", "amount": 900}}
    record = the(lines(tmp_path, [other, *values]))
    assert record["unread"]


def test_what_the_server_adds(tmp_path: Path) -> None:
    values = rows()
    for row in values:
        row.update(total_cost=None, prompt_tokens=0)
        if row["run_type"] == "llm":
            row.update(total_cost="0.002", prompt_tokens=7, completion_tokens=1)
            row["outputs"]["generations"][0][0]["message"]["kwargs"].pop("usage_metadata")
    root = values[0]
    root.update(total_cost=0.006, prompt_tokens=21, completion_tokens=3)
    root["feedback_stats"] = {"correct": {"n": 1, "avg": 1.0}, "tone": {"n": 1, "avg": 0.5}}
    found = read(READER, lines(tmp_path, values))
    record = the(lines(tmp_path, values))
    assert record["cost_usd"] == pytest.approx(0.006)
    assert spent([record]) == (21, 3)
    (one,) = found
    assert one.verdict is not None
    assert one.verdict.passed is None
    assert [score["value"] for score in one.verdict.detail["scores"]] == [1.0, 0.5]


def test_an_unknown_kind_of_run_is_not_measured(tmp_path: Path) -> None:
    values = rows()
    values[-1]["run_type"] = "robot"
    record = the(lines(tmp_path, values))
    assert [one["path"] for one in record["unread"]] == [
        "spans[tools_condition].langsmith.span.kind"
    ]


def test_a_thread_is_one_attempt(tmp_path: Path) -> None:
    again = json.loads(json.dumps(rows()).replace("01a20540", "01a20541"))
    again = json.loads(json.dumps(again).replace("T21:53", "T22:53"))
    record = the(lines(tmp_path, rows() + again))
    assert record["episode_id"] == "lamp-return-1"
    assert len(events(record, "tool_call")) == 6


def test_other_files_are_not_claimed(tmp_path: Path) -> None:
    for value in ({"post": [], "patch": []}, {"post": ["x"]}, {"id": "1", "inputs": {}}):
        assert not READER.sniff(Head(document(tmp_path, value)))
