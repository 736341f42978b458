"""A release of several suites: one report, and one decision over all of them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, Said
from people import TWO, People

from reviewer.report.release import STRICTNESS, SuiteResult, release_report
from reviewer.signing.release import STRICTNESS as SIGNED_STRICTNESS
from reviewer.suite.release import Release, ReleasedSuite


@pytest.fixture
def people(full: Door) -> People:
    """Both candidates on two suites; the second wants two approvers."""
    return People(full)


def plan(*suites: dict[str, Any], candidate: str = V8) -> dict[str, Any]:
    return {
        "schema": "reviewer/release@1",
        "release_id": "autumn",
        "candidate_id": candidate,
        "suites": list(suites),
    }


def write(door: Door, body: object, name: str = "release.json") -> Path:
    return door.file(name, json.dumps(body))


BOTH = ({"suite_id": SUITE}, {"suite_id": TWO})


def exported(door: Door, body: object, code: int) -> dict[str, Any]:
    file = write(door, body)
    said = door.run("--export-report", door.root / "out", "--release", file, "--json")
    assert said.code == code, said
    found: dict[str, Any] = json.loads(said.out)
    kept = (door.root / "out" / "release-report.json").read_bytes()
    assert json.loads(kept) == found
    return found


def verified(people: People, *more: object) -> Said:
    door = people.door
    return door.run(
        "verify", people.decisions, "--signers", door.root / "store" / "signers",
        "--candidate-manifest", door.suite / "candidates" / f"{V8}.json", *more,
    )  # fmt: skip


def test_every_gate_promotes(people: People) -> None:
    found = exported(people.door, plan(*BOTH), 0)
    assert (found["recommendation"], found["reasons"]) == ("promote", [])
    assert [(one["suite_id"], one["recommendation"]) for one in found["suites"]] == [
        (SUITE, "promote"),
        (TWO, "promote"),
    ]
    report = json.loads((people.door.root / "out" / TWO / "report.json").read_bytes())
    assert [one["reason"] for one in report["suite"]["lineage"]] == [
        "judged together in release autumn"
    ]
    text = (people.door.root / "out" / "release-report.md").read_text()
    assert text.startswith(f"# PROMOTE: {V8}, release autumn\n")


def test_alone_the_other_suite_needs_a_reason(people: People) -> None:
    """Being in a release explains a second suite to that release only."""
    exported(people.door, plan(*BOTH), 0)
    out = people.door.root / "alone"
    alone = people.door.run("--export-report", out, "--suite", TWO, "--candidate", V8)
    assert alone.code == 10
    assert f"a reason why {V8} was also run on {SUITE}" in alone.out


def test_a_suite_named_as_a_probe_still_needs_a_reason(people: People) -> None:
    """Else a suite that the candidate fails would be excused by calling it a probe."""
    found = exported(people.door, plan({"suite_id": SUITE}, {"suite_id": TWO, "role": "probe"}), 10)
    assert (found["recommendation"], found["suites"][0]["recommendation"]) == ("hold", "hold")


def test_a_gate_that_blocks_blocks_the_release(people: People) -> None:
    found = exported(people.door, plan({"suite_id": SUITE}, {"suite_id": TWO}, candidate=V7), 10)
    assert found["recommendation"] == "block"
    assert {reason.partition(": ")[0] for reason in found["reasons"]} == {SUITE, TWO}


def test_a_probe_blocks_for_a_critical_failure_only() -> None:
    def one(role: Any, recommendation: Any, critical: int) -> SuiteResult:
        return SuiteResult(
            suite_id=role, suite_digest="d", role=role, candidate_id="c", candidate_digest=None,
            baseline_id=None, recommendation=recommendation, reasons=("why",), critical=critical,
            failing=critical, report_sha256="r",
        )  # fmt: skip

    good = one("gate", "promote", 0)
    for recommendation in ("hold", "repair", "block"):
        held = release_report("r", "d", "c", [good, one("probe", recommendation, 0)])
        assert (held.recommendation, held.reasons) == ("promote", ())
    bad = release_report("r", "d", "c", [good, one("probe", "block", 2)])
    assert bad.recommendation == "block"
    assert bad.reasons == ("probe: critical failure in 2 attempts of a probe",)
    for at, recommendation in enumerate(STRICTNESS):
        for other in STRICTNESS[: at + 1]:
            worst = release_report(
                "r", "d", "c", [one("gate", recommendation, 0), one("gate", other, 0)]
            )
            assert worst.recommendation == recommendation
    assert STRICTNESS == SIGNED_STRICTNESS


def test_a_probe_whose_gates_are_not_measured_says_so_beside_its_count(full: Door) -> None:
    path = full.root / "runs.json"
    talk = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "done"}]
    path.write_text(
        json.dumps([{"task_id": "a", "reward": 1.0, "info": {}, "traj": talk, "trial": 0}])
    )
    full.ok("import", path, "--candidate", V8)
    probe = full.one("SELECT suite_id FROM traces WHERE suite_id LIKE 'tau-bench%'")
    found = exported(full, plan({"suite_id": SUITE}, {"suite_id": probe, "role": "probe"}), 0)
    told = {one["suite_id"]: one.get("critical_not_measured") for one in found["suites"]}
    assert told == {SUITE: None, probe: 1}
    markdown = (full.root / "out" / "release-report.md").read_text()
    assert "| 0 (up to 1 not measured) |" in markdown


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (plan({"suite_id": SUITE, "role": "probe"}), "no suite with the role `gate`"),
        (plan({"suite_id": SUITE}, {"suite_id": SUITE}), SUITE),
        (plan({"suite_id": SUITE, "weight": 2}), "unknown key `weight`"),
        (plan(), "$.suites"),
        ({**plan(*BOTH), "release_id": ""}, "$.release_id"),
        ("[]", "release.json"),
        (plan({"suite_id": "nowhere"}), "nowhere"),
        (plan({"suite_id": SUITE}, {"suite_id": TWO, "candidate_id": "who"}), "who"),
    ],
)
def test_what_is_no_release_is_refused_with_its_place(
    people: People, body: object, reason: str
) -> None:
    file = write(people.door, body)
    said = people.door.run("--export-report", people.door.root / "out", "--release", file)
    assert said.code != 0
    assert reason in said.err
    assert not (people.door.root / "out" / "release-report.json").exists()


def test_one_decision_is_about_one_agent_and_its_authors(people: People) -> None:
    door = people.door
    said = door.run(
        "--export-report", door.root / "out", "--release",
        write(door, plan({"suite_id": SUITE}, {"suite_id": TWO, "candidate_id": V7})),
    )  # fmt: skip
    assert said.code == 20
    assert "a decision is about one agent and version" in said.err


@pytest.mark.parametrize("name", ["model", "config", "prompts"])
def test_one_decision_is_about_one_model_and_its_prompts(people: People, name: str) -> None:
    door, other = people.door, "refund-agent-other"
    manifest = json.loads((door.suite / "candidates" / f"{V8}.json").read_bytes())
    prompt = [{"name": "system", "version": "8", "sha256": "0" * 64}]
    changed = {"model": "a-better-model", "config": {"temperature": 1}, "prompts": prompt}[name]
    body = {**manifest, "candidate_id": other, name: changed}
    (door.root / "suites" / TWO / "candidates" / f"{other}.json").write_text(json.dumps(body))
    records = [
        {**json.loads(line), "candidate_id": other, "latency_ms": 77}
        for line in (door.suite / "traces" / f"{V8}.jsonl").read_bytes().splitlines()
    ]
    door.take("other.jsonl", records, "--suite", TWO)
    file = write(door, plan({"suite_id": SUITE}, {"suite_id": TWO, "candidate_id": other}))
    out = door.root / "out"
    said = door.run("--export-report", out, "--release", file)
    assert said.code == 20, said
    assert f"say differently of {name}: a decision is about one agent" in said.err
    assert door.run("sign", "--release", file, "--key", people.key("alice")).code == 20
    # Only a critical failure counts on a probe, whichever of the agent's models made it.
    seen = plan({"suite_id": SUITE}, {"suite_id": TWO, "candidate_id": other, "role": "probe"})
    assert door.run("--export-report", out, "--release", write(door, seen)).code != 20


def test_one_signature_over_all_suites(people: People) -> None:
    """The second suite wants two approvers, so the release does."""
    door, file = people.door, write(people.door, plan(*BOTH))
    signed = door.run("sign", "--release", file, "--key", people.key("alice"))
    assert signed.code == 30, signed
    assert verified(people).code == 30
    added = door.run("sign", "--add", 1, "--key", people.key("bob"))
    assert added.code == 0, added
    whole = verified(people, "--release", file)
    assert whole.code == 0, whole
    assert "release autumn of 2 suites: promote" in whole.out
    other = write(door, {**plan(*BOTH), "release_id": "winter"}, "other.json")
    assert verified(people, "--release", other).code == 30
    door.healthy()


def test_a_decision_on_a_release_is_shown_on_each_of_its_suites(people: People) -> None:
    door = people.door
    file = write(door, plan(*BOTH))
    door.run("sign", "--release", file, "--key", people.key("alice"))
    door.run("sign", "--add", "1", "--key", people.key("bob"))

    def shown() -> dict[tuple[str, str], str | None]:
        desk = door.desk()
        try:
            rows, _ = desk.workspace.all_candidates()
            return {(info.suite_id, one.candidate_id): one.decided for info, one in rows}
        finally:
            desk.close()

    said = "PROMOTE in release autumn, alice, bob"
    both = {(SUITE, V8): said, (TWO, V8): said}
    assert shown() == {**both, (SUITE, V7): None, (TWO, V7): None}
    later = door.run("sign", "--suite", TWO, "--candidate", V8, "--decision", "BLOCK",
        "--comment", "one suite alone", "--key", people.key("alice"))  # fmt: skip
    assert later.code == 10, later
    assert shown()[TWO, V8] == "BLOCK, alice"
    assert shown()[SUITE, V8] == said


def test_a_decision_on_one_suite_is_none_on_the_release(people: People) -> None:
    door = people.door
    door.ok("suite", "lineage", SUITE, TWO, "--reason", "a second round")
    door.ok("sign", "--suite", SUITE, "--candidate", V8, "--key", people.key("alice"))
    assert verified(people).code == 0
    said = verified(people, "--release", write(door, plan(*BOTH)))
    assert said.code == 30
    assert "not about the requested release" in said.out


def test_promote_cannot_be_signed_when_one_suite_is_against_it(people: People) -> None:
    """A trace of v8 with a forbidden call on the second suite only."""
    door = people.door
    body = json.loads((door.suite / "traces" / f"{V8}.jsonl").read_bytes().splitlines()[0])
    body["attempt"] = 9
    call = next(event for event in body["events"] if event["kind"] == "tool_call")
    call["tool"] = "issue_refund"
    door.take("bad.jsonl", [body], "--suite", TWO)
    assert "forbidden:issue_refund" in door.codes(f"{TWO}/{V8}/damaged-221/9")
    file = write(door, plan(*BOTH))
    said = door.run("sign", "--release", file, "--decision", "PROMOTE", "--key", people.key("bob"))
    assert said.code == 10, said
    assert f"{TWO}: " in said.err
    blocked = door.run("sign", "--release", file, "--key", people.key("bob"))
    assert (blocked.code, verified(people).code) == (10, 10), blocked
    assert " BLOCK " in verified(people).out


def test_each_suite_of_a_release_is_pinned_by_the_folder_of_suites(
    people: People, tmp_path: Path
) -> None:
    door = people.door
    file = write(door, plan(*BOTH))
    assert door.run("sign", "--release", file, "--key", people.key("alice")).code == 30
    assert people.add("bob").code == 0
    suites = door.root / "suites"
    pinned = verified(people, "--release", file, "--suite-folder", suites)
    assert (pinned.code, verified(people, "--release", file).code) == (0, 0), pinned
    assert "nothing pins what is in them" in verified(people, "--release", file).err
    # The pipeline knows another suite under the id of the second.
    known = Door(tmp_path / "known")
    shutil.copytree(suites / SUITE, known.root / "suites" / SUITE)
    (known.root / "store").mkdir()
    head = known.suite / "suite.json"
    body = json.loads(head.read_bytes())
    body["policy"]["approvals"]["promote"] = 3
    before = head.read_bytes()
    head.write_text(json.dumps(body))
    known.ok("suite", "freeze", SUITE, "--as", TWO)
    head.write_bytes(before)
    said = verified(people, "--release", file, "--suite-folder", known.root / "suites")
    assert said.code == 30
    assert f"suite {TWO}: the suite's digest is " in said.out
    assert "2 of 3 approvals" in said.out
    one = verified(people, "--release", file, "--suite-folder", suites / SUITE)
    assert (one.code, "is one suite, and a release has several" in one.err) == (2, True)
    lacking = verified(people, "--release", file, "--suite-folder", tmp_path)
    assert lacking.code == 20, lacking


def forged(people: People, change: Any) -> Said:
    """A decision whose statement was changed and signed again by a trusted key."""
    door = people.door
    door.run("sign", "--release", write(door, plan(*BOTH)), "--key", people.key("alice"))
    body = people.payload(1)
    body["predicate"]["approvals"]["threshold"] = 1
    change(body["predicate"])
    file = door.file("forged.dsse.json", people.forged(body, "alice"))
    return door.run(
        "verify", file, "--signers", door.root / "store" / "signers",
        "--candidate-manifest", door.suite / "candidates" / f"{V8}.json",
    )  # fmt: skip


def _second(name: str, value: Any) -> Any:
    def change(predicate: dict[str, Any]) -> None:
        predicate["release"]["suites"][1][name] = value

    return change


@pytest.mark.parametrize(
    ("change", "code", "reason"),
    [
        (lambda predicate: None, 0, "PROMOTE"),
        (_second("failureCount", 1), 30, f"suite {TWO}: 1 failing trace"),
        (_second("gates", []), 30, f"suite {TWO}: gates: the hard gate"),
        (_second("frozenAtSeq", None), 30, f"suite {TWO}: the journal entry that froze"),
        (_second("name", SUITE), 20, "a suite is named twice"),
        (_second("role", "probe"), 20, "predicate.release.digest"),
        (
            lambda predicate: predicate["release"]["suites"][1]["report"].update(
                recommendation="block"
            ),
            20,
            "predicate.release.recommendation: must be block",
        ),
        (
            lambda predicate: predicate["release"]["suites"].reverse(),
            20,
            "the first gate has another suite",
        ),
    ],
)
def test_the_verifier_derives_the_release_again(
    people: People, change: Any, code: int, reason: str
) -> None:
    said = forged(people, change)
    assert said.code == code, said
    assert reason in said.out


def test_the_digest_of_a_release_binds_every_member() -> None:
    def digest(**changes: Any) -> str:
        suites = (ReleasedSuite(suite_id="a"), ReleasedSuite(suite_id="b", **changes))
        return Release(release_id="r", candidate_id="c", suites=suites).digest

    assert digest(candidate_id="c") == digest()  # what is left out is the release's own
    changed = {
        digest(),
        digest(role="probe"),
        digest(candidate_id="d"),
        digest(baseline_id="e"),
    }
    assert len(changed) == 4
