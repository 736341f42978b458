"""The names that the store knows: suites, their episodes, candidates."""

import hashlib
import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from reviewer.db import contracts, journal
from reviewer.db.connection import StoreError
from reviewer.suite.gates import in_force
from reviewer.suite.model import Episode, Suite

if TYPE_CHECKING:
    from reviewer.suite.candidate import Candidate

MOST_NAMES = 500
"""Names per query; SQLite binds at least 999 values."""


class SuiteRow(NamedTuple):
    id: int
    suite_id: str
    digest: str
    probe: bool
    title: str
    frozen_at: str
    seq: int


class CandidateRow(NamedTuple):
    """`planned` is the number that its first run declared, where it exceeds the suite's policy."""

    id: int
    candidate_id: str
    digest: str | None
    manifest: bytes | None
    seq: int
    planned: int | None


class Plan(NamedTuple):
    """Attempts per episode: how many a suite plans, and up to which number they count in rates
    (beyond the plan only where the policy's pass^k needs more)."""

    attempts: int
    counted: int


ANY_ATTEMPT = 1 << 62
"""The plan of a probe: every attempt made was planned."""


def plan_of(suite: Suite, declared: int | None) -> Plan:
    """Return the policy's plan, or a larger one when the candidate's first run declared more in
    advance."""
    if suite.probe:
        return Plan(ANY_ATTEMPT, ANY_ATTEMPT)
    attempts = max(suite.policy.attempts, declared or 0)
    return Plan(attempts, max(attempts, suite.policy.pass_hat.k))


def suites(connection: sqlite3.Connection) -> list[SuiteRow]:
    rows = connection.execute(
        "SELECT id, suite_id, digest, probe, title, frozen_at, seq FROM suite ORDER BY suite_id"
    )
    return [_suite(row) for row in rows]


def _suite(row: tuple[Any, ...]) -> SuiteRow:
    return SuiteRow(row[0], row[1], row[2], bool(row[3]), row[4], row[5], row[6])


def suite_row(connection: sqlite3.Connection, suite_id: str) -> SuiteRow | None:
    row = connection.execute(
        "SELECT id, suite_id, digest, probe, title, frozen_at, seq FROM suite WHERE suite_id=?",
        (suite_id,),
    ).fetchone()
    return _suite(row) if row else None


def suite_body(connection: sqlite3.Connection, suite_id: str) -> Suite:
    """Return the suite as registered, with every contract. Raises StoreError when the store does
    not know it."""
    return contracts.whole(connection, _suite_key(connection, suite_id))


def suite_head(connection: sqlite3.Connection, suite_id: str) -> Suite:
    """Return the suite as registered, without its episodes. Raises as `suite_body` does."""
    return contracts.head(connection, _suite_key(connection, suite_id))


def in_force_of(connection: sqlite3.Connection, trace: int) -> tuple[str, ...]:
    """Return the gates that the policy of a trace's suite puts in force."""
    (suite,) = connection.execute(
        "SELECT c.suite FROM trace t JOIN candidate c ON c.id = t.candidate WHERE t.id=?", (trace,)
    ).fetchone()
    return in_force(contracts.head(connection, suite).policy.limits)


def _suite_key(connection: sqlite3.Connection, suite_id: str) -> int:
    row = connection.execute("SELECT id FROM suite WHERE suite_id=?", (suite_id,)).fetchone()
    if row is None:
        raise StoreError(f"suite {suite_id} is not in this store: import traces for it first")
    return int(row[0])


def register_suite(connection: sqlite3.Connection, suite: Suite, now: str) -> SuiteRow:
    """Register a suite at first use, inside the caller's transaction.

    Raises StoreError when the store has this suite id under another digest: a suite that was edited
    after use must take a new id.
    """
    known = suite_row(connection, suite.suite_id)
    if known is not None:
        # A probe is identified by its name: its episodes come with its files.
        if known.digest != suite.digest and not (known.probe and suite.probe):
            raise StoreError(
                f"suite {suite.suite_id}: its digest is {suite.digest}, but traces in this store "
                f"were judged under {known.digest} (frozen {known.frozen_at}); an edited suite "
                f"needs a new id: reviewer suite freeze {suite.suite_id} --as NEW_ID"
            )
        return known
    body = msgspec.json.encode(suite)
    head = journal.append(
        connection,
        {
            "type": "suite.frozen",
            "suite_id": suite.suite_id,
            "digest": suite.digest,
            "probe": suite.probe,
            "episodes": len(suite.episodes),
            "body": hashlib.sha256(body).hexdigest(),
            "at": now,
        },
    )
    connection.execute(
        "INSERT INTO suite (suite_id, digest, probe, title, body, frozen_at, seq)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            suite.suite_id,
            suite.digest,
            int(suite.probe),
            suite.title,
            contracts.head_of(suite),
            now,
            head.seq,
        ),
    )
    row = suite_row(connection, suite.suite_id)
    assert row is not None  # inserted above, in the same transaction
    contracts.put_episodes(connection, row.id, 0, suite.episodes)
    contracts.put_contracts(connection, row.id, suite.episodes)
    return row


