"""An evaluated SWE-bench run: predictions, reports, a summary and trajectories, in their places."""

import json
from pathlib import Path
from typing import Any

from doors import Door

MINI = Path(__file__).resolve().parent / "data/mini_swe_agent"
MODEL = "openai/gpt-5-mini"
IDS = [f"django__django-{number}" for number in range(11000, 11008)]


def prediction(number: int, patch: str | None = None, model: str = MODEL) -> dict[str, Any]:
    """Of each model another patch."""
    told = f"{number}{model}"
    text = f"diff --git a/{number} b/{number}\n+{told}\n" if patch is None else patch
    return {"instance_id": IDS[number], "model_name_or_path": model, "model_patch": text}


def report(number: int, resolved: bool, **flags: bool) -> dict[str, Any]:
    good, bad = (["t1"], []) if resolved else ([], ["t1"])
    tests = {"FAIL_TO_PASS": {"success": good, "failure": bad},
             "PASS_TO_PASS": {"success": ["t2"], "failure": []}}  # fmt: skip
    applied = {"patch_exists": True, "patch_successfully_applied": True, **flags}
    return {IDS[number]: {**applied, "resolved": resolved, "tests_status": tests}}


def summary(**changes: Any) -> dict[str, Any]:
    """Of eight submitted: 0 and 2 resolved, 1, 3 and 5 not, 6 empty, 4 and 7 in error."""
    return {
        "total_instances": 500, "submitted_instances": 8, "completed_instances": 5,
        "resolved_instances": 2, "unresolved_instances": 3, "empty_patch_instances": 1,
        "error_instances": 2, "completed_ids": [IDS[n] for n in (0, 1, 2, 3, 5)],
        "incomplete_ids": [f"sympy__sympy-{n}" for n in range(492)],
        "empty_patch_ids": [IDS[6]], "submitted_ids": IDS, "resolved_ids": [IDS[0], IDS[2]],
        "unresolved_ids": [IDS[1], IDS[3], IDS[5]], "error_ids": [IDS[4], IDS[7]],
        "schema_version": 2, **changes,
    }  # fmt: skip


def evaluated(door: Door, run: str = "run", model: str = MODEL) -> Path:
    """One evaluated run as the harness lays it out."""
    root = f"{run}/"
    rows = {IDS[n]: prediction(n, "" if n == 6 else None, model) for n in range(8)}
    door.file(f"{root}preds.json", rows)
    door.file(f"{root}{model.replace('/', '__')}.v1.json", summary())
    for number in (0, 1, 2, 3, 5):
        folder = f"logs/run_evaluation/v1/{model.replace('/', '__')}/{IDS[number]}/"
        door.file(f"{root}{folder}report.json", report(number, number in (0, 2)))
        door.file(f"{root}{folder}patch.diff", rows[IDS[number]]["model_patch"])
    return door.root / run


def trajectory(door: Door, place: str, number: int, model: str = MODEL, **info: Any) -> Path:
    """One of mini-swe-agent's, of that instance and with that patch."""
    value = json.loads((MINI / "hello-world.traj.json").read_bytes())
    value["instance_id"] = IDS[number]
    value["info"] |= {"submission": prediction(number, model=model)["model_patch"], **info}
    value["info"]["config"]["model"]["model_name"] = model
    return door.file(f"{place}/{IDS[number]}/{IDS[number]}.traj.json", value)
