"""`reviewer listen`: started, killed, ended; spans of OpenTelemetry's own exporter and of a
framework."""

import http.client
import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from doors import Door, compact
from span_files import agent, chat, request

pytest.importorskip("opentelemetry.proto")


@contextmanager
def listening(door: Door, *options: object) -> Iterator[tuple[str, Any]]:
    """The address of a listener, and its process."""
    process = door.start("listen", "--port", 0, *options, bufsize=0)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        assert address, process.stderr.read() if process.stderr else ""
        yield address, process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, str, str]:
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    return process.returncode, out.decode(), err.decode()


def sent(address: str, *spans: dict[str, Any], **headers: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    head = {"Content-Type": "application/json", **headers}
    connection.request("POST", "/v1/traces", compact(request(*spans)), head)
    status = connection.getresponse().status
    connection.close()
    return status


def run(trace: int = 1) -> list[dict[str, Any]]:
    said = chat(2, [("user", "hi")], [("assistant", "yo")], parent=1, at=1, trace=trace)
    return [said, agent(1, trace=trace, gen_ai__agent__name="desk")]


def test_ctrl_c_takes_in_what_came_and_says_so(door: Door) -> None:
    with listening(door) as (address, process):
        assert sent(address, *run()) == 200
        code, _, err = ended(process)
    assert code == 0, err
    assert f"otlp:{1:032x}: 1 record, 1 added" in err
    assert "2 spans taken, 0 refused" in err
    assert door.one("SELECT count(*) FROM traces") == 1
    door.healthy()


def test_what_was_acknowledged_survives_kill_9(door: Door) -> None:
    with listening(door) as (address, process):
        assert sent(address, *run(1)) == 200
        assert sent(address, *run(2)[:1]) == 200
        process.send_signal(signal.SIGKILL)
        process.wait()
    with listening(door, "--progress", "json") as (_, process):
        code, out, err = ended(process)
    assert code == 0, err
    assert "2 traces that an earlier listener left" in err
    results = [json.loads(line) for line in out.splitlines()]
    assert {one["result"]["path"] for one in results if one["event"] == "result"} == {
        f"otlp:{n:032x}" for n in (1, 2)
    }
    assert door.one("SELECT count(*) FROM traces") == 2


def test_a_token_is_read_from_the_environment(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LISTEN_TOKEN", raising=False)
    assert "the variable is not set" in door.run("listen", "--token-env", "LISTEN_TOKEN").err
    monkeypatch.setenv("LISTEN_TOKEN", "s3cret")
    with listening(door, "--token-env", "LISTEN_TOKEN") as (address, _):
        assert sent(address, *run()) == 401
        assert sent(address, *run(), Authorization="Bearer s3cret") == 200


def test_only_the_newest_results_are_kept(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    from argparse import Namespace

    from reviewer.cli import listening
    from reviewer.importing.pipeline.outcome import FileResult

    monkeypatch.setattr(listening, "MOST_SAID", 2)
    heard = listening._Heard(Namespace(quiet=True, progress="bar"))
    for number, state in enumerate(("refused", "imported", "imported")):
        heard.result(FileResult(f"otlp:{number}", "otlp", "", state, 1, 1, 0, 0, (), ()))
    assert list(heard.said) == ["otlp:1", "otlp:2"]
    assert heard.wrong


def test_a_port_that_is_taken_is_named(door: Door) -> None:
    with listening(door) as (address, _):
        assert "another `reviewer listen`" in door.run("listen", "--port", 0).err
        other = door.root / "other"
        Door(other).ok("init", other)
        said = Door(other).run("listen", "--port", urlsplit(address).port)
        assert said.code == 2
        assert "another --port" in said.err


def test_spans_of_the_official_exporter_become_attempts(door: Door) -> None:
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    otlp = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    resources = pytest.importorskip("opentelemetry.sdk.resources")
    with listening(door) as (address, process):
        exporter = otlp.OTLPSpanExporter(
            endpoint=f"{address}/v1/traces", compression=otlp.Compression.Gzip
        )
        resource = resources.Resource({"service.name": "desk"})
        provider = trace.TracerProvider(resource=resource)
        provider.add_span_processor(export.BatchSpanProcessor(exporter))
        tracer = provider.get_tracer("test")
        for number in (1, 2):
            with tracer.start_as_current_span("invoke_agent") as root:
                root.set_attribute("gen_ai.operation.name", "invoke_agent")
                root.set_attribute("gen_ai.agent.name", "refunder")
                with tracer.start_as_current_span("chat") as inner:
                    inner.set_attribute("gen_ai.operation.name", "chat")
                    inner.set_attribute("gen_ai.request.model", "m-1")
                    inner.set_attribute("gen_ai.usage.input_tokens", 10 + number)
                    said = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
                    inner.set_attribute("gen_ai.input.messages", json.dumps(said))
        provider.shutdown()
        code, _, err = ended(process)
    assert code == 0, err
    assert "4 spans taken, 0 refused" in err
    rows = door.rows("SELECT suite_id, candidate_id FROM traces")
    assert rows == [("otel-desk", "desk refunder m-1")] * 2


@pytest.mark.nightly
def test_runs_of_an_instrumented_framework_become_attempts(door: Door) -> None:
    """Pydantic AI with a model made of a function: nothing leaves the machine."""
    ai = pytest.importorskip("pydantic_ai")
    capabilities = pytest.importorskip("pydantic_ai.capabilities")
    function = pytest.importorskip("pydantic_ai.models.function")
    instrumented = pytest.importorskip("pydantic_ai.models.instrumented")
    messages = pytest.importorskip("pydantic_ai.messages")
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    otlp = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")

    def answer(given: list[Any], info: Any) -> Any:
        if len(given) == 1:
            call = messages.ToolCallPart("look", {"order": "o1"})
            return messages.ModelResponse(parts=[call])
        return messages.ModelResponse(parts=[messages.TextPart("done")])

    def look(order: str) -> dict[str, str]:
        return {"order": order}

    with listening(door) as (address, process):
        provider = trace.TracerProvider()
        exporter = otlp.OTLPSpanExporter(endpoint=f"{address}/v1/traces")
        provider.add_span_processor(export.BatchSpanProcessor(exporter))
        settings = instrumented.InstrumentationSettings(tracer_provider=provider)
        made = ai.Agent(
            function.FunctionModel(answer), name="refunder", tools=[look],
            capabilities=[capabilities.Instrumentation(settings)],
        )  # fmt: skip
        for number in range(3):
            assert made.run_sync(f"refund o{number}").output == "done"
        provider.shutdown()
        code, _, err = ended(process)
    assert code == 0, err
    assert "12 spans taken, 0 refused" in err
    assert door.rows("SELECT steps, count(*) FROM traces GROUP BY 1") == [(1, 3)]
    assert door.rows("SELECT code FROM finding WHERE code LIKE 'unread%'") == []
