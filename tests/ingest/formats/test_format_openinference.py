"""Spans that are objects of their own: Phoenix's, the console exporter's, the JavaScript SDK's."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from span_files import DATA, events, said, told, used

from reviewer.importing.formats.otel.exports import OpenInferenceReader
from reviewer.importing.head import Head

READER = OpenInferenceReader()
MEMORY = DATA / "openinference/all-spans.json"


def flat(prefix: str, *messages: dict[str, Any]) -> dict[str, Any]:
    """Messages as OpenInference flattens them."""
    found: dict[str, Any] = {}
    for number, message in enumerate(messages):
        start = f"llm.{prefix}_messages.{number}.message"
        for name, value in message.items():
            if name != "calls":
                found[f"{start}.{name}"] = value
        for place, (own, tool, arguments) in enumerate(message.get("calls", ())):
            call = f"{start}.tool_calls.{place}.tool_call"
            found |= {f"{call}.id": own, f"{call}.function.name": tool,
                      f"{call}.function.arguments": arguments}  # fmt: skip
    return found


def phoenix() -> list[dict[str, Any]]:
    """A turn as Phoenix's client exports it: an agent, two model calls, a tool that failed."""

    def span(number: int, kind: str, attributes: dict[str, Any], error: str = "") -> dict[str, Any]:
        return {
            "id": f"x{number}",
            "name": {"AGENT": "turn", "LLM": "claude", "TOOL": "look"}[kind],
            "context": {"trace_id": "t-1", "span_id": f"s{number}"},
            "span_kind": kind,
            "parent_id": None if number == 1 else "s1",
            "start_time": f"2026-07-09T00:00:0{number}+00:00",
            "end_time": f"2026-07-09T00:00:{'09' if number == 1 else f'0{number}'}.500000+00:00",
            "status_code": "ERROR" if error else "OK",
            "status_message": error,
            "attributes": {"session.id": "chat-7", **attributes},
            "events": [],
        }

    user = {"role": "user", "content": "hi"}
    asking = {"role": "assistant", "calls": [("c1", "look", '{"n": 1}')]}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "gone"}
    return [
        span(4, "LLM", {"llm.model_name": "claude-9", "llm.token_count.prompt": 30,
                        "llm.token_count.completion": 3,
                        "llm.token_count.prompt_details.cache_read": 20,
                        **flat("input", user, asking, answer),
                        **flat("output", {"role": "assistant", "content": "ho"})}),
        span(3, "TOOL", {"tool.name": "look", "tool.id": "c1", "input.value": '{"n": 1}',
                         "output.value": ""}, "gone"),
        span(2, "LLM", {"llm.model_name": "claude-9", "llm.token_count.prompt": 20,
                        "llm.token_count.completion": 2,
                        "llm.token_count.prompt_details.cache_read": 0,
                        **flat("input", user), **flat("output", asking)}),
        span(1, "AGENT", {"input.value": "hi", "output.value": "ho"}),
    ]  # fmt: skip


def check(record: dict[str, Any]) -> None:
    assert record["episode_id"] == "chat-7"
    assert said(record) == [("user", "hi"), ("agent", "ho")]
    (call,) = events(record, "tool_call")
    assert (call["tool"], call["arguments"]) == ("look", {"n": 1})
    assert used(record) == [("look", "error")]
    assert events(record, "tool_result")[0]["observation"] == "gone"
    assert record["usage"] == {"input_tokens": 50, "output_tokens": 5, "cached_tokens": 20}
    assert record["latency_ms"] == 8500
    assert record["termination"] == "completed"
    assert record["final_message"] == "ho"


def test_a_turn_of_phoenix(door: Door, tmp_path: Path) -> None:
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(phoenix(), indent=1))
    assert READER.sniff(Head(path))
    (record,) = told(READER, path).values()
    check(record)
    assert record["candidate_id"] == "turn claude-9"
    assert record["started_at"] == "2026-07-09T00:00:01+00:00"
    assert record["source"]["clock"] == "utc"
    assert door.run("import", path).code == 0
    assert door.rows("SELECT suite_id, episode_id, latency_ms FROM traces") == [
        ("otel", "chat-7", 8500)
    ]


