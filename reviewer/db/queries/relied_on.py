"""Decisions and labels that depend on a stored attempt."""

import json
import sqlite3


def decision_on(connection: sqlite3.Connection, trace: int) -> int | None:
    """Return the number of the last decision that was signed on an attempt's candidate when the
    attempt was stored, by the journal and not by the clock; None when there is none."""
    for number, seq in connection.execute(
        "SELECT d.number, d.seq FROM trace t JOIN decision d ON d.candidate = t.candidate"
        " WHERE t.id=? ORDER BY d.number DESC",
        (trace,),
    ).fetchall():
        after = connection.execute(
            "SELECT body FROM journal WHERE seq>? AND instr(body, ?) ORDER BY seq LIMIT 1",
            (seq, b'"traces.added"'),
        ).fetchone()
        if after is None or trace < json.loads(after[0])["first"]:
            return int(number)
    return None


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
