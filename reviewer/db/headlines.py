"""What other harnesses said of a candidate's attempts, counted."""

import sqlite3
from collections import Counter
from collections.abc import Container
from typing import NamedTuple

from reviewer.db.facts import scanned

_LOST = "t.infra = 1 AND t.passed IS NULL"


class SaidRow(NamedTuple):
    """Attempts of which a source said the same: passed or not, and which reward. `lost` to
    infrastructure, as our gates see it. `epochs` counts the attempts of the same episode that the
    source scored, where that was asked for; else it is 1."""

    reader: str
    passed: int | None
    reward: float | None
    lost: int
    attempts: int
    epochs: int = 1


def said_elsewhere(
    connection: sqlite3.Connection, candidate: int, by_episode: Container[str] = ()
) -> list[SaidRow]:
    """What other harnesses said of a candidate's attempts, every one that was made, those of which
    they said nothing too; nothing where they said nothing at all. `by_episode` names readers whose
    rows tell apart how many attempts of an episode were scored."""
    some = connection.execute(
        "SELECT 1 FROM source_verdict v CROSS JOIN trace t ON t.id = v.trace WHERE t.candidate=?"
        " AND (v.passed IS NOT NULL OR v.reward IS NOT NULL) LIMIT 1",
        (candidate,),
    ).fetchone()
    if some is None:
        return []
    sources = dict(connection.execute("SELECT id, reader FROM source").fetchall())
    # The version of a reader stands behind a slash.
    apart = {id for id, reader in sources.items() if reader.partition("/")[0] in by_episode}
    episode = f"iif(t.source IN ({','.join(map(str, apart))}), t.episode, 0)" if apart else "0"
    # Counted here: SQLite would sort every row of a large probe to group them.
    alike = Counter(
        connection.execute(
            f"SELECT t.source, v.passed, v.reward, {_LOST}, {episode} FROM trace t"
            f" LEFT JOIN source_verdict v ON v.trace = t.id WHERE {scanned(connection, candidate)}",
            (candidate,),
        )
    )
    epochs: Counter[tuple[str, int]] = Counter()
    for (source, passed, reward, lost, key), count in alike.items():
        if not lost and (passed, reward) != (None, None):
            epochs[sources[source], key] += count
    found: Counter[tuple[str, int | None, float | None, int, int]] = Counter()
    for (source, passed, reward, lost, key), count in alike.items():
        reader = sources[source]
        found[reader, passed, reward, lost, max(epochs[reader, key], 1) if key else 1] += count
    rows = [SaidRow(*alike[:4], count, alike[4]) for alike, count in found.items()]
    return sorted(rows, key=_in_order)


def _in_order(row: SaidRow) -> tuple[object, ...]:
    unsaid = row.passed is None, row.reward is None
    return row.reader, *unsaid, row.passed or 0, row.reward or 0.0, row.lost, row.epochs
