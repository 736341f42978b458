"""Langfuse's exports of four frameworks: costs, scores, and JSON inside texts."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from span_files import DATA, events, read, said, spent, told, used

from reviewer.importing.formats.otel.exports import LangfuseReader
from reviewer.importing.head import Head
from reviewer.importing.source import Source

READER = LangfuseReader()
FOLDER = DATA / "langfuse"
CLAUDE = FOLDER / "claude-agent-2025-12-22.trace.json"
LANGGRAPH = FOLDER / "langgraph-python-2025-08-22.trace.json"
OPENAI = FOLDER / "openai-agents-2025-09-30.trace.json"
PYDANTIC = FOLDER / "pydantic-ai-tools-2025-12-04.trace.json"
MICROSOFT = FOLDER / "microsoft-agent-2025-12-17.trace.json"
FIGURES = {
    CLAUDE: (0.003582, (34, 232), 7360),
    LANGGRAPH: (0.000234, (168, 66), 2610),
    OPENAI: (0.000632, (140, 44), 2190),
    PYDANTIC: (0.00032265, (1315, 209), 7424),
}


def plain(path: Path) -> Any:
    return json.loads(path.read_bytes())


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_the_figures(path: Path) -> None:
    """`latency` is seconds on every trace and milliseconds on some observations: times decide."""
    cost, tokens, latency = FIGURES[path]
    observations = plain(path)["observations"]
    assert sum(one["totalCost"] or 0 for one in observations) == pytest.approx(cost)
    calls = [one["usageDetails"] for one in observations if one["type"] == "GENERATION"]
    assert tuple(sum(one[side] for one in calls) for side in ("input", "output")) == tokens
    (record,) = told(READER, path).values()
    assert record["cost_usd"] == pytest.approx(cost)
    assert sum(event.get("cost_usd", 0) for event in record["events"]) == pytest.approx(cost)
    assert spent([record]) == tokens
    assert record["latency_ms"] == latency == pytest.approx(plain(path)["trace"]["latency"] * 1000)
    assert record["termination"] == "completed"
    assert record["source"]["clock"] == "utc"


TOLD: dict[Path, tuple[str, list[tuple[str, str | None]], str]] = {
    CLAUDE: ("claude.conversation claude-sonnet-4-5-20250929",
             [("mcp__weather__get_weather", "ok")] * 2, "Great! Here's the current weather"),
    LANGGRAPH: ("LangGraph gpt-4o-2024-08-06", [("Web-Search", "ok")], "The search for"),
    OPENAI: ("Hello world gpt-4.1-2025-04-14", [("get_weather", "ok")], "The weather in Tokyo"),
    MICROSOFT: ("gpt-5-mini", [("get_weather", "ok")], "Current conditions in Tokyo"),
}  # fmt: skip


@pytest.mark.parametrize("path", TOLD, ids=lambda path: path.name)
def test_who_did_what(path: Path) -> None:
    candidate, tools, final = TOLD[path]
    (record,) = told(READER, path).values()
    assert record["candidate_id"] == candidate
    assert used(record) == tools
    assert record["final_message"].startswith(final)
    assert record["episode_id"] == plain(path)["trace"]["id"]


def test_results_without_ids_find_their_calls() -> None:
    (record,) = told(READER, CLAUDE).values()
    asked = {event["call_id"]: event["arguments"]["city"] for event in events(record, "tool_call")}
    for event in events(record, "tool_result"):
        assert asked[event["call_id"]] in json.dumps(event["observation"])


def test_agents_after_the_first_go_by_their_names() -> None:
    (record,) = told(READER, PYDANTIC).values()
    actors = {event["actor"] for event in events(record, "message", "tool_call")}
    assert actors == {"system", "user", "agent", "evaluator_agent"}
    assert len(events(record, "tool_call")) == 4
    assert len({event["call_id"] for event in events(record, "tool_call")}) == 4


def test_each_call_is_paid_for_once_whatever_the_spans_around_it_say() -> None:
    """Langfuse prices the agent's span beside the two calls in it; tokens are counted once."""
    observations = plain(MICROSOFT)["observations"]
    priced = {one["type"]: 0.0 for one in observations}
    for one in observations:
        priced[one["type"]] += one["totalCost"] or 0
    assert priced["AGENT"] > 0
    (record,) = told(READER, MICROSOFT).values()
    assert record["cost_usd"] == pytest.approx(priced["GENERATION"]) == pytest.approx(0.00028525)
    costs = [event.get("cost_usd", 0) for event in record["events"]]
    assert sum(costs) == pytest.approx(record["cost_usd"])
    assert record["source"]["wrapping_spans_cost_usd"] == pytest.approx(priced["AGENT"])
    assert "each call was counted once" in " ".join(record["source"]["notes"])
    assert spent([record]) == (293, 106)


