"""How traces came into the store, as its journal says it: no file can say that of itself."""

import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

import msgspec

from reviewer.db.connection import StoreError

Spans = Sequence[tuple[int, int]]
"""First and last of each unbroken run of numbers, in order."""


class Origins(NamedTuple):
    """The sources of our own runner, and of each merged store which of its records were one's."""

    runs: frozenset[int]
    merged: dict[int, Spans]

    def own(self, source: int, record: int) -> bool:
        """Whether a runner made this record, as the journal of the store it was made in says."""
        if source in self.runs:
            return True
        within = self.merged.get(source, ())
        place = bisect_right(within, record, key=itemgetter(0))
        return place > 0 and record <= within[place - 1][1]


class _Entry(msgspec.Struct):
    type: str
    source: int = 0
    runs: tuple[tuple[int, int], ...] = ()


_decode = msgspec.json.Decoder(_Entry).decode


def origins(connection: sqlite3.Connection) -> Origins:
    """Read the journal for what runs and merges brought in. Raises StoreError for an entry that is
    none of ours."""
    runs: set[int] = set()
    merged: dict[int, Spans] = {}
    for (body,) in connection.execute(
        "SELECT body FROM journal WHERE instr(body, '\"run.started\"')"
        " OR instr(body, '\"store.merged\"')"
    ).fetchall():
        try:
            entry = _decode(body)
        except msgspec.MsgspecError as error:
            raise StoreError(f"an entry of the journal is none of ours: {error}") from None
        if entry.type == "run.started":
            runs.add(entry.source)
        elif entry.type == "store.merged":
            merged[entry.source] = sorted((*merged.get(entry.source, ()), *entry.runs))
    return Origins(frozenset(runs), merged)


def spans(records: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as spans."""
    found: list[tuple[int, int]] = []
    for number in sorted(records):
        if found and found[-1][1] == number - 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found
