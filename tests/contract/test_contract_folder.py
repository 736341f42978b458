import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from contract_examples import SHIPPED, candidate, episode, files, packed, suite, write

from reviewer.suite.errors import ContractError
from reviewer.suite.folder import (
    SuiteBroken,
    locked_files,
    read_bytes,
    read_candidates,
    read_suite,
    suite_problems,
    suite_state,
)
from reviewer.suite.freeze import diff_suite, freeze, freeze_as, write_lock
from reviewer.suite.values import load_trusted


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = write(tmp_path / "small-v1", files())
    write(made, {"candidates/agent-v1.json": packed(candidate()), "traces/t.jsonl": b"{}\n"})
    return made


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def edit(folder: Path, old: bytes = b'"max_steps": 6', new: bytes = b'"max_steps": 9') -> None:
    path = folder / "episodes" / "e-1.json"
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


def test_freezing_makes_a_lock_that_holds(folder: Path) -> None:
    assert suite_state(folder).state == "draft"
    digest = freeze(folder)
    state = suite_state(folder)
    assert (state.state, state.digest, state.edits) == ("frozen", digest, ())
    assert digest == hashlib.sha256((folder / "suite.lock").read_bytes()).hexdigest()
    loaded = read_suite(folder)
    assert loaded.suite.digest == digest
    assert loaded.problems == ()
    assert load_trusted(state.files) == loaded.suite
    assert load_trusted(locked_files(folder)) == loaded.suite


def test_the_sums_are_good_for_sha256sum(folder: Path) -> None:
    freeze(folder)
    tool = shutil.which("sha256sum")
    if tool is None:
        pytest.skip("no sha256sum here")
    command = [tool, "-c", "suite.sha256"]
    assert subprocess.run(command, cwd=folder, capture_output=True).returncode == 0
    edit(folder)
    result = subprocess.run(command, cwd=folder, capture_output=True)
    assert result.returncode == 1
    assert b"episodes/e-1.json: FAILED" in result.stdout


def test_an_unfrozen_suite_is_read_with_a_remark(folder: Path) -> None:
    loaded = read_suite(folder)
    assert loaded.suite.digest == ""
    assert "not frozen" in str(loaded.problems[0])


def test_an_edited_suite_is_refused_with_old_and_new_digest(folder: Path) -> None:
    freeze(folder)
    before = (folder / "episodes/e-1.json").read_bytes()
    edit(folder)
    after = (folder / "episodes/e-1.json").read_bytes()
    assert suite_state(folder).state == "broken"
    with pytest.raises(SuiteBroken) as caught:
        read_suite(folder)
    assert [e.path for e in caught.value.edits] == ["episodes/e-1.json"]
    assert hashlib.sha256(before).hexdigest() in str(caught.value)
    assert hashlib.sha256(after).hexdigest() in str(caught.value)
    assert "small-v1/episodes/e-1.json" in str(caught.value)


def test_the_lock_is_asked_before_the_content(folder: Path) -> None:
    freeze(folder)
    (folder / "episodes/e-1.json").write_bytes(b"{ not json")
    with pytest.raises(SuiteBroken):
        read_suite(folder)
    found = [str(p) for p in suite_problems(folder)]
    assert any("changed since it was frozen" in f for f in found)
    assert any("not JSON" in f for f in found)


def test_files_added_and_taken_away_break_the_suite(folder: Path) -> None:
    freeze(folder)
    (folder / "notes.md").write_bytes(b"x")
    (folder / "episodes/e-1.json").unlink()
    kinds = {e.path: e.kind for e in suite_state(folder).edits}
    assert kinds == {"notes.md": "unlisted", "episodes/e-1.json": "missing"}


def test_what_stands_beside_the_lock_may_change(folder: Path) -> None:
    freeze(folder)
    write(folder, {"candidates/b.json": b"{}", "traces/x/y.jsonl": b"", ".DS_Store": b"x"})
    write(folder, {"episodes/.swp": b"x"})
    assert suite_state(folder).state == "frozen"


def test_a_lock_taken_away_does_not_make_the_suite_new(folder: Path) -> None:
    freeze(folder)
    (folder / "suite.lock").unlink()
    edit(folder)
    state = suite_state(folder)
    assert (state.state, [e.path for e in state.edits]) == ("broken", ["suite.lock"])
    for act in (freeze, write_lock):
        with pytest.raises(ContractError, match="already frozen"):
            act(folder)


