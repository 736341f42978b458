"""Chat messages and items in every dialect: words, calls and results, and the parts of a message
that were not understood. This module writes turns into a draft, in order, and counts tokens by one
definition for every dialect: input includes cached tokens."""

from collections.abc import Callable, Sequence
from typing import Any

from reviewer.importing.account import Account
from reviewer.importing.draft import Draft, Status, summed, tokens, whole, words
from reviewer.importing.messages.parts import Part, Turn
from reviewer.importing.messages.text_calls import calls_in, holds_blocks, results_in
from reviewer.importing.messages.turns import is_message, turn_of
from reviewer.importing.messages.usual import inner_calls, tell_usual
from reviewer.trace.events import marked

__all__ = ["Transcript", "is_message", "tokens_of", "turn_of", "usage_of"]
_ACTORS = {"agent": "agent", "system": "system", "tool": "tool"}
_MAKES_NO_CALLS = ("user", "system", "tool")


CLIENT = "client of the model"
"""The approver when a provider asks for an approval: the program that called the model, for a
person or by a rule of its own. The record does not say which: a contract that lists this name
accepts its decision."""


class _Entry:
    """A turn, its source, and its facts (tokens, a time)."""

    __slots__ = ("more", "source", "turn")

    def __init__(self, turn: Turn, source: Any, more: dict[str, Any]) -> None:
        self.turn = turn
        self.source = source
        self.more = more


