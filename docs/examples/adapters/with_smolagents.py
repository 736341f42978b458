"""An agent of smolagents as a candidate: `"entry": "with_smolagents:run"`."""

from smolagents import LiteLLMModel, Tool, ToolCallingAgent

MODEL = None  # a model of smolagents; LiteLLMModel, where it stays None
NAME = "gpt-5-mini"
OWN = {"final_answer"}  # tools that are not the episode's, and managed agents


def run(user_request, tools, call):
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

        return Offered()

    class Candidate(ToolCallingAgent):
        """Makes every call itself: the framework would refuse those of tools that were not offered,
        and those whose arguments do not fit `inputs`."""

        def execute_tool_call(self, tool_name, arguments):
            if tool_name in OWN:
                return super().execute_tool_call(tool_name, arguments)
            return call.many([(tool_name, arguments)])[0]["content"]

    model = MODEL or LiteLLMModel(NAME)
    agent = Candidate([tool(spec) for spec in tools], model, max_tool_threads=1)
    result = agent.run(user_request, return_full_result=True)
    used = result.token_usage
    if used is not None:  # else a step told none, and the cost is not measured
        call.total(input_tokens=used.input_tokens, output_tokens=used.output_tokens)
    return str(result.output)
