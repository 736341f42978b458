"""Killed imports, imports at the same time, and readers meanwhile: once each, nothing lost."""

import contextlib
import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, Door, copied, lines, many, shipped

from reviewer.importing.pipeline import all_files
from reviewer.importing.pipeline.storing import Batcher

BATCH = 4000
"""More records than this are several transactions."""


def written(door: Door) -> int:
    """Traces committed so far; 0 while the store is being made."""
    try:
        return int(door.one("SELECT count(*) FROM trace"))
    except sqlite3.OperationalError:
        return 0


def killed(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def whole(door: Door, count: int, candidate: str = "cand-a") -> None:
    """Exactly `count` records once, counts right, the store sound."""
    attempts = door.rows(
        "SELECT attempt FROM traces WHERE candidate_id=? ORDER BY attempt", candidate
    )
    assert attempts == [(number,) for number in range(1, count + 1)]
    assert door.one("SELECT count(DISTINCT evidence) FROM trace") == door.one(
        "SELECT count(*) FROM trace"
    )
    assert door.wrong_rolls() == []
    door.healthy()


@pytest.mark.slow
def test_a_killed_import_goes_on_where_it_stopped(door: Door) -> None:
    count = 3 * BATCH
    path = door.file("t.jsonl", lines(many(count)))
    process = door.start("import", path)
    until = time.monotonic() + 60
    while not written(door) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    killed(process)
    before = written(door)
    assert 0 < before < count, "the kill came too late or too early to show anything"
    said = door.ok("import", path)
    assert f"{count} records" in said.err
    whole(door, count)
    assert "nothing added" in door.ok("import", path).err
    row = door.rows("SELECT records, added, known, refused, state FROM source")
    assert row == [(count, count, 0, 0, "done")]


def kill_loop(door: Door, kills: int, count: int, seed: int) -> None:
    """Kill one import again and again at random moments, until it has come through."""
    path = door.file("t.jsonl", lines(many(count)))
    moments = random.Random(seed)
    best = 0
    for _ in range(kills):
        process = door.start("import", path)
        time.sleep(moments.uniform(0.0, 0.9))
        killed(process)
        now = written(door)
        assert now >= best, "what was committed is gone"
        best = now
    door.ok("import", path)
    whole(door, count)


@pytest.mark.nightly
@pytest.mark.slow
def test_kills_at_any_moment_lose_and_double_nothing(door: Door) -> None:
    kill_loop(door, kills=5, count=BATCH + 500, seed=1)


@pytest.mark.nightly
def test_two_hundred_kills_lose_and_double_nothing(tmp_path: Path, empty_template: Path) -> None:
    for round_ in range(10):
        door = copied(empty_template, tmp_path / str(round_))
        kill_loop(door, kills=20, count=2 * BATCH + 500, seed=round_)


@pytest.mark.nightly
@pytest.mark.slow
def test_kills_while_the_store_is_being_made_leave_one_that_can_be_made(
    tmp_path: Path, empty_template: Path
) -> None:
    """A half-made schema would be there for ever."""
    moments = random.Random(7)
    door = copied(empty_template, tmp_path / "desk")
    path = door.file("t.jsonl", lines(many(3)))
    for number in range(8):
        for left in door.store.parent.glob("review.db*"):
            left.unlink()
        process = door.start("import", path)
        if number % 2:
            until = time.monotonic() + 60
            while not door.store.exists() and time.monotonic() < until:
                time.sleep(0.001)
            time.sleep(moments.uniform(0.0, 0.3))
        else:
            time.sleep(moments.uniform(0.1, 0.7))
        killed(process)
        door.ok("import", path)
        whole(door, 3)


@pytest.mark.slow
def test_two_files_at_once(door: Door) -> None:
    count = BATCH + 200
    paths = [
        door.file(f"{name}.jsonl", lines({**r, "cost_usd": 0.01 * n} for r in many(count, name)))
        for n, name in enumerate(("cand-a", "cand-b"), 1)
    ]
    processes = [door.start("import", path) for path in paths]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert f"{count} added".encode() in err, err
    for name in ("cand-a", "cand-b"):
        whole(door, count, name)


@pytest.mark.nightly
@pytest.mark.slow
def test_the_same_file_at_once(door: Door) -> None:
    count = BATCH + 700
    path = door.file("t.jsonl", lines(many(count)))
    processes = [door.start("import", path) for _ in range(2)]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    whole(door, count)
    assert door.rows("SELECT records, added, known, refused, state FROM source") == [
        (count, count, 0, 0, "done")
    ]
    assert "nothing added" in door.ok("import", path).err


def test_a_file_that_another_process_takes_in_meanwhile_is_counted_once(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one comes to its end just before this one writes its first batch."""
    count = BATCH + 700
    path = door.file("t.jsonl", lines(many(count)))
    flush, others = Batcher.flush, []

    def late(self: Batcher, done: bool = False) -> None:
        if not others:
            others.append(door.outside("import", path))
        flush(self, done)

    monkeypatch.setattr(Batcher, "flush", late)
    assert door.run("import", path).code == 0
    assert [other.code for other in others] == [0]
    whole(door, count)
    assert door.rows("SELECT records, added, known, refused, state FROM source") == [
        (count, count, 0, 0, "done")
    ]


def contradicting(door: Door, count: int) -> list[Path]:
    """Two files that declare the same attempts with other evidence."""
    return [
        door.file(f"{n}.jsonl", lines({**r, "final_message": f"Told {n}."} for r in many(count)))
        for n in (1, 2)
    ]


def both_kept(door: Door, count: int, results: list[dict[str, Any]]) -> None:
    """Check that one record of each attempt is judged, and the other is kept beside it."""
    told = [sum(result[kind] for result in results) for kind in ("added", "known", "refused")]
    assert told == [count, count, 0]
    assert sum(len(result["beside"]) for result in results) == count
    assert sum(filled["attempts"] for one in results for filled in one["filled"]) == count
    whole(door, count)
    assert door.rows("SELECT sum(added), sum(known), sum(refused) FROM source") == [
        (count, count, 0)
    ]
    assert door.one("SELECT count(*) FROM quarantine") == 0
    assert door.one("SELECT count(*) FROM traces WHERE passed IS NOT NULL") == 0


@pytest.mark.slow
def test_records_for_the_same_slots_at_once(door: Door) -> None:
    processes = [door.start("import", path, "--json") for path in contradicting(door, 1500)]
    results = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode in (0, 20), err
        results += json.loads(out)
    both_kept(door, 1500, results)


def test_a_slot_that_another_process_fills_meanwhile_keeps_both_records(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one comes to its end after this one placed its records, just before it writes."""
    count = 30
    first, second = contradicting(door, count)
    flush, others = Batcher.flush, []

    def late(self: Batcher, done: bool = False) -> None:
        if not others:
            others.append(door.outside("import", first, "--json"))
        flush(self, done)

    monkeypatch.setattr(Batcher, "flush", late)
    monkeypatch.setattr(all_files, "SMALL", 0)  # else all of it is within one transaction
    mine = door.run("import", second, "--json")
    assert [others[0].code, mine.code] == [0, 20]
    both_kept(door, count, [*json.loads(others[0].out), *json.loads(mine.out)])
    assert json.loads(mine.out)[0]["filled"] == []


@pytest.mark.slow
def test_unnumbered_records_of_two_files_at_once_all_get_a_slot(door: Door) -> None:
    count = 1200
    base = list(many(2 * count))
    for record in base:
        del record["attempt"]
    paths = [door.file(f"{n}.jsonl", lines(base[n::2])) for n in (0, 1)]
    processes = [door.start("import", path) for path in paths]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    whole(door, 2 * count)


@pytest.mark.slow
def test_readers_see_growing_counts_and_never_an_error(full: Door) -> None:
    count = 2 * BATCH
    path = full.file("t.jsonl", lines(many(count)))
    desk = full.desk()
    seen, versions = [0], set()
    process = full.start("import", path)
    try:
        while process.poll() is None:
            versions.add(desk.version())
            if "cand-a" in [one.candidate_id for one in desk.workspace.candidates(SUITE)]:
                card = desk.scorecards.card(SUITE, "cand-a")
                made = card.slots.valid + card.slots.extra
                seen.append(max(made, card.hard_pass.n))
                keys = desk.scorecards.order(SUITE, "cand-a")
                rows = desk.scorecards.rows(SUITE, "cand-a", keys[:1])
                assert rows[0].passes <= len(rows[0].attempts)
                desk.decisions.view(SUITE, "cand-a")
            assert desk.scorecards.card(SUITE, "refund-agent-v8").recommendation == "promote"
        process.communicate(timeout=60)
        assert process.returncode == 0
        assert seen == sorted(seen)
        assert len(set(seen)) > 1
        assert len(versions) > 2
        card = desk.scorecards.card(SUITE, "cand-a")
        assert (card.hard_pass.n, card.slots.valid + card.slots.extra) == (3, count)
    finally:
        desk.close()


def test_a_resumed_import_numbers_attempts_as_one_would_have(door: Door) -> None:
    """A source that says it was read half-way is read on from there."""
    records = [{**record, "candidate_id": "cand-a"} for record in shipped("refund-agent-v8")]
    for record in records:
        del record["attempt"]
    path = door.file("t.jsonl", records)
    door.ok("import", door.file("half.jsonl", records[:4]))
    with contextlib.closing(sqlite3.connect(door.store)) as base, base:
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        base.execute("UPDATE source SET sha256=?, path=?, state='reading'", (sha256, str(path)))
    said = door.ok("import", path)
    assert "9 records, 5 added" in said.err
    found = door.rows("SELECT episode_id, attempt FROM traces ORDER BY trace")
    assert found == [(r["episode_id"], n % 3 + 1) for n, r in enumerate(records)]


@pytest.mark.nightly
@pytest.mark.slow
def test_a_killed_large_import_leaves_no_process_behind(door: Door) -> None:
    """Files this large are judged in processes of their own."""
    padding = {"pad": "x" * 3000}
    path = door.file(
        "t.jsonl", lines({**record, "source": padding, "latency_ms": record["latency_ms"] + 0.5}
                         for record in many(6000)),
    )  # fmt: skip
    assert path.stat().st_size > 24 << 20
    process = door.start("import", path, start_new_session=True)
    until = time.monotonic() + 60
    while not written(door) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    killed(process)
    until = time.monotonic() + 60
    while (left := members_of(process.pid)) and time.monotonic() < until:
        time.sleep(0.1)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []
    door.ok("import", path)
    whole(door, 6000)


def members_of(group: int) -> list[int]:
    """Processes of one process group that are still there (Linux)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(entry.parent.name))
    return found
