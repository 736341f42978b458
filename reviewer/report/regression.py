"""Candidate against baseline on the same episodes: lists first, then the difference.

The baseline is the one named, else the last promoted candidate, with which every release is
compared; if it was promoted on another version of the suite, the episodes with the same contract,
tools and simulator are compared. The bounds are Tango's with real counts, the test is the score
test of no difference (`stats.regression`). The exact sign-flip test is shown as well: with fewer
than six changed episodes it cannot reach 0.05, and the report says so instead of printing a p
value.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from msgspec import UNSET, Struct, UnsetType, structs

from reviewer.report.episodes import EpisodeCounts, Episodes, SideBySide
from reviewer.report.evidence import Evidence, PromotedCandidate
from reviewer.report.formatting import exact, named, stable_bits
from reviewer.report.limits import NONE, Limit
from reviewer.stats.paired import MIN_CHANGED_EPISODES, paired_signflip_exact
from reviewer.stats.regression import difference_bounds, score_at_zero, unchanged_episodes_needed
from reviewer.stats.special import normal_quantile

_MOST_CHANGED = 200
"""Changed episodes up to which the exact test is computed; with more, the bounds are enough."""
DEAD_FROM = 5
"""Attempts on either side from which an episode that passed all of them and now passes none is a
regression by itself. With fewer attempts, chance alone causes that too often."""
CHANCE = normal_quantile(0.05)
"""The score below which a difference is not explained by chance: -1.645."""


Pair = tuple[EpisodeCounts, EpisodeCounts, int]
"""Counts of candidate and baseline, and how many episodes have both."""


class Regression(Struct, frozen=True, kw_only=True):
    """The comparison with the baseline; `why` gives the reason when there is none.

    `baseline_suite` is another version of the suite, if the baseline's attempts are of that
    version; `without_baseline` are the episodes that it lacks with the same contract, tools and
    simulator. `in_doubt` are the episodes of `not_compared` for which the baseline lacks verdicts
    that could make the loss larger than chance explains. `lost` were stable (every attempt passed)
    and no longer are; `gained` the reverse; `dead` were stable and now pass no attempt,
    `dead_for_sure` are those with so many attempts that chance does not explain it. `difference` is
    candidate minus baseline in mean pass rate per episode, `low` and `high` its one-sided 95%
    bounds, `score` the score test of no difference. `verdict`: `worse`, `not worse` (by `margin`),
    `not shown`. `more_unchanged_needed` further episodes without a difference would show that it is
    not worse, `episodes_needed_if_unchanged` of them if there were no others. `last_promoted` is
    the last promoted candidate, compared with or not.
    """

    baseline: str | None
    baseline_suite: str | None = None
    last_promoted: PromotedCandidate | None
    why: str | None = None
    compared: int = 0
    not_compared: tuple[str, ...] = ()
    without_baseline: tuple[str, ...] = ()
    in_doubt: tuple[str, ...] | UnsetType = UNSET
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()
    dead_for_sure: tuple[str, ...] = ()
    new_critical: tuple[str, ...] = ()
    changed: int = 0
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    score: float | None = None
    margin: float = 0.0
    verdict: Literal["worse", "not worse", "not shown"] | None = None
    test: str | None = None
    p_value: float | None = None
    episodes_needed_if_unchanged: int | None = None
    more_unchanged_needed: int | None = None

    @property
    def chance(self) -> bool:
        """Return whether chance explains the difference, by the score test at 5%."""
        return self.score is None or self.score >= CHANCE


class _Met(NamedTuple):
    """The comparison of one episode's counts on both sides. `then` is None where the baseline lacks
    the episode; `best` are its counts at best, where its verdicts are missing. `dead` is the number
    of attempts on the side with fewer, if the baseline passed all and the candidate passes none."""

    now: EpisodeCounts
    then: EpisodeCounts | None
    new_critical: bool
    lost: bool
    new: bool = False
    apart: bool = False
    best: EpisodeCounts | None = None
    gained: bool = False
    dead: int = 0

    @property
    def named(self) -> bool:
        """Return whether the comparison names such an episode."""
        return any((self.new_critical, self.lost, self.new, self.apart, self.gained, self.dead))


def _met(
    made: EpisodeCounts,
    now: EpisodeCounts,
    base: EpisodeCounts | None,
    then: EpisodeCounts | None,
    other_suite: bool,
) -> _Met:
    """Compare all attempts (`made`, `base`) and those that count (`now`, `then`)."""
    grave = made.critical > 0 and not (base is not None and base.critical)
    # One failed attempt is enough to know that an episode is no longer stable.
    lost = then is not None and _stable(then) and now.measured > now.passes
    found = _Met(now, then, grave, lost)
    if then is None and other_suite:
        return found._replace(new=True)
    if then is None or not (decided(now) and decided(then)):
        return found._replace(apart=True, best=_at_best(then, now) if decided(now) else None)
    dead = min(now.attempts, then.attempts) if _stable(then) and not now.passes else 0
    return found._replace(gained=_stable(now) and not _stable(then), dead=dead)


def _kinds_met(
    rows: Episodes, base: Episodes, other_suite: bool
) -> tuple[list[tuple[_Met, int]], Iterator[tuple[str, _Met]]]:
    """Compare each kind of counts once: return each with the number of its episodes, by first
    occurrence, and the episodes that the comparison names."""
    both = SideBySide(rows, base)
    times = Counter(both.keys)
    met = {key: _met(*both.counts(key), other_suite) for key in times}
    told = {key: one for key, one in met.items() if one.named}
    here = zip(rows.names, both.keys, strict=True) if told else ()
    named_here = ((name, told[key]) for name, key in here if key in told)
    return [(met[key], many) for key, many in times.items()], named_here


def regression(evidence: Evidence, rows: Iterable[EpisodeCounts]) -> Regression:
    """Compare the candidate's counts with the baseline's. Pure; `assess` decides which part of it
    gates."""
    margin = evidence.suite.policy.regression.margin
    if evidence.baseline_id is None:
        return Regression(
            baseline=None,
            why=_no_baseline(evidence.promoted),
            margin=margin,
            last_promoted=evidence.promoted,
        )
    other_suite = evidence.baseline_suite is not None
    kinds, named_here = _kinds_met(Episodes.of(rows), Episodes.of(evidence.baseline), other_suite)
    dead: list[tuple[str, int]] = []
    lists: tuple[list[str], ...] = ([], [], [], [], [], [])
    lost, gained, new_critical, apart, new, doubted = lists
    for name, one in named_here:
        for where, holds in (
            *((new_critical, one.new_critical), (lost, one.lost), (gained, one.gained)),
            *((new, one.new), (apart, one.apart), (doubted, one.best is not None)),
        ):
            if holds:
                where.append(name)
        if one.dead:
            dead.append((name, one.dead))
    found = Regression(
        baseline=evidence.baseline_id,
        baseline_suite=evidence.baseline_suite,
        why="no episode with every verdict measured on both sides",
        not_compared=tuple(apart),
        without_baseline=tuple(new),
        lost=tuple(lost),
        gained=tuple(gained),
        dead=tuple(name for name, _ in dead),
        dead_for_sure=tuple(name for name, attempts in dead if attempts >= DEAD_FROM),
        new_critical=tuple(new_critical),
        margin=margin,
        verdict="worse" if new_critical else "not shown",
        episodes_needed_if_unchanged=unchanged_episodes_needed([], margin),
        last_promoted=evidence.promoted,
    )
    pairs = [
        (one.now, one.then, many)
        for one, many in kinds
        if one.then is not None and not (one.apart or one.new)
    ]
    if not pairs:
        return found
    found = _compared(found, pairs)
    unknown = [(one.now, one.best, many) for one, many in kinds if one.best is not None]
    if unknown and found.chance and _beyond_chance(pairs, unknown):
        return structs.replace(found, in_doubt=tuple(doubted))
    return found


def _at_best(then: EpisodeCounts | None, now: EpisodeCounts) -> EpisodeCounts:
    """Return the baseline's counts of an episode if every missing verdict were a pass."""
    if then is None or not then.attempts:
        return structs.replace(now, measured=now.attempts, passes=now.attempts)
    passes = then.passes + then.attempts - then.measured
    return structs.replace(then, measured=then.attempts, passes=passes)


