"""Which candidate another is compared with, and on which suite."""

from collections.abc import Callable
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.connection import Connection
from reviewer.db.queries import releases
from reviewer.db.queries.candidates import last_promoted
from reviewer.desk.errors import DeskError
from reviewer.report.evidence import PromotedCandidate

SameEpisodes = Callable[[registry.SuiteRow, registry.SuiteRow], frozenset[str]]
"""The ids of the episodes that two suites have in common."""


class Baseline(NamedTuple):
    """The id and key of the baseline; None when this store has none. `other` is the version of the
    suite that its attempts were made on, if not this one, and `same` the episodes that are the same
    there."""

    baseline_id: str | None
    key: int | None
    promoted: PromotedCandidate | None
    other: registry.SuiteRow | None = None
    same: frozenset[str] = frozenset()


def promoted_of(
    connection: Connection, suite: registry.SuiteRow, candidate: int
) -> PromotedCandidate | None:
    """Return the last promoted other candidate of the same agent, and whether it has attempts on
    this suite; None for a probe, on which there are no releases."""
    found = None if suite.probe else last_promoted(connection, candidate)
    if found is None:
        return None
    return PromotedCandidate(
        candidate_id=found.candidate_id,
        number=found.number,
        suite_id=found.suite_id,
        suite_digest=found.suite_digest,
        here=registry.candidate_row(connection, suite.id, found.candidate_id) is not None,
    )


def choose_baseline(
    connection: Connection,
    suite: registry.SuiteRow,
    candidate: int,
    baseline_id: str | None,
    same: SameEpisodes,
) -> Baseline:
    """Choose the baseline: the one named, else the last promoted candidate. If the latter has
    attempts only on the suite that it was promoted on, the episodes that are the same are compared.

    Raises DeskError for the candidate itself, and for a named baseline without a trace on this
    suite: nothing else is comparable under another suite's digest.
    """
    promoted = promoted_of(connection, suite, candidate)
    named = baseline_id
    if promoted is not None and not promoted.here and named in (None, promoted.candidate_id):
        found = _on_other_version(connection, suite, promoted, same)
        if found is not None or named is None:
            return found or Baseline(None, None, promoted)
    if named is None and promoted is not None:
        named = promoted.candidate_id
    if named is None:
        return Baseline(None, None, promoted)
    base = registry.candidate_row(connection, suite.id, named)
    if base is not None and base.id == candidate:
        raise DeskError(
            f"{named} is the candidate itself: nothing is worse than itself",
            "name another candidate as the baseline, or none",
        )
    if base is None:
        raise DeskError(
            f"the baseline {named} has no trace on {suite.suite_id}{_elsewhere(connection, named)}",
            f"reviewer import FILE --suite {suite.suite_id} --candidate {named}",
        )
    return Baseline(named, base.id, promoted)


def _on_other_version(
    connection: Connection,
    suite: registry.SuiteRow,
    promoted: PromotedCandidate,
    same: SameEpisodes,
) -> Baseline | None:
    other = registry.suite_row(connection, promoted.suite_id)
    if other is None or other.digest != promoted.suite_digest:
        return None
    base = registry.candidate_row(connection, other.id, promoted.candidate_id)
    shared = same(suite, other) if base is not None else frozenset()
    if base is None or not shared:
        return None
    return Baseline(promoted.candidate_id, base.id, promoted, other, shared)


def _elsewhere(connection: Connection, candidate_id: str) -> str:
    found = releases.private_suites_of(connection, candidate_id)
    if not found:
        return ""
    names = ", ".join(f"{one.suite_id} ({one.digest[:8]}…)" for one in found)
    return f": it has some on {names}, which cannot be compared because the suite's digest differs"
