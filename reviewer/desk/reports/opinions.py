"""The labels, flags and judge figures of a report, gathered from the store as plain values.

A report over a million traces reads only the messages that labels are about: flags come from narrow
columns, and payloads are opened only for the episodes that have labels. A recommendation needs less
than a report (`review_holds`), and loads no code for agreement and judges.
"""

from __future__ import annotations  # names used only in annotations are not imported

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET, structs, to_builtins

from reviewer.db.connection import Connection
from reviewer.db.figure_blocks import noted_of
from reviewer.db.noted import NotedKind, NotedTraces
from reviewer.db.queries.attempts import (
    count_reviewable_traces,
    first_reviewable_traces,
    reviewable_slots,
    reviewable_traces_in,
)
from reviewer.db.registry import episode_names
from reviewer.desk.baseline import other_candidate
from reviewer.desk.labels.book import Book, candidates_of
from reviewer.desk.labels.counted import CountedLabels, SignedLabels, counted_labels
from reviewer.desk.labels.items import Side, message_of, side_of
from reviewer.desk.suites import ReadySuite
from reviewer.desk.traces.records import FinalMessages
from reviewer.report.opinions import (
    ADVISORY,
    SHOWN_FLAGS,
    AgreementFigures,
    AskedJudgeSection,
    Cell,
    Claim,
    HighFlags,
    JudgeAccepted,
    JudgedMessages,
    JudgeEstimates,
    JudgeEvidence,
    JudgeRepeats,
    JudgeShare,
    JudgeSlots,
    OpenFlag,
    RandomPart,
    ReviewSection,
    SelfFigures,
    Wording,
    WordingFigures,
    hits,
)
from reviewer.review.items import Item, message_items
from reviewer.review.labels import Label, counting
from reviewer.review.queue import (
    STRATUM_OF,
    Signals,
    counted,
    open_flags,
    reasons_of,
    sampled,
    shown_texts,
    trace_signals,
)
from reviewer.stats.figures import Share, Wins
from reviewer.suite.rubric import Rubric
from reviewer.suite.strict_json import canonical_bytes, sha256_hex

if TYPE_CHECKING:
    from reviewer.desk.judge.book import JudgeBook, JudgeRecord
    from reviewer.review.agreement import Agreement
    from reviewer.review.calibration import Calibration, Confusion
    from reviewer.review.judged import MessageFigures, WinRate
    from reviewer.review.queue import OpenFlag as QueueFlag


class LabeledMessages(NamedTuple):
    """One candidate's messages on the episodes that have a label, the labels that show one of them,
    and the high flags that no label has closed. `unsigned` labels about them do not count under
    this policy, those of `by_authors` under no policy; `changed` signed ones were changed since
    without a signature."""

    own: tuple[Item, ...]
    about: list[Label]
    flags: tuple[QueueFlag, ...]
    unsigned: int = 0
    changed: int = 0
    by_authors: tuple[str, ...] = ()


class LabelSources(NamedTuple):
    """Where a report's labels come from: `signed` are those that their raters signed,
    `baseline_id` is that of the report, None when it has none. Labels by the candidate's
    `authors` do not count. `names` returns the ids of a suite's episodes by key,
    `noted` the failing and flagged traces of a candidate."""

    finals: FinalMessages
    book: Book
    judges: Callable[[], JudgeBook]
    signed: Callable[[], SignedLabels]
    baseline_id: str | None = None
    authors: tuple[str, ...] = ()
    names: Callable[[Connection, int], dict[int, str]] = episode_names
    noted: Callable[[Connection, int], NotedTraces] = noted_of

    def counted(self, held: ReadySuite, labels: Iterable[Label]) -> CountedLabels:
        """Return those of `labels` that count for the candidate."""
        wants = held.suite.policy.labels.signed is True
        return counted_labels(labels, self.authors, self.signed if wants else None)


