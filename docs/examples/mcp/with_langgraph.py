"""A LangChain agent on LangGraph as an `mcp` candidate: `"command": ["/venv/bin/python",
"./NAME/with_langgraph.py", "{mcp_config}"]`."""

import asyncio
import json
import sys

from langchain.agents import create_agent
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

MODEL = "openai:gpt-5-mini"
INSTRUCTIONS = "Help the customer, and use the tools."
OWN = set()  # tools that are not the episode's: handoffs, agents as tools, an output's schema


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        server = json.load(file)["mcpServers"]["ep"]
    place = {"transport": "stdio", "command": server["command"], "args": server["args"]}
    async with MultiServerMCPClient({"ep": place}).session("ep") as session:
        tools = await load_mcp_tools(session)
        offered, usages = {tool.name for tool in tools} | OWN, []

        class Heard(AsyncCallbackHandler):
            """Hears every answer of every model, those of sub-agents as well."""

            raise_error = True

            async def on_llm_end(self, response, **named):
                message = response.generations[0][0].message
                usages.append(message.usage_metadata)
                for made in (*message.tool_calls, *message.invalid_tool_calls):
                    if made["name"] not in offered:  # the framework refuses it by itself
                        given = made["args"] if isinstance(made["args"], dict) else {}
                        await session.call_tool(made["name"], given)

        agent = create_agent(MODEL, tools, system_prompt=INSTRUCTIONS)
        asked = {"messages": [("user", sys.stdin.read())]}
        state = await agent.ainvoke(asked, config={"callbacks": [Heard()]})
    if "__interrupt__" in state:
        raise RuntimeError("the run waits for a person: approvals are the episode's")
    told = {"message": str(state["messages"][-1].text)}
    if usages and all(usages):  # else nothing is stated, and the cost is not measured
        told["input_tokens"] = sum(usage["input_tokens"] for usage in usages)
        told["output_tokens"] = sum(usage["output_tokens"] for usage in usages)
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main())
