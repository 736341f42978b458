"""Importing files of other tools: CPU time against `orjson.loads`, and memory, by format.

    python benchmarks/formats.py [--only NAME] [--megabytes N] [--times N] [--runs N]
    python benchmarks/formats.py --files N

Each format's sample under tests/data is repeated, with other ids, until it has about N megabytes.
`loads` is `orjson.loads` of the same bytes (of unpacked entries for an archive), a line or a file
at a time; `reader` makes every trace and stores none; `import` is `reviewer import` as a process,
into a workspace that has a store, with every process it starts and waits for. `whole` is all of
that, `marginal` what is above the import of one attempt of the same format. With `--times`, memory:
the peak of the importing process at both sizes, which must not grow with the file. With `--files`,
a file that holds N attempts against N files of one. Runs of ours and of `loads` are alternated, and
the least of each is what counts.
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
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "tests" / "data"
sys.path[:0] = [str(HERE), str(HERE.parent)]

from run import Run, end_indexing, importing, timed  # noqa: E402

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


def sessions(name: str, *of: str) -> Callable[[Path, int], None]:
    """Sessions of a coding agent, each in a file of its own under another id: the one that its
    first line has at path `of`."""

    def write(folder: Path, size: int) -> None:
        raw = (DATA / name).read_bytes()
        own = json.loads(raw.partition(b"\n")[0])
        for step in of:
            own = own[step]
        for number in range(max(1, size // len(raw))):
            other = renamed(own.encode(), [own], number)
            place = folder / f"project-{number // 500}"
            place.mkdir(parents=True, exist_ok=True)
            path = place / Path(name).name.replace(own, other.decode())
            path.write_bytes(raw.replace(own.encode(), other))

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
    "claude-code": lambda: sessions(first("formats_c/claude-code/1af7*.jsonl"), "sessionId"),
    "codex": lambda: sessions(first("formats_c/codex/rollout-*.jsonl"), "payload", "id"),
    "native": lambda: native,
}
GOALS = {
    **dict.fromkeys(("openai-chat", "langchain", "inspect .eval", "inspect .json"), 12),
    **dict.fromkeys(("swe-agent", "tau-bench", "tau2-bench", "openhands"), 12),
    **dict.fromkeys(("otlp", "langfuse", "atif", "claude-code", "codex"), 20),
}
"""The most that an import may take of what `orjson.loads` takes, above starting."""
MANY = {"openai-chat": "jsonl", "atif": "json"}
"""Formats of which a file may hold many attempts, or one."""
IDS = {"session_id", "trajectory_id"}
"""Members that name an attempt, beside `id`."""


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


def imported(folder: Path, template: Path, work: Path) -> Run:
    """Import a folder into a copy of a workspace."""
    workspace = work / "now"
    shutil.copytree(template, workspace)
    try:
        found = timed(importing(workspace, folder))
        end_indexing(workspace)
        return found
    finally:
        time.sleep(0.2)
        shutil.rmtree(workspace, ignore_errors=True)


def made(case: str, folder: Path, size: int) -> None:
    """Fill a folder in a process of its own: what this one holds would count as a child's peak."""
    whole = [sys.executable, __file__, "--only", case, "--make", str(folder), str(size)]
    subprocess.run(whole, check=True)


