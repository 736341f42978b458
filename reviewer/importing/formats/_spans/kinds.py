"""What kind of operation a span describes, with which model, by which agent.

The dialects: OpenTelemetry's `gen_ai.*` (present and former names), OpenInference, Vercel's `ai.*`,
Google's ADK, pydantic-ai, Traceloop, LangSmith and Langfuse.
"""

import re
from typing import Literal

from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats._spans.tools import tool_message
from reviewer.importing.formats._spans.value import Span

Kind = Literal["model", "tool", "agent", "chain", "judge", ""]
"""`model` is one call of a model, `agent` and `chain` hold others, `judge` is no work of the
agent's; spans of no kind describe nothing of it (HTTP, queues, embeddings)."""

_SPAN_KINDS: dict[str, Kind] = {
    "llm": "model",
    "generation": "model",
    "tool": "tool",
    "agent": "agent",
    "chain": "chain",
    "span": "chain",
    "workflow": "chain",
    "task": "chain",
    "guardrail": "chain",
    "retriever": "chain",
    "evaluator": "judge",
    "embedding": "",
    "reranker": "",
    "event": "",
}
_OPERATIONS: dict[str, Kind] = {
    "chat": "model",
    "completion": "model",
    "text_completion": "model",
    "generate_content": "model",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "invoke_workflow": "chain",
    "create_agent": "",
    "embeddings": "",
}
_DECLARED = ("openinference.span.kind", "langsmith.span.kind", "traceloop.span.kind")


def kind_of(span: Span) -> Kind:
    """What kind of operation a span describes."""
    operation = span.text("ai.operationId")
    if operation.startswith("ai."):
        return _vercel(operation)
    if (own := span.text("gen_ai.operation.name")) in _OPERATIONS:
        return _OPERATIONS[own]
    for name in _DECLARED:
        if (declared := span.text(name).casefold()) in _SPAN_KINDS:
            return _SPAN_KINDS[declared]
    if span.has("gen_ai.tool.name", "gcp.vertex.agent.tool_call_args"):
        return "tool"
    observed = span.text("langfuse.observation.type").casefold()
    if observed in _SPAN_KINDS and observed != "span":
        return _SPAN_KINDS[observed]
    if span.has("agent_name", "pydantic_ai.all_messages", "all_messages_events"):
        return "agent"
    if span.has("llm.request.type") or span.has(*_MODELS):
        return "model"
    if observed == "span":
        return "tool" if tool_message(span.first("langfuse.observation.output")) else "chain"
    return ""


_NO_ACTS = frozenset(
    (
        # OpenTelemetry's operations, and kinds of other vocabularies, that call no tool
        *("retrieval", "rerank", "create_memory", "search_memory", "update_memory", "unknown"),
        *("prompt", "parser", "session", "server", "client", "internal", "producer", "consumer"),
    )
)


def unknown_kind(span: Span) -> str:
    """The attribute that declares a kind of operation nobody knows; empty when none does."""
    if (own := span.text("gen_ai.operation.name")) and own not in {*_OPERATIONS, *_NO_ACTS}:
        return "gen_ai.operation.name"
    for name in (*_DECLARED, "langfuse.observation.type"):
        declared = span.text(name).casefold()
        if declared and declared not in _SPAN_KINDS and declared not in _NO_ACTS:
            return name
    return ""


def _vercel(operation: str) -> Kind:
    if operation.endswith((".doGenerate", ".doStream")):
        return "model"
    if operation == "ai.toolCall":
        return "tool"
    return "" if "embed" in operation.casefold() else "agent"


_MODELS = (
    "gen_ai.request.model",
    "gen_ai.response.model",
    "llm.model_name",
    "langfuse.observation.model.name",
    "ai.model.id",
)


def model_of(span: Span) -> str:
    """The model asked for, else the one that answered."""
    return span.text(*_MODELS)


def served_by(span: Span) -> str:
    """The model that answered."""
    return span.text("gen_ai.response.model", "ai.response.model")


def response_id(span: Span) -> str:
    """The provider's id of one answer."""
    return span.text("gen_ai.response.id", "ai.response.id")


def finish_reason(span: Span) -> str:
    """Why the model stopped, in the source's word; empty when not stated."""
    found = span.first(
        "gen_ai.response.finish_reasons",
        "ai.response.finishReason",
        "gen_ai.completion.0.finish_reason",
        "llm.finish_reason",
    )
    value = parse_text(found) if isinstance(found, str) and found[:1] == "[" else found
    if isinstance(value, list):
        value = value[-1] if value else ""
    return value[:100] if isinstance(value, str) else ""


_UNIQUE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{16}|\d{6}", re.IGNORECASE)
_AROUND = re.compile(r"^(?:invoke_agent|agent_run|agent)\s+\[?|\]$|\s+run$")


def agent_name(span: Span) -> str:
    """What an agent is called; empty when its span names none, or only one made for this run."""
    name = span.text("gen_ai.agent.name", "agent_name", "agent.name", "graph.node.id")
    if not name and kind_of(span) == "agent":
        name = span.text("traceloop.entity.name", "ai.telemetry.functionId")
        if not name and not span.text("ai.operationId"):
            name = _AROUND.sub("", span.name).strip()
            name = "" if name in _OPERATIONS else name
    return "" if made_for_one_run(name) else name[:200]


def made_for_one_run(name: str) -> bool:
    """Whether a name holds an id or a number that another run would not have."""
    return _UNIQUE.search(name) is not None
