"""Runs of judges in this process: each in a thread of its own, with its own event loop and its own
writer. An answer is durable before it counts; the next run asks the unanswered questions."""

import asyncio
import math
import os
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from reviewer.db.connection import Connection, StoreError, close_writer
from reviewer.db.queries.attempts import reviewable_traces
from reviewer.db.schema import open_writer
from reviewer.db.tables import JUDGMENTS, judgments_by_request
from reviewer.desk.errors import DeskError, parted
from reviewer.desk.imports.importing import clock
from reviewer.desk.jobs import AbandonableJob, Stopwatch, abandon_all, internal_error
from reviewer.desk.judge.api import JudgeOrder, JudgeRunView, JudgeState
from reviewer.desk.judge.book import row_of
from reviewer.desk.labels.items import message_of, side_of
from reviewer.desk.labels.labeling import baseline_for
from reviewer.desk.place import Workspace
from reviewer.desk.runs.jobs import HELD, PATIENCE, TOGETHER
from reviewer.desk.runs.start import lock_work
from reviewer.desk.suites import ReadySuite, ready_suite
from reviewer.desk.traces import records as traces
from reviewer.desk.traces.records import FinalMessages
from reviewer.desk.traces.text import text_of
from reviewer.exit_codes import ExitCode
from reviewer.review.items import (
    Item,
    Kind,
    TraceMessage,
    attempt_pairs,
    candidate_pairs,
    message_items,
)
from reviewer.review.judge_calls import PACE, Address, Line, Silent, ask_all, judge_settings
from reviewer.review.judge_questions import Bench, Observation, Question, questions
from reviewer.review.judgments import KIND_OF, Judgment, stored_judgment
from reviewer.running.candidates.manifest import Settings
from reviewer.running.candidates.openai_http import Pace
from reviewer.running.engine import Control
from reviewer.running.masking import Mask
from reviewer.running.model import Unrunnable
from reviewer.running.prices import Prices
from reviewer.suite.rubric import JudgePrompt
from reviewer.trace.record import ABSENT, kind_of

LONGEST_OBSERVATION = 4_000


class PreparedOrder(NamedTuple):
    """A request with all its questions. `settings` is None while `problem` says why nothing can be
    sent; `cached` calls are answered already."""

    order: JudgeOrder
    held: ReadySuite
    bench: Bench
    asked: tuple[Question, ...]
    cached: int
    prices: Prices
    settings: Settings | None
    problem: str


def prepare(
    workspace: Workspace, connection: Connection, finals: FinalMessages, order: JudgeOrder
) -> PreparedOrder:
    """Return a request with its questions. Raises DeskError for a request without any: no judge in
    the suite, no prompt for the kind of items, nothing to judge, a number out of range."""
    prices = _checked(order)
    held = ready_suite(workspace, connection, order.suite_id)
    judge = judge_of(held, order.suite_id)
    known = tuple(dict.fromkeys(KIND_OF[asked.preset] for asked in judge.asks))
    kinds = order.kinds or known
    for kind in kinds:
        if kind not in known:
            raise DeskError(
                f"the judge of {order.suite_id} has no prompt about "
                f"{'pairs' if kind == 'pair' else 'single messages'}",
                "add one to judge.json: reviewer schema judge describes it",
                exit_code=ExitCode.USAGE,
            )
    settings, problem = _settings(judge, order, prices)
    bench = _bench(held, judge, order, settings)
    items = [item for kind in kinds for item in items_of(connection, finals, held, order, kind)]
    if not items:
        raise DeskError(
            f"nothing to judge: {order.candidate_id} has no final messages",
            "reviewer run makes attempts of it, reviewer import imports them",
        )
    records = traces.Records()
    asked = tuple(
        questions(items, bench, order.repeats, lambda trace: observed(connection, records, trace))
    )
    left = _unanswered(connection, asked)
    return PreparedOrder(
        order, held, bench, left, len(asked) - len(left), prices, settings, problem
    )


