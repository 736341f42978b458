"""Measure a candidate's code: the files that can act in an attempt, read from the disk in their
present state.

For a scripted candidate this is its script, and for one behind an endpoint the prompts that it is
sent: their manifest names each with its digest. A program can read, and so can run, all of the
suite's `candidates/` except what belongs to other candidates, so all of that is its code, without
caches; and what its manifest names outside (`outside`), including caches, since those are not
hidden from it.
"""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from functools import cached_property, lru_cache
from hashlib import file_digest
from pathlib import Path
from typing import NamedTuple

from reviewer.running.candidates.belongings import of_others
from reviewer.running.candidates.manifest import manifest_file
from reviewer.running.model import Unrunnable
from reviewer.running.outside import outside
from reviewer.suite.candidate import PROGRAMS, Candidate
from reviewer.suite.code import CACHES, CodeFile, code_digest
from reviewer.suite.errors import shown
from reviewer.suite.folder import CANDIDATES

MOST_FILES = 20_000
MOST_BYTES = 2 << 30
_SETTLED_S = 2.0


class MeasuredCode(NamedTuple):
    """The code on the disk. `pinned` says whether the manifest names the digest of all of it.
    `state` changes whenever a file of a program is written or replaced, even with the same content;
    for data, which is read once and checked then, it is ""."""

    sha256: str
    files: tuple[CodeFile, ...]
    pinned: bool
    state: str = ""


def measured_code(candidate: Candidate, folder: Path) -> MeasuredCode:
    """Measure the code of a candidate of the suite in `folder`. Raises Unrunnable, naming the file,
    for what cannot be read."""
    base = Path(os.path.abspath(folder / CANDIDATES))
    reading = _Reading(candidate, folder, base)
    files = tuple(reading.files())
    digest, state = _digest(files), reading.state
    wanted = candidate.runner.get("code_sha256")
    if wanted:
        return MeasuredCode(digest, files, wanted == digest, state)
    named = _named(candidate, folder, base)
    each = all(named.get(file.path) == file.sha256 for file in files)
    some = bool(files) or candidate.runner.get("kind") not in PROGRAMS
    return MeasuredCode(digest, files, each and some, state)


def caches_of(candidate: Candidate, folder: Path) -> tuple[Path, ...]:
    """Return the caches beside a candidate's code. They are not measured, so no program may read
    them: Python would run the content of a manipulated one instead of the source. Raises Unrunnable
    as `measured_code`."""
    base = Path(os.path.abspath(folder / CANDIDATES))
    reading = _Reading(candidate, folder, base)
    for _ in reading.places():
        pass
    return tuple(reading.caches)


def pinned_code(candidate: Candidate, folder: Path, code: MeasuredCode) -> MeasuredCode:
    """Return the measured code, unless the manifest names another digest in `code_sha256`: then
    raise Unrunnable."""
    wanted = candidate.runner.get("code_sha256")
    if wanted and wanted != code.sha256:
        raise Unrunnable(
            f"{manifest_file(candidate, folder)}: $.runner.code_sha256: the code in "
            f"{folder.name}/{CANDIDATES}/ is not the one that the manifest names: sha256 "
            f"{code.sha256}, expected {wanted}; put it back, make a new version of the "
            f"candidate, or name this code: reviewer candidate pin {folder.name} "
            f"{shown(candidate.candidate_id, 200)} (reviewer suite code lists its files)"
        )
    return code


def _named(candidate: Candidate, folder: Path, base: Path) -> dict[str, str]:
    """Return path → digest of the files that the manifest names with one."""
    runner = candidate.runner
    pairs = [(prompt.get("path"), prompt.get("sha256")) for prompt in candidate.prompts]
    pairs.append((runner.get("script"), runner.get("script_sha256")))
    return {_relative(folder / path, base): digest for path, digest in pairs if path and digest}


_digest = lru_cache(64)(code_digest)


@lru_cache(1024)
def _relative(path: Path, base: Path) -> str:
    """Return a path relative to `base`, which is absolute."""
    return os.path.relpath(os.path.abspath(path), base).replace(os.sep, "/")


