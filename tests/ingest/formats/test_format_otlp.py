"""OTLP/JSON: files that pydantic-ai and Vercel's SDK wrote, the protocol's own example, and the
spellings and envelopes one span may come in."""

import base64
import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from span_files import (
    DATA,
    agent,
    chat,
    events,
    read,
    request,
    said,
    span,
    spent,
    told,
    tool,
    used,
)

from reviewer.importing.formats.otel.otlp import OtlpReader
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

READER = OtlpReader()
PYDANTIC = DATA / "otlp/pydantic_ai_2.68_instr_v6.otlp.json"
OLD_PYDANTIC = DATA / "otlp/pydantic_ai_v2.json"
VERCEL = DATA / "otlp/vercel_ai_6.0.326.otlp.jsonl"
EXAMPLE = DATA / "otlp/otlp_spec_example_trace.json"


def spans_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for resource in document["resourceSpans"]
            for scope in resource["scopeSpans"] for one in scope["spans"]]  # fmt: skip


def plain(one: dict[str, Any]) -> dict[str, Any]:
    """A span's attributes by plain JSON."""
    return {each["key"]: next(iter(each["value"].values())) for each in one["attributes"]}


def test_a_wait_for_approval_is_one_episode_of_two_traces() -> None:
    spans = spans_of(json.loads(PYDANTIC.read_bytes()))
    assert (len(spans), len({one["traceId"] for one in spans})) == (70, 16)
    records = told(READER, PYDANTIC)
    assert list(records) == [f"A{number:03d}" for number in range(1, 13)]
    traces = {name: len(record["source"]["traces"]) for name, record in records.items()}
    assert {name for name, count in traces.items() if count == 2} == {
        "A003",
        "A006",
        "A009",
        "A012",
    }
    assert sum(traces.values()) == 16


def test_tokens_are_those_of_the_model_calls_alone() -> None:
    wanted = [0, 0]
    for one in map(plain, spans_of(json.loads(PYDANTIC.read_bytes()))):
        if one["gen_ai.operation.name"] == "chat":
            wanted[0] += int(one["gen_ai.usage.input_tokens"])
            wanted[1] += int(one["gen_ai.usage.output_tokens"])
    assert wanted == [1752, 473]
    records = told(READER, PYDANTIC).values()
    assert spent(records) == (1752, 473)
    assert sum(record["usage"]["input_tokens"] for record in records) == 1752
    assert sum(record["usage"]["output_tokens"] for record in records) == 473


def test_every_tool_span_is_a_result_and_a_refused_call_is_one_too() -> None:
    records = told(READER, PYDANTIC)
    statuses = [status for record in records.values() for _, status in used(record)]
    assert len(statuses) == 27 + 1
    assert (statuses.count("error"), statuses.count("denied")) == (4, 1)
    refused = [event for event in events(records["A012"], "tool_result")
               if event["status"] == "denied"]  # fmt: skip
    assert [(event["tool"], event["observation"]) for event in refused] == [
        ("issue_refund", "over cap")
    ]
    assert "started_at" not in refused[0]


def test_the_history_every_call_repeats_is_told_once() -> None:
    records = told(READER, PYDANTIC)
    assert said(records["A003"]) == [
        ("system", "You handle refunds."),
        ("user", "Please refund order A003 today"),
        ("agent", "Looking up."),
        ("agent", "Done with A003: refund handled."),
    ]
    assert records["A003"]["final_message"] == "Done with A003: refund handled."
    calls = [(event["tool"], event["arguments"]) for event in events(records["A003"], "tool_call")]
    assert calls == [
        ("get_order", {"order_id": "A003"}),
        ("carrier_status", {"order_id": "A003"}),
        ("issue_refund", {"order_id": "A003", "amount": 13.0}),
    ]


def test_latency_is_that_of_the_runs_without_the_wait_between_them() -> None:
    lasted: dict[str, int] = defaultdict(int)
    for one in spans_of(json.loads(PYDANTIC.read_bytes())):
        if "parentSpanId" not in one:
            conversation = plain(one)["gen_ai.conversation.id"]
            lasted[conversation] += int(one["endTimeUnixNano"]) - int(one["startTimeUnixNano"])
    for record in told(READER, PYDANTIC).values():
        (conversation,) = record["source"]["conversations"]
        assert record["latency_ms"] == pytest.approx(lasted[conversation] / 1e6, abs=1e-6)


