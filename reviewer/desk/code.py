"""The code of a candidate in a folder: its files and their digest."""

from pathlib import Path

from reviewer.desk.errors import DeskError, refusal_of, ways_out
from reviewer.desk.place import Workspace
from reviewer.desk.views import View
from reviewer.exit_codes import ExitCode
from reviewer.running.code import measured_code
from reviewer.running.model import Unrunnable
from reviewer.signing.release import CandidateCode
from reviewer.suite.candidate import Candidate, candidate_value
from reviewer.suite.code import CodeFile
from reviewer.suite.errors import ContractError, id_problem
from reviewer.suite.folder import CANDIDATES
from reviewer.suite.release import Release
from reviewer.suite.strict_json import canonical_bytes, load_object, sha256_hex


class CodeView(View, frozen=True):
    """The code of a candidate: its digest, whether the manifest pins it, and its files (paths
    relative to `candidates/`)."""

    candidate_id: str
    sha256: str
    pinned: bool
    files: tuple[CodeFile, ...]


def release_codes(plan: Release, folder: Path) -> dict[str, CandidateCode] | None:
    """Return the code in `folder` of the candidate of every gate of a release, by suite; None
    unless `folder` contains the folder of each. Raises DeskError as `code_of_manifest`."""
    gates = [one for one in plan.suites if one.role == "gate"]
    if not all((folder / one.suite_id / CANDIDATES).is_dir() for one in gates):
        return None
    found = {}
    for one in gates:
        place = folder / one.suite_id / CANDIDATES / f"{plan.candidate_of(one)}.json"
        try:
            manifest = place.read_bytes()
        except OSError as error:
            raise DeskError(
                f"{place}: cannot be read ({error.strerror})",
                *ways_out(error),
                exit_code=ExitCode.USAGE,
            ) from error
        found[one.suite_id] = CandidateCode(
            manifest_digest(manifest), code_of_manifest(manifest, folder / one.suite_id)
        )
    return found


def manifest_digest(manifest: bytes) -> str:
    """Return the digest of a candidate's manifest as decisions state it. Raises DeskError."""
    try:
        raw = load_object(manifest, "candidate manifest")
        return sha256_hex(canonical_bytes(raw, "candidate manifest"))
    except ContractError as error:
        raise refusal_of(error, exit_code=ExitCode.INVALID) from error


def code_of_manifest(manifest: bytes, folder: Path) -> str:
    """Return the digest of a candidate's code in `folder`: a suite's folder, or its `candidates/`.
    Raises DeskError for another folder, and for a manifest or code that cannot be read."""
    place = folder.absolute()
    if not (place / CANDIDATES).is_dir():
        if place.name != CANDIDATES or not place.is_dir():
            raise DeskError(
                f"{folder}: is neither a suite folder nor its {CANDIDATES}/",
                f"name the folder that holds {CANDIDATES}/",
                exit_code=ExitCode.USAGE,
            )
        place = place.parent
    digest = manifest_digest(manifest)
    try:
        raw = load_object(manifest, "candidate manifest")
        return _measured(candidate_value(raw, digest, "candidate manifest"), place).sha256
    except ContractError as error:
        raise refusal_of(error, exit_code=ExitCode.INVALID) from error


def code_of_candidate(workspace: Workspace, suite_id: str, candidate_id: str) -> CodeView:
    """Return the code of a candidate of a suite in this workspace. Raises DeskError."""
    from reviewer.suite.candidate import read_candidate

    if (reason := id_problem(candidate_id)) is not None:
        raise DeskError(
            f"{candidate_id!r} is not a candidate id: {reason}",
            "an id has letters, digits, dots, hyphens and underscores, such as agent-v1",
            exit_code=ExitCode.USAGE,
        )
    folder = workspace.suite_folder(suite_id)
    file = folder / CANDIDATES / f"{candidate_id}.json"
    try:
        candidate = read_candidate(file.read_bytes(), f"{CANDIDATES}/{file.name}")
    except OSError as error:
        raise DeskError(f"{file}: cannot be read ({error.strerror})", *ways_out(error)) from error
    except ContractError as error:
        raise refusal_of(error) from error
    return _measured(candidate, folder)


def _measured(candidate: Candidate, folder: Path) -> CodeView:
    if not candidate.runner.get("kind"):
        raise DeskError(
            f"{candidate.candidate_id}: its manifest has no runner, so it has no code here",
            "write `runner` into the manifest of a new version",
        )
    try:
        found = measured_code(candidate, folder)
    except Unrunnable as error:
        raise refusal_of(error) from error
    files = tuple(sorted(found.files, key=lambda file: file.path.encode()))
    return CodeView(candidate.candidate_id, found.sha256, found.pinned, files)
