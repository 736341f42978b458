"""Judges at work in this process: each in a thread of its own, with its own event loop and its own
writer. What was answered is durable before it counts; what was not is asked by the next run."""

import asyncio
import os
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from reviewer.db import judgments as stored
from reviewer.db.connection import StoreError, close_writer
from reviewer.db.migrate import open_writer
from reviewer.desk.errors import DeskError
from reviewer.desk.imports.importing import clock
from reviewer.desk.judge.bench import Prepared
from reviewer.desk.judge.book import row_of
from reviewer.desk.judge.views import JudgeRunView, JudgeState
from reviewer.desk.place import Workspace
from reviewer.desk.runs.checks import lock_work
from reviewer.desk.runs.jobs import HELD, PATIENCE, TOGETHER
from reviewer.desk.stopwatch import Stopwatch
from reviewer.exit_codes import ExitCode
from reviewer.review.judging.ask import PACE, Line, Silent, ask_all
from reviewer.review.judging.judgments import Judgment
from reviewer.running.candidates.openai_manifest import Settings
from reviewer.running.candidates.openai_pace import Pace
from reviewer.running.control import Control
from reviewer.running.model import Unrunnable

OnChange = Callable[["JudgeHandle"], None]
Number = TypeVar("Number", int, float)


class JudgeHandle:
    """One run of a judge. Every method may be called from any thread; none waits but `wait`."""

    def __init__(
        self,
        workspace: Workspace,
        prepared: Prepared,
        settings: Settings,
        lock: int,
        on_change: OnChange | None = None,
        pace: Pace = PACE,
    ) -> None:
        self._store, self._prepared, self._lock_file = workspace.store, prepared, lock
        redaction = prepared.held.suite.redaction
        self._line = Line(prepared.bench, settings, redaction, clock, pace)
        self._on_change = on_change
        self._control = Control()
        self._tally = _Tally(prepared)
        self._ended = threading.Event()

    def view(self) -> JudgeRunView:
        """The run as it stands."""
        return self._tally.view(self._control.state != "open")

    def stop(self) -> None:
        """Begin no call any more; those under way are answered and kept."""
        self._control.stop()
        self._tell()

    def abandon(self) -> None:
        """Let go of the calls under way too. What was kept stands."""
        self._control.abandon()
        self._tell()

    def wait(self, timeout: float | None = None) -> JudgeRunView:
        """Until the run has ended, or for `timeout` seconds."""
        self._ended.wait(timeout)
        return self.view()

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def run(self) -> None:
        """Carry the run out, in its own thread; what goes wrong stands in its view."""
        problem = ""
        try:
            problem = self._carried_out()
        finally:
            os.close(self._lock_file)
            self._tally.end(problem)
            self._ended.set()
            self._tell()

    def _carried_out(self) -> str:
        try:
            asyncio.run(self._asked_and_kept())
        except (Unrunnable, StoreError, Silent) as error:
            return str(error)
        except Exception as error:
            if os.environ.get("REVIEWER_DEBUG"):
                traceback.print_exc()
            # No more than its kind: what was at hand when it happened may be a judge's.
            return f"internal error: {type(error).__name__}; REVIEWER_DEBUG=1 shows where"
        return ""

    async def _asked_and_kept(self) -> None:
        answers: asyncio.Queue[Judgment | None] = asyncio.Queue(HELD)
        jobs = self._prepared.order.jobs
        keeping = asyncio.create_task(self._keep(answers))
        asking = asyncio.create_task(
            ask_all(self._prepared.asked, self._line, jobs, self._control, answers.put)
        )
        await asyncio.wait({asking, keeping}, return_when=asyncio.FIRST_COMPLETED)
        if keeping.done():  # which it never is before the end, unless it failed
            asking.cancel()
            await asyncio.wait({asking})
        else:
            await answers.put(None)
        await keeping
        await asking

    async def _keep(self, answers: "asyncio.Queue[Judgment | None]") -> None:
        """Write what has come, then what has come meanwhile."""
        connection = open_writer(self._store)
        try:
            going_on = True
            while going_on:
                held = [await answers.get()]
                while not answers.empty():
                    held.append(answers.get_nowait())
                made = [one for one in held if one is not None]
                going_on = len(made) == len(held)
                if made:
                    rows = [row_of(one) for one in made]
                    await asyncio.to_thread(stored.record, connection, self._store, rows, clock())
                    self._tally.kept(made)
                    self._tell()
                if going_on:
                    await asyncio.sleep(TOGETHER)
        finally:
            close_writer(connection, self._store)

    def _tell(self) -> None:
        if self._on_change is not None:
            with suppress(Exception):  # a screen that is gone must not end a run
                self._on_change(self)


