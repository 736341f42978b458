"""Attempts per second of a scripted run, against a bare loop that makes the same calls.

`python benchmarks/runs.py [--attempts N]`: the floor resets the same world and makes the same
calls in one process, and keeps nothing: no broker, no record, no masking, no gates, no store.
"""

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

SUITE, CANDIDATE = "refund-eval-v5", "refund-agent-v8"
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT["PYTHONPATH"] = str(HERE.parent)


def bare(folder: Path, attempts: int) -> tuple[float, float]:
    """Wall and CPU seconds for the calls alone, imports not counted."""
    from reviewer.running.candidates.scripted import Scripted
    from reviewer.running.model import Brief, Slot, Task
    from reviewer.running.world import SimulatedWorld
    from reviewer.suite.candidate import read_candidate
    from reviewer.suite.folder import read_suite
    from reviewer.suite.toolset import equipped

    held = read_suite(folder)
    suite = held.suite
    candidate = read_candidate((folder / "candidates" / f"{CANDIDATE}.json").read_bytes())

    async def all_calls() -> None:
        for episode in (equipped(one, held.toolset) for one in suite.episodes):
            for attempt in range(1, attempts + 1):
                slot = Slot(SUITE, CANDIDATE, episode.episode_id, attempt)
                task = Task(
                    slot=slot, episode=episode, candidate=candidate,
                    redaction=suite.redaction, folder=str(folder),
                )  # fmt: skip
                world, adapter = SimulatedWorld(episode, attempt, "bench"), Scripted(task)
                turn = await adapter.begin(Brief("", ()))
                while turn.calls:
                    for call in turn.calls:
                        await world.call(call.tool, call.arguments)
                    turn = await adapter.proceed([])

    started, used = time.perf_counter(), time.process_time()
    asyncio.run(all_calls())
    return time.perf_counter() - started, time.process_time() - used


def run(workspace: Path, attempts: int, *options: str) -> tuple[float, float]:
    """Wall and CPU seconds of the whole command on a new store, start-up included."""
    for left in (workspace / "store").glob("review.db*"):
        left.unlink()
    command = [
        sys.executable, "-m", "reviewer", "--workspace", str(workspace), "--quiet",
        "run", SUITE, CANDIDATE, "--attempts", str(attempts), *options,
    ]  # fmt: skip
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, used


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--attempts", type=int, default=334, help="per episode, of three")
    given.add_argument("--repeat", type=int, default=3)
    asked = given.parse_args()
    from reviewer.desk.place import make

    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        make(workspace, example=True)
        kinds = {
            "bare loop of the same calls": lambda: bare(
                workspace / "suites" / SUITE, asked.attempts
            ),
            "reviewer run, this process": lambda: run(workspace, asked.attempts),
            "reviewer run, 2 processes": lambda: run(workspace, asked.attempts, "--workers", "2"),
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
        for _ in range(asked.repeat):
            for name, measure in kinds.items():
                found[name].append(measure())
    made = 3 * asked.attempts
    floor = min(cpu for _, cpu in found["bare loop of the same calls"])
    print(f"\n{made:,} scripted attempts; n={asked.repeat}, least of each\n")
    print("| | s | attempts/s | CPU s | CPU × bare loop |\n|---|---|---|---|---|")
    for name, each in found.items():
        least, cpu = min(wall for wall, _ in each), min(cpu for _, cpu in each)
        print(f"| {name} | {least:.2f} | {made / least:,.0f} | {cpu:.2f} | {cpu / floor:.1f} |")


if __name__ == "__main__":
    main()
