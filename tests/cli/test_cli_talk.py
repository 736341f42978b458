"""An episode that is a conversation, from the suite's file to the report."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door, copied, lines, shipped
from lamps import EPISODE, SUITE_ID, Lamp
from msgspec.structs import replace

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.place import at
from reviewer.desk.runs.api import RunOrder

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
    assert "by_person" not in (lamp.folder / "power.json").read_text("utf-8")
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


def test_an_episode_whose_user_is_a_person_is_not_run_without_one(door: Door) -> None:
    user = {"kind": "person", "goals": [{"id": "mend", "asks": "a lamp that works"}]}
    Lamp(door, AGENT, {**EPISODE, "user": user})
    for options in ((), ("--episode", "lamp")):
        said = door.run("run", SUITE_ID, "lamp-agent", *options)
        assert said.code == 2
        assert "episode lamp: a person plays its user ($.user.kind)" in said.err
        assert "run it in the workstation" in said.err
    assert not door.store.exists()


def test_a_person_plays_the_user_of_a_run_and_may_leave(door: Door) -> None:
    user = {"kind": "person", "goals": [{"id": "mend", "asks": "a lamp that works"}]}
    Lamp(door, AGENT, {**EPISODE, "user": user})
    desk = Desk(at(door.root))
    order = RunOrder(suite_id=SUITE_ID, candidate_id="lamp-agent", attempts=2, person=True)
    with pytest.raises(DeskError, match="asked in this process"):
        desk.runs.start(replace(order, workers=1))
    with pytest.raises(DeskError, match="asked in this process") as refused:
        desk.runs.start(replace(order, executor="dask"))
    assert refused.value.ways_out == ("leave --executor out",)
    handle = desk.runs.start(order)
    says = iter([("The blue one.", "go on"), ("Thanks.", "satisfied"), None])
    met: set[int] = set()
    while not handle.ended:
        view = handle.wait(0.1)
        assert len(view.turns) <= 1, "a person is asked by one attempt at a time"
        for turn in view.turns:
            if turn.number not in met:
                met.add(turn.number)
                assert turn.goals == ("a lamp that works",)
                said = next(says)
                if said is None:
                    handle.leave(turn.number)
                else:
                    handle.say(turn.number, *said)
    desk.close()
    rows = "SELECT passed, termination FROM traces ORDER BY attempt"
    assert door.rows(rows) == [(1, "user_stop"), (None, "user_error")]
    shown = door.ok("show", f"{SUITE_ID}/lamp-agent/lamp/1", "--plain").out
    assert "The blue one." in shown


WAVERING = """\
import json, sys

def ask(line):
    print(json.dumps(line), flush=True)
    return json.loads(sys.stdin.readline() or "{}")

start = json.loads(sys.stdin.readline())
if "lamp" in start["user_request"]:
    ask({"type": "call", "call_id": "a", "tool": "look", "arguments": {"at": "the cellar"}})
