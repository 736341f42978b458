"""Importing files into a workspace, and filling what is filled behind an import."""

import glob
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from reviewer.db.connection import Connection, close_writer
from reviewer.db.schema import open_writer
from reviewer.db.search import catch_up, pending_events
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.exit_codes import ExitCode
from reviewer.importing import formats as readers
from reviewer.importing.catalogue import redactor_of
from reviewer.importing.pipeline.all_files import import_all
from reviewer.importing.pipeline.keys import FindManifest, Manifest
from reviewer.importing.pipeline.one_file import Context, FileResult, OnProgress, refused_file
from reviewer.importing.pipeline.scoring import Asked
from reviewer.importing.pipeline.units import Unit, find_units
from reviewer.suite.errors import ContractError
from reviewer.suite.model import RedactionRules, Suite
from reviewer.suite.tool_names import map_problems


def expand(paths: Iterable[Path]) -> list[Path]:
    """The paths, a pattern (`runs/*.json`) that no shell has expanded replaced by its matches."""
    found: list[Path] = []
    for path in paths:
        if is_pattern(path):
            found += sorted(map(Path, glob.glob(str(path), recursive=True))) or [path]
        else:
            found.append(path)
    return found


def is_pattern(path: Path) -> bool:
    """Whether a path is a pattern: one that has its marks and is no file's name."""
    return any(mark in str(path) for mark in "*?[") and not path.exists()


INLINE_EVENTS = 20_000
LOOK_S = 1.0
"""How often watched folders are looked at."""


def clock() -> str:
    """Now, RFC 3339 in UTC to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def suites_for(
    workspace: Workspace, connection: Connection, suite_id: str
) -> tuple[dict[str, suites.Held], list[tuple[str, str]]]:
    """The frozen suites an import may fill (only the one named, if one is), and why not others.

    Raises DeskError when the suite named, or the only one there is, may not be used.
    """
    warnings: list[tuple[str, str]] = []
    held: dict[str, suites.Held] = {}
    names = [suite_id] if suite_id else [folder.name for folder in suites.folders(workspace)]
    for name in names:
        if suite_id and not (workspace.suite_folder(name) / "suite.json").exists():
            continue  # a probe suite, named by the user
        try:
            held[name] = suites.hold(workspace, connection, name)
        except (DeskError, ContractError) as error:
            if len(names) == 1:
                raise
            warnings.append((name, str(error).removeprefix(f"{name}: ")))
    return held, warnings


def manifests_of(held: dict[str, suites.Held]) -> FindManifest:
    """Looks manifests up beside the suites."""

    def find(suite_id: str, candidate_id: str) -> Manifest | None:
        found = suites.manifest(held[suite_id], candidate_id) if suite_id in held else None
        return Manifest(found.candidate, found.raw) if found else None

    return find


class Imported(NamedTuple):
    """What came of an import. `passed` files below the folders named are no traces; `problems` are
    readers of other packages that could not be used."""

    results: list[FileResult]
    passed: int
    problems: tuple[str, ...] = ()


def import_paths(
    workspace: Workspace,
    paths: Iterable[Path],
    asked: Asked,
    on_file: Callable[[Path, int, int], OnProgress],
    on_result: Callable[[FileResult], None],
    store: Path | None = None,
) -> Imported:
    """Import files one after another. `on_file(path, number, of)` gives each its progress
    callback. A bad file costs that file; StoreError and DeskError end the import."""
    found = find_units(expand(paths), asked.format)
    results = import_units(workspace, found.units, asked, on_file, on_result, store)
    return Imported(results, found.passed, readers.problems())


def import_units(
    workspace: Workspace,
    units: list[Unit],
    asked: Asked,
    on_file: Callable[[Path, int, int], OnProgress],
    on_result: Callable[[FileResult], None],
    store: Path | None = None,
) -> list[FileResult]:
    """As `import_paths`, of units already found."""
    masked = redactor_of(RedactionRules()).masked
    for option, value in (("--suite", asked.suite), ("--candidate", asked.candidate)):
        if masked(value) != value:
            raise DeskError(
                f"{option} holds an identifier: name it otherwise", exit_code=ExitCode.USAGE
            )
    place = store or workspace.store
    connection = open_writer(place)
    results: list[FileResult] = []
    try:
        held, warnings = suites_for(workspace, connection, asked.suite)
        context = Context(
            connection,
            place,
            tuple(one.suite for one in held.values()),
            manifests_of(held),
            asked,
            clock,
        )
        if asked.tools.names:
            _check_map(asked, [one.suite for one in held.values()])
        results += [refused_file(name, problem) for name, problem in warnings]
        for result in results:
            on_result(result)

        def tell(result: FileResult) -> None:
            results.append(result)
            on_result(result)

        import_all(context, units, on_file, tell)
        if pending_events(connection) <= INLINE_EVENTS:
            catch_up(connection, place)
    finally:
        close_writer(connection, place)
    return results


def _check_map(asked: Asked, found: list[Suite]) -> None:
    """Raises DeskError for a map that names a forbidden tool, or a tool that is another one."""
    wrong = [text for suite in found for text in map_problems(suite, asked.tools.names)]
    if wrong:
        said = f"the map of tools cannot be used with {asked.suite}: {'; '.join(wrong[:5])}"
        raise DeskError(
            said, "a version of the suite that lists the name", exit_code=ExitCode.INVALID
        )


def watch(
    workspace: Workspace,
    paths: Iterable[Path],
    asked: Asked,
    on_file: Callable[[Path, int, int], OnProgress],
    on_result: Callable[[FileResult], None],
    stop: Callable[[float], bool],
) -> list[FileResult]:
    """Import what is new or has grown below `paths` until `stop`, which waits for so many seconds
    and says whether to end. A store that another process writes is waited for as ever."""
    from reviewer.desk.imports.watching import Watch

    found: list[FileResult] = []
    watching = Watch(paths, asked.format)
    while True:
        if ready := watching.ready():
            found += import_units(workspace, ready, asked, on_file, on_result)
            index_behind(workspace)
        if stop(LOOK_S):
            return found


def index_behind(workspace: Workspace) -> bool:
    """Start filling event rows and full text in a process of its own when much is left to do."""
    from reviewer.db.connection import reader

    connection = reader(workspace.store)
    try:
        if not pending_events(connection):
            return False
    finally:
        connection.close()
    subprocess.Popen(
        [sys.executable, "-P", "-m", "reviewer", "--workspace", str(workspace.root), "_index"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=workspace.root,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return True


def index_now(workspace: Workspace) -> int:
    """Fill event rows and full text up to the last trace; returns how many traces were done."""
    connection = open_writer(workspace.store)
    try:
        return catch_up(connection, workspace.store)
    finally:
        close_writer(connection, workspace.store)
