"""What one tau-bench record becomes (data/tau_bench/README.md; the door is tested beside)."""

import json
from pathlib import Path
from typing import Any

import pytest

from reviewer.importing.formats.tau_bench import TauBenchReader
from reviewer.importing.head import Head
from reviewer.importing.reader import Foreign

EXCERPT = Path(__file__).resolve().parents[2] / "data/tau_bench/gpt-4o-airline-excerpt.json"
READER = TauBenchReader()


def records() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(EXCERPT.read_bytes())
    return found


def read(record: dict[str, Any]) -> Foreign:
    return READER.read(json.dumps(record).encode(), "cand")


def test_events_are_those_of_the_record() -> None:
    for record in records():
        trace = json.loads(read(record).raw)
        messages = record["traj"]
        kinds = [(event["kind"], event.get("actor")) for event in trace["events"]]
        assert kinds.count(("message", "user")) == sum(m["role"] == "user" for m in messages)
        calls = sum(len(m.get("tool_calls") or []) for m in messages)
        assert kinds.count(("tool_call", "agent")) == calls
        failed = sum(m["role"] == "tool" and m["content"].startswith("Error") for m in messages)
        told = [e["status"] for e in trace["events"] if e["kind"] == "tool_result"]
        assert told.count("error") == failed
        own = [m["content"] for m in messages if m["role"] == "assistant" and m["content"]]
        assert trace["final_message"] == own[-1]
        assert trace["source"].get("user_cost_usd") == record["info"].get("user_cost")
        assert trace["cost_usd"] is None


def test_a_run_that_broke_keeps_verdict_reward_and_exception_apart() -> None:
    info = {"error": "RateLimitError: slow down", "traceback": "Traceback ..."}
    broken = {**records()[0], "traj": [], "reward": 0.0, "info": info}
    found = read(broken)
    trace = json.loads(found.raw)
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (False, 0.0)
    assert found.verdict.exception == "RateLimitError: slow down"
    assert (trace["termination"], trace["events"]) == ("unexpected_error", [])
    assert "the run broke and nothing of it was recorded" in found.notes


@pytest.mark.parametrize("check", ["r_actions", "r_outputs"])
def test_a_reward_that_its_own_check_denies_is_no_pass(check: str) -> None:
    record = next(one for one in records() if one["reward"] == 1.0)
    assert (found := read(record)).verdict is not None
    assert found.verdict.passed is True
    record["info"]["reward_info"]["info"] = {check: False}
    assert (found := read(record)).verdict is not None
    assert found.verdict.passed is None


def test_the_verdicts_detail_says_which_check_made_it() -> None:
    details = [found.verdict.detail for one in records() if (found := read(one)).verdict]
    checks = [set(detail) - {"simulated_user", "expected_actions"} for detail in details]
    assert checks.count({"r_outputs", "outputs"}) == 7
    assert checks.count(set()) == 1  # cut off before anything was checked


@pytest.mark.parametrize(
    ("member", "value"), [("traj", "text"), ("traj", {}), ("info", []), ("info", None)]
)
def test_other_shapes_under_the_same_names_are_not_claimed(
    tmp_path: Path, member: str, value: object
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{**records()[0], member: value}]))
    assert not READER.sniff(Head(path))
