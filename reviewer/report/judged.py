"""What a report says of the judge: its calibration, what it has earned, and what it cost.

A judge decides nothing: no figure, limit or recommendation is made from anything here.
"""

from typing import Any

from msgspec import Struct, to_builtins

from reviewer.suite.model import Policy

ADVISORY = "advisory only"
NO_JUDGE = "no judge and no labels yet"
NO_ANSWER = "no judge has answered yet"
MOST_CLAIMS = 50
"""Claims written out for each preset; those that nothing grounds come first."""


Cells = tuple[tuple[str, str, int], ...]
"""(people, judge in forward order, pairs)."""


class JudgeShare(Struct, frozen=True):
    """hits of n labeled pairs, with the one-sided 95 % bound on the side that counts."""

    hits: int = 0
    n: int = 0
    value: float | None = None
    bound: float | None = None


class JudgeMessages(Struct, frozen=True, kw_only=True):
    """What the judge says of single messages under one preset. `complete` and `grounded` are
    (hits, n); `claims` are (trace, episode, claim, seq of the event that grounds it or None)."""

    preset: str
    messages: int
    errors: int
    means: dict[str, float | None]
    complete: tuple[int, int] | None = None
    grounded: tuple[int, int] | None = None
    claims: tuple[tuple[str, str, str, int | None], ...] = ()


class JudgeEvidence(Struct, frozen=True, kw_only=True):
    """One judge beside the labels of people, as it was measured elsewhere.

    Shares are over labeled pairs that the judge answered in both orders. `first` and `last` count
    flips toward a slot, `position_p` tests them against each other; `same_answer` is the mean share
    of the commonest answer over `repeated` questions. `errors` of `calls` brought nothing usable.
    `confusion` holds (people, judge in forward order, count), also by episode, and by criterion for
    the pairs in which it spoke; `not_counted` says why other pairs are none of these. `cost_usd` is
    of all calls about this candidate's messages, None when that of one is unknown: `unpriced`
    counts those, and `known_usd` is the sum of the others.
    """

    role: str
    why: str
    needs: str
    more_pairs: int | None
    more_pairs_strict: int | None
    judge_id: str
    version: str
    model: str | None
    prompt_digest: str | None
    rubric_digest: str | None
    family: str
    forward: JudgeShare = JudgeShare()
    swapped: JudgeShare = JudgeShare()
    both: JudgeShare = JudgeShare()
    flips: JudgeShare = JudgeShare()
    accepted_point: bool | None = None
    accepted_strict: bool | None = None
    first: int = 0
    last: int = 0
    position_p: float | None = None
    same_answer: float | None = None
    repeated: int = 0
    errors: int = 0
    calls: int = 0
    confusion: Cells = ()
    by_episode: dict[str, Cells] = {}
    by_criterion: dict[str, Cells] = {}
    not_counted: dict[str, int] = {}
    expired: str = ""
    label_set_sha256: str | None = None
    win_rate: dict[str, Any] | None = None
    messages: tuple[JudgeMessages, ...] = ()
    cost_usd: float | None = None
    known_usd: float | None = None
    unpriced: int = 0


def without_judge(labeled: bool) -> str:
    """Why nothing is known of a judge that was never asked."""
    return NO_ANSWER if labeled else NO_JUDGE


def judge_section(judge: JudgeEvidence | None, labeled: bool, policy: Policy) -> dict[str, Any]:
    """`labeled`: people have labeled something, so that a judge could be measured."""
    limits = {
        "min_accuracy": policy.judge.min_accuracy,
        "max_flip_rate": policy.judge.max_flip_rate,
    }
    if judge is None:
        return {
            "role": ADVISORY,
            "forward_accuracy": None,
            "flip_rate": None,
            **limits,
            "why": without_judge(labeled),
        }
    return {
        "role": judge.role,
        "forward_accuracy": judge.forward.value,
        "flip_rate": judge.flips.value,
        **limits,
        "why": judge.why,
        "needs": judge.needs or None,
        "expired": judge.expired or None,
        "pairs": judge.forward.n,
        "more_pairs": judge.more_pairs,
        "more_pairs_strict": judge.more_pairs_strict,
        "judge_id": judge.judge_id,
        "version": judge.version,
        "model": judge.model,
        "prompt_digest": judge.prompt_digest,
        "rubric_digest": judge.rubric_digest,
        "candidate_family": judge.family,
        "estimates": {
            "forward_accuracy": _share(judge.forward),
            "swapped_accuracy": _share(judge.swapped),
            "both_orders_right": _share(judge.both),
            "flip_rate": _share(judge.flips),
        },
        "accepted": {"point": judge.accepted_point, "strict": judge.accepted_strict},
        "slots": {"first": judge.first, "last": judge.last, "p": judge.position_p},
        "repeats": {"questions": judge.repeated, "same_answer": judge.same_answer},
        "errors": judge.errors,
        "calls": judge.calls,
        "confusion": _cells(judge.confusion),
        "confusion_by_episode": {name: _cells(one) for name, one in judge.by_episode.items()},
        "confusion_by_criterion": {name: _cells(one) for name, one in judge.by_criterion.items()},
        "not_counted": dict(judge.not_counted),
        "label_set_sha256": judge.label_set_sha256,
        "win_rate": judge.win_rate,
        "messages": [_messages(one) for one in judge.messages],
    }


def _cells(cells: Cells) -> list[dict[str, Any]]:
    return [{"people": people, "judge": judge, "pairs": pairs} for people, judge, pairs in cells]


def _share(share: JudgeShare) -> dict[str, Any]:
    plain: dict[str, Any] = to_builtins(share)
    return plain


def _messages(one: JudgeMessages) -> dict[str, Any]:
    shown = one.claims[:MOST_CLAIMS]
    return {
        "preset": one.preset,
        "messages": one.messages,
        "errors": one.errors,
        "means": dict(one.means),
        "complete": _hits(one.complete),
        "grounded": _hits(one.grounded),
        "claims": [
            {"trace_id": trace, "episode_id": episode, "claim": claim, "seq": seq}
            for trace, episode, claim, seq in shown
        ],
        "claims_left_out": len(one.claims) - len(shown),
    }


def _hits(found: tuple[int, int] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    hits, n = found
    return {"hits": hits, "n": n, "value": hits / n if n else None}


def completion_judged(judge: JudgeEvidence | None) -> float | None:
    """The share of messages that the judge calls complete; None when it was not asked."""
    for one in judge.messages if judge else ():
        if one.complete is not None and one.complete[1]:
            return one.complete[0] / one.complete[1]
    return None


def judge_caveat(judge: JudgeEvidence) -> str:
    """What a reader must not take the judge for."""
    if judge.role == ADVISORY:
        return f"The judge is advisory only ({judge.why}): nothing here rests on what it says."
    return (
        f"The judge may score: {judge.forward.n} labeled pairs stand behind it, and no hard gate "
        "reads what it says."
    )
