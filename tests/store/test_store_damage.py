"""A store with flipped bits: typed errors only, and no report says anything new unseen."""

import contextlib
import multiprocessing
import os
import random
import sqlite3
from pathlib import Path

import pytest
from doors import SUITE, V7, V8, Door, copied, passing

from reviewer.db.connection import StoreError
from reviewer.desk.errors import DeskError
from reviewer.desk.integrity import doctor
from reviewer.desk.integrity.processes import Processes
from reviewer.desk.place import at
from reviewer.importing import processes

TRACE = f"{SUITE}/{V7}/attack-014/1"


def reports(door: Door) -> list[bytes] | str:
    """What is said of both candidates, or the typed error."""
    desk = door.desk()
    try:
        return [desk.decisions.view(SUITE, candidate).report_json for candidate in (V7, V8)]
    except (DeskError, StoreError) as error:
        return f"typed: {error}"
    finally:
        desk.close()


def looked_at(door: Door) -> None:
    """Every other question: an answer or a typed error."""
    desk = door.desk()
    try:
        for ask in (
            lambda: desk.workspace.suites(),
            lambda: desk.workspace.opening(),
            lambda: desk.scorecards.card(SUITE, V7),
            lambda: desk.scorecards.rows(SUITE, V7, desk.scorecards.order(SUITE, V7)),
            lambda: desk.scorecards.cell(SUITE, V7, "attack-014", "authority"),
            lambda: desk.traces.view(TRACE),
            lambda: desk.traces.events(TRACE, 0, 50),
            lambda: desk.traces.event(TRACE, 2),
            lambda: desk.imports.sources(),
            lambda: desk.imports.refusals(),
        ):
            with contextlib.suppress(DeskError, StoreError):
                ask()
    finally:
        desk.close()


def flipped(door: Door, flips: int, seed: int) -> dict[str, int]:
    """Flip one bit at a time, and count what came of it."""
    whole = door.store.read_bytes()
    wanted = reports(door)
    assert isinstance(wanted, list)
    chance = random.Random(seed)
    counts = {"harmless": 0, "typed": 0, "found": 0}
    for _ in range(flips):
        at, bit = chance.randrange(len(whole)), 1 << chance.randrange(8)
        for left in door.store.parent.glob("review.db-*"):
            left.unlink()
        with door.store.open("r+b") as handle:
            handle.seek(at)
            handle.write(bytes([whole[at] ^ bit]))
        where = f"bit {bit} of byte {at}"
        found = reports(door)
        if isinstance(found, str):
            counts["typed"] += 1
        elif found == wanted:
            counts["harmless"] += 1
        else:
            said = door.run("doctor")
            assert said.code == 20, f"{where}: an undetected change\n{said.out}"
            counts["found"] += 1
        looked_at(door)
        doctor = door.run("doctor")
        assert doctor.code in (0, 20), where
        with door.store.open("r+b") as handle:
            handle.seek(at)
            handle.write(whole[at : at + 1])
    return counts


@pytest.fixture
def small(full: Door) -> Door:
    """Both candidates, a quarantined record, a trace in chunks, one without a payload."""
    large = passing(candidate_id=V8, attempt=4)
    large["events"][0]["observation"] = ["x" * 1000] * 1200
    secret = passing(candidate_id=V8, attempt=5, nonce=1, final_message="jane@corp-mail.org")
    full.take("more.jsonl", [large, secret, {"candidate_id": V7, "episode_id": "appeal-009"}])
    return full


@pytest.mark.slow
def test_flipped_bits_are_errors_or_found_or_harmless(small: Door) -> None:
    counts = flipped(small, 25, seed=11)
    assert sum(counts.values()) == 25
    assert counts["typed"] > 0


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(8))
def test_four_thousand_flipped_bits(small: Door, seed: int) -> None:
    counts = flipped(small, 500, seed=seed)
    assert sum(counts.values()) == 500
    assert counts["typed"] > 0
    assert counts["harmless"] > 0


COLUMNS = (
    ("trace", "UPDATE trace SET cost_usd=cost_usd / 2"),
    ("latency", "UPDATE trace SET latency_ms=1"),
    ("attempt", "UPDATE trace SET attempt=9 WHERE attempt=3"),
    ("owner", "UPDATE trace SET candidate=3 - candidate, attempt=attempt + 50 WHERE attempt=1"),
    ("diagnostics", "UPDATE trace SET diagnostics=NULL"),
    ("digest", "UPDATE trace SET sha256=zeroblob(32) WHERE passed=0"),
    ("finding", "UPDATE finding SET code='wrong_final_state'"),
    ("severity", "UPDATE finding SET severity='note'"),
    ("seq", "UPDATE finding SET seq=seq + 1"),
    ("roll", "UPDATE roll SET cost_nano=0"),
    ("plan", "UPDATE roll SET in_plan=0"),
    ("gate", "UPDATE gate_count SET failed=0 WHERE gate='authority' AND failed > 0"),
    ("gate row", "DELETE FROM gate_count WHERE gate='authority'"),
    ("first set", "UPDATE first_set SET passes=0"),
    ("first set gone", "DELETE FROM first_set"),
    ("declared", "UPDATE candidate SET planned=9 WHERE id=1"),
    ("rolls gone", "DELETE FROM roll WHERE episode=1"),
    ("suite", "UPDATE suite SET frozen_at='2020-01-01T00:00:00Z'"),
    ("suite digest", "UPDATE suite SET digest=replace(digest, 'a', 'b')"),
    ("body", "UPDATE suite SET body=CAST(replace(body, '0.95', '0.05') AS BLOB)"),
    ("episode", "UPDATE episode SET title='other' WHERE id=1"),
    ("order", "UPDATE episode SET position=5 - position"),
    ("episode gone", "DELETE FROM episode WHERE id=3"),
    ("candidate", "UPDATE candidate SET digest=NULL"),
    ("manifest", "UPDATE candidate SET manifest=x'7b7d'"),
    ("name", "UPDATE candidate SET candidate_id='refund-agent-v6' WHERE id=1"),
    ("source", "UPDATE source SET path='elsewhere'"),
    ("source notes", "UPDATE source SET notes=substr(notes, 2)"),
    ("source note", "UPDATE source SET notes='[1]'"),
    ("quarantine", "UPDATE quarantine SET candidate_id='nobody'"),
    ("quarantine gone", "DELETE FROM quarantine"),
    ("trace gone", "DELETE FROM trace WHERE passed=0"),
    ("a trace more", "INSERT INTO trace SELECT max(id) + 1, candidate, episode, 77, gates, passed,"
     " critical, infra, cost_usd, latency_ms, steps, timeouts, events, termination, final_state, 5,"
     " sha256, source, record, pack, offset, length, diagnostics FROM trace"),
    ("payload", "UPDATE pack SET frame=zeroblob(10)"),
    ("place", "UPDATE trace SET offset=offset + 1 WHERE offset IS NOT NULL"),
    ("chunk", "UPDATE chunk SET frame=zeroblob(length(frame))"),
    ("chunk gone", "DELETE FROM chunk"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "statement"), COLUMNS, ids=[name for name, _ in COLUMNS])
