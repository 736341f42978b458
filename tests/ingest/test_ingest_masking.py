"""What an added detector finds is masked in every suite, and judges where the suite names it."""

import contextlib
import json
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from doors import SHIPPED, SUITE, Door, copied, every_byte, opened, passing, shipped

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trace"))

from secret_corpus import texts

from reviewer.trace.rules import BASIC

TOKEN = "gsk_0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijAB"
LATER = {
    "token": TOKEN,
    "credential": "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ip": "93.184.216.34",
    "disguised": "ref_4111111111111111_x",
}
RAW = {**LATER, "credential": "wJalrXUtnFEMI/K7MDENG", "disguised": "4111111111111111"}
ADDRESS = LATER["ip"]
TRACE = f"{SUITE}/cand-a/damaged-221/1"


def noted(number: int, raw: str, **changes: Any) -> dict[str, Any]:
    record = passing(attempt=number, nonce=number, **changes)
    record["events"][1]["observation"] = {"list": [{"deep": f"see {raw} there"}]}
    return record


def of_each() -> list[dict[str, Any]]:
    return [noted(number, raw) for number, raw in enumerate(LATER.values(), 1)]


def refrozen(door: Door, suite_id: str, change: Any, *, beside: bool = False) -> None:
    """The shipped suite under another name, changed and frozen, in its place or beside it."""
    folder = door.root / "suites" / suite_id
    shutil.copytree(SHIPPED / "episodes", folder / "episodes")
    shutil.copy(SHIPPED / "toolset.json", folder)
    suite = json.loads((SHIPPED / "suite.json").read_bytes())
    suite["suite_id"] = suite_id
    change(suite, folder)
    (folder / "suite.json").write_text(json.dumps(suite))
    door.ok("suite", "freeze", suite_id)
    if not beside:
        shutil.rmtree(door.root / "suites" / SUITE)


def payloads(door: Door) -> bytes:
    with contextlib.closing(sqlite3.connect(door.store)) as base:
        return b"".join(opened(base, "pack"))


def nothing_raw(door: Door, said: str, raws: Any) -> None:
    kept = every_byte(door.root / "store")
    for raw in raws:
        assert raw not in said
        assert raw.encode() not in kept


def test_a_suite_frozen_before_keeps_its_verdict_and_the_trace_is_kept_masked(door: Door) -> None:
    said = door.take("t.jsonl", of_each())
    assert said.code == 0, said
    assert door.rows("SELECT attempt, passed, critical FROM traces ORDER BY 1") == [
        (number, 1, 0) for number in range(1, 5)
    ]
    for number, kind in enumerate(LATER, 1):
        shown = door.ok("show", f"{TRACE[:-1]}{number}", "--json")
        assert f"[REDACTED:{kind}]".encode() in every_byte(door.root / "store")
        assert json.loads(shown.out)["payload"] is True
        nothing_raw(door, said.both + shown.both, RAW.values())
    door.healthy()
    again = door.take("again.jsonl", of_each())
    assert again.code == 0
    assert door.one("SELECT count(*) FROM trace") == 4
    assert door.rows("SELECT * FROM revision") == []


@pytest.mark.parametrize("kind", LATER)
def test_a_suite_frozen_with_it_fails_critically(door: Door, kind: str) -> None:
    def named(suite: dict[str, Any], folder: Path) -> None:
        suite["redaction"]["detectors"] = [*BASIC, kind]

    refrozen(door, "named-v1", named)
    said = door.take("t.jsonl", of_each())
    rows = door.rows("SELECT attempt, passed, critical FROM traces ORDER BY 1")
    assert rows == [(n, int(name != kind), int(name == kind)) for n, name in enumerate(LATER, 1)]
    place = f"named-v1/cand-a/damaged-221/{1 + list(LATER).index(kind)}"
    assert door.codes(place)[0].startswith("unredacted:")
    nothing_raw(door, said.both, RAW.values())


def test_another_suite_that_names_it_does_not_judge_this_one(door: Door) -> None:
    def named(suite: dict[str, Any], folder: Path) -> None:
        suite["redaction"]["detectors"] = ["token", "ip"]
        suite["episodes"] = ["other-1"]
        for path in (folder / "episodes").iterdir():
            contract = json.loads(path.read_bytes())
            path.unlink()
        (folder / "episodes" / "other-1.json").write_text(
            json.dumps({**contract, "episode_id": "other-1"})
        )

    refrozen(door, "named-v1", named, beside=True)
    assert door.take("t.jsonl", of_each()).code == 0
    assert door.rows("SELECT suite_id, critical FROM traces") == [(SUITE, 0)] * 4
    bad = {**noted(1, TOKEN), "episode_id": "other-1"}
    door.take("bad.jsonl", [bad])
    assert door.rows("SELECT critical FROM traces WHERE suite_id='named-v1'") == [(1,)]


def excluding(suite: dict[str, Any], folder: Path) -> None:
    path = folder / "episodes" / "damaged-221.json"
    contract = json.loads(path.read_bytes())
    contract["expected"]["message_excludes"] = [ADDRESS]
    path.write_text(json.dumps(contract))


