"""What observability tools keep beside the work: scores of any sign and kind, scorers, and parts
that their clients left out (data/observability/PROVENANCE.md)."""

import json
from pathlib import Path
from typing import Any

from span_files import DATA, events, read, used

from reviewer.importing.formats.otel.reader import SpanReader
from reviewer.importing.formats.stores.braintrust import BraintrustReader
from reviewer.importing.formats.stores.langsmith import LangSmithReader
from reviewer.importing.formats.stores.opik import OpikReader
from reviewer.importing.formats.stores.weave import WeaveReader
from reviewer.importing.reader import Foreign

FILES = DATA / "observability"
WEAVE, BRAINTRUST, OPIK = WeaveReader(), BraintrustReader(), OpikReader()
LOOKED_UP = [("look_up_lamp", "ok"), ("look_up_lamp", "error")]


def scores(one: Foreign) -> list[tuple[str, Any]]:
    assert one.verdict is not None
    assert one.verdict.passed is None
    return [
        (score["name"], score.get("value", score.get("stringValue")))
        for score in one.verdict.detail["scores"]
    ]


def written(folder: Path, value: Any) -> Path:
    path = folder / "export.json"
    path.write_text(json.dumps(value))
    return path


def the(reader: SpanReader, path: Path) -> dict[str, Any]:
    (one,) = read(reader, path)
    record: dict[str, Any] = json.loads(one.raw)
    return record


def opik() -> Any:
    return json.loads((FILES / "opik-scores.json").read_text())


# Weave --------------------------------------------------------------------------------------------


def test_scorers_of_an_evaluation_in_weave_are_not_the_candidates_tools() -> None:
    first, second, logged = read(WEAVE, FILES / "weave-evaluation.jsonl")
    for one in (first, second):
        record = json.loads(one.raw)
        assert used(record) == LOOKED_UP
        assert record["final_message"] == "Done."
        assert "unread" not in record
        of_trial = [("exact match", "false"), ("exact dist", -1.5), ("exact sub deep", "false"),
                    ("flag", "false"), ("zero", 0), ("word", "bad")]  # fmt: skip
        assert scores(one)[:6] == of_trial
    record = json.loads(logged.raw)
    assert (events(record, "tool_call"), record["final_message"]) == ([], "y")
    assert scores(logged)[:2] == [("tone", -1), ("ok", "false")]


def test_a_scorer_in_weave_that_broke_is_no_error_of_the_candidate(tmp_path: Path) -> None:
    lines = (FILES / "weave-evaluation.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        if "predict_and_score" in row["op_name"] or "/op/word:" in row["op_name"]:
            row["exception"], row["output"] = '{"type":"ValueError","message":"broke"}', None
    record = json.loads(read(WEAVE, written(tmp_path, rows))[0].raw)
    assert used(record) == LOOKED_UP
    assert record["termination"] == "completed"


# Braintrust ---------------------------------------------------------------------------------------


def test_scores_of_braintrust_that_only_the_scorers_span_has_are_read() -> None:
    evaluated, crashed = read(BRAINTRUST, FILES / "braintrust-evaluation.jsonl")
    assert scores(evaluated) == [
        ("verdict", "Wrong"), ("exact", 0), ("tone", 0.25), ("a", 0.5), ("b", 1),
    ]  # fmt: skip
    record = json.loads(crashed.raw)
    assert (record["termination"], crashed.verdict) == ("error", None)
    assert used(record) == LOOKED_UP


# Opik ---------------------------------------------------------------------------------------------


def test_scores_of_opik_keep_their_sign_their_word_and_what_people_wrote() -> None:
    (one,) = read(OPIK, FILES / "opik-scores.json")
    assert scores(one) == [
        ("tone", -1.0), ("ok", 0.0), ("human", -5.0), ("comment", "terrible answer"),
        ("guardrail PII", "failed"),
    ]  # fmt: skip
    assert one.verdict is not None
    assert one.verdict.detail["scores"][1]["stringValue"] == "bad"


def test_a_trace_of_opik_that_lacks_spans_is_not_measured(tmp_path: Path) -> None:
    value = opik()
    value["spans"] = [one for one in value["spans"] if one["name"] != "send_mail"]
    record = the(OPIK, written(tmp_path, value))
    assert [one["path"] for one in record["unread"]] == ["spans[lamp_desk].spans (cut off)"]


def test_a_value_that_opik_left_out_for_its_size_is_not_measured(tmp_path: Path) -> None:
    value = opik()
    left_out = {"opik_truncated": True, "reason": "<omitted_due_to_size_30MB_error_code_413_400>"}
    value["spans"] = [one for one in value["spans"] if one["name"] != "send_mail"]
    value["trace"]["span_count"] = len(value["spans"])
    assert "unread" not in the(OPIK, written(tmp_path, value))
    for one in value["spans"]:
        if one["type"] == "llm":
            one["output"] = left_out
        if one["name"] == "delete_account":
            one["input"] = left_out
    value["trace"]["output"] = left_out
    record = the(OPIK, written(tmp_path, value))
    unread = {one["path"] for one in record["unread"]}
    assert unread >= {"spans[model].output (cut off)", "spans[delete_account].input (cut off)"}
    assert "final_message" not in record


# LangSmith ----------------------------------------------------------------------------------------


def test_feedback_of_langsmith_keeps_its_sign_and_its_words(tmp_path: Path) -> None:
    path = DATA / "formats_c" / "langsmith" / "tracer_runs.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    root = next(one for one in rows if not one.get("parent_run_id"))
    root["feedback_stats"] = {
        "rating": {"n": 1, "avg": -1.0},
        "kind": {"n": 3, "avg": None, "values": {"rude": 2, "fine": 1}},
    }
    (one, *_) = read(LangSmithReader(), written(tmp_path, rows))
    assert scores(one) == [("rating", -1.0), ("kind", "rude"), ("kind", "fine")]
