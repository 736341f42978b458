"""Imports begun from a screen: processes of their own, told by lines of JSON."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from doors import Door, lines, many

from reviewer.desk.errors import DeskError
from reviewer.desk.imports.api import ImportOrder

MANY, PATIENCE = 12_000, 120
"""Records of a file of three batches; seconds."""
EXCERPT = Path(__file__).resolve().parents[1] / "data/tau_bench/gpt-4o-airline-excerpt.json"


def test_a_dry_import_says_what_it_would_do_and_writes_nothing(door: Door) -> None:
    desk = door.desk()
    told: list[int] = []
    handle = desk.imports.start(
        ImportOrder(path=str(EXCERPT), dry=True), lambda one: told.append(one.view().number)
    )
    view = handle.wait(PATIENCE)
    assert view.state == "done"
    [found] = view.results
    [filled] = found.filled
    assert (found.reader, found.records, found.added) == ("tau-bench", 8, 8)
    assert (filled.episodes, filled.attempts, filled.passed, filled.measured) == (2, 8, 3, 8)
    assert filled.cost_usd is None
    assert told
    assert not door.store.exists() or door.one("SELECT count(*) FROM trace") == 0


def test_an_import_fills_the_store_and_tells_of_bad_files(door: Door) -> None:
    folder = door.root / "in"
    folder.mkdir()
    (folder / "a.json").write_bytes(EXCERPT.read_bytes())
    (folder / "b.json").write_text('{"episode_id": "x", "events": [')
    (folder / "notes.txt").write_text("nothing")
    view = door.desk().imports.start(ImportOrder(path=str(folder))).wait(PATIENCE)
    assert view.state == "done"
    assert view.passed == 1
    assert [(Path(one.path).name, one.added, one.refused) for one in view.results] == [
        ("a.json", 8, 0),
        ("b.json", 0, 1),
    ]
    assert door.one("SELECT count(*) FROM trace") == 8


def test_a_stopped_import_goes_on_later(door: Door) -> None:
    path = door.root / "many.jsonl"
    path.write_bytes(lines(many(MANY)))
    handle = door.desk().imports.start(ImportOrder(path=str(path)))
    while handle.view().file == 0 and handle.view().state != "failed":
        time.sleep(0.01)
    handle.stop()
    view = handle.wait(PATIENCE)
    assert view.state == "stopped"
    again = door.desk().imports.start(ImportOrder(path=str(path))).wait(PATIENCE)
    assert again.state == "done", again
    assert (
        door.one("SELECT count(*) FROM trace") + door.one("SELECT count(*) FROM quarantine") == MANY
    )
    door.healthy()


def test_what_cannot_be_imported_says_why(door: Door) -> None:
    desk = door.desk()
    with pytest.raises(DeskError):
        desk.imports.start(ImportOrder(path="  "))
    view = desk.imports.start(ImportOrder(path=str(door.root / "nowhere"))).wait(PATIENCE)
    assert view.state == "done"
    assert "No such file" in view.results[0].problem
    bad = door.root / "map.json"
    bad.write_text(json.dumps({}))
    order = ImportOrder(path=str(EXCERPT), suite_id="refund-eval-v5", episode_map=str(bad))
    assert "must be an object" in desk.imports.start(order).wait(PATIENCE).problem


def test_an_import_pauses_between_batches_and_goes_on(door: Door) -> None:
    path = door.root / "many.jsonl"
    path.write_bytes(lines(many(MANY)))
    handle = door.desk().imports.start(ImportOrder(path=str(path)))
    until(lambda: handle.view().records > 0)
    handle.pause()
    until(lambda: handle.view().state == "paused")
    resting = handle.view()
    before = door.one("SELECT count(*) FROM trace")
    assert 0 < before < MANY
    door.ok("doctor")  # nobody waits for an import that rests
    time.sleep(0.3)
    assert door.one("SELECT count(*) FROM trace") == before
    assert handle.view().records == resting.records
    assert resting.eta_seconds is None
    handle.go_on()
    view = handle.wait(PATIENCE)
    assert view.state == "done", view
    assert view.records == MANY
    assert view.added + view.refused == MANY
    door.healthy()


def test_a_pause_that_comes_too_late_or_twice_is_let_be(door: Door) -> None:
    handle = door.desk().imports.start(ImportOrder(path=str(EXCERPT)))
    handle.wait(PATIENCE)
    handle.pause()
    handle.go_on()
    handle.stop()
    assert handle.view().state == "done"


@pytest.mark.nightly
def test_a_paused_import_is_stopped_and_read_on_later(door: Door) -> None:
    path = door.root / "many.jsonl"
    path.write_bytes(lines(many(MANY)))
    desk = door.desk()
    order = ImportOrder(path=str(path))
    handle = desk.imports.start(order)
    until(lambda: handle.view().records > 0)
    handle.pause()
    until(lambda: handle.view().state == "paused")
    handle.stop()
    assert handle.wait(PATIENCE).state == "stopped"
    assert [source.state for source in desk.imports.sources()] == ["reading"]
    assert desk.imports.start(order).wait(PATIENCE).state == "done"
    assert [source.state for source in desk.imports.sources()] == ["done"]
    door.healthy()


@pytest.mark.nightly
def test_an_import_whose_workstation_died_while_it_was_paused_ends(door: Door) -> None:
    path = door.root / "many.jsonl"
    path.write_bytes(lines(many(MANY)))
    command = [sys.executable, "-P", "-m", "reviewer", "--workspace", str(door.root)]
    with subprocess.Popen(
        [*command, "import", "--progress", "steered", str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"pause\n")
        process.stdin.flush()
        for line in process.stdout:
            if json.loads(line)["event"] == "paused":
                break
        process.stdin.close()
        assert process.wait(PATIENCE) != 0
        assert b"has ended" in process.stderr.read()
    assert door.desk().imports.start(ImportOrder(path=str(path))).wait(PATIENCE).state == "done"
    door.healthy()


def test_a_look_that_is_stopped_leaves_no_copy_of_the_store(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = door.root / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    path = door.root / "many.jsonl"
    path.write_bytes(lines(many(MANY)))
    handle = door.desk().imports.start(ImportOrder(path=str(path), dry=True))
    until(lambda: handle.view().file > 0)
    assert list(scratch.glob("reviewer-dry-*"))
    handle.stop()
    assert handle.wait(PATIENCE).state == "stopped"
    assert not list(scratch.glob("reviewer-dry-*"))


def test_steering_takes_standard_input_for_itself(door: Door) -> None:
    told = door.run("import", "--progress", "steered", "-")
    assert told.code == 2
    assert "standard input" in told.err


def until(holds: Callable[[], bool]) -> None:
    """Wait for another process, two minutes at most."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)
