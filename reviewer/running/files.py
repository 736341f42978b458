"""Files that a manifest names: inside the suite folder, and the very bytes it names."""

from pathlib import Path

from reviewer.running.model import Unrunnable
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import ContractError, path_problem, shown
from reviewer.suite.folder import CANDIDATES, read_bytes
from reviewer.suite.strict_json import sha256_hex


def manifest_file(candidate: Candidate, folder: Path) -> str:
    """How the candidate's manifest is named in a message."""
    return f"{folder.name}/{CANDIDATES}/{shown(candidate.candidate_id, 200)}.json"


def read_below(folder: Path, path: str, sha256: str, where: str) -> bytes:
    """Content of a file inside `folder`. `where` names the manifest and the member that says so.

    Raises Unrunnable for a path that leaves the folder (also through a link), a file that cannot
    be read, and content whose digest is another.
    """
    if (reason := path_problem(path)) is not None:
        raise Unrunnable(f"{where}: `{shown(path, 200)}` {reason}: name a file inside the suite")
    place = folder / path
    if not place.resolve().is_relative_to(folder.resolve()):
        raise Unrunnable(f"{where}: `{shown(path, 200)}` leads out of the suite folder")
    try:
        data = read_bytes(place)
    except ContractError as error:
        raise Unrunnable(f"{where}: `{shown(path, 200)}`: {error.reason}") from None
    found = sha256_hex(data)
    if found != sha256:
        raise Unrunnable(
            f"{where}: `{shown(path, 200)}` is not the file the manifest names: sha256 {found}, "
            f"expected {shown(sha256)}; put it back, or make a new version of the candidate"
        )
    return data
