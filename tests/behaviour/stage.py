"""A workspace of its own in which commands run, and everything they said and wrote."""

import base64
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
BEGINNING = 1_793_534_400
"""2026-11-01T12:00:00Z. Each command happens a second after the one before."""

VIEWS = (
    *("traces", "events", "findings", "revisions", "labels", "judgments", "leaks", "notes"),
    *("costs", "decisions"),
)
"""What store/README.md shows of a store, whatever tables are behind it."""

UNREAD = ("review.db", "review.db-shm", "review.db-wal", "review.db.lock")


class Said(NamedTuple):
    """How a command left and what it wrote."""

    code: int
    out: str
    err: str


class Installed:
    """The installed command, a process each time."""

    def run(self, argv: list[str], cwd: Path, env: Mapping[str, str], stdin: str) -> Said:
        program = Path(sys.executable).with_name("reviewer")
        done = subprocess.run(
            [program, *argv], cwd=cwd, env=dict(env), input=stdin.encode(), capture_output=True
        )
        texts = [text.decode("utf-8", "backslashreplace") for text in (done.stdout, done.stderr)]
        return Said(done.returncode, *texts)

    def __enter__(self) -> "Installed":
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Forked:
    """The same program from a process that keeps its modules loaded: many times quicker."""

    def __enter__(self) -> "Forked":
        self._server = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "server.py")],
            env=environment(Path("/"), 0),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        return self

    def run(self, argv: list[str], cwd: Path, env: Mapping[str, str], stdin: str) -> Said:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        request = {"argv": argv, "cwd": str(cwd), "env": dict(env), "stdin": stdin}
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return Said(**json.loads(self._server.stdout.readline()))

    def __exit__(
        self, kind: type[BaseException] | None, error: object, where: TracebackType | None
    ) -> None:
        self._server.communicate()


Driver = Installed | Forked


def environment(home: Path, now: int) -> dict[str, str]:
    """Return all of the environment that a command gets: nothing of this machine but its PATH."""
    return {
        "BEHAVIOUR_NOW": str(BEGINNING + now),
        "COLUMNS": "100",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": f"{HERE / 'frozen'}{os.pathsep}{REPOSITORY}",
        "REVIEWER_NAME": "rita",
        "TZ": "UTC",
        "USER": "rita",
    }


class Stage:
    """One workspace; `records` holds a text for each command and for each file it wrote."""

    def __init__(self, driver: Driver, folder: Path) -> None:
        self.driver = driver
        self.root = folder / "desk"
        self.home = folder / "home"
        for made in (self.root, self.home):
            made.mkdir()
        self.records: dict[str, str] = {}
        self.argvs: list[tuple[str, ...]] = []
        self._seen = self._files()
        self._steps = 0

    @property
    def store(self) -> Path:
        return self.root / "store" / "review.db"

    def run(self, *argv: object, stdin: str = "", name: str = "") -> Said:
        """Run a command in the workspace; keep what it said and each file it wrote."""
        typed = tuple(map(str, argv))
        self._steps += 1
        said = self.driver.run(list(typed), self.root, environment(self.home, self._steps), stdin)
        said = Said(said.code, self.neutral(said.out), self.neutral(said.err))
        self.argvs.append(typed)
        text = f"exit {said.code}\n{said.out}"
        if said.err:
            text += f"\n--- stderr\n{said.err}"
        label = self._keep(
            name or "reviewer " + " ".join(self.neutral(word) for word in typed), text
        )
        for path, content in self._written():
            self._keep(f"{label} → {path}", content)
        return said

    def forms(self, *argv: object) -> None:
        """Run a command that changes nothing as text, as JSON and plainly."""
        for form in ((), ("--json",), ("--plain",)):
            self.run(*argv, *form)

    def rows(self, sql: str, *bound: object) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as base:
            return base.execute(sql, bound).fetchall()

    def traces(self) -> list[str]:
        """Return the ids of all traces, in the order they came in; none without a store."""
        if not self.store.exists():
            return []
        return [row[0] for row in self.rows("SELECT trace_id FROM traces")]

    def keep_store(self) -> None:
        """Keep what the store's views show, and its journal."""
        for view in VIEWS:
            with contextlib.closing(
                sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)
            ) as base:
                base.row_factory = sqlite3.Row
                rows = [_line(dict(row)) for row in base.execute(f"SELECT * FROM {view}")]
            self._keep(f"store: view {view}", "\n".join(sorted(rows) if view == "events" else rows))
        bodies = [row[0] for row in self.rows("SELECT body FROM journal ORDER BY seq")]
        texts = [body.decode() if isinstance(body, bytes) else str(body) for body in bodies]
        self._keep("store: journal", "\n".join(map(self.neutral, texts)))

    def keep(self, name: str, text: str) -> None:
        """Keep something else."""
        self._keep(name, text)

    def copy(self, source: Path, to: str) -> Path:
        """Copy a file or folder into the workspace, unseen by what is kept of commands."""
        target = self.root / to
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)
        self.look()
        return target

    def write(self, name: str, text: str) -> Path:
        """Write a file into the workspace, unseen by what is kept of commands."""
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        self.look()
        return target

    def look(self) -> None:
        """Take the workspace's files as they are now: no command wrote them."""
        self._seen = self._files()

    def neutral(self, text: str) -> str:
        """Replace the paths of this machine."""
        for path, word in (
            (str(self.root), "‹workspace›"),
            ("/proc/self/cwd", "‹workspace›"),
            (str(self.home), "‹home›"),
            (str(REPOSITORY), "‹repository›"),
        ):
            text = text.replace(path, word)
        # The version of SQLite, and how argparse words and wraps what a command takes, are this
        # machine's.
        text = re.sub(r"(?m)^(note sqlite: ).*$", r"\1‹version›", text)
        return re.sub(r"\Ausage: [\s\S]*?(?=^reviewer.*: error: )", "", text, flags=re.M)

    def _keep(self, name: str, text: str) -> str:
        unique, n = name, 1
        while unique in self.records:
            n += 1
            unique = f"{name} ({n})"
        self.records[unique] = text
        return unique

    def _files(self) -> dict[Path, tuple[int, int, int]]:
        found = {}
        for path in sorted(self.root.rglob("*")):
            if path.is_file() and path.name not in UNREAD:
                state = path.stat()
                found[path] = state.st_mtime_ns, state.st_size, state.st_ino
        return found

    def _written(self) -> Iterator[tuple[str, str]]:
        """The files that are new or changed since last looked, and those that are gone."""
        now = self._files()
        for path in sorted({*now, *self._seen}):
            if now.get(path) != self._seen.get(path):
                name = path.relative_to(self.root).as_posix()
                if path not in now:
                    yield name, "‹gone›"
                    continue
                yield name, self.neutral(_text(path.read_bytes()))
        self._seen = now


def _text(content: bytes) -> str:
    """A file as text; of a signed envelope its payload opened too."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return "‹binary›"
    with contextlib.suppress(ValueError, KeyError, TypeError):
        payload = base64.b64decode(json.loads(text)["payload"]).decode()
        return f"{text}\n--- payload\n{payload}"
    return text


def _line(row: dict[str, Any]) -> str:
    shown = {k: v.hex() if isinstance(v, bytes) else v for k, v in row.items()}
    return json.dumps(shown, ensure_ascii=False)
