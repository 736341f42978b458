"""An episode that is a conversation, from the suite's file to the report."""

import json
from typing import Any

import pytest
from doors import Door
from lamps import EPISODE, SUITE_ID, Lamp

AGENT = """\
import json, sys

def ask(line):
    print(json.dumps(line), flush=True)
    return json.loads(sys.stdin.readline() or "{}")

ask({"type": "say", "message": "Which lamp is it?"}) if json.loads(sys.stdin.readline()) else None
ask({"type": "call", "call_id": "a", "tool": "fix", "arguments": {}})
ask({"type": "say", "message": "It is mended."})
"""
USER: dict[str, Any] = {
    "kind": "scripted",
    "facts": {"lamp": {"value": "the <b>blue</b> one"}},
    "goals": [{"id": "mend", "asks": "a lamp that works"}],
    "turns": [
        {"id": "which", "when": {"asks": ["which"]}, "say": "It is {lamp}.", "goals": ["mend"]},
        {"id": "bye", "when": {"called": ["fix"]}, "say": "Thanks.", "end": "satisfied"},
    ],
}


@pytest.fixture
def lamp(door: Door) -> Lamp:
    return Lamp(door, AGENT, {**EPISODE, "user": USER})


def test_a_conversation_is_run_judged_and_shown(lamp: Lamp) -> None:
    lamp.run("--attempts", 2)
    door = lamp.door
    assert door.rows("SELECT passed, termination FROM traces") == [(1, "user_stop")] * 2
    shown = door.ok("show", f"{SUITE_ID}/lamp-agent/lamp/1", "--plain").out
    assert "the <b>blue</b> one" in shown
    assert "simulated_user" in shown
    report = lamp.report()
    assert report["slots"]["valid"] == 2
    assert "simulated_user" not in report["cost"]
    users = report["users"]
    assert (users["attempts"], users["spoiled"], users["with_errors"]) == (2, 0, 0)
    assert users["comparable"] is True
    door.healthy()


def test_a_spoiled_conversation_is_infrastructure(door: Door) -> None:
    dropping = {**USER, "goals": [*USER["goals"], {"id": "more", "asks": "a second lamp"}]}
    another = {"id": "more", "when": {"asks": ["more"]}, "say": "One more.", "goals": ["more"]}
    turns = [*USER["turns"], another]
    lamp = Lamp(door, AGENT, {**EPISODE, "user": {**dropping, "turns": turns}})
    lamp.run("--attempts", 2)
    report = lamp.report()
    assert (report["slots"]["infrastructure"], report["slots"]["valid"]) == (2, 0)
    assert report["recommendation"] == "hold"
    assert report["users"]["codes"] == [{"code": "user:dropped:more", "count": 2}]
    assert report["users"]["comparable"] is False
    told = "user spoiled 2 of 2 conversations; errors by rule in 2: 1.000"
    card = door.ok("scorecard", "--suite", SUITE_ID, "--candidate", "lamp-agent").out
    page = (door.root / "out" / "report.md").read_text()
    for surface in (card, page, (door.root / "out" / "report.html").read_text()):
        assert told in surface
        assert "candidates do not compare on the rest" in surface
    assert door.codes(f"{SUITE_ID}/lamp-agent/lamp/1") == ["terminated:user_error"]


def test_a_user_that_cannot_work_is_refused_with_its_place(lamp: Lamp) -> None:
    path = lamp.folder / "episodes" / "lamp.json"
    episode = json.loads(path.read_bytes())
    episode["user"]["turns"][0]["say"] = "It is {lmap}."
    path.write_text(json.dumps(episode))
    said = lamp.door.run("suite", "check", SUITE_ID)
    assert "$.user.turns[0].say: `{lmap}` is no fact that this user knows" in said.both
