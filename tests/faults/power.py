"""A disk that loses its power: what a recorded run had done to its files, cut anywhere.

What `oplog.c` recorded is replayed onto files that know what was synced. A write is safe once its
file was synced after it; a name (made, renamed, removed) once its folder was. At a cut the rest is
at the mercy of a `Mode`. Names are held to POSIX, which is stricter than most file systems: syncing
a file says nothing about its name.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

Mode = Literal["nothing", "some", "torn"]
"""What survives of what was not synced: nothing; each change by a coin's toss, in any order; or the
changes up to one of them, in order, and of that one a number of whole sectors."""
MODES: tuple[Mode, ...] = ("nothing", "some", "torn")
SECTORS = (512, 4096)
HEAD = struct.Struct("<cQQII")


class Op(NamedTuple):
    """One record: Create, Write, Truncate, Sync, Unlink, Rename, Mkdir or Acknowledged."""

    kind: str
    inode: int
    number: int
    first: bytes
    second: bytes


def ops_of(log: Path) -> list[Op]:
    """Every record of a log."""
    data, at, found = log.read_bytes(), 0, []
    while at < len(data):
        kind, inode, number, n, m = HEAD.unpack_from(data, at)
        at += HEAD.size
        found.append(Op(kind.decode(), inode, number, data[at : at + n], data[at + n : at + n + m]))
        at += n + m
    return found


def acknowledged(log: Path, what: str) -> None:
    """Note that somebody was told: from here on this may not be lost."""
    text = what.encode()
    with log.open("ab", buffering=0) as handle:
        handle.write(HEAD.pack(b"A", 0, 0, len(text), 0) + text)


class Write(NamedTuple):
    """Bytes put at an offset; with None a file's new size. `turn` counts all changes of a disk."""

    turn: int
    at: int
    data: bytes | None


Renaming = dict[str, "File | Literal['gone'] | None"]


@dataclass(slots=True)
class File:
    """A file's bytes as synced, and what was done to it since."""

    safe: bytearray = field(default_factory=bytearray)
    since: list[Write] = field(default_factory=list)


@dataclass(slots=True)
class Names:
    """What a folder names (a File, or None for a folder), as synced, and what was done since."""

    safe: dict[str, File | None] = field(default_factory=dict)
    since: list[tuple[int, Renaming]] = field(default_factory=list)
    now: dict[str, File | None] = field(default_factory=dict)


class Survived:
    """Which of the unsynced changes are there after a cut."""

    def __init__(self, mode: Mode, chance: Random, turns: Sequence[int]) -> None:
        self._mode, self._chance = mode, chance
        self._last = chance.choice(turns) if turns else 0

    def named(self, turn: int) -> bool:
        """Whether a change of names is."""
        if self._mode == "some":
            return self._chance.random() < 0.5
        return self._mode == "torn" and turn <= self._last

    def written(self, write: Write) -> Write | None:
        """What is there of a write."""
        if not self.named(write.turn):
            return None
        if self._mode == "some" or write.turn < self._last or write.data is None:
            return write
        sector = self._chance.choice(SECTORS)
        whole = self._chance.randrange(len(write.data) // sector + 1)
        return write._replace(data=write.data[: sector * whole])


def applied(data: bytearray, write: Write) -> None:
    _, at, new = write
    if new is None:
        del data[at:]
        data.extend(bytes(at - len(data)))
    elif new:
        data.extend(bytes(max(0, at - len(data))))
        data[at : at + len(new)] = new


def renamed(names: dict[str, File | None], change: Renaming) -> None:
    for name, what in change.items():
        if what == "gone":
            names.pop(name, None)
        else:
            names[name] = what


class Disk:
    """The files below a folder, from a copy of it (all safe) and the operations that follow.

    `inodes` are those of the copied paths when the recording began.
    """

    def __init__(self, under: Path, copy: Path, inodes: dict[str, int]) -> None:
        self._under = str(under)
        self._turn = 0
        self._files: dict[int, File] = {}
        self._folders: dict[str, Names] = {self._under: Names()}
        for path in sorted(copy.rglob("*")):
            place = f"{self._under}/{path.relative_to(copy)}"
            folder, _, name = place.rpartition("/")
            found = None
            if path.is_dir():
                self._folders[place] = Names()
            else:
                found = self._files[inodes[place]] = File(bytearray(path.read_bytes()))
            self._folders[folder].safe[name] = self._folders[folder].now[name] = found

    def take(self, op: Op) -> None:
        """What a record says was done."""
        self._turn += 1
        match op.kind:
            case "C":
                self._files[op.inode] = made = File()
                self._name(op.first, made)
            case "W" | "T":
                data = op.first if op.kind == "W" else None
                self._files[op.inode].since.append(Write(self._turn, op.number, data))
            case "S":
                self._sync(op)
            case "U":
                self._name(op.first, "gone")
            case "R":
                folder, name = self._place(op.first)
                to, new = self._place(op.second)
                moved = self._folders[folder].now[name]
                assert folder == to, "a name that moves between folders is not replayed"
                self._change(folder, {name: "gone", new: moved})
            case "M":
                self._folders[op.first.decode()] = Names()
                self._name(op.first, None)

    def _place(self, path: bytes) -> tuple[str, str]:
        folder, _, name = path.decode().rpartition("/")
        return folder, name

    def _name(self, path: bytes, what: File | Literal["gone"] | None) -> None:
        folder, name = self._place(path)
        self._change(folder, {name: what})

    def _change(self, folder: str, change: Renaming) -> None:
        self._folders[folder].since.append((self._turn, change))
        renamed(self._folders[folder].now, change)

    def _sync(self, op: Op) -> None:
        folder = self._folders.get(op.first.decode())
        if folder is not None:
            folder.safe, folder.since = dict(folder.now), []
            return
        one = self._files[op.inode]
        for write in one.since:
            applied(one.safe, write)
        one.since = []

    def cut(self, to: Path, mode: Mode, chance: Random) -> None:
        """Write what a start after a power cut would find."""
        turns = [write.turn for one in self._files.values() for write in one.since]
        turns += [turn for names in self._folders.values() for turn, _ in names.since]
        self._write(to, self._under, Survived(mode, chance, turns))

    def _write(self, to: Path, folder: str, survived: Survived) -> None:
        to.mkdir(parents=True, exist_ok=True)
        names = dict(self._folders[folder].safe)
        for turn, change in self._folders[folder].since:
            if survived.named(turn):
                renamed(names, change)
        for name, one in names.items():
            if one is None:
                self._write(to / name, f"{folder}/{name}", survived)
                continue
            data = bytearray(one.safe)
            for write in one.since:
                there = survived.written(write)
                if there is not None:
                    applied(data, there)
            (to / name).write_bytes(data)
            (to / name).chmod(0o600)

    def whole(self) -> dict[str, bytes]:
        """Every file as if nothing had been lost: what lies on the recorded disk itself."""
        found = {}
        for folder, names in self._folders.items():
            for name, one in names.now.items():
                if one is not None:
                    data = bytearray(one.safe)
                    for write in one.since:
                        applied(data, write)
                    found[f"{folder}/{name}"] = bytes(data)
        return found
