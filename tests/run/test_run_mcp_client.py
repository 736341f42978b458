"""Agents with the client of the official MCP SDK, run by `reviewer run`: the broker, the gates and
the caps are those of any other candidate."""

import sys
from typing import Any

import pytest
from doors import Door
from lamps import EPISODE, SUITE_ID, Lamp

pytest.importorskip("mcp")

AGENT = """\
import asyncio, json, sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


def door():
    with open(sys.argv[1]) as file:
        server = json.load(file)["mcpServers"]["ep"]
    if server["type"] == "stdio":
        return StdioServerParameters(command=server["command"], args=server["args"])
    client = httpx2.AsyncClient(headers=server["headers"])
    return streamable_http_client(server["url"], http_client=client)


async def main():
    request = sys.stdin.read()
    async with Client(door()) as client:
        tools = (await client.list_tools()).tools
        assert request == "My lamp is broken.", request
        for name in sys.argv[2:]:
            assert name in [tool.name for tool in tools] or name == "pay", tools
            seen = await client.call_tool(name, {})
            told = seen.structured_content if not seen.is_error else seen.content[0].text
            print(name, told)
    print(json.dumps({"result": "It is mended.", "usage": {"in": 1000, "out": 100}}))


asyncio.run(main())
"""
PRICES = {"input_usd_per_million_tokens": 2.0, "output_usd_per_million_tokens": 10.0}


def ran(lamp: Lamp, *calls: str, options: tuple[str, ...] = (), **runner: Any) -> str:
    """One attempt of the agent that makes these calls; its trace, as the store shows it."""
    program = lamp.agent.with_name("mcp_agent.py")
    program.write_text(AGENT, encoding="utf-8")
    command = [sys.executable, "./lamp/mcp_agent.py", "{mcp_config}", *calls]
    lamp.manifest("by-mcp", kind="mcp", command=command, **runner)
    lamp.run("--attempts", "1", *options, candidate="by-mcp")
    return lamp.door.ok("show", f"{SUITE_ID}/by-mcp/lamp/1").out


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_sdk_s_client_finds_the_tools_and_mends_the_lamp(door: Door, transport: str) -> None:
    more: dict[str, Any] = {"network": True} if transport == "http" else {}
    options = ("--network",) if transport == "http" else ()
    text = ran(Lamp(door), "fix", options=options, transport=transport, **more)
    assert "verdict pass" in text, text
    assert "fix is required, called" in text
    assert "{'done': True}" in text
    assert "cost not measured" in text


def test_a_call_of_a_tool_that_is_not_offered_is_denied_and_judged(door: Door) -> None:
    text = ran(Lamp(door), "pay", "fix")
    assert "pay denied" in text, text
    assert "gate authority: critical FAIL" in text
    assert "fix ok" in text


def test_a_cap_ends_the_agent(door: Door) -> None:
    text = ran(Lamp(door), "fix", "fix", "fix", "fix", max_turns=2)
    assert "ended max_turns" in text, text
    assert "steps 2" in text


@pytest.mark.parametrize(("rule", "status"), [("allow", "ok"), ("deny", "denied")])
def test_an_approval_is_asked_for_as_of_any_candidate(door: Door, rule: str, status: str) -> None:
    tools = {**EPISODE["tools"], "approvals": ["fix"]}
    lamp = Lamp(door, episode={**EPISODE, "tools": tools})
    text = ran(lamp, "fix", options=("--approve", rule))
    assert f"fix {status}" in text, text


def test_its_tokens_are_its_cost_where_the_manifest_says_where_they_stand(door: Door) -> None:
    places = {"message": "/result", "input_tokens": ["/usage/in"], "output_tokens": ["/usage/out"]}
    text = ran(Lamp(door), output={"form": "json", **places}, prices=PRICES)
    assert "cost $0.003" in text, text
    assert "message by agent: It is mended." in text