def test_every_fact_changed_by_hand_is_found(
    small: Door, tmp_path: Path, name: str, statement: str
) -> None:
    with contextlib.closing(sqlite3.connect(small.store)) as base, base:
        assert base.execute(statement).rowcount > 0
    said = small.run("doctor")
    assert said.code == 20, said.out
    assert "FAIL " in said.out
    looked_at(small)


def test_processes_that_each_read_the_store_find_the_same(
    small: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "LARGE", 0)
    monkeypatch.setattr(processes, "workers", lambda: 2)
    there = at(small.root)
    assert doctor.examine(there, alone=True) == doctor.examine(there)
    names = {"latency", "attempt", "finding", "roll", "first set gone", "episode", "payload"}
    with contextlib.closing(sqlite3.connect(small.store)) as base, base:
        for statement in (one for name, one in COLUMNS if name in names):
            assert base.execute(statement).rowcount > 0
    found = doctor.examine(there, alone=True)
    assert found == doctor.examine(there)
    wrong = {check.name for check in found if check.ok is False}
    assert wrong >= {"facts", "roll-ups", "payloads"}


def _process(here: sqlite3.Connection) -> int:
    """End the process that answers, unless it is the test's own."""
    if multiprocessing.parent_process() is not None:
        os._exit(9)
    return int(here.execute("SELECT 7").fetchone()[0])


def test_a_question_whose_process_was_ended_is_answered_here(small: Door) -> None:
    several = Processes(small.store)
    with contextlib.closing(several), contextlib.closing(sqlite3.connect(small.store)) as here:
        assert several.ask(_process, here)() == 7
        assert several.ask(_process, here)() == 7


@pytest.mark.parametrize("name", ["trace", "roll", "suite", "finding", "source", "journal"])
def test_a_table_that_is_gone_is_a_typed_error(full: Door, tmp_path: Path, name: str) -> None:
    with contextlib.closing(sqlite3.connect(full.store)) as base, base:
        base.execute(f"DROP TABLE {name}")
    for argv in (
        ["doctor"], ["score"], ["import", full.file("t.json", passing())],
        ["--export-report", full.root / "out", "--suite", SUITE, "--candidate", V8],
        ["show", TRACE], ["scorecard", "--suite", SUITE, "--candidate", V8],
    ):  # fmt: skip
        said = full.run(*argv)
        assert said.code in ((20,) if argv == ["doctor"] else (0, 20)), (argv, said)
        assert "internal" not in said.err, (argv, said)


def test_a_file_cut_short_is_a_typed_error(full: Door) -> None:
    whole = full.store.read_bytes()
    for share in (50, 4096, len(whole) // 3, len(whole) // 2, len(whole) - 4096):
        full.store.write_bytes(whole[:share])
        for argv in (
            ["doctor"], ["show", TRACE], ["score"], ["sources"], ["quarantine"],
            ["--export-report", full.root / "out", "--suite", SUITE, "--candidate", V8],
        ):  # fmt: skip
            said = full.run(*argv)
            assert "internal" not in said.err, (share, argv, said)
        assert full.run("doctor").code == 20, share


def test_roll_ups_gone_wrong_are_made_anew_by_score(full: Door) -> None:
    with contextlib.closing(sqlite3.connect(full.store)) as base, base:
        base.execute("UPDATE roll SET passes=attempts, critical=0")
    said = full.run("doctor")
    assert (said.code, "reviewer score" in said.out) == (20, True)
    full.ok("score")
    full.healthy()
    assert (
        full.run("--export-report", full.root / "out", "--suite", SUITE, "--candidate", V7).code
        == 10
    )


def test_verdicts_changed_by_hand_are_not_laundered_by_score(full: Door) -> None:
    with contextlib.closing(sqlite3.connect(full.store)) as base, base:
        base.execute("UPDATE trace SET gates=0, passed=1, critical=0, cost_usd=0.001")
    said = full.run("score")
    assert said.code == 20
    assert "journal" in said.err
    assert full.run("doctor").code == 20


def test_a_copy_elsewhere_is_as_good(small: Door, tmp_path: Path) -> None:
    other = copied(small.root, tmp_path / "other")
    assert reports(other) == reports(small)
    other.healthy()
