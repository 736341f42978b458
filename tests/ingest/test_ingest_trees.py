"""Trees of several models' runs: no verdict leaves the run whose file states it.

The layout of SWE-bench's experiments names a run by its folder, `<date>_<name>`; other folders are
called anything at all.
"""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import swe_files
from doors import Door

IDS = [f"google__gson-{number}" for number in range(1000, 1091)]
SPLIT = "evaluation/java/verified"


def patch(model: str, instance: str) -> str:
    return f"diff --git a/{instance} b/{instance}\n+{model}\n"


def run(
    door: Door,
    model: str,
    *,
    predicted: range | None,
    resolved: range,
    evaluated: range,
    dated: str = "20240828_",
) -> Path:
    """One run as the experiments repository lays it out: its results name no model."""
    home = f"{SPLIT}/{dated}sweagent_{model}"
    if predicted is not None:
        rows = [{"instance_id": IDS[n], "model_name_or_path": model,
                 "model_patch": patch(model, IDS[n])}
                for n in predicted]  # fmt: skip
        door.file(f"{home}/all_preds.jsonl", rows)
    door.file(f"{home}/metadata.yaml", f"name: {model}\n")
    results: dict[str, Any] = {
        "no_generation": [], "no_logs": [],
        "generated": [IDS[n] for n in evaluated], "with_logs": [IDS[n] for n in evaluated],
        "install_fail": [], "reset_failed": [], "no_apply": [],
        "applied": [IDS[n] for n in evaluated], "test_errored": [], "test_timeout": [],
        "resolved": [IDS[n] for n in resolved],
    }  # fmt: skip
    return door.file(f"{home}/results/results.json", results).parents[1]


def tree(door: Door, dated: str = "20240828_") -> Path:
    """deepseek predicted the last instances alone, mini was evaluated on one of its 84, and of
    doubao there are results and nothing else."""
    every, few = range(91), range(70, 91)
    run(door, "deepseek-chat", predicted=few, resolved=range(9), evaluated=every, dated=dated)
    run(door, "gpt-4o", predicted=every, resolved=range(6), evaluated=range(85), dated=dated)
    one = range(1)
    run(door, "gpt-4o-mini", predicted=range(84), resolved=one, evaluated=one, dated=dated)
    run(door, "doubao", predicted=None, resolved=one, evaluated=every, dated=dated)
    return door.root / SPLIT


def figures(door: Door) -> dict[str, tuple[int, int, int]]:
    """(resolved, not resolved, unscored) by candidate."""
    rows = door.rows(
        "SELECT candidate_id, sum(passed IS 1), sum(passed IS 0), sum(passed IS NULL)"
        " FROM traces GROUP BY 1"
    )
    return {row[0]: row[1:] for row in rows}


EXPECTED = {
    "deepseek-chat": (9, 82, 0),
    "gpt-4o": (6, 79, 6),
    "gpt-4o-mini": (1, 0, 83),
}


def test_a_tree_of_models_gives_each_its_own_figures(door: Door) -> None:
    told = door.ok("import", tree(door))
    assert figures(door) == {**EXPECTED, "20240828_sweagent_doubao": (1, 90, 0)}
    assert "the candidate is taken from the path" in told.err


def test_what_nobody_names_is_held_and_told(door: Door) -> None:
    told = door.run("import", tree(door, ""))
    assert figures(door) == EXPECTED
    assert told.code == 20  # of doubao nobody says whose verdicts they are
    [line] = [one for one in told.err.splitlines() if "unclear" in one]
    assert "91 verdicts" in line
    assert "--candidate" in line


@pytest.mark.parametrize("order", list(permutations(("deepseek-chat", "gpt-4o-mini", "doubao"))))
def test_run_by_run_in_any_order_the_figures_are_the_same(
    door: Door, order: tuple[str, ...]
) -> None:
    root = tree(door, "")
    for model in order:
        door.run("import", root / f"sweagent_{model}")
    wanted = {model: EXPECTED[model] for model in order if model in EXPECTED}
    assert figures(door) == wanted