def test_a_lock_written_anew_over_an_edit_is_noticed(folder: Path) -> None:
    freeze(folder)
    kept = (folder / ".frozen/suite.lock").read_bytes()
    edit(folder)
    shutil.rmtree(folder / ".frozen")
    (folder / "suite.lock").unlink()
    freeze(folder)
    (folder / ".frozen/suite.lock").write_bytes(kept)
    assert [e.path for e in suite_state(folder).edits] == ["suite.lock"]


def test_a_damaged_lock_is_named(folder: Path) -> None:
    freeze(folder)
    (folder / "suite.lock").write_bytes(b"{")
    assert [e.path for e in suite_state(folder).edits] == ["suite.lock"]
    (folder / ".frozen/suite.lock").unlink()
    with pytest.raises(ContractError, match=r"suite\.lock"):
        suite_state(folder)


def test_edited_sums_are_named(folder: Path) -> None:
    freeze(folder)
    sums = folder / "suite.sha256"
    sums.write_bytes(b"0" + sums.read_bytes()[1:])
    assert [e.path for e in suite_state(folder).edits] == ["suite.sha256"]


def test_a_lock_of_another_suite_is_refused(folder: Path) -> None:
    freeze(folder)
    lock = (folder / "suite.lock").read_bytes().replace(b"small-v1", b"small-v0")
    for place in ("suite.lock", ".frozen/suite.lock"):
        (folder / place).write_bytes(lock)
    with pytest.raises(ContractError, match="the lock is that of `small-v0`"):
        read_suite(folder)


def test_links_and_odd_names_are_refused(folder: Path) -> None:
    (folder / "episodes/link.json").symlink_to(folder / "episodes/e-1.json")
    (folder / "linked").symlink_to(folder / "traces")
    (folder / "a\nb").write_bytes(b"")
    os.mkfifo(folder / "pipe")
    with pytest.raises(ContractError) as caught:
        locked_files(folder)
    reasons = " ".join(str(p) for p in caught.value.problems)
    assert len(caught.value.problems) == 4
    assert reasons.count("symbolic link") == 2
    assert "control character" in reasons
    assert "not a regular file" in reasons


def test_names_that_are_no_text_are_refused(folder: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff.json")).write_bytes(b"")
    except OSError:
        pytest.skip("this file system stores text only")
    with pytest.raises(ContractError, match="control character"):
        locked_files(folder)


def test_names_that_differ_in_case_only_cannot_be_frozen(folder: Path) -> None:
    write(folder, {"notes.md": b"1", "Notes.md": b"2"})
    if len(list(folder.glob("*otes.md"))) < 2:
        pytest.skip("this file system ignores case")
    with pytest.raises(ContractError, match="where case is ignored"):
        freeze(folder)
    assert not (folder / "suite.lock").exists()


def test_reading_never_follows_a_link_nor_waits_for_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "l").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "p")
    for name, word in (
        ("l", "symbolic link"),
        ("p", "not a regular file"),
        ("gone", "No such file"),
        (".", "not a regular file"),
    ):
        with pytest.raises(ContractError, match=word):
            read_bytes(tmp_path / name)
    assert read_bytes(tmp_path / "a", 5) == b"12345"
    with pytest.raises(ContractError, match="larger than 4 bytes"):
        read_bytes(tmp_path / "a", 4)


def test_no_folder_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="is not a folder"):
        suite_state(tmp_path / "none")


def test_an_invalid_suite_is_not_frozen(folder: Path) -> None:
    edit(folder, b'"max_steps"', b'"maxSteps"')
    with pytest.raises(ContractError, match="max_steps"):
        freeze(folder)
    with pytest.raises(ContractError, match=r"small-v1/episodes/e-1\.json: "):
        read_suite(folder)
    assert not (folder / "suite.lock").exists()
    assert not (folder / ".frozen").exists()


def test_a_suite_is_frozen_once_and_in_the_folder_of_its_name(folder: Path) -> None:
    moved = folder.rename(folder.with_name("other"))
    with pytest.raises(ContractError, match="is in a folder named `other`"):
        freeze(moved)
    moved.rename(folder)
    freeze(folder)
    with pytest.raises(ContractError, match="already frozen; nothing to do"):
        freeze(folder)
    edit(folder)
    with pytest.raises(ContractError, match="freeze it under a new id"):
        freeze(folder)