ask({"type": "call", "call_id": "b", "tool": "fix", "arguments": {}})
ask({"type": "say", "message": "Which one is it?"})
print(json.dumps({"type": "final", "message": "It is mended."}), flush=True)
"""


def test_attempts_without_a_verdict_for_their_world_are_no_way_to_promotion(door: Door) -> None:
    tools = dict(EPISODE["simulator"]["tools"])
    known = [{"arguments": {"at": "table"}, "value": "a lamp"}]
    tools["look"] = {
        "parameters": {"type": "object"},
        "responses": {"match": known, "unrecorded": "spoil"},
    }
    episode = {
        **EPISODE,
        "tools": {"allowed": ["fix", "look"], "required": ["fix"]},
        "simulator": {**EPISODE["simulator"], "tools": tools},
        "user": USER,
    }
    lamp = Lamp(door, WAVERING, episode)
    lamp.run("--attempts", 2)
    assert door.rows("SELECT passed, termination FROM traces") == [(None, "world_gap")] * 2
    # The same agent, made to stay where answers are known, passes: what was discarded still counts.
    lamp.agent.write_text(WAVERING.replace('"the cellar"', '"table"'), encoding="utf-8")
    lamp.run("--resume", "--attempts", 2)
    ends = door.rows("SELECT passed, termination FROM traces ORDER BY attempt")
    assert ends == [(None, "world_gap")] * 2 + [(1, "completed")] * 2
    report = lamp.report()
    assert report["recommendation"] == "hold"
    told = [one for one in report["reason_details"] if "neither passed nor failed" in one["text"]]
    assert [one["observed"] for one in told] == ["2 of 4 (world_gap 2)"]
    assert report["slots"]["valid"] == 2


@pytest.mark.parametrize("end", ["user_error", "world_gap"])
def test_a_file_cannot_claim_that_a_user_or_a_world_spoiled_an_attempt(
    door: Door, end: str
) -> None:
    bad, *others = shipped(V8)
    user = {"kind": "scripted", "messages": 1, "faults": []}
    wrong = {**bad, "final_state": "nothing", "termination": end, "source": {"user": user}}
    again = {**bad, "attempt": 4, "latency_ms": bad["latency_ms"] + 1}
    door.take("claims.jsonl", lines([wrong, *others, again]), "--suite", SUITE)
    name = f"{SUITE}/{V8}/{bad['episode_id']}/{bad['attempt']}"
    assert f"terminated:{end}" in door.codes(name)
    assert door.one("SELECT passed FROM traces WHERE trace_id=?", name) == 0
    assert door.one("SELECT count(*) FROM source_verdict") == 0


def test_a_user_that_cannot_work_is_refused_with_its_place(lamp: Lamp) -> None:
    path = lamp.folder / "episodes" / "lamp.json"
    episode = json.loads(path.read_bytes())
    episode["user"]["turns"][0]["say"] = "It is {lmap}."
    path.write_text(json.dumps(episode))
    said = lamp.door.run("suite", "check", SUITE_ID)
    assert "$.user.turns[0].say: `{lmap}` is not a fact that this user knows" in said.both


PERSON = {"kind": "person", "goals": [{"id": "mend", "asks": "a lamp that works"}]}


def test_a_suite_that_only_people_play_is_told_that_it_promotes_nothing(door: Door) -> None:
    lamp = Lamp(door, AGENT, {**EPISODE, "user": PERSON})
    told = "a person plays the user of every episode: pass^k is never measured"
    assert told in door.ok("suite", "check", SUITE_ID).err
    power = json.loads(door.ok("suite", "power", SUITE_ID, "--json").out)
    assert (power["asked"]["by_person"], power["stopped"]) == (1, 1.0)
    assert "A person plays the user of 1 of 1 episode" in door.ok("suite", "power", SUITE_ID).out
    path = lamp.folder / "episodes" / "lamp.json"
    path.write_text(json.dumps({**EPISODE, "user": USER}))
    assert told not in door.run("suite", "check", SUITE_ID).both


def test_what_a_person_plays_repeats_nothing(
    door: Door, empty_template: Path, tmp_path: Path
) -> None:
    records = door.root / "kept.jsonl"
    Lamp(door).run("--attempts", 2, "--traces", records)
    other = Lamp(copied(empty_template, tmp_path / "other"), episode={**EPISODE, "user": PERSON})
    other.door.ok("import", records)
    report = other.report()
    assert (report["hard_pass_rate"]["value"], report["pass_hat"]) == (1.0, {"1": None, "2": None})
    assert report["recommendation"] == "hold"
    assert any("an episode whose user no person plays" in need for need in report["needs"])
    (played,) = report["by_person"]
    assert played == {
        "episode_id": "lamp", "attempts": 2, "pass": 2, "fail": 0, "not_measured": 0
    }  # fmt: skip
    release = ("--suite", SUITE_ID, "--candidate", "lamp-agent")
    said = other.door.ok("scorecard", *release, "--sort", "pass", "--group", "tag", "--plain").out
    told = "user played by a person, not repeatable and not in pass^2: lamp 2 of 2 attempts passed"
    assert told in said
    assert "pass^2 by a person" in said
    assert "0 infra; pass^2 not measured" in said
    assert "0 of 1 shown" in other.door.ok("scorecard", *release, "--filter", "pass>0").out
