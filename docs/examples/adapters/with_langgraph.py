"""A LangChain agent on LangGraph as a candidate: `"entry": "with_langgraph:run"`."""

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool

MODEL = "openai:gpt-5-mini"
INSTRUCTIONS = "Help the customer, and use the tools."


async def run(user_request, tools, call):
    offered = {spec["name"] for spec in tools}

    def tool(spec):
        async def go(**arguments):
            return (await call(spec["name"], arguments))["content"]

        return StructuredTool.from_function(
            coroutine=go, name=spec["name"], description=spec["description"],
            args_schema=spec["parameters"],
        )  # fmt: skip

    agent = create_agent(MODEL, [tool(spec) for spec in tools], system_prompt=INSTRUCTIONS)
    said = []
    # Message by message, so that what was called is known even where the run breaks off.
    async for state in agent.astream({"messages": [("user", user_request)]}, stream_mode="values"):
        for message in state["messages"][len(said) :]:
            said.append(message)
            for made in message.tool_calls if isinstance(message, AIMessage) else ():
                if made["name"] not in offered:  # the framework refuses it by itself
                    await call(made["name"], made["args"])
    usages = [m.usage_metadata for m in said if isinstance(m, AIMessage)]
    if usages and all(usages):  # else nothing is stated, and the cost is not measured
        call.total(
            input_tokens=sum(usage["input_tokens"] for usage in usages),
            output_tokens=sum(usage["output_tokens"] for usage in usages),
        )
    return said[-1].text if isinstance(said[-1].text, str) else said[-1].text()
