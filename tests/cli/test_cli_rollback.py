"""A store that was put back as it was before a failure, through the installed command."""

import base64
import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from doors import SUITE, V8, Door, Said, passing
from people import key_file

from reviewer.db.connection import close_writer
from reviewer.db.schema import open_writer
from reviewer.db.search import catch_up
from reviewer.suite.model import ApprovalPolicy
from reviewer.suite.values import policy_value

RELEASE = ("--suite", SUITE, "--candidate", V8)
KEY = "robin"


@pytest.fixture
def signer(full: Door) -> Door:
    """A workspace in which robin may sign, and v8 passes."""
    public = key_file(full.root, KEY).with_suffix(".pub")
    full.ok("keys", "trust", "robin@example.com", public)
    return full


def sign(door: Door, *more: object, outside: bool = False) -> Said:
    run = door.outside if outside else door.run
    return run("sign", *RELEASE, "--key", door.root / KEY, *more)


def report(door: Door, name: str = "out", outside: bool = False) -> Said:
    run = door.outside if outside else door.run
    return run("--export-report", door.root / name, *RELEASE)


def failing() -> dict[str, object]:
    """One more attempt of v8, which ends elsewhere than its contract wants."""
    return passing(candidate_id=V8, attempt=4, nonce=7, final_state={"status": "lost"})


def put_back(door: Door, older: Path) -> None:
    """As somebody with a shell does it."""
    for left in door.store.parent.glob("review.db*"):
        left.unlink()
    shutil.copy(older, door.store)
    door.store.chmod(0o600)


def rolled_back(door: Door, word: str = "BLOCK") -> Door:
    """The failure came in and was blocked (or another attempt passed, and was promoted); then the
    store of before it is put back."""
    door.ok("backup", door.root / "before.db")
    last = failing() if word == "BLOCK" else passing(candidate_id=V8, attempt=4, nonce=7)
    assert door.take("failed.jsonl", [last], "--suite", SUITE).code == 0
    assert sign(door, "--decision", word).code == {"BLOCK": 10, "PROMOTE": 0}[word]
    put_back(door, door.root / "before.db")
    return door


def test_a_store_from_before_the_failure_promotes_nothing(signer: Door) -> None:
    rolled_back(signer)
    doctor = signer.outside("doctor")
    assert doctor.code == 20, doctor
    seen = report(signer, outside=True)
    assert seen.code == 20, seen
    assert "1-block-refund-agent-v8.dsse.json" in seen.err
    assert "this store is an older copy" in seen.err
    assert "reviewer restore" in seen.err
    assert not (signer.root / "out" / "report.json").exists()
    said = sign(signer, outside=True)
    assert said.code == 20, said
    assert signer.rows("SELECT * FROM decision") == []
    assert [one.name for one in (signer.root / "store/decisions").iterdir()] == [
        "1-block-refund-agent-v8.dsse.json"
    ]


def test_taking_the_decision_in_does_not_bring_back_what_it_was_about(signer: Door) -> None:
    rolled_back(signer)
    (block,) = (signer.root / "store" / "decisions").iterdir()
    said = signer.run("decisions", "take", block)
    assert said.code == 20, said
    assert "this store is an older copy" in said.err
    assert report(signer).code == 20


def test_the_newer_store_put_back_goes_on(signer: Door) -> None:
    signer.ok("backup", signer.root / "before.db")
    assert signer.take("failed.jsonl", [failing()], "--suite", SUITE).code == 0
    assert sign(signer, "--decision", "BLOCK").code == 10
    signer.ok("backup", signer.root / "after.db")
    put_back(signer, signer.root / "before.db")
    assert report(signer).code == 20
    signer.ok("restore", signer.root / "after.db", "--replace")
    assert report(signer).code == 10
    signer.healthy()


def unguarded(door: Door, *statements: str) -> None:
    """SQL on the store, past its triggers, which are put back afterwards where their table is."""
    with contextlib.closing(sqlite3.connect(door.store)) as base, base:
        guards = base.execute(
            "SELECT name, tbl_name, sql FROM sqlite_master WHERE type='trigger'"
        ).fetchall()
        for name, _, _ in guards:
            base.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            base.execute(statement)
        tables = {
            name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type='table'")
        }
        for _, table, text in guards:
            if table in tables:
                base.execute(text)


