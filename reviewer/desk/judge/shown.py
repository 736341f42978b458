"""Judge views out of a calibration: letters for candidates, sentences for figures."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reviewer.desk.judge.book import Judged
from reviewer.desk.judge.views import JudgeDetail, JudgePairRow, JudgeView
from reviewer.desk.labels.views import EstimateView
from reviewer.review.calibration import Calibration
from reviewer.review.judged import Corrected, MessageFigures, PairRow, WinRate
from reviewer.review.judging.judgments import Judgment, counting
from reviewer.review.labels import counting as counting_labels
from reviewer.review.labels import done
from reviewer.review.model import BOTH_BAD, TIE, Label
from reviewer.stats.figures import Share
from reviewer.suite.model import JudgePolicy
from reviewer.suite.rubric import JudgePrompt

ORDERS = 2
"""In how many orders the queue shows a pair, whatever the rubric is content with."""


class Own(NamedTuple):
    """Pairs that one reviewer has labeled: `whole` ones he is not shown again, `begun` ones are
    still to come in their other order."""

    whole: frozenset[str]
    begun: frozenset[str]


def own_pairs(labels: Sequence[Label], reviewer: str) -> Own:
    """What this reviewer has said for himself: as a rater in both orders, or as the third person
    who settled it. An order that he skipped is done, but who skipped both has said nothing."""
    said = {(x.item, x.role) for x in counting_labels(labels) if x.reviewer == reviewer}
    orders: dict[str, set[int]] = {}
    for label in done(labels, reviewer, "rater"):
        if (label.item, "rater") in said:
            orders.setdefault(label.item, set()).add(label.showing)
    whole = {item for item, seen in orders.items() if len(seen) >= ORDERS}
    whole.update(item for item, role in said if role == "adjudicator")
    return Own(frozenset(whole), frozenset(orders) - whole)


NO_ANSWERS = "no judge answers: reviewer judge shows what they would cost"
NOT_HERE = "(the message of this trace is not in the store)"
_LETTERS = ("A", "B", "tie", "both bad")


class Named(NamedTuple):
    """Who is called A and B, which messages of an item are theirs, and what its messages say (item
    → digest → text)."""

    names: tuple[str, str]
    a: Mapping[str, frozenset[str]]
    b: Mapping[str, frozenset[str]]
    texts: Mapping[str, Mapping[str, str]]

    def a_of(self, row: PairRow) -> str:
        """The digest that is called A: that of A's message, else of what stood left at first."""
        sides = row.forward_left, row.forward_right
        mine = self.a.get(row.item, frozenset()) - self.b.get(row.item, frozenset())
        theirs = self.b.get(row.item, frozenset()) - self.a.get(row.item, frozenset())
        for side, other in (sides, sides[::-1]):
            if side in mine or other in theirs:
                return side
        return sides[0]

    def letter(self, row: PairRow, winner: str | None) -> str:
        if winner is None:
            return "error"
        if winner in (TIE, BOTH_BAD):
            return winner.replace("_", " ")
        return "A" if winner == self.a_of(row) else "B"


def judge_view(
    suite_id: str,
    judged: Judged,
    found: Calibration,
    named: Named,
    policy: JudgePolicy,
    wins: WinRate | None,
    own: Own,
) -> JudgeView:
    """The view of one reviewer: of the pairs those that he has labeled, of the figures all."""
    return JudgeView(
        suite_id=suite_id,
        judge_id=judged.judge.judge_id,
        model=judged.model,
        prompt_digest=found.key.prompt_digest,
        role=found.role,
        banner=found.earned.why,
        needs=found.earned.needs,
        labeled_pairs=len(found.rows),
        estimates=(
            _estimate("forward accuracy", found.forward, lower=found.forward_lower),
            _estimate("swapped accuracy", found.swapped, lower=found.swapped_lower),
            _estimate("both orders right", found.both, lower=found.both_lower),
            _estimate("flip rate", found.flips, upper=found.flip_upper),
        ),
        policy=(
            ("forward accuracy", policy.min_accuracy),
            ("both orders right", policy.min_accuracy),
            ("flip rate", policy.max_flip_rate),
        ),
        slots=_slots(found),
        repeats=_repeats(found),
        errors=f"not parsed {found.errors} of {found.calls}",
        a_name=named.names[0],
        b_name=named.names[1],
        rows=tuple(
            _row(n, row, named) for n, row in enumerate(found.rows, 1) if row.item in own.whole
        ),
        others=sum(row.item not in own.whole | own.begun for row in found.rows),
        begun=sum(row.item in own.begun for row in found.rows),
        hidden=found.left.unlabeled,
        confusion=_confusion(found.rows, named),
        cost_usd=judged.cost_usd,
        expired=found.expired,
        win_rate=() if wins is None else _wins(wins),
        messages=message_lines(judged.messages),
    )


