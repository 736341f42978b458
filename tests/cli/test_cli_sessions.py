"""`reviewer import --from`: sessions where coding agents keep them, listed and taken."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from counted import FILES
from doors import Door

CLAUDE = FILES / "claude-code"
SESSION = "9a7b165c-6146-4a06-b9c3-07c56c395f84"
OTHER = "1af7fc5e-8455-4414-9ccd-011d40f70b2a"
ROLLOUT = next((FILES / "codex").glob("rollout-*.jsonl"))
VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME", "CLINE_DIR",
             "CLINE_DATA_DIR")  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which five tools keep sessions."""
    root = tmp_path / "home"
    monkeypatch.setenv("HOME", str(root))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    project = root / ".claude/projects/-home-dev-lampshop"
    shutil.copytree(CLAUDE, project)
    (project / "stream-json.jsonl").unlink()
    day = root / ".codex/sessions/2026/11/22"
    day.mkdir(parents=True)
    shutil.copy(ROLLOUT, day)
    shutil.copytree(FILES / "gemini-cli/chats", root / ".gemini/tmp/lampshop/chats")
    shutil.copytree(FILES / "cline", root / ".cline/data/sessions")
    return root


def listed(door: Door, tool: str) -> list[dict[str, str]]:
    told = door.run("import", "--from", tool, "--list", "--json")
    assert told.code == 0, told
    found: list[dict[str, str]] = json.loads(told.out)
    return found


@pytest.mark.parametrize("tool", ["claude-code", "codex", "gemini-cli", "cline"])
def test_sessions_are_listed_with_what_was_asked_first(door: Door, home: Path, tool: str) -> None:
    asked = [one["request"] for one in listed(door, tool)]
    assert "PARENT: summarise notes.txt into summary.txt" in asked
    assert len(asked) == (2 if tool == "claude-code" else 1)  # sub-agents are no sessions


def test_a_list_imports_nothing_and_says_how_to_choose(door: Door, home: Path) -> None:
    told = door.run("import", "--from", "claude-code", "--plain")
    assert told.code == 0
    assert "/home/dev/lampshop" in told.out
    assert SESSION in told.out
    assert "--session ID" in told.err
    assert not door.store.exists()


def test_sessions_are_taken_by_id_project_or_all(door: Door, home: Path) -> None:
    assert door.run("import", "--from", "claude-code", "--session", SESSION[:8]).code == 0
    assert [name for (name,) in door.rows("SELECT episode_id FROM traces")] == [SESSION]
    calls = "SELECT count(*) FROM events WHERE kind='tool_call'"
    assert door.one(calls) == 6  # its sub-agent's too
    assert door.run("import", "--from", "codex", "--project", "lampshop").code == 0
    assert door.one("SELECT count(*) FROM traces") == 2
    assert door.run("import", "--from", "claude-code", "--all").code == 0
    assert door.one("SELECT count(*) FROM traces") == 3


def test_an_id_that_means_none_or_several_is_refused(door: Door, home: Path) -> None:
    for words in (["--session", "ffff"], ["--session", "9"], ["--project", "nowhere"]):
        told = door.run("import", "--from", "claude-code", *words)
        assert told.code == 2, words
        assert "--list" in told.err
    for words in (["--from", "nobody"], ["--list"], ["--from", "codex", "x.jsonl"], []):
        assert door.run("import", *words).code == 2, words
    assert door.run("import", "--from", "opencode").code != 0  # it has no folder here


def test_the_variables_of_the_tools_are_heeded(
    door: Door, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".claude").rename(tmp_path / "elsewhere")
    assert door.run("import", "--from", "claude-code", "--list").code != 0
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    assert len(listed(door, "claude-code")) == 2
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "none"))
    assert door.run("import", "--from", "codex", "--list").code != 0


def test_a_bad_file_costs_only_itself(door: Door, home: Path) -> None:
    project = home / ".claude/projects/-home-dev-lampshop"
    (project / "bad.jsonl").write_bytes(b"\x00\xff{" * 50)
    (project / "empty.jsonl").write_bytes(b"")
    (project / "gone.jsonl").symlink_to(project / "nothing")
    (project / "folder.jsonl").mkdir()
    problems = {one["id"]: one["problem"] for one in listed(door, "claude-code")}
    assert problems[SESSION] == ""
    assert all(problems[name] for name in ("bad", "empty", "gone", "folder"))
    told = door.run("import", "--from", "claude-code", "--all")
    assert told.code == 20
    assert door.one("SELECT count(*) FROM traces") == 2


def test_a_request_is_shown_without_identifiers_and_control_characters(
    door: Door, home: Path
) -> None:
    words = "Write to jane.q.roe@corpmail.io \x1b[31mnow"
    line = {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "S", "cwd": "/p",
            "message": {"role": "user", "content": words}}  # fmt: skip
    (home / ".claude/projects/-home-dev-lampshop/S.jsonl").write_text(json.dumps(line) + "\n")
    told = door.run("import", "--from", "claude-code", "--list", "--plain")
    assert "jane.q.roe" not in told.out
    assert "\x1b" not in told.out


def test_hundreds_of_sessions_are_listed_at_once(door: Door, home: Path) -> None:
    raw = (CLAUDE / f"{OTHER}.jsonl").read_bytes()
    for number in range(300):
        folder = home / f".claude/projects/p{number % 30}"
        folder.mkdir(exist_ok=True)
        file = folder / f"{number:08}.jsonl"
        file.write_bytes(raw)
        os.utime(file, (number, number))
    began = time.process_time()
    found = listed(door, "claude-code")
    assert len(found) == 302
    assert time.process_time() - began < 5
    times = [one["at"] for one in found if one["project"] == "/path/to/Demo"]
    assert times == sorted(times, reverse=True)
