"""`reviewer notes` and the notes of a merged store: written, listed, each counted once."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, copied, lines, passing, shipped

ATTACK = f"{SUITE}/{V7}/attack-014/1"
APPEAL = f"{SUITE}/{V8}/appeal-009/1"


@pytest.fixture
def kim(tmp_path: Path, full_template: Path) -> Door:
    """Another person's workspace with the same traces."""
    return copied(full_template, tmp_path / "kim")


@pytest.fixture
def empty(tmp_path: Path, empty_template: Path) -> Door:
    """Another person's workspace with nothing imported."""
    return copied(empty_template, tmp_path / "empty")


def noted(door: Door, *more: str, who: str = "dana", seq: int = 2, trace: str = ATTACK) -> str:
    return door.ok("--reviewer", who, "notes", "add", trace, "--seq", seq, *more).out


def told(door: Door) -> list[tuple[str, int, str, str, str]]:
    listed = json.loads(door.ok("notes", "list", "--json").out)
    return [(n["trace_id"], n["seq"], n["kind"], n["reviewer"], n["text"]) for n in listed]


def exported(door: Door) -> bytes:
    target = door.root / f"notes-{len(list(door.root.glob('notes-*')))}.jsonl"
    door.ok("notes", "export", target)
    return target.read_bytes()


# one person ---------------------------------------------------------------------------------------


def test_a_note_is_written_listed_changed_and_taken_back(full: Door) -> None:
    said = noted(full, "ask ann@shop.example \x1b[31m why")
    assert said.startswith(f"note {ATTACK} event 2 by dana 2")
    assert "ann@shop" not in said
    assert "␛[31m why" in said
    full.ok("--reviewer", "kim", "notes", "bookmark", ATTACK, "--seq", 4)
    noted(full, "because", trace=APPEAL, seq=1)
    assert told(full) == [
        (ATTACK, 2, "note", "dana", "ask [REDACTED:email] \x1b[31m why"),
        (ATTACK, 4, "bookmark", "kim", ""),
        (APPEAL, 1, "note", "dana", "because"),
    ]
    noted(full, "it was the policy")
    assert full.ok("notes", "list", "--candidate", V8).out.count("\n") == 1
    assert full.ok("notes", "list", ATTACK).out.splitlines()[0].endswith("Z: it was the policy")
    full.ok("--reviewer", "dana", "notes", "remove", ATTACK, "--seq", 2)
    full.ok("--reviewer", "kim", "notes", "remove", ATTACK, "--seq", 4, "--bookmark")
    assert [row[0] for row in told(full)] == [APPEAL]
    full.healthy()


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("add", ATTACK, "--seq", 99, "x"), 20, "no event 99"),
        (("add", f"{ATTACK}7", "--seq", 1, "x"), 20, "no trace"),
        (("add", ATTACK, "--seq", 1, " "), 2, "the note is empty"),
        (("add", ATTACK, "--seq", 1, "x" * 4001), 20, "at most 4,000 characters"),
        (("add", ATTACK, "--seq", 1, "\udcff"), 20, "non-UTF-8"),
        (("add", ATTACK, "--seq", 1), 2, "required: TEXT"),
        (("remove", ATTACK, "--seq", 1), 20, "has no note on event 1"),
        (("list", "--suite", "nothing"), 20, "no suite nothing"),
    ],
)
def test_what_cannot_be_noted_is_told(
    full: Door, words: tuple[object, ...], code: int, reason: str
) -> None:
    said = full.run("notes", *words)
    assert (said.code, said.out) == (code, "")
    assert reason in said.err
    assert full.one("SELECT count(*) FROM note") == 0


# files --------------------------------------------------------------------------------------------


def test_what_is_exported_is_imported_as_it_was(full: Door, kim: Door) -> None:
    noted(full, "first")
    noted(full, "second")
    full.ok("--reviewer", "dana", "notes", "bookmark", ATTACK, "--seq", 4)
    full.ok("--reviewer", "dana", "notes", "remove", ATTACK, "--seq", 4, "--bookmark")
    data = exported(full)
    assert data.count(b"\n") == 4, "what was said is kept"
    said = kim.ok("notes", "import", kim.file("dana.jsonl", data))
    assert "4 notes added, 0 already there" in said.err
    assert told(kim) == [(ATTACK, 2, "note", "dana", "second")]
    assert exported(kim) == data
    assert "0 notes added, 4 already there" in kim.ok("notes", "import", kim.file("x", data)).err
    entry = json.loads(kim.rows("SELECT body FROM journal ORDER BY seq DESC LIMIT 1")[0][0])
    assert (entry["type"], entry["first"], entry["added"]) == ("notes.recorded", 1, 4)
    kim.healthy()


