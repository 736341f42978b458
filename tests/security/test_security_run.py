"""A candidate behind an endpoint that gives back what it was sent, and a program that looks around:
no secret of ours comes into the store, the report, the records or the terminal."""

import json
import os
import sys
from typing import Any

import pytest
from doors import SUITE, Door, every_byte
from judge_server import KEY, KEY_ENV, Refusal, Reply, direct, judging

OTHER = "zq7-of-the-environment"
MANIFEST = {
    "schema": "reviewer/candidate@1",
    "agent": "echo",
    "version": "1",
    "authors": ["r.lee"],
    "model": "m",
    "prompts": [],
    "tools": [],
    "config": {},
}
LOOKS_AROUND = """
import json, os, sys
sys.stderr.write(repr(dict(os.environ)))
seen = json.dumps(dict(os.environ)) + open("/proc/self/environ").read()
try:
    seen += open(f"/proc/{os.getppid()}/environ").read()
except OSError as error:
    seen += str(error)
for line in sys.stdin:
    print(json.dumps({"type": "final", "message": seen}), flush=True)
"""


def added(door: Door, candidate_id: str, runner: dict[str, Any]) -> None:
    path = door.suite / "candidates" / f"{candidate_id}.json"
    path.write_text(json.dumps({**MANIFEST, "candidate_id": candidate_id, "runner": runner}))


def made(door: Door) -> bytes:
    """All that is kept: the workspace but for what the test put there, and every frame opened."""
    return every_byte(door.root / "store") + b"".join(
        path.read_bytes()
        for folder in ("out", "state")
        for path in (door.root / folder).rglob("*")
        if path.is_file()
    )


def test_a_key_that_comes_back_is_kept_nowhere(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    direct(monkeypatch)
    monkeypatch.setenv("XDG_STATE_HOME", str(door.root / "state"))
    monkeypatch.setenv("REVIEWER_DEBUG", "1")
    turns = iter(range(10_000))

    def says(prompt: str) -> Reply:
        told = f"your header was: Bearer {KEY}"
        return Refusal(400, told) if next(turns) % 3 == 2 else told

    with judging(says) as server:
        runner = {"kind": "openai-chat", "base_url": server.url, "api_key_env": KEY_ENV}
        added(door, "echo-v1", runner)
        records = door.root / "out" / "records.jsonl"
        records.parent.mkdir()
        said = door.run("run", SUITE, "echo-v1", "--attempts", "2", "--traces", records)
    assert server.keys
    assert set(server.keys) == {f"Bearer {KEY}"}  # it was sent, to where it belongs
    assert door.one("SELECT count(*) FROM traces WHERE candidate_id = 'echo-v1'") > 0, said
    door.run("--export-report", door.root / "out", "--suite", SUITE, "--candidate", "echo-v1")
    kept = made(door)
    assert b"your header was" in kept
    assert KEY.encode() not in kept
    assert KEY not in said.both


def test_a_program_is_not_given_our_environment(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", OTHER)
    monkeypatch.setenv("OPENAI_API_KEY", f"sk-{OTHER}")
    program = door.suite / "candidates" / "around.py"
    program.write_text(LOOKS_AROUND)
    runner = {"kind": "command", "command": [sys.executable, "-I", str(program)]}
    added(door, "around-v1", runner)
    said = door.outside("run", SUITE, "around-v1", "--attempts", "1")
    assert door.one("SELECT count(*) FROM traces WHERE candidate_id = 'around-v1'") > 0, said
    kept = made(door)
    assert b"PATH" in kept  # it told what it saw
    assert OTHER.encode() not in kept
    assert OTHER not in said.both
    assert OTHER in os.environ["SECRET_OF_OURS"]
