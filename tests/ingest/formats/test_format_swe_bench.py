"""SWE-bench and SWE-smith results: files of theirs, and runs in their layout."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from doors import Door
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_shapes import cut_anywhere, made_odd
from swe_files import IDS, MODEL, evaluated, prediction, report, summary, trajectory

from reviewer.importing.formats.swe.swe_bench import SweBenchReader
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[2] / "data/swe_bench"
MINI = DATA.parent / "mini_swe_agent"
SMITH = "swesmith_gen__claude-3.7__t-0.00_p-1.00__c.2.00__exp9__ig_orig"
READER = SweBenchReader()


def attempts(path: Path) -> list[tuple[dict[str, Any], Foreign]]:
    found = list(READER.traces(Source(path, "", READER.companions(path))))
    assert all(isinstance(one, Foreign) for one in found), found
    return [(json.loads(one.raw), one) for one in found if isinstance(one, Foreign)]


@pytest.mark.parametrize(
    "name", ["run_report.json", "check-harness.jsonl", "getmoto__moto.694ce1f4.pr_7331/report.json"]
)
def test_every_kind_is_claimed(name: str) -> None:
    assert READER.sniff(Head(DATA / name))
    assert READER.sniff(Head(MINI / "results.json"))


@pytest.mark.parametrize("value", [
    {"instance_id": "a__b-1", "history": [], "model_name_or_path": "m"}, {"resolved": True}, {},
    {"a": {"b": 1}}, {"resolved_ids": ["a"]}, {"total": 3, "resolved": 2}, [1], 5, None,
    {"instance_id": "a__b-1", "patch": "x", "problem_statement": "y"},
])  # fmt: skip
def test_what_looks_alike_is_not_claimed(door: Door, value: Any) -> None:
    assert not READER.sniff(Head(door.file("x.json", json.dumps(value))))


SMITHS = [("getmoto__moto.694ce1f4.pr_7331", (4, 0), (206, 0)),
          ("pandas-dev__pandas.95280573.pr_53652", (2, 0), (9, 0)),
          ("pydantic__pydantic.acb0f10f.pr_8316", (5, 0), (150, 0))]  # fmt: skip


@pytest.mark.parametrize(("name", "f2p", "p2p"), SMITHS)
def test_a_report_keeps_a_contradiction_and_notes_it(
    name: str, f2p: tuple[int, int], p2p: tuple[int, int]
) -> None:
    [(record, foreign)] = attempts(DATA / name / "report.json")
    wanted = json.loads((DATA / name / "report.json").read_bytes())
    assert (record["episode_id"], record["candidate_id"]) == (name, SMITH)
    assert foreign.suite == "swe-smith"
    assert record["events"] == []
    assert record["final_state"] == {"patch": None, "tests": wanted["tests_status"]}
    assert foreign.verdict is not None
    assert foreign.verdict.passed is True
    detail = foreign.verdict.detail
    assert detail["patch_successfully_applied"] is False
    for kind, (good, bad) in (("FAIL_TO_PASS", f2p), ("PASS_TO_PASS", p2p)):
        assert detail[kind] == {"success": good, "failure": bad}
    assert any("patch_successfully_applied" in note for note in foreign.notes)


def test_resolved_beside_tests_that_failed_is_no_verdict(door: Door) -> None:
    """The run's summary counts it as resolved and does not settle it."""
    said = report(0, resolved=True)
    said[IDS[0]]["tests_status"]["PASS_TO_PASS"]["failure"] = ["t2"]
    root = evaluated(door)
    folder = root / f"logs/run_evaluation/v1/{MODEL.replace('/', '__')}/{IDS[0]}"
    (folder / "report.json").write_text(json.dumps(said))
    door.ok("import", root)
    assert door.one("SELECT passed FROM traces WHERE episode_id=?", IDS[0]) is None
    assert door.one("SELECT passed FROM traces WHERE episode_id=?", IDS[2]) == 1


