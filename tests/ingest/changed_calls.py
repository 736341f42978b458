"""Files in which one member of a call is changed: renamed, nested, of another type, or twice."""

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.formats import named
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign, Rejected, by_record
from reviewer.importing.source import Source

TWICE = "\ufffctwice"
"""Marks a member that is to stand twice; `written` takes it off."""


class Read(NamedTuple):
    """What a reader made of a file: the calls of all its attempts, how many attempts are not
    measured, how many records it refused by name, and the calls with what they were given."""

    calls: Counter[str]
    unread: int
    refused: int
    given: Counter[tuple[str, str]]


def read(name: str, path: Path) -> Read:
    reader = named(name)
    if by_record(reader):
        return _counted([_record(reader, path.read_bytes())])
    try:
        return _counted(list(reader.traces(Source(path, "", reader.companions(path)))))
    except Unreadable:
        return Read(Counter(), 0, 1, Counter())


def _record(reader: Any, raw: bytes) -> Foreign | Broken:
    try:
        return reader.read(raw, "c")
    except Rejected as error:
        return Broken(error.codes)


def _counted(attempts: list[Foreign | Broken]) -> Read:
    calls: Counter[str] = Counter()
    given: Counter[tuple[str, str]] = Counter()
    unread = 0
    for one in attempts:
        if isinstance(one, Foreign):
            record = json.loads(one.raw)
            unread += bool(record.get("unread"))
            made = [event for event in record["events"] if event["kind"] == "tool_call"]
            calls.update(event["tool"] for event in made)
            given.update((event["tool"], json.dumps(event["arguments"])) for event in made)
    return Read(calls, unread, sum(isinstance(one, Broken) for one in attempts), given)


def places(value: Any, names: set[str], path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of the objects that name a tool, deepest first; texts that hold JSON are steps of
    their own (None)."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from places(one, names, (*path, name))
        if any(isinstance(one, str) and one in names for one in value.values()):
            yield path
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from places(one, names, (*path, place))
    elif isinstance(value, str) and value[:1] in ("{", "["):
        inner = _opened(value)
        if inner is not None:
            yield from places(inner, names, (*path, None))


def _opened(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, (dict, list)) else None


HOW = ("renamed", "nested", "listed", "retyped", "repeated")


def change(part: dict[str, Any], how: str, name: str) -> dict[str, Any]:
    """The object with one member changed."""
    value = part[name]
    other: Any = 7 if isinstance(value, str) else "text"
    if how == "renamed":
        return {f"{own}X" if own == name else own: one for own, one in part.items()}
    if how == "repeated":
        return {TWICE + name: other, **part}
    new = {"nested": {"inner": value}, "listed": [value], "retyped": other}[how]
    return {**part, name: new}


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The document with the object at `path` put in its place."""
    if not path:
        return new
    step, *rest = path
    if step is None:
        return written(changed(json.loads(value), tuple(rest), new))
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[step] = changed(value[step], tuple(rest), new)
    return copy


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = json.loads(value) if step is None else value[step]
    return value


def everywhere(document: Any, found: list[tuple[Any, ...]], how: str, name: str) -> Any:
    """The document with that member of all these objects changed, the deepest first."""
    for path in found:
        part = at(document, path)
        if name in part:
            document = changed(document, path, change(part, how, name))
    return document


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace(TWICE, "")


GIVEN = frozenset(("arguments", "function", "tool_calls", "tool_call", "actions", "action"))
"""Members of a call that hold what it is given: under another name that is lost, or unread."""
MOST = 30
"""Changes that are tried of one file, drawn with a seed."""


def fewer(
    reader: str,
    path: Path,
    document: Any,
    *,
    within: Path | None = None,
    texts: Iterable[str] = (),
    lines: bool = False,
    most: int = MOST,
) -> list[str]:
    """The changes of calls after which a file has fewer calls, or calls that are given something
    else, all measured. The document is that of `path`, or of the file `within` its folder, and
    both are written there; `lines` says that each of its parts is a line. `texts` name calls that
    are no more than a text."""

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
            place = ".".join(map(str, some[0])) if len(some) == 1 else "everywhere"
            lost.append(f"{how} {name} at {place}")
    return lost