CUT = "DELETE FROM journal WHERE seq > (SELECT max(seq) FROM journal) - 2"


@pytest.mark.parametrize("size", ["whole", "ends"])
@pytest.mark.parametrize(
    "statements",
    [
        (CUT,),
        (CUT, "DELETE FROM decision", "DELETE FROM signature"),
        ("DELETE FROM trace WHERE id = (SELECT max(id) FROM trace)",),
        ("DELETE FROM decision", "DELETE FROM signature"),
        ("UPDATE decision SET decision='PROMOTE'",),
        ("UPDATE decision SET payload_sha256='00'",),
        ("UPDATE journal SET body=x'7b7d' WHERE seq=(SELECT max(seq) FROM journal)",),
        ("DELETE FROM journal WHERE seq=1",),
        ("DELETE FROM journal WHERE seq=4",),
        ("ALTER TABLE roll RENAME TO kept", "CREATE VIEW roll AS SELECT * FROM kept"),
    ],
)
def test_a_report_refuses_what_doctor_refuses(
    signer: Door, statements: tuple[str, ...], size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a store that is too large to be proved whole for each report."""
    if size == "ends":
        monkeypatch.setattr("reviewer.db.integrity.SMALL_TRACES", 0)
    assert signer.take("failed.jsonl", [failing()], "--suite", SUITE).code == 0
    assert sign(signer, "--decision", "BLOCK").code == 10
    assert report(signer).code == 10
    unguarded(signer, *statements)
    assert signer.run("doctor").code == 20
    assert report(signer, "again").code == 20
    assert sign(signer, "--decision", "BLOCK").code == 20
    assert not (signer.root / "again" / "report.json").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE trace SET passed=1, critical=0 WHERE passed=0",
        "UPDATE roll SET passes=attempts, critical=0",
        "DELETE FROM trace WHERE passed=0",
        "DELETE FROM finding",
    ],
)
def test_a_report_on_a_small_store_is_proved_whole(signer: Door, statement: str) -> None:
    assert signer.take("failed.jsonl", [failing()], "--suite", SUITE).code == 0
    assert report(signer).code == 10
    unguarded(signer, statement)
    said = report(signer, "again")
    assert said.code == 20, said
    assert "not match its journal" in said.err


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM event_list", "event rows of trace 1"),
        ("UPDATE pack SET frame=zeroblob(64)", "pack "),
        ("CREATE VIEW odd AS SELECT 1", "schema was changed by another program: view odd"),
    ],
)
def test_what_doctor_finds_beside_the_journal_stops_reports_and_signatures(
    signer: Door, statement: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert signer.take("failed.jsonl", [failing()], "--suite", SUITE).code == 0
    indexed(signer)
    assert report(signer).code == 10
    unguarded(signer, statement)
    assert signer.run("doctor").code == 20
    said = report(signer, "again")
    assert said.code == 20, said
    assert told in said.err
    monkeypatch.setattr(
        "reviewer.db.integrity.SMALL_TRACES", 0
    )  # the report looks at its ends alone
    said = sign(signer, "--decision", "BLOCK")
    assert said.code == 20, said
    assert told in said.err


def missing(door: Door, made: Path) -> None:
    made.unlink()


def changed(door: Door, made: Path) -> None:
    body = json.loads(made.read_bytes())
    body["payload"] = body["payload"][:-8] + "AAAAAAA="
    made.write_text(json.dumps(body))


def planted(door: Door, made: Path) -> None:
    made.with_name("9-promote-nobody.dsse.json").write_text("{}")


def linked(door: Door, made: Path) -> None:
    made.parent.rename(door.root / "elsewhere")
    made.parent.symlink_to(door.root / "elsewhere")


@pytest.mark.parametrize("act", [missing, changed, planted, linked], ids=lambda act: act.__name__)
def test_signed_files_that_doctor_refuses_stop_a_report(
    signer: Door, act: Callable[[Door, Path], None]
) -> None:
    assert sign(signer).code == 0
    (made,) = (signer.root / "store" / "decisions").iterdir()
    act(signer, made)
    assert signer.run("doctor").code == 20
    assert report(signer).code == 20
    assert sign(signer, "--decision", "BLOCK", "--comment", "incident 3").code == 20


def test_an_open_desk_sees_the_file_that_comes_later(signer: Door) -> None:
    """The same desk, asked twice: what it found sound is looked at again."""
    desk = signer.desk()
    assert desk.reports.build(SUITE, V8).exit_code == 0
    folder = signer.root / "store" / "decisions"
    folder.mkdir(exist_ok=True)
    (folder / "1-block.dsse.json").write_text("{}")
    with pytest.raises(Exception, match=r"1-block\.dsse\.json is not in this store"):
        desk.reports.build(SUITE, V8)
    desk.close()


def symlinked(store: Path, aside: Path) -> None:
    store.rename(aside)
    store.symlink_to(aside)


def two_names(store: Path, aside: Path) -> None:
    os.link(store, aside)


def log_symlinked(store: Path, aside: Path) -> None:
    log = store.with_name(store.name + "-wal")
    log.unlink(missing_ok=True)
    aside.touch()
    log.symlink_to(aside)


def folder_symlinked(store: Path, aside: Path) -> None:
    store.parent.rename(aside)
    store.parent.symlink_to(aside)


@pytest.mark.parametrize(
    "act", [symlinked, two_names, log_symlinked, folder_symlinked], ids=lambda act: act.__name__
)
def test_a_linked_store_is_refused(
    signer: Door, tmp_path: Path, act: Callable[[Path, Path], None]
) -> None:
    act(signer.store, tmp_path / "aside")
    for said in (
        signer.run("doctor"),
        report(signer),
        sign(signer),
        signer.take("more.jsonl", [failing()], "--suite", SUITE),
        signer.run("backup", tmp_path / "copy.db"),
    ):
        assert said.code == 20, said
        assert "link" in said.both


def test_a_second_name_that_a_restore_left_is_no_link(signer: Door) -> None:
    """It is cut off between giving the old store its name aside and putting the new one there."""
    os.link(signer.store, signer.store.with_name("review.db.replaced-1"))
    assert report(signer).code == 0
    os.link(signer.store, signer.store.with_name("another.db"))
    assert report(signer).code == 20


def indexed(door: Door) -> None:
    connection = open_writer(door.store)
    try:
        catch_up(connection, door.store)
    finally:
        close_writer(connection, door.store)
    assert "event rows and full text are complete" in door.ok("doctor").out


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM event_list", "event rows of trace 1, 2, 3, 4, 5"),
        ("UPDATE event_list SET body=json_remove(body, '$[0]') WHERE trace=7",
         "event rows of trace 7"),
        ("INSERT INTO event_list SELECT 99, body FROM event_list WHERE trace=1",
         "event rows of trace 99"),
        ("DELETE FROM event_shape WHERE id=(SELECT max(id) FROM event_shape)",
         "event rows without a tool: 1 shapes are gone"),
        ("DELETE FROM search_docsize WHERE id=3", "full text of 17 traces where 18 are indexed"),
        ("UPDATE meta SET value='40' WHERE key='indexed'", "traces up to 40"),
    ],
)  # fmt: skip
def test_what_is_taken_out_of_the_index_is_found(full: Door, statement: str, told: str) -> None:
    indexed(full)
    unguarded(full, statement)
    said = full.run("doctor")
    assert said.code == 20, said
    assert f"FAIL index: does not match the payloads: {told}" in said.out


def test_what_is_not_indexed_yet_is_a_note(full: Door) -> None:
    indexed(full)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reviewer.db.search.index_batch", lambda *_: 0)
        assert full.take("more.json", failing(), "--suite", SUITE).code == 0
    said = full.ok("doctor")
    assert "note index: 5 events are not indexed yet" in said.out
    indexed(full)


# another journal ----------------------------------------------------------------------------------


@pytest.mark.parametrize("taken", [False, True])
def test_a_store_made_anew_of_what_passed_promotes_nothing(signer: Door, taken: bool) -> None:
    """It contradicts nothing, and lacks what the decision beside it names."""
    assert signer.take("failed.jsonl", [failing()], "--suite", SUITE).code == 0
    assert sign(signer, "--decision", "BLOCK").code == 10
    for left in signer.store.parent.glob("review.db*"):
        left.unlink()
    scratch = passing(candidate_id="scratch")
    assert signer.take("scratch.jsonl", [scratch], "--suite", SUITE).code == 0
    signer.ok("import", signer.suite / "traces", "--suite", SUITE)
    if taken:
        (block,) = (signer.root / "store" / "decisions").iterdir()
        signer.ok("decisions", "take", block)
    said = report(signer)
    assert said.code == 10
    assert "1 failing trace that decision 1 (1-block-refund-agent-v8.dsse.json) names" in said.both
    assert f"{SUITE}/{V8}/damaged-221/4" in said.both
    body = json.loads((signer.root / "out" / "report.json").read_bytes())
    assert body["recommendation"] == "hold"
    said = sign(signer)
    assert said.code == 10, said
    assert "the report recommends hold" in said.err
    signer.ok("import", signer.root / "failed.jsonl", "--suite", SUITE)
    assert report(signer).code == 10
    assert sign(signer, "--decision", "BLOCK").code == 10


# an honest loss -----------------------------------------------------------------------------------


def verify(door: Door, *more: object) -> Said:
    return door.run(
        "verify", door.root / "store" / "decisions", "--signers", door.root / "store" / "signers",
        "--candidate-manifest", door.suite / "candidates" / f"{V8}.json", *more,
    )  # fmt: skip


def test_a_loss_that_is_stated_lets_the_store_go_on_and_is_shown_for_ever(signer: Door) -> None:
    rolled_back(signer, "PROMOTE")
    said = signer.run("loss", "--key", signer.root / KEY, "--reason", "the disk <b>failed</b>")
    assert said.code == 0, said
    assert "1-promote-refund-agent-v8.dsse.json depends on lost entries" in said.err
    signer.healthy()
    doctor = signer.ok("doctor")
    assert "note loss: robin@example.com stated at" in doctor.out
    assert signer.rows("SELECT number, decision FROM decision") == [(1, "PROMOTE")]
    for name in ("one", "two"):
        assert report(signer, name).code == 0
        body = json.loads((signer.root / name / "report.json").read_bytes())
        (loss,) = body["journal_losses"]
        assert (loss["principal"], loss["decisions"]) == ("robin@example.com", 1)
        assert loss["reason"] == "the disk <b>failed</b>"
        assert loss["lost_seq"] > loss["kept_seq"]
        for file in ("report.md", "report.html"):
            text = (signer.root / name / file).read_text()
            assert "Journal that the store lost" in text
            assert "<b>failed" not in text
        assert signer.take(f"{name}.jsonl", [passing(nonce=len(name))], "--suite", SUITE).code == 0
    assert verify(signer).code == 0
    said = sign(signer)
    assert said.code == 0, said
    said = verify(signer)
    assert said.code == 0, said
    assert "note: journal loss: " in said.out
    assert "note: reason: the disk <b>failed</b>" in said.out
    (loss_file,) = (signer.root / "store" / "decisions").glob("loss-*.dsse.json")
    loss_file.rename(signer.root / "aside")
    assert report(signer, "three").code == 20


def test_a_loss_that_is_stated_forgives_no_failure(signer: Door) -> None:
    """What a signed decision names as failing counts, though its trace is gone for good."""
    rolled_back(signer)
    signer.ok("loss", "--key", signer.root / KEY, "--reason", "the disk failed")
    said = report(signer)
    assert said.code == 10, said
    body = json.loads((signer.root / "out" / "report.json").read_bytes())
    assert body["recommendation"] == "hold"
    assert len(body["journal_losses"]) == 1
    assert "that decision 1 (1-block-refund-agent-v8.dsse.json) names" in body["reasons"][0]
    assert sign(signer).code == 10
    assert verify(signer).code == 10
    signer.ok("import", signer.root / "failed.jsonl", "--suite", SUITE)
    assert report(signer).code == 10
    body = json.loads((signer.root / "out" / "report.json").read_bytes())
    assert body["recommendation"] == "block"


def test_a_second_roll_back_is_not_explained_by_the_first_statement(signer: Door) -> None:
    rolled_back(signer, "PROMOTE")
    signer.ok("loss", "--key", signer.root / KEY, "--reason", "the disk failed")
    put_back(signer, signer.root / "before.db")
    said = report(signer)
    assert said.code == 20, said
    assert "loss-" in said.err
    assert "does not record it" in said.err
    signer.ok("loss", "--key", signer.root / KEY, "--reason", "it failed again")
    assert report(signer).code == 0
    body = json.loads((signer.root / "out" / "report.json").read_bytes())
    assert [one["reason"] for one in body["journal_losses"]] == ["it failed again"]
    assert body["journal_losses"][0]["decisions"] == 2
    assert sign(signer).code == 0
    said = verify(signer)
    assert said.code == 0, said


def test_a_loss_wants_an_approver_a_reason_and_something_that_is_lost(signer: Door) -> None:
    said = signer.run("loss", "--key", signer.root / KEY, "--reason", "nothing")
    assert (said.code, "no loss to sign" in said.err) == (2, True)
    rolled_back(signer)
    assert signer.run("loss", "--key", signer.root / KEY, "--reason", " ").code == 2
    public = key_file(signer.root, "fire").with_suffix(".pub")
    signer.ok("keys", "trust", "fire", public, "--roles", "breakglass")
    said = signer.run("loss", "--key", signer.root / "fire", "--reason", "hurry")
    assert said.code == 30, said
    assert report(signer).code == 20


def test_a_store_that_contradicts_itself_is_no_loss(signer: Door) -> None:
    rolled_back(signer)
    unguarded(signer, "UPDATE trace SET cost_usd=0")
    said = signer.run("loss", "--key", signer.root / KEY, "--reason", "the disk failed")
    assert said.code == 20, said
    assert "not match its journal" in said.err


# how long a decision lasts ------------------------------------------------------------------------


def test_no_decision_lasts_longer_than_its_policy_lets_it(door: Door) -> None:
    public = key_file(door.root, KEY).with_suffix(".pub")
    door.ok("keys", "trust", "robin@example.com", public)
    short = "refund-short"
    suite = door.suite / "suite.json"
    body = json.loads(suite.read_bytes())
    body["policy"].setdefault("approvals", {})["max_days"] = 2
    suite.write_text(json.dumps(body))
    door.ok("suite", "freeze", SUITE, "--as", short)
    door.ok("import", door.suite / "traces", "--suite", short)
    said = door.run("sign", "--suite", short, "--candidate", V8, "--key", door.root / KEY)
    assert said.code in (0, 30), said
    signed = json.loads(Path(said.out.strip()).read_bytes())
    predicate = json.loads(base64.b64decode(signed["payload"]))["predicate"]
    assert predicate["approvals"]["maxDays"] == 2
    created, expires = (
        datetime.fromisoformat(predicate[name]) for name in ("timeCreated", "expires")
    )
    assert expires - created == timedelta(days=2)


def test_a_policy_without_a_term_keeps_its_digest() -> None:
    assert msgspec.to_builtins(ApprovalPolicy()) == {"promote": 1}
    assert policy_value({"approvals": {"promote": 2}}).approvals.longest is None
    assert policy_value({"approvals": {"max_days": 3}}).approvals.longest == 3


@pytest.mark.parametrize("days", [0, -1, 1.5, "7", True, 5_000])
def test_a_term_is_a_number_of_days(signer: Door, days: object) -> None:
    suite = signer.suite / "suite.json"
    body = json.loads(suite.read_bytes())
    body["policy"].setdefault("approvals", {})["max_days"] = days
    suite.write_text(json.dumps(body))
    said = signer.run("suite", "freeze", SUITE, "--as", "refund-short")
    assert said.code == 20, said
    assert "$.policy.approvals.max_days" in said.err
