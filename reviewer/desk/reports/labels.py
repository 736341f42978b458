"""What a report says of labels, gathered from the store as plain values.

A report over a million traces reads what its labels are about, not every message: flags stand in
narrow columns, and payloads are opened for the episodes that have labels alone.
"""

from collections.abc import Iterable

from msgspec import structs

from reviewer.db.connection import Connection
from reviewer.db.queries.reviewable import (
    count_reviewable_traces,
    first_reviewable_traces,
    reviewable_slots,
)
from reviewer.desk.labels.book import Book, candidates_of
from reviewer.desk.labels.items import Side, side_of
from reviewer.desk.reports.holds import Looked, high_flags, looked_at
from reviewer.desk.suites import Held
from reviewer.desk.traces.records import FinalMessages
from reviewer.report.opinions import (
    SHOWN_FLAGS,
    AgreementFigures,
    OpenFlag,
    ReviewEvidence,
    SelfFigures,
    WordingFigures,
)
from reviewer.review.adjudication import to_adjudicate
from reviewer.review.agreement import Agreement, agreement, self_consistency
from reviewer.review.labels import counting
from reviewer.review.model import Label
from reviewer.review.queue import counted, sampled, shown_texts
from reviewer.review.wins import random_rates, wins
from reviewer.stats.figures import Wins
from reviewer.suite.rubric import Rubric

MOST_CHECKED = 5_000
"""Messages whose wording a report checks; of more, the first so many."""
MOST_DRAWN = 50_000
"""Traces over which a report works out on which the lot falls."""
SHOWN_BREAKS = 3


def review_evidence(
    connection: Connection, held: Held, candidate_id: str, finals: FinalMessages, book: Book
) -> ReviewEvidence | None:
    """Labels and flags of one candidate; None for a probe, which certifies nothing.

    Raises DeskError when the candidate has no trace, StoreError for a damaged payload.
    """
    if held.suite.probe:
        return None
    side = side_of(connection, held.suite.suite_id, candidate_id)
    high = high_flags(connection, side)
    looked = looked_at(connection, held, side, high, finals, book)
    found = ReviewEvidence(
        high=len(high),
        open_high=len(looked.flags),
        open_flags=tuple(
            OpenFlag(trace_id=flag.trace_id, reasons=flag.reasons)
            for flag in looked.flags[:SHOWN_FLAGS]
        ),
        messages_wanted=held.rubric.final_messages if held.rubric is not None else 0,
    )
    if held.rubric is None:
        return found
    found = _with_wording(found, connection, side, held.rubric, finals)
    if not looked.about:
        return found
    found = _with_labels(found, looked, candidate_id, held.rubric, held.suite.digest)
    return _with_drawn(found, connection, side, held, looked) if found.random else found


def _with_wording(
    found: ReviewEvidence,
    connection: Connection,
    side: Side,
    rubric: Rubric,
    finals: FinalMessages,
) -> ReviewEvidence:
    if not rubric.wording:
        return found
    from reviewer.review.wording import check_wording

    traces = first_reviewable_traces(connection, side.key, MOST_CHECKED)
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
        final_messages=count_reviewable_traces(connection, side.key),
    )


def _with_labels(
    found: ReviewEvidence,
    looked: Looked,
    candidate_id: str,
    rubric: Rubric,
    seed: str,
) -> ReviewEvidence:
    labels = looked.about
    said = counting(labels)
    mine = {(item.episode_id, item.messages[0].digest) for item in looked.own}
    made = counted(labels, rubric)
    return structs.replace(
        found,
        labels=len(said),
        reviewers=tuple(sorted({x.reviewer for x in said})),
        pairs=made.pairs,
        begun=made.begun,
        messages=made.messages,
        seen=len(mine & shown_texts(said)),
        labeled=len({x.item for x in said}),
        random=len({x.item for x in said if x.pi is not None}),
        rates=tuple(
            structs.replace(one, n_eff=None if one.n_eff is None else float(one.n_eff))
            for one in random_rates(labels, rubric, mine)
        ),
        wins=tuple(map(_in_floats, wins(labels, mine, _others(said, candidate_id)))),
        agreement=tuple(
            _figures(one) for one in agreement(labels, rubric, _first(said, mine), seed=seed)
        ),
        consistency=tuple(
            SelfFigures(reviewer=own.reviewer, same=own.same, left=own.left)
            for own in self_consistency(labels)
        ),
        disagreements=len(to_adjudicate(labels)),
    )


def _with_drawn(
    found: ReviewEvidence, connection: Connection, side: Side, held: Held, looked: Looked
) -> ReviewEvidence:
    """How far the random part is done: the traces that the lot falls on, and those of them whose
    message no label shows."""
    if count_reviewable_traces(connection, side.key) > MOST_DRAWN:
        return found
    salt, rate = held.suite.digest, held.suite.policy.labels.sample_rate
    names = (
        f"{side.prefix}/{side.names[episode]}/{attempt}"
        for episode, attempt in reviewable_slots(connection, side.key)
    )
    drawn = {name for name in names if sampled(salt, name, rate)}
    said = shown_texts(counting(looked.about))
    seen = {
        trace
        for item in looked.own
        if (item.episode_id, item.messages[0].digest) in said
        for trace in item.traces
    }
    return structs.replace(found, drawn=len(drawn), waiting=len(drawn - seen))


def _others(labels: Iterable[Label], candidate_id: str) -> dict[str, set[str]]:
    """Who else stands behind each item."""
    found: dict[str, set[str]] = {}
    for label in labels:
        found.setdefault(label.item, set()).update(candidates_of(label) - {candidate_id})
    return found


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
        raw=found.raw,
        alpha=found.alpha,
        ac1=found.ac1,
        kappa=found.kappa,
        prevalence=found.prevalence,
        lead=found.lead,
        why=found.why,
    )


def _in_floats(one: Wins) -> Wins:
    """Return the wins with hits as floats: report.json writes them as 2.0, and its bytes are what
    is signed. (The same holds of `n_eff` in the rates.)"""
    pairs, by_episode = (
        structs.replace(test, wins=structs.replace(test.wins, hits=float(test.wins.hits)))
        for test in (one.pairs, one.by_episode)
    )
    return structs.replace(one, pairs=pairs, by_episode=by_episode)
