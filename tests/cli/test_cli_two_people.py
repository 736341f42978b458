"""A promotion that two people sign: the first fixes it, the second derives it anew or refuses."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, passing, shipped
from older_stores import as_before
from people import TWO, People, key_file


@pytest.fixture
def people(door: Door) -> People:
    return People(door)


def standing(people: People) -> list[tuple[Any, ...]]:
    return people.door.rows("SELECT number, decision, standing, signers FROM decisions")


def test_one_signature_waits_and_the_second_completes(people: People) -> None:
    said = people.sign("alice")
    assert said.code == 30, said
    assert "reviewer sign --add 1" in said.err
    assert standing(people) == [(1, "PROMOTE", "pending", "alice")]
    assert people.verify(people.file(1)).code == 30
    assert people.verify().code == 30
    payload = people.payload(1)
    said = people.add("bob")
    assert said.code == 0, said
    told = said.err.splitlines()  # what was not derived is read before it is signed
    assert told[0] == "decision 1: PROMOTE shopflow-refund-agent@8.0.0 for production"
    assert told[1].endswith("signed by alice")
    assert people.payload(1) == payload, "all sign the same bytes"
    assert standing(people) == [(1, "PROMOTE", "signed", "alice, bob")]
    said = people.verify(people.file(1), "--suite-folder", people.door.root / "suites" / TWO)
    assert (said.code, said.out.splitlines()[-3:]) == (
        0, ["approved by alice", "approved by bob", "PROMOTE"],
    )  # fmt: skip
    people.door.healthy()


def test_by_file_as_well_as_by_number(people: People, tmp_path: Path) -> None:
    people.sign("alice")
    mailed = tmp_path / "mailed.dsse.json"
    shutil.copy(people.file(1), mailed)
    assert people.add("bob", mailed).code == 0
    assert standing(people) == [(1, "PROMOTE", "signed", "alice, bob")]
    assert people.verify(people.file(1)).code == 0


def test_one_person_is_one_whatever_they_do(people: People) -> None:
    people.sign("alice")
    said = people.add("alice")
    assert said.code in (20, 30), said
    assert "already signed" in said.err
    people.join("alice2", "approver", "alice")  # a second key of the same person
    said = people.add("alice2")
    assert said.code == 20, said
    assert "predicate.approvals.reviewers" in said.err
    assert standing(people) == [(1, "PROMOTE", "pending", "alice")]


def test_two_keys_of_one_person_are_one_approval(people: People) -> None:
    people.join("alice2", "approver", "alice")
    assert people.sign("alice").code == 30
    said = people.add("alice2")
    assert said.code == 30, said
    assert "1 of 2 approvals (alice)" in said.err
    assert people.add("carol").code == 0


@pytest.mark.parametrize("who", ["fire", "robot"])
def test_other_roles_add_nothing(people: People, who: str) -> None:
    people.sign("alice")
    said = people.add(who)
    assert said.code == 30, said
    assert f"{who} has no approver role" in said.err
    key_file(people.door.root, "mallory")
    assert people.add("mallory").code == 30
    assert people.sign(who).code == 30


def test_an_author_signs_neither_first_nor_second(people: People) -> None:
    manifest = people.door.root / "suites" / TWO / "candidates" / f"{V8}.json"
    (author,) = json.loads(manifest.read_bytes())["authors"]
    people.join("author", "approver", author)
    said = people.sign("author")
    assert said.code == 30, said
    assert f"{author} is an author of {V8}" in said.err
    people.sign("alice")
    assert people.add("author").code == 30
    assert people.sign("author", candidate=V7).code in (10, 30)
    reviewers = people.payload(1)["predicate"]["approvals"]["reviewers"]
    assert [one["principal"] for one in reviewers] == ["alice", "bob", "carol"]


def test_too_few_approvers_are_told_before_anything_is_signed(door: Door) -> None:
    people = People(door)
    signers = door.root / "store" / "signers"
    lines = signers.read_text().splitlines()
    kept = [line for line in lines if not line.startswith(("bob ", "carol "))]
    signers.write_text("\n".join(kept) + "\n")
    said = people.sign("alice")
    assert said.code == 30, said
    assert "requires 2 approvers" in said.err
    assert not list(people.decisions.glob("*.json"))
    assert people.sign("alice", candidate=V7).code == 10  # a block needs one


CHANGES: list[tuple[str, str]] = [
    ("predicate.cost.totalMicros", "cost/totalMicros"),
    ("predicate.expires", "expires"),
    ("predicate.policy.digest.sha256", "policy/digest/sha256"),
    ("predicate.gates[3].observed", "gates/3/observed"),
    ("predicate.repeatability[0].passes", "repeatability/0/passes"),
    ("predicate.suite.frozenAtSeq", "suite/frozenAtSeq"),
    ("predicate.audit.head", "audit/head"),
    ("predicate.evidence.digest.sha256", "evidence/digest/sha256"),
    ("predicate.report.digest.sha256", "report/digest/sha256"),
    ("predicate.labels.count", "labels/count"),
    ("predicate.approvals.threshold", "approvals/threshold"),
    ("predicate.decisionSeq", "decisionSeq"),
    ("predicate.previousDecision", "previousDecision"),
    ("predicate.failureCount", "failureCount"),
    ("predicate.inputAttestations", "inputAttestations"),
    ("predicate.breakGlass", "breakGlass"),
    ("predicate.suite.lineageReasons", "suite/lineageReasons"),
]


@pytest.fixture(scope="module")
def desk_with_one(
    tmp_path_factory: pytest.TempPathFactory, empty_template: Path
) -> tuple[People, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("two") / "desk"
    shutil.copytree(empty_template, folder)
    people = People(Door(folder))
    people.sign("alice")
    body = people.payload(1)
    # The desk as it was before: what comes in now was signed elsewhere.
    shutil.rmtree(folder)
    shutil.copytree(empty_template, folder)
    return People(Door(folder)), body


def other(value: Any, field: str) -> Any:
    """Another value of the same form."""
    digest = {"digest": {"sha256": "ab" * 32}}
    if field == "inputAttestations":
        return [digest]
    if field == "breakGlass":
        at = "2026-05-01T10:00:00Z"
        return [{
            **digest, "principal": "fire", "candidate": V8, "environment": "production",
            "timeCreated": at, "expires": at, "reason": "never was",
        }]  # fmt: skip
    if field.endswith("lineageReasons"):
        return []
    if value is None:
        return digest
    if isinstance(value, int):
        return value + 1 if field != "repeatability/0/passes" else value - 1
    if field == "expires":
        return "2999-01-01T00:00:00Z"
    return "cd" * 32


@pytest.mark.parametrize(("named", "field"), CHANGES)
def test_every_field_is_derived_anew_and_a_difference_is_named(
    desk_with_one: tuple[People, dict[str, Any]], tmp_path: Path, named: str, field: str
) -> None:
    """A colleague's tool lied in one field, and the colleague signed it."""
    people, body = desk_with_one
    forged = honest(people, body)
    here: Any = forged["predicate"]
    *parents, last = field.split("/")
    for part in parents:
        here = here[int(part)] if isinstance(here, list) else here[part]
    here[last] = other(here.get(last), field)
    path = tmp_path / "forged.dsse.json"
    path.write_bytes(people.forged(forged, "alice"))
    said = people.add("bob", path)
    assert said.code in (20, 30), said
    assert named in said.err, said.err
    assert standing(people) == []


