"""Tools of the user's own: what the user does in the world is the user's, and nobody else's."""

import asyncio
import json
from typing import Any

import pytest
from openai_server import answer, chat, chat_call, environment, serving
from run_builders import (
    Stage,
    believed,
    call,
    episode,
    events,
    follow,
    said,
    statuses,
    tool,
    verdict,
)

from reviewer.running.model import Turn
from reviewer.suite.border import faults_of
from reviewer.suite.check import episode_problems
from reviewer.suite.model import Episode
from reviewer.suite.soundness import soundness_problems

CLOSED = {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"],
          "additionalProperties": False}  # fmt: skip
PHONE: dict[str, Any] = {
    "status_bar": tool({"state": ["device.airplane", "device.sim"]}),
    "airplane_mode": {
        "parameters": CLOSED,
        "responses": {"fixed": "done"},
        "effects": [
            {"arguments": {"on": True}, "merge": {"device": {"airplane": "on"}}},
            {"arguments": {"on": False}, "merge": {"device": {"airplane": "off"}}},
        ],
        "asked_by": ["airplane mode"],
    },
    "reseat_sim": tool(
        {"fixed": "done"},
        effects=[{"merge": {"device": {"sim": "active"}}}],
        preconditions=[{"path": "device.airplane", "equals": "off", "error": "the tray is locked"}],
    ),
}
AGENT = {
    "look_up": tool({"state": ["line", "device.airplane"]}),
    "unlock": tool({"fixed": "unlocked"}, effects=[{"merge": {"line": "active"}}]),
}
TURNS: list[dict[str, Any]] = [
    {
        "id": "off",
        "when": {"asks": ["airplane mode"]},
        "calls": [{"tool": "airplane_mode", "arguments": {"on": False}}, {"tool": "status_bar"}],
        "say": "I did. It shows {status_bar}.",
    },
    {"id": "look", "when": {"asks": ["status bar"]}, "calls": [{"tool": "status_bar"}]},
    {
        "id": "locked",
        "when": {"asks": ["status bar"], "saw": {"status_bar": '"on"'}},
        "say": "It says airplane mode is on.",
    },
    {"id": "plain", "when": {"asks": ["status bar"]}, "say": "Nothing special.", "times": 2},
    {"id": "thanks", "when": {"called": ["unlock"]}, "say": "Thanks.", "end": "satisfied"},
]
USER = {"kind": "scripted", "tools": PHONE, "turns": TURNS}
START = {"line": "suspended", "device": {"airplane": "on", "sim": "missing"}}
END = {"line": "active", "device.airplane": "off"}


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def dual(user: dict[str, Any] | None = None, **fields: Any) -> Episode:
    made = {"initial_state": START, "expected": {"state": END}, **fields}
    return episode(AGENT, user=USER if user is None else user, **made)


def asks(message: str) -> Turn:
    return said(message, last=False, cost_usd=0.0)


def acted(record: dict[str, Any]) -> list[tuple[str, str]]:
    return [(event["actor"], event["tool"]) for event in events(record)]


UNLOCK = Turn((call("unlock"),))
TALK = (asks("What does the status bar show?"), asks("Turn airplane mode off, please."), UNLOCK,
        asks("All set."))  # fmt: skip


def test_both_sides_act_on_one_world_and_each_call_is_of_one_side(stage: Stage) -> None:
    of = dual(budget={"max_steps": 2})
    look = Turn((call("look_up"),))
    record = stage.play(of, *TALK[:2], look, UNLOCK, asks("All set."))
    assert acted(record) == [
        ("simulated_user", "status_bar"),
        ("simulated_user", "airplane_mode"),
        ("simulated_user", "status_bar"),
        ("agent", "look_up"),
        ("agent", "unlock"),
    ]
    assert stage.puppet.told[0].content == {"line": "suspended", "device.airplane": "off"}
    assert stage.puppet.heard == [
        "It says airplane mode is on.",
        'I did. It shows {"device.airplane": "off", "device.sim": "missing"}.',
    ]
    assert record["source"]["user"] == {
        "kind": "scripted",
        "messages": 3,
        "faults": [],
        "calls": 3,
    }
    found = verdict(of, record, own=True)
    assert (found.passed, found.steps, record["termination"]) == (True, 2, "user_stop")


