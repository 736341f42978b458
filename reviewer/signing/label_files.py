"""Files of labels in the repository: `store/labels/<sha256>.jsonl`, named by content, each beside
the SSHSIG of one rater, `<sha256>.jsonl.sig`.

The signature is what `ssh-keygen -Y sign -n agent-release-labels@reviewer.dev` makes over the file,
so `ssh-keygen -Y verify` reads it without this program. A key counts with the role `labeler`, and
only for labels of its own principal: nobody signs another person's labels.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reviewer.signing.errors import AttestError, plain
from reviewer.signing.signers import Signers, TrustedKey
from reviewer.signing.ssh import LABELS_NAMESPACE, SshSigError, blob_holds, dearmored, key_of

SUFFIX = ".jsonl"
SIGNATURE = ".sig"
ROLE = "labeler"


class LabelFileError(AttestError):
    """A file of labels that does not count; `way` is what to do about it."""

    def __init__(self, text: str, way: str) -> None:
        super().__init__(text)
        self.way = way


StoredFile = tuple[bytes, bytes | None]
"""A file's bytes, and those of the signature beside it."""


class LabelFile(NamedTuple):
    """A file of labels that its rater signed."""

    name: str
    data: bytes
    by: TrustedKey


def file_name(data: bytes) -> str:
    """Return the name of a file of labels, which depends on its content."""
    return hashlib.sha256(data).hexdigest() + SUFFIX


def checked_file(
    name: str, data: bytes, signature: bytes | None, signers: Signers | None
) -> LabelFile:
    """Return the file. Raises LabelFileError, which names it, unless its content matches its name
    and a labeler of the trust file signed it."""
    shown = plain(name)
    if name != file_name(data):
        raise LabelFileError(
            f"{shown}: its content has the sha256 {file_name(data)[:16]}…: it was changed or "
            "renamed after it was made",
            "put it back from version control, or delete it and let the rater sign again "
            "(reviewer labels sign)",
        )
    if signature is None:
        raise LabelFileError(
            f"{shown}: not signed: {shown}{SIGNATURE} is missing",
            "its rater signs it: reviewer labels sign --key KEY",
        )
    try:
        blob = dearmored(signature)
        key = key_of(blob)
    except SshSigError as error:
        raise LabelFileError(
            f"{shown}{SIGNATURE}: {error}", "its rater signs again: reviewer labels sign --key KEY"
        ) from None
    found = signers.find(key) if signers is not None else None
    if found is None:
        raise LabelFileError(
            f"{shown}: signed by {key.keyid}, a key that store/signers does not name",
            "reviewer keys trust NAME KEY.pub --roles labeler, where that person may label",
        )
    if ROLE not in found.roles:
        raise LabelFileError(
            f"{shown}: signed by {found.principal}, who has no {ROLE} role in store/signers",
            f"add {ROLE} to the roles of {found.principal} there, where that person may label",
        )
    if not blob_holds(key, blob, data, LABELS_NAMESPACE):
        raise LabelFileError(
            f"{shown}: the signature of {found.principal} does not match its content, or was "
            "made for another purpose",
            "put both files back from version control, or let the rater sign again",
        )
    return LabelFile(name, data, found)


def label_faults(
    named: Iterable[str], there: Mapping[str, StoredFile] | None, signers: Signers
) -> list[str]:
    """Return what is wrong with the files of labels that a decision names, by sha256; nothing where
    no files are given."""
    faults = []
    for digest in named if there is not None else ():
        name = digest + SUFFIX
        if there is None or name not in there:
            faults.append(f"labels: {name}, which the decision names, is missing")
            continue
        try:
            checked_file(name, *there[name], signers)
        except LabelFileError as error:
            faults.append(f"labels: {error}")
    return faults