def test_a_run_that_failed_says_so_and_its_error_is_the_results(door: Door) -> None:
    said_so = door.run("import", PYDANTIC)
    assert said_so.code == 0, said_so
    ends = door.rows("SELECT episode_id, attempt, termination FROM traces ORDER BY 1")
    assert [row[2] for row in ends] == ["completed"] * 6 + ["error"] + ["completed"] * 5
    assert {row[1] for row in ends} == {1}
    assert door.rows("SELECT DISTINCT suite_id, candidate_id FROM traces") == [
        ("otel-refund-agent", "refund-agent 1.4.2 function:refund-v2")
    ]
    assert "the file counts attempts from 0" in said_so.both
    record = told(READER, PYDANTIC)["A007"]
    assert events(record, "tool_result")[-1]["observation"] == "carrier API key rejected"
    assert record["cost_usd"] is None
    assert record["final_state"] is None
    assert "nothing added" in door.run("import", PYDANTIC).both
    door.healthy()


def test_an_agent_asked_by_a_tool_speaks_under_its_own_name() -> None:
    records = told(READER, OLD_PYDANTIC)
    assert list(records) == ["yes", "no"]
    for name, last in (("yes", "ok"), ("no", "denied")):
        assert ("helper", "It may.") in said(records[name])
        assert ("system", "May it go back?") in said(records[name])
        assert used(records[name]) == [
            ("get_order", "error"), ("get_order", "ok"), ("ask", "ok"), ("refund", last)
        ]  # fmt: skip
        assert records[name]["final_message"] == "Done."
        kinds = [(event["kind"], event.get("tool") or event["message"])
                 for event in records[name]["events"]]  # fmt: skip
        assert kinds.index(("message", "It may.")) < kinds.index(("tool_result", "ask"))


def test_vercels_lines_are_eight_episodes() -> None:
    records = told(READER, VERCEL)
    assert list(records) == [f"A{number}" for number in range(1, 9)]
    assert spent(records.values()) == (820, 154)
    statuses = [status for record in records.values() for _, status in used(record)]
    assert (len(statuses), statuses.count("error")) == (16, 2)
    assert {record["attempt"] for record in records.values()} == {1}
    assert [record["termination"] for record in records.values()] == ["completed"] * 7 + ["error"]
    assert [event["message"] for event in events(records["A8"], "error")] == ["provider 500"]
    assert records["A8"]["usage"]["input_tokens"] == 50  # that call failed and counted nothing
    assert events(records["A1"], "tool_result")[1]["observation"] == "DELIVERED"


def test_spans_that_nothing_links_are_joined_by_their_metadata(tmp_path: Path) -> None:
    """As the SDK writes them without a context manager: forty traces."""
    lines = [json.loads(line) for line in VERCEL.read_text().splitlines()]
    for number, one in enumerate((one for line in lines for one in spans_of(line)), 1):
        one["traceId"] = f"{number:032x}"
        one.pop("parentSpanId", None)
    loose = tmp_path / "loose.jsonl"
    loose.write_text("\n".join(map(json.dumps, lines)))
    linked, found = told(READER, VERCEL), told(READER, loose)
    assert list(found) == list(linked)
    for name, record in found.items():
        assert record["events"] == linked[name]["events"]
        assert record["usage"] == linked[name]["usage"]
        assert len(record["source"]["traces"]) == 5


def test_a_file_without_an_agent_says_so(door: Door) -> None:
    refused = door.run("import", EXAMPLE)
    assert refused.code == 20
    assert "none of its spans (1) describes a model call, a tool or an agent" in refused.both


def test_ids_in_hex_of_any_case_and_in_base64_are_the_same(tmp_path: Path) -> None:
    document = request(agent(1), chat(2, [("user", "hi")], [("assistant", "ho")], parent=1))

    def respelled(name: str, spelled: Any) -> dict[str, Any]:
        other = json.loads(json.dumps(document))
        for one in spans_of(other):
            for member in ("traceId", "spanId", "parentSpanId"):
                if member in one:
                    one[member] = spelled(one[member])
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(other))
        (record,) = told(READER, path).values()
        return record

    wanted = respelled("hex", lambda found: found)
    assert wanted["episode_id"] == f"{1:032x}"
    upper = respelled("upper", str.upper)
    packed = respelled("base64", lambda found: base64.b64encode(bytes.fromhex(found)).decode())
    assert wanted == upper == packed
    assert wanted["source"]["spans"]["orphans"] == 0


def snake(value: Any) -> Any:
    """As protobuf writes JSON under the names of its definition."""
    if isinstance(value, list):
        return [snake(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name): snake(one)
        for name, one in value.items()
    }


