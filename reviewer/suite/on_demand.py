"""The files of a proved suite, read one by one as they are needed.

Each is compared with the lock as it is read, so no part of an edited file is ever used.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from reviewer.suite.checks import CHECKS, checks_of
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import SuiteBroken, read_bytes
from reviewer.suite.lock import LOCK_FILE, LockProblem
from reviewer.suite.model import Episode, Suite
from reviewer.suite.values import (
    EPISODES,
    SUITE_FILE,
    episode_value,
    is_episode_file,
    merge_defaults,
    suite_value,
)

MOST_LOCK = 64 * 1024 * 1024
FEW = 16
"""Entries that are searched in the bytes of a lock before all of it is read."""
_HEAD, _SHA, _TAIL = b'{"path":"', b'","sha256":"', b'],"schema":"'
"""The beginning of a lock's entry, the end of its path, and the text after the last entry: no path
contains an unescaped quotation mark."""


class _Entry(msgspec.Struct):
    path: str
    sha256: str
    size: int


class _Entries(msgspec.Struct):
    files: list[_Entry]


_entry = msgspec.json.Decoder(_Entry)
_entries = msgspec.json.Decoder(_Entries)


class SuiteTouched(BaseException):
    """A contract that was edited after its suite was proved, found when it was needed: (suite,
    what is wrong). Not an `Exception`, which would be taken for a fault of the record or of its
    reader."""


class LockedFiles(Mapping[str, bytes]):
    """The locked files of a suite by path, each read on demand.

    `digest` is that of a lock that was completely read before. Reading a file that is not as it was
    frozen raises SuiteBroken, one that cannot be read ContractError.
    """

    def __init__(self, folder: Path, digest: str) -> None:
        self.folder, self.digest = folder, digest
        self._lock = read_bytes(folder / LOCK_FILE, MOST_LOCK)
        found = hashlib.sha256(self._lock).hexdigest()
        if found != digest:
            raise self._broken(LOCK_FILE, digest, found)
        self._all: dict[str, tuple[str, int]] | None = None
        self._asked = 0

    def __getitem__(self, path: str) -> bytes:
        entry = self._entry(path)
        if entry is None:
            raise KeyError(path)
        data = read_bytes(f"{self.folder}/{path}")
        found = hashlib.sha256(data).hexdigest()
        if found != entry[0]:
            raise self._broken(path, entry[0], found, entry[1], len(data))
        return data

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._entry(path) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def suite(self) -> Suite:
        """Return the suite without its episodes."""
        checks: dict[str, bytes] = {}
        if f'{{"path":"{CHECKS}'.encode() in self._lock:
            checks = {path: self[path] for path in self if path.startswith(CHECKS)}
        return suite_value(self.head(), (), self.digest, checks_of(checks))

    def head(self) -> dict[str, Any]:
        """Return suite.json as it is written."""
        found: dict[str, Any] = json.loads(self[SUITE_FILE])
        return found

    def _entry(self, path: str) -> tuple[str, int] | None:
        self._asked += 1
        if self._all is None and self._asked <= FEW:
            return self._found(path)
        return self._whole().get(path)

    def _found(self, path: str) -> tuple[str, int] | None:
        """Search an entry by bisection: a lock has them in the order of their paths."""
        lock, wanted = self._lock, path.encode("utf-8", "surrogatepass")
        low, high = lock.find(_HEAD), lock.rfind(_TAIL)
        while 0 <= low < high:
            start = lock.rfind(_HEAD, low, (low + high) // 2 + len(_HEAD))
            end = lock.index(b"}", lock.index(_SHA, start)) + 1
            entry = _entry.decode(lock[start:end])
            name = entry.path.encode("utf-8", "surrogatepass")
            if name == wanted:
                return entry.sha256, entry.size
            low, high = (end + 1, high) if name < wanted else (low, start)
        return None

    def _whole(self) -> dict[str, tuple[str, int]]:
        if self._all is None:
            files = _entries.decode(self._lock).files
            self._all = {one.path: (one.sha256, one.size) for one in files}
        return self._all

    def _broken(
        self, path: str, locked: str, found: str, size: int | None = None, now: int | None = None
    ) -> SuiteBroken:
        edit = LockProblem(path, "changed", locked, found, size, now)
        return SuiteBroken(self.folder.name, (edit,))


class Contracts(Mapping[str, Episode]):
    """The contracts of a proved suite by episode id, each read on demand, and once. Only their
    location is sent to another process. Raises SuiteTouched for one that is not as it was
    frozen."""

    def __init__(self, folder: Path, digest: str) -> None:
        self._place = folder, digest
        self._files: LockedFiles | None = None
        self._defaults: dict[str, Any] = {}
        self._read: dict[str, Episode] = {}

    def __reduce__(self) -> tuple[type["Contracts"], tuple[Path, str]]:
        return Contracts, self._place

    def __getitem__(self, episode_id: str) -> Episode:
        found = self._read.get(episode_id)
        if found is None:
            path = _path(episode_id)
            try:
                raw = merge_defaults(self._defaults, json.loads(self.files[path]))
            except ContractError as error:
                raise SuiteTouched(self._place[0].name, str(error)) from error
            found = self._read[episode_id] = episode_value(raw, path)
        return found

    def __contains__(self, episode_id: object) -> bool:
        if not isinstance(episode_id, str) or "/" in episode_id:
            return False
        return episode_id in self._read or _path(episode_id) in self.files

    def __iter__(self) -> Iterator[str]:
        return (
            path.removeprefix(EPISODES).removesuffix(".json")
            for path in self.files
            if is_episode_file(path)
        )

    def __len__(self) -> int:
        return sum(map(is_episode_file, self.files))

    @property
    def files(self) -> LockedFiles:
        """The suite's files."""
        if self._files is None:
            self._files = LockedFiles(*self._place)
            self._defaults = self._files.head().get("defaults", {})
        return self._files

    def in_order(self) -> Iterator[Episode]:
        """Yield every contract in the suite's order, without caching."""
        order = {name: i for i, name in enumerate(self.files.head().get("episodes") or ())}
        for name in sorted(self, key=lambda one: (order.get(one, len(order)), one)):
            found = self[name]
            del self._read[name]
            yield found


def _path(episode_id: str) -> str:
    return f"{EPISODES}{episode_id}.json"
