"""The decisions that may be signed on a report, and how long they are valid."""

from collections.abc import Collection
from datetime import timedelta

from reviewer.desk.decisions.api import Choice, DecisionView, EarlierDecision, Pending
from reviewer.desk.errors import DeskError
from reviewer.desk.reports.api import CandidateReport
from reviewer.desk.reports.release import BuiltRelease
from reviewer.exit_codes import ExitCode
from reviewer.report.assess import Recommendation
from reviewer.suite.model import Policy

DECISIONS = ("PROMOTE", "BLOCK", "REPAIR")
ENVIRONMENT = "production"
VALID_FOR = timedelta(days=7)
"""Short, so that a BLOCK that does not arrive cannot matter for long."""
DRAFT = "the suite is a draft: freeze it, then run"
_OWN = {"promote": "PROMOTE", "block": "BLOCK", "repair": "REPAIR"}


def valid_for(policy: Policy) -> timedelta:
    """Return how long a decision under this policy is valid."""
    longest = policy.approvals.longest
    return VALID_FOR if longest is None else min(VALID_FOR, timedelta(days=longest))


def choices(
    recommendation: Recommendation,
    reasons: int,
    pending: Pending | None = None,
    draft: bool = False,
) -> tuple[Choice, ...]:
    """Return the decisions that may be signed: PROMOTE only when the report recommends it, BLOCK
    and REPAIR always. A decision that waits for a signature comes first, if this store derives the
    same. None can be signed on a draft."""
    why = ""
    if draft:
        return tuple(Choice(decision=word, open=False, why=DRAFT) for word in DECISIONS)
    if (
        pending is not None
        and not pending.differs
        and (pending.decision, pending.environment) == ("PROMOTE", ENVIRONMENT)
    ):
        why = f"decision {pending.number} already says so"
    if recommendation != "promote":
        numbers = f" ({' '.join(str(n + 1) for n in range(min(reasons, 9)))})" if reasons else ""
        why = f"the report says {recommendation}{numbers}"
    return (
        *(() if pending is None else (_adding(pending),)),
        Choice(decision="PROMOTE", open=not why, why=why),
        Choice(decision="BLOCK", open=True, why=""),
        Choice(decision="REPAIR", open=True, why=""),
    )


def preselected(recommendation: Recommendation, pending: Pending | None = None) -> str | None:
    """Return the decision that is selected initially: the one the report recommends, or the one
    that waits for a signature."""
    if pending is not None and not pending.differs:
        return pending.decision
    return _OWN.get(recommendation)


def _adding(pending: Pending) -> Choice:
    signed = f"{len(pending.signers)} of {pending.needed}"
    who = f" ({', '.join(pending.signers)})" if pending.signers else ""
    why = f"decision {pending.number} waits, {signed} signed{who}"
    if pending.differs:
        why = f"decision {pending.number} differs here: {pending.differs[0]}"
    return Choice(decision=pending.decision, open=not pending.differs, why=why, adds=pending.number)


def require_choice(
    built: CandidateReport, decision: str, comment: str, release: BuiltRelease | None = None
) -> None:
    """Raise DeskError when this decision cannot be signed on this report, or on the `release` of
    several suites that the report is a part of."""
    if built.gathered.draft:
        raise DeskError(
            f"nothing can be signed: {DRAFT}",
            "reviewer suite freeze makes a suite of the draft; then run it again",
            exit_code=ExitCode.NOT_PROMOTED,
        )
    recommendation = built.assessment.recommendation
    against = [reason.text for reason in built.assessment.reasons]
    if release is not None:
        recommendation, against = release.report.recommendation, list(release.report.reasons)
        for one in release.suites:
            require_manifest(one.built)
    if decision not in DECISIONS:
        raise DeskError(
            f"{decision!r} is not one of {', '.join(DECISIONS)}",
            "sign one of these",
            exit_code=ExitCode.USAGE,
        )
    if decision == "PROMOTE" and recommendation != "promote":
        raise DeskError(
            f"PROMOTE cannot be signed: the report recommends {recommendation} "
            f"({'; '.join(against)})",
            "sign BLOCK or REPAIR, or repair the candidate and run it again",
            exit_code=ExitCode.NOT_PROMOTED,
        )
    if recommendation in ("promote", "hold") and decision != "PROMOTE" and not comment.strip():
        raise DeskError(
            f"a comment is required: the report recommends {recommendation}, you sign {decision}",
            "--comment says why",
            exit_code=ExitCode.USAGE,
        )
    require_manifest(built)


def require_manifest(built: CandidateReport) -> None:
    """Raise DeskError when the candidate has no manifest: a decision is about a manifest."""
    if built.gathered.manifest is None or built.gathered.candidate is None:
        raise DeskError(
            f"{built.gathered.candidate_id} has no manifest: a decision is about a manifest's "
            "digest, so there is nothing to sign",
            f"write candidates/{built.gathered.candidate_id}.json in the suite's folder, then "
            "import its traces",
        )


def signed_before(
    view: DecisionView, decision: str, people: Collection[str], environment: str = ENVIRONMENT
) -> EarlierDecision | None:
    """Return the newest decision in which one of these people decided the same on exactly this
    report."""
    said = [
        one
        for one in view.earlier
        if (one.word, one.report_digest, one.environment)
        == (decision, view.report_digest, environment)
        and set(one.signers).intersection(people)
        and one.sound
        and one.number is not None
    ]
    return said[-1] if said else None
