"""Read a file with one reader, outside an import, and count what it made of it."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign, Reader, Rejected, by_document, by_record
from reviewer.importing.source import Source

CANDIDATE = "candidate"


class Read(NamedTuple):
    """What a reader made of a file: the calls of all its attempts, how many attempts are not
    measured, how many records it refused by name, and the calls with what they were given."""

    calls: Counter[str]
    unread: int
    refused: int
    given: Counter[tuple[str, str]]


def attempts(reader: Reader, path: Path) -> Iterator[Foreign | Broken]:
    """Yield every attempt of a file, as an import asks the reader for it. Raises OSError and
    Unreadable where nothing more can be had."""
    if by_record(reader):
        for piece in Source(path).pieces():
            if piece.problem:
                yield Broken((piece.problem,))
                continue
            try:
                yield reader.read(piece.raw, CANDIDATE)
            except Rejected as error:
                yield Broken(error.codes)
    elif by_document(reader):
        yield from reader.traces(Source(path, "", reader.companions(path)))


def read(reader: Reader, path: Path) -> Read:
    """Return the counts of a file; a file that cannot be read at all is one refused record."""
    try:
        return counted(list(attempts(reader, path)))
    except Unreadable:
        return Read(Counter(), 0, 1, Counter())


def counted(found: list[Foreign | Broken]) -> Read:
    """Return the counts of these attempts."""
    calls: Counter[str] = Counter()
    given: Counter[tuple[str, str]] = Counter()
    unread = 0
    for one in found:
        if isinstance(one, Foreign):
            record = json.loads(one.raw)
            unread += bool(record.get("unread"))
            made = [event for event in record["events"] if event["kind"] == "tool_call"]
            calls.update(event["tool"] for event in made)
            given.update((event["tool"], json.dumps(event["arguments"])) for event in made)
    return Read(calls, unread, sum(isinstance(one, Broken) for one in found), given)