class Transcript:
    """Messages of one attempt. They are collected first and written by `finish`, because whether a
    text of the agent is a call depends on whether the record has any other form of call."""

    def __init__(
        self,
        draft: Draft,
        account: Account | None = None,
        user: str = "user",
        as_text: bool | None = None,
    ) -> None:
        """Begin a transcript. `user` is the actor of the user's turns; `as_text` is whether calls
        may be written as text, None when this follows from the messages."""
        self.draft = draft
        self.account = Account() if account is None else account
        self._user = user
        self._as_text = as_text
        self._entries: list[_Entry] = []
        self._asked: dict[str, Part] = {}
        self._approvals: dict[str, str] = {}
        self._wrapped: dict[str, list[str]] = {}
        self._answered = False  # whether a result follows the turn that is being written

    def say(self, message: Any, role: str = "", **more: Any) -> bool:
        """Add one message or item, of `role` where it names none; `more` (tokens, a time) goes to
        its first event. Return False for a value that is neither, which is left unread."""
        turn = turn_of(message, self.account, role)
        if turn is None:
            self.draft.note("something that is no message is among the messages: left out")
            if isinstance(message, (dict, list)):
                self.account.refuse(message)
            elif message not in (None, ""):
                self.draft.unread(f"messages[{len(self._entries)}]", 1)
            return False
        if turn.role == "agent" and not turn.parts and _hides_parts(message):
            self.draft.unread(f"messages[{len(self._entries)}].parts", 1)
        self._entries.append(_Entry(turn, message, more))
        return True

    def say_all(self, messages: Any) -> None:
        """Add every message of a list; other values in it are left unread."""
        if isinstance(messages, list):
            self.account.every(messages)
            for message in messages:
                self.say(message)

    def at_once(self, messages: list[Any]) -> bool:
        """Add and write all messages of a list, if they are of the usual shapes and none was added
        before; return False when they must be added one by one."""
        if self._entries or self._as_text is not None or self.draft.events:
            return False
        if not tell_usual(self.draft, messages, self._user):
            return False
        self.account.all_of(messages)
        return True

    def failed_where(self, fails: Callable[[Any], bool], status: Status = "error") -> None:
        """Set the status of results of the last message for whose value `fails` returns True."""
        parts = self._entries[-1].turn.parts if self._entries else []
        for place, part in enumerate(parts):
            if part.kind == "result" and part.status is None and fails(part.value):
                parts[place] = part._replace(status=status)

    def wrong(self, text: Any, **more: Any) -> None:
        """Add an error outside any call."""
        self._entries.append(_Entry(Turn("", "", [Part("error", text)]), None, more))

    def finish(self) -> None:
        """Write the messages added so far."""
        as_text = self._as_text
        if as_text is None:
            parts = (part for entry in self._entries for part in entry.turn.parts)
            as_text = not any(part.kind in ("call", "ask") for part in parts)
        events, account = self.draft.events, self.account
        for place, entry in enumerate(self._entries):
            if as_text:  # whether a text is a call may follow from the next message
                after = self._entries[place + 1].turn if place + 1 < len(self._entries) else None
                self._answered = after is not None and (
                    after.role == "tool" or any(_answers(part) for part in after.parts)
                )
            before = len(events)
            self._write(entry.turn, as_text)
            if isinstance(entry.source, dict) and not account.done(entry.source):
                account.at(entry.source, len(events) or 1)
            if entry.more and len(events) > before:
                first = events[before]
                first.update({k: v for k, v in entry.more.items() if v is not None})
        for part in list(self._asked.values()):
            self._call(part._replace(kind="call"), "agent")

    def _write(self, turn: Turn, as_text: bool) -> None:
        actor = self._actor(turn)
        if len(turn.parts) == 1 and turn.parts[0].kind == "text":
            self._speak(actor, [turn.parts[0].value], turn, as_text)
            return
        said: list[Any] = []
        acted = False
        for part in turn.parts:
            if part.kind == "text":
                said.append(part.value)
                continue
            if part.kind == "reasoning":
                acted = acted or part.holder is not None
                if as_text and isinstance(part.value, str) and marked(part.value):
                    self.draft.unread(f"messages[{len(self.draft.events) + 1}].reasoning")
                continue
            self._speak(actor, said, turn, as_text)
            said = []
            acted = True
            if part.kind == "call" and turn.role in _MAKES_NO_CALLS:
                self._not_theirs(part)
            elif part.kind == "call":
                self._call(part, actor)
            elif part.kind == "result":
                self._results(part, as_text)
            elif part.kind == "ask":
                self._ask(part)
            elif part.kind == "error":
                self.draft.error(part.value)
            else:
                self._approval(part)
        if said:
            self._speak(actor, said, turn, as_text)
        elif not acted:
            self.draft.message(actor, "")

    def _actor(self, turn: Turn) -> str:
        if turn.role == "user":
            return self._user
        return _ACTORS.get(turn.role) or turn.actor

    def _speak(self, actor: str, said: list[Any], turn: Turn, as_text: bool) -> None:
        if not said:
            return
        text = said[0] if len(said) == 1 else "\n".join(str(one) for one in said)
        theirs = turn.role in ("agent", "") and isinstance(text, str)
        if theirs and holds_blocks(text) and not (as_text and calls_in(text)):
            self.draft.unread(f"messages[{len(self.draft.events)}].text")
        if as_text and isinstance(text, str):
            if turn.role in ("agent", ""):
                # A mark may be cut in two by the blocks that contain it.
                if len(said) > 1 and marked("".join(map(str, said))) and not marked(text):
                    self.draft.unread(f"messages[{len(self.draft.events) + 1}].text")
                self._wrote(actor, text)
                return
            seen = results_in(text) if turn.role != "system" else []
            if seen and self.draft.waiting:
                for one in seen:
                    self.draft.result(one)
                return
            if seen:  # a call was there that was not understood
                self.draft.unread(f"messages[{len(self.draft.events) + 1}].text")
        self.draft.message(actor, words(text))

    def _wrote(self, actor: str, text: str) -> None:
        """Write a text of the agent in a record that has no other form of call."""
        found = calls_in(text)
        if found is None:
            self.draft.message(actor, text)
            return
        if not found.understood or not (found.marked or self._answered):
            self.draft.message(actor, text)
            self.draft.unread(f"messages[{len(self.draft.events)}].text", len(self.draft.events))
            return
        self.draft.note("tool calls are in the file as text and were parsed from it")
        if found.words:
            self.draft.message(actor, found.words)
        for name, given in found.calls:
            self._call(Part("call", given, "", name), actor)

    def _not_theirs(self, part: Part) -> None:
        """Leave a call by a role that makes none unread."""
        if part.holder is not None:
            self.account.refuse(part.holder)
        else:
            self.draft.unread(f"messages[{len(self.draft.events)}].call")

    def _call(self, part: Part, actor: str) -> None:
        asked = self._asked.get(part.id)
        if asked is not None and asked.name == part.name:
            del self._asked[part.id]
        held = inner_calls(part.name, part.value)
        if not part.certain:
            self.draft.unread(f"calls[{self.draft.calls()}]", len(self.draft.events) + 1)
        more = {} if part.status is None else {"status": part.status}
        if not held:
            if held is not None:
                self.draft.unread(
                    f"calls[{self.draft.calls()}].arguments", len(self.draft.events) + 1
                )
            self.draft.call(part.name, part.value, part.id, actor, **more)
            return
        ids = [f"{part.id or part.name}.{number}" for number in range(1, len(held) + 1)]
        self._wrapped[part.id] = ids
        arguments = Draft("copy").arguments(part.value)
        self.account.copies.append((part.id or None, part.name, arguments))
        for own, (name, given) in zip(ids, held, strict=True):
            self.draft.call(name, given, own, actor, **more)

    def _results(self, part: Part, as_text: bool) -> None:
        """Write the results of a tool; where calls are texts, one text may contain several."""
        seen = results_in(part.value) if as_text and isinstance(part.value, str) else []
        if part.id or len(seen) < 2:
            self._result(part)
        else:
            for one in seen:
                self._result(part._replace(value=one))

    def _result(self, part: Part) -> None:
        for own in self._wrapped.pop(part.id, None) or [part.id]:
            event = self.draft.result(part.value, own, part.name or None, part.status)
            if part.name and event["tool"] != part.name and own == part.id:
                self.draft.unread(f"results[{len(self.draft.events)}].name")

    def _ask(self, part: Part) -> None:
        self._asked[part.id] = part
        said = {"decision": "pending", "tool": part.name}
        self.draft.approval(said, part.id)

    def _approval(self, part: Part) -> None:
        own = part.id
        if part.name and own and own != part.name:
            self._approvals[part.name] = own
        own = own or self._approvals.get(part.name, part.name)
        said = part.value
        if isinstance(said, dict) and said.get("decision") == "approve" and "approver" not in said:
            said = {**said, "approver": CLIENT}
        self.draft.approval(said, own)
        if part.value.get("decision") == "reject" and own in self._asked:
            asked = self._asked.pop(own)
            self._call(asked._replace(kind="call", status="denied"), "agent")


