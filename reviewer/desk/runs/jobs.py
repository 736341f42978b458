"""Runs of this process: each in a thread of its own, with its own event loop and its own writer."""

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Lock
from typing import TypeVar

from reviewer.db.codec import FAIL, UNKNOWN, gate_codes
from reviewer.db.connection import StoreError
from reviewer.db.intake import NewTrace
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.jobs import AbandonableJob, Stopwatch, abandon_all, internal_error
from reviewer.desk.place import Workspace
from reviewer.desk.runs.api import ApprovalView, RunOrder, RunState, RunView, TurnEnd, TurnView
from reviewer.desk.runs.faults import FAULT, fault_of
from reviewer.desk.runs.start import RunWriter, StartedRun, start_run
from reviewer.desk.runs.turns import ENDS, turn_view
from reviewer.exit_codes import ExitCode
from reviewer.importing.scored import JudgedRecord
from reviewer.report.formatting import counted
from reviewer.running.attempt import run_attempt
from reviewer.running.candidates.openai_http import kept_connections
from reviewer.running.engine import Control, ControlState, Events, Place, carry_out
from reviewer.running.executors import LocalExecutor, ProcessExecutor
from reviewer.running.model import (
    Approval,
    ApprovalRequest,
    Executor,
    FinishedAttempt,
    PersonTurn,
    Slot,
    TurnRequest,
    Unrunnable,
)
from reviewer.running.worker import Attempt
from reviewer.suite.gates import GATES

T = TypeVar("T")

_STEERED: dict[ControlState, RunState] = {
    "open": "running",
    "paused": "paused",
    "stopping": "stopping",
    "abandoned": "stopping",
}


