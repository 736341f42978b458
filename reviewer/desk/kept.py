"""Answers about large suites, cached beside the store until anything that they were made from
changes: the scorecard of a candidate, the trends of a suite, the last comparison.

Every row that a recommendation depends on is written together with an entry of the journal, whose
head is a digest over all entries: as long as the head is the same, so are the rows. A cached answer
also depends on the suite, which must be proved unchanged, the manifests of the candidates, the
signed files outside the store, and the code that computed the figures. Any other change makes it be
computed again. The cache is for this machine alone and no evidence: reports, signing and `verify`
never use it, and `reviewer doctor --figures` computes the answers again and compares.
"""

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

import reviewer
from reviewer.desk.made_of import MadeOf
from reviewer.desk.place import Workspace

Answer = TypeVar("Answer")


class _Kept(msgspec.Struct, Generic[Answer], frozen=True):
    about: tuple[str, ...]
    stamp: str
    answer: Answer


class Shelf(Generic[Answer]):
    """The cache of one kind of answer. Each answer is about a fixed number of ids. There is one
    file per combination of the first `apart` ids; it keeps the last answer, whatever the other
    ids."""

    def __init__(self, suffix: str, kind: type[Answer], apart: int, most: int) -> None:
        self._suffix, self._apart, self._most = suffix, apart, most
        self._decoder = msgspec.msgpack.Decoder(_Kept[kind])  # type: ignore[valid-type]

    def has(self, workspace: Workspace, *about: str) -> bool:
        """Return whether an answer is cached in this file, current or not."""
        return self._file(workspace, about).exists()

    def kept(
        self, workspace: Workspace, about: Sequence[str], made_of: Sequence[MadeOf] | None
    ) -> Answer | None:
        """Return the cached answer, if it was made from the same state."""
        found = self._read(self._file(workspace, about))
        if found is None or not made_of or found.stamp != _stamp(made_of):
            return None
        return found.answer if found.about == tuple(about) else None

    def keep(
        self,
        workspace: Workspace,
        about: Sequence[str],
        answer: Answer,
        made_of: Sequence[MadeOf] | None,
    ) -> None:
        """Cache an answer, where the store's folder can be written: this saves work, and nothing
        depends on it. All of the answer must have been read at one moment."""
        if not made_of or len({one.head for one in made_of}) > 1 or not workspace.keeps:
            return
        place = self._file(workspace, about)
        partial = place.with_name(f".{place.name}.{os.getpid()}.part")
        try:
            data = msgspec.msgpack.encode(_Kept(tuple(about), _stamp(made_of), answer))
            if len(data) > self._most:
                return  # it would never be read
            place.parent.mkdir(mode=0o700, exist_ok=True)
            ignore = place.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")  # valid on this machine alone
            partial.write_bytes(data)
            partial.chmod(0o600)
            partial.replace(place)
        except OSError:
            with suppress(OSError):
                partial.unlink(missing_ok=True)

    def drop(self, workspace: Workspace, about: Sequence[str]) -> None:
        """Delete an answer: the next request computes it again."""
        with suppress(OSError):
            self._file(workspace, about).unlink(missing_ok=True)

    def all(self, workspace: Workspace) -> list[tuple[tuple[str, ...], Answer]]:
        """Return every cached answer that would be looked up, current or not, with the ids it is
        about."""
        found = []
        for file in sorted(workspace.figures.glob(f"*{self._suffix}")):
            one = self._read(file)
            if one is not None and file == self._file(workspace, one.about):
                found.append((one.about, one.answer))
        return found

    def _file(self, workspace: Workspace, about: Sequence[str]) -> Path:
        """Return the path of the file: an id may be longer than a file name may be, or missing."""
        name = hashlib.sha256("\0".join(about[: self._apart]).encode()).hexdigest()[:32]
        return workspace.figures / f"{name}{self._suffix}"

    def _read(self, place: Path) -> _Kept[Answer] | None:
        try:
            with place.open("rb") as file:
                return self._decoder.decode(file.read(self._most))
        except (OSError, msgspec.DecodeError):
            return None


@lru_cache(maxsize=1)
def _code() -> str:
    """Return a digest of every module of the package: any of them may affect a figure."""
    here = Path(reviewer.__file__).resolve().parent
    found = hashlib.sha256(reviewer.__version__.encode())
    for path in sorted(here.rglob("*.py")):
        found.update(f"{path.relative_to(here).as_posix()}\0".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def _stamp(made_of: Sequence[MadeOf]) -> str:
    return hashlib.sha256(msgspec.json.encode((_code(), tuple(made_of)))).hexdigest()
