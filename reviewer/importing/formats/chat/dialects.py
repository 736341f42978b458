"""Chat messages of one dialect each: they differ in how they are recognized, not in how they are
read. `openai_chat` takes lists that any of them could have written.
"""

from typing import Any

from reviewer.importing.draft import Draft, summed, tokens
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.chat.envelopes import spent
from reviewer.importing.formats.chat.openai_chat import OpenAIChatReader
from reviewer.importing.formats.values import at_path, mapping, objects, sequence
from reviewer.importing.head import Head
from reviewer.importing.messages import Teller, tokens_of, usage_of
from reviewer.importing.reader import Foreign
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict


class DialectReader(OpenAIChatReader):
    """A reader of messages that only its own dialect could have written."""

    version = "1"


class AnthropicMessagesReader(DialectReader):
    name = dialect = "anthropic-messages"


class ClineReader(DialectReader):
    """A session of Cline 3: Anthropic's blocks, with what failed in the results themselves. What
    its sub-agents did is in other files, so a session that started any is not measured."""

    name = "cline"
    plain = False

    def sniff(self, head: Head) -> bool:
        return head.has("sessionId", "origin", "agent", "messages") and super().sniff(head)

    def tell(self, teller: Teller, message: Any) -> None:
        held = mapping(message)
        spent_here = held.get("metrics")
        counts = _metrics(spent_here) if isinstance(spent_here, dict) else None
        teller.say(message, tokens=counts, started_at=teller.draft.at(held.get("ts")))
        teller.failed_where(_unsuccessful)

    def usage(self, value: dict[str, Any], messages: list[Any]) -> dict[str, Any] | None:
        held = [one.get("metrics") for one in objects(messages)]
        return summed([_metrics(one) for one in objects(held)])

    def foreign(
        self, source: Source, number: int, value: dict[str, Any], draft: Draft, messages: list[Any]
    ) -> Foreign:
        for seq, event in enumerate(draft.events, 1):
            if event["kind"] == "tool_call" and event["tool"] == "spawn_agent":
                draft.unread("spawn_agent", seq)
                draft.note("what sub-agents did is in files of their own")
        about = objects([one.get("modelInfo") for one in objects(messages)])
        models = [one["id"] for one in about if one.get("id")]
        return draft.foreign(
            episode_id=value.get("sessionId"),
            candidate_id=source.candidate or (models[-1] if models else source.path.stem),
            final_message=draft.last_words(),
            usage=self.usage(value, messages),
        )


def _metrics(value: dict[str, Any]) -> dict[str, int] | None:
    return tokens(
        input_tokens=value.get("inputTokens"),
        output_tokens=value.get("outputTokens"),
        cached_tokens=value.get("cacheReadTokens"),
        cache_write_tokens=value.get("cacheWriteTokens"),
    )


def _unsuccessful(seen: Any) -> bool:
    """Return whether a result says of itself that it failed."""
    value = parse_text(seen) if isinstance(seen, str) and seen[:1] == "{" else seen
    return any(
        isinstance(one, dict) and one.get("success") is False
        for one in (value if isinstance(value, list) else [value])
    )


class BedrockConverseReader(DialectReader):
    name = dialect = "bedrock-converse"


class GeminiReader(DialectReader):
    name = dialect = "gemini"


class GenAIMessagesReader(DialectReader):
    name = dialect = "genai-messages"


class HermesReader(DialectReader):
    name = dialect = "hermes"


class PiReader(DialectReader):
    name = dialect = "pi"


class VercelModelReader(DialectReader):
    """Model messages, and results of `generateText`, whose steps hold them."""

    name = dialect = "vercel-ai-model"

    def sniff(self, head: Head) -> bool:
        return bool(_steps(head.first)) or super().sniff(head)

    def messages(self, value: Any) -> list[Any]:
        return super().messages(value) or _steps(value)

    def say(self, teller: Teller, value: Any) -> list[Any]:
        steps = _steps(value)
        if not steps or super().messages(value):
            return super().say(teller, value)
        teller.account.read(value, ("steps",))
        teller.account.every(steps)
        for step in steps:
            teller.say(step, "assistant", tokens=tokens_of(step.get("usage")))
        return steps


def _steps(value: Any) -> list[Any]:
    """Return the steps of a result that hold typed content."""
    steps = sequence(at_path(value, "steps"))
    first = objects(at_path(steps, 0, "content"))
    typed = any(isinstance(one.get("type"), str) for one in first)
    return steps if typed and ("finishReason" in steps[0] or "usage" in steps[0]) else []


class VercelUIReader(DialectReader):
    name = dialect = "vercel-ai-ui"

    def usage(self, value: dict[str, Any], messages: list[Any]) -> dict[str, Any] | None:
        """Return what applications commonly keep in a message's metadata."""
        replies = [one for one in objects(messages) if one.get("role") != "user"]
        return usage_of([spent(one.get("metadata")) for one in replies]) or super().usage(
            value, messages
        )


class AutoGenReader(DialectReader):
    """A task's result: messages and events by who they came from."""

    name = dialect = "autogen"
    plain = False

    def tell(self, teller: Teller, message: Any) -> None:
        held = mapping(message)
        counts, at = tokens_of(held.get("models_usage")), held.get("created_at")
        teller.say(message, tokens=counts, started_at=teller.draft.at(at))

    def usage(self, value: dict[str, Any], messages: list[Any]) -> dict[str, Any] | None:
        held = [one.get("models_usage") for one in objects(messages)]
        return usage_of([one for one in held if one is not None])


class AgentDojoReader(DialectReader):
    """A run of AgentDojo: an episode is a suite's user task, with the injection it met."""

    name = dialect = "agentdojo"

    def sniff(self, head: Head) -> bool:
        return head.has("suite_name", "user_task_id", "messages") or super().sniff(head)

    def foreign(
        self, source: Source, number: int, value: dict[str, Any], draft: Draft, messages: list[Any]
    ) -> Foreign:
        if "user_task_id" not in value:
            return super().foreign(source, number, value, draft, messages)
        names = ("suite_name", "user_task_id", "injection_task_id")
        episode = "/".join(str(value[name]) for name in names if value.get(name))
        attack = value.get("attack_type")
        if attack:
            episode = f"{episode}/{attack}"
        kept = {
            name: value[name]
            for name in ("utility", "security", "attack_type", "benchmark_version")
            if value.get(name) is not None
        }
        if kept:
            draft.source["agentdojo"] = kept
        if value.get("injection_task_id"):
            draft.note("security true means that the injection reached its goal")
        utility, error = value.get("utility"), value.get("error")
        if error not in (None, ""):
            draft.error(error)
        duration = value.get("duration")
        verdict = SourceVerdict(
            passed=utility if isinstance(utility, bool) else None,
            exception=error if isinstance(error, str) and error else None,
            detail=kept,
        )
        said = isinstance(utility, bool) or bool(error)
        return draft.foreign(
            episode_id=episode,
            candidate_id=source.candidate or value.get("pipeline_name") or source.home,
            final_message=draft.last_words(),
            latency_ms=duration * 1000 if isinstance(duration, float) else None,
            termination="error" if error else None,
            verdict=verdict if said else None,
            title=str(episode),
        )