def unasked(
    suite_id: str,
    judge: JudgePrompt,
    prompt: str,
    names: tuple[str, str],
    judged: Judged | None,
) -> JudgeView:
    """The view of a judge that has answered about no pair."""
    nothing = Share(hits=0, n=0)
    return JudgeView(
        suite_id=suite_id,
        judge_id=judge.judge_id,
        model=judged.model if judged else judge.model,
        prompt_digest=prompt,
        role="advisory only",
        banner=NO_ANSWERS if prompt else "it is asked about single messages, not about pairs",
        needs="",
        labeled_pairs=0,
        estimates=tuple(
            _estimate(name, nothing)
            for name in ("forward accuracy", "swapped accuracy", "both orders right", "flip rate")
        ),
        policy=(),
        slots="not measured (no answers)",
        repeats="not measured (no answers)",
        errors="not parsed 0 of 0",
        a_name=names[0],
        b_name=names[1],
        rows=(),
        others=0,
        begun=0,
        hidden=0,
        confusion=(),
        cost_usd=judged.cost_usd if judged else None,
        expired="",
        messages=message_lines(judged.messages) if judged else (),
    )


def pair_detail(judged: Judged, row: PairRow, texts: Mapping[str, str]) -> JudgeDetail:
    """The messages of a labeled pair, and the judge's words in either order."""
    said: dict[str, Judgment] = {}
    model = judged.model
    for one in counting(judged.judgments):
        if one.item == row.item and one.model == model and one.repeat == 1:
            said[one.order] = one
    return JudgeDetail(
        left=texts.get(row.forward_left, NOT_HERE),
        right=texts.get(row.forward_right, NOT_HERE),
        forward=_words(said["forward"]),
        swapped=_words(said["swapped"]),
    )


def message_lines(figures: Sequence[MessageFigures]) -> tuple[str, ...]:
    """What the judge says of single messages, one line a preset."""
    lines = []
    for one in figures:
        parts = [
            f"{name} {'not measured' if mean is None else f'{mean:.2f}'}"
            for name, mean in one.means.items()
        ]
        for word, share in (("complete", one.complete), ("grounded", one.grounded)):
            if share is not None:
                parts.append(f"{share.hits:g} of {share.n} {word}")
        errors = f", {one.errors} not parsed" if one.errors else ""
        lines.append(f"{one.preset}: {one.messages} messages, {', '.join(parts)}{errors}")
    return tuple(lines)


def _words(judgment: Judgment) -> str:
    if judgment.error is None:
        return judgment.reason
    return f"{judgment.error.replace('_', ' ')}: {judgment.reason}"


def _row(number: int, row: PairRow, named: Named) -> JudgePairRow:
    return JudgePairRow(
        item=row.item,
        pair=number,
        episode_id=row.episode_id,
        people=named.letter(row, row.people),
        forward=named.letter(row, row.forward),
        swapped=named.letter(row, row.swapped),
        outcome=row.outcome,
        slot=f"to {row.slot} slot" if row.slot else "",
    )


def _estimate(
    name: str, share: Share, lower: float | None = None, upper: float | None = None
) -> EstimateView:
    return EstimateView(
        name=name,
        value=share.value,
        low=lower,
        high=upper,
        hits=int(share.hits),
        n=share.n,
        why="" if share.n else "no labeled pair",
    )


def _slots(found: Calibration) -> str:
    flips = found.primacy + found.recency
    if not flips or found.position_p is None:
        return "no flip, no position bias seen"
    text = f"{found.primacy} first, {found.recency} last"
    # The most one-sided outcome of so few flips would still come up by chance.
    if 2 * 0.5**flips > 0.05:
        return f"{text}: no position bias can be shown from {flips}"
    return f"{text}, p {found.position_p:.2g}"


def _repeats(found: Calibration) -> str:
    if found.stability is None:
        return "not measured (no repeats)"
    return f"{found.stability:.2f} over {found.repeated} repeated questions"


def _confusion(rows: Sequence[PairRow], named: Named) -> tuple[tuple[str, ...], ...]:
    """People down, the judge in forward order across."""
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        cell = named.letter(row, row.people), named.letter(row, row.forward)
        counts[cell] = counts.get(cell, 0) + 1
    across = ("A", "B", "tie", "error")
    return (
        ("people \\ judge", *across),
        *(
            (people, *(str(counts.get((people, judge), 0)) for judge in across))
            for people in _LETTERS
        ),
    )


def _wins(wins: WinRate) -> tuple[EstimateView, ...]:
    judged = EstimateView(
        name="judged wins",
        value=wins.judged,
        low=None,
        high=None,
        hits=None,
        n=wins.n,
        why="" if wins.n else "no judged pair without a label",
    )
    return (
        judged,
        _corrected("corrected (Rogan-Gladen)", wins.rogan_gladen, wins.n),
        _corrected("corrected (PPI)", wins.ppi, wins.n),
    )


def _corrected(name: str, found: Corrected, n: int) -> EstimateView:
    return EstimateView(
        name=name,
        value=found.value,
        low=found.low,
        high=found.high,
        hits=None,
        n=n,
        why=found.why,
    )