def judge_of(held: ReadySuite, suite_id: str) -> JudgePrompt:
    """Return the suite's judge. Raises DeskError when it has none."""
    if held.judge is None:
        raise DeskError(
            f"{suite_id} has no judge: its folder has no judge.json",
            f"write one, then: reviewer suite freeze {suite_id} --as NEW_ID",
        )
    return held.judge


def items_of(
    connection: Connection,
    finals: FinalMessages,
    held: ReadySuite,
    order: JudgeOrder,
    kind: Kind,
) -> tuple[Item, ...]:
    """Return the items of one kind: pairs against the baseline, or among the attempts of the only
    candidate; or the candidate's own messages."""
    baseline = baseline_for(connection, order.suite_id, order.candidate_id, order.baseline_id, kind)
    mine = _ends(connection, finals, order.suite_id, order.candidate_id)
    digest = held.suite.digest
    if kind == "message":
        return message_items(digest, mine).items
    if baseline is None:
        return attempt_pairs(digest, mine).items
    return candidate_pairs(digest, _ends(connection, finals, order.suite_id, baseline), mine).items


def _ends(
    connection: Connection, finals: FinalMessages, suite_id: str, candidate_id: str
) -> list[TraceMessage]:
    side = side_of(connection, suite_id, candidate_id)
    rows = reviewable_traces(connection, side.key)
    texts = finals.of(connection, rows)
    return [message_of(side, row, texts[row.id]) for row in rows if row.id in texts]


def observed(
    connection: Connection, records: traces.Records, trace_id: str
) -> Sequence[Observation]:
    """Return the observations of a trace, in the order of its events."""
    row = traces.locate(connection, trace_id).row
    found = []
    for position, event in enumerate(records.events(connection, row, 0, row.events), 1):
        if event.observation != ABSENT:
            text = text_of(event.observation)
            if len(text) > LONGEST_OBSERVATION:
                text = f"{text[:LONGEST_OBSERVATION]}… [cut here]"
            found.append(
                Observation(
                    event.seq or position, event.tool or kind_of(event), event.status or "ok", text
                )
            )
    return found


def _checked(order: JudgeOrder) -> Prices:
    for name, value, least, most in (
        ("repeats", order.repeats, 1, 100),
        ("jobs", order.jobs, 1, 64),
    ):
        if not least <= value <= most:
            raise DeskError(
                f"--{name} {value}: from {least} to {most}",
                f"name a number from {least} to {most}",
                exit_code=ExitCode.USAGE,
            )
    if not (math.isfinite(order.timeout_s) and order.timeout_s > 0):
        raise DeskError(
            f"--timeout {order.timeout_s:g}: a number of seconds above 0",
            "such as --timeout 60",
            exit_code=ExitCode.USAGE,
        )
    for name, price in (("input", order.input_price), ("output", order.output_price)):
        if price is not None and not (math.isfinite(price) and price >= 0):
            raise DeskError(
                f"--{name}-price {price:g}: US dollars, zero or more",
                f"name a price per million tokens, such as --{name}-price 2.50",
                exit_code=ExitCode.USAGE,
            )
    return Prices(order.input_price, order.output_price)


def _settings(judge: JudgePrompt, order: JudgeOrder, prices: Prices) -> tuple[Settings | None, str]:
    """Return the endpoint, or why it cannot be asked."""
    address = Address(order.base_url, order.model, order.api_key_env, order.timeout_s, prices)
    try:
        return judge_settings(judge, address), ""
    except Unrunnable as error:
        return None, str(error)


def _bench(
    held: ReadySuite, judge: JudgePrompt, order: JudgeOrder, settings: Settings | None
) -> Bench:
    suite = held.suite
    mask = Mask(suite.redaction)
    return Bench(
        suite_id=suite.suite_id,
        suite_digest=suite.digest,
        judge=judge,
        model=settings.model if settings else order.model or judge.model,
        url=settings.url if settings else order.base_url.rstrip("/"),
        rubric=held.rubric,
        rubric_digest=held.rubric_digest,
        requests={episode.episode_id: episode.user_request for episode in suite.episodes},
        masked=lambda text: str(mask.masked(text)),
    )


