"""Check whether the store is intact: integrity, chain, decisions, version, permissions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, pairwise
from math import inf
from pathlib import Path
from typing import Protocol, TypeVar

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
from reviewer.db.integrity import (
    WrongTraces,
    other_faults,
    wrong_counts,
    wrong_figures,
    wrong_traces,
)
from reviewer.db.payload import damaged_payloads
from reviewer.db.payload_archives import archive_faults, archive_rows
from reviewer.db.schema import foreign_parts, version_of
from reviewer.db.search import index_faults, pending_events
from reviewer.desk.integrity.label_files import file_names, label_files, missing_files
from reviewer.desk.integrity.signed_files import Check, signed_checks
from reviewer.desk.place import Workspace
from reviewer.report.formatting import counted
from reviewer.trace.safetext import visible_line

T = TypeVar("T")
LARGE = 24 << 20
"""Bytes of a store from which it is worth starting processes."""
CONTENT = ("store", "schema", "integrity", "journal", "facts", "roll-ups", "payloads")
FIXED_IN = (3, 51, 3)
BACKPORTS = ((3, 44, 6), (3, 50, 7))


def examine(workspace: Workspace, alone: bool = False) -> list[Check]:
    """Run every check, in a fixed order. A store that cannot be opened is one failed check. `alone`
    says that this process has no connection to the store yet, so a large one may be read in several
    processes."""
    found = [_sqlite_version(SQLITE_VERSION)]
    if not workspace.store.exists():
        return [
            *found,
            Check("store", None, f"{workspace.store} does not exist yet: reviewer import makes it"),
        ]
    with _asked(workspace.store, alone) as asked:
        try:
            connection = reader(workspace.store)
        except StoreError as error:
            return [*found, Check("store", False, str(error))]
        try:
            with one_moment(connection):
                found.append(_schema(connection))
                if found[-1].ok is False:
                    return found  # the other checks need the missing parts
                content = _content(connection, asked)
                derived = asked.ask(_index, connection)
                found += content()
                found += _archives(connection)
                found += signed_checks(workspace, connection)
                found += _label_files(workspace, connection)
                found += [*_permissions(workspace), derived()]
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
    return _content(connection, _Here())()


class _Asked(Protocol):
    """Answers questions about a store. `parts` says into how many a question about all traces is to
    be cut."""

    @property
    def parts(self) -> int: ...

    def ask(self, question: Callable[[Connection], T], here: Connection) -> Callable[[], T]:
        """Ask a question; return a function that returns its answer, or raises what it raised.
        `here` is this process's connection."""
        ...


class _Here:
    """Answers each question in this process, when the answer is needed."""

    parts = 1

    def ask(self, question: Callable[[Connection], T], here: Connection) -> Callable[[], T]:
        return partial(question, here)


@contextmanager
def _asked(store: Path, alone: bool) -> Iterator[_Asked]:
    if not alone or store.stat().st_size < LARGE:
        yield _Here()
        return
    from reviewer.desk.integrity.processes import Processes  # a small store needs none

    several = Processes(store)
    try:
        yield several
    finally:
        several.close()


def _content(connection: Connection, asked: _Asked) -> Callable[[], list[Check]]:
    """Ask for every check of the content, what takes longest first."""
    pages = asked.ask(_integrity, connection)
    counts = asked.ask(wrong_counts, connection)
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()
    edges = [-inf, *(last * n // asked.parts for n in range(1, asked.parts)), inf]
    traces = [
        asked.ask(partial(wrong_traces, start=start, stop=stop), connection)
        for start, stop in pairwise(edges)
    ]
    frames = asked.ask(payloads, connection)
    others = asked.ask(other_faults, connection)
    return lambda: [pages(), *_chain(connection, traces, others, counts), frames()]


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


def _chain(
    connection: Connection,
    traces: list[Callable[[], WrongTraces]],
    others: Callable[[], list[str]],
    counted: Callable[[], list[str]],
) -> list[Check]:
    """Check the chain and, when it holds, the rows that its entries describe, and their counts."""
    head, fault = journal.verify(connection)
    if fault is not None:
        return [Check("journal", False, f"broken at entry {fault.seq}: {fault.reason}")]
    parts = [part() for part in traces]
    facts, slots, blocks = ([*chain.from_iterable(each)] for each in zip(*parts, strict=True))
    wrong = [*facts, *slots, *others()]
    counts = counted() + wrong_figures(blocks)
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
    damaged = damaged_payloads(connection)
    return Check("payloads", not damaged, damaged or "every payload opens and is unchanged")


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
