"""Check whether the store is intact: integrity, chain, decisions, version, permissions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from reviewer.db import journal
from reviewer.db.connection import (
    DAMAGE,
    SQLITE_VERSION,
    Connection,
    StoreError,
    integrity_faults,
    mode_of,
    one_moment,
    reader,
    scripts,
)
from reviewer.db.integrity import content_faults, wrong_counts
from reviewer.db.payload import (
    chunked_traces,
    frame_bytes,
    large_events,
    large_head,
    pack_keys,
)
from reviewer.db.payload_archives import archive_faults, archive_rows
from reviewer.db.schema import foreign_parts, version_of
from reviewer.db.search import index_faults, pending_events
from reviewer.desk.integrity.label_files import file_names, label_files, missing_files
from reviewer.desk.integrity.signed_files import Check, signed_checks
from reviewer.desk.place import Workspace
from reviewer.report.formatting import counted
from reviewer.trace.safetext import visible_line

T = TypeVar("T")
MOST_EVENTS = 1 << 40
CONTENT = ("store", "schema", "integrity", "journal", "facts", "roll-ups", "payloads")
FIXED_IN = (3, 51, 3)
BACKPORTS = ((3, 44, 6), (3, 50, 7))


def examine(workspace: Workspace) -> list[Check]:
    """Run every check, in a fixed order. A store that cannot be opened is one failed check."""
    found = [_sqlite_version(SQLITE_VERSION)]
    if not workspace.store.exists():
        return [
            *found,
            Check("store", None, f"{workspace.store} does not exist yet: reviewer import makes it"),
        ]
    try:
        connection = reader(workspace.store)
    except StoreError as error:
        return [*found, Check("store", False, str(error))]
    try:
        with one_moment(connection):
            found.append(_schema(connection))
            if found[-1].ok is False:
                return found  # the other checks need the missing parts
            with _beside(workspace.store) as asked:
                found += [asked.integrity(), *_chain(connection, asked.counts), asked.payloads()]
                found += _archives(connection)
            found += signed_checks(workspace, connection)
            found += _label_files(workspace, connection)
            derived = _index(connection)
        found += [*_permissions(workspace), derived]
    except DAMAGE as error:
        # A flipped bit can surface anywhere, even as text that is not UTF-8.
        found.append(Check("store", False, f"unreadable: {error}; restore a backup"))
    finally:
        connection.close()
    return found


def _label_files(workspace: Workspace, connection: Connection) -> list[Check]:
    """Say which files of labels do not count, and which are missing: neither is a fault of the
    store."""
    missing = missing_files(workspace, connection)
    told = [f"{name} is missing, although the journal names it: put it back" for name in missing]
    there = file_names(workspace)
    if there:
        told += [f"{one.why}; {one.way}" for one in label_files(workspace).refused]
    if told:
        return [Check("labels", None, "; ".join(told[:5]))]
    return [Check("labels", True, f"{len(there)} signed files")] if there else []


def _index(connection: Connection) -> Check:
    if wrong := index_faults(connection):
        text = f"does not match the payloads: {'; '.join(wrong)}; restore a backup"
        return Check("index", False, text)
    if left := pending_events(connection):
        waiting = counted(left, "event") + (" is" if left == 1 else " are")
        text = f"{waiting} not indexed yet; the workstation or the next import does it"
        return Check("index", None, text)
    return Check("index", True, "event rows and full text are complete")


def content(connection: Connection) -> list[Check]:
    """Check the content of a store: integrity, chain, facts, roll-ups, payloads. May raise any of
    DAMAGE."""
    counts = partial(_wrong_counts, connection)
    return [_integrity(connection), *_chain(connection, counts), payloads(connection)]


class _Beside(NamedTuple):
    """A check that runs in another thread; returns its result when it is there, or raises what it
    raised."""

    integrity: Callable[[], Check]
    counts: Callable[[], list[str]]
    payloads: Callable[[], Check]


@contextmanager
def _beside(store: Path) -> Iterator[_Beside]:
    """Run the checks that SQLite or zstd do without holding the interpreter lock in threads with
    their own connections: what they read is consistent at any moment."""
    from concurrent.futures import ThreadPoolExecutor  # a report checks only payloads

    connection = reader(store)
    pool = ThreadPoolExecutor(1)

    def ask(question: Callable[[Connection], T]) -> Callable[[], T]:
        def answer() -> T:
            with one_moment(connection):
                return question(connection)

        return pool.submit(answer).result

    try:
        yield _Beside(ask(_integrity), ask(_wrong_counts), ask(payloads))
    finally:
        connection.interrupt()
        pool.shutdown(cancel_futures=True)
        connection.close()


def _wrong_counts(connection: Connection) -> list[str]:
    return list(wrong_counts(connection))


def damage(workspace: Workspace) -> str | None:
    """Return the faults in the store's content, None when there are none. This shows whether an
    unexpected error in reading comes from the file or from this program."""
    if not workspace.store.exists():
        return None
    wrong = [check for check in examine(workspace) if check.ok is False and check.name in CONTENT]
    return "; ".join(f"{check.name}: {check.text}" for check in wrong) or None


def _sqlite_version(version: str) -> Check:
    numbers = tuple(int(part) for part in version.split("."))
    fixed = numbers >= FIXED_IN or any(
        numbers[:2] == port[:2] and numbers >= port for port in BACKPORTS
    )
    if fixed:
        return Check("sqlite", True, version)
    return Check(
        "sqlite",
        None,
        f"{version} can lose data when two connections write at the same instant (fixed in "
        "3.51.3); this store's lock prevents that, if no other program writes to it",
    )


def _schema(connection: Connection) -> Check:
    version = version_of(connection)
    known = len(scripts())
    way_out = "" if version == known else "; any command that reads it brings it up to date"
    text = f"version {version}, this reviewer knows {known}{way_out}"
    if strange := foreign_parts(connection):
        named = ", ".join(map(visible_line, strange[:5]))
        return Check("schema", False, f"{text}; made by another program: {named}; restore a backup")
    return Check("schema", version == known, text)


def _integrity(connection: Connection) -> Check:
    wrong = integrity_faults(connection, 5)
    return Check("integrity", not wrong, "; ".join(wrong or ["ok"]))


def _chain(connection: Connection, counted: Callable[[], list[str]]) -> list[Check]:
    """Check the chain and, when it holds, the rows that its entries describe, and their counts."""
    head, fault = journal.verify(connection)
    if fault is not None:
        return [Check("journal", False, f"broken at entry {fault.seq}: {fault.reason}")]
    wrong = content_faults(connection)
    counts = counted()
    return [
        Check("journal", True, f"{head.seq} entries, head {head.hash.hex()[:16]}"),
        Check(
            "facts",
            not wrong,
            f"does not match the journal: {'; '.join(wrong[:5])}; restore a backup"
            if wrong
            else "traces, suites, candidates, labels and everything else match the journal",
        ),
        Check(
            "roll-ups",
            not counts,
            f"do not match the traces: {'; '.join(counts[:5])}; reviewer score recomputes them"
            if counts
            else "counts agree with the traces",
        ),
    ]


def payloads(connection: Connection) -> Check:
    """Check every compressed frame against its digest or its own checksum."""
    bad = []
    for key in pack_keys(connection):
        try:
            frame_bytes(connection, key)
        except StoreError:
            bad.append(f"pack {key}")
    for key in chunked_traces(connection):
        try:
            large_head(connection, key)
            large_events(connection, key, 0, MOST_EVENTS)
        except StoreError:
            bad.append(f"trace {key}")
    text = f"damaged: {', '.join(bad[:5])}" if bad else "every payload opens and is unchanged"
    return Check("payloads", not bad, text)


def _named(faults: list[str]) -> str:
    return "; ".join(map(visible_line, faults[:5]))


def _archives(connection: Connection) -> list[Check]:
    """Check every frame in files outside the store against its digest."""
    rows = archive_rows(connection)
    if not rows:
        return []
    size = sum(one.size for one in rows)
    told = f"{counted(len(rows), 'file')}, {size:,} bytes outside the store"
    if wrong := archive_faults(connection):
        return [Check("archives", False, f"{told}; payloads are {_named(wrong)}")]
    return [Check("archives", True, f"{told}: every payload is unchanged since it was archived")]


def _permissions(workspace: Workspace) -> list[Check]:
    loose = [
        f"{path.name} is {mode_of(path):04o}"
        for path in sorted(workspace.store.parent.glob("review.db*"))
        if mode_of(path) & 0o077
    ]
    text = f"{', '.join(loose)}: chmod 600 it" if loose else "only you can read the store"
    return [Check("permissions", not loose, text)]
