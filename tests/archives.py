"""A workspace whose archive has everything in it that could be lost on the way."""

import random
from pathlib import Path
from typing import Any

import pytest
from doors import Door, copied, passing, shipped

from reviewer.db.archive.engine import is_installed

needs_duckdb = pytest.mark.skipif(
    not is_installed(), reason="duckdb is not installed (the extra `archive`)"
)
ODD = "cand/ü [x] 'q' \x1b[31m\u202e=.."
"""A candidate's name with what names of folders, SQL and terminals give a meaning to."""
MAIL = "mary.sanders@example.org"


def records() -> list[dict[str, Any]]:
    """Attempts of two candidates: passed, failed, critical, lost, not measured, beyond the plan; by
    day, with and without tokens."""
    found = [
        passing(episode, ODD, n, 10 * n, started_at=f"2026-11-0{n}T23:30:00-02:00")
        for episode in ("damaged-221", "appeal-009", "attack-014")
        for n in (1, 2, 3)
    ]
    found[0]["usage"] = {"input_tokens": 120, "output_tokens": 7}
    found[1]["usage"] = {"input_tokens": 0, "output_tokens": 0}
    found[2]["usage"] = {"input_tokens": 90, "output_tokens": 8, "lower_bound": True}
    found[3]["cost_usd"] = None
    found[4] |= {"termination": "infrastructure_error", "final_state": None, "events": []}
    found[5]["unread"] = [{"path": "steps[3]"}]
    found.append(passing("appeal-009", ODD, 4, 77, started_at="2026-11-04T10:00:00Z"))
    found.append(passing("damaged-221", ODD, 4, 78, started_at=None))  # beyond the plan, no time
    return found


def generated() -> list[dict[str, Any]]:
    """Attempts of two candidates with whatever a seed gives them."""
    seed, found = random.Random(4), []
    for candidate in ("gen-a", "gen-b"):
        for episode in ("damaged-221", "appeal-009", "attack-014"):
            for number in range(1, seed.choice((4, 7))):
                one = passing(episode, candidate, number, seed.random() * 1000)
                one["cost_usd"] = round(seed.random() / 7, seed.choice((3, 6, 12)))
                kind = seed.random()
                if kind < 0.2:
                    one["final_state"] = "request_open"
                elif kind < 0.3:
                    one |= {"termination": "infrastructure_error", "final_state": None}
                    one["events"] = []
                found.append(one)
    return found


GENERATED = len(generated())


def varied(template: Path, folder: Path) -> Door:
    """The shipped candidates and those attempts, one refused for its shape and one for what it
    holds."""
    door = copied(template, folder)
    bad = passing("damaged-221", ODD, 9)
    del bad["events"]
    door.take("odd.jsonl", [*records(), bad])
    door.take("generated.jsonl", generated())
    raw = passing("damaged-221", "leaky", 1, final_message=f"Write to {MAIL}.")
    door.take("leaky.jsonl", [raw])
    large = shipped("refund-agent-v8")[0] | {"candidate_id": "large", "attempt": 1}
    note = {"kind": "message", "message": {"role": "assistant", "content": "x" * 5000}}
    large["events"] = [*large["events"], *({**note} for _ in range(300))]
    door.take("large.jsonl", [large])
    return door
