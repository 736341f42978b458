"""A Pydantic AI agent as a candidate: `"entry": "with_pydantic_ai:run"`."""

from pydantic_ai import Agent, Tool, capture_run_messages
from pydantic_ai.messages import ModelResponse, ToolCallPart

MODEL = "openai:gpt-5-mini"
INSTRUCTIONS = "Help the customer, and use the tools."
OWN = set()  # tools that are not the episode's, such as the tool of an output's schema


async def run(user_request, tools, call):
    offered, seen = {spec["name"] for spec in tools} | OWN, set()

    async def attempted(messages):
        """Tell of calls of tools that were not offered, and of calls whose arguments are not JSON:
        the framework refuses them by itself."""
        for part in (part for message in messages for part in message.parts):
            if not isinstance(part, ToolCallPart) or part.tool_call_id in seen:
                continue
            seen.add(part.tool_call_id)
            try:
                arguments = part.args_as_dict(raise_if_invalid=True)
            except (ValueError, AssertionError):
                arguments = part.args
            if part.tool_name not in offered or not isinstance(arguments, dict):
                await call.many([(part.tool_name, arguments)])

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
    answers = [message for message in messages if isinstance(message, ModelResponse)]
    if all(answer.usage.input_tokens for answer in answers):  # else the cost is not measured
        usage = result.usage() if callable(result.usage) else result.usage
        call.total(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    return result.output
