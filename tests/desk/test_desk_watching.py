"""Watching what a harness writes: appended, rewritten, renamed, in halves, in several files."""

import contextlib
import json
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from swe_files import IDS, evaluated, trajectory

from reviewer.desk.imports.importing import import_units
from reviewer.desk.imports.watching import PATIENCE, SETTLE_S, Watch
from reviewer.desk.place import at
from reviewer.importing.pipeline.outcome import FileResult
from reviewer.importing.pipeline.revising import WHOLE
from reviewer.importing.pipeline.scoring import ImportOptions

DATA = Path(__file__).resolve().parents[1] / "data"
JOB = DATA / "harbor/job"


class Desk:
    """A watched folder and a clock that goes on by hand."""

    def __init__(self, door: Door, *paths: Path) -> None:
        self.door, self.now = door, 0.0
        self.folder = door.root / "runs"
        self.folder.mkdir(exist_ok=True)
        self.paths = paths or (self.folder,)
        self.start()

    def start(self) -> None:
        """Begin to watch, as a program that was started again."""
        self.watch = Watch(self.paths, "auto", now=lambda: self.now)

    def after(self, seconds: float = SETTLE_S + 1) -> list[FileResult]:
        """What came of what was there to import after looking now, and then every second."""
        results: list[FileResult] = []
        for _ in range(round(seconds) + 1):
            units = self.watch.ready()
            if units:
                results += import_units(
                    at(self.door.root), units, ImportOptions(), quiet, lambda result: None
                )
            self.now += 1
        return [one for one in results if one.state != "known"]

    def write(self, name: str, content: object) -> Path:
        return self.door.file(f"runs/{name}", content)


def quiet(path: Path, number: int, of: int) -> Callable[..., None]:
    return lambda done, size, tally: None


@pytest.fixture
def desk(door: Door) -> Desk:
    return Desk(door)


def chat(number: int) -> dict[str, Any]:
    said = [{"role": "user", "content": f"q{number}"}, {"role": "assistant", "content": "a"}]
    return {"messages": said}


def mini(turns: int, number: int = 0) -> dict[str, Any]:
    """A trajectory of mini-swe-agent as it stands after so many messages."""
    value = json.loads((DATA / "mini_swe_agent/hello-world.traj.json").read_bytes())
    value["instance_id"] = IDS[number]
    whole = turns >= len(value["messages"])
    value["messages"] = value["messages"][:turns]
    if not whole:
        value["info"] |= {"exit_status": None, "submission": None}
    return value


def test_lines_that_are_appended_are_attempts_once(desk: Desk) -> None:
    path = desk.write("log.jsonl", [chat(0)])
    assert [one.added for one in desk.after()] == [1]
    for number in range(1, 4):
        with path.open("a") as out:
            out.write(json.dumps(chat(number)) + "\n")
        assert [one.added for one in desk.after()] == [1]
    assert desk.after() == []
    rows = desk.door.rows("SELECT episode_id, attempt FROM traces ORDER BY 1")
    assert rows == [(f"log-{number}", 1) for number in range(1, 5)]
    desk.door.healthy()


def test_a_file_that_is_still_written_is_waited_for(desk: Desk) -> None:
    path = desk.write("log.jsonl", [chat(0)])
    for number in range(1, 6):
        assert desk.after(SETTLE_S - 1) == []
        with path.open("a") as out:
            out.write(json.dumps(chat(number)) + "\n")
    assert [one.added for one in desk.after()] == [6]


def test_half_a_record_is_waited_for_longer(desk: Desk) -> None:
    whole = json.dumps(chat(0)) + "\n" + json.dumps(chat(1)) + "\n"
    path = desk.write("log.jsonl", whole[:-20])
    assert desk.after(SETTLE_S * (PATIENCE - 1)) == []
    path.write_text(whole)
    assert [(one.added, one.refused) for one in desk.after()] == [(2, 0)]
    assert desk.door.one("SELECT count(*) FROM quarantine") == 0


