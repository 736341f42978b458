"""Sessions of Claude Managed Agents: recordings of its client, and the events themselves."""

import json
from pathlib import Path
from typing import Any

import pytest
from span_files import DATA, events, read, said, used

from reviewer.importing.formats.sessions.managed_agents import ManagedAgentsReader
from reviewer.testing import check_reader

READER = ManagedAgentsReader()
SAMPLES = DATA / "managed_agents"
BUILTIN = SAMPLES / "anthropic_managed_builtin_tools.jsonl"
CUSTOM = SAMPLES / "anthropic_managed_custom_tools.jsonl"
MCP = SAMPLES / "anthropic_managed_mcp_tools.jsonl"
Row = dict[str, Any]


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def streamed(path: Path) -> list[Row]:
    """The events of a recording, as the service sent them."""
    return [held for name, held in lines(path) if name.endswith("events.stream")]


def written(folder: Path, rows: list[Any]) -> Path:
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def record(path: Path) -> Row:
    (found,) = read(READER, path)
    one: Row = json.loads(found.raw)
    return one


def decisions(one: Row) -> list[str]:
    return [event["approval"]["decision"] for event in one["events"] if "approval" in event]


@pytest.mark.parametrize(
    ("path", "tool", "spent"),
    [
        (BUILTIN, "bash", (14329, 14300, 80)),
        (CUSTOM, "get_weather", (14476, 14472, 80)),
        (MCP, "web_search_exa", (18028, 7780, 435)),
    ],
)
def test_a_recording_is_one_session(path: Path, tool: str, spent: tuple[int, ...]) -> None:
    one = record(path)
    rows = streamed(path)
    counted = [row["model_usage"] for row in rows if row["type"] == "span.model_request_end"]
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    assert sum(use[name] for use in counted for name in names) == spent[0]
    used_by_it = one["usage"]
    tokens = ("input_tokens", "cached_tokens", "output_tokens")
    assert tuple(used_by_it[name] for name in tokens) == spent
    assert used(one) == [(tool, "ok")]
    assert [who for who, _ in said(one)] == ["user", "agent"]
    assert one["termination"] == "end_turn"
    assert one["episode_id"] == lines(path)[0][1]["id"]
    assert "unread" not in one


def test_the_events_alone_say_the_same(tmp_path: Path) -> None:
    rows = streamed(BUILTIN)
    page = tmp_path / "page.json"
    page.write_text(json.dumps({"data": rows, "next_page": None}))
    array = tmp_path / "array.json"
    array.write_text(json.dumps(rows))
    whole = record(BUILTIN)
    for path in (page, array, written(tmp_path, rows), written(tmp_path, [*rows, *rows])):
        assert record(path)["events"] == whole["events"]
        assert record(path)["usage"] == whole["usage"]


def test_what_was_sent_and_never_came_back_is_told(tmp_path: Path) -> None:
    rows = lines(CUSTOM)
    sent = max(place for place, row in enumerate(rows) if row[0].endswith("events.send"))
    one = record(written(tmp_path, rows[: sent + 1]))
    assert [tool for tool, _ in used(one)] == ["get_weather"]
    assert one["unread"]  # nothing says how it went on


@pytest.mark.parametrize(("result", "decision"), [("allow", "approve"), ("deny", "reject")])
def test_what_a_person_answered_is_an_approval(tmp_path: Path, result: str, decision: str) -> None:
    rows = streamed(MCP)
    for row in rows:
        if row["type"] == "user.tool_confirmation":
            row["result"] = result
        if row["type"] == "agent.mcp_tool_result" and result == "deny":
            row["is_error"] = True
    one = record(written(tmp_path, rows))
    assert decisions(one) == ["pending", decision]
    assert used(one) == [("web_search_exa", "ok" if result == "allow" else "error")]


def test_sub_agents_whose_events_are_elsewhere_leave_it_not_measured(tmp_path: Path) -> None:
    rows = streamed(BUILTIN)
    made = {
        "type": "session.thread_created",
        "id": "sevt_t",
        "processed_at": "2026-07-06T16:26:35Z",
        "agent_name": "helper",
        "session_thread_id": "sthr_2",
    }
    one = record(written(tmp_path, [*rows[:-2], made, *rows[-2:]]))
    assert one["unread"]


def test_an_event_of_an_unknown_kind_that_could_be_an_act_is_not_measured(tmp_path: Path) -> None:
    rows = streamed(BUILTIN)
    new = {"type": "agent.desk_use", "id": "sevt_n", "processed_at": "2026-07-06T16:26:35Z",
           "name": "refund", "input": {"lamp": "a"}}  # fmt: skip
    assert record(written(tmp_path, [*rows[:-2], new, *rows[-2:]]))["unread"]


def test_a_session_that_broke_says_so(tmp_path: Path) -> None:
    rows = streamed(BUILTIN)[:-2]
    at = "2026-07-06T16:26:40Z"
    error = {
        "type": "model_overloaded_error",
        "message": "busy",
        "retry_status": {"type": "terminal"},
    }
    rows += [
        {"type": "session.error", "id": "sevt_e", "processed_at": at, "error": error},
        {"type": "session.status_terminated", "id": "sevt_x", "processed_at": at},
    ]
    one = record(written(tmp_path, rows))
    assert one["termination"] == "error"
    assert [event["message"] for event in events(one, "error")] == ["busy"]


@pytest.mark.parametrize("path", [BUILTIN, MCP])
def test_the_rules_of_a_reader_hold(path: Path) -> None:
    check_reader(READER, path)