def test_scores_are_a_detail_and_no_verdict(door: Door) -> None:
    (found,) = read(READER, CLAUDE)
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (None, None)
    scores = found.verdict.detail["scores"]
    assert [score["name"] for score in scores] == [
        score["name"] for score in plain(CLAUDE)["trace"]["scores"]
    ]
    assert read(READER, PYDANTIC)[0].verdict is None
    imported = door.run("import", *FIGURES)
    assert imported.code == 0, imported
    assert door.rows("SELECT DISTINCT suite_id, probe, passed FROM traces ORDER BY 1") == [
        ("langfuse-7a88fb47-b4e2-43b8-a06c-a5ce950dc53a", 1, None),
        ("langfuse-cloramnkj0002jz088vzn1ja4", 1, None),
    ]
    door.healthy()


def trace(number: int, **more: Any) -> dict[str, Any]:
    """A trace of one model call."""
    start = f"2026-01-01T00:00:{number:02d}.000Z"
    return {
        "trace": {"id": f"t{number}", "projectId": "p", "name": "desk", "timestamp": start, **more},
        "observations": [
            {"id": f"o{number}", "type": "GENERATION", "name": "chat", "model": "m-1",
             "startTime": start, "endTime": start.replace(".000", ".500"), "level": "DEFAULT",
             "input": [{"role": "user", "content": f"hi {number}"}], "output": f"ho {number}",
             "usageDetails": {"input": 5, "output": 1}, "totalCost": 0.25},
        ],
    }  # fmt: skip


def test_metadata_may_be_json_in_a_text_in_a_text(tmp_path: Path) -> None:
    metadata = {"episode_id": "e1", "attempt": 2}
    path = tmp_path / "x.json"
    for spelled in (metadata, json.dumps(metadata), json.dumps(json.dumps(metadata))):
        path.write_text(json.dumps(trace(1, metadata=spelled)))
        (record,) = told(READER, path).values()
        assert (record["episode_id"], record["attempt"]) == ("e1", 2)


def inline(value: dict[str, Any]) -> dict[str, Any]:
    """As its API hands a trace out: observations among the trace's members."""
    return {**value["trace"], "observations": value["observations"]}


@pytest.mark.parametrize("form", ["as exported", "inline"])
@pytest.mark.parametrize("layout", ["array", "lines", "in a row"])
def test_many_traces_in_a_file(tmp_path: Path, layout: str, form: str) -> None:
    traces = [trace(1, sessionId="s1"), trace(2), trace(3, sessionId="s1")]
    if form == "inline":
        traces = [inline(one) for one in traces]
    text = {
        "array": json.dumps(traces),
        "lines": "\n".join(map(json.dumps, traces)),
        "in a row": "\n".join(json.dumps(one, indent=2) for one in traces),
    }[layout]
    path = tmp_path / "x.json"
    path.write_text(text)
    assert READER.sniff(Head(path))
    records = told(READER, path)
    assert list(records) == ["s1", "t2"]
    assert [line for _, line in said(records["s1"])] == ["hi 1", "ho 1", "hi 3", "ho 3"]
    assert records["s1"]["cost_usd"] == 0.5
    assert records["s1"]["latency_ms"] == 1000


def test_a_call_without_a_price_leaves_no_sum(tmp_path: Path) -> None:
    value = trace(1)
    value["observations"].append({**value["observations"][0], "id": "o9", "totalCost": 0,
                                  "startTime": "2026-01-01T00:01:00Z"})  # fmt: skip
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    (record,) = told(READER, path).values()
    assert record["cost_usd"] is None
    assert record["source"]["priced_usd"] == 0.25
    assert (
        "only some of the model calls are priced: no cost is given" in (record["source"]["notes"])
    )


def test_a_trace_without_observations_has_its_own_words(tmp_path: Path) -> None:
    value = {**trace(1, input="hi", output='"ho"'), "observations": []}
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    (record,) = told(READER, path).values()
    assert said(record) == [("user", "hi"), ("agent", "ho")]
    assert (record["cost_usd"], record["latency_ms"]) == (None, None)


def test_an_error_is_a_level(tmp_path: Path) -> None:
    value = trace(1)
    value["observations"][0] |= {"level": "ERROR", "statusMessage": "overloaded", "output": None}
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    (record,) = told(READER, path).values()
    assert [event["message"] for event in events(record, "error")] == ["overloaded"]
    assert record["termination"] == "error"


def test_an_odd_observation_costs_itself(tmp_path: Path) -> None:
    value = trace(1)
    value["observations"] += [None, 7, {"type": 5, "metadata": [], "input": {"a": [None]}}]
    path = tmp_path / "x.json"
    path.write_text(json.dumps([value, {"trace": {"id": 5}, "observations": []}]))
    found = list(READER.traces(Source(path)))
    assert [type(one).__name__ for one in found] == ["Broken", "Foreign"]


@pytest.mark.parametrize(
    "content",
    ['{"observations": []}', '{"trace": {"id": "1"}}', '{"trace": 1, "observations": []}',
     '{"trace": {"resourceSpans": []}}', "[5]", '{"observations": {"scores": 1}, "scores": []}'],
)  # fmt: skip
def test_other_files_are_not_claimed(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    assert not READER.sniff(Head(path))