class Progress:
    """The progress of a run. Thread-safe; `view` is an immutable snapshot."""

    def __init__(
        self,
        number: int,
        order: RunOrder,
        places: Sequence[Place],
        in_force: tuple[str, ...],
        whole: int = 0,
    ) -> None:
        self.number, self.order, self._whole = number, order, whole
        self._in_force = in_force
        self.watch = Stopwatch()
        self._began = time.time()
        self._lock = Lock()
        self._planned = len(places)
        # Ordered sets, in the order in which attempts will be, or were, started.
        self._pending: dict[tuple[str, int], None] = {
            (p.episode_id, p.attempt): None for p in places
        }
        self._running: dict[tuple[str, int], None] = {}
        self._approvals: dict[int, ApprovalView] = {}
        self._turns: dict[int, TurnView] = {}
        self._marks = dict.fromkeys(
            ("passed", "failed", "critical", "infrastructure", "not_measured"), 0
        )
        self._gates = [0] * len(GATES)
        self._done = self._lost = self._unanswered = 0
        self._ended: RunState | None = None
        self._problem = ""
        self._faults, self._fault, self._fault_trace = 0, "", ""

    def started(self, slot: Slot) -> None:
        place = (slot.episode_id, slot.attempt)
        with self._lock:
            self._pending.pop(place, None)
            self._running[place] = None

    def lost(self, slot: Slot) -> None:
        """Record that a worker is gone: its attempt is run again, before any other."""
        place = (slot.episode_id, slot.attempt)
        with self._lock:
            self._lost += 1
            self._running.pop(place, None)
            self._pending = {place: None, **self._pending}

    def written(self, ended: Iterable[FinishedAttempt], made: Iterable[JudgedRecord]) -> None:
        """Count attempts that have ended; `made` of them are in the store."""
        with self._lock:
            by_place = {(one.slot.episode_id, one.slot.attempt): one for one in ended}
            for place, one in by_place.items():
                self._running.pop(place, None)
                self._pending.pop(place, None)
                self._unanswered += one.unanswered
            for record in made:
                self._count(record.trace)
                if record.trace.termination == FAULT:
                    self._faults += 1
                    of = by_place.get((record.episode_id, record.attempt or 0))
                    if of is not None and not self._fault_trace:
                        self._fault, self._fault_trace = fault_of(of, record), of.slot.trace_id

    def _count(self, trace: NewTrace) -> None:
        self._done += 1
        lost = trace.infra and trace.passed is None
        word = {True: "passed", False: "failed", None: "not_measured"}[trace.passed]
        self._marks["infrastructure" if lost else word] += 1
        self._marks["critical"] += trace.critical
        for gate, code in enumerate(gate_codes(trace.gates)):
            self._gates[gate] += code >= FAIL and code != UNKNOWN

    def asked(self, waiting: ApprovalView | TurnView) -> None:
        with self._lock:
            if isinstance(waiting, TurnView):
                self._turns[waiting.number] = waiting
            else:
                self._approvals[waiting.number] = waiting

    def answered(self, number: int) -> None:
        with self._lock:
            self._approvals.pop(number, None)
            self._turns.pop(number, None)

    def end(self, problem: str = "") -> None:
        """End the run; it is done when every planned attempt was made."""
        with self._lock:
            self._problem = problem
            whole = self._done == self._planned
            self._ended = "failed" if problem else "done" if whole else "stopped"
            self._pending = {**self._running, **self._pending}
            self._running, self._approvals, self._turns = {}, {}, {}
            self.watch.end()

    def view(self, steered: ControlState) -> RunView:
        with self._lock:
            state = self._ended or _STEERED[steered]
            return RunView(
                number=self.number,
                order=self.order,
                began=self._began,
                suite_id=self.order.suite_id,
                candidate_id=self.order.candidate_id,
                state=state,
                planned=self._planned,
                done=self._done,
                lost=self._lost,
                running=tuple(self._running),
                pending=tuple(self._pending),
                gates=tuple(self._gates[GATES.index(gate)] for gate in self._in_force),
                in_force=self._in_force,
                seconds=self.watch.seconds(),
                eta_seconds=self._eta() if state == "running" else None,
                approvals=tuple(self._approvals.values()),
                turns=tuple(self._turns.values()),
                problem=self._problem,
                unanswered=self._unanswered,
                faults=self._faults,
                fault=self._fault,
                fault_trace=self._fault_trace,
                whole=self._whole,
                **self._marks,
            )

    def _eta(self) -> float | None:
        if not self._done:
            return None
        return self.watch.worked() / self._done * (self._planned - self._done)


TOGETHER = 0.05
"""Seconds between two writes, and between two reports of progress."""
HELD = 256
"""Most records that wait to be written; above this the run waits."""
PATIENCE = 10.0
"""Seconds that an abandoned run gets to release its environments when the desk closes."""

OnChange = Callable[["RunHandle"], None]
Keep = Callable[[list[bytes]], None]