def _beyond_chance(pairs: Sequence[Pair], unknown: Sequence[Pair]) -> bool:
    """Return whether the loss would be beyond chance with these verdicts of the baseline."""
    score = score_at_zero(change([*pairs, *unknown]).differences)
    if score is not None and score < CHANCE:
        return True
    return any(
        _stable(then) and not now.passes and min(now.attempts, then.attempts) >= DEAD_FROM
        for now, then, _ in unknown
    )


def _no_baseline(promoted: PromotedCandidate | None) -> str:
    if promoted is None:
        return "no baseline named, and no other candidate is promoted"
    return (
        f"{promoted.candidate_id}, promoted by decision {promoted.number} on {promoted.suite_id} "
        f"(digest {promoted.suite_digest[:8]}…), has no attempt on this suite, and no episode here "
        "has the contract, tools and simulator that it had there"
    )


class Change(NamedTuple):
    """Pairs of candidate and baseline, each kind once: its pass rates `now` and `then`, and how
    many `times` it occurs. `difference` is the exact mean, `differences` how often each difference
    occurs, `changed` the rates that differ.
    """

    now: list[float]
    then: list[float]
    times: list[int]
    difference: Fraction
    differences: list[tuple[Fraction, int]]
    changed: list[tuple[Fraction, Fraction]]

    def exact_p(self) -> float | None:
        """Return the exact sign-flip p; None with fewer than six changed episodes, or with too
        many."""
        if not MIN_CHANGED_EPISODES <= len(self.changed) <= _MOST_CHANGED:
            return None
        try:
            now, then = zip(*self.changed, strict=True)
            return stable_bits(paired_signflip_exact(now, then)["p"])
        except ValueError:
            return None  # episodes with many different numbers of attempts