def test_half_a_record_that_stays_is_told_and_its_other_half_taken_later(desk: Desk) -> None:
    whole = json.dumps(chat(0)) + "\n" + json.dumps(chat(1)) + "\n"
    path = desk.write("log.jsonl", whole[:-20])
    results = desk.after(SETTLE_S * (PATIENCE + 1))
    assert [(one.added, one.refused) for one in results] == [(1, 1)]
    path.write_text(whole)
    assert [(one.added, one.refused) for one in desk.after()] == [(1, 0)]
    assert desk.door.one("SELECT count(*) FROM traces") == 2
    desk.door.healthy()


def test_a_trajectory_that_is_rewritten_step_by_step_is_one_attempt(desk: Desk) -> None:
    for turns in (2, 4, 6, 99):
        desk.write(f"{IDS[0]}.traj.json", mini(turns))
        (result,) = desk.after()
        assert result.added == 1, result
        assert (WHOLE in result.notes) == (turns > 2)
        assert desk.door.one("SELECT count(*) FROM traces") == 1
    [(attempt, events, cost, end)] = desk.door.rows(
        "SELECT attempt, events, cost_usd, termination FROM traces"
    )
    assert (attempt, events, cost, end) == (1, 11, 0.010520999999999999, "agent_stop")
    assert desk.door.one("SELECT count(*) FROM event") == 11
    found = desk.door.rows("SELECT rowid FROM search WHERE search MATCH 'returncode OR output'")
    assert len(found) <= 1
    assert desk.door.wrong_rolls() == []
    desk.door.healthy()


def test_a_run_that_was_made_again_in_the_same_place_is_another_attempt(desk: Desk) -> None:
    first = mini(99)
    desk.write(f"{IDS[0]}.traj.json", first)
    desk.after()
    first["messages"][2]["content"] = "Something else.\n\n```bash\nls -la\n```"
    desk.write(f"{IDS[0]}.traj.json", first)
    assert [one.added for one in desk.after()] == [1]
    assert desk.door.rows("SELECT attempt FROM traces ORDER BY 1") == [(1,), (2,)]


def test_a_run_that_becomes_a_link_out_of_the_folder_is_not_lost_in_silence(desk: Desk) -> None:
    path = desk.write("one.jsonl", [chat(0)])
    assert [one.added for one in desk.after()] == [1]
    outside = desk.door.file("outside.jsonl", [chat(1)])
    path.unlink()
    path.symlink_to(outside)
    [told] = desk.after()
    assert (Path(told.path), told.added) == (path, 0)
    assert "symbolic link out of the folder" in told.problem
    assert desk.after() == [], "it is told once"
    path.unlink()
    assert desk.after() == []
    path.symlink_to(outside)
    assert len(desk.after()) == 1
    assert desk.door.rows("SELECT count(*) FROM traces") == [(1,)]


def test_a_file_that_is_renamed_into_place(desk: Desk) -> None:
    whole = desk.write("log.jsonl.part", [chat(0), chat(1)])
    whole.rename(desk.folder / "log.jsonl")
    assert [(Path(one.path).name, one.added) for one in desk.after()] == [("log.jsonl", 2)]
    newer = desk.write("log.jsonl.part", [chat(0), chat(1), chat(2)])
    newer.rename(desk.folder / "log.jsonl")
    assert [one.added for one in desk.after()] == [1]


def test_a_watch_that_was_killed_goes_on(desk: Desk) -> None:
    desk.write("a.jsonl", [chat(0)])
    desk.write(f"{IDS[0]}.traj.json", mini(4))
    desk.after()
    desk.start()
    assert desk.after() == []
    desk.write("a.jsonl", [chat(0), chat(1)])
    desk.write(f"{IDS[0]}.traj.json", mini(99))
    desk.start()
    assert [one.added for one in desk.after()] == [1, 1]
    assert desk.door.one("SELECT count(*) FROM traces") == 3
    desk.door.healthy()


