"""The queue as its screen shows it: counts by reason, agreement, and what people part on."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from reviewer.contract.model import Rubric
from reviewer.desk.label_sheet import Sheet
from reviewer.desk.label_views import agreement_views, own_views
from reviewer.desk.review_views import (
    DisagreementView,
    EstimateView,
    QueueView,
    ReasonLine,
    Session,
)
from reviewer.review.adjudication import Disagreement, to_adjudicate
from reviewer.review.agreement import agreement
from reviewer.review.consistency import ENOUGH, self_consistency
from reviewer.review.labels import counting
from reviewer.review.model import Item, Label
from reviewer.review.queue import OpenFlag, ReasonCount, open_high, reason_counts
from reviewer.review.signals import Signals


class Counted(NamedTuple):
    """Pairs labeled as often as the rubric wants, pairs begun and not finished, messages labeled
    alone: by anybody, each item once."""

    pairs: int
    begun: int
    messages: int


def queue_view(sheet: Sheet, session: Session, labels: Sequence[Label]) -> QueueView:
    """The queue of a session as its person may see it."""
    here = [x for x in labels if x.item in sheet.items]
    mine = sheet.mine(labels, session)
    left = {place.item.item for place in sheet.left(labels, session)}
    flags = open_flags(sheet.own, _of_candidate(sheet.signals, session), labels)
    rate = sheet.ruled.suite.policy.labels.sample_rate
    lines = reason_counts(sheet.queue, {(x.item, x.showing) for x in mine})
    said = counting(here)
    return QueueView(
        suite_id=session.suite_id,
        candidate_id=session.candidate_id,
        baseline_id=session.baseline_id,
        kind=session.kind,
        reviewers=tuple(sorted({x.reviewer for x in said})),
        items=sheet.total(labels, session),
        done=len(mine),
        identical=sheet.built.identical,
        unpaired=sheet.built.unpaired,
        reasons=tuple(_line(line, rate) for line in lines),
        open_high=len(flags),
        agreement=_agreement(sheet, session, here),
        consistency=_consistency(here, session, finished=not left),
        needed=_needed(sheet, here),
        # What others part on may tell something of an item that this person has yet to see.
        disagreements=tuple(_parted(one) for one in to_adjudicate(here) if one.item not in left),
        saved=tuple(_saved(x) for x in mine),
    )


def _of_candidate(signals: Mapping[str, Signals], session: Session) -> dict[str, Signals]:
    prefix = f"{session.suite_id}/{session.candidate_id}/"
    return {trace: known for trace, known in signals.items() if trace.startswith(prefix)}


def open_flags(
    own: Sequence[Item], signals: Mapping[str, Signals], labels: Iterable[Label]
) -> tuple[OpenFlag, ...]:
    """High flags of a candidate's traces that no label has closed. `own` are its messages: a flag
    is closed by a label of what the trace ended with, alone or in a pair."""
    said = shown_texts(counting(labels))
    closed = {x.item for x in own if (x.episode_id, x.messages[0].digest) in said}
    return open_high(own, signals, closed)


def shown_texts(labels: Iterable[Label]) -> set[tuple[str, str]]:
    """(episode, digest) of every message that stood before a reviewer."""
    return {
        (x.episode_id, digest)
        for x in labels
        for digest in (x.left, x.right, x.message)
        if digest is not None
    }


def counted(labels: Iterable[Label], rubric: Rubric) -> Counted:
    """How much is labeled. A pair is done when one person has answered it in each order, unless the
    rubric is content with one."""
    orders: dict[str, dict[tuple[str, str], set[int]]] = {}
    messages: set[str] = set()
    for label in counting(labels):
        if label.kind == "message":
            messages.add(label.item)
        else:
            who = label.reviewer, label.role
            orders.setdefault(label.item, {}).setdefault(who, set()).add(label.showing)
    wanted = 2 if rubric.both_orders else 1
    whole = sum(any(len(n) >= wanted for n in by.values()) for by in orders.values())
    return Counted(whole, len(orders) - whole, len(messages))


def _line(line: ReasonCount, rate: float) -> ReasonLine:
    note = "not needed"
    if line.stratum == "high":
        note = "must be closed" if line.left else "none open"
    elif line.reason == "random":
        note = f"{rate:.3g} of the traces, by lot"
    elif line.reason == "quota":
        note = "makes up the number"
    return ReasonLine(
        reason=line.reason, priority=line.stratum, left=line.left, done=line.done, note=note
    )


def _agreement(sheet: Sheet, session: Session, labels: Sequence[Label]) -> tuple[EstimateView, ...]:
    rubric = sheet.ruled.rubric
    titles = {c.criterion_id: c.title for c in rubric.criteria}
    found = agreement(labels, rubric, _first(sheet, session), seed=sheet.seed)
    return tuple(
        view
        for one in found
        for view in agreement_views(one, titles.get(one.subject.criterion_id or "", ""))
    )


def _first(sheet: Sheet, session: Session) -> dict[str, str]:
    """The baseline's message of each pair, where only one of the two is the baseline's."""
    if session.baseline_id is None:
        return {}
    prefix = f"{session.suite_id}/{session.baseline_id}/"
    found = {}
    for item in sheet.built.items:
        theirs = [m.digest for m in item.messages if any(t.startswith(prefix) for t in m.traces)]
        if len(theirs) == 1:
            found[item.item] = theirs[0]
    return found


def _consistency(
    labels: Sequence[Label], session: Session, finished: bool
) -> tuple[EstimateView, ...]:
    """Of everybody; one's own only at the end."""
    found: list[EstimateView] = []
    for own in self_consistency(labels):
        if own.reviewer != session.reviewer or finished:
            found += own_views(own)
    return tuple(found)


