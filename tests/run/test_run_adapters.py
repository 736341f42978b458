"""The adapters of docs/examples/adapters, each with its framework and a model that is made up.

A framework runs where it is installed: beside reviewer, or in `$REVIEWER_TEST_ENVIRONMENTS/NAME`, a
virtual environment of its own. Nothing leaves the machine.
"""

import importlib.util
import os
import textwrap
from pathlib import Path

import pytest
from run_guests import BRIEF, PRICES, answers, closing, task, workspace, written

from reviewer.running.candidates.program import PythonCandidate
from reviewer.running.model import CandidateFault, Turn
from reviewer.running.record import Meter, OwnClock

ADAPTERS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "adapters"

PYDANTIC_AI = """
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import RequestUsage
    def answer(messages, info):
        made = [p for m in messages for p in m.parts if isinstance(p, ToolCallPart)]
        usage = RequestUsage(input_tokens=100, output_tokens=10)
        if len(made) < 2:
            name = ("look", "peek")[len(made)]
            given = GARBLED if GARBLED and not made else {"at": "table"}
            return ModelResponse(parts=[ToolCallPart(name, given)], usage=usage)
        usage = RequestUsage(output_tokens=10) if SILENT else usage
        return ModelResponse(parts=[TextPart("done")], usage=usage)
    adapter.MODEL = FunctionModel(answer)
"""

OPENAI_AGENTS = """
    from agents import Model, ModelResponse, Usage, set_tracing_disabled
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage
    from openai.types.responses import ResponseOutputText
    set_tracing_disabled(True)
    class Fake(Model):
        made = 0
        async def get_response(self, *args, **named):
            self.made += 1
            if self.made < 3 - (not PEEK):
                out = ResponseFunctionToolCall(type="function_call", call_id=f"c{self.made}",
                    name=("look", "peek")[self.made - 1],
                    arguments=GARBLED if GARBLED and self.made == 1 else '{"at": "table"}')
            else:
                text = ResponseOutputText(type="output_text", text="done", annotations=[])
                out = ResponseOutputMessage(id="m", type="message", role="assistant",
                    status="completed", content=[text])
            usage = Usage(requests=1, input_tokens=100, output_tokens=10, total_tokens=110)
            usage = Usage() if SILENT and self.made == 1 else usage
            return ModelResponse(output=[out], usage=usage, response_id=None)
        def stream_response(self, *args, **named):
            raise NotImplementedError
    adapter.MODEL = Fake()
"""

LANGGRAPH = """
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    class Fake(GenericFakeChatModel):
        def bind_tools(self, tools, **named):
            return self
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    def called(n, name):
        calls = [{"name": name, "args": {"at": "table"}, "id": f"c{n}"}]
        return AIMessage("", tool_calls=calls, usage_metadata=usage)
    done = AIMessage("done", usage_metadata=None if SILENT else usage)
    said = [called(1, "look"), called(2, "peek"), done]
    if GARBLED:
        garbled = {"type": "invalid_tool_call", "name": "look", "args": GARBLED, "id": "g",
            "error": None}
        said = [AIMessage("", invalid_tool_calls=[garbled], usage_metadata=usage)]
    adapter.MODEL = Fake(messages=iter(said))
"""

SMOLAGENTS = """
    from smolagents import ChatMessage, ChatMessageToolCall, Model, TokenUsage
    from smolagents.models import ChatMessageToolCallFunction, MessageRole
    class Fake(Model):
        made = 0
        def generate(self, messages, **named):
            self.made += 1
            steps = [("look", {"at": "table"}), ("peek", {"at": "table"}),
                     ("final_answer", {"answer": "done"})]
            name, arguments = steps[min(self.made, 3) - 1]
            arguments = GARBLED if GARBLED and self.made == 1 else arguments
            made = ChatMessageToolCall(id=f"c{self.made}", type="function",
                function=ChatMessageToolCallFunction(name=name, arguments=arguments))
            usage = TokenUsage(input_tokens=100, output_tokens=10)
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[made],
                token_usage=None if SILENT and self.made == 1 else usage)
    adapter.MODEL = Fake()
"""