def test_freezing_leaves_no_drafts(folder: Path) -> None:
    before = set(snapshot(folder))
    freeze(folder)
    made = set(snapshot(folder)) - before
    assert {p for p in made if not p.startswith(".frozen/")} == {"suite.lock", "suite.sha256"}
    names = {p.removeprefix(".frozen/") for p in made if p.startswith(".frozen/")}
    assert names == {"suite.lock"} | {
        hashlib.sha256(data).hexdigest() for data in locked_files(folder).values()
    }


def test_an_edit_becomes_a_suite_of_its_own_and_the_frozen_one_comes_back(folder: Path) -> None:
    old_digest = freeze(folder)
    frozen = snapshot(folder)
    edit(folder)
    write(folder, {"notes.md": b"why", "episodes/e-2.json": packed(episode("e-2"))})
    (folder / "suite.lock").unlink()
    made = freeze_as(folder, "small-v2")
    assert snapshot(folder) == frozen
    assert suite_state(folder).digest == old_digest
    new = read_suite(made.folder).suite
    assert made.folder == folder.parent / "small-v2"
    assert (new.suite_id, new.digest) == ("small-v2", made.digest)
    assert [e.budget.max_steps for e in new.episodes] == [9, 6]
    assert (made.folder / "notes.md").read_bytes() == b"why"
    assert (made.folder / "candidates/agent-v1.json").exists()
    assert not (made.folder / "traces").exists()
    assert made.candidates == ("agent-v1.json",)
    assert suite_state(made.folder).state == "frozen"
    assert [p.name for p in folder.parent.iterdir() if p.name.startswith(".")] == []
    # The new one can itself be edited and put back.
    edit(made.folder, b'"max_steps": 9', b'"max_steps": 8')
    assert freeze_as(made.folder, "small-v3").restored == ("episodes/e-1.json",)


def test_the_new_suite_differs_from_the_edited_one_by_its_id_and_predecessor(folder: Path) -> None:
    head = b'{\n  "schema":"reviewer/suite@1",\n\n  "suite_id" : "small-v1", "title": "suite_id"}'
    (folder / "suite.json").write_bytes(head)
    first = freeze(folder)
    made = freeze_as(folder, "small-v2")
    told = f'"small-v2",\n\n  "predecessor": "{first}"'.encode()
    second = head.replace(b'"small-v1"', told)
    assert (made.folder / "suite.json").read_bytes() == second
    assert read_suite(made.folder).suite.predecessor == first
    # The next one names the one before it, wherever the member is.
    third = freeze_as(made.folder, "small-v3")
    wanted = second.replace(b"small-v2", b"small-v3").replace(first.encode(), made.digest.encode())
    assert (third.folder / "suite.json").read_bytes() == wanted
    assert read_suite(folder).suite.predecessor is msgspec.UNSET


def test_a_predecessor_is_a_digest(folder: Path) -> None:
    (folder / "suite.json").write_bytes(packed({**suite(), "predecessor": "small-v0"}))
    with pytest.raises(ContractError, match="predecessor"):
        freeze(folder)
    (folder / "suite.json").write_bytes(packed({**suite(), "predecessor": None}))
    freeze(folder)
    assert read_suite(folder).suite.predecessor is msgspec.UNSET


def test_an_id_inside_another_member_is_left_alone(folder: Path) -> None:
    head = suite(source={"suite_id": "elsewhere"})
    ordered = {"source": head["source"], **head}
    (folder / "suite.json").write_bytes(packed(ordered))
    freeze(folder)
    new = read_suite(freeze_as(folder, "small-v2").folder).suite
    assert new.source == {"suite_id": "elsewhere"}


def test_without_a_valid_copy_nothing_is_claimed_and_nothing_written(folder: Path) -> None:
    freeze(folder)
    sha = hashlib.sha256((folder / "episodes/e-1.json").read_bytes()).hexdigest()
    edit(folder)
    copy = folder / ".frozen" / sha
    for damage in (lambda: copy.write_bytes(copy.read_bytes()[:-3] + b"xyz"), copy.unlink):
        damage()
        before = snapshot(folder)
        with pytest.raises(ContractError, match="cannot be put back") as caught:
            freeze_as(folder, "small-v2")
        assert sha in str(caught.value)
        assert snapshot(folder) == before
        assert not (folder.parent / "small-v2").exists()
    assert "cannot be shown" in diff_suite(folder)


