"""Carry out attempts: as tasks of this process's loop, or in worker processes."""

import asyncio
import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from reviewer.running.attempt import run_attempt
from reviewer.running.candidates.openai_http import kept_connections
from reviewer.running.model import (
    Approver,
    FinishedAttempt,
    LostAttempt,
    Task,
    Unrunnable,
)
from reviewer.running.worker import (
    GRACE,
    AnswerMessage,
    Attempt,
    EpisodeMessage,
    FromWorker,
    QuestionMessage,
    ResultMessage,
    StartMessage,
    StopMessage,
    ToWorker,
    Worker,
    outcome_of,
)


class Places:
    """A number of places for attempts. An attempt that has ended keeps its place until it is
    collected, so that the collecting side cannot fall behind."""

    def __init__(self, count: int, approver: Approver | None) -> None:
        self._count, self._held = count, 0
        self._freed = asyncio.Event()
        self._ended: asyncio.Queue[FinishedAttempt | LostAttempt | Unrunnable] = asyncio.Queue()
        self._approver = approver
        self._failure: Unrunnable | None = None

    async def room(self) -> int:
        while self._failure is None and self._held >= self._count:
            self._freed.clear()
            await self._freed.wait()
        if self._failure is not None:
            raise self._failure
        return self._count - self._held

    def fail(self, why: str) -> None:
        """Stop everything: a caller that waits for a place or a result gets the reason."""
        if self._failure is None:
            self._failure = Unrunnable(why)
            self._ended.put_nowait(self._failure)
            self._freed.set()

    async def collect(self) -> FinishedAttempt | LostAttempt:
        ended = await self._ended.get()
        self._held -= 1
        self._freed.set()
        if isinstance(ended, Unrunnable):
            raise ended
        return ended

    def left(self) -> list[FinishedAttempt]:
        found: list[FinishedAttempt] = []
        while not self._ended.empty():
            ended = self._ended.get_nowait()
            if isinstance(ended, FinishedAttempt):
                found.append(ended)
        return found


class LocalExecutor(Places):
    """Runs up to `jobs` attempts at a time, as tasks of this loop."""

    def __init__(
        self, jobs: int, approver: Approver | None = None, attempt: Attempt = run_attempt
    ) -> None:
        super().__init__(jobs, approver)
        self._attempt = attempt
        self._running: set[asyncio.Task[None]] = set()

    def submit_many(self, tasks: Sequence[Task]) -> None:
        self._held += len(tasks)
        for task in tasks:
            running = asyncio.create_task(self._run(task))
            self._running.add(running)
            running.add_done_callback(self._running.discard)

    async def _run(self, task: Task) -> None:
        self._ended.put_nowait(await outcome_of(task, self._attempt, self._approver))

    async def close(self, abandon: bool = False) -> None:
        running = list(self._running)
        if abandon:
            for task in running:
                task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class Remote(ABC):
    """A worker for the collector: its attempts, and those that wait for an approval."""

    def __init__(self) -> None:
        self.tasks: dict[int, Task] = {}
        self.asking: dict[int, asyncio.Task[None]] = {}
        self._sent: dict[str, Task] = {}

    @abstractmethod
    def send(self, messages: Sequence[ToWorker]) -> None:
        """Send these messages in order. The listener reports a worker that is gone."""

    def begin(self, tasks: dict[int, Task]) -> None:
        """Start attempts, by their numbers; an episode is sent before the first of its attempts
        where this worker does not have it."""
        self.tasks |= tasks
        messages: list[ToWorker] = []
        for number, task in tasks.items():
            sent = self._sent.get(task.slot.episode_id)
            if sent is None or not _alike(sent, task):
                self._sent[task.slot.episode_id] = task
                messages.append(EpisodeMessage(task))
            messages.append(StartMessage(number, task.slot))
        self.send(messages)


class WorkersExecutor(Places):
    """Attempts in workers: their messages are received here, and the attempts of a lost one are
    given back."""

    def heard(self, worker: Remote, message: FromWorker) -> None:
        if isinstance(message, ResultMessage):
            task, told = worker.tasks.pop(message.number, None), message.outcome
            if task is None:
                return
            if isinstance(told, FinishedAttempt):
                self._ended.put_nowait(told)
            else:
                lost = message.lost
                self._ended.put_nowait(LostAttempt(task, told) if lost else Unrunnable(told))
        elif isinstance(message, QuestionMessage):
            worker.asking[message.number] = asyncio.create_task(self._ask(worker, message))
        elif (asking := worker.asking.pop(message.number, None)) is not None:
            asking.cancel()

    async def _ask(self, worker: Remote, asked: QuestionMessage) -> None:
        approval = await self._approver.ask(asked.request) if self._approver else None
        del worker.asking[asked.number]
        worker.send([AnswerMessage(asked.number, approval)])

    def give_back(self, worker: Remote, why: str) -> None:
        """Give back the attempts of a worker that is gone."""
        for asking in worker.asking.values():
            asking.cancel()
        for task in worker.tasks.values():
            self._ended.put_nowait(LostAttempt(task, why))
        worker.tasks = {}


