"""A Pydantic AI agent as a candidate: `"entry": "with_pydantic_ai:run"`."""

from pydantic_ai import Agent, Tool, capture_run_messages
from pydantic_ai.messages import ToolCallPart

MODEL = "openai:gpt-5-mini"
INSTRUCTIONS = "Help the customer, and use the tools."


async def run(user_request, tools, call):
    offered, seen = {spec["name"] for spec in tools}, set()

    async def attempted(messages):
        """Tell of calls of tools that were not offered: the framework refuses them by itself."""
        for part in (part for message in messages for part in message.parts):
            if not isinstance(part, ToolCallPart) or part.tool_name in offered:
                continue
            if part.tool_call_id not in seen:
                seen.add(part.tool_call_id)
                await call(part.tool_name, part.args_as_dict())

    def tool(spec):
        async def go(ctx, **arguments):
            await attempted(ctx.messages)
            return (await call(spec["name"], arguments))["content"]

        own = spec["name"], spec["description"], spec["parameters"]
        return Tool.from_schema(go, *own, takes_ctx=True, sequential=True)

    agent = Agent(MODEL, instructions=INSTRUCTIONS, tools=[tool(spec) for spec in tools])
    with capture_run_messages() as messages:
        try:
            result = await agent.run(user_request)
        finally:
            await attempted(messages)
    usage = result.usage() if callable(result.usage) else result.usage
    call.total(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    return result.output
