"""What people and judges said in another store: read as a stranger's, and joined by uid."""

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from reviewer.db.beside import broken_glass, losses
from reviewer.desk.errors import DeskError
from reviewer.desk.imports.record_files import Kind, Taken, join
from reviewer.desk.judge import files as judgment_files
from reviewer.desk.labels import files as label_files
from reviewer.desk.place import Workspace
from reviewer.desk.reports import leaks
from reviewer.desk.traces import note_files
from reviewer.desk.traces.records import locate
from reviewer.review.lines import Said
from reviewer.review.notes import Note

Renamed = Mapping[str, str]
"""Trace ids of the other store that are others here."""

T = TypeVar("T", bound=Said)


class There(NamedTuple):
    """The other store beside this one; `name` is what it is called in messages."""

    workspace: Workspace
    ours: sqlite3.Connection
    other: sqlite3.Connection
    name: str


def take_labels(there: There, renamed: Renamed) -> Taken:
    """Join the labels. One that this workspace would refuse from a file is refused."""
    return _taken(label_files.KIND, there, renamed)


def take_judgments(there: There, renamed: Renamed) -> Taken:
    """Join the judgments, as `take_labels` does."""
    return _taken(judgment_files.KIND, there, renamed)


def take_notes(there: There, renamed: Renamed) -> Taken:
    """Join the bookmarks and notes, each on the trace here that has the evidence it was put on. One
    on a trace that did not come over is refused."""
    found: dict[str, tuple[str, str, str]] = {}

    def here(note: Note) -> Note:
        if note.trace_id not in found:
            found[note.trace_id] = _same_evidence(there, renamed, note.trace_id)
        sha_there, trace_id, sha_here = found[note.trace_id]
        if note.trace_sha256 != sha_there:
            return note  # of no record of theirs: it is no business of this store
        return note_files.placed(note, trace_id, sha_here)

    return _joined(note_files.KIND, there, here)


def take_leaks(there: There) -> Taken:
    """Join the looks for leaks, and what was said to take them back."""
    return _joined(leaks.KIND, there, lambda check: check)


def _same_evidence(there: There, renamed: Renamed, trace_id: str) -> tuple[str, str, str]:
    """(digest of the record there, id here, digest of the record here), of one evidence; "" for
    what is not to be found."""
    try:
        theirs = locate(there.other, trace_id).row
        mine = locate(there.ours, renamed.get(trace_id, trace_id)).row
    except DeskError:
        return "", "", ""
    if _evidence(there.other, theirs.id) != _evidence(there.ours, mine.id):
        return "", "", ""
    return theirs.sha256.hex(), renamed.get(trace_id, trace_id), mine.sha256.hex()


def _evidence(connection: sqlite3.Connection, trace: int) -> int:
    row = connection.execute("SELECT evidence FROM trace WHERE id=?", (trace,)).fetchone()
    return int(row[0])


def _taken(kind: Kind[T, Any], there: There, renamed: Renamed) -> Taken:
    def here(one: T) -> T:
        old: tuple[str, ...] = one.traces  # type: ignore[attr-defined]
        traces = tuple(sorted({renamed.get(trace, trace) for trace in old}))
        moved: T = msgspec.structs.replace(one, traces=traces)  # type: ignore[type-var]
        return moved

    return _joined(kind, there, here)


def _joined(kind: Kind[T, Any], there: There, here: Callable[[T], T]) -> Taken:
    lines = [
        (f"{there.name}: {kind.noun} {row.id}", row.body)
        for suite in kind.table.suites(there.other)
        for row in kind.table.of_suite(there.other, suite)
    ]
    return join(kind, there.workspace, there.ours, lines, here)


def decisions_there(there: There) -> tuple[str, ...]:
    """Signed decisions that stand there and not here: files under version control, each bound to
    the journal it was signed under."""
    rows = there.ours.execute("SELECT payload_sha256 FROM decision").fetchall()
    mine = {row[0] for row in rows}
    found = there.other.execute(
        "SELECT number, suite_id, candidate_id, decision, principal, payload_sha256"
        " FROM decisions ORDER BY number"
    ).fetchall()
    told = [
        f"{number}: {word} {suite}/{candidate}, signed by {who}"
        for number, suite, candidate, word, who, payload in found
        if payload not in mine
    ]
    known = {one.uid for one in broken_glass(there.ours)}
    known.update(one.uid for one in losses(there.ours))
    return (*told, *(
        f"BREAK-GLASS {one.suite}/{one.candidate}, signed by {one.principal}: {one.file}"
        for one in broken_glass(there.other)
        if one.uid not in known
    ), *(
        f"LOSS of journal, entries {one.lost_seq} to {one.kept_seq}, signed by {one.principal}:"
        f" {one.file}"
        for one in losses(there.other)
        if one.uid not in known
    ))  # fmt: skip
