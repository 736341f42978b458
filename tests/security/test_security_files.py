"""Files that are made: whose they are, and where they are not written."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from doors import SUITE, V8, Door
from people import key_file

RELEASE = ("--suite", SUITE, "--candidate", V8)


@pytest.fixture
def _open_to_all() -> Iterator[None]:
    """The loosest mask there is: what is private has to be made so."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(root: Path) -> dict[str, int]:
    return {str(path): stat.S_IMODE(path.stat().st_mode) for path in [root, *root.rglob("*")]}


@pytest.mark.usefixtures("_open_to_all")
def test_the_store_is_its_owners_whatever_is_done_with_it(door: Door) -> None:
    assert not door.store.exists()
    door.ok("import", door.suite / "traces")
    key = key_file(door.root, "robin")
    door.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    door.ok("sign", *RELEASE, "--key", key)
    door.ok("backup", door.root / "copy.db")
    found = modes(door.root / "store")
    databases = {path: mode for path, mode in found.items() if "review.db" in path}
    assert databases
    assert set(databases.values()) == {0o600}
    assert found[str(door.root / "store")] == 0o700
    assert modes(door.root / "copy.db") == {str(door.root / "copy.db"): 0o600}


@pytest.mark.parametrize("name", ["report.json", "report.md", "report.html", "junit.xml"])
def test_a_link_where_a_report_goes_is_replaced_and_not_followed(full: Door, name: str) -> None:
    out, victim = full.root / "out", full.root / "victim"
    out.mkdir()
    victim.write_text("mine")
    (out / name).symlink_to(victim)
    full.ok("--export-report", out, *RELEASE)
    assert victim.read_text() == "mine"
    assert not (out / name).is_symlink()
    assert (out / name).stat().st_size > 4


def test_a_link_where_the_store_goes_is_not_written_through(door: Door) -> None:
    assert not door.store.exists()
    victim = door.root / "victim"
    victim.write_text("mine")
    door.store.symlink_to(victim)
    said = door.run("import", door.suite / "traces")
    assert said.code != 0
    assert victim.read_text() == "mine"


def test_a_link_where_a_decision_goes_is_not_written_through(full: Door) -> None:
    key = key_file(full.root, "robin")
    full.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    victim = full.root / "victim"
    victim.write_text("mine")
    full.ok("sign", *RELEASE, "--key", key)
    (made,) = (full.root / "store" / "decisions").glob("*.dsse.json")
    made.unlink()
    made.symlink_to(victim)
    full.run("sign", *RELEASE, "--key", key)
    full.run("decisions", "export", "1", full.root / "exported")
    assert victim.read_text() == "mine"
    assert full.run("doctor").code == 20
