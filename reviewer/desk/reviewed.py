"""What a report says of labels, gathered from the store as plain values.

A report over a million traces reads what its labels are about, not every message: flags stand in
narrow columns, and payloads are opened for the episodes that have labels alone.
"""

import sqlite3
from collections.abc import Iterable, Sequence

from msgspec import structs

from reviewer.contract.model import Rubric
from reviewer.desk.finals import Finals, count_traces, first_traces, flaggable, traces_in
from reviewer.desk.label_book import Book
from reviewer.desk.label_items import Side, message_of, side_of, signals_of
from reviewer.desk.label_queue import counted, open_flags, shown_texts
from reviewer.desk.suites import Held
from reviewer.release.reviewed import (
    SHOWN_FLAGS,
    AgreementFigures,
    Coefficient,
    OpenFlag,
    ReviewEvidence,
    SelfFigures,
    Share,
    WordingFigures,
)
from reviewer.review import agreement as measured
from reviewer.review.adjudication import to_adjudicate
from reviewer.review.agreement import Agreement, agreement
from reviewer.review.consistency import self_consistency
from reviewer.review.items import message_items
from reviewer.review.labels import counting
from reviewer.review.model import Item, Label
from reviewer.review.signals import STRATUM_OF, Signals, reasons_of
from reviewer.review.wording import check_wording

MOST_CHECKED = 5_000
"""Messages whose wording a report checks; of more, the first so many."""
SHOWN_BREAKS = 3


def review_evidence(
    connection: sqlite3.Connection, held: Held, candidate_id: str, finals: Finals, book: Book
) -> ReviewEvidence | None:
    """Labels and flags of one candidate; None for a probe, which certifies nothing.

    Raises DeskError when the candidate has no trace, StoreError for a damaged payload.
    """
    if held.suite.probe:
        return None
    side = side_of(connection, held.suite.suite_id, candidate_id)
    labels = [
        x for x in book.of(connection, held.suite.digest) if x.rubric_digest == held.rubric_digest
    ]
    own = _own(connection, side, held, finals, labels)
    about = _about(labels, own)
    signals = _high(connection, side)
    flags = open_flags(own, signals, about)
    found = ReviewEvidence(
        high=len(signals),
        open_high=len(flags),
        open_flags=tuple(
            OpenFlag(trace_id=flag.trace_id, reasons=flag.reasons) for flag in flags[:SHOWN_FLAGS]
        ),
    )
    if held.rubric is None:
        return found
    found = _with_wording(found, connection, side, held.rubric, finals)
    return _with_labels(found, about, own, held.rubric, held.suite.digest)


def _own(
    connection: sqlite3.Connection,
    side: Side,
    held: Held,
    finals: Finals,
    labels: Iterable[Label],
) -> tuple[Item, ...]:
    """The candidate's messages on the episodes that have a label."""
    keys = {name: key for key, name in side.names.items()}
    labeled = {keys[x.episode_id] for x in labels if x.episode_id in keys}
    traces = traces_in(connection, side.key, sorted(labeled)) if labeled else []
    texts = finals.of(connection, traces)
    messages = [message_of(side, t, texts[t.id]) for t in traces if t.id in texts]
    return message_items(held.suite.digest, messages).items


def _about(labels: Iterable[Label], own: Sequence[Item]) -> list[Label]:
    """The labels that one of these messages stands in, whichever store they were made in."""
    mine = {(item.episode_id, item.messages[0].digest) for item in own}
    return [x for x in labels if not mine.isdisjoint(shown_texts([x]))]


def _high(connection: sqlite3.Connection, side: Side) -> dict[str, Signals]:
    signals = signals_of(connection, side, flaggable(connection, side.key))
    return {
        trace: known
        for trace, known in signals.items()
        if any(STRATUM_OF[reason] == "high" for reason in reasons_of(known))
    }


def _with_wording(
    found: ReviewEvidence,
    connection: sqlite3.Connection,
    side: Side,
    rubric: Rubric,
    finals: Finals,
) -> ReviewEvidence:
    if not rubric.wording:
        return found
    traces = first_traces(connection, side.key, MOST_CHECKED)
    texts = finals.of(connection, traces)
    results: dict[str, dict[bool | None, list[str]]] = {
        rule.wording_id: {True: [], False: [], None: []} for rule in rubric.wording
    }
    for trace in traces:
        # What a trace without a payload said is not known; one without a message said nothing.
        text = (texts[trace.id] or "") if trace.id in texts else None
        for result in check_wording(rubric, side.names[trace.episode], text):
            results[result.wording_id][result.holds].append(side.trace_id(trace))
    return structs.replace(
        found,
        wording=tuple(
            WordingFigures(
                wording_id=name,
                holds=len(by[True]),
                breaks=len(by[False]),
                unknown=len(by[None]),
                first=tuple(by[False][:SHOWN_BREAKS]),
            )
            for name, by in results.items()
        ),
        checked=len(traces),
        final_messages=count_traces(connection, side.key),
    )


def _with_labels(
    found: ReviewEvidence,
    labels: Sequence[Label],
    own: Sequence[Item],
    rubric: Rubric,
    seed: str,
) -> ReviewEvidence:
    said = counting(labels)
    mine = {(item.episode_id, item.messages[0].digest) for item in own}
    made = counted(labels, rubric)
    return structs.replace(
        found,
        labels=len(said),
        reviewers=tuple(sorted({x.reviewer for x in said})),
        pairs=made.pairs,
        begun=made.begun,
        messages=made.messages,
        seen=len(mine & shown_texts(said)),
        messages_wanted=rubric.final_messages,
        labeled=len({x.item for x in said}),
        random=len({x.item for x in said if x.pi is not None}),
        agreement=tuple(
            _figures(one) for one in agreement(labels, rubric, _first(said, mine), seed=seed)
        ),
        consistency=tuple(
            SelfFigures(reviewer=own.reviewer, same=_share(own.same), left=_share(own.left))
            for own in self_consistency(labels)
        ),
        disagreements=len(to_adjudicate(labels)),
    )


def _first(labels: Iterable[Label], mine: set[tuple[str, str]]) -> dict[str, str]:
    """The other side of each pair with exactly one message of this candidate."""
    found = {}
    for label in labels:
        theirs = [
            side
            for side in (label.left, label.right)
            if side is not None and (label.episode_id, side) not in mine
        ]
        if label.kind == "pair" and len(theirs) == 1:
            found[label.item] = theirs[0]
    return found


def _figures(found: Agreement) -> AgreementFigures:
    return AgreementFigures(
        question=found.subject.question,
        criterion_id=found.subject.criterion_id,
        items=found.items,
        raw=_share(found.raw),
        alpha=_coefficient(found.alpha),
        ac1=_coefficient(found.ac1),
        kappa=_coefficient(found.kappa),
        prevalence=found.prevalence,
        lead=found.lead,
        why=found.why,
    )


def _share(share: measured.Share) -> Share:
    return Share(hits=share.hits, n=share.n, value=share.value, low=share.low, high=share.high)


def _coefficient(found: measured.Estimate) -> Coefficient:
    return Coefficient(value=found.value, low=found.low, high=found.high, why=found.why)
