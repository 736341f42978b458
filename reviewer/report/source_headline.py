"""The source's own headline: the figure that a harness would print for the attempts it scored, by
its own rule. Harnesses differ in how they count attempts that infrastructure ended and attempts
they never scored: some count them as failures, some leave them out. Their figure is shown next to
ours, gates nothing, and names its rule."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from typing import Literal, NamedTuple

from msgspec import Struct

from reviewer.report.evidence import Evidence, HarnessScores
from reviewer.report.formatting import NOT_MEASURED, between, number, out_of, plural, stable_bits
from reviewer.report.rates import Rate

Counting = Literal["failed", "left out", "as scored"]
"""How attempts are counted: `as scored` leaves out those without a score and counts the others."""


class Harness(NamedTuple):
    """The rule of a harness: the figure it prints, and how it counts attempts that infrastructure
    ended and those it gave no score."""

    title: str
    figure: Literal["passed", "reward"]
    infrastructure: Counting
    unscored: Counting
    by_episode: bool = False
    """The figure is the mean over episodes of each episode's mean over scored attempts."""


HARNESSES = {
    "tau-bench": Harness("tau-bench", "reward", "failed", "failed"),
    "tau2-bench": Harness("tau2-bench", "reward", "left out", "left out"),
    "swe-bench": Harness("SWE-bench", "passed", "failed", "failed"),
    "swe-agent": Harness("SWE-bench", "passed", "failed", "failed"),
    "mini-swe-agent": Harness("SWE-bench", "passed", "failed", "failed"),
    "openhands": Harness("SWE-bench", "passed", "failed", "failed"),
    "terminal-bench": Harness("Terminal-Bench", "passed", "failed", "failed"),
    "harbor": Harness("Harbor", "reward", "failed", "failed"),
    "gaia": Harness("GAIA", "passed", "failed", "failed"),
    "hal": Harness("HAL", "passed", "as scored", "left out"),
    "agentlab": Harness("AgentLab", "reward", "failed", "failed"),
    "agentbench": Harness("AgentBench", "passed", "left out", "failed"),
    "inspect": Harness("Inspect", "reward", "left out", "left out", by_episode=True),
    "webarena": Harness("WebArena", "reward", "as scored", "left out"),
    "osworld": Harness("OSWorld", "reward", "as scored", "left out"),
}
"""By reader. For any other harness no rule is known: its scores are counted as they are."""
BY_EPISODE = frozenset(reader for reader, rule in HARNESSES.items() if rule.by_episode)
UNKNOWN = Harness("", "passed", "as scored", "left out")


class OurRate(Struct, frozen=True, kw_only=True):
    """Our hard pass rate next to the harness's figure."""

    passed: int
    unknown: int
    n: int
    value: float | None
    low_possible: float | None
    high_possible: float | None


class HeadlineSection(Struct, frozen=True, kw_only=True):
    """The figure of one harness over the attempts it scored, and its rule."""

    reader: str
    harness: str
    rule_known: bool
    figure: str
    value: float | None
    n: int
    mean_of: Literal["episodes", "attempts"]
    attempts: int
    passed: int
    failed: int
    unscored: int
    unscored_counted_as: Counting
    infrastructure: int
    infrastructure_counted_as: Counting
    rewards: int
    partial_rewards: int
    mean_reward: float | None
    ours: OurRate


def headlines(evidence: Evidence, ours: Rate) -> tuple[HeadlineSection, ...]:
    """Return the report's `source_headline`: one entry for each reader whose harness gave a
    score."""
    rows = sorted(evidence.said, key=lambda one: one.reader)
    return tuple(
        _headline(reader, list(said), ours)
        for reader, said in groupby(rows, key=lambda one: one.reader)
    )


