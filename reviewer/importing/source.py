"""One thing to import, for a document reader: a file, its companions, joined results."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.pipeline.opening import opened, start_of
from reviewer.importing.pipeline.opening import refused as refused_content
from reviewer.importing.pipeline.results import Joins
from reviewer.importing.pipeline.split import MAX_RECORD, Piece, Unreadable, pieces_of
from reviewer.importing.reader import Broken, Foreign, Rejected, show
from reviewer.importing.walking import Part, Pattern, walk

T = TypeVar("T")


class Wanted(NamedTuple):
    """Which sessions of a file that holds several are read: those with these ids, and those of
    these projects; all, if it names neither."""

    ids: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()

    def takes(self, own: str, project: str) -> bool:
        """Return whether a session is read."""
        return self == EVERY or own in self.ids or project in self.projects


EVERY = Wanted()
_SHAPE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)


def request_digest(request: Any) -> str:
    """Return the digest of a first request."""
    text = json.dumps(request, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def first_request(events: list[dict[str, Any]]) -> Any:
    """Return the first request in a native record's events; None when there is none."""
    return next((e.get("message") for e in events if e.get("actor") == "user"), None)


class FirstRequests:
    """First requests of one file, by the name that its records share."""

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = {}

    def place(self, name: str, request: Any) -> int:
        """Return which of the episodes of this name has the request, from 0."""
        known, digest = self._known.setdefault(name, []), request_digest(request)
        if digest not in known:
            known.append(digest)
        return known.index(digest)


class Source:
    """The input of a document reader: a file with its companions, and questions it may ask."""

    def __init__(
        self,
        path: Path,
        candidate: str = "",
        companions: tuple[Path, ...] = (),
        joins: Joins | None = None,
    ) -> None:
        self.path = path
        self.candidate = candidate
        """The value of --candidate; a reader names the candidate itself when this is empty."""
        self.place = path.stem
        """The name of an episode whose record names none: its path below the imported folder,
        without its suffix. Files of one name in two folders are two files."""
        self.gather: Callable[[Iterable[str]], Sequence[Path]] = lambda names: ()
        """Returns other files that contain parts of the attempts of these names."""
        self.read_with: set[int] = set()
        """Earlier imports whose files are read with this one."""
        self.called: Callable[[Iterable[str]], tuple[str, str, str] | None] = lambda names: None
        """Finds the probe suite, candidate and episode of a stored attempt that has these names."""
        self.meet: Callable[[Iterable[str], str, str], None] = lambda names, candidate, episode: (
            None
        )
        """Records the candidate and episode of an attempt that has these names."""
        self.request_place: Callable[[str, Any], int] = FirstRequests().place
        """Finds which of the episodes of a name has this first request, from 0."""
        self.home = path.stem
        """The name of a candidate that no record names."""
        self.reader = ""
        """The name of the running reader, for messages about its faults."""
        self.companions = companions
        self.joins = joins or Joins()
        self.notes: set[str] = set()
        """Notes on the file as a whole; readers may add."""
        self.wanted = EVERY
        """Which of its sessions are read, if the file is one that holds several."""
        self.live = False
        """Whether a tool still writes the file: an end that nothing states is then no end."""
        self.lacks: tuple[str, ...] = ()
        """Parts of its attempts that the file lacks and that may come later: the attempts are not
        measured until then. For formats whose files are assembled here from pieces."""
        self.sums_up = False
        """Set by a reader: the file only summarizes attempts of other files, so that having none is
        no fault. Its notes give the sums."""
        self.reached = 0
        """File offset of the last read, for progress; updated by `walk` and `pieces`, and to be set
        by readers that seek themselves."""

    @contextmanager
    def open(self, path: Path | None = None) -> Iterator[BinaryIO]:
        """Open the content, decompressed. Raises OSError, Unreadable."""
        with opened(path or self.path) as handle:
            yield handle

    def walk(self, *patterns: Pattern, path: Path | None = None) -> Iterator[Part]:
        """Run `walking.walk` over the file."""
        with self.open(path) as handle:
            for part in walk(handle, *patterns):
                self.reached = part.end if path is None else self.reached
                yield part

    def pieces(self, path: Path | None = None) -> Iterator[Piece]:
        """Cut the file into records: lines, or elements of one array, or values in a row."""
        with self.open(path) as handle:
            for piece in pieces_of(handle):
                self.reached = piece.end if path is None else self.reached
                yield piece

    def records(self, path: Path | None = None) -> Iterator[tuple[str, Any]]:
        """Yield (name, value) of every record as cut by `pieces`; the value is a `Broken` where
        there is none."""
        for piece in self.pieces(path):
            name = f"record {piece.number}"
            if piece.problem:
                yield name, Broken((piece.problem,), name)
                continue
            try:
                value = self.value(piece.raw)
            except Rejected as error:
                value = Broken(error.codes, name)
            yield name, value

    def value(self, raw: bytes) -> Any:
        """Parse a part as a value; tolerated deviations go to `notes`. Raises Rejected."""
        try:
            return parse(raw, self.notes)
        except NotJson as error:
            raise Rejected(f"json:{error}") from None

    def load(self, path: Path | None = None, most: int = MAX_RECORD) -> Any:
        """Parse a whole JSON file of at most `most` bytes. Raises Unreadable, OSError."""
        wanted = path or self.path
        raw = start_of(wanted, most + 1)
        if problem := refused_content(raw[:64]):
            raise Unreadable(problem if path is None else f"{wanted.name}: {problem}")
        if len(raw) > most:
            raise Unreadable(f"{wanted.name}: over {most >> 20} MiB")
        try:
            return parse(raw, self.notes)
        except NotJson as error:
            raise Unreadable(f"{wanted.name}: {error}") from None

    def beside(self, path: Path) -> Any:
        """Return a companion's value; None, with a note, when it is missing or cannot be read."""
        try:
            return self.load(path) if path.is_file() else None
        except (Unreadable, OSError):
            self.notes.add(f"{path.name} next to it could not be read")
            return None

    def text(self, path: Path, most: int = MAX_RECORD) -> str | None:
        """Return a companion text file, None when it is missing or cannot be read."""
        try:
            raw = start_of(path, most + 1) if path.is_file() else None
        except (Unreadable, OSError):
            raw = None
        return None if raw is None or len(raw) > most else raw.decode("utf-8-sig", "replace")

    def attempt(self, make: Callable[[], Foreign], name: str = "") -> Foreign | Broken:
        """Return the attempt that `make` builds, or why it cannot, as `guarded` does."""
        return guarded(make, name, self.reader)


def guarded(make: Callable[[], T], name: str, reader: str = "") -> T | Broken:
    """Return the result of `make`, or why it failed: a record of an unexpected shape affects only
    itself. `name` identifies it in the source's own terms."""
    try:
        return make()
    except Rejected as error:
        return Broken(error.codes, name)
    except NotJson as error:
        return Broken((f"json:{error}",), name)
    except RecursionError:
        return Broken(("json:nested too deep",), name)
    except _SHAPE as error:
        show(error, reader)
        return Broken((f"shape:{type(error).__name__}",), name)
