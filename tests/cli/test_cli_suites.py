"""A frozen suite stays what it was: edits are named, refused, and kept only as a new version."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from doors import SUITE, V7, V8, Door

from reviewer.suite.lock import make_lock, read_lock, sha256sum_text

EPISODE = "episodes/attack-014.json"


def edit(door: Door, name: str = EPISODE) -> tuple[bytes, bytes]:
    """Allow in the contract what it forbids; returns the bytes before and after."""
    path = door.suite / name
    before = path.read_bytes()
    after = before.replace(b'"issue_refund"\n    ]', b'"deny_accessibility_path"\n    ]', 1)
    assert after != before
    path.write_bytes(after)
    return before, after


def relock(door: Door) -> None:
    """Rewrite every trace of the freeze, as someone with the folder in hand could."""
    lock = door.suite / "suite.lock"
    files = {e.path: (door.suite / e.path).read_bytes() for e in read_lock(lock.read_bytes()).files}
    new = make_lock(SUITE, files)
    lock.write_bytes(new)
    (door.suite / ".frozen" / "suite.lock").write_bytes(new)
    (door.suite / "suite.sha256").write_text(sha256sum_text(read_lock(new)))
    for data in files.values():
        (door.suite / ".frozen" / hashlib.sha256(data).hexdigest()).write_bytes(b"")


LATER = (
    ("import", "traces.jsonl"),
    ("import", "traces.jsonl", "--suite", SUITE),
    ("--export-report", "out", "--suite", SUITE, "--candidate", V8),
    ("scorecard", "--suite", SUITE, "--candidate", V8),
    ("score",),
    ("score", "--suite", SUITE),
    ("sign", "--suite", SUITE, "--candidate", V8, "--key", "nobody"),
    ("suite", "show", SUITE),
)


def test_check_is_content_with_the_shipped_suite(door: Door) -> None:
    said = door.ok("suite", "check", SUITE)
    assert "frozen" in said.out
    sums = subprocess.run(
        ["sha256sum", "-c", "suite.sha256"], cwd=door.suite, capture_output=True, text=True
    )
    assert sums.returncode == 0, sums


FAULTY: dict[str, tuple[bytes, bytes, str]] = {
    "unknown key": (b'"model":', b'"modle":', "unknown key `modle` (did you mean `model`?)"),
    "other id": (b'"candidate_id": "', b'"candidate_id": "x-', "$.candidate_id: `x-"),
    "member twice": (b'"model":', b'"model": "m",\n  "model":', "$.model: member `model` twice"),
    "bad digest": (b'"sha256": "', b'"sha256": "z', "sha256: "),
    "no JSON": (b"{", b"[", "not JSON"),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_check_names_what_is_wrong_with_a_candidate(door: Door, fault: str) -> None:
    old, new, words = FAULTY[fault]
    path = door.suite / "candidates" / f"{V8}.json"
    before = path.read_bytes()
    assert old in before
    path.write_bytes(before.replace(old, new, 1))
    said = door.run("suite", "check", SUITE)
    assert said.code == 20, said
    assert words in said.out
    assert all(f"{SUITE}/candidates/{V8}.json: $" in line for line in said.out.splitlines())
    assert "1 problem" in said.err
    path.write_bytes(before)
    door.ok("suite", "check", SUITE)


def test_check_names_an_edited_file_with_both_digests(door: Door) -> None:
    before, after = edit(door)
    said = door.run("suite", "check", SUITE)
    assert said.code == 20
    line = next(line for line in said.out.splitlines() if EPISODE in line)
    assert hashlib.sha256(before).hexdigest() in line
    assert hashlib.sha256(after).hexdigest() in line


@pytest.mark.parametrize("command", LATER, ids=" ".join)
def test_every_later_command_on_an_edited_suite_is_refused(
    full: Door, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(full.root)
    full.file("traces.jsonl", (full.suite / "traces" / f"{V8}.jsonl").read_bytes())
    edit(full)
    said = full.run(*command)
    assert said.code == 20, said
    assert EPISODE in said.err
    assert not (full.root / "out").exists()


def test_an_edited_suite_can_still_be_looked_at(full: Door) -> None:
    edit(full)
    assert "deny_accessibility_path" in full.ok("suite", "diff", SUITE).out
    listed = json.loads(full.ok("suite", "list", "--json").out)
    assert [row["state"] for row in listed] == ["broken"]


def test_freezing_an_edited_suite_again_is_refused(full: Door) -> None:
    edit(full)
    said = full.run("suite", "freeze", SUITE)
    assert said.code == 20
    assert "new id" in said.err


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_freeze_as_writes_the_new_version_and_restores_the_old_byte_for_byte(full: Door) -> None:
    frozen = contents(full.suite)
    _, after = edit(full)
    full.ok("suite", "freeze", SUITE, "--as", "refund-eval-v6")
    assert contents(full.suite) == frozen
    new = full.root / "suites" / "refund-eval-v6"
    assert (new / EPISODE).read_bytes() == after
    head = json.loads((new / "suite.json").read_bytes())
    digest = hashlib.sha256((full.suite / "suite.lock").read_bytes()).hexdigest()
    assert (head["suite_id"], head["predecessor"]) == ("refund-eval-v6", digest)
    assert f"predecessor {digest}\n" in full.ok("suite", "show", "refund-eval-v6").out
    full.ok("suite", "check")
    assert (
        full.run("--export-report", full.root / "out", "--suite", SUITE, "--candidate", V8).code
        == 0
    )


def test_a_new_file_and_a_removed_one_break_the_suite(full: Door) -> None:
    (full.suite / "episodes" / "extra.json").write_text("{}")
    assert "extra.json" in full.run("suite", "check", SUITE).out
    (full.suite / "episodes" / "extra.json").unlink()
    (full.suite / EPISODE).unlink()
    said = full.run("suite", "show", SUITE)
    assert said.code == 20
    assert EPISODE in said.err


@pytest.mark.parametrize("command", LATER, ids=" ".join)
def test_a_lock_rewritten_after_traces_exist_is_refused(
    full: Door, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(full.root)
    full.file("traces.jsonl", (full.suite / "traces" / f"{V8}.jsonl").read_bytes())
    known = full.one("SELECT digest FROM suite")
    edit(full)
    relock(full)
    said = full.run(*command)
    assert said.code == 20, said
    assert known in said.err


def test_check_compares_the_lock_with_what_traces_were_judged_under(full: Door) -> None:
    known = full.one("SELECT digest FROM suite")
    edit(full)
    relock(full)
    said = full.run("suite", "check", SUITE)
    assert said.code == 20, said
    assert known in said.both


def test_an_unfrozen_suite_judges_nothing_until_it_is_frozen(door: Door) -> None:
    for path in (door.suite / "suite.lock", door.suite / ".frozen" / "suite.lock"):
        path.unlink()
    traces = door.suite / "traces"
    assert door.run("import", traces).code == 20
    assert door.run("suite", "diff", SUITE).code == 20
    door.ok("suite", "freeze", SUITE)
    door.ok("import", traces)
    assert (
        door.run("--export-report", door.root / "out", "--suite", SUITE, "--candidate", V7).code
        == 10
    )


def test_a_broken_suite_beside_a_good_one_does_not_stop_the_good_one(full: Door) -> None:
    edit(full)
    full.ok("suite", "freeze", SUITE, "--as", "refund-eval-v6")
    other = full.root / "suites" / "refund-eval-v6" / "suite.json"
    other.write_bytes(other.read_bytes() + b" ")
    said = full.run("scorecard", "--suite", SUITE, "--candidate", V8)
    assert said.code == 0, said
    assert full.run("scorecard", "--suite", "refund-eval-v6", "--candidate", V8).code == 20


def test_a_suite_in_a_folder_of_another_name_is_named_and_costs_no_other(full: Door) -> None:
    other = full.root / "suites" / "renamed"
    shutil.copytree(full.suite, other)
    told = f"renamed/suite.json: $.suite_id: `{SUITE}` is in a folder named `renamed`"
    for command in (("suite", "check"), ("suite", "check", "renamed"), ("run", "renamed", V8)):
        said = full.run(*command)
        assert said.code == 20
        assert told in said.out + said.err
    rows = {
        row["suite_id"]: row["state"] for row in json.loads(full.ok("suite", "list", "--json").out)
    }
    assert (rows["renamed"], rows[SUITE]) == ("broken", "frozen")
    for name in ("suite.lock", "suite.sha256"):
        (other / name).unlink()
    shutil.rmtree(other / ".frozen")
    said = full.run("suite", "check", "renamed")
    assert (said.code, "valid draft" in said.err) == (20, False)
    assert told in said.out


@pytest.mark.parametrize("name", ["..", "", "a/b", "nosuch", "a\\b"])
def test_a_name_that_is_no_suite_is_said(door: Door, name: str) -> None:
    for act in ("show", "freeze", "diff"):
        said = door.run("suite", act, name)
        assert said.code in (2, 20), (act, said)
        assert "internal" not in said.err


def test_a_suite_folder_that_is_a_link_to_elsewhere_holds_no_links_inside(full: Door) -> None:
    target = full.root / "elsewhere.json"
    (full.suite / EPISODE).rename(target)
    os.symlink(target, full.suite / EPISODE)
    said = full.run("suite", "check", SUITE)
    assert said.code == 20
    assert "symbolic link" in said.out
