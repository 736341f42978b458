"""Nothing is signed while a program that could reach the signer runs, in whichever process."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door
from test_security_keys import PASSPHRASE, Key

from reviewer.desk.errors import DeskError
from reviewer.desk.fencing import hold_unfenced, nothing_unfenced
from reviewer.desk.place import at
from reviewer.desk.runs import start as starting
from reviewer.desk.runs.api import RunOrder
from reviewer.running.sandbox.protection import Protection

WAITS = """
import json, sys, time
from pathlib import Path
for line in sys.stdin:
    while not Path(sys.argv[1]).exists():
        time.sleep(0.02)
    print(json.dumps({"type": "final", "message": "Done."}), flush=True)
"""


@pytest.fixture
def key(full: Door, tmp_path: Path) -> Key:
    made = Key(tmp_path / "keys", "robin")
    full.ok("keys", "trust", "robin@example.com", made.public)
    return made


def sign(door: Door, key: Key) -> Any:
    return door.run("sign", "--suite", SUITE, "--candidate", V8, "--key", key.path)


@contextmanager
def running(door: Door, go: Path, held: Protection, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """A run of a program that waits for the file `go`; on a machine with this protection."""
    patch.setattr(starting, "protection", lambda: held)
    patch.setattr("reviewer.running.sandbox.room.protection", lambda: Protection("none"))
    program = door.root / "waits.py"
    program.write_text(WAITS)
    manifest = {
        "schema": "reviewer/candidate@1", "candidate_id": "waits", "agent": "a", "version": "1",
        "authors": ["r.lee"], "model": "m", "prompts": [], "tools": [], "config": {},
        "runner": {"kind": "command", "command": [sys.executable, str(program), str(go)]},
    }  # fmt: skip
    (door.suite / "candidates" / "waits.json").write_text(json.dumps(manifest))
    desk = door.desk()
    try:
        run = desk.runs.start(RunOrder(suite_id=SUITE, candidate_id="waits", attempts=1, jobs=1))
        try:
            yield run.isolation
        finally:
            go.touch()
            assert run.wait(60).state == "done"
    finally:
        desk.close()


def test_nothing_is_signed_while_a_program_without_a_fence_runs(
    full: Door, key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(full, tmp_path / "go", Protection("landlock", landlock=7), monkeypatch) as how:
        assert how
        here = sign(full, key)
        process = full.start("sign", "--suite", SUITE, "--candidate", V8, "--key", key.path)
        out, err = (stream.decode() for stream in process.communicate(timeout=60))
        for code, said in ((here.code, here.err), (process.returncode, err)):
            assert code == 10
            assert "cannot sign while a candidate's program runs" in said
            assert "way out: wait until the run has ended" in said
        assert out == ""
        assert full.one("SELECT count(*) FROM decision") == 0
    assert sign(full, key).code == 0


def test_a_fenced_program_stops_no_signature(
    full: Door, key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Protection("landlock", landlock=7, filtered=True)
    with running(full, tmp_path / "go", held, monkeypatch):
        assert sign(full, key).code == 0


def test_no_program_without_a_fence_begins_while_somebody_signs(
    full: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        nothing_unfenced(at(full.root)),
        pytest.raises(DeskError, match="a decision is being signed"),
        running(full, tmp_path / "go", Protection("none"), monkeypatch),
    ):
        pytest.fail("it began")


def test_runs_share_what_a_signer_has_alone(full: Door) -> None:
    import os

    place = at(full.root)
    first, second = hold_unfenced(place), hold_unfenced(place)
    os.close(first)
    with pytest.raises(DeskError), nothing_unfenced(place):
        pass
    os.close(second)
    with nothing_unfenced(place):
        seen: list[str] = []

        def other() -> None:
            try:
                with nothing_unfenced(place):
                    seen.append("both sign at once")
            except DeskError as error:
                seen.append(error.text)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert "somebody else is signing" in seen[0]


def test_a_link_where_the_lock_goes_is_not_followed(full: Door, tmp_path: Path) -> None:
    target = tmp_path / "target"
    (full.root / "store" / "unfenced.lock").symlink_to(target)
    with pytest.raises(DeskError, match="cannot be opened"), nothing_unfenced(at(full.root)):
        pass
    assert not target.exists()


def test_a_passphrase_that_was_typed_opens_the_key(
    full: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the environment names another, and the wrong one is not papered over by it."""
    locked = Key(tmp_path / "keys", "sam", PASSPHRASE)
    full.ok("keys", "trust", "sam@example.com", locked.public)
    desk = full.desk()
    order = (SUITE, V8, "PROMOTE", str(locked.path))
    with pytest.raises(DeskError, match="is encrypted") as needed:
        desk.decisions.sign(*order)
    assert needed.value.ways_out
    monkeypatch.setenv("REVIEWER_PASSPHRASE", PASSPHRASE)
    with pytest.raises(DeskError, match="wrong passphrase") as wrong:
        desk.decisions.sign(*order, passphrase="guessed")
    assert f"ssh-add {locked.path}" in " ".join(wrong.value.ways_out)
    assert full.one("SELECT count(*) FROM decision") == 0
    monkeypatch.setenv("REVIEWER_PASSPHRASE", "another")
    assert desk.decisions.sign(*order, passphrase=PASSPHRASE).verified
    desk.close()
