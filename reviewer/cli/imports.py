"""`reviewer import`, `quarantine` and `sources`."""

from __future__ import annotations  # types are named without loading their modules

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.cli.import_steps import Steering, Told, plain
from reviewer.cli.say import moving, note, out, out_json, table
from reviewer.desk.errors import DeskError, parted
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import plural
from reviewer.trace.safetext import visible_line

if TYPE_CHECKING:
    from reviewer.desk.imports.importing import (
        FileResult,
        Filled,
        ImportOptions,
        OnProgress,
        Tally,
    )
    from reviewer.desk.imports.sessions import SessionView
    from reviewer.desk.place import Workspace

SHOWN_REFUSALS = 20


def _import_arguments(take: argparse.ArgumentParser) -> None:
    take.add_argument(
        "paths", nargs="*", metavar="PATH", help="files, folders or patterns; - for stdin"
    )
    take.add_argument(
        "--from",
        dest="tool",
        default="",
        metavar="TOOL",
        help="sessions where a coding agent keeps them: claude-code, codex, gemini-cli, opencode,"
        " kilo, cline, goose, pi; alone or with --list: say which there are",
    )
    take.add_argument(
        "--list", action="store_true", help="with --from: list sessions, import nothing"
    )
    take.add_argument(
        "--session",
        nargs="+",
        action="extend",
        default=[],
        metavar="ID",
        help="with --from: the sessions to import, by id, start of an id, or file",
    )
    take.add_argument(
        "--project",
        action="append",
        default=[],
        metavar="DIR",
        help="with --from: sessions of this project (its folder, or the folder's name)",
    )
    take.add_argument("--all", action="store_true", help="with --from: all sessions")
    take.add_argument(
        "--format",
        default="auto",
        metavar="NAME",
        help="format of the files: auto, or a name from reviewer formats",
    )
    take.add_argument(
        "--suite", default="", metavar="S", help="the suite that the traces belong to"
    )
    take.add_argument(
        "--candidate", default="", metavar="C", help="the candidate of records that name none"
    )
    take.add_argument(
        "--episode-map",
        metavar="FILE",
        help="the names that other tools use for the episodes and tools of --suite",
    )
    take.add_argument(
        "--dry-run", action="store_true", help="show what would be imported, and import nothing"
    )
    take.add_argument(
        "--watch",
        action="store_true",
        help="keep importing new files until Ctrl-C; with --from: follow sessions as they grow",
    )
    take.add_argument(
        "--progress", choices=("bar", "json", "steered"), default="bar",
        help="json: a line per step on stdout; steered: also `pause` and `go on` from stdin",
    )  # fmt: skip


def _quarantine_arguments(held: argparse.ArgumentParser) -> None:
    held.add_argument(
        "act",
        nargs="?",
        choices=("list", "show"),
        default="list",
        help="list, or show, which adds the way out",
    )
    held.add_argument("file", nargs="?", help="only the records of this file")