def honest(people: People, body: dict[str, Any]) -> dict[str, Any]:
    """What this very desk would sign now, as a document that can be spoilt."""
    if not hasattr(people, "body"):
        copy = people.copied(people.door.root.parent / "copy")
        copy.sign("alice")
        people.body = copy.payload(1)  # type: ignore[attr-defined]
    whole: dict[str, Any] = json.loads(json.dumps(people.body))  # type: ignore[attr-defined]
    assert whole.keys() == body.keys()
    return whole


def test_an_honest_decision_from_a_copy_is_signed_and_kept(people: People, tmp_path: Path) -> None:
    """A colleague's backup of this store: their first signature, ours behind it, and back again."""
    colleague = people.copied(tmp_path / "colleague")
    assert colleague.sign("alice").code == 30
    path = people.decisions / colleague.file(1).name
    path.parent.mkdir(exist_ok=True)
    shutil.copy(colleague.file(1), path)  # it comes with version control
    said = people.door.run("decisions", "list")
    assert "elsewhere" in said.out
    assert people.door.run("doctor").code == 0
    assert people.add("bob").code == 0
    assert standing(people) == [(1, "PROMOTE", "signed", "alice, bob")]
    people.door.healthy()
    shutil.copy(people.file(1), colleague.file(1))  # and goes back
    assert colleague.door.run("doctor").code == 0
    assert standing(colleague) == [(1, "PROMOTE", "pending", "alice")]
    assert colleague.door.run("decisions", "take", colleague.file(1)).code == 0
    assert standing(colleague) == [(1, "PROMOTE", "signed", "alice, bob")]
    colleague.door.healthy()
    assert colleague.verify().code == 0


