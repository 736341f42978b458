"""An agent of the OpenAI Agents SDK as a candidate: `"entry": "with_openai_agents:run"`."""

import json

from agents import Agent, FunctionTool, RunHooks, Runner

MODEL = "gpt-5-mini"
INSTRUCTIONS = "Help the customer, and use the tools."


async def run(user_request, tools, call):
    offered = {spec["name"] for spec in tools}

    class Attempted(RunHooks):
        """Tells of calls of tools that were not offered: they end the run before any tool sees
        them."""

        async def on_llm_end(self, context, agent, response):
            for item in response.output:
                if item.type == "function_call" and item.name not in offered:
                    await call(item.name, json.loads(item.arguments or "{}"))

    def tool(spec):
        async def go(ctx, arguments):
            answer = await call(spec["name"], json.loads(arguments or "{}"))
            return json.dumps(answer["content"])

        return FunctionTool(
            name=spec["name"], description=spec["description"], on_invoke_tool=go,
            params_json_schema=spec["parameters"], strict_json_schema=False,
        )  # fmt: skip

    agent = Agent(
        name="candidate", model=MODEL, instructions=INSTRUCTIONS, tools=[tool(s) for s in tools]
    )
    result = await Runner.run(agent, user_request, hooks=Attempted())
    usage = result.context_wrapper.usage
    call.total(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    return str(result.final_output)
