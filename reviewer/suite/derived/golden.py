"""A golden record as a contract: a request to an agent, and its expected acts and words.

Many tools write such records under many names (DeepEval, LangSmith examples, agentevals, hand-made
lists); the members below are read. Expected calls are gated. Of expected answers only short ones
are: a long one would be matched word for word, so final messages are only compared with it.
"""

import json
from typing import Any, Literal, NamedTuple, TypeGuard

from reviewer.suite.derived import ContractDraft, NoContract

# Expected calls and texts, in the forms in which people and tools write them. A list of names;
# objects with a name and arguments under their usual names (DeepEval, ADK, plain); OpenAI tool
# calls; or a whole conversation of OpenAI or LangChain messages.


_NAMES = ("name", "tool", "tool_name", "toolName", "function", "action")
_ARGUMENTS = (
    "arguments",
    "args",
    "input_parameters",
    "inputParameters",
    "tool_input",
    "params",
    "parameters",
    "input",
)
_ROLES = {"human": "user", "ai": "assistant", "AIMessage": "assistant", "HumanMessage": "user"}


class GoldenCall(NamedTuple):
    """One call that is expected; None when its arguments are free."""

    tool: str
    arguments: dict[str, Any] | None = None

    def step(self) -> dict[str, Any]:
        """Return the call in the form of an episode."""
        if self.arguments is None:
            return {"tool": self.tool}
        return {"tool": self.tool, "arguments": self.arguments}


def calls_of(value: Any, member: str) -> list[GoldenCall]:
    """Return the calls that `value` (a list, or one of them) expects. Raises NoContract naming the
    place of an invalid call."""
    entries = _opened(value)
    if isinstance(entries, dict) and is_conversation(entries.get("messages")):
        entries = entries["messages"]
    if is_conversation(entries):
        return [call for message in entries for call in _made_in(message, member)]
    if not isinstance(entries, list):
        entries = [entries]
    return [_wanted(entry, f"{member}[{number}]") for number, entry in enumerate(entries)]


def is_conversation(value: Any) -> TypeGuard[list[Any]]:
    """Return whether a value is a list of chat messages."""
    return isinstance(value, list) and bool(value) and all(_role(one) for one in value)


def said_in(messages: list[Any], role: str, *, last: bool) -> str:
    """Return the first or last text of `role` (user, assistant), "" when there is none."""
    ordered = reversed(messages) if last else iter(messages)
    for message in ordered:
        if _role(message) == role and (text := text_of(_inner(message).get("content"))):
            return text
    return ""


def text_of(value: Any) -> str:
    """Return a text, or the text parts of a message's content; "" for anything else."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, list):
        return ""
    parts = [part.get("text") if isinstance(part, dict) else part for part in value]
    return "\n".join(part for part in parts if isinstance(part, str)).strip()


def texts_of(value: Any) -> list[str]:
    """Return a text, or a list of texts, each once."""
    values = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(text for one in values if (text := text_of(one))))


def too_common(text: str) -> str:
    """Return why looking for a text proves nothing, "" when it can be looked for: one or two
    letters are in almost any message."""
    signs = [sign for sign in text if sign.isalnum()]
    if not signs:
        return f"`{text[:20]}` has no word to search for"
    least = 2 if all(map(str.isdigit, signs)) else 3
    if text.isascii() and len(signs) < least:
        return f"`{text}` is in almost any message: looking for it proves nothing"
    return ""


def _role(message: Any) -> str:
    if not isinstance(message, dict):
        return ""
    inner = _inner(message)
    kind = message.get("role") or inner.get("role") or message.get("type") or inner.get("type")
    named = _ROLES.get(kind, kind) if isinstance(kind, str) else ""
    return named if named in ("user", "assistant", "tool", "system", "developer") else ""


def _inner(message: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a message, which LangChain keeps one level deeper."""
    for name in ("data", "kwargs"):
        if isinstance(message.get(name), dict):
            return {**message, **message[name]}
    return message


def _made_in(message: dict[str, Any], member: str) -> list[GoldenCall]:
    calls = _inner(message).get("tool_calls") if _role(message) == "assistant" else None
    listed = calls if isinstance(calls, list) else []
    return [_wanted(call, f"{member}: a tool call") for call in listed]


