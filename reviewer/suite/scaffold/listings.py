"""Tools from JSON listings: an OpenAI tools array, Anthropic's, MCP's `tools/list`."""

from typing import Any

from reviewer.suite.scaffold import FoundTool, FoundTools, NoTools, found_tool, place

_WAY_OUT = (
    "a listing is an array of tools, or an object with `tools`: OpenAI's, Anthropic's, or what "
    "MCP's tools/list answers"
)

_SCHEMAS = ("parameters", "input_schema", "inputSchema")
_TOLD = (*_SCHEMAS, "description")


def listed(raw: Any) -> Any:
    """Return the array of tools in a document, None where it is not a listing."""
    if isinstance(raw, dict) and isinstance(raw.get("result"), dict):
        raw = raw["result"]  # a JSON-RPC answer
    if isinstance(raw, dict) and "episode_id" not in raw and "messages" not in raw:
        raw = raw.get("tools")
    if not isinstance(raw, list) or not raw:
        return None
    return raw if all(_may_be_tool(each) for each in raw) else None


def _may_be_tool(each: Any) -> bool:
    if not isinstance(each, dict):
        return False
    inner = each.get("function")
    if isinstance(inner, dict):
        return "name" in inner and "arguments" not in inner
    return "name" in each and "role" not in each and any(part in each for part in _TOLD)


def tools_of(raw: list[Any]) -> FoundTools:
    """Return the tools in an array. Raises NoTools, naming the place."""
    notes: list[str] = []
    tools = []
    for number, each in enumerate(raw):
        where = place(number)
        kind = each.get("type")
        if "function" in each:
            each = each["function"]
            where = f"{where}.function"
        elif isinstance(kind, str) and kind not in ("function", "custom", "object"):
            notes.append(f"{where}: a tool of the kind {kind} is the provider's own: left out")
            continue
        tools.append(_tool(where, each))
    if not tools:
        raise NoTools("", "lists no tool", _WAY_OUT)
    return FoundTools(tuple(tools), tuple(notes))


def _tool(where: str, each: dict[str, Any]) -> FoundTool:
    schemas = [each[name] for name in _SCHEMAS if name in each]
    hints = each.get("annotations")
    writes = None
    if isinstance(hints, dict) and isinstance(hints.get("readOnlyHint"), bool):
        writes = not hints["readOnlyHint"]
    parameters = schemas[0] if schemas else None
    return found_tool(where, each.get("name"), each.get("description"), parameters, writes)
