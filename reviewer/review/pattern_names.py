"""Names that people give to patterns of failing attempts, as lines of JSON.

Lines are only ever added. A line names those it replaces; a line that no other line replaces is
valid. So two names that were given in two stores are both valid after a merge, until a person gives
another.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

from reviewer.review.lines import Lines, age
from reviewer.suite.errors import name_problem
from reviewer.suite.fields import UNIQUE, File, Limits, Name, Sha256, StoredName
from reviewer.suite.value import Value

MOST_NAME = 120
"""Characters of a name."""
MOST_NOTE = 1000
MOST_REPLACED = 1000
"""Lines that one line can replace: that many names would have to be valid at once."""
NEAR = "near-"
"""The prefix of the id of an attempt in a group by nearness."""
PATTERN_ID = rf"^(?:[0-9a-f]{{12}}|{NEAR}[0-9a-f]{{16}})$"


class PatternName(Value, frozen=True, kw_only=True):
    """One name of one pattern, or (with an empty `name`) the withdrawal of the names it replaces.
    `at` is RFC 3339 in UTC."""

    SCHEMA: ClassVar[str] = "reviewer/pattern-name@1"

    uid: Annotated[
        str,
        File(Sha256 | None, None),
        "sha256 of the RFC 8785 bytes of all other members. Null: it is computed.",
    ] = ""
    suite_id: Annotated[StoredName, "The suite's id."]
    pattern_id: Annotated[
        str, Limits(pattern=PATTERN_ID), "The pattern: a digest of what groups its attempts."
    ]
    name: Annotated[
        str,
        Limits(max_length=MOST_NAME),
        "The name, masked. Empty: what it replaces is taken back.",
    ] = ""
    note: Annotated[str, Limits(max_length=MOST_NOTE), "What is meant by the name, masked."] = ""
    replaces: Annotated[
        tuple[Sha256, ...],
        UNIQUE,
        Limits(max_length=MOST_REPLACED),
        "The uids of the lines on this pattern that stood when this one was made.",
    ] = ()
    reviewer: Annotated[Name, "Who gave it."]
    at: Annotated[str, "When, in UTC."]


def pattern_name_problems(one: PatternName) -> Iterator[tuple[str, str]]:
    """Yield the reasons to refuse this line in any store, as (JSON path, reason)."""
    if one.name and (problem := name_problem(one.name)):
        yield "$.name", problem
    if not one.name and one.note:
        yield "$.note", "belongs to a name"
    if not one.name and not one.replaces:
        yield "$.replaces", "is missing: a name is taken back"


PATTERN_NAMES = Lines("pattern-name", PatternName, pattern_name_problems)


def standing(lines: Iterable[PatternName]) -> dict[str, tuple[PatternName, ...]]:
    """Return pattern id → the valid lines, from those of one suite, by time. Lines that withdraw a
    name are listed next to names that were given without knowing of them."""
    groups: dict[str, list[PatternName]] = {}
    for one in sorted(lines, key=age):
        groups.setdefault(one.pattern_id, []).append(one)
    found = {}
    for pattern, group in groups.items():
        replaced = {uid for one in group for uid in one.replaces}
        found[pattern] = tuple(one for one in group if one.uid not in replaced)
    return found


def differ(standing: Iterable[PatternName]) -> bool:
    """Return whether the valid lines of one pattern disagree."""
    return len({one.name for one in standing}) > 1
