"""Labeling a review set: its session and queue; and the trace behind an item of any queue."""

from collections.abc import Sequence

from reviewer.db.connection import Connection
from reviewer.desk.errors import DeskError
from reviewer.desk.labels.api import ItemTrace, LabelItem, QueueView, Session, Side
from reviewer.desk.labels.labeling import Labeling
from reviewer.desk.labels.queue import queue_view
from reviewer.desk.labels.sheet import Sheet
from reviewer.desk.presence.claims import Claim
from reviewer.desk.traces.records import locate
from reviewer.review.labels import Role


def set_session(
    labeling: Labeling,
    connection: Connection,
    reviewer: str,
    name: str,
    candidate_id: str,
    role: Role,
) -> Session:
    """Begin a session on a review set. Raises DeskError when there is nothing to label."""
    session = _session(labeling, connection, reviewer, name, candidate_id, role)
    sheet = labeling.sheet(connection, session)
    if not sheet.built.items:
        raise DeskError(
            f"no attempt of the review set {name} is in this store",
            "import or merge the traces that it was drawn from",
        )
    if not sheet.total(labeling.labels(connection, sheet), session):
        raise DeskError(
            "nothing to adjudicate: no open item needs another reviewer",
            "label as a rater instead",
        )
    return session


def set_queue(
    labeling: Labeling,
    connection: Connection,
    reviewer: str,
    name: str,
    candidate_id: str,
    claims: Sequence[Claim] = (),
) -> QueueView:
    """Return the queue of a review set as this person may see it; `claims` are those of others."""
    session = _session(labeling, connection, reviewer, name, candidate_id, "rater")
    sheet = labeling.sheet(connection, session)
    return queue_view(sheet, session, labeling.labels(connection, sheet), claims)


def _session(
    labeling: Labeling,
    connection: Connection,
    reviewer: str,
    name: str,
    candidate_id: str,
    role: Role,
) -> Session:
    sealed = labeling.sheets.of_set(connection, name).of_set
    assert sealed is not None  # the sheet belongs to a set
    source = sealed.held.source
    return Session(
        suite_id=source.suite_id,
        candidate_id=candidate_id,
        baseline_id=source.baseline_id or None,
        kind=sealed.held.kind,
        reviewer=reviewer,
        role=role,
        review_set=name,
    )


def traces_of(sheet: Sheet, shown: LabelItem) -> tuple[str, str | None]:
    """Return the first trace that ends with the left message of a showing, and for a pair with the
    right one."""
    item = sheet.items.get(shown.item)
    if item is None:
        raise DeskError("this item is no longer part of the suite", "go to the next item")
    place = sheet.place(item, shown.showing)
    right = None if place.right is None else item.message(place.right).traces[0]
    return item.message(place.left).traces[0], right


def trace_of(
    labeling: Labeling, connection: Connection, session: Session, shown: LabelItem, side: Side
) -> ItemTrace:
    """Return the first trace that ends with the message on that side of a showing."""
    left, right = traces_of(labeling.sheet(connection, session), shown)
    trace_id = right if side == "right" and right is not None else left
    return ItemTrace(
        trace_id=trace_id, candidate_id=locate(connection, trace_id).candidate.candidate_id
    )
