"""The trace record as it travels: typed where a gate looks, raw where only a reader will.

`Raw` fields keep the very bytes of the file, so importing never rewrites evidence. A raw field
that is absent is `ABSENT` (zero bytes). The structs are the *fast* decoder; the rules below say of
each field, in words for the person who must mend it, what it may hold. `validate` explains a
refused record by them slowly and in full, and a parity test pins the two to each other.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta, Raw, Struct

from reviewer.trace.safetext import cap, visible_line

# The path of a place in a record: `events[2].arguments.items[0].email`.


_LONGEST = 120


def member(path: str, name: str) -> str:
    """Return the path of a member; a name is shown safely and cut when it is very long."""
    shown = cap(visible_line(name), _LONGEST)
    return f"{path}.{shown}" if path else shown


def item(path: str, index: int) -> str:
    """Return the path of a list item, counted from 0."""
    return f"{path}[{index}]"


ABSENT = Raw(b"")

EventKind = Literal["message", "tool_call", "tool_result", "approval", "state_snapshot", "error"]
Status = Literal["ok", "error", "timeout", "denied", "pending"]

NonNegative = Annotated[float, Meta(ge=0)]
Ordinal = Annotated[int, Meta(ge=1)]
Identifier = Annotated[str, Meta(min_length=1, max_length=512)]

# Names of simulated users, in any spelling (`plain_actor`). Every other actor acts for the agent.
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
    four fields of the articles' record. A cost of 0 beside a `usage` of only zeros was not
    measured: it is None in the struct, and the bytes stay unchanged.
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
    empty one, or none, proves nothing: a candidate without a model may cost nothing."""
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
    """Return the event's kind, inferred for the short form: tool, then state, then message."""
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
    """Return an actor's name without the accidents of spelling: `Simulated-User` is
    `simulateduser`."""
    return actor[:_LONGEST_NAME].casefold().translate(_PARTING)


@lru_cache(256)
def is_user(actor: str | None) -> bool:
    """Return whether that name is a simulated user's."""
    return actor is not None and (actor in USER_ACTORS or plain_actor(actor) in _PLAIN_USERS)


def by_agent(event: Event) -> bool:
    """Return whether the agent answers for this event (a simulated user's acts are not the
    agent's)."""
    return not is_user(event.actor)


class SourceVerdict(Struct, frozen=True, kw_only=True):
    """A foreign harness's verdict on this attempt: evidence, never our own gate."""

    passed: bool | None = None
    reward: float | None = None
    exception: str | None = None
    detail: dict[str, Any] = {}


REQUIRED = ("candidate_id", "cost_usd", "episode_id", "events", "final_state", "latency_ms")
"""Members every record must have, in the order they are reported missing."""

MAX_ORDINAL = 2**63 - 1
"""The largest attempt or seq: what a database integer holds."""


class Rule(NamedTuple):
    """A test of a field's value, what the value should have been, and the same as JSON Schema; and
    what the field means."""

    accepts: Callable[[Any], bool]
    wanted: str
    schema: dict[str, Any]
    text: str = ""

    def of(self, text: str) -> "Rule":
        """Return the same rule for the field that this text describes."""
        return self._replace(text=text)


def _one_of(*words: str) -> Rule:
    def accepts(value: Any) -> bool:
        return isinstance(value, str) and value in words

    return Rule(accepts, f"one of {', '.join(words)}", {"enum": list(words)})


def _nullable(rule: Rule) -> Rule:
    def accepts(value: Any) -> bool:
        return value is None or rule.accepts(value)

    schema = {"anyOf": [rule.schema, {"type": "null"}]}
    return Rule(accepts, f"{rule.wanted}, or null", schema)


def _is_ordinal(value: Any) -> bool:
    return type(value) is int and 1 <= value <= MAX_ORDINAL


def _is_amount(value: Any) -> bool:
    # Not `value >= 0`: NaN has a reason of its own (not_finite) and must not have two.
    return type(value) in (int, float) and not value < 0


_ANYTHING = Rule(lambda value: True, "any JSON value", {})
_IDENTIFIER = Rule(
    lambda value: isinstance(value, str) and 1 <= len(value) <= 512,
    "text of 1 to 512 characters",
    {"type": "string", "minLength": 1, "maxLength": 512},
)
_TEXT = _nullable(Rule(lambda value: isinstance(value, str), "text", {"type": "string"}))
_ORDINAL = _nullable(
    Rule(
        _is_ordinal,
        "a whole number from 1",
        {"type": "integer", "minimum": 1, "maximum": MAX_ORDINAL},
    )
)
_AMOUNT = _nullable(Rule(_is_amount, "a number from 0", {"type": "number", "minimum": 0}))


def _is_unread(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"path"} <= value.keys() <= {"path", "seq"}
        and _IDENTIFIER.accepts(value["path"])
        and _ORDINAL.accepts(value.get("seq"))
    )


