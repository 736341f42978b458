"""smolagents itself writes rows, in each of the ways its harnesses keep steps: read back."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from reviewer.importing.formats.gaia import GaiaReader
from reviewer.importing.reader import Foreign
from reviewer.importing.source import Source

WRITER = '''
import json, sys, time
from datetime import datetime
from smolagents import CodeAgent, ToolCallingAgent, tool
from smolagents.models import (
    ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole, Model,
)
from smolagents.monitoring import TokenUsage

QUESTION = "How much does the lamp weigh?"


@tool
def search(query: str) -> str:
    """Looks something up.

    Args:
        query: What to look up.
    """
    if query == "boom":
        raise ValueError("no such page")
    return f"It's said that {query} weighs \\"5 kg\\"\\nand more"


class Scripted(Model):
    """Plays fixed turns."""

    def __init__(self, *turns):
        super().__init__(model_id="scripted-1")
        self.turns = list(turns)

    def generate(self, messages, **kwargs):
        turn, usage = self.turns.pop(0), TokenUsage(input_tokens=100, output_tokens=10)
        said = {"role": MessageRole.ASSISTANT, "token_usage": usage}
        if isinstance(turn, str):
            return ChatMessage(content=turn, **said)
        name, arguments, number = turn
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id=f"call_{number}", type="function", function=function)
        return ChatMessage(content=f"I will use {name}.", tool_calls=[call], **said)


def calling():
    return ToolCallingAgent(tools=[search], verbosity_level=0, model=Scripted(
        ("search", {"query": "lamp"}, 1),
        ("search", {"query": "boom"}, 2),
        ("final_answer", {"answer": "5"}, 3),
    ))


def coding():
    return CodeAgent(tools=[search], verbosity_level=0, model=Scripted(
        "Thought: look.\\n<code>\\nprint(search('it\\\\'s \\"x\\"'))\\n</code>",
        "no code here",
        "<code>\\nfinal_answer('5')\\n</code>",
    ))


def row(agent, kind, how):
    start = time.time()
    answer = str(agent.run(QUESTION))
    steps = agent.memory.steps
    for step in steps:
        if hasattr(step, "model_input_messages"):
            step.model_input_messages = None
    kept = {
        "texts": lambda: [str(step) for step in steps],
        "text": lambda: str(steps),
        "objects": lambda: [step.dict() for step in steps],
        "messages": lambda: [message.dict() for message in agent.write_memory_to_messages()],
    }[how]()
    counts = agent.monitor.get_total_token_counts()
    return {
        "model_id": "scripted-1", "agent_action_type": kind, "question": QUESTION,
        "original_question": QUESTION, "answer": answer, "true_answer": "5", "source": "GAIA",
        "intermediate_steps": kept, "start_time": start,
        "end_time": datetime.now().strftime("%Y-%m-%d %H:%M:%S"),
        "token_counts": {"input": counts.input_tokens, "output": counts.output_tokens},
    }


with open(sys.argv[1], "w") as out:
    for make, kind in ((calling, "tool-calling"), (coding, "code")):
        for how in ("texts", "text", "objects", "messages"):
            out.write(json.dumps(row(make(), kind, how), default=str) + "\\n")
'''


@pytest.mark.nightly
def test_steps_are_the_same_in_whatever_way_they_were_kept(tmp_path: Path) -> None:
    python = tmp_path / "venv/bin/python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "smolagents"], check=True)
    script, rows = tmp_path / "write.py", tmp_path / "rows.jsonl"
    script.write_text(WRITER)
    subprocess.run([python, script, rows], check=True, cwd=tmp_path, capture_output=True)
    found = list(GaiaReader().traces(Source(rows)))
    assert all(isinstance(one, Foreign) for one in found)
    records = [json.loads(one.raw) for one in found if isinstance(one, Foreign)]
    calls = [
        Counter(event["tool"] for event in record["events"] if event["kind"] == "tool_call")
        for record in records
    ]
    assert len(records) == 8
    assert calls[:3] == [{"search": 2, "final_answer": 1}] * 3
    assert calls[4:] == [{"python_interpreter": 2}] * 4
    assert {record["final_message"] for record in records} == {"5"}
    assert {record["usage"]["input_tokens"] for record in records} == {300}
