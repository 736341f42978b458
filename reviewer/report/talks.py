"""The errors of simulated users, beside the candidate's figures: how many conversations had one by
rule, and how many were spoiled by it."""

from msgspec import UNSET, UnsetType

from reviewer.report.formatting import limits, number, plural, stable_bits
from reviewer.report.gaps import MOST_DISCARDED
from reviewer.report.model import CodeCount, TalkSection
from reviewer.stats.figures import UserTalks
from reviewer.stats.rates import clopper_pearson


def talk_section(talks: UserTalks) -> TalkSection:
    """Return the report's member on simulated users. The limits are of 95 %, over attempts."""
    low, high = clopper_pearson(talks.faulty, talks.attempts)
    return TalkSection(
        attempts=talks.attempts,
        spoiled=talks.spoiled,
        with_errors=talks.faulty,
        value=stable_bits(talks.faulty / talks.attempts),
        low=stable_bits(low),
        high=stable_bits(high),
        codes=tuple(CodeCount(code=code, count=count) for code, count in talks.codes),
        comparable=talks.spoiled <= MOST_DISCARDED * talks.attempts,
    )


def talk_texts(talks: TalkSection | UnsetType) -> list[str]:
    """Return the same as a sentence; none where no attempt was a conversation."""
    if talks is UNSET:
        return []
    told = (
        f"user spoiled {talks.spoiled} of {plural(talks.attempts, 'conversation')}; errors by rule "
        f"in {talks.with_errors}: {number(talks.value)} {limits(talks.low, talks.high)}, a floor"
    )
    if talks.comparable:
        return [told]
    return [f"{told}; more than a tenth is spoiled, so candidates do not compare on the rest"]