def _hides_parts(message: Any) -> bool:
    """Return whether a message whose parts are no list says nothing else."""
    return isinstance(message, dict) and "parts" in message and message["parts"] != []


def _answers(part: Part) -> bool:
    return part.kind == "text" and isinstance(part.value, str) and bool(results_in(part.value))


_BEDROCK = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")


def usage_of(usages: Sequence[Any]) -> dict[str, Any] | None:
    """Return token counts of several answers together; None when no answer has any, marked as a
    lower bound where one has none."""
    return summed([tokens_of(usage) for usage in usages])


def tokens_of(usage: Any) -> dict[str, int] | None:
    """Return token counts of one answer, in the form of OpenAI, Anthropic, Gemini, Bedrock, the
    Vercel AI SDK, LangChain or pi."""
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
    inside = _details(usage, "input_tokens_details", "prompt_tokens_details", "input_token_details")
    outside = _details(
        usage, "output_tokens_details", "completion_tokens_details", "output_token_details"
    )
    return tokens(
        input_tokens=usage.get("input_tokens", usage.get("prompt_tokens")),
        output_tokens=usage.get("output_tokens", usage.get("completion_tokens")),
        cached_tokens=inside.get("cached_tokens", inside.get("cache_read")),
        reasoning_tokens=outside.get("reasoning_tokens", outside.get("reasoning")),
        total_tokens=usage.get("total_tokens"),
    )


def _details(usage: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the details of a count; a list of them has one element."""
    found = next((usage[name] for name in names if usage.get(name)), None)
    if isinstance(found, list) and found:
        found = found[0]
    return found if isinstance(found, dict) else {}


def _beside(fresh: Any, cached: Any, written: Any, output: Any) -> dict[str, int] | None:
    """Return counts from providers that state input without cached tokens."""
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
    details = _details(usage, "inputTokenDetails")
    made = _details(usage, "outputTokenDetails")
    return tokens(
        input_tokens=usage.get("inputTokens", usage.get("promptTokens")),
        output_tokens=usage.get("outputTokens", usage.get("completionTokens")),
        cached_tokens=usage.get("cachedInputTokens", details.get("cacheReadTokens")),
        reasoning_tokens=usage.get("reasoningTokens", made.get("reasoningTokens")),
        total_tokens=usage.get("totalTokens"),
    )
