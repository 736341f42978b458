"""What a limit on the size of attributes cut off. SDKs, collectors and back ends shorten long texts
without a mark: of messages that are JSON in one text, the rest and the calls in it are missing."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from reviewer.importing.foreign_json import NotJson, glance
from reviewer.importing.formats.otel import Span
from reviewer.importing.formats.otel.messages import CALLED, INPUTS, OUTPUTS, nested
from reviewer.importing.formats.otel.tree import Call

_OBJECTS = re.compile(r'\s*(?:\[\s*)?\{\s*"')
_BLOCKS = re.compile(r'\s*\[\s*\{\s*"type"')
_HISTORY = ("pydantic_ai.all_messages", "all_messages_events")


def cut_of_call(call: Call) -> Iterator[str]:
    """Yield the attributes with the messages of a model's call that are cut off in all spans that
    describe it."""
    spans = (call.span, *call.around)
    for names in (INPUTS, OUTPUTS):
        yield from _cut([found for span in spans if (found := _source(span, names))])
    yield from (name for span in spans for name in CALLED if _is_cut(span.attributes.get(name)))


def cut_of_run(span: Span) -> Iterator[str]:
    """Yield the attributes with the messages of a whole run that are cut off."""
    for names in (_HISTORY, INPUTS, OUTPUTS):
        yield from _cut([found for found in (_source(span, names),) if found])


def _cut(sources: Sequence[tuple[str, bool]]) -> Iterator[str]:
    if all(cut for _, cut in sources):
        yield from (name for name, _ in sources[:1])


def _source(span: Span, names: Sequence[str]) -> tuple[str, bool] | None:
    """Return the first of these attributes that a span has, and whether it is cut off."""
    for name in names:
        if name.endswith(".*"):
            if listed := nested(span.attributes, name[:-2]):
                return name[:-2], any(map(_blocks_cut, listed))
        elif (value := span.attributes.get(name)) not in (None, ""):
            return name, _is_cut(value)
    events = [event for event in span.events if event.name.startswith("gen_ai.")]
    if not events:
        return None
    return events[0].name, any(_is_cut(one) for e in events for one in e.attributes.values())


def _blocks_cut(message: Any) -> bool:
    """Return whether blocks that a flattened message has as the text of its content are cut off."""
    held = message.get("message", message) if isinstance(message, dict) else {}
    content = held.get("content") if isinstance(held, dict) else None
    return isinstance(content, str) and bool(_BLOCKS.match(content)) and _is_cut(content)


def _is_cut(value: Any) -> bool:
    """Return whether a text begins as JSON of objects and does not end as it."""
    if not isinstance(value, str) or not _OBJECTS.match(value):
        return False
    if value.rstrip()[-1:] not in ("]", "}"):
        return True
    try:
        glance(value.encode("utf-8", "replace"))
    except NotJson:
        return True
    return False
