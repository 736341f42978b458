"""Importing files of other tools: MB/s and memory by format.

    python benchmarks/formats.py [--only NAME] [--megabytes N] [--times N]

Each format's sample under tests/data is repeated, with other ids, until it has about N megabytes,
and again TIMES that. `loads` is `orjson.loads` of the same bytes (of unpacked entries for an
archive), a line or a file at a time; `reader` makes every trace and stores none; `import` is
`reviewer import` as a process, into a workspace that has a store. Memory must not grow with the
file: the last two columns are the peak of the importing process at both sizes.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "tests" / "data"
sys.path[:0] = [str(HERE), str(HERE.parent)]

from run import end_indexing, importing, timed  # noqa: E402

MB = 1_000_000


def renamed(raw: bytes, ids: list[str], number: int) -> bytes:
    """The same text with each of these ids made another."""
    for one in ids:
        raw = raw.replace(one.encode(), f"{one[:-4]}{number:04x}".encode())
    return raw


def lines(name: str, key: str) -> Callable[[Path, int], None]:
    """A file of JSON lines, `key` of each made unique."""

    def write(folder: Path, size: int) -> None:
        records = [json.loads(line) for line in (DATA / name).read_text().splitlines()]
        with (folder / Path(name).name).open("w") as out:
            number = 0
            while out.tell() < size:
                record = dict(records[number % len(records)])
                record[key] = number if isinstance(record.get(key), int) else f"{key}-{number}"
                out.write(json.dumps(record) + "\n")
                number += 1

    return write


def elements(name: str, member: str, key: str) -> Callable[[Path, int], None]:
    """One document whose array `member` ("" for the document itself) is repeated."""

    def write(folder: Path, size: int) -> None:
        document = json.loads((DATA / name).read_text())
        records = document[member] if member else document
        texts: list[str] = []
        total = number = 0
        while total < size:
            record = records[number % len(records)]
            if isinstance(record, dict):
                record = {
                    **record,
                    key: number if isinstance(record.get(key), int) else f"{key}-{number}",
                }
            texts.append(json.dumps(record))
            total += len(texts[-1])
            number += 1
        body = f"[{','.join(texts)}]"
        if member:
            rest = {name: value for name, value in document.items() if name != member}
            body = f"{json.dumps(rest)[:-1]},{json.dumps(member)}:{body}}}"
        (folder / Path(name).name).write_text(body)

    return write


def files(name: str, *of: str) -> Callable[[Path, int], None]:
    """The same file in one folder after another, the id at path `of` made another."""

    def write(folder: Path, size: int) -> None:
        raw = (DATA / name).read_bytes()
        ids = json.loads(raw)
        for step in of:
            ids = ids[step]
        for number in range(max(1, size // len(raw))):
            place = folder / f"{number // 500}" / f"run-{number}"
            place.mkdir(parents=True)
            stem, dot, rest = Path(name).name.partition(".")
            body = renamed(raw, [ids] if of else [], number)
            unlike = body.replace(b"{", b'{"copy": %d, ' % number, 1)
            (place / f"{stem}-{number}{dot}{rest}").write_bytes(unlike)

    return write


def spans(name: str) -> Callable[[Path, int], None]:
    """Export requests of one trace each, a line each, every trace id another."""

    def write(folder: Path, size: int) -> None:
        raw = json.dumps(json.loads((DATA / name).read_text().splitlines()[0]))
        found = sorted({s for s in _values(json.loads(raw)) if isinstance(s, str)})
        with (folder / "spans.jsonl").open("w") as out:
            number = 0
            while out.tell() < size:
                line = renamed(raw.encode(), found, number).replace(b'"A1"', b'"A1-%d"' % number)
                out.write(line.decode() + "\n")
                number += 1

    return write


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name, one in value.items():
            if name in ("traceId", "spanId", "parentSpanId") and one:
                yield one
            elif name == "value" and isinstance(one, dict) and "stringValue" in one:
                continue
            else:
                yield from _values(one)
    elif isinstance(value, list):
        for one in value:
            yield from _values(one)


def archive(name: str) -> Callable[[Path, int], None]:
    """An Inspect log with its samples repeated under other ids."""

    def write(folder: Path, size: int) -> None:
        with zipfile.ZipFile(DATA / name) as source:
            held = {entry: source.read(entry) for entry in source.namelist()}
        samples = [json.loads(raw) for entry, raw in held.items() if entry.startswith("samples/")]
        with zipfile.ZipFile(folder / "log.eval", "w", zipfile.ZIP_DEFLATED) as out:
            for entry, raw in held.items():
                if entry in ("header.json", "_journal/start.json"):
                    out.writestr(entry, raw)
            total = number = 0
            while total < size:
                sample = {**samples[number % len(samples)], "id": f"task-{number}", "epoch": 1}
                raw = json.dumps(sample).encode()
                out.writestr(f"samples/task-{number}_epoch_1.json", raw)
                total += len(raw)
                number += 1

    return write


def first(*patterns: str) -> str:
    """The largest file of tests/data that matches one of these patterns."""
    found = [path for pattern in patterns for path in DATA.glob(pattern)]
    return str(max(found, key=lambda path: path.stat().st_size).relative_to(DATA))


CASES: dict[str, Callable[[], Callable[[Path, int], None]]] = {
    "tau-bench": lambda: elements("tau_bench/gpt-4o-airline-excerpt.json", "", "task_id"),
    "tau2-bench": lambda: elements(first("tau2/*1trial*.json", "tau2/*.json"), "simulations", "id"),
    "inspect .eval": lambda: archive("inspect/v0.3.41.eval"),
    "inspect .json": lambda: elements("inspect/v0.3.41.json", "samples", "id"),
    "openhands": lambda: lines("openhands/eval_output.jsonl", "instance_id"),
    "swe-agent": lambda: files(first("swe_agent/**/*.traj")),
    "atif": lambda: files("atif/openclaw-nemoflow-smoke__native-openclaw-trajectory.json"),
    "agentbench": lambda: lines(first("agentbench/**/runs.jsonl"), "index"),
    "otlp": lambda: spans(first("otlp/*.jsonl", "otel/*.jsonl", "**/*otlp*.jsonl")),
    "langfuse": lambda: files(first("langfuse/langgraph*.json"), "trace", "id"),
    "openai-chat": lambda: lines("openai_chat/tau2_sft_excerpt.jsonl", "id"),
    "langchain": lambda: elements("langchain/messages_to_dict.json", "", ""),
    "native": lambda: native,
}


def native(folder: Path, size: int) -> None:
    """Our own records of another suite's shape, for comparison."""
    import corpus

    corpus.write_traces(folder / "traces.jsonl", max(1, size // 8100))


FLOOR = """
import sys, time, zipfile, orjson
from pathlib import Path
started, size = time.process_time(), 0
for path in sorted(p for p in Path(sys.argv[1]).rglob("*") if p.is_file()):
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                raw = archive.read(name)
                size += len(raw)
                orjson.loads(raw)
    elif path.suffix == ".jsonl":
        with path.open("rb") as handle:
            for line in handle:
                size += len(line)
                orjson.loads(line)
    else:
        raw = path.read_bytes()
        size += len(raw)
        orjson.loads(raw)
print(time.process_time() - started, size)
"""
READER = """
import sys, time
from pathlib import Path
from reviewer.importing.pipeline.stored_results import gather, in_order
from reviewer.importing.reader import RecordReader
from reviewer.importing.source import Source
from reviewer.importing.pipeline.units import find_units
import reviewer.importing.formats as readers
readers.foreign_readers()
started, count = time.process_time(), 0
units = find_units([Path(sys.argv[1])]).units
joins = gather(units)
for unit in in_order(units):
    source = Source(unit.path, "", unit.companions, joins)
    if isinstance(unit.reader, RecordReader):
        for piece in source.pieces():
            unit.reader.read(piece.raw, "c")
            count += 1
    else:
        for one in unit.reader.traces(source):
            count += 1
print(time.process_time() - started, count)
"""


def seconds(script: str, folder: Path) -> tuple[float, int]:
    """(CPU seconds, count) that a script says of a folder; the least of three."""
    found = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", script, str(folder)],
            env={"PYTHONPATH": str(HERE.parent), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        time_text, count = done.stdout.split()
        found.append((float(time_text), int(count)))
    return min(found)


def imported(folder: Path, template: Path, work: Path) -> tuple[float, float]:
    """(wall seconds, peak MB) of importing a folder into a copy of a workspace."""
    workspace = work / "now"
    shutil.copytree(template, workspace)
    try:
        found = timed(importing(workspace, folder))
        end_indexing(workspace)
        return found.wall, found.peak_mb
    finally:
        time.sleep(0.2)
        shutil.rmtree(workspace, ignore_errors=True)


def made(case: str, folder: Path, size: int) -> None:
    """Fill a folder in a process of its own: what this one holds would count as a child's peak."""
    whole = [sys.executable, __file__, "--only", case, "--make", str(folder), str(size)]
    subprocess.run(whole, check=True)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--only", default="")
    given.add_argument("--megabytes", type=float, default=4)
    given.add_argument("--times", type=int, default=20)
    given.add_argument("--make", nargs=2, metavar=("FOLDER", "BYTES"), help=argparse.SUPPRESS)
    asked = given.parse_args()
    if asked.make:
        CASES[asked.only]()(Path(asked.make[0]), int(asked.make[1]))
        return
    print("| format | MB | attempts | loads MB/s | reader MB/s | reader ÷ loads | import MB/s "
          f"| peak MB | peak MB at {asked.times} × |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="reviewer-formats-") as name:
        work = Path(name)
        import corpus

        template = corpus.workspace(work / "template")
        one = work / "one.jsonl"
        corpus.write_traces(one, 1)
        timed(importing(template, one))
        for case in CASES:
            if asked.only and asked.only not in case:
                continue
            small, large = work / "small", work / "large"
            for folder, size in ((small, 1), (large, asked.times)):
                folder.mkdir()
                made(case, folder, int(asked.megabytes * MB * size))
            floor, size = seconds(FLOOR, small)
            reader, count = seconds(READER, small)
            wall, peak = imported(small, template, work)
            _, most = imported(large, template, work)
            print(f"| {case} | {size / MB:.1f} | {count:,} | {size / MB / floor:.0f} "
                  f"| {size / MB / reader:.0f} | {reader / floor:.1f} | {size / MB / wall:.0f} "
                  f"| {peak:.0f} | {most:.0f} |", flush=True)  # fmt: skip
            shutil.rmtree(small)
            shutil.rmtree(large)


if __name__ == "__main__":
    main()
