"""An agent of smolagents as a candidate: `"entry": "with_smolagents:run"`."""

from smolagents import LiteLLMModel, Tool, ToolCallingAgent

MODEL = None  # a model of smolagents; LiteLLMModel, where it stays None
NAME = "gpt-5-mini"


def run(user_request, tools, call):
    offered = {spec["name"] for spec in tools} | {"final_answer"}

    def tool(spec):
        members = spec["parameters"].get("properties", {})
        needed = spec["parameters"].get("required", ())

        class Offered(Tool):
            skip_forward_signature_validation = True
            name, description, output_type = spec["name"], spec["description"] or "-", "object"
            inputs = {  # noqa: RUF012 (smolagents reads it of the class)
                key: {
                    "type": one.get("type", "any"),
                    "description": one.get("description", key),
                    **({} if key in needed else {"nullable": True}),
                }
                for key, one in members.items()
            }

            def forward(self, **arguments):
                return call(spec["name"], arguments)["content"]

        return Offered()

    model = MODEL or LiteLLMModel(NAME)
    agent = ToolCallingAgent([tool(spec) for spec in tools], model, max_tool_threads=1)
    answer = None
    for step in agent.run(user_request, stream=True):
        message = getattr(step, "model_output_message", None)
        for made in (message.tool_calls or ()) if message is not None else ():
            if made.function.name not in offered:  # the framework refuses it by itself
                arguments = made.function.arguments
                call(made.function.name, arguments if isinstance(arguments, dict) else {})
        answer = getattr(step, "output", answer)
    total = agent.monitor.get_total_token_counts()
    call.total(input_tokens=total.input_tokens, output_tokens=total.output_tokens)
    return str(answer)