class RunHandle(AbandonableJob[RunView]):
    """One run."""

    def __init__(
        self,
        number: int,
        begun: StartedRun,
        on_change: OnChange | None = None,
        keep: Keep | None = None,
        attempt: Attempt = run_attempt,
    ) -> None:
        super().__init__(on_change)
        self._begun, self._attempt, self._keep = begun, attempt, keep
        self._control = Control()
        self._progress = Progress(number, begun.order, begun.places, begun.in_force, begun.plan)
        self._refused: list[str] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._dirty = asyncio.Event()
        self._asking: dict[int, asyncio.Future[bool]] = {}
        self._speaking: dict[int, asyncio.Future[PersonTurn | None]] = {}
        self._asked = 0

    # from any thread ---------------------------------------------------------------------------

    @property
    def isolation(self) -> str:
        """Return what isolates the programs that this run starts, "" when it starts none."""
        return self._begun.isolation

    def view(self) -> RunView:
        """Return the present state of the run."""
        return self._progress.view(self._control.state)

    def pause(self) -> None:
        """Start no attempt for now; running attempts finish."""
        self._control.pause()
        if self._control.state == "paused":
            self._progress.watch.rest()
        self._changed()

    def go_on(self) -> None:
        self._control.go_on()
        if self._control.state == "open":
            self._progress.watch.work()
        self._changed()

    def stop(self) -> None:
        """Start no more attempts; running attempts finish."""
        self._control.stop()
        self._changed()

    def abandon(self) -> None:
        """Kill the running attempts. Finished attempts stay; the others can be resumed."""
        self._control.abandon()
        self._changed()

    def answer(self, number: int, granted: bool) -> None:
        """Grant or refuse the call that waits under this number; the number of a call that no
        longer waits is ignored."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the run has ended
                self._loop.call_soon_threadsafe(_set, self._asking, number, granted)

    def say(self, number: int, message: str, then: TurnEnd = "go on") -> None:
        """Send what the user says in the turn that waits under this number; a number that no longer
        waits is ignored. Raises DeskError for an empty message in a turn that goes on."""
        said = message.strip()
        if not said and then == "go on":
            raise DeskError("there is nothing to send", "write a message, or end the talk")
        self._spoken(number, PersonTurn(said or None, ENDS[then]))

    def leave(self, number: int) -> None:
        """Leave the conversation in which this turn waits: its attempt neither passes nor fails."""
        self._spoken(number, None)

    def _spoken(self, number: int, said: PersonTurn | None) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the run has ended
                self._loop.call_soon_threadsafe(_set, self._speaking, number, said)

    def _changed(self) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._dirty.set)

    # in the run's thread -----------------------------------------------------------------------

    def run(self) -> None:
        """Execute the run; errors are shown in its view."""
        problem = ""
        try:
            if self._begun.writer is not None:
                problem = self._carry_out(self._begun.writer)
        finally:
            for lock in self._begun.locks:
                os.close(lock)
            self._progress.end(problem)
            self._ended.set()
            self._tell()

    def _carry_out(self, writer: RunWriter) -> str:
        problem = ""
        try:
            try:
                asyncio.run(self._carried(writer))
            finally:
                view = self.view()
                writer.close(view.done == view.planned)
        except (Unrunnable, StoreError) as error:
            problem = str(error)
        except OSError as error:
            problem = f"its records cannot be kept ({error.strerror})"
        except Exception as error:
            problem = internal_error(error)
        if not problem and self._refused:
            count = counted(len(self._refused), "record")
            problem = f"{count} refused ({self._refused[0]}): reviewer quarantine show"
        return problem

    async def _carried(self, writer: RunWriter) -> None:
        async with kept_connections():
            await self._attempts(writer)

    async def _attempts(self, writer: RunWriter) -> None:
        self._loop = asyncio.get_running_loop()
        records: asyncio.Queue[FinishedAttempt | None] = asyncio.Queue(HELD)
        events = Events(self._started, self._lost, records.put)
        telling = asyncio.create_task(self._tell_changes())
        writing = asyncio.create_task(self._write(writer, records))
        carrying = asyncio.create_task(
            carry_out(self._begun.tasks, self._executor(), self._control, events)
        )
        try:
            await asyncio.wait({carrying, writing}, return_when=asyncio.FIRST_COMPLETED)
            if writing.done():  # before the end only if it failed
                carrying.cancel()
                await asyncio.wait({carrying})
            else:
                await records.put(None)
            await writing
            await carrying
        finally:
            telling.cancel()

    def _executor(self) -> Executor:
        order = self._begun.order
        person = self if order.person or order.approvals == "ask" else None
        if self._begun.fleet is not None:
            return self._begun.fleet.executor(order.jobs, person)
        if order.workers:
            return ProcessExecutor(order.workers, order.jobs, person, self._attempt)
        return LocalExecutor(order.jobs, person, self._attempt)

    def _started(self, slot: Slot) -> None:
        self._progress.started(slot)
        self._dirty.set()

    def _lost(self, slot: Slot) -> None:
        self._progress.lost(slot)
        self._dirty.set()

    async def _write(
        self, writer: RunWriter, records: "asyncio.Queue[FinishedAttempt | None]"
    ) -> None:
        """Write the records as they arrive, several in one transaction; a record counts once it is
        durable."""
        going_on = True
        while going_on:
            held = [await records.get()]
            while not records.empty():
                held.append(records.get_nowait())
            finished = [one for one in held if one is not None]
            going_on = len(finished) == len(held)
            if finished:
                # In a separate thread: the event loop must not wait for a commit.
                written = await asyncio.to_thread(writer.write, finished)
                self._refused += written.refused
                if self._keep is not None:
                    self._keep(written.kept)
                self._progress.written(finished, written.made)
                self._dirty.set()
            if going_on:
                await asyncio.sleep(TOGETHER)

    async def _tell_changes(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            self._tell()
            await asyncio.sleep(TOGETHER)

    async def ask(self, request: ApprovalRequest) -> Approval:
        """Implement Approver: the call waits until a person answers it."""
        self._asked += 1
        number = self._asked
        future = self._asking[number] = asyncio.get_running_loop().create_future()
        self._progress.asked(
            ApprovalView(
                number=number,
                trace_id=request.slot.trace_id,
                seq=request.seq,
                tool=request.tool,
                arguments=json.dumps(request.arguments, indent=2, ensure_ascii=False),
            )
        )
        self._dirty.set()
        try:
            return Approval(await future, "person")
        finally:
            del self._asking[number]
            self._progress.answered(number)
            self._dirty.set()

    async def speak(self, request: TurnRequest) -> PersonTurn | None:
        """Implement Approver: the attempt waits until a person has said the user's turn."""
        if not self._begun.order.person:
            return None
        self._asked += 1
        number = self._asked
        future: asyncio.Future[PersonTurn | None] = asyncio.get_running_loop().create_future()
        self._speaking[number] = future
        self._progress.asked(turn_view(number, request))
        self._dirty.set()
        try:
            return await future
        finally:
            del self._speaking[number]
            self._progress.answered(number)
            self._dirty.set()