def change(pairs: Iterable[Pair]) -> Change:
    """Compare the sides of these pairs, of which there is at least one."""
    alike = Counter[tuple[int, int, int, int]]()
    for n, t, many in pairs:
        alike[n.passes, n.attempts, t.passes, t.attempts] += many
    found = Change([], [], list(alike.values()), Fraction(0), [], [])
    total = Fraction(0)
    for (passed, made, passed_then, made_then), count in alike.items():
        now, then = Fraction(passed, made), Fraction(passed_then, made_then)
        found.now.append(float(now))
        found.then.append(float(then))
        found.differences.append((now - then, count))
        total += (now - then) * count
        if now != then:
            found.changed.extend([(now, then)] * count)
    return found._replace(difference=total / alike.total())


def _compared(found: Regression, pairs: Sequence[Pair]) -> Regression:
    seen = change(pairs)
    changed = len(seen.changed)
    bounds = difference_bounds(seen.differences)
    p_value = seen.exact_p()
    if changed < MIN_CHANGED_EPISODES:
        test = f"fewer than {MIN_CHANGED_EPISODES} changed ({changed}): no test can reach 0.05"
    else:
        test = "exact sign-flip test over episodes, two-sided"
        if p_value is None:
            test = f"{changed} changed: too many for the exact test, see the bounds"
    verdict = found.verdict
    if bounds.high < 0:
        verdict = "worse"
    elif verdict != "worse" and _within(stable_bits(bounds.low), found.margin):
        verdict = "not worse"
    return structs.replace(
        found,
        why=None,
        compared=sum(many for _, _, many in pairs),
        changed=changed,
        difference=float(seen.difference),
        low=stable_bits(bounds.low),
        high=stable_bits(bounds.high),
        score=stable_bits(score_at_zero(seen.differences)),
        verdict=verdict,
        test=test,
        p_value=p_value,
        more_unchanged_needed=unchanged_episodes_needed(seen.differences, found.margin),
    )


def _within(low: float | None, margin: float) -> bool:
    return low is not None and Fraction(low) > -exact(margin)


def decided(e: EpisodeCounts) -> bool:
    """Return whether there is an attempt, and every attempt has a verdict."""
    return 0 < e.attempts == e.measured


def _stable(e: EpisodeCounts) -> bool:
    return 0 < e.attempts == e.passes


