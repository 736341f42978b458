"""The lock: the bytes of which a suite consists.

`suite.lock` is RFC 8785 JSON of path, sha256 and size of every file of the suite; the sha256 of the
lock's own bytes is the suite's digest, and so identifies the whole contract.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from reviewer.suite.errors import ContractError, Problem, id_problem, json_path, path_problem, shown
from reviewer.suite.strict_json import canonical_bytes, load_object, sha256_hex

LOCK_FILE = "suite.lock"
SUMS_FILE = "suite.sha256"
LOCK_SCHEMA = "reviewer/lock@1"

_DIGEST = re.compile(r"[0-9a-f]{64}")


class LockEntry(NamedTuple):
    """One locked file. `size` in bytes, `sha256` in lower-case hex."""

    path: str
    sha256: str
    size: int


class Lock(NamedTuple):
    suite_id: str
    files: tuple[LockEntry, ...]


class LockProblem(NamedTuple):
    """One file that is not as it was frozen. Members that do not apply are None."""

    path: str
    kind: Literal["changed", "missing", "unlisted"]
    locked_sha256: str | None = None
    actual_sha256: str | None = None
    locked_size: int | None = None
    actual_size: int | None = None

    def __str__(self) -> str:
        name = shown(self.path, 200)
        if self.kind == "missing":
            return f"{name}: missing; frozen as sha256 {self.locked_sha256}"
        if self.kind == "unlisted":
            return f"{name}: not in the lock; found sha256 {self.actual_sha256}"
        return (
            f"{name}: changed since it was frozen: sha256 {self.locked_sha256} "
            f"({self.locked_size} bytes) is now {self.actual_sha256} ({self.actual_size} bytes)"
        )


def make_lock(suite_id: str, files: Mapping[str, bytes]) -> bytes:
    """Return the lock's bytes for `files` (path inside the suite: content).

    Raises ContractError naming every path that may not be in a lock.
    """
    problems = list(_path_problems(files, LOCK_FILE))
    if (reason := id_problem(suite_id)) is not None:
        problems.append(Problem(LOCK_FILE, "$.suite_id", reason))
    if problems:
        raise ContractError.of(problems)
    return _lock_bytes(
        suite_id,
        (
            LockEntry(path, sha256_hex(files[path]), len(files[path]))
            for path in sorted(files, key=_by_bytes)
        ),
    )


def lock_parts(suite_id: str) -> tuple[bytes, bytes]:
    """Return the bytes before and after the entries of a lock, which are joined by commas."""
    whole = canonical_bytes({"schema": LOCK_SCHEMA, "suite_id": suite_id, "files": []})
    cut = whole.index(b"[") + 1
    return whole[:cut], whole[cut:]


def entry_bytes(path: str, sha256: str, size: int) -> bytes:
    """Return one entry of a lock in RFC 8785 form. (`rfc8785` is written in Python, too slow for a
    hundred thousand entries.)"""
    plain = path.isascii() and path.isprintable() and '"' not in path and "\\" not in path
    name = f'"{path}"' if plain else canonical_bytes(path, LOCK_FILE).decode()
    return f'{{"path":{name},"sha256":"{sha256}","size":{size}}}'.encode()


def _lock_bytes(suite_id: str, entries: Iterable[LockEntry]) -> bytes:
    head, tail = lock_parts(suite_id)
    return head + b",".join(entry_bytes(*entry) for entry in entries) + tail


def suite_digest(lock_bytes: bytes) -> str:
    """Return the suite's digest: sha256 (hex) of the lock's bytes."""
    return sha256_hex(lock_bytes)


@lru_cache(16)
def read_lock(lock_bytes: bytes) -> Lock:
    """Return the lock as a value, cached.

    Raises ContractError for anything that `make_lock` would not have written.
    """
    raw = load_object(lock_bytes, LOCK_FILE)
    if raw.get("schema") != LOCK_SCHEMA:
        raise ContractError(LOCK_FILE, "$.schema", f'must be "{LOCK_SCHEMA}"')
    if set(raw) != {"schema", "suite_id", "files"}:
        raise ContractError(LOCK_FILE, "$", "must hold exactly schema, suite_id and files")
    suite_id, files = raw["suite_id"], raw["files"]
    if not isinstance(suite_id, str) or id_problem(suite_id) is not None:
        raise ContractError(LOCK_FILE, "$.suite_id", "is not a suite id")
    if not isinstance(files, list):
        raise ContractError(LOCK_FILE, "$.files", "must be a list")
    entries = tuple(_entry(item, i) for i, item in enumerate(files))
    paths = [entry.path for entry in entries]
    if problems := list(_path_problems(paths, LOCK_FILE)):
        raise ContractError.of(problems)
    if paths != sorted(paths, key=_by_bytes):
        raise ContractError(LOCK_FILE, "$.files", "must be sorted by path")
    if _lock_bytes(suite_id, entries) != lock_bytes:
        raise ContractError(LOCK_FILE, "$", "is not in canonical form (RFC 8785)")
    return Lock(suite_id, entries)


def check_lock(lock_bytes: bytes, files: Mapping[str, bytes]) -> list[LockProblem]:
    """Return every file that differs from the lock, is missing, or is not in it; [] when all is as
    frozen.

    Raises ContractError when the lock itself cannot be read.
    """
    locked = {entry.path: entry for entry in read_lock(lock_bytes).files}
    problems: list[LockProblem] = []
    for path in sorted(locked.keys() | files.keys(), key=_by_bytes):
        problem = _difference(path, locked.get(path), files.get(path))
        if problem is not None:
            problems.append(problem)
    return problems


def sha256sum_text(lock: Lock) -> str:
    """Return the lock in the format of `sha256sum -c`; its own sha256 is the in-toto dirHash."""
    return "".join(f"{entry.sha256}  {entry.path}\n" for entry in lock.files)


def _difference(path: str, entry: LockEntry | None, data: bytes | None) -> LockProblem | None:
    if data is None:
        if entry is None:
            return None
        return LockProblem(path, "missing", entry.sha256, None, entry.size, None)
    actual = sha256_hex(data)
    if entry is None:
        return LockProblem(path, "unlisted", None, actual, None, len(data))
    if actual == entry.sha256 and len(data) == entry.size:
        return None
    return LockProblem(path, "changed", entry.sha256, actual, entry.size, len(data))


def _entry(item: object, index: int) -> LockEntry:
    where = json_path(("files", index))
    if not isinstance(item, dict) or set(item) != {"path", "sha256", "size"}:
        raise ContractError(LOCK_FILE, where, "must hold exactly path, sha256 and size")
    path, sha256, size = item["path"], item["sha256"], item["size"]
    if not isinstance(path, str):
        raise ContractError(LOCK_FILE, f"{where}.path", "must be a string")
    if not isinstance(sha256, str) or _DIGEST.fullmatch(sha256) is None:
        raise ContractError(LOCK_FILE, f"{where}.sha256", "must be 64 lower-case hex digits")
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise ContractError(LOCK_FILE, f"{where}.size", "must be a number of bytes")
    return LockEntry(path, sha256, size)


def _path_problems(paths: Iterable[str], file: str) -> list[Problem]:
    problems = []
    folded: dict[str, str] = {}
    for path in paths:
        if (reason := path_problem(path)) is not None:
            problems.append(Problem(file, "$.files", f"`{shown(path, 200)}` {reason}"))
        plain = path.casefold()
        other = folded.get(plain)
        folded[plain] = path
        if other == path:
            problems.append(Problem(file, "$.files", f"`{shown(path, 200)}` is listed twice"))
        elif other is not None:
            both = f"`{shown(path, 200)}` and `{shown(other, 200)}`"
            reason = f"{both} are one file where case is ignored"
            problems.append(Problem(file, "$.files", reason))
    return problems


def _by_bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogatepass")
