"""Spans of OpenTelemetry and its relatives as episodes. This module handles one span, the same for
every format: its ids and times, the conversation and episode that its own metadata names, the call
of a tool span, its counts and its cost.

Every format of spans has the same reader (`reader.SpanReader`): a first pass records the places of
a file's spans and which spans belong together, a second reads the spans of one episode at a time. A
format adds its envelope: where spans are in a file, and how a span is written.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from reviewer.importing.draft import measured, tokens, whole
from reviewer.importing.foreign_json import Remembered, parse_text

# Ids and times ------------------------------------------------------------------------------------

Attributes = dict[str, Any]


class SpanEvent(NamedTuple):
    """An event on a span."""

    name: str
    attributes: Attributes


class Span(NamedTuple):
    """One operation. `start` and `end` are nanoseconds since 1970, None when not stated; `stamp`
    is the start as the file writes it. Attributes are flat: dotted name to any JSON value.
    `resource` says what emitted it. `said` is the text of its status. `row` is the source's own
    object, for sources that write one operation in several; `unread` names members of it that may
    be acts and were not understood. `entered` says that another process called for it."""

    trace: str
    id: str
    parent: str
    name: str
    start: int | None
    end: int | None
    stamp: Any
    error: bool
    said: str
    attributes: Attributes
    resource: Attributes
    events: tuple[SpanEvent, ...] = ()
    scope: str = ""
    row: Any = None
    unread: tuple[str, ...] = ()
    entered: bool = False

    @property
    def lasted_ms(self) -> float | None:
        """Return the duration of the span, None when it has no end or ends before it starts."""
        if self.start is None or self.end is None or self.end < self.start:
            return None
        return round((self.end - self.start) / 1e6, 6)

    def has(self, *names: str) -> bool:
        """Return whether one of these attributes has content."""
        return self.first(*names) is not None

    def first(self, *names: str) -> Any:
        """Return the first of these attributes with content, else None."""
        held = self.attributes
        if held.keys().isdisjoint(names):  # usually so, and this is quicker
            return None
        for name in names:
            value = held.get(name)
            if value is not None and value != "":
                return value
        return None

    def text(self, *names: str) -> str:
        """Return the first of these attributes when it is text or a whole number, else an empty
        text."""
        value = self.first(*names)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return value if isinstance(value, str) else ""


_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{1,32})\Z")
_NOTHING = re.compile(r"0*\Z")


def hex_id(value: Any) -> str:
    """Return a trace or span id as lower-case hex, from hex (any case) or, as in protobuf's JSON,
    base64. Other texts are returned unchanged; empty when there is no id or it is zero."""
    return _hex_ids[value] if isinstance(value, str) else ""


def _hex_id(value: str) -> str:
    found = _HEX.match(value)
    text: str = value if found is None else found.group(1).lower()
    if found is None and len(text) in (12, 24):
        try:
            text = base64.b64decode(text, validate=True).hex()
        except (binascii.Error, ValueError):
            return text
    return "" if _NOTHING.match(text) else text[:128]


_hex_ids = Remembered[str, str](_hex_id, 4096, 64)
"""Span ids seen: most occur again, in the spans below them and of their trace."""

MOST = 1 << 63


def nanos(value: Any, scale: int = 1) -> int | None:
    """Return a time as nanoseconds since 1970: a number (of `scale` nanoseconds), digits,
    `[seconds, nanoseconds]` or an ISO 8601 text; a text without a zone is read as UTC, for its
    order only."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        if value.isdecimal() and len(value) < 20:
            value = int(value)
        else:
            return _iso(value)
    if isinstance(value, list):
        return _pair(value)
    if isinstance(value, float):
        value = int(value) if -1e19 < value < 1e19 else 0
    if not isinstance(value, int):
        return None
    return value * scale if 0 < value * scale < MOST else None


