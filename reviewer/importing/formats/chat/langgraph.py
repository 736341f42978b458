"""The history of a LangGraph thread: snapshots of its state, the newest first.

Every snapshot repeats the messages before it, so the newest one is read; a call that only an older
one has (messages were removed, or the thread went on from an earlier place) is `unread`. A snapshot
that names `next` nodes belongs to a run that stopped there, for a person or for good.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from reviewer.importing.draft import Draft, elapsed_ms
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import (
    Format,
    at_path,
    objects,
    sequence,
    started_ms,
    tell_lost,
    text,
)
from reviewer.importing.formats.chat import are_messages
from reviewer.importing.formats.chat.langchain import is_thread, say_thread
from reviewer.importing.head import Head
from reviewer.importing.messages import Transcript
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

_MOST_ASKED = 20
"""Snapshots that are asked whether they are any: one of them may be damaged."""
WAITS = "the thread stopped before it was done, or waits for a person: next is not empty"


class LangGraphHistoryReader(Format):
    name = "langgraph-history"
    facts = FormatFacts(
        by="snapshots with `values`, `next` and `config` or `checkpoint`",
        times="of each snapshot",
        tokens="yes",
        approvals="interrupts",
    )

    def sniff(self, head: Head) -> bool:
        listed = head.value if isinstance(head.value, list) else [head.first]
        return any(map(_is_snapshot, listed[:_MOST_ASKED]))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        threads: dict[str, list[dict[str, Any]]] = {}
        lost: list[str] = []  # any of these may be the newest of any thread
        for name, value in source.records():
            if isinstance(value, Broken):
                lost.append(name)
                yield value
            elif not _is_snapshot(value):
                lost.append(name)
                yield Broken(("type:snapshot",), name)
            else:
                threads.setdefault(_thread_of(value), []).append(value)
        for number, (name, found) in enumerate(threads.items(), 1):
            make = partial(_thread, source, number, name, found, lost)
            yield source.attempt(make, f"thread {name}")


def _is_snapshot(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("values"), dict):
        return False
    return isinstance(value.get("next"), list) and ("config" in value or "checkpoint" in value)


def _thread_of(value: dict[str, Any]) -> str:
    for place in (("config", "configurable"), ("checkpoint",), ("metadata",)):
        if found := text(at_path(value, *place, "thread_id")):
            return found
    return ""


def _inner(value: dict[str, Any]) -> bool:
    """Return whether this is the state of a graph inside the thread's."""
    places = (("config", "configurable"), ("checkpoint",))
    return any(at_path(value, *place, "checkpoint_ns") for place in places)


def _order(value: dict[str, Any]) -> tuple[float, int]:
    step = at_path(value, "metadata", "step")
    stamp = started_ms(value.get("created_at"))
    return (0.0 if stamp == float("inf") else stamp), step if isinstance(step, int) else -2


def _thread(
    source: Source, number: int, name: str, found: list[dict[str, Any]], lost: list[str]
) -> Foreign:
    # The newest comes first in the file: of snapshots without a time or a step the first is used.
    newest = max([one for one in found if not _inner(one)] or found, key=_order)
    messages = newest["values"].get("messages")
    if not (is_thread(messages) or are_messages(messages)):
        raise Rejected("missing:values.messages")
    draft = Draft("langgraph-history")
    transcript = Transcript(draft)
    models, counts = say_thread(transcript, messages)
    transcript.finish()
    account = transcript.account
    for one in found:
        account.read(one["values"], ("messages",))
        account.read(one, ("values", "next", "config", "parent_config", "created_at"))
        for message in objects(one["values"].get("messages")) if one is not newest else ():
            if isinstance(message.get("data"), dict):
                account.read(message, ("type", "data"))
    account.tell([newest, *(one for one in found if one is not newest)], draft, "snapshots")
    tell_lost(draft, lost)
    waiting = bool(newest["next"])
    broke = [error for one in sequence(newest.get("tasks")) if (error := _error(one))]
    for error in broke:
        draft.error(error)
    if waiting and not broke:
        draft.note(WAITS)
    for task in objects(newest.get("tasks")):
        for asked in objects(task.get("interrupts")):
            draft.approval({"decision": "pending", "question": asked.get("value")})
    stamps = sorted(text(one.get("created_at")) for one in found if one.get("created_at"))
    draft.identity = f"session:{name}" if name else ""
    return draft.foreign(
        episode_id=name or f"{source.place}-{number}",
        candidate_id=source.candidate or (models[-1] if models else source.home),
        final_message=None if waiting else draft.last_words(),
        latency_ms=elapsed_ms(stamps[0], stamps[-1]) if stamps else None,
        started_at=draft.at(stamps[0]) if stamps else None,
        termination="error" if broke else None if waiting else "completed",
        usage=counts or None,
    )


def _error(task: Any) -> str:
    """Return the error of a task of a snapshot; a task may be written as a list."""
    found = (
        task[_ERROR] if isinstance(task, list) and len(task) > _ERROR else at_path(task, "error")
    )
    return found if isinstance(found, str) else ""


_ERROR = 3
