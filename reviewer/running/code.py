"""Measure a candidate's code: the files that can act in an attempt, read from the disk as they are
now.

A scripted candidate is its script, and one behind an endpoint the prompts that it is sent: their
manifest names each with its digest. A program can read, and so can run, all of the suite's
`candidates/` but what belongs to other candidates, so all of that is its code, caches left out.
"""

import importlib.machinery
import os
import stat
import sys
import time
from collections.abc import Iterator
from hashlib import file_digest
from pathlib import Path
from typing import NamedTuple

from reviewer.running.candidates.belongings import of_others
from reviewer.running.candidates.manifest import manifest_file
from reviewer.running.model import Unrunnable
from reviewer.suite.candidate import Candidate
from reviewer.suite.code import CACHES, CodeFile, code_digest
from reviewer.suite.errors import shown
from reviewer.suite.folder import CANDIDATES

MOST_FILES = 20_000
MOST_BYTES = 2 << 30
_SETTLED_S = 2.0
_PROGRAMS = ("command", "python")


class MeasuredCode(NamedTuple):
    """The code as it lies on the disk. `pinned` says whether the manifest names the digest of all
    of it."""

    sha256: str
    files: tuple[CodeFile, ...]
    pinned: bool


def measured_code(candidate: Candidate, folder: Path) -> MeasuredCode:
    """Measure the code of a candidate of the suite in `folder`. Raises Unrunnable, naming the file,
    for what cannot be read."""
    base = Path(os.path.abspath(folder / CANDIDATES))
    files = tuple(_Reading(candidate, folder, base).files())
    digest = code_digest(files)
    wanted = candidate.runner.get("code_sha256")
    if wanted:
        return MeasuredCode(digest, files, wanted == digest)
    named = _named(candidate, folder, base)
    each = all(named.get(file.path) == file.sha256 for file in files)
    some = bool(files) or candidate.runner.get("kind") not in _PROGRAMS
    return MeasuredCode(digest, files, each and some)


def caches_in(folder: Path) -> tuple[Path, ...]:
    """Return the caches in a suite folder's `candidates/`. They are not measured, so no program may
    read them: Python would run what a prepared one holds in place of the source."""
    found = []
    for place, names, files in os.walk(os.path.abspath(folder / CANDIDATES)):
        found += [Path(place, name) for name in (*names, *files) if name in CACHES]
        names[:] = [name for name in names if name not in CACHES]
    return tuple(found)


def pinned_code(candidate: Candidate, folder: Path, code: MeasuredCode) -> MeasuredCode:
    """Return the measured code, unless the manifest names another one in `code_sha256`: then raise
    Unrunnable."""
    wanted = candidate.runner.get("code_sha256")
    if wanted and wanted != code.sha256:
        raise Unrunnable(
            f"{manifest_file(candidate, folder)}: $.runner.code_sha256: the code in "
            f"{folder.name}/{CANDIDATES}/ is not the one that the manifest names: sha256 "
            f"{code.sha256}, expected {wanted}; put it back, or make a new version of the "
            "candidate (reviewer suite code lists its files)"
        )
    return code


def _named(candidate: Candidate, folder: Path, base: Path) -> dict[str, str]:
    """Return path → digest of the files that the manifest names with one."""
    runner = candidate.runner
    pairs = [(prompt.get("path"), prompt.get("sha256")) for prompt in candidate.prompts]
    pairs.append((runner.get("script"), runner.get("script_sha256")))
    return {_relative(folder / path, base): digest for path, digest in pairs if path and digest}


def _relative(path: Path, base: Path) -> str:
    return os.path.relpath(os.path.abspath(path), base).replace(os.sep, "/")