def of_unknown_unit(value: Any) -> int | None:
    """Return the same as `nanos` for numbers whose unit must be guessed by their size (s, ms, µs or
    ns)."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        scale = next(
            (s for s, top in ((10**9, 1e11), (10**6, 1e14), (1000, 1e17)) if value < top), 1
        )
        return nanos(int(value * scale)) if 0 < value < MOST else None
    return nanos(value)


def _pair(value: list[Any]) -> int | None:
    if len(value) != 2 or not all(type(one) is int and 0 <= one < MOST for one in value):
        return None
    return nanos(value[0] * 10**9 + value[1])


_FRACTION = re.compile(r"\.(\d+)")


def _iso(text: str) -> int | None:
    if len(text) > 64:
        return None
    fraction = _FRACTION.search(text)
    whole = _FRACTION.sub("", text, count=1)
    try:
        moment = datetime.fromisoformat(whole.strip())
        seconds = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
    rest = int(fraction.group(1)[:9].ljust(9, "0")) if fraction else 0
    return nanos(seconds * 10**9 + rest)


# Conversations and episodes -----------------------------------------------------------------------

_CONVERSATIONS = (
    "gen_ai.conversation.id", "session.id", "langfuse.session.id",
    "ai.telemetry.metadata.sessionId", "traceloop.association.properties.session_id",
    "traceloop.association.properties.conversation_id", "gcp.vertex.agent.session_id",
    "lmnr.association.properties.session_id",
)  # fmt: skip


def conversation_of(span: Span) -> str:
    """Return the conversation or session of a span, empty when not stated."""
    found = span.text(*_CONVERSATIONS) or _text(span.resource.get("langfuse.session.id"))
    return "" if found.startswith(_ANSWERS) or _MASKED.match(found) else found[:512]


_MASKED = re.compile(
    r"\[Scrubbed due to .*\]\Z|[\[<(]?(?:redacted|filtered|masked)[\])>]?\Z|\W*\Z", re.IGNORECASE
)
"""Words that a client wrote over a value: in all its traces the same, so that they name none.
Logfire writes them over every attribute with `session` in its name."""

_ANSWERS = ("resp_", "chatcmpl-")
"""Prefixes of answer ids, by which some frameworks name the conversation that they continue."""


MOST_ATTEMPTS = 1 << 31


class Run(NamedTuple):
    """The episode and attempt named in a span's own metadata."""

    episode: str
    attempt: int | None


_METADATA = (
    "metadata.", "ai.telemetry.metadata.", "langfuse.trace.metadata.",
    "langfuse.observation.metadata.", "traceloop.association.properties.",
    "lmnr.association.properties.metadata.", "",
)  # fmt: skip


def run_of(span: Span) -> Run | None:
    """Return the episode and attempt (as written) in a span's own metadata; None when it names
    none."""
    episode = _text(_stated(span, "episode_id", "episodeId"))
    if not episode or _MASKED.match(episode):
        return None
    attempt = whole(_stated(span, "attempt"))
    return Run(episode[:512], attempt if attempt is not None and attempt < MOST_ATTEMPTS else None)


def _stated(span: Span, *names: str) -> Any:
    found = span.first(*_prefixed(names))
    if found is not None:  # newer clients write texts as JSON
        return plain(found) if isinstance(found, str) and found[:1] == '"' else found
    for kept in (
        span.attributes.get("metadata"),
        span.attributes.get("langfuse.trace.metadata"),
        span.resource.get("langfuse.trace.metadata"),
    ):
        value = parse_text(kept) if isinstance(kept, str) and kept[:1] == "{" else kept
        if isinstance(value, dict):
            found = next((value[name] for name in names if value.get(name) is not None), None)
            if found is not None:
                return found
    return None


