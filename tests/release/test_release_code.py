"""What ran is bound: the code of a program, from its run to the verifier of its decision."""

import importlib.util
import json
import py_compile
import sqlite3
from pathlib import Path

import pytest
from doors import SUITE, V8, Door
from lamps import AGENT, SUITE_ID, Lamp, reasons, signed, verified

from reviewer.running import attempt
from reviewer.running.measure import Begun
from reviewer.running.model import Task
from reviewer.running.sandbox.protection import protection
from reviewer.signing.dsse import parse_envelope


def test_a_pinned_program_is_promoted_and_its_code_is_in_every_rendering(door: Door) -> None:
    lamp = Lamp(door)
    digest = lamp.pin()
    lamp.run()
    report = lamp.report()
    assert report["recommendation"] == "promote", report["reasons"]
    ran = report["ran"]
    assert (ran["bound"], ran["not_bound"], ran["changed"]) == (2, 0, 0)
    assert ran["codes"] == [{"sha256": digest, "files": 1, "pinned": True, "attempts": 2}]
    (one,) = ran["measurements"]
    assert one["interpreter"]["name"] == "python3"
    assert (one["approvals"], one["network"], one["seed"]) == ("deny", False, 0)
    assert one["platform"].startswith("Linux ")
    for file in (door.root / "out").iterdir():
        assert digest[:12] in file.read_text(encoding="utf-8"), file.name
    door.healthy()


def test_a_manifest_that_pins_no_code_holds(door: Door) -> None:
    lamp = Lamp(door)
    lamp.run()
    said = reasons(lamp.report())
    assert "candidates/lamp-agent.json: it pins no code, and 2 attempts ran what lay there" in said


def test_another_code_than_the_manifest_pins_does_not_run(door: Door) -> None:
    lamp = Lamp(door)
    digest = lamp.pin()
    lamp.agent.write_text(AGENT + "# edited\n", encoding="utf-8")
    said = door.run("run", SUITE_ID, "lamp-agent")
    assert said.code != 0
    assert f"expected {digest}" in said.both
    assert "runner.code_sha256" in said.both