class _Reading:
    """One reading of a candidate's files. `caches` are those that were skipped."""

    def __init__(self, candidate: Candidate, folder: Path, base: Path) -> None:
        self._candidate, self._folder, self._base = candidate, folder, base
        self._files = self._bytes = 0
        self._program = candidate.runner.get("kind") in PROGRAMS
        self._states: list[tuple[str, tuple[int, ...]]] = []
        self.caches: list[Path] = []

    @cached_property
    def _real(self) -> str:
        return os.path.realpath(self._base)

    @property
    def state(self) -> str:
        """Return the state of a program's files and folders read so far, as one digest."""
        if not self._program:
            return ""
        return hashlib.sha256(repr(sorted(self._states)).encode()).hexdigest()

    def files(self) -> Iterator[CodeFile]:
        """Read every file. Raises Unrunnable."""
        for name, place in dict(self.places()).items():
            yield self._file(place, name)

    def places(self) -> Iterator[tuple[str, Path]]:
        """Yield the name and the place of every file, some twice. Raises Unrunnable."""
        if not self._program:
            named = [prompt.get("path") for prompt in self._candidate.prompts]
            if self._candidate.runner.get("kind") == "scripted":
                named = [self._candidate.runner.get("script")]
            for path in sorted({path for path in named if path}):
                place = self._folder / path
                yield _relative(place, self._base), place
            return
        yield from self._inside()
        for name, place, installed in outside(self._candidate, self._base):
            if not os.path.isdir(place):
                yield name, place
                continue
            for path in self._walk(place, set(), (os.path.realpath(place),), installed):
                yield f"{name}/{_relative(path, place)}", path

    def _inside(self) -> Iterator[tuple[str, Path]]:
        """Yield everything in `candidates/` that does not belong to another candidate, except
        the manifest, which the decision names by a digest of its own; and the script, wherever
        it is."""
        if self._base.is_dir():
            left_out = set(of_others(self._folder, self._candidate))
            left_out.add(self._base / f"{self._candidate.candidate_id}.json")
            for path in self._walk(self._base, left_out, (self._real,)):
                yield _relative(path, self._base), path
        if script := self._candidate.runner.get("script"):
            place = self._folder / script
            yield _relative(place, self._base), place

    def _walk(
        self, folder: Path, left_out: set[Path], within: tuple[str, ...], installed: bool = False
    ) -> Iterator[Path]:
        try:
            if folder != self._base:  # there others write their manifests while this candidate runs
                self._note(folder, folder.stat())
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise self._unreadable(folder, error.strerror) from None
        for entry in entries:
            path, real = folder / entry.name, os.path.realpath(folder / entry.name)
            # Skipped files are hidden from the program. Outside, where a link may lead, none are.
            cache, closed = entry.name in CACHES, real.startswith(self._real + os.sep)
            if cache and closed:
                self.caches.append(path)
            elif (path in left_out and closed) or (cache and installed):
                continue
            elif not os.path.isdir(path):
                self._count()
                yield path
            elif real not in within:
                yield from self._walk(path, left_out, (*within, real), installed)

    def _count(self, size: int = 0) -> None:
        self._files, self._bytes = self._files + (not size), self._bytes + size
        if self._files > MOST_FILES or self._bytes > MOST_BYTES:
            raise Unrunnable(
                f"{self._folder.name}/{CANDIDATES}/ and what the manifest names outside hold more "
                f"than {MOST_FILES:,} files or {MOST_BYTES >> 30} GiB that this candidate can "
                "read: keep only what it needs there"
            )

    def _note(self, path: Path, found: os.stat_result) -> None:
        self._states.append((os.fsencode(path).hex(), _version(found)))
        if path.is_symlink():
            self._states.append((os.fsencode(path).hex(), _version(path.lstat())))

    def _file(self, path: Path, name: str) -> CodeFile:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise self._unreadable(path, "its name is not UTF-8") from None
        try:
            found = path.stat()
            self._note(path, found)
            if not stat.S_ISREG(found.st_mode):
                raise self._unreadable(path, "it is not a regular file")
            if found.st_size:
                self._count(found.st_size)
            return CodeFile(name, bool(found.st_mode & stat.S_IXUSR), file_sha256(path, found))
        except OSError as error:
            raise self._unreadable(path, error.strerror) from None
        except ValueError as error:
            raise self._unreadable(path, str(error)) from None

    def _unreadable(self, path: Path, why: str | None) -> Unrunnable:
        place = shown(_relative(path, self._folder.parent), 200)
        return Unrunnable(
            f"{place}: cannot be measured as the candidate's code: {why}; fix or remove it"
        )


_digests: dict[tuple[int, ...], str] = {}
_MOST_REMEMBERED = 50_000


def remembered_sha256(found: os.stat_result) -> str | None:
    """Return the cached digest of a file's content, for a file that has not changed since: same
    inode, size and times, the last of which is so old that no later write can have kept them."""
    return _digests.get(_version(found))


def file_sha256(path: Path, found: os.stat_result) -> str:
    """Return the digest of a file's content, possibly cached. Raises OSError."""
    known = remembered_sha256(found)
    if known is not None:
        return known
    # Not blocking, should the file have been replaced by a pipe meanwhile.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as handle:
        found = os.fstat(handle.fileno())
        digest = file_digest(handle, "sha256").hexdigest()
    if time.time() - max(found.st_mtime, found.st_ctime) > _SETTLED_S:
        if len(_digests) >= _MOST_REMEMBERED:
            _digests.clear()
        _digests[_version(found)] = digest
    return digest


def _version(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
