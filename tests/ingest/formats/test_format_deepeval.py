"""DeepEval's test runs: cases, conversations and traced cases, against counts of the files."""

import json
from pathlib import Path
from typing import Any

import pytest
from span_files import DATA, events, read, said, spent, used

from reviewer.importing.formats.deepeval import DeepEvalReader
from reviewer.importing.head import Head
from reviewer.importing.pipeline.units import claim
from reviewer.importing.reader import Broken
from reviewer.importing.source import Source
from reviewer.testing import check_reader

READER = DeepEvalReader()
SAMPLES = DATA / "deepeval"


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(one.raw) for one in read(READER, path)]


def loaded(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((SAMPLES / name).read_text())
    return value


def written(folder: Path, value: Any) -> Path:
    path = folder / "test_run.json"
    path.write_text(json.dumps(value))
    return path


def calls_in(value: Any, name: str) -> list[tuple[str, Any]]:
    """Return the calls of a file by its own members, with no reader."""
    if isinstance(value, list):
        return [one for held in value for one in calls_in(held, name)]
    if not isinstance(value, dict):
        return []
    found = [(one["name"], one.get("inputParameters", one.get("input"))) for one in
             value.get(name, ())]  # fmt: skip
    return found + [one for held in value.values() for one in calls_in(held, name)]


@pytest.mark.parametrize(
    ("name", "member"),
    [("cases.json", "toolsCalled"), ("talks.json", "toolsCalled"), ("traced.json", "toolSpans")],
)
def test_every_call_of_the_file_is_read(name: str, member: str) -> None:
    made = [
        (event["tool"], event["arguments"])
        for record in records(SAMPLES / name)
        for event in events(record, "tool_call")
    ]
    assert made == calls_in(loaded(name), member)
    assert len(made) == {"cases.json": 3, "talks.json": 1, "traced.json": 2}[name]


def test_a_case_is_an_attempt_with_what_its_metrics_said() -> None:
    found = read(READER, SAMPLES / "cases.json")
    assert [one.verdict.passed for one in found if one.verdict] == [True, False]
    first, second = records(SAMPLES / "cases.json")
    assert said(first) == [("user", "What does lamp L-7 cost?"), ("agent", "It costs 39.50.")]
    assert (first["episode_id"], first["candidate_id"]) == ("price of L-7", "lamp-agent-1")
    assert (first["cost_usd"], first["latency_ms"]) == (0.0004, 1250)
    assert used(first) == [("find_lamp", None)]
    assert (second["cost_usd"], second["latency_ms"]) == (None, None)
    assert used(second) == [("find_lamp", None)]  # what the refund returned is not stated
    assert not [one for one in (first, second) if "unread" in one]


def test_turns_are_told_in_their_order() -> None:
    (record,) = records(SAMPLES / "talks.json")
    assert [event["kind"] for event in record["events"]] == [
        *("message", "tool_call", "tool_result", "message", "message", "message")
    ]
    assert record["candidate_id"] == "talks"


def test_a_traced_case_has_the_spans_and_their_figures() -> None:
    found = records(SAMPLES / "traced.json")
    assert [used(one) for one in found] == [[("find_lamp", "ok")], [("find_lamp", "error")]]
    assert spent(found) == (128, 28)
    assert [round(one["cost_usd"], 9) for one in found] == [0.000092, 0.000092]
    assert [one["episode_id"] for one in found] == ["traced L-7", "traced L-0"]
    assert not [one for one in found if "unread" in one]


def test_a_case_that_states_no_calls_is_not_measured(tmp_path: Path) -> None:
    value = loaded("cases.json")
    del value["testCases"][0]["toolsCalled"]
    value["testCases"][1]["toolsCalled"] = []
    first, second = records(written(tmp_path, value))
    assert first["unread"]
    assert "unread" not in second


def test_what_is_null_of_calls_is_not_stated(tmp_path: Path) -> None:
    value = loaded("cases.json")
    value["testCases"][0]["toolsCalled"] = None
    value["testCases"][1]["toolsCalled"][0]["inputParameters"] = None
    first, second = records(written(tmp_path, value))
    assert [one["path"] for one in first["unread"]] == ["toolsCalled"]
    assert [one["path"] for one in second["unread"]] == ["toolsCalled.inputParameters"]


def test_a_call_that_no_span_has_is_not_measured(tmp_path: Path) -> None:
    value = loaded("traced.json")
    wired = {"name": "wire", "type": "FUNCTION", "inputParameters": {"to": 1}}
    value["testCases"][0]["toolsCalled"].append(wired)
    first, second = records(written(tmp_path, value))
    assert first["unread"]
    assert "unread" not in second


def test_a_span_of_no_kind_inside_another_is_not_measured(tmp_path: Path) -> None:
    value = loaded("traced.json")
    trace = value["testCases"][0]["trace"]
    (span,) = trace.pop("toolSpans")
    trace["baseSpans"] = [{**span, "type": "base"}]
    for held in (value["testCases"][0], *trace["agentSpans"]):
        held.pop("toolsCalled", None)
    for model in trace["llmSpans"]:
        model["input"], model["output"] = {"messages": []}, "It costs 39.50."
    first, _ = records(written(tmp_path, value))
    assert [one["path"] for one in first["unread"]] == ["spans[find_lamp].type"]


def test_other_tasks_under_one_name_are_other_episodes(tmp_path: Path) -> None:
    value = loaded("cases.json")
    value["testCases"][1]["name"] = value["testCases"][0]["name"]
    value["testCases"].append(value["testCases"][0])
    names = [one["episode_id"] for one in records(written(tmp_path, value))]
    assert names == ["price of L-7", "price of L-7#2", "price of L-7"]


def test_a_run_inside_another_object_is_read_alike(tmp_path: Path) -> None:
    value = loaded("cases.json")
    path = written(tmp_path, {"testRunData": value})
    assert READER.sniff(Head(path))
    plain = [one["events"] for one in records(SAMPLES / "cases.json")]
    assert [one["events"] for one in records(path)] == plain
    assert records(path)[0]["candidate_id"] == "lamp-agent-1"


def test_a_missing_verdict_is_none(tmp_path: Path) -> None:
    value = loaded("cases.json")
    del value["testCases"][0]["success"]
    first, _ = read(READER, written(tmp_path, value))
    assert first.verdict is not None
    assert first.verdict.passed is None


@pytest.mark.parametrize(("flaky", "passed"), [(False, None), (True, True)])
def test_a_success_beside_a_metric_that_failed_is_no_pass(
    tmp_path: Path, flaky: bool, passed: bool | None
) -> None:
    run = loaded("cases.json")
    case = run["testCases"][0]
    case["success"] = True
    case["metricsData"] = [{"name": "done", "success": False, "score": 0.1, "flaky": flaky}]
    found = read(READER, written(tmp_path, run))[0]
    assert found.verdict
    assert found.verdict.passed is passed
    assert any("both" in note for note in found.notes) is (passed is None)


FAILED = {"metricsData": [{"name": "done", "success": False, "flaky": False}]}


@pytest.mark.parametrize(
    ("own", "trace", "span"),
    [
        ({}, FAILED, {}),
        ({}, {}, FAILED),
        ({"expectationsData": {"success": False, "verdicts": []}}, {}, {}),
        ({"metricsData": [{"name": "done", "success": None, "error": "broke"}]}, {}, {}),
    ],
)
def test_a_success_beside_a_part_of_the_case_that_failed_is_no_pass(
    tmp_path: Path, own: dict[str, Any], trace: dict[str, Any], span: dict[str, Any]
) -> None:
    run = loaded("traced.json")
    case = run["testCases"][0]
    assert read(READER, written(tmp_path, run))[0].verdict.passed is True
    case |= own
    case["trace"] |= trace
    case["trace"]["agentSpans"][0] |= span
    assert read(READER, written(tmp_path, run))[0].verdict.passed is None


def test_cases_that_are_no_list_are_refused(tmp_path: Path) -> None:
    value = loaded("cases.json")
    value["testCases"] = {"case": value["testCases"]}
    found = list(READER.traces(Source(written(tmp_path, value))))
    assert [one for one in found if isinstance(one, Broken)]


def test_a_data_set_is_refused_by_name(tmp_path: Path) -> None:
    golden = dict.fromkeys(("input", "expected_output", "retrieval_context", "source_file"))
    unit = claim(written(tmp_path, [golden]))
    assert unit is not None
    assert unit.problem.startswith("a DeepEval data set, which says what is asked")


@pytest.mark.parametrize("name", ["cases.json", "talks.json", "traced.json"])
def test_the_rules_of_a_reader_hold(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes((SAMPLES / name).read_bytes())
    check_reader(READER, path, mutants=40)


def test_repetitions_of_a_test_are_attempts_of_one_episode(tmp_path: Path) -> None:
    path = SAMPLES / "repeated.json"
    names = [one["episode_id"] for one in records(path)]
    assert names == [
        *["test_param[refund 7]"] * 2, *["test_param[refund 8]"] * 2, *["test_plain"] * 2,
        *["test_two", "test_two#2"] * 2, *["test_boom"] * 2,
    ]  # fmt: skip
    value = loaded("repeated.json")
    value["testCases"] = [one for one in value["testCases"] if one["name"] != "test_plain[2-2]"]
    assert "test_plain[1-2]" in [one["episode_id"] for one in records(written(tmp_path, value))]


def test_a_metric_without_a_result_leaves_no_pass() -> None:
    """A metric that raised an error has neither a score nor an error in the file."""
    cases = loaded("repeated.json")["testCases"]
    broken = [any("success" not in one for one in case["metricsData"]) for case in cases]
    assert sum(broken) == 2
    assert all(case["success"] for case, broke in zip(cases, broken, strict=True) if broke)
    found = read(READER, SAMPLES / "repeated.json")
    for one, case, broke in zip(found, cases, broken, strict=True):
        assert one.verdict is not None
        assert one.verdict.passed is (None if broke else case["success"])
