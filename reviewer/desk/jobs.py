"""Jobs of this process: the code shared by runs of candidates, runs of a judge, and imports."""

import os
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class Stopwatch:
    """Seconds since it was created, and how many of them were spent working."""

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


class Job(ABC, Generic[V]):
    """A running job, in a thread or process of its own. Every method may be called from any thread,
    and none blocks except `wait`. `on_change` is called with the job after each change."""

    def __init__(self, on_change: Callable[[Any], None] | None) -> None:
        self._on_change = on_change
        self._ended = threading.Event()

    @abstractmethod
    def view(self) -> V:
        """Return the present state of the job."""

    def wait(self, timeout: float | None = None) -> V:
        """Return the state of the job when it has ended, or after `timeout` seconds."""
        self._ended.wait(timeout)
        return self.view()

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def _tell(self) -> None:
        if self._on_change is not None:
            with suppress(Exception):  # a closed screen must not end a job
                self._on_change(self)


class AbandonableJob(Job[V]):
    """A job whose unfinished work can be killed: a run of a candidate or of a judge."""

    @abstractmethod
    def abandon(self) -> None:
        """End the job and its unfinished work. Finished work is kept."""


def internal_error(error: Exception) -> str:
    """Return what a job shows for an unexpected error: only its type, since its text may contain
    the words of a candidate or a judge. Call it where the error is caught."""
    if os.environ.get("REVIEWER_DEBUG"):
        traceback.print_exc()
    return f"internal error: {type(error).__name__}; REVIEWER_DEBUG=1 shows where"


def abandon_all(jobs: Sequence[AbandonableJob[Any]], patience: float) -> None:
    """Abandon the jobs that are still running, and give each a moment to end."""
    working = [job for job in jobs if not job.ended]
    for job in working:
        job.abandon()
    for job in working:
        job.wait(patience)
