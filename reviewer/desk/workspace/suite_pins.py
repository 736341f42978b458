"""What a suite's folder lets a pipeline pin: its digest, its policy, and how many must approve."""

from pathlib import Path
from typing import NamedTuple

from reviewer.desk.decisions.policies import policy_digest
from reviewer.desk.errors import DeskError
from reviewer.desk.suites import state_of
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import read_suite


class SuitePins(NamedTuple):
    """Digests are sha256 in hex; `threshold` is the number of approvers of a PROMOTE, `max_days`
    the longest a decision may last, None without a limit."""

    suite_digest: str
    policy_digest: str
    threshold: int
    max_days: int | None


def suite_pins(folder: Path) -> SuitePins:
    """Of a frozen suite. Raises DeskError for a folder that is none, or is not as it was frozen."""
    state, problem = state_of(folder)
    if state is None or problem:
        raise DeskError(problem)
    try:
        suite = read_suite(folder).suite
    except ContractError as error:
        raise DeskError(str(error)) from error
    approvals = suite.policy.approvals
    return SuitePins(
        suite.digest, policy_digest(suite.policy), approvals.promote, approvals.longest
    )
