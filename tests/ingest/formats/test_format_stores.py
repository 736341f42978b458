"""MLflow, Weave and Braintrust: kinds, ids, sums, verdicts, and rows that complete each other."""

import json
from pathlib import Path
from typing import Any

import pytest
from counted import FILES
from span_files import DATA, events, read, spent, told, used

from reviewer.importing.formats.otel.reader import SpanReader
from reviewer.importing.formats.stores.braintrust import BraintrustReader
from reviewer.importing.formats.stores.mlflow import MlflowReader
from reviewer.importing.formats.stores.opik import OpikReader
from reviewer.importing.formats.stores.weave import WeaveReader
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

MLFLOW, WEAVE, BRAINTRUST = MlflowReader(), WeaveReader(), BraintrustReader()
OPIK = OpikReader()
TOOLS = [("look_up_lamp", "ok"), ("look_up_lamp", "error"), ("refund_lamp", "ok")]
SAMPLES: dict[SpanReader, Path] = {
    MLFLOW: FILES / "mlflow" / "trace_0.json",
    WEAVE: FILES / "weave" / "calls.jsonl",
    BRAINTRUST: FILES / "braintrust" / "logs.jsonl",
}


def trace() -> Any:
    return json.loads(SAMPLES[MLFLOW].read_text())


def rows(reader: SpanReader) -> list[dict[str, Any]]:
    return [json.loads(line) for line in SAMPLES[reader].read_text().splitlines()]


def written(folder: Path, value: Any) -> Path:
    """A list of values one a line, anything else as one document."""
    path = folder / "export.json"
    values = value if isinstance(value, list) else [value]
    path.write_text("\n".join(json.dumps(one) for one in values))
    return path


def the(reader: SpanReader, path: Path) -> dict[str, Any]:
    (record,) = told(reader, path).values()
    return record


def verdict(reader: SpanReader, path: Path) -> Any:
    (one,) = read(reader, path)
    assert one.verdict is not None
    assert one.verdict.passed is None
    return [(score["name"], score.get("value", score.get("stringValue")))
            for score in one.verdict.detail["scores"]]  # fmt: skip


def kinds(record: dict[str, Any]) -> list[str]:
    return [one["tool"] for one in events(record, "tool_call")]


# MLflow -------------------------------------------------------------------------------------------


def test_mlflow_ids_in_hex_and_older_names_say_the_same(tmp_path: Path) -> None:
    plain = the(MLFLOW, SAMPLES[MLFLOW])
    old = trace()
    old["info"] = {
        "request_id": "tr-1",
        "experiment_id": "1",
        "timestamp_ms": 1795384662844,
        "status": "OK",
        "request_metadata": {},
        "tags": {},
    }
    for number, span in enumerate(old["data"]["spans"], 1):
        status = span.pop("status")
        parent = span.pop("parent_span_id")
        span["context"] = {"span_id": f"0x{number:016x}", "trace_id": "0x1"}
        span["parent_id"] = f"0x{1:016x}" if parent else None
        span["start_time"] = span.pop("start_time_unix_nano")
        span["end_time"] = span.pop("end_time_unix_nano")
        span["status_code"] = status["code"].removeprefix("STATUS_CODE_")
        span["status_message"] = status["message"]
        del span["span_id"], span["trace_id"]
    record = the(MLFLOW, written(tmp_path, old))
    assert record["events"] == plain["events"]
    assert record["episode_id"] == "tr-1"


def test_mlflow_takes_the_sum_of_a_trace_where_no_call_counts(tmp_path: Path) -> None:
    value = trace()
    for span in value["data"]["spans"]:
        span["attributes"].pop("mlflow.chat.tokenUsage", None)
        answer = span["attributes"].get("mlflow.spanOutputs", "")
        if "usage" in answer:
            without = {n: one for n, one in json.loads(answer).items() if n != "usage"}
            span["attributes"]["mlflow.spanOutputs"] = json.dumps(without)
    record = the(MLFLOW, written(tmp_path, value))
    assert record["usage"] == {"input_tokens": 600, "output_tokens": 66}


def test_mlflow_assessments_are_verdicts_of_the_source(tmp_path: Path) -> None:
    value = trace()
    value["info"]["assessments"] = [
        {
            "assessment_name": "correct",
            "source": {"source_type": "HUMAN", "source_id": "ann"},
            "feedback": {"value": True},
            "rationale": "as it should be",
        },
        {"assessment_name": "tone", "source": {"source_type": "LLM_JUDGE"},
         "feedback": {"value": 2}},
        {"assessment_name": "answer", "source": {"source_type": "HUMAN"},
         "expectation": {"value": "39.50"}},
    ]  # fmt: skip
    assert verdict(MLFLOW, written(tmp_path, value)) == [
        ("correct", "true"), ("tone", 2), ("expected answer", "39.50"),
    ]  # fmt: skip