def add_episodes(
    connection: sqlite3.Connection, suite: SuiteRow, episodes: list[Episode]
) -> dict[str, int]:
    """Add episodes to a probe suite that its source named later (a private suite never grows);
    return their keys."""
    (last,) = connection.execute(
        "SELECT max(position) FROM episode WHERE suite=?", (suite.id,)
    ).fetchone()
    start = 0 if last is None else last + 1
    contracts.put_episodes(connection, suite.id, start, episodes)
    return episode_keys(connection, suite.id, [episode.episode_id for episode in episodes])


def episode_ids(connection: sqlite3.Connection, suite: int) -> dict[str, int]:
    return dict(
        connection.execute("SELECT episode_id, id FROM episode WHERE suite=?", (suite,)).fetchall()
    )


def episode_names(connection: sqlite3.Connection, suite: int) -> dict[int, str]:
    """Return key → id of every episode, in suite order. Keys rise in it: episodes are only ever
    appended."""
    rows = connection.execute(
        "SELECT id, episode_id FROM episode WHERE suite=? ORDER BY id", (suite,)
    )
    return dict(rows.fetchall())


def episode_range(connection: sqlite3.Connection, suite: int) -> range:
    """Return the keys of a suite's episodes, where they are consecutive; else nothing."""
    first, last, many = connection.execute(
        "SELECT coalesce(min(id), 0), coalesce(max(id), 0), count(*) FROM episode WHERE suite=?",
        (suite,),
    ).fetchone()
    return range(first, last + 1) if many == last - first + 1 else range(0)


def episode_key(connection: sqlite3.Connection, suite: int, episode_id: str) -> int | None:
    """Return the key of one episode, None when the suite has none of this name."""
    row = connection.execute(
        "SELECT id FROM episode WHERE suite=? AND episode_id=?", (suite, episode_id)
    ).fetchone()
    return None if row is None else int(row[0])


def count_episodes(connection: sqlite3.Connection, suite: int) -> int:
    row = connection.execute("SELECT count(*) FROM episode WHERE suite=?", (suite,)).fetchone()
    return int(row[0])


def episode_keys(
    connection: sqlite3.Connection, suite: int, names: Iterable[str]
) -> dict[str, int]:
    """Return the keys of those of these episodes that the suite has."""
    # Bound one by one: json_each ends a name at a NUL in it, and an imported name may contain one.
    wanted = list(names)
    found: dict[str, int] = {}
    for start in range(0, len(wanted), MOST_NAMES):
        some = wanted[start : start + MOST_NAMES]
        places = ",".join("?" * len(some))
        found.update(
            connection.execute(
                f"SELECT episode_id, id FROM episode WHERE suite=? AND episode_id IN ({places})",
                (suite, *some),
            ).fetchall()
        )
    return found


_CANDIDATE = "id, candidate_id, digest, manifest, seq, planned"
EMPTIED = (
    "(SELECT probe FROM suite s WHERE s.id = candidate.suite)"
    " AND NOT EXISTS (SELECT 1 FROM trace t WHERE t.candidate = candidate.id)"
)
"""SQL: a candidate of a probe has no attempt left, since all of them turned out to be another's."""


def candidates(
    connection: sqlite3.Connection, suite: int, *, emptied: bool = False
) -> list[CandidateRow]:
    """Return the candidates of a suite by id; with `emptied` also those without attempts left."""
    rows = connection.execute(
        f"SELECT {_CANDIDATE} FROM candidate WHERE suite=? AND (? OR NOT ({EMPTIED}))"
        " ORDER BY candidate_id",
        (suite, emptied),
    )
    return [CandidateRow(*row) for row in rows]