class _Tally:
    """What a run has come to. Thread-safe."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._lock = threading.Lock()
        self._watch = Stopwatch()
        self._done = self._errors = self._unanswered = 0
        self._costs: list[float | None] = []
        self._tokens: list[tuple[int | None, int | None]] = []
        self._ended: JudgeState | None = None
        self._problem = ""

    def kept(self, made: list[Judgment]) -> None:
        with self._lock:
            self._done += len(made)
            self._errors += sum(one.error is not None for one in made)
            self._unanswered += sum(not one.final for one in made)
            self._costs += (one.cost_usd for one in made)
            self._tokens += ((one.input_tokens, one.output_tokens) for one in made)

    def end(self, problem: str) -> None:
        """The run is over: done when every call was made."""
        with self._lock:
            self._problem = problem
            whole = self._done == len(self._prepared.asked)
            self._ended = "failed" if problem else "done" if whole else "stopped"
            self._watch.end()

    def view(self, stopping: bool) -> JudgeRunView:
        order, calls = self._prepared.order, len(self._prepared.asked)
        with self._lock:
            seconds = self._watch.seconds()
            eta = None
            if self._ended is None and self._done:
                eta = seconds / self._done * (calls - self._done)
            priced = [cost for cost in self._costs if cost is not None]
            return JudgeRunView(
                suite_id=order.suite_id,
                candidate_id=order.candidate_id,
                judge_id=self._prepared.bench.judge.judge_id,
                state=self._ended or ("stopping" if stopping else "running"),
                calls=calls,
                done=self._done,
                errors=self._errors,
                cost_usd=_total(self._costs),
                known_usd=_total(priced),
                unpriced=len(self._costs) - len(priced),
                seconds=seconds,
                problem=self._problem,
                cached=self._prepared.cached,
                unanswered=self._unanswered,
                input_tokens=_total([given for given, _ in self._tokens]),
                output_tokens=_total([made for _, made in self._tokens]),
                eta_seconds=eta,
            )


def _total(parts: Sequence[Number | None]) -> Number | None:
    """The sum, None as soon as one part is unknown, or there is none."""
    known = [part for part in parts if part is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(parts) else None


class Judges:
    """The runs of judges that this process began on one workspace."""

    def __init__(self, workspace: Workspace, pace: Pace = PACE) -> None:
        self._workspace, self._pace = workspace, pace
        self._lock = threading.Lock()
        self._handles: list[JudgeHandle] = []

    def start(self, prepared: Prepared, on_change: OnChange | None = None) -> JudgeHandle:
        """Begin to ask. Raises DeskError when nothing can be sent, or the same judge is at work on
        the same suite already."""
        if prepared.settings is None:
            raise DeskError(prepared.problem, exit_code=ExitCode.USAGE)
        lock = lock_work(
            self._workspace,
            "judge",
            (prepared.order.suite_id,),
            DeskError(
                f"the judge of {prepared.order.suite_id} is at work already",
                "wait for that run, or stop it",
            ),
        )
        handle = JudgeHandle(
            self._workspace, prepared, prepared.settings, lock, on_change, self._pace
        )
        with self._lock:
            self._handles.append(handle)
        threading.Thread(target=handle.run, name="judge", daemon=True).start()
        return handle

    def close(self) -> None:
        """Let go of what is still asked, and give it a moment to end."""
        with self._lock:
            working = [handle for handle in self._handles if not handle.ended]
        for handle in working:
            handle.abandon()
        for handle in working:
            handle.wait(PATIENCE)
