"""Logged calls to a model as one conversation: each repeats the history before it."""

import hashlib
from typing import Any

import msgspec

from reviewer.importing.draft import Draft, words
from reviewer.importing.formats._smol_chat import add_message, role_of
from reviewer.importing.rest import tell_rest

_encode = msgspec.json.Encoder(order="deterministic").encode


HARMLESS = frozenset(
    # the tools that a model was offered, and how it was to answer
    ("tools", "functions", "tool_choice", "response_format")
)


def _is_text(content: Any) -> bool:
    """Return whether a message's content is a text, or blocks of texts."""
    return not isinstance(content, list) or all(
        isinstance(block, str) or (isinstance(block, dict) and block.get("type", "text") == "text")
        for block in content
    )


class Calls:
    """Calls of one task in the order they were made. A message is new when no conversation so far
    had it at that place; agents that run side by side each keep their own."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.usages: list[Any] = []
        self._seen: set[bytes] = set()

    def add(self, call: Any) -> None:
        """One call: what of its history is new, then what it answered."""
        inputs, output = call.get("inputs"), call.get("output")
        sent = inputs.get("messages") if isinstance(inputs, dict) else None
        before = b""
        for message in sent if isinstance(sent, list) else ():
            if isinstance(message, dict):
                before = self._message(before, message)
        choices = output.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        answer = first.get("message") if isinstance(first, dict) else None
        if answer is None and output.get("role"):
            answer = {"role": output["role"], "content": output.get("content")}
        if isinstance(answer, dict):
            self._message(before, answer, at=call.get("started_at"))
        self.usages.append(output.get("usage"))
        if call.get("exception"):
            self.draft.error(str(call["exception"])[:5000])
        tell_rest(call, self.draft, "raw_logging_results", HARMLESS)

    def _message(self, before: bytes, message: dict[str, Any], at: Any = None) -> bytes:
        content = message.get("content")
        # A text is the same in one block; calls and results are told apart by all they hold.
        shown = words(content) if _is_text(content) else content
        said = [role_of(message), shown, message.get("tool_calls") or None]
        place = hashlib.sha256(before + _encode(said)).digest()
        if place not in self._seen:
            self._seen.add(place)
            add_message(self.draft, message, at=at)
        return place