def candidate_row(
    connection: sqlite3.Connection, suite: int, candidate_id: str
) -> CandidateRow | None:
    row = connection.execute(
        f"SELECT {_CANDIDATE} FROM candidate WHERE suite=? AND candidate_id=?",
        (suite, candidate_id),
    ).fetchone()
    return CandidateRow(*row) if row else None


def digests_of(connection: sqlite3.Connection, candidate: int) -> tuple[str, str]:
    """Return the digests of a candidate's suite and of its manifest; "" where one is missing."""
    found = connection.execute(
        "SELECT s.digest, coalesce(c.digest, '') FROM candidate c JOIN suite s ON s.id = c.suite"
        " WHERE c.id=?",
        (candidate,),
    ).fetchone()
    return found[0], found[1]


def register_candidate(
    connection: sqlite3.Connection,
    suite: SuiteRow,
    candidate_id: str,
    candidate: "Candidate | None",
    manifest: bytes | None,
    now: str,
) -> CandidateRow:
    """Register a candidate at first use; a manifest that arrives later is added, but never replaces
    another.

    Raises StoreError when the manifest differs from the one registered with earlier traces.
    """
    known = candidate_row(connection, suite.id, candidate_id)
    digest = candidate.digest if candidate else None
    if known is not None:
        if digest is None or known.digest == digest:
            return known
        if known.digest is not None:
            raise StoreError(
                f"candidate {candidate_id}: its manifest has digest {digest}, but earlier traces "
                f"are of {known.digest}; give the changed candidate a new candidate_id"
            )
    head = journal.append(
        connection,
        {
            "type": "candidate.registered",
            "suite_id": suite.suite_id,
            "candidate_id": candidate_id,
            "digest": digest,
            "at": now,
        },
    )
    if known is None:
        connection.execute(
            "INSERT INTO candidate (suite, candidate_id, digest, manifest, seq)"
            " VALUES (?, ?, ?, ?, ?)",
            (suite.id, candidate_id, digest, manifest, head.seq),
        )
    else:
        connection.execute(
            "UPDATE candidate SET digest=?, manifest=? WHERE id=?", (digest, manifest, known.id)
        )
    row = candidate_row(connection, suite.id, candidate_id)
    assert row is not None  # written above, in the same transaction
    return row


def unbound(connection: sqlite3.Connection, source: int) -> list[tuple[str, str]]:
    """Return (suite id, candidate id) of the candidates of private suites that were imported with
    this file and have no digest."""
    return connection.execute(
        "SELECT s.suite_id, c.candidate_id FROM candidate c JOIN suite s ON s.id = c.suite"
        " WHERE c.digest IS NULL AND s.probe = 0 AND EXISTS"
        " (SELECT 1 FROM trace t WHERE t.candidate = c.id AND t.source = ?) ORDER BY 1, 2",
        (source,),
    ).fetchall()


def declare(connection: sqlite3.Connection, candidate: int, attempts: int) -> bool:
    """Record how many attempts per episode a candidate is to make, inside the caller's transaction.

    Return False, and change nothing, once it has a trace or a plan: the number was not declared in
    advance.
    """
    changed = connection.execute(
        "UPDATE candidate SET planned=? WHERE id=? AND planned IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM trace WHERE candidate=?)",
        (attempts, candidate, candidate),
    )
    return changed.rowcount == 1


def put_plan(connection: sqlite3.Connection, candidate: int, attempts: int) -> None:
    """Set how many attempts per episode a candidate is to make, inside the caller's transaction.
    The caller has checked that none was made."""
    connection.execute("UPDATE candidate SET planned=? WHERE id=?", (attempts, candidate))


def declared_plans(connection: sqlite3.Connection) -> dict[int, int]:
    """Return candidate key → attempts per episode, of those whose first run declared more than the
    policy plans."""
    return dict(
        connection.execute("SELECT id, planned FROM candidate WHERE planned IS NOT NULL").fetchall()
    )


def candidate_name(connection: sqlite3.Connection, candidate: int) -> str:
    """Return the id of a stored candidate."""
    row = connection.execute(
        "SELECT candidate_id FROM candidate WHERE id=?", (candidate,)
    ).fetchone()
    return str(row[0])
