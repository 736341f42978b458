"""What of one record a reader has read, and what is left of it that could be an act.

A reader takes the parts it reads (`read`, `whole`). `left` then goes through the record and names
every part that was not taken and has the shape of a tool call or of its result, wherever it is:
under another role, in a second choice, in metadata, in a list beside the one that was read. A part
that only repeats a call the reader has read is a copy, not a second act. Parts are known by
identity: the parsed record must stay alive, and must be the one that was read.
"""

import re
from collections.abc import Container, Iterator
from typing import Any

from reviewer.ingest.draft import Draft
from reviewer.ingest.foreign_json import parse_text
from reviewer.trace.paths import item, member
from reviewer.trace.strictjson import Repeated

NAMES = frozenset(
    (
        *("name", "tool", "tool_name", "toolName", "function", "function_name", "functionName"),
        *("recipient_name", "action", "action_name", "command", "method", "api_name"),
    )
)
"""Members that name what is called."""

ARGUMENTS = frozenset(
    (
        *("arguments", "args", "input", "tool_input", "toolInput", "tool_args", "toolArgs"),
        *("action_input", "actionInput", "kwargs", "params", "parameters", "raw_arguments"),
        *("function_args", "functionArgs", "partial_json", "rawInput", "raw_input"),
    )
)
"""Members that hold what a call is given."""

HOLDERS = frozenset(
    (
        *("tool_calls", "toolCalls", "tool_call", "toolCall", "function_call", "functionCall"),
        *("function_calls", "functionCalls", "tool_use", "toolUse", "tool_uses", "toolUses"),
        *("toolInvocation", "toolInvocations", "tool_invocations", "invalid_tool_calls"),
        *("tool_call_chunks", "tool_result", "toolResult", "tool_results", "toolResults"),
        *("function_response", "functionResponse", "tool_outputs", "toolOutputs", "custom_call"),
        *("server_tool_use", "mcp_call", "computer_call", "shell_call", "actions", "calls"),
    )
)
"""Members whose objects are calls or results."""

