"""The Vercel AI SDK: a stream of a UI message, a result of `generateText`."""

import json
from pathlib import Path
from typing import Any

import pytest
from span_files import DATA, events, said, told, used

from reviewer.importing.formats.chat.dialects import VercelModelReader
from reviewer.importing.formats.chat.vercel_stream import VercelStreamReader
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken
from reviewer.importing.source import Source

STREAM, RESULT = VercelStreamReader(), VercelModelReader()
SAMPLE = DATA / "vercel_ai" / "stream.sse"
TOOLS = [("lookUpLamp", "ok"), ("lookUpLamp", "error"), ("refundLamp", "ok")]
WORDS = [("agent", "Let me look."), ("agent", "I refunded 39.50.")]


def the(reader: Any, path: Path) -> dict[str, Any]:
    (record,) = told(reader, path).values()
    return record


def chunks() -> list[dict[str, Any]]:
    held = [line.removeprefix("data: ") for line in SAMPLE.read_text().splitlines() if line]
    return [json.loads(one) for one in held if one != "[DONE]"]


def sent(folder: Path, values: list[Any], start: str = "data: ") -> Path:
    path = folder / "stream.txt"
    path.write_text("".join(f"{start}{json.dumps(one)}\n\n" for one in values))
    return path


def test_a_stream_is_the_message_it_makes(tmp_path: Path) -> None:
    for path in (SAMPLE, sent(tmp_path, chunks(), "")):
        assert STREAM.sniff(Head(path))
        record = the(STREAM, path)
        assert used(record) == TOOLS
        assert said(record) == WORDS
        assert record["usage"]["input_tokens"] == 600
        assert record["usage"]["cached_tokens"] == 100
        assert record["termination"] == "stop"
        assert "unread" not in record


def test_a_result_of_generate_text_says_the_same() -> None:
    record = the(RESULT, DATA / "vercel_ai" / "generate_text.json")
    assert [name for name, _ in used(record)] == [name for name, _ in TOOLS]
    assert said(record) == WORDS
    assert record["usage"]["input_tokens"] == 600
    assert (record["termination"], record["candidate_id"]) == ("stop", "mock-model-id")


def test_a_result_kept_beside_what_was_asked_is_read_with_it(tmp_path: Path) -> None:
    result = json.loads((DATA / "vercel_ai" / "generate_text.json").read_text())
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "Refund"}], **result}))
    record = the(RESULT, path)
    assert [name for name, _ in used(record)] == [name for name, _ in TOOLS]
    assert said(record) == [("user", "Refund"), *WORDS]
    assert "unread" not in record


@pytest.mark.parametrize("invalid", [True, False])
def test_a_call_of_a_tool_that_is_not_offered_is_a_call_that_failed(
    tmp_path: Path, invalid: bool
) -> None:
    call = {"toolCallId": "c1", "toolName": "wipe", "input": {"id": 1}, "dynamic": True}
    why = {"name": "AI_NoSuchToolError", "toolName": "wipe", "availableTools": ["lookup"]}
    content = [
        {**call, "type": "tool-call", "error": why, **({"invalid": True} if invalid else {})},
        {**call, "type": "tool-error", "error": "Model tried to call unavailable tool 'wipe'."},
    ]
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"steps": [{"content": content, "finishReason": "stop"}]}))
    record = the(RESULT, path)
    assert used(record) == [("wipe", "error")]
    assert ("unread" in record) is not invalid


@pytest.mark.parametrize(
    ("last", "termination"),
    [({"type": "finish", "finishReason": "content-filter"}, "content_filter"),
     ({"type": "error", "errorText": "api down"}, "error")],
)  # fmt: skip
def test_a_stream_in_which_nothing_was_answered_is_an_attempt(
    tmp_path: Path, last: dict[str, Any], termination: str
) -> None:
    record = the(STREAM, sent(tmp_path, [{"type": "start"}, {"type": "start-step"}, last]))
    assert record["termination"] == termination
    assert "final_message" not in record


def test_a_stream_cut_anywhere_is_never_whole(tmp_path: Path) -> None:
    raw = SAMPLE.read_bytes()
    whole = the(STREAM, SAMPLE)["events"]
    path = tmp_path / "cut.sse"
    for size in range(0, len(raw) - 20, 37):
        path.write_bytes(raw[:size])
        (found,) = STREAM.traces(Source(path))
        if not isinstance(found, Broken):
            record = json.loads(found.raw)
            assert record["events"] != whole or "it was cut off" in str(found.notes)
            assert record.get("termination") != "stop"


def test_an_answer_to_a_call_that_was_never_sent_is_not_measured(tmp_path: Path) -> None:
    without = [one for one in chunks() if one["type"] != "tool-input-available"]
    without = [one for one in without if one["type"] != "tool-input-start"]
    assert the(STREAM, sent(tmp_path, without))["unread"]


def test_a_call_sent_twice_with_other_input_is_not_measured(tmp_path: Path) -> None:
    values = chunks()
    place = next(n for n, one in enumerate(values) if one["type"] == "tool-input-available")
    values.insert(place + 1, {**values[place], "input": {"sku": "L-9"}})
    assert the(STREAM, sent(tmp_path, values))["unread"]


def test_a_call_that_waits_for_a_person(tmp_path: Path) -> None:
    cut = [one for one in chunks() if one.get("toolCallId") != "c3"][:-6]
    made = {"toolCallId": "c9", "toolName": "wire", "input": {"to": 1}}
    asked = [
        {"type": "tool-input-available", **made},
        {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c9"},
    ]
    record = the(STREAM, sent(tmp_path, [*cut, *asked]))
    assert [one["approval"]["decision"] for one in events(record, "approval")] == ["pending"]
    assert events(record, "tool_call")[-1]["status"] == "pending"


@pytest.mark.parametrize(
    "odd",
    [{"type": "data-robot", "data": {"toolName": "wire", "input": {"to": 1}}},
     {"type": "robot-call", "toolName": "wire", "input": {"to": 1}}, 7, "x"],
)  # fmt: skip
def test_an_event_that_could_be_an_act_is_not_measured(tmp_path: Path, odd: Any) -> None:
    assert the(STREAM, sent(tmp_path, [*chunks(), odd]))["unread"]


def test_other_streams_are_not_claimed(tmp_path: Path) -> None:
    for other in ({"id": "c", "object": "chat.completion.chunk", "choices": []},
                  {"type": "message_start", "message": {}}):  # fmt: skip
        assert not STREAM.sniff(Head(sent(tmp_path, [other, other])))
