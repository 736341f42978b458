"""Which suites of a workspace were proved to be as they were frozen, and have not been touched
since.

Reading a hundred thousand files for each question would cost more than any answer. A suite is read
completely once; the times and sizes that the file system then gives for its files are stored in the
store's folder `proofs`, together with the lock's digest and the digest of the code that read it. As
long as these are the same, no file was written. Where they differ, or where the file system cannot
be relied on for this, everything is read again.

`reviewer suite check`, signing and `verify` do not use these proofs: they read the files.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from reviewer.db import contracts
from reviewer.db.connection import unwritten
from reviewer.desk import stopping
from reviewer.desk.early_stats import stats_at
from reviewer.desk.errors import DeskError, parted
from reviewer.desk.place import Workspace
from reviewer.judging import judging_version
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import as_frozen
from reviewer.suite.on_demand import Contracts, SuiteTouched
from reviewer.suite.untouched import Stats

GRAIN = 2_000_000_000
"""Nanoseconds within which a file system may give two changes the same time. A file that changed so
shortly before it was read could change again unnoticed, so no proof is stored for it."""
MOST = 1 << 16


class _Proof(msgspec.Struct, frozen=True):
    """`body` is the digest of the suite's contracts in a store: see `contracts.digest`."""

    digest: str
    stats: str
    version: str
    at: int
    body: str


_decoder = msgspec.json.Decoder(_Proof)


def is_proved(workspace: Workspace, folder: Path, digest: str) -> bool:
    """Return the same as `as_frozen`, for a suite that the store knows by this digest. A suite that
    was read before and was not touched is not read again."""
    looked = _look(workspace, folder, digest)
    if looked.kept is None and not looked.keepable:
        return as_frozen(folder, digest, stopping.check)
    return _proof(workspace, folder, digest, looked) is not None


def proved_body(workspace: Workspace, folder: Path, digest: str) -> str | None:
    """Return the digest that the contracts of a suite have in a store (`contracts.digest`), where
    the suite is proved and need not be read again; None where it has to be read."""
    looked = _look(workspace, folder, digest)
    proof = _proof(workspace, folder, digest, looked)
    return None if proof is None else proof.body


def forget(workspace: Workspace) -> None:
    """Make every suite be read completely before it is used again. Raises DeskError when a proof
    cannot be deleted."""
    try:
        for place in sorted(workspace.proofs.glob("*.json")):
            place.unlink(missing_ok=True)
    except OSError as error:
        raise DeskError(*parted(unwritten(workspace.proofs, error))) from error


class _Look(NamedTuple):
    """What is known of a suite before any file is read: the proof that is still valid, or whether a
    new one could be stored."""

    at: int
    stats: Stats | None
    kept: _Proof | None
    keeps: bool

    @property
    def keepable(self) -> bool:
        return self.keeps and self.stats is not None and self.stats.newest < self.at - GRAIN


def _look(workspace: Workspace, folder: Path, digest: str) -> _Look:
    at, stats = stats_at(folder)
    kept = _kept(_file(workspace, folder)) if stats is not None else None
    holds = (
        kept is not None
        and stats is not None
        and (kept.digest, kept.stats) == (digest, stats.digest)
        and kept.version == judging_version()
        and kept.at <= at
    )
    return _Look(at, stats, kept if holds else None, workspace.keeps)


def _proof(workspace: Workspace, folder: Path, digest: str, looked: _Look) -> _Proof | None:
    """Return the valid proof, else a new one that is stored; None for a suite that is not as it was
    frozen, and where no proof can be stored."""
    if looked.kept is not None or looked.stats is None or not looked.keepable:
        return looked.kept
    if not as_frozen(folder, digest, stopping.check):
        return None
    try:
        found = Contracts(folder, digest)
        body = contracts.digest_of(found.files.suite(), stopping.steps(found.in_order()))
    except (ContractError, SuiteTouched):
        return None  # edited meanwhile
    made = _Proof(digest, looked.stats.digest, judging_version(), looked.at, body)
    _keep(_file(workspace, folder), made)
    return made


def _file(workspace: Workspace, folder: Path) -> Path:
    return workspace.proofs / f"{folder.name}.json"


def _kept(place: Path) -> _Proof | None:
    try:
        with place.open("rb") as file:
            return _decoder.decode(file.read(MOST))
    except (OSError, msgspec.DecodeError):
        return None


def _keep(place: Path, proof: _Proof) -> None:
    """Store a proof, where the store's folder can be written: this saves reading, and nothing
    depends on it."""
    partial = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        place.parent.mkdir(mode=0o700, exist_ok=True)
        ignore = place.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")  # valid on this machine alone
        partial.write_bytes(msgspec.json.encode(proof))
        partial.chmod(0o600)
        partial.replace(place)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
