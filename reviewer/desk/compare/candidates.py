"""Two candidates of one suite: the report's own regression, episode by episode."""

from math import gcd
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.connection import Connection
from reviewer.desk.baseline import usual_other
from reviewer.desk.compare import sentences
from reviewer.desk.compare.views import (
    Comparison,
    EpisodeChange,
    EpisodeWord,
    Outcome,
)
from reviewer.desk.errors import DeskError
from reviewer.desk.made_of import MadeOf
from reviewer.desk.reports.api import CandidateAssessment, Reports
from reviewer.desk.scorecards.scorecard import rate_view
from reviewer.desk.views import Rate, SuiteInfo
from reviewer.exit_codes import ExitCode
from reviewer.report.episodes import EpisodeCounts, Episodes, SideBySide
from reviewer.suite.gates import GATES

ORDER: tuple[EpisodeWord, ...] = ("lost", "gained", "changed", "unchanged", "not compared")


class Compared(NamedTuple):
    """A comparison, and what its two sides were made of, as far as that is known."""

    comparison: Comparison
    made_of: tuple[MadeOf, ...]


class CandidatePair(NamedTuple):
    """The two candidates compared, among all candidates of the suite by id."""

    baseline_id: str
    candidate_id: str
    candidates: tuple[str, ...]


def candidate_pair(
    connection: Connection, suite: int, candidate_id: str, baseline_id: str | None
) -> CandidatePair:
    """Choose the two candidates. Without a baseline: the last other candidate promoted, else the
    one registered before; for the first candidate, the next one, with the first as the baseline.

    Raises DeskError when the candidate is the only one, unknown, or its own baseline.
    """
    rows = registry.candidates(connection, suite)
    names = tuple(row.candidate_id for row in rows)
    for name in (candidate_id, baseline_id):
        if name is not None and name not in names:
            raise DeskError(
                f"no trace of {name} on this suite is in the store: there are {', '.join(names)}",
                "reviewer run SUITE CANDIDATE, or reviewer import FILE with its traces",
            )
    if baseline_id is not None:
        if baseline_id == candidate_id:
            raise DeskError(
                f"{candidate_id} cannot be compared with itself: name two candidates, or two"
                " attempts",
                "reviewer compare --attempts TRACE TRACE",
                exit_code=ExitCode.USAGE,
            )
        return CandidatePair(baseline_id, candidate_id, names)
    other = usual_other(connection, rows, candidate_id)
    if other is None:
        raise DeskError(
            f"there is only one candidate, {candidate_id}; a comparison needs two on the same "
            "suite",
            "run another (reviewer run), or import its traces (reviewer import)",
        )
    if other.later:
        return CandidatePair(candidate_id, other.candidate_id, names)
    return CandidatePair(other.candidate_id, candidate_id, names)


def compare_candidates(
    connection: Connection, reports: Reports, suite: SuiteInfo, key: int, who: CandidatePair
) -> Compared:
    """Return the report's comparison of the candidate with this baseline, episode by episode.

    `key` is the suite's key in the store. Raises DeskError as a report does.
    """
    asked = [(who.candidate_id, who.baseline_id), (who.baseline_id, None)]
    now, then = reports.assessed_each(connection, suite.suite_id, asked)
    made_of = (now.made_of, then.made_of)
    names, held = now.assessment.figures.episodes.names, registry.episode_range(connection, key)
    keys = dict(zip(names, held, strict=True)) if len(held) == len(names) else None
    found = comparison(suite, who, now, then, keys or registry.episode_ids(connection, key))
    return Compared(found, tuple(one for one in made_of if one is not None))


def comparison(
    suite: SuiteInfo,
    who: CandidatePair,
    now: CandidateAssessment,
    then: CandidateAssessment,
    keys: dict[str, int],
) -> Comparison:
    """Return the comparison of two candidates whose figures are given; `keys` are those of the
    episodes in the store."""
    against = now.assessment.regression
    episodes = _episodes(now, keys)
    by_word = {word: tuple(e.episode_id for e in episodes if e.change == word) for word in ORDER}
    rates = _rate(then), _rate(now)
    return Comparison(
        suite=suite,
        baseline_id=who.baseline_id,
        candidate_id=who.candidate_id,
        candidates=who.candidates,
        episodes=episodes,
        lost=against.lost,
        gained=against.gained,
        changed=by_word["changed"],
        unchanged=by_word["unchanged"],
        not_compared=against.not_compared,
        new_critical=against.new_critical,
        hard_pass=rates,
        compared=against.compared,
        difference=against.difference,
        low=against.low,
        high=against.high,
        p_value=against.p_value,
        margin=against.margin,
        verdict=against.verdict or "not shown",
        sentence=sentences.sentence(against, by_word),
        figures=sentences.figures(against, rates),
        test=sentences.tested(against),
        conclusion=sentences.conclusion(against),
        amounts=sentences.amounts(then.assessment, now.assessment),
    )


