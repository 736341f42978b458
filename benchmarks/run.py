"""Every figure of RESULTS.md in one command: `python benchmarks/run.py [--quick]`.

All work is done in a temporary folder. Runs that are compared are run alternately, and the least
of each is the figure to trust: whatever else the machine does can only add.
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import corpus  # noqa: E402
from first_paint import first_paint  # noqa: E402

REVIEWER = [sys.executable, "-m", "reviewer"]
FLOOR = [sys.executable, str(HERE / "floor.py")]
# Byte code is written, as it is for an installed package.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT["PYTHONPATH"] = str(HERE.parent)
MB = 1 << 20


class Run(NamedTuple):
    """One process with all it waited for: seconds, and the most memory any one of them held."""

    wall: float
    cpu: float
    peak_mb: float


def timed(command: list[str]) -> Run:
    started = time.perf_counter()
    process = subprocess.Popen(
        command, env=ENVIRONMENT, cwd=HERE.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    told = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} left with {process.returncode}: {told.decode()[-500:]}")
    peak = used.ru_maxrss / (1 if sys.platform == "darwin" else 1024)
    return Run(wall, used.ru_utime + used.ru_stime, peak if sys.platform != "darwin" else peak / MB)


def end_indexing(workspace: Path) -> None:
    """An import leaves a process behind that fills the full text; it would slow the next run."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
            if b"_index" in words and str(workspace).encode() in words:
                os.kill(int(entry.parent.name), signal.SIGTERM)
        except (OSError, ProcessLookupError):
            continue


@contextmanager
def prepared(template: Path, workspace: Path) -> Iterator[Path]:
    """A workspace copied from `template`, and what its import left running ended."""
    shutil.copytree(template, workspace)
    try:
        yield workspace
    finally:
        end_indexing(workspace)
        time.sleep(0.3)
        shutil.rmtree(workspace)


def importing(workspace: Path, traces: Path) -> list[str]:
    return [*REVIEWER, "--workspace", str(workspace), "--quiet", "import", str(traces)]


def row(name: str, runs: list[Run], base: list[Run] | None, size: int) -> str:
    walls, cpus = [r.wall for r in runs], [r.cpu for r in runs]
    cells = [
        name,
        f"{min(walls):.2f}",
        f"{statistics.median(walls):.2f}",
        f"{min(cpus):.2f}",
        f"{size / 1e6 / min(walls):.0f}",
        f"{max(r.peak_mb for r in runs):.0f}",
    ]
    if base is None:
        cells += ["1.00", "1.00", "1.00"]
    else:
        cells.append(f"{min(walls) / min(r.wall for r in base):.2f}")
        cells.append(f"{statistics.median(walls) / statistics.median(r.wall for r in base):.2f}")
        cells.append(f"{min(cpus) / min(r.cpu for r in base):.2f}")
    return "| " + " | ".join(cells) + " |"


