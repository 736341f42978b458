"""Carry out attempts: as tasks of this process's loop, or in worker processes."""

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from msgspec.structs import replace

from reviewer.running.attempt import run_attempt
from reviewer.running.candidates.openai_http import kept_connections
from reviewer.running.model import (
    Approval,
    ApprovalRequest,
    Approver,
    FinishedAttempt,
    LostAttempt,
    PersonTurn,
    Slot,
    Task,
    TurnRequest,
    Unrunnable,
)

Attempt = Callable[[Task, Approver | None], Awaitable[FinishedAttempt]]
"""The function that carries out one attempt: `run_attempt`, or a test's own."""


class _Places:
    """A number of places for attempts. One that has ended keeps its place until it is collected, so
    that the collecting side cannot fall behind."""

    def __init__(self, count: int, approver: Approver | None, attempt: Attempt) -> None:
        self._places = asyncio.Semaphore(count)
        self._ended: asyncio.Queue[FinishedAttempt | LostAttempt | Unrunnable] = asyncio.Queue()
        self._approver, self._attempt = approver, attempt

    async def collect(self) -> FinishedAttempt | LostAttempt:
        ended = await self._ended.get()
        self._places.release()
        if isinstance(ended, Unrunnable):
            raise ended
        return ended


class LocalExecutor(_Places):
    """Runs up to `jobs` attempts at a time, as tasks of this loop."""

    def __init__(
        self, jobs: int, approver: Approver | None = None, attempt: Attempt = run_attempt
    ) -> None:
        super().__init__(jobs, approver, attempt)
        self._running: set[asyncio.Task[None]] = set()

    async def submit(self, task: Task) -> None:
        await self._places.acquire()
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


async def outcome_of(
    task: Task, attempt: Attempt, approver: Approver | None
) -> FinishedAttempt | LostAttempt | Unrunnable:
    """Return the outcome of one attempt. An error of ours loses it, and its text quotes no value,
    which may be a candidate's."""
    try:
        return await attempt(task, approver)
    except Unrunnable as error:
        return error
    except Exception as error:
        return LostAttempt(task, f"the runner failed ({type(error).__name__})")


GRACE = 3.0
"""Seconds that attempts have to close their environments."""


class EpisodeMessage(NamedTuple):
    """To the worker, once: what the attempts of one episode have in common, as the task of the
    first of them."""

    task: Task


class StartMessage(NamedTuple):
    """To the worker: run this attempt, of the episode as it was sent last. The result comes back
    under its number."""

    number: int
    slot: Slot


class AnswerMessage(NamedTuple):
    """To the worker: the answer to a call's approval; None when nobody is there to answer."""

    number: int
    approval: Approval | None


class StopMessage(NamedTuple):
    """To the worker: close everything and exit."""


ToWorker = EpisodeMessage | StartMessage | AnswerMessage | StopMessage


class ResultMessage(NamedTuple):
    """From the worker: an attempt has ended. Unrunnable travels as its text."""

    number: int
    outcome: FinishedAttempt | LostAttempt | str


class QuestionMessage(NamedTuple):
    """From the worker: a call waits for a person."""

    number: int
    request: ApprovalRequest


class WithdrawalMessage(NamedTuple):
    """From the worker: that answer is no longer needed."""

    number: int


def work(connection: "Connection[Any, Any]", attempt: Attempt) -> None:
    """Run a worker process from its start to its end."""
    # Ctrl-C in a terminal reaches all its processes; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_serve(connection, attempt))


async def _serve(connection: "Connection[Any, Any]", attempt: Attempt) -> None:
    async with kept_connections():
        await _Worker(connection, attempt).serve()


class _Worker:
    """One worker's attempts, and their approval requests that wait for an answer."""

    def __init__(self, connection: "Connection[Any, Any]", attempt: Attempt) -> None:
        self._connection, self._attempt = connection, attempt
        self._sending = threading.Lock()
        self._running: set[asyncio.Task[None]] = set()
        self._episodes: dict[str, Task] = {}
        self._waiting: dict[int, asyncio.Future[Approval | None]] = {}
        self._asked = 0

    async def serve(self) -> None:
        inbox: asyncio.Queue[ToWorker] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=(loop, inbox), daemon=True).start()
        while not isinstance(message := await inbox.get(), StopMessage):
            if isinstance(message, EpisodeMessage):
                self._episodes[message.task.slot.episode_id] = message.task
            elif isinstance(message, StartMessage):
                task = replace(self._episodes[message.slot.episode_id], slot=message.slot)
                running = asyncio.create_task(self._run(message.number, task))
                self._running.add(running)
                running.add_done_callback(self._running.discard)
            elif (waiting := self._waiting.get(message.number)) and not waiting.done():
                waiting.set_result(message.approval)
        if self._running:
            for running in self._running:
                running.cancel()
            await asyncio.wait(self._running, timeout=GRACE)
        os._exit(0)  # threads and handles left over must not keep the process alive

    def _listen(self, loop: asyncio.AbstractEventLoop, inbox: "asyncio.Queue[ToWorker]") -> None:
        """Read all the time, so that a sender never waits for this worker."""
        while True:
            try:
                message: ToWorker = self._connection.recv()
            except (EOFError, OSError):
                message = StopMessage()
            loop.call_soon_threadsafe(inbox.put_nowait, message)
            if isinstance(message, StopMessage):
                return

    async def _run(self, number: int, task: Task) -> None:
        outcome = await outcome_of(task, self._attempt, self)
        told = str(outcome) if isinstance(outcome, Unrunnable) else outcome
        await asyncio.to_thread(self._send, ResultMessage(number, told))

    def _send(self, message: ResultMessage | QuestionMessage | WithdrawalMessage) -> None:
        with self._sending, suppress(OSError):  # the parent may be gone
            self._connection.send(message)

    async def speak(self, request: TurnRequest) -> PersonTurn | None:
        return None  # such an episode is run in the parent's own process

    async def ask(self, request: ApprovalRequest) -> Approval | None:
        """Ask the parent, which has the person who answers. (As an `Approver`.)"""
        self._asked += 1
        number = self._asked
        waiting: asyncio.Future[Approval | None] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        try:
            await asyncio.to_thread(self._send, QuestionMessage(number, request))
            return await waiting
        except asyncio.CancelledError:
            self._send(WithdrawalMessage(number))
            raise
        finally:
            del self._waiting[number]


