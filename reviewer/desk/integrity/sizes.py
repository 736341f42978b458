"""What uses the space in a store: by kind, by suite, by candidate."""

from itertools import groupby
from operator import attrgetter

from reviewer.db.connection import DAMAGE, one_moment, reader
from reviewer.db.payload_archives import archive_rows, found_path
from reviewer.db.queries.sizes import CandidateSizes, candidate_sizes, file_pages, table_bytes
from reviewer.db.schema import foreign_parts
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.desk.views import View
from reviewer.trace.safetext import visible_line

_KINDS = {
    "pack": "payloads",
    "chunk": "payloads",
    "payload_archive": "payloads",
    "archived_pack": "payloads",
    "archived_chunk": "payloads",
    "event_list": "events",
    "event_shape": "events",
    "event_figure": "events",
    "trace": "traces",
    "revision": "traces",
    "figure_block": "traces",
    "finding": "traces",
    "source_verdict": "traces",
    "contract": "suites",
    "episode": "suites",
    "suite": "suites",
    "journal": "journal",
}
KINDS = ("payloads", "events", "full text", "traces", "suites", "journal", "other")


class Sizes(View, frozen=True):
    """The bytes of one suite or candidate."""

    traces: int
    revisions: int
    payload_bytes: int
    event_bytes: int
    archived_bytes: int


class SuiteSizes(View, frozen=True):
    """The sizes of a suite, and of its candidates by id."""

    suite_id: str
    sizes: Sizes
    candidates: dict[str, Sizes]


class StoreSizes(View, frozen=True):
    """The bytes of a store: its file, the free pages in it, and its write-ahead log. `kinds` are of
    whole pages, indexes with their tables; None where SQLite cannot say. `archives` are the bytes
    of the files that hold payloads outside the store, by path."""

    path: str
    file_bytes: int
    free_bytes: int
    log_bytes: int
    kinds: dict[str, int] | None
    archives: dict[str, int]
    suites: tuple[SuiteSizes, ...]


def sizes(workspace: Workspace) -> StoreSizes:
    """Return what uses the space in the store. Raises DeskError, StoreError."""
    path = workspace.store
    if not path.exists():
        raise DeskError(f"{path} does not exist yet", "reviewer import or reviewer run makes it")
    connection = reader(path)
    try:
        if strange := foreign_parts(connection):
            named = ", ".join(map(visible_line, strange[:5]))
            raise DeskError(
                f"{path}: its schema was changed by another program: {named}", "reviewer doctor"
            )
        with one_moment(connection):
            pages, tables = file_pages(connection), table_bytes(connection)
            candidates = candidate_sizes(connection)
            rows = archive_rows(connection)
            archives = {str(found_path(connection, one)): one.size for one in rows}
    except DAMAGE as error:
        raise DeskError(f"{path}: cannot be read ({error})", "reviewer doctor") from error
    finally:
        connection.close()
    log = path.with_name(f"{path.name}-wal")
    return StoreSizes(
        path=str(path),
        file_bytes=pages.pages * pages.size,
        free_bytes=pages.free * pages.size,
        log_bytes=log.stat().st_size if log.exists() else 0,
        kinds=None if tables is None else _kinds(tables),
        archives=archives,
        suites=tuple(
            _suite(suite_id, list(each))
            for suite_id, each in groupby(candidates, key=attrgetter("suite_id"))
        ),
    )


def _kinds(tables: dict[str, int]) -> dict[str, int]:
    found = dict.fromkeys(KINDS, 0)
    for name, count in tables.items():
        kind = "full text" if name.startswith("search") else _KINDS.get(name, "other")
        found[kind] += count
    return found


def _suite(suite_id: str, each: list[CandidateSizes]) -> SuiteSizes:
    return SuiteSizes(
        suite_id=suite_id,
        sizes=Sizes(
            traces=sum(one.traces for one in each),
            revisions=sum(one.revisions for one in each),
            payload_bytes=sum(one.payload_bytes for one in each),
            event_bytes=sum(one.event_bytes for one in each),
            archived_bytes=sum(one.archived_bytes for one in each),
        ),
        candidates={
            one.candidate_id: Sizes(
                traces=one.traces,
                revisions=one.revisions,
                payload_bytes=one.payload_bytes,
                event_bytes=one.event_bytes,
                archived_bytes=one.archived_bytes,
            )
            for one in each
        },
    )
