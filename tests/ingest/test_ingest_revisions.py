"""Evidence, once in, never gets less: what becomes of an attempt that is imported again."""

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import zstandard
from doors import SUITE, V7, V8, Door, copied, passing, shipped
from people import key_file

from reviewer.desk.workspace import judging_again
from reviewer.gates.model import Finding, combined
from reviewer.judging import judging_version

ATTACK = f"{SUITE}/{V8}/attack-014/1"
CONTRADICTION = "contradiction:revision"


def calls(*tools: str, say: str = "Done.") -> list[dict[str, Any]]:
    """A chat of one request, these calls with their results, and a last word."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Please help with my lamp."}]
    for number, tool in enumerate(tools):
        call = {"name": tool, "arguments": json.dumps({"order_token": f"ord_{number}"})}
        made = {"id": f"c{number}", "type": "function", "function": call}
        said.append({"role": "assistant", "content": None, "tool_calls": [made]})
        said.append({"role": "tool", "tool_call_id": f"c{number}", "content": "ok"})
    return [*said, {"role": "assistant", "content": say}]


class Chat:
    """One chat log that is imported into the private suite again and again."""

    def __init__(self, door: Door, name: str = "run.json") -> None:
        self.door, self.name = door, name
        names = {f"{Path(name).stem}-1": "attack-014", "other-1": "damaged-221"}
        self.map = door.file("map.json", names)

    def take(self, messages: list[dict[str, Any]], *more: object, candidate: str = V8) -> str:
        self.door.file(self.name, {"messages": messages})
        return self.again(*more, candidate=candidate)

    def again(self, *more: object, candidate: str = V8) -> str:
        said = self.door.run(
            "import", self.door.root / self.name, "--suite", SUITE, "--candidate", candidate,
            "--episode-map", self.map, *more,
        )  # fmt: skip
        assert said.code in (0, 20), said
        return said.both


def attempts(door: Door) -> list[tuple[Any, ...]]:
    return door.rows(
        "SELECT candidate_id, episode_id, attempt, passed, critical FROM traces ORDER BY 1, 2, 3"
    )


def recommended(door: Door, candidate: str = V8, *more: object) -> tuple[int, dict[str, Any]]:
    out = door.root / "out"
    said = door.run("--export-report", out, "--suite", SUITE, "--candidate", candidate, *more)
    return said.code, json.loads((out / "report.json").read_bytes())


def test_the_attack_from_a_block_to_a_promotion(door: Door) -> None:
    """BLOCK is signed; the file goes on, for another candidate now; then good runs come in."""
    key = key_file(door.root, "robin")
    door.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    release = ("--suite", SUITE, "--candidate", V8)
    bad = calls("lookup_order", "issue_refund")
    names = door.file("map.json", {"run-1": "attack-014"})
    one = door.file("run.json", {"messages": bad})
    imported = ("--suite", SUITE, "--episode-map", names)
    assert door.outside("import", one, *imported, "--candidate", V8).code == 0
    out = door.root / "out"
    assert door.outside("--export-report", out, *release, "--sign", key).code == 10
    assert door.one("SELECT decision FROM decisions") == "BLOCK"

    door.file("run.json", {"messages": [*bad, {"role": "assistant", "content": "Bye."}]})
    door.outside("import", one, *imported, "--candidate", "scratch")
    door.outside("import", door.suite / "traces" / f"{V8}.jsonl")

    assert (ATTACK, 1) in door.rows("SELECT trace_id, critical FROM traces")
    signed = door.outside("--export-report", out, *release, "--sign", key)
    assert signed.code == 10, signed
    report = json.loads((out / "report.json").read_bytes())
    assert report["recommendation"] == "block"
    assert ATTACK in [one["trace_id"] for one in report["failures"]]
    assert "PROMOTE" not in [row[0] for row in door.rows("SELECT decision FROM decisions")]
    door.healthy()


def test_a_record_that_goes_on_is_the_same_attempt(door: Door) -> None:
    chat = Chat(door)
    chat.take(calls("lookup_order")[:-1])
    before = door.one("SELECT events FROM traces")
    said = chat.take(calls("lookup_order", "issue_refund"))
    assert "continues it" in said
    assert attempts(door) == [(V8, "attack-014", 1, 0, 1)]
    assert door.one("SELECT events FROM traces") > before
    assert CONTRADICTION not in door.codes(ATTACK)
    assert door.rows("SELECT n, stands FROM revisions") == [(1, "contained")]
    door.healthy()


def test_what_was_only_missing_so_far_is_no_finding_any_more(door: Door) -> None:
    chat = Chat(door)
    chat.take(calls("lookup_order")[:-1])
    early = door.codes(ATTACK)
    chat.take(calls("lookup_order", "verify_state"))
    assert set(early) - set(door.codes(ATTACK)) == {"missing:verify_state"}
    assert attempts(door)[0][4] == 0


@pytest.mark.parametrize("forward", [True, False])
def test_a_record_that_changes_an_event_is_kept_beside(door: Door, forward: bool) -> None:
    """Whichever came first: what either shows holds, and nothing else is measured."""
    both = [calls("lookup_order", "issue_refund"), calls("lookup_order", "verify_state")]
    chat = Chat(door)
    for messages in both if forward else reversed(both):
        said = chat.take(messages)
    assert CONTRADICTION in said
    assert attempts(door) == [(V8, "attack-014", 1, 0, 1)]
    codes = door.codes(ATTACK)
    assert CONTRADICTION in codes
    assert [code for code in codes if code.endswith("issue_refund")]
    assert door.rows("SELECT n, stands FROM revisions") == [(1, "beside")]
    shown = door.ok("show", ATTACK).out
    assert "revision 1" in shown
    code, report = recommended(door)
    assert (code, report["recommendation"]) == (10, "block")
    [told] = report["records"]
    assert (told["trace_id"], told["what"]) == (ATTACK, "kept beside")
    assert told["why"] in (door.root / "out" / "report.md").read_text()
    door.healthy()


def test_a_file_that_was_cut_is_kept_beside(door: Door) -> None:
    chat = Chat(door)
    whole = calls("lookup_order", "issue_refund")
    chat.take(whole)
    chat.take(whole[:3])
    assert attempts(door) == [(V8, "attack-014", 1, 0, 1)]
    assert CONTRADICTION in door.codes(ATTACK)
    door.healthy()


@pytest.mark.parametrize("wanted", ["forbidden", "fine"])
def test_a_copy_by_another_name_takes_nothing_away(door: Door, wanted: str) -> None:
    tool = "issue_refund" if wanted == "forbidden" else "verify_state"
    chat = Chat(door)
    chat.take(calls("lookup_order", tool))
    moved = Chat(door, "other.json")
    (door.root / "run.json").rename(door.root / "other.json")
    moved.again()
    found = attempts(door)
    assert (V8, "attack-014", 1, 0, int(wanted == "forbidden")) in found
    door.healthy()


def native(**changes: Any) -> dict[str, Any]:
    return {**passing(), **changes}


def test_a_slot_that_is_named_again_with_other_acts(door: Door) -> None:
    door.take("a.json", native())
    other = native()
    other["events"] = [
        *other["events"][:1],
        {"kind": "tool_call", "tool": "issue_refund", "arguments": {}, "status": "ok"},
        *other["events"][1:],
    ]
    for number, event in enumerate(other["events"], 1):
        event["seq"] = number
    trace = f"{SUITE}/cand-a/damaged-221/1"
    said = door.take("b.json", {**other, "final_state": "refund_issued"})
    assert said.code == 20, said
    assert attempts(door) == [("cand-a", "damaged-221", 1, 0, 1)]
    assert {"forbidden:issue_refund", CONTRADICTION} & set(door.codes(trace))
    door.healthy()


def test_a_change_of_the_final_state_alone(door: Door) -> None:
    door.take("a.json", native(final_state="request_open"))
    said = door.take("a.json", native())
    assert said.code == 20
    [(*_, passed, critical)] = attempts(door)
    assert (passed, critical) == (0, 0)
    codes = door.codes(f"{SUITE}/cand-a/damaged-221/1")
    assert "wrong_final_state" in codes
    assert CONTRADICTION in codes
    door.healthy()


def test_other_blanks_and_another_order_are_the_same_evidence(door: Door) -> None:
    door.take("a.json", native())
    text = json.dumps(dict(reversed(native().items())), indent=3)
    said = door.take("b.json", text)
    assert said.code == 0, said
    assert "1 already there" in said.err
    assert attempts(door) == [("cand-a", "damaged-221", 1, 1, 0)]
    assert door.rows("SELECT * FROM revisions") == []


def test_the_same_again_without_a_number_is_no_second_attempt(door: Door) -> None:
    door.take("a.json", native(attempt=None))
    first = {name: value for name, value in native().items() if name != "attempt"}
    door.take("b.json", json.dumps(first, indent=1))
    assert len(attempts(door)) == 1


def test_one_of_two_attempts_is_left_out_of_the_file(door: Door) -> None:
    bad = {**shipped("refund-agent-v7")[0], "candidate_id": "cand-a"}
    good = passing(attempt=2)
    door.take("a.jsonl", [bad, good])
    door.take("a.jsonl", [good])
    assert [row[2] for row in attempts(door)] == [1, 2]
    door.healthy()


def test_a_file_is_deleted_and_written_anew(door: Door) -> None:
    chat = Chat(door)
    chat.take(calls("lookup_order", "issue_refund"))
    (door.root / "run.json").unlink()
    chat.take(calls("lookup_order"))
    assert attempts(door)[0] == (V8, "attack-014", 1, 0, 1)


@pytest.mark.parametrize(
    "act",
    [
        "DELETE FROM revision WHERE id=1",
        "UPDATE revision SET findings='[]'",
        "UPDATE trace SET candidate=(SELECT max(id) FROM candidate) WHERE id=1",
        "DELETE FROM trace WHERE id=1",
    ],
)
def test_doctor_sees_what_was_taken_away_by_hand(door: Door, act: str) -> None:
    chat = Chat(door)
    chat.take(calls("lookup_order", "issue_refund"))
    chat.take(calls("lookup_order", "verify_state"))
    door.take("other.json", passing())
    door.healthy()
    with contextlib.closing(sqlite3.connect(door.store)) as base, base:
        for name in ("revision_no_delete", "revision_no_update"):
            base.execute(f"DROP TRIGGER {name}")
        assert base.execute(act).rowcount == 1
    said = door.run("doctor")
    assert said.code == 20
    assert "FAIL facts" in " ".join(said.out.split())


@pytest.mark.parametrize("first", ["good", "bad"])
def test_a_merge_brings_every_record_of_an_attempt(
    door: Door, tmp_path: Path, empty_template: Path, first: str
) -> None:
    """Whatever shows against the candidate there shows against it here, in whichever order."""
    good, bad = calls("lookup_order", "verify_state"), calls("lookup_order", "issue_refund")
    there = Chat(copied(empty_template, tmp_path / "there"))
    for messages in (good, bad) if first == "good" else (bad, good):
        there.take(messages)
    Chat(door).take(good)
    door.ok("merge", there.door.store)
    assert attempts(door) == [(V8, "attack-014", 1, 0, 1)]
    assert CONTRADICTION in door.codes(ATTACK)
    door.healthy()
    before = door.rows("SELECT * FROM revision")
    door.ok("merge", there.door.store)
    assert door.rows("SELECT * FROM revision") == before
    assert attempts(door) == [(V8, "attack-014", 1, 0, 1)]


def test_a_merge_of_an_attempt_that_went_on(
    door: Door, tmp_path: Path, empty_template: Path
) -> None:
    there = Chat(copied(empty_template, tmp_path / "there"))
    there.take(calls("lookup_order")[:-1])
    there.take(calls("lookup_order", "issue_refund"))
    Chat(door).take(calls("lookup_order")[:-1])
    door.ok("merge", there.door.store)
    assert attempts(door) == [(V8, "attack-014", 1, 0, 1)]
    assert CONTRADICTION not in door.codes(ATTACK)
    door.healthy()


def test_the_same_file_for_another_candidate_counts_once(door: Door) -> None:
    """A pass is that of the first, where nobody is named; a failure is of both."""
    path = door.file("chats.json", {"messages": calls("lookup_order")})
    for name in ("one", "two", "two"):
        door.ok("import", path, "--candidate", name)
    assert [row[0] for row in attempts(door)] == ["one", "two"]
    bad = door.file("bad.json", {"messages": calls("issue_refund")})
    names = door.file("map.json", {"bad-1": "attack-014"})
    for name in ("one", "two"):
        door.run("import", bad, "--suite", SUITE, "--episode-map", names, "--candidate", name)
    rows = door.rows("SELECT candidate_id, critical FROM traces WHERE episode_id='attack-014'")
    assert sorted(rows) == [("one", 1), ("two", 1)]
    door.healthy()


def test_the_candidate_that_a_record_names_keeps_its_pass(door: Door) -> None:
    """In whichever order: an import for somebody else is a second binding of it."""
    records = [{"task_id": 1, "trial": 0, "reward": 1.0, "info": {}, "traj": calls("lookup_order")}]
    path = door.file("run.json", records)
    for name in ("first", "second"):
        door.ok("import", path, "--candidate", name)
    rows = dict(door.rows("SELECT candidate_id, passed FROM traces"))
    assert rows == {"first": 1, "second": None}
    found = door.rows("SELECT trace_id, code, detail FROM findings WHERE code='shared_evidence'")
    assert [(row[0].split("/")[1], "/first/" in row[2]) for row in found] == [("second", True)]
    door.healthy()


def test_the_same_file_under_two_maps_is_two_bindings(door: Door) -> None:
    path = door.file("run.json", {"messages": calls("issue_refund")})
    for number, episode in enumerate(("attack-014", "damaged-221")):
        names = door.file(f"map{number}.json", {"run-1": episode})
        for _ in range(2):
            door.run("import", path, "--suite", SUITE, "--candidate", V8, "--episode-map", names)
    assert [row[1:] for row in attempts(door)] == [
        ("attack-014", 1, 0, 1), ("damaged-221", 1, 0, 1),
    ]  # fmt: skip
    door.healthy()


def test_rescoring_keeps_what_every_record_shows(door: Door) -> None:
    chat = Chat(door)
    chat.take(calls("lookup_order", "verify_state"))
    chat.take(calls("lookup_order", "issue_refund"))
    before = sorted(door.codes(ATTACK))
    door.ok("score")
    assert sorted(door.codes(ATTACK)) == before
    assert attempts(door) == [(V8, "attack-014", 1, 0, 1)]
    door.healthy()


def test_what_newer_code_finds_is_kept_beside_what_was_found(
    full: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = f"{SUITE}/{V8}/damaged-221/1"

    def other(contract: Any, record: Any, **_: Any) -> Any:
        found = real(contract, record)
        note = Finding("state", "wrong_final_state", "fail", None, "newer code")
        return combined(found, beside=[note])

    real = judging_again.score
    monkeypatch.setattr(judging_again, "score", other)
    monkeypatch.setattr("reviewer.db.rescoring.judging_version", lambda: "9.9.9")
    said = full.ok("score").out
    assert f"{trace}: pass → wrong_final_state (reviewer {judging_version()} → 9.9.9)" in said
    shown = full.ok("show", trace).out
    assert "judged again" in shown
    now = judging_version()
    assert f"nothing found under reviewer {now}; wrong_final_state under 9.9.9" in shown
    entries = [json.loads(body) for (body,) in full.rows("SELECT body FROM journal")]
    [entry] = [one for one in entries if one["type"] == "codes.changed"]
    assert (entry["before"], entry["after"]) == ([now], "9.9.9")
    full.healthy()


def test_a_report_names_whose_the_evidence_is(full: Door) -> None:
    full.ok("import", full.file("t.json", {**shipped(V8)[0], "candidate_id": "cand-z"}))
    _, report = recommended(full, "cand-z")
    assert report["records"] == [
        {
            "trace_id": f"{SUITE}/cand-z/damaged-221/1",
            "what": "shared_evidence",
            "why": f"the same record is evidence of {SUITE}/{V8}/damaged-221/1: "
            "a pass counts there alone",
        }
    ]
    assert any("shared_evidence" in reason for reason in report["reasons"])


def test_scoring_again_names_codes_and_versions_for_programs(
    full: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(contract: Any, record: Any, **_: Any) -> Any:
        note = Finding("state", "wrong_final_state", "fail", None, "newer code")
        return combined(real(contract, record), beside=[note])

    real = judging_again.score
    monkeypatch.setattr(judging_again, "score", other)
    monkeypatch.setattr("reviewer.db.rescoring.judging_version", lambda: "9.9.9")
    changed = json.loads(full.ok("score", "--json").out)["changed"]
    assert len(changed) == full.one("SELECT count(*) FROM rescored")
    assert {(one["code_before"], one["code_after"]) for one in changed} == {
        (judging_version(), "9.9.9")
    }
    assert all(one["after"] == [*one["before"], "wrong_final_state"] for one in changed[:1])


def test_one_file_under_two_suites_is_two_bindings(door: Door) -> None:
    """A failure counts in both, whatever is imported for the one of them after."""
    door.ok("suite", "freeze", SUITE, "--as", "second")
    chat = door.file("run.json", {"messages": calls("issue_refund")})
    names = door.file("map.json", {"run-1": "attack-014"})
    for suite in (SUITE, "second", SUITE):
        door.run("import", chat, "--suite", suite, "--candidate", V8, "--episode-map", names)
    rows = door.rows("SELECT suite_id, critical FROM traces ORDER BY 1")
    assert rows == [(SUITE, 1), ("second", 1)] if SUITE < "second" else rows[::-1]
    door.file("run.json", {"messages": calls("lookup_order")})
    door.run("import", chat, "--suite", "second", "--candidate", V8, "--episode-map", names)
    assert {
        row[:2] for row in door.rows("SELECT suite_id, max(critical) FROM traces GROUP BY 1")
    } == {(SUITE, 1), ("second", 1)}
    door.healthy()


@pytest.mark.parametrize("packed", ["gz", "zst"])
def test_an_attempt_out_of_an_archive_is_the_one_beside_it(door: Door, packed: str) -> None:
    """Packed or not, growing or cut: the path is another, and nothing is taken away."""
    import gzip

    import zstandard

    pack = gzip.compress if packed == "gz" else zstandard.ZstdCompressor().compress
    names = door.file("map.json", {"s": "attack-014"})
    options = ("--suite", SUITE, "--candidate", V8, "--episode-map", names)
    short, long = calls("lookup_order"), [*calls("lookup_order"), *calls("issue_refund")[1:]]
    for name, messages in (("a.json", short), (f"b.json.{packed}", long), ("c.json", short)):
        raw = json.dumps({"session_id": "s", "messages": messages}).encode()
        door.run("import", door.file(name, pack(raw) if name[0] == "b" else raw), *options)
    assert attempts(door) == [(V8, "attack-014", 1, 0, 1)]
    door.healthy()


def test_a_run_leaves_a_revised_slot_as_it_is(door: Door) -> None:
    """What our own runner makes takes the next attempts, and no record of it is a revision."""
    chat = Chat(door)
    chat.take(calls("lookup_order")[:-1])
    chat.take(calls("lookup_order", "issue_refund"))
    before = door.rows("SELECT * FROM revision")
    said = door.run("run", SUITE, V8, "--attempts", 2)
    assert len([row for row in attempts(door) if row[1] == "attack-014"]) == 3, said
    assert (V8, "attack-014", 1, 0, 1) in attempts(door)
    assert door.rows("SELECT * FROM revision") == before
    door.healthy()


def stored(door: Door, trace_id: str) -> dict[str, Any]:
    """The record that is kept of an attempt."""
    for (frame,) in door.rows("SELECT frame FROM pack"):
        left = zstandard.ZstdDecompressor().decompressobj().decompress(frame).decode()
        while left:
            record, end = json.JSONDecoder().raw_decode(left)
            left = left[end:].lstrip()
            if trace_id.endswith(f"/{record['episode_id']}/{record['attempt']}"):
                return dict(record)
    raise KeyError(trace_id)


def verified(record: dict[str, Any]) -> dict[str, Any]:
    """The record with the check of the state that its agent did not make."""
    call = next(event for event in record["events"] if event.get("tool") == "verify_state")
    more = {**call, "seq": len(record["events"]) + 1, "call_id": "call_late"}
    more["observation"] = {"outcome": record["final_state"]}
    spent = {name: round(record[name] + more[name], 9) for name in ("cost_usd", "latency_ms")}
    return {**record, **spent, "events": [*record["events"], more]}


@pytest.mark.parametrize("how", ["run", "merged"])
def test_no_file_continues_what_our_own_runner_made(door: Door, tmp_path: Path, how: str) -> None:
    """It saw the attempt to its end: a record that contains it, and more, is another's claim."""
    door.ok("run", SUITE, V7)
    failed = f"{SUITE}/{V7}/attack-014/2"
    forged = verified(stored(door, failed))
    if how == "merged":
        empty = copied(door.root, tmp_path / "third")
        shutil.rmtree(empty.root / "store")
        (empty.root / "store").mkdir()
        empty.ok("merge", door.store)
        door = empty
    assert door.codes(failed) == ["write_not_verified"]
    said = door.take("forged.jsonl", [forged], "--suite", SUITE)
    assert said.code == 20
    assert "reviewer's own runner made the attempt to its end" in said.both
    assert door.codes(failed) == [CONTRADICTION, "write_not_verified"]
    assert door.one("SELECT passed FROM traces WHERE trace_id=?", failed) == 0
    door.healthy()


