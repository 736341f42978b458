"""The queue as its screen shows it: counts by reason, agreement, and what people part on."""

from collections import Counter
from collections.abc import Iterable, Sequence

from reviewer.desk.labels.agreement import (
    agreement_on,
    consistency_of,
    disagreements_of,
    needed,
)
from reviewer.desk.labels.sheet import Sheet
from reviewer.desk.labels.views import QueueView, ReasonLine, Session
from reviewer.review.labels import counting
from reviewer.review.model import Label
from reviewer.review.queue import OpenFlag, ReasonCount, counted, open_flags, reason_counts


def queue_view(sheet: Sheet, session: Session, labels: Sequence[Label]) -> QueueView:
    """The queue of a session as its person may see it."""
    here = [x for x in labels if x.item in sheet.items]
    mine, left = sheet.mine(labels, session), sheet.left(labels, session)
    flags, closed = flags_of(sheet, session, labels)
    closing = _closing(sheet, flags)
    shown = {(x.item, x.showing) for x in mine}
    said, made = counting(here), counted(here, sheet.ruled.rubric)
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
        reasons=_reasons(sheet, reason_counts(sheet.asked(labels, session), shown), flags, closed),
        high=len(flags) + closed.total(),
        open_high=len(flags),
        open_left=sum(place.item.item in closing for place in left),
        agreement=agreement_on(sheet, session, here),
        consistency=consistency_of(here, session, finished=not left),
        needed=needed(sheet, made.pairs, made.messages, here),
        disagreements=disagreements_of(here, session, {place.item.item for place in left}),
        saved=tuple(_saved(x) for x in mine),
    )


def flags_of(
    sheet: Sheet, session: Session, labels: Sequence[Label]
) -> tuple[tuple[OpenFlag, ...], Counter[str]]:
    """The candidate's high flags that no label has closed, and how many are closed, by reason."""
    prefix = f"{session.suite_id}/{session.candidate_id}/"
    signals = {t: known for t, known in sheet.signals.items() if t.startswith(prefix)}
    flags = open_flags(sheet.own, signals, labels)
    everyone = Counter(flag.reasons[0] for flag in open_flags(sheet.own, signals, ()))
    return flags, Counter(everyone - Counter(flag.reasons[0] for flag in flags))


def closing_items(sheet: Sheet, session: Session, labels: Sequence[Label]) -> frozenset[str]:
    """Items whose label closes a high flag of the candidate that is still open."""
    return _closing(sheet, flags_of(sheet, session, labels)[0])


def _closing(sheet: Sheet, flags: Iterable[OpenFlag]) -> frozenset[str]:
    traces = {flag.trace_id for flag in flags}
    return frozenset(
        name for name, item in sheet.items.items() if not traces.isdisjoint(item.traces)
    )


def _reasons(
    sheet: Sheet, counts: Iterable[ReasonCount], flags: Iterable[OpenFlag], closed: Counter[str]
) -> tuple[ReasonLine, ...]:
    """What one person is asked, by reason; of the high ones with the flags that hold a promotion
    up, which are those of the candidate alone and closed by anybody's label."""
    unclosed = Counter(flag.reasons[0] for flag in flags)
    rate = sheet.ruled.suite.policy.labels.sample_rate
    return tuple(
        ReasonLine(
            reason=line.reason,
            priority=line.stratum,
            left=line.left,
            done=line.done,
            open=unclosed[line.reason],
            note=_note(line, unclosed[line.reason], closed[line.reason], rate),
        )
        for line in counts
    )


def _note(line: ReasonCount, unclosed: int, closed: int, rate: float) -> str:
    if line.stratum == "high":
        if unclosed:
            return f"{unclosed} {'flag' if unclosed == 1 else 'flags'} to close"
        return "flags all closed" if closed else "no flag"
    if line.reason == "random":
        return f"{100 * rate:.3g}% of traces by lot"
    return "makes up the number" if line.reason == "quota" else "not needed"


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