def point_limit(against: Regression) -> Limit:
    """Compare in `point` mode. Failed when an episode is newly critical, when one that passed every
    attempt passes none of five or more, or when the score test says that chance does not explain
    the difference; open where missing verdicts of the baseline could lead to that. Lost, gained and
    dead episodes are named in any case."""
    if against.baseline is None:
        return _run_here(against) if against.last_promoted is not None else NONE
    policy = f"no worse than {against.baseline} beyond chance"
    held_to = f"no worse than {_compared_to(against)} beyond chance"
    if against.new_critical:
        return Limit("failed", f"new critical: {named(against.new_critical)}", policy)
    if against.difference is None:
        return _other_named(against, held_to) or _unmeasured(against, policy)
    seen = f"difference {against.difference:+.3f}"
    if against.score is not None:
        seen += f", score {against.score:+.2f}"
    noted = _noted(against)
    if against.dead_for_sure:
        return Limit("failed", f"dead {named(against.dead_for_sure)}; {seen}{noted}", policy)
    if not against.chance:
        return Limit("failed", f"{seen}{noted}", f"{policy}: a score of {CHANCE:.3f} or more")
    if (other := _other_named(against, held_to)) is not None:
        return other
    if against.in_doubt is not UNSET:
        lacking = f"every verdict of {against.baseline} in {named(against.in_doubt)}"
        return Limit("open", f"{seen}{noted}", policy, lacking)
    return Limit("met", f"{seen}{noted}", policy)


def _noted(against: Regression) -> str:
    found = [
        f"{word} {named(names)}"
        for word, names in (
            ("lost", against.lost),
            ("gained", against.gained),
            ("dead", () if against.dead_for_sure else against.dead),
        )
        if names
    ]
    return "".join(f"; {text}" for text in found)


def _compared_to(against: Regression) -> str | None:
    """Return the candidate with which a release is compared: the last promoted one, else the
    baseline."""
    promoted = against.last_promoted
    return against.baseline if promoted is None else promoted.candidate_id


def _other_named(against: Regression, policy: str) -> Limit | None:
    """Return the open limit where a baseline other than the last promoted candidate is named: a
    comparison with a worse candidate says nothing about the one in use."""
    promoted, name = against.last_promoted, against.baseline
    if promoted is None or promoted.candidate_id == name:
        return None
    what = "a comparison with {}" if promoted.here else "attempts of {} on this suite"
    lacking = f"{what.format(promoted.candidate_id)}: the last promoted candidate"
    return Limit("open", f"compared with {name}", policy, lacking)


def _run_here(against: Regression) -> Limit:
    """Return the open limit while no attempt of the last promoted candidate is comparable."""
    promoted = against.last_promoted
    name = "" if promoted is None else promoted.candidate_id
    lacking = f"run the baseline on this suite: attempts of {name}, the last promoted candidate"
    return Limit("open", "no comparison", f"compared with {name}", lacking)


def _unmeasured(against: Regression, policy: str) -> Limit:
    if against.without_baseline and not against.not_compared:
        lacking = f"run the baseline on this suite: attempts of {against.baseline}"
        return Limit("open", "no comparison", policy, lacking)
    return Limit("open", "not measured", policy, f"{against.baseline}: {against.why}")


def not_worse_limit(against: Regression) -> Limit:
    """Compare in `strict` mode: non-inferiority to the last promoted candidate. Failed when the
    upper bound is below 0 or an episode is newly critical; met when the lower bound is within the
    margin; open in between, and while a part is not compared."""
    promoted, name = against.last_promoted, against.baseline
    if name is None:
        return NONE if promoted is None else _run_here(against)
    policy = f"no more than {against.margin:g} below {_compared_to(against)}"
    if against.new_critical:
        return Limit("failed", f"new critical: {named(against.new_critical)}", policy)
    if against.difference is not None and against.high is not None and against.high < 0:
        seen = f"difference {against.difference:+.3f}, at most {against.high:+.3f}"
        return Limit("failed", seen, f"no worse than {name}")
    if (other := _other_named(against, policy)) is not None:
        return other
    if against.difference is None or against.low is None:
        return _unmeasured(against, policy)
    seen = f"difference {against.difference:+.3f}, at least {against.low:+.3f}"
    if against.not_compared:
        lacking = f"every verdict of {named(against.not_compared)} on both sides"
        return Limit("open", seen, policy, lacking)
    if _within(against.low, against.margin):
        return Limit("met", seen, policy)
    more = against.more_unchanged_needed
    if more is None:
        return Limit("open", seen, policy, "a margin above 0: no evidence shows none at all")
    noun = "episode" if more == 1 else "episodes"
    return Limit("open", seen, policy, f"{more} more {noun} unchanged against {name}")
