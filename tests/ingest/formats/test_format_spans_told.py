"""What spans of one episode tell: calls and results, tokens once, how it ended, who spoke; and the
dialects in which they say it."""

import json
from pathlib import Path
from typing import Any

import pytest
from span_files import (
    agent,
    called,
    chat,
    events,
    read,
    request,
    returned,
    said,
    span,
    told,
    tool,
    typed,
    used,
)

from reviewer.importing.formats.otel.otlp import OtlpReader

READER = OtlpReader()


def one(tmp_path: Path, *spans: dict[str, Any]) -> dict[str, Any]:
    """The record of a file with one episode."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps(request(*spans)))
    (record,) = told(READER, path).values()
    return record


def notes(record: dict[str, Any]) -> list[str]:
    found: list[str] = record["source"].get("notes", [])
    return found


def model(number: int, tokens: tuple[int, int] | None = None, **more: Any) -> dict[str, Any]:
    """A model call without messages."""
    counts = {} if tokens is None else {
        "gen_ai__usage__input_tokens": tokens[0], "gen_ai__usage__output_tokens": tokens[1]
    }  # fmt: skip
    return span(number, **{"gen_ai__request__model": "m-1", **counts, **more})


# Tokens


def test_of_spans_around_one_call_the_innermost_counts(tmp_path: Path) -> None:
    """ADK, the client library and the transport all report it."""
    record = one(
        tmp_path,
        agent(1, gen_ai__aggregated_usage__input_tokens=300),
        model(2, (100, 9), parent=1, at=1, lasts=3, name="call_llm"),
        model(3, (100, 9), parent=2, at=1, lasts=2, name="generate_content"),
        model(4, (100, 7), parent=3, at=1, name="openai.chat"),
    )
    assert record["usage"] == {"input_tokens": 100, "output_tokens": 7}
    assert "tokens that several spans report of one model call were counted once" in notes(record)


def test_a_call_within_a_tool_is_no_repetition(tmp_path: Path) -> None:
    """A model call around the tool that its answer asked for, and an agent at work in there."""
    record = one(
        tmp_path,
        agent(1),
        model(2, (100, 9), parent=1, at=1, lasts=8),
        tool(3, "ask", "c1", "yes", parent=2, at=2, lasts=5),
        agent(4, parent=3, at=3, lasts=3),
        model(5, (40, 4), parent=4, at=4),
    )
    assert record["usage"] == {"input_tokens": 140, "output_tokens": 13}


def test_a_call_that_began_after_its_parent_ended_is_another(tmp_path: Path) -> None:
    """Instrumentations that leave a stream's span current."""
    record = one(tmp_path, model(1, (10, 1)), model(2, (20, 2), parent=1, at=5))
    assert record["usage"] == {"input_tokens": 30, "output_tokens": 3}


def test_side_by_side_the_providers_id_tells_repetitions(tmp_path: Path) -> None:
    same = {"gen_ai__response__id": "r1"}
    twice = (
        model(2, (10, 1), lasts=2, name="a", **same),
        model(3, (11, 1), at=0.5, name="b", **same),
    )
    assert one(tmp_path, *twice)["usage"]["input_tokens"] == 11
    later = model(3, (11, 1), at=5, name="b", **same)  # a mock answers under one id for ever
    assert one(tmp_path, twice[0], later)["usage"]["input_tokens"] == 21


def test_unlinked_spans_of_one_call_are_known_by_time_and_count(tmp_path: Path) -> None:
    outer, inner = model(2, (10, 1), lasts=3, name="call_llm"), model(3, (10, 1), at=1, name="chat")
    assert one(tmp_path, outer, inner)["usage"]["input_tokens"] == 10
    parallel = model(3, (10, 1), at=1, name="call_llm")
    assert one(tmp_path, outer, parallel)["usage"]["input_tokens"] == 20


