"""The calibration of a judge: its answers beside those that people settled on. A row is one pair
that people have settled and the judge has answered in both orders. Without rows nothing is known,
and an unusable answer counts as wrong and as a flip. A calibration is valid for the judge's model,
prompt, rubric and the family of candidates it was tried on; with any other it has expired.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from reviewer.review.agreement import share
from reviewer.review.items import TIE
from reviewer.review.judged import (
    ExcludedPairs,
    JudgeKey,
    PairRow,
    both_orders,
    made_by,
    pair_rows,
    settled_under,
)
from reviewer.review.judgments import Judgment, counting
from reviewer.review.labels import Label
from reviewer.stats.figures import Share
from reviewer.stats.judge import Calibration as Measured
from reviewer.stats.judge import calibrate_judge
from reviewer.stats.paired import mcnemar_exact
from reviewer.stats.planning import labels_needed_for_accuracy, runs_needed_for_max_rate
from reviewer.stats.rates import exact_bounds
from reviewer.suite.model import JudgePolicy, Value

# The role a judge has earned, in words: why it may not score, and what it would take.


JudgeRole = Literal["scoring", "advisory only"]

PLAN = 300
"""Labels to plan for: a good judge, right on 97 % and flipping on 2 %, is accepted with them on its
bounds in 85 of 100 cases."""

_MOST = 1_000_000


class Scores(NamedTuple):
    """Of `n` pairs: right in forward order, right in both, and flipped."""

    n: int
    forward: int
    both: int
    flips: int


class EarnedRole(Value, frozen=True):
    """A judge's role with its reasons. `more` labels at least are needed, all of them judged right
    in both orders, for the policy in force and (`more_strict`) on its bounds; None when no number
    would do. `needs` says it in a sentence, "" for a judge that may score."""

    role: JudgeRole
    why: str
    more: int | None
    more_strict: int | None
    needs: str


def earned(
    scores: Scores, measured: Measured, policy: JudgePolicy, strict: bool, expired: str
) -> EarnedRole:
    """Return the role: `scoring` only when the estimates are within the policy, and in strict mode
    their one-sided bounds too; never on an expired calibration, never without a labeled pair."""
    point = _more_point(scores, policy)
    bounds = _more_strict(scores, policy)
    bounds = None if bounds is None or point is None else max(bounds, point)
    more = bounds if strict else point
    accepted = measured["judge_can_auto_accept"] and (
        not strict or measured["judge_can_auto_accept_strict"] is True
    )
    if scores.n and accepted and not expired:
        return EarnedRole(
            role="scoring", why="within the policy", more=0, more_strict=bounds, needs=""
        )
    return EarnedRole(
        role="advisory only",
        why=_why(scores, measured, policy, strict, expired),
        more=more,
        more_strict=bounds,
        needs=_needs(scores, more, bounds, strict),
    )


def _why(
    scores: Scores, measured: Measured, policy: JudgePolicy, strict: bool, expired: str
) -> str:
    if expired:
        return f"calibration expired: {expired}"
    if not scores.n:
        return "no pair that people labeled and the judge answered in both orders"
    accuracy, flips = measured["forward_accuracy"], measured["order_flip_rate"]
    against = [
        _below("forward accuracy", accuracy, policy.min_accuracy),
        _above("flip rate", flips, policy.max_flip_rate),
    ]
    if strict:
        lower, upper = measured["both_orders_lower"], measured["flip_upper"]
        against += [
            _below("both orders right, bound", lower, policy.min_accuracy),
            _above("flip rate, bound", upper, policy.max_flip_rate),
        ]
    said = ", ".join(text for text in against if text)
    return f"{said} ({'strict' if strict else 'point'} mode)"


def _below(name: str, value: float | None, limit: float) -> str:
    if value is None or value >= limit:
        return ""
    return f"{name} {_told(value, limit)} < {limit:.2f}"


def _above(name: str, value: float | None, limit: float) -> str:
    if value is None or value <= limit:
        return ""
    return f"{name} {_told(value, limit)} > {limit:.2f}"


def _told(value: float, limit: float) -> str:
    """Return two digits, or as many as show on which side of the limit it is."""
    digits = 2
    while digits < 6 and f"{value:.{digits}f}" == f"{limit:.{digits}f}":
        digits += 1
    return f"{value:.{digits}f}"


def _more_point(scores: Scores, policy: JudgePolicy) -> int | None:
    """Return the fewest further pairs, all right and none flipped, that bring both estimates
    within."""
    wrong, flips = scores.n - scores.forward, scores.flips

    def holds(total: int) -> bool:
        right = (total - wrong) / total
        return right >= policy.min_accuracy and flips / total <= policy.max_flip_rate

    least = max(scores.n, 1)
    slack = 1.0 - policy.min_accuracy
    if (wrong and slack <= 0) or (flips and policy.max_flip_rate <= 0):
        return None
    wanted = [least]
    if wrong:
        wanted.append(math.floor(wrong / slack) - 1)
    if flips:
        wanted.append(math.floor(flips / policy.max_flip_rate) - 1)
    total = max(wanted)
    if total > _MOST:
        return None
    while not holds(total):
        total += 1
    return total - scores.n


def _more_strict(scores: Scores, policy: JudgePolicy) -> int | None:
    """Return the fewest further pairs, all right and none flipped, that bring both bounds
    within."""
    if policy.min_accuracy >= 1 or policy.max_flip_rate <= 0:
        return None  # no number of pairs shows that nothing is ever wrong
    wanted = [max(scores.n, 1)]
    if policy.min_accuracy > 0:
        wrong = scores.n - scores.both
        wanted.append(labels_needed_for_accuracy(wrong, policy.min_accuracy))
    if policy.max_flip_rate < 1:
        wanted.append(runs_needed_for_max_rate(scores.flips, policy.max_flip_rate))
    return max(wanted) - scores.n


def _needs(scores: Scores, more: int | None, bounds: int | None, strict: bool) -> str:
    if more is None:
        return "under this policy no number of labels lets this judge score"
    noun = "pair" if more == 1 else "pairs"
    text = f"{more} more labeled {noun} at least, each judged right in both orders"
    if not strict and bounds is not None:
        text += f" ({bounds} more to show it on bounds)"
    return f"{text}; plan {PLAN}"


CONFIDENCE = 0.95
"""Of every one-sided bound here."""

Confusion = dict[tuple[str, str], int]
"""(people, judge in forward order) → pairs."""


class Calibration(Value, frozen=True):
    """A judge's calibration. Shares are None without rows; bounds are one-sided, 95 %: lower ones,
    for flips the upper.

    `position_p` is the exact two-sided binomial test of first against last slot among `primacy` and
    `recency`. `stability` is the mean share of the commonest answer over `repeated` questions asked
    more than once. `errors` of `calls` brought nothing usable. `confusion` counts (people, judge in
    forward order), each `left`, `right`, `tie`, `both_bad` or `error`; `by_episode` is the same for
    each episode, and `by_criterion` for the pairs in which a criterion spoke, with the side it
    spoke for in place of people's winner. `within` and `within_strict` say whether the estimates,
    and also their bounds, are within the policy, whichever is in force. `expired` says what changed
    since the last calibration, "" when nothing did.
    """

    key: JudgeKey
    rows: tuple[PairRow, ...]
    left: ExcludedPairs
    forward: Share
    swapped: Share
    both: Share
    flips: Share
    forward_lower: float | None
    swapped_lower: float | None
    both_lower: float | None
    flip_upper: float | None
    primacy: int
    recency: int
    position_p: float | None
    stability: float | None
    repeated: int
    errors: int
    calls: int
    confusion: Confusion
    by_episode: dict[str, Confusion]
    by_criterion: dict[str, Confusion]
    within: bool | None
    within_strict: bool | None
    earned: EarnedRole
    expired: str

    @property
    def role(self) -> JudgeRole:
        return self.earned.role


def calibrate(
    labels: Iterable[Label],
    judgments: Iterable[Judgment],
    key: JudgeKey,
    families: Mapping[str, frozenset[str]],
    policy: JudgePolicy,
    strict: bool,
) -> Calibration:
    """Compare the answers of the judge of `key` with those that people settled on. `families` are
    those of the candidates behind each item. `policy` applies to the estimates, and with `strict`
    to their bounds too.
    """
    everything = [label for label in labels if label.kind == "pair"]
    people = settled_under(everything, key.rubric_digest)
    pairs = [one for one in counting(judgments) if one.kind == "pair"]
    mine = [one for one in pairs if made_by(one, key)]
    answers = both_orders(mine)
    rows, left = pair_rows(people, answers, key.family, families)
    expired = "" if rows else _expired(everything, pairs, key, families)
    return _measured(key, rows, left, mine, expired, policy, strict)


def _expired(
    labels: Sequence[Label],
    judgments: Sequence[Judgment],
    key: JudgeKey,
    families: Mapping[str, frozenset[str]],
) -> str:
    """Return how the newest earlier calibration differs from the requested one."""
    people = settled_under(labels, None)
    before: dict[tuple[str, ...], list[Judgment]] = {}
    for one in judgments:
        under = (one.judge_id, one.model, one.prompt_digest, one.rubric_digest or "")
        before.setdefault(under, []).append(one)
    found: list[Judgment] = []
    for same in before.values():
        known = both_orders(same)
        found += [known[item].forward for item in known if item in people]
    if not found:
        return ""
    last = max(found, key=lambda one: (one.at, one.uid))
    changed = [
        ("judge", last.judge_id, key.judge_id),
        ("model", last.model, key.model),
        ("prompt", last.prompt_digest[:6], key.prompt_digest[:6]),
        ("rubric", _rubric(last, labels), (key.rubric_digest or "none")[:6]),
    ]
    known_as = families.get(last.item, frozenset())
    if key.family not in known_as:
        changed.append(("candidate family", ", ".join(sorted(known_as)) or "unknown", key.family))
    parts = [f"{what} {was} is now {now}" for what, was, now in changed if was != now]
    return "; ".join(parts)


def _rubric(judgment: Judgment, labels: Sequence[Label]) -> str:
    """Return the rubric of the labels of this item, as far as it is known."""
    under = sorted({one.rubric_digest for one in labels if one.item == judgment.item})
    return (under[0] if under else judgment.rubric_digest or "none")[:6]


def _measured(
    key: JudgeKey,
    rows: tuple[PairRow, ...],
    left: ExcludedPairs,
    mine: Sequence[Judgment],
    expired: str,
    policy: JudgePolicy,
    strict: bool,
) -> Calibration:
    measured = calibrate_judge(
        [_letters(row) for row in rows], policy.min_accuracy, policy.max_flip_rate, CONFIDENCE
    )
    n = len(rows)
    forward = sum(row.forward == row.wanted for row in rows)
    swapped = sum(row.swapped == row.wanted for row in rows)
    both = sum(row.outcome == "agrees" for row in rows)
    flips = sum(row.outcome in ("flips", "error") for row in rows)
    slots = measured["primacy"], measured["recency"]
    shares, repeated = _repeats(mine)
    scores = Scores(n=n, forward=forward, both=both, flips=flips)
    within = measured["judge_can_auto_accept"]
    return Calibration(
        key=key,
        rows=rows,
        left=left,
        forward=share(forward, n),
        swapped=share(swapped, n),
        both=share(both, n),
        flips=share(flips, n),
        forward_lower=exact_bounds(forward, n, CONFIDENCE).low if n else None,
        swapped_lower=exact_bounds(swapped, n, CONFIDENCE).low if n else None,
        both_lower=measured["both_orders_lower"],
        flip_upper=measured["flip_upper"],
        primacy=slots[0],
        recency=slots[1],
        position_p=mcnemar_exact(0, *slots, 0) if sum(slots) else None,
        stability=shares,
        repeated=repeated,
        errors=sum(one.error is not None for one in mine),
        calls=len(mine),
        confusion=_confusion((row, row.people) for row in rows),
        by_episode=_grouped((row.episode_id, row, row.people) for row in rows),
        by_criterion=_grouped(
            (criterion_id, row, digest)
            for row in rows
            for criterion_id, digest in row.decided.items()
        ),
        within=within if n else None,
        within_strict=within and measured["judge_can_auto_accept_strict"] is True if n else None,
        earned=earned(scores, measured, policy, strict, expired),
        expired=expired,
    )


def _letters(row: PairRow) -> dict[str, str | None]:
    """Return the row in the letters of `stats.judge`: A is left in forward order."""
    named = {row.forward_left: "A", row.forward_right: "B", TIE: TIE}
    return {
        "human": named[row.wanted],
        "judge_forward": None if row.forward is None else named[row.forward],
        "judge_swapped_normalized": None if row.swapped is None else named[row.swapped],
    }


def _repeats(judgments: Iterable[Judgment]) -> tuple[float | None, int]:
    """Return the mean share of the commonest answer among repeats, and of how many questions."""
    given: dict[tuple[str, str], list[str]] = {}
    for one in judgments:
        given.setdefault((one.item, one.order), []).append(one.winner or "error")
    repeated = [answers for answers in given.values() if len(answers) > 1]
    if not repeated:
        return None, 0
    shares = [Counter(answers).most_common(1)[0][1] / len(answers) for answers in repeated]
    return sum(shares) / len(shares), len(repeated)


def _confusion(rows: Iterable[tuple[PairRow, str]]) -> Confusion:
    """Count the rows, each with the answer of people, by both answers."""
    counts: Counter[tuple[str, str]] = Counter()
    for row, people in rows:
        names = {row.forward_left: "left", row.forward_right: "right"}
        judge = "error" if row.forward is None else names.get(row.forward, row.forward)
        counts[names.get(people, people), judge] += 1
    return dict(sorted(counts.items()))


def _grouped(rows: Iterable[tuple[str, PairRow, str]]) -> dict[str, Confusion]:
    groups: dict[str, list[tuple[PairRow, str]]] = {}
    for name, row, people in rows:
        groups.setdefault(name, []).append((row, people))
    return {name: _confusion(groups[name]) for name in sorted(groups)}
