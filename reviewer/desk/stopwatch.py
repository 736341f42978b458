"""How long a job has been at work."""

import time


class Stopwatch:
    """Seconds since it was made, and of them those that were worked."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._rested = 0.0
        self._resting: float | None = None
        self._ended: float | None = None

    def rest(self) -> None:
        if self._resting is None:
            self._resting = time.monotonic()

    def work(self) -> None:
        if self._resting is not None:
            self._rested += time.monotonic() - self._resting
            self._resting = None

    def end(self) -> None:
        self.work()
        self._ended = time.monotonic()

    def seconds(self) -> float:
        return (self._ended or time.monotonic()) - self._began

    def worked(self) -> float:
        now = time.monotonic()
        return self.seconds() - self._rested - (now - self._resting if self._resting else 0.0)
