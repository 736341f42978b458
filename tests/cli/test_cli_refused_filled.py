"""A record that was refused, and whose attempt another record filled, is told of for ever."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door, copied, passing


def test_a_refused_record_whose_slot_was_filled_is_in_the_caveats(door: Door) -> None:
    odd = {**passing(), "bogus": 1}
    assert door.take("odd.jsonl", [odd], "--suite", SUITE).code == 20
    door.take("clean.jsonl", [passing(attempt=n, nonce=n) for n in (1, 2, 3)], "--suite", SUITE)
    out = door.root / "out"
    door.run("--export-report", out, "--suite", SUITE, "--candidate", "cand-a")
    report = json.loads((out / "report.json").read_bytes())
    text = "1 refused record names attempts that other records fill"
    assert any(text in line for line in report["what_this_does_not_show"]), report[
        "what_this_does_not_show"
    ]
    assert text in (out / "report.md").read_text()


def test_a_refused_attempt_beyond_the_plan_holds_until_its_record_comes_in(full: Door) -> None:
    """It may be a failure, and a failure counts in any attempt."""
    numbered = {**passing(candidate_id=V8, attempt=5, nonce=5), "latency_ms": -1}
    unnumbered = {**passing(candidate_id=V8, nonce=6), "cost_usd": -1}
    unnumbered.pop("attempt", None)
    assert full.take("later.jsonl", [numbered, unnumbered], "--suite", SUITE).code == 20
    release = ("--suite", SUITE, "--candidate", V8)
    held = full.run("--export-report", full.root / "out", *release)
    assert held.code == 10, held
    assert "needs a valid record of 2 attempts beyond the plan" in held.out
    valid = {**numbered, "latency_ms": 900}
    full.take("one.jsonl", [valid], "--suite", SUITE)
    held = full.run("--export-report", full.root / "out", *release)
    assert held.code == 10, held
    assert "damaged-221, unnumbered" in (full.root / "out/report.md").read_text()
    full.take("two.jsonl", [{**unnumbered, "cost_usd": 0.03}], "--suite", SUITE)
    assert full.run("--export-report", full.root / "out", *release).code == 0


@pytest.mark.parametrize(
    ("spelled", "more"),
    [
        ("Damaged-221", {}),
        ("damaged_221", {}),
        ("ｄamaged-221", {}),
        ("Damaged_221", {"cost_usd": -1}),
    ],
)
def test_a_refused_attempt_whose_episode_is_spelled_otherwise_holds(
    full: Door, spelled: str, more: dict[str, Any]
) -> None:
    """It took place, and may be a failure of the episode that it means; also where the record is
    refused for another reason."""
    record = {**passing(candidate_id=V8, attempt=5, nonce=5), "episode_id": spelled, **more}
    said = full.take("other.jsonl", [record], "--suite", SUITE)
    assert said.code == 20, said
    assert "way out: write the episode as the suite does: damaged-221" in said.both
    release = ("--suite", SUITE, "--candidate", V8)
    held = full.run("--export-report", full.root / "out", *release)
    assert held.code == 10, held
    assert "damaged-221 attempt 5" in held.out
    full.take(
        "mended.jsonl",
        [{**record, "episode_id": "damaged-221", "cost_usd": 0.03}],
        "--suite",
        SUITE,
    )
    assert full.run("--export-report", full.root / "out", *release).code == 0


def caveats(door: Door) -> str:
    door.run("--export-report", door.root / "out", "--suite", SUITE, "--candidate", V8)
    found = json.loads((door.root / "out" / "report.json").read_bytes())
    return " ".join(found["what_this_does_not_show"])


@pytest.mark.parametrize("episode_id", [None, 7, "of-no-suite"])
def test_a_refused_record_of_no_known_episode_is_in_the_caveats(
    full: Door, episode_id: object
) -> None:
    """It may be a failure of any episode of this suite."""
    record = {**passing(candidate_id=V8, nonce=5), "episode_id": episode_id}
    if episode_id is None:
        del record["episode_id"]
    assert full.take("odd.jsonl", [record], "--suite", SUITE).code == 20
    assert "1 quarantined record names no slot of this candidate" in caveats(full)


def test_a_merge_brings_what_was_refused_where_nothing_was_taken(
    door: Door, full: Door, tmp_path: Path
) -> None:
    """The other store has no attempt of the candidate: its quarantine was left behind."""
    other = copied(door.root, tmp_path / "other")
    record = {**passing(candidate_id=V8, attempt=2, nonce=5), "latency_ms": -1}
    assert other.take("odd.jsonl", [record], "--suite", SUITE).code == 20
    assert ", 1 refused" in full.run("merge", other.store).out
    assert "1 refused record names attempts that other records fill" in caveats(full)
    assert ", 1 refused" not in full.ok("merge", other.store).out
