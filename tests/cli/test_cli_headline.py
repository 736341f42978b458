"""A harness's own headline, through the import and the report."""

import json
from pathlib import Path
from typing import Any

from doors import Door


def simulations(path: Path, rows: list[tuple[str, float | None]]) -> Path:
    """A tau-bench file: (task, reward)."""
    found: list[dict[str, Any]] = [
        {
            "task_id": n,
            "reward": reward,
            "info": {"task": {"user_id": "u"}, "reward_info": None},
            "traj": [
                {"role": "user", "content": f"hello {n} {task}"},
                {"role": "assistant", "content": f"done {n}"},
            ],
            "trial": 0,
        }
        for n, (task, reward) in enumerate(rows)
    ]
    path.write_text(json.dumps(found))
    return path


def test_a_probe_shows_the_harness_figure_beside_ours(door: Door) -> None:
    rows: list[tuple[str, float | None]] = [("a", 1.0)] * 3 + [("b", 0.0)] * 2
    path = simulations(door.root / "runs.json", rows)
    said = door.run("import", path, "--candidate", "cand")
    assert said.code == 0, said
    suite = door.one("SELECT DISTINCT suite_id FROM traces")
    door.run("--export-report", door.root / "out", "--suite", suite, "--candidate", "cand")
    report = json.loads((door.root / "out" / "report.json").read_text())
    (found,) = report["source_headline"]
    assert (found["harness"], found["value"], found["n"]) == ("tau-bench", 0.6, 5)
    assert found["ours"]["passed"] == report["hard_pass_rate"]["pass"]
    card = door.ok("scorecard", "--suite", suite, "--candidate", "cand").out
    assert "tau-bench itself: mean reward 0.600 over 5 attempts" in card
    html = (door.root / "out" / "report.html").read_text()
    assert "tau-bench itself" in html
