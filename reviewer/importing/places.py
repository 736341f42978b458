"""What to call records that name nothing themselves: after their file's path, not its stem alone.

An episode is called after the path below the folder that was named. A candidate, and an episode of
a file that was named by itself, after the stem as long as no other file of that name was or is
imported, else after as many folders above it as tell them apart. A file that was imported before
keeps the names that its attempts have.
"""

import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from reviewer.importing.units import Unit

MOST_FOLDERS = 8
_OF_PATH = """
SELECT DISTINCT e.episode_id, c.candidate_id FROM source s JOIN trace t ON t.source = s.id
JOIN episode e ON e.id = t.episode JOIN candidate c ON c.id = t.candidate
WHERE s.path = ? LIMIT 20
"""


class Places:
    """The names of the files of one import."""

    def __init__(self, connection: sqlite3.Connection, units: Iterable[Unit]) -> None:
        self._connection = connection
        self._named: dict[str, set[str]] = defaultdict(set)
        for unit in units:
            self._named[unit.path.name].add(os.path.abspath(unit.path))
        self._asked = False

    def of(self, unit: Unit, shown: str) -> tuple[str, str]:
        """(what its episodes are called after, what its candidate is); `shown` is its path as the
        store has it."""
        home = unit.path.stem if unit.name else self._home(unit, shown)
        return unit.place or home, home

    def _home(self, unit: Unit, shown: str) -> str:
        names = list(_names(unit.path))
        if not self._asked:
            self._asked = True
            for (path,) in self._connection.execute("SELECT path FROM source").fetchall():
                self._named[os.path.basename(path)].add(os.path.abspath(path))
        others = self._named[unit.path.name] - {os.path.abspath(unit.path)}
        if not others:
            return names[0]
        if kept := self._kept(shown, names):
            return kept
        taken = {name for other in others for name in _names(Path(other))}
        return next((name for name in names if name not in taken), names[-1])

    def _kept(self, shown: str, names: list[str]) -> str:
        """The name under which its attempts stand already."""
        rows = self._connection.execute(_OF_PATH, (shown,)).fetchall()
        known = {text for row in rows for one in row for text in (one, one.rpartition("-")[0])}
        return next((name for name in names if name in known), "")


def _names(path: Path) -> Iterator[str]:
    """The shortest name of a file, then longer ones."""
    whole = Path(os.path.abspath(path)).with_suffix("")
    parts = [part for part in whole.parts if part != whole.anchor]
    for count in range(1, min(len(parts), MOST_FOLDERS + 1) + 1):
        yield "/".join(parts[-count:])
