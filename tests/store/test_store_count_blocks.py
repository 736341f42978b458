"""Counts of episodes in columns against the rows that they are made from."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, Door, copied, passing, shipped
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from older_stores import as_before

from reviewer.db import count_blocks
from reviewer.db.count_blocks import (
    SIZE,
    counts_of,
    make_missing,
    missing_count_blocks,
    wrong_count_blocks,
)
from reviewer.db.counts import COUNTS
from reviewer.db.schema import new_store_file, open_writer
from reviewer.desk.workspace import judging_again
from reviewer.gates import score
from reviewer.suite.gates import GATES

CAND = "cand-a"


@pytest.fixture(autouse=True)
def every_suite_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_blocks, "LARGE_EPISODES", 0)


EPISODES = (*range(SIZE - 2, SIZE + 2), 2 * SIZE - 1, 2 * SIZE, 4 * SIZE)
ROLLS = st.lists(
    st.tuples(
        st.integers(1, 2), st.sampled_from(EPISODES),
        *[st.integers(0, 2)] * (len(COUNTS) - 1), st.integers(0, 2**40),
    ),
    unique_by=lambda one: one[:2], max_size=12,
)  # fmt: skip
GATE_COUNTS = st.lists(
    st.tuples(
        st.integers(1, 2), st.integers(0, 1), st.sampled_from(EPISODES), st.sampled_from(GATES),
        st.integers(0, 2), st.integers(0, 2),
    ),
    unique_by=lambda one: one[:4], max_size=12,
)  # fmt: skip


def filled(rolls: list[tuple[int, ...]], gates: list[tuple[Any, ...]]) -> sqlite3.Connection:
    base = sqlite3.connect(":memory:")
    base.executescript(new_store_file().read_text())
    base.execute(
        "INSERT INTO suite (id, suite_id, digest, body, frozen_at, seq)"
        " VALUES (1, 's', '', x'', '', 1)"
    )
    base.executemany(
        "INSERT INTO candidate (id, suite, candidate_id, seq) VALUES (?, 1, ?, 1)",
        [(1, "a"), (2, "b")],
    )
    base.executemany(
        "INSERT INTO episode (id, suite, episode_id, position) VALUES (?, 1, ?, ?)",
        [(key, str(key), key) for key in EPISODES],
    )
    columns = ", ".join(COUNTS)
    marks = ", ".join("?" * (len(COUNTS) + 2))
    base.executemany(f"INSERT INTO roll (candidate, episode, {columns}) VALUES ({marks})", rolls)
    base.executemany("INSERT INTO gate_count VALUES (?, ?, ?, ?, ?, ?)", gates)
    return base


def told(base: sqlite3.Connection) -> list[list[tuple[Any, ...]]]:
    """What is told of the episodes of both candidates, in order."""
    both = [counts_of(base, candidate) for candidate in (1, 2)]
    return [
        [
            (key, one.kinds[place], cost, steps)
            for key, place, cost, steps in zip(
                one.keys, one.places, one.costs, one.steps, strict=True
            )
        ]
        for one in both
    ]


@given(ROLLS, GATE_COUNTS)
def test_blocks_say_what_the_rows_say(
    rolls: list[tuple[int, ...]], gates: list[tuple[Any, ...]]
) -> None:
    with closing(filled(rolls, gates)) as base:
        known = told(base)
        assert [len(one) for one in known] == [
            sum(row[0] == candidate for row in rolls) for candidate in (1, 2)
        ]
        make_missing(base)
        assert list(missing_count_blocks(base)) == wrong_count_blocks(base) == []
        assert told(base) == known
        base.execute("DELETE FROM count_block WHERE id % 2 = 1")
        assert told(base) == known


CHANGES = {
    "a row is added": f"INSERT INTO roll (candidate, episode) VALUES (1, {SIZE + 1})",
    "a count changes": f"UPDATE roll SET passes=passes - 1 WHERE candidate=1 AND episode={SIZE}",
    "two changes with one sum": "UPDATE roll SET passes=3 - passes"
    f" WHERE candidate=1 AND episode < 2 * {SIZE}",
    "a row is moved": f"UPDATE roll SET episode=9 * {SIZE} WHERE candidate=1 AND episode={SIZE}",
    "a row is another's": f"UPDATE roll SET candidate=3 WHERE candidate=1 AND episode={SIZE}",
    "a row is gone": f"DELETE FROM roll WHERE candidate=1 AND episode={SIZE}",
    "a gate is added": f"INSERT INTO gate_count VALUES (1, 0, {SIZE}, 'timeout', 1, 0)",
    "a gate changes": "UPDATE gate_count SET failed=2 WHERE candidate=1",
    "a gate is moved": f"UPDATE gate_count SET episode=9 * {SIZE} WHERE candidate=1",
    "a gate is of the first set": "UPDATE gate_count SET first=1 WHERE candidate=1",
    "a gate is gone": "DELETE FROM gate_count WHERE candidate=1",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_row_that_changes_takes_its_block_away(change: str) -> None:
    """Only that: else nothing would be left after an import."""
    rolls = [(1, SIZE, 3, 3, 2, *[1] * 6), (1, SIZE + 2, 3, 3, 1, *[1] * 6)]
    others = [(2, SIZE, *[1] * len(COUNTS)), (1, 4 * SIZE, *[1] * len(COUNTS))]
    with closing(filled([*rolls, *others], [(1, 0, SIZE, "state", 1, 0)])) as base:
        make_missing(base)
        before = told(base)
        base.execute(change)
        assert list(missing_count_blocks(base)) == [(1, 1)]
        assert told(base) != before
        make_missing(base)
        assert wrong_count_blocks(base) == []


# through the program ------------------------------------------------------------------------------


def report(door: Door) -> bytes:
    desk = door.desk()
    try:
        return bytes(desk.reports.build(SUITE, CAND).raw)
    finally:
        desk.close()


def blocks(door: Door) -> list[tuple[Any, ...]]:
    return door.rows("SELECT * FROM count_block ORDER BY id")


def without_blocks(door: Door) -> bytes:
    """The report that is computed from the rows."""
    kept = blocks(door)
    with closing(sqlite3.connect(door.store)) as base, base:
        base.execute("DELETE FROM count_block")
    said = report(door)
    with closing(sqlite3.connect(door.store)) as base, base:
        base.executemany("INSERT INTO count_block VALUES (?, ?, ?, ?, ?, ?, ?)", kept)
    return said


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory, empty_template: Path) -> Door:
    """Two attempts of a candidate, one of which failed."""
    door = copied(empty_template, tmp_path_factory.mktemp("counts") / "desk")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(count_blocks, "LARGE_EPISODES", 0)
        door.take("one.jsonl", [passing(attempt=1)])
        door.take("two.jsonl", [failing(2)])
    return door


@pytest.fixture
def door(imported: Door, tmp_path: Path) -> Door:
    return copied(imported.root, tmp_path / "w")


def failing(attempt: int, nonce: int = 0) -> dict[str, Any]:
    (one,) = (r for r in shipped(V7) if r["episode_id"] == "attack-014" and r["attempt"] == 1)
    one["latency_ms"] += 20_000 + nonce
    return one | {"candidate_id": CAND, "attempt": attempt, "episode_id": "attack-014"}


def import_more(door: Door, patched: pytest.MonkeyPatch) -> None:
    door.take("more.jsonl", [failing(1, 1), passing("appeal-009", attempt=1)])


def import_a_record_that_goes_on(door: Door, patched: pytest.MonkeyPatch) -> None:
    longer = passing(attempt=1)
    more = {"tool": "lookup_order", "arguments": {}, "status": "error"}
    door.take("longer.jsonl", [longer | {"events": [*longer["events"], more], "final_state": None}])
    assert door.one("SELECT count(*) FROM revision") == 1


def score_again(door: Door, patched: pytest.MonkeyPatch) -> None:
    def newer(contract: Any, record: Any, **more: Any) -> Any:
        if record.attempt == 1:
            record = replace(record, termination="infrastructure_error")
        return score(contract, record, **more)

    patched.setattr(judging_again, "score", newer)
    door.ok("score")


def merge_another(door: Door, patched: pytest.MonkeyPatch) -> None:
    other = copied(door.root, door.root.with_name("other"))
    other.take("theirs.jsonl", [failing(3, 3)])
    door.ok("merge", other.store)


def import_evidence_of_another(door: Door, patched: pytest.MonkeyPatch) -> None:
    """A pass that counts there alone."""
    door.take("theirs.jsonl", [passing(candidate_id="cand-b", nonce=7)])
    door.take("ours.jsonl", [passing(attempt=3, nonce=7)])
    assert "shared_evidence" in str(door.rows("SELECT code FROM finding"))


ACTS = [import_more, import_a_record_that_goes_on, score_again, merge_another,
        import_evidence_of_another]  # fmt: skip


@pytest.mark.parametrize("act", ACTS)
def test_no_act_leaves_counts_that_are_no_longer_so(
    door: Door, act: Callable[[Door, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, kept = report(door), blocks(door)
    assert kept
    assert before == without_blocks(door)
    act(door, monkeypatch)
    after = report(door)
    assert after != before
    assert after == without_blocks(door)
    assert blocks(door) != kept
    with closing(sqlite3.connect(door.store)) as base:
        assert list(missing_count_blocks(base)) == wrong_count_blocks(base) == []
    door.healthy()


@pytest.mark.parametrize("act", ACTS)
def test_an_act_that_is_killed_before_its_end_leaves_none_either(
    door: Door, act: Callable[[Door, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_blocks, "catch_up", lambda connection, store: None)
    before = report(door)
    act(door, monkeypatch)
    after = report(door)
    assert before != after == without_blocks(door)
    with closing(sqlite3.connect(door.store)) as base:
        assert list(missing_count_blocks(base))
        assert wrong_count_blocks(base) == []


def test_counts_that_are_no_longer_so_are_named_by_doctor_and_made_again_by_score(
    door: Door,
) -> None:
    """Without the triggers that take them away."""
    names = door.rows("SELECT name, sql FROM sqlite_schema WHERE type='trigger'")
    triggers = {name: sql for name, sql in names if name.startswith("count_block_")}
    with closing(sqlite3.connect(door.store)) as base, base:
        for name in triggers:
            base.execute(f"DROP TRIGGER {name}")
        base.execute("DELETE FROM count_block")
        base.execute("UPDATE roll SET passes=0")
        make_missing(base)
        base.execute("UPDATE roll SET passes=1 WHERE episode=1")
        for sql in triggers.values():
            base.execute(sql)
    said = door.run("doctor")
    assert said.code == 20
    assert "counts of 1 blocks of episodes" in said.out
    door.ok("score")
    door.healthy()
    with closing(sqlite3.connect(door.store)) as base:
        assert list(missing_count_blocks(base)) == wrong_count_blocks(base) == []


def test_a_store_of_an_earlier_schema_gets_its_blocks(door: Door) -> None:
    before, said = blocks(door), report(door)
    as_before(door, "022_count_blocks")
    assert "count_block" not in str(door.rows("SELECT name FROM sqlite_schema"))
    open_writer(door.store).close()
    assert blocks(door) == before
    door.healthy()
    assert report(door) == said
