"""The public doors as tests use them: a workspace, the command line in it, and what it keeps."""

import contextlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import zstandard

import reviewer
from reviewer.cli.main import main
from reviewer.desk.desk import Desk
from reviewer.desk.place import at

REPOSITORY = Path(reviewer.__file__).resolve().parents[1]
SUITE = "refund-eval-v5"
V7, V8 = "refund-agent-v7", "refund-agent-v8"
SHIPPED = REPOSITORY / "suites" / SUITE


def by_day(values: Iterable[Any], every: int) -> list[Any]:
    """Return parameters of which the first and each `every`-th after it run by day, all by
    night."""
    return [
        value if number % every == 0 else pytest.param(value, marks=pytest.mark.nightly)
        for number, value in enumerate(values)
    ]


class Said(NamedTuple):
    """What a command said and how it left."""

    code: int
    out: str
    err: str

    @property
    def both(self) -> str:
        return self.out + self.err


class Door:
    """One workspace and the commands run on it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def store(self) -> Path:
        return self.root / "store" / "review.db"

    @property
    def suite(self) -> Path:
        return self.root / "suites" / SUITE

    def run(self, *argv: object) -> Said:
        """A command in this process."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(["--workspace", str(self.root), *map(str, argv)])
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else 1
        return Said(code, out.getvalue(), err.getvalue())

    def ok(self, *argv: object) -> Said:
        """A command that must leave with 0."""
        said = self.run(*argv)
        assert said.code == 0, said
        return said

    def start(self, *argv: object, **options: Any) -> "subprocess.Popen[bytes]":
        """A command in a process of its own."""
        return subprocess.Popen(
            [*PROGRAM, "--workspace", str(self.root), *map(str, argv)],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def outside(self, *argv: object, **options: Any) -> Said:
        """As `run`, in a process of its own."""
        process = self.start(*argv, **options)
        out, err = process.communicate(timeout=120)
        return Said(process.returncode, out.decode(), err.decode())

    def desk(self) -> Desk:
        return Desk(at(self.root))

    def file(self, name: str, content: object) -> Path:
        """A file beside the workspace: bytes and text as they are, a list as JSON lines."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif isinstance(content, list):
            path.write_bytes(lines(content))
        else:
            path.write_bytes(compact(content))
        return path

    def take(self, name: str, content: object, *options: object) -> Said:
        """Write a file and import it."""
        return self.run("import", self.file(name, content), *options)

    def rows(self, sql: str, *bound: object) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as base:
            return base.execute(sql, bound).fetchall()

    def one(self, sql: str, *bound: object) -> Any:
        return self.rows(sql, *bound)[0][0]

    def codes(self, trace_id: str) -> list[str]:
        """The printed codes of a trace, through the desk."""
        desk = self.desk()
        try:
            found = desk.traces.view(trace_id).findings
        finally:
            desk.close()
        return [finding.code for finding in found if finding.severity != "note"]

    def healthy(self) -> None:
        """Doctor finds no fault."""
        said = self.run("doctor")
        assert said.code == 0, said.out

    def wrong_rolls(self) -> list[tuple[Any, ...]]:
        """Roll-ups that differ from the traces they count."""
        return self.rows(
            "SELECT * FROM roll r LEFT JOIN (SELECT candidate, episode, count(*) a,"
            " sum(passed IS 1) p, sum(critical) c, sum(CAST(round(cost_usd * 1e9) AS INTEGER)) m"
            " FROM trace GROUP BY 1, 2) t ON t.candidate = r.candidate AND t.episode = r.episode"
            " WHERE r.attempts + r.infra IS NOT t.a OR r.passes IS NOT t.p"
            " OR r.critical IS NOT t.c OR r.cost_nano IS NOT t.m"
        )


PROGRAM = (sys.executable, "-P", "-m", "reviewer")


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), **more}


@contextlib.contextmanager
def as_nobody(door: Door) -> Iterator[None]:
    """Without a superuser's rights, as long as it lasts; the workspace is opened for it."""
    if os.geteuid() != 0:
        yield
        return
    for folder in (REPOSITORY, *REPOSITORY.parents):
        if folder.stat().st_mode & 0o005 != 0o005:
            pytest.skip(f"only its owner may enter {folder}: nobody could not run the program")
    for folder in (door.root, *door.root.parents):
        if folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o055)
    for found in door.root.rglob("*"):
        os.chown(found, 65534, 65534, follow_symlinks=False)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def lines(records: Iterable[object]) -> bytes:
    return b"".join(compact(record) + b"\n" for record in records)


def compact(record: object) -> bytes:
    """As the shipped files are written."""
    return json.dumps(record, separators=(",", ":")).encode()


def make_template(folder: Path) -> Path:
    """A workspace with ShopFlow's suite alone and nothing imported."""
    said = Door(folder).run("init", folder)
    assert said.code == 0, said
    shutil.copytree(SHIPPED, folder / "suites" / SUITE)
    return folder


def copied(template: Path, to: Path) -> Door:
    """A copy of a workspace without the people in it: a screen that is open on the template may
    have an item before it, which nobody in the copy would then be given."""
    shutil.copytree(template, to, ignore=shutil.ignore_patterns("presence"))
    return Door(to)


def shipped(candidate: str) -> list[dict[str, Any]]:
    """The nine shipped records of a candidate."""
    text = (SHIPPED / "traces" / f"{candidate}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def passing(
    episode_id: str = "damaged-221",
    candidate_id: str | None = "cand-a",
    attempt: int | None = 1,
    nonce: float = 0,
    **changes: Any,
) -> dict[str, Any]:
    """A record that passes every gate. `nonce` is added to its latency: other evidence."""
    record = next(r for r in shipped(V8) if r["episode_id"] == episode_id)
    record["candidate_id"], record["attempt"] = candidate_id, attempt
    record["latency_ms"] += 10_000 + nonce
    record.update(changes)
    return {name: value for name, value in record.items() if value is not None or name in KEPT}


KEPT = ("final_state", "cost_usd", "latency_ms")


def many(count: int, candidate_id: str = "cand-a", start: int = 0) -> Iterator[dict[str, Any]]:
    """Passing records of one episode, each with evidence of its own."""
    base = passing(candidate_id=candidate_id)
    for number in range(start, start + count):
        yield {**base, "attempt": number + 1, "latency_ms": 100_000 + number}


def every_byte(root: Path) -> bytes:
    """All that is kept below a folder: raw, and every compressed frame opened."""
    found = [path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()]
    found += [str(path).encode() for path in root.rglob("*")]
    store = root / "review.db"
    if store.exists():
        with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as base:
            found += [b"\n".join(opened(base, table)) for table in ("pack", "chunk")]
    return b"\n".join(found)


def opened(base: sqlite3.Connection, table: str) -> Iterator[bytes]:
    for (frame,) in base.execute(f"SELECT frame FROM {table}"):
        yield zstandard.ZstdDecompressor().decompress(frame)
