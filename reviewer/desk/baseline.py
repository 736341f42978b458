"""The default candidate for a comparison, where the user names none: the same for Compare, for
pairs to label or to judge, and for a policy's limits on labels against the baseline."""

from collections.abc import Sequence
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.connection import Connection
from reviewer.db.queries.candidates import last_promoted


class OtherCandidate(NamedTuple):
    """The candidate to compare with: `later` where it was registered after, so that the first
    candidate is the baseline."""

    candidate_id: str
    later: bool


def usual_other(
    connection: Connection, rows: Sequence[registry.CandidateRow], candidate_id: str
) -> OtherCandidate | None:
    """Return the last other candidate promoted, else the one registered before, else the next (the
    first candidate has none before it). None for the only candidate; `rows` are the candidates of
    its suite."""
    age = {row.candidate_id: (row.seq, row.id) for row in rows}
    others = sorted((name for name in age if name != candidate_id), key=age.__getitem__)
    if not others or candidate_id not in age:
        return None
    mine = next(row.id for row in rows if row.candidate_id == candidate_id)
    released = last_promoted(connection, mine)
    if released is not None and released.candidate_id in others:
        return OtherCandidate(released.candidate_id, later=False)
    before = [name for name in others if age[name] < age[candidate_id]]
    if before:
        return OtherCandidate(before[-1], later=False)
    return OtherCandidate(others[0], later=True)


def other_candidate(connection: Connection, suite_id: str, candidate_id: str) -> str | None:
    """Return the candidate that `usual_other` finds on a suite; None when there is no other."""
    suite = registry.suite_row(connection, suite_id)
    rows = registry.candidates(connection, suite.id) if suite else []
    found = usual_other(connection, rows, candidate_id)
    return None if found is None else found.candidate_id
