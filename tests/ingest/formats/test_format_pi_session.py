"""Sessions of pi: as it keeps them, and as JSON mode prints them."""

import json
from pathlib import Path
from typing import Any

import pytest
from span_files import DATA, events, read, said, used

from reviewer.importing.formats.sessions.pi import LATER, WAYS, PiSessionReader
from reviewer.testing import check_reader

READER = PiSessionReader()
SESSION = DATA / "pi" / "session.jsonl"
JSON_MODE = DATA / "pi" / "json-mode.jsonl"


def record(path: Path) -> dict[str, Any]:
    (one,) = read(READER, path)
    found: dict[str, Any] = json.loads(one.raw)
    return found


def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in SESSION.read_text().splitlines()]


def written(folder: Path, values: list[Any]) -> Path:
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in values))
    return path


def test_a_session_counts_what_its_lines_hold() -> None:
    messages = [one["message"] for one in lines() if one["type"] == "message"]
    blocks = [block for one in messages for block in one["content"]]
    calls = [(one["name"], one["arguments"]) for one in blocks if one["type"] == "toolCall"]
    found = record(SESSION)
    assert [(e["tool"], e["arguments"]) for e in events(found, "tool_call")] == calls
    assert len(calls) == 2
    assert used(found) == [("bash", "error")] * 2
    assert [actor for actor, _ in said(found)] == ["user", "agent", "user", "agent"]
    usages = [one["usage"] for one in messages if one["role"] == "assistant"]
    assert found["usage"]["input_tokens"] == sum(one["input"] + one["cacheRead"] for one in usages)
    assert found["usage"]["output_tokens"] == 40
    assert found["cost_usd"] == pytest.approx(sum(one["cost"]["total"] for one in usages))
    assert found["episode_id"] == lines()[0]["id"]
    assert found["candidate_id"] == "lamp-model"
    assert "unread" not in found


def test_json_mode_tells_each_message_once() -> None:
    found = record(JSON_MODE)
    assert said(found) == [
        ("user", "What does lamp L-8 cost?"), ("agent", "It costs 39.50."),
    ]  # fmt: skip
    assert used(found) == [("bash", "error")]
    assert found["usage"]["input_tokens"] == 211
    assert found["latency_ms"] > 0
    assert "unread" not in found


def test_a_line_that_others_name_and_is_not_there_leaves_it_not_measured(tmp_path: Path) -> None:
    values = lines()
    for number in range(1, len(values) - 1):
        found = record(written(tmp_path, values[:number] + values[number + 1 :]))
        assert found["unread"]


def test_both_ways_of_a_session_that_went_back_are_told(tmp_path: Path) -> None:
    values = lines()
    second = next(n for n, one in enumerate(values) if one["id"] == "92160301")
    values[second]["parentId"] = values[2]["id"]
    found = record(written(tmp_path, values))
    assert len(events(found, "tool_call")) == 2
    assert WAYS in found["source"]["notes"]
    assert "unread" not in found


def test_a_session_that_goes_on_says_so(tmp_path: Path) -> None:
    found = record(written(tmp_path, lines()[:-1]))
    assert found["unread"][0]["path"].startswith("end of the session")


def test_a_later_version_is_not_measured(tmp_path: Path) -> None:
    values = lines()
    values[0]["version"] = 4
    found = record(written(tmp_path, values))
    assert LATER in found["source"]["notes"]
    assert found["unread"]


@pytest.mark.parametrize(
    "message",
    [{"role": "robot", "content": [{"type": "toolCall", "name": "wire", "arguments": {}}]},
     {"role": "assistant", "content": [{"type": "call", "name": "wire", "arguments": {}}]},
     {"role": "assistant", "content": {"name": "wire", "arguments": {}}}],
)  # fmt: skip
def test_what_may_be_a_call_is_not_measured(tmp_path: Path, message: Any) -> None:
    values = lines()
    entry = {"type": "message", "id": "e1", "parentId": values[-1]["id"], "message": message}
    last = {**values[-1], "id": "e2", "parentId": "e1"}
    assert record(written(tmp_path, [*values, entry, last]))["unread"]


def test_a_persons_own_command_is_no_call(tmp_path: Path) -> None:
    values = lines()
    own = {"role": "bashExecution", "command": "ls", "output": "lamp.txt", "exitCode": 0}
    values.append({"type": "message", "id": "e1", "parentId": values[-1]["id"], "message": own})
    found = record(written(tmp_path, values))
    assert len(events(found, "tool_call")) == 2
    assert said(found)[-1] == ("user", "! ls\nlamp.txt")


@pytest.mark.parametrize("path", [SESSION, JSON_MODE], ids=lambda one: one.name)
def test_the_rules_of_a_reader_hold(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    check_reader(READER, copy, mutants=40)
