"""Entered costs as a report tells them."""

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reviewer.db import costs as stored
from reviewer.report.evidence import CostEntry

if TYPE_CHECKING:
    from reviewer.review.costs import Cost


def ledger(
    connection: sqlite3.Connection, suite_id: str, candidate_id: str
) -> tuple[CostEntry, ...]:
    """Every entry of a candidate on a suite, oldest first; most stores have none."""
    return views(entries_of(connection, suite_id, candidate_id))


def entries_of(connection: sqlite3.Connection, suite_id: str, candidate_id: str) -> "list[Cost]":
    """The entries themselves, in the order in which they came in."""
    bodies = stored.of_candidate(connection, suite_id, candidate_id)
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
