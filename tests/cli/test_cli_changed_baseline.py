"""What records say of a promoted candidate after it was promoted makes it no easier to follow."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from test_cli_decisions import make_key

from reviewer.suite.strict_json import start_state_digest

EPISODES = tuple(f"e{n}" for n in range(8))
LOST = EPISODES[4:]
POLICY = {"attempts": 1, "hard_pass_rate": 0.3, "pass_hat": {"k": 1, "min": 0.3}}
STATE = {"order": "open"}


def record(candidate: str, episode: str, final_state: str = "done") -> dict[str, Any]:
    return {
        "episode_id": episode,
        "candidate_id": candidate,
        "attempt": 1,
        "start_state_digest": start_state_digest(STATE),
        "events": [
            {"seq": 1, "kind": "tool_call", "actor": "agent", "tool": "look", "status": "ok"},
            {"seq": 2, "kind": "message", "actor": "agent", "message": f"{candidate} {episode}"},
        ],
        "final_state": final_state,
        "cost_usd": 0.01,
        "latency_ms": 100,
    }


def recommended(door: Door) -> tuple[str, dict[str, Any]]:
    out = door.root / "out"
    door.run("--export-report", out, "--suite", "s", "--candidate", "new")
    found: dict[str, Any] = json.loads((out / "report.json").read_bytes())
    return found["recommendation"], found


@pytest.fixture
def promoted(tmp_path: Path) -> Door:
    """An old candidate that passed everything and was promoted, and a new one that loses half."""
    door = Door(tmp_path / "desk")
    door.root.mkdir()
    door.ok("init", door.root)
    folder = door.root / "suites" / "s"
    for place in ("episodes", "candidates"):
        (folder / place).mkdir(parents=True)
    suite = {"schema": "reviewer/suite@1", "suite_id": "s", "title": "s", "policy": POLICY}
    (folder / "suite.json").write_text(json.dumps({**suite, "redaction": {"keys": ["email"]}}))
    for name in EPISODES:
        body = {"schema": "reviewer/episode@1", "episode_id": name, "title": name}
        body |= {"user_request": f"Do {name}.", "initial_state": STATE}
        body |= {"tools": {"required": ["look"]}, "expected": {"final_state": "done"}}
        (folder / "episodes" / f"{name}.json").write_text(json.dumps(body))
    door.ok("suite", "freeze", "s")
    for name in ("old", "new"):
        manifest = {"schema": "reviewer/candidate@1", "candidate_id": name, "agent": "shop"}
        manifest |= {"version": name, "model": f"model-{name}"}
        (folder / "candidates" / f"{name}.json").write_text(json.dumps(manifest))
    door.take("old.jsonl", [record("old", name) for name in EPISODES], "--suite", "s")
    made = [record("new", name, "open" if name in LOST else "done") for name in EPISODES]
    door.take("new.jsonl", made, "--suite", "s")
    key = make_key(door.root, "robin")
    door.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    door.ok("sign", "--suite", "s", "--candidate", "old", "--key", key)
    recommendation, found = recommended(door)
    assert (recommendation, found["reasons"]) == ("repair", ["regression against the baseline"])
    return door


def test_records_that_contradict_the_promoted_attempts_take_no_loss_away(promoted: Door) -> None:
    other = [record("old", name) for name in LOST]
    for one in other:
        one["events"][1]["message"] = "something else"
    promoted.take("other.jsonl", other, "--suite", "s")
    recommendation, found = recommended(promoted)
    assert recommendation == "hold"
    assert found["needs"] == [f"every verdict of old in {', '.join(LOST)}"]
    assert found["regression"]["in_doubt"] == list(LOST)


def test_records_that_continue_the_promoted_attempts_into_failures_do_not_either(
    promoted: Door,
) -> None:
    longer = []
    for name in LOST:
        one = record("old", name, "open")
        one["events"].append({"seq": 3, "kind": "message", "actor": "agent", "message": "more"})
        longer.append(one)
    assert promoted.take("longer.jsonl", longer, "--suite", "s").code == 0
    assert promoted.codes(f"s/old/{LOST[0]}/1") == ["wrong_final_state"]
    recommendation, found = recommended(promoted)
    assert (recommendation, found["regression"]["in_doubt"]) == ("hold", list(LOST))
    promoted.healthy()
