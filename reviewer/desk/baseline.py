"""The other candidate that one is set beside where nobody names it: the same for Compare, for pairs
to label or to judge, and for what a policy asks of labels against the baseline."""

from collections.abc import Sequence
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.connection import Connection
from reviewer.db.queries.candidates import last_promoted


class OtherCandidate(NamedTuple):
    """The candidate set beside one: `later` where that one came first of all, so that it is the
    baseline itself."""

    candidate_id: str
    later: bool


def usual_other(
    connection: Connection, rows: Sequence[registry.CandidateRow], candidate_id: str
) -> OtherCandidate | None:
    """Return the last other candidate promoted, else the one registered before, else the next: the
    first candidate of all has none before it. None for a candidate that is alone; `rows` are the
    candidates of its suite."""
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
    """Return the candidate that `usual_other` finds on a suite; None without another."""
    suite = registry.suite_row(connection, suite_id)
    rows = registry.candidates(connection, suite.id) if suite else []
    found = usual_other(connection, rows, candidate_id)
    return None if found is None else found.candidate_id
