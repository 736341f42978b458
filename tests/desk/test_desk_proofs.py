"""A frozen suite is read once, and read again as soon as anything of it was touched."""

import json
import os
import pickle
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from doors import SHIPPED, SUITE, V8, Door, Said

from reviewer.db import contracts
from reviewer.db.connection import reader
from reviewer.desk import proofs
from reviewer.desk.imports import importing
from reviewer.desk.place import at
from reviewer.desk.reports.api import ready_for_report
from reviewer.desk.suites import ready_suite
from reviewer.suite import on_demand, untouched
from reviewer.suite.folder import read_suite
from reviewer.suite.on_demand import Contracts, SuiteTouched
from reviewer.suite.untouched import stats_of

LATER = 10_000_000_000
RELEASE = ("--suite", SUITE, "--candidate", V8)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock long after the suite's files were written."""
    monkeypatch.setattr(proofs, "now", lambda: time.time_ns() + LATER)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The suites that were read whole for a proof."""
    found: list[Path] = []

    def counted(folder: Path, digest: str, each: Callable[[], None]) -> bool:
        found.append(folder)
        return as_frozen(folder, digest, each)

    as_frozen = proofs.as_frozen
    monkeypatch.setattr(proofs, "as_frozen", counted)
    return found


@pytest.fixture
def proved(full: Door, later: None, reads: list[Path]) -> Door:
    """A workspace whose suite was proved."""
    if stats_of(full.suite) is None:
        pytest.skip("nothing can be relied on here: every suite is read")
    full.ok("suite", "list")
    assert len(reads) == 1
    reads.clear()
    return full


def proof(door: Door) -> Path:
    return door.root / "store" / "proofs" / f"{SUITE}.json"


def report(door: Door, name: str = "r") -> Said:
    return door.run("--export-report", door.root / name, *RELEASE, "--format", "json")


def one_trace(door: Door, candidate: str = "another") -> Path:
    (some, *_) = sorted((SHIPPED / "traces").rglob("*.jsonl"))
    record = json.loads(some.read_text(encoding="utf-8").splitlines()[0])
    return door.file("one.jsonl", [{**record, "candidate_id": candidate, "attempt": 1}])


def test_a_proved_suite_is_not_read_again(proved: Door, reads: list[Path]) -> None:
    assert report(proved).code in (0, 10)
    proved.ok("suite", "list")
    proved.ok("scorecard", *RELEASE)
    proved.ok("import", one_trace(proved))
    assert reads == []


def test_the_report_is_the_same(full: Door, later: None) -> None:
    before = report(full, "before")
    proof(full).unlink()
    full.ok("suite", "list")
    after = report(full, "after")
    assert (before.code, before.out) == (after.code, after.out)
    assert {one.name: one.read_bytes() for one in (full.root / "before").iterdir()} == {
        one.name: one.read_bytes() for one in (full.root / "after").iterdir()
    }


def test_an_import_reads_the_contracts_that_it_needs(
    proved: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    whole = on_demand.read_bytes

    def counted(path: Path | str, limit: int = 1 << 26) -> bytes:
        read.append(Path(path).parent.name)
        return whole(path, limit)

    monkeypatch.setattr(on_demand, "read_bytes", counted)
    proved.ok("import", one_trace(proved))
    assert read.count("episodes") == 1
    shutil.rmtree(proof(proved).parent)
    monkeypatch.setattr(proofs, "now", time.time_ns)
    proved.ok("import", one_trace(proved, "a-third"))
    first, second = (
        proved.rows(
            "SELECT t.gates, t.passed, t.critical, t.diagnostics FROM trace t JOIN candidate c"
            " ON c.id = t.candidate WHERE c.candidate_id=?",
            name,
        )
        for name in ("another", "a-third")
    )
    assert first == second


def same_size(suite: Path) -> None:
    """Content of the same size, with the time that the file had."""
    file = next(iter(sorted((suite / "episodes").iterdir())))
    told, data = file.stat(), file.read_bytes()
    file.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
    os.utime(file, ns=(told.st_atime_ns, told.st_mtime_ns))
    assert file.stat().st_mtime_ns == told.st_mtime_ns


def replaced(suite: Path) -> None:
    file, other = suite / "suite.json", suite.parent / "other"
    other.write_bytes(file.read_bytes() + b"\n")
    other.replace(file)


def added(suite: Path) -> None:
    (suite / "episodes" / "more.json").write_text("{}", encoding="utf-8")


def removed(suite: Path) -> None:
    (suite / "rubric.json").unlink()


def linked(suite: Path) -> None:
    file = suite / "rubric.json"
    file.rename(suite.parent / "rubric.json")
    file.symlink_to("../rubric.json")


def lock_edited(suite: Path) -> None:
    lock = suite / "suite.lock"
    lock.write_bytes(lock.read_bytes().replace(b'"size":1', b'"size":2', 1))


EDITS: list[Callable[[Path], None]] = [same_size, replaced, added, removed, linked, lock_edited]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_named_as_without_a_proof(proved: Door, edit: Callable[[Path], None]) -> None:
    edit(proved.suite)
    trace = one_trace(proved)
    commands: list[tuple[Any, ...]] = [
        ("suite", "list"),
        ("suite", "check", SUITE),
        ("import", trace),
        ("scorecard", *RELEASE),
        ("--export-report", proved.root / "r", *RELEASE),
        ("sign", *RELEASE, "--key", "nobody"),
    ]
    kept = proof(proved).read_bytes()
    for command in commands:
        proof(proved).write_bytes(kept)
        found = proved.run(*command)
        proof(proved).unlink(missing_ok=True)
        assert found == proved.run(*command)
        assert found.code or command == ("suite", "list"), command


def test_a_touched_file_is_read_and_found_as_it_was(proved: Door, reads: list[Path]) -> None:
    os.utime(proved.suite / "suite.json")
    proved.ok("suite", "list")
    assert len(reads) == 1
    proved.ok("suite", "list")
    assert len(reads) == 1


def test_nothing_is_kept_of_what_was_just_written(full: Door, reads: list[Path]) -> None:
    os.utime(full.suite / "suite.json")
    for _ in range(2):
        full.ok("suite", "list")
    assert len(reads) == 2
    assert not proof(full).exists()


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (proofs, "now", lambda: 0),
        (proofs, "judging_version", lambda: "another"),
        (untouched, "_file_system", lambda path: "nfs4"),
        (untouched, "_MOUNTS", "/nowhere"),
    ],
)
def test_a_proof_of_another_time_code_or_place_is_none(
    proved: Door, reads: list[Path], monkeypatch: pytest.MonkeyPatch,
    module: Any, name: str, value: Any,
) -> None:  # fmt: skip
    monkeypatch.setattr(module, name, value)
    proved.ok("suite", "list")
    assert len(reads) == 1


def test_a_damaged_proof_is_none(proved: Door, reads: list[Path]) -> None:
    for text in ("", "{}", "[1]", "\xff", proof(proved).read_text().replace('"at":', '"at":"x')):
        proof(proved).write_text(text, encoding="utf-8")
        proved.ok("suite", "list")
    assert len(reads) == 5


def test_a_store_that_cannot_be_written_costs_reading(full: Door, later: None) -> None:
    (full.root / "store" / "proofs").write_text("a file")
    for _ in range(2):
        full.ok("suite", "list")


def test_a_dry_run_keeps_no_proof(full: Door, later: None) -> None:
    full.ok("import", one_trace(full), "--dry-run")
    assert not proof(full).exists()


def test_a_forged_proof_neither_passes_a_check_nor_is_signed_on(proved: Door) -> None:
    same_size(proved.suite)
    stats = stats_of(proved.suite)
    assert stats is not None
    forged = {**json.loads(proof(proved).read_bytes()), "stats": stats.digest}
    proof(proved).write_text(json.dumps(forged), encoding="utf-8")
    file = next(iter(sorted((proved.suite / "episodes").iterdir()))).name
    checked = proved.run("suite", "check", SUITE)
    signed = proved.run("sign", *RELEASE, "--key", "nobody")
    for said in (checked, signed):
        assert said.code
        assert file in said.both


def test_contracts_of_the_store_are_those_of_the_files_or_are_not_used(proved: Door) -> None:
    whole = read_suite(proved.suite).suite
    with closing(reader(proved.store)) as connection:
        assert ready_suite(at(proved.root), connection, SUITE).suite == whole
        brief = ready_for_report(at(proved.root), connection, SUITE).suite
    assert [one.title for one in brief.episodes] == [one.title for one in whole.episodes]
    for one, all_of_it in zip(brief.episodes, whole.episodes, strict=True):
        assert bool(one.tools.approvals) == bool(all_of_it.tools.approvals)
        assert one.expected.names_text == all_of_it.expected.names_text
        if one.expected.names_text:
            assert one == all_of_it
    with closing(sqlite3.connect(proved.store)) as base, base:
        other = "replace(CAST(body AS TEXT), 'refund', 'Refund')"
        base.execute(f"UPDATE contract SET body = CAST({other} AS BLOB)")
    with closing(reader(proved.store)) as connection:
        key = connection.execute("SELECT id FROM suite").fetchone()[0]
        body = json.loads(proof(proved).read_bytes())["body"]
        assert contracts.proven(connection, key, body, contracts.episode_of) is None
        assert ready_suite(at(proved.root), connection, SUITE).suite == whole


def test_contracts_read_one_by_one_are_those_of_the_suite(full: Door) -> None:
    suite = read_suite(full.suite).suite
    found = Contracts(full.suite, suite.digest)
    sent = pickle.loads(pickle.dumps(found))
    for some in (found, sent):
        assert tuple(some.in_order()) == suite.episodes
        assert dict(some) == {one.episode_id: one for one in suite.episodes}
        for strange in ("", "nothing", "../suite", "a/b", "\ud800", '"', 5):
            assert strange not in some


def test_a_contract_edited_during_an_import_ends_it(
    proved: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edited(*of: Any) -> None:
        for file in (proved.suite / "episodes").iterdir():
            file.write_bytes(file.read_bytes() + b" ")
        whole(*of)

    whole = importing.import_all
    monkeypatch.setattr(importing, "import_all", edited)
    before = proved.one("SELECT count(*) FROM trace")
    said = proved.run("import", one_trace(proved))
    assert said.code
    assert "changed since it was frozen" in said.err
    assert proved.one("SELECT count(*) FROM trace") == before
    told = SuiteTouched("a", "b")
    assert pickle.loads(pickle.dumps(told)).args == told.args


def test_what_is_mounted_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 0 8:1 / / rw - ext4 /dev/a rw\n"
        "2 1 0:5 / /net rw shared:1 - nfs4 host:/a rw\n"
        "3 1 0:6 / /net/with\\040space rw - xfs /dev/b rw\n"
        "4 1 0:7 / /over rw - ext4 /dev/c rw\n"
        "5 4 0:8 / /over rw - fuse.sshfs host: rw\n"
    )
    monkeypatch.setattr(untouched, "_MOUNTS", str(mounts))
    found = [
        untouched._file_system(path)
        for path in (b"/a", b"/net", b"/network", b"/net/a", b"/net/with space/a", b"/over/a")
    ]
    assert found == ["ext4", "nfs4", "ext4", "nfs4", "xfs", "fuse.sshfs"]
