"""Indexing behind an import: one process works, one waits, no third is started."""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from doors import Door, many

from reviewer.db.connection import reader
from reviewer.db.search import more_pending
from reviewer.desk.imports import importing, indexing
from reviewer.desk.place import at


@contextmanager
def held(door: Door, name: str, how: int = fcntl.LOCK_EX) -> Iterator[None]:
    handle = os.open(door.store.with_name(name), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


def pending(door: Door) -> bool:
    with closing(reader(door.store)) as connection:
        return more_pending(connection)


@pytest.fixture
def late(door: Door, monkeypatch: pytest.MonkeyPatch) -> tuple[Door, list[list[str]]]:
    """A workspace whose imports leave the index to a process, which is noted and not started."""
    started: list[list[str]] = []
    monkeypatch.setattr(importing, "INLINE_EVENTS", 0)
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    door.take("some.jsonl", [*many(5)])
    return door, started


def test_an_import_starts_one_process_unless_one_is_about_to_begin(
    late: tuple[Door, list[list[str]]],
) -> None:
    door, started = late
    assert [command[-1] for command in started] == ["_index"]
    indexing.index_behind(at(door.root))  # the first one may have read the store before
    assert len(started) == 2
    with held(door, "index-next.lock"):
        indexing.index_behind(at(door.root))
    assert len(started) == 2
    with held(door, "index-next.lock", fcntl.LOCK_SH):  # another import that asks at this moment
        indexing.index_behind(at(door.root))
    assert len(started) == 3
    door.ok("_index")
    assert not pending(door)
    indexing.index_behind(at(door.root))
    assert len(started) == 3


def test_the_one_that_waits_indexes_what_came_meanwhile(
    late: tuple[Door, list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    door, started = late
    monkeypatch.undo()
    with held(door, "index.lock"):
        waiting = subprocess.Popen([*started[0]], cwd=door.root)
        try:
            until_locked(door.store.with_name("index-next.lock"), waiting)
            monkeypatch.setattr(importing, "INLINE_EVENTS", 0)
            door.take("more.jsonl", [*many(5, "cand-b")])  # starts no third
            assert waiting.poll() is None
        except BaseException:
            waiting.kill()
            raise
    assert waiting.wait() == 0
    assert not pending(door)


def until_locked(path: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait until somebody holds this lock, or the process has ended."""
    while process.poll() is None:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        finally:
            os.close(handle)
    raise AssertionError(f"ended before it waited: {process.returncode}")
