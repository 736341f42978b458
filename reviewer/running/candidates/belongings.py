"""The paths in a suite's `candidates/` that belong to other candidates.

Those are their manifests, the folders of their names, and the files that their manifests name with
the folders these are in. What the candidate's own manifest names stays, as does what nobody names:
it is shared.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewer.suite.errors import ContractError
from reviewer.suite.folder import CANDIDATES, candidate_files
from reviewer.suite.strict_json import loads


def of_others(folder: Path, candidate_id: str) -> tuple[Path, ...]:
    """Return the paths below a suite folder's `candidates/` that a candidate is not to read."""
    base = Path(os.path.abspath(folder / CANDIDATES))
    own: set[Path] = set()
    others: set[Path] = set()
    for manifest in candidate_files(folder):
        named = own if manifest.stem == candidate_id else others
        named.update(_belonging(base / manifest.name, base))
    hidden = set()
    for path in others - own:
        place = path.parent if path.is_file() and path.parent != base else path
        if any(kept.is_relative_to(place) for kept in own):
            place = path  # a folder of both: what is the other's there
        if not any(kept.is_relative_to(place) for kept in own):
            hidden.add(place)
    return tuple(sorted(hidden))


def _belonging(manifest: Path, base: Path) -> Iterator[Path]:
    """Yield the paths below `base` that are a candidate's by its manifest."""
    yield manifest
    if (home := manifest.with_suffix("")).is_dir():
        yield home
    try:
        said = loads(manifest.read_bytes(), manifest.name)
    except (OSError, ContractError):
        return  # such a candidate cannot be run either
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
