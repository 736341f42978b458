"""What is large: its figures take seconds, and are worked out apart from whoever waits for rows."""

import sqlite3

EPISODES = 2_000
TRACES = 20_000


def is_large(connection: sqlite3.Connection, suite: int, candidate: int) -> bool:
    """Whether a suite has many episodes, or a candidate many traces. Counts no further than that
    needs."""
    for table, column, key, most in (
        ("episode", "suite", suite, EPISODES),
        ("trace", "candidate", candidate, TRACES),
    ):
        (found,) = connection.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {column}=? LIMIT ?)",
            (key, most + 1),
        ).fetchone()
        if found > most:
            return True
    return False
