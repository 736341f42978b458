"""Looks for leaked episodes, in the store."""

from typing import NamedTuple

from reviewer.db.said import Table

RECORDED = "leaks.checked"


class LeakRow(NamedTuple):
    """One look or withdrawal. `suite` is the digest, `body` what its uid is the digest of."""

    uid: str
    suite: str
    at: str
    body: bytes


LEAKS: Table[LeakRow] = Table("leak", LeakRow._fields, RECORDED)
