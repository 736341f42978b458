"""Candidates behind a Responses endpoint (`POST <base_url>/responses`).

Nothing is kept at the provider (`store: false`): each request carries all items so far, those of
the model as they were given, its sealed reasoning among them.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.running.candidates.openai_answers import (
    Again,
    CallIds,
    Refused,
    call_of,
    text_of,
    told,
)
from reviewer.running.candidates.openai_http import Endpoint, Pace
from reviewer.running.candidates.openai_manifest import (
    CHOICE,
    COUNT,
    FOR_TOOLS,
    NUMBER,
    SWITCH,
    WORD,
    Dialect,
    read_settings,
)
from reviewer.running.candidates.prices import UsageNames, metered
from reviewer.running.model import (
    Brief,
    Call,
    CandidateFault,
    Observation,
    Task,
    ToolSpec,
    Turn,
    Usage,
)
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import shown

_LIMIT = "write `max_output_tokens`"
_CHAT_ONLY = "take it out, or run the candidate as openai-chat"

RESPONSES = Dialect(
    kind="openai-responses",
    config={
        "temperature": NUMBER,
        "top_p": NUMBER,
        "max_output_tokens": COUNT,
        "reasoning_effort": WORD,
        "parallel_tool_calls": SWITCH,
        "tool_choice": CHOICE,
    },
    elsewhere={"max_tokens": _LIMIT, "max_completion_tokens": _LIMIT}
    | dict.fromkeys(("top_k", "min_p", "seed", "stop"), _CHAT_ONLY)
    | dict.fromkeys(("presence_penalty", "frequency_penalty", "repetition_penalty"), _CHAT_ONLY),
)
_COUNTS = UsageNames("input_tokens", "output_tokens", "input_tokens_details")
_SEALED_REASONING = "reasoning.encrypted_content"
_CUT_OFF = {
    "max_output_tokens": ("its answer was cut off at the limit of output tokens", "max_tokens"),
    "content_filter": ("the provider's content filter stopped its answer", "content_filter"),
}


def check(candidate: Candidate, folder: Path) -> None:
    """Raises Unrunnable when this candidate cannot be run from this suite folder, now and here."""
    read_settings(candidate, folder, RESPONSES)


class OpenAIResponses:
    """One attempt of such a candidate (an `Adapter`)."""

    def __init__(self, task: Task, pace: Pace = Pace()) -> None:  # noqa: B008 (an immutable value)
        self._settings = read_settings(task.candidate, Path(task.folder), RESPONSES)
        self._endpoint = Endpoint(self._settings, task.redaction, pace)
        self._ids = CallIds()
        self._sealed = True
        self._tools: list[dict[str, Any]] = []
        self._items = [{"role": "system", "content": text} for text in self._settings.prompts]

    async def begin(self, brief: Brief) -> Turn:
        self._tools = [_schema(tool) for tool in brief.tools]
        self._items.append({"role": "user", "content": brief.user_request})
        return await self._turn()

    async def proceed(self, observations: Sequence[Observation]) -> Turn:
        self._items += (
            {"type": "function_call_output", "call_id": seen.call_id, "output": told(seen)}
            for seen in observations
        )
        return await self._turn()

    def waited_ms(self) -> float:
        return self._endpoint.waited_s() * 1000

    async def close(self) -> None:
        await self._endpoint.close()

    async def _turn(self) -> Turn:
        answer, usage, cost_usd = await self._ask()
        return Turn(self._accept(answer.items), answer.text, usage, cost_usd)

    async def _ask(self) -> tuple["_Answer", Usage | None, float | None]:
        """Reasoning that is not kept at the provider must come sealed to be sent back, but models
        that do not reason refuse to be asked for it: then it is not asked for again."""
        meter = partial(metered, names=_COUNTS, prices=self._settings.prices)
        try:
            return await self._endpoint.ask("/responses", self._payload(), _read, meter)
        except Refused as refused:
            if not self._sealed or "encrypted" not in refused.said.lower():
                raise
        self._sealed = False
        return await self._endpoint.ask("/responses", self._payload(), _read, meter)

    def _payload(self) -> dict[str, Any]:
        config = dict(self._settings.config)
        effort = config.pop("reasoning_effort", None)
        payload = {"model": self._settings.model, "input": self._items, "store": False}
        if self._tools:
            payload["tools"] = self._tools
        else:
            config = {name: config[name] for name in config if name not in FOR_TOOLS}
        if effort is not None:
            payload["reasoning"] = {"effort": effort}
        if self._sealed:
            payload["include"] = [_SEALED_REASONING]
        return payload | config

    def _accept(self, items: list[dict[str, Any]]) -> tuple[Call, ...]:
        """Keeps the items to be sent back, with the ids their calls go by here."""
        calls = []
        for item in items:
            if item.get("type") != "function_call":
                self._items.append(item)
                continue
            call_id = self._ids.own(item.get("call_id"))
            tool, arguments = item.get("name"), item.get("arguments")
            calls.append(call_of(call_id, tool, arguments, self._settings.key))
            self._items.append({**item, "call_id": call_id})
        return tuple(calls)


class _Answer(NamedTuple):
    items: list[dict[str, Any]]
    text: str | None


def _schema(tool: ToolSpec) -> dict[str, Any]:
    # Not strict: strict mode would rewrite the schema, and the broker checks arguments anyway.
    return {"type": "function", **tool._asdict(), "strict": False}


def _read(body: dict[str, Any]) -> _Answer:
    """Raises Again for an answer that has not the shape of one, CandidateFault for one cut off or
    one that does what nobody offered by other means than a call."""
    _whole(body)
    items = body.get("output")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Again("its answer holds no output")
    said = []
    for item in items:
        kind = item.get("type")
        if kind == "message":
            said.append(text_of(item.get("content")))
        elif kind not in ("function_call", "reasoning"):
            raise CandidateFault(f"its answer holds an item nobody asked for: `{shown(str(kind))}`")
    return _Answer(items, "\n".join(text for text in said if text) or None)


def _whole(body: dict[str, Any]) -> None:
    status = body.get("status", "completed")
    if status == "incomplete":
        details = body.get("incomplete_details")
        why = details.get("reason") if isinstance(details, dict) else None
        text, reason = _CUT_OFF.get(str(why), ("its answer is incomplete", "candidate_error"))
        raise CandidateFault(text, reason)
    if status != "completed":
        raise Again(f"its answer is not complete: status `{shown(str(status))}`")
