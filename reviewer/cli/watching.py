"""`reviewer import --watch`: folders that harnesses write into, and sessions that go on."""

from __future__ import annotations  # types are named without loading their modules

import argparse
import signal
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from reviewer.cli.import_steps import Steering, Told
from reviewer.cli.imports import Bar, answer, filled_words, went_wrong
from reviewer.cli.say import note
from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import plural
from reviewer.trace.safetext import visible_line

if TYPE_CHECKING:
    from reviewer.desk.imports.following import Followed, Following
    from reviewer.desk.imports.importing import FileResult, ImportOptions, OnProgress
    from reviewer.desk.place import Workspace


def watch(workspace: Workspace, arguments: argparse.Namespace, asked: ImportOptions) -> int:
    """Watch until Ctrl-C, and answer as an import does."""
    if arguments.dry_run or "-" in arguments.paths:
        raise DeskError(
            "--watch cannot be combined with --dry-run or standard input",
            "leave out --watch, or what is named here",
            exit_code=ExitCode.USAGE,
        )
    if arguments.tool:
        return _follow(workspace, arguments, asked)
    return _watch(workspace, arguments, asked)


def _wait(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def _watch(workspace: Workspace, arguments: argparse.Namespace, asked: ImportOptions) -> int:
    """Say what came of each file as it comes."""
    from reviewer.desk.imports.importing import is_pattern
    from reviewer.desk.imports.watching import watch as watch_folders

    paths = [Path(name) for name in arguments.paths]
    for path in paths:
        if not path.exists() and not is_pattern(path):
            raise DeskError(
                f"{path}: there is no such folder to watch",
                "name a folder that is there, or make it first",
                exit_code=ExitCode.USAGE,
            )
    note("watching; Ctrl-C ends it, and what was read is kept")
    telling = Telling(arguments)
    try:
        watch_folders(workspace, paths, asked, telling.file, telling.result, _wait)
    except KeyboardInterrupt:
        return answer(arguments, list(telling.said.values()))
    finally:
        telling.stop()
    return ExitCode.DONE


def _follow(workspace: Workspace, arguments: argparse.Namespace, asked: ImportOptions) -> int:
    """Import sessions as they grow; Ctrl-C, or SIGTERM, reads them once more and sums up."""
    from reviewer.desk.imports import following as room

    end_as_interrupted()  # the last part of a session is to be judged too
    telling = Telling(arguments)
    paths = [Path(name) for name in arguments.paths]
    following = room.Following(paths, asked, telling.news, _More(arguments))
    count = plural(arguments.sessions, "session")
    note(f"following {count}; Ctrl-C ends it, and what was read is kept")
    try:
        try:
            room.follow(workspace, following, asked, telling.file, telling.result, _wait)
        except KeyboardInterrupt:
            room.settle(workspace, following, asked, telling.file, telling.result)
            telling.end(following)
    finally:
        telling.stop()
    return answer(arguments, list(telling.said.values()))


def end_as_interrupted() -> None:
    """Let SIGTERM end the program as Ctrl-C does."""
    signal.signal(signal.SIGTERM, _interrupted)


def _interrupted(*_: object) -> NoReturn:
    """End as Ctrl-C does; a second SIGTERM ends at once."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(ExitCode.TERMINATED))
    raise KeyboardInterrupt


class _More:
    """Finds new sessions, where a project or all sessions are followed."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._tool, self._projects = arguments.tool, arguments.project
        self._every = arguments.all
        self._others: set[str] = set()

    def __call__(self, known: Collection[str]) -> list[Path]:
        from reviewer.desk.imports.sessions import files, of_project, sessions

        if not self._every and not self._projects:
            return []
        found = sessions(self._tool, known={*known, *self._others})
        meant = [
            one
            for one in found
            if self._every or any(of_project(one, name) for name in self._projects)
        ]
        told = {one.path for one in found if not (one.problem or one.file)}
        self._others |= told - {one.path for one in meant}
        return [Path(name) for name in files(meant)]


class Telling:
    """Says what comes of each file: in words, or as lines of JSON for a program. `said` is the last
    result of each file, with the news about it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.said: dict[str, FileResult] = {}
        self._news: dict[str, tuple[str, ...]] = {}
        self._quiet, self._following = arguments.quiet, bool(getattr(arguments, "tool", ""))
        self._bar = Bar(arguments.quiet)
        self._told: Told | None = None
        if arguments.progress != "bar":
            steered = arguments.progress == "steered"
            self._told = Told(Steering(sys.stdin.buffer) if steered else None)

    def file(self, path: Path, number: int, of: int) -> OnProgress:
        """Begin with a file."""
        return (self._told or self._bar).file(path, number, of)

    def result(self, result: FileResult) -> None:
        """Say what came of a file, and keep it as the file's newest result."""
        if self._told is not None:
            self._told.result(result)
        elif went_wrong(result) or (not self._quiet and self._is_news(result)):
            if self._following and not (went_wrong(result) or result.beside):
                self._bar.stop()
                note(f"{result.path}: {_standing(result)}")
            else:
                self._bar.say(result)
        self._keep(result)

    def _is_news(self, result: FileResult) -> bool:
        """Return whether a file brought something new; in a session that is followed, every reading
        finds mostly known records."""
        if self._following:
            return bool(result.added or result.beside)
        return result.state != "known"

    def _keep(self, result: FileResult) -> None:
        """Keep the newest result, except one that found nothing new."""
        before, news = self.said.get(result.path), self._news.get(result.path, ())
        empty = not result.added and not went_wrong(result)
        if self._following and before is not None and empty:
            result = before
        notes = tuple(note for note in result.notes if note not in news)
        self.said[result.path] = result._replace(notes=(*notes, *news))

    def news(self, path: str, words: str) -> None:
        """Say what became of a file."""
        self._news[path] = (*self._news.get(path, ()), words)
        if path in self.said:
            self._keep(self.said[path])
        if self._told is not None:
            self._told.say(event="news", path=path, words=words)
        else:
            self._bar.stop()
            note(f"{path}: {words}")

    def end(self, following: Following) -> None:
        """Sum up what was followed."""
        if self._told is not None:
            self._told.say(event="end", passed=0)
        elif not self._quiet:
            for one in following.sessions():
                note(_summary(one))

    def stop(self) -> None:
        """Remove the bar."""
        self._bar.stop()


def _standing(result: FileResult) -> str:
    """Return the state of a session in words."""
    from reviewer.desk.imports.following import in_progress

    words = "; ".join(map(filled_words, result.filled)) or "nothing new"
    return f"{words}; in progress: no end is stated" if in_progress(result) else words


def _summary(one: Followed) -> str:
    if one.result is None:
        return f"{one.path}: nothing was taken in: {visible_line(one.waits)}"
    times = "once" if one.times == 1 else f"{one.times} times"
    return f"{one.path}: {one.size:,} bytes, taken in {times}; {_standing(one.result)}"