def test_mlflow_a_span_without_a_kind_is_a_tool_only_where_a_model_called_it(
    tmp_path: Path,
) -> None:
    value = trace()
    for span in value["data"]["spans"]:
        if span["name"] == "refund_lamp":
            span["attributes"]["mlflow.spanType"] = '"UNKNOWN"'
    record = the(MLFLOW, written(tmp_path, value))
    assert used(record) == TOOLS
    assert "unread" not in record
    for span in value["data"]["spans"]:
        if span["name"] == "refund_lamp":
            span["name"] = "send_money"
    record = the(MLFLOW, written(tmp_path, value))
    assert [one["path"] for one in record["unread"]] == ["spans[send_money].mlflow.spanType"]


@pytest.mark.parametrize(
    "broken",
    [{"info": {"trace_id": "tr-1", "tags": {}}, "data": {"spans": []}},
     {"info": {"trace_id": "tr-1", "tags": {}}, "data": {}},
     {"info": {"trace_id": "tr-1", "tags": {}}, "data": {"spans": ["{"]}},
     {"trace_id": "tr-1", "trace": "{", "request_preview": ""}],
)  # fmt: skip
def test_mlflow_a_trace_without_spans_is_refused(tmp_path: Path, broken: Any) -> None:
    from reviewer.importing.source import Source

    (found,) = MLFLOW.traces(Source(written(tmp_path, broken)))
    assert found.codes  # type: ignore[union-attr]


def test_mlflow_spans_alone_are_the_trace(tmp_path: Path) -> None:
    """As its file store keeps them, among the artifacts of a trace."""
    alone = the(MLFLOW, written(tmp_path, {"spans": trace()["data"]["spans"]}))
    whole = the(MLFLOW, SAMPLES[MLFLOW])
    assert alone["events"] == whole["events"]
    assert alone["usage"] == whole["usage"]


def test_a_message_with_a_picture_is_one_message(tmp_path: Path) -> None:
    odd = trace()
    words = {"type": "text", "text": "which lamp is this?"}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    for span in odd["data"]["spans"]:
        given = json.loads(span["attributes"]["mlflow.spanInputs"])
        if "messages" in given:
            first = next(one for one in given["messages"] if one["role"] == "user")
            first["content"] = [words, picture]
            span["attributes"]["mlflow.spanInputs"] = json.dumps(given)
    record = the(MLFLOW, written(tmp_path, odd))
    asked = [one["message"] for one in events(record, "message") if one["actor"] == "user"]
    assert asked == ["which lamp is this?\n[image_url]"]


# Weave --------------------------------------------------------------------------------------------


def test_weave_what_is_kept_elsewhere_is_not_measured(tmp_path: Path) -> None:
    values = rows(WEAVE)
    refund = next(one for one in values if "refund_lamp" in one["op_name"])
    refund["inputs"] = {"order": "weave:///shop/lampshop/object/Order:abc", "self": "weave:///x"}
    record = the(WEAVE, written(tmp_path, values))
    assert [one["path"] for one in record["unread"]] == ["spans[refund_lamp].inputs.order"]


def test_weave_an_answer_elsewhere_counts_by_its_usage(tmp_path: Path) -> None:
    values = rows(WEAVE)
    for one in values:
        if "openai" in one["op_name"]:
            one["op_name"] = "weave:///shop/lampshop/op/ask:1"
            one["output"] = "weave:///shop/lampshop/object/Answer:abc"
    record = the(WEAVE, written(tmp_path, values))
    assert record["usage"] == {"input_tokens": 600, "output_tokens": 66}
    assert kinds(record) == [name for name, _ in TOOLS]
    assert [one["path"] for one in record["unread"]] == ["spans[ask].output"]


def conversed(answer: list[Any], history: list[Any]) -> dict[str, Any]:
    """A call of Bedrock's Converse API, as Weave has it."""
    return {
        "op_name": "weave:///e/p/op/BedrockRuntime.converse:abc",
        "inputs": {"modelId": "m", "messages": history},
        "output": {
            "output": {"message": {"role": "assistant", "content": answer}},
            "usage": {"inputTokens": 80, "cacheReadInputTokens": 20, "outputTokens": 10},
        },
    }


