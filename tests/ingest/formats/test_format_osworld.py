"""OSWorld trajectories: a real one, and others after its shape."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from doors import Door, every_byte
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_shapes import cut_anywhere, made_odd

from reviewer.importing.formats.osworld import OsWorldReader
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[2] / "data/osworld"
TASK = "163789f0-c895-4a50-8207-17cbdd56ec38"
INNER = f"pyautogui/screenshot_a11y_tree/gpt-4o/libreoffice_calc/{TASK}"
REAL = DATA / "traces/20250204-1" / INNER / "traj.jsonl"
CANDIDATE = "gpt-4o screenshot_a11y_tree pyautogui"
STEP = {"step_num": 1, "action_timestamp": "20250204@235045", "action": "pyautogui.click(1, 2)",
        "reward": 0, "done": False, "info": {}, "screenshot_file": "step_1.png"}  # fmt: skip


def written(tmp_path: Path, *lines: dict[str, Any], inner: str = INNER, **beside: str) -> Path:
    """A trajectory of these lines, with these files (`result` is result.txt) beside it."""
    path = tmp_path / "results" / inner / "traj.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name, text in beside.items():
        (path.parent / f"{name}.txt").write_text(text)
    return path


def one(path: Path) -> tuple[dict[str, Any], Foreign]:
    reader = OsWorldReader()
    source = Source(path, "", reader.companions(path))
    (found,) = reader.traces(source)
    assert isinstance(found, Foreign), found
    return json.loads(found.raw), found._replace(notes=(*found.notes, *source.notes))


def test_a_real_trajectory_with_its_task(door: Door) -> None:
    said = door.run("import", DATA)
    assert said.code == 0, said
    assert door.rows(
        "SELECT trace_id, passed, termination, cost_usd, latency_ms FROM traces"
    ) == [
        (f"osworld-libreoffice_calc/{CANDIDATE}/{TASK}/1", None, None, None, 299_000.0)
    ]  # fmt: skip
    assert door.one("SELECT count(*) FROM events WHERE kind='tool_call'") == 15
    record, found = one(REAL)
    task = json.loads(
        (DATA / f"evaluation_examples/examples/libreoffice_calc/{TASK}.json").read_bytes()
    )
    assert found.user_request == task["instruction"]
    assert record["source"]["initial_state"]["config"] == task["config"]
    assert record["source"]["clock"] == "unstated"
    code = [
        event["arguments"]["code"] for event in record["events"] if event["kind"] == "tool_call"
    ]
    assert record["source"]["gui_actions"] == sum(c.count("pyautogui.click(") for c in code) == 18
    assert any("several GUI actions" in note for note in found.notes)
    # Where the answer lies is the evaluator's, which is never taken.
    assert b"1_SummerSales_gt1" not in every_byte(door.root / "store")


def test_a_missing_result_is_not_zero(tmp_path: Path) -> None:
    _, found = one(written(tmp_path, STEP))
    assert found.verdict is None
    assert any("not a score of 0" in note for note in found.notes)
    _, found = one(written(tmp_path / "b", STEP, result="0.0\n"))
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (False, 0.0)
    _, found = one(written(tmp_path / "c", STEP, result="1\n"))
    assert found.verdict is not None
    assert found.verdict.passed is True
    _, found = one(written(tmp_path / "d", STEP, result="0.75"))
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (False, 0.75)
    for number, text in enumerate(("nan", "-1", "1e999", "True")):
        _, found = one(written(tmp_path / f"e{number}", STEP, result=text))
        assert found.verdict is None
    _, found = one(written(tmp_path / "f", STEP, result="2"))
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (None, 2.0)


@pytest.mark.parametrize(
    ("error", "termination"),
    [("Time limit exceeded in chrome/7b6c", "timeout"), ("chrome/7b6c - boom", "error")],
)
def test_an_error_line_ends_a_run(tmp_path: Path, error: str, termination: str) -> None:
    """As the last line, or as the only one; a score beside it stays a score."""
    record, found = one(written(tmp_path, STEP, {"Error": error}, result="1.0"))
    assert record["termination"] == termination
    assert [event["kind"] for event in record["events"]] == ["tool_call", "state_snapshot", "error"]
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.exception) == (True, error)
    path = written(tmp_path / "only", {"Error": error})
    record, _ = one(path)
    assert [event["kind"] for event in record["events"]] == ["error"]


@pytest.mark.parametrize(
    ("last", "termination", "tool"),
    [
        ({"action": "DONE", "done": True}, "completed", "DONE"),
        ({"action": "FAIL"}, "completed", "FAIL"),
        ({"action": "WAIT"}, None, "WAIT"),
        ({"action": {"action_type": "CLICK", "parameters": {"x": 1}}}, None, "CLICK"),
        ({"action": {"name": "computer", "input": {"x": 1}}}, None, "computer"),
        ({"action": "pyautogui.press('a')", "done": True}, "completed", "pyautogui"),
        ({"action": None}, None, "unnamed"),
    ],
)
def test_every_action_space_gives_a_call(
    tmp_path: Path, last: dict[str, Any], termination: str | None, tool: str
) -> None:
    record, _ = one(written(tmp_path, {**STEP, **last, "response": "I think."}))
    assert record.get("termination") == termination
    assert [e["tool"] for e in record["events"] if e["kind"] == "tool_call"] == [tool]
    assert record["final_message"] == "I think."


def test_args_of_the_models_folder_state_the_step_limit(tmp_path: Path) -> None:
    path = written(tmp_path, STEP, {**STEP, "step_num": 2})
    args = path.parents[2] / "args.json"
    args.write_text(json.dumps({"model": "gpt-4o", "max_steps": 2, "openai_api_key": "sk-x"}))
    record, _ = one(path)
    assert record["termination"] == "max_steps"
    assert record["source"]["args"] == {"model": "gpt-4o", "max_steps": 2}


def test_repeated_runs_of_a_task_are_attempts(door: Door, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for number in (1, 2, 3):
        path = written(runs / str(number), {**STEP, "action": f"pyautogui.click({number}, 1)"})
        assert path.is_file()
    said = door.run("import", runs)
    assert said.code == 0, said
    assert door.one("SELECT count(*) FROM traces WHERE candidate_id=?", CANDIDATE) == 3
    assert door.rows("SELECT DISTINCT attempt FROM traces ORDER BY 1") == [(1,), (2,), (3,)]


def test_a_score_that_comes_later_is_no_other_attempt(door: Door, tmp_path: Path) -> None:
    path = written(tmp_path / "runs", STEP)
    assert door.run("import", path).code == 0
    (path.parent / "result.txt").write_text("1.0")
    assert door.run("import", path).code == 0
    assert door.one("SELECT count(*) FROM traces") == 1


@pytest.mark.parametrize(("score", "passed"), [("0.0\n", 0), ("1", 1), ("2", None)])
def test_a_score_without_a_trajectory_is_an_attempt_whose_acts_are_not_known(
    door: Door, tmp_path: Path, score: str, passed: int | None
) -> None:
    path = written(tmp_path, result=score)
    path.unlink()
    assert door.run("import", tmp_path / "results").code == 0
    assert door.rows("SELECT episode_id, candidate_id, passed, events FROM traces") == [
        (TASK, CANDIDATE, passed, 0)
    ]
    found = door.rows("SELECT DISTINCT code FROM findings WHERE code LIKE 'unread:%'")
    assert found == [("unread:traj.jsonl (no such file)",)]


def test_other_texts_of_that_name_are_no_results(door: Door, tmp_path: Path) -> None:
    for inner, text in ((INNER, "passed"), (INNER + "/x/y/z", "1.0")):
        path = written(tmp_path, inner=inner, result=text)
        path.unlink()
    assert door.run("import", tmp_path / "results").code == 20
    assert door.one("SELECT count(*) FROM traces") == 0


def test_folders_that_say_nothing_are_not_taken_for_a_model(tmp_path: Path) -> None:
    record, found = one(written(tmp_path, STEP, inner="a/b/c/d/some-task"))
    assert record["episode_id"] == "some-task"
    assert record["candidate_id"] == "unnamed"
    assert any("instruction is not known" in note for note in found.notes)
    assert OsWorldReader().suite_id(tmp_path / "a/b/traj.jsonl") == "osworld"


def test_a_pointer_to_large_file_storage_says_so(door: Door) -> None:
    said = door.take("traj.jsonl", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    assert said.code == 20
    assert "Git LFS pointer" in said.err


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_odd_lines_cost_themselves(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lines = [json.loads(line) for line in REAL.read_text().splitlines()[:3]]
    made_odd(data, lines)
    path = written(tmp_path_factory.mktemp("odd"), *lines)
    if data.draw(st.booleans()):
        path.write_bytes(cut_anywhere(data, path.read_bytes()))
    reader = OsWorldReader()
    try:
        (found,) = reader.traces(Source(path, "", reader.companions(path)))
    except Unreadable:
        assert path.read_bytes()[:1] not in b"{["  # its first line is no record: never claimed
        return
    assert isinstance(found, (Foreign, Broken))


def test_a_line_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    path = Path(shutil.copytree(REAL.parent, tmp_path / "x" / INNER)) / "traj.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    record, found = one(path)
    assert sum(event["kind"] == "tool_call" for event in record["events"]) == 14
    assert any("steps are missing" in note for note in found.notes)
