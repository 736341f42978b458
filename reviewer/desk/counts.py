"""Counts per episode, and failing traces, out of the store and into the report's own words.

A large suite has a hundred thousand of the ones and as many of the others, and most of them are
alike: values that are equal are one value here.
"""

import sqlite3
from collections.abc import Mapping
from typing import Any, NamedTuple

from reviewer.db import facts
from reviewer.db.codec import gate_results
from reviewer.gates.model import GATES
from reviewer.release.evidence import EpisodeCounts, FailedTrace

_N = len(GATES)


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
    connection: sqlite3.Connection, suite: int, candidate: int, quarantined: Mapping[str, int]
) -> Counted:
    """A candidate's counts on every episode of a suite. `quarantined` counts refused records by
    episode id."""
    gates = _Gates()
    first_sets = {row[0]: row for row in facts.first_rows(connection, candidate)}
    episodes: list[EpisodeCounts] = []
    names: dict[int, str] = {}
    for key, name, *counts in facts.count_rows(connection, suite, candidate):
        names[key] = name
        refused = quarantined.get(name, 0)
        first = first_sets.get(key)
        own = None if first is None else _counts(name, first[2:], refused, None, gates)
        episodes.append(_counts(name, counts, refused, own, gates))
    return Counted(tuple(episodes), names, {key: row[1] for key, row in first_sets.items()})


class _Gates(dict[tuple[int, ...], tuple[tuple[int, ...], ...]]):
    """(passed, failed, not measured) per gate, of (attempts, *failed, *not measured)."""

    def __missing__(self, made: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        attempts, fail, unknown = made[0], made[1 : 1 + _N], made[1 + _N :]
        passed = tuple(attempts - f - u for f, u in zip(fail, unknown, strict=True))
        self[made] = found = passed, fail, unknown
        return found


def _counts(
    name: str, row: Any, quarantined: int, first: EpisodeCounts | None, gates: _Gates
) -> EpisodeCounts:
    attempts, measured, passes, critical, infra, in_plan, cost_nano, cost_unknown, steps = row[:9]
    passed, fail, unknown = gates[attempts, *row[9:]]
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
    connection: sqlite3.Connection, prefix: str, candidate: int, known: Counted
) -> tuple[FailedTrace, ...]:
    """Failing traces in suite order, then by attempt. `prefix` is a trace id up to its episode."""
    alike = _Alike()
    found: dict[int, list[tuple[str, str, int | None]]] = {}
    for trace, *finding in facts.failed_findings(connection, candidate):
        found.setdefault(trace, []).append(alike(tuple(finding)))
    results = {}
    failed = []
    for key, episode, attempt, gates, critical, infra, sha256 in facts.failed_rows(
        connection, candidate
    ):
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
