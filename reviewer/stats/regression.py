"""Is a candidate worse than its baseline: bounds and a test of the mean difference over episodes.

d_e is the candidate's pass rate minus the baseline's in one episode, in [-1, 1]. The gate uses
Tango's score with real counts: b = Σ(d² + d)/2 and c = Σ(d² - d)/2, which are the episodes gained
and lost when each has one attempt. The Dirichlet bound of the same mean is wider and always
monotonic.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from reviewer.stats.checks import Interval, non_negative, open_unit, same_length, whole
from reviewer.stats.dirichlet import mean_lower_bound
from reviewer.stats.paired import tango_limits
from reviewer.stats.planning import smallest_from
from reviewer.stats.special import normal_quantile

Differences = Sequence[tuple[Fraction, int]]
"""(difference, how many episodes have it)."""


def regression_lower_bound(
    candidate: Sequence[int], baseline: Sequence[int], attempts: int, confidence: float = 0.95
) -> float:
    """Return the one-sided lower bound of the mean difference, by the generalized Tango score: in
    strict mode the regression gate compares it with minus its margin.

    Both arguments hold the passes of each episode, of `attempts` on either side.
    """
    return difference_bounds(_differences(candidate, baseline, attempts), confidence).low


def regression_lower_bound_exact(
    candidate: Sequence[int], baseline: Sequence[int], attempts: int, confidence: float = 0.95
) -> float:
    """Return the one-sided lower bound of the mean difference: the Dirichlet bound on [-1, 1]."""
    return mean_lower_bound(_differences(candidate, baseline, attempts), confidence, -1)


def _differences(
    candidate: Sequence[int], baseline: Sequence[int], attempts: int
) -> list[tuple[Fraction, int]]:
    made = whole("attempts", attempts, 1)
    if not same_length("candidate", candidate, "baseline", baseline):
        raise ValueError("candidate and baseline must hold at least one episode")
    for name, passes in ("candidate", candidate), ("baseline", baseline):
        if any(not 0 <= whole(f"{name}[{i}]", n) <= made for i, n in enumerate(passes)):
            raise ValueError(f"{name} must hold between 0 and {made} passes per episode")
    return [(Fraction(a - b, made), 1) for a, b in zip(candidate, baseline, strict=True)]


class Moments(NamedTuple):
    """Exact sums over episodes: their number, their differences, the squares of these."""

    episodes: int
    total: Fraction
    squares: Fraction

    def unchanged(self, more: int) -> "Moments":
        """Return the same with `more` episodes that do not differ."""
        return self._replace(episodes=self.episodes + more)


def moments(differences: Differences) -> Moments:
    """Return the sums from which the bounds and the test are computed."""
    return Moments(
        sum(times for _, times in differences),
        sum((d * times for d, times in differences), Fraction(0)),
        sum((d * d * times for d, times in differences), Fraction(0)),
    )


def difference_bounds(differences: Differences, confidence: float = 0.95) -> Interval:
    """Return both one-sided bounds of the mean difference, each at `confidence`."""
    seen = moments(differences)
    if not seen.episodes:
        raise ValueError("differences must hold at least one episode")
    return _limits(seen, normal_quantile(open_unit("confidence", confidence)))


def _limits(seen: Moments, z: float) -> Interval:
    gained, lost = (seen.squares + seen.total) / 2, (seen.squares - seen.total) / 2
    return tango_limits(seen.episodes, float(gained), float(lost), z)


def score_at_zero(differences: Differences) -> float | None:
    """Return z = Σd / sqrt(Σd²), the score test of no difference (McNemar's with one attempt); None
    where no episode differs."""
    seen = moments(differences)
    return float(seen.total) / math.sqrt(seen.squares) if seen.squares else None


def unchanged_episodes_needed(
    differences: Differences, margin: float, confidence: float = 0.95
) -> int | None:
    """Return how many more episodes with no difference lift the lower bound of
    `difference_bounds` above -margin; None when no number does (margin 0).

    With no differences at all it is the number of unchanged episodes at which "not worse by more
    than the margin" can be shown: 52 for 0.05.
    """
    limit, seen = non_negative("margin", margin), moments(differences)
    z = normal_quantile(open_unit("confidence", confidence))

    def enough(more: int) -> bool:
        return _limits(seen.unchanged(more), z).low > -limit

    least = 0 if seen.episodes else 1
    if enough(least):
        return least
    if not limit:
        return None  # further episodes without a difference only dilute a gain
    try:
        return smallest_from(least, enough, "margin")
    except ValueError:
        return None
