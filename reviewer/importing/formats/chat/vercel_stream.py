"""Streams of UI messages of the Vercel AI SDK, as server-sent events or one object per line,
assembled into the message they make.

The request is not in a stream. A call is complete when its input is available; pieces of an input
alone cannot be read as a call. A stream without a `finish` was cut off.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from reviewer.importing.account import Account
from reviewer.importing.draft import CUT as CUT_OFF
from reviewer.importing.draft import Draft
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import Format, mapping, text
from reviewer.importing.formats.chat import ENDS, spent
from reviewer.importing.head import Head
from reviewer.importing.messages import Transcript, tokens_of
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

NO_REQUEST = "a stream does not hold what was asked"
CUT = "the stream ends without its finish: it was cut off"
_OWN = (
    "start-step", "tool-input-start", "tool-input-available", "tool-output-available", "text-delta",
    "text-start", "finish-step", "tool-input-delta",
)  # fmt: skip
_STATES = {
    "tool-input-start": "input-streaming",
    "tool-input-available": "input-available",
    "tool-input-error": "output-error",
    "tool-approval-request": "approval-requested",
    "tool-output-available": "output-available",
    "tool-output-error": "output-error",
    "tool-output-denied": "output-denied",
}
_QUIET = frozenset(
    (
        *("start", "start-step", "finish-step", "text-end", "reasoning-start", "reasoning-end"),
        *("message-metadata", "source-url", "source-document", "file", "tool-input-delta"),
        *("text-start", "finish", "abort", "error", "text-delta", "reasoning-delta"),
    )
)


class VercelStreamReader(Format):
    name = "vercel-ai-stream"
    facts = FormatFacts(
        by="events `start-step`, `text-delta`, `tool-input-available` …",
        tokens="where the message's metadata has them",
        approvals="asked for",
    )

    def sniff(self, head: Head) -> bool:
        if head.text[:6] not in (b"data: ", b"data:{") and head.text[:1] != b"{":
            return False
        if head.text[:1] == b"{" and not head.has("type"):
            return False
        start = head.start[:_LOOKED_AT].decode("utf-8", "replace")
        kinds = [text(one.get("type")) for one in _events(start) if isinstance(one, dict)]
        return any(kind in _OWN for kind in kinds[:20]) and "messageId" not in _first(head)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        raw = source.text(source.path)
        if raw is None:
            raise Unreadable(f"{source.path.name}: too large for one stream, or not readable")
        yield source.attempt(lambda: _stream(source, list(_events(raw))), "stream")


_LOOKED_AT = 16384


def _first(head: Head) -> dict[str, Any]:
    """Return the first line when it is an object but not an event of such a stream."""
    value = mapping(head.first)
    return value if text(value.get("type")) not in (*_OWN, "start") else {}


def _events(raw: str) -> Iterator[Any]:
    """Yield the value of each line; None for a line without a value."""
    for line in raw.splitlines():
        held = line.strip().removeprefix("data:").strip()
        if held and held != "[DONE]" and not held.startswith((":", "event:", "id:", "retry:")):
            yield parse_text(held)


def _stream(source: Source, events: list[Any]) -> Foreign:
    draft = Draft("vercel-ai-stream")
    told = _Message(draft)
    for place, event in enumerate(events):
        if not isinstance(event, dict):
            draft.unread(f"events[{place}]", 1)
        else:
            told.take(place, event)
    if not (told.parts or told.finished or told.wrong):
        raise Rejected("missing:parts")
    account = Account()
    transcript = Transcript(draft, account)
    if told.parts:
        transcript.say({"role": "assistant", "parts": told.parts})
    for words in told.wrong:
        transcript.wrong(words)
    transcript.finish()
    account.tell(told.rest, draft, "events")
    draft.note(NO_REQUEST)
    if not told.finished:
        draft.note(CUT)
    if not (told.finished or told.wrong):
        draft.unread(f"end of the stream{CUT_OFF}")
    kinds = Counter(text(event.get("type")) for event in events if isinstance(event, dict))
    if text(mapping(events[0]).get("type")) != "start" or (
        told.reason and kinds["start-step"] != kinds["finish-step"]
    ):
        draft.unread("events (some are missing)", 1)
    return draft.foreign(
        episode_id=source.place,
        candidate_id=source.candidate or source.home,
        final_message=draft.last_words(),
        termination="error" if told.wrong else ENDS.get(told.reason),
        usage=tokens_of(spent(told.metadata)),
    )


class _Message:
    """The message assembled from the events of a stream."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.parts: list[dict[str, Any]] = []
        self.rest: list[Any] = []
        """Events of unknown types, and further members of known ones."""
        self.wrong: list[str] = []
        self.metadata: dict[str, Any] = {}
        self.finished = False
        self.reason = ""
        self._texts: dict[tuple[str, str], dict[str, Any]] = {}
        self._calls: dict[str, dict[str, Any]] = {}

    def take(self, place: int, event: dict[str, Any]) -> None:
        """Add one event."""
        kind, own = text(event.get("type")), text(event.get("id"))
        if kind in ("text-delta", "reasoning-delta", "text-start", "reasoning-start"):
            said = kind.partition("-")[0]
            part = self._texts.get((said, own))
            if part is None or kind.endswith("start"):
                part = self._texts[said, own] = {"type": said, "text": ""}
                self.parts.append(part)
            part["text"] += text(event.get("delta"))
        elif kind in _STATES:
            self._call(place, kind, event)
        elif kind == "finish":
            self.finished = True
            self.reason = text(event.get("finishReason"))
        elif kind == "error":
            self.wrong.append(text(event.get("errorText")) or "error")
        elif kind == "abort":
            self.finished = True
        elif kind not in _QUIET:
            self.rest.append(event)
        for name in ("messageMetadata", "metadata"):
            self.metadata.update(mapping(event.get(name)))

    def _call(self, place: int, kind: str, event: dict[str, Any]) -> None:
        own = text(event.get("toolCallId"))
        if not own:
            self._draft.unread(f"events[{place}].toolCallId", 1)
            return
        part = self._calls.get(own)
        if part is None:
            part = self._calls[own] = {"type": "dynamic-tool", "toolCallId": own}
            self.parts.append(part)
        part["state"] = _STATES[kind]
        if kind == "tool-approval-request":
            part["approval"] = {"id": event.get("approvalId")}
        for name in ("toolName", "input", "output", "errorText"):
            if name not in event:
                continue
            if name == "input" and part.get("input") not in (None, event["input"]):
                self._draft.unread(f"events[{place}].input", 1)
            part[name] = event[name]
        if event.get("preliminary") is True:
            part["state"] = "input-available"
            part.pop("output", None)
