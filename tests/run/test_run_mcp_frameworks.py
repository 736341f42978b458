"""The scripts of docs/examples/mcp, each with its framework and a model that is made up.

A framework runs where it is installed: beside reviewer, or in `$REVIEWER_TEST_ENVIRONMENTS/NAME`, a
virtual environment of its own. Nothing leaves the machine.
"""

import importlib.util
import os
import sys
import textwrap
from pathlib import Path

import pytest
from run_guests import BRIEF, PRICES, answers, closing, task, workspace, written
from test_run_adapters import LANGGRAPH, OPENAI_AGENTS

from reviewer.running.candidates.mcp import McpCandidate
from reviewer.running.model import CandidateFault, Turn

SCRIPTS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "mcp"
FRAMEWORKS = {
    "langgraph": ("langchain_mcp_adapters", LANGGRAPH, True),
    "openai_agents": ("agents", OPENAI_AGENTS, False),
}
"""Name → its package, its made-up model, and whether it goes on after a call of a tool that was not
offered."""
OUTPUT = {
    "form": "json",
    "message": "/message",
    "input_tokens": ["/input_tokens"],
    "output_tokens": ["/output_tokens"],
}


def test_every_script_is_tried() -> None:
    assert {path.stem for path in SCRIPTS.glob("*.py")} == {f"with_{name}" for name in FRAMEWORKS}


def interpreter(name: str, package: str) -> str:
    place = Path(os.environ.get("REVIEWER_TEST_ENVIRONMENTS", "")) / name / "bin" / "python"
    if os.environ.get("REVIEWER_TEST_ENVIRONMENTS") and place.is_file():
        return str(place)
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    return sys.executable


async def turns(folder: Path, name: str, peek: bool) -> tuple[list[Turn], str]:
    """All turns of an attempt, and how it ended otherwise than by its final message."""
    package, model, _ = FRAMEWORKS[name]
    suite = workspace(folder)
    script = (SCRIPTS / f"with_{name}.py").read_text(encoding="utf-8")
    written(suite / "candidates" / f"with_{name}.py", script)
    head = "import asyncio, os, sys\nsys.path.insert(0, os.path.dirname(__file__))\n"
    head += f"import with_{name} as adapter\nPEEK, GARBLED, SILENT = {peek}, '', False\n"
    text = head + textwrap.dedent(model) + "\nasyncio.run(adapter.main())\n"
    written(suite / "candidates" / "guest.py", text)
    command = [interpreter(name, package), "./guest.py", "{mcp_config}"]
    runner = {"kind": "mcp", "command": command, "output": OUTPUT}
    made: list[Turn] = []
    async with closing(McpCandidate(task(suite, runner, prices=PRICES))) as candidate:
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
async def test_a_framework_runs_over_mcp_and_its_tokens_count(name: str, tmp_path: Path) -> None:
    goes_on = FRAMEWORKS[name][2]
    made, ended = await turns(tmp_path, name, goes_on)
    assert ended == ""
    asked = [call.tool for turn in made for call in turn.calls]
    assert asked == (["look", "peek"] if goes_on else ["look"])
    assert made[-1].message == "done"
    turned = 3 if goes_on else 2
    assert made[-1].total is not None
    assert made[-1].total[:2] == (100 * turned, 10 * turned)
    assert made[-1].total_usd == pytest.approx(turned * 0.0003)


@pytest.mark.nightly
async def test_a_call_that_ends_the_framework_reaches_the_broker(tmp_path: Path) -> None:
    made, ended = await turns(tmp_path, "openai_agents", True)
    assert "ended by exit status" in ended
    assert [call.tool for turn in made for call in turn.calls] == ["look", "peek"]