GOOGLE_ADK = """
    from google.adk.models import BaseLlm, LlmResponse
    from google.genai import types
    class Fake(BaseLlm):
        made: int = 0
        async def generate_content_async(self, request, stream=False):
            self.made += 1
            if self.made < 3 - (not PEEK):
                name = ("look", "peek")[self.made - 1]
                call = types.FunctionCall(name=name, args={"at": "table"}, id=f"c{self.made}")
                part = types.Part(function_call=call)
            else:
                part = types.Part(text="done")
            usage = types.GenerateContentResponseUsageMetadata(
                prompt_token_count=100, candidates_token_count=10)
            content = types.Content(role="model", parts=[part])
            usage = None if SILENT and self.made == 1 else usage
            yield LlmResponse(content=content, usage_metadata=usage)
    adapter.MODEL = Fake(model="fake")
"""

FRAMEWORKS = {
    "pydantic_ai": ("pydantic_ai", PYDANTIC_AI, True),
    "openai_agents": ("agents", OPENAI_AGENTS, False),
    "langgraph": ("langgraph", LANGGRAPH, True),
    "smolagents": ("smolagents", SMOLAGENTS, True),
    "google_adk": ("google.adk", GOOGLE_ADK, True),
}
"""Name → its package, its made-up model, and whether it goes on after a call of a tool that was not
offered."""


def test_every_adapter_is_tried() -> None:
    assert {path.stem for path in ADAPTERS.glob("*.py")} == {f"with_{name}" for name in FRAMEWORKS}


def interpreter(name: str, package: str) -> dict[str, str]:
    """The members of a runner that say where a framework is."""
    folder = os.environ.get("REVIEWER_TEST_ENVIRONMENTS", "")
    place = Path(folder) / name
    if folder and place.is_dir():
        return {"python": str(place)}
    try:
        here = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        here = None
    if here is None:
        pytest.skip(f"{package} is not installed")
    return {}


async def turns(
    folder: Path, name: str, peek: bool, garbled: str = "", silent: bool = False, more: str = ""
) -> tuple[list[Turn], str]:
    """All turns of an attempt, and how it ended otherwise than by its final message. The first call
    has `garbled` as its arguments; `silent`: one answer tells no tokens."""
    package, model, _ = FRAMEWORKS[name]
    runner = {"kind": "python", "entry": "guest:run", **interpreter(name, package)}
    suite = workspace(folder)
    adapter = (ADAPTERS / f"with_{name}.py").read_text(encoding="utf-8")
    written(suite / "candidates" / f"with_{name}.py", adapter)
    head = f"import with_{name} as adapter\nPEEK = {peek}\nGARBLED = {garbled!r}\n"
    head += f"SILENT = {silent}\n"
    text = head + textwrap.dedent(model) + textwrap.dedent(more) + "\nrun = adapter.run\n"
    written(suite / "candidates" / "guest.py", text)
    made: list[Turn] = []
    async with closing(PythonCandidate(task(suite, runner, prices=PRICES))) as candidate:
        try:
            made.append(await candidate.begin(BRIEF))
            while made[-1].calls:
                status = "denied" if made[-1].calls[0].tool == "peek" else "ok"
                contents = [{"lamp": "broken"} for _ in made[-1].calls]
                made.append(await candidate.proceed(answers(made[-1], *contents, status=status)))
        except CandidateFault as fault:
            return made, fault.text
    return made, ""


