"""What an archive of millions of attempts costs: `python benchmarks/archives.py --facts 10000000`.

Synthetic facts are made by DuckDB itself, in seconds: 20 candidates on 5,000 episodes, over 100
days, in files as `reviewer export` writes them (at most 100,000 attempts each). Each question is
asked by the installed command in a process of its own: time, CPU seconds, the most memory. With
`--traces 20000` a real store is imported, exported and asked as well (8 KB a trace, `corpus.py`).
10 million facts take about 1 GB of disk, below `--folder`, and are deleted at the end.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import msgspec  # noqa: E402
from run import REVIEWER  # noqa: E402
from scale import Cost, large, least, measured, reviewer  # noqa: E402

from reviewer.db.archive import engine  # noqa: E402
from reviewer.db.archive.files import ArchiveFile, folders  # noqa: E402
from reviewer.db.archive.manifest import MANIFEST, MadeOf, manifest_of  # noqa: E402
from reviewer.db.archive.tables import SCHEMA, TABLES, Table  # noqa: E402
from reviewer.suite.gates import ALWAYS  # noqa: E402
from reviewer.suite.model import Policy  # noqa: E402

SUITE, CANDIDATES, EPISODES, DAYS = "suite-v1", 20, 5_000, 100
FILE = 100_000
QUESTIONS = (
    ("counts of verdicts", "from verdicts"),
    ("gates", "from gates"),
    ("gates per day", "from gates_per_day"),
    ("pass^k, every candidate", "from pass_k"),
    ("cost per success", "from costs"),
    ("p50 and p95 of latency", "from latencies"),
    ("one candidate, one day", "select count(*), sum(cost_usd) from attempts where candidate_id ="
     " 'agent-7' and started_at >= '2026-08-10' and started_at < '2026-08-11'"),
    ("one attempt by its id", f"from facts where trace_id = '{SUITE}/agent-7/episode-7/3'"),
    ("a hundred dearest failures", "from facts where not passed order by cost_usd desc limit 100"),
)  # fmt: skip


def values(total: int) -> dict[str, str]:
    """What each column of a synthetic fact holds, as SQL of its number `i`: digests differ from row
    to row and do not compress, as those of real attempts."""
    candidate, episode = f"(i * {CANDIDATES} // {total})", f"((i * 7919) % {EPISODES})"
    attempt = f"(1 + (i % ({total} // {CANDIDATES})) // {EPISODES})"
    chance = "(hash(i) % 1000)"
    name = f"'{SUITE}/agent-' || {candidate} || '/episode-' || {episode}"
    found = {
        "suite_id": f"'{SUITE}'",
        "candidate_id": f"'agent-' || {candidate}",
        "trace_id": f"{name} || '/' || {attempt}",
        "key": "i + 1",
        "suite_digest": "repeat('a', 64)",
        "candidate_digest": f"sha256({candidate}::VARCHAR)",
        "episode_id": f"'episode-' || {episode}",
        "attempt": attempt,
        "counted": "true",
        "in_plan": "true",
        "passed": f"CASE WHEN {chance} < 850 THEN true WHEN {chance} < 990 THEN false END",
        "critical": f"{chance} BETWEEN 850 AND 854",
        "infrastructure": f"{chance} >= 995",
        "lost": f"{chance} >= 995",
        "final_state": f"'state-' || ({chance} % 12)",
        "termination": "'completed'",
        "cost_nano": "(hash(i + 1) % 90000000)::BIGINT",
        "cost_usd": "(hash(i + 1) % 90000000)::BIGINT / 1e9",
        "latency_ms": "(hash(i + 2) % 600000)::BIGINT / 10.0",
        "input_tokens": "(hash(i + 3) % 40000)::BIGINT",
        "output_tokens": "(hash(i + 4) % 3000)::BIGINT",
        "steps": f"{chance} % 20",
        "timeouts": "0",
        "events": f"{chance} % 60",
        "started_at": f"TIMESTAMP '2026-08-01' + to_seconds((i * 86400.0 * {DAYS} / {total})::INT)",
        "sha256": "sha256(i::VARCHAR)",
        "message_sha256": "sha256((i // 3)::VARCHAR)",
        "payload": "'kept'",
        "unread": "0",
        "revisions": "0",
        "source_path": f"'runs/' || (i // {FILE}) || '.jsonl'",
        "source_sha256": f"sha256((i // {FILE})::VARCHAR)",
        "source_record": f"i % {FILE}",
        "source_reader": "'native/1'",
        "efficiency": f"({chance} / 1000.0)::FLOAT",
    }
    for gate in ALWAYS:
        failed = f"{chance} BETWEEN 850 AND 949"
        found[f"gate_{gate}"] = f"CASE WHEN {failed} THEN 'fail' ELSE 'pass' END"
    return found


def synthetic(folder: Path, total: int) -> None:
    """Write an archive of so many facts."""
    target = folder / f"facts-{total}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    base = engine.connect(folder, "2GB")
    files: list[ArchiveFile] = []

    def write(table: Table, part: tuple[str, ...], name: str, held: dict[str, str], of: str):
        path = Path(*folders((table.name, *part))) / name
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shown = ", ".join(
            f"CAST({held.get(one.name, 'NULL')} AS {one.type}) AS {engine.name(one.name)}"
            for one in table.columns
        )
        (rows,) = base.execute(
            f"COPY (SELECT {shown} FROM {of}) TO '{target / path}'"
            " (FORMAT parquet, COMPRESSION zstd)"
        ).fetchone()
        size = (target / path).stat().st_size
        files.append(ArchiveFile(path.as_posix(), table.name, rows, size, ""))

    held = values(total)
    step = min(FILE, total // max(CANDIDATES, DAYS))
    for first in range(0, total, step):
        last = min(first + step, total)
        day = base.execute(
            f"SELECT strftime({held['started_at'].replace('(i *', f'({first} *')}, '%Y-%m-%d')"
        ).fetchone()[0]
        part = (SUITE, f"agent-{first * CANDIDATES // total}", day)
        name = f"part-{first:012}-001.parquet"
        write(TABLES["facts"], part, name, held, f"range({first}, {last}) r(i)")
    policy = msgspec.json.encode(Policy()).decode()
    small = {
        "suites": ("range(1)", {"suite_id": f"'{SUITE}'", "probe": "false", "title": "''",
                   "attempts": "3", "pass_k": "3", "policy": f"'{policy}'"}),
        "candidates": (f"range({CANDIDATES}) r(i)", {"suite_id": f"'{SUITE}'", "planned": "3",
                       "candidate_id": "'agent-' || i", "position": "i + 1"}),
        "episodes": (f"range({EPISODES}) r(i)", {"suite_id": f"'{SUITE}'", "position": "i",
                     "episode_id": "'episode-' || i", "title": "''", "tags": "'[]'",
                     "category": "'task'", "by_person": "false"}),
    }  # fmt: skip
    for name, (of, row) in small.items():
        write(TABLES[name], (), "part-1.parquet", row, of)
    base.close()
    tables = tuple(name for name in TABLES if name not in ("events", "payloads", "findings"))
    made = manifest_of(MadeOf("synthetic", 0, "", (), tables, SCHEMA, "0"), files)
    (target / MANIFEST).write_bytes(msgspec.json.encode(made))


def line(what: str, cost: Cost, of: int) -> None:
    print(
        f"| {what} | {cost.wall:.2f} | {cost.cpu:.2f} | {cost.cpu / of * 1e6:.3f} |"
        f" {cost.peak_mb:.0f} |",
        flush=True,
    )


def ask(archive: Path, total: int, repeat: int) -> None:
    size = sum(one.stat().st_size for one in archive.rglob("*.parquet"))
    count = sum(1 for _ in archive.rglob("*.parquet"))
    each = f"{size / 1e6:,.0f} MB, {size / total:.0f} bytes each"
    print(f"\n{total:,} facts: {count} files, {each}\n")
    print("| question | s | CPU s | CPU µs a fact | most MB |\n|---|---|---|---|---|")
    for what, sql in (("nothing: `select 1`", "select 1"), *QUESTIONS):
        command = [*REVIEWER, "query", sql, str(archive), "--json", "--quiet"]
        line(what, least([measured(command) for _ in range(repeat)]), total)
    command = [*REVIEWER, "trends", "--archive", str(archive), "--json"]
    line("`trends --archive`", least([measured(command) for _ in range(repeat)]), total)
    command = [*REVIEWER, "compare", "--archive", str(archive), "--candidate", "agent-7"]
    line("`compare --archive`", least([measured(command) for _ in range(repeat)]), total)


def real(folder: Path, traces: int) -> None:
    """Export a store of real traces, and ask it."""
    store = large(folder, traces)
    print(f"\na store of {traces:,} traces of 8 KB\n")
    print("| work | s | CPU s | CPU µs a trace | most MB |\n|---|---|---|---|---|")
    for what, more in (
        ("export, without events", ("--no-events",)),
        ("export", ()),
        ("export, with payloads", ("--payloads",)),
    ):
        target = folder / what.replace(" ", "-")
        cost = reviewer(store.workspace, "export", "--parquet", target, "--quiet", *more)
        line(what, cost, traces)
        for table in ("facts", "findings", "events", "payloads"):
            size = sum(one.stat().st_size for one in (target / table).rglob("*.parquet"))
            print(f"    {table}: {size / traces:.0f} bytes a trace")
    line("query of the store", reviewer(store.workspace, "query", "from costs", "--json"), traces)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--traces", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--make", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.make:
        synthetic(asked.folder, asked.make)
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        if asked.traces:
            real(Path(folder), asked.traces)
        for total in asked.facts:
            # In a process of its own: the memory of this one counts as that of those it starts.
            make = [sys.executable, __file__, "--make", str(total), "--folder", folder]
            subprocess.run(make, check=True)
            archive = Path(folder) / f"facts-{total}"
            ask(archive, total, asked.repeat)
            shutil.rmtree(archive)


if __name__ == "__main__":
    main()