_UNREAD = _nullable(
    Rule(
        lambda value: isinstance(value, list) and all(map(_is_unread, value)),
        "a list of {path, seq}",
        {
            "type": "array",
            "description": "Parts of the source that may be acts and that no reader could read.",
            "items": {
                "type": "object",
                "required": ["path"],
                "additionalProperties": False,
                "properties": {"path": _IDENTIFIER.schema, "seq": _ORDINAL.schema},
            },
        },
    )
)
_OBJECT = _nullable(Rule(lambda value: isinstance(value, dict), "an object", {"type": "object"}))

_EVENTS = Rule(
    lambda value: isinstance(value, list),
    "a list of events",
    {"type": "array", "items": {"$ref": "#/$defs/event"}},
)

RECORD: Mapping[str, Rule] = {
    "schema": _nullable(_one_of("reviewer/trace@1")).of(
        "The kind and version of the record. Null: this one."
    ),
    "episode_id": _IDENTIFIER.of("The episode that was attempted."),
    "candidate_id": _IDENTIFIER.of("The candidate that attempted it."),
    "attempt": _ORDINAL.of(
        "Which attempt of the episode it is, from 1. Null: the next free number."
    ),
    "events": _EVENTS.of("What happened, in order."),
    "final_state": _ANYTHING.of("The state that the attempt ended in. Null: not known."),
    "final_message": _TEXT.of("What the agent said last. Null: nothing."),
    "cost_usd": _AMOUNT.of("What the attempt cost, in USD. Null: not measured."),
    "latency_ms": _AMOUNT.of("How long it took, in milliseconds. Null: not measured."),
    "usage": _ANYTHING.of("Tokens that were used, as the source counts them."),
    "started_at": _TEXT.of("When it started."),
    "termination": _TEXT.of("Why it ended. Null: an ordinary end."),
    "start_state_digest": _TEXT.of("`sha256:` and the digest of the state it started from."),
    "source": _ANYTHING.of("What else the source says; free, but for `user_feedback`."),
    "unread": _UNREAD.of("Parts of the source that may be acts and that no reader could read."),
}

EVENT: Mapping[str, Rule] = {
    "kind": _nullable(_one_of(*get_args(EventKind))).of(
        "What kind of event it is. Null: inferred from its members."
    ),
    "seq": _ORDINAL.of("The event's number; numbers rise from 1. Null: its place in the list."),
    "tool": _nullable(_IDENTIFIER).of("The tool that is called, or that answers."),
    "arguments": _OBJECT.of("The arguments of the call."),
    "status": _nullable(_one_of(*get_args(Status))).of("How the call ended."),
    "observation": _ANYTHING.of("What the tool answered."),
    "message": _ANYTHING.of("What was said."),
    "approval": _ANYTHING.of("Whether and by whom the call was approved."),
    "state": _ANYTHING.of("The state at this point."),
    "started_at": _TEXT.of("When it started."),
    "latency_ms": _AMOUNT.of("How long it took, in milliseconds."),
    "cost_usd": _AMOUNT.of("What it cost, in USD."),
    "tokens": _ANYTHING.of("Tokens that were used, as the source counts them."),
    "call_id": _TEXT.of("The id of the call, by which a result names it."),
    "actor": _TEXT.of("Who did it."),
}


def described(value: object) -> str:
    """Return a description of the actual value, without the value itself."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a negative number" if value < 0 else "a number"
    if isinstance(value, str):
        return "other text" if value else "empty text"
    return "a list" if isinstance(value, list) else "an object"


def lacks(event: Mapping[str, Any]) -> str | None:
    """Return the member an event of this kind cannot do without and does not have, if any."""
    kind = event.get("kind")
    if kind == "tool_call" and event.get("tool") is None:
        return "tool"
    if kind == "tool_result" and event.get("tool") is None and event.get("call_id") is None:
        return "tool"
    if kind == "state_snapshot" and "state" not in event:
        return "state"
    return None


def _described(rules: Mapping[str, Rule]) -> dict[str, Any]:
    return {name: {**rule.schema, "description": rule.text} for name, rule in rules.items()}


def trace_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a trace record.

    It covers the fields one by one; that seq rises, that no name is repeated and that no identifier
    occurs anywhere, only `validate.explain` checks.
    """

    def needs(kind: str, *alternatives: dict[str, Any]) -> dict[str, Any]:
        return {
            "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
            "then": {"anyOf": list(alternatives)},
        }

    def named(member: str) -> dict[str, Any]:
        return {"required": [member], "properties": {member: {"type": "string"}}}

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "reviewer/trace@1",
        "description": "One attempt of one candidate on one episode.",
        "type": "object",
        "required": list(REQUIRED),
        "additionalProperties": False,
        "properties": _described(RECORD),
        "$defs": {
            "event": {
                "type": "object",
                "additionalProperties": False,
                "properties": _described(EVENT),
                "allOf": [
                    needs("tool_call", named("tool")),
                    needs("tool_result", named("tool"), named("call_id")),
                    needs("state_snapshot", {"required": ["state"]}),
                ],
            }
        },
    }