def _headline(reader: str, rows: Sequence[HarnessScores], ours: Rate) -> HeadlineSection:
    rule = HARNESSES.get(reader, UNKNOWN)
    figure = rule.figure if any(_scored(one, rule.figure) for one in rows) else _other(rule.figure)
    counted = [(one, _score(one, figure, rule)) for one in rows]
    n = sum(one.attempts for one, score in counted if score is not None)
    weights = [
        (score, Fraction(one.attempts, one.epochs if rule.by_episode else 1))
        for one, score in counted
        if score is not None
    ]
    total = sum((score * weight for score, weight in weights), Fraction(0))
    of = sum((weight for _, weight in weights), Fraction(0))
    rewards = [(Fraction(one.reward), one.attempts) for one in rows if one.reward is not None]
    rewarded = sum(count for _, count in rewards)
    mean = sum((value * count for value, count in rewards), Fraction(0))
    known = ours.known
    return HeadlineSection(
        reader=reader,
        harness=rule.title or reader,
        rule_known=reader in HARNESSES,
        figure="passed" if figure == "passed" else "mean reward",
        value=stable_bits(float(total / of)) if of else None,
        n=n,
        mean_of="episodes" if rule.by_episode else "attempts",
        attempts=sum(one.attempts for one in rows),
        passed=sum(one.attempts for one in rows if one.passed),
        failed=sum(one.attempts for one in rows if one.passed is False),
        unscored=sum(one.attempts for one in rows if not _scored(one, figure) and not one.lost),
        unscored_counted_as=rule.unscored,
        infrastructure=sum(one.attempts for one in rows if one.lost),
        infrastructure_counted_as=rule.infrastructure,
        rewards=rewarded,
        partial_rewards=sum(count for value, count in rewards if 0 < value < 1),
        mean_reward=stable_bits(float(mean / rewarded)) if rewarded else None,
        ours=OurRate(
            passed=known.passed,
            unknown=known.unknown,
            n=known.n,
            value=ours.value,
            low_possible=known.low_possible,
            high_possible=known.high_possible,
        ),
    )


def _other(figure: str) -> Literal["passed", "reward"]:
    return "passed" if figure == "reward" else "reward"


def _scored(one: HarnessScores, figure: str) -> bool:
    return (one.passed if figure == "passed" else one.reward) is not None


def _score(one: HarnessScores, figure: str, rule: Harness) -> Fraction | None:
    """Return the score for which the attempts count; None where the harness leaves them out."""
    given: Fraction | None = None
    if figure == "passed" and one.passed is not None:
        given = Fraction(int(one.passed))
    if figure == "reward" and one.reward is not None:
        given = Fraction(one.reward)
    if one.lost and rule.infrastructure != "as scored":
        return None if rule.infrastructure == "left out" else given or Fraction(0)
    if given is None:
        return Fraction(0) if rule.unscored == "failed" else None
    return given


def headline_text(found: HeadlineSection) -> str:
    """Return `tau-bench itself: mean reward 0.420 over 200 attempts, …; here 84 of 200 pass,
    0.420`."""
    over = "" if found.mean_of == "attempts" else ", averaged by episode"
    parts = [f"{found.figure} {number(found.value)} over {plural(found.n, 'attempt')}{over}"]
    if found.partial_rewards:
        parts.append(
            f"{found.partial_rewards} of {plural(found.rewards, 'reward')} partial, mean "
            f"reward {number(found.mean_reward)}"
        )
    if found.infrastructure:
        lost = plural(found.infrastructure, "infrastructure loss").replace("losss", "losses")
        parts.append(f"{lost} {_counted(found.infrastructure_counted_as)}")
    if found.unscored:
        parts.append(f"{found.unscored} unscored {_counted(found.unscored_counted_as)}")
    if not found.rule_known:
        parts.append("its rule for the others is not known here")
    return f"{found.harness} itself: {', '.join(parts)}; here {_ours(found.ours)}"


def _counted(how: str) -> str:
    return {"failed": "counted as failed", "left out": "left out"}.get(how, "counted as scored")


def _ours(ours: OurRate) -> str:
    passed = out_of(ours.passed, ours.unknown, ours.n)
    if ours.low_possible is None:
        return NOT_MEASURED
    return f"{passed} pass, {between(ours.low_possible, ours.high_possible)}"
