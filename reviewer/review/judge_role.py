"""The role a judge has earned, in words: why it may not score, and the labels that it would
need."""

import math
from typing import Literal, NamedTuple

from reviewer.stats.judge import Calibration as Measured
from reviewer.stats.planning import clean_episodes_needed
from reviewer.suite.model import JudgePolicy
from reviewer.suite.value import Value

CONFIDENCE = 0.95
"""The confidence of every one-sided bound here."""

JudgeRole = Literal["scoring", "advisory only"]

PLAN = 300
"""Labels to plan for, each of another episode: with them a good judge, right on 97 % and flipping
on 2 %, is accepted on its bounds in 86 of 100 cases."""

_MOST = 1_000_000


class Scores(NamedTuple):
    """Counts over `n` pairs: right in forward order, right in both, and flipped; `right` and
    `steady` hold (pairs, right in both orders) and (pairs, not flipped) of each episode; `decided`
    are (pairs, right in forward order) of the pairs that people gave to a side."""

    n: int
    forward: int
    both: int
    flips: int
    right: tuple[tuple[int, int], ...]
    steady: tuple[tuple[int, int], ...]
    decided: tuple[int, int]

    @property
    def tells_apart(self) -> bool:
        """Return whether the judge is right on half of the pairs that people gave to a side. One
        that calls every pair a tie is not, however rare a winner is."""
        pairs, right = self.decided
        return pairs > 0 and 2 * right >= pairs


class EarnedRole(Value, frozen=True):
    """A judge's role with its reasons. At least `more` labels are needed, all of them judged right
    in both orders, for the policy in force and (`more_strict`) on its bounds; None when no number
    would do. `needs` is the same as a sentence, "" for a judge that may score."""

    role: JudgeRole
    why: str
    more: int | None
    more_strict: int | None
    needs: str


def earned(
    scores: Scores, measured: Measured, policy: JudgePolicy, strict: bool, expired: str
) -> EarnedRole:
    """Return the role: `scoring` only when the estimates are within the policy, and in strict mode
    their one-sided bounds too; never on an expired calibration, never without a labeled pair, and
    never to a judge that does not tell a winner from a tie."""
    point = _more_point(scores, policy)
    bounds = _more_strict(scores, policy)
    bounds = None if bounds is None or point is None else max(bounds, point)
    more = bounds if strict else point
    accepted = measured["judge_can_auto_accept"] and (
        not strict or measured["judge_can_auto_accept_strict"] is True
    )
    if scores.n and accepted and not expired and scores.tells_apart:
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
    if not scores.tells_apart:
        pairs, right = scores.decided
        noun = "pair" if pairs == 1 else "pairs"
        against.append(f"right on {right} of {pairs} {noun} that people gave to a side")
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
    """Return two digits, or as many as are needed to show on which side of the limit the value
    is."""
    digits = 2
    while digits < 6 and f"{value:.{digits}f}" == f"{limit:.{digits}f}":
        digits += 1
    return f"{value:.{digits}f}"


def _more_point(scores: Scores, policy: JudgePolicy) -> int | None:
    """Return the fewest further pairs, all right and none flipped, that bring both estimates within
    the policy."""
    wrong, flips = scores.n - scores.forward, scores.flips

    def holds(total: int) -> bool:
        right = (total - wrong) / total
        return right >= policy.min_accuracy and flips / total <= policy.max_flip_rate

    least = max(scores.n, 1)
    slack = 1.0 - policy.min_accuracy
    if (wrong and slack <= 0) or (flips and policy.max_flip_rate <= 0):
        return None
    wanted = [least, scores.n + _more_decided(scores)]
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


def _more_decided(scores: Scores) -> int:
    """Return the fewest further pairs with a winner, all right, with which the judge is right on
    half of such pairs."""
    pairs, right = scores.decided
    return max(0 if pairs else 1, pairs - 2 * right)


def _more_strict(scores: Scores, policy: JudgePolicy) -> int | None:
    """Return the fewest further pairs, all right, none flipped and each of another episode, that
    bring both bounds within the policy."""
    if policy.min_accuracy >= 1 or policy.max_flip_rate <= 0:
        return None  # no number of pairs shows that errors never occur
    wanted = [_more_decided(scores)]
    if policy.min_accuracy > 0:
        wanted.append(clean_episodes_needed(scores.right, policy.min_accuracy, CONFIDENCE))
    if policy.max_flip_rate < 1:
        steady = 1.0 - policy.max_flip_rate
        wanted.append(clean_episodes_needed(scores.steady, steady, CONFIDENCE))
    return max(wanted)


def _needs(scores: Scores, more: int | None, bounds: int | None, strict: bool) -> str:
    if more is None:
        return "under this policy no number of labels lets this judge score"
    noun = "pair" if more == 1 else "pairs"
    text = f"{more} more labeled {noun} at least, each judged right in both orders"
    if strict:
        text += " and of an episode of its own"
    elif bounds is not None:
        text += f" ({bounds} more, each of an episode of its own, to show it on bounds)"
    return f"{text}; plan {PLAN}"
