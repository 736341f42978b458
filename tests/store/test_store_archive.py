"""Payloads in files outside the store: nothing is lost, all is proved, and nothing passes for
want of evidence."""

import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, copied, many, passing
from people import key_file

from reviewer.db import archiving
from reviewer.desk.integrity import store_checks

FACTS = ("trace", "finding", "source_verdict", "revision", "roll", "event_list", "search_docsize")
EVER = ("--before", "2100-01-01")
TRACE = f"{SUITE}/{V8}/damaged-221/1"


def facts(door: Door) -> list[Any]:
    return [door.rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in FACTS]


def frames(door: Door) -> list[Any]:
    packs = door.rows("SELECT id, size, sha256, frame FROM pack ORDER BY id")
    return [packs, door.rows("SELECT * FROM chunk ORDER BY trace, n")]


def files(door: Door) -> list[Path]:
    folder = door.root / "store" / "payloads"
    return sorted(path for path in folder.iterdir() if path.name != ".gitignore")


def archived(door: Door, *argv: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(door.ok("archive", *(argv or EVER), "--json").out)
    return found


def long_trace(door: Door) -> None:
    """An attempt in chunks that comes again and goes on: the first record is a revision of it."""
    said = [{"kind": "message", "message": f"word {n} " * 20_000} for n in range(9)]
    one = passing(candidate_id="cand-b", attempt=7, nonce=1)
    plain = [{k: v for k, v in e.items() if k not in ("seq", "call_id")} for e in one["events"]]
    one["events"] = [*said, *plain]
    door.take("long.json", one)
    later = [*one["events"], {"kind": "message", "message": "later"}]
    door.take("longer.json", {**one, "events": later})


@pytest.fixture
def trusted(full: Door) -> Door:
    public = key_file(full.root, "robin").with_suffix(".pub")
    full.ok("keys", "trust", "robin@example.com", public)
    return full


def signed(door: Door, *argv: object) -> Any:
    of = ("--suite", SUITE, "--candidate", V8, "--key", door.root / "robin")
    return door.run("sign", *of, "--decision", "PROMOTE", *argv)


def everything(door: Door) -> list[str]:
    """What the commands say that read payloads."""
    on = ("--suite", SUITE, "--candidate", V8)
    return [
        door.ok("show", TRACE).out,
        door.ok("show", f"{SUITE}/cand-b/damaged-221/7", "--by", "turns").out,
        door.ok("patterns", "--suite", SUITE, "--candidate", V7).out,
        door.ok("labels", "queue", *on, "--baseline", V7, "--messages").out,
        door.ok("compare", "--attempts", TRACE.replace(V8, V7), TRACE).out,
        door.ok("search", "refund", "--suite", SUITE).out,
        door.ok("score").out,
    ]


def test_moved_read_where_they_lie_and_brought_back(full: Door) -> None:
    long_trace(full)
    full.ok("_index")
    before, told, held = facts(full), everything(full), frames(full)
    made = archived(full)
    [path] = files(full)
    assert (path.parent / ".gitignore").read_text() == "*\n"
    assert [one["path"] for one in made["files"]] == [str(path)]
    assert path.stat().st_mode & 0o777 == 0o600
    assert not full.one("SELECT count(*) FROM pack WHERE length(frame) > 0")
    assert not full.one("SELECT count(*) FROM chunk WHERE length(frame) > 0")
    assert facts(full) == before
    assert everything(full) == told
    said = full.ok("doctor").out
    assert f"archives: 1 file, {path.stat().st_size:,} bytes outside the store: every" in said
    assert "copy " in full.ok("backup", full.root / "copy.db").err

    data = path.read_bytes()
    assert archived(full) == {"files": [], "staying": 0}  # a second time there is nothing left
    assert full.ok("archive", *EVER).out == "nothing to archive\n"
    assert path.read_bytes() == data

    sizes = json.loads(full.ok("doctor", "--sizes", "--json").out)
    assert sizes["archives"] == {str(path): len(data)}
    [suite] = sizes["suites"]
    assert abs(suite["sizes"]["archived_bytes"] - len(data)) <= 2
    assert suite["sizes"]["payload_bytes"] == 0
    assert f"archived in {path}: {len(data):,} bytes" in full.ok("doctor", "--sizes").out

    assert "in the store again" in full.ok("archive", "--restore").out
    assert frames(full) == held
    assert facts(full) == before
    assert full.ok("archive", "--restore").out == "no payload is archived\n"
    path.unlink()
    assert everything(full) == told
    full.healthy()
    kinds = [json.loads(body)["type"] for (body,) in full.rows("SELECT body FROM journal")]
    assert [kind for kind in kinds if kind.startswith("payloads.")] == [
        "payloads.archived", "payloads.restored",
    ]  # fmt: skip


def test_only_what_is_old_and_meant_is_moved(door: Door) -> None:
    mixed = [one for pair in zip(many(3), many(3, "cand-b"), strict=True) for one in pair]
    door.take("mixed.jsonl", mixed)
    door.take("own.jsonl", list(many(3, "cand-c")))
    for early in ("2000-01-01", "0026-10-01"):
        assert archived(door, "--before", early) == {"files": [], "staying": 0}
    assert archived(door, "--older-than", "60000w") == {"files": [], "staying": 0}  # the year 876
    assert archived(door, "--older-than", "1d") == {"files": [], "staying": 0}
    assert archived(door, *EVER, "--candidate", "cand-a") == {"files": [], "staying": 1}
    elsewhere = door.root / "cold"
    made = archived(door, *EVER, "--suite", SUITE, "--candidate", "cand-c", elsewhere)
    [path] = elsewhere.iterdir()
    assert [one["path"] for one in made["files"]] == [str(path)]
    assert len(door.rows("SELECT * FROM archived_pack")) == 1
    door.healthy()
    assert door.run("archive", *EVER, "--candidate", "nobody").code == 2
    assert door.run("archive", "--restore", "--candidate", "cand-c").code == 2
    assert door.run("archive", "--before", "soon").code == 2
    assert door.run("archive", "--older-than", "90").code == 2


@pytest.mark.parametrize("how", ["gone", "changed", "cut", "a pipe"])
def test_without_its_file_nothing_passes_and_nothing_is_lost(trusted: Door, how: str) -> None:
    on = ("--suite", SUITE, "--candidate", V8)
    before = facts(trusted)
    archived(trusted)
    card = trusted.ok("scorecard", *on, "--json").out
    [path] = files(trusted)
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "changed":
        path.write_bytes(bytes(byte ^ (number % 50 == 0) for number, byte in enumerate(data)))
    elif how == "cut":
        path.write_bytes(data[:40])
    else:
        path.unlink()
        os.mkfifo(path)
    shown = trusted.ok("show", TRACE)
    assert f"payload not available: archived in {path}" in shown.out
    view = json.loads(trusted.ok("show", TRACE, "--json").out)
    assert (view["payload"], view["mark"], view["final_message"]) == (False, "pass", None)
    assert "not available" in view["missing"]
    assert trusted.ok("scorecard", *on, "--json").out == card
    doctor = trusted.run("doctor")
    assert doctor.code == 20
    assert f"not available: archived in {path}" in doctor.out
    assert "payloads: every payload opens" in doctor.out  # those that are in the store
    for command in (
        ("score",),
        ("labels", "queue", *on, "--baseline", V7, "--messages"),
        ("patterns", "--suite", SUITE, "--candidate", V7),
        ("compare", "--attempts", TRACE.replace(V8, V7), TRACE),
        ("--export-report", trusted.root / "out", *on),
    ):
        said = trusted.run(*command)
        assert (said.code, "not available: archived in" in said.err) == (20, True), (command, said)
    assert not (trusted.root / "out").exists()
    refused = signed(trusted)
    assert refused.code == 20
    assert "nothing was signed: payloads are not available: archived in" in refused.err
    assert not trusted.one("SELECT count(*) FROM decision")
    back = trusted.run("archive", "--restore")
    assert (back.code, "not available" in back.out) == (20, True)
    assert facts(trusted) == before
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    assert signed(trusted).code == 0
    trusted.healthy()


def test_no_report_recommends_what_a_missing_file_held(
    trusted: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a store that is not small the files are looked for, and not read."""
    monkeypatch.setattr(store_checks, "is_small", lambda connection: False)
    archived(trusted)
    asked = ("--export-report", trusted.root / "out", "--suite", SUITE, "--candidate", V8)
    assert trusted.run(*asked).code == 0
    [path] = files(trusted)
    path.rename(path.with_suffix(".away"))
    shutil.rmtree(trusted.root / "out")
    said = trusted.run(*asked)
    assert (said.code, (trusted.root / "out").exists()) == (20, False)
    assert f"not available: archived in {path}" in said.err


def test_a_file_that_was_moved_beside_the_store_is_found(full: Door) -> None:
    archived(full, *EVER, full.root / "cold")
    [path] = (full.root / "cold").iterdir()
    (full.root / "store" / "payloads").mkdir()
    path.rename(full.root / "store" / "payloads" / path.name)
    full.healthy()


def test_what_was_signed_is_still_proved(trusted: Door) -> None:
    assert signed(trusted).code == 0
    [decision] = (trusted.root / "store" / "decisions").glob("*.dsse.json")
    manifest = trusted.root / "suites" / SUITE / "candidates" / V8 / "candidate.json"
    manifest = manifest if manifest.exists() else next(trusted.root.rglob(f"{V8}*.json"))
    of = ("verify", decision, "--suite", SUITE, "--candidate", V8)
    told = trusted.run(*of)
    archived(trusted)
    assert trusted.run(*of) == told
    shutil.rmtree(trusted.root / "store" / "payloads")
    assert trusted.run(*of) == told  # it reads what was signed, and no payload


def test_another_store_is_merged_from_its_files_or_refused(
    door: Door, empty_template: Path, tmp_path: Path
) -> None:
    other = copied(empty_template, tmp_path / "other")
    other.take("theirs.jsonl", list(many(5, "cand-b")))
    long_trace(other)
    archived(other)
    [path] = files(other)
    aside = path.rename(tmp_path / "aside")
    refused = door.run("merge", other.store)
    assert (refused.code, "not available: archived in" in refused.err) == (20, True)
    assert not door.store.exists() or not door.one("SELECT count(*) FROM trace")
    aside.rename(path)
    door.ok("merge", other.store)
    assert door.one("SELECT count(*) FROM trace") == 6
    assert not door.one("SELECT count(*) FROM archived_pack")
    door.healthy()


def test_a_record_that_goes_on_from_an_archived_one_is_a_revision(full: Door) -> None:
    long_trace(full)
    archived(full)
    one = json.loads((full.root / "longer.json").read_bytes())
    one["events"].append({"kind": "message", "message": "still later"})
    full.take("longest.json", one)
    assert full.one("SELECT count(*) FROM revision") == 2
    assert full.one("SELECT count(*) FROM archived_chunk WHERE trace > 0") == 0
    full.healthy()


def test_places_that_were_edited_contradict_the_journal(full: Door) -> None:
    archived(full)
    (whole,) = full.rows("SELECT * FROM payload_archive")
    for edit, back in (
        ("archived_pack SET offset = offset + 1", "archived_pack SET offset = offset - 1"),
        ("payload_archive SET size = size + 1", "payload_archive SET size = size - 1"),
        ("payload_archive SET id = id + 1", "payload_archive SET id = id - 1"),
    ):
        for act, code in ((edit, 20), (back, 0)):
            with contextlib.closing(sqlite3.connect(full.store)) as base, base:
                base.execute(f"UPDATE {act}")
            said = full.run("doctor")
            fault = f"facts: does not match the journal: payload archive {whole[1]}"
            assert (said.code, fault in said.out) == (code, bool(code)), (act, said)


STEPS = ("write_file", "sync_folder", "record_file", "transaction", "_let_go")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_step_every_payload_is_somewhere(full: Door, step: str, after: bool) -> None:
    before, told = facts(full), full.ok("show", TRACE).out
    act = getattr(archiving, step)

    def work() -> None:
        def killed(*argv: Any, **how: Any) -> Any:
            made = act(*argv, **how) if after else None
            os.kill(os.getpid(), signal.SIGKILL)
            return made

        setattr(archiving, step, killed)
        full.run("archive", *EVER)

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    assert facts(full) == before
    assert full.ok("show", TRACE).out == told
    full.healthy()
    archived(full)
    assert not full.one("SELECT count(*) FROM pack WHERE length(frame) > 0")
    assert [path.suffix for path in files(full)] == [".zst"]
    assert full.ok("show", TRACE).out == told
    full.healthy()


def test_a_backup_is_restored_while_the_files_are_elsewhere(full: Door) -> None:
    archived(full)
    full.ok("backup", full.root / "copy.db")
    aside = (full.root / "store" / "payloads").rename(full.root / "aside")
    full.ok("restore", full.root / "copy.db", "--replace")
    assert full.run("doctor").code == 20
    aside.rename(full.root / "store" / "payloads")
    full.healthy()