@pytest.mark.skipif(protection().kind == "none", reason="nothing is isolated here")
def test_a_cache_cannot_stand_in_for_the_source(door: Door, tmp_path: Path) -> None:
    """It is not measured, and Python would take it for the module without looking at the source."""
    lamp = Lamp(door)
    text = AGENT.replace("import json, sys", "import json, sys\nfrom words import WORDS")
    lamp.agent.write_text(text.replace('"It is mended."', "WORDS"), encoding="utf-8")
    source = lamp.agent.with_name("words.py")
    source.write_text("WORDS = 'It is mended.'\n", encoding="utf-8")
    other = tmp_path / "words.py"
    other.write_text("WORDS = 'I was never measured.'\n", encoding="utf-8")
    py_compile.compile(
        str(other),
        cfile=importlib.util.cache_from_source(str(source)),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    digest = lamp.pin()
    lamp.run()
    report = lamp.report()
    assert [one["sha256"] for one in report["ran"]["codes"]] == [digest]
    said = door.ok("show", f"{SUITE_ID}/lamp-agent/lamp/1").out
    assert "It is mended." in said
    assert "never measured" not in said


def test_two_codes_by_resuming_after_an_edit_hold(door: Door) -> None:
    lamp = Lamp(door)
    lamp.run("--attempts", 1)
    lamp.agent.write_text(AGENT + "# edited\n", encoding="utf-8")
    lamp.run("--resume", "--attempts", 2)
    report = lamp.report()
    assert "one code: 2 codes ran as lamp-agent" in reasons(report)
    assert [one["attempts"] for one in report["ran"]["codes"]] == [1, 1]


def test_a_script_replaced_while_an_attempt_runs_holds(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    lamp = Lamp(door)
    measure, edits = attempt.changed_code, iter([AGENT + "# edited\n"])

    def edited(task: Task, first: Begun) -> str | None:
        """The attempt has ended, and somebody has edited the script meanwhile."""
        for text in edits:
            lamp.agent.write_text(text, encoding="utf-8")
        return measure(task, first)

    monkeypatch.setattr(attempt, "changed_code", edited)
    lamp.run("--jobs", 1)
    report = lamp.report()
    assert "it changed during 1 attempt of lamp-agent" in reasons(report)
    assert report["ran"]["changed"] == 1


def imported(lamp: Lamp) -> None:
    """Two records that call themselves the runner's, and are no more bound for that."""
    digest = lamp.door.ok("suite", "start-digest", SUITE_ID, "lamp").out.strip()
    records = [
        {
            "candidate_id": "lamp-agent",
            "episode_id": "lamp",
            "attempt": n,
            "events": [{"tool": "fix", "arguments": {}}],
            "final_state": "mended",
            "final_message": "It is mended.",
            "start_state_digest": digest,
            "cost_usd": 0.01,
            "latency_ms": n,
            "source": {"runner": "reviewer run", "ran": {"code": {"sha256": "0" * 64}}},
        }
        for n in (1, 2)
    ]
    lamp.door.take("lamp.jsonl", records, "--suite", SUITE_ID, "--candidate", "lamp-agent")


NOT_BOUND = "code not bound in 2 of 2 attempts"


def test_imported_attempts_say_so_and_hold_nothing(door: Door) -> None:
    lamp = Lamp(door)
    imported(lamp)
    report = lamp.report()
    assert report["recommendation"] == "promote", report["reasons"]
    assert any(text.startswith(f"ran: {NOT_BOUND}") for text in report["not_measured"])
    assert (report["ran"]["bound"], report["ran"]["not_bound"]) == (0, 2)


def test_imported_attempts_hold_where_the_policy_requires_bound_code(door: Door) -> None:
    lamp = Lamp(door, code_bound="required")
    imported(lamp)
    assert "code of 2 of 2 attempts (code not bound" in reasons(lamp.report())


def test_measurements_travel_with_a_merged_store(door: Door, tmp_path: Path) -> None:
    lamp = Lamp(door)
    digest = lamp.pin()
    lamp.run()
    there = tmp_path / "there.db"
    door.ok("backup", there)
    door.store.unlink()
    door.ok("merge", there)
    assert [one["sha256"] for one in lamp.report()["ran"]["codes"]] == [digest]
    door.healthy()


def test_an_edited_measurement_contradicts_the_journal(door: Door) -> None:
    lamp = Lamp(door)
    lamp.run()
    with sqlite3.connect(door.store) as base:
        base.execute("UPDATE ran SET body = CAST(replace(body, 'false', 'true ') AS BLOB)")
    said = door.run("doctor")
    assert said.code != 0
    assert "not match its journal" in said.both or "journal" in said.both


def test_a_script_replaced_after_signing_is_seen_by_the_verifier(door: Door) -> None:
    lamp = Lamp(door)
    digest = lamp.pin()
    lamp.run()
    file = signed(door, SUITE_ID, "lamp-agent")
    predicate = json.loads(parse_envelope(file.read_bytes()).payload)["predicate"]
    found = {one["name"]: one["digest"]["sha256"] for one in predicate["resolvedDependencies"]}
    assert found["code"] == digest
    assert "interpreter python3" in found
    parameters = predicate["internalParameters"]
    assert (parameters["attemptsBound"], parameters["codePinned"]) == (2, True)
    assert len(predicate["byproducts"]) == 1
    manifest = lamp.folder / "candidates" / "lamp-agent.json"
    for folder in (lamp.folder, lamp.folder / "candidates"):
        said = verified(door, file, manifest, "--candidate-folder", folder)
        assert (said.code, said.out.splitlines()[-1]) == (0, "PROMOTE"), said
        assert f"code {digest}" in said.out.splitlines()
    lamp.agent.write_text("import os\n", encoding="utf-8")
    said = verified(door, file, manifest, "--candidate-folder", lamp.folder)
    assert (said.code, said.out.splitlines()[-1]) == (30, "NOT VERIFIED")
    assert f"and {digest} ran" in said.out
    assert verified(door, file, manifest).code == 0, "without the folder nothing is compared"
    said = verified(door, file, manifest, "--candidate-folder", door.root)
    assert said.code == 2
    assert "candidates/" in said.err
    report = door.root / "report.json"
    lamp.agent.write_text(AGENT, encoding="utf-8")
    lamp.report()
    report = door.root / "out" / "report.json"
    assert verified(door, file, manifest, "--report", report).code == 0


def test_a_decision_on_imported_attempts_binds_no_code(door: Door) -> None:
    door.ok("import", door.suite / "traces")
    file = signed(door, SUITE, V8)
    manifest = door.suite / "candidates" / f"{V8}.json"
    said = verified(door, file, manifest)
    assert said.code == 0
    assert "note: code not bound in 9 of 9 attempts" in said.out.splitlines()
    said = verified(door, file, manifest, "--candidate-folder", door.suite)
    assert said.code == 30
    assert "code not bound: the decision does not say which code ran" in said.out


def test_a_record_that_continues_a_measured_one_never_takes_its_place(door: Door) -> None:
    """An import cannot continue an attempt of ours: what was measured is judged, and both are
    bound."""
    lamp = Lamp(door)
    lamp.pin()
    file = door.root / "made.jsonl"
    lamp.run("--traces", file)
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    more = records[0]
    more["events"].append({**more["events"][-1], "seq": len(more["events"]) + 1})
    door.take("more.jsonl", [more], "--suite", SUITE_ID, "--candidate", "lamp-agent")
    assert door.rows("SELECT stands FROM revisions") == [("beside",)]
    ran = lamp.report()["ran"]
    assert (ran["bound"], ran["not_bound"]) == (2, 0)
    door.healthy()
