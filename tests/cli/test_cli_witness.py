"""The witness: heads in version control, which know of what a store put back no longer has."""

import json
import os
import shutil
from pathlib import Path

import pytest
from doors import SUITE, Door
from people import People, key_file
from test_cli_rollback import KEY, failing, put_back, report, sign, verify


@pytest.fixture
def witnessed(full: Door) -> Door:
    """A workspace where robin may sign, and a witness is kept."""
    public = key_file(full.root, KEY).with_suffix(".pub")
    full.ok("keys", "trust", "robin@example.com", public)
    full.ok("witness")
    return full


def witness(door: Door) -> Path:
    return door.root / "store" / "witness"


def lines(door: Door) -> list[dict[str, object]]:
    return [json.loads(line) for line in witness(door).read_bytes().splitlines()]


def all_gone(door: Door) -> Door:
    """As `rolled_back`, and the signed files are put back with the store."""
    door.ok("backup", door.root / "before.db")
    assert door.take("failed.jsonl", [failing()], "--suite", SUITE).code == 0
    assert sign(door, "--decision", "BLOCK").code == 10
    put_back(door, door.root / "before.db")
    shutil.rmtree(door.root / "store" / "decisions")
    (door.root / "store" / "decisions").mkdir()
    return door


def test_each_signed_head_is_written_down(witnessed: Door) -> None:
    assert sign(witnessed).code == 0
    assert sign(witnessed, "--decision", "BLOCK", "--comment", "incident 7").code == 10
    found = lines(witnessed)
    assert [one["kind"] for one in found] == ["head", "decision", "decision"]
    told = witnessed.rows(
        "SELECT d.seq, lower(hex(j.hash)), payload_sha256 FROM decision d"
        " JOIN journal j ON j.seq = d.seq ORDER BY d.seq"
    )
    assert [(one["seq"], one["head"], one["signed"]) for one in found[1:]] == told
    witnessed.healthy()
    assert witnessed.ok("witness").err.splitlines()[-1].endswith("in it already")
    assert verify(witnessed, "--witness", witness(witnessed)).code == 10


def test_without_one_nothing_is_written(full: Door) -> None:
    public = key_file(full.root, KEY).with_suffix(".pub")
    full.ok("keys", "trust", "robin@example.com", public)
    assert sign(full).code == 0
    assert not witness(full).exists()


def test_it_knows_what_the_signed_files_went_with(witnessed: Door) -> None:
    all_gone(witnessed)
    doctor = witnessed.run("doctor")
    assert doctor.code == 20, doctor
    assert "witness has seen journal entry" in doctor.out
    for said in (report(witnessed), sign(witnessed), witnessed.run("witness")):
        assert said.code == 20, said
        assert "witness has seen journal entry" in said.err
    assert len(lines(witnessed)) == 2


def test_a_later_store_that_took_the_same_numbers_is_another_history(witnessed: Door) -> None:
    """Other entries grew behind the one that was put back, as many as were lost."""
    all_gone(witnessed)
    for nonce in range(3):
        more = {**failing(), "attempt": 5 + nonce, "latency_ms": 90_000 + nonce}
        assert witnessed.take(f"{nonce}.jsonl", [more], "--suite", SUITE).code == 0
    said = report(witnessed)
    assert said.code == 20, said
    assert "has another entry" in said.err


def test_a_pipeline_with_the_witness_refuses_what_was_signed_on_the_old_store(
    witnessed: Door,
) -> None:
    all_gone(witnessed)
    kept = witnessed.root / "protected"
    witness(witnessed).rename(kept)  # the working copy's goes too; the pipeline has its own
    assert sign(witnessed).code == 0
    assert verify(witnessed).code == 0
    said = verify(witnessed, "--witness", kept)
    assert said.code == 30, said
    assert "is not in the witness" in said.out


def test_a_pipeline_with_the_witness_misses_a_newest_decision(witnessed: Door) -> None:
    assert sign(witnessed).code == 0
    assert sign(witnessed, "--decision", "BLOCK", "--comment", "incident 7").code == 10
    (block,) = (witnessed.root / "store" / "decisions").glob("2-*")
    block.unlink()
    assert verify(witnessed).code == 0
    said = verify(witnessed, "--witness", witness(witnessed))
    assert said.code == 30, said
    assert "the witness has seen a decision (sha256" in said.out
    assert "that is not in this folder" in said.out


