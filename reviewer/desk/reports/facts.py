"""Counts per episode, and failing traces, out of the store and into the report's own words.

A large suite has a hundred thousand of the ones and as many of the others, and most of them are
alike: values that are equal are one value here.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewer.db.codec import gate_results
from reviewer.db.connection import Connection
from reviewer.db.queries.episodes import NO_GATES, GateCounts, count_rows, first_rows, gate_counts
from reviewer.db.queries.traces import failed_findings, failed_rows
from reviewer.db.tables import break_glass_rows, cost_entries, loss_rows
from reviewer.report.evidence import BrokenGlass, CostEntry, EpisodeCounts, FailedTrace, JournalLost
from reviewer.signing.facts import ManifestError, agent_of, subject_name

if TYPE_CHECKING:
    from reviewer.review.costs import Cost


class Counted(NamedTuple):
    """`episodes` in suite order. By key: the `names` of all, and of those with attempts beyond the
    plan the `last` attempt of their first complete set."""

    episodes: tuple[EpisodeCounts, ...]
    names: dict[int, str]
    last: dict[int, int]


class _Alike:
    """One object for all that are equal."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def __call__(self, value: Any) -> Any:
        return self._known.setdefault(value, value)


def counted(
    connection: Connection, suite: int, candidate: int, quarantined: Mapping[str, int]
) -> Counted:
    """A candidate's counts on every episode of a suite. `quarantined` counts refused records by
    episode id."""
    passed = _Passed()
    gates = gate_counts(connection, candidate)
    first_sets = {row[0]: row for row in first_rows(connection, candidate)}
    first_gates = gate_counts(connection, candidate, True) if first_sets else {}
    episodes: list[EpisodeCounts] = []
    names: dict[int, str] = {}
    for key, name, *counts in count_rows(connection, suite, candidate):
        names[key] = name
        refused = quarantined.get(name, 0)
        first = first_sets.get(key)
        own = None
        if first is not None:
            counted = first_gates.get(key, NO_GATES)
            own = _counts(name, first[2:], counted, refused, None, passed)
        by_gate = gates.get(key, NO_GATES)
        episodes.append(_counts(name, counts, by_gate, refused, own, passed))
    return Counted(tuple(episodes), names, {key: row[1] for key, row in first_sets.items()})


class _Passed(dict[tuple[int, GateCounts], tuple[tuple[int, ...], GateCounts]]):
    """Attempts that pass each gate, and those that do not, of (attempts, those that do not)."""

    def __missing__(self, made: tuple[int, GateCounts]) -> tuple[tuple[int, ...], GateCounts]:
        attempts, gates = made
        passed = tuple(attempts - f - u for f, u in zip(*gates, strict=True))
        self[made] = found = passed, gates
        return found


def _counts(
    name: str,
    row: Any,
    gates: GateCounts,
    quarantined: int,
    first: EpisodeCounts | None,
    known: _Passed,
) -> EpisodeCounts:
    attempts, measured, passes, critical, infra, in_plan, cost_nano, cost_unknown, steps = row
    passed, (fail, unknown) = known[attempts, gates]
    return EpisodeCounts(
        episode_id=name,
        attempts=attempts,
        measured=measured,
        passes=passes,
        critical=critical,
        infrastructure=infra,
        in_plan=in_plan,
        quarantined=quarantined,
        cost_nano=cost_nano,
        cost_unknown=cost_unknown,
        steps=steps,
        gate_pass=passed,
        gate_fail=fail,
        gate_unknown=unknown,
        first=first,
    )


def failures(
    connection: Connection, prefix: str, candidate: int, known: Counted
) -> tuple[FailedTrace, ...]:
    """Failing traces in suite order, then by attempt. `prefix` is a trace id up to its episode."""
    alike = _Alike()
    found: dict[int, list[tuple[str, str, int | None]]] = {}
    for trace, *finding in failed_findings(connection, candidate):
        found.setdefault(trace, []).append(alike(tuple(finding)))
    results = {}
    failed = []
    for key, episode, attempt, gates, critical, infra, sha256 in failed_rows(connection, candidate):
        shown = alike(tuple(found.get(key, ())))
        if gates not in results:
            results[gates] = gate_results(gates)
        name = known.names[episode]
        last = known.last.get(episode)
        failed.append(
            FailedTrace(
                trace_id=f"{prefix}/{name}/{attempt}",
                episode_id=name,
                attempt=attempt,
                codes=alike(tuple(dict.fromkeys(code for _, code, _ in shown))),
                critical=bool(critical),
                infrastructure=bool(infra),
                results=results[gates],
                sha256=sha256.hex(),
                evidence=shown,
                extra=last is not None and attempt > last,
            )
        )
    return tuple(failed)


def ledger(connection: Connection, suite_id: str, candidate_id: str) -> tuple[CostEntry, ...]:
    """Every entry of a candidate on a suite, oldest first; most stores have none."""
    return views(entries_of(connection, suite_id, candidate_id))


def entries_of(connection: Connection, suite_id: str, candidate_id: str) -> "list[Cost]":
    """The entries themselves, in the order in which they came in."""
    bodies = cost_entries(connection, suite_id, candidate_id)
    if not bodies:
        return []
    from reviewer.review.costs import COSTS

    return [COSTS.stored(body) for body in bodies]


def views(entries: "Sequence[Cost]") -> tuple[CostEntry, ...]:
    """Entries by time, each with whether it counts."""
    if not entries:
        return ()
    from reviewer.review.costs import counting

    standing = counting(entries)
    return tuple(
        CostEntry(
            entry_id=one.entry_id,
            kind=one.kind,
            amount_usd=one.amount_usd,
            note=one.note,
            reviewer=one.reviewer,
            at=one.at,
            corrects=one.corrects,
            counts=one.entry_id in standing,
        )
        for one in sorted(entries, key=lambda one: (one.at, one.entry_id))
    )


def broken_glass(
    connection: Connection, candidate_id: str, manifest: dict[str, Any] | None
) -> tuple[BrokenGlass, ...]:
    """Every record of the agent this candidate is a version of, in the order they were signed."""
    try:
        agent = agent_of(subject_name(manifest or {"candidate_id": candidate_id}))
    except ManifestError:
        agent = candidate_id
    return tuple(
        BrokenGlass(
            candidate_id=one.candidate,
            environment=one.environment,
            principal=one.principal,
            reason=one.reason,
            at=one.at,
            expires=one.expires,
            payload_sha256=one.uid,
        )
        for one in break_glass_rows(connection, agent)
    )


def journal_losses(connection: Connection) -> tuple[JournalLost, ...]:
    """Everything that was stated to be gone of this store's journal, in order."""
    return tuple(
        JournalLost(
            journal=one.journal,
            lost_seq=one.lost_seq,
            kept_seq=one.kept_seq,
            decisions=len(json.loads(one.decisions)),
            principal=one.principal,
            reason=one.reason,
            at=one.at,
            payload_sha256=one.uid,
        )
        for one in loss_rows(connection)
    )
