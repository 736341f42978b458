"""What observability tools keep beside the work: scores of any sign and kind, scorers, and parts
that their clients left out (data/observability/PROVENANCE.md)."""

import json
from pathlib import Path
from typing import Any

import pytest
from span_files import DATA, agent, called, chat, events, read, request, span, used

from reviewer.importing.formats.otel.exports import LangfuseReader, OpenInferenceReader
from reviewer.importing.formats.otel.otlp import OtlpReader
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


def test_a_scorer_that_weave_calls_by_itself_is_no_attempt(tmp_path: Path) -> None:
    lines = (FILES / "weave-evaluation.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    asked = next(row for row in rows if "openai.chat" in row["op_name"])
    judge = {
        "id": "j", "trace_id": "jt", "op_name": "weave:///e/lamps/op/Judge.score:v1",
        "inputs": {"self": "weave:///e/lamps/object/Judge:v1", "output": "Done."},
        "started_at": asked["started_at"], "ended_at": asked["ended_at"], "output": False,
    }  # fmt: skip
    scored = [judge, {**asked, "id": "k", "trace_id": "jt", "parent_id": "j"}]
    assert len(read(WEAVE, written(tmp_path, [*rows, *scored]))) == 3


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


# Logfire ------------------------------------------------------------------------------------------


def test_logfire_scrubs_the_session_which_then_joins_no_attempts() -> None:
    found = read(OtlpReader(), FILES / "logfire-pending.otlp.json")
    streamed, aborted = (json.loads(one.raw) for one in found)
    assert (streamed["termination"], aborted["termination"]) == ("completed", "error")
    assert "conversations" not in aborted["source"]


def test_what_logfire_writes_when_a_span_begins_or_a_stream_ends_is_no_further_act() -> None:
    streamed, aborted = read(OtlpReader(), FILES / "logfire-pending.otlp.json")
    record = json.loads(streamed.raw)
    assert used(record) == [*LOOKED_UP, ("delete_account", "ok")]
    assert [one["tool"] for one in events(record, "tool_call")] == [
        "look_up_lamp", "look_up_lamp", "delete_account",
    ]  # fmt: skip
    assert record["usage"] == {"input_tokens": 600, "output_tokens": 60, "cached_tokens": 60}
    assert record["cost_usd"] == pytest.approx(0.0012825)
    assert record["final_message"] == "Done."
    assert len(events(json.loads(aborted.raw), "tool_call")) == 2


def test_a_span_of_logfire_that_only_began_is_unfinished_work(tmp_path: Path) -> None:
    value = json.loads((FILES / "logfire-pending.otlp.json").read_text())
    for scope in value["resourceSpans"][0]["scopeSpans"]:
        scope["spans"] = [one for one in scope["spans"] if _pending(one)]
    streamed, aborted = read(OtlpReader(), written(tmp_path, value))
    record = json.loads(streamed.raw)
    tools = [one["tool"] for one in events(record, "tool_call")]
    assert tools == ["look_up_lamp", "look_up_lamp", "delete_account"]
    assert ("ok" in dict(used(record)).values(), "termination" in record) == (False, False)
    assert "final_message" not in json.loads(aborted.raw)


def _pending(span: dict[str, Any]) -> bool:
    kinds = [one["value"] for one in span["attributes"] if one["key"] == "logfire.span_type"]
    return kinds == [{"stringValue": "pending_span"}]


# Langfuse -----------------------------------------------------------------------------------------


def test_calls_of_an_answer_without_ids_are_those_of_the_later_history() -> None:
    record = the(OtlpReader(), FILES / "langfuse-stream.otlp.json")
    made = [(one["tool"], one["call_id"]) for one in events(record, "tool_call")]
    assert made == [("look_up_lamp", "c1"), ("look_up_lamp", "c2"), ("delete_account", "c3")]
    assert used(record) == [*LOOKED_UP, ("delete_account", "ok")]


def test_an_episode_that_langfuse_writes_as_json_text_is_named_without_quotes() -> None:
    record = the(OtlpReader(), FILES / "langfuse-aborted.otlp.json")
    assert (record["episode_id"], record["termination"]) == ("ep-abort", "error")


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        # as its server converts OpenAI's: every kind once
        (
            {"input": 80, "input_cached_tokens": 20, "output": 7, "output_reasoning_tokens": 3,
             "total": 110},
            (100, 10, 20, 3),
        ),
        ({"input": 80, "output": 7, "input_cache_read": 15, "input_cache_creation": 5},
         (100, 7, 15, None)),
        ({"input": 80, "output": 7, "cache_read_input_tokens": 20}, (100, 7, 20, None)),
        # as a caller states them: the total shows that the input includes the cached ones
        ({"input": 100, "output": 10, "input_cached_tokens": 20, "total": 110},
         (100, 10, 20, None)),
        # as OpenAI states them
        ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110,
          "prompt_tokens_details": {"cached_tokens": 20},
          "completion_tokens_details": {"reasoning_tokens": 3}}, (100, 10, 20, 3)),
        ({"input": 100, "output": 10, "total": 110, "unit": "TOKENS", "inputCost": 1},
         (100, 10, None, None)),
    ],
)  # fmt: skip
def test_tokens_of_langfuse_have_one_definition(
    tmp_path: Path, counts: dict[str, Any], usage: tuple[int | None, ...]
) -> None:
    value = {
        "trace": {"id": "t", "projectId": "p"},
        "observations": [
            {"id": "o", "type": "GENERATION", "model": "m", "usageDetails": counts,
             "startTime": "2026-11-28T12:00:00Z", "endTime": "2026-11-28T12:00:01Z",
             "input": [{"role": "user", "content": "Hello"}], "output": "Hi"}
        ],
    }  # fmt: skip
    record = the(LangfuseReader(), written(tmp_path, value))
    names = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
    assert tuple(record["usage"].get(name) for name in names) == usage


