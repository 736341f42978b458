"""OpenAI chat messages, Responses items and Agents SDK traces: real files, figures by hand."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from doors import Door

DATA = Path(__file__).resolve().parents[2] / "data"
CHAT, RESPONSES = DATA / "openai_chat", DATA / "openai_responses"
INGEST = DATA / "openai_agents_sdk/traces_ingest.json"


def kinds(door: Door, where: str = "1") -> Counter[str]:
    rows = door.rows(
        "SELECT CASE kind WHEN 'message' THEN actor ELSE kind END, count(*) FROM events e"
        f" JOIN traces t USING (trace_id) WHERE {where} GROUP BY 1"
    )
    return Counter(dict(rows))


def test_fine_tuning_lines_are_conversations(door: Door) -> None:
    path = CHAT / "tau2_sft_excerpt.jsonl"
    said = door.run("import", path)
    assert said.code == 0, said
    wanted: Counter[str] = Counter()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        for message in record["messages"]:
            calls = message.get("tool_calls") or []
            wanted["tool_call"] += len(calls)
            if message["role"] == "tool":
                wanted["tool_result"] += 1
            elif message.get("content") or not calls:
                role = {"assistant": "agent"}.get(message["role"], message["role"])
                wanted[role] += 1
    assert kinds(door) == +wanted
    assert door.one("SELECT count(*) FROM traces WHERE cost_usd IS NULL AND passed IS NULL") == 3


def test_a_call_never_answered_is_pending(door: Door) -> None:
    assert door.run("import", CHAT / "langgraph_openai_messages.json").code == 0
    found = kinds(door)
    assert (found["tool_call"], found["tool_result"], found["user"]) == (8, 7, 4)
    assert door.one("SELECT count(*) FROM events WHERE status = 'pending'") == 1


def test_one_list_of_messages_is_one_attempt(door: Door) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    assert door.take("one.json", messages).code == 0
    assert door.rows("SELECT trace_id FROM traces") == [("openai-chat/one/one-1/1",)]


def pair(messages: list[dict[str, Any]], answer: dict[str, Any], tokens: int) -> dict[str, Any]:
    usage = {"prompt_tokens": tokens, "completion_tokens": 1}
    choice = {"message": {"role": "assistant", **answer}, "finish_reason": "stop"}
    response = {"created": 1755280573, "choices": [choice], "usage": usage}
    return {"request": {"model": "m-1", "messages": messages}, "response": response}


def test_a_log_that_repeats_its_history_is_counted_once(door: Door) -> None:
    call = {
        "content": None,
        "tool_calls": [{"id": "c", "function": {"name": "look", "arguments": '{"a": 1}'}}],
    }
    first = [{"role": "user", "content": "look"}]
    second = [
        *first,
        {"role": "assistant", **call},
        {"role": "tool", "tool_call_id": "c", "content": "seen"},
    ]
    other = [{"role": "user", "content": "something else"}]
    log = [pair(first, call, 10), pair(second, {"content": "done"}, 20), pair(other, call, 5)]
    assert door.take("log.jsonl", "\n".join(map(json.dumps, log)).encode()).code == 0
    trace = "openai-chat/m-1/log-1/1"
    assert kinds(door, f"trace_id = '{trace}'") == {
        "user": 1, "tool_call": 1, "tool_result": 1, "agent": 1
    }  # fmt: skip
    shown = json.loads(door.ok("show", trace, "--json").out)
    assert shown["final_message"] == "done"
    assert door.one("SELECT count(*) FROM traces") == 2


@pytest.mark.parametrize(
    ("name", "calls", "tokens"),
    [
        ("test_agent_with_function_tool_spans", 1, (173, 32)),
        ("test_recipe_workflow_agent_handoffs_with_function_tools", 2, (1121, 229)),
        ("test_router_analytics_complete_workflow", 4, (1070, 280)),
    ],
)
def test_responses_are_the_last_history_and_the_sum_of_usage(
    door: Door, name: str, calls: int, tokens: tuple[int, int]
) -> None:
    assert door.run("import", RESPONSES / f"{name}.json").code == 0
    found = kinds(door)
    assert (found["tool_call"], found["tool_result"]) == (calls, calls)
    assert (found["user"], found["agent"]) == (1, 1)
    [(trace,)] = door.rows("SELECT trace_id FROM traces")
    from reviewer.importing.formats.chat.openai import OpenAIResponsesReader
    from reviewer.importing.source import Source

    [one] = OpenAIResponsesReader().traces(Source(RESPONSES / f"{name}.json"))
    record = json.loads(one.raw)  # type: ignore[union-attr]
    assert (record["usage"]["input_tokens"], record["usage"]["output_tokens"]) == tokens
    assert record["termination"] == "completed"
    answer = json.loads((RESPONSES / f"{name}.json").read_text())[-1]["response"]["output"][-1]
    assert record["final_message"] == answer["content"][0]["text"]
    assert trace.endswith("/1")


def test_chained_responses_and_bare_items(door: Door) -> None:
    call = {"type": "function_call", "call_id": "k", "id": "fc_1", "name": "f", "arguments": "{}"}
    log = [
        {
            "request": {"model": "m", "input": "go"},
            "response": {"id": "resp_1", "object": "response", "output": [call]},
        },
        {
            "request": {
                "model": "m",
                "previous_response_id": "resp_1",
                "input": [{"type": "function_call_output", "call_id": "k", "output": "ok"}],
            },
            "response": {
                "id": "resp_2",
                "object": "response",
                "status": "incomplete",
                "incomplete_details": {"reason": "max_output_tokens"},
                "output": [],
            },
        },
    ]
    assert door.take("chain.json", log).code == 0
    assert kinds(door) == {"user": 1, "tool_call": 1, "tool_result": 1}
    assert door.one("SELECT termination FROM traces") == "max_output_tokens"
    items = [{"role": "user", "content": "go"}, {**call, "call_id": "z"}]
    assert door.take("items.json", [items[1], {"type": "message", **items[0]}]).code == 0
    assert door.one("SELECT count(*) FROM events WHERE status = 'pending'") == 1


def test_agents_traces_say_what_their_batches_cut(door: Door) -> None:
    said = door.run("import", INGEST)
    assert said.code == 0, said
    spans = [
        item
        for batch in json.loads(INGEST.read_text())
        for item in batch["data"]
        if item["object"] == "trace.span"
    ]
    functions = [span for span in spans if span["span_data"]["type"] == "function"]
    assert door.one("SELECT count(*) FROM traces") == len(
        {item["id"] if item["object"] == "trace" else item["trace_id"]
         for batch in json.loads(INGEST.read_text()) for item in batch["data"]}
    )  # fmt: skip
    assert door.one(
        "SELECT count(*) FROM events WHERE kind='tool_call' AND tool != 'handoff'"
    ) == len(functions)
    assert "the trace object is missing" in said.err
    assert "only ids" in said.err


def sdk_span(number: int, kind: str, error: str = "", **data: Any) -> dict[str, Any]:
    failed = {"message": error} if error else None
    at = f"2026-01-01T00:00:{number:02}Z"
    return {
        "object": "trace.span", "id": f"span_{number}", "trace_id": "trace_1", "parent_id": None,
        "started_at": at, "ended_at": at, "span_data": {"type": kind, **data}, "error": failed,
    }  # fmt: skip


def test_a_hand_over_that_a_model_called_is_one_call_and_tokens_add_up(door: Door) -> None:
    call = {"id": "c1", "type": "function"}
    call["function"] = {"name": "transfer_to_refund_desk", "arguments": "{}"}
    asked = {"role": "user", "content": "Back with it"}
    answer = {"role": "assistant", "content": None, "tool_calls": [call]}
    seen = {"role": "tool", "tool_call_id": "c1", "content": '{"assistant": "Refund desk"}'}
    usage = {"input_tokens": 100, "output_tokens": 10}
    last = {"role": "assistant", "content": "Done."}
    spans = [
        {"object": "trace", "id": "trace_1", "workflow_name": "lamps"},
        sdk_span(1, "agent", "it ended badly", name="Lamp desk"),
        sdk_span(2, "generation", input=[asked], output=[answer], model="m", usage=usage),
        sdk_span(3, "handoff", from_agent="Lamp desk", to_agent="Refund desk"),
        sdk_span(4, "generation", input=[asked, answer, seen], output=[last], usage=usage),
    ]
    assert door.take("spans.jsonl", spans).code == 0
    assert kinds(door) == {"error": 1, "user": 1, "tool_call": 1, "tool_result": 1, "agent": 1}
    (detail,) = door.rows("SELECT trace_id FROM traces")
    told = door.ok("show", detail[0]).out
    assert "usage.input_tokens: 200" in told
    assert "unread:" not in told


def test_a_call_that_waited_for_a_person_is_not_one_that_ran(door: Door) -> None:
    """As openai-agents 0.24 traced it: a call that was refused has the span of one that ran."""
    asked = [
        {"type": "function_call", "name": "refund", "call_id": f"c{lamp}", "arguments": given(lamp)}
        for lamp in (1, 2)
    ]
    spans = [
        {"object": "trace", "id": "trace_1", "workflow_name": "lamps"},
        sdk_span(1, "generation", input=[{"role": "user", "content": "Refund"}], output=asked),
        sdk_span(2, "function", name="refund", input=given(1), output=None),
        sdk_span(3, "function", name="refund", input=given(2), output=None),
    ]
    assert door.take("waits.jsonl", spans).code == 0
    assert kinds(door)["tool_result"] == 0
    assert "unread:record.span_data.output" in shown(door)
    spans += [
        sdk_span(4, "function", name="refund", input=given(1), output="refunded"),
        sdk_span(5, "generation", input=[], output=[{"role": "assistant", "content": "Done."}]),
    ]
    assert (
        door.take("decided.jsonl", [{**one, **TRACE_2[one["object"]]} for one in spans]).code == 0
    )
    assert door.rows("SELECT status FROM events WHERE kind = 'tool_result'") == [("ok",)]
    assert "unread:record.span_data.output" in shown(door)


TRACE_2 = {"trace": {"id": "trace_2"}, "trace.span": {"trace_id": "trace_2"}}


def given(lamp: int) -> str:
    return json.dumps({"lamp": str(lamp)})


def shown(door: Door) -> str:
    return door.ok("show", door.rows("SELECT trace_id FROM traces ORDER BY rowid DESC")[0][0]).out


def test_a_tool_that_returned_nothing_ran(door: Door) -> None:
    spans = [
        {"object": "trace", "id": "trace_1", "workflow_name": "lamps"},
        sdk_span(1, "function", name="close", input="{}", output=None),
        sdk_span(2, "generation", input=[], output=[{"role": "assistant", "content": "Done."}]),
    ]
    assert door.take("none.jsonl", spans).code == 0
    assert door.rows("SELECT status FROM events WHERE kind = 'tool_result'") == [("ok",)]


@pytest.mark.parametrize("cut", [3, 50, 500, 2000])
@pytest.mark.parametrize("path", [*sorted(RESPONSES.glob("*.json")), INGEST], ids=lambda p: p.stem)
def test_a_cut_file_costs_what_was_cut(door: Door, path: Path, cut: int) -> None:
    said = door.take("cut.json", path.read_bytes()[:cut])
    assert said.code == 20
    assert "cut.json" in said.err
    assert "internal error" not in said.both
