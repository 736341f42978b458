"""The records of a JSON document, or of JSON lines, of annotations."""

from collections.abc import Iterable, Iterator
from typing import Any

from reviewer.importing.annotations import BadFile, BadRecord
from reviewer.importing.foreign_json import NOT_UTF8, REPEATED, NotJson, parse

_UNCERTAIN = {
    REPEATED: "states a member of an object twice: nothing says which one holds",
    NOT_UTF8: "has bytes that are not UTF-8",
}


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
    notes: set[str] = set()
    try:
        value = parse(data, notes)
    except (NotJson, RecursionError):
        yield from _lines(data)
        return
    if why := _uncertain(notes):
        raise BadFile(why, "export the file again")
    yield from enumerate(value if isinstance(value, list) else [value], 1)


def _lines(data: bytes) -> Iterator[tuple[int, Any]]:
    lines = [line for line in data.split(b"\n") if line.strip()]
    if len(lines) < 2:
        raise BadFile("is no JSON", "export the file again as JSON, JSON lines or CSV")
    for number, line in enumerate(lines, 1):
        notes: set[str] = set()
        try:
            value = parse(line, notes)
        except (NotJson, RecursionError):
            yield number, BadRecord(number, "is no JSON")
            continue
        why = _uncertain(notes)
        yield number, BadRecord(number, why) if why else value


def _uncertain(notes: set[str]) -> str | None:
    """Return why JSON does not say who gave which answer, or None."""
    return next((why for note, why in _UNCERTAIN.items() if note in notes), None)


def loaded(value: Any) -> Any:
    """Return the value of a text that is itself JSON; any other value unchanged. Raises BadFile for
    JSON that does not say who gave which answer."""
    if not (isinstance(value, str) and value[:1] in ("{", "[")):
        return value
    notes: set[str] = set()
    try:
        found = parse(value.encode("utf-8", "replace"), notes)
    except (NotJson, RecursionError):
        return value
    if why := _uncertain(notes):
        raise BadFile(f"has a JSON text that {why}", "export the file again")
    return found


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