def envelopes() -> dict[str, Any]:
    parts = [
        request(agent(1, trace=n), chat(2, [("user", f"hi {n}")], [("assistant", "ho")],
                                        parent=1, trace=n))
        for n in (1, 2)
    ]  # fmt: skip
    late = json.loads(json.dumps(parts))
    for document in late:  # what emitted them stands behind the spans
        (only,) = document["resourceSpans"]
        only["resource"] = only.pop("resource")
    lines = "\n".join(map(json.dumps, parts))
    return {
        "lines": lines,
        "lines, the last one unfinished by a line feed, blank ones between": f"\n{lines}\r\n\n",
        "one document": json.dumps(
            {"resourceSpans": [one for part in parts for one in part["resourceSpans"]]}
        ),
        "pretty documents in a row": "\n".join(json.dumps(part, indent=2) for part in parts),
        "an array of documents": json.dumps(parts),
        "resources last": "\n".join(map(json.dumps, late)),
        "a back end's stream": "\n".join(json.dumps({"result": part}) for part in parts),
        "names of the protocol": "\n".join(json.dumps(snake(part)) for part in parts),
        "a byte order mark": f"\ufeff{lines}",
    }


@pytest.mark.parametrize("name", envelopes())
def test_every_envelope_gives_the_same(tmp_path: Path, name: str) -> None:
    plainly, packed = tmp_path / "x.json", tmp_path / "x.json.gz"
    plainly.write_text(envelopes()[name])
    packed.write_bytes(gzip.compress(plainly.read_bytes()))
    for path in (plainly, packed):
        assert READER.sniff(Head(path))
        records = told(READER, path)
        assert [said(record)[0] for record in records.values()] == [
            ("user", "hi 1"),
            ("user", "hi 2"),
        ]
        assert {record["candidate_id"] for record in records.values()} == {"desk m-1"}


def test_lines_longer_than_a_read(tmp_path: Path) -> None:
    """Requests are as large as their exporter lets them grow."""
    long = "x" * (3 << 20)
    requests = [
        request(chat(2, [("user", f"hi {n} {long}")], [("assistant", "ho")], trace=n, at=n))
        for n in (1, 2, 3)
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, requests)))
    records = told(READER, path)
    assert [said(record)[0][1][:4] for record in records.values()] == ["hi 1", "hi 2", "hi 3"]
    path.write_text("\n".join([json.dumps(requests[0])[:-3], *map(json.dumps, requests[1:])]))
    found = list(READER.traces(Source(path)))
    assert [type(one) for one in found] == [Broken, Foreign, Foreign, Foreign]


