"""Runs of candidates in this process: requests, and each run as a plain value."""

from __future__ import annotations  # names used only in annotations are not imported

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Room, late
from reviewer.desk.views import View
from reviewer.exit_codes import ExitCode
from reviewer.running.shards import Shard, parse_shard
from reviewer.suite.gates import ALWAYS

if TYPE_CHECKING:
    from reviewer.desk.runs.jobs import RunHandle, Runs


ApprovalRule = Literal["deny", "allow", "ask"]
RunState = Literal["running", "paused", "stopping", "done", "stopped", "failed"]


class RunOrder(View, frozen=True):
    """A request to run. `attempts` None is the policy's number; `workers` 0 runs in this process;
    `pace` stretches a scripted candidate's own time to real time. `person` says that somebody is
    present to answer the calls that an episode's rule puts to a person; with approvals `ask`,
    somebody is. `episodes` are the only ones to run; empty means all. `shard` is the part of the
    planned slots to make; None is all of them, or with `resume` the part of the resumed run.
    `executor` is the engine (`NAME` or `NAME:ADDRESS`) on whose workers attempts are made, "" for
    this machine; with an engine, `jobs` 0 means as many as the workers take."""

    suite_id: str
    candidate_id: str
    attempts: int | None = None
    jobs: int = 4
    workers: int = 0
    resume: bool = False
    seed: int = 0
    approvals: ApprovalRule = "deny"
    network: bool = False
    pace: float = 0.0
    person: bool = False
    episodes: tuple[str, ...] = ()
    shard: Shard | None = None
    executor: str = ""


def shard_of(text: str) -> Shard:
    """Return the shard that `I/N` names. Raises DeskError."""
    try:
        return parse_shard(text)
    except ValueError as error:
        raise DeskError(
            f"--shard {error}",
            "--shard 1/8 to --shard 8/8 are the eight parts of a run",
            exit_code=ExitCode.USAGE,
        ) from None


class Runnable(View, frozen=True):
    """One candidate manifest of a suite. `made` counts its traces in the store, `missing` the
    planned slots without one; `problem` is "" or why it cannot be run, with the way out."""

    candidate_id: str
    kind: str
    made: int
    missing: int
    problem: str


class ApprovalView(View, frozen=True):
    """A call that waits for a person; its arguments are masked, indented JSON."""

    number: int
    trace_id: str
    seq: int
    tool: str
    arguments: str


TurnEnd = Literal["go on", "satisfied", "give up"]
"""What a person playing the user does after the message."""


class TurnView(View, frozen=True):
    """A turn of the user that waits for the person playing it. `talk` is what was said, masked, as
    (by the agent, text); `goals`, `facts` (name, value, when to tell it), `persona` and `style`
    describe the part. `left` says how many messages may still be sent; `confirms` that the agent
    waits for a yes or no, after which a conversation should not end."""

    number: int
    trace_id: str
    seq: int
    talk: tuple[tuple[bool, str], ...]
    goals: tuple[str, ...]
    facts: tuple[tuple[str, str, str], ...]
    persona: str
    style: str
    left: int
    confirms: bool


class RunView(View, frozen=True):
    """A run at present, and its request. `running` and `pending` are (episode id, attempt); `gates`
    counts failed traces per gate, aligned with `in_force`; `eta_seconds` is None while it is
    unknown. `approvals` and `turns` wait for a person. `began` is in seconds of Unix time. Of the
    attempts lost to `infrastructure`, `unanswered` ones needed a person's answer when nobody was
    present. `faults` ended by a fault of the candidate; `fault` is why the first of them did, on
    one masked line ("" where that is not stored), and `fault_trace` its trace. `whole` counts the
    attempts of the whole plan, of which a shard is a part."""

    number: int
    order: RunOrder
    suite_id: str
    candidate_id: str
    state: RunState
    planned: int
    done: int
    passed: int
    failed: int
    critical: int
    infrastructure: int
    not_measured: int
    lost: int
    running: tuple[tuple[str, int], ...]
    pending: tuple[tuple[str, int], ...]
    gates: tuple[int, ...]
    seconds: float
    eta_seconds: float | None
    approvals: tuple[ApprovalView, ...]
    problem: str
    began: float
    in_force: tuple[str, ...] = ALWAYS
    unanswered: int = 0
    turns: tuple[TurnView, ...] = ()
    faults: int = 0
    fault: str = ""
    fault_trace: str = ""
    whole: int = 0


class RunsRoom(Room):
    """The API of `desk.runs`."""

    @late
    def _runs(self) -> Runs:
        from reviewer.desk.runs.jobs import Runs

        return Runs(self._opened.place)

    def close(self) -> None:
        """Stop the running runs."""
        if "_runs" in vars(self):
            self._runs.close()

    def runnable(self, suite_id: str) -> list[Runnable]:
        """Return the candidates that have a manifest in a suite, and whether they can be run."""
        from reviewer.desk.runs.start import runnable

        if not self._opened.has_store():
            return runnable(self._opened.place, None, suite_id)
        with self._opened.reading() as connection:
            return runnable(self._opened.place, connection, suite_id)

    def start(
        self,
        order: RunOrder,
        on_change: Callable[[RunHandle], None] | None = None,
        keep: Callable[[list[bytes]], None] | None = None,
    ) -> RunHandle:
        """Start a run in another thread, which calls `on_change` after each change and passes the
        stored records to `keep`. Raises DeskError if it cannot start."""
        return self._runs.start(order, on_change, keep)

    def views(self) -> list[RunView]:
        """Return the runs started here, newest first."""
        return self._runs.views() if "_runs" in vars(self) else []

    def handle(self, number: int) -> RunHandle:
        """Return the handle that controls a run. Raises DeskError for an unknown number."""
        return self._runs.handle(number)
