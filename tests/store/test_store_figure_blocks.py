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
from reviewer.db.connection import transaction
from reviewer.db.figure_blocks import (
    SIZE,
    BlockCheck,
    make_again,
    make_finished,
    missing_blocks,
    noted_of,
    wrong_blocks,
)
from reviewer.db.queries.report_figures import diagnostic_means, latencies
from reviewer.db.schema import new_store_file, open_writer
from reviewer.db.sources import source_files_of
from reviewer.db.verdict_changes import LateVerdict, fill_late
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
        st.integers(0, 3), st.integers(0, 1), st.none() | st.just("completed"),
    )  # fmt: skip


FINDING = st.tuples(
    st.sampled_from(["state", "process"]),
    st.sampled_from(["wrong_state", "thumbs_down", "step_budget"]),
    st.sampled_from(["fail", "note", "not_measured"]),
    st.none() | st.integers(1, 3),
)
PARTS = st.tuples(st.lists(FINDING, max_size=3), st.none() | st.integers(0, 1), st.booleans())
"""The findings of a trace, and whether its source gives a verdict and which."""


def filled(
    kinds: list[tuple[Any, ...]], many: int, parts: list[tuple[Any, ...]] | None = None
) -> sqlite3.Connection:
    base = sqlite3.connect(":memory:")
    base.executescript(new_store_file().read_text())
    base.executemany(
        "INSERT INTO trace (id, attempt, candidate, episode, passed, infra, latency_ms,"
        " diagnostics, gates, critical, termination, sha256, source, steps, timeouts, events,"
        " evidence, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 1)",
        [
            (key, key, *kinds[key * key % len(kinds)], key.to_bytes(32, "big"), key // 300 + 1)
            for key in range(1, many + 1)
        ],
    )
    for key in range(1, many + 1) if parts else ():
        findings, said, has = (parts or [])[key * 7 % len(parts or [])]
        base.executemany(
            "INSERT INTO finding (trace, n, gate, code, severity, seq) VALUES (?, ?, ?, ?, ?, ?)",
            [(key, n, *finding) for n, finding in enumerate(findings)],
        )
        if has:
            base.execute("INSERT INTO source_verdict (trace, passed) VALUES (?, ?)", (key, said))
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
        pairs = sorted(zip(known.episodes, known.values, strict=True))
        within = sorted(known.within(250.0).items())
        said = list(known.ordered), known.unknown, pairs, within
        files = source_files_of(base, candidate)
        found.append((said, diagnostic_means(base, candidate), files, noted(base, candidate)))
    return repr(found)


def noted(base: sqlite3.Connection, candidate: int) -> list[tuple[Any, ...]]:
    """The failing and flagged traces in columns, by slot."""
    one = noted_of(base, candidate)
    digests = [bytes(one.digests[at : at + 32]) for at in range(0, len(one.digests), 32)]
    kinds = [one.kinds[place] for place in one.places]
    assert len(set(one.kinds)) == len(one.kinds)
    return sorted(
        (*two, digest, *kind)
        for *two, digest, kind in zip(one.episodes, one.attempts, digests, kinds, strict=True)
    )


def noted_one_by_one(base: sqlite3.Connection, candidate: int) -> list[tuple[Any, ...]]:
    found = []
    for key, *row, said in base.execute(
        "SELECT t.id, t.episode, t.attempt, t.sha256, t.gates, t.passed, t.critical, t.infra,"
        " t.termination, v.passed FROM trace t LEFT JOIN source_verdict v ON v.trace = t.id"
        " WHERE t.candidate=?",
        (candidate,),
    ).fetchall():
        findings = base.execute(
            "SELECT severity, code, gate, seq FROM finding WHERE trace=? ORDER BY n", (key,)
        ).fetchall()
        thumbs = ("note", "thumbs_down") in {one[:2] for one in findings}
        differs = None not in (said, row[4]) and said != row[4]
        if row[4] == 0 or row[6] == 1 or thumbs or differs:
            shown = [(gate, code, seq) for word, code, gate, seq in findings if word != "note"]
            flags = [
                code
                for word, code, *_ in findings
                if code == "thumbs_down" or (code == "step_budget" and word != "note")
            ]
            found.append((*row[:7], said, row[7], tuple(shown), tuple(flags)))
    return sorted(found)


@settings(max_examples=25)
@given(
    st.sampled_from([VALUES, VALUES + ORDERED]).flatmap(
        lambda of: st.lists(trace(of), min_size=1, max_size=9)
    ),
    st.lists(PARTS, min_size=1, max_size=4),
    st.integers(SIZE - 2, 2 * SIZE),
    st.integers(1, SIZE),
)
def test_blocks_say_what_the_traces_say(
    kinds: list[tuple[Any, ...]], parts: list[tuple[Any, ...]], many: int, one: int
) -> None:
    with closing(filled(kinds, many, parts)) as base:
        for candidate in (1, 2):
            assert noted(base, candidate) == noted_one_by_one(base, candidate)
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
    kinds = [
        (1, 1, 1, 0, None, six([value, 1.0, 0, 0, 0, 0]), 0, 0, None) for value in (small, large)
    ]
    with closing(filled(kinds, SIZE - 1)) as base:
        assert figure_blocks.exact_sums(base, 1) is not None
        base.execute("UPDATE trace SET diagnostics=? WHERE id=9", (six([1e20, 0, 0, 0, 0, 0]),))
        make_again(base, [9])
        assert figure_blocks.exact_sums(base, 1) is None
        base.execute("UPDATE trace SET diagnostics=? WHERE id=9", (six([-1.0, 0, 0, 0, 0, 0]),))
        make_again(base, [9])
        assert figure_blocks.exact_sums(base, 1) is None


CHANGES = {
    "a trace fails": "UPDATE trace SET passed=0 WHERE id=7",
    "a trace passes": "UPDATE trace SET passed=1 WHERE id=8",
    "a gate fails": "UPDATE trace SET gates=3 WHERE id=8",
    "a trace is critical": "UPDATE trace SET critical=1 WHERE id=8",
    "a trace is lost": "UPDATE trace SET infra=1 WHERE id=7",
    "a trace ends otherwise": "UPDATE trace SET termination='timeout' WHERE id=8",
    "a trace is of another episode": "UPDATE trace SET episode=2 WHERE id=8",
    "a trace is another attempt": "UPDATE trace SET attempt=9000 WHERE id=8",
    "a trace is of another record": "UPDATE trace SET sha256=zeroblob(32) WHERE id=8",
    "a trace is elsewhere": "UPDATE trace SET id=1025 WHERE id=8",
    "a trace is gone": "DELETE FROM trace WHERE id=8",
    "a finding is added": "INSERT INTO finding VALUES (8, 9, 'state', 'x', 'fail', 1, '')",
    "a finding changes": "UPDATE finding SET code='y' WHERE trace=8",
    "a finding is moved": "UPDATE finding SET trace=9000 WHERE trace=8",
    "a finding is gone": "DELETE FROM finding WHERE trace=8",
    "a verdict is added": "INSERT INTO source_verdict (trace, passed) VALUES (7, 0)",
    "a verdict changes": "UPDATE source_verdict SET passed=0 WHERE trace=9",
    "a verdict is moved": "UPDATE source_verdict SET trace=9000 WHERE trace=8",
    "a verdict is gone": "DELETE FROM source_verdict WHERE trace=8",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_what_is_no_longer_so_is_in_no_block(change: str) -> None:
    """7 passes; 8 fails, and its source says that it passes; 9 passes by its source as well."""
    passing, failing = ((1, 1, verdict, 0, 1.0, None, 1 - verdict, 0, "done") for verdict in (1, 0))
    with closing(filled([passing], 2 * SIZE)) as base:
        base.execute("UPDATE trace SET passed=?, gates=? WHERE id=8", (failing[2], failing[6]))
        base.execute("INSERT INTO finding VALUES (8, 0, 'state', 'wrong_state', 'fail', 1, '')")
        base.executemany("INSERT INTO source_verdict (trace, passed) VALUES (?, 1)", [(8,), (9,)])
        make_again(base, [8])
        assert missing_blocks(base) == wrong_blocks(base) == []
        before = figures(base)
        base.execute(change)
        assert missing_blocks(base) == [0]
        assert noted(base, 1) == noted_one_by_one(base, 1)
        assert figures(base) != before


# through the program ------------------------------------------------------------------------------


def records(first: int, last: int, **changes: Any) -> list[dict[str, Any]]:
    """One attempt in a hundred fails."""
    return [
        passing(attempt=one, nonce=one, latency_ms=one / 7, **changes)
        | ({} if one % 100 else {"final_state": {"case": "lost"}})
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
    return {latency for row in blocks(door) for latency in array("d", row[5])}


def test_the_block_of_an_import_is_made_with_its_last_trace(many: Door) -> None:
    assert [row[:4] for row in blocks(many)] == [(1, 0, 1, 0)]
    with closing(sqlite3.connect(many.store)) as base:
        assert wrong_blocks(base) == missing_blocks(base) == []
        assert [row[:2] for row in noted(base, 1)] == [(1, n) for n in range(100, SIZE, 100)]
    many.healthy()


def test_a_verdict_of_the_source_that_comes_later_makes_its_block_again(door: Door) -> None:
    """Also where it adds only facts."""
    late = LateVerdict(1, 1, 100, True, None, "{}")
    for one in (late, late._replace(detail='{"why":"x"}')):
        base = open_writer(door.store)
        with transaction(base, door.store):
            fill_late(base, [one], "2026-11-28T00:00:00Z")
        base.close()
        with closing(sqlite3.connect(door.store)) as base:
            assert wrong_blocks(base) == missing_blocks(base) == []
            assert [row[7] for row in noted(base, 1)] == [1, None, None, None, None]
    assert "'x'" in str(door.rows("SELECT json_extract(detail, '$.why') FROM source_verdict"))
    door.healthy()


@pytest.mark.parametrize(
    "change",
    ["unknown=unknown + 1", "latencies=zeroblob(length(latencies))", "sums=zeroblob(144)",
     "id=2, candidate=2", "sources='[1]'", "kinds='[1]'", "noted=x'00'", "digests=x'00'"],
)  # fmt: skip
def test_doctor_names_a_changed_block_and_score_makes_it_again(door: Door, change: str) -> None:
    before = blocks(door)
    with closing(sqlite3.connect(door.store)) as base, base:
        base.execute(f"UPDATE figure_block SET {change}")
    said = door.run("doctor")
    assert said.code == 20
    assert "figures of 1 blocks of traces" in said.out
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


@pytest.mark.parametrize("script", ["021_figure_blocks", "023_noted_traces"])
def test_a_store_of_an_earlier_schema_gets_its_blocks(door: Door, script: str) -> None:
    before, said = blocks(door), report(door)
    as_before(door, script)
    assert "noted" not in str(door.rows("SELECT sql FROM sqlite_schema WHERE name='figure_block'"))
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
