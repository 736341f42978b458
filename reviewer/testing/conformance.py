"""The rules of a reader, each tried on real files of its format.

A reader that drops what it cannot read makes a bad agent pass, so most rules are about what a
reader must not do: raise anything but a refusal, repeat a raw identifier, lose a call without
saying so, hold a whole file in memory.
"""

import json
import os
import shutil
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.facts import FormatFacts
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken as BrokenRecord
from reviewer.importing.reader import Foreign, Reader, by_document, by_record
from reviewer.testing.changes import fewer, opened_text
from reviewer.testing.mutants import CANARIES, Mutator
from reviewer.testing.reading import attempts, read
from reviewer.trace.validate import DecodeError, decode

REFUSALS = (Unreadable, OSError)
CUTS = 64
MOST_LINES = 40
"""Lines of a file that are damaged, one at a time."""
MUTANTS = 200
SEED = 7
MANY_BYTES = 8 << 20
"""The larger of two files by which growth of memory is measured; the other has an eighth of it."""
MOST_AROUND = 12
"""Characters that a text which names a tool may hold beside the name."""
MOST_OF_FILE = 0.25
"""Of the bytes that a file grows by, what memory may grow by: attempts come one at a time."""
OTHERS: dict[str, bytes] = {
    "an empty file": b"",
    "text": b"hello\n",
    "an empty object": b"{}\n",
    "an empty list": b"[]\n",
    "one of our own records": b'{"episode_id":"e","candidate_id":"c","events":[]}\n',
}

Many = Callable[[Path, int], None]
"""Write a file of the format with that many attempts."""


class Broken(NamedTuple):
    """A rule that a reader breaks, and where."""

    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"


def check_reader(
    reader: Reader, *files: str | Path, many: Many | None = None, mutants: int = MUTANTS
) -> None:
    """Raise AssertionError with each rule that the reader breaks on these files.

    `files` are real files of the format, each with at least one call of a tool in all of them
    together. `many` writes a file with a given number of attempts: with it, memory is measured.
    """
    found = broken_rules(reader, *files, many=many, mutants=mutants)
    assert not found, "\n".join(map(str, found))


def broken_rules(
    reader: Reader, *files: str | Path, many: Many | None = None, mutants: int = MUTANTS
) -> tuple[Broken, ...]:
    """Return the rules that a reader breaks; empty when it keeps them all. Takes the arguments of
    `check_reader`."""
    paths = tuple(Path(file) for file in files)
    if not paths:
        raise ValueError("name at least one real file of the format")
    if shape := tuple(_shape(reader)):
        return shape
    found: list[Broken] = [*_others(reader)]
    for path in paths:
        whole = list(_whole(reader, path))
        found += whole
        if not whole:  # what cannot be read whole says nothing about its mutants
            with _Copy(path) as copy:
                found += _cut(reader, copy)
                found += _damaged(reader, copy)
                found += _mutated(reader, copy, mutants)
                found += _accounted(reader, copy)
    if not found and _has_calls(reader) and not any(read(reader, path).calls for path in paths):
        found.append(Broken("calls are read", "no file has a call: name one that has"))
    if many is not None:
        found += _streamed(reader, many)
    return tuple(found)


def _has_calls(reader: Reader) -> bool:
    facts = getattr(reader, "facts", None)
    return not (isinstance(facts, FormatFacts) and {"steps", "tool names"} & {*facts.not_measured})


def _shape(reader: Reader) -> Iterator[Broken]:
    for name in ("name", "version"):
        if not isinstance(getattr(reader, name, None), str) or not getattr(reader, name):
            yield Broken("a reader names itself", f"`{name}` is no text")
    if not isinstance(getattr(reader, "probe", None), bool):
        yield Broken("a reader says what it feeds", "`probe` is neither True nor False")
    if not by_record(reader) and not by_document(reader):
        yield Broken("a reader reads", "it has neither `read` nor `companions` and `traces`")


