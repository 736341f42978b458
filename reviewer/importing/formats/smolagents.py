"""The steps of smolagents' runs, in each form in which they are written: chat messages, the steps'
own JSON, or the steps as Python prints them.

Python values that were written as text (`repr`) are read as data, never run as code.
"""

import ast
import re
from typing import Any, NamedTuple

from reviewer.importing.account import Account
from reviewer.importing.draft import Draft, Status, measured, tokens, words
from reviewer.importing.formats.base import at_path, objects
from reviewer.importing.formats.base import text as text_of
from reviewer.importing.messages.blocks import parts_of
from reviewer.importing.messages.parts import Part

# Python values as text ----------------------------------------------------------------------------

MOST = 1 << 20
DEEPEST = 40
_STRING = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
# Only literals, brackets and separators reach the parser.
_LITERAL = re.compile(
    rf"(?P<blank>\s++)|(?P<string>b?(?:{_STRING}))|(?P<open>[\[({{])|(?P<close>[\])}}])"
    r"|(?P<mark>[,:])|(?P<value>True|False|None|-?\d++(?:\.\d*+)?(?:e[+-]?\d++)?)",
    re.DOTALL,
)
_PIECE = re.compile(rf"{_STRING}|[(\[{{]|[)\]}}]|,|[^'\"()\[\]{{}},]++|['\"]", re.DOTALL)
_NAMED = re.compile(r"\s*([A-Za-z_]\w{0,60})=(.*)\Z", re.DOTALL)


class NotLiteral(ValueError):
    """The text is not a Python literal, or is too long or too deep to be read."""


def literal(text: str) -> Any:
    """Return the value of a literal, converted to JSON types. Raises NotLiteral."""
    text = text.strip()
    if not text or len(text) > MOST:
        raise NotLiteral
    _check(text)
    try:
        return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise NotLiteral from None


def _check(text: str) -> None:
    at = depth = 0
    after_value = False
    while at < len(text):
        found = _LITERAL.match(text, at)
        if found is None:
            raise NotLiteral
        at = found.end()
        kind = found.lastgroup
        depth += (kind == "open") - (kind == "close")
        # Two values in a row would be an operator (`1 -1`), and any number of them may follow.
        if depth > DEEPEST or (kind == "value" and after_value):
            raise NotLiteral
        if kind != "blank":
            after_value = kind == "value"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(one) for one in value), key=repr)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def parts(text: str) -> tuple[str, list[str]]:
    """Return (the text before the first bracket, the texts between the commas inside it); ("", [])
    for a text without one, or one that is too long."""
    if len(text) > 8 * MOST:
        return "", []
    found: list[str] = []
    name, start, depth = "", 0, 0
    for piece in _PIECE.finditer(text):
        mark = piece.group()
        if mark in ("(", "[", "{"):
            depth += 1
            if depth == 1:
                name, start = text[: piece.start()].strip(), piece.end()
        elif mark in (")", "]", "}") and depth:
            depth -= 1
            if depth == 0:
                found.append(text[start : piece.start()])
                break
        elif mark == "," and depth == 1:
            found.append(text[start : piece.start()])
            start = piece.end()
    return name, [one.strip() for one in found if one.strip()]


def members(text: str) -> tuple[str, dict[str, str]]:
    """Return (class, texts of its members) of an object in the form in which dataclasses print
    themselves: `Step(number=1, error=None)`."""
    name, found = parts(text)
    named = (_NAMED.match(one) for one in found)
    return name, {one.group(1): one.group(2) for one in named if one}


# Chat messages ------------------------------------------------------------------------------------

_ACTORS = {"user": "user", "assistant": "agent", "system": "system", "developer": "system"}
_CALLING = re.compile(r"\s*Calling tools:\s*(?=\[)")
_CALL_ID = re.compile(r"\s*Call id: (\S{1,200})\s*\n")
_SEEN = re.compile(r"\s*(Observation|Error):[ \t]*\n?")


def role_of(message: dict[str, Any]) -> str:
    """Return the role of a message; `tool-call` also where it is written
    `MessageRole.TOOL_CALL`."""
    return str(message.get("role")).rpartition(".")[2].casefold().replace("_", "-")


def add_message(draft: Draft, message: dict[str, Any], **more: Any) -> None:
    """Write one message, with its calls or its result."""
    blocks, acts = _taken_apart(message.get("content"))
    role, content = role_of(message), words(blocks)
    text = text_of(content)
    if role == "tool-call":
        _add_text_calls(draft, text)
    elif role == "tool-response":
        _add_text_result(draft, text)
    elif role in ("tool", "function"):
        draft.result(content, message.get("tool_call_id"), message.get("name"))
    else:
        calls = _made(draft, message.get("tool_calls"))
        if content not in ("", None) or not (calls or acts):
            draft.message(_ACTORS.get(role, role[:100]), content, **more)
        for call in calls:
            add_call(draft, call)
    for act in acts:
        if act.kind == "call":
            draft.call(act.name, act.value, act.id)
        else:
            draft.result(act.value, act.id, act.name or None, act.status)


