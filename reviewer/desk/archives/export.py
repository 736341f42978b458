"""Write an archive: the whole of a store, or some of its suites, as it is at one moment.

The archive is made beside its target, stretch by stretch, and moved there when it is complete. An
export that was cut off is continued by the same command if the store has not changed; else it
begins again.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reviewer import __version__
from reviewer.db.archive.engine import INSTALL, ArchiveError, Writer, is_installed
from reviewer.db.archive.files import ArchiveFile, Files
from reviewer.db.archive.manifest import MANIFEST, MadeOf, Manifest, manifest_of, read_manifest
from reviewer.db.archive.tables import OPTIONAL, SCHEMA, TABLES
from reviewer.db.bulk import Packs, Page
from reviewer.db.connection import Connection, one_moment, unwritten
from reviewer.db.payload import large_record
from reviewer.db.queries import archiving
from reviewer.desk.archives.rows import (
    Told,
    day_of,
    event_lists,
    fact_row,
    finding_rows,
    known,
    record_of,
)
from reviewer.desk.errors import DeskError, parted
from reviewer.desk.place import write_private
from reviewer.durable import sync_folder
from reviewer.exit_codes import ExitCode

STRETCH = 100_000
"""Keys of traces whose rows are written together; an export that was cut off continues after the
last complete stretch."""
_PAGE = 1_000
_STATE = "export.json"
_SPOOL = "spool"
Progress = Callable[[int, int], None]


class Exported(NamedTuple):
    """A complete archive. `resumed` stretches existed before; `already` says that all of it did."""

    folder: Path
    manifest: Manifest
    resumed: int = 0
    already: bool = False


class Wanted(NamedTuple):
    """What an archive should contain: these suites (none named: all), and which optional tables."""

    suites: tuple[str, ...] = ()
    events: bool = True
    payloads: bool = False

    @property
    def tables(self) -> tuple[str, ...]:
        left = {name for name in OPTIONAL if not getattr(self, name)}
        return tuple(name for name in TABLES if name not in left)


def needs_duckdb() -> None:
    """Raise DeskError where DuckDB is not installed."""
    if not is_installed():
        raise DeskError(
            "archives need the extra `archive` (duckdb is not installed)",
            INSTALL,
            exit_code=ExitCode.USAGE,
        )


def export(
    connection: Connection, target: Path, wanted: Wanted, progress: Progress = lambda _, __: None
) -> Exported:
    """Write an archive to a new folder. Raises DeskError when DuckDB is not installed, the folder
    is taken or a suite is unknown; StoreError for a damaged store."""
    needs_duckdb()
    target = target.absolute()
    if target.is_symlink():
        raise DeskError(
            f"{target} is a link, and an archive must be a real folder",
            "name a new folder",
            exit_code=ExitCode.USAGE,
        )
    with one_moment(connection):
        made_of = _made_of(connection, wanted)
        if (there := _taken(target, made_of)) is not None:
            return Exported(target, there, already=True)
        part = target.with_name(target.name + ".part")
        try:
            with _alone(part):
                return _made(connection, target, part, made_of, wanted, progress)
        except OSError as error:
            raise DeskError(*parted(unwritten(part, error))) from error
        except ArchiveError as error:
            raise DeskError(
                str(error), "free some space, then export again: it continues where it stopped"
            ) from error


def _made_of(connection: Connection, wanted: Wanted) -> MadeOf:
    store, seq, digest = archiving.journal_of(connection)
    known_suites = {one.suite.suite_id for one in archiving.archived_candidates(connection)}
    for name in wanted.suites:
        if name not in known_suites:
            raise DeskError(
                f"no trace on {name} is in this store: nothing to export",
                "reviewer scorecard lists suites and candidates",
            )
    return MadeOf(store, seq, digest, wanted.suites, wanted.tables, SCHEMA, __version__)


def _taken(target: Path, made_of: MadeOf) -> Manifest | None:
    """Return the archive at the target where it is the requested one; None where the target is
    free. Raises DeskError for anything else there."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return None
    way = "name a new folder: an archive is never overwritten"
    if not (target / MANIFEST).is_file():
        raise DeskError(f"{target} is not empty", way, exit_code=ExitCode.USAGE)
    there = read_manifest(target)
    if there.made_of == made_of:
        return there
    text = f"{target} holds another archive, of journal entry {there.made_of.journal_seq}"
    raise DeskError(text, way, exit_code=ExitCode.USAGE)


