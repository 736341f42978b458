"""Messages of the usual shapes are read at once. What they come to, and what is left of them, is
what the careful way makes of them: each message here is read in both."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reviewer.importing.draft import Draft
from reviewer.importing.foreign_json import parse
from reviewer.importing.messages import Transcript, turns
from reviewer.importing.messages.usual import side_of, usual_langchain
from reviewer.trace.strictjson import has_repeats

DATA = Path(__file__).resolve().parents[1] / "data"

CHAT: list[Any] = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "Refund it."},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}]},
    {"role": "tool", "tool_call_id": "a", "name": "pay", "content": "done"},
    {"role": "assistant", "content": "It is done.", "refusal": None},
]  # fmt: skip
USAGE = {"input_tokens": 40, "output_tokens": 9, "total_tokens": 49}
LANGCHAIN: list[Any] = [
    {"type": "human", "data": {"content": "Refund it.", "type": "human", "name": None}},
    {"type": "ai", "data": {
        "content": "", "type": "ai", "id": "m", "usage_metadata": USAGE,
        "response_metadata": {"model_name": "m", "finish_reason": "tool_calls"},
        "tool_calls": [{"name": "pay", "args": {"n": 1}, "id": "a", "type": "tool_call"}],
        "invalid_tool_calls": [], "additional_kwargs": {}}},
    {"type": "tool", "data": {
        "content": "done", "type": "tool", "name": "pay", "tool_call_id": "a", "status": "success",
        "artifact": None, "additional_kwargs": {}, "response_metadata": {}}},
    {"type": "ai", "data": {"content": "It is done.", "type": "ai", "tool_calls": []}},
]  # fmt: skip
ACT = {"name": "issue_refund", "arguments": {"amount": 5}}
OTHERS: list[Any] = [
    None, "", " ", "x", 0, 7, True, [], {}, ["x"], {"x": 1}, ACT, [ACT], json.dumps(ACT),
    {"function": ACT}, [{"function": ACT, "id": "z", "type": "function"}], "\n" + json.dumps(ACT),
    "<tool_call>" + json.dumps(ACT) + "</tool_call>", "tool", "function_call", "assistant",
]  # fmt: skip
NAMES = (
    "content", "name", "id", "tool_calls", "tool_call_id", "refusal", "function_call", "status",
    "reasoning", "parts", "metadata", "type", "action", "role", "args", "error", "source",
)  # fmt: skip


def told(record: Any, messages: list[Any], at_once: bool) -> tuple[Any, ...]:
    draft = Draft("x")
    transcript = Transcript(draft)
    try:
        if not (at_once and transcript.at_once(messages)):
            transcript.say_all(messages)
    except TypeError:  # a record of an unexpected shape costs that record (`Source.attempt`)
        return ("shape",)
    transcript.finish()
    transcript.account.read(record, ("messages",))
    transcript.account.tell(record, draft)
    made = draft.foreign(episode_id="e", candidate_id="c")
    return made.raw, made.notes


def both(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, Any]:
    """The record of a thread as it is read at once, message by message, and with care."""
    fast, each, slow = (parse(raw) for _ in range(3))
    found = told(fast, fast["messages"], True), told(each, each["messages"], False)
    with monkeypatch.context() as patch:
        patch.setattr(turns, "usual", lambda message: None)
        patch.setattr(turns, "usual_langchain", lambda message: None)
        return *found, told(slow, slow["messages"], False)


def changed(messages: list[Any], inner: str) -> Iterator[list[Any]]:
    """The messages with each member of each message or call set to something else, and gone."""
    for place, message in enumerate(messages):
        held = message[inner] if inner else message
        calls = held.get("tool_calls") or [{}]
        functions = [("tool_calls", 0, "function")] if "function" in calls[0] else []
        for path in ((), ("tool_calls", 0), *functions):
            if path and not held.get("tool_calls"):
                continue
            for name in (*NAMES, "arguments", "function", "response_metadata", "usage_metadata"):
                for other in (*OTHERS, KeyError):
                    thread = copy.deepcopy(messages)
                    part = thread[place][inner] if inner else thread[place]
                    for step in path:
                        part = part[step]
                    if other is KeyError:
                        part.pop(name, None)
                    else:
                        part[name] = other
                    yield thread


@pytest.mark.parametrize(("messages", "inner"), [(CHAT, ""), (LANGCHAIN, "data")])
def test_the_usual_messages_are_read_as_with_care_however_they_are_changed(
    messages: list[Any], inner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for thread in changed(messages, inner):
        at_once, each, slow = both(json.dumps({"messages": thread}).encode(), monkeypatch)
        assert at_once == slow, thread
        assert each == slow, thread


@pytest.mark.parametrize("path", ["openai_chat/tau2_sft_excerpt.jsonl", "messages/langchain.json"])
def test_real_threads_are_read_as_with_care(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DATA / path).read_text()
    found = [json.loads(line) for line in text.splitlines()] if path.endswith("l") else [
        json.loads(text)
    ]  # fmt: skip
    for one in found:
        messages = one["messages"] if isinstance(one, dict) else one
        at_once, each, slow = both(json.dumps({"messages": messages}).encode(), monkeypatch)
        assert at_once == each == slow


def test_usual_messages_are_the_usual_ones() -> None:
    assert all(side_of(message) for message in CHAT)
    assert all(usual_langchain(message) is not None for message in LANGCHAIN)


def test_a_member_that_stands_twice_is_no_usual_one() -> None:
    raw = b'{"role": "assistant", "content": "a", "content": "b"}'
    value = parse(raw)
    assert has_repeats(value)
    assert not side_of(value)
    call = (
        b'{"id": "a", "type": "function", "function": {"name": "p", "name": "q", "arguments": ""}}'
    )
    assert not side_of(parse(b'{"role": "assistant", "tool_calls": [' + call + b"]}"))
