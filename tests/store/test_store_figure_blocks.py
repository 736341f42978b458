"""Figures of blocks of traces against those of the traces."""

import sqlite3
import struct
from array import array
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, Door, copied, passing
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from older_stores import as_before

from reviewer.db import figure_blocks
from reviewer.db.figure_blocks import (
    SIZE,
    BlockCheck,
    make_again,
    make_finished,
    missing_blocks,
    wrong_blocks,
)
from reviewer.db.queries.report_figures import diagnostic_means, latencies
from reviewer.db.schema import new_store_file, open_writer
from reviewer.db.sources import source_files_of
from reviewer.desk.workspace import judging_again
from reviewer.gates import score

CAND = "cand-a"
VALUES = [0.0, 1.0, 0.5, 1 / 3, 1e-3, 0.7, float("nan")]
ORDERED = [2.0**-149, 1e30, 3.0, -1.0, float("inf")]
"""With these a sum depends on its order."""


def six(values: list[float]) -> bytes:
    return struct.pack("<6f", *values)


def trace(of: list[float]) -> st.SearchStrategy[tuple[Any, ...]]:
    diagnostics = st.none() | st.lists(st.sampled_from(of), min_size=6, max_size=6).map(six)
    return st.tuples(
        st.integers(1, 2), st.integers(1, 3), st.none() | st.integers(0, 1), st.integers(0, 1),
        st.none() | st.sampled_from([0.0, 0.1, 250.0, 1e9]), diagnostics,
    )  # fmt: skip


