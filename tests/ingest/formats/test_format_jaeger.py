"""Jaeger's JSON: two traces of an agent in Kubernetes, where most spans are HTTP and queues."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from span_files import DATA, events, said, spent, told, used

from reviewer.importing.formats.otel.otlp import JaegerReader
from reviewer.importing.head import Head

READER = JaegerReader()
HELM, K8S = DATA / "jaeger/helm.json", DATA / "jaeger/k8s.json"


def plain(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_bytes())["data"][0]["spans"]
    return found


def tags(span: dict[str, Any]) -> dict[str, Any]:
    return {tag["key"]: tag["value"] for tag in span["tags"]}


@pytest.mark.parametrize(
    ("path", "spans", "tools", "tokens"),
    [(HELM, 96, 1, (3776, 130)), (K8S, 73, 0, (2203, 139))],
)
def test_the_figures(path: Path, spans: int, tools: int, tokens: tuple[int, int]) -> None:
    """Both instrumentations report the tokens: added up they would be twice as many."""
    assert len(plain(path)) == spans
    reported = [tags(one).get("gen_ai.usage.input_tokens", 0) for one in plain(path)]
    again = [tags(one).get("gen_ai.usage.prompt_tokens", 0) for one in plain(path)]
    assert sum(reported) == sum(again) == tokens[0]
    (record,) = told(READER, path).values()
    assert spent([record]) == tokens
    assert (record["usage"]["input_tokens"], record["usage"]["output_tokens"]) == tokens
    assert len(used(record)) == tools
    assert record["source"]["spans"]["in_file"] == spans
    assert (
        "tokens that several spans report of one model call were counted once"
        in (record["source"]["notes"])
    )


def test_one_conversation_in_the_store(door: Door) -> None:
    imported = door.run("import", HELM, K8S)
    assert imported.code == 0, imported
    assert door.rows(
        "SELECT suite_id, candidate_id, episode_id, attempt, passed, termination FROM traces"
        " ORDER BY 1"
    ) == [
        ("otel-helm_agent", "helm_agent gpt-4.1-mini",
         "ctx-7ed9780f-3688-4fc0-b10b-2e4df2f83cf0", 1, None, "completed"),
        ("otel-k8s_agent", "k8s_agent gpt-4.1-mini",
         "ctx-d8251ac3-6289-464a-8404-0fc4e312e823", 1, None, "completed"),
    ]  # fmt: skip
    assert "90 of 96 spans describe no model call, tool or agent" in imported.both
    assert "that says nothing of the episode" in imported.both
    door.healthy()


def test_what_was_said_and_done() -> None:
    (record,) = told(READER, HELM).values()
    kinds = [event["kind"] for event in record["events"]]
    assert kinds == ["message", "message", "tool_call", "tool_result", "message"]
    assert said(record)[1] == ("user", "list all Helm releases")
    (result,) = events(record, "tool_result")
    assert (result["tool"], result["status"]) == ("helm_list_releases", "ok")
    assert record["final_message"] == said(record)[-1][1]
    assert record["final_message"].startswith("There are two Helm releases")
    assert record["source"]["served_by"] == ["gpt-4.1-mini-2025-04-14"]


def test_times_are_microseconds() -> None:
    (agent,) = [
        one for one in plain(HELM) if tags(one).get("gen_ai.operation.name") == "invoke_agent"
    ]
    (tool,) = [
        one for one in plain(HELM) if tags(one).get("gen_ai.operation.name") == "execute_tool"
    ]
    (record,) = told(READER, HELM).values()
    assert record["latency_ms"] == agent["duration"] / 1000
    assert record["started_at"] == "2026-02-16T10:25:34.578Z"
    assert events(record, "tool_result")[0]["latency_ms"] == tool["duration"] / 1000
    assert record["source"]["clock"] == "epoch"


def test_a_trace_alone_and_processes_last(tmp_path: Path) -> None:
    trace = json.loads(HELM.read_bytes())["data"][0]
    trace["processes"] = trace.pop("processes")
    path = tmp_path / "x.json"
    path.write_text(json.dumps(trace))
    assert READER.sniff(Head(path))
    (record,) = told(READER, path).values()
    assert record["candidate_id"] == "helm_agent gpt-4.1-mini"


def test_an_error_is_a_tag(tmp_path: Path) -> None:
    document = json.loads(HELM.read_bytes())
    for one in document["data"][0]["spans"]:
        if one["operationName"].startswith("execute_tool"):
            one["tags"] += [
                {"key": "error", "type": "bool", "value": True},
                {"key": "otel.status_description", "type": "string", "value": "gone"},
            ]
            one["tags"] = [tag for tag in one["tags"] if not tag["key"].endswith("tool_response")]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    (record,) = told(READER, path).values()
    (result,) = events(record, "tool_result")
    assert (result["status"], result["observation"]) == ("error", "gone")


@pytest.mark.parametrize(
    "content", ['{"data": []}', '{"data": [{"spans": []}]}', '{"data": {"spans": []}}',
                '{"data": [{"object": "trace"}]}', '{"spans": [1]}', "[]"]
)  # fmt: skip
def test_other_files_are_not_claimed(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    assert not READER.sniff(Head(path))
