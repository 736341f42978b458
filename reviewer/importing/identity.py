"""Which file this is: the digest of its bytes and of those of its companions."""

import hashlib
import json
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@lru_cache(maxsize=4096)
def _shared_digest(path: Path, size: int, mtime_ns: int) -> str:
    """Of a companion: a run's log may be part of every one of its attempts."""
    return _digest(path)


def unit_digest(path: Path, companions: Iterable[Path]) -> str:
    """sha256 of a file; with companions, of the digests and relative names of all of them."""
    own, others = _digest(path), sorted(companions)
    if not others:
        return own
    lines = [f"{own}  {path.name}"]
    for other in others:
        state = other.stat()
        digest = _shared_digest(other, state.st_size, state.st_mtime_ns)
        lines.append(f"{digest}  {os.path.relpath(other, path.parent)}")
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def placed_digest(digest: str, place: Iterable[str]) -> str:
    """The identity of a file whose bytes are another's and whose path says something else."""
    named = "\n".join((digest, *place))
    return hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest()


def names_digest(names: Iterable[tuple[str, str]]) -> str:
    """The digest of a map of episode names; empty for none."""
    pairs = sorted(names)
    if not pairs:
        return ""
    return hashlib.sha256(json.dumps(pairs, ensure_ascii=True).encode()).hexdigest()


def candidate_named(raw: bytes) -> str:
    """The candidate that a native record names."""
    name = json.loads(raw).get("candidate_id")
    return name if isinstance(name, str) else ""
