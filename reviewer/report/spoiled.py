"""Whether the simulated users of candidate and baseline spoiled similar shares of the
conversations: if not, the remaining attempts were selected differently and cannot be compared."""

from msgspec import Struct

from reviewer.report.evidence import Evidence
from reviewer.report.formatting import stable_bits
from reviewer.stats.rates import fisher_exact

CHANCE = 0.05
"""The p value under which chance does not explain the difference."""


class BaselineTalks(Struct, frozen=True, kw_only=True):
    """The baseline's conversations, and the p value for equal shares of spoiled ones (Fisher's
    exact test)."""

    attempts: int
    spoiled: int
    p_value: float

    @property
    def uneven(self) -> bool:
        """Return whether the shares differ beyond chance."""
        return self.p_value < CHANCE


def baseline_talks(evidence: Evidence) -> BaselineTalks | None:
    """Return the baseline's conversations; None where either side has none."""
    talks, before = evidence.talks, evidence.baseline_talks
    if talks is None or before is None:
        return None
    p = fisher_exact((talks.spoiled, talks.attempts), (before.spoiled, before.attempts))
    return BaselineTalks(attempts=before.attempts, spoiled=before.spoiled, p_value=stable_bits(p))


def uneven_text(spoiled: int, attempts: int, before: BaselineTalks) -> str:
    """Return the sentence on shares that differ."""
    return (
        f"user spoiled {spoiled} of {attempts} of the candidate's conversations and "
        f"{before.spoiled} of {before.attempts} of the baseline's (p {before.p_value:.2g}): "
        "the comparison with the baseline does not hold"
    )
