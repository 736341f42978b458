"""Find episodes and attempts by a part of their name, for a list to choose from."""

import sqlite3
from typing import NamedTuple


class EpisodePlace(NamedTuple):
    """An episode of a suite."""

    suite_id: str
    episode_id: str


class AttemptPlace(NamedTuple):
    """A stored attempt. `passed` is None where it is not measured."""

    suite_id: str
    candidate_id: str
    episode_id: str
    attempt: int
    passed: bool | None
    critical: bool


def like(text: str) -> str:
    """Return the LIKE pattern that finds the words of a text in their order."""
    words = text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_").split()
    return f"%{'%'.join(words)}%"


_NAMED = (
    "SELECT e.id, e.suite, s.suite_id, e.episode_id, e.position FROM episode e"
    " JOIN suite s ON s.id = e.suite WHERE e.episode_id LIKE ? ESCAPE '\\'"
    " ORDER BY s.id DESC, e.position LIMIT ?"
)


def episodes_named(connection: sqlite3.Connection, text: str, most: int) -> list[EpisodePlace]:
    """Return episodes whose name contains a text, those of the newest suite first."""
    rows = connection.execute(_NAMED, (like(text), most)).fetchall()
    return [EpisodePlace(row[2], row[3]) for row in rows]


def attempts_named(
    connection: sqlite3.Connection, text: str, episodes: int, most: int
) -> list[AttemptPlace]:
    """Return attempts of the first episodes whose name contains a text, of the newest candidate
    first."""
    rows = connection.execute(
        f"SELECT e.suite_id, c.candidate_id, e.episode_id, t.attempt, t.passed, t.critical"
        f" FROM ({_NAMED}) e JOIN candidate c ON c.suite = e.suite"
        " JOIN trace t ON t.candidate = c.id AND t.episode = e.id"
        " ORDER BY c.id DESC, e.position, t.attempt LIMIT ?",
        (like(text), episodes, most),
    ).fetchall()
    return [
        AttemptPlace(
            row[0], row[1], row[2], row[3], None if row[4] is None else bool(row[4]), bool(row[5])
        )
        for row in rows
    ]
