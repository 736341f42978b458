"""The scorecard's questions to the desk and their answers. Runs outside the drawing thread."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.desk.scorecards.views import GROUPS, Group, GroupBy, SideCell
from reviewer.desk.views import Scorecard, SuiteInfo

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk


class Arrangement(NamedTuple):
    """The filter and order of the rows. `of` is the candidate whose attempts are filtered and
    sorted, if it is not the one on screen."""

    by: str = "worst"
    descending: bool = False
    only_failing: bool = False
    text: str = ""
    group: GroupBy = "none"
    of: str = ""


class Question(NamedTuple):
    """A place, and its arrangement. Without a candidate, the desk chooses one. `sides` are
    candidates whose totals are wanted."""

    suite_id: str
    candidate_id: str
    looking: Arrangement
    sides: tuple[str, ...] = ()


class Rows(NamedTuple):
    """Row keys in order; in groups, each after the key of its head: -1 for the first, -2 for the
    next. `partial`: these are the first rows, and more are being read. `filtered` are the sums over
    the rows of a filter."""

    keys: list[int]
    groups: tuple[Group, ...] = ()
    totals: tuple[SideCell, ...] = ()
    partial: bool = False
    filtered: Group | None = None


class BrokenLock(NamedTuple):
    """A suite that differs from its lock: its rows can be read, but no figure may be computed from
    them."""

    suite: SuiteInfo
    candidate_id: str
    ways_out: tuple[str, ...]


class Reading(NamedTuple):
    """One reading of the store: no card when there is nothing to show yet, or when the reading is
    `refused`; no rows when the earlier rows are still right. `clock` is the desk's clock before the
    reading."""

    card: Scorecard | None
    rows: Rows | None
    candidates: tuple[str, ...]
    suites: list[SuiteInfo]
    clock: int | None = None
    refused: BrokenLock | None = None


class Early(NamedTuple):
    """The place on which the screen opens, and its first rows with the gates of their cells, before
    the figures above them are read."""

    suite_id: str
    candidate_id: str
    rows: Rows
    clock: int | None
    gates: tuple[str, ...]
    outcome: bool


FIRST = 256
"""Rows that are asked for first: as many as any screen shows, and a page more."""


def read(desk: "Desk", question: Question, known: int | None = None) -> Reading:
    """Ask the desk. Where the clock is still `known`, rows are not asked for again. Raises
    DeskError."""
    opened = _opened(desk, question)
    if opened is None:
        return Reading(None, Rows([]), (), desk.workspace.suites())
    question = question._replace(suite_id=opened[0], candidate_id=opened[1])
    clock = read_clock(desk, question)
    rows = None if known is not None and clock == known else read_rows(desk, question)
    # Only their names: the recommendation for each would need all its traces.
    candidates = tuple(name for suite, name in desk.workspace.releases() if suite == opened[0])
    try:
        return Reading(desk.scorecards.card(*opened), rows, candidates, [], clock)
    except DeskError as error:
        broken = [each for each in desk.workspace.suites() if each.suite_id == opened[0]]
        if not broken or broken[0].state != "broken":
            raise
        refused = BrokenLock(broken[0], opened[1], tuple(error.ways_out))
        return Reading(None, rows, candidates, [], clock, refused)


def read_early(desk: "Desk", question: Question) -> Early | None:
    """Return the first rows; None when there is nothing to show yet. Raises DeskError."""
    opened = _opened(desk, question)
    if opened is None:
        return None
    question = question._replace(suite_id=opened[0], candidate_id=opened[1])
    clock = read_clock(desk, question)
    gates = desk.scorecards.gates(question.suite_id)
    outcome = desk.scorecards.shows_outcome(question.suite_id)
    return Early(*opened, read_first_rows(desk, question), clock, gates, outcome)


def _opened(desk: "Desk", question: Question) -> tuple[str, str] | None:
    place = (question.suite_id, question.candidate_id)
    return place if question.candidate_id else desk.workspace.opening()


def read_clock(desk: "Desk", question: Question) -> int:
    """Return a number that rises when something shown may have changed. Raises DeskError."""
    shown = dict.fromkeys((question.candidate_id, question.looking.of, *question.sides))
    return max(desk.scorecards.clock(question.suite_id, each) for each in shown if each)


def read_first_rows(desk: "Desk", question: Question) -> Rows:
    """Return the first rows if they are not in groups, else all rows. Raises DeskError."""
    how = question.looking
    if how.group != "none" or question.sides:
        return read_rows(desk, question)
    place = (question.suite_id, how.of or question.candidate_id)
    keys = desk.scorecards.order(*place, how.by, how.descending, how.only_failing, how.text, FIRST)
    return Rows(keys, partial=len(keys) == FIRST, filtered=filtered(desk, question))


def filtered(desk: "Desk", question: Question) -> Group | None:
    """Return the sums over the rows of a filter; None without one. Raises DeskError."""
    how = question.looking
    if not (how.only_failing or how.text):
        return None
    place = (question.suite_id, how.of or question.candidate_id)
    return desk.scorecards.totals(*place, how.only_failing, how.text)


def read_rows(desk: "Desk", question: Question) -> Rows:
    """Return only the rows: an order or a filter need not wait for the figures. Raises
    DeskError."""
    how = question.looking
    place = (question.suite_id, how.of or question.candidate_id)
    totals: Sequence[SideCell] = ()
    if question.sides:
        totals = desk.scorecards.side_totals(question.suite_id, question.sides)
    sums = filtered(desk, question)
    if how.group == "none":
        keys = desk.scorecards.order(*place, how.by, how.descending, how.only_failing, how.text)
        return Rows(keys, (), tuple(totals), filtered=sums)
    groups = desk.scorecards.groups(
        *place, how.group, how.by, how.descending, how.only_failing, how.text
    )
    return Rows(laid_out(groups, frozenset()), tuple(groups), tuple(totals), filtered=sums)


def warm(desk: "Desk", question: Question, gates: Sequence[str]) -> None:
    """Have the desk compute the answers that are one key away: the first rows of every order, the
    failing rows, and the next groups; so that they are there when the key comes. Raises
    DeskError."""
    from reviewer.tui.screens.scorecard.sheet import SORTS  # not for a process that only asks

    desk.scorecards.maybe_red(question.suite_id, (question.candidate_id,))
    read_first_rows(desk, question._replace(looking=question.looking._replace(only_failing=True)))
    for group in GROUPS[1:]:
        read_rows(desk, question._replace(looking=question.looking._replace(group=group)))
    for by in (*SORTS.values(), *gates):
        for descending in (False, True):
            how = question.looking._replace(by=by, descending=descending)
            read_first_rows(desk, question._replace(looking=how))


def laid_out(groups: Sequence[Group], folded: frozenset[str]) -> list[int]:
    """Return heads followed by their rows; of a folded group only the head."""
    keys: list[int] = []
    for number, group in enumerate(groups, 1):
        keys.append(-number)
        if group.label not in folded:
            keys.extend(group.keys)
    return keys
