"""Logs of Inspect AI as tests need them: read, or made by hand."""

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from reviewer.importing.archive import Archive
from reviewer.importing.formats.inspect_ai.reader import InspectReader
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

LOGS = Path(__file__).resolve().parent / "data/inspect"
READER = InspectReader()


def read(path: Path) -> tuple[list[Foreign | Broken], set[str]]:
    """What the reader makes of a file, and its notes on the file as a whole."""
    source = Source(path)
    return list(READER.traces(source)), source.notes


def attempts(path: Path) -> list[Foreign]:
    found, _ = read(path)
    made = [one for one in found if isinstance(one, Foreign)]
    assert len(made) == len(found), found
    return made


def traces(path: Path) -> list[dict[str, Any]]:
    return [json.loads(one.raw) for one in attempts(path)]


def only(path: Path) -> dict[str, Any]:
    [trace] = traces(path)
    return trace


def of_kind(trace: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in trace["events"] if event["kind"] == kind]


def samples(path: Path) -> list[dict[str, Any]]:
    """The samples of a log by plain JSON, those of one entry each."""
    if path.suffix == ".json":
        held: list[dict[str, Any]] = json.loads(path.read_bytes())["samples"]
        return held
    with Archive(path) as archive:
        names = [name for name in archive.names() if name.count("_epoch_")]
        return [json.loads(archive.read(name)) for name in names]


def events_of(path: Path, kind: str) -> list[dict[str, Any]]:
    return [
        event for sample in samples(path) for event in sample["events"] if event["event"] == kind
    ]


def counted(traces: list[dict[str, Any]], kind: str, member: str) -> Counter[Any]:
    return Counter(event.get(member) for trace in traces for event in of_kind(trace, kind))


def log(*held: dict[str, Any], **header: Any) -> dict[str, Any]:
    """A log around samples; members of `header` replace its own."""
    spec = {"task": "desk", "created": "2026-01-02T03:04:05+00:00", "model": "m/one"}
    own = {"version": 2, "status": "success", "eval": spec, "plan": {}}
    return {**own, "samples": list(held), **header}


def sample(*events: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {
        "id": "s1", "epoch": 1, "input": "Do it.", "target": "", "messages": [], "output": {},
        "events": list(events), **members,
    }  # fmt: skip


def said(text: Any, *calls: tuple[str, str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A model event: what it says, and its calls as (id, function, arguments)."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "id": f"said {text} {calls}"}
    if calls:
        made = [{"id": i, "function": f, "arguments": a} for i, f, a in calls]
        message["tool_calls"] = made
    output = {"choices": [{"message": message, "stop_reason": "stop"}], "usage": None}
    usage = more.pop("usage", None)
    return {
        "event": "model", "model": "m/one", "input": [], "output": {**output, "usage": usage},
        **more,
    }  # fmt: skip


def ran(call_id: str, function: str, result: Any = "", **more: Any) -> dict[str, Any]:
    return {
        "event": "tool", "id": call_id, "function": function, "arguments": {}, "result": result,
        **more,
    }  # fmt: skip


def file(folder: Path, value: object, name: str = "run.json") -> Path:
    path = folder / name
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    path.write_bytes(raw)
    return path


def packed(folder: Path, entries: dict[str, object], name: str = "run.eval") -> Path:
    """An archive of these entries."""
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, value in entries.items():
            raw = value if isinstance(value, bytes) else json.dumps(value).encode()
            archive.writestr(entry, raw)
    return path
