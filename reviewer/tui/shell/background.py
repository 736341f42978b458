"""Questions to the desk that may take a while, off the thread that paints.

Daemon threads, not Textual's thread workers: those run in asyncio's default executor, which a
quitting program joins, so one long query would hold the terminal. One runner per group takes only
the newest request; an answer that a newer request has overtaken is dropped.

A job that only reads belongs to the screen that asked. While another screen is in front, it stops
at its next step, and begins again when its screen comes back. Threads of Python take turns, so one
that reads also gives way, at its next step, to a key that is typed meanwhile.
"""

import sys
import threading
from collections.abc import Callable
from functools import partial
from time import monotonic, sleep
from typing import NamedTuple

from textual.message import Message

from reviewer.desk.errors import DeskError
from reviewer.desk.stopping import Stopped, until
from reviewer.exit_codes import ExitCode

Delivery = Callable[[], None]
WAY = 0.06
"""Seconds after a key for which a step that only reads is put off: a frame takes less."""


class Answer(Message):
    """An answer of the desk, brought to the thread that paints."""

    def __init__(self, deliver: Delivery) -> None:
        super().__init__()
        self.deliver = deliver


class Job(NamedTuple):
    """`work` answers with what to do next; `post` carries that to the thread that paints. `reader`
    is the screen that a job belongs to which only reads; 0 for one that is never stopped."""

    work: Callable[[], Delivery]
    failed: Callable[[DeskError], None]
    post: Callable[[Delivery], object]
    reader: int = 0


class Background:
    """Runs one job per group at a time, the newest first and the overtaken never."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, Job] = {}
        self._running: set[str] = set()
        self._held: dict[str, Job] = {}
        self._away: set[int] = set()
        self._gone: set[int] = set()
        self._typed = 0.0

    def typed(self) -> None:
        """A key was typed: what was asked before gives way to what it asks for."""
        self._typed = monotonic()

    def ask(self, group: str, job: Job) -> None:
        """Run `job.work` on the group's thread and post what it answers."""
        with self._lock:
            if job.reader in self._away:
                if job.reader not in self._gone:
                    self._held[group] = job
                return
            self._waiting[group] = job
            if group in self._running:
                return
            self._running.add(group)
        self._start(group)

    def leave(self, reader: int) -> None:
        """Stop what a screen reads, at the next step: it is not in front any more."""
        with self._lock:
            self._away.add(reader)
            for group, job in list(self._waiting.items()):
                if job.reader == reader:
                    self._held[group] = self._waiting.pop(group)

    def come_back(self, reader: int) -> None:
        """Begin again what was stopped when the screen was left."""
        with self._lock:
            self._away.discard(reader)
            held = {group: job for group, job in self._held.items() if job.reader == reader}
            for group in held:
                del self._held[group]
        for group, job in held.items():
            self.ask(group, job)

    def forget(self, reader: int) -> None:
        """Stop what a screen reads: it is gone."""
        self.leave(reader)
        with self._lock:
            self._gone.add(reader)
            self._held = {group: job for group, job in self._held.items() if job.reader != reader}

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
                with until(partial(self._is_away, job.reader, monotonic())):
                    self._one(group, job)
        finally:
            if job is not None:  # it died: what waits behind it is still asked for
                self._start(group)

    def _is_away(self, reader: int, began: float) -> bool:
        """Whether to stop; asked at each step, which is put off while a later key is answered."""
        typed = self._typed
        if reader and began < typed and reader not in self._away:
            sleep(max(0.0, typed + WAY - monotonic()))
        return reader in self._away

    def _stopped(self, group: str, job: Job) -> None:
        """Keep a job that was stopped until its screen is back, unless it was asked again."""
        with self._lock:
            if group in self._waiting or group in self._held or job.reader in self._gone:
                return
            if job.reader in self._away:
                self._held[group] = job
            else:
                self._waiting[group] = job

    def _next(self, group: str) -> Job | None:
        with self._lock:
            job = self._waiting.pop(group, None)
            if job is None:
                self._running.discard(group)
            return job

    def _one(self, group: str, job: Job) -> None:
        deliver: Delivery | None = None
        stopped = False
        try:
            deliver = job.work()
        except Stopped:
            stopped = True
            self._stopped(group, job)
        except DeskError as error:
            deliver = partial(job.failed, error)
        finally:
            # a fault of ours goes on to the thread's hook, but not unsaid
            if deliver is None and not stopped:
                fault = sys.exc_info()[1]
                words = f"could not be read: {type(fault).__name__}: {fault}"
                deliver = partial(
                    job.failed, DeskError(words, "please report it", exit_code=ExitCode.INTERNAL)
                )
            if deliver is not None and not self._overtaken(group):
                job.post(deliver)

    def _overtaken(self, group: str) -> bool:
        with self._lock:
            return group in self._waiting
