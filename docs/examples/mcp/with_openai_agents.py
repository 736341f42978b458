"""An agent of the OpenAI Agents SDK as an `mcp` candidate: `"command": ["/venv/bin/python",
"./NAME/with_openai_agents.py", "{mcp_config}"]`."""

import asyncio
import json
import sys

from agents import Agent, RunHooks, Runner
from agents.mcp import MCPServerStdio

MODEL = "gpt-5-mini"
INSTRUCTIONS = "Help the customer, and use the tools."
OWN = set()  # tools that are not the episode's: handoffs, agents as tools


def read(arguments):
    """Return arguments as an object: MCP has no others."""
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        given = None
    return given if isinstance(given, dict) else {}


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        server = json.load(file)["mcpServers"]["ep"]
    place = {"command": server["command"], "args": server["args"]}
    async with MCPServerStdio(params=place, client_session_timeout_seconds=600) as desk:
        offered, told = {tool.name for tool in await desk.list_tools()} | OWN, []

        class Attempted(RunHooks):
            """Makes calls of tools that were not offered: they end the run before any tool sees
            them."""

            async def on_llm_end(self, context, agent, response):
                told.append(response.usage.input_tokens)
                for item in response.output:
                    if item.type == "function_call" and item.name not in offered:
                        await desk.call_tool(item.name, read(item.arguments))

        agent = Agent(name="agent", model=MODEL, instructions=INSTRUCTIONS, mcp_servers=[desk])
        result = await Runner.run(agent, sys.stdin.read(), hooks=Attempted())
    if result.interruptions:
        raise RuntimeError("the run waits for a person: approvals are the episode's")
    said = {"message": str(result.final_output)}
    if told and all(told):  # else the cost is not measured
        usage = result.context_wrapper.usage
        said |= {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    print(json.dumps(said))


if __name__ == "__main__":
    asyncio.run(main())
