"""Tempo's export: OTLP under other names, with rounded times and parents that are missing."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from span_files import DATA, agent, chat, request, said, spent, told, used

from reviewer.importing.formats.otel.otlp import OtlpReader, TempoReader
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

READER = TempoReader()
EXPORT = DATA / "tempo/tempo_export_with_batches.json"


def spans() -> list[dict[str, Any]]:
    batches = json.loads(EXPORT.read_bytes())["batches"]
    scopes = [scope for batch in batches for scope in batch["instrumentationLibrarySpans"]]
    return [one for scope in scopes for one in scope["spans"]]


def test_tokens_reported_three_times_are_counted_once() -> None:
    reported = [
        int(attribute["value"]["intValue"])
        for one in spans()
        for attribute in one["attributes"]
        if attribute["key"] == "gen_ai.usage.input_tokens"
    ]
    assert sum(reported) == 3 * 4648
    (record,) = told(READER, EXPORT).values()
    assert spent([record]) == (4648, 129)
    assert record["usage"]["output_tokens"] == 129
    assert used(record) == [("helm_list_releases", "ok")]


def test_what_is_doubtful_is_said(door: Door) -> None:
    ids = {one["spanId"] for one in spans()}
    orphans = sum(bool(one.get("parentSpanId")) and one["parentSpanId"] not in ids
                  for one in spans())  # fmt: skip
    assert (len(ids), orphans) == (86, 9)
    (record,) = told(READER, EXPORT).values()
    assert record["source"]["spans"]["orphans"] == 9
    imported = door.run("import", EXPORT)
    assert imported.code == 0, imported
    for note in (
        "some spans name a parent that the file does not have",
        "times are numbers beyond 2^53 in the file: their last digits may be rounded",
        "of 86 spans describe no model call, tool or agent",
    ):
        assert note in imported.both
    assert door.rows("SELECT suite_id, candidate_id, episode_id, termination FROM traces") == [
        ("otel-helm_agent", "helm_agent gpt-4.1-mini",
         "ctx-eff35888-55ab-4eb0-b90d-7b21f711f91f", "completed")
    ]  # fmt: skip


def test_a_span_that_is_no_json_leaves_its_trace_not_measured(tmp_path: Path) -> None:
    raw = EXPORT.read_bytes()
    at = raw.index(b"helm_list_releases")
    path = tmp_path / "export.json"
    path.write_bytes(raw[: at - 9] + b"\0" * 9 + raw[at:])
    found = list(READER.traces(Source(path)))
    assert [one for one in found if isinstance(one, Broken)]
    records = [json.loads(one.raw) for one in found if isinstance(one, Foreign)]
    assert records
    assert all(one["unread"] for one in records)


@pytest.mark.parametrize("scopes", ["scopeSpans", "instrumentationLibrarySpans"])
@pytest.mark.parametrize("root", [("batches",), ("trace", "resourceSpans"), ("trace", "batches")])
def test_every_version_of_the_envelope(tmp_path: Path, root: tuple[str, ...], scopes: str) -> None:
    resources = request(agent(1), chat(2, [("user", "hi")], [("assistant", "ho")], parent=1))
    text = json.dumps(resources["resourceSpans"]).replace("scopeSpans", scopes)
    value: Any = json.loads(text)
    for name in reversed(root):
        value = {name: value}
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    assert READER.sniff(Head(path))
    assert not OtlpReader().sniff(Head(path))
    (record,) = told(READER, path).values()
    assert said(record) == [("user", "hi"), ("agent", "ho")]
    assert record["candidate_id"] == "desk m-1"


@pytest.mark.parametrize(
    "content", ['{"batches": []}', '{"batches": [1]}', '{"batches": [{"items": 1}]}',
                '{"trace": {"id": "1"}, "observations": []}', '{"trace": []}', "[1]"]
)  # fmt: skip
def test_other_files_are_not_claimed(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    assert not READER.sniff(Head(path))
