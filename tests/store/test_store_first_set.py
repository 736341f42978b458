"""The first complete set of attempts in the store: kept with each batch, whatever their order."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, Door, copied, passing
from older_stores import as_before

from reviewer.db.connection import scripts
from reviewer.db.schema import open_writer

CAND = "cand-a"
PLAN = 3


def record(attempt: int, lost: bool = False, **changes: Any) -> dict[str, Any]:
    made = passing(attempt=attempt, nonce=attempt, cost_usd=attempt / 1000, **changes)
    made["events"] = [{**event, "cost_usd": None} for event in made["events"]]
    return {**made, "termination": "infrastructure_error"} if lost else made


def set_of(attempts: dict[int, bool]) -> tuple[int, list[int], int]:
    """(last, the valid attempts in the set, the lost ones in it), worked out the long way."""
    valid = [n for n, lost in sorted(attempts.items()) if not lost]
    owed = sum(lost for n, lost in attempts.items() if n <= PLAN)
    beyond = [n for n in valid if n > PLAN][:owed]
    last = max([PLAN, *beyond])
    held = [n for n in valid if n <= PLAN] + beyond
    return last, held, sum(lost for n, lost in attempts.items() if n <= last)


def stored(door: Door) -> list[tuple[Any, ...]]:
    return door.rows("SELECT last, attempts, passes, infra, cost_nano FROM first_set")


def expected(attempts: dict[int, bool]) -> list[tuple[Any, ...]]:
    if max(attempts) <= PLAN:
        return []
    last, held, lost = set_of(attempts)
    spent = sum(n * 1_000_000 for n in attempts if n <= last)
    return [(last, len(held), len(held), lost, spent)]


@pytest.mark.parametrize("seed", range(6))
def test_the_set_is_the_same_in_whichever_order_attempts_come(door: Door, seed: int) -> None:
    chance = random.Random(seed)
    numbers = chance.sample(range(1, 9), chance.randrange(3, 8))
    attempts: dict[int, bool] = {}
    while numbers:
        batch = [numbers.pop() for _ in range(min(len(numbers), chance.randrange(1, 3)))]
        added = {n: chance.random() < 0.35 for n in batch}
        attempts.update(added)
        door.take(f"{batch[0]}.jsonl", [record(n, lost) for n, lost in added.items()])
        assert stored(door) == expected(attempts), attempts
    door.healthy()
    before = stored(door)
    door.ok("score")
    assert stored(door) == before
    door.healthy()


def test_only_the_set_is_measured(door: Door) -> None:
    later = [
        record(n, latency_ms=90_000 + n, start_state_digest=None, final_state="open")
        for n in (4, 5)
    ]
    door.take("t.jsonl", [record(n, latency_ms=1000 * n) for n in (1, 2, 3)] + later)
    desk = door.desk()
    try:
        report = json.loads(desk.reports.build(SUITE, CAND).raw)
    finally:
        desk.close()
    assert report["latency_ms"]["max"] == 3000
    assert report["latency_ms"]["n"] == 3
    assert report["diagnostics"]["tool_f1"]["n"] == 3
    assert not [line for line in report["not_measured"] if "no_start_digest" in line]
    assert (report["hard_pass_rate"]["n"], report["critical_failures"]["n"]) == (3, 5)
    assert [f["extra"] for f in report["failures"]] == [True, True]
    assert report["recommendation"] == "block"  # they missed the contracted end


def test_a_probe_has_no_plan_to_go_beyond(door: Door, repository: Path) -> None:
    (file,) = sorted((repository / "tests" / "data" / "tau_bench").glob("*.json"))[:1]
    said = door.run("import", file)
    assert said.code in (0, 20)
    assert door.one("SELECT count(*) FROM trace") > 0
    assert door.one("SELECT count(*) FROM first_set") == 0


# a store of the first schema --------------------------------------------------------------------


@pytest.fixture
def old(door: Door) -> Door:
    """A store as it was before, with attempts beyond the plan."""
    door.take("t.jsonl", [record(n, n == 2) for n in (1, 2, 3, 4, 5)])
    as_before(door, "002_first_set")
    return door


def test_an_older_store_is_brought_up_to_date_when_it_is_read(old: Door) -> None:
    assert "version 1" in old.run("doctor").out
    desk = old.desk()
    try:
        report = json.loads(desk.reports.build(SUITE, CAND).raw)
    finally:
        desk.close()
    assert report["hard_pass_rate"]["n"] == 3
    assert old.one("PRAGMA user_version") == len(scripts())
    assert stored(old) == expected({1: False, 2: True, 3: False, 4: False, 5: False})
    old.healthy()


def test_an_older_store_is_brought_up_to_date_when_it_is_written(old: Door) -> None:
    old.take("more.jsonl", [record(6)])
    assert stored(old) == expected({1: False, 2: True, 3: False, 4: False, 5: False, 6: False})
    old.healthy()


def test_a_store_made_new_and_one_brought_up_to_date_are_alike(
    old: Door, tmp_path: Path, empty_template: Path
) -> None:
    new = copied(empty_template, tmp_path / "new")
    shutil.copy(old.root / "t.jsonl", new.root / "t.jsonl")
    new.run("import", new.root / "t.jsonl")
    open_writer(old.store).close()
    shape = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE '%sqlite%' ORDER BY 2"
    assert old.rows(shape) == new.rows(shape)
    assert old.rows("SELECT * FROM first_set") == new.rows("SELECT * FROM first_set")
