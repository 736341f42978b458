"""Slots and identity: what is numbered, what is known, what is refused."""

import json
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, lines, many, passing, shipped

TRACES = f"suites/{SUITE}/traces"


def state(door: Door) -> tuple[list[Any], list[Any]]:
    return door.rows("SELECT * FROM trace ORDER BY id"), door.rows("SELECT * FROM roll")


def reasons(door: Door) -> list[str]:
    found = json.loads(door.ok("quarantine", "--json").out)
    return [reason for row in found for reason in row["reasons"]]


def test_the_same_file_again_adds_nothing_and_says_so(full: Door) -> None:
    before = state(full)
    said = full.ok("import", full.root / TRACES)
    assert state(full) == before
    assert said.err.count("nothing added") == 2
    full.healthy()


def test_the_same_records_under_another_name_and_shape_add_nothing(full: Door) -> None:
    before = state(full)
    lines_ = (full.root / TRACES / f"{V7}.jsonl").read_bytes().splitlines()
    said = full.take("renamed.json", b"[" + b",\n".join(lines_) + b"]")
    assert said.code == 0, said
    assert state(full) == before
    assert "9 already there" in said.err


def test_a_superset_adds_only_what_is_new(door: Door) -> None:
    records = list(many(12))
    assert door.take("a.jsonl", records[:7]).code == 0
    said = door.take("b.jsonl", records)
    assert said.code == 0, said
    assert "5 added" in said.err
    assert "7 already there" in said.err
    assert door.one("SELECT count(*) FROM trace") == 12
    assert door.wrong_rolls() == []
    door.healthy()


def test_a_superset_without_attempts_adds_only_what_is_new(door: Door) -> None:
    records = [passing(attempt=None, nonce=n) for n in range(6)]
    assert door.take("a.jsonl", records[:4]).code == 0
    assert door.take("b.jsonl", records).code == 0
    assert door.rows("SELECT attempt, latency_ms FROM traces ORDER BY attempt") == [
        (n + 1, 11700.0 + n) for n in range(6)
    ]


def test_attempts_are_numbered_in_file_order_around_declared_ones(door: Door) -> None:
    wanted = [None, 3, None, None, 1, None]
    records = [passing(attempt=attempt, nonce=n) for n, attempt in enumerate(wanted)]
    said = door.take("t.jsonl", records)
    # The first, unnumbered, took attempt 1; the fifth comes too late for it.
    assert said.code == 20
    assert door.rows("SELECT attempt, latency_ms - 11700 FROM traces ORDER BY 1") == [
        (1, 0.0), (2, 2.0), (3, 1.0), (4, 3.0), (5, 5.0),
    ]  # fmt: skip
    assert [reason.split(":")[0] for reason in reasons(door)] == ["slot_filled"]


def test_other_evidence_for_a_named_slot_is_kept_beside(full: Door) -> None:
    """Which of two records of one attempt is right nobody can tell: nothing is measured any more,
    and nothing is lost."""
    record = shipped(V8)[0]
    record["cost_usd"] = 0.0001
    trace = f"{SUITE}/{V8}/damaged-221/1"
    said = full.take("t.json", record)
    assert said.code == 20
    assert f"contradiction:revision of {trace}: cost_usd is less" in said.err
    assert full.codes(trace) == ["contradiction:revision"]
    assert full.rows("SELECT passed, cost_usd FROM traces WHERE trace_id=?", trace) == [
        (None, 0.055)
    ]
    assert full.one("SELECT count(*) FROM trace") == 18
    assert full.run("score").code == 0
    assert full.codes(trace) == ["contradiction:revision"]
    assert full.wrong_rolls() == []
    full.healthy()


@pytest.mark.parametrize("change", [{"candidate_id": "cand-z"}, {"attempt": 7, "candidate_id": V7}])
def test_the_same_evidence_for_another_candidate_is_no_pass(
    full: Door, change: dict[str, Any]
) -> None:
    """A binding of its own, that names the other: a failure would count, a pass counts there."""
    said = full.take("t.json", {**shipped(V8)[0], **change})
    assert said.code == 0, said
    trace = f"{SUITE}/{change['candidate_id']}/damaged-221/{change.get('attempt', 1)}"
    assert full.codes(trace) == ["shared_evidence"]
    assert f"{SUITE}/{V8}/damaged-221/1" in full.ok("show", trace).out
    assert full.rows("SELECT passed FROM traces WHERE trace_id=?", trace) == [(None,)]
    assert full.rows(
        "SELECT passed FROM traces WHERE trace_id=?", f"{SUITE}/{V8}/damaged-221/1"
    ) == [(1,)]
    full.ok("score")
    assert full.codes(trace) == ["shared_evidence"]
    full.healthy()


def test_the_same_evidence_for_another_attempt_is_refused(full: Door) -> None:
    before = state(full)
    said = full.take("t.json", {**shipped(V8)[0], "attempt": 7})
    assert said.code == 20, said
    assert "duplicate_evidence" in said.err
    assert f"{SUITE}/{V8}/damaged-221/1" in said.err
    assert state(full) == before