def test_a_copy_of_other_bytes_is_never_put_back(folder: Path) -> None:
    freeze(folder)
    lock = locked_files(folder)
    names = [hashlib.sha256(data).hexdigest() for data in lock.values()]
    first, second = (folder / ".frozen" / name for name in names)
    first.write_bytes(second.read_bytes())
    edit(folder)
    with pytest.raises(ContractError, match="cannot be put back"):
        freeze_as(folder, "small-v2")


def test_a_new_id_must_be_free_and_an_id(folder: Path) -> None:
    freeze(folder)
    edit(folder)
    (folder.parent / "taken").mkdir()
    before = snapshot(folder)
    for new_id, word in (
        ("taken", "exists already"),
        ("small-v1", "exists already"),
        ("../x", "separator"),
        ("", "empty"),
        (".x", "dot"),
    ):
        with pytest.raises(ContractError, match=word):
            freeze_as(folder, new_id)
    assert snapshot(folder) == before


def test_an_edit_that_is_no_suite_is_not_frozen_as_one(folder: Path) -> None:
    freeze(folder)
    edit(folder, b'"max_steps": 6', b'"max_steps": -6')
    before = snapshot(folder)
    with pytest.raises(ContractError, match="greater than or equal to 0"):
        freeze_as(folder, "small-v2")
    assert snapshot(folder) == before
    assert not (folder.parent / "small-v2").exists()


def test_an_unfrozen_suite_has_no_version_to_put_back(folder: Path) -> None:
    with pytest.raises(ContractError, match="not frozen"):
        freeze_as(folder, "small-v2")


def test_the_diff_shows_lines_and_no_control_characters(folder: Path) -> None:
    freeze(folder)
    assert diff_suite(folder) == ""
    edit(folder, b'"max_steps": 6', b'"max_steps": 9, "title\x1b[31m": "\xff\r"')
    (folder / "notes.md").write_bytes(b"new\n")
    (folder / "suite.sha256").write_bytes(b"")
    text = diff_suite(folder)
    assert '-  "max_steps": 6' in text
    assert '+  "max_steps": 9, "title\\u001b[31m": "\\xff\\u000d"' in text
    assert "--- frozen/episodes/e-1.json" in text
    assert "+new" in text
    assert "+++ now/suite.sha256" in text
    assert all(c.isprintable() or c == "\n" for c in text)
    (folder / "episodes/e-1.json").unlink()
    assert "+++ now/episodes/e-1.json" in diff_suite(folder)


def test_a_link_in_place_of_the_copies_is_refused(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / ".frozen").symlink_to(outside)
    with pytest.raises(ContractError, match="symbolic link"):
        freeze(folder)
    assert list(outside.iterdir()) == []
    assert not (folder / "suite.lock").exists()


def test_candidates_are_read_and_bad_ones_named(folder: Path) -> None:
    write(folder, {"candidates/bad.json": b"{", "candidates/.x.json": b""})
    candidates, found = read_candidates(folder)
    assert list(candidates) == ["agent-v1"]
    assert [p.file for p in found] == ["small-v1/candidates/bad.json"]


def test_asking_for_the_state_loads_no_heavy_module() -> None:
    code = (
        "import sys; from pathlib import Path; from reviewer.suite.folder import suite_state;"
        "assert suite_state(Path(sys.argv[1])).state == 'frozen';"
        "print(sorted({'pydantic', 'msgspec', 'numpy', 'textual', 'sqlite3'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(SHIPPED)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_the_trusted_road_needs_no_pydantic() -> None:
    code = (
        "import sys; from pathlib import Path; from reviewer.suite.folder import suite_state;"
        "from reviewer.suite.values import load_trusted;"
        "from reviewer.suite.candidate import trusted_candidate;"
        "load_trusted(suite_state(Path(sys.argv[1])).files);"
        "trusted_candidate(next(Path(sys.argv[1]).glob('candidates/*.json')).read_bytes());"
        "print('pydantic' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(SHIPPED)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"
