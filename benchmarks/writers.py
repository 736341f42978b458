"""What one store gives a team: `python benchmarks/writers.py [--writers 1 2 4 8 16]`.

So many processes write to one store at once: half import files of 40 attempts, half save labels,
each for `--acts` acts as `reviewer import` and the workstation do. For each number: what all of
them write a second while they are at work, and the median, the 95th percentile and the worst of the
time that one act took.
"""

import argparse
import multiprocessing
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests"), str(HERE.parent / "tests" / "faults")]

from doors import SUITE, V7, V8, Door, compact, make_template, many  # noqa: E402
from labelers import drafted  # noqa: E402

from reviewer.desk.desk import Desk  # noqa: E402
from reviewer.desk.place import at  # noqa: E402

ATTEMPTS = 40


def importer(root: Path, who: int, acts: int, start: Any, told: Any) -> None:
    door, took = Door(root), []
    files = []
    for number in range(acts):
        path = root / f"in-{who}-{number}.jsonl"
        records = many(ATTEMPTS, f"cand-{who}", start=ATTEMPTS * number)
        path.write_bytes(b"".join(compact(one) + b"\n" for one in records))
        files.append(path)
    start.wait()
    for path in files:
        begun = time.monotonic()
        door.ok("import", path)
        took.append(time.monotonic() - begun)
    told.put(("attempts", took))


def labeler(root: Path, who: int, acts: int, start: Any, told: Any) -> None:
    desk, took = Desk(at(root), f"person-{who}"), []
    session = desk.labels.session(SUITE, V8)
    first = desk.labels.next_item(session)
    assert first is not None
    start.wait()
    for number in range(acts):
        begun = time.monotonic()
        desk.labels.record(session, drafted(first, "left", note=f"thought {number}"))
        took.append(time.monotonic() - begun)
    desk.close()
    told.put(("labels", took))


def measured(template: Path, root: Path, writers: int, acts: int) -> None:
    shutil.copytree(template, root)
    context = multiprocessing.get_context("fork")
    start, told = context.Barrier(writers + 1), context.Queue()
    jobs = [importer if number % 2 == 0 else labeler for number in range(writers)]
    processes = [
        context.Process(target=job, args=(root, number, acts, start, told))
        for number, job in enumerate(jobs)
    ]
    for one in processes:
        one.start()
    start.wait()
    answers = [told.get() for _ in processes]
    for one in processes:
        one.join()
    for kind, each in (("attempts", ATTEMPTS), ("labels", 1)):
        rate = sum(each * len(times) / sum(times) for what, times in answers if what == kind)
        took = sorted(one for what, times in answers if what == kind for one in times)
        if took:
            at95 = took[int(len(took) * 0.95)]
            print(
                f"| {writers} | {kind} | {rate:,.0f} |"
                f" {statistics.median(took) * 1000:.0f} | {at95 * 1000:.0f} |"
                f" {took[-1] * 1000:.0f} |",
                flush=True,
            )
    held = Door(root).one("SELECT count(*) FROM trace WHERE id > 18")
    assert held == jobs.count(importer) * acts * ATTEMPTS, "an attempt is missing"
    Door(root).healthy()


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--writers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    asked.add_argument("--acts", type=int, default=20)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as name:
        template = Path(name) / "template"
        door = Door(make_template(template))
        for candidate in (V7, V8):
            door.ok("import", template / "suites" / SUITE / "traces" / f"{candidate}.jsonl")
        print("| writers | what | a second | median ms | 95 % ms | worst ms |")
        print("|---|---|---|---|---|---|")
        for writers in given.writers:
            measured(template, Path(name) / f"w{writers}", writers, given.acts)


if __name__ == "__main__":
    main()
