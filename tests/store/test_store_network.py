"""A store on a network file system is refused before anything is written; a copy is read there."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from doors import SUITE, V8, Door, passing

from reviewer.db import mounts
from reviewer.db.connection import reader

Mounted = Callable[[str, str], None]


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mounted:
    """Say of the disk of these tests that it is of another kind."""

    def mount(kind: str, place: str = "/srv/team share") -> None:
        found = os.stat(tmp_path).st_dev
        said = tmp_path / f"mountinfo-{kind.replace('/', '-')}-{len(place)}"
        escaped = place.replace(" ", r"\040")
        said.write_text(
            "21 1 254:99 / / rw,relatime - ext4 /dev/root rw\n"
            f"36 21 {os.major(found)}:{os.minor(found)} /a {escaped} rw,noatime master:1 -"
            f" {kind} host:/export rw,vers=4.2\n"
        )
        monkeypatch.setattr(mounts, "MOUNTS", said)

    return mount


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "ceph"])
def test_nothing_is_made_on_a_network_file_system(door: Door, mounted: Mounted, kind: str) -> None:
    mounted(kind, "/srv/team share")
    said = door.run("import", door.file("one.json", passing()))
    assert said.code == 20
    assert f"is on a network file system ({kind})" in said.err
    assert "reviewer serve" in said.err
    assert [path.name for path in door.store.parent.glob("review.db*")] == []


def test_a_store_that_is_there_is_neither_written_nor_read(full: Door, mounted: Mounted) -> None:
    copy = full.root / "copy.db"
    full.ok("backup", copy)
    before = full.store.read_bytes()
    mounted("nfs4", "/home")
    on = ("--suite", SUITE, "--candidate", V8)
    for command in (("scorecard", *on), ("score",), ("vacuum",)):
        said = full.run(*command)
        assert (said.code, "network file system (nfs4)" in said.err) == (20, True), said
    assert "store: " in (doctor := full.run("doctor")).out
    assert "network file system" in doctor.out
    assert full.store.read_bytes() == before


def test_a_copy_by_backup_is_read_there(full: Door, mounted: Mounted) -> None:
    copy = full.root / "copy.db"
    full.ok("backup", copy)
    mounted("nfs", "/home")
    assert mounts.network_kind(copy.parent) == "nfs"
    with contextlib.closing(reader(copy)) as base:
        assert base.execute("SELECT count(*) FROM trace").fetchone() == (18,)


@pytest.mark.parametrize(
    ("kind", "place"),
    [("ext4", "/home"), ("overlay", "/"), ("9p", "/"), ("fuse.ext4", "/x"), ("tmpfs", "/dev/shm")],
)
def test_disks_of_one_machine_are_not_refused(
    door: Door, mounted: Mounted, kind: str, place: str
) -> None:
    mounted(kind, place)
    door.take("one.json", passing())
    door.healthy()


def test_where_the_kind_is_not_known_nothing_is_refused(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "MOUNTS", door.root / "none")
    door.take("one.json", passing())