def _others(reader: Reader) -> Iterator[Broken]:
    with tempfile.TemporaryDirectory() as folder:
        for name, raw in OTHERS.items():
            path = Path(folder, "file.json")
            path.write_bytes(raw)
            claimed = _asked(reader, path)
            if isinstance(claimed, str):
                yield Broken("`sniff` never raises", f"{name}: {claimed}")
            elif claimed:
                yield Broken("`sniff` claims its own format alone", f"it claims {name}")


def _asked(reader: Reader, path: Path) -> bool | str:
    """Return whether the reader claims a file, or the fault that it raised."""
    try:
        return bool(reader.sniff(Head(path)))
    except REFUSALS:
        return False
    except Exception as fault:
        return _said(fault)


def _whole(reader: Reader, path: Path) -> Iterator[Broken]:
    if (claimed := _asked(reader, path)) is not True:
        yield Broken("`sniff` claims its files", f"{path}: {claimed or 'declined'}")
    try:
        once, again = list(attempts(reader, path)), list(attempts(reader, path))
    except Exception as fault:
        yield Broken("a real file is read", f"{path}: {_said(fault)}")
        return
    if not any(isinstance(one, Foreign) for one in once):
        yield Broken("a real file is read", f"{path}: it gives no attempt")
    if once != again:
        yield Broken("reading twice gives the same", f"{path}: the attempts differ")
    for number, one in enumerate(once, 1):
        if isinstance(one, BrokenRecord):
            yield Broken("a real file is read", f"{path}: record {number}: {', '.join(one.codes)}")
            continue
        try:
            record = decode(one.raw)
        except DecodeError as error:
            yield Broken("an attempt is a trace record", f"{path}: attempt {number}: {error}")
            continue
        if record.unread:
            places = ", ".join(left.path for left in record.unread)
            yield Broken("a real file is read whole", f"{path}: attempt {number}: unread {places}")


