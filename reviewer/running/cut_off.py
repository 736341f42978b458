"""The cancellation of an attempt that has done something. Apart from the other values of a run,
because a report reads those and must not load asyncio."""

import asyncio

from reviewer.running.model import FinishedAttempt


class CutOff(asyncio.CancelledError):
    """An attempt was cancelled after its agent had acted. `attempt` is its record until then."""

    def __init__(self, attempt: FinishedAttempt) -> None:
        super().__init__()
        self.attempt = attempt
