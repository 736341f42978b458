"""A line that cannot be read may hold a call of any attempt that is told in several lines: such an
attempt is not measured. One whose record is a line by itself is not touched by another's."""

import json
from pathlib import Path
from typing import Any

import pytest
from counted import FILES

from reviewer.importing.formats import named
from reviewer.importing.reader import Foreign
from reviewer.testing.reading import attempts

ASK = {"role": "user", "content": "refund L-7"}
DID = {
    "role": "assistant",
    "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "refund", "arguments": "{}"}}
    ],
}
DONE = {"role": "tool", "tool_call_id": "c", "content": "ok"}
SAID = {"role": "assistant", "content": "done"}


def records(reader: str, path: Path) -> list[dict[str, Any]]:
    found = attempts(named(reader), path)
    return [json.loads(one.raw) for one in found if isinstance(one, Foreign)]


def made(record: dict[str, Any]) -> list[str]:
    return [event["tool"] for event in record["events"] if event["kind"] == "tool_call"]


def damaged(text: str, word: str) -> str:
    return "\n".join(line[: len(line) // 2] if word in line else line for line in text.splitlines())


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        ("braintrust-logs", "braintrust/logs.jsonl"),
        ("langsmith-runs", "langsmith/tracer_runs.jsonl"),
        ("weave-calls", "weave/calls.jsonl"),
        ("openai-agents", "openai-agents/traces.jsonl"),
    ],
)
def test_rows_of_one_trace(reader: str, name: str, tmp_path: Path) -> None:
    whole = (FILES / name).read_text()
    path = tmp_path / Path(name).name
    path.write_text(whole)
    (record,) = records(reader, path)
    assert "refund_lamp" in made(record)
    assert not record.get("unread")
    path.write_text(damaged(whole, "refund_lamp"))
    (record,) = records(reader, path)
    assert "refund_lamp" not in made(record)
    assert any("unreadable" in one["path"] for one in record["unread"])


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses"])
def test_messages_that_are_lines_of_one_conversation(name: str, tmp_path: Path) -> None:
    if name == "openai-chat":
        rows: list[Any] = [ASK, DID, DONE, SAID]
    else:
        rows = [
            {"type": "message", **ASK},
            {"type": "function_call", "call_id": "c", "name": "refund", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "ok"},
            {"type": "message", **SAID},
        ]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    path = tmp_path / "chat.jsonl"
    path.write_text(text)
    (record,) = records(name, path)
    assert made(record) == ["refund"]
    path.write_text(damaged(text, '"c"'))
    (record,) = records(name, path)
    assert made(record) == []
    assert record["unread"]


def test_the_last_answer_of_a_log(tmp_path: Path) -> None:
    def pair(asked: list[Any], answer: Any) -> str:
        body = {"request": {"messages": asked}, "response": {"choices": [{"message": answer}]}}
        return json.dumps(body)

    path = tmp_path / "log.jsonl"
    lines = [pair([ASK], SAID), pair([ASK, SAID, ASK], DID)]
    path.write_text("\n".join([lines[0], lines[1][:-9]]))
    (record,) = records("openai-chat", path)
    assert made(record) == []
    assert record["unread"]


def test_the_newest_snapshot_of_a_thread(tmp_path: Path) -> None:
    def snapshot(step: int, messages: list[Any]) -> str:
        held = {"config": {"configurable": {"thread_id": "t"}}, "metadata": {"step": step}}
        return json.dumps({"values": {"messages": messages}, "next": [], **held})

    path = tmp_path / "history.jsonl"
    newest, older = snapshot(2, [ASK, DID, DONE, SAID]), snapshot(1, [ASK, SAID])
    path.write_text(f"{older}\n{newest}\n")
    (record,) = records("langgraph-history", path)
    assert (made(record), record.get("unread")) == (["refund"], None)
    path.write_text(f"{older}\n{newest[:-9]}\n")
    (record,) = records("langgraph-history", path)
    assert made(record) == []
    assert record["unread"]


def test_a_record_by_itself_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps({"messages": [ASK, SAID]}) + '\n{"messages": [\n')
    (record,) = records("openai-chat", path)
    assert not record.get("unread")
