"""The strata and flags of a review set: rules on facts of attempts, each of which may be unknown.

An unknown fact is a stratum of its own and raises no flag.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from reviewer.review.sets import Dimension, Flag, FlagRule

UNKNOWN = "unknown"
NO_TOOL = "no tool"
OTHER_TOOLS = "other tools"
MOST_TOOLS = 8
"""Tools with a stratum of their own: those with which most attempts end."""
BANDS = 4
"""Bands of cost, each with about the same number of attempts."""
DEAR = 0.95
"""The quantile of known costs above which a cost is high, where no limit is named."""
REPEATED = 3
"""The number of equal calls that counts as a repetition."""
NEW = timedelta(days=7)
"""A tool is new when it was not called until this long before the newest attempt."""
REFUSALS = (
    "i can't", "i cannot", "i can not", "i'm unable", "i am unable", "i'm not able",
    "i am not able", "i won't be able", "i will not be able", "i'm sorry, but", "i am sorry, but",
    "i apologize, but", "unable to help", "unable to assist", "can't help with",
    "cannot help with", "can't assist", "cannot assist", "not able to help",
    "not able to assist", "against my guidelines", "i must decline", "i have to decline",
)  # fmt: skip
"""Wordings that refuse, in English."""


class Facts(NamedTuple):
    """The facts of one attempt; None: not known. `tools` are in the order of their calls, `most` is
    how often the commonest call was made, `started` the time at which the attempt began."""

    passed: bool | None
    cost: float | None
    thumbs_down: bool
    message: str | None
    tools: tuple[str, ...] | None = None
    most: int | None = None
    started: datetime | None = None


def instant_of(text: str | None) -> datetime | None:
    """Return a time as it was stated, in UTC if it names no zone; None for a text that is not a
    time."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def refuses(message: str | None) -> bool:
    """Return whether a final message refuses."""
    words = " ".join((message or "").replace("’", "'").casefold().split())
    return any(wording in words for wording in REFUSALS)


def bands_of(costs: Iterable[float | None]) -> tuple[float, ...]:
    """Return the upper limits of all bands of cost but the last, rising."""
    known = sorted(cost for cost in costs if cost is not None)
    ranks = [math.ceil(len(known) * band / BANDS) - 1 for band in range(1, BANDS)] if known else []
    limits = sorted({known[rank] for rank in ranks})
    return tuple(limit for limit in limits if limit < known[-1])


def cell_rule(
    dimension: Dimension, everybody: Sequence[Facts], bands: Sequence[float]
) -> Callable[[Facts], str]:
    """Return a function that gives the value of an attempt in a dimension."""
    if dimension == "outcome":
        return lambda one: UNKNOWN if one.passed is None else "pass" if one.passed else "fail"
    if dimension == "cost":
        return lambda one: _band(one.cost, bands)
    last = Counter(one.tools[-1] for one in everybody if one.tools)
    named = {tool for tool, _ in sorted(last.items(), key=lambda e: (-e[1], e[0]))[:MOST_TOOLS]}

    def tool(one: Facts) -> str:
        if one.tools is None:
            return UNKNOWN
        if not one.tools:
            return NO_TOOL
        return one.tools[-1] if one.tools[-1] in named else OTHER_TOOLS

    return tool


def _band(cost: float | None, bands: Sequence[float]) -> str:
    if cost is None:
        return UNKNOWN
    for limit in bands:
        if cost <= limit:
            return f"to ${limit:.6g}"
    return f"above ${bands[-1]:.6g}" if bands else "known"


class Flagged(NamedTuple):
    """A rule in words, and its answer for each attempt: None where it cannot tell."""

    rule: str
    says: Callable[[Facts], bool | None]


def flag_rule(flag: Flag, everybody: Sequence[Facts], high_cost: float | None) -> Flagged:
    """Return the rule of a flag for a population."""
    if flag == "thumbs-down":
        return Flagged("its record holds a thumbs-down of its user", lambda one: one.thumbs_down)
    if flag == "refusals":
        rule = "the final message has a wording that refuses, in English"
        return Flagged(rule, lambda one: refuses(one.message))
    if flag == "repeated-calls":
        return Flagged(
            f"the same call, with the same arguments, {REPEATED} times or more",
            lambda one: None if one.most is None else one.most >= REPEATED,
        )
    if flag == "high-cost":
        return _dear(everybody, high_cost)
    return _new_tools(everybody)


def _dear(everybody: Sequence[Facts], named: float | None) -> Flagged:
    known = sorted(one.cost for one in everybody if one.cost is not None)
    if named is None and not known:
        return Flagged("no attempt has a known cost", lambda one: None)
    limit = known[math.ceil(len(known) * DEAR) - 1] if named is None else named
    of = "" if named is not None else f", the {100 * DEAR:.0f}th percentile of the known ones"
    return Flagged(
        f"it cost more than ${limit:.6g}{of}",
        lambda one: None if one.cost is None else one.cost > limit,
    )


def _new_tools(everybody: Sequence[Facts]) -> Flagged:
    times = [one.started for one in everybody if one.started is not None]
    if not times:
        return Flagged("no attempt tells when it began", lambda one: None)
    since = max(times) - NEW
    if min(times) >= since:
        return Flagged(f"all attempts are of the same {NEW.days} days", lambda one: None)
    old = {
        tool
        for one in everybody
        if one.started is None or one.started < since
        for tool in one.tools or ()
    }

    def new(one: Facts) -> bool | None:
        return None if one.tools is None else not old.issuperset(one.tools)

    day = since.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Flagged(f"it calls a tool that no attempt called before {day}", new)


def told(flag: Flag, rule: str, answers: Sequence[bool | None]) -> FlagRule:
    """Return the rule of a flag with its counts."""
    return FlagRule(flag=flag, rule=rule, picked=answers.count(True), unknown=answers.count(None))