def review_holds(
    connection: Connection, held: ReadySuite, candidate_id: str, sources: LabelSources
) -> ReviewSection | None:
    """Return only what `assess` reads of labels and flags; None for a probe.

    Raises DeskError when the candidate has no trace, StoreError for a damaged payload.
    """
    if held.suite.probe:
        return None
    side = side_of(connection, held.suite.suite_id, candidate_id, sources.names)
    high = high_flags(sources.noted(connection, side.key), side)
    policy = held.suite.policy.labels
    if not high and not policy.min_pairs and not policy.limited:
        return ReviewSection()
    looked = read_labeled_messages(connection, held, side, high, sources)
    found = ReviewSection(
        high_flags=HighFlags(traces=len(high), open=len(looked.flags)),
        by_authors=looked.by_authors or UNSET,
    )
    if held.rubric is None:
        return found
    made = counted(looked.about, held.rubric)
    found = structs.replace(found, pairs_labelled=made.pairs, messages_labelled=made.messages)
    return _with_limits(found, connection, held, candidate_id, looked, sources)


def _with_limits(
    found: ReviewSection,
    connection: Connection,
    held: ReadySuite,
    candidate_id: str,
    looked: LabeledMessages,
    sources: LabelSources,
) -> ReviewSection:
    """Add the figures for the policy's limits on labels; most policies set none."""
    policy = held.suite.policy.labels
    if held.rubric is None or not (policy.limited or policy.judge_stands_in or policy.signed):
        return found
    from reviewer.desk.reports.label_figures import OwnMessages, label_figures

    against = sources.baseline_id or other_candidate(connection, held.suite.suite_id, candidate_id)
    shown = {(item.episode_id, item.messages[0].digest) for item in looked.own}
    own = OwnMessages(shown, looked.about, looked.unsigned, looked.changed)
    judged = None
    if policy.judge_stands_in is True:
        judged = judge_record(connection, held, candidate_id, sources)
    figures = label_figures(held, held.rubric, candidate_id, against, own, judged)
    return structs.replace(found, limits=figures)


def judge_record(
    connection: Connection, held: ReadySuite, candidate_id: str, sources: LabelSources
) -> JudgeRecord | None:
    """Return the record of the suite's judge for this candidate, calibrated on the labels that
    count for it; None when it was never asked."""
    every = sources.book.of(connection, held.suite.digest)
    counts = sources.counted(held, every).labels
    return sources.judges().judged(connection, held, candidate_id, counts)


def high_flags(noted: NotedTraces, side: Side) -> dict[str, Signals]:
    """Return the traces with a high flag, by id, with what may give one."""
    signals = [None if kind.lost else _high_signals(kind) for kind in noted.kinds]
    return {
        f"{side.prefix}/{side.names[episode]}/{attempt}": known
        for episode, attempt, place in zip(
            noted.episodes, noted.attempts, noted.places, strict=True
        )
        if (known := signals[place]) is not None
    }


def _high_signals(kind: NotedKind) -> Signals | None:
    made = trace_signals(
        critical=bool(kind.critical),
        codes=kind.flags,
        termination=kind.termination,
        passed=None if kind.passed is None else bool(kind.passed),
        said_elsewhere=None if kind.said is None else bool(kind.said),
    )
    return made if _is_high(made) else None


def _is_high(known: Signals) -> bool:
    return any(STRATUM_OF[reason] == "high" for reason in reasons_of(known))


def read_labeled_messages(
    connection: Connection,
    held: ReadySuite,
    side: Side,
    high: dict[str, Signals],
    sources: LabelSources,
) -> LabeledMessages:
    """Read one candidate's messages and labels; payloads are opened only for episodes that have
    labels, or for all where a judge stands in for people."""
    every = sources.book.of(connection, held.suite.digest)
    labels = [x for x in every if x.rubric_digest == held.rubric_digest]
    own = _own(connection, side, held, sources.finals, labels)
    counts = sources.counted(held, _about(labels, own))
    about = list(counts.labels)
    return LabeledMessages(
        own,
        about,
        open_flags(own, high, about),
        counts.unsigned,
        counts.changed,
        counts.by_authors,
    )


