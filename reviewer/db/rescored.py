"""What judging the same bytes under newer code changed: kept for good, and told by the journal."""

import json
import sqlite3
from collections.abc import Sequence

from reviewer.db import journal, proof
from reviewer.judging import judging_version

Codes = tuple[str, ...]


def note(
    connection: sqlite3.Connection, changes: Sequence[tuple[int, Codes, Codes]], now: str
) -> list[tuple[str, str]]:
    """Keep (trace, codes before, codes after) of every verdict that changed, inside the caller's
    transaction. Returns, for each, the versions of the code that judged before and that judged
    now; the first is empty where it is not known."""
    if not changes:
        return []
    (first,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM rescored").fetchone()
    added = _added_by(connection)
    rows, now_by = [], judging_version()
    for key, (trace, before, after) in enumerate(changes, first):
        last = connection.execute(
            "SELECT code_after FROM rescored WHERE trace=? ORDER BY id DESC LIMIT 1", (trace,)
        ).fetchone()
        old = last[0] if last else next((code for at, code in added if at <= trace), "")
        rows.append(
            (key, trace, json.dumps(before), json.dumps(after), old, judging_version(), now)
        )
    connection.executemany("INSERT INTO rescored VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    journal.append(
        connection,
        {
            "type": "codes.changed",
            "first": first,
            "added": len(rows),
            "digest": proof.said_digest(connection, "rescored", first, len(rows)),
            "before": sorted({row[4] for row in rows}),
            "after": now_by,
            "at": now,
        },
    )
    return [(row[4], row[5]) for row in rows]


def _added_by(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """(first trace, version of the code) of every batch, the last one first."""
    found = []
    for (body,) in connection.execute("SELECT body FROM journal ORDER BY seq DESC").fetchall():
        entry = json.loads(body)
        if entry["type"] == "traces.added" and entry["added"]:
            found.append((int(entry["first"]), str(entry.get("code", ""))))
    return sorted(found, reverse=True)