def _needed(sheet: Sheet, labels: Sequence[Label]) -> str:
    """What more labels would bring, as a sentence; "" when nothing is asked for."""
    ruled, made = sheet.ruled, counted(labels, sheet.ruled.rubric)
    parts = []
    pairs = ruled.suite.policy.labels.min_pairs - made.pairs
    if sheet.kind == "pair" and pairs > 0:
        parts.append(f"{pairs} more labeled pairs before a promotion")
    messages = ruled.rubric.final_messages - made.messages
    if sheet.kind == "message" and messages > 0:
        parts.append(f"{messages} more messages that the rubric asks for")
    reviewers = {x.reviewer for x in counting(labels)}
    if len(reviewers) < 2:
        parts.append("a second reviewer, for agreement")
    repeats = max((own.needed for own in self_consistency(labels)), default=ENOUGH)
    if sheet.kind == "pair" and repeats:
        parts.append(f"{repeats} more repeats, for self-consistency")
    return f"needed: {'; '.join(parts)}" if parts else ""


def _parted(one: Disagreement) -> DisagreementView:
    parts = []
    if one.winner and not one.contradicts:
        parts.append(f"{_names(one.reviewers)} differ on the winner")
    elif one.contradicts:
        plural = len(one.contradicts) > 1
        parts.append(
            f"{_names(one.contradicts)} {'answer' if plural else 'answers'} otherwise in the "
            "other order"
        )
    if one.criteria:
        noun = "criterion differs" if len(one.criteria) == 1 else "criteria differ"
        parts.append(f"{len(one.criteria)} {noun}")
    return DisagreementView(
        item=one.item,
        episode_id=one.episode_id,
        text="; ".join(parts),
        reviewers=one.reviewers,
    )


def _names(names: Collection[str]) -> str:
    return " and ".join(names)


def _saved(label: Label) -> tuple[str, ...]:
    chance = "-" if label.pi is None else f"{label.pi:.3g}"
    return ", ".join(label.reasons) or "-", chance, answer_text(label)


def answer_text(label: Label) -> str:
    """What a label says, in a few words."""
    if label.skipped is not None:
        return f"skipped: {label.skipped}"
    if label.answer is not None:
        return label.answer.replace("_", " ")
    return ", ".join(f"{name} {level}" for name, level in sorted(label.marks.items()))
