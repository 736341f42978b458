"""The shipped suite whose calls need approvals, in a workspace of a test."""

import shutil

from doors import REPOSITORY, Door

PAYOUTS, GOOD, BAD = "payouts-v1", "payout-agent-v2", "payout-agent-v1"
EPISODE = f"{PAYOUTS}/{GOOD}/goodwill-payout/"
"""Where a person is asked: the start of a trace id."""


def with_payouts(door: Door) -> Door:
    """Put the suite into a workspace that has only the other one."""
    folder = door.root / "suites" / PAYOUTS
    if not folder.exists():
        shutil.copytree(REPOSITORY / "suites" / PAYOUTS, folder)
    return door
