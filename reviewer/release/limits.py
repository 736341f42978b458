"""Each limit of a policy against its figure: met, failed, or not decided by the evidence yet.

Comparisons are exact and inclusive. Where some verdicts, costs or latencies are unknown, a limit
fails only when even the kindest value of the unknown ones would break it. In `strict` mode a limit
that the estimate meets but its confidence bound does not is open: it asks for more evidence.
"""

import math
from fractions import Fraction
from typing import Literal, NamedTuple

from reviewer.contract.model import Policy
from reviewer.measure.planning import runs_needed_for_max_rate
from reviewer.measure.rates import rate_lower_bound
from reviewer.measure.special import normal_quantile
from reviewer.release.amounts import NANO, exact
from reviewer.release.figures import Figures
from reviewer.release.rates import Rate, exact_pass_hat

State = Literal["met", "failed", "open", "none"]
_Z = normal_quantile(0.95)


class Limit(NamedTuple):
    """One limit: its state, what was observed and what the policy says, and what is `lacking`."""

    state: State
    observed: str
    policy: str
    lacking: str = ""

    @property
    def failed(self) -> bool:
        return self.state == "failed"

    @property
    def open(self) -> bool:
        return self.state == "open"


def hard_pass_limit(policy: Policy, shown: Figures) -> Limit:
    """Share of attempts that pass every hard gate. A point estimate in both modes.

    No sample can show a rate of 1, so there is no bound to ask for.
    """
    rate, wanted = shown.hard_pass, exact(policy.hard_pass_rate)
    text = "all" if wanted == 1 else f"{policy.hard_pass_rate:g}"
    return Limit(_share(rate, wanted), f"{rate.passes} of {rate.n}", text)


def completion_limit(policy: Policy, shown: Figures) -> Limit:
    """Share of attempts whose state gate passes."""
    if policy.completion_min is None:
        return Limit("none", "", "")
    rate = shown.completion
    state = _share(rate, exact(policy.completion_min))
    return Limit(state, f"{rate.passes} of {rate.n}", f"{policy.completion_min:g}")


def _share(rate: Rate, wanted: Fraction) -> State:
    if not rate.n:
        return "open"
    if Fraction(rate.passes + rate.not_measured, rate.n) < wanted:
        return "failed"
    return "open" if rate.not_measured else "met"


def pass_hat_limit(policy: Policy, shown: Figures) -> Limit:
    """pass^k of the policy's k; in strict mode also its one-sided exact 95% bound over episodes."""
    k, wanted = policy.pass_hat.k, exact(policy.pass_hat.min)
    text = f"{policy.pass_hat.min:g}"
    value = shown.pass_hat.exact
    if value is None:
        kindest = exact_pass_hat(
            ((e.attempts, e.passes + e.attempts - e.measured) for e in shown.counted), k
        )
        state: State = "failed" if kindest is not None and kindest < wanted else "open"
        seen = "undefined" if kindest is None else f"at most {float(kindest):.3f}"
        return Limit(state, f"pass^{k} {seen}", text, shown.pass_hat.why)
    observed = f"pass^{k} {float(value):.3f}"
    if value < wanted:
        return Limit("failed", observed, text)
    if policy.mode == "strict":
        episodes = len(shown.episodes)
        stable = math.floor(value * episodes)
        bound = rate_lower_bound(stable, episodes)
        if Fraction(bound) < wanted:
            return Limit(
                "open",
                f"{observed}, at least {bound:.3f}",
                f"{text} as a lower bound",
                _more_episodes(episodes, episodes - stable, policy.pass_hat.min),
            )
    return Limit("met", observed, text)


def _more_episodes(episodes: int, unstable: int, wanted: float) -> str:
    if not 0.0 < wanted < 1.0:
        return f"no number of episodes gives a lower bound of {wanted:g}"
    more = max(1, runs_needed_for_max_rate(unstable, 1.0 - wanted) - episodes)
    return f"{more} more stable episodes in the suite"


def cost_limit(policy: Policy, shown: Figures) -> Limit:
    """Cost per success in USD; in strict mode its one-sided 95% bound."""
    if policy.max_cpst_usd is None:
        return Limit("none", "", "")
    cost, budget = shown.cost, exact(policy.max_cpst_usd)
    text = f"${policy.max_cpst_usd:g} per success"
    if cost.exact_cpst is None:
        kindest = shown.hard_pass.passes + shown.hard_pass.not_measured
        if kindest and Fraction(cost.known_nano, kindest * NANO) > budget:
            least = cost.known_nano / (kindest * NANO)
            return Limit("failed", f"at least ${least:.4f} per success", text)
        return Limit("open", "not measured", text, "a passing attempt" if not kindest else "")
    observed = f"${float(cost.exact_cpst):.4f} per success"
    if cost.exact_cpst > budget:
        return Limit("failed", observed, text)
    if policy.mode == "strict":
        if cost.cpst_se is None:
            return Limit("open", observed, f"{text} as an upper bound", "two episodes or more")
        bound = float(cost.exact_cpst) + _Z * cost.cpst_se
        if bound > policy.max_cpst_usd:
            observed = f"{observed}, at most ${bound:.4f}"
            return Limit("open", observed, f"{text} as an upper bound", "more episodes")
    return Limit("met", observed, text)


def latency_limit(policy: Policy, shown: Figures) -> Limit:
    """95th percentile of latency in ms; in strict mode the upper limit of its 95% interval."""
    if policy.latency_p95_ms is None:
        return Limit("none", "", "")
    latency, budget = shown.latency, policy.latency_p95_ms
    text = f"p95 {budget:g} ms"
    if latency.unknown or latency.p95 is None:
        count = f"{latency.unknown} attempts" if latency.unknown else "every attempt"
        return Limit("open", "not measured", text, f"latency of {count}")
    observed = f"p95 {latency.p95:g} ms"
    if latency.p95 > budget:
        return Limit("failed", observed, text)
    if policy.mode == "strict":
        bound = latency.p95_limits[1]
        if bound is None:
            more = max(1, 72 - latency.n)
            return Limit("open", observed, f"{text} as an upper bound", f"{more} more runs")
        if bound > budget:
            observed = f"{observed}, at most {bound:g} ms"
            return Limit("open", observed, f"{text} as an upper bound", "more runs")
    return Limit("met", observed, text)
