"""How far people agree on what a sheet asks, what more labels would bring, and what waits for a
third person."""

from collections.abc import Collection, Sequence

from reviewer.desk.labels.sheet import Sheet
from reviewer.desk.labels.shown import own_views, question_view
from reviewer.desk.labels.views import DisagreementView, EstimateView, QuestionView, Session
from reviewer.review.adjudication import Disagreement, to_adjudicate
from reviewer.review.agreement import ENOUGH, agreement, self_consistency
from reviewer.review.labels import counting
from reviewer.review.model import Label


def agreement_on(
    sheet: Sheet, session: Session, labels: Sequence[Label]
) -> tuple[QuestionView, ...]:
    """How far raters agree: on winners, then on each criterion of pairs, then of messages."""
    rubric = sheet.ruled.rubric
    titles = {c.criterion_id: c.title for c in rubric.criteria}
    found = agreement(labels, rubric, _first(sheet, session), seed=sheet.seed)
    return tuple(
        question_view(one, titles.get(one.subject.criterion_id or "", "")) for one in found
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


def consistency_of(
    labels: Sequence[Label], session: Session, finished: bool
) -> tuple[EstimateView, ...]:
    """Of everybody; one's own only at the end."""
    found: list[EstimateView] = []
    for own in self_consistency(labels):
        if own.reviewer != session.reviewer or finished:
            found += own_views(own)
    return tuple(found)


def needed(sheet: Sheet, made_pairs: int, made_messages: int, labels: Sequence[Label]) -> str:
    """What more labels would bring, as a sentence; "" when nothing is asked for."""
    ruled, parts = sheet.ruled, []
    pairs = ruled.suite.policy.labels.min_pairs - made_pairs
    if sheet.kind == "pair" and pairs > 0:
        parts.append(f"{pairs} more labeled pairs before a promotion")
    messages = ruled.rubric.final_messages - made_messages
    if sheet.kind == "message" and messages > 0:
        parts.append(f"{messages} more messages that the rubric asks for")
    reviewers = {x.reviewer for x in counting(labels)}
    if len(reviewers) < 2:
        parts.append("a second reviewer, for agreement")
    repeats = max((own.needed for own in self_consistency(labels)), default=ENOUGH)
    if sheet.kind == "pair" and repeats:
        parts.append(f"{repeats} more repeats, for self-consistency")
    return f"needed: {'; '.join(parts)}" if parts else ""


def disagreements_of(
    labels: Sequence[Label], session: Session, left: Collection[str]
) -> tuple[DisagreementView, ...]:
    """What waits for a third person, as far as this one may know. Who has rated an item in one
    order only is told nothing of it, nor anybody before his end how he contradicts himself; who has
    not rated it is told only that it waits."""
    found = []
    for one in to_adjudicate(labels):
        mine = session.reviewer in one.reviewers
        if mine and (one.item in left or (left and session.reviewer in one.contradicts)):
            continue
        found.append(
            DisagreementView(
                item=one.item,
                episode_id=one.episode_id,
                text=_parted(one) if mine else "open: told once you have labeled it",
                reviewers=one.reviewers,
                mine=mine,
            )
        )
    return tuple(found)


def _parted(one: Disagreement) -> str:
    parts = []
    if one.winner and not one.contradicts:
        parts.append("the winner differs")
    elif one.contradicts:
        plural = len(one.contradicts) > 1
        parts.append(
            f"{_names(one.contradicts)} {'answer' if plural else 'answers'} otherwise in the "
            "other order"
        )
    if one.criteria:
        noun = "criterion differs" if len(one.criteria) == 1 else "criteria differ"
        parts.append(f"{len(one.criteria)} {noun}")
    return "; ".join(parts)


def _names(names: Collection[str]) -> str:
    return " and ".join(names)
