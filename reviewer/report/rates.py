"""Rates over attempts and episodes, with their limits; values are exact ratios of counts."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import UNSET, Struct, UnsetType, field

from reviewer.report.episodes import Episodes
from reviewer.report.evidence import EpisodeCounts, Evidence
from reviewer.report.formatting import NOT_MEASURED, named, stable_bits
from reviewer.stats.bounds import bounds_of, episode_scores
from reviewer.stats.rates import (
    Counts,
    effective_attempts,
    failure_rate_upper_bound,
    merged,
    pass_hat_k_interval,
    wilson_interval,
)
from reviewer.suite.gates import CRITICAL_GATES, GATE_CODES, GATES

_Counts = tuple[int, int]
"""(attempts, passes) of an episode."""
MOST_K = 10
"""The largest k shown beyond the policy's own."""


class KnownPart(Struct, frozen=True, kw_only=True):
    """The known part of a rate with verdicts missing, and the bounds of the whole rate.

    `value` is the rate of the attempts with a verdict; `low_possible` counts each `unknown` verdict
    as a failure, `high_possible` as a pass. Certain bounds, not confidence limits.
    """

    value: float | None
    passed: int
    failed: int
    unknown: int
    n: int
    low_possible: float | None
    high_possible: float | None


class Rate(Struct, frozen=True, kw_only=True):
    """passes / n with 95% limits, as a report holds it. With a verdict not measured the value is
    None, and `why` says so.

    Failures are always measured, so a rate over the measured attempts alone would be biased: it is
    `known`, with its bounds, and no limit is compared with it. A strict limit is compared with
    `lower` and `upper`: one-sided bounds of the mean over episodes of their pass rates, 95% each.
    `policy` is the least rate that the policy requires.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    passes: int = field(name="pass")
    fails: int = field(name="fail")
    not_measured: int
    n_eff: float | None
    lower: float | None = field(name="lower_bound", default=None)
    upper: float | None = field(name="upper_bound", default=None)
    policy: float | None = None
    why: str | None = None
    known: KnownPart


def known_of(passes: int, fails: int, unknown: int) -> KnownPart:
    """Return the known part of a rate; the whole rate where every verdict is measured."""
    seen = passes + fails
    n = seen + unknown
    return KnownPart(
        value=passes / seen if seen else None,
        passed=passes,
        failed=fails,
        unknown=unknown,
        n=n,
        low_possible=passes / n if n else None,
        high_possible=(passes + unknown) / n if n else None,
    )


class KnownRepeats(Struct, frozen=True, kw_only=True):
    """One pass^k from the known verdicts: `value` over the `episodes` with k measured attempts or
    more, and the bounds if every attempt without a verdict fails, or passes. Bounds are None where
    an episode has fewer than k attempts, measured or not."""

    value: float | None
    episodes: int
    low_possible: float | None
    high_possible: float | None


class PassHatFigures(Struct, frozen=True, kw_only=True):
    """pass^k for k = 1, 2, …: (k, value or None); limits belong to `k`, the policy's.

    `lower` and `upper` are one-sided bounds of the mean over episodes, 95% each.
    """

    k: int
    values: tuple[tuple[int, float | None], ...]
    exact: Fraction | None
    low: float | None
    high: float | None
    n_eff: float | None
    lower: float | None = None
    upper: float | None = None
    why: str = ""
    known: dict[str, KnownRepeats] = {}
    """By each k in `values`."""

    @property
    def value(self) -> float | None:
        return None if self.exact is None else float(self.exact)


class CriticalFigures(Struct, frozen=True, kw_only=True):
    """Attempts with a critical failure, and the one-sided 95% rates still compatible with them.

    `upper` takes attempts as independent (best case), `upper_episodes` counts episodes (worst).
    `not_measured` is left out where it is 0: the attempts without a critical failure of which a
    gate that could find one is not measured. Both bounds count them as critical, and are None where
    nothing else is left. The `policy` and the `traces` are filled in when the report is built.
    """

    count: int
    n: int
    upper: float | None
    episodes: int
    upper_episodes: float | None
    policy: int = 0
    traces: tuple[str, ...] = ()
    not_measured: int | UnsetType = UNSET

    @property
    def unknown(self) -> int:
        """Return how many attempts may be critical for all that is measured."""
        return 0 if self.not_measured is UNSET else self.not_measured

    @property
    def known(self) -> int | None:
        """Return the count, or None where there is none and no attempt is measured."""
        return None if self.n and not self.count and self.unknown == self.n else self.count

    @property
    def counted(self) -> str:
        """Return the count and what it is of, for a cell: `0 in 200, up to 27 not measured`."""
        if self.known is None:
            return NOT_MEASURED
        return f"{self.count} in {self.n}" + (
            f", up to {self.unknown} {NOT_MEASURED}" if self.unknown else ""
        )


def rate_of(counts: Counts, not_measured: int, live: bool = False) -> Rate:
    """Return a rate over (attempts, passes) per episode; with `live` its bounds hold at every
    look."""
    counts = merged(counts)
    n = sum(made * times for (made, _), times in counts.items())
    passes = sum(passed * times for (_, passed), times in counts.items())
    value = low = high = n_eff = None
    bounds: tuple[float | None, float | None] = None, None
    why = ""
    if not n:
        why = "no attempts"
    elif not_measured:
        why = f"the verdict of {not_measured} of {n} attempts is not measured"
    else:
        value = passes / n
        n_eff = effective_attempts(counts)
        low, high = wilson_interval(value * n_eff, n_eff)
        bounds = bounds_of(episode_scores(counts), live=live)
    return Rate(
        value=value,
        low=stable_bits(low),
        high=stable_bits(high),
        n=n,
        passes=passes,
        fails=n - passes - not_measured,
        not_measured=not_measured,
        n_eff=stable_bits(n_eff),
        lower=stable_bits(bounds[0]),
        upper=stable_bits(bounds[1]),
        why=why or None,
        known=known_of(passes, n - passes - not_measured, not_measured),
    )


def hard_pass(rows: Episodes, live: bool = False) -> Rate:
    """Return the share of attempts that pass every hard gate."""
    counts = rows.tally(lambda e: (e.attempts, e.passes))
    return rate_of(counts, rows.total(lambda e: e.attempts - e.measured), live)


def completion(rows: Episodes, live: bool = False) -> Rate:
    """Return the share of attempts that reached the contracted final state: the state gate
    passes."""
    i = GATES.index("state")
    return rate_of(completion_counts(rows), rows.total(lambda e: e.gate_unknown[i]), live)


def completion_counts(rows: Episodes) -> Counter[_Counts]:
    """Return how many episodes have each (attempts, state gate passed)."""
    i = GATES.index("state")
    return rows.tally(
        lambda e: (e.gate_pass[i] + e.gate_fail[i] + e.gate_unknown[i], e.gate_pass[i])
    )


def exact_pass_hat(counts: Counts, k: int) -> Fraction | None:
    """Return the mean of C(c,k)/C(n,k) over (n, c), exactly; None when an episode has fewer than k
    attempts.

    Exact because 19 stable episodes of 20 are 0.95, and 0.95 meets a limit of 0.95.
    """
    return _mean_of(merged(counts), k)


def _mean_of(alike: Counter[_Counts], k: int) -> Fraction | None:
    if not alike or any(n < k for n, _ in alike):
        return None
    shares = (Fraction(math.comb(c, k), math.comb(n, k)) * m for (n, c), m in alike.items())
    return sum(shares, Fraction(0)) / alike.total()


def repeatable(evidence: Evidence, rows: Episodes) -> Episodes:
    """Return the episodes from which pass^k is computed. A person's words differ from attempt to
    attempt, so attempts whose user is a person are not repetitions. They are part of every other
    rate."""
    if not evidence.by_person:
        return rows
    return rows.chosen(lambda name: name not in evidence.by_person)


def pass_hat(evidence: Evidence, rows: Episodes) -> PassHatFigures:
    """Return pass^k of the policy's k and of every k that the attempts allow. `rows` are the
    repeatable episodes."""
    k = evidence.suite.policy.pass_hat.k
    least = min((e.measured for e, _ in rows.alike), default=0)
    # A probe has no plan of ours, so it shows every k that its attempts allow.
    most = max(1, least) if evidence.suite.probe else max(k, least)
    shown = min(most, MOST_K) if k <= MOST_K else k
    if evidence.suite.probe:
        k = min(k, shown)
    counts = rows.tally(lambda e: (e.measured, e.passes))
    open_verdicts = rows.total(lambda e: e.attempts - e.measured)
    value = None if open_verdicts else _mean_of(counts, k)
    interval = pass_hat_k_interval(counts, k) if value is not None else None
    lower = upper = None
    if value is not None:
        live = evidence.suite.policy.stopping == "live"
        lower, upper = bounds_of(episode_scores(counts, k), live=live)
    return PassHatFigures(
        k=k,
        values=tuple(
            (i, None if open_verdicts else _float(_mean_of(counts, i))) for i in range(1, shown + 1)
        ),
        exact=value,
        low=stable_bits(interval.low) if interval else None,
        high=stable_bits(interval.high) if interval else None,
        n_eff=stable_bits(interval.n_eff) if interval else None,
        lower=stable_bits(lower),
        upper=stable_bits(upper),
        why="" if value is not None else _why_undefined(rows, k, bool(evidence.by_person)),
        known=known_pass_hat(rows, range(1, shown + 1)),
    )


def known_pass_hat(rows: Episodes, k: Iterable[int]) -> dict[str, KnownRepeats]:
    """Return the limits between which each pass^k will be once every verdict is measured."""
    alike = rows.tally(lambda e: (e.attempts, e.measured, e.passes))
    measured, least, most = Counter[_Counts](), Counter[_Counts](), Counter[_Counts]()
    for (attempts, seen, passes), episodes in alike.items():
        measured[seen, passes] += episodes
        least[attempts, passes] += episodes
        most[attempts, passes + attempts - seen] += episodes
    found = {}
    for i in k:
        whole = Counter({counts: many for counts, many in measured.items() if counts[0] >= i})
        found[str(i)] = KnownRepeats(
            value=_float(_mean_of(whole, i)),
            episodes=whole.total(),
            low_possible=_float(_mean_of(least, i)),
            high_possible=_float(_mean_of(most, i)),
        )
    return found


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _why_undefined(rows: Episodes, k: int, apart: bool) -> str:
    if not rows:
        return "an episode whose user no person plays" if apart else "no episodes"
    short = [name for name, _ in rows.where(lambda e: e.measured < k)]
    if short:
        noun = "episode has" if len(short) == 1 else "episodes have"
        return f"{len(short)} {noun} fewer than {k} measured attempts: {named(short)}"
    open_verdicts = [name for name, _ in rows.where(lambda e: e.measured < e.attempts)]
    return f"verdicts not measured in {named(open_verdicts)}"


def critical(rows: Episodes, marked: Mapping[str, Sequence[str]]) -> CriticalFigures:
    """Count critical attempts and episodes, and bound their rates.

    `marked` are the gates, and codes of gates, that an episode's contract calls critical, by
    episode.
    """
    n, count = rows.total(lambda e: e.attempts), rows.total(lambda e: e.critical)
    tried = rows.total(lambda e: e.attempts > 0)
    bad = rows.total(lambda e: e.critical > 0)
    gates = {episode_id: _gates_of(marks) for episode_id, marks in marked.items()}
    open_attempts = open_episodes = 0
    judged_by = (gates.get(name, CRITICAL_GATES) for name in rows.names)
    kinds = Counter(zip(rows.places, judged_by, strict=True))
    for (place, judging), times in kinds.items():
        kind = rows.kinds[place]
        more = _may_be_critical(kind, judging)
        open_attempts += more * times
        open_episodes += times if more and not kind.critical else 0
    return CriticalFigures(
        count=count,
        n=n,
        upper=_highest(count, open_attempts, n),
        episodes=bad,
        upper_episodes=_highest(bad, open_episodes, tried),
        not_measured=open_attempts or UNSET,
    )


def _may_be_critical(of: EpisodeCounts, gates: Collection[str]) -> int:
    """Return the most attempts that may be critical beside those that are: which attempts lack two
    gates at once is not counted."""
    lacking = sum(many for gate, many in zip(GATES, of.gate_unknown, strict=True) if gate in gates)
    return min(lacking, of.attempts - of.critical)


def _gates_of(marks: Sequence[str]) -> frozenset[str]:
    """Return the gates whose failure is critical where a contract marks these gates and codes."""
    heads = {mark.partition(":")[0] for mark in marks}
    own = (
        gate
        for gate, codes in GATE_CODES.items()
        if gate in heads or not heads.isdisjoint(code.partition(":")[0] for code in codes)
    )
    return CRITICAL_GATES.union(own)


def _highest(count: int, unknown: int, n: int) -> float | None:
    """Return the bound of a rate that counts what is unknown as critical, if it says anything."""
    most = count + unknown
    if not n or (unknown and most >= n):
        return None
    return stable_bits(failure_rate_upper_bound(min(most, n), n))
