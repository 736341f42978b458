"""Trees of three models drawn by chance: whatever lies beside what, no model gets another's verdict
and an import of the whole tree loses none that a file gives to a model."""

import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import swe_files
from doors import Door

MODELS = ("openai/gpt-5-mini", "openai/gpt-5", "anthropic/claude-4")
"""One of them begins like another."""


class Run(NamedTuple):
    """What was drawn of a model: its folder, what kind of results there are and where they lie,
    and the instances that were evaluated, with what came of them."""

    home: str
    kind: str
    where: str
    judged: dict[str, bool]
    shown: bool
    """Whether predictions or trajectories lie in its folder."""


def drawn(door: Door, seed: int) -> dict[str, Run]:
    """The runs by model; their files are below `tree`."""
    chance = random.Random(seed)
    layout = chance.choice(["models/{}/", "runs/2024_{}/", "{}/"])
    runs = {}
    for number, model in enumerate(MODELS):
        plain = model.replace("/", "__")
        home = "tree/" + layout.format(chance.choice([plain, f"run-{'abc'[number]}"]))
        instances = chance.sample(range(8), chance.randint(2, 6))
        judged = {swe_files.IDS[n]: chance.random() < 0.5 for n in instances}
        some = chance.random() < 0.6
        predicted = [n for n in instances if some and chance.random() < 0.8]
        told = [n for n in instances if chance.random() < 0.5]
        if predicted:
            rows = [swe_files.prediction(n, model=model) for n in predicted]
            door.file(f"{home}all_preds.jsonl", rows)
        for n in told:
            place = chance.choice([f"{home}trajs", home.rstrip("/")])
            swe_files.trajectory(door, place, n, model=model)
        kind = chance.choice(["unnamed", "summary", "reports", "none"])
        where = chance.choice(["in", "results", "beside", "above"])
        base = {"in": home, "results": f"{home}results/", "beside": "tree/evals/"}.get(where)
        kind = written(door, base or "tree/", kind, model, judged)
        runs[model] = Run(home, kind, where, judged, bool(predicted or told))
    return runs


def written(door: Door, base: str, kind: str, model: str, judged: dict[str, bool]) -> str:
    """Write a run's results; the kind that was written."""
    every = list(judged)
    resolved = [one for one, passed in judged.items() if passed]
    plain = model.replace("/", "__")
    if kind == "unnamed":
        if (door.root / base / "results.json").exists():
            return "none"
        lists: dict[str, Any] = {"no_generation": [], "no_logs": [], "generated": every}
        lists |= {"with_logs": every, "applied": every, "resolved": resolved}
        door.file(f"{base}results.json", lists)
    elif kind == "summary":
        n, good = len(every), len(resolved)
        changes = {
            "total_instances": n, "submitted_instances": n, "completed_instances": n,
            "resolved_instances": good, "unresolved_instances": n - good,
            "empty_patch_instances": 0, "error_instances": 0, "completed_ids": every,
            "incomplete_ids": [], "empty_patch_ids": [], "submitted_ids": every,
            "resolved_ids": resolved, "error_ids": [],
            "unresolved_ids": [one for one in every if one not in resolved],
        }  # fmt: skip
        door.file(f"{base}{plain}.v1.json", swe_files.summary(**changes))
    elif kind == "reports":
        for one, passed in judged.items():
            place = f"{base}logs/run_evaluation/v1/{plain}/{one}/report.json"
            door.file(place, swe_files.report(swe_files.IDS.index(one), passed))
    return kind


def model_of(candidate: str, runs: dict[str, Run]) -> str:
    """Whose a candidate is: by its model's name, the longest first, else by the run's folder."""
    for model in sorted(MODELS, key=len, reverse=True):
        if model in candidate or model.replace("/", "__") in candidate:
            return model
    [model] = [one for one, run in runs.items() if Path(run.home).name in candidate]
    return model


def checked(door: Door, runs: dict[str, Run]) -> None:
    """That every verdict is its model's, and that those are there that a file gives to a model."""
    got: dict[str, dict[str, bool]] = {model: {} for model in MODELS}
    for candidate, instance, passed in door.rows(
        "SELECT candidate_id, episode_id, passed FROM traces WHERE passed IS NOT NULL"
    ):
        got[model_of(candidate, runs)][instance] = bool(passed)
    for model, run in runs.items():
        given = run.judged if run.kind != "none" else {}
        assert got[model].items() <= given.items(), model
        own = run.where in ("in", "results") and run.shown
        if run.kind in ("summary", "reports") or (run.kind == "unnamed" and own):
            assert got[model] == given, model


@pytest.mark.parametrize("seed", [*range(12), 19, 42, 45, 53, 79])
def test_no_model_gets_anothers_verdict_and_none_is_lost(seed: int, door: Door) -> None:
    runs = drawn(door, seed)
    door.run("import", door.root / "tree")
    checked(door, runs)


@pytest.mark.parametrize("seed", range(12))
def test_piece_by_piece_in_any_order_the_verdicts_are_the_same(seed: int, door: Door) -> None:
    runs = drawn(door, seed)
    pieces = sorted((door.root / "tree").iterdir())
    random.Random(seed).shuffle(pieces)
    for piece in pieces:
        door.run("import", piece)
    checked(door, runs)
