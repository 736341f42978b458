"""LangChain messages as langchain-core writes them today."""

import subprocess
import sys
from pathlib import Path

import pytest
from doors import Door

pytestmark = pytest.mark.nightly

SCRIPT = """
import json, sys
from langchain_core.load import dumps
from langchain_core.messages import (
    AIMessage, HumanMessage, SystemMessage, ToolMessage, convert_to_openai_messages,
    messages_to_dict,
)

thread = [
    SystemMessage("Be brief."),
    HumanMessage([{"type": "text", "text": "Where is order A1?"}]),
    AIMessage(
        "Looking.",
        tool_calls=[
            {"name": "get_order", "args": {"id": "A1"}, "id": "c1"},
            {"name": "get_order", "args": {"id": "A2"}, "id": "c2"},
        ],
        usage_metadata={"input_tokens": 11, "output_tokens": 3, "total_tokens": 14},
        response_metadata={"model_name": "fake-2"},
    ),
    ToolMessage("on its way", tool_call_id="c1", name="get_order"),
    ToolMessage("not found", tool_call_id="c2", name="get_order", status="error"),
    AIMessage(
        "",
        invalid_tool_calls=[{"name": "x", "args": "{", "id": "c3", "error": "bad"}],
        usage_metadata={"input_tokens": 20, "output_tokens": 2, "total_tokens": 22},
    ),
    AIMessage("It is on its way."),
]
folder = sys.argv[1]
for name, text in {
    "dict": json.dumps([messages_to_dict(thread)]),
    "dumps": dumps([thread]),
    "openai": json.dumps([convert_to_openai_messages(thread)]),
}.items():
    open(f"{folder}/{name}.json", "w").write(text)
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files that the tool itself wrote, in an environment of its own."""
    folder = tmp_path_factory.mktemp("langchain")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", "langchain-core"], check=True)
    subprocess.run([python, "-c", SCRIPT, folder], check=True)
    return folder


@pytest.mark.parametrize("name", ["dict", "dumps", "openai"])
def test_a_fresh_thread_is_read_back(door: Door, written: Path, name: str) -> None:
    said = door.run("import", written / f"{name}.json")
    assert said.code == 0, said
    rows = door.rows("SELECT kind, tool, status FROM events ORDER BY seq")
    calls = [tool for kind, tool, _ in rows if kind == "tool_call"]
    results = [status for kind, _, status in rows if kind == "tool_result"]
    # A call that the model wrote so that it could not be parsed was attempted all the same; the
    # OpenAI form has no place for it.
    attempted = [] if name == "openai" else ["x"]
    assert calls == ["get_order", "get_order", *attempted]
    assert len(results) == 2
    if name != "openai":  # the OpenAI form has no place for a result's status
        assert results == ["ok", "error"]
        assert door.one("SELECT candidate_id FROM traces") == "fake-2"
    [(trace,)] = door.rows("SELECT trace_id FROM traces")
    assert "It is on its way." in door.ok("show", trace).out
