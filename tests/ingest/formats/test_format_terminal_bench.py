"""Terminal-Bench 0.x, on a run that the harness's own models wrote (see data/terminal_bench)."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from doors import Door, every_byte
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_shapes import cut_anywhere, made_odd

from reviewer.importing.formats.terminal_bench import TerminalBenchReader
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source
from reviewer.trace.validate import decode

RUN = Path(__file__).resolve().parents[2] / "data/terminal_bench/runs/2025-08-07__20-00-00"
READER = TerminalBenchReader()
CANDIDATE = "terminus-2 anthropic/claude-sonnet-4-20250514"


def folder_of(task: str, attempt: int) -> Path:
    return RUN / task / f"{task}.{attempt}-of-2.{RUN.name}"


FIRST = folder_of("hello-world", 1)


def results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RUN / "results.json").read_bytes())
    return found


def read(path: Path) -> tuple[dict[str, Any], Foreign]:
    (found,) = READER.traces(Source(path, "", READER.companions(path)))
    assert isinstance(found, Foreign), found
    return json.loads(found.raw), found


def changed(tmp_path: Path, **members: Any) -> Path:
    """A trial's results alone, with other members."""
    path = tmp_path / "trial.json"
    value = {**json.loads((FIRST / "results.json").read_bytes()), **members}
    path.write_text(json.dumps(value))
    return path


def recorded(tmp_path: Path, *lines: Any, header: Any = None) -> dict[str, Any]:
    """The attempt of a trial with this recording."""
    folder = tmp_path / FIRST.name
    shutil.copytree(FIRST, folder, dirs_exist_ok=True)
    head = header if header is not None else {"version": 2, "timestamp": 1754598660}
    cast = [one if isinstance(one, str) else json.dumps(one) for one in (head, *lines)]
    (folder / "sessions/agent.cast").write_text("\n".join(cast))
    return read(folder / "results.json")[0]


def kinds(record: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in record["events"] if event["kind"] == kind]


WANTED = [
    ("hello-world", 1, 1, "completed"),
    ("hello-world", 2, 1, "timeout"),
    ("path-tracing", 1, 0, "completed"),
    ("path-tracing", 2, None, None),
]
ROWS = "SELECT episode_id, attempt, passed, termination FROM traces ORDER BY 1, 2"


def test_trials_of_a_run_with_their_own_attempts(door: Door) -> None:
    said = door.ok("import", RUN)
    assert door.rows(ROWS) == WANTED
    assert door.rows("SELECT DISTINCT suite_id, candidate_id FROM traces") == [
        ("terminal-bench", CANDIDATE)
    ]
    assert door.one("SELECT count(*) FROM traces WHERE cost_usd IS NULL") == 4
    assert {row[0] for row in door.rows("SELECT latency_ms FROM traces")} == {119_500.0}
    # Three of four have a folder; the run's own results give the fourth.
    assert "trials of the run are imported from their own results" in said.err
    assert door.rows("SELECT source_path FROM traces WHERE passed IS NULL") == [
        (str(RUN / "results.json"),)
    ]
    door.healthy()


def test_the_runs_results_alone_hold_every_trial(door: Door) -> None:
    path = door.root / "20250807_terminus_claude" / "2025-08-07__20-00-00" / "results.json"
    path.parent.mkdir(parents=True)
    shutil.copy(RUN / "results.json", path)
    said = door.ok("import", path)
    assert door.rows(ROWS) == WANTED
    # No settings beside it: the folders are all that names a candidate, times say nothing.
    assert door.rows("SELECT DISTINCT candidate_id FROM traces") == [("20250807_terminus_claude",)]
    assert "the folder's name is in the candidate's" in said.err
    totals = results()
    passed = door.one("SELECT count(*) FROM traces WHERE passed IS 1")
    assert (passed, 4 - passed) == (totals["n_resolved"], totals["n_unresolved"])


def test_a_complete_folder_makes_the_runs_results_a_summary(door: Door) -> None:
    run = door.root / "run"
    shutil.copytree(RUN, run)
    value = results()
    value["results"].pop()
    value["results"][0]["is_resolved"] = False
    (run / "results.json").write_text(json.dumps(value))
    said = door.ok("import", run)
    assert door.rows(ROWS) == WANTED[:3]
    assert "a trial's own results disagree: the trial's own are taken" in said.err
    assert "the run's declared totals differ from the trials it holds" in said.err


def test_a_broken_entry_costs_itself(door: Door) -> None:
    value = results()
    value["results"][1]["instruction"] = "x" * 300_000
    broken = json.dumps(value).replace('"task_id": "path-tracing"', '"task_id" 1', 1)
    said = door.take("run/results.json", broken)
    assert said.code == 20
    assert "in results[2]" in said.err
    assert door.rows(ROWS) == [WANTED[0], WANTED[1], WANTED[3]]