def test_a_sum_is_given_only_of_what_every_call_counts(tmp_path: Path) -> None:
    record = one(tmp_path, model(1, (10, 1)), model(2, at=5))
    assert record["usage"] == {
        "input_tokens": 10, "output_tokens": 1,
        "lower_bound": True, "replies": 2, "replies_counted": 1,
    }  # fmt: skip
    assert "some model calls have no token counts: the sum is a lower bound" in notes(record)
    failed = one(tmp_path, model(1, (10, 1)), model(2, at=5, error="overloaded"))
    assert failed["usage"] == {"input_tokens": 10, "output_tokens": 1}
    cached = model(1, (10, 1), gen_ai__usage__cache_read__input_tokens=4), model(2, (5, 1), at=5)
    assert one(tmp_path, *cached)["usage"] == {"input_tokens": 15, "output_tokens": 2}


def test_zero_tokens_are_not_measured(tmp_path: Path) -> None:
    record = one(tmp_path, model(1, (0, 0)))
    assert "usage" not in record
    assert "tokens" not in record["events"][0]


def test_an_agents_sum_stands_in_where_no_call_counts(tmp_path: Path) -> None:
    sums = {
        "gen_ai__aggregated_usage__input_tokens": 7,
        "gen_ai__aggregated_usage__output_tokens": 2,
    }
    record = one(tmp_path, agent(1, **sums), model(2, parent=1, at=1))
    assert record["usage"] == {"input_tokens": 7, "output_tokens": 2}
    assert "no model call gives its tokens: the sum on the agent's span was taken" in notes(record)


# Messages


def test_a_history_that_only_goes_on_is_told_too(tmp_path: Path) -> None:
    """Frameworks that leave the history with the provider give only what is new."""
    record = one(
        tmp_path,
        chat(1, [("user", "hi")], [("assistant", "", called("c1", "look"))]),
        chat(2, [("tool", returned("c1", "seen"))], [("assistant", "ho")], at=5),
    )
    assert [event["kind"] for event in record["events"]] == [
        "message", "tool_call", "tool_result", "message"
    ]  # fmt: skip
    assert used(record) == [("look", None)]  # no span says whether it went well


def test_a_call_made_again_tells_only_what_is_new(tmp_path: Path) -> None:
    given = [("system", "Be brief."), ("user", "hi")]
    record = one(
        tmp_path,
        chat(1, given, [], error="overloaded"),
        chat(2, given, [("assistant", "ho")], at=5),
    )
    assert [event["kind"] for event in record["events"]] == [
        "message",
        "message",
        "error",
        "message",
    ]
    assert [event["message"] for event in events(record, "error")] == ["overloaded"]


def test_what_is_said_twice_is_told_twice(tmp_path: Path) -> None:
    history: list[Any] = [("user", "yes")]
    spans = []
    for number in range(3):
        spans.append(chat(number + 1, history, [("assistant", "Sure?")], at=number * 5))
        history = [*history, ("assistant", "Sure?"), ("user", "yes")]
    record = one(tmp_path, *spans)
    assert said(record) == [("user", "yes"), ("agent", "Sure?")] * 3


def test_what_stands_only_in_the_history_is_told_without_times(tmp_path: Path) -> None:
    past = [("user", "hi"), ("assistant", "", called("c0", "look")), ("tool", returned("c0", "x")),
            ("assistant", "seen"), ("user", "more")]  # fmt: skip
    record = one(tmp_path, chat(1, past, [("assistant", "ho")]))
    (call,) = events(record, "tool_call")
    assert (call["tool"], "started_at" in call, "latency_ms" in call) == ("look", False, False)
    assert "calls that are only in the message history have no times of their own" in notes(record)
    assert record["final_message"] == "ho"


def test_results_go_by_place_where_ids_repeat(tmp_path: Path) -> None:
    asked = [("user", "hi")]
    first = [*asked, ("assistant", "", called("c", "look", n=1)), ("tool", returned("c", "one"))]
    second = [*first, ("assistant", "", called("c", "look", n=2)), ("tool", returned("c", "two"))]
    record = one(
        tmp_path,
        chat(1, asked, [first[1]]),
        tool(2, "look", "c", "one", at=1),
        chat(3, first, [second[3]], at=2),
        tool(4, "look", "c", "two", at=3),
        chat(5, second, [("assistant", "ho")], at=4),
    )
    assert [event["observation"] for event in events(record, "tool_result")] == ["one", "two"]
    assert "call ids repeat: results are paired to calls by position" in notes(record)


