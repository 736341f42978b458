"""A LangChain agent on LangGraph as an `mcp` candidate: `"command": ["/venv/bin/python",
"./NAME/with_langgraph.py", "{mcp_config}"]`."""

import asyncio
import json
import sys

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

MODEL = "openai:gpt-5-mini"
INSTRUCTIONS = "Help the customer, and use the tools."


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        server = json.load(file)["mcpServers"]["ep"]
    place = {"transport": "stdio", "command": server["command"], "args": server["args"]}
    async with MultiServerMCPClient({"ep": place}).session("ep") as session:
        tools = await load_mcp_tools(session)
        offered = {tool.name for tool in tools}
        agent = create_agent(MODEL, tools, system_prompt=INSTRUCTIONS)
        said = []
        # Message by message, so that what was called is known even where the run breaks off.
        asked = {"messages": [("user", sys.stdin.read())]}
        async for state in agent.astream(asked, stream_mode="values"):
            for message in state["messages"][len(said) :]:
                said.append(message)
                for made in message.tool_calls if isinstance(message, AIMessage) else ():
                    if made["name"] not in offered:  # the framework refuses it by itself
                        await session.call_tool(made["name"], made["args"])
    told = {"message": str(said[-1].text)}
    usages = [m.usage_metadata for m in said if isinstance(m, AIMessage)]
    if usages and all(usages):  # else nothing is stated, and the cost is not measured
        told["input_tokens"] = sum(usage["input_tokens"] for usage in usages)
        told["output_tokens"] = sum(usage["output_tokens"] for usage in usages)
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main())
