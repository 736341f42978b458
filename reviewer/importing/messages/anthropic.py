"""Content blocks of Anthropic's Messages API."""

from typing import Any

from reviewer.importing.account import Account
from reviewer.importing.draft import Status
from reviewer.importing.messages.calls import given
from reviewer.importing.messages.parts import ANNOTATIONS, Part, first, text_of

_CALL = frozenset(("type", "id", "name", *ANNOTATIONS))
_RESULT = frozenset(("type", "tool_use_id", "content", "is_error", "name", *ANNOTATIONS))


def tool_use(value: dict[str, Any], account: Account) -> list[Part]:
    """`tool_use`, `server_tool_use`, `mcp_tool_use`."""
    member, arguments = given(value, "input", "partial_json")
    account.read(value, {*_CALL, "input", "partial_json", member}, strict=True)
    account.whole(arguments)
    return [Part("call", arguments, first(value, "id"), text_of(value.get("name")), None, value)]


def tool_result(value: dict[str, Any], account: Account) -> list[Part]:
    """`tool_result` and `…_tool_result` of the provider's own tools."""
    content = value.get("content")
    account.read(value, _RESULT, strict=True)
    account.whole(content)
    kind = content.get("type") if isinstance(content, dict) else None
    failed = value.get("is_error") is True or text_of(kind).endswith("_error")
    status: Status | None = "error" if failed else None
    own = first(value, "tool_use_id")
    return [Part("result", content, own, text_of(value.get("name")), status, value)]


BLOCKS = {
    "tool_use": tool_use,
    "server_tool_use": tool_use,
    "mcp_tool_use": tool_use,
    "tool_result": tool_result,
    "mcp_tool_result": tool_result,
}
RESULT = "_tool_result"
"""How the types of results of the provider's own tools end."""