@cache
def _prefixed(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(prefix + name for prefix in _METADATA for name in names)


def _text(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


# Tool calls ---------------------------------------------------------------------------------------


class ToolUse(NamedTuple):
    """A tool span: `id` is that of the call it answers, if stated; `result` is None when the span
    gives none; `failed` is whether the result itself says that it is an error."""

    name: str
    id: str
    arguments: Any
    result: Any
    failed: bool


_TOOL_PREFIX = re.compile(r"^(?:execute_tool|running tool:|tools/call|tool\.)\s*")


def tool_use(span: Span) -> ToolUse:
    """Return the call a tool span describes."""
    name = span.text("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
    returned = plain(span.first(*_BACK))
    message = _tool_message(returned) or {}
    result = plain(message["content"]) if message else returned
    failed = message.get("status") == "error" or (
        isinstance(result, dict) and result.get("isError") is True  # as in MCP
    )
    return ToolUse(
        name or _TOOL_PREFIX.sub("", span.name) or "unnamed",
        span.text("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id")
        or message.get("tool_call_id", ""),
        _arguments(span),
        result,
        failed,
    )


_GIVEN = (
    "gen_ai.tool.call.arguments", "tool_arguments", "gcp.vertex.agent.tool_call_args",
    "ai.toolCall.args", "ai.toolCall.input", "traceloop.entity.input", "langfuse.observation.input",
    "input.value", "tool.parameters", "lmnr.span.input",
)  # fmt: skip
_BACK = (
    "gen_ai.tool.call.result", "tool_response", "gcp.vertex.agent.tool_response",
    "ai.toolCall.result", "traceloop.entity.output", "langfuse.observation.output", "output.value",
    "lmnr.span.output",
)  # fmt: skip
TOLD_BY_TOOLS = frozenset((*_GIVEN, *_BACK))
"""Attributes with the arguments and the result of a tool span: neither contains another call."""


def _arguments(span: Span) -> Any:
    found = span.first(*_GIVEN)
    value = parse_text(found) if isinstance(found, str) else found
    if isinstance(value, dict):
        for name in ("kwargs", "inputs", "input"):
            rest = {other for other in value if other not in (name, "args", "tags", "metadata")}
            if isinstance(value.get(name), dict) and not rest and not value.get("args"):
                return value[name]
        return value
    return found


def tool_message(value: Any) -> dict[str, Any] | None:
    """Return LangChain's message with a tool's result, which names the call it answers."""
    return _tool_message(plain(value))


def _tool_message(parsed: Any) -> dict[str, Any] | None:
    if isinstance(parsed, dict) and isinstance(parsed.get("kwargs"), dict):
        parsed = parsed["kwargs"]
    named = isinstance(parsed, dict) and isinstance(parsed.get("tool_call_id"), str)
    return parsed if named and "content" in parsed else None


def plain(value: Any) -> Any:
    """Return a value, decoded if it is written as JSON text; other texts are returned unchanged."""
    if value == "null":
        return None
    if isinstance(value, str) and value[:1] in ("{", "[", '"'):
        parsed = parse_text(value)
        return value if parsed is None else parsed
    return value


# Tokens and costs ---------------------------------------------------------------------------------

_USAGE = {
    "input_tokens": (
        "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt",
        "ai.usage.inputTokens", "ai.usage.promptTokens",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
        "llm.token_count.completion", "ai.usage.outputTokens", "ai.usage.completionTokens",
    ),
    "cached_tokens": (
        "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.details.cache_read_tokens", "llm.token_count.prompt_details.cache_read",
        "ai.usage.cachedInputTokens",
    ),
    "cache_write_tokens": (
        "gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.details.cache_write_tokens", "llm.token_count.prompt_details.cache_write",
    ),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens", "llm.token_count.completion_details.reasoning",
        "llm.usage.reasoning_tokens", "ai.usage.reasoningTokens",
    ),
}  # fmt: skip
_OBSERVED = {
    "input_tokens": ("input", "promptTokens", "input_tokens", "prompt_tokens"),
    "output_tokens": ("output", "completionTokens", "output_tokens", "completion_tokens"),
    "cached_tokens": (
        "input_cached_tokens", "input_cache_read", "prompt_details.cache_read",
        "cache_read_input_tokens",
    ),
    "cache_write_tokens": ("input_cache_creation", "cache_creation_input_tokens"),
    "reasoning_tokens": (
        "output_reasoning_tokens", "output_reasoning", "completion_details.reasoning",
    ),
}  # fmt: skip
_AGGREGATED = ("gen_ai.aggregated_usage.input_tokens", "gen_ai.aggregated_usage.output_tokens")


def usage_of(span: Span) -> dict[str, int] | None:
    """Return the tokens of one model call; None when they were not measured, also when both are
    0."""
    observed = span.first("langfuse.observation.usage_details")
    value = parse_text(observed) if isinstance(observed, str) else observed
    found = _observed_counts(value) if isinstance(value, dict) else None
    found = found or _counts(span.attributes, _USAGE)
    if not found or not (found.get("input_tokens") or found.get("output_tokens")):
        return None
    return found


_DETAILS = {
    "cached_tokens": (
        "prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens",
    ),
    "reasoning_tokens": (
        "completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens",
    ),
}  # fmt: skip


def _observed_counts(value: Attributes) -> dict[str, int] | None:
    """Return the tokens in Langfuse's words. Its server counts every kind once: `input` is without
    the cached tokens beside it and `output` without those of reasoning, and the total is the sum of
    all. Counts as the provider states them have their parts in objects."""
    found = _counts(value, _OBSERVED)
    if found is None:
        return None
    flat = {f"{name}.{inner}": one for name, held in value.items() if isinstance(held, dict)
            for inner, one in held.items()}  # fmt: skip
    found = {**(_counts(flat, _DETAILS) or {}), **found}
    side = {"input": found.get("input_tokens", 0), "output": found.get("output_tokens", 0)}
    if whole(value.get("total")) == sum(side.values()):
        return found
    for part in (one for one in side if one in value):
        for name, number in value.items():
            beside = name.startswith(f"{part}_") or name.endswith(f"_{part}_tokens")
            if beside and name != f"{part}_tokens" and (more := whole(number)):
                found[f"{part}_tokens"] += more
    return found


def aggregated_usage(span: Span) -> dict[str, int] | None:
    """Return the sum that an agent's span states for the calls within it."""
    if span.has(*_AGGREGATED):
        return tokens(
            input_tokens=span.first(_AGGREGATED[0]), output_tokens=span.first(_AGGREGATED[1])
        )
    return usage_of(span)


def _counts(values: Attributes, names: Mapping[str, tuple[str, ...]]) -> dict[str, int] | None:
    found: dict[str, int] = {}
    for ours, theirs in names.items():
        for name in theirs:
            if name in values and (number := whole(values[name])) is not None:
                found[ours] = number
                break
    return found or None


_COST = ("langfuse.observation.total_cost", "llm.cost.total", "gen_ai.usage.cost", "operation.cost")
"""Attributes with the cost of a span: Langfuse's, OpenInference's, OpenLIT's, pydantic-ai's."""


def cost_of(span: Span) -> float | None:
    """Return the cost stated by a span, in USD; 0 is written where nothing was priced, and gives
    None."""
    return measured(next((span.attributes[one] for one in _COST if one in span.attributes), None))