class _Shown(NamedTuple):
    """How an episode with some counts on both sides is shown, and its place in the list."""

    word: EpisodeWord
    baseline: Outcome
    candidate: Outcome
    why: str
    rank: tuple[int, bool, int]


def _episodes(now: CandidateAssessment, keys: dict[str, int]) -> tuple[EpisodeChange, ...]:
    """Return the episodes by their change, critical failures first. Most episodes have equal
    counts, which are looked at once."""
    rows = now.assessment.figures.episodes
    both = SideBySide(rows, Episodes.of(now.gathered.baseline))
    titles = {episode.episode_id: episode.title for episode in now.gathered.suite.episodes}
    against = now.assessment.regression
    words: dict[str, EpisodeWord] = dict.fromkeys(against.not_compared, "not compared")
    words |= dict.fromkeys(against.gained, "gained")
    words |= dict.fromkeys(against.lost, "lost")
    grave = set(against.new_critical)
    known: dict[tuple[object, ...], _Shown] = {}
    ranked: dict[tuple[int, bool, int], list[EpisodeChange]] = {}
    for name, key in zip(rows.names, both.keys, strict=True):
        word, critical = words.get(name), name in grave
        alike = key, word, critical
        if (shown := known.get(alike)) is None:
            shown = known[alike] = _shown(*both.counts(key), word, critical)
            ranked.setdefault(shown.rank, [])
        ranked[shown.rank].append(
            EpisodeChange(
                key=keys.get(name, 0),
                episode_id=name,
                title=titles.get(name, ""),
                change=shown.word,
                baseline=shown.baseline,
                candidate=shown.candidate,
                new_critical=critical,
                why=shown.why,
            )
        )
    return tuple(one for rank in sorted(ranked) for one in ranked[rank])


_NOTHING = EpisodeCounts(episode_id="")


def _shown(
    made: EpisodeCounts,
    now: EpisodeCounts,
    base: EpisodeCounts | None,
    then: EpisodeCounts | None,
    word: EpisodeWord | None,
    new_critical: bool,
) -> _Shown:
    base, then = base or _NOTHING, then or _NOTHING
    if word is None:
        word = "changed" if _said(made, now) != _said(base, then) else "unchanged"
    why = _why(then, now) if word == "not compared" else ""
    rank = ORDER.index(word), not new_critical, -base.critical
    return _Shown(word, _outcome(base, then), _outcome(made, now), why, rank)


def _said(made: EpisodeCounts, e: EpisodeCounts) -> tuple[object, ...]:
    """Return the gates' results on an episode in a form that does not depend on the number of its
    attempts: of all of them, and of those that count."""
    whole = gcd(e.passes, e.attempts)
    rate = (e.passes // whole, e.attempts // whole) if e.attempts else None
    return rate, made.critical > 0, *(n > 0 for n in e.gate_fail), *(n > 0 for n in e.gate_unknown)


def _outcome(made: EpisodeCounts, e: EpisodeCounts) -> Outcome:
    return Outcome(
        passes=e.passes,
        measured=e.measured,
        attempts=e.attempts,
        critical=made.critical,
        gates_failing=tuple(g for g, n in zip(GATES, e.gate_fail, strict=True) if n),
    )


def _why(then: EpisodeCounts, now: EpisodeCounts) -> str:
    told = []
    for name, e in (("baseline", then), ("candidate", now)):
        if not e.attempts:
            told.append(f"the {name} has no attempt that counts")
        elif e.measured < e.attempts:
            open_ = e.attempts - e.measured
            told.append(f"the {name} has {open_} of {e.attempts} attempts without a verdict")
    return "; ".join(told)


def _rate(side: CandidateAssessment) -> Rate:
    shown = side.assessment.figures.hard_pass
    return rate_view(shown, side.gathered.suite.policy.hard_pass_rate)