def test_what_came_in_meanwhile_refuses_the_second_signature(people: People) -> None:
    people.sign("alice")
    more = passing(candidate_id=V8, attempt=4)
    assert people.door.take("more.jsonl", [more], "--suite", TWO).code == 0
    said = people.add("bob")
    assert said.code == 20, said
    assert "predicate.report.digest.sha256" in said.err
    assert standing(people) == [(1, "PROMOTE", "pending", "alice")]
    assert people.sign("bob").code == 30  # a decision of one's own, on what stands now
    assert people.add("alice", 2).code == 0


def test_a_label_that_came_in_meanwhile_is_seen(people: People) -> None:
    people.sign("alice")
    desk = people.door.desk()
    desk.opened.reviewer = "dana"
    session = desk.labels.session(TWO, V8, V7)
    item = desk.labels.next_item(session)
    assert item is not None
    from labelers import drafted

    desk.labels.record(session, drafted(item, "left"))
    desk.close()
    said = people.add("bob")
    assert said.code == 20, said
    assert "predicate.labels." in said.err
    said = people.sign("bob")
    labels = people.payload(2)["predicate"]["labels"]
    assert labels["labelers"] == ["dana"]
    assert (labels["treeSize"], len(labels["merkleRoot"])) == (1, 64)


def test_a_label_from_another_tool_is_signed_with_the_rest_and_makes_nobody_a_labeler(
    people: People,
) -> None:
    door = people.door
    with contextlib.closing(sqlite3.connect(door.store)) as base, base:
        base.execute(
            "INSERT INTO attempt_name SELECT 'trace:t', max(t.id) FROM trace t JOIN candidate c"
            " ON c.id=t.candidate JOIN suite s ON s.id=c.suite WHERE s.suite_id=?"
            " AND c.candidate_id=?",
            (TWO, V8),
        )
    score = {
        "id": "s", "traceId": "t", "name": "right", "value": 0, "source": "ANNOTATION",
        "authorUserId": "alice",
    }  # fmt: skip
    path = door.file("scores.json", json.dumps([score]))
    given = ("--from", "langfuse", "--suite", TWO, "--map", "right=accurate:0=2")
    door.ok("labels", "import", path, *given)
    people.sign("alice")
    labels = people.payload(1)["predicate"]["labels"]
    assert (labels["labelers"], labels["count"], labels["treeSize"]) == ([], 0, 1)


def test_of_those_who_sign_one_has_not_labeled(people: People) -> None:
    from labelers import drafted

    for name in ("alice", "bob"):
        desk = people.door.desk()
        desk.opened.reviewer = name
        session = desk.labels.session(TWO, V8, V7)
        item = desk.labels.next_item(session)
        assert item is not None
        desk.labels.record(session, drafted(item, "left"))
        desk.close()
    people.sign("alice")
    said = people.add("bob")
    assert said.code == 30, said
    assert "every approver also labeled" in said.err
    assert people.verify().code == 30
    assert people.add("carol").code == 0
    assert people.verify().code == 0


def test_two_halves_are_not_made_of_one_decision(people: People) -> None:
    people.sign("alice")
    said = people.sign("bob")
    assert said.code == 30, said
    assert "reviewer sign --add 1" in said.err
    assert people.sign("bob", "--environment", "staging").code == 30
    assert [row[:3] for row in standing(people)] == [
        (1, "PROMOTE", "pending"), (2, "PROMOTE", "pending"),
    ]  # fmt: skip


