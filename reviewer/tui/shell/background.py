"""Questions to the desk that may take a while, off the thread that paints.

Daemon threads, not Textual's thread workers: those run in asyncio's default executor, which a
quitting program joins, so one long query would hold the terminal. One runner per group takes only
the newest request; an answer that a newer request has overtaken is dropped.
"""

import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from textual.message import Message

from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode

Delivery = Callable[[], None]


class Answer(Message):
    """An answer of the desk, brought to the thread that paints."""

    def __init__(self, deliver: Delivery) -> None:
        super().__init__()
        self.deliver = deliver


class Job(NamedTuple):
    """`work` answers with what to do next; `post` carries that to the thread that paints."""

    work: Callable[[], Delivery]
    failed: Callable[[DeskError], None]
    post: Callable[[Delivery], object]


class Background:
    """Runs one job per group at a time, the newest first and the overtaken never."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, Job] = {}
        self._running: set[str] = set()

    def ask(self, group: str, job: Job) -> None:
        """Run `job.work` on the group's thread and post what it answers."""
        with self._lock:
            self._waiting[group] = job
            if group in self._running:
                return
            self._running.add(group)
        self._start(group)

    def _start(self, group: str) -> None:
        threading.Thread(target=self._run, args=(group,), name=group, daemon=True).start()

    def idle(self) -> bool:
        """Tell whether nothing is at work and nothing waits."""
        with self._lock:
            return not self._running

    def _run(self, group: str) -> None:
        job = None
        try:
            while (job := self._next(group)) is not None:
                self._one(group, job)
        finally:
            if job is not None:  # it died: what waits behind it is still asked for
                self._start(group)

    def _next(self, group: str) -> Job | None:
        with self._lock:
            job = self._waiting.pop(group, None)
            if job is None:
                self._running.discard(group)
            return job

    def _one(self, group: str, job: Job) -> None:
        deliver: Delivery | None = None
        try:
            deliver = job.work()
        except DeskError as error:
            deliver = partial(job.failed, error)
        finally:
            if deliver is None:  # a fault of ours goes on to the thread's hook, but not unsaid
                fault = sys.exc_info()[1]
                words = f"could not be read: {type(fault).__name__}: {fault}"
                deliver = partial(
                    job.failed, DeskError(words, "please report it", exit_code=ExitCode.INTERNAL)
                )
            if not self._overtaken(group):
                job.post(deliver)

    def _overtaken(self, group: str) -> bool:
        with self._lock:
            return group in self._waiting
