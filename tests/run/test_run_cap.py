"""The cap on calls per turn: the same for every kind, refused by name, and recorded."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from openai_server import answer, chat, chat_call, environment, serving, task_for
from run_builders import Stage, believed, call, episode, events, follow, said, verdict
from run_guests import command, hold, task, workspace, written

from reviewer.running.attempt import run_attempt
from reviewer.running.broker import MOST_CALLS
from reviewer.running.model import Call, Turn

MANY = MOST_CALLS + 22


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def flood(count: int, *more: Call) -> Turn:
    calls = (Call(f"n{number}", "look", {}) for number in range(count))
    return Turn((*calls, *more))


def test_calls_beyond_those_of_a_turn_are_refused_and_end_the_attempt(stage: Stage) -> None:
    of = episode(contract={"allowed": ["look", "check"], "forbidden": ["pay"]})
    junk = [call(f"junk-{number}") for number in range(1000)]
    record = stage.play(of, flood(20_000, *junk, call("pay"), call("pay"), call("check")))
    done = [event for event in events(record) if event["status"] == "ok"]
    refused = [event for event in events(record) if event["status"] == "denied"]
    assert [event["call_id"] for event in done] == [f"n{number}" for number in range(MOST_CALLS)]
    assert len(refused) == MOST_CALLS
    tools = [event["tool"] for event in refused]
    assert tools[:3] == ["look", "pay", "check"], "one of each, what was offered first"
    assert refused[0]["observation"] == {"error": "more than 128 calls in one turn"}
    (why,) = [event["message"] for event in events(record, "error")]
    assert why == "one turn made 21,003 calls and may make 128: the other 20,875 were refused"
    judged = verdict(of, record)
    assert {"terminated:max_calls", "forbidden:pay"} <= set(judged.codes())
    assert judged.passed is False


def test_as_many_calls_as_a_turn_may_make_are_all_made(stage: Stage) -> None:
    record = stage.play(episode(), flood(MOST_CALLS), said("Done."))
    assert record["termination"] == "completed"
    assert [event["status"] for event in events(record)] == ["ok"] * MOST_CALLS


def capped(record: dict[str, Any]) -> None:
    assert record["termination"] == "max_calls"
    statuses = [event["status"] for event in events(record)]
    assert statuses == ["ok"] * MOST_CALLS + ["denied"]
    (why,) = [event["message"] for event in events(record, "error")]
    assert why == f"one turn made {MANY} calls and may make 128: the other 22 were refused"


def test_a_script_is_capped(tmp_path: Path) -> None:
    capped(follow(tmp_path, episode(), {"calls": [{"tool": "look"}] * MANY}))


async def test_a_model_behind_an_endpoint_is_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch)
    calls = [chat_call("{}", f"call_{number}", "look") for number in range(MANY)]
    async with serving(answer(chat(None, calls, finish="tool_calls"))) as server:
        asked = replace(task_for(server), episode=episode())
        capped(believed(await run_attempt(asked)))


@pytest.mark.parametrize("kind", ["command", "python"])
def test_a_program_is_capped(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold("none", monkeypatch)
    folder = workspace(tmp_path / "desk")
    if kind == "command":
        program = f"""
            calls = [{{"call_id": str(n), "tool": "look"}} for n in range({MANY})]
            say(type="calls", calls=calls)
            ask()
        """
        work = command(folder, program)
    else:
        text = f"""
            def run(user_request, tools, call):
                call.many([("look", {{}})] * {MANY})
                return "Done."
        """
        written(folder / "candidates" / "guest.py", text)
        work = task(folder, {"kind": "python", "entry": "guest:run"})
    record = json.loads(asyncio.run(run_attempt(replace(work, episode=episode()))).raw)
    capped(record)