def test_weave_blocks_of_converse_are_calls_and_results(tmp_path: Path) -> None:
    asked = {"role": "user", "content": [{"text": "refund lamp a"}]}
    use = {"toolUse": {"toolUseId": "t1", "name": "refund", "input": {"lamp": "a"}}}
    seen = {"toolUseId": "t1", "status": "error", "content": [{"json": {"why": "no lamp"}}]}
    answer = {"role": "user", "content": [{"toolResult": seen}]}
    first = conversed([use], [asked])
    history = [asked, {"role": "assistant", "content": [use]}, answer]
    second = conversed([{"text": "it is not there"}], history)
    calls = [
        {"id": own, "trace_id": "t", "parent_id": "r", "project_id": "e/p", **one,
         "started_at": f"2026-11-20T10:00:0{own}Z", "ended_at": f"2026-11-20T10:00:0{own}.5Z"}
        for own, one in (("1", first), ("2", second))
    ]  # fmt: skip
    root = {"id": "r", "trace_id": "t", "project_id": "e/p", "op_name": "desk", "inputs": {},
            "started_at": "2026-11-20T10:00:00Z", "ended_at": "2026-11-20T10:00:09Z"}  # fmt: skip
    record = the(WEAVE, written(tmp_path, [root, *calls]))
    assert kinds(record) == ["refund"]
    assert used(record) == [("refund", "error")]
    assert spent([record]) == (200, 20)
    assert "unread" not in record


def test_weave_a_model_that_did_not_answer_is_no_tool(tmp_path: Path) -> None:
    found = rows(WEAVE)
    model = next(one for one in found if "choices" in (one["output"] or {}))
    for row in found:
        if row["op_name"] == model["op_name"]:
            row["op_name"] = "weave:///e/p/op/own_model:abc"
    failed = {**model, "id": "failed", "output": None, "summary": {}, "exception": "429"}
    record = the(WEAVE, written(tmp_path, [*found, failed]))
    assert "own_model" not in kinds(record)
    assert [one["message"] for one in events(record, "error")] == ["429"]


def test_weave_scorers_are_no_work_of_the_agent(tmp_path: Path) -> None:
    values = rows(WEAVE)
    root = next(one for one in values if one["parent_id"] is None)
    trial = {**root, "id": "t1", "op_name": "weave:///shop/lampshop/op/Evaluation.predict_and_score:1",
             "parent_id": None, "output": {"scores": {"exact": {"passed": True}}}}  # fmt: skip
    scorer = {**root, "id": "s1", "op_name": "weave:///shop/lampshop/op/exact.score:1",
              "parent_id": "t1", "output": {"passed": True}}  # fmt: skip
    root["parent_id"] = "t1"
    path = written(tmp_path, [*values, trial, scorer])
    record = the(WEAVE, path)
    assert used(record) == TOOLS
    assert verdict(WEAVE, path) == [("exact passed", "true")]


def test_weave_a_call_begun_and_ended_apart_is_one(tmp_path: Path) -> None:
    plain = the(WEAVE, SAMPLES[WEAVE])
    late = ("ended_at", "output", "summary", "exception")
    begun = [{n: v for n, v in one.items() if n not in late} for one in rows(WEAVE)]
    kept = ("id", "trace_id", "project_id", "op_name", "started_at", *late)
    ended = [{name: one[name] for name in kept} for one in rows(WEAVE)]
    record = the(WEAVE, written(tmp_path, [{"end": one} for one in ended] + begun))
    assert record["events"] == plain["events"]


# Braintrust ---------------------------------------------------------------------------------------


def test_braintrust_a_row_that_merges_adds_to_the_one_before(tmp_path: Path) -> None:
    plain = the(BRAINTRUST, SAMPLES[BRAINTRUST])
    values: list[dict[str, Any]] = []
    for row in rows(BRAINTRUST):
        end = row["metrics"].pop("end")
        more = {"id": row["id"], "span_id": row["span_id"], "_is_merge": True,
                "root_span_id": row["root_span_id"], "metrics": {"end": end}}  # fmt: skip
        if "output" in row:
            more["output"] = row.pop("output")
        values += [row, more]
    record = the(BRAINTRUST, written(tmp_path, values))
    assert record["events"] == plain["events"]
    assert record["usage"] == plain["usage"]
    assert "unread" not in record


def test_braintrust_what_was_said_later_of_a_span_is_no_attempt(tmp_path: Path) -> None:
    own = {
        "id": "c",
        "created": "2026-11-22T22:00:00Z",
        "origin": {"id": rows(BRAINTRUST)[0]["id"]},
    }
    path = written(tmp_path, [*rows(BRAINTRUST), {**own, "comment": {"text": "bad"}}])
    assert the(BRAINTRUST, path)["events"] == the(BRAINTRUST, SAMPLES[BRAINTRUST])["events"]


def test_braintrust_scores_of_a_span_that_is_not_named_are_refused(tmp_path: Path) -> None:
    scored = {"id": "x", "_is_merge": True, "scores": {"h": 0}}
    path = written(tmp_path, [*rows(BRAINTRUST), scored])
    refused, record = BRAINTRUST.traces(Source(path))
    assert isinstance(refused, Broken)
    assert refused.codes == ("missing:span_id",)
    assert isinstance(record, Foreign)


