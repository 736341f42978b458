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

from reviewer.running.attempt import run_attempt
from reviewer.running.model import (
    Approval,
    ApprovalRequest,
    Approver,
    Finished,
    Lost,
    Task,
    Unrunnable,
)

Attempt = Callable[[Task, Approver | None], Awaitable[Finished]]
"""How one attempt is carried out; `reviewer.running.attempt.run_attempt` is."""


class LocalExecutor:
    """Up to `jobs` attempts at a time. One that has ended keeps its place until it is collected,
    so that nobody falls behind."""

    def __init__(
        self, jobs: int, approver: Approver | None = None, attempt: Attempt = run_attempt
    ) -> None:
        self._places = asyncio.Semaphore(jobs)
        self._ended: asyncio.Queue[Finished | Lost | Unrunnable] = asyncio.Queue()
        self._running: set[asyncio.Task[None]] = set()
        self._approver, self._attempt = approver, attempt

    async def submit(self, task: Task) -> None:
        await self._places.acquire()
        running = asyncio.create_task(self._run(task))
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def _run(self, task: Task) -> None:
        self._ended.put_nowait(await outcome_of(task, self._attempt, self._approver))

    async def collect(self) -> Finished | Lost:
        ended = await self._ended.get()
        self._places.release()
        if isinstance(ended, Unrunnable):
            raise ended
        return ended

    async def close(self, abandon: bool = False) -> None:
        running = list(self._running)
        if abandon:
            for task in running:
                task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def outcome_of(
    task: Task, attempt: Attempt, approver: Approver | None
) -> Finished | Lost | Unrunnable:
    """What becomes of one attempt. A fault of ours loses it, and names no value: what was at hand
    when it happened may be a candidate's."""
    try:
        return await attempt(task, approver)
    except Unrunnable as error:
        return error
    except Exception as error:
        return Lost(task, f"the runner failed ({type(error).__name__})")


GRACE = 3.0
"""Seconds that attempts have to let their environments go."""


class Begin(NamedTuple):
    """To the worker: run this attempt. Its number comes back with what became of it."""

    number: int
    task: Task


class Answered(NamedTuple):
    """To the worker: what becomes of the call it asked about."""

    number: int
    approval: Approval


class End(NamedTuple):
    """To the worker: let everything go and leave."""


class Ended(NamedTuple):
    """From the worker: an attempt has ended. Unrunnable travels as its text."""

    number: int
    outcome: Finished | Lost | str


class Asked(NamedTuple):
    """From the worker: a call waits for a person."""

    number: int
    request: ApprovalRequest


class Withdrawn(NamedTuple):
    """From the worker: nobody waits for that answer any more."""

    number: int


def work(connection: "Connection[Any, Any]", attempt: Attempt) -> None:
    """What a worker process does, from its start to its end."""
    # Ctrl-C in a terminal reaches every process of it; what it means is for the parent to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_Worker(connection, attempt).serve())


class _Worker:
    """One worker's attempts, and the questions of theirs that wait for an answer."""

    def __init__(self, connection: "Connection[Any, Any]", attempt: Attempt) -> None:
        self._connection, self._attempt = connection, attempt
        self._sending = threading.Lock()
        self._running: set[asyncio.Task[None]] = set()
        self._waiting: dict[int, asyncio.Future[Approval]] = {}
        self._asked = 0

    async def serve(self) -> None:
        inbox: asyncio.Queue[Begin | Answered | End] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=(loop, inbox), daemon=True).start()
        while not isinstance(message := await inbox.get(), End):
            if isinstance(message, Begin):
                running = asyncio.create_task(self._run(message))
                self._running.add(running)
                running.add_done_callback(self._running.discard)
            elif (waiting := self._waiting.get(message.number)) and not waiting.done():
                waiting.set_result(message.approval)
        if self._running:
            for running in self._running:
                running.cancel()
            await asyncio.wait(self._running, timeout=GRACE)
        os._exit(0)  # whatever still clings to this process must not keep it

    def _listen(
        self, loop: asyncio.AbstractEventLoop, inbox: "asyncio.Queue[Begin | Answered | End]"
    ) -> None:
        """Always reading, so that nobody who sends to this worker ever waits for it."""
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                message = End()
            loop.call_soon_threadsafe(inbox.put_nowait, message)
            if isinstance(message, End):
                return

    async def _run(self, begin: Begin) -> None:
        outcome = await outcome_of(begin.task, self._attempt, self)
        told = str(outcome) if isinstance(outcome, Unrunnable) else outcome
        await asyncio.to_thread(self._send, Ended(begin.number, told))

    def _send(self, message: Ended | Asked | Withdrawn) -> None:
        with self._sending, suppress(OSError):  # a parent that is gone hears nothing
            self._connection.send(message)

    async def ask(self, request: ApprovalRequest) -> Approval:
        """As an Approver: the parent has whoever answers."""
        self._asked += 1
        number = self._asked
        waiting: asyncio.Future[Approval] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        try:
            await asyncio.to_thread(self._send, Asked(number, request))
            return await waiting
        except asyncio.CancelledError:
            self._send(Withdrawn(number))
            raise
        finally:
            del self._waiting[number]


