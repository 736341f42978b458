"""What a record of messages calls itself: its task, its session, its run.

Tools write these in many spellings, in the record, in its `metadata` or in the request it logs. A
task names the episode. A session, a thread, a conversation or a trace is one attempt, in however
many records it comes; a run or an id may be another's too, so a record without a beginning is a
part of what has the same, and any other one is an attempt by itself.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft
from reviewer.importing.parts import BEGINNING, begins
from reviewer.importing.requests import first_request
from reviewer.importing.source import Source

TASKS = (
    "episode_id", "task_id", "sample_id", "instance_id", "question_id", "test_id", "custom_id",
    "episodeId", "taskId", "sampleId", "instanceId",
)  # fmt: skip
CONVERSATIONS = (
    "conversation_id", "thread_id", "conversationId", "threadId", "chatId", "chat_id",
    "conversation", "thread", "trace_id", "traceId",
)  # fmt: skip
SESSIONS = ("session_id", "sessionId", "session")
RUNS = ("run_id", "runId")
IDS = ("id",)
PARTS = ("turn", "turn_index", "turn_id", "part", "part_index", "chunk", "chunk_index", "piece")
MEMBERS = frozenset({*TASKS, *CONVERSATIONS, *SESSIONS, *RUNS, *IDS, *PARTS})
_HOLDERS = ("metadata", "extra", "tags", "request", "req", "body", "response", "config")
_DEEPER = ("metadata", "configurable")
_NUMBERED = re.compile(r"(?:turn|part|chunk|piece|segment|slice)[-_. ]?\d+$", re.IGNORECASE)
ANOTHER = "records of one name begin with other requests: each is an episode of its own"


class Named(NamedTuple):
    """Names a record gives; empty where it gives none. `part` is its number in its session."""

    task: str = ""
    conversation: str = ""
    session: str = ""
    run: str = ""
    id: str = ""
    part: int | None = None

    @property
    def identity(self) -> str:
        """Return what the attempt is called for good, with the kind of the name in front."""
        for kind, name in (
            ("session", self.conversation or self.session),
            ("run", self.run),
            ("task", self.task),
            ("id", self.id),
        ):
            if name:
                return f"{kind}:{name}"
        return ""


NOBODY = Named()


def named(value: Any) -> Named:
    """The names of a record, its own before those in its metadata and its request."""
    if not isinstance(value, dict) or _ANY.isdisjoint(value):
        return NOBODY
    found = [one for one in _holders(value) if not MEMBERS.isdisjoint(one)]
    if not found:
        return NOBODY
    first = found[:1] if found[0] is value else []
    return Named(
        _first(found, TASKS),
        _first(found, CONVERSATIONS),
        _first(found, SESSIONS),
        _first(found, RUNS),
        _first(first, IDS),
        next((part for one in found if (part := _whole(one, PARTS)) is not None), None),
    )


_ANY = MEMBERS.union(_HOLDERS)


def _holders(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield value
    for name in _HOLDERS:
        held = value.get(name)
        if isinstance(held, dict):
            yield held
            for deeper in _DEEPER:
                if isinstance(inner := held.get(deeper), dict):
                    yield inner


def _first(holders: Sequence[dict[str, Any]], names: Sequence[str]) -> str:
    for holder in holders:
        for name in names:
            if found := text(holder.get(name)):
                return found
    return ""


def _whole(holder: dict[str, Any], names: Sequence[str]) -> int | None:
    for name in names:
        if type(found := holder.get(name)) is int and 0 <= found < 1 << 31:
            return found
    return None


def text(value: Any) -> str:
    """A name as text, out of an object with an id too; empty for what is none."""
    if isinstance(value, dict):
        value = value.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def episode_of(source: Source, number: int, value: Any, draft: Draft, place_name: str = "") -> str:
    """The episode of a record that is told: its task; else what its attempt is called, of which
    each other first request is an episode of its own; else its place. Notes in the draft what the
    attempt is called. `place_name` is what its place is called, by default with its number."""
    names = named(value)
    draft.identity = names.identity
    if names.part is not None:
        draft.source["part"] = names.part
    whole = begins({"events": draft.events})
    if draft.events and draft.events[0]["kind"] == "tool_result":
        draft.unread(BEGINNING)  # what its call was, and what came before, is not here
    if names.task:
        return names.task
    name = names.conversation or names.session or names.run or names.id
    fallback = name or place_name or f"{source.place}-{number}"
    a_part = names.part is not None or not whole or bool(_NUMBERED.search(source.path.stem))
    if names.conversation or (name and a_part):
        return fallback
    place = source.asked(fallback, first_request(draft.events))
    if not place:
        return fallback
    source.notes.add(ANOTHER)
    draft.identity = f"{names.identity}#{place + 1}" if names.identity else ""
    return f"{fallback}#{place + 1}"
