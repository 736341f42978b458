"""Attempts numbered beyond the plan that came in before it was filled count as in the plan."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from doors import SUITE, V7, V8, Door, copied, passing, shipped

from reviewer.db.queries.attempts import early_attempts


def unverified(attempt: int) -> dict[str, Any]:
    """A record of a failure that counts in the first complete set alone."""
    record = next(r for r in shipped(V7) if (r["episode_id"], r["attempt"]) == ("attack-014", 2))
    return {**record, "candidate_id": V8, "attempt": attempt}


def report_of(door: Door) -> dict[str, Any]:
    door.run("--export-report", door.root / "out", "--suite", SUITE, "--candidate", V8)
    found: dict[str, Any] = json.loads((door.root / "out" / "report.json").read_bytes())
    return found


def take(door: Door, name: str, records: list[dict[str, Any]]) -> None:
    assert f"{len(records)} added" in door.take(name, records, "--suite", SUITE).both


def test_a_number_beyond_the_plan_hides_no_failure_that_came_first(door: Door) -> None:
    take(door, "first.jsonl", [unverified(4)])
    take(door, "then.jsonl", shipped(V8))
    found = report_of(door)
    assert found["recommendation"] == "repair"
    failing = [one for one in found["failures"] if one["attempt"] == 4]
    assert [(one["extra"], one["moved_from"]) for one in failing] == [(True, 4)]
    told = "came in before it was complete: 1. They change no rate"
    assert any(told in line for line in found["what_this_does_not_show"])
    door.healthy()


def test_it_is_not_hidden_by_a_merge_either(door: Door, full: Door, tmp_path: Path) -> None:
    there = copied(door.root, tmp_path / "there")
    take(there, "first.jsonl", [unverified(4)])
    take(there, "then.jsonl", shipped(V8))
    empty = copied(door.root, tmp_path / "empty")
    for to in (empty, full):
        to.ok("merge", there.store)
        assert report_of(to)["recommendation"] == "repair"
        to.healthy()


def test_what_came_later_or_with_the_plan_stays_beyond_it(door: Door, tmp_path: Path) -> None:
    at_once = copied(door.root, tmp_path / "at once")
    take(at_once, "all.jsonl", [unverified(4), *shipped(V8)])
    assert report_of(at_once)["recommendation"] == "promote"
    take(door, "first.jsonl", shipped(V8))
    take(door, "then.jsonl", [unverified(4)])
    assert report_of(door)["recommendation"] == "promote"


def test_an_early_attempt_without_a_verdict_holds(door: Door) -> None:
    take(door, "first.jsonl", [{**passing("damaged-221", V8, attempt=5), "cost_usd": None}])
    take(door, "then.jsonl", shipped(V8))
    said = door.run("--export-report", door.root / "out", "--suite", SUITE, "--candidate", V8)
    assert said.code == 10
    assert "needs verdict of 1 early attempt" in said.out


def test_many_attempts_beyond_a_large_plan_are_compared_at_once() -> None:
    base = sqlite3.connect(":memory:")
    base.executescript(
        "CREATE TABLE trace (id INTEGER PRIMARY KEY, candidate, episode, attempt, source, record,"
        " passed, infra); CREATE UNIQUE INDEX slot ON trace (candidate, episode, attempt);"
        "CREATE TABLE source (id INTEGER PRIMARY KEY, reader); INSERT INTO source VALUES (1, 'a');"
        "CREATE TABLE episode (id INTEGER PRIMARY KEY, episode_id); INSERT INTO episode"
        " VALUES (1, 'e'); CREATE TABLE first_set (candidate, episode, last);"
        "INSERT INTO first_set VALUES (1, 1, 1000);"
    )
    base.executemany(
        "INSERT INTO trace VALUES (?, 1, 1, ?, 1, 0, 1, 0)", ((n, n) for n in range(1, 2001))
    )
    steps: list[None] = []
    base.set_progress_handler(lambda: steps.append(None), 1000)
    assert early_attempts(base, 1) == []
    assert len(steps) < 200
