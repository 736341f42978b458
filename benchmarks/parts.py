"""CPU of an import's parts in µs a trace: `python benchmarks/parts.py [--traces N] [--times N]`.

Judging, writing and indexing follow one another in this process, on the same functions that the
processes of an import call: judged groups are kept encoded, as they travel, then written, then what
was written is indexed. The floor (`floor.py`) is run in between. Of each the least counts.
"""

import argparse
import gc
import hashlib
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import corpus  # noqa: E402
import floor  # noqa: E402

from reviewer.db.connection import close_writer  # noqa: E402
from reviewer.db.schema import open_writer  # noqa: E402
from reviewer.db.search import catch_up  # noqa: E402
from reviewer.desk.imports import importing  # noqa: E402
from reviewer.desk.place import Workspace  # noqa: E402
from reviewer.importing.pipeline import pool  # noqa: E402
from reviewer.importing.pipeline.scoring import ImportOptions, Order, Scorer  # noqa: E402
from reviewer.importing.pipeline.split import blocks, lines_of  # noqa: E402
from reviewer.suite.folder import read_suite  # noqa: E402

Judged = list[tuple[bytes, int]]
PARTS = ("floor", "judge", "writer", "digest of the file", "index")


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    gc.disable()
    began = time.process_time()
    found = work()
    spent = time.process_time() - began
    gc.enable()
    return spent, found


def judged(judge: Scorer, traces: Path) -> Judged:
    """Every group as a judging process returns it, with the offset behind it."""
    found = []
    for start, end in blocks(traces, pool.BLOCK):
        with traces.open("rb") as handle:
            found.append((pool._encode(judge.group(lines_of(handle, start, end))), end))
    return found


class Before:
    """A pool of which every group was judged before."""

    groups: Judged

    def __init__(self, *_: object) -> None:
        pass

    def __enter__(self) -> "Before":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        waiting: deque[tuple[Future[bytes], int]] = deque()
        for raw, end in self.groups:
            waiting.append((Future(), end))
            waiting[-1][0].set_result(raw)
        number = 1
        while waiting:
            number, group, end = pool._next(waiting, number)
            yield group, end


def imported(workspace: Path, traces: Path) -> None:
    done = importing.import_paths(
        Workspace(workspace), [traces], ImportOptions(), lambda *_: lambda *_: None, lambda _: None
    )
    assert all(one.state == "imported" for one in done.results), done


def written_and_indexed(template: Path, folder: Path, traces: Path) -> tuple[float, float, int]:
    workspace = folder / "now"
    shutil.copytree(template, workspace)
    wrote, _ = cpu(lambda: imported(workspace, traces))
    store = workspace / "store" / "review.db"
    before = store.stat().st_size
    connection = open_writer(store)
    listed, _ = cpu(lambda: catch_up(connection, store))
    close_writer(connection, store)
    grown = store.stat().st_size - before
    shutil.rmtree(workspace)
    return wrote, listed, grown


def run_floor(traces: Path, database: Path) -> None:
    floor.run(str(traces), str(database))
    for left in database.parent.glob(f"{database.name}*"):
        left.unlink()


def digest_of(traces: Path) -> str:
    with traces.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def measure(folder: Path, count: int, times: int) -> tuple[dict[str, float], float]:
    """Least µs a trace of each part, and bytes a trace of the index."""
    template, traces, one = folder / "fresh", folder / "traces.jsonl", folder / "one.jsonl"
    corpus.workspace(template)
    corpus.write_traces(traces, count)
    with traces.open("rb") as lines:
        one.write_bytes(lines.readline())
    imported(template, one)  # modules, the suite's registration, the store
    importing.INLINE_EVENTS = -1  # what is indexed is indexed afterwards
    pool.ScoringPool, pool.worth_processes = Before, lambda size: size > 1 << 20  # type: ignore
    suite = read_suite(template / "suites" / corpus.SUITE).suite
    judge = Scorer(Order((suite,), ImportOptions(), "native", str(traces)))
    found: dict[str, list[float]] = {name: [] for name in PARTS}
    grown = 0
    for _ in range(times):
        found["floor"].append(cpu(lambda: run_floor(traces, folder / "floor.db"))[0])
        spent, Before.groups = cpu(lambda: judged(judge, traces))
        found["judge"].append(spent)
        wrote, listed, grown = written_and_indexed(template, folder, traces)
        hashed, _ = cpu(lambda: digest_of(traces))
        found["writer"].append(wrote - hashed)
        found["digest of the file"].append(hashed)
        found["index"].append(listed)
    return {name: min(spent) / count * 1e6 for name, spent in found.items()}, grown / count


def told(parts: dict[str, float], size: float) -> str:
    whole = parts["judge"] + parts["writer"] + parts["digest of the file"]
    lines = ["| CPU of | µs a trace | ÷ floor |", "|---|---|---|"]
    lines += [f"| {name} | {us:.1f} | {us / parts['floor']:.2f} |" for name, us in parts.items()]
    lines += ["", f"index ÷ import: {parts['index'] / whole:.2f}; {size:,.0f} bytes a trace"]
    return "\n".join(lines)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--traces", type=int, default=20_000)
    given.add_argument("--times", type=int, default=3)
    asked = given.parse_args()
    with tempfile.TemporaryDirectory(prefix="reviewer-parts-") as name:
        print(told(*measure(Path(name), asked.traces, asked.times)))


if __name__ == "__main__":
    main()
