"""Content parts of the Vercel AI SDK: model messages, steps, and the parts of UI messages."""

from typing import Any

from reviewer.importing.account import Account
from reviewer.importing.draft import Status
from reviewer.importing.messages.calls import given
from reviewer.importing.messages.parts import ANNOTATIONS, Part, first, text_of

_BESIDE = frozenset(
    ("type", "toolCallId", "toolName", "dynamic", "invalid", "isError", *ANNOTATIONS)
)
_OUTCOME: dict[str, Status] = {
    "error-text": "error",
    "error-json": "error",
    "execution-denied": "denied",
}
_STATES: dict[str, Status] = {
    "output-available": "ok",
    "result": "ok",
    "output-error": "error",
    "error": "error",
    "output-denied": "denied",
}


def tool_call(value: dict[str, Any], account: Account) -> list[Part]:
    """`tool-call`."""
    member, arguments = given(value, "input", "args")
    account.read(value, {*_BESIDE, member}, strict=True)
    account.whole(arguments)
    return [Part("call", arguments, *_named(value), None, value)]


def tool_result(value: dict[str, Any], account: Account) -> list[Part]:
    """`tool-result` of a message or a step: a typed output, or a bare one."""
    output = value.get("output", value.get("result"))
    copied = {"input", "args"}  # steps say again what the call was given
    beside = {*_BESIDE, "output", "result", "experimental_content", *copied}
    account.read(value, beside, strict=True)
    account.whole(output, value.get("experimental_content"), *(value.get(one) for one in copied))
    status: Status | None = "error" if value.get("isError") is True else None
    if isinstance(output, dict) and isinstance(kind := output.get("type"), str):
        status = _OUTCOME.get(kind, status)
        if set(output) <= {"type", "value", "reason", "providerOptions"}:
            output = output.get("value", output.get("reason"))
    return [Part("result", output, *_named(value), status, value)]


def tool_error(value: dict[str, Any], account: Account) -> list[Part]:
    """`tool-error` of a step."""
    account.read(value, {*_BESIDE, "input", "args", "error"}, strict=True)
    account.whole(value.get("input"), value.get("args"), value.get("error"))
    return [Part("result", value.get("error"), *_named(value), "error", value)]


def approval_request(value: dict[str, Any], account: Account) -> list[Part]:
    """`tool-approval-request`: a call that waits for a person."""
    beside = {"type", "approvalId", "toolCallId", "isAutomatic", *ANNOTATIONS}
    account.read(value, {*beside, "toolCall"}, strict=True)
    own, name = first(value, "toolCallId"), first(value, "approvalId")
    return [Part("approval", {"decision": "pending"}, own, name, None, value)]


def approval_response(value: dict[str, Any], account: Account) -> list[Part]:
    """`tool-approval-response`: what was said of it."""
    beside = {"type", "approvalId", "approved", "reason", *ANNOTATIONS}
    account.read(value, beside, strict=True)
    return [Part("approval", _said(value), "", first(value, "approvalId"), None, value)]


def tool_part(value: dict[str, Any], account: Account) -> list[Part]:
    """A UI part that is a call, what a person said of it, and its result: `tool-NAME`,
    `dynamic-tool`, or the older `tool-invocation`."""
    inner = value.get("toolInvocation")
    if isinstance(inner, dict):
        account.read(value, {"type", "toolInvocation", *ANNOTATIONS}, strict=True)
        value = inner
    kind = text_of(value.get("type"))
    name = text_of(value.get("toolName"))
    if not name and kind.startswith("tool-") and kind != "tool-invocation":
        name = kind.removeprefix("tool-")
    member, arguments = given(value, "input", "args", "rawInput")
    output = value.get("output", value.get("result"))
    beside = {*_BESIDE, member, "output", "result", "errorText", "approval"}
    account.read(value, beside, strict=True)
    approval, own = value.get("approval"), first(value, "toolCallId")
    account.whole(arguments, output, approval)
    state = text_of(value.get("state"))
    whole = state not in ("input-streaming", "partial-call")
    parts = [Part("call", arguments, own, name, None, value, whole)]
    if isinstance(approval, dict):
        said = _said(approval) if "approved" in approval else {"decision": "pending"}
        parts.append(Part("approval", said, own, "", None, value))
    status = _STATES.get(state)
    if status is not None or output is not None or value.get("errorText"):
        seen = value.get("errorText") if output is None else output
        parts.append(Part("result", seen, own, name, status, value))
    return parts


def _said(value: dict[str, Any]) -> dict[str, Any]:
    said = {"decision": "approve" if value.get("approved") is True else "reject"}
    reason = value.get("reason")
    return {**said, "reason": reason} if isinstance(reason, str) and reason else said


def _named(value: dict[str, Any]) -> tuple[str, str]:
    return first(value, "toolCallId"), text_of(value.get("toolName"))


BLOCKS = {
    "tool-call": tool_call,
    "tool-result": tool_result,
    "tool-error": tool_error,
    "tool-approval-request": approval_request,
    "tool-approval-response": approval_response,
    "dynamic-tool": tool_part,
    "tool-invocation": tool_part,
}
TOOL = "tool-"
"""How the type of a UI part that is a call begins."""
