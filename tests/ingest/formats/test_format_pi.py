"""Sessions of pi and of its forks."""

import json
from pathlib import Path
from typing import Any

from doors import REPOSITORY

from reviewer.importing.formats import foreign_readers
from reviewer.importing.head import Head
from reviewer.importing.reader import Foreign
from reviewer.importing.source import Source

SESSION = REPOSITORY / "tests/data/pi/session.jsonl"


def read(path: Path) -> dict[str, Any]:
    claimed = next(one for one in foreign_readers() if one.sniff(Head(path)))
    assert claimed.name == "pi-session"
    (one,) = claimed.traces(Source(path))
    assert isinstance(one, Foreign), one
    return dict(json.loads(one.raw))


def calls(record: dict[str, Any]) -> list[str]:
    return [event["tool"] for event in record["events"] if event["kind"] == "tool_call"]


def test_what_a_model_says_a_call_is_for_is_no_act(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in SESSION.read_text().splitlines()]
    blocks = [
        block
        for row in rows
        if row["type"] == "message" and row["message"]["role"] == "assistant"
        for block in row["message"]["content"]
        if block["type"] == "toolCall"
    ]
    assert blocks
    for block in blocks:
        block["intent"] = "Read the lamp"
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "unread" not in read(path)
    blocks[0]["later"] = {"name": "rm", "arguments": {"path": "/"}}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "unread" in read(path)


def test_a_session_without_its_first_lines_is_one_that_is_not_measured(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(SESSION.read_text().splitlines()[3:]) + "\n")
    record = read(path)
    assert calls(record) == calls(read(SESSION))
    assert [one["path"] for one in record["unread"]] == ["lines.parentId"]