def _made(draft: Draft, calls: Any) -> list[dict[str, Any]]:
    """Return the calls in a list; an invalid entry makes the attempt not measured."""
    found = objects(calls)
    if len(found) != (len(calls) if isinstance(calls, list) else calls is not None):
        draft.unread("tool_calls", len(draft.events) + 1)
    return found


def _taken_apart(content: Any) -> tuple[Any, list[Part]]:
    """Return the words of a message, and the calls and results among its blocks, of any
    provider."""
    if not isinstance(content, list):
        return content, []
    parts = parts_of(content, Account()) or []
    acts = [part for part in parts if part.kind in ("call", "result")]
    held = {id(part.holder) for part in acts}
    return [block for block in content if id(block) not in held], acts


def add_call(draft: Draft, call: dict[str, Any]) -> None:
    """Write a call in the form of chat APIs: `{"id", "function": {"name", "arguments"}}`, or
    flat."""
    inner = call.get("function")
    function = inner if isinstance(inner, dict) else call
    arguments = function.get("arguments")
    if function.get("name") == "python_interpreter" and isinstance(arguments, str):
        arguments = {"code": arguments}
    draft.call(function.get("name"), arguments, call.get("id"))


def _add_text_calls(draft: Draft, text: str) -> None:
    start = _CALLING.match(text)
    try:
        calls = literal(text[start.end() :]) if start else None
    except NotLiteral:
        calls = None
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        draft.note("tool calls written as text could not be read: kept as text")
        draft.unread(f"calls[{draft.calls()}]", len(draft.events) + 1)
        draft.call("unparsed", {"text": text})
        return
    draft.note("tool calls are in the file as text and were parsed from it")
    for call in calls:
        add_call(draft, call)


def _add_text_result(draft: Draft, text: str) -> None:
    own = _CALL_ID.match(text)
    rest = text[own.end() :] if own else text
    seen = _SEEN.match(rest)
    status: Status | None = None
    if seen:
        status = "error" if seen.group(1) == "Error" else "ok"
        rest = rest[seen.end() :]
    answered = sum(event["kind"] == "tool_result" for event in draft.events)
    if status == "error" and answered >= draft.calls():
        draft.error(rest)  # a reply that could not be read as a call
        return
    draft.result(rest, own.group(1) if own else None, status=status)


def calls_of_code(steps: Any) -> list[Any]:
    """Return the calls whose argument is the code that was run: the calls in that code are read."""
    listed = [
        step["tool_calls"] for step in objects(steps) if isinstance(step.get("tool_calls"), list)
    ]
    return [calls for calls in listed if all(map(_is_code, calls))]


def _is_code(call: Any) -> bool:
    named = at_path(call, "function", "name") == "python_interpreter"
    return named and isinstance(call["function"].get("arguments"), str)


# Steps --------------------------------------------------------------------------------------------

MOST_STEPS = 5000


class _Step(NamedTuple):
    """An action step: the model's text, its calls, and their results."""

    said: str
    calls: list[dict[str, Any]]
    seen: str | None
    error: str | None
    took_ms: float | None
    tokens: dict[str, int] | None


def steps_of(kept: Any) -> list[Any]:
    """Return the steps of a record: a list, or one text with the whole list as Python prints it. A
    text that is not a list is one step."""
    if isinstance(kept, list):
        return kept[:MOST_STEPS]
    if not isinstance(kept, str) or not kept.strip():
        return []
    name, found = parts(kept) if kept.lstrip().startswith("[") else ("", [])
    whole = found and not name and all("(" in one for one in found)
    return found[:MOST_STEPS] if whole else [kept]


def asks(steps: list[Any]) -> bool:
    """Return whether the steps themselves contain the task."""
    return any(
        role_of(step) == "user" or "task" in step
        if isinstance(step, dict)
        else isinstance(step, str) and step.startswith("TaskStep(")
        for step in steps
    )


def add_steps(draft: Draft, steps: list[Any]) -> None:
    """Write every step into a draft, in order."""
    for step in steps:
        if isinstance(step, dict):
            _add_object(draft, step)
        elif isinstance(step, str):
            _add_text(draft, step)
        else:
            draft.note("steps of an unknown shape were skipped")
            draft.unread("intermediate_steps")


_OF_CALLS = ("AgentToolExecutionError", "AgentToolCallError", "AgentExecutionError")
"""Errors of calls that were made; others are of the model, or of what it wrote."""


