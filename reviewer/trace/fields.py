"""What each field of a record and of an event may hold, said in words for whoever must mend it.

The typed structs of `record` decide the same on the fast path; a property test pins the two.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args

from reviewer.trace.record import EventKind, Status

REQUIRED = ("candidate_id", "cost_usd", "episode_id", "events", "final_state", "latency_ms")
"""Members every record must have, in the order they are reported missing."""

MAX_ORDINAL = 2**63 - 1
"""The largest attempt or seq: what a database integer holds."""


class Rule(NamedTuple):
    """A test of a value, what the value should have been, and the same as JSON Schema."""

    accepts: Callable[[Any], bool]
    wanted: str
    schema: dict[str, Any]


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

RECORD: Mapping[str, Rule] = {
    "schema": _nullable(_one_of("reviewer/trace@1")),
    "episode_id": _IDENTIFIER,
    "candidate_id": _IDENTIFIER,
    "attempt": _ORDINAL,
    "events": Rule(
        lambda value: isinstance(value, list),
        "a list of events",
        {"type": "array", "items": {"$ref": "#/$defs/event"}},
    ),
    "final_state": _ANYTHING,
    "final_message": _TEXT,
    "cost_usd": _AMOUNT,
    "latency_ms": _AMOUNT,
    "usage": _ANYTHING,
    "started_at": _TEXT,
    "termination": _TEXT,
    "start_state_digest": _TEXT,
    "source": _ANYTHING,
    "unread": _UNREAD,
}

EVENT: Mapping[str, Rule] = {
    "kind": _nullable(_one_of(*get_args(EventKind))),
    "seq": _ORDINAL,
    "tool": _nullable(_IDENTIFIER),
    "arguments": _OBJECT,
    "status": _nullable(_one_of(*get_args(Status))),
    "observation": _ANYTHING,
    "message": _ANYTHING,
    "approval": _ANYTHING,
    "state": _ANYTHING,
    "started_at": _TEXT,
    "latency_ms": _AMOUNT,
    "cost_usd": _AMOUNT,
    "tokens": _ANYTHING,
    "call_id": _TEXT,
    "actor": _TEXT,
}


def described(value: object) -> str:
    """What stands there instead, without the value itself."""
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
    """The member an event of this kind cannot do without and does not have, if any."""
    kind = event.get("kind")
    if kind == "tool_call" and event.get("tool") is None:
        return "tool"
    if kind == "tool_result" and event.get("tool") is None and event.get("call_id") is None:
        return "tool"
    if kind == "state_snapshot" and "state" not in event:
        return "state"
    return None


_RECORD_TEXTS = {
    "schema": "The kind and version of the record. Null: this one.",
    "episode_id": "The episode that was attempted.",
    "candidate_id": "The candidate that attempted it.",
    "attempt": "Which attempt of the episode it is, from 1. Null: the next free number.",
    "events": "What happened, in order.",
    "final_state": "The state that the attempt ended in. Null: not known.",
    "final_message": "What the agent said last. Null: nothing.",
    "cost_usd": "What the attempt cost, in USD. Null: not measured.",
    "latency_ms": "How long it took, in milliseconds. Null: not measured.",
    "usage": "Tokens that were used, as the source counts them.",
    "started_at": "When it started.",
    "termination": "Why it ended. Null: an ordinary end.",
    "start_state_digest": "`sha256:` and the digest of the state it started from.",
    "source": "What else the source says; free, but for `user_feedback`.",
    "unread": "Parts of the source that may be acts and that no reader could read.",
}
_EVENT_TEXTS = {
    "kind": "What kind of event it is. Null: inferred from its members.",
    "seq": "The event's number; numbers rise from 1. Null: its place in the list.",
    "tool": "The tool that is called, or that answers.",
    "arguments": "The arguments of the call.",
    "status": "How the call ended.",
    "observation": "What the tool answered.",
    "message": "What was said.",
    "approval": "Whether and by whom the call was approved.",
    "state": "The state at this point.",
    "started_at": "When it started.",
    "latency_ms": "How long it took, in milliseconds.",
    "cost_usd": "What it cost, in USD.",
    "tokens": "Tokens that were used, as the source counts them.",
    "call_id": "The id of the call, by which a result names it.",
    "actor": "Who did it.",
}
_UNREAD_TEXTS = {
    "path": "Where in the source the part is.",
    "seq": "The number of the event it belongs to. Null: none is known.",
}


def _described(rules: Mapping[str, Rule], texts: Mapping[str, str]) -> dict[str, Any]:
    return {name: {**rule.schema, "description": texts[name]} for name, rule in rules.items()}


def trace_json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a trace record.

    It says what one can say of fields one by one; that seq rises, that no name is repeated and
    that no identifier stands anywhere, only `validate.explain` checks.
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
        "properties": _described(RECORD, _RECORD_TEXTS),
        "$defs": {
            "event": {
                "type": "object",
                "additionalProperties": False,
                "properties": _described(EVENT, _EVENT_TEXTS),
                "allOf": [
                    needs("tool_call", named("tool")),
                    needs("tool_result", named("tool"), named("call_id")),
                    needs("state_snapshot", {"required": ["state"]}),
                ],
            }
        },
    }
