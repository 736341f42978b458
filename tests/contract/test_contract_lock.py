import hashlib
import json
import tempfile
from pathlib import Path

import pytest
import rfc8785
from contract_examples import files
from hypothesis import given
from hypothesis import strategies as st

from reviewer.suite.errors import ContractError
from reviewer.suite.lock import (
    LOCK_FILE,
    check_lock,
    make_lock,
    read_lock,
    sha256sum_text,
    suite_digest,
)
from reviewer.suite.on_demand import LockedFiles
from reviewer.suite.strict_json import canonical_bytes, same_digest, start_state_digest

FILES = files()
LOCK = make_lock("small-v1", FILES)


def test_the_lock_is_what_the_design_says() -> None:
    wanted = {
        "schema": "reviewer/lock@1",
        "suite_id": "small-v1",
        "files": [
            {"path": p, "sha256": hashlib.sha256(FILES[p]).hexdigest(), "size": len(FILES[p])}
            for p in sorted(FILES)
        ],
    }
    assert rfc8785.dumps(wanted) == LOCK
    assert suite_digest(LOCK) == hashlib.sha256(LOCK).hexdigest()
    assert check_lock(LOCK, FILES) == []


def test_paths_are_sorted_by_their_utf8_bytes() -> None:
    # UTF-16 order would put the astral letter before the one from U+FF00.
    lock = make_lock("s", {"\uff21.json": b"", "\U00010400.json": b"", "Z": b"", "a": b""})
    paths = [entry.path for entry in read_lock(lock).files]
    assert paths == ["Z", "a", "\uff21.json", "\U00010400.json"]


@given(st.data())
def test_any_single_byte_edit_of_any_file_is_named(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(FILES)))
    before = FILES[path]
    at = data.draw(st.integers(0, len(before) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda b: b != before[at]))
    kind = data.draw(st.sampled_from(["replace", "delete", "insert"]))
    kept = {"replace": 1, "delete": 1, "insert": 0}[kind]
    put = b"" if kind == "delete" else bytes([new])
    after = before[:at] + put + before[at + kept :]
    problems = check_lock(LOCK, {**FILES, path: after})
    assert [(p.path, p.kind) for p in problems] == [(path, "changed")]
    assert problems[0].locked_sha256 == hashlib.sha256(before).hexdigest()
    assert problems[0].actual_sha256 == hashlib.sha256(after).hexdigest()
    assert (problems[0].locked_size, problems[0].actual_size) == (len(before), len(after))


@given(st.data())
def test_any_single_byte_edit_of_the_lock_is_noticed(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(LOCK) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda b: b != LOCK[at]))
    edited = LOCK[:at] + bytes([new]) + LOCK[at + 1 :]
    assert suite_digest(edited) != suite_digest(LOCK)
    try:
        problems = check_lock(edited, FILES)
    except ContractError:
        return
    assert problems or read_lock(edited).suite_id != "small-v1"


def test_missing_and_unlisted_files_are_named() -> None:
    present = {**FILES, "notes.md": b"hello"}
    del present["episodes/e-1.json"]
    problems = {p.path: p for p in check_lock(LOCK, present)}
    assert problems["episodes/e-1.json"].kind == "missing"
    assert problems["episodes/e-1.json"].actual_sha256 is None
    assert problems["notes.md"].kind == "unlisted"
    assert problems["notes.md"].locked_sha256 is None
    assert "frozen as sha256" in str(problems["episodes/e-1.json"])
    assert "not in the lock" in str(problems["notes.md"])