class Bench(NamedTuple):
    """Where to work, the workspace that imports start from, and how often each is run."""

    work: Path
    template: Path
    runs: int

    def folder(self, case: str, size: int) -> Path:
        """Return a new folder with about `size` bytes of a format."""
        place = Path(tempfile.mkdtemp(prefix="files-", dir=self.work))
        made(case, place, size)
        return place

    def cpu(self, folder: Path, runs: int) -> float:
        return min(imported(folder, self.template, self.work).cpu for _ in range(runs))

    def row(self, case: str, megabytes: float, times: int) -> str:
        """Return the figures of one format."""
        small, one = self.folder(case, int(megabytes * MB)), self.folder(case, 1)
        start = self.cpu(one, self.runs)
        floors, ours = [], []
        for _ in range(self.runs):  # alternately: the machine may be another one in a minute
            floors.append(seconds(FLOOR, small))
            ours.append(imported(small, self.template, self.work))
        (floor, size), cpu = min(floors), min(run.cpu for run in ours)
        reader, count = seconds(READER, small)
        goal = GOALS.get(case)
        above = (cpu - start) / floor
        met = "" if goal is None else f"{goal}: {'met' if above <= goal else 'missed'}"
        cells = [
            case, f"{size / MB:.1f}", f"{count:,}", f"{size / MB / floor:.0f}",
            f"{reader / floor:.1f}", f"{cpu / floor:.1f}", f"{above:.1f}", met,
            f"{size / MB / (cpu - start):.0f}", f"{max(run.peak_mb for run in ours):.0f}",
        ]  # fmt: skip
        if times > 1:
            large = self.folder(case, int(megabytes * MB * times))
            cells.append(f"{imported(large, self.template, self.work).peak_mb:.0f}")
            shutil.rmtree(large)
        shutil.rmtree(small)
        shutil.rmtree(one)
        return f"| {' | '.join(cells)} |"

    def many(self, case: str, count: int) -> str:
        """Return what N files of one attempt take against one file that holds them."""
        apart, single = self.folder(case, 1), self.folder(case, 1)
        (sample,) = (path for path in single.rglob("*") if path.is_file())
        raw = sample.read_bytes()
        lines = sample.suffix == ".jsonl"
        value = json.loads(raw.splitlines()[0] if lines else raw)
        sample.unlink()
        shutil.rmtree(apart)
        apart.mkdir()
        with (single / f"all.{MANY[case]}l").open("w") as together:
            for number in range(count):
                own = dict.fromkeys(("id", *(IDS & value.keys())), f"attempt-{number}")
                text = json.dumps({"copy": number, **value, **own})
                together.write(text + "\n")
                (apart / f"attempt-{number}.{MANY[case]}").write_text(text)
        files, file = self.cpu(apart, self.runs), self.cpu(single, self.runs)
        return f"| {case} | {count:,} | {files:.2f} | {file:.2f} | {files / file:.1f} |"


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--only", default="")
    given.add_argument("--megabytes", type=float, default=20)
    given.add_argument("--times", type=int, default=1)
    given.add_argument("--runs", type=int, default=3)
    given.add_argument("--files", type=int, default=0)
    given.add_argument("--make", nargs=2, metavar=("FOLDER", "BYTES"), help=argparse.SUPPRESS)
    asked = given.parse_args()
    if asked.make:
        CASES[asked.only]()(Path(asked.make[0]), int(asked.make[1]))
        return
    with tempfile.TemporaryDirectory(prefix="reviewer-formats-") as name:
        work = Path(name)
        import corpus

        template = corpus.workspace(work / "template")
        one = work / "one.jsonl"
        corpus.write_traces(one, 1)
        timed(importing(template, one))
        end_indexing(template)
        bench = Bench(work, template, asked.runs)
        wanted = [case for case in CASES if asked.only in case]
        if asked.files:
            print("| format | attempts | files CPU s | one file CPU s | ratio |")
            print("|---|---|---|---|---|")
            for case in MANY:
                if case in wanted:
                    print(bench.many(case, asked.files), flush=True)
            return
        heads = ["format", "MB", "attempts", "loads MB/s", "reader ÷ loads", "whole ÷ loads"]
        heads += ["marginal ÷ loads", "goal", "marginal MB/s", "peak MB"]
        heads += [f"peak MB at {asked.times} ×"] if asked.times > 1 else []
        print(f"| {' | '.join(heads)} |")
        print("|" + "---|" * len(heads))
        for case in wanted:
            print(bench.row(case, asked.megabytes, asked.times), flush=True)


if __name__ == "__main__":
    main()