def work(connection: "Connection[Any, Any]", attempt: Attempt) -> None:
    """Run a worker process from its start to its end."""
    # Ctrl-C in a terminal reaches all its processes; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_serve(connection, attempt))


async def _serve(connection: "Connection[Any, Any]", attempt: Attempt) -> None:
    sending, inbox = threading.Lock(), asyncio.Queue[ToWorker]()
    loop = asyncio.get_running_loop()

    def send(message: FromWorker) -> None:
        with sending, suppress(OSError):  # the parent may be gone
            connection.send(message)

    def listen() -> None:
        """Read continuously, so that a sender never waits for this worker."""
        while True:
            try:
                message: ToWorker = connection.recv()
            except (EOFError, OSError):
                message = StopMessage()
            loop.call_soon_threadsafe(inbox.put_nowait, message)
            if isinstance(message, StopMessage):
                return

    threading.Thread(target=listen, daemon=True).start()
    async with kept_connections():
        await Worker(attempt, send).serve(inbox)
        os._exit(0)  # remaining threads and handles must not keep the process alive


class _Process(Remote):
    """A worker process of this machine."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__()
        self.listener: threading.Thread | None = None
        # Never forked: this process may have threads, a terminal, open connections.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, attempt), daemon=True)
        self.process.start()
        theirs.close()  # so that the worker's death is an end of file

    def send(self, messages: Sequence[ToWorker]) -> None:
        with suppress(OSError):  # its listener reports one that is gone
            for message in messages:
                self.connection.send(message)


class ProcessExecutor(WorkersExecutor):
    """Up to `jobs` attempts at a time, spread over `workers` processes.

    A worker that dies gives its attempts back as Lost, and the next attempt starts another worker.
    """

    def __init__(
        self,
        workers: int,
        jobs: int,
        approver: Approver | None = None,
        attempt: Attempt = run_attempt,
    ) -> None:
        share = max(1, -(-jobs // workers))
        super().__init__(workers * share, approver)
        self._most, self._attempt = workers, attempt
        self._workers: list[_Process] = []
        self._begun = 0

    def submit_many(self, tasks: Sequence[Task]) -> None:
        self._held += len(tasks)
        for task in tasks:
            self._begun += 1
            self._worker().begin({self._begun: task})

    def _worker(self) -> _Process:
        """Return a new worker while there are too few, else the one with the least to do."""
        if len(self._workers) < self._most:
            worker = _Process(self._attempt)
            self._workers.append(worker)
            loop = asyncio.get_running_loop()
            given = (loop, worker)
            worker.listener = threading.Thread(target=self._listen, args=given, daemon=True)
            worker.listener.start()
            return worker
        return min(self._workers, key=lambda each: len(each.tasks))

    def _listen(self, loop: asyncio.AbstractEventLoop, worker: _Process) -> None:
        """Pass on the messages of one worker until it is gone."""
        with suppress(RuntimeError):  # the loop is closed
            while True:
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError):
                    break
                loop.call_soon_threadsafe(self.heard, worker, message)
            worker.process.join()
            loop.call_soon_threadsafe(self._gone, worker)

    def _gone(self, worker: _Process) -> None:
        self._workers.remove(worker)
        worker.connection.close()
        self.give_back(worker, f"its worker process ended ({_exit_text(worker.process.exitcode)})")

    async def close(self, abandon: bool = False) -> None:
        """End every worker. Each has a moment to close its environments, then it is killed;
        attempts are still running only when the run is abandoned."""
        workers = list(self._workers)
        for worker in workers:
            worker.send([StopMessage()])
        await asyncio.gather(*(asyncio.to_thread(_join, worker) for worker in workers))
        await asyncio.sleep(0)  # what the listeners passed on last is heard now


def _alike(one: Task, other: Task) -> bool:
    """Return whether two tasks have the same values except for their slots."""
    return all(
        field == "slot" or getattr(one, field) is getattr(other, field)
        for field in Task.__struct_fields__
    )


def _join(worker: _Process) -> None:
    """Wait until a worker has ended, and has been listened to."""
    worker.process.join(GRACE + 1)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
    if worker.listener is not None:
        worker.listener.join(GRACE)


def _exit_text(exit_code: int | None) -> str:
    """Return the exit status as a shell words it."""
    if exit_code is None:
        return "not known how"
    return f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
