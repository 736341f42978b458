"""What graders and simulated users cost: lines of their own, on every surface."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door, lines, passing
from inspect_logs import file, log, ran, said, sample
from test_cli_headline import simulations

GRADER = "grader cost $1.5000, 300 tokens in 2 attempts, not the candidate's"


def graded(number: int, cost: float | None) -> dict[str, Any]:
    """A sample of which a model scored the answer, for that much."""
    usage = {"input_tokens": 100, "output_tokens": 50, "total_tokens": 150, "total_cost": cost}
    judged = said("GRADE: C", span_id="g")
    judged["output"]["usage"] = {name: value for name, value in usage.items() if value is not None}
    judged["model"] = "m/judge"
    scoring = {"event": "span_begin", "id": "g", "type": "scorer", "name": "graded", "span_id": "g"}
    return sample(
        said("Done.", ("c", "look", {})),
        ran("c", "look"),
        scoring,
        judged,
        id=f"s{number}",
        scores={"graded": {"value": 1.0}},
    )


def surfaces(door: Door) -> tuple[dict[str, Any], str, str, str]:
    """(the report's cost, its Markdown, its HTML, the scorecard) of the only candidate."""
    ((suite, candidate),) = door.rows("SELECT DISTINCT suite_id, candidate_id FROM traces")
    out = door.root / "out"
    door.run("--export-report", out, "--suite", suite, "--candidate", candidate)
    report = json.loads((out / "report.json").read_text())
    card = door.ok("scorecard", "--suite", suite, "--candidate", candidate).out
    return report["cost"], (out / "report.md").read_text(), (out / "report.html").read_text(), card


def test_a_graders_cost_is_summed_on_a_line_of_its_own(door: Door) -> None:
    door.ok("import", file(door.root, log(graded(1, 0.5), graded(2, 1.0))))
    cost, markdown, page, card = surfaces(door)
    assert cost["grader"] == {
        "attempts": 2,
        "model_calls": 2,
        "tokens": 300,
        "tokens_at_least": False,
        "usd": 1.5,
        "known_usd": 1.5,
        "unpriced_attempts": 0,
    }
    assert cost["total_usd"] is None  # the candidate's own, which nobody measured
    assert GRADER in card
    for text in (markdown, page):
        assert "grader cost" in text
        assert "$1.5000, 300 tokens in 2 attempts" in text


def test_a_grader_without_a_price_is_a_least(door: Door) -> None:
    door.ok("import", file(door.root, log(graded(1, 0.5), graded(2, None))))
    cost, *_, card = surfaces(door)
    line = cost["grader"]
    assert (line["usd"], line["known_usd"], line["unpriced_attempts"]) == (None, 0.5, 1)
    assert "grader cost at least $0.5000 (1 unpriced), 300 tokens in 2 attempts" in card


def test_a_simulated_users_cost_is_beside_the_agents(door: Door) -> None:
    path = simulations(door.root / "runs.json", [("a", 1.0), ("b", 0.0)])
    rows = json.loads(path.read_text())
    for row in rows:
        row["info"]["user_cost"] = 0.25
    path.write_text(json.dumps(rows))
    door.ok("import", path, "--candidate", "cand")
    cost, *_, card = surfaces(door)
    assert cost["simulated_user"]["usd"] == 0.5
    assert "simulated user cost $0.5000 in 2 attempts, not the candidate's" in card


def test_where_nobody_else_was_paid_nothing_is_said(full: Door) -> None:
    card = full.ok("scorecard", "--candidate", "refund-agent-v8").out
    assert "grader" not in card
    assert "simulated user" not in card


ZEROS = {"input_tokens": 0, "output_tokens": 0, "details": {"cached_tokens": 0}}


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (ZEROS, None),
        ({"input_tokens": 7, "output_tokens": 0}, 0.0),
        ({}, 0.0),  # no model, no tokens: a script costs nothing
        (None, 0.0),
    ],
)
def test_a_cost_of_0_beside_tokens_that_nobody_counted_is_not_measured(
    usage: dict[str, Any] | None, cost: float | None, door: Door, tmp_path: Path
) -> None:
    record = {**passing(), "cost_usd": 0}
    if usage is not None:
        record["usage"] = usage
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines([record]))
    told = door.ok("import", path)
    assert ("they were not measured" in told.err) is (cost is None)
    assert door.one("SELECT cost_usd FROM traces") == cost
    door.ok("score")
    assert door.one("SELECT cost_usd FROM traces") == cost