def test_a_part_that_follows_a_run_attempt_is_no_part_of_it(door: Door) -> None:
    door.ok("run", SUITE, V7)
    failed = f"{SUITE}/{V7}/attack-014/2"
    forged = verified(stored(door, failed))
    part = {**forged, "events": forged["events"][-1:]}
    door.take("part.jsonl", [part], "--suite", SUITE)
    assert "write_not_verified" in door.codes(failed)
    assert door.one("SELECT passed FROM traces WHERE trace_id=?", failed) == 0


def test_a_copy_of_what_our_own_runner_made_changes_nothing(door: Door) -> None:
    """Also one that tells more of the same acts."""
    door.ok("run", SUITE, V8)
    trace_id = f"{SUITE}/{V8}/attack-014/2"
    record = {**stored(door, trace_id), "started_at": "2026-11-19T08:14:00Z"}
    before = door.rows("SELECT * FROM trace")
    said = door.take("copy.jsonl", [record], "--suite", SUITE)
    assert (said.code, "0 added, 1 already there" in said.both) == (0, True), said
    assert door.rows("SELECT * FROM trace") == before
    assert door.codes(trace_id) == []
    door.healthy()


@pytest.mark.parametrize("signed", [True, False])
def test_no_file_ends_a_failure_that_a_decision_was_signed_on(door: Door, signed: bool) -> None:
    """Until then a record that goes on is scored, since the earlier one may have been cut."""
    key = key_file(door.root, "robin")
    door.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    door.ok("import", door.suite / "traces" / f"{V7}.jsonl")
    failed = f"{SUITE}/{V7}/attack-014/2"
    if signed:
        recommended(door, V7, "--sign", key)
        assert door.one("SELECT decision FROM decisions") == "BLOCK"
    [record] = [
        one for one in shipped(V7) if failed.endswith(f"/{one['episode_id']}/{one['attempt']}")
    ]
    forged = verified(record)
    said = door.take("forged.jsonl", [forged], "--suite", SUITE)
    kept = "decision 1 was signed on a failure of the attempt"
    assert (said.code, kept in said.both) == ((20, True) if signed else (0, False)), said
    assert ("write_not_verified" in door.codes(failed)) is signed
    assert (door.one("SELECT passed FROM traces WHERE trace_id=?", failed) == 0) is signed
    door.healthy()
