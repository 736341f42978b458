"""`.eval` logs: a ZIP archive with an entry per sample, or several where samples are chunked."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from reviewer.importing.archive import Archive, EntryProblem
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.formats.inspect_ai.parts import (
    Parts,
    mapping,
    of_one_value,
    picked,
    sequence,
)
from reviewer.importing.reader import Rejected
from reviewer.importing.source import Source
from reviewer.importing.split import MAX_RECORD

START, HEADER = "_journal/start.json", "header.json"
_WHOLE = re.compile(r"samples/.+_epoch_\d+\.json", re.DOTALL)
_SHELL = re.compile(r"(samples/.+_epoch_\d+)/sample\.json", re.DOTALL)
_CHUNK = re.compile(r"(samples/.+_epoch_\d+)/(messages|events|attachments)/(\d{1,12})\.json", re.S)
Load = Callable[[], Parts]


def names_of_log(names: frozenset[str]) -> bool:
    """Whether an archive with these entries is a log."""
    return START in names or (HEADER in names and any(map(_WHOLE.fullmatch, names)))


class EvalLog:
    """An archive opened for reading. `header` is that of the run; of one that was killed, what
    was written at its start."""

    def __init__(self, archive: Archive, source: Source) -> None:
        self._archive = archive
        self._source = source
        self._chunks = self._chunked()
        self.cut = archive.cut
        if archive.odd:
            source.notes.add(f"{len(archive.odd)} entries with unsafe names were passed over")
        self.header = self._named(HEADER) or self._named(START)

    def samples(self) -> Iterator[tuple[str, Load]]:
        """(name, how to read it) of every sample, in the archive's order."""
        for name in self._archive.names():
            self._source.reached = max(self._source.reached, self._archive.behind(name))
            if _WHOLE.fullmatch(name):
                yield name, partial(self._one, name)
            elif shell := _SHELL.fullmatch(name):
                yield name, partial(self._gathered, shell.group(1))

    def _named(self, name: str) -> dict[str, Any]:
        """A top-level entry, empty when it is not there or cannot be read."""
        if name not in self._archive:
            return {}
        try:
            return mapping(parse(self._archive.read(name)))
        except (EntryProblem, NotJson):
            self._source.notes.add(f"{name} cannot be read")
            return {}

    def _one(self, name: str) -> Parts:
        return of_one_value(self._value(name)[0])

    def _value(self, name: str, most: int = MAX_RECORD) -> tuple[Any, int]:
        """(an entry's value, its bytes). Raises Rejected."""
        try:
            raw = self._archive.read(name, most)
        except EntryProblem as problem:
            raise Rejected(str(problem)) from None
        return self._source.value(raw), len(raw)

    def _chunked(self) -> dict[tuple[str, str], list[tuple[int, str]]]:
        """Chunks by sample and sequence, in order of the index of their first item."""
        found: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for name in self._archive.names():
            if chunk := _CHUNK.fullmatch(name):
                prefix, kind, start = chunk.groups()
                found.setdefault((prefix, kind), []).append((int(start), name))
        for chunks in found.values():
            chunks.sort()
        return found

    def _gathered(self, prefix: str) -> Parts:
        """A chunked sample. Raises Rejected, also when its entries are too large together."""
        sample, left = self._value(f"{prefix}/sample.json")
        left = MAX_RECORD - left
        if not isinstance(sample, dict):
            raise Rejected("type:sample")
        if (name := f"{prefix}/metadata.json") in self._archive:
            sample["metadata"], size = self._value(name)
            left -= size
        items: dict[str, list[Any]] = {}
        for kind in ("messages", "events", "attachments"):
            items[kind] = []
            for start, name in self._chunks.get((prefix, kind), ()):
                if start != len(items[kind]):
                    raise Rejected(f"missing:{kind}[{len(items[kind])}]")
                value, size = self._value(name)
                left -= size
                if left < 0:
                    raise Rejected(f"too_large: over {MAX_RECORD >> 20} MiB")
                items[kind] += sequence(value)
        sample["messages"] = picked(items["messages"], sample.pop("message_refs", None))
        attached = {str(n): text for n, text in enumerate(items["attachments"])}
        return Parts(sample, items["events"], items["messages"], attached)
