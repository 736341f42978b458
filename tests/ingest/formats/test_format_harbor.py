"""Harbor jobs and trials, on a job that Harbor's own models wrote (see data/harbor)."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from doors import Door
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_shapes import cut_anywhere, made_odd

from reviewer.importing.formats.harbor.reader import HarborReader
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source
from reviewer.trace.validate import decode

JOB = Path(__file__).resolve().parents[2] / "data/harbor/job"
READER = HarborReader()
TASK = "recover-lost-commits-of-a-detached-head"
CUT = "recover-lost-commits-of-a-detach"  # what a trial's name keeps of it
SUITE, CANDIDATE = "terminal-bench-2", "demo-agent 1.2.0 openai/gpt-5-mini effort=high"


def read(trial: Path) -> tuple[dict[str, Any], Foreign]:
    """The attempt of a trial's folder."""
    path = trial / "result.json"
    (found,) = READER.traces(Source(path, "", READER.companions(path)))
    assert isinstance(found, Foreign), found
    return json.loads(found.raw), found


def changed(tmp_path: Path, name: str, **members: Any) -> Path:
    """A copy of a trial whose result has other members."""
    folder = tmp_path / name
    shutil.copytree(JOB / name, folder)
    result = json.loads((folder / "result.json").read_bytes())
    (folder / "result.json").write_text(json.dumps({**result, **members}))
    return folder


def kinds(record: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in record["events"] if event["kind"] == kind]


@pytest.fixture
def imported(door: Door) -> Door:
    door.ok("import", JOB)
    return door


def test_trials_are_attempts_in_the_order_they_ran(imported: Door) -> None:
    rows = imported.rows(
        "SELECT suite_id, candidate_id, episode_id, attempt, passed, termination, cost_usd,"
        " latency_ms FROM traces ORDER BY episode_id, attempt"
    )
    assert {row[:2] for row in rows} == {(SUITE, CANDIDATE)}
    assert [row[2:] for row in rows] == [
        (TASK, 1, None, "error", 0.5, 300_000.0),
        (TASK, 2, 1, "timeout", 0.5, 300_000.0),
        (TASK, 3, 1, "completed", 0.625, 300_000.0),
        ("two-steps", 1, 0, "timeout", 0.75, 180_000.0),
        ("write-report", 1, None, "infrastructure_error", None, 300_000.0),
    ]
    # Folders sort otherwise than times: attempt 3 is the first by name.
    assert imported.one("SELECT source_path FROM traces WHERE attempt=3").endswith(
        f"{CUT}__aaaaaaa/result.json"
    )
    imported.healthy()


def test_a_trial_is_one_attempt_whatever_lies_in_its_folder(imported: Door) -> None:
    """Its trajectory and the agent's own log of the same run are no attempts of their own."""
    assert imported.one("SELECT count(*) FROM traces") == 5
    again = imported.ok("import", JOB)
    assert "nothing added" in again.err
    alone = imported.run("import", JOB / f"{CUT}__aaaaaaa")
    assert alone.code == 0
    assert imported.one("SELECT count(*) FROM traces") == 5


def test_a_result_among_strangers_takes_nothing_with_it(tmp_path: Path) -> None:
    shutil.copy(JOB / f"{CUT}__aaaaaaa/result.json", tmp_path)
    (tmp_path / "other.json").write_text("{}")
    assert READER.companions(tmp_path / "result.json") == ()
    assert "no readable ATIF trajectory is next to the result" in read(tmp_path)[1].notes


def test_a_job_summary_holds_no_attempt_and_is_no_fault(imported: Door, tmp_path: Path) -> None:
    said = imported.run("sources")
    assert said.code == 0
    assert imported.one("SELECT records FROM source WHERE path LIKE '%/job/result.json'") == 0
    notes = summed_up(JOB)
    assert notes == {"a job's summary: its trials are imported from their own results"}
    shutil.copy(JOB / "result.json", tmp_path / "result.json")
    alone = "a job's summary without its trials: import the folders of the trials"
    assert summed_up(tmp_path) == {alone}
    (tmp_path / "one").mkdir()
    shutil.copy(JOB / f"{CUT}__ccccccc/result.json", tmp_path / "one")
    assert "the job declares another number of trials than are next to it" in summed_up(tmp_path)


