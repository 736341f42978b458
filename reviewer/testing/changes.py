"""Files in which one member of a call is changed: renamed, nested, of another type, or twice."""

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from reviewer.importing.reader import Reader
from reviewer.testing.reading import Read, read

TWICE = "\ufffctwice"
"""Marks a member that is to stand twice; `written` takes it off."""


def places(value: Any, names: set[str], path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of the objects that name a tool, deepest first; texts that hold JSON are
    steps of their own (None)."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from places(one, names, (*path, name))
        if any(isinstance(one, str) and one in names for one in value.values()):
            yield path
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from places(one, names, (*path, place))
    elif isinstance(value, str) and value[:1] in ("{", "["):
        inner = opened_text(value)
        if inner is not None:
            yield from places(inner, names, (*path, None))


def opened_text(text: str) -> Any:
    """Return the object or list that a text holds as JSON, None when it holds none."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, (dict, list)) else None


HOW = ("renamed", "nested", "listed", "retyped", "repeated")


def change(part: dict[str, Any], how: str, name: str) -> dict[str, Any]:
    """Return the object with one member changed."""
    value = part[name]
    other: Any = 7 if isinstance(value, str) else "text"
    if how == "renamed":
        return {f"{own}X" if own == name else own: one for own, one in part.items()}
    if how == "repeated":
        return {TWICE + name: other, **part}
    new = {"nested": {"inner": value}, "listed": [value], "retyped": other}[how]
    return {**part, name: new}


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return the document with the object at `path` put in its place."""
    if not path:
        return new
    step, *rest = path
    if step is None:
        return written(changed(json.loads(value), tuple(rest), new))
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[step] = changed(value[step], tuple(rest), new)
    return copy


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """Return what is at a path of `places`."""
    for step in path:
        value = json.loads(value) if step is None else value[step]
    return value


def everywhere(document: Any, found: list[tuple[Any, ...]], how: str, name: str) -> Any:
    """Return the document with that member of all these objects changed, the deepest first."""
    for path in found:
        part = at(document, path)
        if name in part:
            document = changed(document, path, change(part, how, name))
    return document


def written(value: Any) -> str:
    """Return the value as JSON, with the members that are to stand twice."""
    return json.dumps(value, ensure_ascii=False).replace(TWICE, "")


GIVEN = frozenset(("arguments", "function", "tool_calls", "tool_call", "actions", "action"))
"""Members of a call that hold what it is given: under another name that is lost, or unread."""
MOST = 30
"""Changes that are tried of one file, drawn with a seed."""


def fewer(
    reader: Reader,
    path: Path,
    document: Any,
    *,
    within: Path | None = None,
    texts: Iterable[str] = (),
    lines: bool = False,
    most: int = MOST,
) -> list[str]:
    """Return the changes of calls after which a file has fewer calls, or calls that are given
    something else, all measured. The document is that of `path`, or of the file `within` its
    folder, and both are written there; `lines` says that each of its parts is a line. `texts` name
    calls that are no more than a text."""

    def put(value: Any) -> Read:
        parts = value if lines else [value]
        text = "".join(f"{written(one)}\n" for one in parts)
        (within or path).write_text(text, encoding="utf-8")
        return read(reader, path)

    before = put(document)
    assert before.unread == 0
    found = list(places(document, {*before.calls, *texts}))
    names = {name: None for place in found for name in at(document, place)}
    assert found, "no call was found in the file"
    tried = [(found, how, name) for name in names for how in HOW]
    single = [([p], how, name) for p in found for name in at(document, p) for how in HOW]
    for place in found:
        last = max((n for n, step in enumerate(place) if isinstance(step, str)), default=None)
        if last is not None:
            single += [([place[:last]], how, place[last]) for how in ("renamed", "nested")]
    random.Random(7).shuffle(single)
    lost = []
    for some, how, name in (*tried, *single[:most]):
        after = put(everywhere(document, some, how, name))
        if after.unread or after.refused > before.refused:
            continue
        same = not before.given - after.given
        if before.calls - after.calls or (how == "renamed" and name in GIVEN and not same):
            where = ".".join(map(str, some[0])) if len(some) == 1 else "everywhere"
            lost.append(f"{how} {name} at {where}")
    return lost
