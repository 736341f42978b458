"""What a store of more traces costs: `python benchmarks/scale.py [--traces 10000 100000]`.

`--episodes 1000 10000 100000` measures by the number of frozen episodes instead, ten attempts of
each: what a question or a change costs that concerns few of them, with the suite proved and not.

For each number of traces: time, CPU seconds with every process started, the most memory of any one
of them, bytes a trace, and the exponent against the number before (1.0: ten times the traces cost
ten times as much). Two kinds of stores:

  large   8 KB a trace on 200 episodes, imported from JSON lines (`corpus.py`)
  many    1.3 KB a trace, ten attempts of each episode (`workstation_stores.py`)

`floor` opens every pack once and decodes every record, and does nothing with it. A million traces
(`--traces 1000000`) take 12 GB of disk as `large` and 2 GB as `many`.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import corpus  # noqa: E402
import workstation_stores  # noqa: E402
from run import ENVIRONMENT, REVIEWER, end_indexing  # noqa: E402

FINE = (0, 10, 20, 30)
"""Exit codes of a report that was made, whatever it recommends."""


class Cost(NamedTuple):
    """One process with all it waited for."""

    wall: float
    cpu: float
    peak_mb: float


class Store(NamedTuple):
    """A workspace that was filled, and what is asked of it. `cost` is that of filling it by an
    import, where it was."""

    workspace: Path
    suite: str
    candidate: str
    one: Path
    cost: Cost | None


def measured(command: list[str]) -> Cost:
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, env=ENVIRONMENT, cwd=HERE.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    told = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in FINE:
        sys.exit(f"{' '.join(command)} left with {process.returncode}: {told.decode()[-500:]}")
    peak = used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return Cost(wall, used.ru_utime + used.ru_stime, peak)


def reviewer(workspace: Path, *words: object) -> Cost:
    return measured([*REVIEWER, "--workspace", str(workspace), "--quiet", *map(str, words)])


def large(folder: Path, traces: int) -> Store:
    workspace, lines = corpus.workspace(folder / "w"), folder / "traces.jsonl"
    corpus.write_traces(lines, traces)
    cost = reviewer(workspace, "import", lines)
    end_indexing(workspace)
    one = folder / "one.jsonl"
    with lines.open() as all_lines:
        record = json.loads(next(all_lines))
    one.write_text(json.dumps({**record, "candidate_id": "another", "latency_ms": 1.0}))
    lines.unlink()
    return Store(workspace, corpus.SUITE, corpus.CANDIDATE, one, cost)


def many(folder: Path, traces: int) -> Store:
    # A suite's folder holds at most 100,000 files, suite.json among them.
    workspace = workstation_stores.made(folder / "w", min(traces // 10, 99_999))
    suite, one = workstation_stores.Maker.suite_of(workspace), folder / "one.jsonl"
    maker = workstation_stores.Maker(suite, 5)
    one.write_bytes(maker.record(suite.episodes[0].episode_id, "another", 1)[1])
    return Store(workspace, suite.suite_id, workstation_stores.NEWER, one, None)


def untouched(folder: Path, store: Store) -> None:
    """Have the suite proved. What was written within two seconds is not kept."""
    time.sleep(2.5)
    reviewer(store.workspace, "suite", "list")


def proving(folder: Path, store: Store) -> Cost:
    """The first command after the suite was touched."""
    shutil.rmtree(store.workspace / "store" / "proofs", ignore_errors=True)
    return reviewer(store.workspace, "suite", "list")


def figures(folder: Path, store: Store) -> Cost:
    """The first time, after something came in."""
    shutil.rmtree(store.workspace / "store" / "figures", ignore_errors=True)
    return kept_figures(folder, store)


def kept_figures(folder: Path, store: Store) -> Cost:
    release = "--suite", store.suite, "--candidate", store.candidate
    return reviewer(store.workspace, "--json", "scorecard", *release)


def first_answers(folder: Path, store: Store) -> Cost:
    return reviewer(store.workspace, "suite", "list")


KINDS: dict[str, Callable[[Path, int], Store]] = {"large": large, "many": many}


def merged(folder: Path, store: Store) -> Cost:
    into = folder / "m"
    (into / "store").mkdir(parents=True)
    (into / "suites").symlink_to(store.workspace / "suites")
    try:
        return reviewer(into, "merge", store.workspace / "store" / "review.db")
    finally:
        end_indexing(into)
        shutil.rmtree(into)


def imported(folder: Path, store: Store) -> Cost:
    """Import one trace; it is taken away again with the store's copy."""
    into = folder / "i"
    shutil.copytree(store.workspace / "store", into / "store")
    (into / "suites").symlink_to(store.workspace / "suites")
    try:
        return reviewer(into, "import", store.one)
    finally:
        end_indexing(into)
        shutil.rmtree(into)


