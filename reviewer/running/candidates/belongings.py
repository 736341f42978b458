"""The paths in a suite's `candidates/` that belong to other candidates.

Those are their manifests, the folders of their names, and the files that their manifests name with
the folders that contain them. Files that the candidate's own manifest names, and files that nobody
names, are excluded: the latter are shared. The scripts that prove episodes belong to nobody: they
contain the right calls, so every candidate is kept from them.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import CANDIDATES, PROOFS, candidate_files
from reviewer.suite.strict_json import loads


def of_others(folder: Path, candidate: Candidate) -> tuple[Path, ...]:
    """Return the paths below a suite folder's `candidates/` that a candidate may not read. Its
    manifest need not exist yet."""
    base = Path(os.path.abspath(folder / CANDIDATES))
    own = set(_named([candidate.runner, list(candidate.prompts), candidate.config], base))
    others: set[Path] = set()
    for manifest in candidate_files(folder):
        named = own if manifest.stem == candidate.candidate_id else others
        named.update(_belonging(base / manifest.name, base))
    proofs = Path(os.path.abspath(folder / PROOFS))
    hidden = {proofs} if proofs.exists() else set()
    for path in others - own:
        place = path.parent if path.is_file() and path.parent != base else path
        if any(kept.is_relative_to(place) for kept in own):
            place = path  # a folder of both: only the other's files in it
        if not any(kept.is_relative_to(place) for kept in own):
            hidden.add(place)
    return tuple(sorted(hidden))


def owners(folder: Path, files: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the candidates whose manifests name each of these files of `candidates/`, or a folder
    that contains it. A file without any is shared."""
    base = Path(os.path.abspath(folder / CANDIDATES))
    named = {path.stem: set(_belonging(base / path.name, base)) for path in candidate_files(folder)}
    return {
        file: tuple(who for who, of in named.items() if _is_of(base / file, of, base))
        for file in files
    }


def _is_of(file: Path, named: set[Path], base: Path) -> bool:
    """Return whether a file is among what a manifest names, or beside it in a folder."""
    places = (one.parent if one.is_file() and one.parent != base else one for one in named)
    return any(file.is_relative_to(place) for place in places)


def _belonging(manifest: Path, base: Path) -> Iterator[Path]:
    """Yield the paths below `base` that belong to a candidate by its manifest."""
    yield manifest
    if (home := manifest.with_suffix("")).is_dir():
        yield home
    try:
        said = loads(manifest.read_bytes(), manifest.name)
    except (OSError, ContractError):
        return  # such a candidate cannot be run either
    yield from _named(said, base)


def _named(said: Any, base: Path) -> Iterator[Path]:
    """Yield the paths below `base` named in texts of a manifest."""
    for word in _words(said):
        for place in _places(word, base):
            if place != base and place.is_relative_to(base) and place.exists():
                yield place


def _places(word: str, base: Path) -> Iterator[Path]:
    """Yield the paths that a text of a manifest may mean: one below `candidates/` or below the
    suite, or a module in `candidates/`."""
    if not word or "\0" in word or len(word) > 1000:
        return
    module = word.partition(":")[0].replace(".", "/")
    for text in (word, f"../{word}", module, f"{module}.py"):
        yield Path(os.path.normpath(base / text))


def _words(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
