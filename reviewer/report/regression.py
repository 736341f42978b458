"""Candidate against baseline on the same episodes: lists first, then the difference.

The baseline is the one named, else the last promoted candidate. The bound is
`stats.paired.adjusted_paired_interval`. Under six changed episodes no paired test can reach 0.05;
the report says so instead of printing a p value. Slices of the suite, by category and by tag,
decide nothing: they show where to look. Of m slices one is bad by chance m times as often, so their
limits are Bonferroni's, 95% for all together, and a claim that a slice became worse needs Holm's
adjusted p. A slice that holds every episode is left out: it is the suite.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from msgspec import Struct, structs

from reviewer.report.evidence import EpisodeCounts, Evidence, PromotedCandidate
from reviewer.report.figures import Figures
from reviewer.report.formatting import exact, named, stable_bits
from reviewer.report.limits import NONE, Limit, State
from reviewer.report.rates import exact_pass_hat
from reviewer.stats.paired import (
    MIN_CHANGED_EPISODES,
    adjusted_paired_interval,
    benjamini_hochberg_adjust,
    holm_adjust,
    paired_signflip_exact,
)
from reviewer.stats.planning import unchanged_episodes_needed
from reviewer.stats.rates import effective_attempts, wilson_interval

_MOST_CHANGED = 200
"""Changed episodes up to which the exact test is computed; beyond, the bounds are enough."""


class Regression(Struct, frozen=True, kw_only=True):
    """The comparison with the baseline; `why` gives the reason when there is none.

    `lost` were stable (every attempt passed) and no longer are; `gained` the reverse. `difference`
    is candidate minus baseline in mean pass rate per episode, `low` and `high` its one-sided 95%
    bounds. `verdict`: `worse`, `not worse` (by `margin`), `not shown`. `dropped` says that the
    difference itself, compared exactly, is more than `margin` below none. `more_unchanged_needed`
    further episodes without a difference would show that it is not worse,
    `episodes_needed_if_unchanged` of them if there were no others. `last_promoted` is the last
    promoted candidate, compared with or not.
    """

    baseline: str | None
    last_promoted: PromotedCandidate | None
    why: str | None = None
    compared: int = 0
    not_compared: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    new_critical: tuple[str, ...] = ()
    changed: int = 0
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    margin: float = 0.0
    dropped: bool | None = None
    verdict: Literal["worse", "not worse", "not shown"] | None = None
    test: str | None = None
    p_value: float | None = None
    episodes_needed_if_unchanged: int | None = None
    more_unchanged_needed: int | None = None


def regression(evidence: Evidence, rows: Sequence[EpisodeCounts]) -> Regression:
    """Compare the candidate's counts with the baseline's. Pure; what of it gates, `assess` says."""
    margin = evidence.suite.policy.regression.margin
    if evidence.baseline_id is None:
        return Regression(
            baseline=None,
            why=_no_baseline(evidence.promoted),
            margin=margin,
            last_promoted=evidence.promoted,
        )
    before = {e.episode_id: e.counted for e in evidence.baseline}
    grave = {e.episode_id for e in evidence.baseline if e.critical}
    pairs: list[tuple[EpisodeCounts, EpisodeCounts]] = []
    lost, gained, new_critical, apart = [], [], [], []
    for made in rows:
        now, then = made.counted, before.get(made.episode_id)
        if made.critical and made.episode_id not in grave:
            new_critical.append(made.episode_id)
        # One failed attempt is enough to know that an episode is no longer stable.
        if then is not None and _stable(then) and now.measured > now.passes:
            lost.append(now.episode_id)
        if then is None or not (decided(now) and decided(then)):
            apart.append(now.episode_id)
            continue
        pairs.append((now, then))
        if _stable(now) and not _stable(then):
            gained.append(now.episode_id)
    found = Regression(
        baseline=evidence.baseline_id,
        why="no episode with every verdict measured on both sides",
        not_compared=tuple(apart),
        lost=tuple(lost),
        gained=tuple(gained),
        new_critical=tuple(new_critical),
        margin=margin,
        verdict="worse" if new_critical else "not shown",
        episodes_needed_if_unchanged=unchanged_episodes_needed([], margin),
        last_promoted=evidence.promoted,
    )
    return _compared(found, pairs) if pairs else found


def _no_baseline(promoted: PromotedCandidate | None) -> str:
    if promoted is None:
        return "no baseline named, and no other candidate is promoted"
    return (
        f"{promoted.candidate_id}, promoted by decision {promoted.number} on {promoted.suite_id} "
        f"(digest {promoted.suite_digest[:8]}…), has no attempt on this suite: under another "
        "suite's digest nothing is comparable"
    )


class Change(NamedTuple):
    """Pairs of candidate and baseline, each kind once: its pass rates `now` and `then`, and how
    many `times` it occurs. `difference` is the exact mean, `changed` the rates that differ.
    """

    now: list[float]
    then: list[float]
    times: list[int]
    difference: Fraction
    changed: list[tuple[Fraction, Fraction]]

    def exact_p(self) -> float | None:
        """Return the exact sign-flip p; None under six changed episodes, or where there are too
        many."""
        if not MIN_CHANGED_EPISODES <= len(self.changed) <= _MOST_CHANGED:
            return None
        try:
            now, then = zip(*self.changed, strict=True)
            return stable_bits(paired_signflip_exact(now, then)["p"])
        except ValueError:
            return None  # episodes with many different numbers of attempts


def change(pairs: Iterable[tuple[EpisodeCounts, EpisodeCounts]]) -> Change:
    """Compare the sides of these pairs, of which there is at least one."""
    alike = Counter((n.passes, n.attempts, t.passes, t.attempts) for n, t in pairs)
    found = Change([], [], list(alike.values()), Fraction(0), [])
    total = Fraction(0)
    for (passed, made, passed_then, made_then), count in alike.items():
        now, then = Fraction(passed, made), Fraction(passed_then, made_then)
        found.now.append(float(now))
        found.then.append(float(then))
        total += (now - then) * count
        if now != then:
            found.changed.extend([(now, then)] * count)
    return found._replace(difference=total / alike.total())


def _compared(
    found: Regression, pairs: Sequence[tuple[EpisodeCounts, EpisodeCounts]]
) -> Regression:
    seen = change(pairs)
    changed = len(seen.changed)
    bounds = adjusted_paired_interval(seen.now, seen.then, 0.90, seen.times)
    low, high = stable_bits(bounds["low"]), stable_bits(bounds["high"])
    p_value = seen.exact_p()
    if changed < MIN_CHANGED_EPISODES:
        test = f"fewer than {MIN_CHANGED_EPISODES} changed ({changed}): no test can reach 0.05"
    else:
        test = "exact sign-flip test over episodes, two-sided"
        if p_value is None:
            test = f"{changed} changed: too many for the exact test, see the bounds"
    verdict = found.verdict
    if high is not None and high < 0:
        verdict = "worse"
    elif verdict != "worse" and low is not None and Fraction(low) > -exact(found.margin):
        verdict = "not worse"
    return structs.replace(
        found,
        why=None,
        compared=len(pairs),
        changed=changed,
        difference=float(seen.difference),
        low=low,
        high=high,
        dropped=seen.difference < -exact(found.margin),
        verdict=verdict,
        test=test,
        p_value=p_value,
        more_unchanged_needed=unchanged_episodes_needed(
            [a - b for a, b in zip(seen.now, seen.then, strict=True)],
            found.margin,
            times=seen.times,
        ),
    )


def decided(e: EpisodeCounts) -> bool:
    """Return whether there is an attempt, and every attempt has a verdict."""
    return 0 < e.attempts == e.measured


def _stable(e: EpisodeCounts) -> bool:
    return 0 < e.attempts == e.passes


def lost_limit(against: Regression) -> Limit:
    """Compare in `point` mode: no episode lost, none newly critical, and the difference itself
    within the margin."""
    if against.baseline is None:
        return NONE
    lost = list(dict.fromkeys((*against.lost, *against.new_critical)))
    if lost:
        return Limit("failed", f"lost {named(lost)}", f"none lost against {against.baseline}")
    within = f"at most {against.margin:g} below {against.baseline}"
    if against.difference is None:
        return Limit("open", "not measured", within, f"{against.baseline}: {against.why}")
    state: State = "failed" if against.dropped else "met"
    return Limit(state, f"pass rate {against.difference:+.3f}", within)


def not_worse_limit(against: Regression) -> Limit:
    """Compare in `strict` mode: non-inferiority to the last promoted candidate. Failed when the
    upper bound is below no difference or an episode is newly critical; met when the lower bound is
    within the margin; open in between, and while a part is not compared."""
    promoted, name = against.last_promoted, against.baseline
    if name is None and promoted is None:
        return NONE
    other = promoted is not None and promoted.candidate_id != name
    to = promoted.candidate_id if promoted is not None and other else name
    policy = f"no more than {against.margin:g} below {to}"
    if against.new_critical:
        return Limit("failed", f"new critical: {named(against.new_critical)}", policy)
    if against.difference is not None and against.high is not None and against.high < 0:
        seen = f"difference {against.difference:+.3f}, at most {against.high:+.3f}"
        return Limit("failed", seen, f"no worse than {name}")
    if promoted is not None and other:
        here = "" if promoted.here else " on this suite"
        seen = "no comparison" if name is None else f"compared with {name}"
        what = f"attempts of {to}" if here else f"a comparison with {to}"
        return Limit("open", seen, policy, f"{what}{here}: the last promoted candidate")
    if against.difference is None or against.low is None:
        return Limit("open", "not measured", policy, f"{name}: {against.why}")
    seen = f"difference {against.difference:+.3f}, at least {against.low:+.3f}"
    if against.not_compared:
        lacking = f"every verdict of {named(against.not_compared)} on both sides"
        return Limit("open", seen, policy, lacking)
    if Fraction(against.low) > -exact(against.margin):
        return Limit("met", seen, policy)
    more = against.more_unchanged_needed
    if more is None:
        return Limit("open", seen, policy, "a margin above 0: no evidence shows none at all")
    noun = "episode" if more == 1 else "episodes"
    return Limit("open", seen, policy, f"{more} more {noun} unchanged against {name}")


MOST_SLICES = 200
"""The most slices computed: those with the most episodes."""
_LEVEL = 0.05


class Slice(Struct, frozen=True, kw_only=True):
    """One slice. `low` and `high` hold together with those of all other slices in 95 of 100 cases;
    `at_least` and `at_most` are the corrected one-sided bounds of the difference to the baseline.
    `p` is left out under six changed episodes; `p_holm` is for the claim that it became worse,
    `look` (Benjamini-Hochberg) only for where to look first."""

    kind: str
    name: str
    episodes: int
    attempts: int
    passes: int
    value: float | None
    low: float | None
    high: float | None
    pass_hat: float | None
    critical: int
    compared: int = 0
    changed: int = 0
    difference: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    p: float | None = None
    p_holm: float | None = None
    look: bool = False
    worse: bool = False


class _SliceMembers(NamedTuple):
    kind: str
    name: str
    members: tuple[str, ...]


def slices(evidence: Evidence, shown: Figures) -> tuple[Slice, ...]:
    """Return categories, then tags, by name."""
    chosen = _chosen(evidence)
    now = {e.episode_id: e for e in shown.counted}
    made = {e.episode_id: e for e in shown.episodes}
    then = {e.episode_id: e.counted for e in evidence.baseline}
    k = evidence.suite.policy.pass_hat.k
    found = [_slice(one, len(chosen), k, now, made, then) for one in chosen]
    return tuple(_adjusted(found))


def _chosen(evidence: Evidence) -> list[_SliceMembers]:
    if evidence.suite.probe:
        return []
    members: dict[tuple[str, str], list[str]] = {}
    for episode in evidence.suite.episodes:
        members.setdefault(("category", episode.category), []).append(episode.episode_id)
        for tag in dict.fromkeys(episode.tags):
            members.setdefault(("tag", tag), []).append(episode.episode_id)
    whole = len(evidence.suite.episodes)
    parts = [
        _SliceMembers(kind, name, tuple(names))
        for (kind, name), names in members.items()
        if len(names) < whole
    ]
    parts.sort(key=lambda one: (-len(one.members), one.kind, one.name))
    return sorted(parts[:MOST_SLICES], key=lambda one: (one.kind, one.name))


def _slice(
    one: _SliceMembers,
    family: int,
    k: int,
    now: dict[str, EpisodeCounts],
    made: dict[str, EpisodeCounts],
    then: dict[str, EpisodeCounts],
) -> Slice:
    rows = [now[name] for name in one.members if name in now]
    tried = [(e.attempts, e.passes) for e in rows if e.attempts]
    attempts, passes = sum(n for n, _ in tried), sum(p for _, p in tried)
    value = low = high = hat = None
    if attempts and all(e.attempts == e.measured for e in rows):
        value, worth = passes / attempts, effective_attempts(tried)
        low, high = wilson_interval(value * worth, worth, 1.0 - _LEVEL / family)
        exact = exact_pass_hat([(e.measured, e.passes) for e in rows], k)
        hat = None if exact is None else float(exact)
    pairs = [
        (e, before)
        for e in rows
        if (before := then.get(e.episode_id)) is not None and decided(e) and decided(before)
    ]
    return Slice(
        kind=one.kind,
        name=one.name,
        episodes=len(one.members),
        attempts=attempts,
        passes=passes,
        value=value,
        low=stable_bits(low),
        high=stable_bits(high),
        pass_hat=hat,
        critical=sum(made[name].critical for name in one.members if name in made),
        **_difference(pairs, family),
    )


def _difference(
    pairs: Sequence[tuple[EpisodeCounts, EpisodeCounts]], family: int
) -> dict[str, Any]:
    if not pairs:
        return {}
    seen = change(pairs)
    bounds = adjusted_paired_interval(seen.now, seen.then, 1.0 - 2 * _LEVEL / family, seen.times)
    return {
        "compared": len(pairs),
        "changed": len(seen.changed),
        "difference": float(seen.difference),
        "at_least": stable_bits(bounds["low"]),
        "at_most": stable_bits(bounds["high"]),
        "p": seen.exact_p(),
    }


def _adjusted(found: list[Slice]) -> list[Slice]:
    """Adjust the p values of all slices. One without a p counts with p 1: it was looked at too."""
    compared = [one for one in found if one.compared]
    raw = [1.0 if one.p is None else one.p for one in compared]
    holm = dict(zip(map(id, compared), holm_adjust(raw), strict=True))
    first = dict(zip(map(id, compared), benjamini_hochberg_adjust(raw), strict=True))
    return [_with(one, holm.get(id(one)), first.get(id(one))) for one in found]


def _with(one: Slice, holm: float | None, first: float | None) -> Slice:
    if one.p is None or holm is None or first is None or one.difference is None:
        return one
    fell = one.difference < 0
    return structs.replace(
        one,
        p_holm=stable_bits(holm),
        look=fell and first <= _LEVEL,
        worse=fell and holm <= _LEVEL,
    )
