"""What a pipeline pins, and what of it a decision does not meet."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from reviewer.signing.parts import parse_time
from reviewer.signing.predicate import Predicate
from reviewer.signing.signers import Signers

CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, kw_only=True)
class Pins:
    """Digests are sha256 in hex, with or without `sha256:`; None pins nothing.

    `threshold` is the least number of approvers of a PROMOTE, `min_seq` the highest decisionSeq
    already seen for this agent and environment, `max_days` the longest that a decision may last.
    `report` is the report.json the decision must be about and agree with. `attestations` are signed
    test results by file name: each that the decision refers to must be among them.
    `witness` is a file of heads that the decision must be in, and must not contradict.
    """

    threshold: int | None = None
    environment: str | None = None
    suite_digest: str | None = None
    policy_digest: str | None = None
    report_digest: str | None = None
    signers_digest: str | None = None
    min_seq: int | None = None
    max_days: int | None = None
    report: bytes | None = None
    attestations: Mapping[str, bytes] | None = None
    witness: bytes | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and self.threshold < 1:
            raise ValueError("threshold must be at least 1")


def environment_faults(environment: str, pins: Pins) -> list[str]:
    if pins.environment is None or environment == pins.environment:
        return []
    return [f"it is for {environment}, not for the environment asked for"]


def pin_faults(predicate: Predicate, trusted: Signers, pins: Pins) -> list[str]:
    """Every pin that the decision does not meet."""
    faults = environment_faults(predicate.environment, pins)
    digests = (
        ("suite", predicate.suite.digest.sha256, pins.suite_digest),
        ("policy", predicate.policy.digest.sha256, pins.policy_digest),
        ("report", predicate.report.digest.sha256, pins.report_digest),
        ("trust file", trusted.sha256, pins.signers_digest),
    )
    faults += [
        f"the {what}'s digest is {found}, not the pinned one"
        for what, found, pinned in digests
        if pinned is not None and found != pinned.removeprefix("sha256:").lower()
    ]
    if pins.min_seq is not None and predicate.decision_seq < pins.min_seq:
        faults.append(f"decision {predicate.decision_seq} is older than {pins.min_seq}")
    return faults


def term_faults(predicate: Predicate, pins: Pins) -> list[str]:
    """Return whether a decision lasts longer than its policy lets it: as it says itself, and as the
    policy that the pipeline holds says."""
    lasts = parse_time(predicate.expires) - parse_time(predicate.time_created)
    limits = [days for days in (predicate.approvals.max_days, pins.max_days) if days is not None]
    if not limits or lasts / timedelta(days=1) <= min(limits):
        return []
    return [
        f"it lasts until {predicate.expires}, longer than the {min(limits)} days after"
        f" {predicate.time_created} that its policy allows"
    ]


def time_faults(created: str, expires: str, now: datetime) -> list[str]:
    if parse_time(expires) <= now:
        return [f"expired at {expires}"]
    if parse_time(created) > now + CLOCK_SKEW:
        return [f"made in the future, at {created}"]
    return []
