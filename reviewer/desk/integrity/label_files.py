"""The files of labels in the repository, `store/labels`: which count, and which are missing. Most
workspaces have none, and then no signing code is loaded."""

from __future__ import annotations  # names used only in annotations are not imported

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reviewer.db import journal
from reviewer.db.connection import Connection
from reviewer.desk.integrity.store_checks import envelope_names
from reviewer.desk.place import Workspace
from reviewer.report.evidence import MissingLabels
from reviewer.suite.model import Suite

if TYPE_CHECKING:
    from reviewer.signing.label_files import LabelFile
    from reviewer.signing.signers import Signers

FILED = "labels.filed"
"""The journal entry about a file of labels that was signed here."""
SUFFIX = ".jsonl"
MOST_BYTES = 256 << 20


class RefusedFile(NamedTuple):
    """A file in `store/labels` that does not count: why, and the way out."""

    name: str
    why: str
    way: str


class LabelFiles(NamedTuple):
    """The files in `store/labels`: those that count, and those that do not."""

    good: tuple[LabelFile, ...]
    refused: tuple[RefusedFile, ...]


def file_names(workspace: Workspace) -> list[str]:
    """Return the names of the files of labels, by name; none without the folder."""
    try:
        with os.scandir(workspace.labels) as found:
            return sorted(one.name for one in found if one.name.endswith(SUFFIX))
    except (FileNotFoundError, NotADirectoryError):
        return []


def label_files(workspace: Workspace) -> LabelFiles:
    """Read every file of labels in the repository; one that does not count affects no other. Raises
    DeskError for a trust file that cannot be read."""
    from reviewer.desk.integrity.trust import signers_of
    from reviewer.signing.label_files import LabelFileError

    good: list[LabelFile] = []
    refused: list[RefusedFile] = []
    names = file_names(workspace)
    signers = signers_of(workspace) if names else None
    for name in names:
        try:
            good.append(_read(workspace.labels / name, signers))
        except LabelFileError as error:
            refused.append(RefusedFile(name, str(error), error.way))
    return LabelFiles(tuple(good), tuple(refused))


def _read(path: Path, signers: Signers | None) -> LabelFile:
    from reviewer.signing.label_files import SIGNATURE, checked_file
    from reviewer.signing.ssh import MAX_ARMORED

    data = _bytes(path, MOST_BYTES)
    signature = path.with_name(path.name + SIGNATURE)
    there = os.path.lexists(signature)
    return checked_file(path.name, data, _bytes(signature, MAX_ARMORED) if there else None, signers)


def _bytes(path: Path, most: int) -> bytes:
    """Read a regular file; a link, a pipe or a larger file is refused."""
    from reviewer.signing.label_files import LabelFileError

    way = "make it a plain file, as reviewer labels sign writes it"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise LabelFileError(f"{path.name}: cannot be read ({error.strerror})", way) from None
    with os.fdopen(descriptor, "rb") as handle:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise LabelFileError(f"{path.name}: is not a file", way)
        data = handle.read(most + 1)
    if len(data) > most:
        raise LabelFileError(f"{path.name}: is larger than {most:,} bytes", way)
    return data


def label_files_state(workspace: Workspace) -> tuple[object, ...]:
    """Return a value that changes whenever a file of labels, its signature or the trust file
    changes; () where there is no such file."""
    try:
        with os.scandir(workspace.labels) as found:
            entries = [(one.name, one.stat(follow_symlinks=False)) for one in found]
    except (FileNotFoundError, NotADirectoryError):
        return ()
    state = [(name, at.st_mtime_ns, at.st_ctime_ns, at.st_size) for name, at in sorted(entries)]
    try:
        trust = workspace.signers.stat()
        return (*state, (trust.st_mtime_ns, trust.st_size))
    except OSError:
        return tuple(state)


def missing_labels(
    workspace: Workspace, connection: Connection, suite: Suite, candidate: str | None
) -> tuple[MissingLabels, ...]:
    """Return the missing files of labels that are named by the journal, or by a decision of a
    trusted key on this candidate (by the digest of its manifest). Nothing is searched for a policy
    that requires no labels."""
    if not suite.policy.labels.wanted:
        return ()
    named = dict.fromkeys(_in_journal(connection), "the journal")
    if candidate is not None and envelope_names(workspace.decisions):
        named |= _named_by_decisions(workspace, suite, candidate)
    there = set(file_names(workspace))
    return tuple(
        MissingLabels(file=file, named_by=who)
        for file, who in sorted(named.items())
        if file not in there
    )


def _in_journal(connection: Connection) -> list[str]:
    return [str(entry["file"]) for entry in journal.bodies(connection, FILED)]


def missing_files(workspace: Workspace, connection: Connection) -> list[str]:
    """Return the missing files of labels that this journal names."""
    return sorted(set(_in_journal(connection)) - set(file_names(workspace)))


def _named_by_decisions(workspace: Workspace, suite: Suite, candidate: str) -> dict[str, str]:
    from reviewer.desk.integrity import decision_files
    from reviewer.desk.integrity.trust import signers_of
    from reviewer.signing.errors import AttestError

    signers = signers_of(workspace)
    found: dict[str, str] = {}
    if signers is None:
        return found
    for path in decision_files.envelope_files(workspace.decisions):
        try:
            one = decision_files.parse_decision(path, decision_files.read_envelope(path), signers)
        except (AttestError, OSError):
            continue  # no decision, or of no trusted key: `verify` reports it
        predicate = one.statement.predicate
        about = one.statement.subject[0].digest.sha256, predicate.suite.digest.sha256
        if about == (candidate, suite.digest):
            for digest in predicate.labels.files or ():
                found[digest + SUFFIX] = f"decision {one.number}"
    return found
