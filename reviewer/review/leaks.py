"""Whether frozen episodes stand in data a candidate may have learned from: one line per look.

A look is made of one file against one frozen suite, for every candidate or for one. What it found
holds a release until somebody withdraws it, with a reason, by a line of its own.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from reviewer.review.label_rules import instant
from reviewer.review.lines import Lines, age
from reviewer.suite.model import Value

if TYPE_CHECKING:
    from reviewer.review.leak_shape import LeakCheckShape


class Leak(Value, frozen=True):
    """One episode whose request was found. `record` and `pointer` say where first, `times` in how
    many texts; `jaccard` is the highest index of its shingles."""

    episode_id: str
    kind: Literal["exact", "inside", "near"]
    jaccard: float
    record: int
    pointer: str
    times: int


class LeakCheck(Value, frozen=True):
    """One look at one file. `candidate_id` is empty where it concerns every candidate. `missed` is
    the chance that a text at the threshold is passed over; `short` counts episodes whose requests
    can only be found exact, `silent` those without a request. With `withdraws` it is no look: it
    takes that one back, for `reason`."""

    suite_id: str
    suite_digest: str
    reviewer: str
    at: str
    candidate_id: str = ""
    file: str = ""
    sha256: str = ""
    records: int = 0
    unread: int = 0
    texts: int = 0
    threshold: float = 0.0
    missed: float = 0.0
    compared: int = 0
    short: int = 0
    silent: int = 0
    leaks: tuple[Leak, ...] = ()
    withdraws: str = ""
    reason: str = ""
    uid: str = ""


def leak_problems(check: LeakCheck) -> Iterator[tuple[str, str]]:
    """Why this line is refused, whatever the store, as (JSON path, reason)."""
    try:
        instant(check.at)
    except ValueError as error:
        yield "$.at", str(error)
    if check.withdraws:
        if not check.reason.strip():
            yield "$.reason", "is missing: a finding is withdrawn for a reason"
        if check.leaks or check.sha256:
            yield "$.withdraws", "stands in a line that is a look at a file"
        return
    if check.reason:
        yield "$.reason", "belongs to a line that withdraws a look"
    if not check.sha256:
        yield "$.sha256", "is missing: which file was looked at"
    if not 0 < check.threshold <= 1:
        yield "$.threshold", "is above 0 and at most 1"
    for at, leak in enumerate(check.leaks):
        if not 0 <= leak.jaccard <= 1:
            yield f"$.leaks[{at}].jaccard", "is from 0 to 1"


class Look(Value, frozen=True):
    """A look as it stands: `withdrawn` is the reason it was taken back for, else empty."""

    check: LeakCheck
    withdrawn: str = ""
    withdrawn_by: str = ""


def standing(checks: Iterable[LeakCheck]) -> tuple[Look, ...]:
    """Looks by time, with what withdrew them. The first withdrawal of one counts."""
    taken: dict[str, LeakCheck] = {}
    looks = []
    for check in sorted(checks, key=age):
        if check.withdraws:
            taken.setdefault(check.withdraws, check)
        else:
            looks.append(check)
    return tuple(
        Look(check=look, withdrawn=back.reason, withdrawn_by=back.reviewer)
        if (back := taken.get(look.uid))
        else Look(check=look)
        for look in looks
    )


def _shape() -> "type[LeakCheckShape]":
    from reviewer.review.leak_shape import LeakCheckShape

    return LeakCheckShape


LEAKS = Lines("leak-check", LeakCheck, _shape, leak_problems)