_KINDS = ("type", "kind", "event", "event_type", "item_type", "sessionUpdate", "__type__", "_type")
_ACT = re.compile(
    r"tool|func(?:tion)?[ _.-]*(?:call|resp|out|result)|(?:^|[ _.-])call|call(?:[ _.-]|$)"
    r"|functionCall|action|invo[ck]|shell|comput|patch|exec",
    re.IGNORECASE,
)
_DESCRIBES = frozenset(
    (
        *("parameters", "input_schema", "inputSchema", "schema", "json_schema", "args_schema"),
        *("description", "strict", "jsonSchema", "tool_schema", "parametersJsonSchema"),
    )
)
_IDS = ("id", "call_id", "tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "callId")
_TEXT_ACTS = re.compile(
    r'"(?:tool_calls|toolCalls|function_call|functionCall|tool_use|toolUse|tool-call|toolCall)"'
)
_TEXT = 1 << 20


class Account:
    """Which parts of one record were read. Members that are dropped because they cannot matter are
    named by the reader as well, in `harmless`, each with its reason beside the list."""

    def __init__(self, harmless: Container[str] = ()) -> None:
        self._harmless = harmless
        self._read: dict[int, Container[str]] = {}
        self._whole: set[int] = set()
        self._strict: set[int] = set()

    def read(self, part: Any, names: Container[str], *, strict: bool = False) -> None:
        """Take these members of an object. Of what its other members hold, acts are left; where
        `strict`, whatever they hold is (for calls and their blocks, of which any member may
        matter). Members that are objects or lists themselves are still to be taken."""
        if isinstance(part, (dict, list)):
            self._read[id(part)] = names
            if strict:
                self._strict.add(id(part))

    def whole(self, *parts: Any) -> None:
        """Take objects and lists with all they hold: arguments, observations, states, texts."""
        self._whole.update(id(part) for part in parts if isinstance(part, (dict, list)))

    def left(self, record: Any, draft: Draft, path: str = "") -> list[str]:
        """The paths, in the record's order, of what was not taken and could be an act: members
        that are repeated anywhere, what strict objects hold beside their members, and calls and
        results that are not copies of those `draft` holds."""
        return list(self._left(record, path, _Known(draft)))

    def tell(self, record: Any, draft: Draft, path: str = "") -> None:
        """Enter what is left into the draft."""
        for one in self.left(record, draft, path):
            draft.unread(one)

    def _left(self, part: Any, path: str, known: "_Known") -> Iterator[str]:
        if id(part) in self._whole:
            yield from _repeated(part, path)
        elif isinstance(part, list):
            for place, one in enumerate(part):
                if isinstance(one, (dict, list)):
                    yield from self._left(one, item(path, place), known)
        elif isinstance(part, Repeated):
            yield path or "record"
        elif isinstance(part, dict):
            names = self._read.get(id(part))
            if names is None and could_act(part):
                if not known.holds(part):
                    yield path or "record"
                return
            for name, value in part.items():
                taken = names is not None and name in names
                yield from self._member(id(part), value, member(path, name), taken, name, known)

    def _member(
        self, owner: int, value: Any, path: str, taken: bool, name: str, known: "_Known"
    ) -> Iterator[str]:
        if value in (None, "", [], {}, False):
            return
        if taken:
            if isinstance(value, (dict, list)):
                yield from self._left(value, path, known)
        elif name in self._harmless:
            yield from _repeated(value, path)
        elif owner in self._strict or (name in HOLDERS and _holds(value)):
            if not known.holds(value):
                yield path
        elif isinstance(value, (dict, list)):
            yield from self._left(value, path, known)
        elif isinstance(value, str) and _tells_act(value) and not self._told(value, known):
            yield path

    def _told(self, text: str, known: "_Known") -> bool:
        """Whether every call in this JSON text is one that the draft holds."""
        value = parse_text(text)
        return value is not None and not any(Account()._left(value, "text", known))


class _Known:
    """The calls a draft holds, to tell a copy from a second act."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._calls: list[tuple[Any, Any, Any]] | None = None

    def holds(self, part: Any) -> bool:
        """Whether this, or everything in this list, repeats a call or names a result that the
        draft holds, by id; without an id by tool and arguments."""
        if isinstance(part, list):
            return bool(part) and all(isinstance(one, dict) and self.holds(one) for one in part)
        if not isinstance(part, dict) or isinstance(part, Repeated):
            return False
        if self._calls is None:
            events = self._draft.events
            calls = [event for event in events if event["kind"] == "tool_call"]
            self._calls = [(c.get("call_id"), c["tool"], c["arguments"]) for c in calls]
        function = part.get("function")
        inner = function if isinstance(function, dict) else part
        own = next((part[name] for name in _IDS if isinstance(part.get(name), str)), None)
        tool = next((inner[n] for n in sorted(NAMES) if isinstance(inner.get(n), str)), None)
        given = next((inner[name] for name in sorted(ARGUMENTS) if name in inner), None)
        if isinstance(given, str):
            given = parse_text(given) if given else {}
        if tool is None:
            return False
        return any(
            (own is None or call_id is None or own == call_id)
            and tool == name
            and (given or {}) == arguments
            for call_id, name, arguments in self._calls
        )


def _tells_act(text: str) -> bool:
    return (
        len(text) <= _TEXT
        and text.lstrip()[:1] in ("{", "[")
        and _TEXT_ACTS.search(text) is not None
    )


def could_act(part: dict[str, Any]) -> bool:
    """Whether an object has the shape of a call or of a result: something named and something
    given, or a kind that says so. The description of a tool has not."""
    names = part.keys()
    function = part.get("function")
    if isinstance(function, dict) and not _describes(function):
        return bool(function.keys() & (NAMES | ARGUMENTS))
    if _describes(part) or (isinstance(function, dict) and _describes(function)):
        return False
    if any(isinstance(part[name], str) for name in names & NAMES) and names & ARGUMENTS:
        return True
    return any(
        isinstance(kind := part.get(name), str) and _ACT.search(kind) is not None for name in _KINDS
    ) and any(isinstance(value, (dict, list)) or name in NAMES for name, value in part.items())


def _describes(part: dict[str, Any]) -> bool:
    """Whether this tells what a tool takes, as prompts list them: a schema or a description, and
    nothing that a call is given."""
    given = (part.keys() & ARGUMENTS) - {"parameters"}
    return bool(part.keys() & _DESCRIBES) and not any(part[name] for name in given)


def _holds(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(value)
    return isinstance(value, list) and any(isinstance(one, (dict, list)) for one in value)


def _repeated(part: Any, path: str) -> Iterator[str]:
    waiting = [(part, path)]
    while waiting:
        part, path = waiting.pop()
        if isinstance(part, Repeated):
            yield path
        elif isinstance(part, dict):
            waiting += [(one, member(path, name)) for name, one in part.items()]
        elif isinstance(part, list):
            waiting += [(one, item(path, place)) for place, one in enumerate(part)]
