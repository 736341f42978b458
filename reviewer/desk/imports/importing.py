"""Import files into a workspace, once or whenever a harness has written more."""

import glob
import hashlib
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.db import count_blocks
from reviewer.db.connection import Connection, close_writer
from reviewer.db.schema import open_writer
from reviewer.db.search import catch_up, more_pending
from reviewer.desk import suites
from reviewer.desk.drafts import no_evidence
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.place import Workspace
from reviewer.desk.suites import ReadySuite, ready_on_demand, ready_suite
from reviewer.exit_codes import ExitCode
from reviewer.importing import formats as readers
from reviewer.importing.pipeline.all_files import import_all
from reviewer.importing.pipeline.job import ImportContext
from reviewer.importing.pipeline.outcome import FileResult as FileResult
from reviewer.importing.pipeline.outcome import Filled as Filled
from reviewer.importing.pipeline.outcome import OnProgress as OnProgress
from reviewer.importing.pipeline.outcome import Tally as Tally
from reviewer.importing.pipeline.outcome import refused_file
from reviewer.importing.pipeline.scoring import ImportOptions as ImportOptions
from reviewer.importing.pipeline.storing import FindManifest, Manifest
from reviewer.importing.pipeline.units import STDIN as STDIN
from reviewer.importing.pipeline.units import Unit, find_units
from reviewer.suite.errors import ContractError
from reviewer.suite.model import RedactionRules, Suite
from reviewer.suite.on_demand import SuiteTouched
from reviewer.suite.strict_json import loads
from reviewer.suite.tool_names import NO_MAP, ToolMap, map_problems
from reviewer.trace.redaction import redactor_of

SCHEMA = "reviewer/episode-map@1"
MAP_SHAPE = (
    'its shape is {"THEIRS": "OURS"} of episodes, or '
    f'{{"schema": "{SCHEMA}", "episodes": {{"THEIRS": "OURS"}}, "tools": {{"THEIRS": "OURS"}}}}'
)


class ImportMap(NamedTuple):
    """Maps from the names of a source to those of the suite, for episodes and for tools."""

    episodes: tuple[tuple[str, str], ...] = ()
    tools: ToolMap = NO_MAP


def import_map(path: Path) -> ImportMap:
    """Return the maps in a file `{"schema": "reviewer/episode-map@1", "episodes": {theirs: ours},
    "tools": {theirs: ours}}`, or in one with the episodes alone. Raises DeskError, with the place
    named."""
    try:
        data = path.read_bytes()
        value = loads(data, str(path))
    except OSError as error:
        raise DeskError(
            f"{path}: cannot be read: {error.strerror}",
            "name a JSON object of source id to episode id",
            exit_code=ExitCode.INVALID,
        ) from None
    except ContractError as error:
        raise refusal_of(error, exit_code=ExitCode.INVALID) from None
    tools: Any = {}
    if isinstance(value, dict) and "schema" in value:
        unknown = sorted(set(value) - {"schema", "episodes", "tools"})
        if value["schema"] != SCHEMA or unknown:
            what = f"unknown member {unknown[0]}" if unknown else f"schema is not {SCHEMA}"
            raise DeskError(f"{path}: {what}", MAP_SHAPE, exit_code=ExitCode.INVALID)
        tools = value.get("tools", {})
        value = value.get("episodes", {} if tools else None)
    if not isinstance(value, dict) or not (value or tools):
        raise DeskError(
            f"{path}: must be an object of source id → episode id",
            MAP_SHAPE,
            exit_code=ExitCode.INVALID,
        )
    if not isinstance(tools, dict):
        raise DeskError(
            f"{path}: tools: must be an object of source name → tool",
            MAP_SHAPE,
            exit_code=ExitCode.INVALID,
        )
    for what, some in (("episode id", value), ("tool", tools)):
        for theirs, ours in some.items():
            if not isinstance(ours, str) or not ours:
                raise DeskError(
                    f"{path}: {theirs}: the {what} is not a string",
                    MAP_SHAPE,
                    exit_code=ExitCode.INVALID,
                )
    names = tuple(sorted(tools.items()))
    said = ToolMap(f"sha256:{hashlib.sha256(data).hexdigest()}", names) if names else NO_MAP
    return ImportMap(tuple(value.items()), said)


def expand(paths: Iterable[Path]) -> list[Path]:
    """Return the paths, each pattern (`runs/*.json`) that no shell has expanded replaced by its
    matches."""
    found: list[Path] = []
    for path in paths:
        if is_pattern(path):
            found += sorted(map(Path, glob.glob(str(path), recursive=True))) or [path]
        else:
            found.append(path)
    return found


def is_pattern(path: Path) -> bool:
    """Return whether a path is a pattern: it contains wildcards and names no file."""
    return any(mark in str(path) for mark in "*?[") and not path.exists()


INLINE_EVENTS = 20_000