def import_table(folder: Path, count: int, repeat: int) -> None:
    fresh = corpus.workspace(folder / "fresh")
    one = folder / "one.jsonl"
    traces = folder / "traces.jsonl"
    events = corpus.write_traces(traces, count)
    size = traces.stat().st_size
    lines = traces.open("rb")
    with lines:
        one.write_bytes(lines.readline())
    used = folder / "used"
    shutil.copytree(fresh, used)
    timed(importing(used, one))
    kinds: dict[str, list[Run]] = {"floor": [], "import": [], "first import": []}
    stored = 0
    for _ in range(repeat):
        database = folder / "floor.db"
        kinds["floor"].append(timed([*FLOOR, str(traces), str(database)]))
        for left in folder.glob("floor.db*"):
            left.unlink()
        for name, template in (("import", used), ("first import", fresh)):
            with prepared(template, folder / "now") as workspace:
                kinds[name].append(timed(importing(workspace, traces)))
                end_indexing(workspace)
                stored = (workspace / "store" / "review.db").stat().st_size
    print(f"\n{count:,} traces, {events:,} events, {size / 1e6:.0f} MB of JSONL; n={repeat}\n")
    print("| | wall min s | wall median s | CPU min s | MB/s | peak MB | wall ÷ floor, min "
          "| wall ÷ floor, median | CPU ÷ floor |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for name, runs in kinds.items():
        print(row(name, runs, None if name == "floor" else kinds["floor"], size))
    print(f"\nstore ÷ JSON: {stored / size:.2f}")


def memory_table(folder: Path, counts: list[int]) -> None:
    print("\n| traces | MB of JSONL | wall s | peak MB of any process |\n|---|---|---|---|")
    template = folder / "used"
    for count in counts:
        traces = folder / f"{count}.jsonl"
        corpus.write_traces(traces, count)
        with prepared(template, folder / "now") as workspace:
            found = timed(importing(workspace, traces))
        size = traces.stat().st_size
        traces.unlink()
        print(f"| {count:,} | {size / 1e6:.0f} | {found.wall:.1f} | {found.peak_mb:.0f} |")


def cold_table(folder: Path, repeat: int) -> None:
    demo = folder / "demo"
    timed([*REVIEWER, "demo", "--headless", "--keep", str(demo)])
    report = [
        *REVIEWER, "--workspace", str(demo), "--export-report", str(folder / "report"),
        "--suite", "refund-eval-v5", "--candidate", "refund-agent-v8",
    ]  # fmt: skip
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "reviewer --help": [*REVIEWER, "--help"],
        "--export-report --format json": [*report, "--format", "json"],
        "--export-report, every format": report,
    }
    found: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(repeat):
        for name, command in commands.items():
            found[name].append(timed(command))
    bare = found["python -c pass"]
    print("\n| | wall min ms | wall median ms | CPU min ms | × bare, wall min | × bare, CPU min |")
    print("|---|---|---|---|---|---|")
    for name, runs in found.items():
        wall, cpu = min(r.wall for r in runs), min(r.cpu for r in runs)
        middle = statistics.median(r.wall for r in runs)
        times = f"{wall / min(r.wall for r in bare):.1f} | {cpu / min(r.cpu for r in bare):.1f}"
        print(f"| {name} | {wall * 1e3:.0f} | {middle * 1e3:.0f} | {cpu * 1e3:.0f} | {times} |")
    paint_table(demo, repeat)


def paint_table(demo: Path, repeat: int) -> None:
    screens: dict[str, Callable[[], float]] = {
        "a Textual app of one line": lambda: first_paint(
            [sys.executable, str(HERE / "first_paint.py")], b"first paint", ENVIRONMENT
        ),
        "reviewer on the demo": lambda: first_paint(
            [*REVIEWER, "--workspace", str(demo)], b"refund-agent", ENVIRONMENT
        ),
    }
    found: dict[str, list[float]] = {name: [] for name in screens}
    for _ in range(repeat):
        for name, screen in screens.items():
            found[name].append(screen())
    least = min(found["a Textual app of one line"])
    print("\n| first paint of | min ms | median ms | × |\n|---|---|---|---|")
    for name, times in found.items():
        middle = statistics.median(times) * 1e3
        print(f"| {name} | {min(times) * 1e3:.0f} | {middle:.0f} | {min(times) / least:.2f} |")


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--quick", action="store_true", help="a fifth of the corpus, fewer runs")
    given.add_argument(
        "--only",
        choices=("import", "memory", "cold", "parts"),
        help="one part (memory needs import)",
    )
    asked = given.parse_args()
    with tempfile.TemporaryDirectory(prefix="reviewer-bench-") as name:
        folder = Path(name)
        timed([*REVIEWER, "--help"])  # byte code
        if asked.only not in ("cold", "parts"):
            import_table(folder, 4_000 if asked.quick else 20_000, 3 if asked.quick else 5)
        if asked.only in (None, "parts"):
            # In a process of its own: it changes how this package imports.
            count, times = ("4000", "2") if asked.quick else ("20000", "3")
            command = [sys.executable, str(HERE / "parts.py"), "--traces", count, "--times", times]
            print(flush=True)
            subprocess.run(command, env=ENVIRONMENT, check=True)
        if asked.only in (None, "memory"):
            memory_table(folder, [4_000, 20_000] if asked.quick else [20_000, 100_000])
        if asked.only in (None, "cold"):
            cold_table(folder, 5 if asked.quick else 15)


if __name__ == "__main__":
    main()
