"""OpenTelemetry spans as pydantic-ai writes them today, in each form of its instrumentation.

`data/otlp/pydantic_ai_v2.json` was written by this script.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from span_files import spent as counted
from span_files import told

from reviewer.importing.formats.otel.otlp import OtlpReader

pytestmark = pytest.mark.nightly

SCRIPT = """
import sys

from google.protobuf.json_format import MessageToJson
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied

folder, version = sys.argv[1], int(sys.argv[2])
memory = InMemorySpanExporter()
provider = TracerProvider(resource=Resource({"service.name": "lamps", "service.version": "3.1"}))
provider.add_span_processor(SimpleSpanProcessor(memory))
settings = InstrumentationSettings(
    tracer_provider=provider, version=version, include_model_request_parameters=False)


def say(text, *calls):
    return ModelResponse(parts=[TextPart(text), *calls])


def answer(messages, info):
    turn = sum(isinstance(message, ModelResponse) for message in messages)
    return [
        lambda: say("Looking.", ToolCallPart("get_order", {"order": "L1", "force": False})),
        lambda: say("Again.", ToolCallPart("get_order", {"order": "L1", "force": True})),
        lambda: say("Asking a colleague.", ToolCallPart("ask", {"question": "May it go back?"})),
        lambda: say("Refunding.", ToolCallPart("refund", {"order": "L1"})),
        lambda: say("Done."),
    ][turn]()


Agent.instrument_all(settings)
helper = Agent(FunctionModel(lambda messages, info: say("It may.")), name="helper")
desk = Agent(FunctionModel(answer, model_name="desk-1"), name="desk",
             instructions="You return lamps.", output_type=[str, DeferredToolRequests])


@desk.tool_plain
def get_order(order: str, force: bool) -> dict:
    if not force:
        raise ModelRetry("try force")
    return {"order": order, "state": "broken"}


@desk.tool_plain
async def ask(question: str) -> str:
    return (await helper.run(question)).output


@desk.tool_plain(requires_approval=True)
def refund(order: str) -> str:
    return "refunded"


for episode, allowed in (("yes", True), ("no", False)):
    first = desk.run_sync("My lamp is broken.", metadata={"episode_id": episode, "attempt": 1})
    (call,) = first.output.approvals
    word = True if allowed else ToolDenied("over the limit")
    desk.run_sync(message_history=first.all_messages(), deferred_tool_results=DeferredToolResults(
        approvals={call.tool_call_id: word}))

with open(f"{folder}/v{version}.json", "w") as file:
    file.write(MessageToJson(encode_spans(memory.get_finished_spans()), indent=None))
"""
PACKAGES = ["pydantic-ai-slim", "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-common"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files that the tool itself wrote, in an environment of its own."""
    folder = tmp_path_factory.mktemp("otel")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    for version in range(2, 7):
        subprocess.run([python, "-c", SCRIPT, folder, str(version)], check=True)
    return folder


def spent(path: Path) -> tuple[int, int]:
    """(input, output) tokens of the spans that call a model, by plain JSON."""
    scopes = json.loads(path.read_bytes())["resourceSpans"][0]["scopeSpans"]
    totals = [0, 0]
    for span in (span for scope in scopes for span in scope["spans"]):
        said: dict[str, Any] = {one["key"]: one["value"] for one in span["attributes"]}
        if said.get("gen_ai.operation.name") == {"stringValue": "chat"}:
            for place, side in enumerate(("input", "output")):
                totals[place] += int(said[f"gen_ai.usage.{side}_tokens"]["intValue"])
    return totals[0], totals[1]


@pytest.mark.parametrize("version", range(2, 7))
def test_fresh_spans_are_read_back(door: Door, written: Path, version: int) -> None:
    path = written / f"v{version}.json"
    said = door.run("import", path)
    assert said.code == 0, said
    traces = door.rows("SELECT episode_id, attempt, candidate_id, trace_id FROM traces ORDER BY 1")
    assert [row[:3] for row in traces] == [
        ("no", 1, "lamps 3.1 desk desk-1"),
        ("yes", 1, "lamps 3.1 desk desk-1"),
    ]
    for episode, _, _, trace in traces:
        rows = door.rows(
            "SELECT kind, tool, status FROM events WHERE trace_id = ? ORDER BY seq", trace
        )
        calls = [tool for kind, tool, _ in rows if kind == "tool_call"]
        results = [(tool, status) for kind, tool, status in rows if kind == "tool_result"]
        assert calls == ["get_order", "get_order", "ask", "refund"]
        last = "ok" if episode == "yes" else "denied"
        assert results == [
            ("get_order", "error"), ("get_order", "ok"), ("ask", "ok"), ("refund", last)
        ]  # fmt: skip
    assert door.one("SELECT count(*) FROM events WHERE actor = 'helper'") == 2
    assert counted(told(OtlpReader(), path).values()) == spent(path)
