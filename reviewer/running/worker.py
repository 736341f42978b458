"""The worker's side of a run that is spread over workers, and the messages between the two sides.

A worker is another process, on this machine or another. It runs attempts as requested, asks the
collector for a person's answers, and reports how each attempt ended.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from msgspec.structs import replace

from reviewer.running.cut_off import CutOff
from reviewer.running.model import (
    Approval,
    ApprovalRequest,
    Approver,
    Faulted,
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

GRACE = 3.0
"""Seconds that attempts have to close their environments."""


async def outcome_of(
    task: Task, attempt: Attempt, approver: Approver | None
) -> FinishedAttempt | LostAttempt | Unrunnable:
    """Return the outcome of one attempt. An internal error loses it, unless its agent had acted;
    the text of such an error quotes no value, which may be a candidate's."""
    try:
        return await attempt(task, approver)
    except Unrunnable as error:
        return error if error.attempt is None else error.attempt._replace(stops=str(error))
    except CutOff as error:
        return error.attempt._replace(cut=True)
    except Faulted as error:
        return error.attempt
    except Exception as error:
        return LostAttempt(task, f"the runner failed ({type(error).__name__})")


class EpisodeMessage(NamedTuple):
    """To the worker, once: the common part of one episode's attempts, as the task of the first of
    them."""

    task: Task


class StartMessage(NamedTuple):
    """To the worker: run this attempt, of the episode as last sent. The result comes back under its
    number."""

    number: int
    slot: Slot


class AnswerMessage(NamedTuple):
    """To the worker: the answer to a call's approval; None when nobody is present to answer."""

    number: int
    approval: Approval | None


class StopMessage(NamedTuple):
    """To the worker: close everything and exit."""


ToWorker = EpisodeMessage | StartMessage | AnswerMessage | StopMessage


class ResultMessage(NamedTuple):
    """From the worker: an attempt has ended. One that was lost, or cannot be run, is reported by
    its text alone, with `lost` saying which of the two."""

    number: int
    outcome: FinishedAttempt | str
    lost: bool = False


class QuestionMessage(NamedTuple):
    """From the worker: a call waits for a person."""

    number: int
    request: ApprovalRequest


class WithdrawalMessage(NamedTuple):
    """From the worker: that answer is no longer needed."""

    number: int


FromWorker = ResultMessage | QuestionMessage | WithdrawalMessage


class Worker:
    """One worker's attempts, and their approval requests that wait for an answer. `send` sends a
    message to the other side; it may be called in any thread and may block for a while."""

    def __init__(self, attempt: Attempt, send: Callable[[FromWorker], None]) -> None:
        self._attempt, self._send = attempt, send
        self._running: set[asyncio.Task[None]] = set()
        self._episodes: dict[str, Task] = {}
        self._waiting: dict[int, asyncio.Future[Approval | None]] = {}
        self._asked = 0

    async def serve(self, inbox: "asyncio.Queue[ToWorker]") -> None:
        """Process messages until one says to stop; running attempts are then cancelled."""
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

    async def _run(self, number: int, task: Task) -> None:
        outcome = await outcome_of(task, self._attempt, self)
        if isinstance(outcome, LostAttempt):
            told = ResultMessage(number, outcome.why, lost=True)
        else:
            text = str(outcome) if isinstance(outcome, Unrunnable) else outcome
            told = ResultMessage(number, text)
        await asyncio.to_thread(self._send, told)

    async def speak(self, request: TurnRequest) -> PersonTurn | None:
        return None  # such an episode is run in the collector's own process

    async def ask(self, request: ApprovalRequest) -> Approval | None:
        """Ask the other side, where the person who answers is. (As an `Approver`.)"""
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
