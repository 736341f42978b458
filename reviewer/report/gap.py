"""One thing that a promotion still needs."""

from msgspec import Struct

from reviewer.report.references import EvidenceRef


class Gap(Struct, frozen=True, kw_only=True):
    """One thing not measured: `text` as a reason, `need` as a sentence, `short` for a banner."""

    text: str
    observed: str
    policy: str
    need: str
    short: str
    where: EvidenceRef | None = None
    """The first place that shows it."""


def gap(what: str, observed: str, policy: str, need: str) -> Gap:
    """What is missing as a reason, and what closes it."""
    return Gap(
        text=f"evidence missing: {what}",
        observed=observed,
        policy=policy,
        need=need,
        short=f"needs {need}",
    )


def plural(noun: str, count: int) -> str:
    """The noun alone, in the number of the count."""
    return noun if count == 1 else f"{noun}s"