# Phoenix ------------------------------------------------------------------------------------------


def test_a_page_of_phoenix_may_lack_spans_of_any_attempt(tmp_path: Path) -> None:
    path = FILES / "phoenix-page.json"
    for one in read(OpenInferenceReader(), path):
        places = [part["path"] for part in json.loads(one.raw)["unread"]]
        assert "document 1, next_cursor, the next page (unreadable)" in places
    pages = [json.loads(path.read_text()), json.loads((FILES / "phoenix-spans.json").read_text())]
    both = tmp_path / "pages.jsonl"
    both.write_text("".join(json.dumps(one) + "\n" for one in pages))
    for one in read(OpenInferenceReader(), both):
        places = [part["path"] for part in json.loads(one.raw).get("unread", [])]
        assert not any("next page" in place for place in places)


def test_a_call_that_failed_is_one_of_the_candidate_that_made_it() -> None:
    streamed, failed = read(OpenInferenceReader(), FILES / "phoenix-spans.json")
    records = [json.loads(one.raw) for one in (streamed, failed)]
    assert [one["candidate_id"] for one in records] == ["lamp_desk gpt-5"] * 2
    assert [one["termination"] for one in records] == ["completed", "error"]
    assert [one["message"] for one in events(records[0], "message")][-1] == "Done."


def test_a_page_of_braintrust_may_lack_rows_of_any_attempt(tmp_path: Path) -> None:
    lines = (FILES / "braintrust-evaluation.jsonl").read_text().splitlines()
    value = {"events": [json.loads(line) for line in lines], "cursor": None}
    assert not any(b'"unread"' in one.raw for one in read(BRAINTRUST, written(tmp_path, value)))
    value["cursor"] = "AAAB"
    assert all(b"next page" in one.raw for one in read(BRAINTRUST, written(tmp_path, value)))


# OpenLLMetry --------------------------------------------------------------------------------------


def test_a_sub_agent_that_only_some_runs_call_does_not_name_the_candidate(tmp_path: Path) -> None:
    own = [span(1, name="desk", traceloop__span__kind="workflow"), chat(2, [], [], parent=1, at=1)]
    more = [
        span(3, 1, 2, name="sub", traceloop__span__kind="agent"),
        chat(4, [], [], parent=3, at=3),
    ]
    one = the(OtlpReader(), written(tmp_path, request(*own)))
    other = the(OtlpReader(), written(tmp_path, request(*own, *more)))
    assert one["candidate_id"] == other["candidate_id"] == "desk m-1"


# Limits on attributes -----------------------------------------------------------------------------

ASKED: list[Any] = [("user", "Hello")]
CALLED: list[Any] = [("assistant", called("c1", "delete_account", user="kim"))]


