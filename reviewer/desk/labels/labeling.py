"""Labeling: begin a session, get the next item, save, take back, and summarize one's own labels.

A label is durable before `record` returns. Other people's labels and a judge's answers are never
shown to a person who still labels; they influence only the order of the queue, by its own rule.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import UNSET, UnsetType

from reviewer.db.connection import Connection, close_writer
from reviewer.db.schema import open_writer
from reviewer.db.tables import LABELS
from reviewer.desk.baseline import other_candidate
from reviewer.desk.errors import DeskError
from reviewer.desk.imports.importing import clock
from reviewer.desk.labels.api import (
    OPEN_FLAG,
    CriterionView,
    EstimateView,
    Holder,
    LabelDraft,
    LabelItem,
    QueueView,
    SavedLabel,
    Session,
)
from reviewer.desk.labels.book import Book, row_of
from reviewer.desk.labels.queue import closing_items, holders, own_views, queue_view, unlabeled
from reviewer.desk.labels.sheet import Sheet, Sheets, Showing
from reviewer.desk.place import Workspace
from reviewer.desk.presence.claims import Claim
from reviewer.desk.traces.records import FinalMessages
from reviewer.exit_codes import ExitCode
from reviewer.review.agreement import self_consistency
from reviewer.review.items import Kind, Message
from reviewer.review.labels import Label, LabelKey, Role, latest, rubric_problems, seal
from reviewer.review.lines import instant
from reviewer.suite.errors import ContractError
from reviewer.suite.rubric import Criterion, levels_of
from reviewer.trace.redaction import redactor_of

MOST_NOTE = 4000
"""Most characters of a note; the format of label files allows no more."""
LATELY = timedelta(hours=4)
"""How long a label puts its item behind the items that nobody has labeled, for people who share a
queue."""


def newest_label(labels: Sequence[Label], place: Showing, session: Session) -> Label | None:
    """Return the label that counts for this showing and person; it may be a withdrawn one."""
    key = LabelKey(
        item=place.item.item, showing=place.number, reviewer=session.reviewer, role=session.role
    )
    return latest(x for x in labels if x.item == key.item).get(key)


def labeled_lately(labels: Sequence[Label], session: Session) -> frozenset[str]:
    """Return the items that others labeled recently and this person has not begun. Two people who
    work at the same time share a queue, while people who come later label the same items, to
    measure agreement."""
    if session.role != "rater":
        return frozenset()
    since = instant((datetime.now(UTC) - LATELY).strftime("%Y-%m-%dT%H:%M:%SZ"))
    raters = [x for x in labels if x.role == "rater" and not x.withdrawn]
    mine = {x.item for x in raters if x.reviewer == session.reviewer}
    return frozenset(
        x.item
        for x in raters
        if x.reviewer != session.reviewer and x.item not in mine and instant(x.at) >= since
    )


def label_of(
    sheet: Sheet,
    place: Showing,
    session: Session,
    drafted: LabelDraft,
    before: Label | None,
    labels: Sequence[Label],
) -> Label:
    """Return the label, not yet sealed; `before` is the label of this showing that counted until
    now."""
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
        evidence_opened=_opened(drafted, before, labels),
    )


def _opened(drafted: LabelDraft, before: Label | None, labels: Sequence[Label]) -> bool | UnsetType:
    """Return whether the evidence was opened for this label or for one that it revises: labeling
    again does not make the evidence unseen."""
    known = {label.uid: label for label in labels}
    while before is not None:
        if before.evidence_opened is True:
            return True
        before = known.get(before.revises) if before.revises is not None else None
    return UNSET if drafted.evidence_opened is None else drafted.evidence_opened


def next_time(labels: Sequence[Label], session: Session) -> str:
    """Return the present time to the millisecond, later than every label of this person: labels
    keep the order in which they were made, even when a clock is put back. Labels dated more than a
    day ahead came from a wrong clock and are ignored."""
    now = datetime.now(UTC)
    ahead = (now + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    mine = [x.at for x in labels if x.reviewer == session.reviewer]
    believed = [at for at in mine if instant(at) <= instant(ahead)]
    if believed:
        second, fraction = instant(max(believed, key=instant))
        last = datetime.fromisoformat(f"{second}.{fraction[:6]}+00:00")
        now = max(now, last + timedelta(milliseconds=1))
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def item_view(sheet: Sheet, place: Showing, labels: Sequence[Label], session: Session) -> LabelItem:
    """Return a showing as this person sees it: nothing in it reveals its source."""
    item, rubric = place.item, sheet.ruled.rubric
    mine = sheet.mine(labels, session)
    timed = [x.duration_ms for x in mine if x.duration_ms is not None]
    pair = item.kind == "pair"
    left = _text(item.message(place.left))
    right = None if place.right is None else _text(item.message(place.right))
    return LabelItem(
        item=item.item,
        showing=place.number,
        kind=item.kind,
        episode_id=item.episode_id,
        user_request=sheet.request(item),
        left=left if pair else None,
        right=right,
        message=None if pair else left,
        criteria=tuple(
            CriterionView(
                number=number,
                criterion_id=criterion.criterion_id,
                title=criterion.title,
                asks=criterion.asks,
                levels=_levels(criterion),
                weak=criterion.weak,
                strong=criterion.strong,
                required=criterion.required,
            )
            for number, criterion in enumerate(rubric.criteria, 1)
        ),
        rubric=f"{rubric.rubric_id} {rubric.version}",
        place=len(mine) + 1,
        total=sheet.total(labels, session),
        done=len(mine),
        skipped=sum(x.skipped is not None for x in mine),
        mean_seconds=sum(timed) / len(timed) / 1000 if timed else None,
        about=sheet.about,
    )


def _levels(criterion: Criterion) -> tuple[tuple[int, str], ...]:
    named = {level.value: level.label for level in criterion.levels}
    return tuple((value, named.get(value, "")) for value in levels_of(criterion))


def _text(message: Message) -> str | None:
    return None if message.missing else message.text


class Labeling:
    """The labels of one workspace. Safe to share between threads."""

    def __init__(self, workspace: Workspace, finals: FinalMessages, book: Book) -> None:
        self._store = workspace.store
        self.book = book
        self.sheets = Sheets(workspace, finals)

    def session(
        self,
        connection: Connection,
        reviewer: str,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None,
        kind: Kind,
        role: Role,
    ) -> Session:
        """Begin a session. Raises DeskError when there is nothing to label, with the ways out."""
        self.sheets.ruled(connection, suite_id, reread=True)
        session = Session(
            suite_id=suite_id,
            candidate_id=candidate_id,
            baseline_id=baseline_for(connection, suite_id, candidate_id, baseline_id, kind),
            kind=kind,
            reviewer=reviewer,
            role=role,
        )
        sheet = self.sheet(connection, session)
        if not sheet.built.items:
            raise _nothing(session, sheet)
        if not sheet.total(self.labels(connection, sheet), session):
            raise DeskError(
                "nothing to adjudicate: no open item needs another reviewer",
                "label as a rater instead",
            )
        return session

    def sheet(self, connection: Connection, session: Session) -> Sheet:
        if session.review_set:
            return self.sheets.of_set(connection, session.review_set)
        return self.sheets.sheet(
            connection, session.suite_id, session.candidate_id, session.baseline_id, session.kind
        )

    def labels(self, connection: Connection, sheet: Sheet) -> tuple[Label, ...]:
        """Return every label of the suite or review set of a sheet."""
        return self.book.of(connection, sheet.ruled.suite.digest)

    def next_item(
        self,
        connection: Connection,
        session: Session,
        handed_back: Sequence[tuple[str, int]] = (),
        reason: str | None = None,
        item: str | None = None,
        claims: Sequence[Claim] = (),
        sharing: bool = False,
    ) -> LabelItem | None:
        """Return the next showing: of the item if one is named, else the next for the reason, else
        the next; None when none is left. Items that others have claimed (`claims`) are skipped.
        When `sharing`, items that others labeled recently come last."""
        sheet = self.sheet(connection, session)
        labels = self.labels(connection, sheet)
        taken = {claim.item for claim in unlabeled(claims, labels)}
        left = sheet.coming(labels, session, handed_back)
        behind = labeled_lately(labels, session) if sharing else frozenset()
        if item is not None:
            free = (each for each in left if each.item.item not in taken)
            place = next((each for each in free if each.item.item == item), None)
        elif reason is None and not (taken or behind):
            place = next(left, None)
        else:
            wanted = set(sheet.items)
            if reason == OPEN_FLAG:
                wanted = set(closing_items(sheet, session, labels))
            elif reason is not None:
                wanted = set(sheet.under(reason))
            wanted.difference_update(taken)
            places = tuple(left)
            place = None
            for names in (wanted - behind, wanted) if behind else (wanted,):
                place = place or sheet.first_of(places, names, labels, session)
            if place is None and reason is None:  # only the other order of a recent pair is left
                place = next((each for each in places if each.item.item in wanted), None)
        return None if place is None else item_view(sheet, place, labels, session)

    def held(
        self, connection: Connection, session: Session, claims: Sequence[Claim], item: str
    ) -> tuple[Holder, ...]:
        """Return who has items open that this person could label, or who has the named one."""
        if not claims:
            return ()
        sheet = self.sheet(connection, session)
        labels = self.labels(connection, sheet)
        names = {each.item.item for each in sheet.left(labels, session)}
        return holders(unlabeled(claims, labels), names & {item} if item else names)

    def record(self, connection: Connection, session: Session, drafted: LabelDraft) -> SavedLabel:
        """Store a label durably; a second label for a showing revises the first.

        Raises DeskError for an item that is not on the sheet and for an answer that the rubric does
        not allow, StoreError when the label cannot be written.
        """
        sheet = self.sheet(connection, session)
        labels = self.labels(connection, sheet)
        item = sheet.items.get(drafted.item)
        if item is None:
            raise DeskError("this item is no longer part of the suite", "go to the next item")
        try:
            place = sheet.place(item, drafted.showing)
        except ValueError as error:
            raise DeskError(str(error), "open the item again, then answer") from error
        before = newest_label(labels, place, session)
        label = self._sealed(sheet, label_of(sheet, place, session, drafted, before, labels))
        self._keep(label)
        after = self.labels(connection, sheet)
        entry = sheet.entry(label.item)
        mine = sheet.mine(after, session)
        return SavedLabel(
            uid=label.uid,
            at=label.at,
            item=label.item,
            place=len(mine),
            reasons=entry.reasons if entry else (),
            done=len(mine),
            total=sheet.total(after, session),
        )

    def undo(self, connection: Connection, session: Session) -> LabelItem:
        """Take back the label saved last, as a revision that is kept; return the item of that
        label.

        Raises DeskError when there is none.
        """
        sheet = self.sheet(connection, session)
        labels = self.labels(connection, sheet)
        mine = sheet.mine(labels, session)
        if not mine:
            raise DeskError(
                "nothing to undo: you have no label here",
                "label first; u then undoes your last label",
            )
        came = {label.uid: place for place, label in enumerate(labels)}
        last = max(mine, key=lambda label: came[label.uid])  # the clock may have been set back
        label = msgspec.structs.replace(
            last,
            answer=None,
            marks={},
            decided={},
            skipped=None,
            withdrawn=True,
            flag=False,
            note="",
            duration_ms=None,
            revises=last.uid,
            at=next_time(labels, session),
        )
        self._keep(seal(label))
        place = sheet.place(sheet.items[last.item], last.showing)
        return item_view(sheet, place, self.labels(connection, sheet), session)

    def own_end(self, connection: Connection, session: Session) -> tuple[EstimateView, ...]:
        """Return how often this person contradicted their own labels, and chose the left slot: only
        when nothing is left to label, since knowing this would change their answers."""
        sheet = self.sheet(connection, session)
        labels = self.labels(connection, sheet)
        if session.role != "rater" or next(sheet.coming(labels, session), None) is not None:
            return ()
        mine = [x for x in labels if x.reviewer == session.reviewer and x.item in sheet.items]
        return tuple(view for own in self_consistency(mine) for view in own_views(own))

    def queue(
        self,
        connection: Connection,
        reviewer: str,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None,
        kind: Kind,
        claims: Sequence[Claim] = (),
    ) -> QueueView:
        """Return the queue as this person may see it."""
        session = Session(
            suite_id=suite_id,
            candidate_id=candidate_id,
            baseline_id=baseline_for(connection, suite_id, candidate_id, baseline_id, kind),
            kind=kind,
            reviewer=reviewer,
            role="rater",
        )
        sheet = self.sheet(connection, session)
        return queue_view(sheet, session, self.labels(connection, sheet), claims)

    def _sealed(self, sheet: Sheet, label: Label) -> Label:
        problems = [f"{path}: {why}" for path, why in rubric_problems(label, sheet.ruled.rubric)]
        if problems:
            raise DeskError(
                f"not a label of this rubric: {'; '.join(problems)}",
                "answer each question of the rubric with one of its levels",
            )
        try:
            return seal(label)
        except ContractError as error:
            raise DeskError(f"not a label: {error}", "answer again: nothing was saved") from error

    def _keep(self, label: Label) -> None:
        connection = open_writer(self._store)
        try:
            LABELS.record(connection, self._store, [row_of(label)], clock())
        finally:
            close_writer(connection, self._store)


def baseline_for(
    connection: Connection,
    suite_id: str,
    candidate_id: str,
    baseline_id: str | None,
    kind: Kind,
) -> str | None:
    """Return the named baseline; without one, for pairs the default of Compare. None for the only
    candidate, whose own attempts are paired."""
    if baseline_id == candidate_id:
        raise DeskError(
            f"{candidate_id} cannot be its own baseline",
            "name another candidate as the baseline",
            exit_code=ExitCode.USAGE,
        )
    if baseline_id is None and kind == "pair":
        return other_candidate(connection, suite_id, candidate_id)
    return baseline_id


def _nothing(session: Session, sheet: Sheet) -> DeskError:
    built, ways = sheet.built, []
    if session.kind == "message":
        return DeskError(
            f"no final message of {session.candidate_id} is in this store",
            "reviewer run makes attempts of it, reviewer import imports them",
        )
    text = (
        f"nothing to compare: {built.identical} pairs have identical messages, {built.unpaired} "
        "attempts have no counterpart"
    )
    ways.append("label its messages one at a time")
    if session.baseline_id is None:
        ways.append(f"import another candidate on {session.suite_id} to compare with")
    return DeskError(text, *ways)
