"""The rows of a store that go into an archive besides traces and findings, read whole or by ranges
of keys."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from reviewer.db import contracts, journal, registry
from reviewer.suite.gates import in_force


class ArchivedCandidate(NamedTuple):
    """A candidate with its suite: the time of the first journal entry that names it, the attempts
    per episode that are `planned` for it (None: a probe), and the gates in force."""

    id: int
    candidate_id: str
    digest: str | None
    suite: registry.SuiteRow
    at: str | None
    planned: int | None
    gates: frozenset[str]


class SideFacts(NamedTuple):
    """Facts of a trace outside its own row: its diagnostics, and what its source stated about
    it."""

    diagnostics: bytes | None
    said: int | None
    reward: float | None


def archived_candidates(
    connection: sqlite3.Connection, suites: Sequence[str] = ()
) -> list[ArchivedCandidate]:
    """Return the candidates of some suites (none named: of all), by suite and registration."""
    found = []
    for suite in registry.suites(connection):
        if suites and suite.suite_id not in suites:
            continue
        head = contracts.head(connection, suite.id)
        gates = frozenset(in_force(head.policy.limits))
        stored = sorted(registry.candidates(connection, suite.id), key=lambda one: one.seq)
        for one in stored:
            plan = None if head.probe else registry.plan_of(head, one.planned).attempts
            entry = journal.entry_body(connection, one.seq)
            at = json.loads(entry).get("at") if entry else None
            found.append(
                ArchivedCandidate(one.id, one.candidate_id, one.digest, suite, at, plan, gates)
            )
    return found


def episode_names(connection: sqlite3.Connection, suites: Sequence[int]) -> dict[int, str]:
    """Return key → id of the episodes of some suites."""
    rows = connection.execute(
        "SELECT id, episode_id FROM episode WHERE suite IN (SELECT value FROM json_each(?))",
        (json.dumps(list(suites)),),
    )
    return dict(rows.fetchall())


def last_counted(connection: sqlite3.Connection) -> dict[tuple[int, int], int]:
    """Return (candidate, episode) → the last attempt of the first complete set, where attempts were
    made beyond the plan; elsewhere every attempt counts."""
    rows = connection.execute("SELECT candidate, episode, last FROM first_set")
    return {(candidate, episode): last for candidate, episode, last in rows.fetchall()}


def source_places(connection: sqlite3.Connection) -> dict[int, tuple[str, str, str]]:
    """Return key → (path, sha256, reader) of every source."""
    rows = connection.execute("SELECT id, path, sha256, reader FROM source").fetchall()
    return {key: (path, sha256, reader) for key, path, sha256, reader in rows}


def last_trace(connection: sqlite3.Connection) -> int:
    """Return the greatest key of a trace, 0 when there is none."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()[0])


def side_facts(connection: sqlite3.Connection, first: int, last: int) -> dict[int, SideFacts]:
    """Return the facts beside the rows of the traces with keys from `first` to `last`."""
    rows = connection.execute(
        "SELECT t.id, t.diagnostics, v.passed, v.reward FROM trace t"
        " LEFT JOIN source_verdict v ON v.trace = t.id WHERE t.id BETWEEN ? AND ?",
        (first, last),
    )
    return {row[0]: SideFacts(*row[1:]) for row in rows.fetchall()}


def archived_suites(
    connection: sqlite3.Connection, suites: Sequence[registry.SuiteRow]
) -> list[dict[str, Any]]:
    """Return a row for each suite, with the policy that its attempts are held to."""
    found = []
    for suite in suites:
        policy = contracts.head(connection, suite.id).policy
        found.append(
            {
                "suite_id": suite.suite_id,
                "suite_digest": suite.digest,
                "title": suite.title,
                "probe": suite.probe,
                "frozen_at": suite.frozen_at,
                "attempts": policy.attempts,
                "pass_k": policy.pass_hat.k,
                "policy": policy,
            }
        )
    return found


def archived_episodes(
    connection: sqlite3.Connection, suite: registry.SuiteRow
) -> list[dict[str, Any]]:
    """Return a row for each episode of a suite, in the suite's order."""
    played = set(contracts.by_person(connection, suite.id))
    rows = connection.execute(
        "SELECT id, episode_id, position, title, tags, category FROM episode WHERE suite=?"
        " ORDER BY position, id",
        (suite.id,),
    ).fetchall()
    return [
        {
            "suite_id": suite.suite_id,
            "episode_id": name,
            "position": position,
            "title": title,
            "tags": tags,
            "category": category,
            "by_person": key in played,
        }
        for key, name, position, title, tags, category in rows
    ]


_QUARANTINE = (
    *("source_path", "source_sha256", "source_record", "suite_id", "candidate_id"),
    *("episode_id", "attempt", "reasons"),
)
_REVISION = (
    *("n", "stands", "why", "passed", "critical", "infrastructure", "events", "cost_usd"),
    *("latency_ms", "sha256", "source_path", "source_record", "findings", "at"),
)


def archived_quarantine(
    connection: sqlite3.Connection, suites: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return a row for each refused record: where it was read, what it named, every reason. Records
    that name no suite may belong to any suite, and are always included."""
    rows = connection.execute(
        "SELECT o.path, o.sha256, q.record, q.suite_id, q.candidate_id, q.episode_id, q.attempt,"
        " q.reasons FROM quarantine q JOIN source o ON o.id = q.source ORDER BY q.id"
    ).fetchall()
    found = [dict(zip(_QUARANTINE, row, strict=True)) for row in rows]
    return [one for one in found if not suites or one["suite_id"] in (None, *suites)]


def archived_revisions(
    connection: sqlite3.Connection, first: int, last: int
) -> list[tuple[int, dict[str, Any]]]:
    """Return (trace, row) of every record other than the judged one of its attempt, for the traces
    with keys from `first` to `last`."""
    rows = connection.execute(
        "SELECT r.trace, r.n, r.stands, r.why, r.passed, r.critical, r.infra, r.events,"
        " r.cost_usd, r.latency_ms, lower(hex(r.sha256)), o.path, r.record, r.findings, r.at"
        " FROM revision r JOIN source o ON o.id = r.source WHERE r.trace BETWEEN ? AND ?"
        " ORDER BY r.trace, r.n",
        (first, last),
    ).fetchall()
    return [(row[0], dict(zip(_REVISION, row[1:], strict=True))) for row in rows]


def journal_of(connection: sqlite3.Connection) -> tuple[str, int, str]:
    """Return the store's name by its journal, and the number and hash of the journal's last
    entry."""
    head = journal.head(connection)
    return journal.uri(connection), head.seq, head.hash.hex()
