"""AgentBench outputs: real runs of one task, and others after their shape."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_shapes import cut_anywhere, made_odd

from reviewer.importing.formats.agentbench import AgentBenchReader, call_in
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[2] / "data/agentbench"
FOLDER = DATA / "Jan17v1/gpt-4o-mini/medagentbench-std"
SUITE, CANDIDATE = "agentbench-medagentbench-std", "gpt-4o-mini"


def runs() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / "runs.jsonl").read_text().splitlines()]


def overall() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "overall.json").read_bytes())
    return found


def written(
    tmp_path: Path, lines: list[Any], totals: Any = None, errors: list[Any] | None = None
) -> Path:
    folder = tmp_path / "out" / CANDIDATE / "medagentbench-std"
    folder.mkdir(parents=True)
    files = {"runs.jsonl": lines, "error.jsonl": errors}
    for name, held in files.items():
        if held is not None:
            (folder / name).write_text("".join(json.dumps(one) + "\n" for one in held))
    if totals is not None:
        (folder / "overall.json").write_text(json.dumps(totals))
    return folder / "runs.jsonl"


def read(path: Path) -> tuple[list[Foreign | Broken], set[str]]:
    reader = AgentBenchReader()
    source = Source(path, "", reader.companions(path))
    return list(reader.traces(source)), source.notes


def good(found: list[Foreign | Broken]) -> list[tuple[dict[str, Any], Foreign]]:
    return [(json.loads(one.raw), one) for one in found if isinstance(one, Foreign)]


def test_real_runs_take_their_verdicts_by_index(door: Door) -> None:
    said = door.run("import", DATA)
    assert said.code == 0, said
    words = {str(one["index"]): one["status"] for one in overall()["custom"]["raw_results"]}
    rows = door.rows("SELECT episode_id, candidate_id, passed, termination FROM traces")
    assert rows
    assert set(rows) == {
        (index, CANDIDATE, int(word == "completedCorrect"), "completed")
        for index, word in words.items()
    }
    assert len({passed for _, _, passed, _ in rows}) == 2
    assert f"{SUITE} · {CANDIDATE}: 9 episodes, 9 attempts, 5 of 9 passed" in said.err


def test_calls_are_read_out_of_the_text_in_completion_order() -> None:
    found, notes = read(FOLDER / "runs.jsonl")
    assert notes == set()
    records = [record for record, _ in good(found)]
    assert [record["episode_id"] for record in records] == [str(run["index"]) for run in runs()]
    assert records[0]["episode_id"] == "96"
    turns = [
        m["content"] for run in runs() for m in run["output"]["history"] if m["role"] == "agent"
    ]
    wanted = Counter(turn.split("(")[0].split()[0] for turn in turns)
    made = [e for record in records for e in record["events"] if e["kind"] == "tool_call"]
    assert Counter(event["tool"] for event in made) == wanted
    assert sum(e["kind"] == "tool_result" for r in records for e in r["events"]) == (
        len(turns) - wanted["FINISH"]
    )
    assert not any(event.get("status") == "pending" for event in made)
    assert records[0]["final_state"] == json.loads(runs()[0]["output"]["result"])
    assert records[0]["final_message"] == "FINISH([-1])"
    assert records[0]["source"]["completed_at"]["at"] == "2025-01-17T18:32:22.126Z"
    assert {(r["cost_usd"], r["latency_ms"]) for r in records} == {(None, None)}


def test_a_run_that_was_cut_short_has_no_verdicts(tmp_path: Path) -> None:
    """Its failed calls are in error.jsonl, without a history; they are attempts of their own."""
    failed = {"index": 3, "error": "AGENT_FAILED", "info": "Traceback ... Timeout",
              "output": {"index": 3, "status": "running", "result": None, "history": None},
              "time": {"timestamp": 1737138742126, "str": "2025-01-17 10:32:22"}}  # fmt: skip
    broken = {**failed, "index": 4, "error": "START_FAILED", "output": None}
    found, notes = read(written(tmp_path, runs()[:2], errors=[failed, broken]))
    attempts = good(found)
    assert [record["episode_id"] for record, _ in attempts] == ["96", "90", "3", "4"]
    assert [record["termination"] for record, _ in attempts[2:]] == [
        "error",
        "infrastructure_error",
    ]
    assert [one.verdict and one.verdict.exception for _, one in attempts] == [
        None, None, "AGENT_FAILED", "START_FAILED",
    ]  # fmt: skip
    assert any("cut short" in note for note in notes)
    assert attempts[2][0]["events"][0]["kind"] == "error"


def test_verdicts_that_do_not_add_up_are_told(tmp_path: Path) -> None:
    totals = overall()
    _, notes = read(written(tmp_path / "a", runs()[:4], totals))
    assert "overall.json judges 5 runs that are not in runs.jsonl" in notes
    assert "overall.json speaks of 9 runs, runs.jsonl has 4" in notes
    totals["custom"]["accuracy"] = 0.9
    _, notes = read(written(tmp_path / "b", runs(), totals))
    assert notes == {"overall.json states another accuracy than its results give"}


def test_repeated_indices_pair_by_position(tmp_path: Path) -> None:
    lines = [{**run, "index": 1} for run in runs()[:3]]
    totals = overall()
    words = ["completedCorrect", "completedIncorrect", "task limit reached"]
    totals["custom"]["raw_results"] = [{"index": 1, "status": word} for word in words]
    found, notes = read(written(tmp_path, lines, totals))
    verdicts = [one.verdict for _, one in good(found)]
    assert [verdict and verdict.passed for verdict in verdicts] == [True, False, False]
    assert any("count as not correct" in note for note in notes)


def test_verdicts_that_come_later_are_no_other_attempts(door: Door, tmp_path: Path) -> None:
    """A run in the making is imported, then goes on to its end."""
    path = written(tmp_path / "runs", runs()[:4])
    assert door.run("import", path).code == 0
    path.write_text("".join(json.dumps(run) + "\n" for run in runs()))
    (path.parent / "overall.json").write_text(json.dumps(overall()))
    assert door.run("import", path).code == 0
    assert door.one("SELECT count(*) FROM traces") == 9


@pytest.mark.parametrize(
    ("status", "termination"),
    [
        ("agent invalid action", "agent_invalid_action"),
        ("task limit reached", "max_steps"),
        ("agent context limit", "context_window_exceeded"),
        ("task error", "infrastructure_error"),
        ("something new", "something new"),
        (None, None),
    ],
)
def test_the_status_is_how_it_ended(tmp_path: Path, status: Any, termination: Any) -> None:
    run = runs()[0]
    run["output"].update(status=status, history=run["output"]["history"][:2])
    ((record, one),) = good(read(written(tmp_path, [run]))[0])
    assert record.get("termination") == termination
    assert record["source"]["status"] == status
    assert one.verdict is None
    assert record["events"][-1]["status"] == "pending"


def test_a_tasks_own_result_is_a_verdict_where_there_is_no_other(tmp_path: Path) -> None:
    results = ({"result": True}, {"result": False}, {"reward": 0.5})
    lines = runs()[:3]
    for run, result in zip(lines, results, strict=True):
        run["output"]["result"] = result
    attempts = good(read(written(tmp_path, lines))[0])
    assert [(v.passed, v.reward) for _, one in attempts if (v := one.verdict)] == [
        (True, None), (False, None), (None, 0.5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("GET http://h/a?b=1", "GET", {"url": "http://h/a?b=1"}),
        ("```tool_code\nGET http://h/a\n```", "GET", {"url": "http://h/a"}),
        ('POST http://h/a\n{"x": 1}', "POST", {"url": "http://h/a", "body": {"x": 1}}),
        ("POST http://h/a\nnot json", "POST", {"url": "http://h/a", "body": "not json"}),
        ('FINISH(["a", 2])', "FINISH", {"answers": ["a", 2]}),
        ("FINISH([S1, S2])", "FINISH", {"answers": "[S1, S2]"}),
        ("Think: count.\n\nAct: bash\n\n```bash\nls /etc | wc -l\n```", "bash",
         {"code": "ls /etc | wc -l"}),
        ("Think: done.\n\nAct: answer(220)", "answer", {"value": "220"}),
        ("Think: done.\nAct: finish", "finish", {}),
        ("Action: Operation\n```sql\nSELECT 1\n```", "Operation", {"code": "SELECT 1"}),
        ('Action: Answer\nFinal Answer: ["1"]', "answer", {"answer": '["1"]'}),
        ("Thought: x\nAction: get_relations(Barack Obama)", "get_relations",
         {"value": "Barack Obama"}),
        ("Final Answer: #3", "answer", {"answer": "#3"}),
        ("THOUGHT: x ACTION\nACTION: go to desk 1", "go", {"value": "to desk 1"}),
        ("Thought:\nbuy\n\nAction:\nclick[Buy Now]", "click", {"value": "Buy Now"}),
    ],
)  # fmt: skip
def test_acts_in_every_tasks_form(text: str, tool: str, arguments: dict[str, Any]) -> None:
    assert call_in(text) == (tool, arguments)


@pytest.mark.parametrize("text", ["I will look it up.", "", "GET", "POST", "FINISH", "```\n```"])
def test_what_is_no_act_is_none(text: str) -> None:
    assert call_in(text) is None


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_odd_files_cost_their_record(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lines = runs()[:3]
    made_odd(data, lines[1])
    totals = overall()
    made_odd(data, totals)
    path = written(tmp_path_factory.mktemp("odd"), lines, totals)
    found, _ = read(path)
    assert len(found) == 3
    assert isinstance(found[0], Foreign)
    assert isinstance(found[2], Foreign)
    path.write_bytes(cut_anywhere(data, path.read_bytes()))
    try:
        read(path)
    except Unreadable:
        assert len(path.read_bytes()) < 3


def test_a_broken_overall_judges_nothing(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FOLDER, tmp_path / "a" / "b"))
    totals = folder / "overall.json"
    totals.write_bytes(totals.read_bytes()[:3000])
    found, notes = read(folder / "runs.jsonl")
    assert len(good(found)) == 9
    assert "overall.json could not be read to its end" in notes
