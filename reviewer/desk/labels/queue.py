"""The queue as its screen shows it: counts by reason, agreement, and disagreements."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import msgspec

from reviewer.desk.labels.api import (
    DisagreementView,
    EstimateView,
    FlagLine,
    GivenLabel,
    Holder,
    QuestionView,
    QueueView,
    ReasonLine,
    Session,
)
from reviewer.desk.labels.counted import CountedLabels
from reviewer.desk.labels.sheet import Sheet
from reviewer.desk.presence.claims import Claim
from reviewer.review.agreement import (
    ENOUGH,
    Agreement,
    Disagreement,
    SelfConsistency,
    agreement,
    self_consistency,
    to_adjudicate,
)
from reviewer.review.labels import Label, counting
from reviewer.review.lines import instant
from reviewer.review.queue import (
    OpenFlag,
    ReasonCount,
    Signals,
    counted,
    open_flags,
    reason_counts,
)
from reviewer.stats.figures import Estimate, Share


def agreement_on(
    sheet: Sheet, session: Session, labels: Sequence[Label]
) -> tuple[QuestionView, ...]:
    """Return how well raters agree: on winners, then on each criterion of pairs, then of
    messages."""
    rubric = sheet.ruled.rubric
    titles = {c.criterion_id: c.title for c in rubric.criteria}
    found = agreement(labels, rubric, _first(sheet, session), seed=sheet.seed)
    return tuple(
        question_view(one, titles.get(one.subject.criterion_id or "", "")) for one in found
    )


def _first(sheet: Sheet, session: Session) -> dict[str, str]:
    """Return the baseline's message of each pair in which exactly one message is the baseline's."""
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
    """Return the self-consistency of all reviewers; the viewer's own only at the end of their
    queue."""
    found: list[EstimateView] = []
    for own in self_consistency(labels):
        if own.reviewer != session.reviewer or finished:
            found += own_views(own)
    return tuple(found)


def needed(sheet: Sheet, counts: CountedLabels, labels: Sequence[Label]) -> str:
    """Return which labels are still needed, as a sentence; "" when none is. `counts` are the labels
    that count for a release of the candidate."""
    ruled, parts = sheet.ruled, []
    made = counted(counts.labels, ruled.rubric)
    if counts.unsigned:
        noun = "label" if counts.unsigned == 1 else "labels"
        parts.append(f"a signature on {counts.unsigned} {noun} (reviewer labels sign)")
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


def disagreements_of(
    labels: Sequence[Label], session: Session, left: Collection[str]
) -> tuple[DisagreementView, ...]:
    """Return the items that wait for a third person, as far as the viewer may know. A person who
    has rated an item in one order only does not see it, and nobody sees their own contradictions
    before the end; a person who has not rated an item sees only that it waits."""
    found = []
    for one in to_adjudicate(labels):
        mine = session.reviewer in one.reviewers
        if mine and (one.item in left or (left and session.reviewer in one.contradicts)):
            continue
        found.append(
            DisagreementView(
                item=one.item,
                episode_id=one.episode_id,
                text=_parted(one) if mine else "open: shown once you have labeled it",
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


MOST_RECENT = 20
"""Number of newest labels that the queue lists."""


def unlabeled(claims: Sequence[Claim], labels: Iterable[Label]) -> tuple[Claim, ...]:
    """Return the claims whose person has not labeled the item since. A workstation that was killed
    after saving a label leaves its claim behind, which would keep the item from others."""
    held = {(claim.name, claim.item) for claim in claims}
    last: dict[tuple[str, str], int] = {}
    for label in labels if held else ():
        key = label.reviewer, label.item
        if key in held and not label.withdrawn:
            at = round(datetime.fromisoformat(label.at).timestamp() * 1000)
            last[key] = max(at, last.get(key, at))
    # Labels' times are truncated to milliseconds.
    return tuple(c for c in claims if last.get((c.name, c.item), -1) < int(c.since * 1000))


def holders(claims: Iterable[Claim], items: Collection[str]) -> tuple[Holder, ...]:
    """Return who has some of these items open, the longest holder first."""
    found: dict[str, list[float]] = {}
    for claim in claims:
        if claim.item in items:
            found.setdefault(claim.name, []).append(claim.since)
    lines = [
        Holder(reviewer=name, items=len(since), since=min(since)) for name, since in found.items()
    ]
    return tuple(sorted(lines, key=lambda line: (line.since, line.reviewer)))


def recent(labels: Sequence[Label]) -> tuple[GivenLabel, ...]:
    """Return the newest labels of everybody, newest first, without their items."""
    newest = sorted(labels, key=lambda label: instant(label.at), reverse=True)[:MOST_RECENT]
    return tuple(
        GivenLabel(
            reviewer=label.reviewer,
            at=label.at,
            act=("withdrawal" if label.withdrawn else "label" if label.skipped is None else "skip"),
        )
        for label in newest
    )


def queue_view(
    sheet: Sheet, session: Session, labels: Sequence[Label], claims: Sequence[Claim] = ()
) -> QueueView:
    """Return the queue of a session as its person may see it; `claims` are those of others."""
    here = [x for x in labels if x.item in sheet.items]
    mine, left = sheet.mine(labels, session), sheet.left(labels, session)
    flags, closed = flags_of(sheet, session, labels)
    claims = unlabeled(claims, labels)
    lines = _flag_lines(sheet, session, labels, len(flags), closed.total())
    author = sheet.is_author(session.reviewer, session.candidate_id)
    closing = frozenset[str]() if author else _closing(sheet, flags)
    shown = {(x.item, x.showing) for x in mine}
    said, made = counting(here), counted(here, sheet.ruled.rubric)
    counts = sheet.counted(here, session.candidate_id)
    return QueueView(
        suite_id=session.suite_id,
        candidate_id=session.candidate_id,
        baseline_id=session.baseline_id,
        kind=session.kind,
        reviewers=tuple(sorted({x.reviewer for x in said})),
        items=sheet.total(labels, session),
        done=len(mine),
        labeled=made.pairs if session.kind == "pair" else made.messages,
        begun=made.begun,
        identical=sheet.built.identical,
        unpaired=sheet.built.unpaired,
        reasons=_reasons(
            sheet,
            reason_counts(sheet.asked(labels, session), shown, sheet.reasons),
            flags,
            closed,
            lines,
            claims,
        ),
        high=len(flags) + closed.total(),
        open_high=len(flags),
        open_left=sum(place.item.item in closing for place in left),
        agreement=agreement_on(sheet, session, here),
        consistency=consistency_of(here, session, finished=not left),
        needed=needed(sheet, counts, here),
        disagreements=disagreements_of(here, session, {place.item.item for place in left}),
        saved=tuple(_saved(x) for x in mine),
        flags=lines,
        review_set=session.review_set,
        holders=holders(claims, sheet.items),
        recent=recent(here),
        by_authors=counts.by_authors,
        unsigned=counts.unsigned,
        author=author,
    )


def flags_of(
    sheet: Sheet, session: Session, labels: Sequence[Label]
) -> tuple[tuple[OpenFlag, ...], Counter[str]]:
    """Return the candidate's high flags that no label has closed, and how many are closed, by
    reason. Labels that do not count for its release close none."""
    signals = _signals_of(sheet, session.suite_id, session.candidate_id)
    flags = open_flags(sheet.own, signals, sheet.counted(labels, session.candidate_id).labels)
    everyone = Counter(flag.reasons[0] for flag in open_flags(sheet.own, signals, ()))
    return flags, Counter(everyone - Counter(flag.reasons[0] for flag in flags))


def _signals_of(sheet: Sheet, suite_id: str, candidate_id: str) -> dict[str, Signals]:
    prefix = f"{suite_id}/{candidate_id}/"
    return {t: known for t, known in sheet.signals.items() if t.startswith(prefix)}


def _flag_lines(
    sheet: Sheet, session: Session, labels: Sequence[Label], unclosed: int, closed: int
) -> tuple[FlagLine, ...]:
    """Return the flags of the candidate, then those of the baseline for which items are queued: the
    latter stop the baseline and not the candidate."""
    mine = FlagLine(
        candidate_id=session.candidate_id, high=unclosed + closed, open=unclosed, stops=True
    )
    if session.baseline_id is None or not sheet.others:
        return (mine,)
    signals = _signals_of(sheet, session.suite_id, session.baseline_id)
    counts = sheet.counted(labels, session.baseline_id)
    theirs = FlagLine(
        candidate_id=session.baseline_id,
        high=len(open_flags(sheet.others, signals, ())),
        open=len(open_flags(sheet.others, signals, counts.labels)),
        stops=False,
    )
    return mine, theirs


def closing_items(sheet: Sheet, session: Session, labels: Sequence[Label]) -> frozenset[str]:
    """Return the items whose label closes a high flag of the candidate that is still open."""
    return _closing(sheet, flags_of(sheet, session, labels)[0])


def _closing(sheet: Sheet, flags: Iterable[OpenFlag]) -> frozenset[str]:
    traces = {flag.trace_id for flag in flags}
    return frozenset(
        name for name, item in sheet.items.items() if not traces.isdisjoint(item.traces)
    )


def _reasons(
    sheet: Sheet,
    counts: Iterable[ReasonCount],
    flags: Iterable[OpenFlag],
    closed: Counter[str],
    lines: Sequence[FlagLine],
    claims: Sequence[Claim],
) -> tuple[ReasonLine, ...]:
    """Return one person's showings by reason; those of high priority with the flags that block a
    promotion, which are the candidate's alone and are closed by any person's label."""
    unclosed = Counter(flag.reasons[0] for flag in flags)
    rate = sheet.rate
    others = [line.candidate_id for line in lines if not line.stops and line.high]
    under: dict[str, set[str]] = {}
    for claim in claims:
        entry = sheet.entry(claim.item)
        if entry is not None:
            under.setdefault(entry.reasons[0], set()).add(claim.item)
    return tuple(
        ReasonLine(
            reason=line.reason,
            priority=line.stratum,
            left=line.left,
            done=line.done,
            open=unclosed[line.reason],
            note=(
                _note(line, unclosed[line.reason], closed[line.reason], rate, others)
                if sheet.of_set is None
                else f"{rate} by lot"
                if line.reason == "random"
                else "all; in no rate"
            ),
            holders=holders(claims, under.get(line.reason, ())),
        )
        for line in counts
    )


def _note(line: ReasonCount, unclosed: int, closed: int, rate: str, others: Sequence[str]) -> str:
    if line.stratum == "high":
        if unclosed:
            return f"{unclosed} {'flag' if unclosed == 1 else 'flags'} to close"
        if closed:
            return "flags all closed"
        if others and line.left + line.done:
            return "no flag of its own"
        return "no flag"
    if line.reason == "random":
        return f"{rate} of traces by lot"
    return "fills the quota" if line.reason == "quota" else "not needed"


def _saved(label: Label) -> tuple[str, ...]:
    chance = "-" if label.pi is None else f"{label.pi:.3g}"
    return ", ".join(label.reasons) or "-", chance, answer_text(label)


def answer_text(label: Label) -> str:
    """Return a label's answer in a few words."""
    if label.skipped is not None:
        return f"skipped: {label.skipped}"
    if label.answer is not None:
        return label.answer.replace("_", " ")
    return ", ".join(f"{name} {level}" for name, level in sorted(label.marks.items()))


def own_views(own: SelfConsistency) -> tuple[EstimateView, ...]:
    """Return one person's agreement with their own labels, and how often they chose the left
    slot."""
    who, same = own.reviewer, share_view(f"{own.reviewer} agrees with {own.reviewer}", own.same)
    if own.needed and same.value is not None:
        why = f"fewer than 20 repeats: a rough figure; {own.needed} more make it readable"
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
    """Return the raw agreement and the coefficients of one question."""
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
