"""An agent of the OpenAI Agents SDK as a candidate: `"entry": "with_openai_agents:run"`."""

import json

from agents import Agent, FunctionTool, RunHooks, Runner

MODEL = "gpt-5-mini"
INSTRUCTIONS = "Help the customer, and use the tools."
OWN = set()  # tools that are not the episode's: handoffs, agents as tools


def read(arguments):
    """Return arguments as JSON; what is not JSON stays text, which the broker refuses."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


async def run(user_request, tools, call):
    offered, told = {spec["name"] for spec in tools} | OWN, []

    class Attempted(RunHooks):
        """Tells of calls of tools that were not offered: they end the run before any tool sees
        them."""

        async def on_llm_end(self, context, agent, response):
            told.append(response.usage.input_tokens)
            for item in response.output:
                if item.type == "function_call" and item.name not in offered:
                    await call.many([(item.name, read(item.arguments))])

    def tool(spec):
        async def go(ctx, arguments):
            (answer,) = await call.many([(spec["name"], read(arguments))])
            return json.dumps(answer["content"])

        return FunctionTool(
            name=spec["name"], description=spec["description"], on_invoke_tool=go,
            params_json_schema=spec["parameters"], strict_json_schema=False,
        )  # fmt: skip

    agent = Agent(
        name="candidate", model=MODEL, instructions=INSTRUCTIONS, tools=[tool(s) for s in tools]
    )
    result = await Runner.run(agent, user_request, hooks=Attempted())
    if result.interruptions:
        raise RuntimeError("the run waits for a person: approvals are the episode's")
    if told and all(told):  # else the cost is not measured
        usage = result.context_wrapper.usage
        call.total(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    return str(result.final_output)