def _add_object(draft: Draft, step: dict[str, Any]) -> None:
    if "role" in step:
        add_message(draft, step)
        return
    if "step_number" not in step and "observations" not in step:
        if isinstance(step.get("task"), str):
            draft.message("user", step["task"])
        elif isinstance(step.get("plan"), str):
            draft.message("agent", step["plan"])
        else:
            draft.note("steps of an unknown shape were skipped")
            draft.unread("intermediate_steps")
        return
    error, timing, reply = step.get("error"), step.get("timing"), step.get("model_output_message")
    # A failed call is only in the model's reply.
    calls = step.get("tool_calls") or at_path(reply, "tool_calls")
    if reply is not None and not isinstance(reply, dict):
        draft.unread("model_output_message", len(draft.events) + 1)
    if not calls and at_path(error, "type") in _OF_CALLS:
        draft.unread("tool_calls", len(draft.events) + 1)  # what failed is not in the step
    if isinstance(error, dict):
        error = error.get("message") or error
    seconds = (timing if isinstance(timing, dict) else step).get("duration")
    said, seen, used = step.get("model_output"), step.get("observations"), step.get("token_usage")
    _add(
        draft,
        _Step(
            text_of(said),
            _made(draft, calls),
            seen if isinstance(seen, str) else None,
            str(error)[:5000] if error else None,
            _ms(seconds),
            _tokens(used) if isinstance(used, dict) else None,
        ),
    )


_NONE = ("", "None", "[]", "()")


def _add_text(draft: Draft, step: str) -> None:
    name, found = members(step)
    texts = {key: _text(value) for key, value in found.items()}
    if name == "ActionStep":
        draft.note("steps are in the file as Python prints them and were parsed from that")
        timing = members(found.get("timing", ""))[1] or found
        used = {
            key: _text(value) for key, value in members(found.get("token_usage", ""))[1].items()
        }
        _add(
            draft,
            _Step(
                str(texts.get("model_output") or ""),
                _printed_calls(draft, found),
                texts["observations"] if isinstance(texts.get("observations"), str) else None,
                _error(found.get("error", "")),
                _ms(_text(timing.get("duration", ""))),
                _tokens(used),
            ),
        )
    elif name == "TaskStep" and isinstance(texts.get("task"), str):
        draft.message("user", texts["task"])
    elif name == "SystemPromptStep" and isinstance(texts.get("system_prompt"), str):
        draft.message("system", texts["system_prompt"])
    elif name == "PlanningStep":
        plan = texts.get("plan") or texts.get("model_output_message_plan")
        draft.message("agent", plan if isinstance(plan, str) else step)
    elif name != "FinalAnswerStep":
        draft.unread("intermediate_steps", len(draft.events) + 1)
        draft.message("agent", step)


def _text(value: str) -> Any:
    try:
        return literal(value) if value else None
    except NotLiteral:
        return None


def _printed_calls(draft: Draft, found: dict[str, str]) -> list[dict[str, Any]]:
    """Return the calls of a printed step: its own, else those of the model's reply."""
    reply = members(found.get("model_output_message", ""))[1].get("tool_calls", "")
    for text in (found.get("tool_calls", ""), reply):
        calls = _calls(text)
        if len(calls) < len(parts(text)[1]) or not (calls or text.strip() in _NONE):
            draft.unread(f"calls[{draft.calls()}]", len(draft.events) + 1)
        if calls:
            return calls
    return []


def _calls(text: str) -> list[dict[str, Any]]:
    """Return calls in the form in which the step keeps them (`ToolCall`), or as the model made
    them, one level deeper."""
    made = [members(one)[1] for one in parts(text)[1]]
    inner = [{**found, **members(found.get("function", ""))[1]} for found in made]
    return [
        {key: _text(found[key]) for key in ("id", "name", "arguments") if key in found}
        for found in inner
        if "name" in found
    ]


def _error(text: str) -> str | None:
    return None if text.strip() in ("", "None") else text.strip()[:5000]


def _ms(seconds: Any) -> float | None:
    found = measured(seconds)
    return None if found is None else found * 1000


def _tokens(used: dict[str, Any]) -> dict[str, int] | None:
    return tokens(
        input_tokens=measured(used.get("input_tokens")),
        output_tokens=measured(used.get("output_tokens")),
    )


def _add(draft: Draft, step: _Step) -> None:
    if step.said:
        draft.message("agent", step.said, tokens=step.tokens, latency_ms=step.took_ms)
    before = draft.calls()
    for call in step.calls:
        add_call(draft, call)
    made = draft.calls() - before
    outcome = step.error if step.seen is None else step.seen
    if outcome is not None and made:
        draft.result(outcome, status="error" if step.error else "ok")
        if made > 1:
            draft.note("calls of one step share one observation: it is kept with the first")
        draft.settle()
        if step.error and step.seen is not None:
            draft.error(step.error)
    elif step.error:
        draft.error(step.error)
    elif step.seen:
        draft.unread("observations", len(draft.events) + 1)  # of what, is not in the step
        draft.message("environment", step.seen)
