"""A server's answer to a call, checked against the protocol and the schema that the tool
declares."""

from typing import Any

from reviewer.running.model import Answer
from reviewer.running.server.listing import Listed
from reviewer.running.server.rpc import Broken
from reviewer.suite.errors import ContractError, json_path, shown
from reviewer.suite.json_values import JSON_TYPES, Path, same
from reviewer.suite.strict_json import loads, type_name

_TEXTS = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
}
"""Kind of a content block → its members that must be texts. `resource` is handled separately."""


def answer_of(result: dict[str, Any], tool: Listed) -> Answer:
    """Return the answer in a `tools/call` result. Its content is the structured content; else the
    text, where there is nothing else; else the blocks. Raises Broken."""
    blocks, structured, failed = _parts(result, tool.name)
    if failed:
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        return Answer("error", {"error": "\n".join(texts) or "the tool failed"})
    if tool.output is not None:
        if structured is None:
            told = "declares an outputSchema and gives no structuredContent"
            raise Broken(f"{_call(tool.name)}: {told}")
        place = misfit(structured, tool.output, tool.output, ("result", "structuredContent"))
        if place is not None:
            where = json_path(place)
            raise Broken(f"{_call(tool.name)}: {where} does not match its own outputSchema")
    if structured is not None:
        return Answer("ok", structured)
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return Answer("ok", blocks[0]["text"])
    return Answer("ok", {"content": blocks} if blocks else None)


def state_in_answer(result: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the state in a `tools/call` result. Raises Broken for a result without one."""
    blocks, structured, failed = _parts(result, name)
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    if failed:
        raise Broken(f"{_call(name)}: the state cannot be read: {shown(' '.join(texts), 200)}")
    if structured is not None:
        return structured
    if len(blocks) != 1 or not texts:
        raise Broken(f"{_call(name)}: $.result must be one text, the state as JSON")
    return _state(texts[0], _call(name))


def state_in_resource(result: dict[str, Any], uri: str) -> dict[str, Any]:
    """Return the state in a `resources/read` result. Raises Broken for a result without one."""
    place = f"resources/read of {shown(uri, 200)}"
    contents = result.get("contents")
    one = contents[0] if isinstance(contents, list) and len(contents) == 1 else None
    if not isinstance(one, dict) or not isinstance(one.get("text"), str):
        raise Broken(f"{place}: $.result.contents must be one text, the state as JSON")
    return _state(one["text"], place)


def misfit(value: Any, schema: Any, root: dict[str, Any], place: Path) -> Path | None:
    """Return where a value does not match a schema, by what can be decided in one pass over the
    value: `type`, `const`, `enum`, `required`, `properties`, `additionalProperties`, `items` and
    local references. The schema comes from elsewhere, so neither patterns nor combinations are
    evaluated."""
    schema = _resolved(schema, root)
    if schema is False:
        return place
    if not isinstance(schema, dict):
        return None
    kinds = schema.get("type")
    named = [kinds] if isinstance(kinds, str) else _few(kinds)
    known = [kind for kind in named if isinstance(kind, str) and kind in JSON_TYPES]
    if known and len(known) == len(named) and not any(JSON_TYPES[kind](value) for kind in known):
        return place
    if "const" in schema and not same(schema["const"], value):
        return place
    allowed = _few(schema.get("enum"))
    if allowed and not any(same(each, value) for each in allowed):
        return place
    if isinstance(value, dict):
        return _misfit_member(value, schema, root, place)
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            below = misfit(item, schema["items"], root, (*place, i))
            if below is not None:
                return below
    return None


def _misfit_member(
    value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], place: Path
) -> Path | None:
    required, properties = schema.get("required"), schema.get("properties")
    for name in required if isinstance(required, list) else ():
        if isinstance(name, str) and name not in value:
            return (*place, name)
    known = properties if isinstance(properties, dict) else {}
    others = schema.get("additionalProperties", True)
    if "patternProperties" in schema:
        others = True
    for name, part in value.items():
        below = misfit(part, known.get(name, others), root, (*place, name))
        if below is not None:
            return below
    return None


_MOST_STEPS = 20
_MOST_WORDS = 100
_LONGEST_REFERENCE = 200


def _few(words: Any) -> list[Any]:
    """Return a list that is short enough to be tried at every place of a value, else an empty
    one."""
    return words if isinstance(words, list) and len(words) <= _MOST_WORDS else []


def _resolved(schema: Any, root: dict[str, Any]) -> Any:
    """Return the part of the schema that a local reference names; True for a reference that names
    none."""
    for _ in range(_MOST_STEPS):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str):
            return schema
        if not reference.startswith("#") or len(reference) > _LONGEST_REFERENCE:
            return True
        schema = root
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(schema, dict) or name not in schema:
                return True
            schema = schema[name]
    return True


def _parts(
    result: dict[str, Any], name: str
) -> tuple[list[dict[str, Any]], dict[str, Any] | None, bool]:
    """Return the blocks, the structured content and whether the tool failed."""
    place = _call(name)
    blocks, structured = result.get("content"), result.get("structuredContent")
    failed = result.get("isError", False)
    if not isinstance(blocks, list):
        raise Broken(f"{place}: $.result.content must be a list, not {type_name(blocks)}")
    for i, block in enumerate(blocks):
        where = _block_problem(block)
        if where is not None:
            at = json_path(("result", "content", i, *where))
            raise Broken(f"{place}: {at} does not follow the protocol")
    if structured is not None and not isinstance(structured, dict):
        told = type_name(structured)
        raise Broken(f"{place}: $.result.structuredContent must be an object, not {told}")
    if not isinstance(failed, bool):
        raise Broken(f"{place}: $.result.isError must be true or false, not {type_name(failed)}")
    return blocks, structured, failed


def _block_problem(block: Any) -> Path | None:
    if not isinstance(block, dict):
        return ()
    kind = block.get("type")
    if kind == "resource":
        held = block.get("resource")
        if not isinstance(held, dict) or not isinstance(held.get("uri"), str):
            return ("resource",)
        told = isinstance(held.get("text"), str) or isinstance(held.get("blob"), str)
        return None if told else ("resource",)
    if not isinstance(kind, str) or kind not in _TEXTS:
        return ("type",)
    return next(((name,) for name in _TEXTS[kind] if not isinstance(block.get(name), str)), None)


def _state(text: str, place: str) -> dict[str, Any]:
    try:
        state = loads(text.encode(), "")
    except (ContractError, UnicodeEncodeError) as error:
        reason = "not UTF-8"
        if isinstance(error, ContractError):
            reason = f"{error.path}: {error.reason}"
        raise Broken(f"{place}: the state is not JSON: {reason}") from None
    if not isinstance(state, dict):
        raise Broken(f"{place}: the state must be an object, not {type_name(state)}")
    return state


def _call(name: str) -> str:
    return f"tools/call of {shown(name)}"
