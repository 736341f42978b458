"""What the commands say: help everywhere, usage errors with 2, hostile text made visible."""

import json
import os
import re
import subprocess
from typing import Any

import pytest
from doors import PROGRAM, SUITE, V7, V8, Door, environment, passing

COMMANDS = (
    "demo", "init", "doctor", "vacuum", "archive", "backup", "restore", "schema", "suite", "import",
    "quarantine", "sources", "score", "show", "scorecard", "sign", "verify", "keys", "serve",
    "notes", "labels", "judgments", "merge", "compare", "trends", "search", "patterns",
)  # fmt: skip
ACTS = ("list", "show", "check", "freeze", "diff")


def test_help_names_every_command(door: Door) -> None:
    said = door.run("--help")
    assert said.code == 0
    for command in COMMANDS:
        assert re.search(rf"^ +{command}\b", said.out, re.MULTILINE), command
    assert "_index" not in said.out
    assert "exit codes" in said.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(door: Door, command: str) -> None:
    said = door.run(command, "--help")
    assert (said.code, said.err) == (0, "")
    assert "usage: reviewer" in said.out


@pytest.mark.parametrize("act", ACTS)
def test_every_act_on_suites_has_help(door: Door, act: str) -> None:
    assert door.run("suite", act, "--help").code == 0


def test_a_trace_is_grouped_or_one_event_is_shown(full: Door) -> None:
    trace = f"{SUITE}/{V7}/attack-014/1"
    said = full.run("show", trace, "--by", "turns", "--event", 2)
    assert said.code == 2
    assert "--event: not allowed with argument --by" in said.err