def test_the_same_evidence_twice_in_one_file_counts_once(door: Door) -> None:
    said = door.take("t.jsonl", [passing(), passing(attempt=2), passing(attempt=None)])
    assert said.code == 20
    assert door.one("SELECT count(*) FROM trace") == 1


def test_a_refused_duplicate_stands_in_the_candidates_report(door: Door) -> None:
    door.take("t.jsonl", [passing(), passing(attempt=2)])
    door.run("--export-report", door.root / "out", "--suite", SUITE, "--candidate", "cand-a")
    report = json.loads((door.root / "out" / "report.json").read_bytes())
    assert report["slots"]["quarantined"] == 1


@pytest.mark.parametrize("member", ["attempt", "candidate_id"])
def test_members_of_that_name_deeper_inside_are_evidence(door: Door, member: str) -> None:
    """Two runs that differ only in what a tool was told are two runs."""
    records = []
    for number in (1, 2, 3):
        record = passing(attempt=None)
        record["events"][0]["arguments"][member] = number
        # Written before the record's own members, as another harness might.
        records.append({"events": record.pop("events"), **record})
    said = door.take("t.jsonl", records)
    assert said.code == 0, said
    assert door.one("SELECT count(*) FROM trace") == 3
    claimed = {**records[0], "attempt": 9}
    again = door.take("again.jsonl", [claimed])
    assert again.code == 20, again
    assert "duplicate_evidence" in again.err


def test_the_candidate_option_fills_what_is_missing(door: Door) -> None:
    record = passing(candidate_id=None)
    refused = door.take("t.json", record)
    assert refused.code == 20
    assert "missing:candidate_id" in refused.err
    assert "--candidate" in refused.err
    said = door.run("import", door.root / "t.json", "--candidate", "cand-b")
    assert said.code == 0, said
    assert door.rows("SELECT candidate_id, attempt FROM traces") == [("cand-b", 1)]


def test_the_candidate_option_does_not_rename_others(door: Door) -> None:
    said = door.take("t.jsonl", [passing()], "--candidate", "cand-b")
    assert said.code == 20
    assert "other_candidate:cand-a" in said.err
    assert door.one("SELECT count(*) FROM trace") == 0


def test_a_dry_run_writes_nothing(door: Door) -> None:
    said = door.take("t.jsonl", [*many(3), {"x": 1}], "--dry-run")
    assert said.code == 20
    assert "3 added" in said.err
    assert "1 refused" in said.err
    assert not door.store.exists()
    assert sorted(path.name for path in (door.root / "store").iterdir()) == [
        ".gitignore", "decisions", "signers",
    ]  # fmt: skip


def test_a_dry_run_knows_what_is_in_the_store(full: Door) -> None:
    before = full.store.read_bytes(), sorted((full.root / "store").iterdir())
    extra = {**shipped(V8)[0], "cost_usd": 0.0001}
    said = full.take("t.jsonl", [*shipped(V8), extra], "--dry-run")
    assert said.code == 20, said
    assert "0 added" in said.err
    assert "10 already there" in said.err
    assert "contradiction:revision" in said.err
    assert (full.store.read_bytes(), sorted((full.root / "store").iterdir())) == before


def test_a_changed_manifest_needs_a_new_candidate(full: Door) -> None:
    path = full.suite / "candidates" / f"{V8}.json"
    manifest = json.loads(path.read_bytes())
    manifest["version"] = "8.0.1"
    path.write_text(json.dumps(manifest))
    said = full.take("t.jsonl", [passing(candidate_id=V8, attempt=4, nonce=5)])
    assert said.code == 20
    assert "new candidate_id" in said.err
    assert "internal" not in said.err
    assert full.one("SELECT count(*) FROM trace") == 18
    full.healthy()


def test_a_manifest_may_come_later(door: Door) -> None:
    path = door.suite / "candidates" / f"{V8}.json"
    kept = path.read_bytes()
    path.unlink()
    records = shipped(V8)
    door.take("a.jsonl", records[:4])
    path.write_bytes(kept)
    door.take("b.jsonl", records[4:])
    assert (
        door.run("--export-report", door.root / "out", "--suite", SUITE, "--candidate", V8).code
        == 0
    )
    door.healthy()


def test_two_candidates_in_one_file(door: Door) -> None:
    mixed = [record for pair in zip(shipped(V7), shipped(V8), strict=True) for record in pair]
    assert door.take("t.jsonl", mixed).code == 0
    for candidate, code in ((V7, 10), (V8, 0)):
        out = door.root / candidate
        assert (
            door.run("--export-report", out, "--suite", SUITE, "--candidate", candidate).code
            == code
        )


def test_sources_name_every_file_once(full: Door) -> None:
    full.ok("import", full.root / TRACES)
    found = json.loads(full.ok("sources", "--json").out)
    assert len(found) == 2
    assert {row["added"] for row in found} == {9}
    full.take("more.jsonl", lines([*shipped(V8), {"x": 1}]))
    found = json.loads(full.ok("sources", "--json").out)
    newest = found[0]
    counts = (newest["records"], newest["added"], newest["known"], newest["refused"])
    assert counts == (10, 0, 9, 1)