def test_what_was_found_before_masking_is_not_lost_by_scoring_again(door: Door) -> None:
    """The contract forbids to name an address; of the stored text nobody could tell any more."""
    refrozen(door, "quiet-v1", excluding)
    record = passing(final_message=f"It is at {ADDRESS}.")
    record["events"] = record["events"][:-1]
    said = door.take("t.jsonl", [record])
    trace = TRACE.replace(SUITE, "quiet-v1")
    before = door.codes(trace)
    assert any(code.startswith("message_forbidden") for code in before), before
    assert door.rows("SELECT passed FROM traces") == [(0,)]
    scored = door.ok("score")
    assert door.codes(trace) == before
    assert ADDRESS not in said.both + scored.both
    assert ADDRESS.encode() not in payloads(door)  # the contract holds it, the trace does not
    door.healthy()


def test_a_merge_keeps_what_was_found_before_masking(
    door: Door, tmp_path: Path, empty_template: Path
) -> None:
    there = copied(empty_template, tmp_path / "there")
    for one in (door, there):
        refrozen(one, "quiet-v1", excluding)
    record = passing(final_message=f"It is at {ADDRESS}.")
    record["events"] = record["events"][:-1]
    there.take("t.jsonl", [record, noted(2, TOKEN)])
    door.take("first.jsonl", [noted(3, "nothing")])
    door.ok("merge", there.store)
    trace = TRACE.replace(SUITE, "quiet-v1")
    assert door.codes(trace) == there.codes(trace)
    assert door.rows("SELECT attempt, passed FROM traces ORDER BY 1") == [(1, 0), (2, 1), (3, 1)]
    rows = door.rows("SELECT * FROM trace")
    door.ok("merge", there.store)
    assert door.rows("SELECT * FROM trace") == rows
    nothing_raw(door, "", [TOKEN])
    assert ADDRESS.encode() not in payloads(door)
    door.healthy()


def test_a_store_from_before_knows_the_same_record_again(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was kept raw then and is masked now is neither a contradiction nor another attempt."""
    with monkeypatch.context() as then:
        then.setattr("reviewer.trace.rules.Rules.masking", property(lambda self: self.detectors))
        then.setattr("reviewer.trace.redaction._redactor", _fresh())
        door.take("a.jsonl", of_each())
    assert ADDRESS.encode() in every_byte(door.root / "store")
    changed = [{**record, "source": {"note": "exported again"}} for record in of_each()]
    door.take("a.jsonl", [*of_each(), passing(attempt=9, nonce=9)])
    door.take("b.jsonl", of_each())
    assert door.one("SELECT count(*) FROM trace") == 5
    assert door.rows("SELECT passed FROM traces") == [(1,)] * 5
    assert changed
    door.healthy()


def _fresh() -> Any:
    from reviewer.trace.redaction import Redactor

    return Redactor


def test_a_candidate_named_by_an_address_is_refused(door: Door) -> None:
    said = door.take("t.jsonl", [noted(1, "nothing", candidate_id=f"agent at {ADDRESS}")])
    assert said.code == 20
    assert "unredacted:candidate_id" in door.run("quarantine", "show").both
    nothing_raw(door, said.both, [ADDRESS])


def test_nothing_of_the_corpus_reaches_the_store(door: Door) -> None:
    held = list(texts(seed=5, rounds=2))
    assert len(held) >= 500
    private = [noted(number, one.text) for number, one in enumerate(held, 1)]
    chats = [{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant",
              "content": one.text}]} for one in held]  # fmt: skip
    said = door.take("t.jsonl", private).both + door.take("chats.jsonl", chats).both
    assert door.one("SELECT count(*) FROM trace") == 2 * len(held)
    out = door.root / "out"
    door.run("--export-report", out, "--suite", SUITE, "--candidate", "cand-a")
    said += "".join(path.read_text() for path in out.iterdir())
    said += door.run("quarantine", "show").both + door.run("sources", "--json").both
    kept = every_byte(door.root / "store")
    left = [one.kind for one in held if any(raw in said or raw.encode() in kept for raw in one.raw)]
    assert left == []
    door.healthy()


def test_a_run_is_judged_by_what_it_did_and_kept_masked(door: Door) -> None:
    """The shipped records pass as they did, with a secret beside what the contract reads."""
    records = shipped("refund-agent-v8")
    for record in records:
        record["events"][0]["observation"] = f"token={TOKEN}"
    before = door.take("a.jsonl", shipped("refund-agent-v8"), "--candidate", "refund-agent-v8")
    rows = door.rows("SELECT episode_id, attempt, passed, critical FROM traces ORDER BY 1, 2")
    assert before.code == 0
    other = [{**record, "candidate_id": "cand-b"} for record in records]
    door.take("b.jsonl", other)
    mine = door.rows(
        "SELECT episode_id, attempt, passed, critical FROM traces WHERE candidate_id='cand-b'"
        " ORDER BY 1, 2"
    )
    assert mine == rows
    nothing_raw(door, "", [TOKEN])