def cut(value: dict[str, Any], name: str, most: int) -> dict[str, Any]:
    """A span with the text of an attribute cut as an SDK's limit cuts it."""
    for one in value["attributes"]:
        if one["key"] == name:
            parts = [part["stringValue"] for part in one["value"]["arrayValue"]["values"]]
            one["value"] = {"stringValue": f"[{', '.join(parts)}]"[:most]}
    return value


@pytest.mark.parametrize("most", [40, 60, 80, 100])
@pytest.mark.parametrize("name", ["gen_ai.output.messages", "gen_ai.input.messages"])
def test_messages_that_a_limit_cut_off_are_not_measured(
    tmp_path: Path, name: str, most: int
) -> None:
    calls = [chat(1, ASKED, CALLED), chat(2, [*ASKED, *CALLED], [("assistant", "Done.")], at=2)]
    whole = the(OtlpReader(), written(tmp_path, request(*calls)))
    assert (len(events(whole, "tool_call")), "unread" in whole) == (1, False)
    number = 0 if "output" in name else 1
    calls[number] = cut(calls[number], name, most)
    record = the(OtlpReader(), written(tmp_path, request(*calls)))
    assert [one["path"] for one in record["unread"]] == [f"spans[work].{name} (cut off)"]


def test_an_answer_that_begins_like_an_object_in_a_whole_message_is_no_cut(tmp_path: Path) -> None:
    told = chat(1, [("user", '{"a": 1')], [("assistant", '[{"b": "no end')])
    assert "unread" not in the(OtlpReader(), written(tmp_path, request(told)))


def test_a_history_of_a_whole_run_that_is_cut_off_is_not_measured(tmp_path: Path) -> None:
    history = [{"role": "assistant", "parts": [called("c1", "delete_account", user="kim")]}]
    run = agent(1, pydantic_ai__all_messages=history)
    assert "unread" not in the(OtlpReader(), written(tmp_path, request(run)))
    record = the(OtlpReader(), written(tmp_path, request(cut(run, "pydantic_ai.all_messages", 70))))
    places = [one["path"] for one in record["unread"]]
    assert "spans[invoke_agent].pydantic_ai.all_messages (cut off)" in places


@pytest.mark.parametrize("name", ["droppedAttributesCount", "dropped_events_count"])
def test_a_span_of_which_attributes_were_dropped_is_not_measured(tmp_path: Path, name: str) -> None:
    told = chat(1, ASKED, [("assistant", "Done.")])
    assert "unread" not in the(OtlpReader(), written(tmp_path, request({**told, name: 0})))
    record = the(OtlpReader(), written(tmp_path, request({**told, name: 3})))
    assert len(record["unread"]) == 1


# What people were told ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("Done. Your card is 4111 1111 1111 1111.", True),
        (json.dumps({"output": "Done. Your card is 4111 1111 1111 1111."}), True),
        ("Done.", False),
        (json.dumps({"output": "Done."}), False),
        (json.dumps({"messages": [{"role": "assistant", "content": "Done."}]}), False),
    ],
)
def test_what_a_run_returned_beyond_its_last_answer_is_told_too(
    tmp_path: Path, returned: str, told: bool
) -> None:
    run = agent(1, output__value=returned)
    answered = chat(2, ASKED, [("assistant", "Done.")], parent=1, at=1)
    record = the(OtlpReader(), written(tmp_path, request(run, answered)))
    assert record["final_message"] == "Done."
    messages = [one["message"] for one in events(record, "message") if one["actor"] == "agent"]
    assert any("4111" in one for one in messages) == told
    assert len(messages) == 1 + told


@pytest.mark.parametrize("returned", ["Done. Card 4111", {"answer": "Done. Card 4111"}])
def test_what_a_trace_of_langfuse_returned_is_told_too(tmp_path: Path, returned: Any) -> None:
    times = {"startTime": "2026-11-28T12:00:00Z", "endTime": "2026-11-28T12:00:01Z"}
    value = {
        "trace": {"id": "t", "projectId": "p", "output": returned},
        "observations": [
            {"id": "a", "type": "AGENT", "name": "desk", **times},
            {"id": "b", "type": "GENERATION", "model": "m", "parentObservationId": "a", **times,
             "input": [{"role": "user", "content": "Hello"}], "output": "Done."},
        ],
    }  # fmt: skip
    record = the(LangfuseReader(), written(tmp_path, value))
    assert [one["message"] for one in events(record, "message")][-1] == "Done. Card 4111"
