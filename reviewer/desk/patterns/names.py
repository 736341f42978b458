"""Names of patterns, shown beside the patterns; no gate and no report reads them.

A name belongs to a suite and to the id of a pattern, which is a digest of what groups its attempts:
the id is the same in every store, and however often attempts are imported or judged again.
"""

from msgspec import structs

from reviewer.db.connection import Connection
from reviewer.db.queries.patterns import PATTERN_NAMES as TABLE
from reviewer.desk.patterns.views import GivenName
from reviewer.review.pattern_names import NEAR, PATTERN_NAMES, PatternName, standing


def lines_of(connection: Connection, suite_id: str) -> list[PatternName]:
    """Return every line of a suite, in the order in which the store received them."""
    found = []
    for row in TABLE.of_suite(connection, suite_id):
        one = PATTERN_NAMES.stored(row.body)
        found.append(structs.replace(one, uid=PATTERN_NAMES.uid_of(one)))
    return found


def names_of(connection: Connection, suite_id: str) -> dict[str, tuple[GivenName, ...]]:
    """Return pattern id → the names in force, for the patterns of a suite that have a name."""
    found = {}
    for pattern, lines in standing(lines_of(connection, suite_id)).items():
        if any(one.name for one in lines):
            found[pattern] = tuple(given(one, stands=True) for one in lines)
    return found


def given(one: PatternName, *, stands: bool) -> GivenName:
    """Return a line as a view."""
    return GivenName(
        pattern_id=one.pattern_id,
        name=one.name,
        note=one.note,
        reviewer=one.reviewer,
        at=one.at,
        uid=one.uid,
        replaces=one.replaces,
        stands=stands,
    )


def history_of(connection: Connection, suite_id: str) -> tuple[GivenName, ...]:
    """Return every line of a suite, by pattern and time."""
    lines = lines_of(connection, suite_id)
    stand = {one.uid for group in standing(lines).values() for one in group}
    ordered = sorted(lines, key=lambda one: (one.pattern_id, one.at, one.uid))
    return tuple(given(one, stands=one.uid in stand) for one in ordered)


def near_id(evidence: int) -> str:
    """Return the id of an attempt from its evidence, which is the same in every store."""
    return f"{NEAR}{evidence & (1 << 64) - 1:016x}"


def evidence_of_id(near: str) -> int:
    """Return the evidence that an id was made from, as the store has it."""
    number = int(near.removeprefix(NEAR), 16)
    return number - (1 << 64) if number >> 63 else number