def report(folder: Path, store: Store) -> Cost:
    release = "--suite", store.suite, "--candidate", store.candidate
    return reviewer(store.workspace, "--export-report", folder / "r", *release, "--format", "json")


def scorecard(folder: Path, store: Store) -> Cost:
    shutil.rmtree(store.workspace / "store" / "figures", ignore_errors=True)
    release = "--suite", store.suite, "--candidate", store.candidate
    return reviewer(store.workspace, "scorecard", *release)


WORK: dict[str, Callable[[Path, Store], Cost]] = {
    "floor": lambda folder, store: measured(
        [sys.executable, str(HERE / "scale.py"), "--floor", str(store.workspace)]
    ),
    "score": lambda folder, store: reviewer(store.workspace, "score"),
    "merge": merged,
    "doctor": lambda folder, store: reviewer(store.workspace, "doctor"),
    "import of one trace": imported,
    "report": report,
    "scorecard": scorecard,
}


PER_EPISODE: dict[str, Callable[[Path, Store], Cost]] = {
    "suite list, proved": first_answers,
    "import of one trace": imported,
    "report": report,
    "scorecard, its figures": figures,
    "scorecard, its figures as they are kept": kept_figures,
    "suite list, proved again": proving,
    "suite check": lambda folder, store: reviewer(store.workspace, "suite", "check", store.suite),
}
"""Each after one that proved the suite, but for the last two, which read all of it."""


def read_all(workspace: Path) -> None:
    """The floor: every pack opened, every record decoded."""
    from reviewer.db import registry
    from reviewer.db.bulk import Packs
    from reviewer.db.connection import reader
    from reviewer.db.payload import decode_record
    from reviewer.db.queries.traces import traces_from

    connection = reader(workspace / "store" / "review.db")
    first, packs = 1, Packs(connection)
    suites = registry.suites(connection)
    held = [one.id for suite in suites for one in registry.candidates(connection, suite.id)]
    while rows := traces_from(connection, held, first, first + 1023):
        for _, raw in packs.records(rows):
            if raw is not None:
                decode_record(raw)
        first += 1024


def least(costs: list[Cost]) -> Cost:
    return Cost(*map(min, zip(*costs, strict=True)))


def measure(
    kind: str, numbers: list[int], runs: int, root: Path, work: dict[str, Callable[..., Cost]]
) -> None:
    before: dict[str, tuple[int, float]] = {}
    for traces in numbers:
        with tempfile.TemporaryDirectory(dir=root) as name:
            folder = Path(name)
            store = KINDS[kind](folder, traces)
            untouched(folder, store)
            size = (store.workspace / "store" / "review.db").stat().st_size
            print(f"\n{kind}: {traces:,} traces, {size / traces:,.0f} bytes a trace in the store\n")
            print("| | wall s | CPU s | CPU µs a trace | peak MB | exponent |")
            print("|---|---|---|---|---|---|")
            # Alternately, so that what else the machine does falls on all alike.
            rounds = [{name: act(folder, store) for name, act in work.items()} for _ in range(runs)]
            costs = {name: least([one[name] for one in rounds]) for name in work}
            if store.cost is not None:
                costs["import of them all"] = store.cost
            for what, cost in costs.items():
                exponent = "–"
                if what in before:
                    fewer, cpu = before[what]
                    exponent = f"{math.log(cost.cpu / cpu) / math.log(traces / fewer):.2f}"
                before[what] = traces, cost.cpu
                each = f"{cost.cpu / traces * 1e6:.1f}"
                figures = f"{cost.wall:.2f} | {cost.cpu:.2f} | {each} | {cost.peak_mb:.0f}"
                print(f"| {what} | {figures} | {exponent} |", flush=True)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--traces", type=int, nargs="+", default=[10_000, 100_000])
    asked.add_argument("--episodes", type=int, nargs="+", help="by frozen episodes")
    asked.add_argument("--kind", choices=[*KINDS, "both"], default="both")
    asked.add_argument("--runs", type=int, default=2)
    asked.add_argument("--folder", type=Path, help="where stores are made (default: temporary)")
    asked.add_argument("--floor", type=Path, help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.floor is not None:
        read_all(given.floor)
        return
    if given.episodes is not None:
        traces = [10 * episodes for episodes in sorted(given.episodes)]
        measure("many", traces, given.runs, given.folder, PER_EPISODE)
        return
    for kind in KINDS if given.kind == "both" else [given.kind]:
        measure(kind, sorted(given.traces), given.runs, given.folder, WORK)


if __name__ == "__main__":
    main()
