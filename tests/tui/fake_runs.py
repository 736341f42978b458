"""A desk on which a test makes runs go on, one attempt at a time, from another thread."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from fake_desk import FakeDesk
from fake_shop import EPISODES, SUITE, V7, V8, attempts_of, mark_of

from reviewer.desk.errors import DeskError
from reviewer.desk.runs.api import ApprovalView, Runnable, RunOrder, RunView
from reviewer.desk.views import (
    ALWAYS,
    AttemptMark,
    CandidateInfo,
    Cell,
    CellLine,
    EpisodeRow,
    Scorecard,
)

Slot = tuple[str, int]
KEYLESS = "gpt-refunds"
ENDED = ("done", "stopped", "failed")


class FakeRun:
    """One run. `begin`, `finish`, `ask` and `end` are the test's; the rest is a handle's."""

    def __init__(
        self,
        desk: "RunningDesk",
        number: int,
        order: RunOrder,
        slots: list[Slot],
        on_change: Callable[["FakeRun"], None] | None,
    ) -> None:
        self.desk, self.number, self.order = desk, number, order
        self.planned = len(slots)
        self.pending, self.running = list(slots), []  # type: ignore[var-annotated]
        self.done: list[tuple[str, ...]] = []
        self.approvals: list[ApprovalView] = []
        self.state, self.problem = "running", ""
        self.eta: float | None = 9.0
        self.log: list[str] = []
        self._on_change = on_change

    # what the test does

    def begin(self, *slots: Slot) -> None:
        for slot in slots:
            self.pending.remove(slot)
            self.running.append(slot)
        self.changed()

    def finish(self, slot: Slot) -> None:
        """The attempt ends, its trace lands in the store, and only then it is told."""
        self.running.remove(slot)
        self.desk.land(self.order.candidate_id, slot)
        self.done.append(self.desk.made[self.order.candidate_id][slot][2])
        self.changed()

    def ask(self, number: int, tool: str, arguments: str, slot: Slot = ("attack-014", 1)) -> None:
        trace_id = FakeDesk.trace_id(self.order.candidate_id, *slot)
        self.approvals.append(
            ApprovalView(number=number, trace_id=trace_id, seq=2, tool=tool, arguments=arguments)
        )
        self.changed()

    def end(self, state: str = "done", problem: str = "") -> None:
        self.state, self.problem = state, problem
        self.running.clear()
        self.changed()

    def all_at_once(self) -> None:
        while self.pending:
            slot = self.pending[0]
            self.begin(slot)
            self.finish(slot)
        self.end()

    def changed(self) -> None:
        """Tell whoever watches, as a run does: from a thread of its own."""
        if self._on_change is not None:
            thread = threading.Thread(target=self._on_change, args=(self,))
            thread.start()
            thread.join()

    # what a handle does

    def view(self) -> RunView:
        gates = tuple(sum(mark_of(each, gate) != "pass" for each in self.done) for gate in ALWAYS)
        return RunView(
            number=self.number,
            order=self.order,
            began=1_800_000_000.0 + self.number,
            suite_id=self.order.suite_id,
            candidate_id=self.order.candidate_id,
            state=self.state,  # type: ignore[arg-type]
            planned=self.planned,
            done=len(self.done),
            passed=sum(not each for each in self.done),
            failed=sum(bool(each) for each in self.done),
            critical=sum(mark_of(each) == "critical" for each in self.done),
            infrastructure=0,
            not_measured=0,
            lost=0,
            running=tuple(self.running),
            pending=tuple(self.pending),
            gates=gates,
            seconds=5.0,
            eta_seconds=self.eta,
            approvals=tuple(self.approvals),
            problem=self.problem,
        )

    def pause(self) -> None:
        self._steer("pause", "paused")

    def go_on(self) -> None:
        self._steer("go_on", "running")

    def stop(self) -> None:
        self._steer("stop", "stopping")

    def abandon(self) -> None:
        self.running.clear()
        self._steer("abandon", "stopped")

    def _steer(self, word: str, state: str) -> None:
        self.log.append(word)
        self.state = state
        self.changed()

    def answer(self, number: int, granted: bool) -> None:
        self.log.append(f"{'grant' if granted else 'refuse'} {number}")
        self.approvals = [each for each in self.approvals if each.number != number]
        self.changed()

    def wait(self, timeout: float | None = None) -> RunView:
        return self.view()


@dataclass
class RunningDesk(FakeDesk):
    """`made` holds, by candidate the store knows, the attempts whose traces are in it."""

    made: dict[str, dict[Slot, tuple[float, float, tuple[str, ...]]]] = field(default_factory=dict)
    runs_made: list[FakeRun] = field(default_factory=list)
    refuse_run: DeskError | None = None
    looks: int = 0

    @classmethod
    def with_traces(cls, *candidates: str) -> "RunningDesk":
        """All nine attempts of each of these candidates are in the store."""
        desk = cls()
        for candidate in candidates:
            for episode in EPISODES:
                for attempt in (1, 2, 3):
                    desk.land(candidate, (episode, attempt))
        return desk

    @property
    def run(self) -> FakeRun:
        """The newest run."""
        return self.runs_made[-1]

    def land(self, candidate: str, slot: Slot) -> None:
        """A trace comes into the store."""
        episode, attempt = slot
        found = attempts_of(candidate, episode)[(attempt - 1) % 3]
        self.made.setdefault(candidate, {})[slot] = found
        self.rev += 1

    # the store

    def opening(self) -> tuple[str, str] | None:
        return (SUITE, next(iter(self.made))) if self.made else None

    def candidates(self, suite_id: str) -> list[CandidateInfo]:
        return [each for each in super().candidates(suite_id) if each.candidate_id in self.made]

    def scorecard(self, suite_id: str, candidate_id: str) -> Scorecard:
        card = super().scorecard(suite_id, candidate_id)
        failing = [each for _, _, each in self.made[candidate_id].values()]
        if len(failing) >= 9:
            return card
        left, passes = 9 - len(failing), sum(not each for each in failing)
        unknown = msgspec.structs.replace(card.pass_hat, value=None, low=None, high=None)
        return msgspec.structs.replace(
            card,
            recommendation="hold",
            reasons=(),
            slots=msgspec.structs.replace(card.slots, valid=len(failing), missing=left),
            hard_pass=msgspec.structs.replace(
                unknown, n=len(failing), passes=passes, why="under way", policy=1.0
            ),
            pass_hat=msgspec.structs.replace(unknown, why="under way"),
            critical=sum(mark_of(each) == "critical" for each in failing),
            critical_n=len(failing),
            totals=tuple(
                msgspec.structs.replace(
                    total, failed=sum(mark_of(each, total.gate) != "pass" for each in failing)
                )
                for total in card.totals
            ),
            banner=(
                f"○ HOLD  1 evidence missing: {left} of 9 attempts not run",
                f"        needs {left} more runs",
            ),
            mean_cost_usd=card.mean_cost_usd if failing else None,
            cpst_usd=None,
            latency_p50_ms=card.latency_p50_ms if failing else None,
        )

    def _row(self, candidate_id: str, key: int) -> EpisodeRow:
        row = super()._row(candidate_id, key)
        traces = {
            attempt: failing
            for (episode, attempt), (_, _, failing) in self.made[candidate_id].items()
            if episode == EPISODES[key % 3]
        }
        marks = {attempt: mark_of(failing) for attempt, failing in traces.items()}
        for attempt in (1, 2, 3):
            marks.setdefault(attempt, "missing")
        cells = tuple(self._cell(list(traces.values()), gate) for gate in ALWAYS)
        if not traces:
            cells = (Cell(mark="not_measured", failed=0, attempts=0),) * len(ALWAYS)
        return msgspec.structs.replace(
            row,
            cells=tuple(msgspec.structs.replace(cell, attempts=len(traces)) for cell in cells),
            attempts=tuple(AttemptMark(attempt=at, mark=marks[at]) for at in sorted(marks)),
            passes=sum(mark == "pass" for mark in marks.values()),
            pass_hat=row.pass_hat if len(traces) >= 3 else None,
            mean_cost_usd=row.mean_cost_usd if traces else None,
            latency_p50_ms=row.latency_p50_ms if traces else None,
        )

    def cell(self, suite_id: str, candidate_id: str, episode_id: str, gate: str) -> list[CellLine]:
        found = super().cell(suite_id, candidate_id, episode_id, gate)
        return [line for line in found if (episode_id, line.attempt) in self.made[candidate_id]]

    # runs

    def runnable(self, suite_id: str) -> list[Runnable]:
        found = []
        for name, kind, problem in (
            (V7, "scripted", ""),
            (V8, "scripted", ""),
            (KEYLESS, "openai-chat", "OPENAI_API_KEY is not set: export it, then r again"),
        ):
            slots = self.made.get(name, {})
            missing = sum((episode, at) not in slots for episode in EPISODES for at in range(1, 4))
            found.append(
                Runnable(
                    candidate_id=name,
                    kind=kind,
                    made=len(slots),
                    missing=missing,
                    problem=problem,
                )
            )
        return found

    def start_run(
        self, order: RunOrder, on_change: Callable[[FakeRun], None] | None = None
    ) -> FakeRun:
        if self.refuse_run is not None:
            raise self.refuse_run
        there = self.made.get(order.candidate_id, {})
        count = order.attempts or 3
        first = 1 if order.resume or not there else 1 + max(attempt for _, attempt in there)
        slots = [
            (episode, attempt)
            for attempt in range(first, first + count)
            for episode in EPISODES
            if (episode, attempt) not in there
        ]
        self.made.setdefault(order.candidate_id, {})  # a run is noted before its first attempt
        self.rev += 1
        self.runs_made.append(FakeRun(self, len(self.runs_made) + 1, order, slots, on_change))
        return self.run

    def run_views(self) -> list[RunView]:
        self.looks += 1
        return [run.view() for run in reversed(self.runs_made)]

    def run_handle(self, number: int) -> FakeRun:
        return self.runs_made[number - 1]
