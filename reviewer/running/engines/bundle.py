"""The suite of a run as it is sent to workers on other machines: its locked files, and from its
`candidates/` this candidate's code. Files of other candidates are not sent."""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from reviewer.running.code import measured_code
from reviewer.running.model import Unrunnable
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import ContractError, path_problem, shown
from reviewer.suite.folder import CANDIDATES, as_frozen, locked_files
from reviewer.suite.lock import LOCK_FILE
from reviewer.suite.strict_json import sha256_hex

MOST_BYTES = 256 << 20


class _File(msgspec.Struct, frozen=True, array_like=True):
    path: str
    runs: bool
    data: bytes


class Bundle(NamedTuple):
    """A packed suite: its id, the digest of its lock, the files, and the digest of those bytes."""

    suite_id: str
    suite: str
    sha256: str
    data: bytes


def packed(folder: Path, suite: str, candidate: Candidate) -> Bundle:
    """Pack the frozen suite in `folder`, with lock digest `suite`, for runs of a candidate. Raises
    Unrunnable for what cannot be sent."""
    try:
        files = [_file(folder, path, data) for path, data in locked_files(folder).items()]
    except ContractError as error:
        raise Unrunnable(str(error)) from None
    files.append(_file(folder, LOCK_FILE))
    there = {file.path for file in files}
    wanted = {f"{CANDIDATES}/{candidate.candidate_id}.json": ""}
    for code in measured_code(candidate, folder).files:
        wanted[f"{CANDIDATES}/{code.path}"] = code.sha256
    for path, digest in wanted.items():
        if path in there or not (folder / path).is_file():
            continue  # under the lock, or outside the suite, where each worker has its own
        inside = os.path.normpath(path)
        if inside in there or not inside.startswith(f"{CANDIDATES}/") or path != inside:
            continue
        file = _file(folder, path)
        if digest and sha256_hex(file.data) != digest:
            raise Unrunnable(f"{folder.name}/{shown(path, 200)}: is being changed: run it again")
        files.append(file)
    if sum(len(file.data) for file in files) > MOST_BYTES:
        raise Unrunnable(
            f"{folder.name}: suite and candidate are more than {MOST_BYTES >> 20} MiB, too much to "
            "send to each worker: name large files by absolute paths that every worker has"
        )
    data = msgspec.msgpack.encode(files)
    return Bundle(folder.name, suite, sha256_hex(data), data)


def _file(folder: Path, path: str, data: bytes | None = None) -> _File:
    if reason := path_problem(path):
        raise Unrunnable(f"{folder.name}/{shown(path, 200)}: {reason}: no worker can be sent it")
    place = folder / path
    try:
        runs = bool(place.stat().st_mode & 0o100)
        return _File(path, runs, place.read_bytes() if data is None else data)
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
        raise Unrunnable(f"{folder.name}/{shown(path, 200)}: {why}") from None


def unpack(bundle: Bundle, suites: Path) -> Path:
    """Write a bundle below the folder `suites` and return the suite's own folder. Raises Unrunnable
    unless it matches its digests."""
    if hashlib.sha256(bundle.data).hexdigest() != bundle.sha256:
        raise Unrunnable(f"the bundle of {shown(bundle.suite_id)} is not the one that was sent")
    if path_problem(bundle.suite_id) or "/" in bundle.suite_id:
        raise Unrunnable(f"{shown(bundle.suite_id)} is not a suite id")
    try:
        files = msgspec.msgpack.decode(bundle.data, type=list[_File])
    except msgspec.MsgspecError:
        raise Unrunnable(f"the bundle of {bundle.suite_id} cannot be read") from None
    folder = suites / bundle.suite_id
    for file in files:
        if reason := path_problem(file.path):
            raise Unrunnable(f"{bundle.suite_id}/{shown(file.path, 200)}: {reason}")
        place = folder / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)
        place.chmod(0o755 if file.runs else 0o644)
    if not as_frozen(folder, bundle.suite):
        raise Unrunnable(
            f"the files received as {bundle.suite_id} do not match the digest {bundle.suite}: "
            "they were changed after the run began; put them back, then run it again"
        )
    return folder