def test_a_block_needs_one_and_wins_over_what_came_before(people: People) -> None:
    people.sign("alice")
    people.add("bob")
    assert people.verify().code == 0
    said = people.sign("carol", "--decision", "BLOCK", "--comment", "incident 7")
    assert said.code == 10, said
    said = people.verify()
    assert (said.code, said.out.splitlines()[-1]) == (10, "BLOCK")
    assert "comment: incident 7" in said.out
    assert people.verify(people.file(1)).code == 0  # the file alone cannot know
    assert people.verify(people.file(1), "--min-seq", 2).code == 30
    people.sign("carol", "--environment", "staging")
    assert people.payload(3)["predicate"]["previousDecision"] is None  # another line of decisions
    assert people.verify("", "--environment", "production").code == 10
    assert people.verify("", "--environment", "staging").code == 30  # one of two
    people.add("alice", 3)
    assert people.verify("", "--environment", "staging").code == 0
    assert people.verify().code == 30  # which environment is meant must be said
    before = people.payload(2)["predicate"]["previousDecision"]["digest"]["sha256"]
    assert before == people.door.one("SELECT payload_sha256 FROM decision WHERE number=1")


def test_a_promotion_for_another_environment_is_none_for_production(people: People) -> None:
    people.sign("alice", "--environment", "staging")
    people.add("bob")
    for what in (people.file(1), people.decisions):
        said = people.verify(what)
        assert said.code == 30, said
        assert "policy not met: it is for staging, and no environment was named" in said.out
        assert said.out.splitlines()[-1] == "NOT VERIFIED"
        assert people.verify(what, "--environment", "production").code == 30
        assert people.verify(what, "--environment", "staging").code == 0


def test_a_block_on_another_version_leaves_this_one_be(people: People) -> None:
    people.sign("alice")
    people.add("bob")
    people.sign("alice", candidate=V7)
    said = people.verify()
    assert said.code == 0, said
    assert "note: decision 2 on shopflow-refund-agent@7.0.0 came later: BLOCK" in said.out
    assert people.verify(candidate=V7).code == 10


def test_a_decision_taken_out_of_the_folder_is_missed(people: People) -> None:
    people.sign("alice")
    people.add("bob")
    people.sign("carol", "--decision", "BLOCK", "--comment", "incident 7")
    people.sign("alice")
    people.add("bob", 3)
    assert people.verify().code == 0
    people.file(2).unlink()
    said = people.verify()
    assert said.code == 30, said
    assert "is not in this folder" in said.out


def test_the_workspaces_policy_binds_whoever_forges_a_lower_one(people: People) -> None:
    """One approver with a tool of their own says that one approval is enough."""
    people.sign("alice")
    body = people.payload(1)
    body["predicate"]["approvals"]["threshold"] = 1
    people.file(1).write_bytes(people.forged(body, "alice"))
    assert people.verify(people.file(1)).code == 0
    suite = people.door.root / "suites" / TWO
    assert people.verify(people.file(1), "--suite-folder", suite).code == 30
    assert people.verify(people.file(1), "--threshold", 2).code == 30
    assert people.door.run("doctor").code == 20


