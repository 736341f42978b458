"""Which conversation a span belongs to, and which episode its own metadata says it was run for."""

from functools import cache
from typing import Any, NamedTuple

from reviewer.importing.draft import whole
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats._spans.value import Span

_CONVERSATIONS = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "ai.telemetry.metadata.sessionId",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.conversation_id",
    "gcp.vertex.agent.session_id",
)


def conversation_of(span: Span) -> str:
    """The conversation or session a span belongs to, empty when not stated."""
    found = span.text(*_CONVERSATIONS) or _text(span.resource.get("langfuse.session.id"))
    return "" if found.startswith(_ANSWERS) else found[:512]


_ANSWERS = ("resp_", "chatcmpl-")
"""Ids of answers, which some frameworks name as the conversation they go on with."""


MOST_ATTEMPTS = 1 << 31


class Run(NamedTuple):
    """What a span's own metadata says of the episode it was run for."""

    episode: str
    attempt: int | None


_METADATA = (
    "metadata.",
    "ai.telemetry.metadata.",
    "langfuse.trace.metadata.",
    "langfuse.observation.metadata.",
    "traceloop.association.properties.",
    "",
)


def run_of(span: Span) -> Run | None:
    """The episode and attempt (as written) in a span's own metadata; None when it names none."""
    episode = _text(_stated(span, "episode_id", "episodeId"))
    if not episode:
        return None
    attempt = whole(_stated(span, "attempt"))
    return Run(episode[:512], attempt if attempt is not None and attempt < MOST_ATTEMPTS else None)


def _stated(span: Span, *names: str) -> Any:
    found = span.first(*_prefixed(names))
    if found is not None:
        return found
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
