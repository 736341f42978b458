"""What a comparison of two candidates says, in a sentence each, and its sums and medians."""

from collections.abc import Mapping, Sequence
from typing import Literal

from reviewer.desk.compare.views import Amount, EpisodeWord
from reviewer.desk.views import Rate
from reviewer.report.assess import Assessment
from reviewer.report.regression import Regression
from reviewer.report.words import exact, named
from reviewer.stats.paired import MIN_CHANGED_EPISODES


def sentence(against: Regression, by_word: Mapping[EpisodeWord, tuple[str, ...]]) -> str:
    """How many episodes became what; those lost and those newly critical by name."""
    parts = [
        f"lost {_named(against.lost)}",
        f"new critical {_named(against.new_critical)}",
        f"gained {len(against.gained)}",
        f"changed {len(by_word['changed'])}",
        f"unchanged {len(by_word['unchanged'])}",
    ]
    if against.not_compared:
        parts.append(f"not compared {len(against.not_compared)}")
    return ", ".join(parts)


def _named(episodes: Sequence[str]) -> str:
    """`0`, or the count and the first names."""
    if not episodes:
        return "0"
    return f"{len(episodes)} ({named(episodes)})"


def figures(against: Regression, rates: tuple[Rate, Rate]) -> str:
    """The rates of both sides and the difference with its bounds."""
    then, now = rates
    told = f"hard pass {_passed(then)} → {_passed(now)}"
    if against.difference is None:
        return f"{told}, difference not measured ({against.why})"
    bounds = "not measured"
    if against.low is not None and against.high is not None:
        bounds = f"{against.low:+.3f} and {against.high:+.3f}"
    return f"{told}, difference {against.difference:+.3f}, one-sided 95% bounds {bounds}"


def _passed(rate: Rate) -> str:
    """`472/600`; with verdicts not measured `472 to 480/600`."""
    most = f" to {rate.passes + rate.unknown}" if rate.unknown else ""
    return f"{rate.passes}{most}/{rate.n}"


def tested(against: Regression) -> str:
    """What a test may say: no p value under six changed episodes."""
    if against.difference is None:
        return "no test: nothing to compare"
    count = f"{against.changed} episode{'' if against.changed == 1 else 's'} changed"
    if against.changed < MIN_CHANGED_EPISODES:
        fewer = f"with fewer than {MIN_CHANGED_EPISODES} no test can reach 0.05"
        return f"{count}: {fewer}, so no p is shown"
    if against.p_value is None:
        return against.test
    return f"{count}: p {against.p_value:.3g}, {against.test}"


def conclusion(against: Regression) -> str:
    """The verdict against the margin, and what it would take to show more."""
    margin = f"{against.margin:g}"
    if against.new_critical:
        return f"worse: new critical failure in {named(against.new_critical)}"
    if against.verdict == "worse":
        return "worse: even the upper bound is below no difference"
    if against.verdict == "not worse":
        return f"within the margin: not worse by {margin}"
    told = f"within the margin {margin}: not shown"
    if against.episodes_needed is not None:
        told += f", it takes {against.episodes_needed} episodes of which none changed"
    return told


def amounts(then: Assessment, now: Assessment) -> tuple[Amount, ...]:
    """Sums and medians of both sides; sums over other numbers of attempts have no difference."""
    a, b = then.figures, now.figures
    made = [sum(e.attempts + e.infrastructure for e in side.counted) for side in (a, b)]
    steps = [float(sum(e.steps for e in side.counted)) if n else None
             for side, n in zip((a, b), made, strict=True)]  # fmt: skip
    uneven = "" if made[0] == made[1] else f"sums over {made[0]} and {made[1]} attempts"
    return (
        amount("cost, sum", "usd", a.cost.total_usd, b.cost.total_usd, uneven),
        amount("cost per success", "usd", a.cost.cpst_usd, b.cost.cpst_usd),
        amount("latency, median", "ms", a.latency.p50, b.latency.p50),
        amount("steps, sum", "steps", steps[0], steps[1], uneven),
    )


def amount(
    name: str,
    unit: Literal["usd", "ms", "steps"],
    baseline: float | None,
    candidate: float | None,
    uneven: str = "",
) -> Amount:
    """One figure of both sides; `uneven` says why sums have no difference."""
    unknown = [
        f"the {side}'s is not measured"
        for side, value in (("baseline", baseline), ("candidate", candidate))
        if value is None
    ]
    difference = None
    if baseline is not None and candidate is not None and not uneven:
        difference = float(exact(candidate) - exact(baseline))
    return Amount(
        name=name,
        unit=unit,
        baseline=baseline,
        candidate=candidate,
        difference=difference,
        why="; ".join(unknown) or uneven,
    )
