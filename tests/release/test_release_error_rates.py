"""What a policy's power says is what its reports do: releases drawn, imported and reported.

An agent's attempts are drawn by the model of docs/statistics.md (rates of episodes from a Beta; a
worse agent has each multiplied by a Beta of its own), and come in as trace records. What
`reviewer suite power` says of the policy is compared with the recommendations of the reports.
"""

import copy
import json
import math
from typing import Any

import numpy as np
import pytest
from doors import SHIPPED, Door, compact, passing
from strict_suite import make_suite, names

from reviewer import api

SUITE = "drawn-v1"
ICC = 0.3
LIMITS: dict[str, Any] = {
    "hard_pass_rate": 0.85,
    "completion_min": 0.85,
    "pass_hat": {"k": 3, "min": 0.6},
    "regression": {"margin": 0.05},
    "max_cpst_usd": None,
}
Z = 3.3
"""Of a binomial: a design is off by as much as this once in a thousand runs; the seed is fixed."""


def rates(dice: np.random.Generator, mean: float, count: int) -> Any:
    total = 1 / ICC - 1
    return dice.beta(mean * total, (1 - mean) * total, count)


class Releases:
    """Pairs of a baseline and a candidate, imported one after another."""

    def __init__(self, door: Door, desk: api.Workspace, episodes: int, attempts: int) -> None:
        self.door, self.desk = door, desk
        self.names, self.attempts = names(episodes), attempts
        self.folder = door.root / "suites" / SUITE
        self.manifest = json.loads((SHIPPED / "candidates" / "refund-agent-v8.json").read_bytes())
        self.base = passing()
        self.number = 0

    def take(self, candidate: str, dice: np.random.Generator, of: Any) -> None:
        # Each is an agent of its own: a failure of the same agent under another name would hold.
        model = f"{self.manifest['model']}-{candidate}"
        manifest = compact({**self.manifest, "candidate_id": candidate, "model": model})
        (self.folder / "candidates").mkdir(exist_ok=True)
        (self.folder / "candidates" / f"{candidate}.json").write_bytes(manifest)
        records = [
            self.record(name, attempt, candidate, bool(dice.random() < rate))
            for name, rate in zip(self.names, of, strict=True)
            for attempt in range(1, self.attempts + 1)
        ]
        path = self.door.file(
            f"{candidate}.jsonl", "".join(f"{json.dumps(one)}\n" for one in records)
        )
        self.desk.import_traces(str(path), suite=SUITE)

    def record(self, name: str, attempt: int, candidate: str, good: bool) -> dict[str, Any]:
        self.number += 1
        record = copy.deepcopy(self.base)
        record.update(episode_id=name, attempt=attempt, candidate_id=candidate)
        record["latency_ms"] += self.number / 1000  # evidence of its own
        if not good:
            record["final_state"] = "nothing_done"
        return record

    def promoted(self, true_rate: float, worse_by: float, count: int) -> int:
        dice = np.random.default_rng(11)
        found = 0
        for number in range(count):
            own = rates(dice, true_rate, len(self.names))
            factor = rates(dice, 1 - worse_by / true_rate, len(self.names)) if worse_by else 1.0
            self.take(f"base-{number}", dice, own)
            self.take(f"new-{number}", dice, own * factor)
            report = self.desk.report(SUITE, f"new-{number}", baseline=f"base-{number}")
            found += report.recommendation == "promote"
        return found


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("mode", "episodes", "true_rate", "worse_by", "count"),
    [
        ("point", 30, 0.97, 0.0, 150),
        ("point", 40, 0.99, 0.0, 100),
        ("point", 30, 0.97, 0.05, 150),
        ("point", 30, 0.95, 0.10, 100),
        ("strict", 60, 0.99, 0.0, 100),
        ("strict", 60, 0.99, 0.05, 100),
    ],
)
def test_reports_promote_as_often_as_the_power_of_the_policy_says(
    door: Door, mode: str, episodes: int, true_rate: float, worse_by: float, count: int
) -> None:
    make_suite(door, SUITE, episodes, mode=mode, **LIMITS)
    said = json.loads(
        door.ok("suite", "power", SUITE, "--rate", str(true_rate), "--icc", str(ICC), "--json").out
    )
    rows = {one["true_rate"]: one["promoted"] for one in said["rows"]}
    if worse_by:
        rows = {one["by"]: one["promoted"] for one in said["worse"]}
    chance = rows[worse_by or true_rate]
    with api.open_workspace(door.root) as desk:
        seen = Releases(door, desk, episodes, attempts=3).promoted(true_rate, worse_by, count)
    spread = Z * math.sqrt(max(chance * (1 - chance), 0.01) / count) + said["error"]
    assert abs(seen / count - chance) <= spread, (seen, count, chance)