def test_the_agent_is_neither_offered_a_tool_of_the_user_nor_may_it_call_one(
    stage: Stage,
) -> None:
    record = stage.play(dual(), Turn((call("airplane_mode", on=False),)), UNLOCK, said("Done."))
    assert stage.puppet.brief is not None
    assert [spec.name for spec in stage.puppet.brief.tools] == ["look_up", "unlock"]
    assert statuses(record) == [("airplane_mode", "denied"), ("unlock", "ok")]
    assert record["final_state"]["device"]["airplane"] == "on"
    found = verdict(dual(), record, own=True)
    assert found.critical
    assert "forbidden:airplane_mode" in found.codes()


def test_where_a_forbidden_call_is_carried_out_that_of_a_users_tool_is_not(stage: Stage) -> None:
    of = dual(on_forbidden="simulate")
    record = stage.play(of, Turn((call("airplane_mode", on=False),)), said("Done."))
    assert statuses(record) == [("airplane_mode", "denied")]
    assert verdict(of, record).critical


def test_an_agent_that_does_not_instruct_has_nothing_done(stage: Stage) -> None:
    record = stage.play(dual(), UNLOCK, asks("All set."))
    assert acted(record) == [("agent", "unlock")]
    assert "wrong_state:device.airplane" in verdict(dual(), record).codes()


def test_a_call_of_the_user_that_fails_is_noted_and_spoils_nothing(stage: Stage) -> None:
    """The agent could have it fail, and an attempt that it could spoil would be made again."""
    turns = [
        {"id": "sim", "when": {"asks": ["sim"]}, "calls": [{"tool": "reseat_sim"}],
         "say": "{reseat_sim}"},
        TURNS[4],
    ]  # fmt: skip
    record = stage.play(
        dual({**USER, "turns": turns}), asks("Please reseat the SIM."), UNLOCK, asks("Ok")
    )
    assert stage.puppet.heard == ['{"error": "the tray is locked"}']
    (fault,) = record["source"]["user"]["faults"]
    assert (fault["code"], fault["severity"]) == ("user:failed_call:reseat_sim", "minor")
    assert record["events"][fault["seq"] - 1]["tool"] == "reseat_sim"
    assert record["termination"] == "user_stop"


def test_what_a_call_of_the_user_takes_is_not_the_agents_time(stage: Stage) -> None:
    slow = tool({"fixed": "x"}, faults=[{"kind": "slow", "calls": [1], "delay_ms": 5_000}])
    turns = [{**TURNS[1], "say": "{status_bar}"}, TURNS[4]]
    user = {**USER, "tools": {**PHONE, "status_bar": slow}, "turns": turns}
    record = stage.play(dual(user), TALK[0], UNLOCK, asks("Done."), pace=0.0)
    assert record["latency_ms"] < 5_000
    assert all("latency_ms" not in event for event in events(record) if event["actor"] != "agent")


def test_a_gap_of_the_world_behind_a_users_tool_is_neither_pass_nor_fail(stage: Stage) -> None:
    gap = tool({"unrecorded": "spoil"})
    turns = [{**TURNS[1], "say": "{status_bar}"}]
    user = {**USER, "tools": {**PHONE, "status_bar": gap}, "turns": turns}
    record = stage.play(dual(user), TALK[0])
    assert record["termination"] == "world_gap"
    assert acted(record) == [("simulated_user", "status_bar")]
    found = verdict(dual(user), record, own=True)
    assert (found.passed, found.infrastructure) == (None, True)


def test_a_script_talks_to_a_user_with_tools(tmp_path: Any) -> None:
    turns = [
        {"messages": ["Please turn airplane mode off."]},
        {"calls": [{"tool": "unlock"}]},
        {"messages": ["All set."]},
    ]
    record = follow(tmp_path, dual(), *turns)
    again = follow(tmp_path, dual(), *turns)
    assert record == again
    assert acted(record)[0] == ("simulated_user", "airplane_mode")
    assert record["termination"] == "user_stop"


# check --------------------------------------------------------------------------------------------


def problems(user: dict[str, Any] | None = None, **fields: Any) -> str:
    return "\n".join(f"{path}: {text}" for path, text in episode_problems(dual(user, **fields)))


def test_the_user_of_the_examples_is_refused_by_nothing() -> None:
    assert problems() == ""
    whole = {"schema": "reviewer/episode@1", "episode_id": "e", "user": USER}
    assert faults_of(whole, Episode) == []
    assert list(soundness_problems({"e": dual()}, None)) == []


def turned(**turn: Any) -> dict[str, Any]:
    return {**USER, "turns": [{"id": "one", "say": "Hm.", **turn}]}


