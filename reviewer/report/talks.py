"""The errors of simulated users, beside the candidate's figures: how many conversations had one by
rule, how many were spoiled by it, and whether the baseline's were spoiled as often. And the
attempts whose user a person plays, which repeat nothing."""

from msgspec import UNSET, UnsetType

from reviewer.report.evidence import Evidence
from reviewer.report.figures import Figures
from reviewer.report.formatting import limits, number, plural, stable_bits
from reviewer.report.limits import MOST_DISCARDED
from reviewer.report.model import CodeCount, PersonEpisode, TalkSection
from reviewer.report.spoiled import baseline_talks, uneven_text
from reviewer.stats.rates import clopper_pearson


def talk_section(evidence: Evidence) -> TalkSection | UnsetType:
    """Return the report's member on simulated users, unset where no attempt was a conversation.
    The limits are of 95 %, over attempts."""
    talks = evidence.talks
    if talks is None:
        return UNSET
    low, high = clopper_pearson(talks.faulty, talks.attempts)
    before = baseline_talks(evidence)
    return TalkSection(
        attempts=talks.attempts,
        spoiled=talks.spoiled,
        with_errors=talks.faulty,
        value=stable_bits(talks.faulty / talks.attempts),
        low=stable_bits(low),
        high=stable_bits(high),
        codes=tuple(CodeCount(code=code, count=count) for code, count in talks.codes),
        baseline=UNSET if before is None else before,
        comparable=talks.spoiled <= MOST_DISCARDED * talks.attempts
        and not (before and before.uneven),
    )


def talk_texts(talks: TalkSection | UnsetType) -> list[str]:
    """Return the same as sentences; none where no attempt was a conversation."""
    if talks is UNSET:
        return []
    told = (
        f"user spoiled {talks.spoiled} of {plural(talks.attempts, 'conversation')}; errors by rule "
        f"in {talks.with_errors}: {number(talks.value)} {limits(talks.low, talks.high)}, a floor"
    )
    if talks.spoiled > MOST_DISCARDED * talks.attempts:
        told += "; more than a tenth is spoiled, so candidates do not compare on the rest"
    before = talks.baseline
    if before is UNSET or not before.uneven:
        return [told]
    return [told, uneven_text(talks.spoiled, talks.attempts, before)]


def person_episodes(evidence: Evidence, shown: Figures) -> tuple[PersonEpisode, ...]:
    """Return the episodes whose user a person plays, in suite order."""
    return tuple(
        PersonEpisode(
            episode_id=e.episode_id,
            attempts=e.attempts,
            passes=e.passes,
            fails=e.measured - e.passes,
            not_measured=e.attempts - e.measured,
        )
        for e in shown.episodes
        if e.episode_id in evidence.by_person
    )


def person_texts(episodes: tuple[PersonEpisode, ...] | UnsetType, k: int) -> list[str]:
    """Return the same as a sentence; none where there is no such episode."""
    if not episodes:
        return []
    told = (f"{one.episode_id} {_passed(one)}" for one in episodes)
    return [f"user played by a person, not repeatable and not in pass^{k}: {', '.join(told)}"]


def _passed(one: PersonEpisode) -> str:
    left = f", {one.not_measured} not measured" if one.not_measured else ""
    return f"{one.passes} of {plural(one.attempts, 'attempt')} passed{left}"
