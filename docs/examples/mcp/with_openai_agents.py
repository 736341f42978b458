"""An agent of the OpenAI Agents SDK as an `mcp` candidate: `"command": ["/venv/bin/python",
"./NAME/with_openai_agents.py", "{mcp_config}"]`."""

import asyncio
import json
import sys

from agents import Agent, RunHooks, Runner
from agents.mcp import MCPServerStdio

MODEL = "gpt-5-mini"
INSTRUCTIONS = "Help the customer, and use the tools."


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        server = json.load(file)["mcpServers"]["ep"]
    place = {"command": server["command"], "args": server["args"]}
    async with MCPServerStdio(params=place, client_session_timeout_seconds=600) as desk:
        offered = {tool.name for tool in await desk.list_tools()}

        class Attempted(RunHooks):
            """Makes calls of tools that were not offered: they end the run before any tool sees
            them."""

            async def on_llm_end(self, context, agent, response):
                for item in response.output:
                    if item.type == "function_call" and item.name not in offered:
                        await desk.call_tool(item.name, json.loads(item.arguments or "{}"))

        agent = Agent(name="agent", model=MODEL, instructions=INSTRUCTIONS, mcp_servers=[desk])
        result = await Runner.run(agent, sys.stdin.read(), hooks=Attempted())
    usage = result.context_wrapper.usage
    told = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    print(json.dumps({"message": str(result.final_output), **told}))


if __name__ == "__main__":
    asyncio.run(main())
