"""Content blocks without a type: Bedrock Converse and Gemini, which name them by a member."""

from typing import Any

from reviewer.importing.account import Account
from reviewer.importing.draft import Status
from reviewer.importing.messages.calls import given
from reviewer.importing.messages.parts import ANNOTATIONS, Part, first, text_of

_OUTCOME: dict[str, Status] = {"success": "ok", "error": "error"}
_BESIDE = frozenset(("thought", "type", *ANNOTATIONS))


def tool_use(value: dict[str, Any], account: Account) -> list[Part]:
    """Bedrock's `toolUse`."""
    member, arguments = given(value, "input")
    account.read(value, {"toolUseId", "name", "type", member, *ANNOTATIONS}, strict=True)
    account.whole(arguments)
    own, name = first(value, "toolUseId"), text_of(value.get("name"))
    return [Part("call", arguments, own, name, None, value)]


def tool_result(value: dict[str, Any], account: Account) -> list[Part]:
    """Bedrock's `toolResult`."""
    account.read(value, {"toolUseId", "content", "type", *ANNOTATIONS}, strict=True)
    account.whole(value.get("content"))
    status = _OUTCOME.get(text_of(value.get("status")))
    return [Part("result", value.get("content"), first(value, "toolUseId"), "", status, value)]


def function_call(value: dict[str, Any], account: Account) -> list[Part]:
    """Gemini's `functionCall`."""
    member, arguments = given(value, "args", "arguments")
    account.read(value, {"id", "name", "type", member, *ANNOTATIONS}, strict=True)
    account.whole(arguments)
    return [Part("call", arguments, first(value, "id"), text_of(value.get("name")), None, value)]


def function_response(value: dict[str, Any], account: Account) -> list[Part]:
    """Gemini's `functionResponse`."""
    response = value.get("response")
    beside = ("id", "name", "response", "type", "parts", "scheduling", "willContinue")
    account.read(value, {*beside, *ANNOTATIONS}, strict=True)
    account.whole(response, value.get("parts"))
    failed = isinstance(response, dict) and (
        bool(response.get("error")) or response.get("status") == "error"
    )
    status: Status | None = "error" if failed else None
    own = first(value, "id")
    return [Part("result", response, own, text_of(value.get("name")), status, value)]


def executable_code(value: dict[str, Any], account: Account) -> list[Part]:
    """Gemini's own Python: what it ran."""
    account.read(value, {"language", "code", "id", *ANNOTATIONS}, strict=True)
    arguments = {name: value[name] for name in ("language", "code") if name in value}
    return [Part("call", arguments, first(value, "id"), "code_execution", None, value)]


def code_result(value: dict[str, Any], account: Account) -> list[Part]:
    """Return what Gemini's own Python gave."""
    account.read(value, {"outcome", "output", "id", *ANNOTATIONS}, strict=True)
    account.whole(value.get("output"))
    outcome = text_of(value.get("outcome"))
    status: Status | None = "error" if outcome and not outcome.endswith("OK") else None
    if outcome.endswith("DEADLINE_EXCEEDED"):
        status = "timeout"
    own = first(value, "id")
    return [Part("result", value.get("output"), own, "code_execution", status, value)]


def server_call(value: dict[str, Any], account: Account) -> list[Part]:
    """Gemini's `toolCall` of a tool that the provider runs."""
    member, arguments = given(value, "args")
    account.read(value, {"id", "toolType", "name", member, *ANNOTATIONS}, strict=True)
    account.whole(arguments)
    name = first(value, "name", "toolType")
    return [Part("call", arguments, first(value, "id"), name, None, value)]


def server_result(value: dict[str, Any], account: Account) -> list[Part]:
    """Gemini's `toolResponse`."""
    account.read(value, {"id", "toolType", "name", "response", *ANNOTATIONS}, strict=True)
    account.whole(value.get("response"))
    name = first(value, "name", "toolType")
    return [Part("result", value.get("response"), first(value, "id"), name, None, value)]


HELD = {
    "toolUse": tool_use,
    "toolResult": tool_result,
    "functionCall": function_call,
    "function_call": function_call,
    "functionResponse": function_response,
    "function_response": function_response,
    "executableCode": executable_code,
    "executable_code": executable_code,
    "codeExecutionResult": code_result,
    "code_execution_result": code_result,
    "toolCall": server_call,
    "tool_call": server_call,
    "toolResponse": server_result,
    "tool_response": server_result,
}
"""What such a block holds, by its member."""


def held(value: dict[str, Any], account: Account) -> list[Part] | None:
    """The parts of a block without a type; None when it holds none of these."""
    found: list[Part] = []
    names: list[str] = []
    for name, read in HELD.items():
        inner = value.get(name)
        if isinstance(inner, dict):
            names.append(name)
            found += read(inner, account)
    if names:
        account.read(value, {*names, *_BESIDE}, strict=True)
        return found
    return None
