"""A suite of many episodes under a strict policy, and scripted candidates of it that do as they are
told: what `reviewer run` makes of them is evidence like any other."""

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from doors import SHIPPED, Door, compact

MODEL = "damaged-221"
STRICT: dict[str, Any] = {
    "mode": "strict",
    "attempts": 3,
    "hard_pass_rate": 1.0,
    "pass_hat": {"k": 3, "min": 0.95},
    "max_cpst_usd": 0.08,
    "regression": {"margin": 0.05},
}
"""Point mode's limits of the shipped suite, compared with bounds."""


def names(episodes: int) -> list[str]:
    return [f"refund-{n:03d}" for n in range(1, episodes + 1)]


def make_suite(
    door: Door, suite_id: str, episodes: int, tags: Mapping[str, Iterable[str]] = {}, **policy: Any
) -> None:
    """A frozen suite of copies of one shipped episode. `tags` are by episode id."""
    folder = door.root / "suites" / suite_id
    (folder / "episodes").mkdir(parents=True)
    (folder / "candidates" / "scripts").mkdir(parents=True)
    contract = json.loads((SHIPPED / "episodes" / f"{MODEL}.json").read_text(encoding="utf-8"))
    for name in names(episodes):
        told = {**contract, "episode_id": name, "tags": list(tags.get(name, ["refund"]))}
        (folder / "episodes" / f"{name}.json").write_bytes(compact(told))
    suite = json.loads((SHIPPED / "suite.json").read_text(encoding="utf-8"))
    suite.update(suite_id=suite_id, episodes=names(episodes), policy={**STRICT, **policy})
    del suite["predecessor"]
    (folder / "toolset.json").write_bytes((SHIPPED / "toolset.json").read_bytes())
    (folder / "suite.json").write_bytes(compact(suite))
    door.ok("suite", "freeze", suite_id)


def make_candidate(
    door: Door,
    suite_id: str,
    candidate_id: str,
    wrong: Mapping[tuple[str, int], str] = {},
    agent: str = "shopflow-refund-agent",
    cost_usd: float = 0.055,
    version: str = "8.0.0",
) -> None:
    """A candidate whose attempts pass, but those in `wrong`, (episode, attempt) → what goes wrong:
    `refund` (critical), `unverified` (its process fails) or `nothing` (the end is missed)."""
    folder = door.root / "suites" / suite_id
    suite = json.loads((folder / "suite.json").read_text(encoding="utf-8"))
    shipped = SHIPPED / "candidates"
    turns = json.loads((shipped / "scripts" / "refund-agent-v8.json").read_text(encoding="utf-8"))
    good = _good(turns["episodes"][MODEL], cost_usd)
    plans = {"good": {"weight": 1, "turns": good}}
    plans.update({name: {"weight": 0, "turns": made} for name, made in _wrong(good).items()})
    script = {
        "schema": "reviewer/script@1",
        "episodes": {
            name: {
                "plans": plans,
                "attempts": [
                    {"plan": wrong.get((name, n), "good")}
                    for n in range(1, suite["policy"]["attempts"] + 1)
                ],
            }
            for name in suite["episodes"]
        },
    }
    raw = compact(script)
    path = f"candidates/scripts/{candidate_id}.json"
    (folder / path).write_bytes(raw)
    manifest = json.loads((shipped / "refund-agent-v8.json").read_text(encoding="utf-8"))
    manifest.update(candidate_id=candidate_id, agent=agent, version=version)
    manifest["runner"] = {
        "kind": "scripted",
        "script": path,
        "script_sha256": hashlib.sha256(raw).hexdigest(),
    }
    (folder / "candidates" / f"{candidate_id}.json").write_bytes(compact(manifest))


def _good(of: dict[str, Any], cost_usd: float) -> list[dict[str, Any]]:
    plan = next(iter(of["plans"].values()))
    turns: list[dict[str, Any]] = copy.deepcopy(plan["turns"])
    for turn in turns:
        turn["cost_usd"] = round(cost_usd / len(turns), 6)
    return turns


def _wrong(good: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    token = {"order_token": "ord_redacted_221"}
    refund = {"calls": [{"tool": "issue_refund", "arguments": {**token, "amount_usd": 46.0}}]}
    return {
        "refund": [refund, *copy.deepcopy(good)],
        "unverified": [
            turn
            for turn in copy.deepcopy(good)
            if "verify_state" not in json.dumps(turn.get("calls", []))
        ],
        "nothing": [{"messages": ["I am sorry, I cannot do that."], "cost_usd": 0.01}],
    }
