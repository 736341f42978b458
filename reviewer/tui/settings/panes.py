"""Which panes a person folded, and how many lines each has, kept next to the note that the tour was
seen.

A file that cannot be read or written loses only this memory.
"""

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

MOST = 100_000
"""Bytes from which the file is not ours."""
TALLEST = 500
"""More lines than any pane has."""


class Panes:
    """The folded panes, and the lines of those that were sized, by name. Without a file nothing is
    kept."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        kept = _read(file) if file is not None else {}
        self._folded = _names(kept.get("folded"))
        self._lines = _sizes(kept.get("lines"))

    def folded(self, pane: str) -> bool:
        """Return whether a pane was folded when it was last seen."""
        return pane in self._folded

    def note(self, pane: str, *, folded: bool) -> None:
        """Remember whether a pane is folded."""
        if folded == (pane in self._folded):
            return
        self._folded ^= {pane}
        self._write()

    def lines(self, pane: str) -> int | None:
        """Return the lines that a person gave a pane; None where no one did."""
        return self._lines.get(pane)

    def size(self, pane: str, lines: int) -> None:
        """Remember how many lines a pane has."""
        if self._lines.get(pane) != lines:
            self._lines[pane] = lines
            self._write()

    def _write(self) -> None:
        if self._file is None:
            return
        told: dict[str, Any] = {"folded": sorted(self._folded)}
        if self._lines:
            told["lines"] = dict(sorted(self._lines.items()))
        with suppress(OSError):
            _write(self._file, told)


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as data:
            value = json.loads(data.read(MOST))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _names(told: object) -> set[str]:
    return {pane for pane in told if isinstance(pane, str)} if isinstance(told, list) else set()


def _sizes(told: object) -> dict[str, int]:
    named = told.items() if isinstance(told, dict) else ()
    return {
        pane: lines
        for pane, lines in named
        if isinstance(lines, int) and not isinstance(lines, bool) and 0 < lines <= TALLEST
    }


def _write(file: Path, told: dict[str, Any]) -> None:
    """Write the whole file or nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(prefix=".panes-", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(told, out)
        Path(beside).replace(file)
    except OSError:
        Path(beside).unlink(missing_ok=True)
        raise
