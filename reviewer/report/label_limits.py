"""Each limit that a policy sets on labels, against what people said: met, failed, or not decided.

Comparisons are exact and inclusive, like those of `limits`: in `point` mode with the share of
settled answers, where open answers fail a limit only when even their most favorable values would
break it; in `strict` mode with one-sided bounds over episodes. A limit of 1 (or 0 for bad answers)
applies to the answers themselves. A missing answer is never a pass.

A judge that may score stands in on pairs that nobody labeled, where the policy says so: its answers
are counted separately, and added to people's only where these alone do not fail. No hard gate reads
this.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal, NamedTuple

from msgspec import UNSET, structs

from reviewer.report.formatting import exact, out_of, plural
from reviewer.report.limits import Limit, State
from reviewer.report.opinions import ReviewSection
from reviewer.stats.bounds import bounds_of, episode_scores
from reviewer.stats.figures import JudgedPairs, LabelFigures, LabelShare
from reviewer.suite.model import LabelPolicy, Policy

WINS = "wins or ties against the baseline below policy"
BOTH_BAD = "both messages bad too often"
CRITERION = "rubric below policy"
SELF = "reviewers contradict themselves"
AGREEMENT = "reviewers disagree"
MESSAGES = "labels missing"

About = Literal["candidate", "labels"]


class LabelLimit(NamedTuple):
    """One limit on labels: its `name`, the sentence for its failure (`text`), and its state.
    `about` says whether a failure speaks against the candidate, or against the labels, which then
    count for nothing."""

    name: str
    text: str
    about: About
    limit: Limit


def label_limits(policy: Policy, review: ReviewSection | None) -> tuple[LabelLimit, ...]:
    """Return every limit on labels that the policy sets, in a fixed order."""
    asked = policy.labels
    if not asked.limited:
        return ()
    found = LabelFigures()
    if review is not None and review.limits is not UNSET:
        found = review.limits
    messages = review.messages_labelled if review is not None else 0
    return tuple(_limits(policy, asked, found, messages))


def _limits(
    policy: Policy, asked: LabelPolicy, found: LabelFigures, messages: int
) -> Iterator[LabelLimit]:
    if asked.min_messages:
        yield LabelLimit("messages labeled", MESSAGES, "labels", _messages(asked, messages))
    against = found.against or "a baseline"
    if (least := asked.wins_or_ties_min) is not UNSET and least is not None:
        limit = _with_judge(policy, found, least)
        yield LabelLimit("wins or ties", f"{WINS}: {against}", "candidate", limit)
    if (most := asked.both_bad_max) is not UNSET and most is not None:
        limit = _against_baseline(found, _at_most(policy, found.both_bad, most, "both bad"))
        yield LabelLimit("both bad", BOTH_BAD, "candidate", limit)
    for criterion, wanted in asked.criteria.items() if asked.criteria else ():
        share = found.criteria.get(criterion, LabelShare())
        limit = _at_least(policy, share, wanted.min, "messages")
        yield LabelLimit(f"rubric: {criterion}", f"{CRITERION}: {criterion}", "candidate", limit)
    if (least := asked.self_consistency_min) is not UNSET and least is not None:
        limit = _of_each(policy, found.self_consistency, least, "pairs in both orders")
        yield LabelLimit("self-consistency", SELF, "labels", limit)
    if (least := asked.agreement_min) is not UNSET and least is not None:
        limit = _of_each(policy, found.agreement, least, "items labeled by two reviewers")
        yield LabelLimit("agreement", AGREEMENT, "labels", limit)


def pairs_labeled(policy: Policy, review: ReviewSection | None) -> tuple[int, int]:
    """Return the pairs that people labeled, and those on which a judge stands in for them."""
    if review is None:
        return 0, 0
    judge = review.limits.judge if review.limits is not UNSET else None
    stands_in = policy.labels.judge_stands_in is True and judge is not None
    return review.pairs_labelled, judge.pairs if stands_in and judge is not None else 0


def _messages(asked: LabelPolicy, made: int) -> Limit:
    wanted = asked.min_messages or 0
    observed, policy = f"{made} of {plural(wanted, 'message')}", plural(wanted, "message")
    if made >= wanted:
        return Limit("met", observed, policy)
    return Limit("open", observed, policy, plural(wanted - made, "more labeled message"))


def _with_judge(policy: Policy, found: LabelFigures, least: float) -> Limit:
    """Compare people's pairs; if they do not fail, compare them together with the judge's."""
    people = found.wins_or_ties
    limit = _against_baseline(found, _at_least(policy, people, least, "pairs"))
    judge = found.judge
    if judge is None or policy.labels.judge_stands_in is not True:
        return limit
    if judge.why is not None:
        return limit._replace(observed=f"{limit.observed}; the judge may not: {judge.why}")
    apart = _judge_words(judge)
    if limit.failed or found.against is None:
        return limit._replace(observed=f"{limit.observed}; {apart}")
    both = _at_least(policy, _joined(people, judge.wins_or_ties), least, "pairs")
    if both.failed and not _at_least(policy, _kindest(people, judge), least, "pairs").failed:
        # Only its flips fail the limit, and flips say nothing against the candidate.
        need = f"labels on {plural(judge.flips, 'pair')} on which the judge contradicts itself"
        both = both._replace(state="open", lacking=need)
    return both._replace(observed=f"{limit.observed} by people; {apart}")


def _kindest(people: LabelShare, judge: JudgedPairs) -> LabelShare:
    """Return the pairs of both, with those on which the judge contradicts itself as open."""
    known = judge.wins_or_ties
    return structs.replace(
        _joined(people, known), n=people.n + known.n - judge.flips, open=people.open + judge.flips
    )


def _judge_words(judge: JudgedPairs) -> str:
    share = judge.wins_or_ties
    flips = f", {judge.flips} of them contradictory" if judge.flips else ""
    return f"by the judge, where nobody labeled, {share.hits} of {share.n}{flips}"


def _joined(a: LabelShare, b: LabelShare) -> LabelShare:
    return LabelShare(
        hits=a.hits + b.hits,
        n=a.n + b.n,
        open=a.open + b.open,
        episodes=(*a.episodes, *b.episodes),
    )


def _against_baseline(found: LabelFigures, limit: Limit) -> Limit:
    if found.against is not None:
        return limit
    need = "a baseline to compare with, and pairs with it (--baseline B names one)"
    return limit._replace(state="open", observed="no baseline", lacking=need)


def _at_least(policy: Policy, share: LabelShare, least: float, noun: str) -> Limit:
    return _compared(policy, share, exact(least), f"{least:g}", noun, at_most=False)


def _at_most(policy: Policy, share: LabelShare, most: float, noun: str) -> Limit:
    return _compared(policy, share, exact(most), f"at most {most:g}", noun, at_most=True)


def _compared(
    policy: Policy, share: LabelShare, wanted: Fraction, text: str, noun: str, at_most: bool
) -> Limit:
    n = share.n + share.open
    observed = out_of(share.hits, share.open, n) if n else "not measured"
    if not n:
        return Limit("open", observed, text, f"labels: {noun}")
    if policy.mode == "point" or wanted == (0 if at_most else 1):
        kindest = Fraction(share.hits if at_most else share.hits + share.open, n)
        if kindest > wanted if at_most else kindest < wanted:
            return Limit("failed", observed, text)
        if share.open:
            return Limit("open", observed, text, _settled(share.open))
        return Limit("met", observed, text)
    if share.open:
        return Limit("open", observed, text, _settled(share.open))
    return _on_bounds(policy, share, wanted, text, observed, at_most)


def _on_bounds(
    policy: Policy, share: LabelShare, wanted: Fraction, text: str, observed: str, at_most: bool
) -> Limit:
    low, high = bounds_of(episode_scores(share.episodes), live=policy.stopping == "live")
    state: State = "open"
    if (high <= wanted) if at_most else (low >= wanted):
        state = "met"
    elif (low > wanted) if at_most else (high < wanted):
        state = "failed"
    bad_side = (state != "failed") != at_most
    shown = f"at least {low:.3f}" if bad_side else f"at most {high:.3f}"
    if state != "open":
        return Limit(state, f"{observed}, {shown}", text)
    side = "an upper" if at_most else "a lower"
    need = "labels of more episodes: the bound is over episodes"
    return Limit(state, f"{observed}, {shown}", f"{text} as {side} bound", need)


def _settled(count: int) -> str:
    return f"{plural(count, 'open answer')} settled: labeled in both orders, and by a third person"


def _of_each(policy: Policy, shares: dict[str, LabelShare], least: float, noun: str) -> Limit:
    """Compare every share separately; return the first that fails, else the first that is open."""
    if not shares:
        return Limit("open", "not measured", f"{least:g}", f"labels: {noun}")
    found = [
        one._replace(
            observed=f"{name} {one.observed}",
            lacking=f"{name}: {one.lacking}" if one.lacking else "",
        )
        for name, share in shares.items()
        for one in (_at_least(policy, share, least, noun),)
    ]
    for state in ("failed", "open"):
        for one in found:
            if one.state == state:
                return one
    return found[0]._replace(observed="; ".join(one.observed for one in found))