def test_a_summary_of_swe_smith() -> None:
    [held] = READER.traces(Source(DATA / "run_report.json"))
    assert isinstance(held, Broken)  # it names no model, and nothing of its run is there
    source = Source(DATA / "run_report.json", "a model")
    found = [one for one in READER.traces(source) if isinstance(one, Foreign)]
    passed = [one.verdict.passed for one in found if one.verdict]
    assert (len(found), passed.count(True), passed.count(False)) == (53, 3, 50)
    assert source.notes == {"3 of 53 submitted instances were resolved"}


def test_predictions_without_a_report_are_unscored() -> None:
    rows = [json.loads(line) for line in (DATA / "check-harness.jsonl").read_text().splitlines()]
    found = attempts(DATA / "check-harness.jsonl")
    assert [record["episode_id"] for record, _ in found] == [row["instance_id"] for row in rows]
    assert {record["candidate_id"] for record, _ in found} == {"gold"}
    for (record, foreign), row in zip(found, rows, strict=True):
        assert record["final_state"] == {"patch": row["model_patch"], "tests": None}
        assert foreign.verdict is not None
        assert foreign.verdict.passed is None
        assert any("unscored" in note for note in foreign.notes)


@pytest.mark.parametrize("shape", ["lines", "array", "object", "one"])
def test_shapes_of_predictions(door: Door, shape: str) -> None:
    rows = [prediction(0), prediction(1, "")]
    by_id = {row["instance_id"]: row for row in rows}
    text = {
        "lines": "".join(f"{json.dumps(row)}\n" for row in rows),
        "array": json.dumps(rows, indent=2),
        "object": json.dumps(by_id, indent=2),
        "one": json.dumps(rows[0], indent=2),
    }[shape]
    found = attempts(door.file("preds.json", text))
    wanted = rows[:1] if shape == "one" else rows
    assert [r["final_state"]["patch"] for r, _ in found] == [
        row["model_patch"] or None for row in wanted
    ]
    assert {r["candidate_id"] for r, _ in found} == {MODEL}


def test_a_run_is_one_attempt_an_instance(door: Door) -> None:
    said = door.ok("import", evaluated(door))
    rows = door.rows("SELECT episode_id, passed FROM traces ORDER BY 1")
    assert rows == [(IDS[0], 1), (IDS[1], 0), (IDS[2], 1), (IDS[3], 0), (IDS[4], None),
                    (IDS[5], 0), (IDS[6], 0), (IDS[7], None)]  # fmt: skip
    assert door.rows("SELECT DISTINCT candidate_id, suite_id, events FROM traces") == [
        (MODEL, "swe-bench", 0)
    ]
    assert "2 of 8 submitted instances were resolved; the data set has 500" in said.both
    assert "492 instances were never attempted" in said.both
    state = json.loads(door.one("SELECT final_state FROM traces WHERE episode_id=?", IDS[0]))
    assert state == {"patch": prediction(0)["model_patch"],
                     "tests": report(0, True)[IDS[0]]["tests_status"]}  # fmt: skip
    again = door.ok("import", door.root / "run")
    assert door.one("SELECT count(*) FROM traces") == 8
    assert ", 1 added" not in again.both
    door.healthy()


def test_trajectories_take_the_results_and_the_rest_is_their_candidates(door: Door) -> None:
    root = evaluated(door)
    for number in range(4):
        trajectory(door, "run/trajs", number)
    door.ok("import", root)
    rows = door.rows("SELECT episode_id, passed, events > 0 FROM traces ORDER BY 1")
    assert [row[1] for row in rows] == [1, 0, 1, 0, None, 0, 0, None]
    assert [row[2] for row in rows] == [1, 1, 1, 1, 0, 0, 0, 0]
    candidates = door.rows("SELECT DISTINCT candidate_id FROM traces")
    assert candidates == [(f"mini-swe-agent 1.13.4 {MODEL}",)]
    state, detail = door.rows(
        "SELECT final_state, detail FROM traces JOIN source_verdict v ON v.trace = traces.trace"
        " WHERE episode_id=?", IDS[1],
    )[0]  # fmt: skip
    assert json.loads(state) == {"submission": prediction(1)["model_patch"]}
    assert json.loads(detail)["FAIL_TO_PASS_failed"] == ["t1"]


