"""A LangChain agent on LangGraph as a candidate: `"entry": "with_langgraph:run"`."""

from langchain.agents import create_agent
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.tools import StructuredTool

MODEL = "openai:gpt-5-mini"
INSTRUCTIONS = "Help the customer, and use the tools."
OWN = set()  # tools that are not the episode's: handoffs, agents as tools, an output's schema


async def run(user_request, tools, call):
    offered, usages = {spec["name"] for spec in tools} | OWN, []

    class Heard(AsyncCallbackHandler):
        """Hears every answer of every model, those of sub-agents as well."""

        raise_error = True

        async def on_llm_end(self, response, **named):
            message = response.generations[0][0].message
            usages.append(message.usage_metadata)
            refused = [made for made in message.tool_calls if made["name"] not in offered]
            # The framework refuses these by itself, and those that are not JSON.
            for made in (*refused, *message.invalid_tool_calls):
                await call.many([(made["name"], made["args"])])

    def tool(spec):
        async def go(**arguments):
            return (await call(spec["name"], arguments))["content"]

        return StructuredTool.from_function(
            coroutine=go, name=spec["name"], description=spec["description"],
            args_schema=spec["parameters"],
        )  # fmt: skip

    agent = create_agent(MODEL, [tool(spec) for spec in tools], system_prompt=INSTRUCTIONS)
    asked = {"messages": [("user", user_request)]}
    state = await agent.ainvoke(asked, config={"callbacks": [Heard()]})
    if "__interrupt__" in state:
        raise RuntimeError("the run waits for a person: approvals are the episode's")
    if usages and all(usages):  # else nothing is stated, and the cost is not measured
        call.total(
            input_tokens=sum(usage["input_tokens"] for usage in usages),
            output_tokens=sum(usage["output_tokens"] for usage in usages),
        )
    return str(state["messages"][-1].text)
