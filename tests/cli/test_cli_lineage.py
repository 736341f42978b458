"""A suite that is changed after a failure, and passed then, must show."""

import json
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, shipped

EASY = "refund-easy"


@pytest.fixture
def edited(full: Door) -> Door:
    """v7 fails refund-eval-v5; the episode that it fails is made easier, and v7 runs again."""
    path = full.suite / "episodes" / "attack-014.json"
    episode = json.loads(path.read_bytes())
    episode["budget"]["max_steps"] = 99
    path.write_text(json.dumps(episode))
    full.ok("suite", "freeze", SUITE, "--as", EASY)
    records = [
        {**record, "candidate_id": name, "latency_ms": record["latency_ms"] + more}
        for name, more in ((V7, 1), (V8, 2))
        for record in shipped(V8)
    ]
    assert full.take("again.jsonl", records, "--suite", EASY).code == 0
    return full


def report(door: Door, suite: str, candidate: str) -> tuple[int, dict[str, Any]]:
    out = door.root / "out"
    said = door.run("--export-report", out, "--suite", suite, "--candidate", candidate)
    return said.code, json.loads((out / "report.json").read_bytes())


def explain(door: Door, reason: str = "the step budget was a mistake") -> None:
    door.ok("suite", "lineage", EASY, SUITE, "--reason", reason)


def test_a_candidate_that_met_another_suite_is_held_without_a_reason(edited: Door) -> None:
    code, found = report(edited, EASY, V7)
    assert (code, found["recommendation"]) == (10, "hold")
    (met,) = found["suite"]["lineage"]
    assert (met["suite_id"], met["attempts"], met["passes"], met["reason"]) == (SUITE, 9, 6, None)
    assert any(f"reviewer suite lineage {EASY} {SUITE}" in need for need in found["needs"])
    explain(edited)
    code, found = report(edited, EASY, V7)
    assert (code, found["recommendation"]) == (0, "promote")
    (met,) = found["suite"]["lineage"]
    assert met["reason"] == "the step budget was a mistake"
    text = (edited.root / "out" / "report.md").read_text()
    assert "the step budget was a mistake" in text
    assert "6 of 9 passed" in text


def test_a_reason_holds_both_ways_and_the_last_word_counts(edited: Door) -> None:
    assert report(edited, SUITE, V8)[0] == 10
    explain(edited)
    explain(edited, "its budget was that of another episode")
    code, found = report(edited, SUITE, V8)
    assert code == 0
    assert found["suite"]["lineage"][0]["reason"] == "its budget was that of another episode"
    said = edited.ok("suite", "lineage", SUITE, "--json")
    (met,) = json.loads(said.out)
    assert (met["suite_id"], met["attempts"]) == (EASY, 18)


def test_it_is_part_of_the_decision_and_bound_to_the_journal(edited: Door) -> None:
    from people import key_file

    key = key_file(edited.root, "robin")
    edited.ok("keys", "trust", "robin", key.with_suffix(".pub"))
    sign = ("sign", "--suite", EASY, "--candidate", V8, "--key", key, "--decision", "PROMOTE")
    assert edited.run(*sign).code == 10
    explain(edited)
    assert edited.run(*sign).code == 0
    (path,) = (edited.root / "store" / "decisions").glob("*.dsse.json")
    from reviewer.signing.dsse import parse_envelope

    suite = json.loads(parse_envelope(path.read_bytes()).payload)["predicate"]["suite"]
    digests = {row[0] for row in edited.rows("SELECT digest FROM suite")}
    assert set(suite["lineage"]) == digests
    (given,) = suite["lineageReasons"]
    assert (given["name"], given["reason"]) == (SUITE, "the step budget was a mistake")
    assert suite["frozenAtSeq"] < suite["firstRunSeq"]
    said = edited.run(
        "verify", path, "--candidate-manifest", edited.suite / "candidates" / f"{V8}.json",
        "--signers", edited.root / "store" / "signers",
        "--suite-folder", edited.root / "suites" / EASY,
    )  # fmt: skip
    assert said.code == 0, said
    assert f"note: also run on the suite {SUITE}" in said.out
    edited.healthy()


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        ((EASY, SUITE), 2),
        ((EASY, "--reason", "x"), 2),
        ((EASY, SUITE, "--reason", " "), 2),
        ((EASY, SUITE, "--reason", "x" * 2000), 2),
        ((EASY, EASY, "--reason", "x"), 20),
        ((EASY, "nothing", "--reason", "x"), 20),
        (("nothing",), 20),
    ],
)
def test_what_explains_nothing_is_refused(edited: Door, argv: tuple[str, ...], code: int) -> None:
    said = edited.run("suite", "lineage", *argv)
    assert said.code == code, said
    assert report(edited, EASY, V7)[0] == 10


def test_a_suite_alone_has_no_lineage(full: Door) -> None:
    code, found = report(full, SUITE, V8)
    assert (code, found["suite"]["lineage"]) == (0, [])
    assert full.ok("suite", "lineage", SUITE, "--json").out.strip() == "[]"
