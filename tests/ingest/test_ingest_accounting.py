"""A call that a reader cannot read leaves its attempt not measured; a real file is read whole."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from changed_calls import fewer, read
from doors import by_day

from reviewer.importing.formats import named
from reviewer.importing.reader import Foreign
from reviewer.importing.source import Source

sys.path.append(str(Path(__file__).resolve().parents[1] / "fuzz"))

from fuzz_samples import SAMPLES as BY_RULE

DATA = Path(__file__).resolve().parent.parent / "data"
SPANS = [
    ("otlp", "otlp/pydantic_ai_2.68_instr_v6.otlp.json"),
    ("otlp", "otlp/pydantic_ai_v2.json"),
    ("jaeger", "jaeger/helm.json"),
    ("tempo", "tempo/tempo_export_with_batches.json"),
    ("langfuse", "langfuse/claude-agent-2025-12-22.trace.json"),
    ("langfuse", "langfuse/langgraph-python-2025-08-22.trace.json"),
    ("langfuse", "langfuse/microsoft-agent-2025-12-17.trace.json"),
    ("langfuse", "langfuse/openai-agents-2025-09-30.trace.json"),
    ("langfuse", "langfuse/pydantic-ai-tools-2025-12-04.trace.json"),
]
HARNESSES = [
    ("tau2-bench", "tau2/airline_4_tasks.json"),
    ("swe-agent", "swe_agent/function_calling_simple.traj"),
    ("swe-agent", "swe_agent/test-repo-1c2844.traj"),
    ("atif", "atif/hello-world.trajectory.json"),
]
SAMPLES = [*SPANS, *HARNESSES]
KEPT_TO_RULES = {
    (reader, f"{one.folder}/{one.main}") for reader, some in BY_RULE.items() for one in some
}
"""Files whose calls `test_ingest_conformance.py` changes in the same ways."""
READ_WHOLE = [
    *SAMPLES,
    ("mini-swe-agent", "mini_swe_agent/local.traj.json"),
    ("mini-swe-agent", "mini_swe_agent/github_issue.traj.json"),
    ("tau2-bench", "tau2/telecom_user_tools.json"),
    ("swe-agent", "swe_agent/pydicom__pydicom-1458.traj"),
    ("openhands", "openhands/eval_output.jsonl"),
    ("openhands", "openhands/resolver_output.jsonl"),
    ("gaia", "smolagents/rows.jsonl"),
    *(("inspect", f"inspect/{name}.eval") for name in ("desk", "edited", "killed", "intercode")),
    ("inspect", "inspect/v0.3.135_pool.eval"),
]


def without_tools(value: Any) -> Any:
    """A document of spans without those of tools and what is below them: its calls stand in
    messages alone."""
    gone: set[str] = set()
    before = -1
    while len(gone) > before:
        before = len(gone)
        value = less_tools(value, gone)
    return value


def less_tools(value: Any, gone: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: less_tools(one, gone) for name, one in value.items()}
    if not isinstance(value, list):
        return value
    for one in value:
        if is_tool_span(one) or (isinstance(one, dict) and one.get("parentSpanId") in gone):
            gone.add(one.get("spanId") or one.get("spanID") or "")
    gone.discard("")
    return [
        less_tools(one, gone)
        for one in value
        if not is_tool_span(one) and not (isinstance(one, dict) and one.get("spanId") in gone)
    ]


def is_tool_span(value: Any) -> bool:
    if not isinstance(value, dict) or not {"spanId", "spanID", "traceId"} & value.keys():
        return False
    text = json.dumps(value)
    return '"execute_tool"' in text or value.get("type") == "TOOL"


def copied(path: Path, folder: Path) -> Path:
    """The file in a copy of its folder."""
    shutil.copytree(path.parent, folder, dirs_exist_ok=True)
    return folder / path.name


@pytest.mark.parametrize(("reader", "name"), READ_WHOLE)
def test_a_real_file_is_read_whole(reader: str, name: str) -> None:
    found = read(reader, DATA / name)
    assert (found.unread, found.refused) == (0, 0)
    assert found.calls


@pytest.mark.parametrize(
    "sample", by_day([one for one in SAMPLES if one not in KEPT_TO_RULES], every=2), ids="-".join
)
def test_a_changed_call_is_read_or_not_measured(sample: tuple[str, str], tmp_path: Path) -> None:
    reader, name = sample
    document = json.loads((DATA / name).read_text(encoding="utf-8"))
    assert fewer(reader, copied(DATA / name, tmp_path / "changed"), document) == []


@pytest.mark.parametrize(
    "sample", by_day([one for one in SPANS[::-1] if one[0] != "langfuse"], every=2), ids="-".join
)
def test_a_changed_call_of_a_message(sample: tuple[str, str], tmp_path: Path) -> None:
    reader, name = sample
    document = without_tools(json.loads((DATA / name).read_text(encoding="utf-8")))
    assert fewer(reader, copied(DATA / name, tmp_path / "changed"), document) == []


def span(trace: str, own: str, parent: str, name: str, **attributes: str) -> dict[str, Any]:
    return {
        "traceId": trace * 32,
        "spanId": own * 16,
        "parentSpanId": parent * 16,
        "name": name,
        "startTimeUnixNano": "1795217417000000000",
        "endTimeUnixNano": "1795217418000000000",
        "attributes": [
            {"key": key.replace("__", "."), "value": {"stringValue": value}}
            for key, value in attributes.items()
        ],
    }


def resource(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


MODEL = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m"}
REFUND = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "issue_refund"}


def test_a_tool_span_below_a_span_of_another_trace_is_that_attempts(tmp_path: Path) -> None:
    file = tmp_path / "spans.json"
    spans = [span("a", "1", "", "chat m", **MODEL), span("b", "2", "1", "execute_tool", **REFUND)]
    file.write_text(json.dumps(resource(*spans)))
    attempts = [one for one in named("otlp").traces(Source(file)) if isinstance(one, Foreign)]
    assert len(attempts) == 1
    assert read("otlp", file).calls == {"issue_refund": 1}


@pytest.mark.parametrize(
    "other",
    [
        {**REFUND, "gen_ai__operation__name": "execute_toolX"},
        {"gen_ai__operation__name": "execute_toolX"},
        {"openinference__span__kind": "ACTION", "input__value": "{}"},
        {"my__tool__name": "issue_refund"},
        {"metadata": '{"tool_calls": [{"name": "issue_refund", "arguments": {}}]}'},
        {**MODEL, "gen_ai__completion__1__tool_calls__0__name": "issue_refund"},
        {**MODEL, "gen_ai__completion__0__tool_calls__0__nam": "issue_refund"},
        {**MODEL, "gen_ai__prompt__3__tool_calls__0__arguments": '{"amount": 90}'},
    ],
)
def test_a_span_that_may_be_an_act_is_not_passed_over(
    other: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "spans.json"
    spans = [span("a", "1", "", "chat m", **MODEL), span("a", "2", "1", "other", **other)]
    file.write_text(json.dumps(resource(*spans)))
    found = read("otlp", file)
    assert found.unread == 1 or found.calls == {"issue_refund": 1}
