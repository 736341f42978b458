"""Reading a log of Inspect AI, against the tool's own `read_eval_log`.

    python benchmarks/readers_inspect.py [--python PYTHON] [--samples N] [--rounds R] [LOG ...]

Without logs, one of N samples in two epochs is written by Inspect itself with a mock model, as
`.eval` and as `.json`. Without `--python` (an interpreter that has inspect-ai) a virtual
environment is made for it. Ours is the reader alone: every trace of the log made, none stored.
Both are timed inside their process, after its imports, alternately; the least of each counts. CPU
seconds are those of the process with the processes it started, the peak is that of the largest.
As in an import, cycles are not looked for while ours reads.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

THEIRS = """
import json, resource, sys, time
from inspect_ai.log import read_eval_log
started, worked = time.perf_counter(), time.process_time()
log = read_eval_log(sys.argv[1])
took, worked = time.perf_counter() - started, time.process_time() - worked
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([took, worked, peak, len(log.samples or [])]))
"""

WRITE = """
import sys
from inspect_ai import Task, eval
from inspect_ai.approval import ApprovalPolicy, auto_approver
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatCompletionChoice, ChatMessageAssistant, ModelOutput, ModelUsage, get_model,
)
from inspect_ai.scorer import includes
from inspect_ai.solver import basic_agent
from inspect_ai.tool import ToolCall, tool
from inspect_ai.util import store

@tool
def note():
    async def execute(text: str):
        '''Keep a note.

        Args:
          text: the note
        '''
        store().set("notes", [*store().get("notes", []), text])
        return text * 20
    return execute

def say(messages, tools, choice, config):
    n = sum(one.role == "assistant" for one in messages)
    call = ("note", {"text": f"step {n} of the work"}) if n < 6 else ("submit", {"answer": "42"})
    made = [ToolCall(id=f"call-{n}", function=call[0], arguments=call[1])]
    said = ChatMessageAssistant(content=f"Step {n}.", tool_calls=made, source="generate")
    turn = ChatCompletionChoice(message=said, stop_reason="tool_calls")
    usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
    return ModelOutput(model="mock", choices=[turn], usage=usage)

folder, count = sys.argv[1], int(sys.argv[2])
samples = [Sample(id=n, input=f"What is {n} + 1?", target="42") for n in range(count)]
for form in ("eval", "json"):
    task = Task(name="desk", dataset=samples, solver=basic_agent(tools=[note()]),
                scorer=includes(), approval=[ApprovalPolicy(auto_approver(), "*")], epochs=2)
    eval(task, model=get_model("mockllm/model", custom_outputs=say, memoize=False),
         log_dir=folder, log_format=form, display="none")
"""


def ours(path: str) -> list[float]:
    """[seconds, CPU seconds, peak MB, samples] of reading a log here."""
    sys.path.insert(0, str(HERE.parent))
    from reviewer.importing.formats.inspect_ai.reader import InspectReader
    from reviewer.importing.pipeline.pool import steady
    from reviewer.importing.reader import Foreign
    from reviewer.importing.source import Source

    started, worked = time.perf_counter(), time.process_time()
    with steady():
        made = sum(isinstance(one, Foreign) for one in InspectReader().traces(Source(Path(path))))
    took, worked = time.perf_counter() - started, time.process_time() - worked
    own, others = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    worked += others.ru_utime + others.ru_stime
    return [took, worked, max(own.ru_maxrss, others.ru_maxrss) / 1024, made]


def told(command: list[str]) -> list[float]:
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def environment(folder: Path) -> str:
    """The interpreter of a new virtual environment that has inspect-ai."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin/python")
    subprocess.run([python, "-m", "pip", "install", "-q", "inspect-ai"], check=True)
    return python


def compare(path: Path, python: str, rounds: int) -> None:
    mine, theirs = [], []
    for _ in range(rounds):
        mine.append(told([sys.executable, __file__, "--ours", str(path)]))
        theirs.append(told([python, "-c", THEIRS, str(path)]))
    took, worked, peak, made = map(min, zip(*mine, strict=True))
    their_took, their_work, their_peak, held = map(min, zip(*theirs, strict=True))
    if made != held:
        sys.exit(f"{path.name}: {made:.0f} traces of {held:.0f} samples")
    print(
        f"{path.name[-60:]}: {path.stat().st_size / 1e6:.1f} MB, {made:.0f} samples; "
        f"ours {took:.2f} s, CPU {worked:.2f} s, {peak:.0f} MB; read_eval_log {their_took:.2f} s, "
        f"CPU {their_work:.2f} s, {their_peak:.0f} MB; {their_took / took:.1f} and in CPU "
        f"{their_work / worked:.1f} times as fast"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", nargs="*", type=Path)
    parser.add_argument("--python", help="an interpreter that has inspect-ai")
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ours", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.ours:
        print(json.dumps(ours(asked.ours)))
        return
    with tempfile.TemporaryDirectory() as folder:
        python = asked.python or environment(Path(folder, "venv"))
        logs = asked.logs
        if not logs:
            written = Path(folder, "logs")
            subprocess.run([python, "-c", WRITE, str(written), str(asked.samples)], check=True)
            logs = sorted(written.iterdir())
        for path in logs:
            compare(path, python, asked.rounds)


if __name__ == "__main__":
    main()