def summed_up(job: Path) -> set[str]:
    """What is noted of a job's summary, which gives no attempt."""
    source = Source(job / "result.json", "", READER.companions(job / "result.json"))
    assert list(READER.traces(source)) == []
    assert source.sums_up
    return source.notes


def test_an_older_summary_gives_the_trials_it_holds(door: Door) -> None:
    trial = json.loads((JOB / f"{CUT}__ccccccc/result.json").read_bytes())
    job = json.loads((JOB / "result.json").read_bytes())
    said = door.take("result.json", {**job, "trial_results": [trial, 5]})
    assert said.code == 20
    assert "type:record in trial_results[1]" in said.err
    assert door.rows("SELECT episode_id, passed, events FROM traces") == [(TASK, 1, 1)]


def test_reward_exception_and_verdict_stay_three_facts() -> None:
    record, found = read(JOB / f"{CUT}__bbbbbbb")
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (None, 0.6666666666666666)
    assert found.verdict.exception == "NonZeroAgentExitCodeError"
    assert found.verdict.detail["reward_valid"] is False
    # The reward file holds fewer digits of the same number: no contradiction.
    assert "reward_file" not in found.verdict.detail
    (error,) = kinds(record, "error")
    assert error["message"] == "NonZeroAgentExitCodeError: exit code 1"
    # Written without a zone, hours off the other times: kept, never subtracted.
    assert (error["started_at"], record["source"]["clock"]) == (
        "2026-03-01T18:09:00", "unstated, utc",
    )  # fmt: skip


@pytest.mark.parametrize(("reward", "passed"), [(1.0, None), (0.0, False)])
def test_a_reward_that_harbor_would_not_take_is_no_pass(
    tmp_path: Path, reward: float, passed: bool | None
) -> None:
    given = {"verifier_result": {"rewards": {"reward": reward}}}
    _, found = read(changed(tmp_path, f"{CUT}__bbbbbbb", **given))
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (passed, reward)
    assert any("takes no reward" in note for note in found.notes)


@pytest.mark.parametrize(
    ("trial", "told", "passed"),
    [(f"{CUT}__bbbbbbb", {"reward_valid": True}, True),
     (f"{CUT}__ccccccc", {"reward_valid": False}, None),
     (f"{CUT}__ccccccc", {"step_results": [
         {"step_name": "one", "exception_info": {"exception_type": "VerifierTimeoutError"}}
     ]}, None),
     (f"{CUT}__ccccccc", {"reward_valid": True, "exception_info": {
         "exception_type": "CancelledError"}}, None)],
)  # fmt: skip
def test_a_reward_counts_as_the_trial_states_and_after_every_exception_of_it(
    tmp_path: Path, trial: str, told: dict[str, Any], passed: bool | None
) -> None:
    given = {"verifier_result": {"rewards": {"reward": 1.0}}}
    _, found = read(changed(tmp_path, trial, **given, **told))
    assert found.verdict is not None
    assert found.verdict.passed is passed
    assert found.verdict.detail["reward_valid"] is (passed is True)


def test_a_timeout_leaves_the_reward_valid() -> None:
    record, found = read(JOB / f"{CUT}__ccccccc")
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.exception) == (True, "AgentTimeoutError")
    assert found.verdict.detail["reward_valid"] is True
    assert record["termination"] == "timeout"


def test_a_reward_file_never_replaces_a_verdict_that_is_null() -> None:
    record, found = read(JOB / "write-report__ddddddd")
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (None, None)
    assert found.verdict.detail["reward_file"] == {"reward": 0.733333333333}
    assert "the result has no reward but a reward file is next to it: not taken" in found.notes
    # Zeros of an attempt that never ran are not measured.
    assert (record["cost_usd"], record.get("usage")) == (None, None)


