"""Many small files in one import: they share durable writes and stay files of their own."""

import gzip
import json
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from doors import Door

from reviewer.desk.imports.importing import import_paths
from reviewer.desk.place import at
from reviewer.importing.pipeline.outcome import FileResult
from reviewer.importing.pipeline.scoring import ImportOptions

COUNT = 150


def trajectory(number: int, words: str = "") -> dict[str, Any]:
    return {
        "schema_version": "ATIF-v1.7",
        "agent": {"name": "a", "version": "1", "model_name": "m"},
        "steps": [
            {"step_id": 1, "source": "user", "message": f"task {number}"},
            {"step_id": 2, "source": "agent", "message": f"done {number} {words}"},
        ],
    }


@pytest.fixture
def files(door: Door) -> Path:
    for number in range(COUNT):
        door.file(f"in/task-{number:03}.json", trajectory(number))
    return door.root / "in"


def imported(door: Door, files: Path, on_result: Callable[[FileResult], None]) -> list[FileResult]:
    quiet = lambda path, number, of: lambda done, size, tally: None  # noqa: E731
    return import_paths(at(door.root), [files], ImportOptions(), quiet, on_result).results


def test_nothing_is_told_before_it_is_durable(door: Door, files: Path) -> None:
    told: list[str] = []

    def check(result: FileResult) -> None:
        told.append(result.path)
        with closing(sqlite3.connect(f"file:{door.store}?mode=ro", uri=True)) as base:
            found = base.execute(
                "SELECT s.state, count(t.id) FROM source s LEFT JOIN trace t ON t.source = s.id"
                " WHERE s.path=?", (result.path,),
            ).fetchall()  # fmt: skip
        assert found == [("done", 1)], result

    results = imported(door, files, check)
    assert told == [result.path for result in results] == sorted(told)
    assert len(told) == COUNT
    door.healthy()


def test_several_files_share_one_write(door: Door, files: Path) -> None:
    seen: list[int] = []

    def count(result: FileResult) -> None:
        seen.append(door.one("SELECT count(*) FROM source WHERE state='done'"))

    imported(door, files, count)
    assert len(set(seen)) < COUNT / 5
    assert seen[-1] == COUNT


def test_a_killed_import_has_all_that_it_told(door: Door, files: Path) -> None:
    process = door.start("import", "--quiet", "--progress", "json", files)
    assert process.stdout is not None
    told: list[str] = []
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "result":
            told.append(event["result"]["path"])
        if len(told) == COUNT // 2:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    kept = {path for (path,) in door.rows("SELECT source_path FROM traces")}
    assert set(told) <= kept
    door.ok("import", files)
    assert door.one("SELECT count(*), count(DISTINCT episode_id) FROM traces") == COUNT
    assert door.one("SELECT count(*) FROM source WHERE state='done' AND added=1") == COUNT
    door.healthy()


def test_a_bad_file_among_many_costs_itself(door: Door, files: Path) -> None:
    (files / "task-010.json").write_text('{"schema_version": "ATIF-v1.7", "steps": [')
    (files / "task-020.json").write_bytes(b"\x80\x04pickle")
    (files / "task-030.json").write_text("version https://git-lfs.github.com/spec/v1\n")
    (files / "task-040.json").write_text("")
    broken = trajectory(50)
    broken["steps"][1]["tool_calls"] = 5
    (files / "task-050.json").write_text(json.dumps(broken))
    said = door.run("import", files)
    assert said.code == 20
    for number in (10, 20, 30, 40):
        assert f"task-0{number}.json" in said.err
    assert door.one("SELECT count(*) FROM traces") >= COUNT - 5
    door.healthy()


def test_a_copy_among_many_is_known(door: Door, files: Path) -> None:
    shutil.copy(files / "task-001.json", files / "task-001-again.json")
    said = door.ok("import", files)
    assert "this very file was imported before" in said.err
    assert door.one("SELECT count(*) FROM traces") == COUNT


def test_a_file_that_is_small_on_the_disk_alone(door: Door, files: Path) -> None:
    """It unpacks to much more than waits for one write; its order among the others is kept."""
    one = {"messages": [{"role": "user", "content": "x" * 4000},
                        {"role": "assistant", "content": "y"}]}  # fmt: skip
    many = b"".join(json.dumps({**one, "id": n}).encode() + b"\n" for n in range(2500))
    packed = gzip.compress(many)
    assert len(packed) < 1 << 20 < len(many)
    (files / "task-075.jsonl.gz").write_bytes(packed)
    told: list[str] = []
    imported(door, files, lambda result: told.append(Path(result.path).name))
    assert told == sorted(told)
    assert door.one("SELECT count(*) FROM traces") == COUNT + 2500
    door.healthy()
