"""Count what an import made of a file, in the terms of tests/data/formats_c/counts.json.

That file holds figures that independent scripts counted in files which the tools themselves wrote;
`_definitions` in it says what each figure is.
"""

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from doors import REPOSITORY

from reviewer import api

FILES = REPOSITORY / "tests" / "data" / "formats_c"
COUNTS: dict[str, Any] = json.loads((FILES / "counts.json").read_text())
SPEAKERS = {"user": "user", "agent": "assistant"}


def counted(path: Path) -> list[dict[str, Any]]:
    """Import a file into a workspace of its own and return the counts of each attempt."""
    with tempfile.TemporaryDirectory() as folder, api.make_workspace(folder) as desk:
        results = desk.import_traces(str(path))
        assert [one.problem for one in results if one.problem] == []
        return [
            _counts(desk, trace_id)
            for suite in desk.suites()
            for candidate in desk.candidates(suite.suite_id)
            for trace_id in desk.trace_ids(suite.suite_id, candidate.candidate_id)
        ]


def of_the_file(attempts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the counts of all attempts of a file; what one of them does not state is not known."""
    if len(attempts) == 1:
        return attempts[0]
    tokens = {
        part: None
        if any(one["tokens"][part] is None for one in attempts)
        else sum(one["tokens"][part] for one in attempts)
        for part in ("input", "output", "cached")
    }
    costs = [one["cost_usd"] for one in attempts]
    return {
        "events": {
            kind: sum(one["events"][kind] for one in attempts) for kind in attempts[0]["events"]
        },
        "tools": dict(sum((Counter(one["tools"]) for one in attempts), Counter[str]())),
        "tool_errors": sum(one["tool_errors"] for one in attempts),
        "tokens": tokens,
        "cost_usd": None if None in costs else sum(costs),
    }


def refused(path: Path) -> list[str]:
    """Import what cannot be read and return the refusals; at least one."""
    with tempfile.TemporaryDirectory() as folder, api.make_workspace(folder) as desk:
        results = desk.import_traces(str(path))
        assert results
        return [one.problem for one in results]


def _counts(desk: api.Workspace, trace_id: str) -> dict[str, Any]:
    trace = desk.trace(trace_id)
    events = desk.events(trace_id)
    said = dict(trace.said)
    messages = Counter(
        SPEAKERS[one.actor or ""]
        for one in events
        if one.kind == "message" and one.actor in SPEAKERS
    )
    results = [one for one in events if one.kind == "tool_result"]
    return {
        "format": said.get("format"),
        "events": {
            "user": messages["user"],
            "assistant": messages["assistant"],
            "tool_call": sum(one.kind == "tool_call" for one in events),
            "tool_result": len(results),
        },
        "tools": dict(Counter(one.title for one in events if one.kind == "tool_call")),
        "tool_errors": sum(one.status == "error" for one in results),
        "tokens": {
            name: int(said[f"usage.{name}_tokens"]) if f"usage.{name}_tokens" in said else None
            for name in ("input", "output", "cached")
        },
        "cost_usd": trace.cost_usd,
    }


def wanted(name: str) -> dict[str, Any]:
    """Return the figures of a file that every format can be asked for."""
    told = COUNTS[name]
    return {
        "events": told["events"],
        "tools": told["tools"],
        "tool_errors": told["tool_errors"],
        "tokens": {part: told["tokens"].get(part) for part in ("input", "output", "cached")},
        "cost_usd": told["cost_usd"],
    }