def _wanted(entry: Any, place: str) -> GoldenCall:
    if isinstance(entry, str) and entry.strip():
        return GoldenCall(entry.strip())
    if isinstance(entry, dict):
        inner = entry["function"] if isinstance(entry.get("function"), dict) else entry
        name = next((inner[one] for one in _NAMES if isinstance(inner.get(one), str)), "")
        given = next((inner[one] for one in _ARGUMENTS if inner.get(one) is not None), None)
        if name.strip():
            return GoldenCall(name.strip(), _arguments(given, place))
    raise NoContract(f"{place} names no tool")


def _arguments(given: Any, place: str) -> dict[str, Any] | None:
    """Return the arguments, None when none are given: tools write an empty object for no
    arguments."""
    value = _opened(given)
    if value in (None, "", {}):
        return None
    if not isinstance(value, dict):
        raise NoContract(f"{place} has arguments that are no object")
    return value


def _opened(value: Any) -> Any:
    """Return a value, decoded if it is JSON within a text (a cell of a table, OpenAI's
    arguments)."""
    if not isinstance(value, str) or value.strip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


Match = Literal["strict", "unordered", "subset", "superset"]
MATCHES: tuple[Match, ...] = ("strict", "unordered", "subset", "superset")
SHORT = 60
"""Most characters of an answer that is searched for literally."""

IDS = ("episode_id", "id", "case_id", "task_id", "example_id", "name", "test")
REQUESTS = ("user_request", "input", "query", "question", "prompt", "inputs", "task", "scenario")
CALLS = (
    "expected_trajectory",
    "reference_trajectory",
    "expected_tool_calls",
    "expected_calls",
    "expected_tools",
    "expectedTools",
    "trajectory",
)
ANSWERS = (
    "expected_output",
    "expectedOutput",
    "expected_answer",
    "answer",
    "expected_response",
    "reference_answer",
    "reference",
    "ground_truth",
    "expected_outcome",
)
NESTED = ("reference_outputs", "outputs", "expected")
"""Members in which a record keeps its expectations together; the first that exists counts."""
SAYS = ("must_contain", "message_contains", "expected_content", "must_include")
NEVER_SAYS = ("must_not_contain", "message_excludes")
FORBIDDEN = ("forbidden_tools", "must_not_call", "disallowed_tools")
ALLOWED = ("allowed_tools",)
MODES = ("trajectory_match_mode", "trajectory_match")
ENDS = ("expected_final_state", "final_state")
STARTS = ("initial_state",)
MARKS = ("tags", "category")
_READ = frozenset(
    (*IDS, *REQUESTS, *CALLS, *ANSWERS, *NESTED, *SAYS, *NEVER_SAYS, *FORBIDDEN, *ALLOWED)
) | {*MODES, *ENDS, *STARTS, *MARKS, "title"}

UNNAMED = "no id in the record: named by its place"
COMMON = (
    "answers of one or two letters are in almost any message: they are compared with "
    "(message_reference), never required"
)
LONG = f"answers over {SHORT} characters are compared with (message_reference), never required"


def contract_of(record: Any, number: int, match: Match = "superset") -> ContractDraft:
    """Return the contract of one record, `number` from 1. `match` is how made calls are compared
    with the expected ones where the record does not say. Raises NoContract."""
    if not isinstance(record, dict):
        raise NoContract("is no object")
    notes: list[str] = []
    told = _expectations(record)
    tools, expected = _calls(told, _mode(told, match))
    _wording(told, expected, notes)
    if (end := _first(told, ENDS)) is not None:
        expected["final_state"] = end
    if not tools and not expected.keys() - {"message_reference"}:
        raise NoContract(_why_empty(told, expected))
    start = _first(told, STARTS)
    episode: dict[str, Any] = {
        "schema": "reviewer/episode@1",
        "episode_id": _id(record, number, notes),
        "title": text_of(record.get("title")),
        "user_request": request_of(record),
        "initial_state": start if isinstance(start, dict) else {},
        "tools": tools,
        "expected": expected,
        "category": "negative" if list(tools) == ["forbidden"] and not expected else "task",
        "tags": [tag for name in MARKS for tag in texts_of(record.get(name))],
    }
    if unread := sorted(name for name in record.keys() - _READ if record[name] is not None):
        notes.append(f"members not used: {', '.join(unread)[:200]}")
    kept = {name: value for name, value in episode.items() if value not in ("", {}, [])}
    return ContractDraft(kept, {}, tuple(notes))


