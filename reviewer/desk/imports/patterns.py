"""Paths as people type them."""

import glob
from collections.abc import Iterable
from pathlib import Path


def expand(paths: Iterable[Path]) -> list[Path]:
    """The paths, a pattern (`runs/*.json`) that no shell has expanded replaced by its matches."""
    found: list[Path] = []
    for path in paths:
        if is_pattern(path):
            found += sorted(map(Path, glob.glob(str(path), recursive=True))) or [path]
        else:
            found.append(path)
    return found


def is_pattern(path: Path) -> bool:
    """Whether a path is a pattern: one that has its marks and is no file's name."""
    return any(mark in str(path) for mark in "*?[") and not path.exists()
