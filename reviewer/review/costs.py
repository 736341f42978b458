"""Costs that people enter beside what attempts cost, as they travel and join, and which count.

They are only ever added. A correction is an entry of its own; of several corrections of one entry
the latest counts, and an entry that is corrected does not.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar, Literal

from reviewer.review.lines import Lines, age, instant
from reviewer.suite.canonical import canonical_bytes, sha256_hex
from reviewer.suite.fields import Amount, File, Id, Limits, Name, Sha256, StoredName
from reviewer.suite.model import Value

CostKind = Literal["human", "incident"]
KINDS: tuple[CostKind, ...] = ("human", "incident")
MOST_NOTE = 1000
"""Characters of a note."""
MOST_USD = 1_000_000_000
"""An amount is below this: with six decimals, fifteen digits, which a number of JSON holds."""

_AMOUNT = re.compile(r"(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?", re.ASCII)


class Cost(Value, frozen=True, kw_only=True):
    """One amount that a person entered beside what attempts cost, or the correction of one. `at` is
    RFC 3339 in UTC; `entry_id` is the entry's own, once per candidate and suite."""

    SCHEMA: ClassVar[str] = "reviewer/cost@1"
    ORDER: ClassVar[str] = "schema uid suite_id candidate_id entry_id kind amount_usd currency note"

    suite_id: Annotated[StoredName, "The suite's id."]
    candidate_id: Annotated[StoredName, "The candidate's id."]
    entry_id: Annotated[Id, "The entry's id, once per candidate and suite."]
    kind: Annotated[CostKind, "Handling by people, or an incident."]
    amount_usd: Annotated[Amount, Limits(lt=MOST_USD), "USD, with at most six decimals."]
    reviewer: Annotated[Name, "Who entered it."]
    at: Annotated[str, "When, in UTC."]
    uid: Annotated[
        str,
        File(Sha256 | None, None),
        "sha256 of the RFC 8785 bytes of all other members. Null: it is computed.",
    ] = ""
    currency: Annotated[str, File(Literal["USD"]), "Always USD."] = "USD"
    note: Annotated[str, Limits(max_length=MOST_NOTE), "What it was spent on."] = ""
    corrects: Annotated[Id | None, "The entry that this one replaces."] = None


def amount_of(text: str) -> float:
    """An amount in USD: digits, and at most six behind a point. ValueError for anything else: a
    sign, an exponent, NaN, a billion or more."""
    if not _AMOUNT.fullmatch(text):
        raise ValueError(
            f"{text[:40]!r} is not an amount in USD: digits from 0 to 999999999, and at most six "
            "behind a point, such as 12.50"
        )
    return float(text)


def entry_id_of(cost: Cost) -> str:
    """The id of an entry that was given none: a digest of all but the time, so that saying the same
    again is the same entry."""
    told = [
        cost.suite_id, cost.candidate_id, cost.kind, cost.amount_usd, cost.note, cost.reviewer,
        cost.corrects,
    ]  # fmt: skip
    return sha256_hex(canonical_bytes(told, "cost"))[:16]


def same(one: Cost, other: Cost) -> bool:
    """Whether two entries of one id say the same, whoever said it and when."""
    both = ((x.kind, x.amount_usd, x.corrects) for x in (one, other))
    return len(set(both)) == 1


def counting(entries: Iterable[Cost]) -> frozenset[str]:
    """Ids of the entries that count, of those of one candidate on one suite."""
    known = {one.entry_id: one for one in entries}
    latest: dict[str, Cost] = {}
    for one in sorted(known.values(), key=age):
        if one.corrects in known:
            latest[str(one.corrects)] = one
    roots = [one for one in known.values() if one.corrects not in known]
    found = set()
    for root in roots:
        seen = {root.entry_id}
        while (after := latest.get(root.entry_id)) is not None and after.entry_id not in seen:
            root = after
            seen.add(root.entry_id)
        found.add(root.entry_id)
    return frozenset(found)


def cost_problems(cost: Cost) -> Iterator[tuple[str, str]]:
    """Why this entry is refused, whatever the store, as (JSON path, reason)."""
    try:
        instant(cost.at)
    except ValueError as error:
        yield "$.at", str(error)
    if cost.corrects == cost.entry_id:
        yield "$.corrects", "is the entry itself"
    if not _AMOUNT.fullmatch(f"{cost.amount_usd:.6f}") or cost.amount_usd != float(
        f"{cost.amount_usd:.6f}"
    ):
        yield "$.amount_usd", "has more than six decimals"


COSTS = Lines("cost", Cost, cost_problems)
