"""Attempts as tasks of this process's own event loop."""

import asyncio
from collections.abc import Awaitable, Callable

from reviewer.running.attempt import run_attempt
from reviewer.running.model import Approver, Finished, Lost, Task, Unrunnable

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
