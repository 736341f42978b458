"""The records of a JSON document, or of JSON lines, of annotations."""

from collections.abc import Iterable, Iterator
from typing import Any

from reviewer.importing.annotations import BadFile, BadRecord
from reviewer.importing.foreign_json import NotJson, parse


def objects_of(data: bytes) -> Iterator[dict[str, Any] | BadRecord]:
    """Yield each object: the elements of a list, the document itself, or each line; anything else
    is a BadRecord with its number. Raises BadFile where there is no object."""
    if not data.strip():
        raise BadFile("is empty: there is no annotation in it", "export the file again")
    for number, value in _values(data):
        if isinstance(value, dict | BadRecord):
            yield value
        else:
            yield BadRecord(number, "is no object")


def _values(data: bytes) -> Iterator[tuple[int, Any]]:
    try:
        value = parse(data)
    except (NotJson, RecursionError):
        yield from _lines(data)
        return
    yield from enumerate(value if isinstance(value, list) else [value], 1)


def _lines(data: bytes) -> Iterator[tuple[int, Any]]:
    lines = [line for line in data.split(b"\n") if line.strip()]
    if len(lines) < 2:
        raise BadFile("is no JSON", "export the file again as JSON, JSON lines or CSV")
    for number, line in enumerate(lines, 1):
        try:
            yield number, parse(line)
        except (NotJson, RecursionError):
            yield number, BadRecord(number, "is no JSON")


def loaded(value: Any) -> Any:
    """Return the value of a text that is itself JSON; any other value unchanged."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return parse(value.encode("utf-8", "replace"))
        except (NotJson, RecursionError):
            return value
    return value


def word(value: Any) -> str:
    """Return a text of a foreign record; empty for any other value."""
    return value.strip() if isinstance(value, str) else ""


def forms(values: Iterable[Any]) -> tuple[str, ...]:
    """Return the forms of an answer, each once: texts, numbers, true and false."""
    found: list[str] = []
    for value in values:
        if isinstance(value, bool):
            found.append("true" if value else "false")
        elif isinstance(value, float):
            found.append(str(int(value)) if value.is_integer() else repr(value))
        elif isinstance(value, int):
            found.append(str(value))
        elif word(value):
            found.append(word(value))
    return tuple(dict.fromkeys(found))
