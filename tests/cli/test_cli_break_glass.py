"""What is signed beside a decision: break-glass records, and test results by runners."""

import contextlib
import json
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from doors import V7, V8, Door
from people import TWO, People

from reviewer.signing.dsse import parse_envelope


@pytest.fixture
def people(door: Door) -> People:
    return People(door)


def glass(people: People, *more: object, candidate: str = V7, key: str = "fire") -> object:
    return people.door.run(
        "break-glass", *people.release(candidate), "--key", people.key(key),
        "--reason", "refunds are down", *more,
    )  # fmt: skip


def record(people: People) -> Path:
    (found,) = people.decisions.glob("break-glass-*.dsse.json")
    return found


def report_of(people: People, candidate: str = V8) -> tuple[int, dict[str, object], str, str]:
    out = people.door.root / "out"
    said = people.door.run("--export-report", out, *people.release(candidate))
    text = {name: (out / f"report.{name}").read_text() for name in ("md", "html")}
    return said.code, json.loads((out / "report.json").read_bytes()), text["md"], text["html"]


def test_a_break_glass_record_never_promotes(people: People) -> None:
    said = glass(people)
    assert said.code == 10, said
    said = people.verify(record(people), candidate=V7)
    assert (said.code, said.out.splitlines()[-1]) == (10, "BREAK-GLASS")
    assert "reason: refunds are down" in said.out
    assert people.verify(candidate=V7).code == 10  # of a folder too: no decision is in it
    assert people.verify(record(people)).code == 20  # it is about another manifest
    assert people.verify(record(people), "--environment", "staging", candidate=V7).code == 30
    tomorrow = (datetime.now(UTC) + timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert people.verify(record(people), "--at", tomorrow, candidate=V7).code == 30
    assert people.door.one("SELECT count(*) FROM decision") == 0
    people.door.healthy()


def test_every_later_report_and_decision_of_the_agent_shows_it(people: People) -> None:
    assert report_of(people)[1]["break_glass"] == []
    glass(people)
    for candidate, code in ((V7, 10), (V8, 0)):
        left, report, markdown, html = report_of(people, candidate)
        assert left == code, "it changes no recommendation"
        (shown,) = report["break_glass"]
        assert (shown["candidate_id"], shown["reason"]) == (V7, "refunds are down")
        for text in (markdown, html):
            assert "refunds are down" in text
            assert "released without a decision" in text
    desk = people.door.desk()
    sections = desk.decisions.view(TWO, V8).sections
    desk.close()
    assert any(name == "break-glass" and "refunds are down" in text for _, name, text in sections)
    people.sign("alice")
    assert people.add("bob").code == 0
    (bound,) = people.payload(1)["predicate"]["breakGlass"]
    assert (bound["principal"], bound["candidate"]) == ("fire", V7)
    said = people.verify(people.file(1), "--report", people.door.root / "out" / "report.json")
    assert said.code == 0, said
    assert "note: break-glass by fire for refund-agent-v7 in production" in said.out


def test_one_that_came_between_two_signatures_refuses_the_second(people: People) -> None:
    people.sign("alice")
    glass(people)
    said = people.add("bob")
    assert said.code == 20, said
    assert "predicate.breakGlass" in said.err


@pytest.mark.parametrize("who", ["alice", "robot"])
def test_it_takes_its_own_role(people: People, who: str) -> None:
    said = glass(people, key=who)
    assert said.code == 30, said
    assert f"{who} has no breakglass role" in said.err
    assert not list(people.decisions.glob("break-glass-*"))


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--hours", "24"), 10),
        (("--hours", "24.01"), 2),
        (("--hours", "0"), 2),
        (("--hours", "-1"), 2),
        (("--hours", "nan"), 2),
        (("--reason", "  "), 2),
        (("--reason", "evil\x1b[2J"), 20),
    ],
)
def test_a_day_at_most_and_a_reason(people: People, more: tuple[str, str], code: int) -> None:
    said = glass(people, *more)
    assert said.code == code, said
    assert "internal" not in said.err
    assert "\x1b" not in said.both


def test_a_record_taken_out_of_the_store_is_seen(people: People) -> None:
    glass(people)
    with contextlib.closing(sqlite3.connect(people.door.store)) as base, base:
        with pytest.raises(sqlite3.Error, match="append-only"):
            base.execute("DELETE FROM break_glass")
        base.execute("DROP TRIGGER break_glass_no_delete")
        base.execute("DELETE FROM break_glass")
    assert people.door.run("doctor").code == 20
    assert people.sign("alice").code == 20