class _Process:
    """One worker as its parent knows it: its attempts, and those that wait for an approval."""

    def __init__(self, attempt: Attempt) -> None:
        # Never forked: this process may have threads, a terminal, open connections.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, attempt), daemon=True)
        self.process.start()
        theirs.close()  # so that the worker's death is an end of file
        self.tasks: dict[int, Task] = {}
        self._sent: dict[str, Task] = {}
        self.asking: dict[int, asyncio.Task[None]] = {}

    def begin(self, number: int, task: Task) -> None:
        """Have an attempt run, its episode sent before it where this worker does not have it."""
        self.tasks[number] = task
        sent = self._sent.get(task.slot.episode_id)
        if sent is None or not _alike(sent, task):
            self._sent[task.slot.episode_id] = task
            self.send(EpisodeMessage(task))
        self.send(StartMessage(number, task.slot))

    def send(self, message: ToWorker) -> None:
        with suppress(OSError):  # its listener reports one that is gone
            self.connection.send(message)


class ProcessExecutor(_Places):
    """Up to `jobs` attempts at a time, spread over `workers` processes.

    A worker that dies gives its attempts back as Lost, and the next attempt starts another.
    """

    def __init__(
        self,
        workers: int,
        jobs: int,
        approver: Approver | None = None,
        attempt: Attempt = run_attempt,
    ) -> None:
        share = max(1, -(-jobs // workers))
        super().__init__(workers * share, approver, attempt)
        self._count = workers
        self._workers: list[_Process] = []
        self._begun = 0

    async def submit(self, task: Task) -> None:
        await self._places.acquire()
        worker = self._worker()
        self._begun += 1
        worker.begin(self._begun, task)

    def _worker(self) -> _Process:
        """Return a new worker while there are too few, else the one with the least to do."""
        if len(self._workers) < self._count:
            worker = _Process(self._attempt)
            self._workers.append(worker)
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._listen, args=(loop, worker), daemon=True).start()
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
                loop.call_soon_threadsafe(self._heard, worker, message)
            worker.process.join()
            loop.call_soon_threadsafe(self._gone, worker)

    def _heard(
        self, worker: _Process, message: ResultMessage | QuestionMessage | WithdrawalMessage
    ) -> None:
        if isinstance(message, ResultMessage):
            del worker.tasks[message.number]
            told = message.outcome
            self._ended.put_nowait(Unrunnable(told) if isinstance(told, str) else told)
        elif isinstance(message, QuestionMessage):
            worker.asking[message.number] = asyncio.create_task(self._ask(worker, message))
        elif (asking := worker.asking.pop(message.number, None)) is not None:
            asking.cancel()

    async def _ask(self, worker: _Process, asked: QuestionMessage) -> None:
        approval = await self._approver.ask(asked.request) if self._approver else None
        del worker.asking[asked.number]
        worker.send(AnswerMessage(asked.number, approval))

    def _gone(self, worker: _Process) -> None:
        self._workers.remove(worker)
        worker.connection.close()
        for asking in worker.asking.values():
            asking.cancel()
        why = f"its worker process ended ({_exit_text(worker.process.exitcode)})"
        for task in worker.tasks.values():
            self._ended.put_nowait(LostAttempt(task, why))

    async def close(self, abandon: bool = False) -> None:
        """End every worker. Each has a moment to close its environments, then it is killed;
        attempts still run only when the run is abandoned."""
        workers = list(self._workers)
        for worker in workers:
            worker.send(StopMessage())
        await asyncio.gather(*(asyncio.to_thread(_join, worker.process) for worker in workers))


def _alike(one: Task, other: Task) -> bool:
    """Return whether two tasks are of the very same values but for their slots."""
    return all(
        field == "slot" or getattr(one, field) is getattr(other, field)
        for field in Task.__struct_fields__
    )


def _join(process: Any) -> None:
    process.join(GRACE + 1)
    if process.is_alive():
        process.kill()
        process.join()


def _exit_text(exit_code: int | None) -> str:
    """Return the exit status as a shell words it."""
    if exit_code is None:
        return "not known how"
    return f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
