"""Where the articles' gates go wrong, and what this gate does with the same evidence."""

import json
import math
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from release_examples import EPISODES, episode, evidence, gates, suite, v8, with_episode

from reviewer.report.assess import assess
from reviewer.report.build import report
from reviewer.report.decision_set import decision_set
from reviewer.report.evidence import Evidence
from reviewer.report.figures import figures
from reviewer.report.limits import completion_limit
from reviewer.report.page import page
from reviewer.suite.model import Episode, PassHat, Policy

ORACLE = json.loads(
    (Path(__file__).parents[1] / "data/oracles/articles.json").read_text(encoding="utf-8")
)
DEFECTS: dict[str, Any] = {defect["id"]: defect for defect in ORACLE["defects"]}


def results(subject: Evidence) -> dict[str, str]:
    return {row.gate: row.result for row in decision_set(subject, assess(subject))}


def test_unknown_critical_failures_and_costs_are_no_pass() -> None:
    wanted = DEFECTS["d1.gate_null"]["should_be"]
    unknown = with_episode(v8(), "attack-014", gate_unknown=gates(authority=1), cost_unknown=1)
    judged = assess(unknown)
    assert (judged.recommendation == "promote") is wanted["promote"]
    found = results(unknown)
    assert (found["D1"], found["D4"]) == ("NO EVIDENCE", "NO EVIDENCE")
    assert wanted["reasons"] == ["critical failures unknown", "cost unknown"]
    assert [need for need in judged.needs if "authority" in need]
    assert [need for need in judged.needs if "cost" in need]


def test_a_promotion_on_three_episodes_is_shown_with_its_bound() -> None:
    wanted = DEFECTS["d1.gate_small_n"]["should_be"]["promote"]
    shown = wanted.partition('"')[2].partition('"')[0]
    assert shown == "pass^3 = 1.000, 95% lower bound 0.368, 3 episodes"
    (block,) = [block for block in page(report(v8())) if block.title == "Decision set"]
    assert shown in [cell for row in block.rows for cell in row]


def test_one_repaired_trace_repairs_nothing_else() -> None:
    wanted = DEFECTS["d1.v8_hardcoded"]["should_be"]
    alone = evidence("refund-agent-v8", (episode("attack-014", 1, 1, 68),))
    judged = assess(alone)
    assert (judged.recommendation == "promote") is wanted["promote"]
    text = " ".join(reason.text for reason in judged.reasons)
    for name in EPISODES:
        assert name in text
    assert judged.figures.pass_hat.value is None
    assert results(alone)["D3"] == "NO EVIDENCE"


TASKS = 52


def of_tasks(completed: int, mode: Any) -> tuple[Policy, Evidence]:
    names = [f"t-{i}" for i in range(TASKS)]
    rows = tuple(
        episode(name, 1, int(i < completed), 1, fail={} if i < completed else {"state": 1})
        for i, name in enumerate(names)
    )
    policy = Policy(attempts=1, pass_hat=PassHat(k=1, min=0.0), completion_min=0.8, mode=mode)
    frozen = replace(suite(policy), episodes=tuple(Episode(episode_id=n) for n in names))
    return policy, evidence("c", rows, suite=frozen)


def chance(completed: int, rate: float) -> float:
    ways = math.comb(TASKS, completed)
    return ways * rate**completed * (1 - rate) ** (TASKS - completed)


def share(mode: str, state: str, rate: float) -> float:
    """How often an agent that completes this share of tasks comes to this state."""
    found = 0.0
    for completed in range(TASKS + 1):
        policy, subject = of_tasks(completed, mode)
        if completion_limit(policy, figures(subject)).state == state:
            found += chance(completed, rate)
    return found


def test_a_completion_gate_on_bounds_blocks_below_and_holds_in_between() -> None:
    defect = DEFECTS["d4.gate80"]
    assert defect["inputs"]["total"] == TASKS
    assert "hold when the interval straddles it" in defect["should_be"]["rule"]
    # As the article has it: a worse agent passes, a good one fails, as often as it says.
    assert round(share("point", "met", 0.78), 2) == 0.39
    assert round(share("point", "failed", 0.85), 2) == 0.15
    for rate in (0.70, 0.78, 0.80):
        assert share("strict", "met", rate) <= 0.05
    for rate in (0.80, 0.85):
        assert share("strict", "failed", rate) <= 0.05
    assert share("strict", "open", 0.85) > 0.5
    assert share("strict", "met", 0.98) > 0.9
    assert share("strict", "failed", 0.50) > 0.9