def test_a_record_of_a_colleague_is_taken_in_and_shown(people: People, tmp_path: Path) -> None:
    colleague = people.copied(tmp_path / "colleague")
    glass(colleague)
    path = tmp_path / "mailed.dsse.json"
    shutil.copy(record(colleague), path)
    assert people.door.run("decisions", "take", path).code == 0
    assert people.door.run("decisions", "take", path).code == 0  # once is enough
    assert len(report_of(people)[1]["break_glass"]) == 1
    said = people.door.run("decisions", "list", "--json")
    assert [one["word"] for one in json.loads(said.out)] == ["BREAK-GLASS"]
    people.door.healthy()
    signers = people.door.root / "store" / "signers"
    signers.write_text(signers.read_text().replace("fire breakglass", "fire runner"))
    assert people.door.run("decisions", "take", path).code == 30


# test results -------------------------------------------------------------------------------------


def attest(people: People, candidate: str = V8, key: str = "robot") -> object:
    return people.door.run("attest", *people.release(candidate), "--key", people.key(key))


def attestations(people: People) -> Path:
    return people.door.root / "store" / "attestations"


def test_a_run_signed_by_its_runner_is_referred_to_by_the_decision(people: People) -> None:
    said = attest(people)
    assert said.code == 0, said
    (path,) = attestations(people).iterdir()
    statement = json.loads(parse_envelope(path.read_bytes()).payload)
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    predicate = statement["predicate"]
    assert predicate["result"] == "PASSED"
    assert len(predicate["passedTests"]) == 9
    assert predicate["configuration"][0]["name"] == TWO
    assert attest(people).out == "", "what is signed is not signed again"
    people.sign("alice")
    assert people.add("bob").code == 0
    assert len(people.payload(1)["predicate"]["inputAttestations"]) == 1
    assert people.verify(people.file(1), "--attestations", attestations(people)).code == 0
    for spoilt in (lambda: path.unlink(), lambda: path.write_bytes(b"{}")):
        kept = path.read_bytes()
        spoilt()
        said = people.verify(people.file(1), "--attestations", attestations(people))
        assert said.code in (20, 30), said
        path.write_bytes(kept)
    people.door.healthy()
    out = people.door.root / "exported"
    people.door.ok("decisions", "export", 1, out)
    assert people.verify(people.file(1), "--attestations", out / "attestations").code == 0


def test_failing_attempts_are_named_first(people: People) -> None:
    attest(people, V7)
    (path,) = attestations(people).iterdir()
    predicate = json.loads(parse_envelope(path.read_bytes()).payload)["predicate"]
    assert predicate["result"] == "FAILED"
    assert predicate["failedTests"] == ["appeal-009/2", "attack-014/1", "attack-014/2"]


@pytest.mark.parametrize("who", ["alice", "fire"])
def test_only_a_runner_signs_what_was_run(people: People, who: str) -> None:
    said = attest(people, key=who)
    assert said.code == 30, said
    assert f"{who} has no runner role" in said.err


def test_a_decision_without_test_results_does_not_meet_who_wants_them(people: People) -> None:
    people.sign("alice")
    people.add("bob")
    attestations(people).mkdir()
    said = people.verify(people.file(1), "--attestations", attestations(people))
    assert said.code == 30, said
    assert "it refers to no test result" in said.out


def test_the_verification_summary_is_signed_by_whoever_exports_it(people: People) -> None:
    from reviewer.signing.keys import load_signer

    people.sign("alice")
    people.add("bob")
    out = people.door.root / "out"
    people.door.ok("decisions", "export", 1, out, "--key", people.key("robot"))
    envelope = parse_envelope((out / "verification-summary.dsse.json").read_bytes())
    assert envelope.payload == (out / "verification-summary.json").read_bytes()
    (signature,) = envelope.signatures
    robot = load_signer(str(people.key("robot"))).public
    assert robot.verifies(signature.sig, envelope.signed_bytes)
    assert people.verify(out / "verification-summary.dsse.json").code == 20  # it is no decision


@pytest.mark.parametrize("what", ["7", "nothing.dsse.json"])
def test_there_must_be_something_to_export(people: People, what: str) -> None:
    said = people.door.run("decisions", "export", what, people.door.root / "out")
    assert said.code in (2, 20), said
    assert "internal" not in said.err