@pytest.mark.parametrize(
    ("user", "fields", "words"),
    [
        (USER, {"contract": {"required": ["status_bar"]}},
         "$.user.tools.status_bar: is a tool of the agent too (`status_bar`)"),
        ({**USER, "tools": {**PHONE, "lookUp": PHONE["status_bar"]}}, {},
         "$.user.tools.lookUp: is a tool of the agent too (`look_up`)"),
        (USER, {"contract": {"of_user": ["unlock"]}},
         "$.tools.of_user[0]: is a tool of the agent too"),
        (turned(calls=[{"tool": "unlock"}]), {}, "`unlock` is not a tool of this user"),
        (turned(calls=[{"tool": "airplane_mode", "arguments": {"of": 1}}]), {},
         "`airplane_mode` has no argument `of`"),
        (turned(calls=[{"tool": "airplane_mode"}]), {},
         "lacks `on`, which `airplane_mode` requires"),
        (turned(calls=[{"tool": "airplane_mode", "arguments": {"on": True}}]), {},
         "an agent that does nothing would have it done"),
        (turned(when={"called": ["status_bar"]}, calls=[{"tool": "reseat_sim"}]), {},
         "an agent that does nothing would have it done"),
        (turned(when={"saw": {"unlock": "x"}}), {}, "`unlock` is not a tool of this user"),
        (turned(say="{status_bar}"), {}, "may have no answer yet"),
        (turned(calls=[{"tool": "status_bar"}] * 3, times=9, say=None), {},
         "could make 27 calls before the user says anything, and it may make 16"),
        ({**USER, "facts": {"status_bar": {"value": "x"}}}, {}, "would stand for both"),
    ],
)  # fmt: skip
def test_tools_of_a_user_that_could_not_work_are_refused(
    user: dict[str, Any], fields: dict[str, Any], words: str
) -> None:
    assert words in problems(user, **fields)


@pytest.mark.parametrize("world", ["toolkit", "server", "container"])
def test_a_users_tools_need_a_simulated_world(world: str) -> None:
    of = Episode(episode_id="e", user=USER, simulator={world: "x:Y"})
    assert any("need simulated tools" in text for _, text in episode_problems(of))


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ({"kind": "person", "goals": [{"id": "a", "asks": "b"}], "tools": PHONE},
         "a person has no tools"),
        (turned(say=None), "must say something or make a call"),
        (turned(say=None, calls=[{"tool": "status_bar"}], end="satisfied"), "says nothing"),
        ({**USER, "tools": {"x": {"fixed": 1}}}, "responses"),
    ],
)  # fmt: skip
def test_a_user_of_the_wrong_shape_is_refused(user: dict[str, Any], words: str) -> None:
    found = faults_of({"episode_id": "e", "user": user}, Episode)
    assert any(words in f"{fault.where} {fault.reason}" for fault in found)


def test_an_end_that_only_the_user_can_bring_about_can_be_met() -> None:
    lonely = dual({**USER, "tools": {"status_bar": PHONE["status_bar"]}, "turns": TURNS[3:]})
    found = list(soundness_problems({"e": lonely}, None))
    assert any("no attempt could pass" in problem.reason for problem in found)


# a user that a model plays ------------------------------------------------------------------------

USED = {"prompt_tokens": 100, "completion_tokens": 10}
OFF = chat_call('{"on": false}', "off", "airplane_mode")
LOOK = chat_call("{}", "look", "status_bar")
BYE = chat_call("{}", "bye", "end_conversation")
ONLINE = {"id": "online", "asks": "be online again", "words": ["online"]}


async def model_talk(
    monkeypatch: pytest.MonkeyPatch, answers: list[dict[str, Any]], *turns: Turn
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    environment(monkeypatch)
    stage = Stage(monkeypatch)
    async with serving(*map(answer, answers)) as server:
        runner = {"kind": "openai-chat", "base_url": server.url, "model": "user-model"}
        prices = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0}
        user = {"kind": "model", "goals": [ONLINE], "tools": PHONE, "runner": runner,
                "prices": prices}  # fmt: skip
        done = await asyncio.to_thread(stage.finish, dual(user), *(turns or TALK[1:]))
    return believed(done), server.bodies


def called(*calls: Any, text: str | None = None) -> dict[str, Any]:
    return chat(text, list(calls), usage=USED)


def told(record: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["code"], one["severity"]) for one in record["source"]["user"]["faults"]]


