"""A suite whose user has tools, from its check to its report; and records that claim a user's hand
in what may be the agent's calls."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from phones import EPISODE, SUITE_ID, USER, Phones

from reviewer.running.attempt import run_attempt
from reviewer.running.model import Slot, Task
from reviewer.running.offer import offer_of
from reviewer.suite.folder import read_candidates, read_suite


@pytest.fixture
def made(tmp_path: Path) -> Phones:
    (tmp_path / "suites").mkdir()
    (tmp_path / "store").mkdir()
    return Phones(Door(tmp_path))


def frozen(made: Phones) -> Phones:
    made.door.ok("suite", "freeze", SUITE_ID)
    return made


def recorded(made: Phones, candidate_id: str = "clerk") -> dict[str, Any]:
    """The record of one attempt, as our runner writes it."""
    suite = read_suite(made.folder).suite
    named = read_candidates(made.folder)[0][candidate_id]
    (episode,) = suite.episodes
    task = Task(
        slot=Slot(SUITE_ID, candidate_id, "offline", 1), episode=episode, candidate=named,
        redaction=suite.redaction, folder=str(made.folder), offer=offer_of(suite.episodes, None),
    )  # fmt: skip
    record: dict[str, Any] = json.loads(asyncio.run(run_attempt(task)).raw)
    return record


def shown(made: Phones, candidate_id: str = "clerk") -> Any:
    trace_id = f"{SUITE_ID}/{candidate_id}/offline/1"
    return json.loads(made.door.ok("show", trace_id, "--json").out)


def events(made: Phones, candidate_id: str = "clerk") -> list[str]:
    said = made.door.ok("show", f"{SUITE_ID}/{candidate_id}/offline/1").out
    return [line for line in said.splitlines() if line.startswith("event ")]


def test_a_suite_with_dual_control_goes_from_its_check_to_its_report(made: Phones) -> None:
    door = made.door
    assert "a valid draft" in door.ok("suite", "check", SUITE_ID).err
    trial = json.loads(door.ok("suite", "trial", SUITE_ID, "--json").out)
    outcomes = {one["agent"]: one["outcome"] for one in trial["agents"]}
    assert outcomes.pop("no-verify") == "not_stopped", "the contract has no write to verify"
    assert outcomes.pop("oracle") == "passes"
    assert set(outcomes.values()) == {"stopped"}
    frozen(made)
    for candidate_id in ("clerk", "teller"):
        door.ok("run", SUITE_ID, candidate_id)
        told = shown(made, candidate_id)
        assert (told["mark"], told["steps"]) == ("pass", 1)
        calls = [one.partition("tool_call ")[2] for one in events(made, candidate_id)]
        assert [call.partition(";")[0] for call in calls if call] == [
            "by simulated_user: status_bar ok",
            "by simulated_user: airplane_off ok",
            "by agent: unlock ok",
        ]
    tools = {**USER["tools"], "other": USER["tools"]["status_bar"]}
    made.write("episodes/offline.json", {**EPISODE, "user": {**USER, "tools": tools}})
    said = door.run("suite", "check", SUITE_ID)
    assert said.code == 20
    assert "episodes/offline.json" in said.both


def test_the_record_of_a_users_calls_goes_from_store_to_store(made: Phones, tmp_path: Path) -> None:
    frozen(made)
    made.door.ok("run", SUITE_ID, "clerk")
    record = recorded(made)
    (tmp_path / "other" / "suites").mkdir(parents=True)
    (tmp_path / "other" / "store").mkdir()
    other = frozen(Phones(Door(tmp_path / "other")))
    assert other.door.take("t.json", record).code == 0
    mine, theirs = shown(made), shown(other)
    assert events(other) == events(made)
    digest = "SELECT sha256 FROM traces"
    assert other.door.one(digest) == made.door.one(digest), "byte for byte"
    assert (theirs["mark"], theirs["final_state"]) == ("pass", mine["final_state"])
    assert other.door.codes(f"{SUITE_ID}/clerk/offline/1") == []


def forged(record: dict[str, Any], tool: str, **more: Any) -> dict[str, Any]:
    """The record with one call more, which it ascribes to the user."""
    call = {"kind": "tool_call", "tool": tool, "arguments": {}, "status": "ok", "actor": "user"}
    events = [*record["events"][:-1], {**call, **more}, record["events"][-1]]
    return {**record, "events": [{**e, "seq": n} for n, e in enumerate(events, 1)]}


def test_a_forbidden_call_is_not_hidden_behind_the_user(made: Phones) -> None:
    record = recorded(frozen(made))
    assert made.door.take("t.json", forged(record, "close_line")).code == 0
    trace_id = f"{SUITE_ID}/clerk/offline/1"
    assert made.door.codes(trace_id) == ["user_call:close_line"]
    assert shown(made)["mark"] == "not_measured"
    report = made.door.run("--export-report", made.door.root / "out", "--suite", SUITE_ID,
                           "--candidate", "clerk")  # fmt: skip
    assert report.code == 10, "what is not measured is never promoted"


def test_a_tool_of_the_user_in_the_agents_hand_is_critical(made: Phones) -> None:
    record = recorded(frozen(made))
    made.door.take("t.json", forged(record, "airplane_off", actor="agent"))
    assert made.door.codes(f"{SUITE_ID}/clerk/offline/1") == ["forbidden:airplane_off"]
    assert shown(made)["mark"] == "critical"


def test_the_users_calls_take_nothing_of_the_agents_budget(made: Phones) -> None:
    record = recorded(frozen(made))
    for _ in range(5):
        record = forged(record, "status_bar")
    made.door.take("t.json", record)
    assert (shown(made)["mark"], shown(made)["steps"]) == ("pass", 1)


def test_one_name_on_both_sides_is_refused_with_its_place(made: Phones) -> None:
    tools = {**USER["tools"], "close_line": USER["tools"]["status_bar"]}
    made.write("episodes/offline.json", {**EPISODE, "user": {**USER, "tools": tools}})
    said = made.door.run("suite", "check", SUITE_ID)
    assert said.code == 20
    assert "$.user.tools.close_line: is a tool of the agent too (`close_line`)" in said.both


def test_a_tool_that_another_episode_offers_agents_is_refused_too(made: Phones) -> None:
    tools = {**EPISODE["simulator"]["tools"], "status_bar": USER["tools"]["status_bar"]}
    other = {**EPISODE, "episode_id": "other", "simulator": {"tools": tools}}
    made.write("episodes/other.json", {k: v for k, v in other.items() if k != "user"})
    said = made.door.run("suite", "check", SUITE_ID)
    assert said.code == 20
    assert "$.user.tools.status_bar: is offered to agents of this suite" in said.both
