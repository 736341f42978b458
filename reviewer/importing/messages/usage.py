"""Token counts as dialects state them, in one definition: input with what was cached."""

from collections.abc import Sequence
from typing import Any

from reviewer.importing.draft import summed, tokens, whole

_BEDROCK = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")


def usage_of(usages: Sequence[Any]) -> dict[str, Any] | None:
    """Token counts of several answers together; None when no answer says any, marked as a lower
    bound where one says none."""
    return summed([tokens_of(usage) for usage in usages])


def tokens_of(usage: Any) -> dict[str, int] | None:
    """Token counts of one answer, in OpenAI's, Anthropic's, Gemini's, Bedrock's, the Vercel AI
    SDK's, LangChain's or pi's writing."""
    if not isinstance(usage, dict):
        return None
    anthropic = ("cache_read_input_tokens", "cache_creation_input_tokens")
    if "prompt_tokens" not in usage and any(name in usage for name in anthropic):
        return _beside(
            usage.get("input_tokens"),
            usage.get("cache_read_input_tokens"),
            usage.get("cache_creation_input_tokens"),
            usage.get("output_tokens"),
        )
    if "promptTokenCount" in usage or "prompt_token_count" in usage:
        return _gemini(usage)
    if "inputTokens" in usage or "promptTokens" in usage:
        return _camel(usage)
    if "input" in usage and "output" in usage:  # pi
        return _beside(
            usage["input"], usage.get("cacheRead"), usage.get("cacheWrite"), usage["output"]
        )
    inside = _held(usage, "input_tokens_details", "prompt_tokens_details", "input_token_details")
    outside = _held(
        usage, "output_tokens_details", "completion_tokens_details", "output_token_details"
    )
    return tokens(
        input_tokens=usage.get("input_tokens", usage.get("prompt_tokens")),
        output_tokens=usage.get("output_tokens", usage.get("completion_tokens")),
        cached_tokens=inside.get("cached_tokens", inside.get("cache_read")),
        reasoning_tokens=outside.get("reasoning_tokens", outside.get("reasoning")),
        total_tokens=usage.get("total_tokens"),
    )


def _held(usage: dict[str, Any], *names: str) -> dict[str, Any]:
    """The details of a count; a list of them holds one."""
    found = next((usage[name] for name in names if usage.get(name)), None)
    if isinstance(found, list) and found:
        found = found[0]
    return found if isinstance(found, dict) else {}


def _beside(fresh: Any, cached: Any, written: Any, output: Any) -> dict[str, int] | None:
    """Counts of providers that state input without what was cached."""
    parts = [whole(fresh), whole(cached) or 0, whole(written) or 0]
    return tokens(
        input_tokens=None if parts[0] is None else sum(part or 0 for part in parts),
        output_tokens=output,
        cached_tokens=cached,
        cache_write_tokens=written,
    )


def _gemini(usage: dict[str, Any]) -> dict[str, int] | None:
    def of(camel: str, snake: str) -> Any:
        return usage.get(camel, usage.get(snake))

    return tokens(
        input_tokens=of("promptTokenCount", "prompt_token_count"),
        output_tokens=of("candidatesTokenCount", "candidates_token_count"),
        cached_tokens=of("cachedContentTokenCount", "cached_content_token_count"),
        reasoning_tokens=of("thoughtsTokenCount", "thoughts_token_count"),
        total_tokens=of("totalTokenCount", "total_token_count"),
    )


def _camel(usage: dict[str, Any]) -> dict[str, int] | None:
    if any(name in usage for name in _BEDROCK[2:]):
        return _beside(*(usage.get(one) for one in (_BEDROCK[0], *_BEDROCK[2:], _BEDROCK[1])))
    details = _held(usage, "inputTokenDetails")
    made = _held(usage, "outputTokenDetails")
    return tokens(
        input_tokens=usage.get("inputTokens", usage.get("promptTokens")),
        output_tokens=usage.get("outputTokens", usage.get("completionTokens")),
        cached_tokens=usage.get("cachedInputTokens", details.get("cacheReadTokens")),
        reasoning_tokens=usage.get("reasoningTokens", made.get("reasoningTokens")),
        total_tokens=usage.get("totalTokens"),
    )
