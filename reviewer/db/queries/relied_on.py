"""Decisions and labels that depend on a stored attempt."""

import sqlite3


def decision_on(connection: sqlite3.Connection, trace: int) -> int | None:
    """Return the number of a decision that was signed on an attempt's candidate after the attempt's
    record was imported; None when there is none."""
    row = connection.execute(
        "SELECT max(d.number) FROM trace t JOIN source s ON s.id = t.source"
        " JOIN decision d ON d.candidate = t.candidate AND d.at >= s.at WHERE t.id=?",
        (trace,),
    ).fetchone()
    return None if row is None else row[0]


def labels_about(
    connection: sqlite3.Connection, trace: int, suite_id: str, episode_id: str, message: str
) -> bool:
    """Return whether a label was ever given to the final message of an attempt (`message` is its
    digest), or to the attempt itself."""
    row = connection.execute(
        "WITH said AS (SELECT CAST(body AS TEXT) AS text FROM label)"
        " SELECT 1 FROM said WHERE json_extract(text, '$.suite_id')=:suite"
        " AND json_extract(text, '$.episode_id')=:episode AND ("
        " :message IN (json_extract(text, '$.message'), json_extract(text, '$.left'),"
        " json_extract(text, '$.right'))"
        " OR json_extract(text, '$.record')="
        " (SELECT lower(hex(sha256)) FROM trace WHERE id=:trace)) LIMIT 1",
        {"suite": suite_id, "episode": episode_id, "message": message, "trace": trace},
    ).fetchone()
    return row is not None
