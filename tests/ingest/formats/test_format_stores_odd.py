"""Files of stores and frameworks made odd: cut, doubled, compressed, in other encodings, of unknown
kinds. Each is read, refused with a reason, or not measured; never a fault, and never better
than the file it was made of."""

import gzip
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from counted import FILES
from span_files import DATA

from reviewer import api
from reviewer.importing.formats import named
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken
from reviewer.importing.source import Source

SAMPLES = {
    "langsmith-runs": FILES / "langsmith" / "tracer_runs.jsonl",
    "mlflow-trace": FILES / "mlflow" / "search_traces_df.jsonl",
    "weave-calls": FILES / "weave" / "calls.jsonl",
    "braintrust-logs": FILES / "braintrust" / "logs.jsonl",
    "opik-traces": DATA / "opik" / "trace.json",
    "google-adk-session": FILES / "google-adk" / "lamp-return-1.session.json",
    "openai-agents-runstate": FILES / "openai-agents" / "run_state_pending.json",
    "langgraph-history": DATA / "langgraph" / "state_history.json",
    "vercel-ai-stream": DATA / "vercel_ai" / "stream.sse",
    "promptfoo": DATA / "promptfoo" / "results.json",
    "openai-evals": DATA / "openai_evals" / "output_items.json",
}
Facts = dict[str, Any]


def imported(path: Path) -> tuple[list[str], list[Facts]]:
    """(why files or records were refused, the facts of every attempt)."""
    with tempfile.TemporaryDirectory() as folder, api.make_workspace(folder) as desk:
        results = desk.import_traces(str(path))
        assert results
        found = [
            _facts(desk, trace_id)
            for suite in desk.suites()
            for candidate in desk.candidates(suite.suite_id)
            for trace_id in desk.trace_ids(suite.suite_id, candidate.candidate_id)
        ]
        problems = [one.problem or "records" for one in results if one.problem or one.refused]
        return problems, found


def _facts(desk: api.Workspace, trace_id: str) -> Facts:
    events = [(one.kind, one.title, one.status) for one in desk.events(trace_id)]
    return {"events": events, "acts": [one for one in events if one[0] == "tool_call"]}


def written(folder: Path, name: str, raw: bytes) -> Path:
    path = folder / name
    path.write_bytes(raw)
    return path


def _nul(raw: bytes) -> bytes:
    return raw.replace(b"L-7", b"L\\u0000-7", 1)


def _surrogate(raw: bytes) -> bytes:
    return raw.replace(b"L-7", b"L\\ud800-7", 1)


def _latin(raw: bytes) -> bytes:
    return raw.replace(b"L-7", b"L\xff-7", 1)


def _marked(raw: bytes) -> bytes:
    return b"\xef\xbb\xbf" + raw


ODD: dict[str, Callable[[bytes], bytes]] = {
    "nul": _nul,
    "surrogate": _surrogate,
    "latin": _latin,
    "byte order mark": _marked,
    "gzip": gzip.compress,
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", SAMPLES)
def test_an_odd_file_loses_no_act(tmp_path: Path, name: str, odd: str) -> None:
    path = SAMPLES[name]
    _, plain = imported(path)
    problems, found = imported(written(tmp_path, "export.txt", ODD[odd](path.read_bytes())))
    assert not any("fault of" in one for one in problems)
    if not problems:
        assert [len(one["acts"]) for one in found] == [len(one["acts"]) for one in plain]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_cut_at_any_place_never_says_more(tmp_path: Path, name: str) -> None:
    raw = SAMPLES[name].read_bytes()
    _, plain = imported(SAMPLES[name])
    most = sum(len(one["acts"]) for one in plain)
    for part in range(1, 9):
        size = len(raw) * part // 9
        cut = written(tmp_path, f"cut-{part}{SAMPLES[name].suffix}", raw[:size])
        problems, found = imported(cut)
        assert problems or found
        assert not any("fault of" in one for one in problems)
        assert sum(len(one["acts"]) for one in found) <= most


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_twice_over_does_no_act_twice(tmp_path: Path, name: str) -> None:
    path = SAMPLES[name]
    _, plain = imported(path)
    folder = tmp_path / "both"
    folder.mkdir()
    shutil.copy(path, folder / f"one{path.suffix}")
    shutil.copy(path, folder / f"two{path.suffix}")
    problems, found = imported(folder)
    assert not any("fault of" in one for one in problems)
    assert [one["acts"] for one in found][: len(plain)] == [one["acts"] for one in plain]


NO_KINDS = ("promptfoo", "openai-evals", "weave-calls")
"""Formats that state no kinds."""


def _typed(value: Any, word: str) -> Any:
    """The value with every kind and version in it renamed."""
    if isinstance(value, list):
        return [_typed(one, word) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: word
        if name in ("run_type", "type", "span_type", "$schemaVersion") and isinstance(one, str)
        else _typed(one, word)
        for name, one in value.items()
    }


@pytest.mark.parametrize("name", [one for one in SAMPLES if one not in NO_KINDS])
def test_unknown_kinds_are_refused_or_not_measured(tmp_path: Path, name: str) -> None:
    text = SAMPLES[name].read_text()
    if name == "mlflow-trace":
        changed = text.replace("TOOL", "ROBOT")
    elif name == "vercel-ai-stream":
        changed = text.replace("tool-input-available", "tool-input-robot")
    elif name in ("google-adk-session",):
        changed = text.replace("functionCall", "robotCall")
    elif text.lstrip().startswith("{\n") or text.count("\n") < 2 or text.startswith("["):
        changed = json.dumps(_typed(json.loads(text), "robot"))
    else:
        changed = "\n".join(
            json.dumps(_typed(json.loads(line), "robot")) for line in text.splitlines() if line
        )
    path = written(tmp_path, f"odd{SAMPLES[name].suffix}", changed.encode())
    reader = named(name)
    if not reader.sniff(Head(path)):
        problems, _ = imported(path)
        assert problems
        return
    try:
        found = list(reader.traces(Source(path)))  # type: ignore[attr-defined]
    except Unreadable:
        return
    assert any(isinstance(one, Broken) or json.loads(one.raw).get("unread") for one in found)