def test_an_expired_decision_takes_no_signature(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datetime as real

    people.sign("alice")

    class Later(real.datetime):
        @classmethod
        def now(cls, tz: real.tzinfo | None = None) -> "Later":
            later = real.datetime.now(tz) + real.timedelta(days=8)
            return cls.fromtimestamp(later.timestamp(), tz)

    monkeypatch.setattr("reviewer.desk.decisions.signing.datetime", Later)
    said = people.add("bob")
    assert said.code == 30, said
    assert "expired" in said.err


@pytest.mark.parametrize(
    "argv",
    [
        ("sign", "--add", "1"),
        ("sign", "--add", "1", "--key", "k", "--signature", "s"),
        ("sign", "--add", "1", "--key", "k", "--decision", "BLOCK"),
        ("sign", "--candidate", V8),
        ("sign", "--candidate", V8, "--signature", "s"),
        ("sign", "--add", "99", "--key", "{alice}"),
    ],
)
def test_usage_that_cannot_be_meant_is_said(people: People, argv: tuple[str, ...]) -> None:
    said = people.door.run(*(one.format(alice=people.key("alice")) for one in argv))
    assert said.code == 2, said


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b"\xff\xfe\x00"])
def test_a_file_that_is_no_decision_is_not_signed(people: People, content: bytes) -> None:
    said = people.add("bob", people.door.file("x.dsse.json", content))
    assert said.code == 20, said
    assert "internal" not in said.err
    assert people.door.run("decisions", "take", people.door.root / "x.dsse.json").code == 20


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_a_signature_made_by_ssh_keygen_elsewhere_is_added(people: People) -> None:
    """As somebody does whose key is in another machine, or in hardware."""
    people.sign("alice")
    out = people.door.root / "out"
    people.door.ok("decisions", "export", 1, out)
    namespace = "agent-release-decision@reviewer.dev"
    for wrong in ("file", namespace):
        subprocess.run(
            ["ssh-keygen", "-q", "-Y", "sign", "-n", wrong, "-f", people.key("bob"), "payload.pae"],
            cwd=out,
            check=True,
            capture_output=True,
        )
        said = people.door.run("sign", "--add", 1, "--signature", out / "payload.pae.sig")
        assert said.code == (0 if wrong == namespace else 20), said
        (out / "payload.pae.sig").unlink()
    assert standing(people) == [(1, "PROMOTE", "signed", "alice, bob")]
    assert people.verify().code == 0
    people.door.ok("decisions", "export", 1, out)
    assert sorted(path.name for path in out.iterdir()) == [
        "alice.pem", "alice.sigstore.json", "alice.ssh-ed25519.sig", "allowed_signers",
        "bob.pae.sig", "candidate.json", "decision.dsse.json", "payload.json", "payload.pae",
        "verification-summary.json",
    ]  # fmt: skip


def test_a_row_that_was_changed_by_hand_is_seen_before_anything_is_signed(people: People) -> None:
    people.sign("alice")
    with contextlib.closing(sqlite3.connect(people.door.store)) as base, base:
        base.execute("UPDATE decision SET standing='signed'")
    assert people.door.run("doctor").code == 20
    said = people.add("bob")
    assert said.code == 20, said
    with contextlib.closing(sqlite3.connect(people.door.store)) as base, base:
        base.execute("UPDATE decision SET standing='pending'")
        base.execute("DELETE FROM signature")
    assert people.door.run("doctor").code == 20
    assert people.add("bob").code == 20


def test_a_store_of_before_there_were_two_people_is_brought_up_to_date(people: People) -> None:
    """One signature of two, and one decision that one person signs."""
    people.sign("alice")
    people.sign("carol", candidate=V7)
    as_before(people.door, "007_two_people")
    assert people.door.run("decisions", "list").code == 0
    assert standing(people) == [
        (1, "PROMOTE", "pending", "alice"), (2, "BLOCK", "signed", "carol"),
    ]  # fmt: skip
    people.door.healthy()
    assert people.add("bob").code == 0


def test_the_baseline_that_was_compared_with_is_bound(people: People) -> None:
    """A report is compared with the last promoted candidate, and so is whoever signs second."""
    people.sign("alice")
    people.add("bob")
    folder = people.door.root / "suites" / TWO / "candidates"
    body = json.loads((folder / f"{V8}.json").read_bytes())
    v9 = {**body, "candidate_id": "refund-agent-v9", "version": "9.0.0"}
    (folder / "refund-agent-v9.json").write_text(json.dumps(v9))
    records = [
        {**one, "candidate_id": "refund-agent-v9", "latency_ms": one["latency_ms"] + 3}
        for one in shipped(V8)
    ]
    assert people.door.take("v9.jsonl", records, "--suite", TWO).code == 0
    assert people.sign("alice", candidate="refund-agent-v9").code == 30
    assert people.payload(2)["predicate"]["report"]["baseline"] == V8
    assert people.add("bob", 2).code == 0
    assert people.verify(candidate="refund-agent-v9").code == 0
    previous = people.payload(2)["predicate"]["previousDecision"]["digest"]["sha256"]
    assert previous == people.door.one("SELECT payload_sha256 FROM decision WHERE number=1")


