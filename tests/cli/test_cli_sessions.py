"""`reviewer import --from`: sessions where coding agents keep them, listed and taken."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
import zstandard
from counted import FILES
from doors import Door

from reviewer.desk.imports.following import ends_whole
from reviewer.desk.imports.sessions import chosen, files, sessions, wanted

CLAUDE = FILES / "claude-code"
SESSION = "9a7b165c-6146-4a06-b9c3-07c56c395f84"
OTHER = "1af7fc5e-8455-4414-9ccd-011d40f70b2a"
ROLLOUT = next((FILES / "codex").glob("rollout-*.jsonl"))
VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME", "CLINE_DIR",
             "CLINE_DATA_DIR", "PI_CODING_AGENT_DIR", "GOOSE_PATH_ROOT",
             "XDG_CONFIG_HOME")  # fmt: skip
PI_ID = "01a217fe-e2d3-75b1-946b-731af969e062"
PI = FILES.parent / "pi" / "session.jsonl"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which several tools keep sessions."""
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
    lamps = root / ".pi/agent/sessions/--home-dev-lamps--"
    lamps.mkdir(parents=True)
    shutil.copy(PI, lamps / f"2026-11-26T13-15-09-918Z_{PI_ID}.jsonl")
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


@pytest.mark.parametrize(
    "folder",
    [
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
        "Library/Application Support/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    ],
)
def test_tasks_of_extensions_of_an_editor_are_listed_and_taken(
    door: Door, home: Path, folder: str
) -> None:
    shutil.copytree(FILES.parent / "cline_task", home / folder)
    task = next(one for one in listed(door, "cline") if one["id"] == "1777073160794")
    assert (task["request"], task["project"]) == ("Put it right.", "c:/lamps")
    door.ok("import", "--from", "cline", "--session", "1777073160794")
    assert door.one("SELECT episode_id FROM traces") == task["id"]


def test_sessions_of_pi_are_listed_and_taken(door: Door, home: Path) -> None:
    (found,) = listed(door, "pi")
    assert (found["id"], found["project"]) == (PI_ID, "/home/dev/lamps")
    assert found["request"] == "What does lamp L-7 cost?"
    door.ok("import", "--from", "pi", "--session", PI_ID)
    assert door.one("SELECT count(*) FROM traces") == 1


GOOSE = FILES.parent / "databases/goose-1.52.db"


@pytest.fixture
def goose(home: Path) -> Path:
    """goose's folder: a database with two sessions, and files of before that."""
    folder = home / ".local/share/goose/sessions"
    folder.mkdir(parents=True)
    shutil.copy(GOOSE, folder / "sessions.db")
    old = FILES.parent / "goose/20250709_094640.jsonl"
    shutil.copy(old, folder)
    shutil.copy(old, folder / "20261128_6.jsonl")  # which the database has too
    with contextlib.closing(sqlite3.connect(folder / "sessions.db")) as base:
        base.execute("UPDATE sessions SET parent_session_id = NULL, working_dir = '/home/kim/sub'"
                     " WHERE id = '20261128_6'")  # fmt: skip
        base.commit()
    return folder


def test_sessions_in_one_database_are_listed_and_taken_one_by_one(door: Door, goose: Path) -> None:
    found = {one["id"]: one for one in listed(door, "goose")}
    assert set(found) == {"20261128_5", "20261128_6", "20250709_094640"}
    assert found["20261128_5"]["request"] == "delegate it"
    assert found["20261128_5"]["project"] == "/home/kim/proj"
    assert found["20261128_5"]["at"] == "2026-11-28T09:56:37Z"
    door.ok("import", "--from", "goose", "--session", "20261128_5")
    assert door.rows("SELECT episode_id FROM traces") == [("20261128_5",)]
    again = door.ok("import", "--from", "goose", "--session", "20261128_5")
    assert "imported before" in again.both
    door.ok("import", "--from", "goose", "--session", str(goose / "sessions.db#20261128_6"))
    assert door.one("SELECT count(*) FROM traces") == 2
    door.ok("import", "--from", "goose", "--all")
    assert door.one("SELECT count(*) FROM traces") == 3


def test_sessions_of_a_project_are_taken_out_of_one_database(door: Door, goose: Path) -> None:
    door.ok("import", "--from", "goose", "--project", "/home/kim/sub")
    assert door.rows("SELECT episode_id FROM traces") == [("20261128_6",)]


def test_new_sessions_of_a_project_are_wanted_too_when_its_database_is_followed(
    door: Door, goose: Path
) -> None:
    found = chosen(sessions("goose"), (), ("proj",), False)
    asked = wanted(found, ("proj",), False)
    assert asked.takes("20261201_1", "/home/kim/proj")
    assert not asked.takes("20261201_1", "/home/kim/sub")
    assert files(found) == [str(goose / "sessions.db")]
    assert ends_whole(goose / "sessions.db")


def test_a_damaged_database_of_sessions_costs_only_itself(door: Door, goose: Path) -> None:
    path = goose / "sessions.db"
    path.write_bytes(path.read_bytes()[:3000])
    found = {one["id"]: one["problem"] for one in listed(door, "goose")}
    assert found["sessions"].startswith("a damaged SQLite database")
    assert found["20250709_094640"] == ""


@pytest.mark.parametrize("tool", ["opencode", "kilo"])
def test_sessions_in_opencodes_database_are_listed_and_taken(
    door: Door, home: Path, tool: str
) -> None:
    folder = home / ".local/share" / tool
    folder.mkdir(parents=True)
    shutil.copy(FILES.parent / "databases/opencode.db", folder / f"{tool}.db")
    first, second = listed(door, tool)  # a sub-agent is none
    assert first["request"] == '"use a sub-agent to weigh the lamp"'
    assert (second["at"], second["project"]) == ("2026-11-26T12:24:24Z", "/home/dev/lamps")
    door.ok("import", "--from", tool, "--session", second["id"])
    assert door.rows("SELECT episode_id FROM traces") == [(second["id"],)]


def test_a_rollout_that_codex_compressed_is_a_session_too(door: Door, home: Path) -> None:
    (rollout,) = (home / ".codex").rglob("rollout-*.jsonl")
    (before,) = listed(door, "codex")
    rollout.with_suffix(".jsonl.zst").write_bytes(zstandard.compress(rollout.read_bytes()))
    rollout.unlink()
    (found,) = listed(door, "codex")
    assert (found["id"], found["request"]) == (before["id"], before["request"])
    door.ok("import", "--from", "codex", "--session", found["id"])
    assert door.one("SELECT count(*) FROM traces") == 1


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


def test_a_pipe_among_sessions_is_listed_and_never_read(door: Door, home: Path) -> None:
    os.mkfifo(home / ".claude/projects/-home-dev-lampshop/pipe.jsonl")
    problems = {one["id"]: one["problem"] for one in listed(door, "claude-code")}
    assert problems["pipe"] == "not a regular file"


def test_a_session_is_taken_by_its_file_whatever_it_is_called(door: Door, home: Path) -> None:
    project = home / ".claude/projects/-home-dev-lampshop"
    odd = (project / f"{OTHER}.jsonl").rename(project / "--all.jsonl")
    assert door.run("import", "--from", "claude-code", f"--session={odd}").code == 0
    assert door.one("SELECT count(*) FROM traces") == 1
    both = [f"--session={one}" for one in (odd, project / f"{SESSION}.jsonl")]
    assert door.run("import", "--from", "claude-code", *both).code == 0
    assert door.one("SELECT count(*) FROM traces") == 2


class Live:
    """A session of Claude Code that is followed by a process, and that the test writes."""

    def __init__(self, door: Door, home: Path, *options: str) -> None:
        self.door = door
        source = CLAUDE / f"{OTHER}.jsonl"
        self.lines = source.read_bytes().splitlines(keepends=True)
        self.path = home / ".claude/projects/live" / source.name
        self.path.parent.mkdir()
        self.append(0, 4)
        self.options = options
        self.process = self.start()

    def start(self) -> "subprocess.Popen[bytes]":
        """Begin to follow it."""
        chosen = ("--from", "claude-code", "--session", OTHER, "--watch")
        return self.door.start("import", *chosen, *self.options, bufsize=0)

    def append(self, first: int, last: int | None = None) -> None:
        """Write some of the lines of the session."""
        with self.path.open("ab") as out:
            out.write(b"".join(self.lines[first:last]))

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, and as long as the process is there."""
        until = time.monotonic() + 120
        while not holds():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < until
            time.sleep(0.05)

    def hears(self, stream: IO[bytes] | None, words: bytes) -> bytes:
        """Read lines until one has these words, and return it."""
        assert stream is not None
        return next(line for line in stream if words in line)

    def events(self) -> int:
        """How many events of it are in the store."""
        with contextlib.suppress(sqlite3.OperationalError, IndexError):  # it is being made
            return int(self.door.one("SELECT events FROM traces"))
        return 0

    def end(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        """End it, and return how it left and what it said."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out.decode(), err.decode()


@pytest.fixture
def live(door: Door, home: Path) -> Iterator[Live]:
    (home / f".claude/projects/-home-dev-lampshop/{OTHER}.jsonl").unlink()
    found = Live(door, home, "--json")
    yield found
    if found.process.poll() is None:
        found.process.kill()
        found.process.communicate()


def test_a_session_is_followed_until_it_is_interrupted(live: Live) -> None:
    """Its attempt grows, is in progress until its end is stated, and is one."""
    live.until(lambda: live.events() == 4)
    open_end = "SELECT count(*) FROM finding WHERE code LIKE 'unread:end of the session%'"
    assert live.door.one(open_end) == 1
    live.append(4, 20)
    live.until(lambda: live.events() == 20)
    live.append(20)
    live.until(lambda: live.events() == 29)
    code, out, err = live.end()
    assert code == 0, err
    assert [(one["records"], one["refused"]) for one in json.loads(out)] == [(1, 0)]
    assert "taken in 3 times" in err
    assert live.door.one(open_end) == 0
    assert live.door.one("SELECT count(*) FROM traces") == 1
    live.door.healthy()


def test_what_comes_last_is_read_when_following_ends(live: Live) -> None:
    live.until(lambda: live.events() == 4)
    live.append(4)
    code, _, err = live.end(signal.SIGTERM)
    assert code == 0, err
    assert live.events() == 29
    assert "in progress" not in err.splitlines()[-1]


def test_a_file_that_is_taken_away_is_named(live: Live) -> None:
    live.hears(live.process.stderr, b"in progress")
    live.path.unlink()
    live.hears(live.process.stderr, b": deleted or moved")
    code, out, err = live.end()
    assert code == 0, err
    assert any("deleted or moved" in note for note in json.loads(out)[0]["notes"])
    assert live.events() == 4


def test_a_follower_that_was_killed_is_started_again(live: Live) -> None:
    live.until(lambda: live.events() == 4)
    live.process.kill()
    live.process.communicate()
    live.append(4)
    live.process = live.start()
    live.until(lambda: live.events() == 29)
    assert live.end()[0] == 0
    assert live.door.one("SELECT count(*) FROM traces") == 1
    live.door.healthy()


def test_following_is_told_to_a_program(door: Door, home: Path) -> None:
    (home / f".claude/projects/-home-dev-lampshop/{OTHER}.jsonl").unlink()
    live = Live(door, home, "--progress", "json")
    result = json.loads(live.hears(live.process.stdout, b'"event": "result"'))
    assert result["result"]["added"] == 1
    live.path.unlink()
    news = json.loads(live.hears(live.process.stdout, b'"event": "news"'))
    assert "deleted" in news["words"]
    code, out, err = live.end(signal.SIGTERM)
    assert code == 0, err
    assert json.loads(out.splitlines()[-1])["event"] == "end"
