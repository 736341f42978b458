"""Gemini CLI's stream-json: pieces joined, results with their status, totals that tell of more."""

import json
from pathlib import Path
from typing import Any

from span_files import DATA, events, read, said, used

from reviewer.importing.formats.sessions import NO_END
from reviewer.importing.formats.sessions.gemini_stream import HIDDEN, GeminiStreamReader
from reviewer.testing import check_reader

READER = GeminiStreamReader()
STREAM = DATA / "gemini_cli" / "stream-json.jsonl"


def record(path: Path) -> dict[str, Any]:
    (one,) = read(READER, path)
    found: dict[str, Any] = json.loads(one.raw)
    return found


def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in STREAM.read_text().splitlines()]


def written(folder: Path, values: list[Any]) -> Path:
    path = folder / "stream.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in values))
    return path


def test_a_run_is_told_with_what_its_tools_returned() -> None:
    found = record(STREAM)
    calls = [(one["tool_name"], one["parameters"]) for one in lines() if one["type"] == "tool_use"]
    assert [(e["tool"], e["arguments"]) for e in events(found, "tool_call")] == calls
    assert len(calls) == 2
    assert used(found) == [("run_shell_command", "ok"), ("read_file", "error")]
    assert said(found) == [
        ("user", "What does lamp L-7 cost?"),
        ("agent", "Let me look. "),
        ("agent", "It costs 39.50."),
    ]
    assert found["usage"]["input_tokens"] == 200
    assert found["usage"]["cached_tokens"] == 80
    assert (found["latency_ms"], found["candidate_id"]) == (1094, "lamp-model")
    assert "unread" not in found


def test_calls_that_the_totals_alone_know_leave_it_not_measured(tmp_path: Path) -> None:
    values = [one for one in lines() if one.get("tool_name") != "read_file"]
    found = record(written(tmp_path, values))
    assert HIDDEN in found["source"]["notes"]
    assert found["unread"]


def test_runs_that_a_program_kept_one_after_another_are_apart(tmp_path: Path) -> None:
    """With its own prompt before each, and a time in each line."""
    prompt = {"type": "message", "role": "user", "content": "Look at the lamp."}
    second = [{**one, "session_id": "s-2"} if "session_id" in one else one for one in lines()]
    kept = [prompt, *lines(), prompt, *second]
    path = written(tmp_path, [{**one, "ts": "2026-01-30T22:06:00.9"} for one in kept])
    found = [json.loads(one.raw) for one in read(READER, path)]
    assert [one["episode_id"] for one in found] == [lines()[0]["session_id"], "s-2"]
    for one in found:
        assert said(one)[0] == ("user", "Look at the lamp.")
        assert said(one)[1:] == said(record(STREAM))
        assert "unread" not in one


def test_a_stream_without_its_end_says_so(tmp_path: Path) -> None:
    found = record(written(tmp_path, lines()[:-1]))
    assert NO_END in found["source"]["notes"]
    assert found["unread"]
    assert "usage" not in found


def test_a_failed_run_ends_in_an_error(tmp_path: Path) -> None:
    *values, end = lines()
    wrong = {"type": "error", "severity": "error", "message": "too many turns"}
    found = record(written(tmp_path, [*values, wrong, {**end, "status": "error"}]))
    assert found["termination"] == "error"
    assert events(found, "error")[0]["message"] == "too many turns"


def test_the_rules_of_a_reader_hold(tmp_path: Path) -> None:
    copy = tmp_path / STREAM.name
    copy.write_bytes(STREAM.read_bytes())
    check_reader(READER, copy, mutants=60)