class _Process:
    """One worker, as its parent knows it: what it runs, and who of its attempts asks."""

    def __init__(self, attempt: Attempt) -> None:
        # Never forked: this process may have threads, a terminal, open connections.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, attempt), daemon=True)
        self.process.start()
        theirs.close()  # so that the worker's end is the only one, and its death an end of file
        self.tasks: dict[int, Task] = {}
        self.asking: dict[int, asyncio.Task[None]] = {}

    def send(self, message: Begin | Answered | End) -> None:
        with suppress(OSError):  # one that is gone is heard of by its listener
            self.connection.send(message)


class ProcessExecutor:
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
        self._count = workers
        self._share = max(1, -(-jobs // workers))
        self._places = asyncio.Semaphore(workers * self._share)
        self._ended: asyncio.Queue[Finished | Lost | Unrunnable] = asyncio.Queue()
        self._approver, self._attempt = approver, attempt
        self._workers: list[_Process] = []
        self._begun = 0

    async def submit(self, task: Task) -> None:
        await self._places.acquire()
        worker = self._worker()
        self._begun += 1
        worker.tasks[self._begun] = task
        worker.send(Begin(self._begun, task))

    def _worker(self) -> _Process:
        """A new worker while there are too few, else the one with the least to do."""
        if len(self._workers) < self._count:
            worker = _Process(self._attempt)
            self._workers.append(worker)
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._listen, args=(loop, worker), daemon=True).start()
            return worker
        return min(self._workers, key=lambda each: len(each.tasks))

    def _listen(self, loop: asyncio.AbstractEventLoop, worker: _Process) -> None:
        """Hands on what one worker says, until it is gone."""
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            while True:
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError):
                    break
                loop.call_soon_threadsafe(self._heard, worker, message)
            worker.process.join()
            loop.call_soon_threadsafe(self._gone, worker)

    def _heard(self, worker: _Process, message: Ended | Asked | Withdrawn) -> None:
        if isinstance(message, Ended):
            del worker.tasks[message.number]
            told = message.outcome
            self._ended.put_nowait(Unrunnable(told) if isinstance(told, str) else told)
        elif isinstance(message, Asked):
            worker.asking[message.number] = asyncio.create_task(self._ask(worker, message))
        elif (asking := worker.asking.pop(message.number, None)) is not None:
            asking.cancel()

    async def _ask(self, worker: _Process, asked: Asked) -> None:
        refused = Approval(False, "policy")
        approval = await self._approver.ask(asked.request) if self._approver else refused
        del worker.asking[asked.number]
        worker.send(Answered(asked.number, approval))

    def _gone(self, worker: _Process) -> None:
        self._workers.remove(worker)
        worker.connection.close()
        for asking in worker.asking.values():
            asking.cancel()
        why = f"its worker process ended ({_how(worker.process.exitcode)})"
        for task in worker.tasks.values():
            self._ended.put_nowait(Lost(task, why))

    async def collect(self) -> Finished | Lost:
        ended = await self._ended.get()
        self._places.release()
        if isinstance(ended, Unrunnable):
            raise ended
        return ended

    async def close(self, abandon: bool = False) -> None:
        """End every worker. Each has a moment to let its environments go, then it is killed;
        nothing is running any more unless it is abandoned."""
        workers = list(self._workers)
        for worker in workers:
            worker.send(End())
        await asyncio.gather(*(asyncio.to_thread(_joined, worker.process) for worker in workers))


def _joined(process: Any) -> None:
    process.join(GRACE + 1)
    if process.is_alive():
        process.kill()
        process.join()


def _how(exit_code: int | None) -> str:
    """As a shell would say it."""
    if exit_code is None:
        return "not known how"
    return f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