def filled(kinds: list[tuple[Any, ...]], many: int) -> sqlite3.Connection:
    base = sqlite3.connect(":memory:")
    base.executescript(new_store_file().read_text())
    base.executemany(
        "INSERT INTO trace (id, attempt, candidate, episode, passed, infra, latency_ms,"
        " diagnostics, gates, critical, steps, timeouts, events, evidence, sha256, source, record)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, x'', ?, 1)",
        [(key, key, *kinds[key * key % len(kinds)], key // 300 + 1) for key in range(1, many + 1)],
    )
    base.executemany(
        "INSERT INTO source (id, sha256, path, size, reader, state, at)"
        " VALUES (?, ?, ?, 0, '', 'done', '')",
        [(key, str(key), str(key)) for key in range(1, 6)],
    )
    make_finished(base, 1, many)
    return base


def figures(base: sqlite3.Connection) -> str:
    """What is told of both candidates, to the bit."""
    found = []
    for candidate in (1, 2):
        known = latencies(base, candidate)
        pairs = sorted(pair for part in known.parts for pair in zip(*part, strict=True))
        within = sorted(known.within(250.0).items())
        said = list(known.ordered), known.unknown, pairs, within
        files = source_files_of(base, candidate)
        found.append((said, diagnostic_means(base, candidate), files))
    return repr(found)


@settings(max_examples=25)
@given(
    st.sampled_from([VALUES, VALUES + ORDERED]).flatmap(
        lambda of: st.lists(trace(of), min_size=1, max_size=9)
    ),
    st.integers(SIZE - 2, 2 * SIZE),
    st.integers(1, SIZE),
)
def test_blocks_say_what_the_traces_say(kinds: list[tuple[Any, ...]], many: int, one: int) -> None:
    with closing(filled(kinds, many)) as base:
        kept = {block for (block,) in base.execute("SELECT DISTINCT block FROM figure_block")}
        assert kept == set(range((many + 1) // SIZE))
        assert wrong_blocks(base) == missing_blocks(base) == []
        known = figures(base)
        base.execute("DELETE FROM figure_block")
        assert figures(base) == known
        make_finished(base, 1, many)
        # A trace that changes takes its block away, and it may be made again.
        base.execute("UPDATE trace SET latency_ms=7.25, passed=NULL WHERE id=?", (one,))
        assert missing_blocks(base) == sorted(kept & {one // SIZE})
        changed = figures(base)
        make_again(base, [one])
        assert missing_blocks(base) == wrong_blocks(base) == []
        assert figures(base) == changed
        base.execute("DELETE FROM figure_block")
        assert figures(base) == changed


@settings(max_examples=15)
@given(
    st.lists(trace(VALUES), min_size=1, max_size=9),
    st.lists(st.integers(1, 4 * SIZE), min_size=1, max_size=5).map(sorted),
    st.integers(0, 4),
    st.sampled_from(["unknown=unknown + 1", "sums=zeroblob(144)", "block=block"]),
)
def test_rows_that_were_read_for_something_else_find_the_same_blocks(
    kinds: list[tuple[Any, ...]], cuts: list[int], block: int, change: str
) -> None:
    """Whatever spans they were read in, and where a span was left out."""
    with closing(filled(kinds, 4 * SIZE)) as base:
        base.execute(f"UPDATE figure_block SET {change} WHERE block=?", (block,))
        check = BlockCheck(base)
        for start, stop in pairwise([1, *cuts, 4 * SIZE + 1]):
            if start % 7:
                rows = "SELECT * FROM trace WHERE id >= ? AND id < ?"
                check.read(start, stop - start, base.execute(rows, (start, stop)).fetchall())
        assert check.finish() == wrong_blocks(base)
        assert (wrong_blocks(base) == [block]) == ("block=" not in change and block < 4)


def test_a_sum_is_used_only_where_no_order_gives_another_one() -> None:
    small, large = 2.0**-30, 1.0
    kinds = [(1, 1, 1, 0, None, six([value, 1.0, 0, 0, 0, 0])) for value in (small, large)]
    with closing(filled(kinds, SIZE - 1)) as base:
        assert figure_blocks.exact_sums(base, 1) is not None
        base.execute("UPDATE trace SET diagnostics=? WHERE id=9", (six([1e20, 0, 0, 0, 0, 0]),))
        make_again(base, [9])
        assert figure_blocks.exact_sums(base, 1) is None
        base.execute("UPDATE trace SET diagnostics=? WHERE id=9", (six([-1.0, 0, 0, 0, 0, 0]),))
        make_again(base, [9])
        assert figure_blocks.exact_sums(base, 1) is None


# through the program ------------------------------------------------------------------------------


def records(first: int, last: int, **changes: Any) -> list[dict[str, Any]]:
    return [
        passing(attempt=one, nonce=one, latency_ms=one / 7, **changes)
        for one in range(first, last + 1)
    ]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, empty_template: Path) -> Door:
    """One block and some traces behind it."""
    door = copied(empty_template, tmp_path_factory.mktemp("many") / "desk")
    door.take("one.jsonl", records(1, SIZE - 9))
    door.take("two.jsonl", records(SIZE - 8, SIZE + 8))
    return door


@pytest.fixture
def door(many: Door, tmp_path: Path) -> Door:
    return copied(many.root, tmp_path / "w")


def report(door: Door) -> bytes:
    desk = door.desk()
    try:
        return bytes(desk.reports.build(SUITE, CAND).raw)
    finally:
        desk.close()


def blocks(door: Door) -> list[tuple[Any, ...]]:
    return door.rows("SELECT * FROM figure_block ORDER BY block, candidate")


def kept(door: Door) -> set[float]:
    """The latencies in blocks."""
    return {latency for row in blocks(door) for latency in array("d", row[4])}


def test_the_block_of_an_import_is_made_with_its_last_trace(many: Door) -> None:
    assert [row[:3] for row in blocks(many)] == [(0, 1, 0)]
    with closing(sqlite3.connect(many.store)) as base:
        assert wrong_blocks(base) == missing_blocks(base) == []
    many.healthy()


@pytest.mark.parametrize(
    "change",
    ["unknown=unknown + 1", "latencies=zeroblob(length(latencies))", "sums=zeroblob(144)",
     "candidate=2", "sources='[1]'"],
)  # fmt: skip
def test_doctor_names_a_changed_block_and_score_makes_it_again(door: Door, change: str) -> None:
    before = blocks(door)
    with closing(sqlite3.connect(door.store)) as base, base:
        base.execute(f"UPDATE figure_block SET {change}")
    said = door.run("doctor")
    assert said.code == 20
    assert "latencies and diagnostics of 1 blocks of traces" in said.out
    door.ok("score")
    door.healthy()
    assert blocks(door) == before


def test_a_block_that_is_gone_is_made_again_by_score(door: Door) -> None:
    before, said = blocks(door), report(door)
    with closing(sqlite3.connect(door.store)) as base, base:
        base.execute("DELETE FROM figure_block")
    door.healthy()
    assert report(door) == said
    door.ok("score")
    assert blocks(door) == before


def test_a_store_of_an_earlier_schema_gets_its_blocks(door: Door) -> None:
    before, said = blocks(door), report(door)
    as_before(door, "021_figure_blocks")
    assert "figure_block" not in str(door.rows("SELECT name FROM sqlite_schema"))
    open_writer(door.store).close()
    assert blocks(door) == before
    door.healthy()
    assert report(door) == said


def test_a_verdict_that_changes_makes_its_block_again(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lost to infrastructure: an attempt that counts no more."""
    lost = {1, 7, SIZE + 2}

    def newer(contract: Any, record: Any, **more: Any) -> Any:
        if record.attempt in lost:
            record = replace(record, termination="infrastructure_error")
        return score(contract, record, **more)

    monkeypatch.setattr(judging_again, "score", newer)
    before = kept(door)
    door.ok("score")
    assert kept(door) == before - {1 / 7, 7 / 7}
    with closing(sqlite3.connect(door.store)) as base:
        assert wrong_blocks(base) == missing_blocks(base) == []
    door.healthy()


def test_an_attempt_that_goes_on_makes_its_block_again(door: Door) -> None:
    before = kept(door)
    (longer,) = records(5, 5)
    more = {"tool": "lookup_order", "arguments": {}, "status": "ok"}
    longer |= {"events": [*longer["events"], more], "latency_ms": 9000.0}
    said = door.take("more.jsonl", [longer])
    assert door.one("SELECT count(*) FROM revision") == 1, said
    assert kept(door) == before - {5 / 7} | {9000.0}
    with closing(sqlite3.connect(door.store)) as base:
        assert wrong_blocks(base) == missing_blocks(base) == []
    door.healthy()
