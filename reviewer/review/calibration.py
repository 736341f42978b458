"""The calibration of a judge: its answers compared with those that people settled. A row is one
pair that people have settled and the judge has answered in both orders. Without rows nothing is
known, and an unusable answer counts as wrong and as a flip. A calibration is valid for the judge's
model, prompt, rubric and the family of candidates on which it was tested; for any other it has
expired."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from reviewer.review.agreement import share
from reviewer.review.items import TIE
from reviewer.review.judge_role import CONFIDENCE, EarnedRole, JudgeRole, Scores, earned
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
from reviewer.stats.bounds import bounds_of, episode_scores
from reviewer.stats.checks import Interval
from reviewer.stats.figures import Share
from reviewer.stats.judge import calibrate_judge
from reviewer.stats.paired import mcnemar_exact
from reviewer.suite.model import JudgePolicy
from reviewer.suite.value import Value

Confusion = dict[tuple[str, str], int]
"""(people, judge in forward order) → pairs."""


class Calibration(Value, frozen=True):
    """A judge's calibration. Shares are None without rows; bounds are one-sided, 95 %, of the mean
    over episodes: lower bounds, for flips the upper bound.

    `position_p` is the exact two-sided binomial test of first against last slot among `primacy` and
    `recency`. `stability` is the mean share of the commonest answer over `repeated` questions asked
    more than once. `errors` of `calls` gave no usable answer. `confusion` counts (people, judge in
    forward order), each `left`, `right`, `tie`, `both_bad` or `error`; `by_episode` is the same for
    each episode, and `by_criterion` for the pairs in which a criterion decided, with its side in
    place of people's winner. `within` and `within_strict` say whether the estimates, and also their
    bounds, are within the policy, whichever mode is in force. `expired` says what changed since the
    last calibration, "" when nothing did. `refuted` says that a favorable bound misses the policy.
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
    refuted: bool | None
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
    """Compare the answers of the judge of `key` with those that people settled. `families` are the
    families of the candidates behind each item. `policy` applies to the estimates, and with
    `strict` to their bounds too.
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
    """Return how the newest earlier calibration differs from the one requested."""
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
    letters = [{**_letters(row), "episode": row.episode_id} for row in rows]
    measured = calibrate_judge(letters, policy.min_accuracy, policy.max_flip_rate, CONFIDENCE)
    n = len(rows)
    forward = sum(row.forward == row.wanted for row in rows)
    swapped = sum(row.swapped == row.wanted for row in rows)
    both = sum(row.outcome == "agrees" for row in rows)
    flips = sum(row.outcome in ("flips", "error") for row in rows)
    slots = measured["primacy"], measured["recency"]
    shares, repeated = _repeats(mine)
    right = _within(rows, lambda row: row.outcome == "agrees")
    steady = _within(rows, lambda row: row.outcome not in ("flips", "error"))
    given = [row for row in rows if row.wanted != TIE]
    decided = len(given), sum(row.forward == row.wanted for row in given)
    scores = Scores(n, forward, both, flips, right, steady, decided)
    within = measured["judge_can_auto_accept"]
    first = _bounds(_within(rows, lambda row: row.forward == row.wanted))
    last = _bounds(_within(rows, lambda row: row.swapped == row.wanted))
    return Calibration(
        key=key,
        rows=rows,
        left=left,
        forward=share(forward, n),
        swapped=share(swapped, n),
        both=share(both, n),
        flips=share(flips, n),
        forward_lower=first.low if first is not None else None,
        swapped_lower=last.low if last is not None else None,
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
        refuted=_refuted(scores, policy) if n else None,
        earned=earned(scores, measured, policy, strict, expired),
        expired=expired,
    )


def _within(
    rows: Iterable[PairRow], holds: Callable[[PairRow], bool]
) -> tuple[tuple[int, int], ...]:
    """Return (pairs, pairs for which `holds`) of each episode."""
    made, held = Counter[str](), Counter[str]()
    for row in rows:
        made[row.episode_id] += 1
        held[row.episode_id] += holds(row)
    return tuple((pairs, held[name]) for name, pairs in made.items())


def _bounds(counts: Sequence[tuple[int, int]]) -> Interval | None:
    return bounds_of(episode_scores(counts), CONFIDENCE) if counts else None


def _refuted(scores: Scores, policy: JudgePolicy) -> bool:
    right, steady = _bounds(scores.right), _bounds(scores.steady)
    if right is None or steady is None:
        return False
    return right.high < policy.min_accuracy or 1.0 - steady.high > policy.max_flip_rate


def _letters(row: PairRow) -> dict[str, str | None]:
    """Return the row in the letters of `stats.judge`: A is on the left in forward order."""
    named = {row.forward_left: "A", row.forward_right: "B", TIE: TIE}
    return {
        "human": named[row.wanted],
        "judge_forward": None if row.forward is None else named[row.forward],
        "judge_swapped_normalized": None if row.swapped is None else named[row.swapped],
    }


def _repeats(judgments: Iterable[Judgment]) -> tuple[float | None, int]:
    """Return the mean share of the commonest answer among repeats, and the number of questions."""
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
