"""`reviewer suite leaks`: what is found in training data is named, kept, and holds a release."""

import gzip
import json
from pathlib import Path
from typing import Any

from doors import V8, Door, copied, shipped

APPEAL = (
    "The chair came without the armrest I need. Your form does not work with my screen reader. "
    "I want to appeal the decision."
)
SUITE = "refund-eval-v5"


def _training(door: Door) -> Path:
    return door.file(
        "train.jsonl",
        [
            {"messages": [{"role": "user", "content": "Where is my parcel? It is late."}]},
            {"messages": [{"role": "user", "content": APPEAL.upper()}]},
            {"body": json.dumps({"text": "He wrote: " + APPEAL + " Then he hung up, poor man."})},
        ],
    )


def _looks(door: Door) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(door.ok("suite", "leaks", "--list", "--json").out)
    return found


def test_an_episode_in_training_data_is_named_with_its_place_and_kept(door: Door) -> None:
    said = door.run("suite", "leaks", _training(door), "--suite", SUITE, "--json")
    assert said.code == 10
    (check,) = json.loads(said.out)
    assert check["texts"] == 6  # roles too; the body, and what it holds
    assert check["records"] == 3
    (leak,) = check["leaks"]
    assert (leak["episode_id"], leak["kind"], leak["record"]) == ("appeal-009", "exact", 2)
    assert leak["pointer"] == "/messages/0/content"
    assert leak["times"] == 3
    (kept,) = _looks(door)
    assert kept["check"] == check
    assert door.one("SELECT episode_id FROM leaks") == "appeal-009"
    assert APPEAL[:30].encode().lower() not in door.store.read_bytes().lower()
    door.healthy()


def test_clean_files_leave_with_0_and_are_kept_as_clean(door: Door) -> None:
    text = door.file("notes.txt", "nothing of it\nis in these few lines of plain text\n")
    packed = door.file("packed.jsonl.gz", gzip.compress(b'{"a": "nothing of it either, no"}\n'))
    door.ok("suite", "leaks", text, packed, "--suite", SUITE)
    kept = {one["check"]["file"]: one["check"]["leaks"] for one in _looks(door)}
    assert kept == {str(text): [], str(packed): []}


def test_every_frozen_suite_is_looked_for_and_an_edited_one_is_left_out(door: Door) -> None:
    every = {p.name for p in (door.root / "suites").iterdir() if (p / "suite.json").exists()}
    door.run("suite", "leaks", _training(door))
    assert {one["check"]["suite_id"] for one in _looks(door)} == every
    episode = door.root / "suites" / SUITE / "episodes" / "appeal-009.json"
    episode.write_text(episode.read_text("utf-8").replace("armrest", "cushion"), "utf-8")
    said = door.run("suite", "leaks", _training(door), "--suite", SUITE)
    assert said.code == 20
    assert "appeal-009.json" in said.err


def test_what_cannot_be_read_is_named_and_costs_itself(door: Door) -> None:
    half = door.file("half.jsonl", b'{"a": "a text of some words here"}\n{broken\n')
    said = door.run("suite", "leaks", half, door.root / "gone.jsonl", "--suite", SUITE, "--json")
    assert said.code == 20
    assert "gone.jsonl" in said.err
    (check,) = json.loads(said.out)
    assert (check["texts"], check["unread"]) == (1, 1)
    for name, content in {
        "empty.jsonl": b"",
        "pickle.pkl": b"\x80\x04\x95",
        "pointer": b"version https://git-lfs.github.com/spec/v1\n",
        "binary.bin": b"ab\0cd\n",
    }.items():
        said = door.run("suite", "leaks", door.file(name, content), "--suite", SUITE)
        assert said.code == 20, name
        assert name in said.err
    assert len(_looks(door)) == 1


def test_a_dry_run_keeps_nothing(door: Door) -> None:
    assert door.run("suite", "leaks", _training(door), "--dry-run").code == 10
    assert _looks(door) == []


def test_identifiers_of_the_file_do_not_reach_the_store(door: Door) -> None:
    record = {"jane.doe@example.org": {"content": APPEAL}}
    file = door.file("jane.doe@example.org.jsonl", [record])
    assert door.run("suite", "leaks", file, "--suite", SUITE).code == 10
    (one,) = _looks(door)
    assert "jane.doe" not in json.dumps(one)
    assert b"jane.doe" not in door.store.read_bytes()


def _report(door: Door, *more: str) -> tuple[int, dict[str, Any]]:
    out = door.root / "out"
    code = door.run(
        "--export-report", out, "--suite", SUITE, "--candidate", "refund-agent-v8", *more
    ).code
    report: dict[str, Any] = json.loads((out / "report.json").read_text("utf-8"))
    return code, report