@contextmanager
def _alone(part: Path) -> Iterator[None]:
    """Lock the unfinished archive. Raises DeskError where another export has it, or where the path
    is not a folder."""
    try:
        part.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        if part.is_symlink() or not part.is_dir() or not _ours(part):
            raise DeskError(
                f"{part} is in the way and is not an unfinished export",
                "name another folder, or move it away",
                exit_code=ExitCode.USAGE,
            ) from None
    handle = os.open(part, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DeskError(f"another export is writing {part}", "wait for it, or end it") from None
        yield
    finally:
        os.close(handle)


def _ours(part: Path) -> bool:
    return (part / _STATE).is_file() or not any(part.iterdir())


def _made(
    connection: Connection,
    target: Path,
    part: Path,
    made_of: MadeOf,
    wanted: Wanted,
    progress: Progress,
) -> Exported:
    state = msgspec.json.encode(made_of)
    if not (part / _STATE).is_file() or (part / _STATE).read_bytes() != state:
        _empty(part)
        write_private(part / _STATE, state)
    spool = part / _SPOOL
    shutil.rmtree(spool, ignore_errors=True)
    spool.mkdir()
    writer = Writer(spool)
    source = _Source(connection, wanted)
    files: list[ArchiveFile] = []
    resumed = 0
    try:
        for first in range(1, source.last + 1, STRETCH):
            done = part / f"stretch-{first:012}.json"
            there = _whole(part, done)
            if there is None:
                made = Files(part, spool, writer, f"{first:012}")
                for page in range(first, min(first + STRETCH, source.last + 1), _PAGE):
                    source.page(made, page, min(page + _PAGE, first + STRETCH) - 1)
                    progress(page - 1, source.last)
                there = made.finish()
                write_private(done, msgspec.json.encode(there))
            else:
                resumed += 1
            files += there
        rest = Files(part, spool, writer, "000000000000")
        source.rest(rest)
        files += rest.finish()
    finally:
        writer.close()
        shutil.rmtree(spool, ignore_errors=True)
    progress(source.last, source.last)
    manifest = manifest_of(made_of, files)
    _sweep(part, {one.path for one in files})
    write_private(part / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    _durable(part)
    part.rename(target)
    sync_folder(target.parent)
    return Exported(target, manifest, resumed)


def _whole(part: Path, done: Path) -> list[ArchiveFile] | None:
    """Return the files of a stretch that was written before; None where some or all of them are
    missing."""
    try:
        files = msgspec.json.decode(done.read_bytes(), type=list[ArchiveFile])
        whole = all((part / one.path).stat().st_size == one.size for one in files)
    except (OSError, msgspec.MsgspecError):
        return None
    return files if whole else None


def _empty(part: Path) -> None:
    for one in part.iterdir():
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one)
        else:
            one.unlink()


def _sweep(part: Path, listed: set[str]) -> None:
    """Delete what does not belong to the archive: the remains of an export that was cut off."""
    for one in sorted(part.rglob("*"), reverse=True):
        if one.is_dir() and not one.is_symlink():
            if not any(one.iterdir()):
                one.rmdir()
        elif one.relative_to(part).as_posix() not in listed:
            one.unlink()


def _durable(part: Path) -> None:
    for one in (part, *(each for each in part.rglob("*") if each.is_dir())):
        sync_folder(one)


class _Source:
    """The rows of one store, page by page."""

    def __init__(self, connection: Connection, wanted: Wanted) -> None:
        self._connection, self._wanted = connection, wanted
        found = archiving.archived_candidates(connection, wanted.suites)
        self._candidates = {one.id: one for one in found}
        self._suites = list({one.suite.id: one.suite for one in found}.values())
        self._episodes = archiving.episode_names(connection, [one.id for one in self._suites])
        self._last = archiving.last_counted(connection)
        self._sources = archiving.source_places(connection)
        self._packs = Packs(connection)
        self.last = archiving.last_trace(connection) if found else 0

    def page(self, files: Files, first: int, last: int) -> None:
        """Add the rows of the traces with these keys."""
        page = Page(self._connection, list(self._candidates), first, last)
        beside = archiving.side_facts(self._connection, first, last)
        for row, raw in self._packs.records(page.rows):
            if raw is None:
                raw = large_record(self._connection, row.id)
            ends = self._last.get((row.candidate, row.episode))
            told = Told(
                row=row,
                of=self._candidates[row.candidate],
                episode_id=self._episodes[row.episode],
                counted=ends is None or row.attempt <= ends,
                beside=beside[row.id],
                kept=page.kept.get(row.id, 0),
                source=self._sources[row.source],
                record=None if raw is None else record_of(raw, row.id, self._wanted.events),
            )
            fact = fact_row(told)
            where = (told.of.suite.suite_id, told.of.candidate_id, day_of(fact))
            files.add(("facts", *where), fact)
            for one in finding_rows(told, page.findings.get(row.id, ())):
                files.add(("findings", *where), one)
            if self._wanted.events and (lists := event_lists(told)) is not None:
                files.add(("events", *where), lists)
            if self._wanted.payloads and raw is not None:
                body = {"sha256": row.sha256.hex(), "record": raw.decode()}
                files.add(("payloads", *where), told.whose | body)

    def rest(self, files: Files) -> None:
        """Add the rows of the tables that are not about single attempts."""
        for first in range(1, self.last + 1, STRETCH):
            for trace, one in archiving.archived_revisions(
                self._connection, first, first + STRETCH - 1
            ):
                if (whose := self._whose(trace)) is not None:
                    files.add(("revisions",), known(whose | one))
        for one in archiving.archived_quarantine(self._connection, self._wanted.suites):
            files.add(("quarantine",), known(one))
        for suite in archiving.archived_suites(self._connection, self._suites):
            policy = msgspec.json.encode(suite["policy"]).decode()
            files.add(("suites",), known(suite | {"policy": policy}))
        for stored in self._suites:
            for one in archiving.archived_episodes(self._connection, stored):
                files.add(("episodes",), known(one))
        for position, each in enumerate(self._candidates.values(), 1):
            files.add(("candidates",), known(_candidate(each, position)))

    def _whose(self, trace: int) -> dict[str, Any] | None:
        from reviewer.db.queries.traces import trace_of_id

        row = trace_of_id(self._connection, trace)
        of = None if row is None else self._candidates.get(row.candidate)
        if row is None or of is None:
            return None
        name = f"{of.suite.suite_id}/{of.candidate_id}/{self._episodes[row.episode]}/{row.attempt}"
        return {
            "suite_id": of.suite.suite_id,
            "candidate_id": of.candidate_id,
            "trace_id": name,
        }


def _candidate(each: archiving.ArchivedCandidate, position: int) -> dict[str, Any]:
    return {
        "suite_id": each.suite.suite_id,
        "candidate_id": each.candidate_id,
        "candidate_digest": each.digest,
        "position": position,
        "registered_at": each.at,
        "planned": each.planned,
    }


def suites_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return the requested suites, each once, sorted."""
    return tuple(sorted(set(names)))
