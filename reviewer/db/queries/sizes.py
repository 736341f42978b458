"""How many bytes of the store are used for what."""

import sqlite3
from typing import NamedTuple


class CandidateSizes(NamedTuple):
    """Counts and bytes of one candidate. A frame that holds records of several candidates is
    divided among them by their shares of its uncompressed bytes."""

    suite_id: str
    candidate_id: str
    traces: int
    revisions: int
    payload_bytes: int
    event_bytes: int
    archived_bytes: int


class FilePages(NamedTuple):
    """Pages of the file, how many of them are free, and the bytes of one."""

    pages: int
    free: int
    size: int


def file_pages(connection: sqlite3.Connection) -> FilePages:
    """Return the pages of the store."""
    found = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return FilePages(*found)


DBSTAT = "dbstat"
"""SQLite's table of its own pages."""


def table_bytes(connection: sqlite3.Connection) -> dict[str, int] | None:
    """Return the bytes of each table with its indexes; None where SQLite was built without
    `dbstat`."""
    try:
        rows = connection.execute(
            f"SELECT coalesce(m.tbl_name, s.name), sum(s.pgsize) FROM {DBSTAT} s"
            " LEFT JOIN sqlite_schema m ON m.name = s.name WHERE s.aggregate = 1 GROUP BY 1"
        ).fetchall()
    except sqlite3.OperationalError as error:
        if "dbstat" not in str(error):
            raise
        return None
    return dict(rows)


_SHARE = "sum(1.0 * r.length * length(p.frame) / nullif(p.size, 0))"

_AWAY = "sum(1.0 * r.length * a.length / nullif(p.size, 0))"
"""The same share of a frame in a file outside the store."""


def candidate_sizes(connection: sqlite3.Connection) -> list[CandidateSizes]:
    """Return the counts and bytes of every candidate, by suite and candidate."""
    names = connection.execute(
        "SELECT c.id, s.suite_id, c.candidate_id FROM candidate c JOIN suite s ON s.id = c.suite"
        " ORDER BY 2, 3"
    ).fetchall()
    traces = _of_candidates(connection, "SELECT candidate, count(*) FROM trace GROUP BY 1")
    revisions = _of_candidates(
        connection,
        "SELECT t.candidate, count(*) FROM revision r JOIN trace t ON t.id = r.trace GROUP BY 1",
    )
    payloads = [
        _of_candidates(connection, query)
        for query in (
            f"SELECT r.candidate, {_SHARE} FROM trace r JOIN pack p ON p.id = r.pack GROUP BY 1",
            f"SELECT t.candidate, {_SHARE} FROM revision r JOIN trace t ON t.id = r.trace"
            " JOIN pack p ON p.id = r.pack GROUP BY 1",
            "SELECT t.candidate, sum(length(c.frame)) FROM chunk c"
            " JOIN trace t ON t.id = c.trace GROUP BY 1",
            # Chunks of a record other than the judged one are stored under the negative of its id.
            "SELECT t.candidate, sum(length(c.frame)) FROM chunk c"
            " JOIN revision r ON r.id = -c.trace JOIN trace t ON t.id = r.trace GROUP BY 1",
        )
    ]
    archived = [
        _of_candidates(connection, query)
        for query in (
            f"SELECT r.candidate, {_AWAY} FROM trace r JOIN pack p ON p.id = r.pack"
            " JOIN archived_pack a ON a.pack = p.id GROUP BY 1",
            f"SELECT t.candidate, {_AWAY} FROM revision r JOIN trace t ON t.id = r.trace"
            " JOIN pack p ON p.id = r.pack JOIN archived_pack a ON a.pack = p.id GROUP BY 1",
            "SELECT t.candidate, sum(a.length) FROM archived_chunk a"
            " JOIN trace t ON t.id = a.trace GROUP BY 1",
            "SELECT t.candidate, sum(a.length) FROM archived_chunk a"
            " JOIN revision r ON r.id = -a.trace JOIN trace t ON t.id = r.trace GROUP BY 1",
        )
    ]
    events = _of_candidates(
        connection,
        "SELECT t.candidate, sum(length(CAST(l.body AS BLOB))) FROM event_list l"
        " JOIN trace t ON t.id = l.trace GROUP BY 1",
    )
    return [
        CandidateSizes(
            suite_id,
            candidate_id,
            int(traces.get(key, 0)),
            int(revisions.get(key, 0)),
            round(sum(one.get(key, 0) for one in payloads)),
            int(events.get(key, 0)),
            round(sum(one.get(key, 0) for one in archived)),
        )
        for key, suite_id, candidate_id in names
    ]


def _of_candidates(connection: sqlite3.Connection, query: str) -> dict[int, float]:
    return {key: value or 0 for key, value in connection.execute(query).fetchall()}