def _unanswered(connection: Connection, asked: Sequence[Question]) -> tuple[Question, ...]:
    known = judgments_by_request(connection, [question.request for question in asked])
    answered = {
        request
        for request, bodies in known.items()
        if any(stored_judgment(body).final for body in bodies)
    }
    return tuple(question for question in asked if question.request not in answered)


OnChange = Callable[["JudgeHandle"], None]
Number = TypeVar("Number", int, float)


class JudgeHandle(AbandonableJob[JudgeRunView]):
    """One run of a judge."""

    def __init__(
        self,
        workspace: Workspace,
        prepared: PreparedOrder,
        settings: Settings,
        lock: int,
        on_change: OnChange | None = None,
        pace: Pace = PACE,
    ) -> None:
        super().__init__(on_change)
        self._store, self._prepared, self._lock_file = workspace.store, prepared, lock
        redaction = prepared.held.suite.redaction
        self._line = Line(prepared.bench, settings, redaction, clock, pace)
        self._control = Control()
        self._tally = _Tally(prepared)

    def view(self) -> JudgeRunView:
        """Return the present state of the run."""
        return self._tally.view(self._control.state != "open")

    def stop(self) -> None:
        """Start no more calls; those in progress are completed and their answers stored."""
        self._control.stop()
        self._tell()

    def abandon(self) -> None:
        """Abandon the calls in progress too. Stored answers stay."""
        self._control.abandon()
        self._tell()

    def run(self) -> None:
        """Execute the run, in its own thread; errors are shown in its view."""
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
            return internal_error(error)
        return ""

    async def _asked_and_kept(self) -> None:
        answers: asyncio.Queue[Judgment | None] = asyncio.Queue(HELD)
        jobs = self._prepared.order.jobs
        keeping = asyncio.create_task(self._keep(answers))
        asking = asyncio.create_task(
            ask_all(self._prepared.asked, self._line, jobs, self._control, answers.put)
        )
        await asyncio.wait({asking, keeping}, return_when=asyncio.FIRST_COMPLETED)
        if keeping.done():  # before the end only if it failed
            asking.cancel()
            await asyncio.wait({asking})
        else:
            await answers.put(None)
        await keeping
        await asking

    async def _keep(self, answers: "asyncio.Queue[Judgment | None]") -> None:
        """Write the answers as they arrive, several in one transaction."""
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
                    await asyncio.to_thread(
                        JUDGMENTS.record, connection, self._store, rows, clock()
                    )
                    self._tally.kept(made)
                    self._tell()
                if going_on:
                    await asyncio.sleep(TOGETHER)
        finally:
            close_writer(connection, self._store)


class _Tally:
    """The progress of a run. Thread-safe."""

    def __init__(self, prepared: PreparedOrder) -> None:
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
        """End the run; it is done when every call was made."""
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
    """Return the sum; None when a part is unknown, or when there are no parts."""
    known = [part for part in parts if part is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(parts) else None


class Judges:
    """The runs of judges that this process started on one workspace."""

    def __init__(self, workspace: Workspace, pace: Pace = PACE) -> None:
        self._workspace, self._pace = workspace, pace
        self._lock = threading.Lock()
        self._handles: list[JudgeHandle] = []

    def start(self, prepared: PreparedOrder, on_change: OnChange | None = None) -> JudgeHandle:
        """Start to ask. Raises DeskError when nothing can be sent, or when the same judge is
        already running on the same suite."""
        if prepared.settings is None:
            way = "reviewer judge --help shows what it needs; --dry-run asks nothing"
            raise DeskError(*parted(prepared.problem, way), exit_code=ExitCode.USAGE)
        lock = lock_work(
            self._workspace,
            "judge",
            (prepared.order.suite_id,),
            DeskError(
                f"the judge of {prepared.order.suite_id} is already running",
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
        """Abandon the calls in progress, and give the runs a moment to end."""
        with self._lock:
            handles = list(self._handles)
        abandon_all(handles, PATIENCE)