def test_resolved_and_timed_out_stay_two_facts() -> None:
    record, found = read(folder_of("hello-world", 2) / "results.json")
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.exception) == (True, "agent_timeout")
    assert record["termination"] == "timeout"
    assert [event["message"] for event in kinds(record, "error")] == ["agent_timeout"]
    assert "resolved although a failure was recorded: both are kept" in found.notes
    assert record["usage"] == {"input_tokens": 1200, "output_tokens": 34}


def test_unset_is_no_failure_and_zero_tokens_are_not_measured(tmp_path: Path) -> None:
    record, found = read(FIRST / "results.json")
    assert found.verdict is not None
    assert found.verdict.exception is None
    assert found.verdict.detail == {"failure_mode": "unset"}
    assert kinds(record, "error") == []
    assert "usage" not in record
    record, _ = read(changed(tmp_path, total_input_tokens=0, total_output_tokens=34))
    assert record["usage"] == {"output_tokens": 34}
    assert "token counts of 0 mean that they were not measured" in found.notes


@pytest.mark.parametrize(
    ("mode", "resolved", "end"),
    [
        ("none", True, "completed"),
        (None, False, "completed"),
        ("unset", None, None),
        ("context_length_exceeded", False, "context_window_exceeded"),
        ("output_length_exceeded", False, "output_length_exceeded"),
        ("test_timeout", False, "completed"),
        ("parse_error", None, "completed"),
        ("agent_installation_failed", False, "error"),
        ("a_mode_of_tomorrow", False, "error"),
    ],
)
def test_how_a_trial_ended(
    tmp_path: Path, mode: str | None, resolved: bool | None, end: str | None
) -> None:
    record, found = read(changed(tmp_path, failure_mode=mode, is_resolved=resolved))
    assert record.get("termination") == end
    assert found.verdict is not None
    assert found.verdict.passed is resolved


def test_terminal_and_tests_are_evidence_in_order() -> None:
    record, found = read(FIRST / "results.json")
    shown = [(event["kind"], event.get("actor"), event.get("tool")) for event in record["events"]]
    assert shown == [
        ("message", "user", None),
        ("state_snapshot", None, None),
        ("tool_result", "terminal", "terminal"),
        ("tool_call", "terminal", "terminal"),
        ("tool_result", "terminal", "terminal"),
        ("message", "agent", None),
        ("tool_call", "terminal", "terminal"),
        ("tool_result", "terminal", "terminal"),
        ("state_snapshot", None, None),
        ("tool_result", "verifier", "test"),
        ("tool_result", "verifier", "test"),
        ("state_snapshot", None, None),
    ]
    typed = kinds(record, "tool_call")
    assert typed[0]["arguments"] == {"keystrokes": "ls\r"}
    assert typed[0]["started_at"] == "2025-08-07T20:31:01.000Z"
    assert record["events"][4]["observation"] == "ls\r\nhello.txt\r\n"
    assert record["source"]["recording"] == {"events": 8, "seconds": 3.5}
    assert kinds(record, "state_snapshot")[2]["state"] == {
        "terminal": "post-test", "text": "root@box:/app# post-test\n",
    }  # fmt: skip
    assert "terminal recordings show keys and screen, not the agent's own tool calls" in found.notes


def test_a_failed_test_is_an_error_of_the_verifier() -> None:
    record, _ = read(folder_of("path-tracing", 1) / "results.json")
    assert [(event["observation"], event["status"]) for event in kinds(record, "tool_result")] == [
        ({"test": "test_image", "result": "failed"}, "error"),
        ({"test": "test_speed", "result": "passed"}, "ok"),
    ]


def test_tests_that_contradict_the_verdict_are_told(tmp_path: Path) -> None:
    note = "the tests' results say otherwise than is_resolved: both are kept"
    assert note not in read(FIRST / "results.json")[1].notes
    found = read(changed(tmp_path, is_resolved=False))[1]
    assert note in found.notes
    assert found.verdict is not None
    assert found.verdict.passed is False
    found = read(changed(tmp_path, parser_results={"one": "passed", "two": "failed"}))[1]
    assert any("no verdict was taken" in note for note in found.notes)
    assert found.verdict is not None
    assert found.verdict.passed is None


def test_recordings_are_cut_at_pauses_and_mended_where_broken(tmp_path: Path) -> None:
    lines = [[0.0, "o", "a"], [1.0, "o", "b"], [9.0, "o", "c"], [9.5, "r", "80x24"], [10, "o"]]
    record = recorded(tmp_path, *lines, '[11.0, "o", "cut')
    seen = [event["observation"] for event in kinds(record, "tool_result")]
    assert seen[:2] == ["ab", "c"]
    assert "lines of the recording that cannot be read were left out" in record["source"]["notes"]
    long = recorded(tmp_path, [0.0, "o", "x" * 100_000])
    (first, *_) = kinds(long, "tool_result")
    assert len(first["observation"]) < 40_000
    assert "characters left out" in first["observation"]