def test_files_named_one_by_one_are_joined_no_further(door: Door) -> None:
    """One model's predictions and another's results alone."""
    root = tree(door, "")
    predictions = root / "sweagent_gpt-4o-mini" / "all_preds.jsonl"
    results = root / "sweagent_deepseek-chat" / "results" / "results.json"
    told = door.run("import", predictions, results)
    assert figures(door) == {"gpt-4o-mini": (0, 0, 84)}
    assert "--candidate" in told.err
    held = door.run("quarantine", "show")
    assert "--candidate" in held.both
    door.ok("import", results, "--candidate", "deepseek-chat")
    assert figures(door) == {"gpt-4o-mini": (0, 0, 84), "deepseek-chat": (9, 82, 0)}


def test_results_that_were_held_are_taken_when_their_run_is_there(door: Door) -> None:
    root = tree(door, "") / "sweagent_gpt-4o"
    assert door.run("import", root / "results").code == 20
    assert figures(door) == {}
    door.ok("import", root)
    assert figures(door) == {"gpt-4o": EXPECTED["gpt-4o"]}


def test_trajectories_take_no_verdict_of_another_run(door: Door) -> None:
    swe_files.trajectory(door, "tree/a/trajs", 0, model="one/a")
    swe_files.trajectory(door, "tree/b/trajs", 1, model="two/b")
    results = {"resolved": [swe_files.IDS[0]], "applied": swe_files.IDS[:2], "no_logs": []}
    door.file("tree/b/results/results.json", results)
    door.run("import", door.root / "tree")
    rows = door.rows("SELECT candidate_id, episode_id, passed FROM traces WHERE events > 0")
    assert {(row[1], row[2]) for row in rows} == {(swe_files.IDS[0], None), (swe_files.IDS[1], 0)}


def test_results_above_several_runs_are_of_none_of_them(door: Door) -> None:
    swe_files.trajectory(door, "tree/a", 0, model="one/a")
    swe_files.trajectory(door, "tree/b", 0, model="two/b")
    door.file("tree/results.json", {"resolved": [swe_files.IDS[0]], "applied": swe_files.IDS[:1]})
    told = door.run("import", door.root / "tree")
    assert door.rows("SELECT passed FROM traces") == [(None,), (None,)]
    assert "--candidate" in told.err


def test_a_second_run_of_one_model_lends_no_predictions(door: Door) -> None:
    """Run b predicted instance 1 alone and was evaluated on 0 as well."""
    first, second = door.root / "tree" / "a", door.root / "tree" / "b"
    door.file("tree/a/all_preds.jsonl", [swe_files.prediction(0)])
    door.file("tree/b/all_preds.jsonl", [swe_files.prediction(1)])
    door.file("tree/b/results/results.json",
              {"resolved": [swe_files.IDS[0]], "applied": swe_files.IDS[:2]})  # fmt: skip
    door.run("import", first, second)
    rows = door.rows("SELECT episode_id, passed FROM traces ORDER BY 1, 2")
    assert (swe_files.IDS[0], None) in rows  # of run a, which nobody evaluated
    assert (swe_files.IDS[1], 0) in rows


@pytest.mark.parametrize("results", ["tree/b/two__b.v1.json", "tree/b/preds.json"])
def test_another_models_only_result_is_not_taken_across_folders(door: Door, results: str) -> None:
    """Though it is the only one that speaks of this instance."""
    swe_files.trajectory(door, "tree/a", 0, model="one/a", submission="")
    if results.endswith("preds.json"):
        rows = {swe_files.IDS[0]: swe_files.prediction(0, model="two/b")}
        door.file(results, rows)
        report = f"tree/b/logs/run_evaluation/v1/two__b/{swe_files.IDS[0]}/report.json"
        door.file(report, swe_files.report(0, True))
    else:
        door.file(results, swe_files.summary())
    door.run("import", door.root / "tree")
    rows = door.rows("SELECT passed FROM traces WHERE events > 0")
    assert rows == [(None,)]
    assert door.one("SELECT count(*) FROM traces WHERE passed AND events = 0") >= 1