def test_a_broken_line_costs_its_own_spans(door: Door) -> None:
    good = VERCEL.read_text().splitlines()
    lines = [good[0], good[1][: len(good[1]) // 2], "[1, 2", *good[2:]]
    said_so = door.take("x.otlp.jsonl", "\n".join(lines))
    assert said_so.code in (0, 20), said_so
    rows = door.rows("SELECT episode_id, events FROM traces ORDER BY 1")
    whole = {name: len(record["events"]) for name, record in told(READER, VERCEL).items()}
    kept = {name: count for name, count in rows if name != "A2"}
    assert kept == {name: count for name, count in whole.items() if name != "A2"}
    assert "document 2" in said_so.both
    assert "the file is cut off" in said_so.both
    door.healthy()


ODD: dict[str, Any] = {
    "a span is a number": 5,
    "a span is null": None,
    "no trace id": {"spanId": "01"},
    "a trace id of zeros": {"traceId": "0" * 32, "spanId": "01"},
    "a trace id is a list": {"traceId": ["1"], "spanId": "01"},
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_no_span_costs_itself(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.json"
    good = chat(2, [("user", "hi")], [("assistant", "ho")])
    path.write_text(json.dumps(request(good, ODD[name], agent(1))))
    first, second = READER.traces(Source(path))
    assert isinstance(first, Broken)
    assert "spans[1]" in first.name
    assert isinstance(second, Foreign)
    assert [event["message"] for event in json.loads(second.raw)["events"]] == ["hi", "ho"]


def test_odd_attributes_cost_themselves(tmp_path: Path) -> None:
    one = chat(2, [("user", "hi")], [("assistant", "ho")])
    one["attributes"] += [
        {"key": "a"}, {"key": "b", "value": "bare"},
        {"key": "c", "value": {"kvlistValue": {"values": [{"key": "d"}, 1]}}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "many"}},
        {"key": "gen_ai.response.finish_reasons", "value": {"arrayValue": {"values": "x"}}},
    ]  # fmt: skip
    one |= {"startTimeUnixNano": "yesterday", "endTimeUnixNano": -1, "status": [], "events": [3]}
    path = tmp_path / "x.json"
    path.write_text(json.dumps(request(one)))
    (record,) = told(READER, path).values()
    assert [event["message"] for event in record["events"]] == ["hi", "ho"]
    assert record["latency_ms"] is None
    assert "started_at" not in record


def test_a_document_that_is_cut_off_gives_what_stands_in_it(tmp_path: Path) -> None:
    calls = [chat(2, [("user", f"hi {n}")], [("assistant", "ho")], trace=n) for n in (1, 2, 3)]
    raw = json.dumps(request(*calls), indent=1).encode()
    path = tmp_path / "x.json"
    path.write_bytes(raw[: raw.index(b"hi 3")])
    source = Source(path)
    found = list(READER.traces(source))
    assert [type(one) for one in found] == [Broken, Foreign, Foreign]
    assert "the file is cut off: episodes at its end may lack spans" in source.notes


def test_a_conversation_id_that_is_an_answers_is_none(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    one = chat(2, [("user", "hi")], [("assistant", "ho")], gen_ai__conversation__id="resp_07")
    path.write_text(json.dumps(request(one)))
    assert list(told(READER, path)) == [f"{1:032x}"]


@pytest.mark.parametrize(
    "content",
    [
        '{"resourceLogs": []}',
        '{"resourceSpans": 5}',
        '{"episode_id": "a", "events": []}',
        "[]",
        '["resourceSpans"]',
        '{"result": []}',
        "resourceSpans",
    ],
)
def test_other_files_are_not_claimed(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    assert not READER.sniff(Head(path))


def test_files_are_read_in_the_order_they_ran(tmp_path: Path) -> None:
    late, early = tmp_path / "a.json", tmp_path / "b.json"
    late.write_text(json.dumps(request(agent(1, at=60), tool(2, "look", "c", "x", at=61))))
    early.write_text(json.dumps(request(agent(1, at=5))))
    empty = tmp_path / "c.json"
    empty.write_text(json.dumps(request(span(1))).replace("startTime", "x"))
    assert READER.ran_at(late) - READER.ran_at(early) == 55_000
    assert READER.ran_at(empty) == float("inf")
    with pytest.raises(Unreadable, match="none of its spans"):
        read(READER, empty)


@pytest.mark.parametrize(
    ("at", "name"),
    [
        (("resourceSpans",), "resourceSpans"),
        (("resourceSpans", 0), "resourceSpans"),
        (("resourceSpans", 0, "scopeSpans"), "scopeSpans"),
        (("resourceSpans", 0, "scopeSpans", 0), "scopeSpans"),
        (("resourceSpans", 0, "scopeSpans", 0, "spans"), "spans"),
    ],
)
def test_a_list_of_spans_that_is_a_plain_value_leaves_all_of_its_file_not_measured(
    tmp_path: Path, at: tuple[Any, ...], name: str
) -> None:
    lines = (DATA / "otlp/vercel_ai_6.0.326.otlp.jsonl").read_text().splitlines()
    damaged = json.loads(lines[0])
    held = damaged
    for step in at[:-1]:
        held = held[step]
    held[at[-1]] = 7
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join((*lines, json.dumps(damaged))))
    reader = OtlpReader()
    broken, *told = reader.traces(Source(path))
    assert isinstance(broken, Broken)
    assert broken.codes == (f"type:{name}",)
    assert all("unread" in json.loads(one.raw) for one in told if isinstance(one, Foreign))
    held[at[-1]] = None
    path.write_text("\n".join((*lines, json.dumps(damaged))))
    assert all(isinstance(one, Foreign) for one in reader.traces(Source(path)))


@pytest.mark.parametrize("damage", ["none", [7], [None], [{"key": 7, "value": {}}], [{"value": 1}]])
def test_attributes_that_cannot_be_read_refuse_their_span(tmp_path: Path, damage: Any) -> None:
    document = json.loads((DATA / "otlp/pydantic_ai_v2.json").read_bytes())
    span = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span["attributes"] = [*span["attributes"], *damage] if isinstance(damage, list) else damage
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(document))
    broken, *told = OtlpReader().traces(Source(path))
    assert isinstance(broken, Broken)
    assert broken.codes == ("type:attributes",)
    assert all("unread" in json.loads(one.raw) for one in told if isinstance(one, Foreign))


@pytest.mark.parametrize("entry", [7, "span", None, []])
def test_an_entry_that_is_no_span_leaves_all_of_its_file_not_measured(
    tmp_path: Path, entry: Any
) -> None:
    document = json.loads((DATA / "otlp/pydantic_ai_v2.json").read_bytes())
    document["resourceSpans"][0]["scopeSpans"][0]["spans"].append(entry)
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(document))
    told = list(OtlpReader().traces(Source(path)))
    assert [one.codes for one in told if isinstance(one, Broken)] == [("type:span",)]
    assert all("unread" in json.loads(one.raw) for one in told if isinstance(one, Foreign))
