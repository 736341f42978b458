"""A candidate among others: the other suites it was run on, decisions signed before more attempts
came, the candidate promoted last."""

import json
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from reviewer.db import journal
from reviewer.suite.tool_names import look_alike

SUITES_RELATED = "suites.related"


class OtherSuite(NamedTuple):
    """Another frozen suite with attempts of the same candidate id, under any manifest."""

    suite_id: str
    digest: str
    attempts: int
    passes: int


class OtherCandidate(NamedTuple):
    """A candidate under another id on a suite that is no probe, and its manifest."""

    key: int
    candidate_id: str
    suite_id: str
    manifest: bytes


class FailedAttempts(NamedTuple):
    attempts: int
    failed: int
    critical: int


class SuiteReason(NamedTuple):
    """The latest reason why two suites were both used, and who gave it."""

    reason: str
    reviewer: str
    at: str
    seq: int


def other_suites(connection: sqlite3.Connection, suite: int, candidate: int) -> list[OtherSuite]:
    """Return the suites other than `suite`, probes excluded, on which this candidate has attempts,
    by id."""
    found = connection.execute(
        "SELECT s.suite_id, s.digest, sum(r.attempts + r.infra), sum(r.passes)"
        " FROM candidate mine JOIN candidate c ON c.candidate_id = mine.candidate_id"
        " JOIN suite s ON s.id = c.suite JOIN roll r ON r.candidate = c.id"
        " WHERE mine.id=? AND s.id<>? AND NOT s.probe"
        " GROUP BY s.id HAVING sum(r.attempts + r.infra) > 0 ORDER BY s.suite_id",
        (candidate, suite),
    ).fetchall()
    return [OtherSuite(*one) for one in found]


def other_candidates(connection: sqlite3.Connection, candidate: int) -> list[OtherCandidate]:
    """Return the candidates with another id and with a manifest, on any suite but probes."""
    found = connection.execute(
        "SELECT c.id, c.candidate_id, s.suite_id, c.manifest FROM candidate c"
        " JOIN suite s ON s.id = c.suite, candidate mine"
        " WHERE mine.id=? AND c.candidate_id<>mine.candidate_id AND NOT s.probe"
        " AND c.manifest IS NOT NULL ORDER BY s.suite_id, c.candidate_id",
        (candidate,),
    ).fetchall()
    return [OtherCandidate(*one) for one in found]


def undescribed_candidates(connection: sqlite3.Connection, candidate: int) -> list[tuple[int, str]]:
    """Return (key, id) of the other candidates without a manifest on the same suite."""
    return connection.execute(
        "SELECT c.id, c.candidate_id FROM candidate c JOIN candidate mine ON mine.suite = c.suite"
        " WHERE mine.id=? AND c.id<>mine.id AND c.manifest IS NULL ORDER BY c.candidate_id",
        (candidate,),
    ).fetchall()


_REQUEST = "json_extract(CAST({}.body AS TEXT), '$.user_request')"


def failed_attempts(connection: sqlite3.Connection, candidate: int, suite: int) -> FailedAttempts:
    """Return the failed attempts of a candidate on the episodes of a suite: on the episodes
    themselves, and on those of another suite with the same id and the same request. An id such as
    `1` alone does not identify an episode."""
    found = connection.execute(
        "SELECT total(r.attempts), max(total(r.measured) - total(r.passes), total(r.critical)),"
        " total(r.critical) FROM roll r JOIN episode e ON e.id = r.episode"
        " JOIN episode here ON here.episode_id = e.episode_id AND here.suite=?"
        " LEFT JOIN contract ours ON ours.episode = here.id"
        " LEFT JOIN contract theirs ON theirs.episode = e.id"
        " WHERE r.candidate=?"
        f" AND (e.id = here.id OR {_REQUEST.format('ours')} = {_REQUEST.format('theirs')})",
        (suite, candidate),
    ).fetchone()
    return FailedAttempts(*map(int, found))


