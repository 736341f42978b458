"""Candidates behind a Chat Completions endpoint (`POST <base_url>/chat/completions`)."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.running.candidates.openai_answers import Again, CallIds, call_of, text_of, told
from reviewer.running.candidates.openai_http import Endpoint, Pace
from reviewer.running.candidates.openai_manifest import (
    CHOICE,
    COUNT,
    FOR_TOOLS,
    NUMBER,
    STOPS,
    SWITCH,
    WHOLE,
    WORD,
    Dialect,
    read_settings,
)
from reviewer.running.candidates.prices import UsageNames, metered
from reviewer.running.model import Brief, Call, CandidateFault, Observation, Task, ToolSpec, Turn
from reviewer.suite.candidate import Candidate

CHAT = Dialect(
    kind="openai-chat",
    config={
        "temperature": NUMBER,
        "top_p": NUMBER,
        "top_k": WHOLE,
        "min_p": NUMBER,
        "presence_penalty": NUMBER,
        "frequency_penalty": NUMBER,
        "repetition_penalty": NUMBER,
        "max_tokens": COUNT,
        "max_completion_tokens": COUNT,
        "seed": WHOLE,
        "stop": STOPS,
        "reasoning_effort": WORD,
        "parallel_tool_calls": SWITCH,
        "tool_choice": CHOICE,
    },
    elsewhere={"max_output_tokens": "write `max_completion_tokens` or `max_tokens`"},
)
COUNTS = UsageNames("prompt_tokens", "completion_tokens", "prompt_tokens_details")


def check(candidate: Candidate, folder: Path) -> None:
    """Raises Unrunnable when this candidate cannot be run from this suite folder, now and here."""
    read_settings(candidate, folder, CHAT)


class OpenAIChat:
    """One attempt of such a candidate (an `Adapter`)."""

    def __init__(self, task: Task, pace: Pace = Pace()) -> None:  # noqa: B008 (an immutable value)
        self._settings = read_settings(task.candidate, Path(task.folder), CHAT)
        self._endpoint = Endpoint(self._settings, task.redaction, pace)
        self._ids = CallIds()
        self._tools: list[dict[str, Any]] = []
        self._messages = [{"role": "system", "content": text} for text in self._settings.prompts]

    async def begin(self, brief: Brief) -> Turn:
        self._tools = [_schema(tool) for tool in brief.tools]
        self._messages.append({"role": "user", "content": brief.user_request})
        return await self._turn()

    async def proceed(self, observations: Sequence[Observation]) -> Turn:
        self._messages += (
            {"role": "tool", "tool_call_id": seen.call_id, "content": told(seen)}
            for seen in observations
        )
        return await self._turn()

    def waited_ms(self) -> float:
        return self._endpoint.waited_s() * 1000

    async def close(self) -> None:
        await self._endpoint.close()

    async def _turn(self) -> Turn:
        meter = partial(metered, names=COUNTS, prices=self._settings.prices)
        ask = self._endpoint.ask("/chat/completions", self._payload(), read_answer, meter)
        answer, usage, cost_usd = await ask
        return Turn(self._accept(answer), answer.text, usage, cost_usd)

    def _payload(self) -> dict[str, Any]:
        config = self._settings.config
        if not self._tools:
            config = {name: config[name] for name in config if name not in FOR_TOOLS}
        payload = {"model": self._settings.model, **config, "messages": self._messages}
        return {**payload, "tools": self._tools} if self._tools else payload

    def _accept(self, answer: "Answer") -> tuple[Call, ...]:
        """Keeps the message to be sent back as it was given, with the ids its calls go by here.

        That includes what the provider attached for itself (reasoning, signatures): several refuse
        the next request without it. None of that reaches the turn.
        """
        entries, calls = [], []
        for entry in answer.entries:
            call_id = self._ids.own(entry.get("id"))
            function = entry.get("function")
            named = function if isinstance(function, dict) else {}
            tool, arguments = named.get("name"), named.get("arguments")
            calls.append(call_of(call_id, tool, arguments, self._settings.key))
            entries.append({**entry, "id": call_id})
        message = {k: v for k, v in answer.message.items() if v is not None or k == "content"}
        message["role"] = "assistant"
        if entries:
            message["tool_calls"] = entries
        self._messages.append(message)
        return tuple(calls)


class Answer(NamedTuple):
    message: dict[str, Any]
    text: str | None
    entries: list[dict[str, Any]]


def _schema(tool: ToolSpec) -> dict[str, Any]:
    return {"type": "function", "function": tool._asdict()}


def read_answer(body: dict[str, Any]) -> Answer:
    """The message of an answer. Raises Again for one that has not the shape of an answer,
    CandidateFault for one cut off."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Again("its answer holds no message")
    finish = choice.get("finish_reason")
    if finish == "error":
        raise Again("its answer ended with an error")
    if finish == "length":
        raise CandidateFault("its answer was cut off at the limit of output tokens", "max_tokens")
    if finish == "content_filter":
        raise CandidateFault("the provider's content filter stopped its answer", "content_filter")
    entries = message.get("tool_calls") or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Again("its answer holds calls that are no list of objects")
    said = [text_of(message.get("content")), text_of(message.get("refusal"))]
    return Answer(message, "\n".join(text for text in said if text) or None, entries)