ARGUMENTS = {
    "import": _import_arguments,
    "quarantine": _quarantine_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    if arguments.command == "_index":
        from reviewer.cli.opening import workspace_of
        from reviewer.desk.imports.indexing import index_now

        index_now(workspace_of(arguments))
        return ExitCode.DONE
    if arguments.command == "sources":
        return _sources(arguments)
    if arguments.command == "quarantine":
        return _quarantine(arguments)
    return _import(arguments)


def _import(arguments: argparse.Namespace) -> int:
    from reviewer.cli.opening import workspace_of
    from reviewer.desk import early_stats

    meant: list[SessionView] = []
    if arguments.tool:
        from reviewer.desk.imports.sessions import files

        found = _chosen(arguments)
        if found is None:
            return ExitCode.DONE
        meant = found
        arguments.paths, arguments.sessions = files(meant), len(meant)
    elif arguments.list or arguments.all or arguments.session or arguments.project:
        words = "--list, --session, --project and --all choose among the sessions of --from TOOL"
        raise DeskError(
            words, "add --from TOOL, or leave out that option", exit_code=ExitCode.USAGE
        )
    elif not arguments.paths:
        raise DeskError(
            "import what? name files or folders, or --from TOOL",
            "reviewer formats lists what can be read",
            exit_code=ExitCode.USAGE,
        )
    workspace = workspace_of(arguments)
    if "-" not in arguments.paths and not arguments.watch:  # these wait before they import
        early_stats.begin(workspace, arguments.suite)
    from reviewer.desk.imports.importing import (
        ImportMap,
        ImportOptions,
        import_map,
    )
    from reviewer.desk.imports.indexing import index_behind
    from reviewer.desk.imports.sessions import wanted

    names = import_map(Path(arguments.episode_map)) if arguments.episode_map else ImportMap()
    if arguments.episode_map and not arguments.suite:
        raise DeskError(
            "--episode-map needs the --suite its episodes belong to",
            "add --suite S",
            exit_code=ExitCode.USAGE,
        )
    if arguments.progress == "steered" and "-" in arguments.paths:
        words = "--progress steered listens on standard input, which cannot be imported as well"
        raise DeskError(
            words,
            "name a file instead of -, or leave out --progress steered",
            exit_code=ExitCode.USAGE,
        )
    asked = ImportOptions(
        arguments.suite, arguments.candidate, arguments.format, *names,
        wanted(meant, arguments.project, arguments.all),
    )  # fmt: skip
    if arguments.watch:
        from reviewer.cli.watching import watch

        return watch(workspace, arguments, asked)
    with _spooled(arguments.paths) as paths:
        if arguments.dry_run:
            with tempfile.TemporaryDirectory(prefix="reviewer-dry-") as folder:
                store = Path(folder) / "review.db"
                if workspace.store.exists():
                    from reviewer.desk.integrity.backups import backup

                    backup(workspace, store)  # a record that is already there would not be added
                results = _imported(arguments, workspace, paths, asked, store)
            note("dry run: nothing was written")
        else:
            results = _imported(arguments, workspace, paths, asked)
            index_behind(workspace)
    return answer(arguments, results)


def _chosen(arguments: argparse.Namespace) -> list[SessionView] | None:
    """Return the sessions to import; None if they were listed instead."""
    from reviewer.desk.imports.sessions import chosen, homes, sessions

    if arguments.paths:
        raise DeskError(
            "--from TOOL finds the files itself, and files are named",
            "leave out the files, or leave out --from TOOL",
            exit_code=ExitCode.USAGE,
        )
    found = sessions(arguments.tool)
    meant = bool(arguments.session or arguments.project or arguments.all)
    if meant:
        found = chosen(found, arguments.session, arguments.project, arguments.all)
    if not found:
        places = ", ".join(str(place) for place in homes(arguments.tool))
        raise DeskError(
            f"no session of {arguments.tool} in {places}",
            "name the files themselves: reviewer import FILE",
        )
    if meant and not arguments.list:
        return found
    _list(arguments, found)
    return None


def _list(arguments: argparse.Namespace, found: list[SessionView]) -> None:
    if arguments.json:
        from msgspec import to_builtins

        out_json(to_builtins(found))
        return
    rows: list[tuple[str, ...]] = [
        (
            visible_line(one.project), visible_line(one.id), one.at, f"{one.size:,}",
            visible_line(one.problem or one.request),
        )
        for one in found
    ]  # fmt: skip
    table(rows, ("project", "session", "last written", "bytes", "first request"))
    if not arguments.list:
        note("nothing was imported: choose with --session ID, --project DIR or --all")


def _imported(
    arguments: argparse.Namespace,
    workspace: Workspace,
    paths: list[Path],
    asked: ImportOptions,
    store: Path | None = None,
) -> list[FileResult]:
    if arguments.progress == "bar":
        return import_and_say(workspace, paths, asked, arguments.quiet, store)
    from reviewer.desk.imports.importing import import_paths

    # SIGTERM exits in order: nothing is half written, and no copy of the store stays behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(ExitCode.TERMINATED))
    told = Told(Steering(sys.stdin.buffer) if arguments.progress == "steered" else None)
    found = import_paths(workspace, paths, asked, told.file, told.result, store)
    told.say(event="end", passed=found.passed)
    return found.results


def answer(arguments: argparse.Namespace, results: list[FileResult]) -> int:
    """Print what came of each file, and return the exit code."""
    if arguments.json:
        out_json([plain(result) for result in results])
    return (
        ExitCode.INVALID
        if any(r.refused or r.problem or r.flagged or r.beside for r in results)
        else ExitCode.DONE
    )


@contextmanager
def _spooled(names: list[str]) -> Iterator[list[Path]]:
    """Yield the paths; standard input (`-`) is kept in a temporary file while it is read."""
    if "-" not in names:
        yield [Path(name) for name in names]
        return
    from reviewer.desk.imports.importing import STDIN

    with tempfile.TemporaryDirectory(prefix="reviewer-stdin-") as folder:
        spool = Path(folder) / STDIN
        with spool.open("wb") as handle:
            shutil.copyfileobj(sys.stdin.buffer, handle)
        yield [spool if name == "-" else Path(name) for name in names]


def import_and_say(
    workspace: Workspace,
    paths: Iterable[Path],
    asked: ImportOptions,
    quiet: bool,
    store: Path | None = None,
) -> list[FileResult]:
    """Import with a progress bar on a terminal, and say what came of each file."""
    from reviewer.desk.imports.importing import import_paths

    bar = Bar(quiet)

    def tell(result: FileResult) -> None:
        if not quiet or went_wrong(result):
            bar.say(result)

    try:
        found = import_paths(workspace, paths, asked, bar.file, tell, store)
    finally:
        bar.stop()
    for text in found.problems:
        note(text)
    if found.passed and not quiet:
        note(f"{found.passed} other files below these folders are not traces: skipped")
    return found.results


def went_wrong(result: FileResult) -> bool:
    """Return whether a file, or a record of it, was refused: said even without a progress bar."""
    return result.state == "refused" or result.refused > 0


class Bar:
    """Progress on stderr: a bar on a terminal, nothing elsewhere."""

    def __init__(self, quiet: bool) -> None:
        self._shown = not quiet and moving()
        self._progress: object | None = None

    def file(self, path: Path, number: int, of: int) -> OnProgress:
        """Show a bar on a terminal for a file of 1 MiB or more; return the callback for its
        progress."""
        if not self._shown or not path.is_file() or path.stat().st_size < 1 << 20:
            return lambda done, size, tally: None
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TextColumn("{task.fields[counts]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.stop()
        self._progress = progress
        progress.start()
        task = progress.add_task(
            escape(visible_line(path.name)), total=path.stat().st_size, counts=""
        )

        def advance(done: int, size: int, tally: Tally) -> None:
            counts = f"{tally.added} added, {tally.refused} refused"
            progress.update(task, completed=done, counts=counts)

        return advance

    def stop(self) -> None:
        from typing import Any, cast

        if self._progress is not None:
            cast(Any, self._progress).stop()
            self._progress = None

    def say(self, result: FileResult) -> None:
        """Print one line for a file, then its refused records."""
        self.stop()
        shown = visible_line(result.path)
        if result.problem and not result.records:
            from reviewer.desk.imports.api import file_way_out

            fact, *ways = parted(result.problem, file_way_out(result.problem))
            told = "".join(f"; way out: {way}" for way in ways)
            # in one line: a folder may hold hundreds
            note(f"{shown}: refused: {fact}{told}")
            return
        words = [plural(result.records, "record"), f"{result.added} added"]
        if result.state == "known":
            words = [f"nothing added: {result.notes[0]} ({plural(result.records, 'record')})"]
        elif result.known:
            words.append(f"{result.known} already there")
        if result.refused:
            words.append(f"{result.refused} refused")
        note(f"{shown}: {', '.join(words)}" + (f"  [{result.reader}]" if result.reader else ""))
        for filled in result.filled:
            note(f"  {filled_words(filled)}")
            for text in unmeasured_words(filled):
                note(f"    {visible_line(text)}")
        for text in result.notes[1:] if result.state == "known" else result.notes:
            note(f"  note: {text}")
        for flagged in result.flagged[:SHOWN_REFUSALS]:
            note(f"  record {flagged.record}: {', '.join(flagged.reasons)}")
            note("    its payload was not stored; its slot fails redaction, and that blocks")
        for one in result.beside[:SHOWN_REFUSALS]:
            note(f"  record {one.record}: {', '.join(one.reasons)}")
            note("    kept next to it: findings of both count, and nothing else is measured")
        from reviewer.desk.imports.api import way_out

        for refused in result.refusals[:SHOWN_REFUSALS]:
            note(f"  record {refused.record}: {', '.join(refused.reasons)}")
            note(f"    way out: {way_out(refused.reasons)}")
        more = max(result.refused, len(result.refusals)) - SHOWN_REFUSALS
        if more > 0:
            note(f"  and {more} more: reviewer quarantine list")


def filled_words(filled: Filled) -> str:
    """Return one candidate's share of an import as a line."""
    cost = f"${filled.cost_usd:,.4f}" if filled.attempts > filled.unpriced else "cost not measured"
    if 0 < filled.unpriced < filled.attempts:
        cost += f" and {filled.unpriced} without a cost"
    passed = f"{filled.passed} of {filled.measured} passed" if filled.measured else "no verdict"
    return (
        f"{visible_line(filled.suite_id)} · {visible_line(filled.candidate_id)}: "
        f"{plural(filled.episodes, 'episode')}, {plural(filled.attempts, 'attempt')}, "
        f"{passed}, {cost}"
    )


def unmeasured_words(filled: Filled) -> list[str]:
    """Return a line for each cause that leaves attempts without a verdict, with its way out."""
    if not filled.unmeasured:
        return []
    from reviewer.report.gaps import way_of  # 14 ms

    return [
        f"{plural(count, 'attempt')} not measured: {kind}; {way_of(kind, filled.suite_id)}"
        for kind, count in filled.unmeasured
    ]


def _sources(arguments: argparse.Namespace) -> int:
    from reviewer.cli.opening import desk_of

    found = desk_of(arguments).imports.sources()
    if arguments.json:
        out_json([{name: getattr(row, name) for name in row.__struct_fields__} for row in found])
        return ExitCode.DONE
    table(
        [
            (
                row.path, row.reader, row.state, str(row.records), str(row.added),
                str(row.known), str(row.refused), row.at, row.sha256[:12],
            )
            for row in found
        ],
        ("file", "reader", "state", "records", "added", "known", "refused", "at", "sha256"),
    )  # fmt: skip
    for row in found:
        if row.notes:
            out(f"notes on {visible_line(row.path)}")
            for text in row.notes:
                out(f"  {visible_line(text)}")
    return ExitCode.DONE


def _quarantine(arguments: argparse.Namespace) -> int:
    from reviewer.cli.opening import desk_of

    found = desk_of(arguments).imports.refusals()
    if arguments.file:
        found = [row for row in found if row.path == arguments.file]
    if arguments.json:
        out_json(
            [
                {
                    "path": row.path,
                    "record": row.record,
                    "reasons": list(row.reasons),
                    "way_out": row.way_out,
                }
                for row in found
            ]
        )
        return ExitCode.DONE
    if not found:
        out("nothing is in quarantine")
        return ExitCode.DONE
    for row in found:
        out(f"{visible_line(row.path)}: record {row.record}: {', '.join(row.reasons)}")
        if arguments.act == "show":
            out(f"  way out: {row.way_out}")
    return ExitCode.DONE
