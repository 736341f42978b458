"""The quick look at a frozen folder agrees with the thorough one."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import rfc8785
from contract_examples import files
from hypothesis import given
from hypothesis import strategies as st

from reviewer.suite.folder import as_frozen, suite_state
from reviewer.suite.freeze import write_lock
from reviewer.suite.lock import LOCK_SCHEMA, LockEntry, entry_bytes, lock_parts, make_lock


@pytest.fixture
def frozen(tmp_path: Path) -> tuple[Path, str]:
    folder = tmp_path / "small-v1"
    for path, data in files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder, write_lock(folder)


def first(folder: Path) -> Path:
    return sorted((folder / "episodes").iterdir())[0]


def same_size(folder: Path) -> None:
    """An edit that leaves size and times as they were."""
    path = first(folder)
    about, data = path.stat(), path.read_bytes()
    path.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def linked(folder: Path) -> None:
    path = first(folder)
    path.rename(folder.parent / "elsewhere.json")
    path.symlink_to(folder.parent / "elsewhere.json")


def linked_folder(folder: Path) -> None:
    (folder / "episodes").rename(folder.parent / "episodes")
    (folder / "episodes").symlink_to(folder.parent / "episodes")


EDITS: dict[str, Callable[[Path], object]] = {
    "a byte": same_size,
    "cut short": lambda folder: first(folder).write_bytes(first(folder).read_bytes()[:-1]),
    "a file gone": lambda folder: first(folder).unlink(),
    "a file more": lambda folder: (folder / "episodes" / "zz.json").write_text("{}"),
    "a file more in a folder": lambda folder: (
        (folder / "more").mkdir() or (folder / "more" / "a").write_text("")
    ),
    "renamed": lambda folder: first(folder).rename(folder / "episodes" / "other.json"),
    "a link": linked,
    "a linked folder": linked_folder,
    "a pipe": lambda folder: os.mkfifo(folder / "episodes" / "pipe.json"),
    "lock edited": lambda folder: (folder / "suite.lock").write_text("{}"),
    "lock gone": lambda folder: (folder / "suite.lock").unlink(),
    "kept lock edited": lambda folder: (folder / ".frozen" / "suite.lock").write_text("{}"),
    "sums edited": lambda folder: (folder / "suite.sha256").write_text(""),
}
LEFT_ALONE: dict[str, Callable[[Path], object]] = {
    "nothing": lambda folder: None,
    "times": lambda folder: os.utime(first(folder), ns=(1, 1)),
    "sums gone": lambda folder: (folder / "suite.sha256").unlink(),
    "copies gone": lambda folder: shutil.rmtree(folder / ".frozen"),
    "a dot file": lambda folder: (folder / "episodes" / ".note").write_text("x"),
    "candidates": lambda folder: (
        (folder / "candidates").mkdir() or (folder / "candidates" / "a.json").write_text("{}")
    ),
    "an empty folder": lambda folder: (folder / "more").mkdir(),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_folder_is_not_as_frozen(frozen: tuple[Path, str], edit: str) -> None:
    folder, digest = frozen
    assert as_frozen(folder, digest)
    EDITS[edit](folder)
    assert not as_frozen(folder, digest)
    try:
        assert suite_state(folder).state == "broken"
    except ValueError:  # what no suite may hold is refused by name
        assert edit in ("a link", "a linked folder", "a pipe")


@pytest.mark.parametrize("edit", LEFT_ALONE)
def test_what_no_lock_covers_changes_nothing(frozen: tuple[Path, str], edit: str) -> None:
    folder, digest = frozen
    LEFT_ALONE[edit](folder)
    state = suite_state(folder)
    assert (state.state, state.digest) == ("frozen", digest)
    assert as_frozen(folder, digest)


def test_another_lock_that_the_folder_keeps_is_not_the_one_asked_for(
    frozen: tuple[Path, str],
) -> None:
    folder, digest = frozen
    first(folder).write_bytes(first(folder).read_bytes() + b"\n")
    shutil.rmtree(folder / ".frozen")
    for name in ("suite.lock", "suite.sha256"):
        (folder / name).unlink()
    other = write_lock(folder)
    assert as_frozen(folder, other)
    assert not as_frozen(folder, digest)


def test_a_large_file_is_read_to_its_end(frozen: tuple[Path, str]) -> None:
    folder, _ = frozen
    shutil.rmtree(folder / ".frozen")
    (folder / "suite.lock").unlink()
    (folder / "suite.sha256").unlink()
    (folder / "notes.txt").write_bytes(b"x" * ((1 << 16) + 3_000_000))
    digest = write_lock(folder)
    assert as_frozen(folder, digest)
    with (folder / "notes.txt").open("r+b") as handle:
        handle.seek(-1, os.SEEK_END)
        handle.write(b"y")
    assert not as_frozen(folder, digest)


PATHS = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp"), exclude_characters="\\/"),
    min_size=1,
).filter(lambda name: name not in (".", ".."))


@given(PATHS, st.binary(min_size=32, max_size=32), st.integers(0, 1 << 40))
def test_an_entry_is_written_as_rfc_8785_says(path: str, digest: bytes, size: int) -> None:
    entry = LockEntry(path, digest.hex(), size)
    assert entry_bytes(*entry) == rfc8785.dumps(entry._asdict())


@given(st.dictionaries(PATHS, st.binary(max_size=9), max_size=5))
def test_a_lock_is_its_parts(contents: dict[str, bytes]) -> None:
    try:
        lock = make_lock("any-v1", contents)
    except ValueError:
        return  # a name that no lock may hold
    head, tail = lock_parts("any-v1")
    assert lock.startswith(head)
    assert lock.endswith(tail)
    value = {"schema": LOCK_SCHEMA, "suite_id": "any-v1", "files": []}
    assert head + tail == rfc8785.dumps(value)
