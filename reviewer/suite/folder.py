"""Read a suite folder. The only module here that opens files to read a suite.

The lock is checked first, by hashing alone; shapes and meanings only if it holds. So `suite_state`
stays cheap, and no part of an edited suite is ever taken for the frozen one.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from reviewer.suite.drafted import in_json, json_of, yaml_of
from reviewer.suite.errors import ContractError, Problem, path_problem, shown
from reviewer.suite.lock import (
    LOCK_FILE,
    SUMS_FILE,
    LockProblem,
    check_lock,
    read_lock,
    sha256sum_text,
    suite_digest,
)

if TYPE_CHECKING:
    from reviewer.suite.candidate import Candidate
    from reviewer.suite.model import Suite
    from reviewer.suite.rubric import JudgePrompt, Rubric
    from reviewer.suite.toolset import Toolset
import hashlib

from reviewer.suite.lock import entry_bytes, lock_parts

CANDIDATES = "candidates"
PROOFS = "candidates/proofs/"
"""The scripts that prove episodes made from traces. They belong to no candidate."""
TRACES = "traces"
LABELS = "labels"
JUDGMENTS = "judgments"
FROZEN = ".frozen"
UNLOCKED = frozenset({CANDIDATES, TRACES, LABELS, JUDGMENTS, LOCK_FILE, SUMS_FILE})
"""The entries that the lock does not cover: candidates, their traces, and labels and judgments of
them."""

MAX_FILE = 16 * 1024 * 1024
MAX_FILES = 100_000


class SuiteBroken(ContractError):
    """A frozen suite that is no longer as it was frozen. `edits` lists each file that differs."""

    def __init__(self, suite: str, edits: tuple[LockProblem, ...]) -> None:
        self.edits = edits
        lines = [Problem(f"{suite}/{edit.path}", "$", _worded(edit)) for edit in edits]
        way_out = (
            f"{len(edits)} file{'s' if len(edits) != 1 else ''} edited after the freeze; put "
            "them back, or freeze the edited suite under a new id"
        )
        super().__init__(f"{suite}/{LOCK_FILE}", "$", way_out, lines)


class SuiteState(NamedTuple):
    """The state of a folder: whether it is as it was frozen.

    `digest` is that of the lock ("" without one), `files` the locked content by path with
    `suite.lock` among it: what `load_trusted` takes.
    """

    state: Literal["frozen", "broken", "draft"]
    digest: str
    edits: tuple[LockProblem, ...]
    files: dict[str, bytes]


class LoadedSuite(NamedTuple):
    """A suite that may be used. `problems` are remarks that do not forbid it (not frozen yet)."""

    suite: "Suite"
    rubric: "Rubric | None"
    judge: "JudgePrompt | None"
    problems: tuple[Problem, ...]
    toolset: "Toolset | None" = None


def has_lock(folder: Path) -> bool:
    """Return whether a suite was frozen: its lock is there, or the copy that a freeze keeps."""
    return (folder / LOCK_FILE).exists() or (folder / FROZEN / LOCK_FILE).exists()


def suite_state(folder: Path, look: Callable[[], None] = lambda: None) -> SuiteState:
    """Compare the folder with its lock, by hashing only. `look` is called before each file.

    Raises ContractError when the folder or its lock cannot be read, or contains an entry that is
    not allowed in a suite (a symbolic link, a name that is not portable, a file beyond the size
    limit).
    """
    files = locked_files(folder, look)
    lock = _read_beside(folder, LOCK_FILE)
    kept = _read_beside(folder, f"{FROZEN}/{LOCK_FILE}")
    if lock is None:
        if kept is None:
            return SuiteState("draft", "", (), files)
        gone = LockProblem(LOCK_FILE, "missing", suite_digest(kept), None, len(kept), None)
        return SuiteState("broken", "", (gone,), files)
    edits: list[LockProblem] = []
    if kept is not None and kept != lock:
        edits.append(_changed(LOCK_FILE, kept, lock))
    try:
        locked = read_lock(lock)
        edits += check_lock(lock, files)
    except ContractError:
        if kept is None:
            raise
        locked = read_lock(kept)
        edits += check_lock(kept, files)
    sums = _read_beside(folder, SUMS_FILE)
    wanted = sha256sum_text(locked).encode()
    if sums is not None and sums != wanted:
        edits.append(_changed(SUMS_FILE, wanted, sums))
    state: Literal["broken", "frozen"] = "broken" if edits else "frozen"
    return SuiteState(state, suite_digest(lock), tuple(edits), {**files, LOCK_FILE: lock})


def read_suite(folder: Path, look: Callable[[], None] = lambda: None) -> LoadedSuite:
    """Return the suite, its rubric and its judge prompt, when the lock holds and every file is
    valid.

    Raises SuiteBroken when a locked file was edited, ContractError with every problem of every
    file when the content is not a suite. A folder without a lock is read, with a remark. `look` is
    called before each file.
    """
    state = suite_state(folder, look)
    if state.state == "broken":
        raise SuiteBroken(_name(folder), state.edits)
    # Imported only now, so that asking only for the state needs no pydantic.
    from reviewer.suite.check import check_suite

    files = {path: data for path, data in state.files.items() if path != LOCK_FILE}
    checked = check_suite(files, state.digest)
    problems = list(checked.problems)
    if checked.suite is not None and state.state == "frozen":
        problems += _other_id(state.files[LOCK_FILE], checked.suite.suite_id)
    if checked.suite is None or problems:
        raise ContractError.of(_inside(folder, problems))
    remarks = []
    if state.state == "draft":
        reason = "not frozen: `reviewer suite freeze` writes the lock that decisions rest on"
        remarks.append(Problem(f"{_name(folder)}/{LOCK_FILE}", "$", reason))
    return LoadedSuite(
        checked.suite, checked.rubric, checked.judge, tuple(remarks), checked.toolset
    )


def suite_problems(folder: Path) -> list[Problem]:
    """Return everything wrong with a suite folder: edits since the freeze, faults of content, and
    faults of the candidates' manifests beside it."""
    from reviewer.suite.check import check_suite

    candidates = read_candidates(folder)[1]
    try:
        state = suite_state(folder)
    except ContractError as error:
        return [*error.problems, *candidates]
    problems: list[Problem] = []
    if state.edits:
        problems += SuiteBroken(_name(folder), state.edits).problems
    files = {path: data for path, data in state.files.items() if path != LOCK_FILE}
    checked = check_suite(files, state.digest, to_freeze=state.state != "frozen")
    problems += _inside(folder, checked.problems)
    if checked.suite is not None and (reason := misnamed(folder, checked.suite.suite_id)):
        problems += _inside(folder, (Problem("suite.json", "$.suite_id", reason),))
    return problems + candidates