def test_two_models_of_one_folder_stay_two_candidates(door: Door) -> None:
    """gpt-4 is no part of gpt-4.1, though its summary's name begins like it."""
    for model in ("gpt-4", "gpt-4.1"):
        evaluated(door, "run", model)
        rows = [prediction(n, None if n != 6 else "", model) for n in range(8)]
        door.file(f"run/{model}.jsonl", rows)
    (door.root / "run/preds.json").unlink()
    door.ok("import", door.root / "run")
    counts = door.rows("SELECT candidate_id, count(*), sum(passed) FROM traces GROUP BY 1")
    assert counts == [("gpt-4", 8, 2), ("gpt-4.1", 8, 2)]


def test_another_submission_is_not_joined(door: Door) -> None:
    """The same instance and model, another patch: the verdict is of another attempt."""
    root = evaluated(door)
    trajectory(door, "run/trajs", 0, submission="diff --git a/other b/other\n+other\n")
    said = door.ok("import", root)
    rows = door.rows("SELECT passed, events > 0 FROM traces WHERE episode_id=? ORDER BY 2", IDS[0])
    assert rows == [(1, 0), (None, 1)]
    assert "holds another patch" in said.both


def test_reports_that_contradict_each_other_give_no_verdict(door: Door) -> None:
    door.file("a/logs/run_evaluation/v1/m/" + IDS[0] + "/report.json", report(0, True))
    door.file("a/m.v1.json", summary(resolved_ids=[], unresolved_ids=[IDS[0]], submitted_ids=[
        IDS[0]], completed_ids=[IDS[0]], empty_patch_ids=[], error_ids=[]))  # fmt: skip
    said = door.ok("import", door.root / "a")
    assert door.rows("SELECT episode_id, passed FROM traces") == [(IDS[0], None)]
    assert "contradict each other" in said.both


def test_an_instance_in_lists_that_contradict_each_other_has_no_verdict(door: Door) -> None:
    said = door.take("m.v1.json", summary(resolved_ids=[IDS[0], IDS[0], IDS[1], IDS[4], IDS[6]]))
    rows = door.rows("SELECT episode_id, passed FROM traces WHERE passed = 1 OR passed IS NULL")
    assert (IDS[0], 1) in rows
    assert {(IDS[1], None), (IDS[4], None), (IDS[6], None)} <= set(rows)
    assert "3 are in lists that contradict each other" in said.both


def test_declared_totals_that_differ_are_called_out(door: Door) -> None:
    said = door.take("m.v1.json", summary(resolved_instances=9))
    assert "the file declares 9 resolved and lists 2" in said.both


def test_a_partial_rerun_is_called_out(door: Door) -> None:
    door.file("r/preds.json", {IDS[n]: prediction(n) for n in range(8)})
    door.file(f"r/{MODEL.replace('/', '__')}.v1.json", summary(
        submitted_ids=[IDS[0]], resolved_ids=[IDS[0]], unresolved_ids=[], empty_patch_ids=[],
        error_ids=[], completed_ids=[IDS[0]], submitted_instances=1, resolved_instances=1,
    ))  # fmt: skip
    said = door.ok("import", door.root / "r")
    assert "1 of 1 submitted instances were resolved; the data set has 500" in said.both
    assert "7 predictions of this model are not in the summary" in said.both
    assert door.one("SELECT sum(passed IS NULL) FROM traces") == 7


