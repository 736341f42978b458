"""Cline in VS Code, Roo Code and Kilo Code: a task's `api_conversation_history.json`, a list of
messages in Anthropic's blocks or with calls as markup in the text.

A message of the user's role holds what tools returned, often as text under a heading
(`[read_file for 'a.py'] Result:`), what the extension says of the editor
(`<environment_details>`), and the person's words. Results come in the order of their calls.
"""

import re
from collections import deque
from functools import partial
from typing import Any

from reviewer.importing.draft import (
    ABSENT,
    CUT,
    Draft,
    amount,
    elapsed_ms,
    measured,
    summed,
    tokens,
)
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import at_path, objects, text
from reviewer.importing.formats.chat import are_messages
from reviewer.importing.formats.chat.dialects import DialectReader
from reviewer.importing.formats.sessions import NO_END, known_as
from reviewer.importing.head import Head
from reviewer.importing.messages import Transcript
from reviewer.importing.reader import Foreign
from reviewer.importing.source import Source

CACHED = "whether cached tokens are among those of the prompt differs by provider: input is unknown"
_LOOKED_AT = 8
_DETAILS = "<environment_details>"
_INJECTED = (
    *(_DETAILS, "[TASK RESUMPTION]", "# task_progress", "# TODO LIST", "[ERROR]", "Command "),
    *("(The user did not provide", "The user has provided feedback on the results."),
)
"""Beginnings of texts that the extension adds."""
_RESULT = re.compile(r"\[([a-z][a-z_]*)\b.*?\] Result:[ \n]*", re.DOTALL)
_FAILED = ("The tool execution failed", "The user denied", "Error executing", "Command failed")
_LATE = ("Command timed out",)
_STARTS = ("use_subagents", "new_task")
"""Tools that start other agents, whose messages this file does not have."""
_NAMES = {"subagents": "use_subagents"}
"""The tool in a heading → its name in a call, where the two differ."""
_RESTS = ("attempt_completion", "plan_mode_respond", "ask_followup_question")
"""Tools with which the agent waits for the person."""
_TASK_ID = re.compile(r"\d{10,16}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TAGGED = re.compile(r"(.*?)<(task|feedback|user_message|answer)>(.*)</\2>\s*", re.DOTALL)


class ClineTaskReader(DialectReader):
    name = "cline-task"
    facts = FormatFacts(
        by="messages of which the user's have `<environment_details>`",
        steps="yes; a task that started sub-agents is not measured",
        times="yes",
        cost="where each answer states it",
        tokens="yes; input only where nothing was cached",
        attempt="no: one for each task",
    )
    bare = ""
    plain = False

    def sniff(self, head: Head) -> bool:
        value = head.value
        return are_messages(value) and any(
            _DETAILS in one for message in value[:_LOOKED_AT] for one in _texts(message)
        )

    def say(self, transcript: Transcript, value: Any) -> list[Any]:
        messages = self.messages(value)
        transcript.account.every(messages)
        waiting: deque[tuple[str, str]] = deque()
        for message in messages:
            if at_path(message, "role") == "user" and _only_told(message.get("content")):
                _told(transcript, message, waiting)
                continue
            for block in objects(at_path(message, "content")):
                if block.get("call_id") in ("", block.get("id")):
                    block.pop("call_id", None)  # the block's own id again
                if block.get("type") == "tool_use":
                    waiting.append((text(block.get("name")), text(block.get("id"))))
            if isinstance(message, dict):
                at, spent = transcript.draft.at(message.get("ts")), _spent(message)
                transcript.say(message, tokens=spent, started_at=at)
            else:
                transcript.say(message)
        return messages

    def foreign(
        self, source: Source, number: int, value: dict[str, Any], draft: Draft, messages: list[Any]
    ) -> Foreign:
        said = objects(messages)
        answers = [one for one in said if one.get("role") == "assistant"]
        models = [own for one in answers if (own := text(at_path(one, "modelInfo", "modelId")))]
        times = [one["ts"] for one in said if one.get("ts")]
        prompts = [event for event in draft.events if event.get("actor") == "user"]
        final = draft.last_words()
        _missing(draft)
        if source.live or not _rests(draft, said):
            draft.unread(f"end of the session{CUT}")
            draft.note(NO_END)
        if any(at_path(one, "metrics", "tokens", "cached") for one in answers):
            draft.note(CACHED)
        own = source.path.parent.name
        own = own if _TASK_ID.fullmatch(own) else ""
        draft.identity = known_as("session", own)
        asked = text(prompts[0].get("message")) if prompts else ""
        took = elapsed_ms(times[0], times[-1]) if times and len(prompts) == 1 else None
        return draft.foreign(
            episode_id=own or source.place,
            candidate_id=source.candidate or (models[-1] if models else source.home),
            final_message=final,
            cost_usd=_cost(answers),
            latency_ms=amount(took),
            usage=summed([_spent(one) for one in answers]),
            started_at=draft.at(times[0]) if times else None,
            title=asked,
            user_request=asked,
        )


def _texts(message: Any) -> list[str]:
    """Return the texts of a message of the user."""
    content = at_path(message, "content") if at_path(message, "role") == "user" else None
    if isinstance(content, str):
        return [content]
    return [one["text"] for one in objects(content) if isinstance(one.get("text"), str)]


def _only_told(content: Any) -> bool:
    """Return whether a message consists of text and pictures, of which some text has a heading or
    an addition of the extension."""
    if not isinstance(content, list) or not all(
        at_path(one, "type") in ("text", "image") for one in content
    ):
        return False
    texts = [one["text"] for one in content if isinstance(one.get("text"), str)]
    return any(_RESULT.match(one) or one.lstrip().startswith(_INJECTED) for one in texts)


def _told(transcript: Transcript, message: dict[str, Any], waiting: deque[tuple[str, str]]) -> None:
    """Read what a message of the user's role says, block by block."""
    account, at = transcript.account, transcript.draft.at(message.get("ts"))
    account.read(message, ("role", "content", "ts"))
    held: list[list[str]] = []
    for block in message["content"]:
        account.read(block, ("type", "text"))
        own = text(block.get("text")) if block.get("type") == "text" else "[a picture]"
        opened = _RESULT.match(own)
        bare = held and len(held[-1]) == 1 and _RESULT.fullmatch(held[-1][0])
        if bare and not opened and not own.lstrip().startswith(_INJECTED):
            held[-1].append(own)  # the result under its heading, as a block of its own
        else:
            held.append([own])
    for one in held:
        opened = _RESULT.match(one[0])
        if opened is None:
            _spoken(transcript, one[0], at)
        else:
            name = _NAMES.get(opened.group(1), opened.group(1))
            found = "\n".join([one[0][opened.end() :], *one[1:]]).lstrip("\n")
            _returned(transcript, name, found, waiting, at)


def _spoken(transcript: Transcript, said: str, at: Any) -> None:
    tagged = _TAGGED.fullmatch(said)
    added = tagged.group(1) if tagged else said if said.lstrip().startswith(_INJECTED) else ""
    if added.strip():
        transcript.say({"role": "system", "content": added}, started_at=at)
    words = tagged.group(3) if tagged else "" if added else said
    if words.strip():
        transcript.say({"role": "user", "content": words.strip()}, started_at=at)


def _returned(
    transcript: Transcript, name: str, found: str, waiting: deque[tuple[str, str]], at: Any
) -> None:
    """Read the result of the first call of that tool that waits for one. Where calls are markup,
    none is known here: the result is that of the call before it."""
    call = next((one for one in waiting if one[0] == name), None)
    if call is None:
        result: dict[str, Any] = {"role": "tool", "content": found}
    else:
        waiting.remove(call)
        result = {"role": "tool", "tool_call_id": call[1], "content": found}
    transcript.say(result, started_at=at)
    transcript.failed_where(partial(_begins, _LATE), "timeout")
    transcript.failed_where(partial(_begins, _FAILED))


def _begins(marks: tuple[str, ...], value: Any) -> bool:
    return isinstance(value, str) and value.startswith(marks)


def _missing(draft: Draft) -> None:
    """Note the messages of sub-agents, which are in tasks of their own or not kept."""
    for seq, event in enumerate(draft.events, 1):
        if event["kind"] == "tool_call" and event["tool"] in _STARTS:
            draft.unread(f"messages of its sub-agents{ABSENT}", seq)


def _rests(draft: Draft, messages: list[dict[str, Any]]) -> bool:
    """Return whether the agent waits for the person at the end."""
    calls = [event["tool"] for event in draft.events if event["kind"] == "tool_call"]
    last = messages[-1].get("role") if messages else None
    return last == "assistant" and bool(calls) and calls[-1] in _RESTS


def _spent(message: dict[str, Any]) -> dict[str, int] | None:
    """Return the tokens of an answer. Providers differ in whether the prompt's include those from a
    cache."""
    stated = at_path(message, "metrics", "tokens")
    if not isinstance(stated, dict):
        return None
    cached = stated.get("cached")
    return tokens(
        input_tokens=None if cached else stated.get("prompt"),
        output_tokens=stated.get("completion"),
        cached_tokens=cached,
    )


def _cost(answers: list[dict[str, Any]]) -> float | None:
    """Return the sum of what the answers cost, None where one of them does not say."""
    costs = [measured(at_path(one, "metrics", "cost")) for one in answers]
    known = [one for one in costs if one is not None]
    return measured(sum(known)) if known and len(known) == len(costs) else None
