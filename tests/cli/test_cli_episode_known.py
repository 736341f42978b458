"""`reviewer episode from-trace` takes what the suite of a stored trace knows of its episode."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door

TRACE = "parcel/scripted-fails/golden/1"
ASKED = "Please send PX-4471 to 12 Elm Road."
STATE = {"done": "nothing", "parcels": {"PX-4471": {"status": "delivered"}}}
TOOLS = '''
def track(parcel_id: str) -> dict:
    """Say where a parcel is."""
def reroute(parcel_id: str, address: str) -> dict:
    """Send a parcel to another address."""
def hand_over(reason: str) -> dict:
    """Hand the case to a person."""
'''
PARCEL = {"parcel_id": "PX-4471"}
CALLS = (("track", PARCEL), ("reroute", {**PARCEL, "address": "12 Elm Road"}))


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.fixture
def door(tmp_path: Path) -> Door:
    """A draft, and a run on it of a candidate that reroutes a parcel which was delivered."""
    door = Door(tmp_path)
    (tmp_path / "suites").mkdir()
    (tmp_path / "store").mkdir()
    (tmp_path / "tools.py").write_text(TOOLS)
    door.ok("suite", "new", "parcel", "--tools", tmp_path / "tools.py")
    suite = tmp_path / "suites" / "parcel"
    told = read(suite / "episodes" / "golden.json")
    told |= {"user_request": ASKED, "initial_state": STATE, "writes": []}
    told |= {"tools": {"required": ["hand_over"], "forbidden": ["reroute"]}}
    told |= {"expected": {"final_state": "hand_over"}}
    (suite / "episodes" / "golden.json").write_text(json.dumps(told))
    script = suite / "candidates" / "scripts" / "scripted-fails.json"
    played = read(script)
    calls = [{"tool": tool, "arguments": arguments} for tool, arguments in CALLS]
    turns = [{"calls": calls}, {"messages": ["It is on its way."]}]
    played["episodes"]["golden"] = {"plans": {"only": {"turns": turns}}}
    script.write_text(json.dumps(played))
    manifest = read(suite / "candidates" / "scripted-fails.json")
    manifest["runner"]["script_sha256"] = hashlib.sha256(script.read_bytes()).hexdigest()
    (suite / "candidates" / "scripted-fails.json").write_text(json.dumps(manifest))
    door.ok("run", "parcel", "scripted-fails", "--jobs", "1")
    return door


MADE = ("episode", "from-trace", TRACE, "--wrong", "reroute", "--id", "again")


def made(door: Door, suite: str = "parcel") -> dict[str, Any]:
    return read(door.root / "suites" / suite / "episodes" / "again.json")


def test_an_episode_of_a_draft_run_has_its_request_its_start_state_and_its_tools(
    door: Door,
) -> None:
    said = door.ok(*MADE, "--required", "hand_over", "--into", "parcel")
    assert "inferred" not in said.out
    assert "the arguments of hand_over (reason)" in said.out
    assert "--with" in said.out
    episode = made(door)
    assert (episode["user_request"], episode["initial_state"]) == (ASKED, STATE)
    assert "arguments" not in episode["expected"], "hand_over takes no parcel_id"
    assert episode["expected"]["final_state"] == "hand_over"
    assert "tools" not in episode["simulator"], "the toolset says it all"
    (trace,) = episode["source"]["traces"]
    assert trace["of"]["draft"] is True
    assert (trace["of"]["suite"], trace["of"]["episode"]) == ("parcel", "golden")
    assert trace["taken"] == ["request", "start state", "world"]


def test_it_is_made_again_with_other_marks_although_the_draft_was_edited_by_it(door: Door) -> None:
    door.ok(*MADE, "--required", "hand_over", "--into", "parcel")
    need = 'hand_over:{"reason": "it was delivered"}'
    more = ("--required", need, "--say", "I handed it over.", "--into", "parcel", "--replace")
    door.ok(*MADE, *more)
    assert "proven" in door.ok("episode", "prove", "parcel", "again").out
    assert made(door)["initial_state"] == STATE


def test_an_episode_in_a_suite_of_its_own_has_the_whole_world(door: Door) -> None:
    door.ok(*MADE, "--required", "hand_over", "--request", "Send it elsewhere.")
    episode = made(door, "again-v1")
    assert episode["user_request"] == "Send it elsewhere."
    tools = episode["simulator"]["tools"]
    assert list(tools) == ["track", "reroute", "hand_over"]
    assert tools["hand_over"]["parameters"]["required"] == ["reason"]
    assert episode["simulator"]["final_state"] == "done"


def test_where_the_world_is_another_one_now_it_is_made_of_the_trace(door: Door) -> None:
    file = door.root / "suites" / "parcel" / "toolset.json"
    told = read(file)
    told["tools"][0]["simulator"]["responses"] = {"fixed": {"status": "lost"}}
    file.write_text(json.dumps(told))
    said = door.ok(*MADE, "--required", "hand_over", "--into", "parcel")
    assert "the world is made of the trace" in said.both
    assert "inferred" not in said.out
    episode = made(door)
    assert episode["user_request"] == ASKED
    assert "arguments" not in episode["expected"]
    assert episode["simulator"]["final_state"] is None
    (case,) = episode["simulator"]["tools"]["track"]["responses"]["match"]
    assert case["value"] == "track: not written yet"
    assert "no trace recorded it (--with TRACE" in said.out


def test_a_trace_that_no_run_of_the_draft_made_is_refused(door: Door) -> None:
    said = door.run("episode", "from-trace", "parcel/scripted-fails/golden/9")
    assert said.code != 0
    assert "no trace parcel/scripted-fails/golden/9" in said.err