def nested(span: dict[str, Any]) -> dict[str, Any]:
    """Attributes as an object of objects, messages as lists."""
    found: dict[str, Any] = {}
    for name, value in span["attributes"].items():
        node, (*above, last) = found, name.split(".")
        for step in above:
            node = node.setdefault(step, {})
        node[last] = value

    def lists(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if value and all(name.isdecimal() for name in value):
            return [lists(one) for one in value.values()]
        return {name: lists(one) for name, one in value.items()}

    return {**span, "attributes": lists(found)}


def column(span: dict[str, Any]) -> dict[str, Any]:
    """A row of a data frame: times in milliseconds, one column per attribute."""
    from datetime import datetime

    return {
        "name": span["name"],
        "span_kind": span["span_kind"],
        "parent_id": span["parent_id"],
        "start_time": datetime.fromisoformat(span["start_time"]).timestamp() * 1000,
        "end_time": datetime.fromisoformat(span["end_time"]).timestamp() * 1000,
        "status_code": span["status_code"],
        "status_message": span["status_message"],
        "context.trace_id": "t-1",
        "context.span_id": span["context"]["span_id"],
        **{f"attributes.{name}": value for name, value in span["attributes"].items()},
    }


def listed(span: dict[str, Any]) -> dict[str, Any]:
    """A row of Phoenix's own data frame: messages as lists of objects with dotted names."""

    def gathered(values: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        lists: dict[str, dict[str, dict[str, Any]]] = {}
        for name, value in values.items():
            start, number, rest = re.fullmatch(r"(.*?)(?:\.(\d+)\.(.*))?", name).groups()  # type: ignore[union-attr]
            if number is None:
                found[name] = value
            else:
                lists.setdefault(start, {}).setdefault(number, {})[rest] = value
        whole = {start: [gathered(one) for one in held.values()] for start, held in lists.items()}
        return {**found, **whole}

    return gathered(column(span))


def console(span: dict[str, Any]) -> dict[str, Any]:
    """As the Python SDK's console exporter prints it."""
    kind = {"openinference.span.kind": span["span_kind"]}
    own = f"0x{span['context']['span_id'][1:]:0>16}"
    return {
        "name": span["name"],
        "context": {"trace_id": f"0x{1:032x}", "span_id": own, "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": span["parent_id"] and f"0x{1:016x}",
        "start_time": span["start_time"].replace("+00:00", ".000000Z"),
        "end_time": span["end_time"].replace("+00:00", "Z"),
        "status": {"status_code": span["status_code"], "description": span["status_message"]},
        "attributes": span["attributes"] | kind,
        "events": [],
        "links": [],
        "resource": {"attributes": {"service.name": "desk"}, "schema_url": ""},
    }  # fmt: skip


def memory(span: dict[str, Any]) -> dict[str, Any]:
    """As the JavaScript SDK keeps it."""
    from datetime import datetime

    def time(name: str) -> list[int]:
        seconds = datetime.fromisoformat(span[name]).timestamp()
        return [int(seconds), int(seconds % 1 * 1_000_000_000)]

    return {
        "name": span["name"],
        "spanContext": {"traceId": f"{1:032x}", "spanId": f"{span['context']['span_id'][1:]:0>16}"},
        "parentSpanContext": {"spanId": f"{1:016x}"} if span["parent_id"] else None,
        "startTime": time("start_time"),
        "endTime": time("end_time"),
        "status": {"code": 2 if span["status_code"] == "ERROR" else 0,
                   "message": span["status_message"]},
        "attributes": span["attributes"] | {"openinference.span.kind": span["span_kind"]},
        "resource": {"attributes": {"service.name": "desk"}},
    }  # fmt: skip


FORMS = {
    "nested": nested,
    "a data frame": column,
    "Phoenix's data frame": listed,
    "the console": console,
    "in memory": memory,
}


@pytest.mark.parametrize("layout", ["array", "lines", "data", "in a row"])
@pytest.mark.parametrize("name", FORMS)
def test_every_form_tells_the_same(tmp_path: Path, name: str, layout: str) -> None:
    spans = [FORMS[name](span) for span in phoenix()]
    text = {
        "array": json.dumps(spans),
        "lines": "\n".join(map(json.dumps, spans)),
        "data": json.dumps({"data": spans, "next_cursor": None}),
        "in a row": "\n".join(json.dumps(span, indent=4) for span in spans),
    }[layout]
    path = tmp_path / "x.json"
    path.write_text(text)
    assert READER.sniff(Head(path))
    (record,) = told(READER, path).values()
    check(record)


def test_spans_kept_in_memory_without_links() -> None:
    """Each in a trace of its own; embeddings are no work of an agent's."""
    spans = json.loads(MEMORY.read_bytes())
    assert len(spans) == 10
    records = told(READER, MEMORY)
    assert len(records) == 8
    calls = [record for record in records.values() if record["source"].get("models")]
    assert [record["usage"]["output_tokens"] for record in calls] == [20, 9, 156, 112]
    assert {record["source"]["served_by"][0] for record in calls} == {"gpt-4o-mini-2024-07-18"}
    assert said(calls[1]) == [
        ("system", "You are a helpful assistant."), ("user", "What is 2 + 2?"),
        ("agent", "2 + 2 equals 4."), ("user", "And what is 3 + 3?"), ("agent", "3 + 3 equals 6."),
    ]  # fmt: skip


def test_a_clock_without_a_zone_is_unstated(tmp_path: Path) -> None:
    spans = phoenix()
    for span in spans:
        for name in ("start_time", "end_time"):
            span[name] = span[name].replace("+00:00", "")
    path = tmp_path / "x.json"
    path.write_text(json.dumps(spans))
    (record,) = told(READER, path).values()
    check(record)
    assert record["source"]["clock"] == "unstated"


@pytest.mark.parametrize(
    "content",
    ["[]", "[[]]", '[{"context": {}}]', '[{"context": {"trace_id": "1"}}]', '{"data": []}',
     '[{"spanContext": 5, "attributes": {}}]', '[{"role": "user", "content": "x"}]', '{"data": 1}',
     '{"data": [{"object": "trace.span", "trace_id": "t"}]}'],
)  # fmt: skip
def test_other_files_are_not_claimed(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    assert not READER.sniff(Head(path))
