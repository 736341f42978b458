"""What of the spans of an episode could be an act and was told by nobody.

Every attribute and event of every span is gone through, whatever the span is for: a call in a
second choice, under another role, in metadata, in a span of a kind nobody knows. What repeats a
call that was told is a copy: instrumentations write each several times.
"""

import re
from collections.abc import Container
from typing import Any

from reviewer.importing.draft import Draft
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats._spans.content import numbered
from reviewer.importing.formats._spans.kinds import unknown_kind
from reviewer.importing.formats._spans.tools import TOLD_BY_TOOLS
from reviewer.importing.formats._spans.tree import Tree
from reviewer.importing.formats._spans.value import Attributes, Span
from reviewer.importing.rest import tell_rest
from reviewer.trace.strictjson import Repeated

HARMLESS = frozenset(
    (
        # the definitions of the tools that are offered, not calls of them
        *("gen_ai.tool.definitions", "llm.tools", "ai.prompt.tools", "llm.request.functions"),
        *("model_request_parameters", "tools", "functions", "input_tools", "function_declarations"),
        *("logfire.json_schema",),
        # how the model was asked: settings of the request
        *("llm.invocation_parameters", "tool_choice", "toolChoice", "ai.prompt.toolChoice"),
        # what stands around a call of the network, and what broke
        *("http.request.header", "http.response.header", "exception.stacktrace", "stacktrace"),
    )
)
"""Attributes and members that hold no act, each for the reason above it."""

_NAMED = re.compile(
    r"(?:^|[._])tool(?:_call|Call)?[._]?(?:name|call[._]id|arguments|args|input|parameters)\Z",
    re.IGNORECASE,
)
_FLAT = re.compile(r"\.\d{1,9}(?:\.|\Z)")
_STEPS = 12
_DEEP = 4
_MOST = 1 << 20


def account_for(tree: Tree, draft: Draft) -> None:
    """Enter into the draft what the agent's spans hold and nobody told."""
    for span in tree.own:
        place = f"spans[{span.name[:60] or span.id}]"
        if (declared := unknown_kind(span)) and not tree.kind(span):
            draft.unread(f"{place}.{declared}")
        elif not tree.kind(span) and _acts(span):
            draft.unread(f"{place}.attributes")
        read = TOLD_BY_TOOLS if tree.kind(span) == "tool" else ()
        tell_rest(opened(span.attributes, read), draft, place, HARMLESS)
        for event in span.events:
            where = f"{place}.{event.name[:60]}"
            tell_rest(opened(event.attributes), draft, where, HARMLESS)


def _acts(span: Span) -> bool:
    """Return whether a span of no kind names a tool or what it is given."""
    return any(_NAMED.search(name) for name in span.attributes)


def opened(attributes: Attributes, read: Container[str] = ()) -> dict[str, Any]:
    """Attributes as an object, less those that were `read`: what is flattened with numbers
    (`prefix.0.role`) is nested, and texts that hold JSON are opened."""
    root: dict[str, Any] = {}
    for name, value in attributes.items():
        if name in HARMLESS or name in read:
            continue
        steps = _steps(name)
        if steps is None:
            root[name if name not in root else name + "."] = _value(value)
            continue
        node = root
        for step in steps[:-1]:
            inner = node.setdefault(step, {})
            if not isinstance(inner, dict):
                inner = node[step + "."] = {}
            node = inner
        node[steps[-1] if steps[-1] not in node else steps[-1] + "."] = _value(value)
    return {
        name: _unwrapped(numbered(value)) if isinstance(value, (dict, list)) else value
        for name, value in root.items()
    }


_known: dict[str, list[str] | None] = {}
_MEMO = 4096
_LONGEST = 200


def _steps(name: str) -> list[str] | None:
    """The steps of a flattened name, None for one that is not."""
    try:
        return _known[name]
    except KeyError:
        steps = name.split(".", _STEPS) if _FLAT.search(name) else None
        if len(_known) < _MEMO and len(name) <= _LONGEST:
            _known[name] = steps
        return steps


def _value(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "[", '"') and len(value) <= _MOST:
        parsed = parse_text(value) if depth < _DEEP else None
        if isinstance(parsed, (dict, list, str)) and parsed != value:
            return _value(parsed, depth + 1)
    return value


def _unwrapped(value: Any) -> Any:
    """Without OpenInference's wrappers: `{"tool_call": {...}}`, `{"message": {...}}`."""
    if isinstance(value, list):
        return [_unwrapped(one) for one in value]
    if not isinstance(value, dict) or isinstance(value, Repeated):
        return value
    if len(value) == 1:
        ((name, inner),) = value.items()
        if name in ("tool_call", "message", "message_content") and isinstance(inner, dict):
            return _unwrapped(inner)
    return {name: _unwrapped(one) for name, one in value.items()}