def test_calls_without_ids_go_by_tool_and_arguments(tmp_path: Path) -> None:
    calls = [called("", "look", n=1), called("", "look", n=2)]
    record = one(
        tmp_path,
        chat(1, [("user", "hi")], [("assistant", "", *calls)]),
        tool(3, "look", "", "two", at=1, gen_ai__tool__call__arguments={"n": 2}),
        tool(2, "look", "", "one", at=2, gen_ai__tool__call__arguments={"n": 1}),
    )
    pairs = {event["call_id"]: event["arguments"]["n"] for event in events(record, "tool_call")}
    assert [(pairs[event["call_id"]], event["observation"]) for event in
            events(record, "tool_result")] == [(2, "two"), (1, "one")]  # fmt: skip


def test_without_messages_tool_spans_tell_the_calls(tmp_path: Path) -> None:
    """Recording of contents is off by default in many SDKs."""
    record = one(
        tmp_path,
        model(1, (10, 1)),
        tool(2, "look", "", "", at=2, lasts=3, gen_ai__tool__call__arguments={"n": 1}),
        tool(3, "look", "", "", at=3, gen_ai__tool__call__arguments={"n": 2}),
    )
    assert [event["arguments"] for event in events(record, "tool_call")] == [{"n": 1}, {"n": 2}]
    assert used(record) == [("look", "ok"), ("look", "ok")]
    assert record["events"][0]["tokens"] == {"input_tokens": 10, "output_tokens": 1}
    assert "final_message" not in record
    assert "the spans hold no messages: what was said was not recorded" in notes(record)


def test_a_call_nobody_answered_is_pending(tmp_path: Path) -> None:
    record = one(
        tmp_path,
        chat(1, [("user", "hi")], [("assistant", "", called("c1", "look"))]),
    )
    assert events(record, "tool_call")[0]["status"] == "pending"
    assert "final_message" not in record


# Tools


def exception(kind: str, text: str) -> dict[str, Any]:
    return {
        "name": "exception",
        "attributes": [
            {"key": "exception.type", "value": {"stringValue": kind}},
            {"key": "exception.message", "value": {"stringValue": text}},
        ],
    }


def test_how_a_tool_failed(tmp_path: Path) -> None:
    slow = tool(1, "look", "c1", "", error="x") | {"events": [exception("TimeoutError", "30 s")]}
    typed = tool(2, "look", "c2", "", at=1, error="refused", error__type="timeout")
    plain = tool(3, "look", "c3", "", at=2, error="refused")
    mcp = tool(4, "look", "c4", json.dumps({"isError": True, "content": []}), at=3)
    record = one(tmp_path, slow, typed, plain, mcp)
    assert [(event["status"], event["observation"]) for event in events(record, "tool_result")] == [
        ("timeout", "30 s"),
        ("timeout", "refused"),
        ("error", "refused"),
        ("error", {"isError": True, "content": []}),
    ]


def test_two_spans_of_one_tool_call_are_one(tmp_path: Path) -> None:
    """The framework's, and that of the protocol it calls the tool by."""
    inner = tool(3, "look", "", "x", parent=2, at=1)
    beside = tool(4, "look", "c1", "x", at=0.5)
    for other in (inner, beside):
        record = one(tmp_path, tool(2, "look", "c1", "x", lasts=3), other)
        assert used(record) == [("look", "ok")]


# Endings


def ended(tmp_path: Path, *spans: dict[str, Any]) -> str | None:
    found: str | None = one(tmp_path, *spans).get("termination")
    return found


