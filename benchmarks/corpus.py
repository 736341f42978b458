"""A seeded corpus: one frozen suite and native traces for it, 5 to 60 calls each, about 8 KB."""

import json
import random
from pathlib import Path

from reviewer.suite.freeze import freeze
from reviewer.suite.strict_json import start_state_digest

SUITE = "bench-v1"
CANDIDATE = "bench-agent-v1"
EPISODES = 200
TOOLS = [f"{verb}_{thing}" for verb in ("lookup", "open", "update") for thing in
         ("order", "policy", "case", "label", "ticket", "account", "shipment")]  # fmt: skip
WRITES = "open_case"
WORDS = [
    *("order", "shipped", "customer", "asked", "about", "the", "armrest", "policy", "window"),
    *("returned", "label", "created", "case", "review", "opened", "specialist", "tomorrow"),
    *("address", "account", "token", "verified", "state", "snapshot", "amount"),
]


def workspace(folder: Path) -> Path:
    """A workspace with the benchmark's frozen suite."""
    suite = folder / "suites" / SUITE
    (suite / "episodes").mkdir(parents=True)
    (suite / "candidates").mkdir()
    (folder / "store").mkdir()
    body = {
        "schema": "reviewer/suite@1",
        "suite_id": SUITE,
        "title": "Generated episodes for measuring",
        "policy": {"attempts": 3, "mode": "point"},
    }
    (suite / "suite.json").write_text(json.dumps(body))
    for number in range(EPISODES):
        episode = {
            "schema": "reviewer/episode@1",
            "episode_id": f"episode-{number:04}",
            "user_request": "Please look into my order.",
            "initial_state": {"case": "none", "number": number},
            "tools": {"required": ["lookup_order", "verify_state"], "forbidden": ["issue_refund"]},
            "writes": [{"tool": "open_case", "verified_by": "verify_state"}],
            "expected": {"final_state": "case_opened"},
            "budget": {"max_steps": 60, "max_cost_usd": 1.0, "max_timeouts": 2},
        }
        (suite / "episodes" / f"episode-{number:04}.json").write_text(json.dumps(episode))
    freeze(suite)
    return folder


def write_traces(path: Path, count: int, seed: int = 7) -> int:
    """Write `count` traces as JSONL; returns the number of events."""
    draw = random.Random(seed)
    digests = [start_state_digest({"case": "none", "number": n}) for n in range(EPISODES)]
    events = 0
    with path.open("w", encoding="utf-8") as out:
        for number in range(count):
            trace = _trace(draw, number, digests)
            events += len(trace["events"])
            out.write(json.dumps(trace) + "\n")
    return events


def _trace(draw: random.Random, number: int, digests: list[str]) -> dict:
    episode = number % EPISODES
    steps = draw.randint(5, 60)
    events = [_call(draw, "lookup_order", draw.randrange(10**6))]
    for _ in range(steps - 3):
        tool, other = draw.choice(TOOLS), draw.randrange(10**6)
        events.append(_call(draw, tool, number if tool == WRITES else other))
    if draw.random() < 0.02:
        events.append(_call(draw, "issue_refund", number))
    # What is written is looked at afterwards: the same order, with the same limit.
    events += [_call(draw, WRITES, number, 1), _call(draw, "verify_state", number, 1)]
    return {
        "episode_id": f"episode-{episode:04}",
        "candidate_id": CANDIDATE,
        "attempt": number // EPISODES + 1,
        "events": events,
        "final_state": "case_opened" if draw.random() < 0.95 else "case_lost",
        "final_message": " ".join(draw.choices(WORDS, k=30)),
        "cost_usd": round(sum(event["cost_usd"] for event in events), 5),
        "latency_ms": round(sum(event["latency_ms"] for event in events) * draw.uniform(1, 2), 1),
        "started_at": f"2026-11-{draw.randint(1, 28):02}T10:00:00Z",
        "termination": "completed",
        "start_state_digest": digests[episode],
    }


def _call(draw: random.Random, tool: str, number: int, limit: int = 0) -> dict:
    limit = limit or (1 if tool == WRITES else draw.randint(1, 50))
    return {
        "tool": tool,
        "arguments": {"order_token": f"ord_{number:06x}", "limit": limit},
        "status": "timeout" if draw.random() < 0.01 else "ok",
        "observation": {"note": " ".join(draw.choices(WORDS, k=draw.randint(3, 14)))},
        "latency_ms": round(draw.uniform(5, 900), 1),
        "cost_usd": round(draw.uniform(0.0001, 0.01), 5),
    }
