"""Shared parts of the readers: the defaults of a format, attempts that are one record each, facts
from the place of a file, tolerant access to members of foreign JSON (a value of another type counts
as missing), and acts in parts of a record that a reader left unread."""

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from reviewer.importing.account import Account, holds_parts
from reviewer.importing.draft import Draft, elapsed_ms
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.head import head_of
from reviewer.importing.messages.usual import side_of
from reviewer.importing.pipeline.opening import start_of
from reviewer.importing.pipeline.split import MAX_RECORD, Piece, Unreadable
from reviewer.importing.pipeline.units import STDIN
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import Part
from reviewer.trace.strictjson import RepeatedMembers

_ORIGINS = ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00")


class Format:
    """The defaults of a format: its suite has the format's name, a candidate the file's, and no
    other file is part of an attempt."""

    name = ""
    version = "1"
    probe = True
    facts = FormatFacts("")

    def suite_id(self, path: Path) -> str:
        return self.name

    def candidate_id(self, path: Path) -> str:
        return path.stem

    def companions(self, path: Path) -> tuple[Path, ...]:
        return ()


def each_record(
    source: Source,
    make: Callable[[Piece], Foreign],
    what: str,
    of: str = "",
    path: Path | None = None,
) -> Iterator[Foreign | Broken]:
    """Yield the result of `make` for every record of a file, each independently. `what` is the word
    for a record there, before its number, and `of` the words after it."""
    for piece in source.pieces(path):
        name = f"{what} {piece.number}{of}"
        if piece.problem:
            yield Broken((piece.problem,), name)
        else:
            yield source.attempt(partial(make, piece), name)


def shown(path: Path) -> Any:
    """Return the first record of a file as far as its head shows it, None when it shows none."""
    try:
        return head_of(path).first
    except (Unreadable, OSError):
        return None


def whole_value(path: Path) -> Any:
    """Return the value of a small file, None when it cannot be read."""
    try:
        return head_of(path).value
    except (Unreadable, OSError):
        return None


def small_value(path: Path, most: int) -> Any:
    """Return the value of a file of at most `most` bytes; None when it is larger, is not there or
    cannot be read."""
    try:
        raw = start_of(path, most + 1) if path.is_file() else b""
        return parse(raw) if 0 < len(raw) <= most else None
    except (OSError, Unreadable, NotJson, RecursionError):
        return None


def value_of(source: Source, part: Part) -> Any:
    """Return a part of a document as a value, None when it is not a value."""
    try:
        return None if part.problem else source.value(part.raw)
    except Rejected:
        return None


def started_ms(stamp: Any) -> float:
    """Return a time in milliseconds since 1970, for sorting runs; infinity when it is unknown."""
    for origin in _ORIGINS:
        if (since := elapsed_ms(origin, stamp)) is not None:
            return since
    return float("inf")


# Where a file is ----------------------------------------------------------------------------------

_ODD = re.compile(r"[^a-z0-9._]+")


def slug(text: str) -> str:
    """Return a name as a part of a suite id: lower case, safe as a file name; `unnamed` when
    nothing of it is left."""
    return _ODD.sub("-", text.lower()).strip("-._")[:80] or "unnamed"


def folder_names(path: Path, count: int) -> tuple[str, ...]:
    """Return the names of the folders that contain a file, nearest first. Names are empty above the
    root, and for standard input."""
    if path.name == STDIN:
        return ("",) * count
    names = [folder.name for folder in islice(path.absolute().parents, count)]
    return (*names, *[""] * (count - len(names)))


def above(path: Path, most: int) -> Iterator[Path]:
    """Yield the folder a file is in, then those around it, at most `most` of them."""
    for number, folder in enumerate(path.absolute().parents):
        if number == most:
            return
        yield folder


def within(folder: Path, name: str) -> Path | None:
    """Return the file below `folder` that a text from a file names; None when there is none, or
    when the name leads out of the folder."""
    if not name or len(name) > 512 or "\0" in name:
        return None
    try:
        found = (folder / name).resolve()
        return found if found.is_relative_to(folder.resolve()) and found.is_file() else None
    except (OSError, RuntimeError, ValueError):
        return None