@pytest.mark.parametrize(
    "argv",
    [
        ["nonsense"], ["--nonsense"], ["import"], ["suite"], ["suite", "nonsense"], ["sign"],
        ["show"], ["show", "a/b/c/1", "--event", "x"], ["verify"], ["schema"],
        ["schema", "nonsense"],
        ["backup"], ["restore"], ["--export-report"], ["keys", "trust"],
        ["--export-report", "out", "--suite", SUITE, "--candidate", V8, "--format", "pdf"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_usage_errors_leave_with_2(
    full: Door, argv: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(full.root)
    said = full.run(*argv)
    assert said.code == 2, said
    assert said.out == ""
    assert said.err


def test_a_folder_that_is_no_workspace_is_a_usage_error(door: Door) -> None:
    said = Door(door.root / "store").run("suite", "list")
    assert said.code == 2
    assert "reviewer init" in said.err


def test_what_is_not_there_is_20_with_a_way_out(full: Door) -> None:
    for argv in (
        ["show", f"{SUITE}/{V8}/damaged-221/9"],
        ["show", "nonsense"],
        ["show", f"{SUITE}/{V8}/damaged-221/1", "--event", "99"],
        ["show", f"{SUITE}/{V8}/damaged-221/1", "--event", "-1"],
        ["scorecard", "--suite", SUITE, "--candidate", "nobody"],
        ["scorecard", "--suite", "nowhere", "--candidate", V8],
        ["--export-report", "out", "--suite", SUITE, "--candidate", V8, "--baseline", "nobody"],
        ["score", "--suite", "nowhere"],
    ):
        said = full.run(*argv)
        assert said.code == 20, (argv, said)
        assert "internal" not in said.err


def test_a_workspace_without_a_store_answers(door: Door) -> None:
    assert door.run("sources").code == 0
    assert door.run("quarantine").code == 0
    assert door.run("doctor").code == 0
    assert door.run("suite", "list").code == 0
    for argv in (["score"], ["backup", door.root / "copy.db"], ["show", "a/b/c/1"]):
        said = door.run(*argv)
        assert said.code == 20, (argv, said)
        assert not door.store.exists()
    assert not (door.root / "copy.db").exists()


HOSTILE = "\x1b]52;c;aGk=\x07\x1b[31mred\x9b31m\u202eevil\u200b\r\n\ngate authority: pass"


def hostile() -> dict[str, Any]:
    record = passing("attack-014", "cand\u202ea")
    record["events"][0]["observation"] = {"note": HOSTILE, HOSTILE: 1}
    record["events"][0]["tool"] = HOSTILE
    record["events"][4]["message"] = HOSTILE
    record["final_state"], record["final_message"] = HOSTILE, HOSTILE
    record["termination"] = HOSTILE
    return record


@pytest.mark.parametrize("how", [(), ("--json",), ("--event", "1"), ("--event", "5")])
def test_hostile_text_is_shown_and_never_obeyed(door: Door, how: tuple[str, ...]) -> None:
    said = door.take("t.json", hostile())
    assert said.code == 0, said
    trace_id = door.one("SELECT trace_id FROM traces")
    shown = door.outside("show", trace_id, *how)
    assert shown.code == 0
    for bad in ("\x1b", "\x07", "\x9b", "\u202e", "\u200b", "\r"):
        assert bad not in shown.both, ascii(bad)
    if how != ("--json",):
        assert "␛]52;" in shown.out


def test_hostile_text_cannot_forge_a_line_of_show(door: Door) -> None:
    door.take("t.json", hostile())
    shown = door.ok("show", door.one("SELECT trace_id FROM traces"))
    assert [line for line in shown.out.splitlines() if line.startswith("gate authority")] == [
        "gate authority: critical FAIL"
    ]


def test_hostile_text_in_every_other_place_is_visible_too(door: Door) -> None:
    door.take("t\x1b[31m.json", [hostile(), {"episode_id": HOSTILE, HOSTILE: 1}])
    for argv in (
        ["sources"], ["quarantine", "show"], ["scorecard", "--candidate", "cand\u202ea"],
        ["suite", "list"], ["--export-report", door.root / "out", "--candidate", "cand\u202ea"],
    ):  # fmt: skip
        said = door.outside(*argv)
        assert said.code in (0, 10), said
        assert "\x1b" not in said.both, argv
        assert "\u202e" not in said.both, argv
    for path in (door.root / "out").iterdir():
        assert b"\x1b" not in path.read_bytes(), path


def test_json_goes_to_stdout_alone(full: Door) -> None:
    for argv in (
        ["suite", "list"], ["suite", "show", SUITE], ["sources"], ["quarantine"], ["doctor"],
        ["score"], ["scorecard", "--suite", SUITE, "--candidate", V7],
        ["show", f"{SUITE}/{V7}/attack-014/1"], ["import", full.suite / "traces"],
        ["schema", "trace"],
    ):  # fmt: skip
        json.loads(full.ok(*argv, "--json").out)


def test_score_again_changes_nothing(full: Door) -> None:
    before = full.rows("SELECT * FROM trace"), full.rows("SELECT * FROM roll")
    said = full.ok("score")
    assert said.out == ""
    assert "18 traces scored again, 0 changed" in said.err
    assert (full.rows("SELECT * FROM trace"), full.rows("SELECT * FROM roll")) == before
    full.healthy()


def test_a_terminal_that_knows_only_ascii_is_no_error(full: Door) -> None:
    said = subprocess.run(
        [*PROGRAM, "--workspace", str(full.root), "show", f"{SUITE}/{V7}/attack-014/1"],
        env=environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C"),
        capture_output=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.isascii()


def test_a_closed_pipe_is_no_error(full: Door) -> None:
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [*PROGRAM, "--workspace", str(full.root), "suite", "show", SUITE],
        env=environment(), stdout=write, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(write)
    assert b"Traceback" not in process.stderr
    assert b"internal" not in process.stderr


def test_demo_prints_both_reports_and_keeps_nothing(
    door: Door, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    said = door.outside("demo", "--headless")
    assert said.code == 0
    assert "BLOCK  refund-agent-v7" in said.out
    assert "PROMOTE  refund-agent-v8" in said.out
    assert [p for p in tmp_path.iterdir() if p.name.startswith("reviewer-demo-")] == []


def test_what_is_no_trace_record_is_not_sent_to_candidate(full: Door) -> None:
    """An episode's contract, say, does not become a trace by naming a candidate."""
    contract = {"episode_id": "damaged-221", "title": "a lamp", "tools": {"forbidden": ["x"]}}
    said = full.take("contract.json", [contract])
    assert said.code == 20
    assert "this is not a trace record: docs/formats.md says which files are read" in said.err
    assert "--candidate" not in said.err
    nameless = {"episode_id": "damaged-221", "events": [], "final_state": "x", "cost_usd": None}
    assert "import with --candidate" in full.take("nameless.json", [nameless]).err


def test_an_episode_that_no_suite_has_can_be_named_by_a_map(full: Door) -> None:
    record = {
        "episode_id": "their-7", "candidate_id": "c", "events": [], "final_state": None,
        "cost_usd": None, "latency_ms": None,
    }  # fmt: skip
    said = full.take("theirs.json", [record], "--suite", "refund-eval-v5")
    assert said.code == 20
    assert "--episode-map" in said.err