def test_what_has_expired_waits_no_more(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    import datetime as real

    people.sign("alice")

    class Later(real.datetime):
        @classmethod
        def now(cls, tz: real.tzinfo | None = None) -> "Later":
            later = real.datetime.now(tz) + real.timedelta(days=8)
            return cls.fromtimestamp(later.timestamp(), tz)

    desk = people.door.desk()
    assert desk.decisions.view(TWO, V8).pending is not None
    monkeypatch.setattr("reviewer.desk.decisions.payload.datetime", Later)
    view = desk.decisions.view(TWO, V8)
    desk.close()
    assert view.pending is None
    assert [choice.decision for choice in view.choices] == ["PROMOTE", "BLOCK", "REPAIR"]
    assert people.sign("bob").code == 30
    assert [row[0] for row in standing(people)] == [1, 2]


def test_numbers_go_on_above_what_others_signed(people: People, tmp_path: Path) -> None:
    """On a journal of their own: a colleague who has the suites and imports the same traces."""
    colleague = people.copied(tmp_path / "colleague")
    for left in colleague.door.store.parent.glob("review.db*"):
        left.unlink()
    scratch = passing(candidate_id="scratch")
    assert colleague.door.take("scratch.jsonl", [scratch], "--suite", SUITE).code == 0
    colleague.door.ok("import", colleague.door.suite / "traces", "--suite", TWO)
    first = "SELECT hash FROM journal WHERE seq=1"
    assert colleague.door.one(first) != people.door.one(first)
    colleague.sign("alice")
    colleague.add("bob")
    colleague.sign("carol", "--decision", "BLOCK", "--comment", "incident 7")
    people.decisions.mkdir(exist_ok=True)
    for path in colleague.decisions.glob("*.dsse.json"):
        shutil.copy(path, people.decisions / path.name)
    assert people.verify().code == 10
    assert people.sign("alice").code == 30
    assert [row[0] for row in standing(people)] == [3]
    assert people.verify().code == 10  # one signature takes no block back
    people.add("carol", 3)
    assert people.verify().code == 0
    said = people.door.run("decisions", "take", *colleague.decisions.glob("*.dsse.json"))
    assert said.code == 0, said
    assert [row[0] for row in standing(people)] == [1, 2, 3]
    people.door.healthy()


def test_a_copy_of_the_store_that_signed_on_its_own_stops_this_one(
    people: People, tmp_path: Path
) -> None:
    """Two copies of one journal, both signed on: neither knows what the other's decision stands
    on."""
    colleague = people.copied(tmp_path / "colleague")
    colleague.sign("alice")
    colleague.add("bob")
    colleague.sign("carol", "--decision", "BLOCK", "--comment", "incident 7")
    people.decisions.mkdir(exist_ok=True)
    for path in colleague.decisions.glob("*.dsse.json"):
        shutil.copy(path, people.decisions / path.name)
    assert people.door.run("doctor").code == 20
    said = people.sign("alice")
    assert said.code == 20, said
    assert "copy of it signed this" in said.err
    assert people.door.run("decisions", "take", people.file(1)).code == 0
    said = people.door.run("decisions", "take", people.file(2))
    assert said.code == 20, said  # it stands on an entry that this journal never had
    assert people.sign("alice").code == 20
    people.door.ok("loss", "--key", people.key("alice"), "--reason", "carol signed on a copy")
    assert [row[:2] for row in standing(people)] == [(1, "PROMOTE"), (2, "BLOCK")]
    assert people.sign("alice").code == 30
    assert people.add("bob", 3).code == 0
    said = people.verify()
    assert said.code == 0, said
    people.door.healthy()


def test_one_person_in_two_spellings_is_one_approver(people: People) -> None:
    people.join("alice-2", "approver", "Alice@shop.example")
    assert people.sign("alice").code == 30
    said = people.add("alice-2")
    assert said.code == 30, said
    assert "counted once: Alice@shop.example, who is alice in another spelling" in said.both
    assert people.verify().code == 30
    assert people.add("bob").code == 0
    assert people.verify().code == 0
