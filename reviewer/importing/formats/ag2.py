"""The event log of AG2 1.x (`log/<stream>.jsonl` of an agent's knowledge store): an event a line.

A call is written up to three times, within the answer of the model, in a list and by itself, and so
is a result. What a sub-task did is in the log of its own stream. A compaction moves events to other
files."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from reviewer.importing.draft import ABSENT, CUT, Draft, elapsed_ms, summed, tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import Format, at_path, mapping, objects, tell_lost, text
from reviewer.importing.formats.chat import ENDS, episode_of
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

SUB_TASKS = "what sub-tasks did is in the logs of their own streams: it is not measured"
UNFINISHED = "unfinished"
_TYPE = re.compile(r"ag2\.events\.[\w.]*?(\w+)\Z")
_PART = re.compile(r"\.dropped-\d+\Z")
_REQUESTS = ("ModelRequest", "DrainedModelRequest")
_CALLS = frozenset(("ToolCallEvent", "ClientToolCallEvent", "BuiltinToolCallEvent"))
_FAILED = frozenset(("ToolErrorEvent", "ToolNotFoundEvent"))
_RESULTS = frozenset(("ToolResultEvent", "BuiltinToolResultEvent", *_FAILED))
_TASKS = ("TaskStarted", "TaskCompleted", "TaskFailed", "TaskExpired", "TaskCancelled")
_QUIET = frozenset(
    (
        *("ObserverStarted", "ObserverCompleted", "ObserverAlert", "EventLogFailed"),
        *("AggregationStarted", "AggregationCompleted", "AggregationFailed", "MessageEnqueued"),
        *("CompactionStarted", "CompactionFailed", "ModelReasoning", "ModelMessageChunk"),
        *("ModelMessage", "TaskProgress"),
    )
)
"""Events that are no act, or repeat what another one holds."""


class Ag2Reader(Format):
    name = "ag2-log"
    facts = FormatFacts(
        by="lines with a `type` of `ag2.events…` and `data`",
        steps="yes; a run with sub-tasks is not measured",
        times="yes",
        tokens="yes",
        approvals="asked for; not measured",
    )

    def sniff(self, head: Head) -> bool:
        return any(_is_event(one) for one in (head.first, *head.lines(5)))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        events: list[dict[str, Any]] = []
        lost: list[str] = []
        for name, value in source.records():
            if isinstance(value, Broken):
                lost.append(name)
                yield value
            elif _is_event(value):
                events.append(value)
            else:
                lost.append(name)
                yield Broken(("type:event",), name)
        if events:
            yield source.attempt(partial(_log, source, events, lost))


def _is_event(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("data"), dict)
        and text(value.get("type")).startswith("ag2.")
    )


def _log(source: Source, events: list[dict[str, Any]], lost: list[str]) -> Foreign:
    told = _Events(Draft(Ag2Reader.name))
    for event in events:
        told.take(text(event["type"]), event["data"])
    draft = told.draft
    tell_lost(draft, lost)
    first = next((kind for one in events if (kind := _kind(one["type"])) not in _QUIET), "")
    if _PART.search(source.path.stem) or first not in _REQUESTS:
        draft.unread(f"events{CUT}")
    if not draft.events:
        raise Rejected("missing:events")
    stamps = [at for one in events if (at := one["data"].get("created_at")) is not None]
    took = elapsed_ms(stamps[0], stamps[-1]) if stamps else None
    if told.models:
        draft.source["models"] = list(dict.fromkeys(told.models))
    own = source.path.name.partition(".")[0]
    return draft.foreign(
        episode_id=episode_of(source, 1, {"session_id": own}, draft),
        candidate_id=source.candidate or next(iter(told.models), "") or source.home,
        final_message=None if told.ending == UNFINISHED else draft.last_words(),
        latency_ms=took,
        started_at=draft.at(stamps[0]) if stamps else None,
        termination=told.ending,
        usage=summed(told.spent or told.stated),
    )


def _kind(name: str) -> str:
    """Return the kind of an event, by the name of its class; the whole name where it is not one of
    AG2's own."""
    found = _TYPE.match(name)
    return found[1] if found else name


