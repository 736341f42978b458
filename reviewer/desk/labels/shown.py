"""Labels as a screen shows them: the blind item, and figures with their limits."""

from collections.abc import Sequence

import msgspec

from reviewer.desk.labels.sheet import Place, Sheet
from reviewer.desk.labels.views import (
    CriterionView,
    EstimateView,
    LabelItem,
    QuestionView,
    Session,
)
from reviewer.review.agreement import Agreement, SelfConsistency
from reviewer.review.labels import levels_of
from reviewer.review.model import Label, Message
from reviewer.stats.figures import Estimate, Share
from reviewer.suite.rubric import Criterion


def shown(sheet: Sheet, place: Place, labels: Sequence[Label], session: Session) -> LabelItem:
    """What this person sees of a showing: nothing that tells where it is from."""
    item, rubric = place.item, sheet.ruled.rubric
    episode = sheet.episodes.get(item.episode_id)
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
        user_request=episode.user_request if episode else "",
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
    )


def _levels(criterion: Criterion) -> tuple[tuple[int, str], ...]:
    named = {level.value: level.label for level in criterion.levels}
    return tuple((value, named.get(value, "")) for value in levels_of(criterion))


def _text(message: Message) -> str | None:
    return None if message.missing else message.text


def own_views(own: SelfConsistency) -> tuple[EstimateView, ...]:
    """One person's agreement with himself, and how often the left slot won."""
    who, same = own.reviewer, share_view(f"{own.reviewer} agrees with {own.reviewer}", own.same)
    if own.needed and same.value is not None:
        why = f"under 20 repeats: self-consistency is rough; {own.needed} more make it readable"
        same = msgspec.structs.replace(same, why=why)
    return same, share_view(f"{who} picks the left slot", own.left)


def share_view(name: str, share: Share) -> EstimateView:
    return EstimateView(
        name=name,
        value=share.value,
        low=share.low,
        high=share.high,
        hits=int(share.hits) if share.hits == int(share.hits) else None,
        n=share.n,
        why="" if share.n else "nothing to measure it on",
    )


def question_view(found: Agreement, about: str) -> QuestionView:
    """Raw agreement and the coefficients of one question."""
    raw = share_view("raw agreement", found.raw)
    if found.why:
        raw = msgspec.structs.replace(raw, why=found.why)
    return QuestionView(
        about=about,
        items=found.items,
        reviewers=found.reviewers,
        prevalence=found.prevalence,
        lead="ac1" if found.lead == "ac1" else "alpha",
        raw=raw,
        alpha=_estimate("Krippendorff alpha", found.alpha, found),
        ac1=_estimate("Gwet AC1", found.ac1, found),
        kappa=_estimate("Cohen kappa", found.kappa, found),
    )


def _estimate(name: str, found: Estimate, of: Agreement) -> EstimateView:
    return EstimateView(
        name=name,
        value=found.value,
        low=found.low,
        high=found.high,
        hits=None,
        n=of.items,
        why=found.why or "",
    )
