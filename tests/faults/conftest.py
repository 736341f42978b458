"""The shims that record writes and move the clock, built once where there is a C compiler."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doors import SUITE, V7, V8, Door, copied, passing
from labelers import labeled, labeler
from people import key_file

sys.path.append(str(Path(__file__).resolve().parents[1] / "tui"))  # the terminal of its tests


def built(source: str, folder: Path) -> Path:
    """A shared object to LD_PRELOAD; tests that need it are skipped without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler on this machine: nothing can stand between program and kernel")
    if sys.platform != "linux":
        pytest.skip("what stands between program and kernel is written for Linux")
    made = folder / f"{source}.so"
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", made, Path(__file__).with_name(source),
         "-lpthread"],
        check=True,
    )  # fmt: skip
    return made


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What records writes and fills disks."""
    return built("oplog.c", tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="session")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What moves the clock."""
    return built("clock.c", tmp_path_factory.mktemp("clock"))


@pytest.fixture(scope="session")
def used_template(tmp_path_factory: pytest.TempPathFactory, full_template: Path) -> Path:
    """A workspace that was worked in: a trace of more than 1 MB, a quarantined record, labels, a
    note, a decision for either candidate."""
    door = copied(full_template, tmp_path_factory.mktemp("used") / "desk")
    large = passing(candidate_id=V8, attempt=4)
    large["events"][0]["observation"] = ["x" * 1000] * 1200
    door.take("more.jsonl", [large, {"candidate_id": V7, "episode_id": "appeal-009"}])
    labeled(door)
    with labeler(door) as desk:
        desk.traces.write_note(f"{SUITE}/{V7}/attack-014/1", 2, "note", "look at this refund")
    key = key_file(door.root, "robin")
    door.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    for candidate, code in ((V8, 0), (V7, 10)):
        said = door.outside("sign", "--suite", SUITE, "--candidate", candidate, "--key", key)
        assert said.code == code, said
    return door.root


@pytest.fixture
def used(tmp_path: Path, used_template: Path) -> Door:
    """A workspace that was worked in."""
    return copied(used_template, tmp_path / "used")
