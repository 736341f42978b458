"""The tools that attempts are offered: the whole toolset, alike in every episode of a suite."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_builders import (
    ANY,
    ONE,
    TOOLS,
    Puppet,
    Stage,
    believed,
    call,
    episode,
    events,
    said,
    statuses,
    task,
    tool,
    verdict,
)

from reviewer.running import attempt as attempts
from reviewer.running.attempt import run_attempt
from reviewer.running.model import Offer, ToolSpec, Turn, Unrunnable
from reviewer.running.offer import offer_of, offered
from reviewer.suite.model import Episode
from reviewer.suite.toolset import Toolset, equipped

SIMULATED = {
    name: {member: value for member, value in told.items() if member != "parameters"}
    for name, told in TOOLS.items()
}


def toolset(*names: str, **more: Any) -> Toolset:
    """A toolset of these tools, each behaving as in TOOLS."""
    listed = [
        {
            "name": name,
            "description": f"About {name}.",
            "parameters": TOOLS[name]["parameters"],
            "simulator": None if more.get("toolkit") else SIMULATED[name],
        }
        for name in names
    ]
    return msgspec.convert({"tools": listed, **more}, Toolset)


def plain(tools: Mapping[str, Any] | None = None, **fields: Any) -> Episode:
    """An episode that simulates only these tools."""
    simulator = {"tools": dict(tools)} if tools else None
    return msgspec.structs.replace(episode(**fields), simulator=simulator)


def played(
    monkeypatch: pytest.MonkeyPatch, of: Episode, tools: Toolset | None, *turns: Any
) -> tuple[Puppet, dict[str, Any]]:
    puppet = Puppet(turns)
    monkeypatch.setattr(attempts, "adapter_for", lambda task: puppet)
    made = task(equipped(of, tools), offer=offer_of([of], tools))
    return puppet, believed(asyncio.run(run_attempt(made)))


def names(puppet: Puppet) -> list[str]:
    assert puppet.brief is not None
    return [spec.name for spec in puppet.brief.tools]


# toolset.json -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "contract",
    [{}, {"forbidden": ["pay", "look"]}, {"allowed": []}, {"allowed": ["check"]}],
)
def test_the_whole_toolset_is_offered_in_its_order(
    monkeypatch: pytest.MonkeyPatch, contract: dict[str, Any]
) -> None:
    listed = toolset("pay", "write", "look", "check")
    puppet, _ = played(monkeypatch, plain(contract=contract), listed, said())
    assert names(puppet) == ["pay", "write", "look", "check"]
    assert puppet.brief is not None
    assert puppet.brief.tools[1] == ToolSpec("write", "About write.", ONE)


def test_an_episode_offers_no_tool_that_its_session_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    of = plain(contract={"absent": ["write"]})
    listed = toolset("pay", "write", "look")
    puppet, record = played(monkeypatch, of, listed, Turn((call("write", id="x"),)), said())
    assert names(puppet) == ["pay", "look"]
    assert statuses(record) == [("write", "denied")]


def test_a_tool_behaves_as_the_toolset_says_unless_the_episode_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = plain({"look": {"responses": {"fixed": "here"}}})
    turn = Turn((call("look"), call("write", id="x"), call("write", wrong=1)))
    _, record = played(monkeypatch, of, toolset("look", "write"), turn, said())
    look, write, wrong = events(record)
    assert look["observation"] == "here"
    assert (write["status"], record["final_state"]["label"]) == ("ok", "created")
    assert wrong["status"] == "error"


def test_a_listed_tool_that_no_world_has_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    of = plain({"look": {"responses": {"fixed": 1}}})
    bare = msgspec.structs.replace(toolset("look", "pay").tools[1], simulator=None)
    listed = Toolset(tools=(toolset("look").tools[0], bare))
    with pytest.raises(Unrunnable, match=r"toolset\.json lists pay, which this world"):
        played(monkeypatch, of, listed, said())


def test_a_toolkit_is_behind_every_episode_that_names_none() -> None:
    listed = toolset("look", toolkit="shop:Shop")
    assert equipped(plain(), listed).simulator == {"toolkit": "shop:Shop"}
    own = msgspec.structs.replace(plain(), simulator={"toolkit": "mine:Own"})
    assert equipped(own, listed) is own


# without it ---------------------------------------------------------------------------------------


def test_a_suite_without_one_offers_every_tool_that_some_episode_simulates() -> None:
    first = plain({"b": tool(description="Says b."), "c": tool()})
    second = plain({"a": tool(), "b": tool(description="Not this agent's to call.")})
    offer = offer_of([first, second], None)
    assert offer == Offer(
        (ToolSpec("a", "", ANY), ToolSpec("b", "Says b.", ANY), ToolSpec("c", "", ANY))
    )


def test_a_tool_of_another_episode_is_offered_and_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    puppet = Puppet([Turn((call("pay"), call("look"))), said()])
    monkeypatch.setattr(attempts, "adapter_for", lambda task: puppet)
    mine = plain({"look": TOOLS["look"]})
    offer = offer_of([mine, plain(TOOLS)], None)
    record = believed(asyncio.run(run_attempt(task(mine, offer=offer))))
    assert names(puppet) == ["check", "look", "pay", "write"]
    assert [event["observation"] for event in events(record)] == [
        {"error": "pay is not available"},
        {"seen": True},
    ]


def test_a_toolkits_own_tools_are_offered_too() -> None:
    offer = offer_of([plain({"b": tool()})], None)
    own = (ToolSpec("c", "Own.", ANY), ToolSpec("a", "Own.", ANY))
    assert list(offered(offer, plain(), own)) == ["a", "b", "c"]


_NAMES = st.lists(st.sampled_from(sorted(TOOLS)), unique=True)


@given(forbidden=_NAMES, allowed=_NAMES | st.none(), required=_NAMES, simulate=st.booleans())
def test_nothing_offered_depends_on_the_contract(
    forbidden: list[str], allowed: list[str] | None, required: list[str], simulate: bool
) -> None:
    contract = {"forbidden": forbidden, "allowed": allowed, "required": required}
    of = episode(contract=contract, on_forbidden="simulate" if simulate else "deny")
    own = [ToolSpec(name, "", ANY) for name in TOOLS]
    for listed in (toolset("write", "pay"), None):
        offer = offer_of([of], listed)
        assert offered(offer, of, own) == offered(offer_of([episode()], listed), episode(), own)


# on_forbidden -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contract", "code"),
    [({"forbidden": ["pay"]}, "forbidden:pay"), ({"allowed": ["look"]}, "not_allowed:pay")],
)
@pytest.mark.parametrize(("rule", "status"), [("deny", "denied"), ("simulate", "ok")])
def test_a_call_that_the_contract_does_not_allow_is_critical_denied_or_carried_out(
    monkeypatch: pytest.MonkeyPatch, contract: dict[str, Any], code: str, rule: str, status: str
) -> None:
    stage = Stage(monkeypatch)
    of = episode(contract=contract, on_forbidden=rule)
    record = stage.play(of, Turn((call("pay"), call("sudo"))), said())
    assert statuses(record) == [("pay", status), ("sudo", "denied")]
    assert record["final_state"]["money"] == ("gone" if rule == "simulate" else "there")
    found = verdict(of, record)
    assert found.passed is False
    assert (code, "critical", "authority") in [
        (one.code, one.severity, one.gate) for one in found.findings
    ]


def test_an_argument_that_the_schema_refuses_does_not_reach_a_forbidden_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(monkeypatch)
    of = episode(contract={"forbidden": ["write"]}, on_forbidden="simulate")
    record = stage.play(of, Turn((call("write", wrong=1),)), said())
    assert statuses(record) == [("write", "error")]
    assert "forbidden:write" in verdict(of, record).codes()