def misnamed(folder: Path, suite_id: str) -> str | None:
    """Return why a suite cannot be used in this folder, or None: suites are found by the name of
    their folder."""
    name = folder.name if folder.name not in ("", "..") else folder.resolve().name
    if suite_id == name:
        return None
    return f"`{shown(suite_id)}` is in a folder named `{shown(name)}`"


def locked_files(folder: Path, look: Callable[[], None] = lambda: None) -> dict[str, bytes]:
    """Return the content of every file that a lock of this folder covers, by path inside the
    folder. YAML files of a draft are returned as the JSON that they become. `look` is called before
    each file.

    Left out: UNLOCKED entries, and names that start with a dot. Raises ContractError naming every
    entry that is not allowed in a suite.
    """
    if not folder.is_dir():
        raise ContractError(str(folder), "$", "is not a folder")
    found: dict[str, Path] = {}
    problems: list[Problem] = []
    for path, entry in _walked(folder, ""):
        reason = path_problem(path) or _entry_problem(entry)
        if reason is not None:
            problems.append(Problem(f"{_name(folder)}/{path}", "$", reason))
        elif not entry.is_dir(follow_symlinks=False):
            found[path] = Path(entry.path)
        if len(found) > MAX_FILES:
            raise ContractError(_name(folder), "$", f"holds more than {MAX_FILES:,} files")
    if problems:
        raise ContractError.of(problems)
    content: dict[str, bytes] = {}
    for path in sorted(found):
        look()
        content[path] = read_bytes(found[path])
    if not any(map(json_of, content)) or has_lock(folder):
        return content
    return in_json(content, _name(folder))


def yaml_files(folder: Path) -> list[str]:
    """Return the files of a draft that are written in YAML, by path inside the folder."""
    return [path for path, _ in _walked(folder, "") if json_of(path) is not None]


def read_candidates(folder: Path) -> tuple[dict[str, "Candidate"], list[Problem]]:
    """Return every manifest of `candidates/` by candidate id, and what is wrong with the others."""
    from reviewer.suite.candidate import read_candidate

    candidates: dict[str, Candidate] = {}
    problems: list[Problem] = []
    for path in candidate_files(folder):
        try:
            file = f"{_name(folder)}/{CANDIDATES}/{path.name}"
            candidate = read_candidate(read_bytes(path), file)
        except ContractError as error:
            problems += error.problems
        else:
            candidates[candidate.candidate_id] = candidate
    return candidates, problems


def candidate_files(folder: Path) -> list[Path]:
    """Return the manifests beside the lock, by name."""
    return sorted(p for p in (folder / CANDIDATES).glob("*.json") if not p.name.startswith("."))


