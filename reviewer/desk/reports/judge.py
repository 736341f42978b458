"""What a report says of the judge, as the plain values it is made of."""

from typing import Any

from msgspec import to_builtins

from reviewer.db.connection import Connection
from reviewer.desk.judge.book import JudgeBook, Judged, win_rate_of
from reviewer.desk.labels.items import side_of
from reviewer.desk.suites import Held
from reviewer.desk.traces.records import FinalMessages
from reviewer.report.opinions import ADVISORY, Cells, JudgeEvidence, JudgeMessages, JudgeShare
from reviewer.review.calibration import Calibration, Confusion
from reviewer.review.judged import MessageFigures, WinRate
from reviewer.review.labels import counting
from reviewer.stats.figures import Share
from reviewer.suite.canonical import canonical_bytes, sha256_hex

NO_PAIRS = "the suite's judge is asked about single messages, not about pairs"


def judge_evidence(
    connection: Connection, held: Held, candidate_id: str, finals: FinalMessages, book: JudgeBook
) -> JudgeEvidence | None:
    """The suite's judge where one candidate is concerned; None when it was never asked.

    Raises StoreError for a damaged payload.
    """
    judged = book.judged(connection, held, candidate_id)
    if judged is None:
        return None
    wins = None
    if judged.calibration is not None:
        side = side_of(connection, held.suite.suite_id, candidate_id)
        wins = win_rate_of(connection, finals, side, judged, judged.calibration)
    return _evidence(judged, wins)


def _evidence(judged: Judged, wins: WinRate | None) -> JudgeEvidence:
    found, judge = judged.calibration, judged.judge
    messages = tuple(_messages(one) for one in judged.messages)
    if found is None:
        return JudgeEvidence(
            role=ADVISORY,
            why=NO_PAIRS,
            needs="",
            more_pairs=None,
            more_pairs_strict=None,
            judge_id=judge.judge_id,
            version=judge.version,
            model=judged.model,
            prompt_digest=None,
            rubric_digest=None,
            family="",
            messages=messages,
            cost_usd=judged.cost_usd,
            known_usd=judged.known_usd,
            unpriced=judged.unpriced,
        )
    return JudgeEvidence(
        role=found.role,
        why=found.earned.why,
        needs=found.earned.needs,
        more_pairs=found.earned.more,
        more_pairs_strict=found.earned.more_strict,
        judge_id=judge.judge_id,
        version=judge.version,
        model=judged.model,
        prompt_digest=found.key.prompt_digest,
        rubric_digest=found.key.rubric_digest,
        family=found.key.family,
        forward=_share(found.forward, found.forward_lower),
        swapped=_share(found.swapped, found.swapped_lower),
        both=_share(found.both, found.both_lower),
        flips=_share(found.flips, found.flip_upper),
        accepted_point=found.within,
        accepted_strict=found.within_strict,
        first=found.primacy,
        last=found.recency,
        position_p=found.position_p,
        same_answer=found.stability,
        repeated=found.repeated,
        errors=found.errors,
        calls=found.calls,
        confusion=_cells(found.confusion),
        by_episode={name: _cells(counts) for name, counts in found.by_episode.items()},
        by_criterion={name: _cells(counts) for name, counts in found.by_criterion.items()},
        not_counted=to_builtins(found.left),
        expired=found.expired,
        label_set_sha256=_label_set(judged, found),
        win_rate=None if wins is None else _win_rate(wins),
        messages=messages,
        cost_usd=judged.cost_usd,
        known_usd=judged.known_usd,
        unpriced=judged.unpriced,
    )


def _cells(counts: Confusion) -> Cells:
    return tuple((people, judge, pairs) for (people, judge), pairs in counts.items())


def _share(share: Share, bound: float | None) -> JudgeShare:
    return JudgeShare(int(share.hits), share.n, share.value, bound)


def _label_set(judged: Judged, found: Calibration) -> str | None:
    """One digest over the labels that the calibration rests on."""
    items = {row.item for row in found.rows}
    uids = sorted(label.uid for label in counting(judged.labels) if label.item in items)
    return sha256_hex(canonical_bytes(uids)) if uids else None


def _win_rate(wins: WinRate) -> dict[str, Any]:
    plain: dict[str, Any] = to_builtins(wins)
    return plain


def _messages(one: MessageFigures) -> JudgeMessages:
    return JudgeMessages(
        preset=one.preset,
        messages=one.messages,
        errors=one.errors,
        means=one.means,
        complete=None if one.complete is None else (int(one.complete.hits), one.complete.n),
        grounded=None if one.grounded is None else (int(one.grounded.hits), one.grounded.n),
        claims=tuple((c.trace, c.episode_id, c.claim, c.seq) for c in one.claims),
    )
