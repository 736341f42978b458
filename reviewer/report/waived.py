"""Waivers of a suite in words: its trial finds it unsound, and the suite gives a reason for using
it."""

from reviewer.suite.model import Waiver
from reviewer.trace.safetext import visible_line


def waiver_text(waiver: Waiver) -> str:
    """Return the fact in a sentence: what the suite cannot show, and the reason that it gives."""
    what = (
        "the oracle, which meets every contract, does not pass this suite"
        if waiver.agent == "oracle"
        else f"nothing in this suite stops the trial agent {waiver.agent}"
    )
    return f"By waiver, {what}: {visible_line(waiver.reason)}"
