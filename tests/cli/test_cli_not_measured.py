"""Attempts that nothing could judge: every door says how many, why, and the way out."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door, passing

from reviewer.suite.strict_json import start_state_digest

WAY = f"reviewer suite start-digest {SUITE} prints each start_state_digest"


def records(attempts: int, **changes: Any) -> list[dict[str, Any]]:
    """Passing attempts of each episode, none like another."""
    return [
        passing(name, V8, n, nonce=n, **changes)
        for name in ("damaged-221", "appeal-009", "attack-014")
        for n in range(1, attempts + 1)
    ]


def written(door: Door, found: list[dict[str, Any]], name: str = "t.jsonl") -> Path:
    path = door.root / name
    path.write_text("".join(json.dumps(one) + "\n" for one in found))
    return path


def report_of(door: Door, candidate: str) -> dict[str, Any]:
    out = door.root / "out"
    door.run("--export-report", out, "--suite", SUITE, "--candidate", candidate)
    found: dict[str, Any] = json.loads((out / "report.json").read_text())
    return found


def bare(attempts: int) -> list[dict[str, Any]]:
    found = records(attempts)
    for one in found:
        one.pop("start_state_digest", None)
    return found


def test_the_import_says_how_many_attempts_have_no_verdict_and_why(door: Door) -> None:
    path = written(door, bare(3))
    said = door.ok("import", path, "--suite", SUITE, "--candidate", V8)
    assert f"9 attempts not measured: no_start_digest; {WAY}" in said.both
    told = door.ok("import", path, "--suite", SUITE, "--candidate", V8, "--dry-run", "--json")
    assert json.loads(told.out)


def test_the_command_that_is_named_gives_the_digests_that_promote(door: Door) -> None:
    found = bare(3)
    door.ok("import", written(door, found), "--suite", SUITE, "--candidate", V8)
    report = report_of(door, V8)
    assert report["reasons"] == [f"9 attempts not measured: no_start_digest; {WAY}"]
    assert report["reason_details"][0]["observed"] == "9 of 9 not measured"
    assert report["reason_details"][0]["evidence"][0]["gate"] == "completeness"
    card = door.ok("scorecard", "--suite", SUITE, "--candidate", V8).out
    assert "hard pass 0 to 9 of 9" in card
    assert f"reason 1 9 attempts not measured: no_start_digest; {WAY}" in card

    digests = json.loads(door.ok("suite", "start-digest", SUITE, "--json").out)
    for one in found:
        one["start_state_digest"] = digests[one["episode_id"]]
        one["candidate_id"] = "refund-agent-v9"
    manifest = json.loads((door.suite / "candidates" / f"{V8}.json").read_text())
    manifest["candidate_id"] = "refund-agent-v9"
    (door.suite / "candidates" / "refund-agent-v9.json").write_text(json.dumps(manifest))
    path = written(door, found, "with.jsonl")
    door.ok("import", path, "--suite", SUITE, "--candidate", "refund-agent-v9")
    rate = report_of(door, "refund-agent-v9")["hard_pass_rate"]
    assert (rate["pass"], rate["n"], rate["value"]) == (9, 9, 1.0)


def test_start_digest_of_one_episode_is_the_digest_alone(door: Door) -> None:
    episode = json.loads((door.suite / "episodes" / "attack-014.json").read_text())
    said = door.ok("suite", "start-digest", SUITE, "attack-014").out.strip()
    assert said == start_state_digest(episode["initial_state"])
    lost = door.run("suite", "start-digest", SUITE, "attack-015")
    assert lost.code != 0
    assert "no episode attack-015" in lost.err
    assert "reviewer suite show" in lost.err


def test_every_door_counts_over_the_same_attempts(door: Door) -> None:
    found = records(6)
    for one in found:
        if one["attempt"] % 2:
            one["final_state"] = {"outcome": "something else"}
    door.ok("import", written(door, found), "--suite", SUITE, "--candidate", V8)
    report = report_of(door, V8)
    critical, rate = report["critical_failures"], report["hard_pass_rate"]
    assert (critical["n"], rate["n"]) == (18, 9)
    card = door.ok("scorecard", "--suite", SUITE, "--candidate", V8).out
    assert f"critical {critical['count']} of {critical['n']}," in card
    assert f"hard pass {rate['pass']} of {rate['n']}," in card
    assert f"fail in {critical['n']}: " in card
    state = report["gates"]["state"]
    assert f"state {state['fail']};" in card
    shown = json.loads(door.ok("scorecard", "--suite", SUITE, "--candidate", V8, "--json").out)
    assert (shown["critical"], shown["critical_n"]) == (critical["count"], critical["n"])
    assert (shown["hard_pass"]["passes"], shown["hard_pass"]["n"]) == (rate["pass"], rate["n"])
    grouped = door.ok("scorecard", "--suite", SUITE, "--candidate", V8, "--group", "category").out
    heads = [line for line in grouped.splitlines() if line.startswith("category ")]
    assert heads
    shares = [head.partition("hard pass ")[2].partition(";")[0].split(" of ") for head in heads]
    assert sum(int(passed) for passed, _ in shares) == rate["pass"]
    assert sum(int(of) for _, of in shares) == rate["n"]


@pytest.mark.parametrize("name", ["cost_usd", "latency_ms"])
def test_a_zero_with_a_sign_costs_no_store(door: Door, name: str) -> None:
    """SQLite keeps no sign of a zero: the journal's digest was of a row that the store had not."""
    record = {**passing(), name: -0.0}
    assert door.take("zero.jsonl", [record], "--suite", SUITE).code == 0
    door.healthy()
    assert door.run("scorecard", "--suite", SUITE, "--candidate", "cand-a").code == 0
