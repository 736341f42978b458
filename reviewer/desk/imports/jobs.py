"""Imports started from a screen: each in a process of its own, followed through its lines of JSON.

Judging a file keeps a processor busy, which must not slow the screen; a process that is stopped
leaves the store as its last batch did, so the same import continues later.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from msgspec import convert, structs

from reviewer.desk.errors import DeskError, ways_out
from reviewer.desk.imports.api import FileView, ImportOrder, ImportState, ImportView
from reviewer.desk.jobs import Job, Stopwatch
from reviewer.desk.place import Workspace
from reviewer.exit_codes import ExitCode

OnChange = Callable[["ImportHandle"], None]
SHOWN_REFUSALS = 50
MOST_NEWS = 50
_COUNTS = ("records", "added", "refused")
PATIENCE_S = 5.0
SURE = 0.02
"""Share that must be done before the remaining time is estimated."""
_PREFIX = "reviewer: "


class ImportHandle(Job[ImportView]):
    """One import."""

    def __init__(
        self, number: int, order: ImportOrder, workspace: Workspace, on_change: OnChange | None
    ) -> None:
        super().__init__(on_change)
        self._order = order
        self._lock = threading.Lock()
        self._watch = Stopwatch()
        self._stopped = self._through = False
        self._view = ImportView(
            number=number, order=order, state="reading", file=0, files=0, path="", done=0, size=0,
            records=0, added=0, refused=0, results=(), passed=0, problem="", began=time.time(),
            seconds=0.0, eta_seconds=None,
        )  # fmt: skip
        self._before = self._view
        self._process = subprocess.Popen(
            _command(workspace, order),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        threading.Thread(target=self._follow, name=f"import-{number}", daemon=True).start()

    def view(self) -> ImportView:
        """Return the present state of the import."""
        with self._lock:
            view = self._view
            ends = view.state == "reading" and not view.order.follow
            left = self._eta(view) if ends else None
            return structs.replace(view, seconds=self._watch.seconds(), eta_seconds=left)

    def _eta(self, view: ImportView) -> float | None:
        """Estimate the time left from the share of files, and of the file being read, that is
        done."""
        if not view.files:
            return None
        within = view.done / view.size if view.size else 0.0
        share = (max(view.file - 1, 0) + min(within, 1.0)) / view.files
        return self._watch.worked() * (1 - share) / share if share > SURE else None

    def pause(self) -> None:
        """Pause after this batch."""
        with self._lock:
            if self._view.state != "reading":
                return
            self._view = structs.replace(self._view, state="pausing")
        self._say(b"pause\n")

    def go_on(self) -> None:
        """Continue reading."""
        self._say(b"go on\n")
        with self._lock:
            if self._view.state == "pausing":  # it was still in its batch
                self._view = structs.replace(self._view, state="reading")
        self._tell()

    def _say(self, words: bytes) -> None:
        assert self._process.stdin is not None  # it is a pipe
        with suppress(OSError, ValueError):  # it has ended meanwhile
            self._process.stdin.write(words)
            self._process.stdin.flush()
        self._tell()

    def stop(self) -> None:
        """End the import: what was written stays, and the same import continues there later."""
        self._stopped = True
        if self._process.poll() is None:
            self._process.terminate()

    # in the thread that reads the process --------------------------------------------------------

    def _follow(self) -> None:
        assert self._process.stdout is not None  # both are pipes
        assert self._process.stderr is not None
        said: list[str] = []
        errors = threading.Thread(target=_drain, args=(self._process.stderr, said), daemon=True)
        errors.start()
        for line in self._process.stdout:
            self._heard(line)
        code = self._process.wait()
        errors.join(PATIENCE_S)
        followed = self._view.order.follow and self._through  # stopping is how following ends
        state: ImportState = "stopped" if self._stopped and not followed else "done"
        problem = ""
        if not self._stopped and not self._through:
            told = next((line for line in reversed(said) if line.startswith(_PREFIX)), "")
            state, problem = "failed", told.removeprefix(_PREFIX)
            problem = problem or f"the import ended with code {code}"
        self._watch.end()
        self._change(state=state, problem=problem)
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        self._ended.set()
        self._tell()

    def _heard(self, line: bytes) -> None:
        try:
            event: dict[str, Any] = json.loads(line)
        except ValueError:
            return
        view = self.view()
        if event["event"] == "file":
            self._change(
                file=event["number"], files=event["of"], path=event["path"], done=0,
                size=event["size"],
            )  # fmt: skip
        elif event["event"] == "progress":
            self._change(done=event["done"], size=event["size"], **self._sums(event))
        elif event["event"] == "result":
            found = _file_view(event["result"])
            if view.order.follow:
                self._taken_again(view, found)
            else:
                self._change(results=(*view.results, found), **self._sums(event["result"]))
                self._before = self.view()
        elif event["event"] == "news":
            news = (*view.news, (event["path"], event["words"]))
            self._change(news=news[-MOST_NEWS:])
        elif event["event"] == "paused":
            self._watch.rest()
            self._change(state="paused")
        elif event["event"] == "going on":
            self._watch.work()
            self._change(state="reading")
        elif event["event"] == "end":
            self._through = True
            self._change(passed=event["passed"])
        self._tell()

    def _taken_again(self, view: ImportView, found: FileView) -> None:
        """Record the newest result of a followed session. A reading that found nothing new leaves
        the earlier result."""
        before = next((one for one in view.results if one.path == found.path), None)
        if before is not None and not found.added and not found.refused and not found.problem:
            return
        results = (*(one for one in view.results if one is not before), found)
        sums = {name: sum(getattr(one, name) for one in results) for name in _COUNTS}
        self._change(results=results, **sums)

    def _sums(self, file: dict[str, Any]) -> dict[str, int]:
        """Return the counts of the files before this one plus its own so far."""
        if self._view.order.follow:
            return {}
        return {name: getattr(self._before, name) + file[name] for name in _COUNTS}

    def _change(self, **changes: Any) -> None:
        with self._lock:
            self._view = structs.replace(self._view, **changes)


class ImportJobs:
    """The imports started by this process, newest last."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._handles: list[ImportHandle] = []
        self._lock = threading.Lock()

    def start(self, order: ImportOrder, on_change: OnChange | None = None) -> ImportHandle:
        """Start an import. Raises DeskError when it cannot start."""
        if not order.path.strip() and not order.sessions:
            raise DeskError(
                "no path to import", "name a file, a folder or a pattern", exit_code=ExitCode.USAGE
            )
        with self._lock:
            try:
                handle = ImportHandle(len(self._handles) + 1, order, self._workspace, on_change)
            except OSError as error:
                raise DeskError(
                    f"the import cannot start: {error.strerror}", *ways_out(error)
                ) from error
            self._handles.append(handle)
            return handle

    def views(self) -> list[ImportView]:
        """Return the imports started here, newest first."""
        with self._lock:
            return [handle.view() for handle in reversed(self._handles)]

    def handle(self, number: int) -> ImportHandle:
        """Return the handle that controls an import. Raises DeskError for an unknown number."""
        with self._lock:
            if not 1 <= number <= len(self._handles):
                raise DeskError(
                    f"there is no import {number}",
                    "the screen of imports lists those of this session",
                )
            return self._handles[number - 1]

    def close(self) -> None:
        """Stop the running imports; what was written stays."""
        with self._lock:
            for handle in self._handles:
                handle.stop()


def _command(workspace: Workspace, order: ImportOrder) -> list[str]:
    command = [sys.executable, "-P", "-m", "reviewer", "--workspace", str(workspace.root)]
    command += ["import", "--quiet", "--progress", "steered", "--format", order.format]
    for option, value in (
        ("--suite", order.suite_id),
        ("--candidate", order.candidate_id),
        ("--episode-map", order.episode_map),
    ):
        if value:
            command += [option, value]
    command += ["--dry-run"] if order.dry else []
    if order.sessions:
        command += ["--from", order.tool, *(f"--session={path}" for path in order.sessions)]
        return [*command, *(["--watch"] if order.follow else [])]
    return [*command, "--", str(Path(order.path).expanduser())]


def _drain(stream: IO[bytes], said: list[str]) -> None:
    for line in stream:
        said.append(line.decode("utf-8", "replace").strip()[:500])
        del said[:-20]


def _file_view(result: dict[str, Any]) -> FileView:
    shown = result["refusals"][:SHOWN_REFUSALS]
    refusals = [(one["record"], one["reasons"]) for one in shown]
    return convert({**result, "refusals": refusals}, FileView)
