"""Every text in a file somebody else made, whatever its shape: strings of JSON, or lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.opening import opened, refused, start_of
from reviewer.importing.split import MAX_RECORD, Unreadable, pieces_of

PARSED_IN = 4
"""JSON within strings of JSON is read so many times over: arguments and bodies are kept so."""


class Text(NamedTuple):
    """One text: the number of its record, from 1, its JSON Pointer there ("" in a file of lines),
    and what it says. With `problem` instead: why the record has none."""

    record: int
    pointer: str
    text: str
    problem: str = ""


def texts_of(path: Path) -> Iterator[Text]:
    """All texts in order; a record that is no JSON costs itself, one without a text gives none.

    A file that starts like JSON is read as records; any other as lines. Compressed files are
    unpacked. Raises OSError, Unreadable when the file cannot be read (further).
    """
    start = start_of(path, 65536)
    if problem := refused(start[:64]):
        raise Unreadable(problem)
    if not start:
        raise Unreadable("empty: no text in it")
    with opened(path) as handle:
        if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
            for piece in pieces_of(handle):
                yield from _of_record(piece.number, piece.raw, piece.problem)
        else:
            yield from _lines(handle)


def _lines(handle: Any) -> Iterator[Text]:
    number = 0
    while line := handle.readline(MAX_RECORD):
        number += 1
        if b"\0" in line:
            raise Unreadable("neither JSON nor UTF-8 text")
        text = line.decode("utf-8-sig", "replace").strip()
        if text:
            yield Text(number, "", text)


def _of_record(number: int, raw: bytes, problem: str) -> Iterator[Text]:
    if problem:
        yield Text(number, "", "", problem)
        return
    try:
        value = parse(raw)
    except NotJson as error:
        yield Text(number, "", "", str(error))
        return
    yield from (Text(number, pointer, text) for pointer, text in _strings(value, "", PARSED_IN))


def _strings(value: Any, pointer: str, inner: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield pointer, value
        if inner and value[:1] in "{[" and len(value) > 1:
            try:
                held = parse(value.encode("utf-8", "surrogatepass"))
            except (NotJson, UnicodeError):
                return
            yield from _strings(held, pointer, inner - 1)
    elif isinstance(value, dict):
        for key, held in value.items():
            step = key.replace("~", "~0").replace("/", "~1")
            yield from _strings(held, f"{pointer}/{step}", inner)
    elif isinstance(value, list):
        for at, held in enumerate(value):
            yield from _strings(held, f"{pointer}/{at}", inner)