def test_a_loss_is_witnessed_and_explains_what_was_seen_before_it(witnessed: Door) -> None:
    all_gone(witnessed)
    witnessed.ok("loss", "--key", witnessed.root / KEY, "--reason", "the disk failed")
    witnessed.healthy()
    assert [one["kind"] for one in lines(witnessed)] == ["head", "decision", "loss"]
    assert sign(witnessed).code == 0
    witnessed.healthy()
    report_said = report(witnessed)
    assert report_said.code == 0, report_said
    body = json.loads((witnessed.root / "out" / "report.json").read_bytes())
    assert len(body["journal_losses"]) == 1
    said = verify(witnessed, "--witness", witness(witnessed))
    assert said.code == 0, said
    assert "note: journal loss: " in said.out


def test_a_reason_that_no_screen_shows_as_it_is_is_refused_in_plain_words(witnessed: Door) -> None:
    all_gone(witnessed)
    said = witnessed.run("loss", "--key", witnessed.root / KEY, "--reason", "\u202eit went")
    assert said.code == 20
    assert "reason: must not contain U+202E" in said.err
    witnessed.ok("loss", "--key", witnessed.root / KEY, "--reason", "it went")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda data: data.replace(b'"kind":"decision"', b'"kind":"head"', 1), "follow"),
        (lambda data: b"".join(data.splitlines(True)[1:]), "follow"),
        (lambda data: data + b"{}\n", "line 4 is not a line of a witness"),
        (lambda data: data + b"\xff\n", "line 4 is not a line of a witness"),
        (lambda data: data + b"[" * 100_000 + b"\n", "line 4 is not a line of a witness"),
        (lambda data: data.replace(b'"seq":', b'"seq":9', 1), "witness"),
    ],
)
def test_a_witness_that_was_changed_is_found(witnessed: Door, spoil: object, told: str) -> None:
    assert callable(spoil)
    assert sign(witnessed).code == 0
    assert sign(witnessed, "--decision", "BLOCK", "--comment", "incident 7").code == 10
    data = spoil(witness(witnessed).read_bytes())
    witness(witnessed).write_bytes(data)
    said = witnessed.run("doctor")
    assert said.code == 20, said
    assert told in said.out
    said = sign(witnessed, "--decision", "BLOCK", "--comment", "incident 8")
    assert said.code == 20, said
    assert report(witnessed).code == 20
    said = verify(witnessed, "--witness", witness(witnessed))
    assert said.code == 20, said


def test_a_linked_witness_is_refused(witnessed: Door, tmp_path: Path) -> None:
    witness(witnessed).rename(tmp_path / "aside")
    witness(witnessed).symlink_to(tmp_path / "aside")
    assert witnessed.run("doctor").code == 20
    assert report(witnessed).code == 20


def test_a_witness_that_is_no_file_is_refused_and_not_waited_for(witnessed: Door) -> None:
    witness(witnessed).unlink()
    for make in (os.mkfifo, os.mkdir):
        make(witness(witnessed))
        for said in (witnessed.run("doctor"), witnessed.run("witness"), report(witnessed)):
            assert said.code == 20, said
            assert "witness" in said.out + said.err
            assert "internal error" not in said.err
        if make is os.mkfifo:
            witness(witnessed).unlink()


def test_two_people_on_copies_of_one_store_share_a_witness(door: Door, tmp_path: Path) -> None:
    """What the first one signed comes to the second with its file and its line, and goes back."""
    people = People(door)
    people.door.ok("witness")
    colleague = people.copied(tmp_path / "colleague")
    assert colleague.sign("alice").code == 30
    people.decisions.mkdir(exist_ok=True)
    shutil.copy(witness(colleague.door), witness(people.door))
    assert people.door.run("doctor").code == 20, "a line without its file is a loss"
    shutil.copy(colleague.file(1), people.decisions)
    assert people.door.run("doctor").code == 0
    assert people.add("bob").code == 0
    people.door.healthy()
    assert people.verify(people.decisions, "--witness", witness(people.door)).code == 0
    assert witness(people.door).read_bytes() == witness(colleague.door).read_bytes()
    shutil.copy(people.file(1), colleague.file(1))
    colleague.door.ok("decisions", "take", colleague.file(1))
    colleague.door.healthy()


def test_lines_of_two_branches_merge_in_any_order(witnessed: Door) -> None:
    """Lines of another journal between ours, and a line that a merge left twice."""
    assert sign(witnessed).code == 0
    ours = witness(witnessed).read_bytes().splitlines(True)
    other = json.loads(ours[0])
    other["journal"] = "store/review.db?journal=" + "0" * 32
    foreign = json.dumps(other, separators=(",", ":"), sort_keys=True).encode() + b"\n"
    witness(witnessed).write_bytes(b"".join([ours[0], foreign, ours[1], ours[0], b"# a word\n"]))
    witnessed.healthy()
    assert report(witnessed).code == 0
    assert verify(witnessed, "--witness", witness(witnessed)).code == 0
