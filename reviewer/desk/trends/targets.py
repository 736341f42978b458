"""What each figure of the trends is held to: the suite's policy, else what the articles name.

The articles' five are those of article 4's dashboard, as data. They are of a service in production
and bind no release: a figure that misses one is shown as missing it, and decides nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from reviewer.desk.trends.views import Held, Measure, Target
from reviewer.report.figures import Figures
from reviewer.report.limits import completion_limit, cost_limit, pass_hat_limit
from reviewer.suite.model import Policy


class Named(NamedTuple):
    """One target of the articles: above or below a limit, or not above the value before it."""

    text: str
    limit: float | None
    direction: str
    compares: bool = True
    why: str = ""


ARTICLES: dict[Measure, Named] = {
    "completion": Named("above 0.85", 0.85, "above"),
    "efficiency": Named("above 0.6", 0.6, "above"),
    "human_pass": Named("above 0.90", 0.90, "above"),
    "safety_block": Named(
        "below 0.005, and not near 0",
        0.005,
        "below",
        compares=False,
        why="theirs is of all outputs in production that a filter stops; this figure is of "
        "red-team attempts that were refused, so it is not held to it",
    ),
    "steps": Named("not rising", None, "not rising"),
}
"""Article 4's dashboard: completion > 85 %, efficiency > 0.6, human pass > 90 %, safety block rate
< 0.5 % and not near 0, mean steps not rising."""


def target_of(measure: Measure, policy: Policy | None) -> Target | None:
    """What a figure is held to; `policy` None for a probe, which has none of its own."""
    if policy is not None:
        if measure == "pass_hat":
            wanted = policy.pass_hat.min
            return Target(text=f"at least {wanted:g}", value=wanted, source="policy")
        if measure == "cpst" and policy.max_cpst_usd is not None:
            most = policy.max_cpst_usd
            return Target(text=f"at most ${most:g}", value=most, source="policy")
        if measure == "completion" and policy.completion_min is not None:
            least = policy.completion_min
            return Target(text=f"at least {least:g}", value=least, source="policy")
    named = ARTICLES.get(measure)
    if named is None:
        return None
    return Target(
        text=named.text,
        value=named.limit if named.compares else None,
        source="articles",
        compares=named.compares,
        why=named.why,
    )


_LIMITS = {"completion": completion_limit, "cpst": cost_limit, "pass_hat": pass_hat_limit}


def held_to_policy(measure: Measure, policy: Policy, shown: Figures) -> Held:
    """As the recommendation holds it: also where part of the evidence is not measured."""
    return _LIMITS[measure](policy, shown).state


def held_to_articles(measure: Measure, values: Sequence[float | None]) -> list[Held]:
    """How each value, in order, stands to the articles' target. A value that is not rising is at
    most the last one measured before it; the first has nothing to rise from."""
    named = ARTICLES[measure]
    found: list[Held] = []
    before: float | None = None
    for value in values:
        if not named.compares:
            found.append("none")
        elif value is None:
            found.append("open")
        elif named.limit is not None:
            found.append("met" if value > named.limit else "failed")
        elif before is None:
            found.append("none")
        else:
            found.append("met" if value <= before else "failed")
        before = before if value is None else value
    return found
