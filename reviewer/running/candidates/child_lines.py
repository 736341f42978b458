"""What a command may write: one JSON object a line, read without forgiveness."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from reviewer.running.model import Brief, Call, CandidateFault, Observation, Turn, Usage
from reviewer.suite.errors import ContractError, json_path, shown
from reviewer.suite.names import name_problem
from reviewer.suite.strict_json import loads, type_name

MOST_CALLS = 128
"""Calls that one line may make."""

_LONGEST_ID = 200
_MOST_TOKENS = 10**12
_BESIDE = frozenset({"type", "message", "usage"})
_OF_A_CALL = ("call_id", "tool", "arguments")
_MEMBERS = {
    "call": _BESIDE.union(_OF_A_CALL),
    "calls": _BESIDE | {"calls"},
    "final": _BESIDE,
}


class Lines:
    """Reads one attempt's lines in order. Each is a Turn without cost, or a CandidateFault that
    names the line and the member; nothing else is ever raised."""

    def __init__(self) -> None:
        self._number = 0
        self._used: set[str] = set()

    def read(self, line: bytes) -> Turn:
        self._number += 1
        try:
            value = loads(line, "")
        except ContractError as error:
            self._refuse(error.path, error.reason)
        said = self._object(value, "$")
        kind = said.get("type")
        if not isinstance(kind, str) or kind not in _MEMBERS:
            told = (
                f"not `{shown(kind)}`" if isinstance(kind, str) else f"not {_named(said, 'type')}"
            )
            self._refuse("$.type", f"must be `call`, `calls` or `final`, {told}")
        self._known(said, _MEMBERS[kind], "$")
        return Turn(self._calls(said, kind), self._message(said, kind), self._usage(said))

    def _calls(self, said: Mapping[str, Any], kind: str) -> tuple[Call, ...]:
        if kind == "final":
            return ()
        if kind == "call":
            return (self._call(said, "$"),)
        calls = said.get("calls")
        if not isinstance(calls, list) or not 1 <= len(calls) <= MOST_CALLS:
            self._refuse("$.calls", f"must be a list of 1 to {MOST_CALLS} calls")
        found = []
        for position, item in enumerate(calls):
            where = f"$.calls[{position}]"
            call = self._object(item, where)
            self._known(call, frozenset(_OF_A_CALL), where)
            found.append(self._call(call, where))
        return tuple(found)

    def _call(self, said: Mapping[str, Any], where: str) -> Call:
        call_id, tool = said.get("call_id"), said.get("tool")
        if not isinstance(call_id, str) or not 0 < len(call_id) <= _LONGEST_ID:
            self._refuse(f"{where}.call_id", f"must be a text of 1 to {_LONGEST_ID} characters")
        if not call_id.isprintable():
            self._refuse(f"{where}.call_id", "must not hold control characters")
        if call_id in self._used:
            self._refuse(f"{where}.call_id", "was used before; give each call an id of its own")
        self._used.add(call_id)
        if not isinstance(tool, str):
            self._refuse(f"{where}.tool", f"must be the name of a tool, not {_named(said, 'tool')}")
        if (reason := name_problem(tool)) is not None:
            self._refuse(f"{where}.tool", reason)
        arguments = said.get("arguments", {})
        if not isinstance(arguments, dict):
            return Call(call_id, tool, {}, f"must be an object, not {type_name(arguments)}")
        return Call(call_id, tool, arguments)

    def _message(self, said: Mapping[str, Any], kind: str) -> str | None:
        message = said.get("message")
        if message is not None and not isinstance(message, str):
            self._refuse("$.message", f"must be a text, not {type_name(message)}")
        if message is None and kind == "final":
            self._refuse("$.message", "is missing: the last line says what the user is told")
        return message

    def _usage(self, said: Mapping[str, Any]) -> Usage | None:
        if said.get("usage") is None:
            return None
        counts = self._object(said["usage"], "$.usage")
        self._known(counts, frozenset(Usage._fields), "$.usage")
        for name, count in counts.items():
            if count is not None and (type(count) is not int or not 0 <= count <= _MOST_TOKENS):
                self._refuse(f"$.usage.{name}", "must be a number of tokens, or null")
        usage = Usage(**counts)
        given, cached = usage.input_tokens, usage.cached_input_tokens
        if cached is not None and (given is None or cached > given):
            reason = "is part of input_tokens, and so cannot be more"
            self._refuse("$.usage.cached_input_tokens", reason)
        return usage

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._refuse(where, f"must be an object, not {type_name(value)}")
        return value

    def _known(self, said: Mapping[str, Any], names: frozenset[str], where: str) -> None:
        for name in said:
            if name not in names:
                known = ", ".join(sorted(names))
                self._refuse(where + json_path([name])[1:], f"is not known here; known: {known}")

    def _refuse(self, where: str, reason: str) -> NoReturn:
        raise CandidateFault(f"line {self._number} of its output: {where}: {reason}")


def start_line(brief: Brief) -> dict[str, Any]:
    """All that a command is told before it begins."""
    tools = [tool._asdict() for tool in brief.tools]
    return {"type": "start", "user_request": brief.user_request, "tools": tools}


def observations_line(observations: Sequence[Observation]) -> dict[str, Any]:
    return {"type": "observations", "observations": [o._asdict() for o in observations]}


def _named(said: Mapping[str, Any], name: str) -> str:
    return type_name(said[name]) if name in said else "nothing"