def _cut(reader: Reader, copy: "_Copy") -> Iterator[Broken]:
    raw = copy.path.read_bytes()
    for size in sorted({len(raw) * step // CUTS for step in range(CUTS)}):
        yield from _tried(reader, copy, raw[:size], f"cut behind byte {size}")


def _mutated(reader: Reader, copy: "_Copy", count: int) -> Iterator[Broken]:
    raw, mutator = copy.path.read_bytes(), Mutator(SEED)
    for number in range(count):
        how, mutant = mutator.mutant(raw)
        yield from _tried(reader, copy, mutant, f"mutant {number} ({how})")


def _damaged(reader: Reader, copy: "_Copy") -> Iterator[Broken]:
    """Break lines, one after another and all that name one tool: an attempt that lost calls by it
    is not measured."""
    path = copy.path
    lines = path.read_bytes().split(b"\n")
    if len(lines) < 2 or not all(line[:1] in (b"{", b"[", b"") for line in lines):
        return
    before = _calls_of_measured(reader, path)
    some = [{number} for number in range(0, len(lines), max(1, len(lines) // MOST_LINES))]
    some += [
        {number for number, line in enumerate(lines) if tool.encode() in line}
        for tool in read(reader, path).calls
    ]
    for broken in some:
        raw = b"\n".join(
            line[: len(line) // 2] if number in broken else line
            for number, line in enumerate(lines)
        )
        try:
            after = _calls_of_measured(reader, copy.holding(raw))
        except Exception:
            continue  # a refusal, or a fault, which other rules tell
        if any(calls not in before for calls in after):
            places = ", ".join(str(number + 1) for number in sorted(broken)[:9])
            yield Broken(
                "a damaged line is no missing call",
                f"{path}: with line {places} broken an attempt lost calls, and is measured",
            )


def _calls_of_measured(reader: Reader, path: Path) -> list[list[tuple[str, str]]]:
    found = []
    for one in attempts(reader, path):
        if isinstance(one, Foreign):
            record = json.loads(one.raw)
            calls = [e for e in record["events"] if e["kind"] == "tool_call"]
            if not record.get("unread"):
                found.append(sorted((e["tool"], json.dumps(e["arguments"])) for e in calls))
    return found


def _tried(reader: Reader, copy: "_Copy", raw: bytes, what: str) -> Iterator[Broken]:
    """Read other bytes in the place of a file, among its neighbors."""
    where, file = f"{copy.path}, {what}", copy.holding(raw)
    claimed = _asked(reader, file)
    if isinstance(claimed, str):
        yield Broken("`sniff` never raises", f"{where}: {claimed}")
    try:
        for one in attempts(reader, file):
            said = one.notes if isinstance(one, Foreign) else one.codes
            if any(canary in text for text in said for canary in CANARIES):
                yield Broken("notes and refusals hold no raw values", where)
    except REFUSALS:
        return
    except Exception as fault:
        yield Broken("a bad file costs a refusal", f"{where}: {_said(fault)}")


def _accounted(reader: Reader, copy: "_Copy") -> Iterator[Broken]:
    """Change each member of each call; a format whose files name no tool has none to change."""
    path = copy.path
    document, lines = _document(path.read_bytes())
    names = set(read(reader, path).calls)
    texts = set(_naming(document, names))
    if not texts:
        return
    try:
        changes = fewer(reader, copy.holding(b""), document, lines=lines, texts=texts)
    except Exception as fault:
        where = f"{path}, with a changed call"
        yield Broken("a bad file costs a refusal", f"{where}: {_said(fault)}")
        return
    for change in changes:
        yield Broken(
            "a call is read, or the attempt is not measured",
            f"{path}: {change}: a call is gone and nothing says so",
        )


def _naming(value: Any, names: set[str]) -> Iterator[str]:
    """Yield the texts of a document that name a tool and hold little else: `tool-NAME`, a type."""
    if isinstance(value, dict):
        for one in value.values():
            yield from _naming(one, names)
    elif isinstance(value, list):
        for one in value:
            yield from _naming(one, names)
    elif isinstance(value, str):
        if any(name in value and len(value) <= len(name) + MOST_AROUND for name in names):
            yield value
        elif value[:1] in ("{", "["):
            inner = opened_text(value)
            if inner is not None:
                yield from _naming(inner, names)


def _streamed(reader: Reader, many: Many) -> Iterator[Broken]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        many(place / "one", 100)
        count = 100 * MANY_BYTES // max(1, (place / "one").stat().st_size)
        few, more = (_peak(reader, place, many, number) for number in (count // 8, count))
    if more.attempts < count:
        yield Broken("`many` writes a file of the format", f"{more.attempts} of {count} were read")
    elif more.bytes - few.bytes > MOST_OF_FILE * (more.size - few.size):
        yield Broken(
            "attempts come one at a time",
            f"{more.size - few.size:,} more bytes of file took {more.bytes - few.bytes:,} more "
            "bytes of memory",
        )


class _Peak(NamedTuple):
    attempts: int
    size: int
    bytes: int


def _peak(reader: Reader, folder: Path, many: Many, count: int) -> _Peak:
    path = folder / f"{count}.json"
    many(path, count)
    tracemalloc.start()
    try:
        number = sum(1 for _ in attempts(reader, path))
        return _Peak(number, path.stat().st_size, tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def _same_file(source: str, target: str) -> None:
    try:
        os.link(source, target)  # readers may pass over symbolic links
    except OSError:
        shutil.copy2(source, target)


class _Copy:
    """A copy of the folder of the file at `path`, in which that file holds other bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> "_Copy":
        self._folder = tempfile.TemporaryDirectory()
        copy = Path(self._folder.name, self.path.parent.name or "folder")
        shutil.copytree(self.path.parent, copy, copy_function=_same_file)
        self._file = copy / self.path.name
        self._file.unlink()  # its bytes may be the very ones of the original
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def holding(self, raw: bytes) -> Path:
        """Return the path of the file, which holds these bytes until it is asked for others."""
        self._file.write_bytes(raw)
        return self._file


def _document(raw: bytes) -> tuple[Any, bool]:
    """Return (the value of a file, False), or (the values of its lines, True); None for a file
    that is no JSON."""
    try:
        return json.loads(raw), False
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in raw.splitlines() if line.strip()], True
    except ValueError:
        return None, False


def _said(fault: BaseException) -> str:
    return f"{type(fault).__name__}: {fault}"[:300]