def test_recordings_of_the_third_version_count_from_the_last_event(tmp_path: Path) -> None:
    record = recorded(tmp_path, [1.0, "i", "x"], [2.0, "o", "y"], header={"version": 3})
    assert record["source"]["recording"] == {"events": 2, "seconds": 3.0}
    assert "started_at" not in kinds(record, "tool_call")[0]
    odd = recorded(tmp_path, [1.0, "i", "x"], header="no recording")
    assert "the terminal recording is in a form that is not read" in odd["source"]["notes"]


def test_single_attempts_of_several_runs_are_numbered_in_turn(door: Door) -> None:
    """`1-of-1` says nothing of other runs of the same agent."""
    trial = results()["results"][0]
    for number in (1, 2):
        name = f"hello-world.1-of-1.run{number}"
        day = f"2025-08-0{3 - number}T10:00:00+00:00"
        path = door.root / f"demo_agent/run{number}/hello-world/{name}/results.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({**trial, "trial_name": name, "trial_started_at": day}))
    door.ok("import", door.root / "demo_agent")
    rows = door.rows("SELECT candidate_id, attempt, source_path FROM traces ORDER BY 2")
    assert [row[:2] for row in rows] == [("demo_agent", 1), ("demo_agent", 2)]
    assert "run2" in rows[0][2]  # the second folder ran first


def test_an_older_trial_without_ids_and_times(tmp_path: Path) -> None:
    trial = json.loads((FIRST / "results.json").read_bytes())
    kept = {name: value for name, value in trial.items() if not name.endswith("_at")}
    kept["uuid"] = kept.pop("id")
    path = tmp_path / "old.json"
    path.write_text(json.dumps({**kept, "trial_name": "hello-world.3-of-5"}))
    record, found = read(path)
    assert (record["attempt"], record["latency_ms"]) == (3, None)
    assert record["source"]["id"] == trial["id"]
    assert "the agent's times are not stated: no latency" in found.notes


def test_another_data_set_is_another_suite(tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(RUN, run)
    settings = json.loads((run / "run_metadata.json").read_bytes())
    place = run / FIRST.relative_to(RUN) / "results.json"
    for members, suite in (
        ({"dataset_name": "usaco"}, "terminal-bench-usaco"),
        ({"dataset_name": None, "dataset_path": "/data/ResearchBench"},
         "terminal-bench-researchbench"),
        ({"dataset_name": None, "dataset_path": "/x/tasks"}, "terminal-bench"),
    ):  # fmt: skip
        (run / "run_metadata.json").write_text(json.dumps({**settings, **members}))
        assert read(place)[1].suite == suite
    lock = {
        "agent": {"name": "claude-code", "model_name": "m", "extra_kwargs": {"version": "1.0.1"}},
        "harness": {"version": "0.2.17"},
        "dataset": {"name": "terminal-bench-core", "version": "0.1.1"},
    }
    (run / "run_metadata.json").unlink()
    (run / "tb.lock").write_text(json.dumps(lock))
    record, _ = read(place)
    assert record["candidate_id"] == "claude-code 1.0.1 m"
    assert record["source"]["harness"] == "0.2.17"
    assert record["source"]["dataset"] == "terminal-bench-core 0.1.1"


def test_identifiers_on_a_screen_are_masked(door: Door) -> None:
    folder = door.root / "run" / FIRST.name
    shutil.copytree(FIRST, folder)
    (folder / "panes/post-agent.txt").write_text("\x1b[31mmail jane.roe@corp-mail.org\x1b[0m")
    door.ok("import", door.root / "run")
    assert b"jane.roe" not in every_byte(door.root / "store")


@settings(max_examples=60)
@given(data=st.data())
def test_odd_and_cut_files_cost_themselves_at_most(data: st.DataObject) -> None:
    whole = data.draw(st.booleans())
    value = results() if whole else json.loads((FIRST / "results.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        made_odd(data, value)
    raw = json.dumps(value).encode()
    with TemporaryDirectory() as place:
        folder = Path(place) / FIRST.name
        shutil.copytree(FIRST, folder)
        path = folder / "results.json"
        path.write_bytes(cut_anywhere(data, raw) if data.draw(st.booleans()) else raw)
        (folder / "sessions/agent.cast").write_bytes(
            cut_anywhere(data, (FIRST / "sessions/agent.cast").read_bytes())
        )
        READER.sniff(Head(path))
        READER.ran_at(path)
        try:
            found = list(READER.traces(Source(path, "", READER.companions(path))))
        except Unreadable:
            return
        for one in found:
            assert isinstance(one, Foreign | Broken)
            if isinstance(one, Foreign):
                decode(one.raw)
