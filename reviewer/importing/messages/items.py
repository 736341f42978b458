"""Items of OpenAI's Responses API: calls, hosted tools that answer in their own item, outputs,
and approvals of MCP calls."""

import re
from typing import Any

from reviewer.importing.account import Account
from reviewer.importing.draft import Status
from reviewer.importing.messages.parts import ANNOTATIONS, Part, as_text, first, given, text_of

_BESIDE = frozenset(("type", "call_id", *ANNOTATIONS))
_FAILED = ("failed", "incomplete", "error")

_GIVEN = {
    "function_call": ("arguments",),
    "custom_tool_call": ("input",),
    "mcp_call": ("arguments",),
    "computer_call": ("action", "actions"),
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "apply_patch_call": ("operation",),
    "web_search_call": ("action",),
    "file_search_call": ("queries",),
    "code_interpreter_call": ("code",),
    "image_generation_call": ("prompt", "revised_prompt"),
    "tool_search_call": ("arguments",),
}
"""Kinds of calls, and the member that says what each is given."""
_NAMED = ("function_call", "custom_tool_call", "mcp_call")
_MUST_SAY = ("computer_call", "local_shell_call", "shell_call", "apply_patch_call")
"""Kinds that are never without what they are given."""
_ANSWERED = {
    "mcp_call": ("error", "output"),
    "web_search_call": ("results",),
    "file_search_call": ("results",),
    "code_interpreter_call": ("outputs",),
    "image_generation_call": ("result",),
}
"""Tools that run where the model does and answer inside their own item."""
_OUTPUTS = (
    *("function_call_output", "custom_tool_call_output", "computer_call_output"),
    *("local_shell_call_output", "shell_call_output", "apply_patch_call_output"),
    *("tool_search_output", "mcp_call_output"),
)
_AGENTS_FAILED = "An error occurred while running the tool"
"""What the Agents SDK gives a model of a tool that raised an exception."""
QUIET = ("reasoning", "mcp_list_tools")
"""Kinds that are no act: a thought, and what tools a server has."""
_APPROVALS = ("mcp_approval_request", "mcp_approval_response")
ITEMS = frozenset((*_GIVEN, *_OUTPUTS, *QUIET, *_APPROVALS))
_ACTS = re.compile(r"_(?:call|output)\Z")


def item_of(value: dict[str, Any], account: Account) -> list[Part] | None:
    """The parts of an item; None for a kind that is not known."""
    kind = text_of(value.get("type"))
    if kind in _GIVEN:
        return _call(kind, value, account)
    if kind in _OUTPUTS:
        return [_output(value, account)]
    if kind == "mcp_approval_request":
        member, arguments = given(value, "arguments")
        beside = {*_BESIDE, "name", member}
        account.read(value, beside, strict=True)
        account.whole(arguments)
        own, name = first(value, "id", "approval_request_id"), text_of(value.get("name"))
        return [Part("ask", arguments, own, name, None, value)]
    if kind == "mcp_approval_response":
        beside = {*_BESIDE, "approve", "approval_request_id", "reason"}
        account.read(value, beside, strict=True)
        decision = "approve" if value.get("approve") is True else "reject"
        said = {"decision": decision}
        if isinstance(value.get("reason"), str) and value["reason"]:
            said["reason"] = value["reason"]
        own = first(value, "approval_request_id")
        return [Part("approval", said, own, own, None, value)]
    if kind in QUIET:
        account.read(value, ("type", "id", "tools", "summary", "content", "encrypted_content"))
        return [Part("reasoning", None, holder=value)] if kind == "reasoning" else []
    return None


def _call(kind: str, value: dict[str, Any], account: Account) -> list[Part]:
    members = [name for name in _GIVEN[kind] if name in value]
    answers = _ANSWERED.get(kind, ())
    beside = {*_BESIDE, *members, *answers, "approval_request_id", "revised_prompt"}
    if kind in _NAMED:
        beside.add("name")
    if kind == "image_generation_call":
        beside |= {"background", "output_format", "quality", "size", "action"}
    if kind == "shell_call":
        beside |= {"max_output_length"}
    account.read(value, beside, strict=True)
    arguments = _given(kind, value, members)
    account.whole(*(value.get(name) for name in (*members, *answers)))
    tool = text_of(value.get("name")) if kind in _NAMED else kind.removesuffix("_call")
    own = first(value, "approval_request_id", "call_id", "id")
    whole = bool(members) or kind not in _MUST_SAY
    parts = [Part("call", arguments, own, tool, None, value, whole)]
    status = text_of(value.get("status"))
    if kind in _ANSWERED:
        error = value.get("error")
        failed = bool(error) or status == "failed"
        outcome: Status | None = "error" if failed else None
        seen = error or next((value[one] for one in answers if value.get(one) is not None), None)
        running = status in ("in_progress", "searching", "interpreting", "generating", "calling")
        if seen is not None or not (running or status == "incomplete"):
            parts.append(Part("result", seen, own, tool, outcome, value))
    return parts


def _given(kind: str, value: dict[str, Any], members: list[str]) -> Any:
    if kind in ("code_interpreter_call", "file_search_call", "image_generation_call"):
        return {name: value[name] for name in members if value[name] not in (None, "", [])}
    found = next((value[name] for name in members if value[name] not in (None, "")), None)
    if kind == "custom_tool_call":
        return as_text(found)
    if kind == "computer_call" and isinstance(found, list):
        return {"actions": found}
    return found


def _output(value: dict[str, Any], account: Account) -> Part:
    output = next((value[n] for n in ("output", "outputs", "tools") if n in value), None)
    beside = {*_BESIDE, "output", "outputs", "tools", "max_output_length", "name", "execution"}
    account.read(value, beside, strict=True)
    account.whole(output)
    failed = (
        text_of(value.get("status")) in _FAILED
        or _exit_code(output) not in (0, None)
        or text_of(output).startswith(_AGENTS_FAILED)
    )
    own = first(value, "call_id", "id")
    status: Status | None = "error" if failed else None
    return Part("result", output, own, text_of(value.get("name")), status, value)


def _exit_code(output: Any) -> Any:
    """Return what a shell ended with; None where it does not say."""
    for one in output if isinstance(output, list) else ():
        outcome = one.get("outcome") if isinstance(one, dict) else None
        if isinstance(outcome, dict) and outcome.get("exit_code") not in (0, None):
            return outcome["exit_code"]
    return None
