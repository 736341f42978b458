"""An agent of Google's ADK as a candidate: `"entry": "with_google_adk:run"`."""

from google.adk.agents import LlmAgent
from google.adk.plugins import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import BaseTool
from google.genai import types

MODEL = "gemini-2.5-flash"
INSTRUCTIONS = "Help the customer, and use the tools."
OWN = {"transfer_to_agent"}  # tools that are not the episode's, such as agents as tools


async def run(user_request, tools, call):
    offered, used, silent = {spec["name"] for spec in tools} | OWN, [0, 0], []

    class Offered(BaseTool):
        def __init__(self, spec):
            super().__init__(name=spec["name"], description=spec["description"])
            self._parameters = spec["parameters"]

        def _get_declaration(self):
            return types.FunctionDeclaration(
                name=self.name, description=self.description,
                parameters_json_schema=self._parameters,
            )  # fmt: skip

        async def run_async(self, *, args, tool_context):
            content = (await call(self.name, args))["content"]
            return content if isinstance(content, dict) else {"result": content}

    class Heard(BasePlugin):
        """Hears every answer of every agent, those of sub-agents as well."""

        async def after_model_callback(self, *, callback_context, llm_response):
            if llm_response.partial:
                return
            usage = llm_response.usage_metadata
            if usage is not None:
                used[0] += usage.prompt_token_count or 0
                used[1] += (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
            else:
                silent.append(llm_response)
            for part in (llm_response.content and llm_response.content.parts) or ():
                made = part.function_call
                if made is not None and made.name not in offered:  # the framework refuses it
                    await call(made.name, dict(made.args or {}))

    agent = LlmAgent(
        name="candidate", model=MODEL, instruction=INSTRUCTIONS,
        tools=[Offered(spec) for spec in tools],
    )  # fmt: skip
    runner = InMemoryRunner(agent=agent, app_name="candidate", plugins=[Heard(name="heard")])
    session = await runner.session_service.create_session(app_name="candidate", user_id="user")
    asked = types.Content(role="user", parts=[types.Part(text=user_request)])
    last = ""
    async for event in runner.run_async(user_id="user", session_id=session.id, new_message=asked):
        if event.is_final_response() and event.content:
            last = "".join(part.text or "" for part in event.content.parts or ())
    if not silent:  # else the cost is not measured
        call.total(input_tokens=used[0], output_tokens=used[1])
    return last
