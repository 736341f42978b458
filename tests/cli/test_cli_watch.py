"""`suite check --watch`: a draft is checked and run again when a file is saved."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door


@pytest.fixture
def draft(door: Door) -> Door:
    for path in (door.suite / "suite.lock", door.suite / ".frozen" / "suite.lock"):
        path.unlink()
    return door


class Watched:
    """A watching command, whose rounds are read one by one."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    def round(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


@contextlib.contextmanager
def watching(door: Door, *options: object) -> Iterator[Watched]:
    process = door.start("suite", "check", SUITE, "--watch", "--json", *options)
    try:
        yield Watched(process)
    finally:
        process.kill()
        process.communicate()


def save(path: Path, content: bytes) -> None:
    """Save as editors do: another file is put in its place."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(content)
    os.replace(beside, path)


def test_a_save_is_checked_and_its_candidates_run_again(draft: Door) -> None:
    episode = draft.suite / "episodes" / "damaged-221.json"
    good = episode.read_bytes()
    with watching(draft) as watch:
        first = watch.round()
        assert first["changed"] == []
        assert first["problems"] == []
        results = {one["candidate_id"]: one for one in first["candidates"]}
        assert (results[V8]["passed"], results[V8]["attempts"]) == (9, 9)
        assert results[V7]["passed"] == 6
        assert "attack-014" in [episode for episode, _ in results[V7]["failing"]]
        asked = json.loads(good)
        asked["expected"]["message_contains"] = ["what nobody says"]
        save(episode, json.dumps(asked).encode())
        second = watch.round()
        assert second["changed"] == ["episodes/damaged-221.json"]
        results = {one["candidate_id"]: one for one in second["candidates"]}
        assert results[V8]["passed"] == 6
        assert results[V8]["failing"] == [["damaged-221", ["state"]]]
        save(episode, good.replace(b'"max_steps": 6', b'"max_steps": "six"'))
        third = watch.round()
        assert any("max_steps" in problem for problem in third["problems"])
        assert all("max_steps" in one["problem"] for one in third["candidates"])
        save(episode, good)
        assert watch.round()["problems"] == []
        assert watch.end() == 0
    assert not draft.store.exists()
    assert "attempts 9 of 9 valid" in draft.ok("scorecard", "--candidate", V8).out


def test_the_candidates_to_run_can_be_named(draft: Door) -> None:
    with watching(draft, "--candidate", V8, "--candidate", "nobody") as watch:
        one, other = watch.round()["candidates"]
        assert (one["candidate_id"], one["passed"]) == (V8, 9)
        assert "no manifest of nobody" in other["problem"]


def test_a_draft_that_was_frozen_is_watched_no_more(draft: Door) -> None:
    with watching(draft) as watch:
        watch.round()
        draft.ok("suite", "freeze", SUITE)
        said = watch.process.communicate(timeout=60)[1]
        assert b"no longer a draft" in said
        assert watch.process.returncode == 0


def test_only_a_draft_is_watched(door: Door) -> None:
    said = door.run("suite", "check", SUITE, "--watch")
    assert said.code == 2
    assert "is not a draft" in said.err
    assert door.run("suite", "check", "--watch").code == 2
    assert door.run("suite", "check", SUITE, "--candidate", V8).code == 2
