"""A run in shards against the same run in one store: time, memory, and whether reports are equal.

`python benchmarks/shards.py [--shards N] [--attempts N]`: a suite of 99 episodes, a scripted
candidate, `--attempts` in each shard. Every command is a process of its own, one after the other.
The clock is stopped, since a report says when its suite was registered; nothing else may differ.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

SHIPPED, CANDIDATE, SUITE = "refund-eval-v5", "refund-agent-v8", "sharded"
COPIES = 33
STOPPED = (
    "import sys; from reviewer.desk.imports import importing;"
    "importing._written = lambda second: '2026-11-27T09:00:00Z';"
    "from reviewer.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


class Cost(NamedTuple):
    """Wall seconds, CPU seconds and the most memory (MB) of a command."""

    wall: float
    cpu: float
    memory: float


def suite_at(folder: Path, attempts: int) -> None:
    """Make the suite: copies of the shipped episodes, and a candidate that knows them."""
    from reviewer.suite.freeze import freeze

    shutil.copytree(HERE.parent / "suites" / SHIPPED, folder)
    for left in ("suite.lock", "suite.sha256", "power.json"):
        (folder / left).unlink(missing_ok=True)
    for left in (".frozen", "traces", "labels", "judgments"):
        shutil.rmtree(folder / left)
    (folder / "candidates/refund-agent-v7.json").unlink()
    (folder / "candidates/scripts/refund-agent-v7.json").unlink()
    manifest = folder / f"candidates/{CANDIDATE}.json"
    script = folder / f"candidates/scripts/{CANDIDATE}.json"
    suite, plans = json.loads((folder / "suite.json").read_bytes()), json.loads(script.read_bytes())
    names = []
    for name in suite["episodes"]:
        path = folder / f"episodes/{name}.json"
        episode, plan = json.loads(path.read_bytes()), plans["episodes"].pop(name)
        path.unlink()
        for n in range(COPIES):
            names.append(f"{name}-{n:03}")
            copy = {**episode, "episode_id": names[-1]}
            path.with_name(f"{names[-1]}.json").write_text(json.dumps(copy))
            plans["episodes"][names[-1]] = plan
    suite.pop("predecessor")
    suite |= {"suite_id": SUITE, "episodes": names}
    suite["policy"]["attempts"] = attempts
    (folder / "suite.json").write_text(json.dumps(suite))
    script.write_text(json.dumps(plans))
    from reviewer.suite.strict_json import sha256_hex

    held = json.loads(manifest.read_bytes())
    held["runner"]["script_sha256"] = sha256_hex(script.read_bytes())
    manifest.write_text(json.dumps(held))
    freeze(folder)


def command(workspace: Path, *words: object) -> Cost:
    """Run one command to its end."""
    argv = [sys.executable, "-c", STOPPED, "--workspace", str(workspace), *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    began = time.perf_counter()
    with subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 10), (words, process.returncode)
    return Cost(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def told(what: str, *costs: Cost) -> None:
    wall, cpu = sum(one.wall for one in costs), sum(one.cpu for one in costs)
    memory = max(one.memory for one in costs)
    print(f"| {what} | {len(costs)} | {wall:.1f} | {cpu:.1f} | {memory:.0f} |", flush=True)


def measured(folder: Path, shards: int, attempts: int) -> list[str]:
    """Make both stores and return the names of the reports that differ."""
    from reviewer.desk.place import make

    whole = -(-attempts * shards // (3 * COPIES))
    first = folder / "whole"
    make(first, example=False)
    suite_at(first / "suites" / SUITE, whole)

    def place(name: str) -> Path:
        make(folder / name, example=False)
        shutil.copytree(first / "suites" / SUITE, folder / name / "suites" / SUITE)
        return folder / name

    parts = [place(f"part-{number}") for number in range(1, shards + 1)]
    merged = place("merged")
    print(f"{3 * COPIES * whole:,} attempts, {3 * COPIES} episodes, {shards} shards\n")
    print("| | commands | s | CPU s | most MB |\n|---|---|---|---|---|")
    run = ("--quiet", "run", SUITE, CANDIDATE)
    told(
        "run --shard, all",
        *(command(p, *run, "--shard", f"{n}/{shards}", "--resume") for n, p in enumerate(parts, 1)),
    )
    told("merge, all", *(command(merged, "--quiet", "merge", p / "store/review.db") for p in parts))
    twice = command(merged, "--quiet", "merge", parts[0] / "store/review.db")
    told("merge of the first again", twice)
    told("run without shards", command(first, *run))
    report = ("--suite", SUITE, "--candidate", CANDIDATE, "--format", "json,md,html,junit")
    for name, at in (("one run", first), ("merged", merged)):
        told(f"report, {name}", command(at, "--quiet", "--export-report", at / "out", *report))
    names = sorted(path.name for path in (first / "out").iterdir())
    pairs = {name: (first / "out" / name, merged / "out" / name) for name in names}
    return [name for name, (a, b) in pairs.items() if a.read_bytes() != b.read_bytes()]


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--shards", type=int, default=8)
    given.add_argument("--attempts", type=int, default=10_000, help="in each shard, about")
    asked = given.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        differing = measured(Path(folder), asked.shards, asked.attempts)
    print(f"\nreports that differ: {', '.join(differing) or 'none'}")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