def named(record: dict[str, Any]) -> str:
    """Return the id a record has, "" when it has none."""
    return text_of(_first(record, IDS))


def _expectations(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with its nested expectations merged in; members outside them take
    precedence."""
    for name in NESTED:
        nested = record.get(name)
        if is_conversation(nested):
            return {"trajectory": nested, **record}
        if isinstance(nested, dict) and nested:
            held = {"trajectory": nested["messages"]} if "messages" in nested else {}
            return {**held, **nested, **record}
        if name in record and text_of(nested):
            return {"answer": nested, **record}
    return record


def _first(record: dict[str, Any], names: tuple[str, ...]) -> Any:
    """Return the first of these members that exists and is not null."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def _id(record: dict[str, Any], number: int, notes: list[str]) -> str:
    found = named(record)
    if not found:
        notes.append(UNNAMED)
    return found or f"golden-{number}"


def request_of(record: dict[str, Any]) -> str:
    """Return the request of a record, under one of its usual names."""
    asked = _first(record, REQUESTS)
    if isinstance(asked, dict):
        inner = _first(asked, ("messages", *REQUESTS))
        alone = next(iter(asked.values())) if len(asked) == 1 else None
        asked = alone if inner is None else inner
    if asked is None:
        asked = next((record[name] for name in NESTED if is_conversation(record.get(name))), None)
    if is_conversation(asked):
        return said_in(asked, "user", last=False)
    return text_of(asked)


def _mode(told: dict[str, Any], match: Match) -> Match:
    named = _first(told, MODES)
    if named is None:
        return match
    found = next((mode for mode in MATCHES if mode == named), None)
    if found is None:
        raise NoContract(f"its way of matching is not one of: {', '.join(MATCHES)}")
    return found


def _calls(told: dict[str, Any], mode: Match) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (tools, expected) of the episode. Of several members the first that names calls is the
    trajectory; the tools of all of them are required."""
    steps: list[GoldenCall] = []
    names: list[str] = []
    for member in CALLS:
        if told.get(member) is None:
            continue
        found = calls_of(told[member], member)
        steps = steps or found
        names += [call.tool for call in found]
    tools: dict[str, Any] = {}
    if names and mode != "subset":
        tools.update(required=list(dict.fromkeys(names)), order="any")
    if forbidden := texts_of(_first(told, FORBIDDEN)):
        tools["forbidden"] = forbidden
    if (allowed := _first(told, ALLOWED)) is not None:
        tools["allowed"] = texts_of(allowed)
    if not steps:
        return tools, {}
    return tools, {"trajectory": [step.step() for step in steps], "trajectory_match": mode}


def _wording(told: dict[str, Any], expected: dict[str, Any], notes: list[str]) -> None:
    """Put into `expected` the required and the forbidden wording, and a good answer to compare
    with."""
    says = texts_of(_first(told, SAYS))
    answer, conversation = text_of(_first(told, ANSWERS)), told.get("trajectory")
    reference = ""
    if answer and too_common(answer):
        reference = answer
        notes.append(COMMON)
    elif answer and len(answer) <= SHORT and "\n" not in answer:
        says.append(answer)
    elif answer:
        reference = answer
        notes.append(LONG)
    elif is_conversation(conversation):
        reference = said_in(conversation, "assistant", last=True)
    if says:
        expected["message_contains"] = list(dict.fromkeys(says))
    if never := texts_of(_first(told, NEVER_SAYS)):
        expected["message_excludes"] = never
    if reference:
        expected["message_reference"] = reference


def _why_empty(told: dict[str, Any], expected: dict[str, Any]) -> str:
    if "message_reference" in expected:
        answer = expected["message_reference"]
        why = too_common(answer) or "which no gate can check"
        return (
            f"expects only an answer of {len(answer)} characters, {why}: say what "
            "must be in it (must_contain), or which tools are to be called (expected_tools)"
        )
    listed = [name for name in CALLS if name in told]
    if listed:
        return f"{listed[0]} is empty and nothing else is expected: any trace would pass"
    return "expects nothing: no tools, no trajectory, no wording and no end state in it"