@pytest.mark.parametrize(
    ("paths", "word"),
    [
        (["/etc/passwd"], "absolute"),
        (["../suite.json"], "`..` part"),
        (["episodes/../../x"], "`..` part"),
        (["a//b"], "empty"),
        (["a\\b"], "backslash"),
        (["a\nb"], "control character"),
        (["a\u202eb"], "control character"),
        (["cafe\u0301.json"], "NFC"),
        (["A.json", "a.json"], "case is ignored"),
        (["stra\u00dfe", "STRASSE"], "case is ignored"),
        ([""], "empty"),
    ],
)
def test_names_that_may_not_be_locked(paths: list[str], word: str) -> None:
    with pytest.raises(ContractError, match=word):
        make_lock("s", dict.fromkeys(paths, b""))
    entries = [{"path": p, "sha256": "0" * 64, "size": 0} for p in sorted(paths)]
    forged = rfc8785.dumps({"schema": "reviewer/lock@1", "suite_id": "s", "files": entries})
    with pytest.raises(ContractError, match=word):
        read_lock(forged)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "reviewer/lock@2"},
        {"suite_id": "a/b"},
        {"suite_id": 1},
        {"files": {}},
        {"files": [1]},
        {"files": [{"path": "a", "sha256": "0" * 64}]},
        {"files": [{"path": 1, "sha256": "0" * 64, "size": 0}]},
        {"files": [{"path": "a", "sha256": "F" * 64, "size": 0}]},
        {"files": [{"path": "a", "sha256": "0" * 64, "size": -1}]},
        {"files": [{"path": "a", "sha256": "0" * 64, "size": True}]},
        {"files": [{"path": p, "sha256": "0" * 64, "size": 0} for p in "ba"]},
        {"files": [{"path": "a", "sha256": "0" * 64, "size": 0}] * 2},
        {"extra": 1},
    ],
)
def test_a_lock_that_we_would_not_have_written_is_refused(change: dict[str, object]) -> None:
    whole = {"schema": "reviewer/lock@1", "suite_id": "s", "files": [], **change}
    with pytest.raises(ContractError):
        read_lock(rfc8785.dumps(whole))


def test_a_lock_in_another_layout_is_refused() -> None:
    with pytest.raises(ContractError, match="canonical"):
        read_lock(json.dumps(json.loads(LOCK), indent=1).encode())


def test_sums_are_those_of_sha256sum() -> None:
    lines = sha256sum_text(read_lock(LOCK)).splitlines()
    assert lines == [f"{hashlib.sha256(FILES[p]).hexdigest()}  {p}" for p in sorted(FILES)]


def test_start_state_digest_is_that_of_the_canonical_bytes() -> None:
    digest = start_state_digest({"b": 1.0, "a": "é"})
    assert digest == "sha256:" + hashlib.sha256('{"a":"é","b":1}'.encode()).hexdigest()
    assert digest == start_state_digest({"a": "é", "b": 1})


def test_digests_compare_with_or_without_their_prefix() -> None:
    assert same_digest("sha256:" + "ab" * 32, "AB" * 32)
    assert not same_digest("ab" * 32, "ac" * 32)
    assert not same_digest("ä", "b")


@pytest.mark.parametrize(
    "value", [float("nan"), 2**53, "\ud800", {"\ud800": 1}, {1: 2}, {1, 2}, [float("inf")]]
)
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(ContractError, match="no canonical form"):
        canonical_bytes(value)


def test_endless_nesting_has_no_canonical_form() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ContractError, match="nested too deep"):
        canonical_bytes(loop)


ODD = [
    '{"path":"',
    '","sha256":"',
    '],"schema":"',
    "a}",
    "a",
    "é",
    "ａ",
    "\U00010400",
    "episodes/x.json",
]


@given(st.sets(st.text('ab{}",:]é\U00010400') | st.sampled_from(ODD), min_size=1), st.text())
def test_an_entry_is_found_in_the_bytes_of_a_lock(names: set[str], other: str) -> None:
    held = {f"x{name.casefold()}y": name.encode() for name in names}
    with tempfile.TemporaryDirectory() as folder:
        lock = make_lock("s", held)
        (Path(folder) / LOCK_FILE).write_bytes(lock)
        for path in (*held, other, f"x{other}", "", "x", "zz"):
            files = LockedFiles(Path(folder), suite_digest(lock))
            assert (path in files) == (path in held), path
            if path in held:
                wanted = hashlib.sha256(held[path]).hexdigest(), len(held[path])
                assert files._found(path) == files._whole()[path] == wanted
