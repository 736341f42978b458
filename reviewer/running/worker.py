"""A worker process: attempts asked for over a pipe, run in an event loop of its own.

It ends when it is told to, and when the other end of its pipe is gone: a killed parent tells
nobody. Either way what runs is cancelled first, so that environments are destroyed.
"""

import asyncio
import os
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from reviewer.running.executor import Attempt, outcome_of
from reviewer.running.model import (
    Approval,
    ApprovalRequest,
    Finished,
    Lost,
    Task,
    Unrunnable,
)

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