class _Events:
    """The events of one stream, in the making of a draft."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.models: list[str] = []
        self.spent: list[dict[str, int] | None] = []
        """Tokens of each model call, where they have events of their own."""
        self.stated: list[dict[str, int] | None] = []
        self.ending = UNFINISHED
        self._made: dict[str, tuple[Any, Any]] = {}
        self._answered: set[str] = set()

    def take(self, kind: str, data: dict[str, Any]) -> None:
        """Take one event."""
        draft, name = self.draft, _kind(kind)
        if name in _REQUESTS:
            self._asked(data.get("parts"))
            self.ending = UNFINISHED
        elif name == "ModelResponse":
            self._response(data)
        elif name in _CALLS:
            self._call(data)
        elif name == "ToolCallsEvent":
            self._each(data, "calls", self._call)
        elif name in _RESULTS:
            self._result(name, data)
        elif name == "ToolResultsEvent":
            self._each(data, "results", self._inner_result)
        elif name == "UsageEvent":
            if data.get("kind") in (None, "model_call"):
                self.spent.append(_tokens(data.get("usage")))
        elif name == "HumanInputRequest":
            draft.message("agent", text(data.get("content")))
        elif name == "HumanMessage":
            draft.message("user", text(data.get("content")))
        elif name == "HaltEvent":
            self.ending = "halted"
            draft.error(text(data.get("reason")))
        elif name in _TASKS:
            draft.unread(f"the log of a sub-task{ABSENT}")
            draft.note(SUB_TASKS)
            if name in _TASKS[2:]:
                draft.error(text(at_path(data, "error", "message")) or name)
        elif name == "CompactionCompleted":
            draft.unread(f"events before a compaction{ABSENT}")
        elif name not in _QUIET:
            draft.unread(f"events[{name[:60]}]", len(draft.events) + 1)

    def _each(self, data: dict[str, Any], member: str, take: Any) -> None:
        listed = data.get(member)
        for one in objects(listed):
            take(one)
        if len(objects(listed)) != (len(listed) if isinstance(listed, list) else 1):
            self.draft.unread(member, len(self.draft.events) + 1)

    def _asked(self, parts: Any) -> None:
        said = [_words(one) for one in objects(parts)]
        if said:
            self.draft.message("user", "\n".join(said))

    def _response(self, data: dict[str, Any]) -> None:
        self.stated.append(_tokens(data.get("usage")))
        if model := text(data.get("model")):
            self.models.append(model)
        said = at_path(data, "message", "content")
        if isinstance(said, str) and said:
            self.draft.message("agent", said)
        held = data.get("tool_calls")
        if held is not None:
            self._each(mapping(held), "calls", self._call)
        reason = text(data.get("finish_reason")).lower()
        calls = objects(mapping(held).get("calls"))
        self.ending = UNFINISHED if calls else ENDS.get(reason, "completed") or "completed"

    def _call(self, data: dict[str, Any]) -> None:
        own, told = text(data.get("id")), (data.get("name"), data.get("arguments"))
        before = self._made.get(own) if own else None
        if before is not None:
            if before != told:
                self.draft.unread(f"calls[{self.draft.calls()}]")
            return
        self._made[own] = told
        if "arguments" not in data:
            self.draft.unread(f"calls[{self.draft.calls()}].arguments", len(self.draft.events) + 1)
        self.draft.call(*told, own)

    def _inner_result(self, data: dict[str, Any]) -> None:
        self._result(_kind(text(data.get("__event__"))), data)

    def _result(self, kind: str, data: dict[str, Any]) -> None:
        own = text(data.get("parent_id"))
        if own and own in self._answered:
            return
        self._answered.add(own)
        failed = kind in _FAILED or data.get("error") is not None
        parts = objects(at_path(data, "result", "data", "parts"))
        seen = "\n".join(map(_words, parts)) or text(at_path(data, "error", "message"))
        self.draft.result(seen, own, data.get("name"), "error" if failed else None)


def _words(part: dict[str, Any]) -> str:
    """Return what a part of an input or of a result says; its kind where that is no text."""
    for name in ("content", "data"):
        if isinstance(said := part.get(name), str):
            return said
        if isinstance(said, (dict, list)):
            return str(said)
    return f"[{text(part.get('__event__')).rpartition('.')[2] or 'part'}]"


def _tokens(usage: Any) -> dict[str, int] | None:
    held = mapping(mapping(usage).get("data")) or mapping(usage)
    return tokens(
        input_tokens=held.get("prompt_tokens"),
        output_tokens=held.get("completion_tokens"),
        cached_tokens=held.get("cache_read_input_tokens"),
        reasoning_tokens=held.get("thinking_tokens"),
        total_tokens=held.get("total_tokens"),
    )