def test_reward_files_that_say_otherwise_are_told(tmp_path: Path) -> None:
    folder = changed(tmp_path, f"{CUT}__ccccccc")
    (folder / "verifier/reward.txt").unlink()
    (folder / "verifier/reward.json").write_text('{"reward": 0.25, "style": 1}')
    found = read(folder)[1]
    assert found.verdict is not None
    assert found.verdict.passed is True
    assert "the reward file next to the result says otherwise: the result is taken" in found.notes


@pytest.mark.parametrize(
    ("rewards", "passed", "reward"),
    [
        ({"reward": 1}, True, 1.0),
        ({"reward": 0.0, "style": 1.0}, False, 0.0),
        ({"reward": 0.9999999999}, True, 0.9999999999),
        ({"score": 0.5}, None, 0.5),
        ({"a": 1.0, "b": 1.0}, True, None),
        ({"a": 1.0, "b": 0.0}, None, None),
        ({"reward": True}, None, None),
        ({"a": 1.0, "b": float("nan")}, None, None),
        ({"a": 1.0, "b": False}, None, None),
        ({"reward": None, "style": 1.0}, None, None),
        ({"reward": 1.0, "style": None}, True, 1.0),
        ({}, None, None),
        (None, None, None),
    ],
)
def test_which_rewards_pass(
    tmp_path: Path, rewards: Any, passed: bool | None, reward: float | None
) -> None:
    verdict = read(
        changed(tmp_path, f"{CUT}__aaaaaaa", verifier_result={"rewards": rewards})
    )[1].verdict  # fmt: skip
    assert verdict is not None
    assert (verdict.passed, verdict.reward) == (passed, reward)


def test_the_trajectory_beside_it_gives_the_steps() -> None:
    record, found = read(JOB / f"{CUT}__aaaaaaa")
    assert [(e["kind"], e.get("actor")) for e in record["events"]] == [
        ("message", "user"), ("message", "agent"), ("tool_call", "agent"), ("tool_call", "agent"),
        ("tool_result", None), ("tool_result", None), ("message", "system"),
        ("message", "helper"), ("message", "agent"),
    ]  # fmt: skip
    assert [e.get("status") for e in kinds(record, "tool_result")] == [None, "error"]
    assert record["final_message"] == "Recovered abc123."
    assert record["usage"] == {"input_tokens": 250, "output_tokens": 18}
    assert found.user_request == "Recover my work.\n[image]"
    assert record["source"]["task_checksum"] == "0" * 64
    assert record["started_at"] == "2026-03-01T10:30:00Z"


def test_steps_of_a_trial_are_told_in_order_and_a_resumed_session_once() -> None:
    record, found = read(JOB / "two-steps__eeeeeee")
    said = [event["message"] for event in kinds(record, "message")]
    assert said == [
        {"step": "one"}, "Step one.", "Looking.", "Done.",
        {"step": "two"}, "Step two.", "Both done.",
    ]  # fmt: skip
    assert len(kinds(record, "tool_call")) == 1
    assert "a resumed session repeats its earlier steps: they are counted once" in found.notes
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.exception) == (False, "AgentTimeoutError")
    assert found.verdict.detail["steps"] == [
        {"step": "one", "rewards": {"reward": 1.0}},
        {"step": "two", "rewards": {"reward": 0.0}},
    ]
    assert (record["cost_usd"], record["usage"]["input_tokens"]) == (0.75, 270)


@pytest.mark.parametrize("lost", [None, 0])
def test_a_step_without_a_figure_leaves_the_trial_without_it(tmp_path: Path, lost: Any) -> None:
    result = json.loads((JOB / "two-steps__eeeeeee/result.json").read_bytes())
    result["step_results"][1]["agent_result"]["cost_usd"] = lost
    folder = changed(tmp_path, "two-steps__eeeeeee", step_results=result["step_results"])
    record, found = read(folder)
    assert (record["cost_usd"], record["usage"]["input_tokens"]) == (None, 270)
    assert any("cost" in note and "not measured" in note for note in found.notes)


