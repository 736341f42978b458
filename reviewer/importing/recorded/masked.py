"""Mask everything from which an episode is made, by one table. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from reviewer.importing.recorded.marks import Marks
from reviewer.importing.recorded.masks import Masks
from reviewer.importing.recorded.offered import Definition
from reviewer.importing.recorded.story import Made, Said, Story
from reviewer.suite.bounded_schema import fits
from reviewer.suite.json_values import same
from reviewer.suite.model import RedactionRules


def _words_of(schema: Any, inside: bool = False) -> list[Any]:
    """Return the parts of a schema that `_masked_schema` masks."""
    if isinstance(schema, list):
        return [held for one in schema for held in _words_of(one)]
    found: list[Any] = []
    for name, held in schema.items() if isinstance(schema, dict) else ():
        if name in _WORDS and not inside:
            found.append(held)
        else:
            found += _words_of(held, not inside and name in ("properties", "$defs"))
    return found


def table(
    stories: Sequence[Story],
    defined: Mapping[str, Definition],
    marks: Marks,
    rules: RedactionRules,
    request: str,
    words: Sequence[Any] = (),
) -> Masks:
    """Return the table of everything that goes into an episode; `words` are facts about it from
    outside its traces."""
    named = {}
    for text in marks.mask:
        value, _, word = text.rpartition("=")
        named[value or word] = word if value else ""
    masks = Masks(rules, named)
    masks.learn(list(words))
    for story in stories:
        for step in story.steps:
            if isinstance(step, Made):
                masks.learn(step.arguments)
                masks.learn(step.answer)
            else:
                masks.learn(step.text)
    masks.learn([request, [one.description for one in defined.values()]])
    masks.learn([_words_of(one.parameters) for one in defined.values()])
    masks.learn([marks.say, list(marks.never_say), list(marks.required)])
    return masks


def masked_story(story: Story, masks: Masks) -> Story:
    steps: list[Said | Made] = []
    for step in story.steps:
        if isinstance(step, Said):
            steps.append(step._replace(text=masks.masked(step.text)))
        else:
            answer = masks.masked(step.answer)
            steps.append(step._replace(arguments=masks.masked(step.arguments), answer=answer))
    return story._replace(steps=tuple(steps), name=masks.masked(story.name))


def masked_marks(marks: Marks, masks: Masks) -> Marks:
    """Return the marks without identifiers, and without the texts that `mask` names."""
    told = {
        name: masks.masked(list(value) if isinstance(value, tuple) else value)
        for name, value in msgspec.structs.asdict(marks).items()
        if name != "mask"
    }
    return msgspec.convert(told, Marks)


def masked_tools(
    tools: Mapping[str, Definition], masks: Masks, before: Story, after: Story
) -> tuple[dict[str, Definition], list[str]]:
    """Return the tools adapted to masked arguments: a schema that accepts the original argument and
    not its stand-in is loosened at that argument."""
    loosened: list[str] = []
    made = {}
    for name, tool in tools.items():
        schema = _masked_schema(tool.parameters, masks)
        properties = dict(schema.get("properties") or {})
        for plain, masked in zip(before.calls, after.calls, strict=True):
            if plain.tool != name:
                continue
            for argument, value in masked.arguments.items():
                told = properties.get(argument)
                changed = not same(plain.arguments.get(argument), value)
                if not changed or not isinstance(told, dict):
                    continue
                if _takes(told, plain.arguments.get(argument)) and not _takes(told, value):
                    properties[argument] = _loose(told)
                    loosened.append(f"{name}.{argument}")
        if properties != (schema.get("properties") or {}):
            schema["properties"] = properties
        description = masks.masked(tool.description)
        made[name] = tool._replace(description=description, parameters=schema)
    return made, list(dict.fromkeys(loosened))


_WORDS = frozenset({"title", "description", "enum", "const", "default", "examples", "example"})
"""Members of a schema that contain words or values; the names of arguments are no identifiers."""


def _masked_schema(schema: Any, masks: Masks, inside: bool = False) -> Any:
    """Return a schema without identifiers. `inside` says that its members are names of
    arguments."""
    if isinstance(schema, list):
        return [_masked_schema(one, masks) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: masks.masked(held)
        if name in _WORDS and not inside
        else _masked_schema(held, masks, not inside and name in ("properties", "$defs"))
        for name, held in schema.items()
    }


def _takes(schema: Mapping[str, Any], value: Any) -> bool:
    try:
        taken = fits(schema, value)
    except Exception:
        return True  # a schema that refers elsewhere or is none: the broker says what is wrong
    # Formats are not part of that check, and a model complies with them.
    masked = isinstance(value, str) and "redacted" in value.lower()
    return taken and not ("format" in schema and masked)


def _loose(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: held for name, held in schema.items() if name in ("title", "description")}