class _Reading:
    """One reading of a candidate's files."""

    def __init__(self, candidate: Candidate, folder: Path, base: Path) -> None:
        self._candidate, self._folder, self._base = candidate, folder, base
        self._files = self._bytes = 0

    def files(self) -> Iterator[CodeFile]:
        runner = self._candidate.runner
        if runner.get("kind") not in _PROGRAMS:
            named = [prompt.get("path") for prompt in self._candidate.prompts]
            if runner.get("kind") == "scripted":
                named = [runner.get("script")]
            for path in sorted({path for path in named if path}):
                place = self._folder / path
                yield self._file(place, _relative(place, self._base))
            return
        inside = dict(self._inside())
        for name, place in (*inside.items(), *self._outside()):
            yield self._file(place, name)

    def _inside(self) -> Iterator[tuple[str, Path]]:
        """Yield what is in `candidates/` and not another candidate's, but for the manifest, which
        the decision names by a digest of its own; and the script, wherever it is."""
        if self._base.is_dir():
            left_out = set(of_others(self._folder, self._candidate.candidate_id))
            left_out.add(self._base / f"{self._candidate.candidate_id}.json")
            yield from self._walk(self._base, left_out, (os.path.realpath(self._base),))
        if script := self._candidate.runner.get("script"):
            place = self._folder / script
            yield _relative(place, self._base), place

    def _walk(
        self, folder: Path, left_out: set[Path], within: tuple[str, ...]
    ) -> Iterator[tuple[str, Path]]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise self._unreadable(folder, error.strerror) from None
        for entry in entries:
            path = folder / entry.name
            if entry.name in CACHES or path in left_out:
                continue
            if not entry.is_dir():
                yield _relative(path, self._base), path
            elif (real := os.path.realpath(path)) not in within:
                yield from self._walk(path, left_out, (*within, real))

    def _outside(self) -> Iterator[tuple[str, Path]]:
        """Yield the files outside `candidates/` that the manifest names as the program: arguments
        with an absolute path, an installed module, and a program that runs nothing of the suite."""
        runner = self._candidate.runner
        if runner["kind"] == "python":
            yield from self._installed(str(runner.get("entry") or "").partition(":")[0])
            return
        program, *arguments = map(str, runner.get("command") or [""])
        for word in arguments:
            if word.startswith("/") and os.path.isfile(word):
                yield word, Path(word)
        own = [program, *arguments]
        here = "/" in program and not program.startswith("/")
        if not here and not any(word.startswith(("./", "/")) for word in own[1:]):
            from reviewer.running.sandbox.room import found

            place = program if program.startswith("/") else found(program)
            if place is not None and os.path.isfile(place):
                yield place, Path(place)

    def _installed(self, module: str) -> Iterator[tuple[str, Path]]:
        """Yield the files of the package of an entry that is not in `candidates/`."""
        top = module.partition(".")[0]
        if not top or (self._base / top).exists() or (self._base / f"{top}.py").exists():
            return
        spec = importlib.machinery.PathFinder.find_spec(top, [part for part in sys.path if part])
        if spec is None:
            return
        if not spec.submodule_search_locations:
            if spec.origin and os.path.isfile(spec.origin):
                yield f"installed/{os.path.basename(spec.origin)}", Path(spec.origin)
            return
        for place in spec.submodule_search_locations:
            root = Path(os.path.abspath(place))
            for _, path in self._walk(root, set(), (os.path.realpath(root),)):
                yield f"installed/{_relative(path, root.parent)}", path

    def _file(self, path: Path, name: str) -> CodeFile:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise self._unreadable(path, "its name is not UTF-8") from None
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode):
                raise self._unreadable(path, "it is no regular file")
            self._files, self._bytes = self._files + 1, self._bytes + found.st_size
            if self._files > MOST_FILES or self._bytes > MOST_BYTES:
                raise Unrunnable(
                    f"{self._folder.name}/{CANDIDATES}/ holds more than {MOST_FILES:,} files or "
                    f"{MOST_BYTES >> 30} GiB that this candidate can read: keep there what it "
                    "needs and nothing else"
                )
            return CodeFile(name, bool(found.st_mode & stat.S_IXUSR), file_sha256(path, found))
        except OSError as error:
            raise self._unreadable(path, error.strerror) from None

    def _unreadable(self, path: Path, why: str | None) -> Unrunnable:
        place = shown(_relative(path, self._folder.parent), 200)
        return Unrunnable(
            f"{place}: cannot be measured as the candidate's code: {why}; mend it, or take it out"
        )


_digests: dict[tuple[int, ...], str] = {}
_MOST_REMEMBERED = 50_000


def file_sha256(path: Path, found: os.stat_result) -> str:
    """Return the digest of a file's content, remembered for a file that has not changed since:
    same inode, size and times, the last of which is long enough ago that no later write can have
    left them as they are. Raises OSError."""
    known = _digests.get(_version(found))
    if known is not None:
        return known
    # Not blocking, should a pipe have come into the file's place meanwhile.
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