def clock() -> str:
    """Return the present time, RFC 3339 in UTC to the second."""
    return _written(int(time.time()))


@lru_cache(maxsize=1)
def _written(second: int) -> str:
    """Return a second since 1970 as text, cached: every file of an import asks for it several
    times."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def suites_for(
    workspace: Workspace, connection: Connection, suite_id: str, whole: bool = True
) -> tuple[dict[str, ReadySuite], list[tuple[str, str]]]:
    """Return the frozen suites that an import may fill (only the one named, if one is), and why not
    others. Without `whole`, contracts are read as they are needed.

    Raises DeskError when the suite named, or the only one there is, may not be used.
    """
    warnings: list[tuple[str, str]] = []
    ready = ready_suite if whole else ready_on_demand
    held: dict[str, ReadySuite] = {}
    names = [suite_id] if suite_id else [folder.name for folder in suites.folders(workspace)]
    for name in names:
        if suite_id and not (workspace.suite_folder(name) / "suite.json").exists():
            continue  # a probe suite, named by the user
        try:
            held[name] = ready(workspace, connection, name)
        except (DeskError, ContractError) as error:
            if len(names) == 1:
                raise
            warnings.append((name, str(error).removeprefix(f"{name}: ")))
    return held, warnings


def manifests_of(held: dict[str, ReadySuite]) -> FindManifest:
    """Return a function that finds manifests in the folders of suites."""

    def find(suite_id: str, candidate_id: str) -> Manifest | None:
        found = suites.manifest(held[suite_id], candidate_id) if suite_id in held else None
        return Manifest(found.candidate, found.raw) if found else None

    return find


class ImportResult(NamedTuple):
    """The result of an import. `passed` files below the named folders are not traces; `problems`
    are readers of other packages that could not be used."""

    results: list[FileResult]
    passed: int
    problems: tuple[str, ...] = ()


def import_paths(
    workspace: Workspace,
    paths: Iterable[Path],
    asked: ImportOptions,
    on_file: Callable[[Path, int, int], OnProgress],
    on_result: Callable[[FileResult], None],
    store: Path | None = None,
) -> ImportResult:
    """Import files one after another. `on_file(path, number, of)` returns the progress callback for
    a file. A bad file costs only itself; StoreError and DeskError end the import."""
    found = find_units(expand(paths), asked.format)
    results = import_units(workspace, found.units, asked, on_file, on_result, store)
    return ImportResult(results, found.passed, readers.problems())


def import_units(
    workspace: Workspace,
    units: list[Unit],
    asked: ImportOptions,
    on_file: Callable[[Path, int, int], OnProgress],
    on_result: Callable[[FileResult], None],
    store: Path | None = None,
    relied_on: Callable[[Connection, int], str] = lambda connection, trace: "",
) -> list[FileResult]:
    """Import units that were already found, as `import_paths` does. A record that continues an
    attempt which somebody relied on is kept apart (`relied_on` says who, in words)."""
    no_evidence(workspace)
    masked = redactor_of(RedactionRules()).masked
    for option, value in (("--suite", asked.suite), ("--candidate", asked.candidate)):
        if masked(value) != value:
            raise DeskError(
                f"{option} holds an identifier",
                "use another name: names are stored unmasked",
                exit_code=ExitCode.USAGE,
            )
    place = store or workspace.store
    workspace = workspace._replace(keeps=store is None)  # a dry run leaves nothing on the disk
    connection = open_writer(place)
    results: list[FileResult] = []
    try:
        held, warnings = suites_for(
            workspace, connection, asked.suite, whole=bool(asked.tools.names)
        )
        context = ImportContext(
            connection,
            place,
            tuple(one.suite for one in held.values()),
            manifests_of(held),
            asked,
            clock,
            relied_on,
            {name: one.contracts for name, one in held.items() if one.contracts is not None},
        )
        if asked.tools.names:
            _check_map(asked, [one.suite for one in held.values()])
        results += [refused_file(name, problem) for name, problem in warnings]
        for result in results:
            on_result(result)

        def tell(result: FileResult) -> None:
            results.append(result)
            on_result(result)

        try:
            import_all(context, units, on_file, tell)
        except SuiteTouched as error:
            raise suites.broken_error(*error.args) from error
        count_blocks.catch_up(connection, place)
        if not more_pending(connection, INLINE_EVENTS):
            catch_up(connection, place)
    finally:
        close_writer(connection, place)
    return results


def _check_map(asked: ImportOptions, found: list[Suite]) -> None:
    """Raise DeskError for a map that names a forbidden tool, or whose name for a tool already
    belongs to another."""
    wrong = [text for suite in found for text in map_problems(suite, asked.tools.names)]
    if wrong:
        said = f"the map of tools cannot be used with {asked.suite}: {'; '.join(wrong[:5])}"
        raise DeskError(
            said, "a version of the suite that lists the name", exit_code=ExitCode.INVALID
        )