MOST = 5000


def files_below(folder: Path, but: Path) -> tuple[Path, ...]:
    """Return regular files below `folder`, by path, at most `MOST` of them; without `but`, links,
    and files that are too large."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            file = Path(place, name)
            if file != but and not file.is_symlink() and _fits(file):
                found.append(file)
            if len(found) == MOST:
                return tuple(found)
    return tuple(found)


def _fits(file: Path) -> bool:
    try:
        return file.is_file() and file.stat().st_size <= MAX_RECORD
    except OSError:
        return False


# Members of foreign JSON --------------------------------------------------------------------------


def mapping(value: Any) -> dict[str, Any]:
    """Return the value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return the value when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list, none when the value is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return the value when it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def at_path(value: Any, *path: str | int) -> Any:
    """Return the value at a path of member names and places in lists, None when a step of it leads
    nowhere."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            there = isinstance(value, list) and -len(value) <= step < len(value)
            value = value[step] if there else None
    return value


def present(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known facts: those that are not None."""
    return {name: value for name, value in facts.items() if value is not None}


def clipped(text: str, most: int) -> str:
    """Return the start and end of a long text, with a mark between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def tell_rest(
    record: Any,
    draft: Draft,
    path: str = "",
    harmless: Container[str] = (),
    told: Any = (),
    copies: Iterable[tuple[str | None, str, Any]] = (),
    resolve: tuple[Callable[[Any], Any], str] | None = None,
    messages: Iterable[Any] = (),
    done: Iterable[Any] = (),
) -> None:
    """Enter into the draft the parts of a record that could be an act and repeat no call of the
    draft. `told` are parts that were read completely; `harmless` names members that contain no act;
    `copies` are calls (id, tool, arguments) that the draft has in another form; `resolve` is a
    function that replaces references to texts, and their prefix. `messages` are those of which
    every word, call and answer is in the draft: nothing is left of a message in the usual form.
    Nothing is left of parts that are `done` either."""
    account = Account(harmless)
    account.copies.extend(copies)
    account.enters = True
    if resolve is not None:
        account.resolve, account.references = resolve
    account.whole(*told)
    for message in messages:
        if side_of(message):
            account.all_of(message)
    for part in done:
        account.all_of(part)
    account.tell(record, draft, path)


MOST_LOST = 20


def tell_lost(draft: Draft, places: Iterable[str]) -> None:
    """Enter into the draft places of its file that could not be read, for a format in which any
    place may contain a part of any attempt: a call there would be missing without notice."""
    for place in islice(places, MOST_LOST):
        draft.unread(f"{place} (unreadable)" if place else "a part of the file (unreadable)")


def enter(value: Any, account: Account) -> None:
    """Declare objects that only contain messages, so that each part of these is looked at by
    itself."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if holds_parts(part):
                account.read(part, ("role", "content", "parts"))
            waiting += [one for one in part.values() if type(one) in _HOLD]
        elif isinstance(part, list):
            waiting += [one for one in part if type(one) in _HOLD]


_HOLD = frozenset((dict, list, RepeatedMembers))


MOST_EXPECTED, LONGEST_EXPECTED = 100, 8192
"""Most expected calls that are stored for a source, and most bytes of one."""


SAYS_BOTH = "the record says both that it passed and that it did not: no verdict was taken"


def agreed(passed: Any, parts: Iterable[Any]) -> bool | None:
    """Return whether a source says that an attempt passed; None where the source also says that one
    of the verdict's parts did not pass, or states a part as something that is no truth value."""
    if passed is True and any(one is not True and one is not None for one in parts):
        return None
    return passed if isinstance(passed, bool) else None


def expected_actions(listed: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the calls that a source expects of an agent (`name`, `arguments`, and where stated
    `met` and `by`), as members of its verdict's detail."""
    whole = list(listed)
    kept = [one for one in whole if len(msgspec.json.encode(one)) <= LONGEST_EXPECTED]
    kept = kept[:MOST_EXPECTED]
    found: dict[str, Any] = {"expected_actions": kept} if whole else {}
    if len(kept) < len(whole):
        found["expected_actions_left_out"] = len(whole) - len(kept)
    return found
