"""Attempts in worker processes, so that one that dies takes few with it and all processors work."""

import asyncio
import multiprocessing
import threading
from contextlib import suppress
from typing import Any

from reviewer.running.attempt import run_attempt
from reviewer.running.executor import Attempt
from reviewer.running.model import Approval, Approver, Finished, Lost, Task, Unrunnable
from reviewer.running.worker import GRACE, Answered, Asked, Begin, End, Ended, Withdrawn, work


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