def test_the_publishers_layout_and_names(tmp_path: Path) -> None:
    """Some rename the files: `trial-result.json` with `trajectory.atif.json` beside it."""
    folder = tmp_path / "trial-1"
    folder.mkdir()
    for old, new in (
        ("result.json", "trial-result.json"),
        ("agent/trajectory.json", "trajectory.atif.json"),
        ("verifier/reward.txt", "reward.txt"),
    ):
        shutil.copy(JOB / f"{CUT}__aaaaaaa/{old}", folder / new)
    path = folder / "trial-result.json"
    assert {one.name for one in READER.companions(path)} == {"trajectory.atif.json", "reward.txt"}
    (found,) = READER.traces(Source(path, "", READER.companions(path)))
    assert isinstance(found, Foreign)
    assert len(kinds(json.loads(found.raw), "tool_call")) == 2


def test_a_broken_trajectory_does_not_cost_the_verdict(tmp_path: Path) -> None:
    folder = changed(tmp_path, f"{CUT}__ccccccc")
    document = json.loads((folder / "agent/trajectory.json").read_bytes())
    document["steps"][2] = 7
    (folder / "agent/trajectory.json").write_text(json.dumps(document))
    record, found = read(folder)
    assert found.verdict is not None
    assert found.verdict.passed is True
    assert record["events"][0]["kind"] == "error"
    assert "the trajectory cannot be read from here on: type:steps" in found.notes
    (folder / "agent/trajectory.json").write_text('{"schema_version": "ATIF-v1.7", "steps": [')
    assert "no readable ATIF trajectory is next to the result" in read(folder)[1].notes


def test_a_trajectory_named_alone_takes_its_task_from_the_trial(door: Door) -> None:
    said = door.ok("import", JOB / f"{CUT}__aaaaaaa/agent/trajectory.json")
    assert "its Harbor trial has the verdict: import the trial's folder" in said.err
    assert door.rows("SELECT suite_id, episode_id, passed FROM traces") == [(SUITE, TASK, None)]


def test_a_trial_that_left_no_result_is_its_trajectory(door: Door) -> None:
    folder = door.root / "job/one"
    shutil.copytree(JOB / f"{CUT}__aaaaaaa", folder)
    (folder / "result.json").unlink()
    (folder / "agent/session.jsonl").unlink()
    door.ok("import", door.root / "job")
    assert door.rows("SELECT episode_id, passed, termination FROM traces") == [(TASK, None, None)]


@pytest.mark.parametrize(
    ("members", "episode", "suite"),
    [
        ({"task_name": "org/name", "source": "My Set"}, "org/name", "my-set"),
        ({"task_name": "", "task_id": {"org": "o", "name": "n"}}, "o/n", SUITE),
        ({"task_name": "", "task_id": {"path": "/x/tasks/t1/"}}, "t1", "terminal-bench"),
        ({"source": None}, TASK, "harbor"),
        ({"task_name": "swe-bench/a__b-12", "source": "swebench-verified"}, "a__b-12", "swe-bench"),
        ({"task_name": "x/a__b-12", "source": "mine"}, "x/a__b-12", "mine"),
    ],
)
def test_task_and_data_set(
    tmp_path: Path, members: dict[str, Any], episode: str, suite: str
) -> None:
    members = {"task_id": {"git_url": "https://x.test/terminal-bench-2.git"}, **members}
    if "org" in members["task_id"]:
        members["task_id"]["git_url"] = "https://x.test/terminal-bench-2"
    record, found = read(changed(tmp_path, f"{CUT}__aaaaaaa", **members))
    assert (record["episode_id"], found.suite) == (episode, suite)


@settings(max_examples=60)
@given(data=st.data())
def test_odd_and_cut_files_cost_themselves_at_most(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([f"{CUT}__aaaaaaa", "two-steps__eeeeeee"]))
    files = ["result.json", "agent/trajectory.json", "steps/two/agent/trajectory.json"]
    wanted = data.draw(st.sampled_from([one for one in files if (JOB / name / one).exists()]))
    value = json.loads((JOB / name / wanted).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        made_odd(data, value)
    raw = json.dumps(value).encode()
    with TemporaryDirectory() as place:
        folder = Path(place) / "t"
        shutil.copytree(JOB / name, folder)
        (folder / wanted).write_bytes(cut_anywhere(data, raw) if data.draw(st.booleans()) else raw)
        path = folder / "result.json"
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
