"""Questions to the desk that may take a while, outside the drawing thread.

Daemon threads are used instead of Textual's thread workers: those run in asyncio's default
executor, whose threads are joined at exit, so one long query would hold the terminal. One runner
per group takes only the newest request; an answer that a newer request has overtaken is dropped.

A job that only reads belongs to the screen that asked. While another screen is in front, the job
stops at its next step, and starts again when its screen comes back. Python threads take turns, so
such a job also waits at its next step while a key that was just pressed is handled.
"""

import sys
import threading
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import NamedTuple

from textual.message import Message

from reviewer.desk.errors import DeskError
from reviewer.desk.stopping import Stopped, until
from reviewer.exit_codes import ExitCode

Delivery = Callable[[], None]
WAY = 0.06
"""Seconds for which a step of a reading job waits after a key: a frame takes less."""
LINGER = 5.0
"""Seconds for which a thread waits for another group's job. The drawing thread waits for each new
thread to begin, and a key asks several questions."""


class Answer(Message):
    """An answer of the desk, delivered to the drawing thread."""

    def __init__(self, deliver: Delivery) -> None:
        super().__init__()
        self.deliver = deliver


class Job(NamedTuple):
    """`work` returns what to do next; `post` carries that to the drawing thread. `reader` is the
    screen of a job that only reads; 0 for a job that is never stopped."""

    work: Callable[[], Delivery]
    failed: Callable[[DeskError], None]
    post: Callable[[Delivery], object]
    reader: int = 0


class Background:
    """Runs one job per group at a time: always the newest, never an overtaken one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, Job] = {}
        self._running: set[str] = set()
        self._free: list[SimpleQueue[str]] = []
        self._held: dict[str, Job] = {}
        self._away: set[int] = set()
        self._gone: set[int] = set()
        self._typed = 0.0

    def typed(self) -> None:
        """Note that a key was typed: earlier questions wait while the key is handled."""
        self._typed = monotonic()

    def ask(self, group: str, job: Job) -> None:
        """Run `job.work` on the group's thread and post its answer."""
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
        """Stop a screen's reading jobs at their next step: the screen is no longer in front."""
        with self._lock:
            self._away.add(reader)
            for group, job in list(self._waiting.items()):
                if job.reader == reader:
                    self._held[group] = self._waiting.pop(group)

    def come_back(self, reader: int) -> None:
        """Start the jobs again that were stopped when the reader left the screen."""
        with self._lock:
            self._away.discard(reader)
            held = {group: job for group, job in self._held.items() if job.reader == reader}
            for group in held:
                del self._held[group]
        for group, job in held.items():
            self.ask(group, job)

    def forget(self, reader: int) -> None:
        """Drop a screen's reading jobs: the screen is gone."""
        self.leave(reader)
        with self._lock:
            self._gone.add(reader)
            self._held = {group: job for group, job in self._held.items() if job.reader != reader}

    def _start(self, group: str) -> None:
        with self._lock:
            free = self._free.pop() if self._free else None
        if free is not None:
            free.put(group)
            return
        threading.Thread(target=self._serve, args=(group,), name=group, daemon=True).start()

    def _serve(self, group: str) -> None:
        """Run jobs of a group until none waits, then those of the groups that are put here."""
        mine = SimpleQueue[str]()
        while True:
            threading.current_thread().name = group
            self._run(group)
            with self._lock:
                self._free.append(mine)
            try:
                group = mine.get(timeout=LINGER)
            except Empty:
                with self._lock:
                    if mine in self._free:
                        self._free.remove(mine)
                        return
                group = mine.get()  # put at the last moment

    def idle(self) -> bool:
        """Return whether no job is at work and none waits."""
        with self._lock:
            return not self._running

    def _run(self, group: str) -> None:
        job = None
        try:
            while (job := self._next(group)) is not None:
                with until(partial(self._is_away, job.reader, monotonic())):
                    self._one(group, job)
        finally:
            if job is not None:  # the job died: the next one must still run
                self._start(group)

    def _is_away(self, reader: int, began: float) -> bool:
        """Return whether to stop. A job calls this at each step; the call waits while a later key
        is handled."""
        typed = self._typed
        if reader and began < typed and reader not in self._away:
            sleep(max(0.0, typed + WAY - monotonic()))
        return reader in self._away

    def _stopped(self, group: str, job: Job) -> None:
        """Keep a stopped job until its screen is back, unless it was asked again."""
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
            # an error of ours goes on to the thread's hook, but not silently
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