def _own(
    connection: Connection,
    side: Side,
    held: ReadySuite,
    finals: FinalMessages,
    labels: Iterable[Label],
) -> tuple[Item, ...]:
    """Return the candidate's messages on the episodes that have a label."""
    named = {x.episode_id for x in labels}
    labeled = {key for key, name in side.names.items() if name in named} if named else set()
    if held.suite.policy.labels.judge_stands_in is True:
        labeled = set(side.names)
    traces = reviewable_traces_in(connection, side.key, sorted(labeled)) if labeled else []
    texts = finals.of(connection, traces)
    messages = [message_of(side, t, texts[t.id]) for t in traces if t.id in texts]
    return message_items(held.suite.digest, messages).items


def _about(labels: Iterable[Label], own: Sequence[Item]) -> list[Label]:
    """Return the labels that show one of these messages, in whichever store they were made."""
    mine = {(item.episode_id, item.messages[0].digest) for item in own}
    return [x for x in labels if not mine.isdisjoint(shown_texts([x]))]


MOST_CHECKED = 5_000
"""Most messages whose wording a report checks; the first ones where there are more."""
MOST_DRAWN = 50_000
"""Most traces for which a report computes the random sample."""
SHOWN_BREAKS = 3


def review_evidence(
    connection: Connection, held: ReadySuite, candidate_id: str, sources: LabelSources
) -> ReviewSection | None:
    """Return the labels and flags of one candidate; None for a probe, which certifies nothing.

    Raises DeskError when the candidate has no trace, StoreError for a damaged payload.
    """
    if held.suite.probe:
        return None
    side = side_of(connection, held.suite.suite_id, candidate_id, sources.names)
    high = high_flags(sources.noted(connection, side.key), side)
    looked = read_labeled_messages(connection, held, side, high, sources)
    found = ReviewSection(
        high_flags=HighFlags(
            traces=len(high),
            open=len(looked.flags),
            first_open=tuple(
                OpenFlag(trace_id=flag.trace_id, reasons=flag.reasons)
                for flag in looked.flags[:SHOWN_FLAGS]
            ),
        ),
        messages_required=held.rubric.final_messages if held.rubric is not None else 0,
        by_authors=looked.by_authors or UNSET,
    )
    if held.rubric is None:
        return found
    found = _with_wording(found, connection, side, held.rubric, sources.finals)
    found = _with_limits(found, connection, held, candidate_id, looked, sources)
    if any(x.kind == "attempt" for x in sources.book.of(connection, held.suite.digest)):
        from reviewer.desk.reports.attempt_labels import with_elsewhere

        found = with_elsewhere(found, connection, held, candidate_id, side, sources)
    if not looked.about:
        return found
    found = _with_labels(found, looked, candidate_id, held.rubric, held.suite.digest)
    return _with_drawn(found, connection, side, held, looked) if found.random_part.items else found


def _with_wording(
    found: ReviewSection,
    connection: Connection,
    side: Side,
    rubric: Rubric,
    finals: FinalMessages,
) -> ReviewSection:
    if not rubric.wording:
        return found
    from reviewer.review.wording import check_wording

    traces = first_reviewable_traces(connection, side.key, MOST_CHECKED)
    texts = finals.of(connection, traces)
    results: dict[str, dict[bool | None, list[str]]] = {
        rule.wording_id: {True: [], False: [], None: []} for rule in rubric.wording
    }
    for trace in traces:
        # Without a payload the message is unknown; without a message it is empty.
        text = (texts[trace.id] or "") if trace.id in texts else None
        for result in check_wording(rubric, side.names[trace.episode], text):
            results[result.wording_id][result.holds].append(side.trace_id(trace))
    wording = Wording(
        checked=len(traces),
        of=count_reviewable_traces(connection, side.key),
        rules=tuple(
            WordingFigures(
                wording_id=name,
                holds=len(by[True]),
                breaks=len(by[False]),
                unknown=len(by[None]),
                first=tuple(by[False][:SHOWN_BREAKS]),
            )
            for name, by in results.items()
        ),
    )
    return structs.replace(found, wording=wording)


