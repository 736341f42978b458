"""From what a person chose to the label that is kept: masked, timed, and chained to what it
revises."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from reviewer.desk.labels.sheet import Place, Sheet
from reviewer.desk.labels.views import Drafted, Session
from reviewer.importing.catalogue import redactor_of
from reviewer.review.labels import latest
from reviewer.review.lines import instant
from reviewer.review.model import Label, LabelKey

MOST_NOTE = 4000
"""Characters of a note; a file of labels allows no more."""


def newest(labels: Sequence[Label], place: Place, session: Session) -> Label | None:
    """The label that counts for this showing and person, a withdrawn one too."""
    key = LabelKey(
        item=place.item.item, showing=place.number, reviewer=session.reviewer, role=session.role
    )
    return latest(x for x in labels if x.item == key.item).get(key)


def label_of(
    sheet: Sheet,
    place: Place,
    session: Session,
    drafted: Drafted,
    before: Label | None,
    labels: Sequence[Label],
) -> Label:
    """The label, not yet sealed; `before` is the one of this showing that counted until now."""
    ruled, item, pair = sheet.ruled, place.item, place.item.kind == "pair"
    entry = sheet.entry(item.item)
    masked = redactor_of(ruled.suite.redaction).masked
    return Label(
        item=item.item,
        kind=item.kind,
        suite_id=ruled.suite.suite_id,
        suite_digest=ruled.suite.digest,
        episode_id=item.episode_id,
        showing=place.number,
        left=place.left if pair else None,
        right=place.right,
        message=None if pair else place.left,
        answer=drafted.answer,
        marks=drafted.marks,
        decided=drafted.decided,
        skipped=None if drafted.skipped is None else masked(drafted.skipped),
        flag=drafted.flag,
        note=masked(drafted.note)[:MOST_NOTE],
        reviewer=session.reviewer,
        role=session.role,
        rubric_id=ruled.rubric.rubric_id,
        rubric_version=ruled.rubric.version,
        rubric_digest=ruled.rubric_digest,
        at=next_time(labels, session),
        duration_ms=drafted.duration_ms,
        revises=None if before is None else before.uid,
        stratum=entry.stratum if entry else None,
        reasons=entry.reasons if entry else (),
        pi=entry.pi if entry else None,
        traces=item.traces,
    )


def next_time(labels: Sequence[Label], session: Session) -> str:
    """Now, to the millisecond, and behind every label of this person: the order of labels is the
    order in which they were made, though a clock be put back. Those dated more than a day ahead
    came from a clock that nobody should follow."""
    now = datetime.now(UTC)
    ahead = (now + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    mine = [x.at for x in labels if x.reviewer == session.reviewer]
    believed = [at for at in mine if instant(at) <= instant(ahead)]
    if believed:
        second, fraction = instant(max(believed, key=instant))
        last = datetime.fromisoformat(f"{second}.{fraction[:6]}+00:00")
        now = max(now, last + timedelta(milliseconds=1))
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