def other_suites_of_all(connection: sqlite3.Connection, suite: int) -> list[OtherSuite]:
    """Return the other suites that any candidate of this suite was run on, with the attempts made
    there, by id."""
    keys = connection.execute("SELECT id FROM candidate WHERE suite=?", (suite,)).fetchall()
    found: dict[str, OtherSuite] = {}
    for (candidate,) in keys:
        for one in other_suites(connection, suite, candidate):
            before = found.get(one.digest, one._replace(attempts=0, passes=0))
            found[one.digest] = one._replace(
                attempts=before.attempts + one.attempts, passes=before.passes + one.passes
            )
    return sorted(found.values())


def suite_reasons(connection: sqlite3.Connection, digest: str) -> dict[str, SuiteReason]:
    """Return digest of another suite → why both were used; the latest reason counts. A reason
    applies to both suites."""
    found: dict[str, SuiteReason] = {}
    rows = connection.execute(
        "SELECT seq, body FROM journal WHERE instr(body, ?) ORDER BY seq",
        (f'"{SUITES_RELATED}"'.encode(),),
    ).fetchall()
    for seq, body in rows:
        entry = json.loads(body)
        if entry["type"] != SUITES_RELATED or digest not in entry["digests"]:
            continue
        other = next((one for one in entry["digests"] if one != digest), digest)
        found[other] = SuiteReason(entry["reason"], entry["reviewer"], entry["at"], seq)
    return found


def relate_suites(
    connection: sqlite3.Connection, one: str, other: str, reason: str, reviewer: str, now: str
) -> None:
    """Enter into the journal why two suites (by digest) were both used, inside the caller's
    transaction."""
    journal.append(
        connection,
        {
            "type": SUITES_RELATED,
            "digests": sorted((one, other)),
            "reason": reason,
            "reviewer": reviewer,
            "at": now,
        },
    )


class EarlierDecision(NamedTuple):
    """A decision signed when the candidate had `attempts`, after which more were imported."""

    number: int
    decision: str
    attempts: int


def earlier_decisions(connection: sqlite3.Connection, candidate: int) -> list[EarlierDecision]:
    """Return the decisions on a candidate after which more of its attempts were imported, by
    number.

    A decision whose evidence has not changed since is not among them: a second signer finds the
    same report.
    """
    found = []
    for number, decision, seq in connection.execute(
        "SELECT number, decision, seq FROM decision WHERE candidate=? ORDER BY number", (candidate,)
    ).fetchall():
        after = connection.execute(
            "SELECT body FROM journal WHERE seq>? AND instr(body, ?) ORDER BY seq LIMIT 1",
            (seq, b'"traces.added"'),
        ).fetchone()
        if after is None:
            break  # nothing was imported after this decision, nor after any later one
        first = json.loads(after[0])["first"]
        then, since = connection.execute(
            "SELECT coalesce(sum(id < ?1), 0), coalesce(sum(id >= ?1), 0) FROM trace"
            " WHERE candidate=?2",
            (first, candidate),
        ).fetchone()
        if since:
            found.append(EarlierDecision(number, decision, then))
    return found


def candidates_on(connection: sqlite3.Connection, suite: int) -> int:
    """Return how many candidates have an attempt on a suite."""
    row = connection.execute(
        "SELECT count(DISTINCT r.candidate) FROM roll r JOIN candidate c ON c.id = r.candidate"
        " WHERE c.suite=?",
        (suite,),
    ).fetchone()
    return int(row[0])


class PromotedRow(NamedTuple):
    """A candidate as promoted by decision `number` on a suite."""

    candidate_id: str
    number: int
    suite_id: str
    suite_digest: str


