"""Inspect AI logs: `.eval` archives and `.json` documents of every version, read as one format.
This module reads the files of a log, and assembles the parts of one sample from either file format.

An `.eval` log is a ZIP archive with an entry per sample, or several where samples are chunked. A
`.json` log is one object, with its samples in an array that is read one by one. Inspect moves long
texts into attachments (`attachment://<key>`, in the oldest logs `tc://<key>`) and repeated model
inputs into a pool of messages that events refer to.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import msgspec

from reviewer.importing.archive import Archive, EntryProblem
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.formats.base import mapping, sequence
from reviewer.importing.pipeline.split import MAX_RECORD
from reviewer.importing.reader import Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH, Part

# Samples ------------------------------------------------------------------------------------------

_SCHEMES = ("attachment://", "tc://")
_MARKS = tuple(f'"{scheme}'.encode() for scheme in _SCHEMES)
REFERENCES = "at"
"""The first letters of references."""
MISSING = "an attachment is missing in the file: its reference is kept in place of the text"


class Parts(NamedTuple):
    """One sample: its members, its events in order, the messages that its events refer to, the
    texts kept as attachments, and facts about the texts in its bytes (None where unknown)."""

    sample: dict[str, Any]
    events: list[Any]
    pool: list[Any]
    attachments: Mapping[str, Any]
    texts: "Texts | None" = None


_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


class Texts(NamedTuple):
    """Facts about the texts of a sample, from its bytes: texts that may be JSON of an object or a
    list, and the keys of referenced attachments, once per reference."""

    openings: list[str]
    references: list[str]


_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SPELLED = rb"\\(?:/|u00[2-7])"
"""A letter of a reference that is escaped."""
_OPENING = (
    rb'"[ \t-\r\x1c-\x1f]*(?:[\[{\\]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\xaf]'
    rb"|\xe2\x81\x9f|\xe3\x80\x80)"
)
"""The beginning of a text with a bracket, or an escape, after white space."""
MOST_OPENINGS = 4000


@lru_cache(1)
def _searches() -> tuple[Any, Any]:
    import re2  # needed only to read logs

    latin1 = re2.Options()
    latin1.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(_SPELLED, latin1).search, re2.compile(_OPENING, latin1).finditer


def texts_of(raw: bytes) -> Texts | None:
    """Return the facts about a sample's texts from its bytes; None where they cannot be determined
    without parsing."""
    spelled, begun = _searches()
    if spelled(raw) is not None:
        return None
    openings: dict[bytes, str] = {}
    for found in begun(raw):
        start = before = found.start()
        while raw[before - 1 : before] == b"\\":
            before -= 1
        if (start - before) % 2:
            continue  # a quote within a text
        whole = _TEXT.match(raw, start)
        if whole is None or len(openings) == MOST_OPENINGS:
            return None
        written = whole.group()
        if written not in openings:
            try:
                openings[written] = said = msgspec.json.decode(written, type=str)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return None
            if said.startswith(_SCHEMES):
                return None
    referring = [rest for mark in _MARKS for rest in raw.split(mark)[1:]]
    keys = [rest[: rest.find(b'"')].decode("utf-8", "replace") for rest in referring]
    return Texts(list(openings.values()), keys)


def of_one_value(sample: Any, texts: Texts | None = None) -> Parts:
    """Return the parts of a sample that is stored in one piece. Raises Rejected."""
    if not isinstance(sample, dict):
        raise Rejected("type:sample")
    transcript = mapping(sample.get("transcript"))  # before 0.3.42
    data = mapping(sample.get("events_data"))
    return Parts(
        sample,
        sequence(sample.get("events") or transcript.get("events")),
        sequence(data.get("messages") or sample.get("message_pool")),
        mapping(sample.get("attachments") or transcript.get("content")),
        texts,
    )


class Attachments:
    """Replaces references by the attached texts."""

    def __init__(self, attachments: Mapping[str, Any]) -> None:
        self.attachments = attachments
        self.missing = False
        self._left = MAX_RECORD

    def whole(self, value: Any) -> Any:
        """Return `value` with every reference resolved. Raises Rejected when the resolved texts
        together exceed the size of a record: one text may be referred to a million times."""
        if isinstance(value, str):
            return self._text(value) if value.startswith(_SCHEMES) else value
        if isinstance(value, list):
            return [self.whole(one) for one in value]
        if isinstance(value, dict):
            return {name: self.whole(one) for name, one in value.items()}
        return value

    def affords(self, length: int) -> bool:
        """Return whether that many more characters may be inserted for references."""
        return length <= self._left

    def _text(self, reference: str) -> str:
        text = self.attachments.get(reference.partition("://")[2])
        if not isinstance(text, str):
            self.missing = True
            return reference
        self._left -= len(text)
        if self._left < 0:
            raise Rejected(f"too_large: attachments of over {MAX_RECORD >> 20} MiB")
        return text


def picked(pool: Sequence[Any], refs: Any) -> list[Any]:
    """Return the items of `pool` that half-open ranges `[[start, end], …]` name, in that order.
    Raises Rejected for ranges that name far more items than exist."""
    found: list[Any] = []
    for start, end in ranges(refs, len(pool)):
        found += pool[start:end]
        if len(found) > 100_000 + 10 * len(pool):
            raise Rejected("too_large: message_refs")
    return found


def ranges(refs: Any, size: int) -> list[tuple[int, int]]:
    """Return the valid ranges within `size` items."""
    return [
        (one[0], min(one[1], size))
        for one in sequence(refs)
        if isinstance(one, list) and len(one) == 2 and all(type(n) is int and n >= 0 for n in one)
    ]


def plain(name: str) -> str:
    """Return a name from the file in a form that is safe in a note."""
    return re.sub(r"[^A-Za-z0-9_./+-]", "?", name[:60])


# .eval logs ---------------------------------------------------------------------------------------

MOST_TOGETHER, BYTES_TOGETHER = 16, 2 << 20
"""Most samples, and most of their bytes, that one process reads at once."""
START, HEADER = "_journal/start.json", "header.json"
_WHOLE = re.compile(r"samples/.+_epoch_\d+\.json", re.DOTALL)
_SHELL = re.compile(r"(samples/.+_epoch_\d+)/sample\.json", re.DOTALL)
_CHUNK = re.compile(r"(samples/.+_epoch_\d+)/(messages|events|attachments)/(\d{1,12})\.json", re.S)
Load = Callable[[], Parts]


def names_of_log(names: frozenset[str]) -> bool:
    """Return whether an archive with these entries is a log."""
    return START in names or (HEADER in names and any(map(_WHOLE.fullmatch, names)))


class EvalLog:
    """An archive opened for reading. `header` is that of the run; for a run that was killed, the
    one written at its start."""

    def __init__(self, archive: Archive, source: Source) -> None:
        self._archive = archive
        self._source = source
        self._chunks = self._chunked()
        self.cut = archive.cut
        if archive.odd:
            source.notes.add(f"{len(archive.odd)} entries with unsafe names were skipped")
        self.header = self._named(HEADER) or self._named(START)

    def samples(self) -> Iterator[tuple[str, Load]]:
        """Yield (name, how to read it) of every sample, in the archive's order."""
        for name in self._archive.names():
            self.reach(name)
            if (load := self.loading(name)) is not None:
                yield name, load

    def reach(self, name: str) -> None:
        """Record that the archive was read up to this entry."""
        self._source.reached = max(self._source.reached, self._archive.behind(name))

    def loading(self, name: str) -> Load | None:
        """Return how to read the sample of this entry; None for an entry that is no sample."""
        if _WHOLE.fullmatch(name):
            return partial(self._one, name)
        shell = _SHELL.fullmatch(name)
        return shell and partial(self._gathered, shell.group(1))

    def batches(self) -> Iterator[list[str]]:
        """Yield the names of samples, a few at a time, in the archive's order."""
        batch: list[str] = []
        size = 0
        for name in self._archive.names():
            if self.loading(name) is None:
                continue
            batch.append(name)
            size += self._archive.unpacked(name)
            if len(batch) == MOST_TOGETHER or size > BYTES_TOGETHER:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def unpacked(self) -> int:
        """Return the unpacked bytes of all entries, as the archive states them."""
        return sum(map(self._archive.unpacked, self._archive.names()))

    def _named(self, name: str) -> dict[str, Any]:
        """Return a top-level entry, empty when it is missing or cannot be read."""
        if name not in self._archive:
            return {}
        try:
            return mapping(parse(self._archive.read(name)))
        except (EntryProblem, NotJson):
            self._source.notes.add(f"{name} cannot be read")
            return {}

    def _one(self, name: str) -> Parts:
        raw = self._raw(name)
        return of_one_value(self._source.value(raw), texts_of(raw))

    def _raw(self, name: str) -> bytes:
        try:
            return self._archive.read(name, MAX_RECORD)
        except EntryProblem as problem:
            raise Rejected(str(problem)) from None

    def _value(self, name: str) -> tuple[Any, int]:
        """Return (an entry's value, its bytes). Raises Rejected."""
        raw = self._raw(name)
        return self._source.value(raw), len(raw)

    def _chunked(self) -> dict[tuple[str, str], list[tuple[int, str]]]:
        """Return chunks by sample and sequence, ordered by the index of their first item."""
        found: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for name in self._archive.names():
            if chunk := _CHUNK.fullmatch(name):
                prefix, kind, start = chunk.groups()
                found.setdefault((prefix, kind), []).append((int(start), name))
        for chunks in found.values():
            chunks.sort()
        return found

    def _gathered(self, prefix: str) -> Parts:
        """Return a chunked sample. Raises Rejected, also when its entries are too large
        together."""
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


# .json logs ---------------------------------------------------------------------------------------

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
AT_ONCE = 32 << 20
_UNUSED = frozenset({"reductions", "samples"})
_HEAD = frozenset({"eval", "stats"})
"""Where these members precede the samples, as Inspect writes them, so does the whole header."""


class JsonLog:
    """A document. `header` is every member except the samples."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._held = _cut_at_once(source)
        self.header: dict[str, Any] = {}
        for part in self._parts():
            if _is_sample(part) and set(self.header) >= _HEAD:
                break
            self._take(part)

    def samples(self) -> Iterator[tuple[str, Load]]:
        """Yield (name, how to read it) of every sample, in order."""
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
        return of_one_value(self._source.value(part.raw), texts_of(part.raw))


def _cut_at_once(source: Source) -> list[Part] | None:
    """Return the parts of a small document, split at once: three times as fast as the walk. None
    for a larger one, and for one with an error."""
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
