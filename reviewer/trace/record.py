"""The trace record as it travels: typed where a gate looks, raw where only a reader will.

`Raw` fields keep the very bytes of the file, so importing never rewrites evidence. A raw field
that is absent is `ABSENT` (zero bytes). These structs are the *fast* decoder; `validate` explains
a refused record slowly and in full, and a parity test pins the two to each other.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from reviewer.trace.safetext import cap, visible_line

# How a place in a record is written: `events[2].arguments.items[0].email`.


_LONGEST = 120


def member(path: str, name: str) -> str:
    """The path of a member; a name is shown safely and cut when it is very long."""
    shown = cap(visible_line(name), _LONGEST)
    return f"{path}.{shown}" if path else shown


def item(path: str, index: int) -> str:
    """The path of a list item, counted from 0."""
    return f"{path}[{index}]"


ABSENT = Raw(b"")

EventKind = Literal["message", "tool_call", "tool_result", "approval", "state_snapshot", "error"]
Status = Literal["ok", "error", "timeout", "denied", "pending"]

NonNegative = Annotated[float, Meta(ge=0)]
Ordinal = Annotated[int, Meta(ge=1)]
Identifier = Annotated[str, Meta(min_length=1, max_length=512)]

# Who acted, in any spelling (`plain_actor`). Anything that is not a simulated user answers for the
# agent.
USER_ACTORS = frozenset({"user", "simulated_user", "user_simulator", "user_sim", "user sim"})
_LONGEST_NAME = 64
_PARTING = dict.fromkeys(map(ord, " _-.\t"))
_PLAIN_USERS = frozenset(actor.translate(_PARTING) for actor in USER_ACTORS)


class Event(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One step of a trace.

    `tool` with `arguments` and no `kind` is the short form of a tool call (status then counts as
    ok). `seq` counts from 1 and defaults to the position in the list.
    """

    kind: EventKind | None = None
    seq: Ordinal | None = None
    tool: Identifier | None = None
    arguments: Raw = ABSENT
    status: Status | None = None
    observation: Raw = ABSENT
    message: Raw = ABSENT
    approval: Raw = ABSENT
    state: Raw = ABSENT
    started_at: str | None = None
    latency_ms: NonNegative | None = None
    cost_usd: NonNegative | None = None
    tokens: Raw = ABSENT
    call_id: str | None = None
    actor: str | None = None


class Unread(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A part of the source that may be an act of the agent and that its reader could not read.

    `path` is the place in the source's own record, `seq` the event it belongs to, as far as known.
    """

    path: Identifier
    seq: Ordinal | None = None


class TraceRecord(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One attempt of one candidate on one episode, as a harness wrote it.

    `cost_usd` and `latency_ms` may be null (not measured) but must be present; so must the other
    four fields of the articles' record. A cost of 0 beside a `usage` that counts nothing but
    zeros was not measured: the struct says None, the bytes stay what they are.
    """

    episode_id: Identifier
    candidate_id: Identifier
    events: list[Event]
    final_state: Raw
    cost_usd: NonNegative | None
    latency_ms: NonNegative | None
    attempt: Ordinal | None = None
    final_message: str | None = None
    usage: Raw = ABSENT
    started_at: str | None = None
    termination: str | None = None
    start_state_digest: str | None = None
    source: Raw = ABSENT
    unread: list[Unread] | None = None
    schema: Literal["reviewer/trace@1"] | None = None

    def __post_init__(self) -> None:
        if self.cost_usd == 0 and self.usage != ABSENT and counts_nothing(self.usage):
            msgspec.structs.force_setattr(self, "cost_usd", None)


def counts_nothing(usage: Raw) -> bool:
    """Return whether a usage holds token counts, and all of them are 0: nothing counted them. An
    empty one, or none, says nothing: a candidate without a model costs what it costs."""
    try:
        value = msgspec.json.decode(usage)
    except (msgspec.DecodeError, RecursionError):
        return False
    counts = list(_counts(value)) if isinstance(value, dict) else []
    return bool(counts) and not any(counts)


def _counts(usage: dict[str, Any]) -> Iterator[float]:
    for name, value in usage.items():
        if isinstance(value, dict):
            yield from _counts(value)
        elif isinstance(value, int | float) and type(value) is not bool and "tokens" in name:
            yield value


def kind_of(event: Event) -> EventKind:
    """The event's kind, inferred for the short form: tool, then state, then message."""
    if event.kind is not None:
        return event.kind
    if event.tool is not None:
        return "tool_call"
    if event.state != ABSENT:
        return "state_snapshot"
    if event.approval != ABSENT:
        return "approval"
    return "message"


def plain_actor(actor: str) -> str:
    """An actor's name without the accidents of spelling: `Simulated-User` is `simulateduser`."""
    return actor[:_LONGEST_NAME].casefold().translate(_PARTING)


@lru_cache(256)
def is_user(actor: str | None) -> bool:
    """Whether that name is a simulated user's."""
    return actor is not None and (actor in USER_ACTORS or plain_actor(actor) in _PLAIN_USERS)


def by_agent(event: Event) -> bool:
    """Whether the agent answers for this event (a simulated user's acts are not the agent's)."""
    return not is_user(event.actor)


class SourceVerdict(Struct, frozen=True, kw_only=True):
    """What a foreign harness said of this attempt: evidence, never our own gate."""

    passed: bool | None = None
    reward: float | None = None
    exception: str | None = None
    detail: dict[str, Any] = {}