def test_the_result_of_a_harbor_trial_comes_after_its_trajectory(desk: Desk) -> None:
    """What was imported as a trajectory is the trial's attempt, and there is one of it."""
    name = next(one.name for one in sorted(JOB.iterdir()) if (one / "agent").is_dir())
    trial = Path(shutil.copytree(JOB / name, desk.folder / "job" / name))
    result = (trial / "result.json").read_bytes()
    (trial / "result.json").unlink()
    assert [one.reader for one in desk.after()] == ["atif"]
    before = desk.door.rows("SELECT suite_id, episode_id, passed FROM traces")
    (trial / "result.json").write_bytes(result)
    assert [one.reader for one in desk.after()] == ["harbor"]
    after = desk.door.rows("SELECT suite_id, episode_id, attempt FROM traces")
    assert set(after) == {(*before[0][:2], 1)}
    desk.door.healthy()


@pytest.mark.parametrize("first", ["agent_response.json", "eval_result.json", "network.har"])
def test_a_task_whose_files_come_one_by_one_is_one_attempt(desk: Desk, first: str) -> None:
    names = ["agent_response.json", "eval_result.json", "network.har"]
    for name in (first, *(one for one in names if one != first)):
        place = desk.folder / "run-a" / "107"
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / "webarena_verified/107" / name, place / name)
        desk.after()
    [(attempt, passed)] = desk.door.rows("SELECT attempt, passed FROM traces")
    assert (attempt, passed) == (1, 0)
    assert desk.door.one("SELECT events FROM traces") > 10
    desk.door.healthy()


def test_companions_that_lie_above_what_is_watched(door: Door) -> None:
    """OSWorld's settings lie three folders up."""
    run = door.root / "runs/pyautogui/screenshot/model"
    task = run / "chrome/00000000-0000-0000-0000-000000000001"
    step = {"step_num": 1, "action_timestamp": "20250204@235045", "action": "DONE",
            "reward": 0, "done": True, "info": {}, "screenshot_file": "s.png"}  # fmt: skip
    door.file(str((task / "traj.jsonl").relative_to(door.root)), [step])
    door.file(str((run / "args.json").relative_to(door.root)), {"model": "m", "max_steps": 15})
    desk = Desk(door, task.parent)
    assert [one.added for one in desk.after()] == [1]
    (task / "result.txt").write_text("1.0\n")
    desk.after()
    assert door.rows("SELECT attempt, passed FROM traces") == [(1, 1)]


def test_results_that_come_later_find_their_trajectories(desk: Desk) -> None:
    for number in range(8):
        trajectory(desk.door, "runs/trajs", number)
    desk.after()
    shutil.copytree(evaluated(desk.door, "done"), desk.folder, dirs_exist_ok=True)
    desk.after()
    rows = desk.door.rows("SELECT count(*), count(passed), sum(passed) FROM traces")
    assert rows == [(8, 6, 2)]
    desk.door.healthy()


def test_a_pattern_is_looked_up_again_and_again(door: Door) -> None:
    desk = Desk(door, door.root / "runs" / "*.jsonl")
    assert desk.after() == []
    desk.write("b.jsonl", [chat(0)])
    desk.write("other.json", {"x": 1})
    assert [Path(one.path).name for one in desk.after()] == ["b.jsonl"]


def test_a_flat_folder_of_many_files_is_not_looked_through_for_each(desk: Desk) -> None:
    for number in range(200):
        desk.write(f"t{number:03}.jsonl", [chat(number)])
    assert sum(one.added for one in desk.after()) == 200
    desk.write("last.jsonl", [chat(200)])
    assert [Path(one.path).name for one in desk.after()] == ["last.jsonl"]


@pytest.mark.slow
def test_the_command_watches_until_it_is_interrupted(door: Door) -> None:
    door.file("runs/a.jsonl", [chat(0)])
    process = door.start("--json", "import", "--watch", door.root / "runs")

    def stored() -> int:
        with contextlib.suppress(sqlite3.OperationalError):  # it is being made
            return int(door.one("SELECT count(*) FROM traces"))
        return 0

    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and not stored():
            time.sleep(0.1)
        door.file("runs/a.jsonl", [chat(0), chat(1)])
        while time.monotonic() < until and stored() < 2:
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert [one["records"] for one in json.loads(out)] == [2]
