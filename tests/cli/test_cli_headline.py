"""A harness's own headline, through the import and the report."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from inspect_logs import file, log, sample


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


def test_no_rate_of_critical_failures_is_stated_where_nobody_measured_any(door: Door) -> None:
    path = simulations(door.root / "runs.json", [("a", 1.0), ("b", 1.0)])
    door.ok("import", path, "--candidate", "cand")
    suite = door.one("SELECT DISTINCT suite_id FROM traces")
    card = door.ok("scorecard", "--suite", suite, "--candidate", "cand").out
    assert "critical 0 of 2 (not measured in up to 2), true rate not measured" in card
    groups = door.ok("scorecard", "--suite", suite, "--candidate", "cand", "--group", "tag").out
    assert "tag (none): 2 episodes; hard pass 2 of 2; 0 to 2 critical in 2;" in groups
    said = door.run("--export-report", door.root / "out", "--suite", suite, "--candidate", "cand")
    assert "critical 0 of 2 (not measured in up to 2), true rate not measured" in said.both
    report = json.loads((door.root / "out" / "report.json").read_text())
    found = report["critical_failures"]
    assert (found["count"], found["not_measured"], found["upper"]) == (0, 2, None)
    limit = next(one for one in report["decision_set"]["gates"] if one["gate"] == "D1")
    assert (limit["observed"], limit["bounds"]) == ("not measured", "")
    assert limit["need"] == "authority of 2 attempts"
    markdown = (door.root / "out" / "report.md").read_text()
    assert "| critical failures | not measured | not measured | 0 |" in markdown
    junit = (door.root / "out" / "junit.xml").read_text()
    assert 'name="critical_failures" value="not measured"' in junit


def headline(door: Door, path: Path) -> dict[str, Any]:
    """The one line of the one candidate that a file or folder holds."""
    said = door.run("import", path)
    assert said.code == 0, said
    ((suite, candidate),) = door.rows("SELECT DISTINCT suite_id, candidate_id FROM traces")
    door.run("--export-report", door.root / "out", "--suite", suite, "--candidate", candidate)
    (found,) = json.loads((door.root / "out" / "report.json").read_text())["source_headline"]
    return dict(found)


DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.mark.parametrize(
    ("path", "harness", "value", "n"),
    [
        ("tau2/airline_4_tasks.json", "tau2-bench", 0.5, 4),
        ("agentbench", "AgentBench", round(5 / 9, 12), 9),
        ("terminal_bench", "Terminal-Bench", 0.5, 4),
        ("harbor", "Harbor", round(8 / 15, 12), 5),
        ("agentlab", "AgentLab", 0.0, 1),
        ("webarena_verified", "webarena-verified", 0.5, 2),
        ("inspect/refund_zstd.eval", "Inspect", 0.5, 4),
    ],
)
def test_the_figure_of_a_harness_is_the_one_it_prints(
    path: str, harness: str, value: float, n: int, door: Door
) -> None:
    found = headline(door, DATA / path)
    assert (found["harness"], found["value"], found["n"]) == (harness, value, n)


def scored(epochs: list[float | None]) -> list[dict[str, Any]]:
    """A sample of an Inspect log in so many epochs, each with its score."""
    return [
        sample(
            id=f"s{len(epochs)}",
            epoch=number,
            scores={} if score is None else {"match": {"value": score}},
        )
        for number, score in enumerate(epochs, 1)
    ]


def test_epochs_count_as_inspect_counts_them(door: Door) -> None:
    """Two of three epochs of one sample, all of the other's two: (1 + 1/2) / 2, not 3 of 4."""
    held = [*scored([1.0, 1.0, None]), *scored([1.0, 0.0])]
    found = headline(door, file(door.root, log(*held)))
    assert (found["value"], found["n"], found["unscored"]) == (0.75, 4, 1)


def test_eight_of_600_that_nobody_scored_give_bounds_and_no_blank(door: Door) -> None:
    rows = [1.0] * 472 + [0.0] * 120 + [None] * 8
    held = [{**scored([score])[0], "id": f"t{n}"} for n, score in enumerate(rows)]
    found = headline(door, file(door.root, log(*held)))
    assert (found["n"], found["unscored"], found["unscored_counted_as"]) == (592, 8, "left out")
    report = json.loads((door.root / "out" / "report.json").read_text())
    known = report["hard_pass_rate"]["known"]
    assert (known["passed"], known["failed"], known["unknown"], known["n"]) == (472, 120, 8, 600)
    assert (known["low_possible"], known["high_possible"]) == (
        pytest.approx(472 / 600),
        pytest.approx(480 / 600),
    )
    ((suite, candidate),) = door.rows("SELECT DISTINCT suite_id, candidate_id FROM traces")
    card = door.ok("scorecard", "--suite", suite, "--candidate", candidate).out
    for text in (card, (door.root / "out" / "report.md").read_text()):
        assert "472 to 480 of 600" in text