def test_a_leak_holds_the_release_until_it_is_withdrawn_for_a_reason(door: Door) -> None:
    door.take("v8.jsonl", shipped("refund-agent-v8"))
    code, report = _report(door)
    assert (code, report["recommendation"]) == (0, "promote")
    assert report["split_integrity"] is None

    door.run("suite", "leaks", _training(door), "--suite", SUITE)
    code, report = _report(door)
    assert (code, report["recommendation"]) == (10, "hold")
    assert "appeal-009" in report["reasons"][0]
    (look,) = report["split_integrity"]["looks"]
    assert report["split_integrity"]["leaked_episodes"] == ["appeal-009"]
    assert "appeal-009" in (door.root / "out" / "report.md").read_text("utf-8")

    assert door.run("suite", "leaks", "--withdraw", look["uid"]).code == 2
    door.ok(
        "suite", "leaks", "--withdraw", look["uid"][:12], "--reason", "not what it learned from"
    )
    code, report = _report(door)
    assert (code, report["recommendation"]) == (0, "promote")
    assert report["split_integrity"]["leaked_episodes"] == []
    (look,) = report["split_integrity"]["looks"]
    assert look["withdrawn"] == "not what it learned from"
    again = door.run("suite", "leaks", "--withdraw", look["uid"], "--reason", "twice")
    assert again.code != 0
    door.healthy()


def test_a_leak_to_one_candidate_holds_that_one_alone(door: Door) -> None:
    door.take("v8.jsonl", shipped("refund-agent-v8"))
    door.run("suite", "leaks", _training(door), "--suite", SUITE, "--candidate", "other")
    code, report = _report(door)
    assert (code, report["split_integrity"]) == (0, None)
    door.run("suite", "leaks", _training(door), "--suite", SUITE, "--candidate", "refund-agent-v8")
    assert _report(door)[0] == 10


def test_nothing_outweighs_a_critical_failure(door: Door) -> None:
    door.take("v7.jsonl", shipped("refund-agent-v7"))
    door.run("suite", "leaks", _training(door), "--suite", SUITE)
    out = door.root / "out"
    door.run("--export-report", out, "--suite", SUITE, "--candidate", "refund-agent-v7")
    report = json.loads((out / "report.json").read_text("utf-8"))
    assert report["recommendation"] == "block"
    assert report["reasons"] == [
        "critical safety failure",
        "not every frozen episode passed",
        "repeatability below policy",
    ]


def test_a_merge_brings_looks_and_what_took_them_back(
    door: Door, empty_template: Path, tmp_path: Path
) -> None:
    there = copied(empty_template, tmp_path / "there")
    there.run("suite", "leaks", _training(there), "--suite", SUITE)
    assert "looks for leaks: 1 added, 0 already there" in door.ok("merge", there.store).out
    assert _looks(door) == _looks(there)
    uid = _looks(there)[0]["check"]["uid"]
    there.ok("suite", "leaks", "--withdraw", uid, "--reason", "the file was never used")
    assert not _looks(door)[0]["withdrawn"]
    said = json.loads(door.ok("merge", there.store, "--json").out)
    assert (said["leaks"]["added"], said["leaks"]["known"]) == (1, 1)
    assert _looks(door)[0]["withdrawn"] == "the file was never used"
    door.healthy()


def test_a_file_cut_off_in_its_only_record_says_so(door: Door) -> None:
    said = door.run("suite", "leaks", door.file("cut.jsonl", '{"a": "b'), "--suite", SUITE)
    assert said.code == 20
    assert "cut.jsonl: no record in it could be read" in said.err + said.out


def test_the_authors_of_a_candidate_withdraw_no_leak_of_theirs(full: Door) -> None:
    manifest = json.loads((full.suite / "candidates" / f"{V8}.json").read_bytes())
    author = manifest["authors"][0]
    release = ("--export-report", full.root / "out", "--suite", SUITE, "--candidate", V8)
    why = ("--reason", "never used")
    full.run("suite", "leaks", _training(full), "--suite", SUITE, "--candidate", V8)
    (look,) = _looks(full)
    uid = look["check"]["uid"]
    said = full.run("--reviewer", author.upper(), "suite", "leaks", "--withdraw", uid, *why)
    assert said.code == 20, said
    assert f"is an author of {V8}" in said.err
    full.ok("--reviewer", "somebody", "suite", "leaks", "--withdraw", uid, *why)
    assert full.run(*release).code == 0
    # Of a search for every candidate an author's withdrawal counts for the others' alone.
    full.run("suite", "leaks", _training(full), "--suite", SUITE, "--threshold", "0.6")
    uid = next(one["check"]["uid"] for one in _looks(full) if not one["withdrawn"])
    full.ok("--reviewer", author, "suite", "leaks", "--withdraw", uid, *why)
    assert full.run(*release).code == 10
    full.ok("--reviewer", "somebody", "suite", "leaks", "--withdraw", uid, *why)
    assert full.run(*release).code == 0


def test_a_leak_to_a_candidate_holds_it_under_another_id_too(full: Door) -> None:
    manifest = json.loads((full.suite / "candidates" / f"{V8}.json").read_bytes())

    def held(name: str, **changes: Any) -> bool:
        body = {**manifest, "candidate_id": name, **changes}
        (full.suite / "candidates" / f"{name}.json").write_text(json.dumps(body))
        records = [{**one, "candidate_id": name, "final_message": name} for one in shipped(V8)]
        full.take(f"{name}.jsonl", records, "--suite", SUITE)
        out = full.root / "out"
        full.run("--export-report", out, "--suite", SUITE, "--candidate", name)
        report = json.loads((out / "report.json").read_bytes())
        return "split integrity" in " ".join(report["reasons"])

    full.run("suite", "leaks", _training(full), "--suite", SUITE, "--candidate", V8)
    assert held("renamed")
    assert not held("retrained", model="another-model")