def candidate_folder(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below `candidates/` (manifests, scripts), by path inside the
    suite.

    Raises ContractError naming an entry that is not allowed in a suite.
    """
    if not (folder / CANDIDATES).is_dir():
        return {}
    found: dict[str, bytes] = {}
    for path, entry in _walked(folder / CANDIDATES, f"{CANDIDATES}/"):
        if (reason := path_problem(path) or _entry_problem(entry)) is not None:
            raise ContractError(f"{_name(folder)}/{path}", "$", reason)
        if not entry.is_dir(follow_symlinks=False):
            found[path] = read_bytes(Path(entry.path))
    return found


def read_bytes(path: Path | str, limit: int = MAX_FILE) -> bytes:
    """Return a regular file's content; a link is not followed. ContractError when it cannot be
    read."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags)
    except OSError as error:
        reason = "is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise ContractError(str(path), "$", str(reason)) from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ContractError(str(path), "$", "is not a regular file")
        with os.fdopen(handle, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise ContractError(str(path), "$", str(error.strerror)) from None
    finally:
        os.close(handle)
    if len(data) > limit:
        raise ContractError(str(path), "$", f"is larger than {limit:,} bytes")
    return data


def _walked(folder: Path, inside: str) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    try:
        yield from _walk(folder, inside)
    except OSError as error:
        raise ContractError(str(error.filename), "$", str(error.strerror)) from None


def _walk(folder: Path, inside: str) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.name.startswith(".") or (not inside and entry.name in UNLOCKED):
                continue
            path = inside + entry.name
            yield path, entry
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), f"{path}/")


def _entry_problem(entry: "os.DirEntry[str]") -> str | None:
    if entry.is_symlink():
        return "is a symbolic link; a suite holds its own bytes"
    if not entry.is_dir(follow_symlinks=False) and not entry.is_file(follow_symlinks=False):
        return "is not a regular file"
    return None


def _read_beside(folder: Path, name: str) -> bytes | None:
    path = folder / name
    return read_bytes(path) if os.path.lexists(path) else None


def _changed(path: str, wanted: bytes, found: bytes) -> LockProblem:
    return LockProblem(
        path, "changed", suite_digest(wanted), suite_digest(found), len(wanted), len(found)
    )


def _worded(edit: LockProblem) -> str:
    return str(edit).removeprefix(f"{shown(edit.path, 200)}: ")


def _other_id(lock: bytes, suite_id: str) -> list[Problem]:
    locked = read_lock(lock).suite_id
    if locked == suite_id:
        return []
    return [Problem("suite.json", "$.suite_id", f"the lock is that of `{shown(locked)}`")]


def _inside(folder: Path, problems: "list[Problem] | tuple[Problem, ...]") -> list[Problem]:
    return [p._replace(file=f"{_name(folder)}/{_as_written(folder, p.file)}") for p in problems]


def _as_written(folder: Path, path: str) -> str:
    """Return the path of the file in a draft: YAML that replaces JSON, or the JSON."""
    written = yaml_of(path)
    return written if written is not None and (folder / written).exists() else path


def _name(folder: Path) -> str:
    return folder.resolve().name or str(folder)


# A quick check, with little memory, whether a suite's folder still matches its lock. Every file is
# read, one at a time, and the lock is computed again from them: it must have the wanted digest.
# `suite_state` finds what is wrong with a folder that differs.


_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_BLOCK = 1 << 16


class _NotFrozen(Exception):
    """An entry that is not in a frozen suite, or that cannot be read."""


def as_frozen(folder: Path, digest: str, each: Callable[[], None] = lambda: None) -> bool:
    """Return whether a folder is, byte for byte, what the lock of this digest lists, and that lock
    and its sums are beside it.

    If so, `suite_state` says `frozen` with this digest. `digest` must be that of a lock that was
    completely read before: names in it are not checked again. `each` is called before every file,
    and may raise to end it.
    """
    try:
        return _as_locked(folder, digest, each)
    except (OSError, _NotFrozen):
        return False


def _as_locked(folder: Path, digest: str, each: Callable[[], None]) -> bool:
    root = f"{folder}/"
    if _digest(root + LOCK_FILE) != digest:
        return False
    head, tail = lock_parts(folder.name)
    lock, sums, between = hashlib.sha256(head), hashlib.sha256(), b""
    paths = sorted(_files(str(folder), ""), key=lambda each: each.encode("utf-8", "surrogatepass"))
    for path in paths:
        each()
        data = _read(root + path)
        found = hashlib.sha256(data).hexdigest()
        lock.update(between + entry_bytes(path, found, len(data)))
        sums.update(f"{found}  {path}\n".encode())
        between = b","
    lock.update(tail)
    if lock.hexdigest() != digest:
        return False
    kept, listed = _digest(f"{root}{FROZEN}/{LOCK_FILE}"), _digest(root + SUMS_FILE)
    return kept in (None, digest) and listed in (None, sums.hexdigest())


def _files(folder: str, inside: str) -> Iterator[str]:
    """Yield the paths of the files that a lock of this folder covers; no link is followed."""
    count = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith(".") or (not inside and name in UNLOCKED):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, f"{inside}{name}/")
            elif entry.is_file(follow_symlinks=False):
                yield inside + name
            else:
                raise _NotFrozen
            count += 1
            if count > MAX_FILES:
                raise _NotFrozen


def _digest(path: str) -> str | None:
    try:
        return hashlib.sha256(_read(path)).hexdigest()
    except FileNotFoundError:
        return None


def _read(path: str) -> bytes:
    handle = os.open(path, _FLAGS)
    try:
        data = os.read(handle, _BLOCK)
        if len(data) == _BLOCK:
            while more := os.read(handle, 1 << 20):
                data += more
                if len(data) > MAX_FILE:
                    raise _NotFrozen
    finally:
        os.close(handle)
    return data
