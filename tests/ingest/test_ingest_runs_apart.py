"""Several runs of one benchmark in one store: each starts its attempts at 1, none is lost."""

import json
from pathlib import Path
from typing import Any

from doors import Door

EXCERPT = Path(__file__).resolve().parents[1] / "data/tau_bench/gpt-4o-airline-excerpt.json"
CANDIDATE = ("--candidate", "gpt-4o")


def excerpt(words: str = "") -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = json.loads(EXCERPT.read_bytes())
    if words:
        for record in records:
            record["traj"][1]["content"] = words
    return records


def attempts(door: Door) -> list[int]:
    return [
        attempt
        for (attempt,) in door.rows(
            "SELECT attempt FROM traces WHERE episode_id = '2' ORDER BY attempt"
        )
    ]


def test_a_second_run_is_numbered_on(door: Door) -> None:
    assert door.take("one.json", excerpt(), *CANDIDATE).code == 0
    said = door.take("two.json", excerpt("Good morning."), *CANDIDATE)
    assert said.code == 0, said
    assert "numbered on (8 records)" in said.err
    assert attempts(door) == [1, 2, 3, 4, 5, 6, 7, 8]
    door.healthy()


def test_the_same_runs_again_in_another_file_add_nothing(door: Door) -> None:
    door.take("one.json", excerpt(), *CANDIDATE)
    door.take("two.json", excerpt("Good morning."), *CANDIDATE)
    said = door.take("both.json", [*excerpt("Good morning."), {"extra": 1}], *CANDIDATE)
    assert "8 already there" in said.err
    assert attempts(door) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_one_file_may_not_fill_a_slot_twice(door: Door) -> None:
    records = excerpt()
    twin = json.loads(json.dumps(records[0]))
    twin["traj"][1]["content"] = "Good evening."
    said = door.take("twice.json", [*records, twin], *CANDIDATE)
    assert said.code == 20
    assert "slot_filled" in said.err
    assert door.one("SELECT count(*) FROM trace") == 8


def test_other_rewards_are_other_evidence(door: Door) -> None:
    door.take("one.json", excerpt(), *CANDIDATE)
    records = excerpt()
    for record in records:
        record["reward"] = 1.0 - record["reward"]
    said = door.take("two.json", records, *CANDIDATE)
    # The source's own word stands in the evidence too, so these are other attempts.
    assert said.code == 0
    assert len(attempts(door)) == 8
    # A reward of one beside the source's own failing checks is no verdict.
    assert door.one("SELECT sum(passed) FROM traces") == 4