def test_a_trace_of_which_only_the_outermost_span_is_there_is_not_measured(tmp_path: Path) -> None:
    record = one(tmp_path, agent(1))
    assert [part["path"] for part in record["unread"]] == ["spans of models and tools (cut off)"]
    assert "unread" not in one(tmp_path, agent(1), model(2, (1, 1)))


@pytest.mark.parametrize(
    ("spans", "whole"),
    [
        ([model(2, parent=8), model(3, parent=8)], True),  # of the service that called
        ([model(2, parent=8), model(3, parent=9)], False),
        ([agent(1), model(2, parent=1), model(3, parent=9)], False),
        ([agent(1, parent=8), model(2, parent=1)], True),
    ],
)
def test_a_trace_with_spans_missing_within_it_is_not_measured(
    tmp_path: Path, spans: list[dict[str, Any]], whole: bool
) -> None:
    """An export of the model calls alone is one: tools may have been called beside them."""
    record = one(tmp_path, *spans)
    expected = [] if whole else ["spans named as parents (cut off)"]
    assert [part["path"] for part in record.get("unread", ())] == expected


def test_a_parent_in_another_episode_of_the_trace_is_not_missing(tmp_path: Path) -> None:
    named = [{"metadata__episode_id": name} for name in ("e1", "e2")]
    path = tmp_path / "x.json"
    path.write_text(
        json.dumps(
            request(
                *(agent(number) for number in (1, 2)),
                *(model(4 + n, parent=1 + n % 2, **named[n // 2]) for n in range(4)),
            )
        )
    )
    found = told(READER, path)
    assert not any("unread" in record for record in found.values())


@pytest.mark.parametrize(
    ("reason", "alone", "with_agent"),
    [
        ("stop", "stop", "completed"),
        ("end_turn", "stop", "completed"),
        ("tool_calls", None, "completed"),
        ("length", "max_tokens", "max_tokens"),
        ("content_filter", "content_filter", "content_filter"),
        ("guardrail_intervened", "content_filter", "content_filter"),
        *[("model_context_window_exceeded", *["context_window_exceeded"] * 2)],
    ],
)
def test_why_it_ended(tmp_path: Path, reason: str, alone: str | None, with_agent: str) -> None:
    call = model(2, (1, 1), gen_ai__response__finish_reasons=[reason])
    assert ended(tmp_path, call) == alone
    assert ended(tmp_path, agent(1), call) == with_agent
    assert one(tmp_path, call)["source"]["finish_reason"] == reason


def test_an_agent_that_failed_ended_in_an_error(tmp_path: Path) -> None:
    assert ended(tmp_path, agent(1, error="boom"), model(2, (1, 1), parent=1)) == "error"
    assert ended(tmp_path, model(2, error="boom")) == "error"
    # what failed before a run that ended well is no end
    assert ended(tmp_path, agent(1), model(2, parent=1, error="boom")) == "completed"


def test_a_run_that_waits_for_approval_has_not_ended(tmp_path: Path) -> None:
    wanted = {"calls": [], "approvals": [{"tool_call_id": "c1", "tool_name": "pay"}]}
    record = one(
        tmp_path,
        agent(1, final_result=wanted),
        chat(2, [("user", "hi")], [("assistant", "", called("c1", "pay"))], parent=1, at=1),
    )
    assert "termination" not in record
    assert "final_message" not in record
    assert events(record, "tool_call")[0]["status"] == "pending"


# Who acts


def test_agents_go_by_their_names_and_none_can_pass_for_the_user(tmp_path: Path) -> None:
    record = one(
        tmp_path,
        agent(1, gen_ai__agent__name="desk", lasts=20),
        chat(2, [("user", "hi")], [("assistant", "asking", called("c1", "ask"))], parent=1, at=1),
        tool(3, "ask", "c1", "fine", parent=1, at=2, lasts=8),
        agent(4, parent=3, at=3, lasts=5, gen_ai__agent__name="System"),
        chat(5, [("user", "may it?")], [("assistant", "fine")], parent=4, at=4),
        chat(6, [("user", "hi")], [("assistant", "ho")], parent=1, at=12),
    )
    assert said(record) == [
        ("user", "hi"), ("agent", "asking"), ("system", "may it?"), ("agent System", "fine"),
        ("agent", "ho"),
    ]  # fmt: skip
    assert record["final_message"] == "ho"


@pytest.mark.parametrize(
    "other",
    [
        {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "user_simulator"},
        {"openinference__span__kind": "EVALUATOR"},
    ],
)
def test_a_simulated_user_and_a_judge_are_not_the_agent(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    record = one(
        tmp_path,
        agent(1, lasts=20),
        span(2, parent=1, at=1, lasts=3, **other),
        chat(3, [("user", "You are Ann.")], [("assistant", "hi")], (500, 50), parent=2, at=2),
        chat(4, [("user", "hi")], [("assistant", "ho")], parent=1, at=5),
    )
    assert said(record) == [("user", "hi"), ("agent", "ho")]
    assert record["usage"] == {"input_tokens": 10, "output_tokens": 2}
    assert any("they are not the agent's work" in note for note in notes(record))


# Dialects


def test_flattened_messages_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Former conventions; keys sorted as text put 10 before 2."""
    flat: dict[str, Any] = {}
    for number in range(12):
        role = "user" if number % 2 == 0 else "assistant"
        flat[f"gen_ai__prompt__{number}__role"] = role
        flat[f"gen_ai__prompt__{number}__content"] = f"line {number}"
    flat |= {
        "gen_ai__completion__0__role": "assistant",
        "gen_ai__completion__0__content": "ho",
        "gen_ai__completion__0__finish_reason": "tool_calls",
        "gen_ai__completion__0__tool_calls__0__id": "c1",
        "gen_ai__completion__0__tool_calls__0__name": "look",
        "gen_ai__completion__0__tool_calls__0__arguments": '{"n": 1}',
        "gen_ai__usage__prompt_tokens": 30,
        "gen_ai__usage__completion_tokens": 3,
        "llm__request__type": "chat",
    }
    record = one(tmp_path, span(1, **dict(sorted(flat.items()))))
    assert [text for _, text in said(record)] == [*(f"line {n}" for n in range(12)), "ho"]
    assert events(record, "tool_call")[0]["arguments"] == {"n": 1}
    assert record["usage"] == {"input_tokens": 30, "output_tokens": 3}
    assert record["source"]["finish_reason"] == "tool_calls"


def test_traceloop(tmp_path: Path) -> None:
    record = one(
        tmp_path,
        span(1, lasts=9, traceloop__span__kind="workflow", traceloop__entity__name="shop",
             traceloop__entity__input={"inputs": {"input": "hi"}},
             traceloop__entity__output="ho"),
        span(2, parent=1, at=1, traceloop__span__kind="tool", traceloop__entity__name="look",
             traceloop__entity__input={"args": [], "kwargs": {"n": 1}},
             traceloop__entity__output='{"seen": true}'),
    )  # fmt: skip
    assert events(record, "tool_call")[0]["arguments"] == {"n": 1}
    assert events(record, "tool_result")[0]["observation"] == {"seen": True}
    assert record["final_message"] == "ho"
    assert record["termination"] == "completed"


def test_adk(tmp_path: Path) -> None:
    asked = {
        "model": "g-2",
        "config": {"system_instruction": "Be brief."},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    }
    answer = {"content": {"role": "model", "parts": [
        {"thought": True, "text": "hm"}, {"function_call": {"id": "c1", "name": "look", "args": {}}}
    ]}}  # fmt: skip
    record = one(
        tmp_path,
        span(1, name="call_llm", lasts=5, gen_ai__request__model="g-2",
             gen_ai__usage__input_tokens=5, gcp__vertex__agent__llm_request=asked,
             gcp__vertex__agent__llm_response=answer),
        span(2, parent=1, at=1, name="execute_tool look", gcp__vertex__agent__tool_call_args="{}",
             gcp__vertex__agent__tool_response='{"seen": 1}', gen_ai__tool__call__id="c1"),
    )  # fmt: skip
    assert said(record) == [
        ("system", "Be brief."), ("user", "hi"), ("agent", {"reasoning": "hm"})
    ]  # fmt: skip
    assert events(record, "tool_result")[0]["observation"] == {"seen": 1}
    assert used(record) == [("look", "ok")]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def test_messages_kept_as_events(tmp_path: Path) -> None:
    listed = [
        {"event.name": "gen_ai.system.message", "content": "Be brief."},
        {"event.name": "gen_ai.user.message", "content": "hi"},
        {"event.name": "gen_ai.assistant.message", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"event.name": "gen_ai.tool.message", "id": "c1", "content": "seen"},
        {"event.name": "gen_ai.choice", "index": 0,
         "message": {"role": "assistant", "content": "ho"}},
    ]  # fmt: skip
    in_an_attribute = model(1, (1, 1), events=json.dumps(listed))
    on_the_span = model(1, (1, 1)) | {
        "events": [
            {
                "name": each.pop("event.name"),
                "attributes": [
                    {"key": key, "value": typed(_text(value))}
                    for key, value in each.items()
                    if value
                ],
            }
            for each in listed
        ]
    }
    for found in (one(tmp_path, in_an_attribute), one(tmp_path, on_the_span)):
        assert [text for _, text in said(found)] == ["Be brief.", "hi", "ho"]
        assert used(found) == [("look", None)]


SHAPES: dict[str, list[Any]] = {
    "OpenTelemetry": [
        {"role": "assistant", "parts": [{"type": "text", "content": "hm"},
                                        {"type": "tool_call", "id": "c1", "name": "look",
                                         "arguments": {"n": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "seen"}]},
    ],
    "OpenAI chat": [
        {"role": "assistant", "content": "hm", "tool_calls": [
            {"id": "c1", "type": "function",
             "function": {"name": "look", "arguments": '{"n": 1}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    ],
    "OpenAI Responses": [
        {"type": "message", "role": "assistant",
         "content": [{"type": "output_text", "text": "hm"}]},
        {"type": "function_call", "id": "f1", "call_id": "c1", "name": "look",
         "arguments": '{"n": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "seen"},
    ],
    "Anthropic": [
        {"role": "assistant", "content": [{"type": "text", "text": "hm"},
                                          {"type": "tool_use", "id": "c1", "name": "look",
                                           "input": {"n": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1",
                                      "content": [{"type": "text", "text": "seen"}]}]},
    ],
    "Gemini": [
        {"role": "model", "parts": [{"text": "hm"},
                                    {"functionCall": {"id": "c1", "name": "look",
                                                      "args": {"n": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "look",
                                                         "response": "seen"}}]},
    ],
    "Vercel": [
        {"role": "assistant", "content": [{"type": "text", "text": "hm"},
                                          {"type": "tool-call", "toolCallId": "c1",
                                           "toolName": "look", "input": {"n": 1}}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1",
                                      "toolName": "look",
                                      "output": {"type": "text", "value": "seen"}}]},
    ],
    "LangChain": [
        {"type": "ai", "content": "hm",
         "tool_calls": [{"id": "c1", "name": "look", "args": {"n": 1}, "type": "tool_call"}]},
        {"type": "tool", "content": "seen", "tool_call_id": "c1", "name": "look"},
    ],
    "LangChain, serialized": [
        {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"],
         "kwargs": {"content": "hm", "additional_kwargs": {"tool_calls": [
             {"id": "c1", "function": {"name": "look", "arguments": '{"n": 1}'}}]}}},
        {"lc": 1, "type": "constructor", "id": ["langchain", "ToolMessage"],
         "kwargs": {"content": "seen", "tool_call_id": "c1"}},
    ],
    "the tool's name for a role": [
        {"role": "assistant", "content": "hm", "tool_calls": [
            {"id": "c1", "function": {"name": "look", "arguments": '{"n": 1}'}}]},
        {"role": "look", "content": "seen"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_of_message_tells_the_same(tmp_path: Path, name: str) -> None:
    given = [{"role": "user", "content": "hi"}, *SHAPES[name]]
    for inputs in (given, [given], {"messages": given}, json.dumps(json.dumps(given))):
        record = one(tmp_path, span(1, openinference__span__kind="LLM", input__value=inputs,
                                    output__value={"choices": [{"message": {
                                        "role": "assistant", "content": "ho"}}]}))  # fmt: skip
        assert said(record) == [("user", "hi"), ("agent", "hm"), ("agent", "ho")]
        (call,) = events(record, "tool_call")
        assert (call["tool"], call["arguments"], call["call_id"]) == ("look", {"n": 1}, "c1")
        (result,) = events(record, "tool_result")
        assert (result["observation"], result["call_id"]) == ("seen", "c1")


def test_an_evaluation_on_a_span_is_a_detail_and_no_verdict(tmp_path: Path) -> None:
    scored = chat(1, [("user", "hi")], [("assistant", "ho")]) | {"events": [
        {"name": "gen_ai.evaluation.result", "attributes": [
            {"key": "gen_ai.evaluation.name", "value": {"stringValue": "kind"}},
            {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.5}}]}]}  # fmt: skip
    path = tmp_path / "x.json"
    path.write_text(json.dumps(request(scored)))
    (found,) = read(READER, path)
    assert found.verdict is not None
    assert found.verdict.passed is None
    assert found.verdict.detail == {"scores": [{"name": "kind", "value": 0.5}]}


# What it cost, and whose


PRICES = ("langfuse.observation.total_cost", "llm.cost.total", "gen_ai.usage.cost",
          "operation.cost")  # fmt: skip


def priced(span: dict[str, Any], usd: float, name: str = PRICES[0]) -> dict[str, Any]:
    """The same span with a price, as an exporter that prices it writes it."""
    attribute = {"key": name, "value": {"doubleValue": usd}}
    return {**span, "attributes": [*span["attributes"], attribute]}


@pytest.mark.parametrize("name", PRICES)
def test_wrapping_spans_double_no_cost(name: str, tmp_path: Path) -> None:
    spans = (
        priced(agent(1), 0.75, name),
        priced(span(2, 1, name="step", openinference__span__kind="CHAIN"), 0.5, name),
        priced(model(3, (10, 1), parent=2), 0.25, name),
        priced(model(4, (10, 1), parent=1, at=3), 0.5, name),
    )
    record = one(tmp_path, *spans)
    assert record["cost_usd"] == 0.75
    assert record["source"]["wrapping_spans_cost_usd"] == 1.25
    assert sum(event.get("cost_usd", 0) for event in record["events"]) == 0.75


def test_what_is_paid_beside_the_calls_is_paid(tmp_path: Path) -> None:
    tool = span(3, 1, at=2, gen_ai__operation__name="execute_tool", gen_ai__tool__name="search")
    record = one(tmp_path, agent(1), priced(model(2, (10, 1), parent=1), 0.25), priced(tool, 0.125))
    assert record["cost_usd"] == 0.375


def test_a_call_without_a_price_leaves_the_cost_unknown(tmp_path: Path) -> None:
    record = one(tmp_path, priced(model(1, (10, 1)), 0.25), model(2, at=5))
    assert record["cost_usd"] is None
    assert record["source"]["priced_usd"] == 0.25


def test_the_price_of_the_agent_stands_in_where_no_call_has_one(tmp_path: Path) -> None:
    record = one(tmp_path, priced(agent(1), 0.5), model(2, (10, 1), parent=1, at=1))
    assert record["cost_usd"] == 0.5
    assert "no model call is priced: the cost of the spans around them was taken" in notes(record)


def test_a_graders_tokens_and_cost_are_lines_of_their_own(tmp_path: Path) -> None:
    judge = span(5, 1, at=6, name="judge", openinference__span__kind="EVALUATOR")
    record = one(
        tmp_path,
        priced(agent(1), 1.0),
        priced(model(2, (10, 1), parent=1), 0.25),
        judge,
        priced(model(6, (700, 70), parent=5, at=6), 0.5),
    )
    assert record["usage"] == {"input_tokens": 10, "output_tokens": 1}
    assert record["cost_usd"] == 0.25
    assert record["source"]["grader"] == {
        "model_calls": 1,
        "usage": {"input_tokens": 700, "output_tokens": 70},
        "cost_usd": 0.5,
    }


def test_zeros_cost_nothing_that_is_known(tmp_path: Path) -> None:
    record = one(tmp_path, priced(agent(1), 0.0), priced(model(2, (0, 0), parent=1), 0.0))
    assert record["cost_usd"] is None
    assert "usage" not in record


def test_latency_is_the_roots(tmp_path: Path) -> None:
    late = model(3, (1, 1), parent=1, at=8, lasts=30)  # goes on behind the answer
    assert one(tmp_path, agent(1), model(2, parent=1), late)["latency_ms"] == 10_000
    under = span(1, name="POST /chat", lasts=20), model(2, parent=1), model(3, parent=1, at=15)
    assert one(tmp_path, *under)["latency_ms"] == 20_000


# Laminar ------------------------------------------------------------------------------------------


def test_laminar_the_executor_is_the_agent_and_evaluators_give_scores(tmp_path: Path) -> None:
    """Attributes as lmnr 0.8 sets them."""
    ask = {"role": "user", "content": "Refund L-7"}
    made = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": "{}"}}
    path = tmp_path / "spans.json"
    spans = [
        span(1, name="evaluation", lmnr__span__type="EVALUATION", lasts=9),
        span(2, 1, 1, 5, name="desk", lmnr__span__type="EXECUTOR", lmnr__span__input='"Refund L-7"',
             lmnr__span__output='"Done."'),
        span(3, 2, 1, 1, name="openai.chat", lmnr__span__type="LLM", lmnr__span__input=[ask],
             lmnr__span__output=[{"role": "assistant", "tool_calls": [made]}],
             gen_ai__request__model="m-1", gen_ai__usage__input_tokens=10,
             gen_ai__usage__output_tokens=2),
        span(4, 2, 2, 1, name="refund", lmnr__span__type="TOOL", lmnr__span__input="{}",
             lmnr__span__output='"refunded"'),
        span(5, 1, 7, 1, name="exact", lmnr__span__type="EVALUATOR", lmnr__span__output="1"),
        span(6, 1, 8, 1, name="tone", lmnr__span__type="EVALUATOR",
             lmnr__span__output='{"polite": 0.5, "short": 1}'),
        span(7, 6, 8, 0.5, name="judge", lmnr__span__type="LLM", gen_ai__request__model="m-2",
             gen_ai__usage__input_tokens=99, gen_ai__usage__output_tokens=9),
    ]  # fmt: skip
    path.write_text(json.dumps(request(*spans)))
    (found,) = read(OtlpReader(), path)
    record = json.loads(found.raw)
    assert used(record) == [("refund", "ok")]
    assert said(record) == [("user", "Refund L-7")]
    assert record["final_message"] == "Done."
    assert record["usage"] == {"input_tokens": 10, "output_tokens": 2}
    assert found.verdict is not None
    assert found.verdict.detail["scores"] == [
        {"name": "exact", "value": 1}, {"name": "polite", "value": 0.5},
        {"name": "short", "value": 1},
    ]  # fmt: skip


@pytest.mark.parametrize(("scope", "status"), [("pydantic-ai", "error"), ("other", "ok")])
def test_a_call_that_pydantic_ai_asks_to_make_again_failed(
    scope: str, status: str, tmp_path: Path
) -> None:
    """As pydantic-ai 0.4 traced it, whose span of such a call has no error."""
    again = "try again\n\nFix the errors and try again."
    value = request(agent(1), tool(2, "retry", "c1", again, parent=1))
    value["resourceSpans"][0]["scopeSpans"][0]["scope"] = {"name": scope, "version": "0.4.0"}
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    (record,) = told(READER, path).values()
    assert used(record) == [("retry", status)]