@pytest.mark.nightly
@pytest.mark.parametrize("name", FRAMEWORKS)
async def test_a_framework_runs_and_its_tokens_count(name: str, tmp_path: Path) -> None:
    """Those that go on after a call of a tool that was not offered make it as well."""
    goes_on = FRAMEWORKS[name][2]
    made, ended = await turns(tmp_path, name, goes_on)
    assert ended == ""
    asked = [(call.tool, call.arguments) for turn in made for call in turn.calls]
    wanted = [("look", {"at": "table"}), ("peek", {"at": "table"})]
    assert asked == (wanted if goes_on else wanted[:1])
    assert made[-1].message == "done"
    meter = Meter(OwnClock())
    for turn in made:
        meter.add(turn)
    turned = 3 if goes_on else 2
    assert meter.usage() == {"input_tokens": 100 * turned, "output_tokens": 10 * turned,
                             "cached_input_tokens": None}  # fmt: skip
    assert meter.cost_usd() == pytest.approx(turned * 0.0003)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in FRAMEWORKS if not FRAMEWORKS[name][2]])
async def test_a_call_that_ends_the_framework_reaches_the_broker(name: str, tmp_path: Path) -> None:
    made, ended = await turns(tmp_path, name, True)
    assert ended
    assert [call.tool for turn in made for call in turn.calls] == ["look", "peek"]


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in FRAMEWORKS if name != "google_adk"])
async def test_a_call_whose_arguments_are_not_json_reaches_the_broker(
    name: str, tmp_path: Path
) -> None:
    """As text, which the broker refuses. The models of Google's ADK parse arguments themselves."""
    made, _ = await turns(tmp_path, name, FRAMEWORKS[name][2], garbled='{"at": "tab')
    first = made[0].calls[0]
    assert first.tool == "look"
    assert first.problem


@pytest.mark.nightly
@pytest.mark.parametrize("name", FRAMEWORKS)
async def test_tokens_that_one_answer_does_not_tell_are_not_measured(
    name: str, tmp_path: Path
) -> None:
    made, ended = await turns(tmp_path, name, FRAMEWORKS[name][2], silent=True)
    assert ended == ""
    assert made[-1].message == "done"
    assert made[-1].total is None


ARRANGED = {
    "langgraph": """
        def agent(model, tools, **named):
            from langchain.agents import create_agent
            below = create_agent(model, tools)
            async def helper(task: str) -> str:
                "Helps."
                said = await below.ainvoke({"messages": [("user", task)]})
                return str(said["messages"][-1].text)
            return create_agent(model, [helper])
        adapter.create_agent = agent
        adapter.OWN = {"helper"}
        task = [{"name": "helper", "args": {"task": "look"}, "id": "c0"}]
        said[:0] = [AIMessage("", tool_calls=task, usage_metadata=usage)]
        said.append(said[-1])
        adapter.MODEL = Fake(messages=iter(said))
    """,
    "google_adk": """
        class Lead(Fake):
            async def generate_content_async(self, request, stream=False):
                call = types.FunctionCall(name="transfer_to_agent", args={"agent_name": "worker"})
                content = types.Content(role="model", parts=[types.Part(function_call=call)])
                usage = types.GenerateContentResponseUsageMetadata(
                    prompt_token_count=200, candidates_token_count=20)
                yield LlmResponse(content=content, usage_metadata=usage)
        def agent(**named):
            from google.adk.agents import LlmAgent
            below = LlmAgent(**{**named, "name": "worker"})
            return LlmAgent(name="candidate", model=Lead(model="lead"), sub_agents=[below])
        adapter.LlmAgent = agent
    """,
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", ARRANGED)
async def test_what_sub_agents_call_and_use_is_heard(name: str, tmp_path: Path) -> None:
    """Their calls of tools that were not offered, and their tokens; a handoff is no such call."""
    made, ended = await turns(tmp_path, name, True, more=ARRANGED[name])
    assert ended == ""
    assert [call.tool for turn in made for call in turn.calls] == ["look", "peek"]
    assert made[-1].total is not None
    assert made[-1].total[:2] == (500, 50)
