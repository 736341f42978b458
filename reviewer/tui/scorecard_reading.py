"""What the scorecard asks of the desk in one go, and the answer. Runs off the painting thread."""

from typing import TYPE_CHECKING, NamedTuple

from reviewer.desk.views import CandidateInfo, Scorecard, SuiteInfo

if TYPE_CHECKING:
    from reviewer.desk.protocol import DeskProtocol


class Question(NamedTuple):
    """A place, an order and a filter. No candidate: whichever the desk opens with."""

    suite_id: str
    candidate_id: str
    by: str
    descending: bool
    only_failing: bool
    text: str


class Reading(NamedTuple):
    """One reading of the store: no card when there is nothing to show yet."""

    card: Scorecard | None
    keys: list[int]
    candidates: list[CandidateInfo]
    suites: list[SuiteInfo]


def read(desk: "DeskProtocol", question: Question) -> Reading:
    """Ask. Raises DeskError."""
    suite_id, candidate_id, by, descending, only_failing, text = question
    place = (suite_id, candidate_id) if candidate_id else desk.opening()
    if place is None:
        return Reading(None, [], [], desk.suites())
    card = desk.scorecard(*place)
    keys = desk.order(*place, by, descending, only_failing, text)
    return Reading(card, keys, desk.candidates(place[0]), [])
