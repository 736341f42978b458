"""How many tokens a span counts, and what it cost, in the dialects of its attributes."""

from reviewer.importing.draft import measured, tokens, whole
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats._spans.value import Attributes, Span

_USAGE = {
    "input_tokens": (
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
        "ai.usage.inputTokens",
        "ai.usage.promptTokens",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
        "ai.usage.outputTokens",
        "ai.usage.completionTokens",
    ),
    "cached_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.details.cache_read_tokens",
        "llm.token_count.prompt_details.cache_read",
        "ai.usage.cachedInputTokens",
    ),
    "cache_write_tokens": (
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.details.cache_write_tokens",
        "llm.token_count.prompt_details.cache_write",
    ),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "llm.token_count.completion_details.reasoning",
        "llm.usage.reasoning_tokens",
        "ai.usage.reasoningTokens",
    ),
}
_OBSERVED = {
    "input_tokens": ("input", "promptTokens", "input_tokens", "prompt_tokens"),
    "output_tokens": ("output", "completionTokens", "output_tokens", "completion_tokens"),
    "cached_tokens": (
        "input_cached_tokens",
        "input_cache_read",
        "prompt_details.cache_read",
        "cache_read_input_tokens",
    ),
    "cache_write_tokens": ("input_cache_creation", "cache_creation_input_tokens"),
    "reasoning_tokens": (
        "output_reasoning_tokens",
        "output_reasoning",
        "completion_details.reasoning",
    ),
}
_AGGREGATED = ("gen_ai.aggregated_usage.input_tokens", "gen_ai.aggregated_usage.output_tokens")


def usage_of(span: Span) -> dict[str, int] | None:
    """The tokens of one model call; None when they were not measured, and so when both are 0."""
    observed = span.first("langfuse.observation.usage_details")
    value = parse_text(observed) if isinstance(observed, str) else observed
    found = _counts(value, _OBSERVED) if isinstance(value, dict) else None
    found = found or _counts(span.attributes, _USAGE)
    if not found or not (found.get("input_tokens") or found.get("output_tokens")):
        return None
    return found


def aggregated_usage(span: Span) -> dict[str, int] | None:
    """The sum an agent's span gives for the calls within it."""
    if span.has(*_AGGREGATED):
        return tokens(
            input_tokens=span.first(_AGGREGATED[0]), output_tokens=span.first(_AGGREGATED[1])
        )
    return usage_of(span)


def _counts(values: Attributes, names: dict[str, tuple[str, ...]]) -> dict[str, int] | None:
    found: dict[str, int] = {}
    for ours, theirs in names.items():
        for name in theirs:
            if name in values and (number := whole(values[name])) is not None:
                found[ours] = number
                break
    return found or None


_COST = ("langfuse.observation.total_cost", "llm.cost.total", "gen_ai.usage.cost", "operation.cost")
"""What a span cost as Langfuse, OpenInference, OpenLIT and pydantic-ai say it, in that order."""


def cost_of(span: Span) -> float | None:
    """Return what a span says it cost, in USD; 0 is what is written where nothing was priced."""
    return measured(next((span.attributes[one] for one in _COST if one in span.attributes), None))