async def test_a_model_acts_before_it_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [called(OFF, LOOK, text="Let me see."), chat("I am online again.", usage=USED),
               called(BYE, text="Bye.")]  # fmt: skip
    record, bodies = await model_talk(monkeypatch, answers)
    assert acted(record) == [
        ("simulated_user", "airplane_mode"),
        ("simulated_user", "status_bar"),
        ("agent", "unlock"),
    ]
    assert [event["message"] for event in events(record, "message")] == [
        "Turn airplane mode off, please.",
        "I am online again.",
        "All set.",
        "Bye.",
    ]
    assert (record["termination"], told(record)) == ("user_stop", [])
    assert verdict(dual(), record, own=True).passed is True
    assert record["source"]["simulated_user"]["model_calls"] == 3
    assert record["source"]["simulated_user"]["usage"]["input_tokens"] == 300
    offered = [spec["function"]["name"] for spec in bodies[0]["tools"]]
    assert offered == ["end_conversation", "status_bar", "airplane_mode", "reseat_sim"]
    assert "unlock" not in json.dumps(bodies), "a tool of the agent"
    answered = [one for one in bodies[1]["messages"] if one["role"] == "tool"]
    assert [(one["tool_call_id"], one["content"]) for one in answered] == [
        ("off", "done"),
        ("look", '{"device.airplane":"off","device.sim":"missing"}'),
    ]


async def test_an_end_beside_a_call_waits_for_words(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [called(OFF, BYE), chat("I am online again."), called(BYE)]
    record, bodies = await model_talk(monkeypatch, answers)
    answered = {one["tool_call_id"]: one["content"] for one in bodies[1]["messages"]
                if one["role"] == "tool"}  # fmt: skip
    assert answered["off"] == "done"
    assert answered["bye"].startswith("Not ended")
    assert record["termination"] == "user_stop"


async def test_words_beside_a_call_are_said_where_none_follow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = [called(OFF, text="I am online again."), chat(None), called(BYE)]
    record, _ = await model_talk(monkeypatch, answers)
    assert events(record, "message")[1]["message"] == "I am online again."


@pytest.mark.parametrize(
    ("call_of_it", "code", "severity"),
    [
        (chat_call("{}", "a", "fly"), "user:unknown_tool:fly", "hindered"),
        (chat_call('{"on": 3}', "a", "airplane_mode"), "user:invalid_call:airplane_mode",
         "hindered"),
        (chat_call("{", "a", "airplane_mode"), "user:invalid_call:airplane_mode", "hindered"),
        (chat_call("{}", "a", "reseat_sim"), "user:failed_call:reseat_sim", "minor"),
    ],
)  # fmt: skip
async def test_what_a_model_calls_wrongly_is_its_error(
    monkeypatch: pytest.MonkeyPatch, call_of_it: Any, code: str, severity: str
) -> None:
    record, _ = await model_talk(
        monkeypatch, [called(call_of_it), chat("I am online again."), called(BYE)]
    )
    assert (code, severity) in told(record)
    assert record["termination"] == ("user_error" if severity == "hindered" else "user_stop")
    found = verdict(dual(), record, own=True)
    assert found.infrastructure is (severity == "hindered")
    assert not any(code.startswith("user_call:") for code in found.codes())


async def test_a_call_that_nobody_asked_for_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [called(OFF), chat("I am online again."), called(BYE)]
    record, _ = await model_talk(monkeypatch, answers, asks("How can I help?"), *TALK[2:])
    assert ("user:acted_unasked:airplane_mode", "helped") in told(record)
    assert record["termination"] == "user_error"


async def test_a_tool_that_the_agent_named_spoils_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an agent could have each attempt made again that goes wrong."""
    answers = [called(chat_call("{}", "a", "fly")), chat("I am online again."), called(BYE)]
    record, _ = await model_talk(monkeypatch, answers, asks("Call fly, please."), *TALK[2:])
    assert told(record) == [("user:unknown_tool:fly", "minor")]
    assert record["termination"] == "user_stop"


async def test_a_model_that_goes_on_calling_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    record, bodies = await model_talk(monkeypatch, [called(*[LOOK] * 4)] * 20)
    assert len(events(record)) == 16
    assert len(bodies) == 5
    assert record["termination"] == "user_error"
    assert ("user:too_many_calls", "hindered") in told(record)


async def test_a_looping_user_does_not_save_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    steals = Turn((call("airplane_mode", on=True),))
    record, _ = await model_talk(monkeypatch, [called(*[LOOK] * 17)], steals, *TALK[1:])
    assert record["termination"] == "user_error"
    found = verdict(dual(), record, own=True)
    assert (found.critical, found.passed) == (True, False)


def test_a_models_tool_may_not_be_its_own_end() -> None:
    tools = {"end_conversation": PHONE["status_bar"]}
    assert "the tool by which a model ends" in problems({"kind": "model", "tools": tools})
