"""goose: exported sessions, and the lines of versions before 1.10."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from span_files import DATA, events, said

from reviewer.importing.formats import named
from reviewer.importing.formats.sessions.goose import GooseReader
from reviewer.importing.head import Head
from reviewer.importing.pipeline.units import claim
from reviewer.importing.reader import Broken, Foreign, by_document
from reviewer.importing.source import Source

READER = GooseReader()
EXPORT = DATA / "goose/export.json"
LEGACY = DATA / "goose/20250709_094640.jsonl"


def record(path: Path) -> dict[str, Any]:
    assert READER.sniff(Head(path))
    (one,) = READER.traces(Source(path))
    assert isinstance(one, Foreign)
    held: dict[str, Any] = json.loads(one.raw)
    return held


def changed(folder: Path, change: Callable[[list[dict[str, Any]]], None]) -> dict[str, Any]:
    value = json.loads(EXPORT.read_bytes())
    change(value["conversation"])
    value["message_count"] = len(value["conversation"])
    made = folder / "export.json"
    made.write_text(json.dumps(value))
    return record(made)


def paths(record: dict[str, Any]) -> list[str]:
    return [one["path"] for one in record.get("unread", ())]


def test_an_export_is_read_whole() -> None:
    found = record(EXPORT)
    assert [one["tool"] for one in events(found, "tool_call")] == ["shell", "write", "shell"]
    assert [one.get("status") for one in events(found, "tool_result")] == [None, None, "error"]
    assert said(found)[0] == ("user", "Summarise notes.txt into summary.txt")
    assert found["final_message"] == "The summary is in summary.txt."
    assert found["usage"] == {
        "input_tokens": 6193, "output_tokens": 82, "total_tokens": 6275
    }  # fmt: skip
    assert (found["latency_ms"], found["cost_usd"]) == (6000.0, None)
    assert found["candidate_id"] == "gpt-4o-mini"
    assert not paths(found)


def test_lines_are_read_as_the_export_without_what_they_lack() -> None:
    found, whole = record(LEGACY), record(EXPORT)
    assert said(found) == said(whole)
    assert [(one["tool"], one["arguments"]) for one in events(found, "tool_call")] == [
        (one["tool"], one["arguments"]) for one in events(whole, "tool_call")
    ]
    assert not paths(found)


@pytest.mark.parametrize("place", range(1, 7))
def test_a_message_that_is_missing_is_noticed(place: int, tmp_path: Path) -> None:
    lines = LEGACY.read_text().splitlines()
    del lines[place + 1]
    made = tmp_path / LEGACY.name
    made.write_text("\n".join(lines))
    assert paths(record(made))


def test_the_header_that_is_missing_is_noticed(tmp_path: Path) -> None:
    made = tmp_path / LEGACY.name
    first, *rest = LEGACY.read_text().splitlines()
    made.write_text("\n".join([rest[0], first, *rest[1:]]))
    assert paths(record(made))


def _of(messages: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    parts = (part for message in messages for part in message["content"])
    return next(part for part in parts if part["type"] == kind)


@pytest.mark.parametrize("damage", [
    lambda held: _of(held, "toolRequest").pop("toolCall"),
    lambda held: _of(held, "toolRequest")["toolCall"].update(value=None),
    lambda held: _of(held, "toolRequest")["toolCall"]["value"].pop("arguments"),
    lambda held: _of(held, "toolRequest")["toolCall"]["value"].pop("name"),
    lambda held: _of(held, "toolRequest")["toolCall"].update(status="error", error="bad"),
    lambda held: _of(held, "toolRequest").update(type="toolConfirmationRequest"),
    lambda held: _of(held, "toolResponse")["toolResult"].update(status="gone"),
    lambda held: held[1].update(content=None),
    lambda held: held[1].update(role="tool"),
    lambda held: held[1].update(content=[7]),
    lambda held: held.pop(),
])  # fmt: skip
def test_what_is_damaged_or_not_known_is_not_measured(
    damage: Callable[[list[dict[str, Any]]], Any], tmp_path: Path
) -> None:
    assert paths(changed(tmp_path, damage))


@pytest.mark.parametrize("result", [
    {"status": "error", "error": "timed out"},
    {"status": "success", "value": {"content": [], "isError": True}},
])  # fmt: skip
def test_a_tool_that_failed_is_an_error(result: dict[str, Any], tmp_path: Path) -> None:
    found = changed(tmp_path, lambda held: _of(held, "toolResponse").update(toolResult=result))
    assert events(found, "tool_result")[0]["status"] == "error"


def test_a_session_that_started_a_sub_agent_is_not_measured(tmp_path: Path) -> None:
    def change(held: list[dict[str, Any]]) -> None:
        _of(held, "toolRequest")["toolCall"]["value"]["name"] = "subagent__execute_task"

    assert paths(changed(tmp_path, change)) == ["sessions of its sub-agents (no such file)"]


def test_a_summary_that_nobody_sees_is_not_the_users(tmp_path: Path) -> None:
    def change(held: list[dict[str, Any]]) -> None:
        content = [{"type": "text", "text": "so far"}]
        about = {"userVisible": False}
        held.insert(1, {"role": "user", "created": 1, "content": content, "metadata": about})

    assert said(changed(tmp_path, change))[1] == ("system", "so far")


def test_an_empty_session_is_refused(tmp_path: Path) -> None:
    made = tmp_path / "export.json"
    made.write_text(json.dumps({"id": "1", "working_dir": "/x", "conversation": []}))
    (one,) = READER.traces(Source(made))
    assert one == Broken(("missing:conversation",), "")


# goose 1.52 ---------------------------------------------------------------------------------------

DATABASE = DATA / "databases/goose-1.52.db"


def test_an_export_of_today_counts_messages_without_those_about_time_and_folder() -> None:
    found = record(DATA / "goose/export-1.52.json")
    assert not paths(found)
    assert found["usage"]["input_tokens"] == 370  # of all answers: the last alone has 150
    assert [one.get("status") for one in events(found, "tool_result")] == ["error", None]
    assert found["latency_ms"] is None  # less than a second, in whole seconds


def test_an_export_of_today_that_lost_a_message_is_noticed(tmp_path: Path) -> None:
    value = json.loads((DATA / "goose/export-1.52.json").read_bytes())
    del value["conversation"][2:4]  # a call with its result
    made = tmp_path / "export.json"
    made.write_text(json.dumps(value))
    assert paths(record(made)) == ["conversation (cut off)"]


def test_a_run_that_reached_its_limit_did_not_end_with_an_answer() -> None:
    found = record(DATA / "goose/run.json")  # which says of itself that it is completed
    assert (found["termination"], found["final_message"]) == ("max_turns", "Looking.")
    assert found["candidate_id"] == "m-1"


def test_answers_that_were_printed_in_pieces_are_whole(tmp_path: Path) -> None:
    stream = DATA / "goose/run.stream.jsonl"
    found = record(stream)
    assert said(found) == [("agent", "Both."), ("agent", "Parallel done.")]
    assert [one.get("status") for one in events(found, "tool_result")] == [None, "error"]
    assert found["usage"]["total_tokens"] == 275
    made = tmp_path / stream.name
    made.write_text("\n".join(stream.read_text().splitlines()[:-1]))
    assert paths(record(made)) == ["end of the session (cut off)"]
    made.write_text(stream.read_text() + '{"type":"delegated"}\n')
    assert paths(record(made)) == ["lines.type"]


def test_what_a_sub_agent_did_is_read_with_the_session_that_started_it(tmp_path: Path) -> None:
    (one,) = found_in(DATABASE)
    assert not paths(one)
    assert ("sub-agent", "hi") in said(one)
    made = tmp_path / "sessions.db"
    shutil.copy(DATABASE, made)
    with closing(sqlite3.connect(made)) as connection:
        connection.execute("DELETE FROM messages WHERE session_id = '20261128_6'")
        connection.commit()
    (one,) = found_in(made)
    assert paths(one) == ["sessions of its sub-agents (no such file)"]


def found_in(path: Path) -> list[dict[str, Any]]:
    reader = named("goose-db")
    assert by_document(reader)
    return [json.loads(one.raw) for one in reader.traces(Source(path)) if isinstance(one, Foreign)]


def test_a_list_of_sessions_is_none(tmp_path: Path) -> None:
    one = {"id": "1", "working_dir": "/x", "message_count": 3, "conversation": None}
    made = tmp_path / "list.json"
    made.write_text(json.dumps([one, {**one, "id": "2"}]))
    assert not READER.sniff(Head(made))
    assert claim(made).problem.startswith("goose's list of sessions")  # type: ignore[union-attr]


def test_runs_that_were_printed_one_after_another_are_attempts_of_their_own(tmp_path: Path) -> None:
    stream = (DATA / "goose/run.stream.jsonl").read_text()
    made = tmp_path / "runs.jsonl"
    made.write_text(stream * 2)
    found = [json.loads(one.raw) for one in READER.traces(Source(made)) if isinstance(one, Foreign)]
    assert [said(one) for one in found] == [[("agent", "Both."), ("agent", "Parallel done.")]] * 2
    assert len({one["episode_id"] for one in found}) == 2


def test_a_session_is_named_by_its_time_and_by_no_other_text(tmp_path: Path) -> None:
    """With a `T` for each blank, a token in the text would have no edge by which it is found."""

    def named_by(created: str) -> str:
        told = json.loads(EXPORT.read_bytes())
        told["created_at"] = created
        path = tmp_path / "export.json"
        path.write_text(json.dumps(told))
        (one,) = READER.traces(Source(path))
        assert isinstance(one, Foreign)
        return one.identity

    assert named_by("2026-07-09 09:46:46").endswith("@2026-07-09T09:46:46")
    assert named_by("write to ghp_16C7e42F292c6912E7710c838347Ae178B4a now") == ""
