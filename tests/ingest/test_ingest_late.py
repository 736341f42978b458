"""A verdict that comes after its trajectory, and one that contradicts what stands."""

import json
import shutil
from pathlib import Path

from doors import Door

RUN = Path(__file__).resolve().parents[1] / "data/agentbench/Jan17v1/gpt-4o-mini/medagentbench-std"


def copied(door: Door, *names: str) -> Path:
    folder = door.root / "in" / "agent-x" / "medagentbench-std"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copy(RUN / name, folder / name)
    return folder


def passed(door: Door) -> tuple[int, int]:
    return (
        door.one("SELECT count(*) FROM traces WHERE passed = 1"),
        door.one("SELECT count(*) FROM traces WHERE passed IS NULL"),
    )


def test_a_verdict_that_comes_later_is_taken(door: Door) -> None:
    folder = copied(door, "runs.jsonl")
    assert door.run("import", folder).code == 0
    attempts = door.one("SELECT count(*) FROM traces")
    before, unknown = passed(door)
    assert unknown > 0
    copied(door, "overall.json")
    said = door.run("import", folder)
    assert "no verdict: this file's was taken" in said.err, said
    assert door.one("SELECT count(*) FROM traces") == attempts
    assert passed(door)[0] > before
    assert passed(door)[1] == 0
    door.healthy()


def test_of_two_verdicts_the_failure_holds(door: Door) -> None:
    folder = copied(door, "runs.jsonl", "overall.json")
    assert door.run("import", folder).code in (0, 20)
    before = passed(door)
    overall = json.loads((folder / "overall.json").read_text())
    for result in overall["custom"]["raw_results"]:
        right = result["status"] == "completedCorrect"
        result["status"] = "completedIncorrect" if right else "completedCorrect"
    (folder / "overall.json").write_text(json.dumps(overall))
    said = door.run("import", folder)
    assert "another verdict: failures hold" in said.err, said
    assert before[0] > 0
    assert passed(door) == (0, before[1])
    door.healthy()
