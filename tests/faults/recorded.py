"""The process whose writes are recorded: people label, sign and import through the product's own
write path, and each thing is acknowledged in the log after the product has come back.

Run as `python recorded.py WORKSPACE LOG WHAT COUNT [NORMAL] [PAGES] [NAME]`: NORMAL asks SQLite to
sync less than the product does, PAGES to checkpoint after so many pages, NAME is who labels.
"""

import io
import sqlite3
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from doors import SUITE, V8, compact, many  # noqa: E402
from labelers import drafted  # noqa: E402
from power import acknowledged  # noqa: E402

from reviewer.cli.main import main  # noqa: E402
from reviewer.desk.desk import Desk  # noqa: E402
from reviewer.desk.place import at  # noqa: E402

NAME = "dana"


def command(root: Path, *argv: object, expect: int = 0) -> None:
    """A command of the program in this process; again where others changed what it looked at."""
    code, said = 20, io.StringIO("read it again")
    while code == 20 and "read it again" in said.getvalue():
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            code = main(["--workspace", str(root), *map(str, argv)])
    assert code == expect, (argv, code, said.getvalue())


def labels(root: Path, count: int, tell: Callable[[str], None]) -> None:
    """A person labels everything, then thinks again and again about the first item."""
    desk = Desk(at(root), NAME)
    session = desk.labels.session(SUITE, V8)
    first = item = desk.labels.next_item(session)
    if first is None:  # all was labeled before: think again about what is withdrawn
        first = desk.labels.undo(session)
        tell("withdrawn")
    for number in range(count):
        answer = ("left", "right")[number % 2]
        saved = desk.labels.record(
            session, drafted(item or first, answer, note=f"thought {number}")
        )
        tell(f"label {saved.uid}")
        item = desk.labels.next_item(session) if item else None
    desk.close()


def decisions(root: Path, count: int, tell: Callable[[str], None]) -> None:
    """Every decision is another one, and each is signed with a workstation open beside."""
    desk = Desk(at(root), "dana")
    desk.scorecards.card(SUITE, V8)
    for number in range(1, count + 1):
        word = ("PROMOTE", "BLOCK")[number % 2]
        command(
            root, "sign", "--suite", SUITE, "--candidate", V8, "--key", root / "robin",
            "--decision", word, "--comment", f"number {number}",
            expect=0 if word == "PROMOTE" else 10,
        )  # fmt: skip
        tell(f"decision {number}")
    desk.close()


def imports(root: Path, count: int, tell: Callable[[str], None]) -> None:
    """Files of 40 records each."""
    for number in range(count):
        records = many(40, "cand-a", start=40 * number)
        path = root / f"part-{number}.jsonl"
        path.write_bytes(b"".join(compact(one) + b"\n" for one in records))
        command(root, "import", path)
        tell(f"traces {40 * (number + 1)}")


def archives(root: Path, count: int, tell: Callable[[str], None]) -> None:
    """Files of 40 records each, whose payloads leave the store at once."""
    for number in range(count):
        imports(root, number + 1, lambda _: None)
        command(root, "archive", "--before", "2100-01-01")
        tell(f"archived {number + 1}")


class Weak(sqlite3.Connection):
    """A connection that syncs less than it was told to, and does not say so."""

    normal = False
    pages = 0

    def execute(self, sql: str, *more: Any) -> sqlite3.Cursor:
        if self.normal and sql == "PRAGMA synchronous":
            return super().execute("SELECT 2")
        if self.normal and sql == "PRAGMA synchronous=FULL":
            sql = "PRAGMA synchronous=NORMAL"
        if self.pages and sql == "PRAGMA journal_mode=WAL":
            super().execute(f"PRAGMA wal_autocheckpoint={self.pages}")
        return super().execute(sql, *more)


def run(root: Path, log: Path, what: str, count: int, normal: bool, pages: int) -> None:
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect
    Weak.normal, Weak.pages = normal, pages
    sqlite3.connect = lambda *of, **how: connect(*of, **how, factory=Weak)  # type: ignore[assignment]
    acts = {"labels": labels, "decisions": decisions, "imports": imports, "archives": archives}
    acts[what](root, count, lambda text: acknowledged(log, text))


if __name__ == "__main__":
    place, written, kind, times, *rest = sys.argv[1:]
    numbers = [int(each) for each in rest if each.isdigit()]
    names = [each for each in rest if each.islower()]
    NAME = names[0] if names else NAME
    run(Path(place), Path(written), kind, int(times), "NORMAL" in rest, *(numbers or [0]))
