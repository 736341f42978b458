"""Which panes a person has folded away, kept beside the note that the tour was seen.

It is memory and nothing more: a file that cannot be read or written costs that alone.
"""

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path

MOST = 100_000
"""Bytes beyond which the file is none of ours."""


class Panes:
    """The folded panes by name. Without a file nothing is remembered."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._folded = _read(file) if file is not None else set()

    def folded(self, pane: str) -> bool:
        """Tell whether a pane was folded away when it was last seen."""
        return pane in self._folded

    def note(self, pane: str, *, folded: bool) -> None:
        """Remember that a pane is folded, or is not."""
        if folded == (pane in self._folded):
            return
        self._folded ^= {pane}
        if self._file is not None:
            with suppress(OSError):
                _write(self._file, self._folded)


def _read(file: Path) -> set[str]:
    try:
        with file.open("rb") as data:
            value = json.loads(data.read(MOST))
    except (OSError, ValueError, RecursionError):
        return set()
    named = value.get("folded") if isinstance(value, dict) else None
    return {pane for pane in named if isinstance(pane, str)} if isinstance(named, list) else set()


def _write(file: Path, folded: set[str]) -> None:
    """Write the file whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(prefix=".panes-", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump({"folded": sorted(folded)}, out)
        Path(beside).replace(file)
    except OSError:
        Path(beside).unlink(missing_ok=True)
        raise
