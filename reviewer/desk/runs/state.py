"""A run as it stands, told by its own thread and looked at from any other."""

import time
from collections.abc import Iterable, Sequence
from threading import Lock

from reviewer.db.codec import FAIL, UNKNOWN, gate_codes
from reviewer.desk.runs.views import ApprovalView, RunOrder, RunState, RunView
from reviewer.desk.stopwatch import Stopwatch
from reviewer.importing.outcome import Facts
from reviewer.running.control import Steered
from reviewer.running.model import Slot
from reviewer.running.plan import Place
from reviewer.suite.gates import GATES

_STEERED: dict[Steered, RunState] = {
    "open": "running",
    "paused": "paused",
    "stopping": "stopping",
    "abandoned": "stopping",
}


class Progress:
    """What a run has done. Thread-safe; `view` is immutable and true at one moment."""

    def __init__(
        self, number: int, order: RunOrder, places: Sequence[Place], in_force: tuple[str, ...]
    ) -> None:
        self.number, self.order = number, order
        self._in_force = in_force
        self.watch = Stopwatch()
        self._began = time.time()
        self._lock = Lock()
        self._planned = len(places)
        # Sets that keep the order in which attempts will be, or were, begun.
        self._pending: dict[tuple[str, int], None] = {
            (p.episode_id, p.attempt): None for p in places
        }
        self._running: dict[tuple[str, int], None] = {}
        self._approvals: dict[int, ApprovalView] = {}
        self._marks = dict.fromkeys(
            ("passed", "failed", "critical", "infrastructure", "not_measured"), 0
        )
        self._gates = [0] * len(GATES)
        self._done = self._lost = 0
        self._ended: RunState | None = None
        self._problem = ""

    def started(self, slot: Slot) -> None:
        place = (slot.episode_id, slot.attempt)
        with self._lock:
            self._pending.pop(place, None)
            self._running[place] = None

    def lost(self, slot: Slot) -> None:
        """Its worker is gone: it will be run again, before any other."""
        place = (slot.episode_id, slot.attempt)
        with self._lock:
            self._lost += 1
            self._running.pop(place, None)
            self._pending = {place: None, **self._pending}

    def written(self, slots: Iterable[Slot], made: Iterable[Facts]) -> None:
        """These attempts are over, and of them `made` stand in the store."""
        with self._lock:
            for slot in slots:
                place = (slot.episode_id, slot.attempt)
                self._running.pop(place, None)
                self._pending.pop(place, None)
            for facts in made:
                self._count(facts)

    def _count(self, facts: Facts) -> None:
        self._done += 1
        lost = facts.infra and facts.passed is None
        word = {True: "passed", False: "failed", None: "not_measured"}[facts.passed]
        self._marks["infrastructure" if lost else word] += 1
        self._marks["critical"] += facts.critical
        for gate, code in enumerate(gate_codes(facts.gates)):
            self._gates[gate] += code >= FAIL and code != UNKNOWN

    def asked(self, approval: ApprovalView) -> None:
        with self._lock:
            self._approvals[approval.number] = approval

    def answered(self, number: int) -> None:
        with self._lock:
            self._approvals.pop(number, None)

    def end(self, problem: str = "") -> None:
        """The run is over: done when all that was planned was made."""
        with self._lock:
            self._problem = problem
            whole = self._done == self._planned
            self._ended = "failed" if problem else "done" if whole else "stopped"
            self._pending = {**self._running, **self._pending}
            self._running, self._approvals = {}, {}
            self.watch.end()

    def view(self, steered: Steered) -> RunView:
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
                problem=self._problem,
                **self._marks,
            )

    def _eta(self) -> float | None:
        if not self._done:
            return None
        return self.watch.worked() / self._done * (self._planned - self._done)