def _with_labels(
    found: ReviewSection,
    looked: LabeledMessages,
    candidate_id: str,
    rubric: Rubric,
    seed: str,
) -> ReviewSection:
    from reviewer.review.agreement import agreement, self_consistency, to_adjudicate
    from reviewer.review.wins import random_rates, wins

    labels = looked.about
    said = counting(labels)
    mine = {(item.episode_id, item.messages[0].digest) for item in looked.own}
    made = counted(labels, rubric)
    return structs.replace(
        found,
        labels=len(said),
        reviewers=tuple(sorted({x.reviewer for x in said})),
        pairs_labelled=made.pairs,
        pairs_begun=made.begun,
        messages_labelled=made.messages,
        sample=len(mine & shown_texts(said)),
        random_part=RandomPart(
            items=len({x.item for x in said if x.pi is not None}),
            of=len({x.item for x in said}),
            rates=tuple(
                structs.replace(one, n_eff=None if one.n_eff is None else float(one.n_eff))
                for one in random_rates(labels, rubric, mine)
            ),
        ),
        wins=tuple(map(_in_floats, wins(labels, mine, _others(said, candidate_id)))),
        agreement=tuple(
            agreement_figures(one)
            for one in agreement(labels, rubric, _first(said, mine), seed=seed)
        ),
        self_consistency=tuple(
            SelfFigures(reviewer=own.reviewer, same=own.same, left=own.left)
            for own in self_consistency(labels)
        ),
        disagreements_open=len(to_adjudicate(labels)),
    )


def _with_drawn(
    found: ReviewSection,
    connection: Connection,
    side: Side,
    held: ReadySuite,
    looked: LabeledMessages,
) -> ReviewSection:
    """Count the traces in the random sample, and those among them whose message no label shows."""
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
    part = structs.replace(
        found.random_part, drawn_traces=len(drawn), waiting_traces=len(drawn - seen)
    )
    return structs.replace(found, random_part=part)


def _others(labels: Iterable[Label], candidate_id: str) -> dict[str, set[str]]:
    """Return the other candidates behind each item."""
    found: dict[str, set[str]] = {}
    for label in labels:
        found.setdefault(label.item, set()).update(candidates_of(label) - {candidate_id})
    return found


def _first(labels: Iterable[Label], mine: set[tuple[str, str]]) -> dict[str, str]:
    """Return the other side of each pair that has exactly one message of this candidate."""
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


def agreement_figures(found: Agreement) -> AgreementFigures:
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
    """Return the wins with hits as floats: report.json writes them as 2.0, and its bytes are
    signed. (The same applies to `n_eff` in the rates.)"""
    pairs, by_episode = (
        structs.replace(test, wins=structs.replace(test.wins, hits=float(test.wins.hits)))
        for test in (one.pairs, one.by_episode)
    )
    return structs.replace(one, pairs=pairs, by_episode=by_episode)


NO_PAIRS = "the suite's judge is asked about single messages, not about pairs"


def judge_evidence(
    connection: Connection,
    held: ReadySuite,
    candidate_id: str,
    sources: LabelSources,
) -> JudgeEvidence | None:
    """Return the figures of the suite's judge for one candidate; None when it was never asked.

    Raises StoreError for a damaged payload.
    """
    from reviewer.desk.judge.book import win_rate_of

    judged = judge_record(connection, held, candidate_id, sources)
    if judged is None:
        return None
    wins = None
    if judged.calibration is not None:
        side = side_of(connection, held.suite.suite_id, candidate_id)
        wins = win_rate_of(connection, sources.finals, side, judged, judged.calibration)
    return _evidence(judged, wins)


