"""`.json` logs: one object, its samples in an array that is read one by one."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from reviewer.importing.formats.inspect_ai.parts import Parts, of_one_value, plain
from reviewer.importing.reader import Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH, Part

Load = Callable[[], Parts]
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
AT_ONCE = 32 << 20
_UNUSED = frozenset({"reductions", "samples"})
_HEAD = frozenset({"eval", "stats"})
"""Where these stand before the samples, as Inspect writes them, all of the header does."""


class JsonLog:
    """A document. `header` is every member beside the samples."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._held = _cut_at_once(source)
        self.header: dict[str, Any] = {}
        for part in self._parts():
            if _is_sample(part) and set(self.header) >= _HEAD:
                break
            self._take(part)

    def samples(self) -> Iterator[tuple[str, Load]]:
        """(name, how to read it) of every sample, in order."""
        for part in self._parts():
            if _is_sample(part) or (part.problem and part.path[:1] in ((), ("samples",))):
                self._source.reached = part.end
                where = f"samples[{part.path[1]}]" if _is_sample(part) else "the document"
                yield where, partial(self._one, part)
            else:
                self._take(part)

    def _parts(self) -> Iterable[Part]:
        return self._source.walk(("samples", EACH)) if self._held is None else self._held

    def _take(self, part: Part) -> None:
        if not part.path or _is_sample(part):
            return
        name = str(part.path[0])
        if part.problem:
            self._source.notes.add(f"its member {plain(name)} cannot be read")
        elif name == "reductions":
            self.header[name] = len(part.raw) > len("[null]")
        elif name not in _UNUSED:
            try:
                self.header[name] = self._source.value(part.raw)
            except Rejected:
                self._source.notes.add(f"its member {plain(name)} cannot be read")

    def _one(self, part: Part) -> Parts:
        if part.problem:
            raise Rejected(part.problem)
        return of_one_value(self._source.value(part.raw))


def _cut_at_once(source: Source) -> list[Part] | None:
    """The parts of a small document, cut in one go: three times as fast as the walk. None for a
    larger one, and for one with something wrong in it."""
    with source.open() as handle:
        raw = handle.read(AT_ONCE + 1)
    if len(raw) > AT_ONCE:
        return None
    try:
        members = _members(raw)
        samples = _elements(members.get("samples", msgspec.Raw(b"[]")))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found = [Part((name,), bytes(value), "", 0) for name, value in members.items()]
    end = 0
    for number, sample in enumerate(samples):
        text = bytes(sample)
        end += len(text)
        found.append(Part(("samples", number), text, "", end))
    return [part for part in found if part.path != ("samples",)]


def _is_sample(part: Part) -> bool:
    return len(part.path) == 2 and part.path[0] == "samples"