def last_promoted(connection: sqlite3.Connection, candidate: int) -> PromotedRow | None:
    """Return the last promoted other candidate of the agent that `candidate` (a key) is a version
    of, however the manifests spell the agent's name.

    A promotion counts once its signature policy is met, and as long as no later decision on the
    same candidate blocks it or asks for repair. Where one of the two manifests names no agent, only
    promotions on the same suite count.
    """
    mine = connection.execute(
        f"SELECT suite, candidate_id, {_AGENT.format('candidate')} FROM candidate WHERE id=?",
        (candidate,),
    ).fetchone()
    suite, candidate_id, agent = mine
    rows = connection.execute(
        "SELECT d.number, d.decision, d.suite, c.candidate_id, s.suite_id, s.digest,"
        f" {_AGENT.format('c')} FROM decision d"
        " JOIN candidate c ON c.id = d.candidate JOIN suite s ON s.id = d.suite"
        " WHERE d.standing='signed' ORDER BY d.number DESC",
    ).fetchall()
    ours = _spelled(agent)
    decided: set[str] = {candidate_id}
    for number, decision, on, name, suite_id, digest, its_agent in rows:
        theirs = _spelled(its_agent)
        same = theirs == ours if ours and theirs else on == suite
        if name in decided or not same:
            continue
        if decision == "PROMOTE":
            return PromotedRow(name, number, suite_id, digest)
        decided.add(name)
    return None


_AGENT = "json_extract(CAST({}.manifest AS TEXT), '$.agent')"


def _spelled(agent: str | None) -> str:
    """Return an agent's name without case, separators and look-alikes; "" where it has none."""
    return "".join(filter(str.isalnum, look_alike(agent or "")))


class RevisedFailure(NamedTuple):
    """An attempt that fails and of which a record came in after a decision."""

    episode: int
    attempt: int


def revised_since(
    connection: sqlite3.Connection, candidate: int, decision: int
) -> list[RevisedFailure]:
    """Return the attempts of a candidate that fail and of which records came in after decision
    number `decision`: what it was promoted on did not have them."""
    entry = connection.execute(
        "SELECT j.body FROM journal j JOIN decision d ON j.seq > d.seq"
        " WHERE d.number=? AND instr(j.body, ?) ORDER BY j.seq LIMIT 1",
        (decision, b'"traces.revised"'),
    ).fetchone()
    if entry is None:
        return []
    found = connection.execute(
        "SELECT DISTINCT t.episode, t.attempt FROM revision r JOIN trace t ON t.id = r.trace"
        " WHERE r.id>=? AND t.candidate=? AND t.passed=0",
        (json.loads(entry[0])["first"], candidate),
    ).fetchall()
    return [RevisedFailure(*one) for one in found]


def candidates_of_traces(connection: sqlite3.Connection, traces: Iterable[int]) -> set[int]:
    """Return the keys of the candidates that made these traces."""
    return {
        row[0]
        for trace in traces
        for row in connection.execute("SELECT candidate FROM trace WHERE id=?", (trace,))
    }


def candidates_of_batch(connection: sqlite3.Connection, first: int, count: int) -> set[int]:
    """Return the keys of the candidates whose figures `count` traces from id `first` affect. A
    probe gets its episodes with its traces, so all of its candidates are affected."""
    rows = connection.execute(
        "WITH found AS (SELECT DISTINCT candidate AS id FROM trace WHERE id>=? AND id<?)"
        " SELECT id FROM found UNION SELECT other.id FROM found JOIN candidate c USING (id)"
        " JOIN suite s ON s.id = c.suite JOIN candidate other ON other.suite = s.id WHERE s.probe",
        (first, first + count),
    ).fetchall()
    return {row[0] for row in rows}


def candidates_refused(connection: sqlite3.Connection, source: int) -> set[int] | None:
    """Return the keys of the candidates named by a source's refused records; None when a record
    names no candidate."""
    rows = connection.execute(
        "SELECT DISTINCT c.id, q.candidate_id IS NULL FROM quarantine q LEFT JOIN candidate c"
        " ON c.candidate_id = q.candidate_id WHERE q.source=?",
        (source,),
    ).fetchall()
    if any(unnamed for _, unnamed in rows):
        return None
    return {key for key, _ in rows if key is not None}