def _evidence(judged: JudgeRecord, wins: WinRate | None) -> JudgeEvidence:
    found = judged.calibration
    return JudgeEvidence(
        section=_unpaired(judged) if found is None else _calibrated(judged, found, wins),
        cost_usd=judged.cost_usd,
        known_usd=judged.known_usd,
        unpriced=judged.unpriced,
    )


def _unpaired(judged: JudgeRecord) -> AskedJudgeSection:
    """Return the section on a judge that is asked only about single messages."""
    return AskedJudgeSection(
        role=ADVISORY,
        why=NO_PAIRS,
        needs=None,
        more_pairs=None,
        more_pairs_strict=None,
        judge_id=judged.judge.judge_id,
        version=judged.judge.version,
        model=judged.model,
        prompt_digest=None,
        rubric_digest=None,
        candidate_family="",
        messages=tuple(map(_messages, judged.messages)),
    )


def _calibrated(judged: JudgeRecord, found: Calibration, wins: WinRate | None) -> AskedJudgeSection:
    return AskedJudgeSection(
        role=found.role,
        why=found.earned.why,
        needs=found.earned.needs or None,
        expired=found.expired or None,
        more_pairs=found.earned.more,
        more_pairs_strict=found.earned.more_strict,
        judge_id=judged.judge.judge_id,
        version=judged.judge.version,
        model=judged.model,
        prompt_digest=found.key.prompt_digest,
        rubric_digest=found.key.rubric_digest,
        candidate_family=found.key.family,
        estimates=JudgeEstimates(
            forward_accuracy=_share(found.forward, found.forward_lower),
            swapped_accuracy=_share(found.swapped, found.swapped_lower),
            both_orders_right=_share(found.both, found.both_lower),
            flip_rate=_share(found.flips, found.flip_upper),
        ),
        accepted=JudgeAccepted(
            point=found.within, strict=found.within_strict, refuted=found.refuted
        ),
        slots=JudgeSlots(first=found.primacy, last=found.recency, p=found.position_p),
        repeats=JudgeRepeats(questions=found.repeated, same_answer=found.stability),
        errors=found.errors,
        calls=found.calls,
        confusion=_cells(found.confusion),
        confusion_by_episode={name: _cells(counts) for name, counts in found.by_episode.items()},
        confusion_by_criterion={
            name: _cells(counts) for name, counts in found.by_criterion.items()
        },
        not_counted=to_builtins(found.left),
        label_set_sha256=_label_set(judged, found),
        win_rate=None if wins is None else to_builtins(wins),
        messages=tuple(map(_messages, judged.messages)),
    )


def _cells(counts: Confusion) -> tuple[Cell, ...]:
    return tuple(
        Cell(people=people, judge=judge, pairs=pairs) for (people, judge), pairs in counts.items()
    )


def _share(share: Share, bound: float | None) -> JudgeShare:
    return JudgeShare(int(share.hits), share.n, share.value, bound)


def _label_set(judged: JudgeRecord, found: Calibration) -> str | None:
    """Return one digest over the labels that the calibration is based on."""
    items = {row.item for row in found.rows}
    uids = sorted(label.uid for label in counting(judged.counted) if label.item in items)
    return sha256_hex(canonical_bytes(uids)) if uids else None


def _messages(one: MessageFigures) -> JudgedMessages:
    return JudgedMessages(
        preset=one.preset,
        messages=one.messages,
        errors=one.errors,
        means=one.means,
        complete=None if one.complete is None else hits(int(one.complete.hits), one.complete.n),
        grounded=None if one.grounded is None else hits(int(one.grounded.hits), one.grounded.n),
        claims=tuple(
            Claim(trace_id=c.trace, episode_id=c.episode_id, claim=c.claim, seq=c.seq)
            for c in one.claims
        ),
    )