def _set(waiting: dict[int, "asyncio.Future[T]"], number: int, answer: T) -> None:
    future = waiting.get(number)
    if future is not None and not future.done():
        future.set_result(answer)


class Runs:
    """The runs that this process started on one workspace."""

    def __init__(self, workspace: Workspace, attempt: Attempt = run_attempt) -> None:
        self._workspace, self._attempt = workspace, attempt
        self._lock = threading.Lock()
        self._handles: list[RunHandle] = []

    def start(
        self, order: RunOrder, on_change: OnChange | None = None, keep: Keep | None = None
    ) -> RunHandle:
        """Start a run; return once it is recorded. `keep` receives the records after they were
        stored. Raises DeskError when the run cannot start."""
        try:
            begun = start_run(self._workspace, order)
        except StoreError as error:
            raise refusal_of(error) from error
        with self._lock:
            handle = RunHandle(len(self._handles) + 1, begun, on_change, keep, self._attempt)
            self._handles.append(handle)
        threading.Thread(target=handle.run, name="run", daemon=True).start()
        return handle

    def views(self) -> list[RunView]:
        """Return the runs, newest first."""
        with self._lock:
            handles = self._handles[::-1]
        return [handle.view() for handle in handles]

    def handle(self, number: int) -> RunHandle:
        """Return the handle of a run. Raises DeskError for an unknown number."""
        with self._lock:
            if not 0 < number <= len(self._handles):
                raise DeskError(
                    f"there is no run {number} here",
                    "the screen of runs lists those of this session",
                    exit_code=ExitCode.USAGE,
                )
            return self._handles[number - 1]

    def close(self) -> None:
        """Abandon the unfinished runs, and give them a moment to release their environments."""
        with self._lock:
            handles = list(self._handles)
        abandon_all(handles, PATIENCE)
