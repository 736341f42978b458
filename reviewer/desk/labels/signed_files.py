"""Labels that travel with the repository: `store/labels/`, written and signed by their rater, and
taken in where they are needed, for example in a pipeline.

A file contains labels of one person on one suite, and is never rewritten: signing again makes a
file of the labels that none of their signed files contains yet. The journal names each file that
was made here, so that a deleted one is noticed.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from reviewer.db import journal, registry
from reviewer.db.connection import Connection, close_writer, transaction
from reviewer.db.queries.review_sets import review_sets
from reviewer.db.schema import open_writer
from reviewer.desk.errors import DeskError, meant, refusal_of
from reviewer.desk.imports.importing import clock
from reviewer.desk.imports.record_files import TakeResult, keep_lines
from reviewer.desk.integrity.label_files import (
    FILED,
    SUFFIX,
    RefusedFile,
    file_names,
    label_files,
)
from reviewer.desk.integrity.trust import in_role, signing_key, trusted
from reviewer.desk.labels.book import Book, candidates_of
from reviewer.desk.labels.files import KIND
from reviewer.desk.place import Workspace, write_private
from reviewer.exit_codes import ExitCode
from reviewer.review.labels import Label, label_file, stored_label
from reviewer.signing.errors import AttestError
from reviewer.signing.label_files import (
    ROLE,
    SIGNATURE,
    LabelFile,
    checked_file,
    file_name,
)
from reviewer.signing.signers import is_one_of
from reviewer.signing.ssh import LABELS_NAMESPACE, armored
from reviewer.suite.errors import ContractError, Problem


class SignedLabels(NamedTuple):
    """A file of labels that was just signed: where it is, how many labels, by whom."""

    path: str
    suite_id: str
    labels: int
    principal: str


class TakenFile(NamedTuple):
    """The result of taking in one signed file."""

    name: str
    principal: str
    taken: TakeResult


def sign_labels(
    workspace: Workspace, book: Book, suite_id: str, key: str, passphrase: str | None
) -> list[SignedLabels]:
    """Write the labels of the key's owner that none of their signed files contains yet, a file for
    each suite ("" for all), and sign each.

    Raises DeskError for a key that is no labeler's, a suite that the store does not know, nothing
    to sign, or a refused signature.
    """
    signers = trusted(workspace)
    signer = signing_key(workspace, key, passphrase)
    who = in_role(workspace, signers, signer, ROLE)
    connection = open_writer(workspace.store)
    try:
        stored = registry.suites(connection)
        rows = [row for row in stored if suite_id in ("", row.suite_id)]
        if suite_id and not rows:
            near = meant(suite_id, [row.suite_id for row in stored])
            raise DeskError(
                f"no suite {suite_id} in this store{near}",
                "reviewer scorecard lists suites and candidates",
            )
        about = [(row.suite_id, row.digest) for row in rows]
        about += [(row.suite, row.uid) for row in review_sets(connection, suite_id or None)]
        held = {label.uid for label in signed_labels(label_files(workspace).good)}
        made, own = [], 0
        for named, digest in about:
            mine = [x for x in book.of(connection, digest) if _is_of(x, who.principal)]
            own += len(mine)
            if not (fresh := [label for label in mine if label.uid not in held]):
                continue
            data = label_file(fresh)
            blob = signer.sign_for(LABELS_NAMESPACE, data)
            text = armored(blob).encode()
            checked_file(file_name(data), data, text, signers)
            made.append(SignedLabels(
                str(_keep(workspace, connection, data, text)), named, len(fresh),
                who.principal,
            ))  # fmt: skip
    except AttestError as error:
        raise refusal_of(error) from error
    finally:
        close_writer(connection, workspace.store)
    if not own:
        raise _nothing_of(who.principal)
    return made


def _nothing_of(principal: str) -> DeskError:
    return DeskError(
        f"this store has no labels by {principal}, and people sign only their own labels",
        f"label as {principal} (--reviewer {principal}), or sign with the labeler's key",
        exit_code=ExitCode.USAGE,
    )


def _is_of(label: Label, principal: str) -> bool:
    return is_one_of(principal, [label.reviewer])


def _keep(workspace: Workspace, connection: Connection, data: bytes, signature: bytes) -> Path:
    """Write both files, the signature first, so that a label file never exists without it. Then
    enter the file in the journal."""
    path = workspace.labels / file_name(data)
    write_private(path.with_name(path.name + SIGNATURE), signature)
    write_private(path, data)
    with transaction(connection, workspace.store):
        journal.append(connection, {"type": FILED, "file": path.name, "at": clock()})
    return path


def signed_labels(files: Iterable[LabelFile]) -> list[Label]:
    """Return the labels of these files that are by the person who signed, under that person's name
    in the trust file, whatever its spelling in the label."""
    found = []
    for file in files:
        for line in file.data.splitlines():
            try:
                label = stored_label(line)
            except ContractError:
                continue  # `take_signed` reports it
            if _is_of(label, file.by.principal):
                found.append(structs.replace(label, reviewer=file.by.principal))
    return found


def take_signed(workspace: Workspace) -> tuple[list[TakenFile], tuple[RefusedFile, ...]]:
    """Take in every signed file of the repository; one that does not count affects no other, and a
    line that is not by the signer, or not of this workspace, costs only that line. Raises DeskError
    for a trust file that cannot be read, StoreError when nothing can be written."""
    found = label_files(workspace)
    taken: list[TakenFile] = []
    if found.good:
        connection = open_writer(workspace.store)
        try:
            for file in found.good:
                principal = file.by.principal
                lines = [
                    (f"{file.name}:{number}", line)
                    for number, line in enumerate(file.data.split(b"\n"), 1)
                    if line.strip()
                ]
                result = keep_lines(
                    KIND, workspace, connection, lines, _only_of(principal, file.name)
                )
                taken.append(TakenFile(file.name, principal, result))
        finally:
            close_writer(connection, workspace.store)
    return taken, found.refused


def _only_of(principal: str, place: str) -> Callable[[Label], Label]:
    """Return a function that accepts only labels of one person."""

    def own(label: Label) -> Label:
        if not _is_of(label, principal):
            why = f"is not {principal}, who signed: people sign only their own labels"
            raise ContractError.of([Problem(place, "$.reviewer", why)])
        return label

    return own


def labels_as_signed(workspace: Workspace) -> dict[str, Label]:
    """Return uid → label from the signed files, each by the person who signed. The traces that a
    label names are not part of its uid: the signed ones count, not those of another copy that
    entered the store before."""
    if not file_names(workspace):
        return {}
    return {label.uid: label for label in signed_labels(label_files(workspace).good)}


def files_about(workspace: Workspace, suite_digest: str, candidate_id: str) -> tuple[str, ...]:
    """Return the sha256 of each signed file with a label of this candidate's messages."""
    if not file_names(workspace):
        return ()
    return tuple(
        file.name.removesuffix(SUFFIX)
        for file in label_files(workspace).good
        if any(
            label.suite_digest == suite_digest and candidate_id in candidates_of(label)
            for label in signed_labels([file])
        )
    )