def test_summaries_of_2024(door: Door) -> None:
    old = {"no_generation": [IDS[2]], "no_logs": [], "resolved": [IDS[0]],
           "applied": [IDS[0], IDS[1]]}  # fmt: skip
    door.file("20240612_agent/results/results.json", old)
    door.ok("import", door.root / "20240612_agent")
    assert door.rows("SELECT episode_id, passed, candidate_id FROM traces ORDER BY 1") == [
        (IDS[0], 1, "20240612_agent"), (IDS[1], 0, "20240612_agent"),
        (IDS[2], 0, "20240612_agent"),
    ]  # fmt: skip


def test_a_failure_that_the_harness_guesses_to_be_its_own_counts(door: Door) -> None:
    """SWE-bench guesses by words of the log, which a patch may print, and counts the instance."""
    value = summary(infra_failure_ids=[IDS[1]], failure_reasons={IDS[1]: "out_of_memory"})
    said = door.take("m.v1.json", value)
    row = door.rows("SELECT passed, infrastructure FROM traces WHERE episode_id=?", IDS[1])
    assert row == [(0, 0)]
    assert "suspects a failure of its own" in said.both


def test_a_run_that_is_evaluated_later_gets_its_verdicts(door: Door) -> None:
    for number in range(8):
        trajectory(door, "run/trajs", number)
    door.ok("import", door.root / "run")
    assert door.one("SELECT count(passed) FROM traces") == 0
    evaluated(door)
    said = door.ok("import", door.root / "run")
    rows = door.rows("SELECT episode_id, count(*), sum(events = 0) FROM traces GROUP BY 1")
    assert rows == [(one, 1, 0) for one in IDS]
    passed = door.rows("SELECT passed FROM traces ORDER BY episode_id")
    assert passed == [(1,), (0,), (1,), (0,), (None,), (0,), (0,), (None,)]
    assert "had no verdict: this file's was taken (6 records)" in said.both
    door.healthy()


def test_broken_rows_cost_themselves(door: Door) -> None:
    rows = [json.dumps(prediction(0)), '{"instance_id": 5, "model_patch": "x"}', "{", "[]",
            json.dumps({**prediction(1), "model_patch": 7}), json.dumps(prediction(2))]  # fmt: skip
    said = door.take("preds.jsonl", "\n".join(rows) + "\n")
    assert said.code == 20
    found = door.rows("SELECT episode_id FROM traces ORDER BY 1")
    assert found == [(IDS[0],), (IDS[2],)]
    assert door.one("SELECT count(*) FROM quarantine") == 4
    door.healthy()


def test_a_report_that_is_no_json_costs_itself(door: Door) -> None:
    root = evaluated(door)
    broken = root / f"logs/run_evaluation/v1/{MODEL.replace('/', '__')}/{IDS[0]}/report.json"
    broken.write_text('{"' + IDS[0] + '": {"resolved": true, "patch_exists": ')
    said = door.run("import", root)
    assert said.code == 20
    # The summary still says that it was resolved.
    assert door.one("SELECT passed FROM traces WHERE episode_id=?", IDS[0]) == 1
    assert door.one("SELECT count(*) FROM traces") == 8


@settings(max_examples=60)
@given(st.data())
def test_odd_and_cut_files_cost_themselves_at_most(data: st.DataObject) -> None:
    value = data.draw(
        st.sampled_from([summary(incomplete_ids=[]), report(0, True), {IDS[0]: prediction(0)}])
    )
    value = json.loads(json.dumps(value))
    for _ in range(data.draw(st.integers(1, 3))):
        if value:
            made_odd(data, value)
    raw = json.dumps(value).encode()
    raw = cut_anywhere(data, raw) if data.draw(st.booleans()) else raw
    with TemporaryDirectory() as folder:
        path = Path(folder, "m.v1.json")
        path.write_bytes(raw)
        if READER.sniff(Head(path)):
            try:
                found = list(READER.traces(Source(path)))
            except Exception as error:
                assert type(error).__name__ == "Unreadable"  # noqa: PT017 (said of the file)
            else:
                assert all(isinstance(one, (Foreign, Broken)) for one in found)