def test_a_bad_line_costs_that_line_and_is_named(full: Door, kim: Door) -> None:
    noted(full, "fine")
    (good,) = [json.loads(line) for line in exported(full).splitlines()]
    bare = {name: value for name, value in good.items() if name != "uid"}

    def other(**changes: Any) -> bytes:
        return lines([{**bare, **changes}])

    text = [
        lines([good]),
        b"{not json\n",
        lines([{**good, "text": "another"}]),
        other(text="mail jane@corp-mail.org"),
        other(reviewer="jane@corp-mail.org"),
        other(trace_sha256="0" * 64),
        other(trace_id=f"{ATTACK}9"),
        other(candidate_id=V8),
        other(seq=77),
        other(seq=0),
        other(text=""),
        other(kind="bookmark"),
        other(at="2999-01-31T09:02:31.000000Z"),
        other(at="2026-01-31T09:02:31Z"),
        other(textt="x"),
        other(text="x" * 4001),
    ]
    path = kim.file("mixed.jsonl", b"".join(text))
    said = kim.run("notes", "import", path, "--json")
    assert said.code == 20
    (result,) = json.loads(said.out)
    assert (result["added"], result["refused"]) == (1, len(text) - 1)
    places = {problem["place"] for problem in result["problems"]}
    assert places == {f"{path}:{number}" for number in range(2, len(text) + 1)}
    assert "corp-mail" not in said.both
    assert b"corp-mail" not in kim.store.read_bytes()
    assert told(kim) == [(ATTACK, 2, "note", "dana", "fine")]
    kim.healthy()


# another store ------------------------------------------------------------------------------------


def test_a_merge_brings_the_notes_each_once(full: Door, kim: Door) -> None:
    noted(full, "seen by dana")
    noted(kim, "seen by kim", who="kim")
    noted(kim, "older", who="dana", seq=1)
    said = full.ok("merge", kim.store)
    assert "notes: 2 added, 0 already there" in said.out
    assert {row[4] for row in told(full)} == {"seen by dana", "seen by kim", "older"}
    assert "notes: 0 added, 2 already there" in full.ok("merge", kim.store).out
    assert json.loads(full.ok("merge", kim.store, "--json").out)["notes"]["known"] == 2
    kim.ok("merge", full.store)
    assert exported(kim) == exported(full)
    full.healthy()
    kim.healthy()


def test_notes_come_with_the_traces_they_are_about(full: Door, empty: Door) -> None:
    noted(full, "look here")
    assert "notes: 1 added" in empty.ok("merge", full.store).out
    assert told(empty) == [(ATTACK, 2, "note", "dana", "look here")]
    report = empty.root / "out"
    empty.run("--export-report", report, "--candidate", V7, "--format", "json")
    (note,) = json.loads((report / "report.json").read_bytes())["notes"]
    assert (note["trace_id"], note["text"]) == (ATTACK, "look here")
    empty.healthy()


def test_a_note_follows_its_evidence_to_the_number_it_has_here(full: Door, door: Door) -> None:
    """Here attempt 1 is another record, so theirs is taken in behind the others."""
    record = next(r for r in shipped(V7) if r["episode_id"] == "attack-014" and r["attempt"] == 1)
    door.take("mine.jsonl", [{**record, "latency_ms": 5}])
    noted(door, "mine")
    noted(full, "theirs")
    said = door.ok("merge", full.store)
    assert "notes: 1 added, 0 already there" in said.out
    moved = f"{SUITE}/{V7}/attack-014/4"
    assert told(door) == [(ATTACK, 2, "note", "dana", "mine"), (moved, 2, "note", "dana", "theirs")]
    assert "notes: 0 added, 1 already there" in door.ok("merge", full.store).out
    assert "notes: 1 added" in full.ok("merge", door.store).out
    (theirs,) = [row[0] for row in told(full) if row[4] == "theirs"]
    assert theirs == ATTACK
    door.healthy()
    full.healthy()


def test_the_same_evidence_in_another_writing_is_the_same(full: Door, door: Door) -> None:
    """An attempt's number is no evidence: the note finds the record it was put on."""
    record = next(r for r in shipped(V7) if r["episode_id"] == "attack-014" and r["attempt"] == 1)
    door.take("mine.jsonl", [{**record, "attempt": 2}])
    noted(full, "theirs")
    door.ok("merge", full.store)
    assert told(door) == [(f"{SUITE}/{V7}/attack-014/2", 2, "note", "dana", "theirs")]
    door.healthy()


def test_a_note_on_evidence_that_is_here_for_another_comes_with_it(full: Door, kim: Door) -> None:
    """The same evidence for another candidate is a binding of its own."""
    full.take("a.jsonl", [passing(candidate_id="cand-a")])
    kim.take("b.jsonl", [passing(candidate_id="cand-b")])
    noted(kim, "fine", who="kim")
    noted(kim, "too", who="kim", trace=f"{SUITE}/cand-b/damaged-221/1", seq=1)
    said = full.ok("merge", kim.store)
    assert "notes: 2 added, 0 already there" in said.out
    assert sorted(row[4] for row in told(full)) == ["fine", "too"]
    full.healthy()