def test_braintrust_a_row_that_replaces_another_act_is_not_measured(tmp_path: Path) -> None:
    values = rows(BRAINTRUST)
    refund = next(one for one in values if one["span_attributes"]["name"] == "refund_lamp")
    record = the(BRAINTRUST, written(tmp_path, [{**refund, "input": {"sku": "L-1"}}, *values]))
    assert used(record) == TOOLS
    assert record["unread"]


def test_braintrust_scores_are_verdicts_and_scorers_no_work_of_the_agent(tmp_path: Path) -> None:
    values = rows(BRAINTRUST)
    root, ask = values[0], values[1]
    root["scores"] = {"correct": 1, "tone": 0.25}
    judge = {**root, "id": "j", "span_id": "j", "span_parents": [root["span_id"]],
             "span_attributes": {"type": "score", "name": "correct"}}  # fmt: skip
    asked = {**ask, "id": "k", "span_id": "k", "span_parents": ["j"]}
    path = written(tmp_path, [*values, judge, asked])
    record = the(BRAINTRUST, path)
    assert spent([record]) == (600, 66)
    assert record["usage"]["input_tokens"] == 600
    assert verdict(BRAINTRUST, path) == [("correct", 1), ("tone", 0.25)]


@pytest.mark.parametrize("named", ["function", None])
def test_braintrust_a_span_of_no_clear_kind_is_not_measured(
    tmp_path: Path, named: str | None
) -> None:
    values = rows(BRAINTRUST)
    refund = next(one for one in values if one["span_attributes"]["name"] == "refund_lamp")
    refund["span_attributes"] = {"name": "wire_money", "type": named}
    record = the(BRAINTRUST, written(tmp_path, values))
    assert [one["path"] for one in record["unread"]] == ["spans[wire_money].span_attributes.type"]


def test_braintrust_rows_as_its_api_returns_them(tmp_path: Path) -> None:
    plain = the(BRAINTRUST, SAMPLES[BRAINTRUST])
    record = the(BRAINTRUST, written(tmp_path, {"events": rows(BRAINTRUST), "cursor": "x"}))
    assert record["events"] == plain["events"]


# Opik ---------------------------------------------------------------------------------------------


def test_opik_a_trace_with_its_spans() -> None:
    path = DATA / "opik" / "trace.json"
    record = the(OPIK, path)
    assert used(record) == TOOLS
    assert record["usage"] == {"input_tokens": 600, "output_tokens": 66, "cached_tokens": 100}
    assert record["cost_usd"] == pytest.approx(0.003)
    assert (record["episode_id"], record["candidate_id"]) == ("lamp-return-1", "lamp_desk fake-1")
    assert verdict(OPIK, path) == [("correct", 1.0)]


def test_opik_anthropics_cached_tokens_are_added(tmp_path: Path) -> None:
    value = json.loads((DATA / "opik" / "trace.json").read_text())
    for span in value["spans"]:
        if span["type"] == "llm":
            span["usage"] = {
                "prompt_tokens": 9, "completion_tokens": 2, "original_usage.input_tokens": 4,
                "original_usage.output_tokens": 2, "original_usage.cache_read_input_tokens": 5,
            }  # fmt: skip
    record = the(OPIK, written(tmp_path, value))
    assert record["usage"]["input_tokens"] == 27
    assert record["usage"]["cached_tokens"] == 15


def test_opik_a_span_of_no_clear_kind_is_not_measured(tmp_path: Path) -> None:
    value = json.loads((DATA / "opik" / "trace.json").read_text())
    refund = next(one for one in value["spans"] if one["name"] == "refund_lamp")
    refund.update(type="general", name="wire_money")
    record = the(OPIK, written(tmp_path, value))
    assert [one["path"] for one in record["unread"]] == ["spans[wire_money].type"]
    refund.update(type="robot")
    assert the(OPIK, written(tmp_path, value))["unread"]


# All ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reader", SAMPLES, ids=lambda one: one.name)
def test_an_unknown_kind_is_not_measured(tmp_path: Path, reader: SpanReader) -> None:
    if reader is MLFLOW:
        value = trace()
        value["data"]["spans"][-2]["attributes"]["mlflow.spanType"] = '"ROBOT"'
    elif reader is BRAINTRUST:
        value = rows(reader)
        value[-2]["span_attributes"]["type"] = "robot"
    else:
        return
    assert the(reader, written(tmp_path, value))["unread"]


@pytest.mark.parametrize("reader", [WEAVE, BRAINTRUST], ids=lambda one: one.name)
def test_rows_in_another_order_and_twice_say_the_same(tmp_path: Path, reader: SpanReader) -> None:
    plain = the(reader, SAMPLES[reader])
    for values in (rows(reader)[::-1], rows(reader) * 2):
        record = the(reader, written(tmp_path, values))
        assert record["events"] == plain["events"]
        assert record["usage"] == plain["usage"]
